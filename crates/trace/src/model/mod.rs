//! Models of recordings: what a recording did, as tables from which ops are drawn. A model is a text, and is read like a recording.
//!
//! A model has threads, and these have phases. A phase has states: an act, on which file, where in it, of which size, after a short or
//! a long gap, at a slow or a busy time, within which use of a file. A state has lists of values of which each is as likely as the
//! others, and how often each other state follows.

mod draw;
mod files;
mod fit;
mod gather;
mod phases;

pub(crate) use draw::Drawn;
pub use fit::{Fitted, fit};

use crate::error::LineProblem;
use crate::record::{Record, RecordedAct};
use std::fmt;
use std::fmt::Write;

/// The first line of a model.
pub(crate) const HEAD: &str = "plumb model 1";

/// Files that have states of their own.
const BUSY_MAX: usize = 4;

/// Values of a list.
const VALUES: usize = 32;

/// States of a phase, and phases, at most; more is no model.
const STATES_MAX: usize = 4096;

/// Threads of a model at most; others go on in the last one.
const THREADS_MAX: usize = 16;

/// What a name that is not there gives: ENOENT. Source: asm-generic/errno-base.h.
const NOT_THERE: i64 = -2;

/// Pauses of a phase at most.
const PAUSES_MAX: usize = 512;

/// Data ops after which a use of a block is forgotten.
const MEMORY_OPS: usize = 1 << 16;

/// Files that are remembered as recently used.
const RECENT_MAX: usize = 4096;

/// The part of a file that is used again, bytes.
const BLOCK_BYTES: u64 = 4096;

/// The file of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Whose {
    /// One of the busiest, by its number.
    Busy(u32),
    /// The last one of this thread that is none of these.
    Same,
    /// One that was used before it.
    Other,
    /// One that was not used yet.
    New,
    /// A directory.
    Directory,
}

/// Names of the last four.
const WHOSE: [(Whose, &str); 4] =
    [(Whose::Same, "same"), (Whose::Other, "other"), (Whose::New, "new"), (Whose::Directory, "dir")];

/// Where an op on a file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum How {
    /// It is the first on the file that moves data.
    First,
    /// Where the last one ended.
    Next,
    /// At the beginning of a file that was used before.
    Start,
    /// At the end of the file.
    Append,
    /// Where the last one of its act and size on the file began.
    Place,
    /// Elsewhere, or it has no place.
    Jump,
    /// The name is not there, and the op fails.
    Missing,
}

/// Their names.
const HOW: [(How, &str); 7] = [
    (How::First, "first"),
    (How::Next, "next"),
    (How::Start, "start"),
    (How::Append, "append"),
    (How::Place, "place"),
    (How::Jump, "jump"),
    (How::Missing, "missing"),
];

/// What is added to the name where a read comes to the end of its file.
const SHORT: &str = "-end";

fn name_of<T: PartialEq>(names: &[(T, &'static str)], wanted: &T) -> &'static str {
    names.iter().find(|(known, _)| known == wanted).map_or("", |(_, name)| name)
}

/// Lists of values.
#[derive(Clone, Copy)]
enum List {
    /// Time since the op before, ns.
    Gap,
    /// Bytes.
    Size,
    /// From where the last op on the file ended, bytes; may be negative.
    Seek,
    /// How many other files were used since that one, where the file is another one; of names that are not there, their number.
    Back,
    /// Where the last op on that other file had ended, as a power of two; 0 if there was none.
    End,
    /// Data ops since the place was used; 0 is never.
    Again,
    /// Bytes that a read moves which comes to the end of its file.
    Moved,
    /// States that follow, each with how often.
    Then,
}

/// Their names.
const LISTS: [&str; 8] = ["gap", "size", "seek", "back", "end", "again", "moved", "then"];

/// What is done next, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    act: RecordedAct,
    whose: Whose,
    how: How,
    /// It is a read that comes to the end of its file.
    is_short: bool,
    /// How often it was.
    count: u64,
    /// What its act has in addition; of reads and writes, 1 more than where they begin, if that is always the same place.
    aux: u64,
    lists: [Vec<i64>; LISTS.len()],
    /// While ops are drawn: how often it was, how often each other one followed, and values of each list that are not drawn yet.
    used: u64,
    used_then: Vec<u64>,
    left: [u32; LISTS.len()],
}

impl State {
    fn new(act: RecordedAct, whose: Whose, how: How) -> State {
        State {
            act,
            whose,
            how,
            is_short: false,
            count: 0,
            aux: 0,
            lists: Default::default(),
            used: 0,
            used_then: Vec::new(),
            left: Default::default(),
        }
    }
}

/// A distance as a power of two; 0 is none.
fn magnitude(bytes: u64) -> u8 {
    64 - bytes.leading_zeros() as u8
}

/// A long time without ops of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    /// It comes before the last one of so many ops.
    ops: u64,
    ns: u64,
}

/// Ops that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Phase {
    ops: u64,
    /// In the order in which they come, and then anew.
    pauses: Vec<Pause>,
    states: Vec<State>,
}

/// What one thread does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Thread {
    /// When it begins, ns.
    start_ns: u64,
    phases: Vec<Phase>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    seed: u64,
    /// How far ops reach in each of the busiest files, and at last in any other, bytes.
    reaches: Vec<u64>,
    threads: Vec<Thread>,
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{HEAD}\nseed {}\nreach", self.seed);
        self.reaches.iter().for_each(|reach| text.push_str(&format!(" {reach}")));
        for thread in &self.threads {
            text.push_str(&format!("\nthread {}", thread.start_ns));
            thread.phases.iter().for_each(|phase| phase.print(&mut text));
        }
        writeln!(formatter, "{text}")
    }
}

impl Phase {
    fn print(&self, text: &mut String) {
        text.push_str(&format!("\nphase {}", self.ops));
        if !self.pauses.is_empty() {
            text.push_str("\npauses");
            self.pauses.iter().for_each(|Pause { ops, ns }| text.push_str(&format!(" {ops} {ns}")));
        }
        for state in &self.states {
            let whose = match state.whose {
                Whose::Busy(number) => number.to_string(),
                whose => name_of(&WHOSE, &whose).to_owned(),
            };
            let (how, short) = (name_of(&HOW, &state.how), if state.is_short { SHORT } else { "" });
            text.push_str(&format!("\n{} {whose} {how}{short} {} {}", state.act.name(), state.count, state.aux));
            for (name, list) in LISTS.iter().zip(&state.lists).filter(|(_, list)| !list.is_empty()) {
                let _ = write!(text, " {name}");
                for same in list.chunk_by(|one, other| one == other) {
                    text.push_str(&format!(" {}", same[0]));
                    if same.len() > 1 {
                        text.push_str(&format!("*{}", same.len()));
                    }
                }
            }
        }
    }
}

fn number(word: Option<&str>, what: &'static str) -> Result<i64, LineProblem> {
    let word = word.ok_or(LineProblem::Missing { what })?;
    word.parse().map_err(|_| LineProblem::NoNumber { word: word.to_owned(), what })
}

fn count(word: Option<&str>, what: &'static str) -> Result<u64, LineProblem> {
    let found = number(word, what)?;
    u64::try_from(found).map_err(|_| LineProblem::NoNumber { word: found.to_string(), what })
}

fn wrong(what: &str) -> LineProblem {
    LineProblem::Other { what: what.to_owned() }
}

impl Model {
    /// Takes a line.
    fn line(&mut self, line: &str) -> Result<(), LineProblem> {
        let mut words = line.split_ascii_whitespace();
        match words.next().unwrap_or("") {
            "plumb" => {}
            "seed" => self.seed = count(words.next(), "seed")?,
            "thread" if self.threads.len() < THREADS_MAX => {
                self.threads.push(Thread { start_ns: count(words.next(), "time")?, phases: Vec::new() });
            }
            "thread" => return Err(wrong("there are too many threads")),
            "reach" => self.reaches = words.map(|word| count(Some(word), "reach")).collect::<Result<_, _>>()?,
            "phase" => {
                let thread = self.threads.last_mut().filter(|thread| thread.phases.len() < STATES_MAX);
                let phases = &mut thread.ok_or_else(|| wrong("there is no thread, or it has too many phases"))?.phases;
                phases.push(Phase { ops: count(words.next(), "number of ops")?, ..Phase::default() });
            }
            "pauses" => {
                let phases = self.threads.last_mut().and_then(|thread| thread.phases.last_mut());
                let pauses = &mut phases.ok_or_else(|| wrong("there is no phase"))?.pauses;
                while let Some(ops) = words.next() {
                    if pauses.len() == PAUSES_MAX {
                        return Err(wrong("there are too many pauses"));
                    }
                    let (ops, ns) = (count(Some(ops), "number of ops")?, count(words.next(), "time")?);
                    pauses.push(Pause { ops, ns });
                }
            }
            name => {
                let act = RecordedAct::named(name).filter(|act| is_modelled(*act));
                let act = act.ok_or_else(|| wrong("expected seed, reach, thread, phase, or what is done"))?;
                let state = self.state(act, &mut words)?;
                let phases = self.threads.last_mut().and_then(|thread| thread.phases.last_mut());
                let phase = phases.filter(|phase| phase.states.len() < STATES_MAX);
                phase.ok_or_else(|| wrong("there is no phase, or it has too many states"))?.states.push(state);
            }
        }
        Ok(())
    }

    fn state<'a>(&self, act: RecordedAct, words: &mut impl Iterator<Item = &'a str>) -> Result<State, LineProblem> {
        let whose = words.next().unwrap_or("");
        let whose = match WHOSE.iter().find(|(_, name)| *name == whose) {
            Some((whose, _)) => *whose,
            None => {
                let number = count(Some(whose), "file")?;
                let is_one = number < self.reaches.len().saturating_sub(1) as u64;
                Whose::Busy(if is_one { number as u32 } else { return Err(wrong("there is no such file")) })
            }
        };
        let word = words.next().unwrap_or("");
        let (name, is_short) = word.strip_suffix(SHORT).map_or((word, false), |name| (name, true));
        let how = HOW.iter().find(|(_, known)| *known == name);
        let how = how.ok_or_else(|| wrong("expected first, next, start, append, place, jump or missing"))?.0;
        let (count, aux) = (count(words.next(), "count")?, count(words.next(), "flag")?);
        let mut state = State { is_short, count, aux, ..State::new(act, whose, how) };
        let mut list = None;
        for word in words {
            if let Some(found) = LISTS.iter().position(|name| *name == word) {
                list = Some(found);
                continue;
            }
            let list = &mut state.lists
                [list.ok_or_else(|| wrong("expected gap, size, seek, back, end, again, moved or then"))?];
            let (value, times) = word.split_once('*').unwrap_or((word, "1"));
            let times = crate::model::count(Some(times), "number of times")? as usize;
            if list.len() + times > 2 * STATES_MAX {
                return Err(wrong("the list is too long"));
            }
            list.resize(list.len() + times, number(Some(value), "value")?);
        }
        Ok(state)
    }

    /// What is wrong with it as a whole.
    fn problem(&self) -> Option<&'static str> {
        let follows = |phase: &Phase| {
            phase.states.iter().all(|state| {
                state.lists[List::Then as usize]
                    .chunks(2)
                    .all(|pair| pair.len() == 2 && (0..phase.states.len() as i64).contains(&pair[0]) && pair[1] >= 0)
            })
        };
        if self.reaches.is_empty() || self.reaches.len() > BUSY_MAX + 1 {
            return Some("expected `reach`, with a number for each busy file and one more");
        }
        let mut phases = self.threads.iter().flat_map(|thread| &thread.phases).peekable();
        match phases.peek().is_some() && phases.all(|phase| !phase.states.is_empty() && follows(phase)) {
            _ if self.threads.iter().any(|thread| thread.phases.is_empty()) || self.threads.is_empty() => {
                Some("it has no thread, or one without a phase")
            }
            true => None,
            false => Some("a phase has no states, or one of them is followed by what is none"),
        }
    }
}

/// Whether a model has such ops.
fn is_modelled(act: RecordedAct) -> bool {
    use RecordedAct::{Add, Map, Other, Readlink};
    !matches!(act, Add | Map | Other | Readlink)
}

/// Whether a model has this op: what failed is modelled where a name was not there.
fn has_model(record: &Record) -> bool {
    is_modelled(record.act) && (record.result >= 0 || is_missing(record))
}

/// Whether it found no file under its name.
fn is_missing(record: &Record) -> bool {
    use RecordedAct::{Open, Stat, Unlink};
    record.result == NOT_THERE && record.handle == 0 && matches!(record.act, Open | Stat | Unlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use crate::record::FileName;
    use crate::show::{characterise, distances};
    use std::io::Cursor;
    use std::path::Path;

    fn drawn(text: &str) -> Result<crate::RecordingReader, crate::TraceError> {
        crate::read(Box::new(Cursor::new(text.as_bytes().to_vec())), Path::new("m"), Waits::Manual)
    }

    /// A log that is written and flushed, and a data base that is read here and there, and files that come and go.
    fn recording() -> String {
        let mut text = String::new();
        for turn in 0..400_u64 {
            let at = |us: u64| format!("7 1000.{:06}", turn * 400 + us);
            text += &format!("{} pwrite64(3</w/log>, \"\"..., 512, {}) = 512 <0.000001>\n", at(0), turn * 512);
            text += &format!("{} fdatasync(3</w/log>) = 0 <0.000001>\n", at(10));
            for read in 0..3 {
                let offset = (turn * 7919 + read * 104_729) % 1024 * 8192;
                text += &format!("{} pread64(4</w/db>, \"\"..., 8192, {offset}) = 8192 <0.000001>\n", at(20 + read));
            }
            text += &format!(
                "{} openat(AT_FDCWD</w>, \"{turn}\", O_RDWR|O_CREAT|O_EXCL, 0644) = 5</w/{turn}> <0.000001>\n",
                at(100)
            );
            let size = 100 + turn * 37 % 900;
            text += &format!("{} write(5</w/{turn}>, \"\"..., {size}) = {size} <0.000001>\n", at(120));
            text += &format!("{} close(5</w/{turn}>) = 0 <0.000001>\n", at(130));
            text += &format!("{} unlink(\"/w/{turn}\") = 0 <0.000001>\n", at(200));
        }
        text
    }

    fn fitted(level: u8) -> (Fitted, crate::show::Sheet) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("r.strace");
        std::fs::write(&path, recording()).unwrap();
        let fitted = fit(&path, Waits::Manual, None, level).unwrap();
        let sheet = characterise(&mut drawn(&fitted.model.to_string()).unwrap()).unwrap();
        (fitted, sheet)
    }

    #[test]
    fn a_model_is_like_its_recording() {
        for level in 1..=3 {
            let (fitted, sheet) = fitted(level);
            let ours = |name: &str| fitted.sheet.value("data ops", name).unwrap();
            assert!(
                (ours("sequential in their file") - sheet.value("data ops", "sequential in their file").unwrap()).abs()
                    < 0.05
            );
            for (name, distance) in distances(&fitted.sheet, &sheet) {
                let most = if name == "seeks" { 0.2 } else { 0.1 };
                assert!(!["gaps", "sizes", "seeks"].contains(&name) || distance < most, "{level}: {name} {distance}");
            }
        }
    }

    #[test]
    fn a_model_knows_what_follows_and_leaves_nothing_open() {
        let (fitted, _) = fitted(2);
        let mut reader = drawn(&fitted.model.to_string()).unwrap();
        let records: Vec<Record> = reader.by_ref().map(Result::unwrap).collect();
        assert_eq!(records.len(), 3600);
        for pair in records.windows(2).filter(|pair| pair[0].act == RecordedAct::Open) {
            assert_eq!((pair[1].act, pair[1].file), (RecordedAct::Write, pair[0].file));
        }
        let names = reader.names().files();
        assert!(names.contains(&FileName::Path("file0".to_owned())) && names.len() > 300, "{}", names.len());
    }

    #[test]
    fn what_is_written_is_read_and_draws_the_same() {
        let (fitted, _) = fitted(3);
        let text = fitted.model.to_string();
        let mut read = Model::default();
        text.lines().for_each(|line| read.line(line).unwrap());
        assert_eq!(read, fitted.model);
        let all = |text: &str| drawn(text).unwrap().map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(all(&text), all(&text));
    }

    #[test]
    fn what_is_no_model_is_told_with_its_line() {
        for (text, expected) in [
            ("reach 0\nthread 0\nphase 1\nread 3 next 1 0", "line 5: `read 3 next 1 0`: there is no such file"),
            ("reach 9 9\nread 0 next 1 0", "there is no phase"),
            ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 then 5 1", "followed by what is none"),
            ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 size x", "`x` is not a valid value"),
            ("reach 9 9\nthread 0\nphase 1\nread 0 next 1 0 size 1*99999999999", "the list is too long"),
            ("thread 0\nphase 1\nread same next 1 0", "expected `reach`"),
            ("reach 9\nphase 1", "there is no thread"),
            ("reach 9\nthread 0", "one without a phase"),
            ("reach 9\nmmap same next 1 0", "expected seed, reach"),
        ] {
            let said = drawn(&format!("{HEAD}\n{text}\n")).err().unwrap().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
