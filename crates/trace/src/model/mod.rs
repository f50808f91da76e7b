//! Models of recordings: what a recording did, as tables from which ops are drawn. A model is a text, and is read like a recording.
//!
//! A model has phases. Each has states: an act, on which file, going on where the last op on it ended or not, after a short or a long
//! gap. A state has lists of values of which each is as likely as the others, and how often each other state follows.

mod draw;
mod fit;
mod phases;

pub(crate) use draw::Drawn;
pub use fit::{Fitted, fit};

use crate::error::LineProblem;
use crate::record::RecordedAct;
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

/// Threads of a model at most.
const THREADS_MAX: u32 = 64;

/// Data ops after which a use of a block is forgotten.
const MEMORY_OPS: usize = 1 << 16;

/// Files that are remembered as recently used.
const RECENT_MAX: usize = 4096;

/// The part of a file that is used again, bytes.
const BLOCK_BYTES: u64 = 4096;

/// The file of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One of the busiest, by its number.
    Busy(u32),
    /// The last one that is none of these.
    Same,
    /// One that was used before it.
    Other,
    /// One that was not used yet.
    New,
}

/// Names of the last three.
const WHOSE: [(Whose, &str); 3] = [(Whose::Same, "same"), (Whose::Other, "other"), (Whose::New, "new")];

/// Where an op on a file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// It is the first on the file that moves data.
    First,
    /// Where the last one ended.
    Next,
    /// Elsewhere, or it has no place.
    Jump,
}

/// Their names.
const HOW: [(How, &str); 3] = [(How::First, "first"), (How::Next, "next"), (How::Jump, "jump")];

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
    /// How many other files were used since that one, where the file is another one.
    Back,
    /// Data ops since the place was used; 0 is never.
    Again,
    /// States that follow, each with how often.
    Then,
}

/// Their names.
const LISTS: [&str; 6] = ["gap", "size", "seek", "back", "again", "then"];

/// What is done next, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    act: RecordedAct,
    whose: Whose,
    how: How,
    /// How often it was.
    count: u64,
    /// What its act has in addition.
    aux: u64,
    lists: [Vec<i64>; LISTS.len()],
}

/// Ops that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Phase {
    ops: u64,
    states: Vec<State>,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    seed: u64,
    threads: u32,
    /// How far ops reach in each of the busiest files, and at last in any other, bytes.
    reaches: Vec<u64>,
    phases: Vec<Phase>,
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("{HEAD}\nseed {}\nthreads {}\nreach", self.seed, self.threads);
        self.reaches.iter().for_each(|reach| text.push_str(&format!(" {reach}")));
        for phase in &self.phases {
            text.push_str(&format!("\nphase {}", phase.ops));
            for state in &phase.states {
                let whose = match state.whose {
                    Whose::Busy(number) => number.to_string(),
                    whose => name_of(&WHOSE, &whose).to_owned(),
                };
                let how = name_of(&HOW, &state.how);
                text.push_str(&format!("\n{} {whose} {how} {} {}", state.act.name(), state.count, state.aux));
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
        writeln!(formatter, "{text}")
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
            "threads" => self.threads = count(words.next(), "number of threads")?.clamp(1, THREADS_MAX.into()) as u32,
            "reach" => self.reaches = words.map(|word| count(Some(word), "reach")).collect::<Result<_, _>>()?,
            "phase" if self.phases.len() < STATES_MAX => {
                self.phases.push(Phase { ops: count(words.next(), "number of ops")?, states: Vec::new() });
            }
            name => {
                let act = RecordedAct::named(name).filter(|act| is_modelled(*act));
                let act = act.ok_or_else(|| wrong("expected seed, threads, reach, phase, or what is done"))?;
                let state = self.state(act, &mut words)?;
                let phase = self.phases.last_mut().filter(|phase| phase.states.len() < STATES_MAX);
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
        let how = words.next().and_then(|word| HOW.iter().find(|(_, name)| *name == word));
        let how = how.ok_or_else(|| wrong("expected first, next or jump"))?.0;
        let (count, aux) = (count(words.next(), "count")?, count(words.next(), "flag")?);
        let mut state = State { act, whose, how, count, aux, lists: Default::default() };
        let mut list = None;
        for word in words {
            if let Some(found) = LISTS.iter().position(|name| *name == word) {
                list = Some(found);
                continue;
            }
            let list = &mut state.lists[list.ok_or_else(|| wrong("expected gap, size, seek, back, again or then"))?];
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
        match self.phases.iter().all(|phase| !phase.states.is_empty() && follows(phase)) {
            _ if self.phases.is_empty() => Some("it has no phase"),
            true => None,
            false => Some("a phase has no states, or one of them is followed by what is none"),
        }
    }
}

/// Whether a model has such ops.
fn is_modelled(act: RecordedAct) -> bool {
    use RecordedAct::{Allocate, Close, Datasync, Open, Read, Stat, Sync, Trim, Truncate, Unlink, Write};
    matches!(act, Read | Write | Sync | Datasync | Trim | Open | Close | Stat | Unlink | Truncate | Allocate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iolog::Waits;
    use crate::record::{FileName, Record};
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
            ("reach 0\nphase 1\nread 3 next 1 0", "line 4: `read 3 next 1 0`: there is no such file"),
            ("reach 9 9\nread 0 next 1 0", "there is no phase"),
            ("reach 9 9\nphase 1\nread 0 next 1 0 then 5 1", "followed by what is none"),
            ("reach 9 9\nphase 1\nread 0 next 1 0 size x", "`x` is not a valid value"),
            ("reach 9 9\nphase 1\nread 0 next 1 0 size 1*99999999999", "the list is too long"),
            ("phase 1\nread same next 1 0", "expected `reach`"),
            ("reach 9\nrename same next 1 0", "expected seed, threads"),
        ] {
            let said = drawn(&format!("{HEAD}\n{text}\n")).err().unwrap().to_string();
            assert!(said.contains(expected), "{said}");
        }
    }
}
