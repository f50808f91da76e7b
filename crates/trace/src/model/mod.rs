//! Models of recordings: tables from which ops are drawn. A model is a text file, and is read like a recording.
//!
//! A model has threads, and a thread has phases. A phase has states. A state is an act with the kind of its file, its
//! placement, its size, the length of the gap before it, and its position within the use of a file. A state has lists
//! of equally likely values, and the frequency of each following state.

mod draw;
mod files;
mod fit;
mod gather;
mod phases;
#[cfg(test)]
mod tests;

pub(crate) use draw::Drawn;
pub use fit::{Fitted, fit};

use crate::error::LineProblem;
use crate::record::{Record, RecordedAct};
use std::fmt;
use std::fmt::Write;

/// The first line of a model.
pub(crate) const HEAD: &str = "plumb model 1";

/// Number of files with states of their own.
const BUSY_MAX: usize = 4;

/// Maximum number of values in a list.
const VALUES: usize = 32;

/// Maximum number of states in a phase, and of phases. A larger model is invalid.
const STATES_MAX: usize = 4096;

/// Maximum number of threads in a model. Further ones share the last.
const THREADS_MAX: usize = 16;

/// Result of an op on a missing name: ENOENT. Source: asm-generic/errno-base.h.
const NOT_THERE: i64 = -2;

/// Maximum number of pauses in a phase.
const PAUSES_MAX: usize = 512;

/// Number of data ops after which a use of a block is forgotten.
const MEMORY_OPS: usize = 1 << 16;

/// Number of files remembered as recently used.
const RECENT_MAX: usize = 4096;

/// Granularity of reuse, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// The kind of file that an op uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    /// One of the busiest files, by its number.
    Busy(u32),
    /// The thread's last file that is not one of the busiest.
    Same,
    /// Another file that was used before.
    Other,
    /// A file that was not used yet.
    New,
    Directory,
}

/// Names of the kinds without a number.
const TARGETS: [(Target, &str); 4] =
    [(Target::Same, "same"), (Target::Other, "other"), (Target::New, "new"), (Target::Directory, "dir")];

/// The offset of an op relative to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Placement {
    /// The first data op on the file.
    First,
    /// At the end of the last op.
    Next,
    /// At the start of a file that was used before.
    Start,
    /// At the end of the file.
    Append,
    /// At the offset of the last op of the same act and size on the file.
    Place,
    /// Elsewhere, or without an offset.
    Jump,
    /// On a missing name: the op fails.
    Missing,
}

/// Names of the placements.
const PLACEMENTS: [(Placement, &str); 7] = [
    (Placement::First, "first"),
    (Placement::Next, "next"),
    (Placement::Start, "start"),
    (Placement::Append, "append"),
    (Placement::Place, "place"),
    (Placement::Jump, "jump"),
    (Placement::Missing, "missing"),
];

/// Suffix of a placement for reads that reach the end of their file.
const SHORT: &str = "-end";

fn name_of<T: PartialEq>(names: &[(T, &'static str)], wanted: &T) -> &'static str {
    names.iter().find(|(known, _)| known == wanted).map_or("", |(_, name)| name)
}

/// Lists of values in a state.
#[derive(Clone, Copy)]
enum List {
    /// Time since the previous op, ns.
    Gap,
    /// Length in bytes.
    Size,
    /// Offset relative to the end of the last op on the file, bytes; may be negative.
    Seek,
    /// For another file: the number of other files used since. For a missing name: its number.
    Back,
    /// For another file: the magnitude of the offset where its last op ended; 0 if there was none.
    End,
    /// Data ops since the position was used; 0 for never.
    Again,
    /// Bytes moved by a read that reaches the end of its file.
    Moved,
    /// Following states, each with its frequency.
    Then,
}

/// Names of the lists.
const LISTS: [&str; 8] = ["gap", "size", "seek", "back", "end", "again", "moved", "then"];

/// A kind of op, with its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    act: RecordedAct,
    target: Target,
    placement: Placement,
    /// Whether it is a read that reaches the end of its file.
    is_short: bool,
    /// Number of its ops in the recording.
    count: u64,
    /// The record's `aux`. For reads and writes, their offset plus 1 if it is always the same.
    aux: u64,
    lists: [Vec<i64>; LISTS.len()],
    /// While ops are drawn: number of its ops, number of each following state, and undrawn values of each list.
    used: u64,
    used_then: Vec<u64>,
    left: [u32; LISTS.len()],
}

impl State {
    fn new(act: RecordedAct, target: Target, placement: Placement) -> State {
        State {
            act,
            target,
            placement,
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

/// Returns the magnitude of a distance as a power of two; 0 for none.
fn magnitude(bytes: u64) -> u8 {
    64 - bytes.leading_zeros() as u8
}

/// A long time without ops of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pause {
    /// Number of ops since the previous pause, including the op that this pause precedes.
    ops: u64,
    /// Length in ns. 0 in the last entry: the remaining ops have no pause.
    ns: u64,
}

/// A time in which a thread's ops are alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Phase {
    ops: u64,
    /// In order, and repeated from the start.
    pauses: Vec<Pause>,
    /// The first state comes first.
    states: Vec<State>,
}

/// The ops of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Thread {
    /// Start time in ns.
    start_ns: u64,
    phases: Vec<Phase>,
}

/// A model of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    seed: u64,
    /// Highest offset of ops in each of the busiest files, and last in any other, bytes.
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
            let target = match state.target {
                Target::Busy(number) => number.to_string(),
                target => name_of(&TARGETS, &target).to_owned(),
            };
            let (placement, short) = (name_of(&PLACEMENTS, &state.placement), if state.is_short { SHORT } else { "" });
            text.push_str(&format!("\n{} {target} {placement}{short} {} {}", state.act.name(), state.count, state.aux));
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

fn invalid(what: &str) -> LineProblem {
    LineProblem::Other { what: what.to_owned() }
}

impl Model {
    /// Parses a line of the model.
    fn line(&mut self, line: &str) -> Result<(), LineProblem> {
        let mut words = line.split_ascii_whitespace();
        match words.next().unwrap_or("") {
            "plumb" => {}
            "seed" => self.seed = count(words.next(), "seed")?,
            "thread" if self.threads.len() < THREADS_MAX => {
                self.threads.push(Thread { start_ns: count(words.next(), "time")?, phases: Vec::new() });
            }
            "thread" => return Err(invalid("there are too many threads")),
            "reach" => self.reaches = words.map(|word| count(Some(word), "reach")).collect::<Result<_, _>>()?,
            "phase" => {
                let thread = self.threads.last_mut().filter(|thread| thread.phases.len() < STATES_MAX);
                let phases =
                    &mut thread.ok_or_else(|| invalid("there is no thread, or it has too many phases"))?.phases;
                phases.push(Phase { ops: count(words.next(), "number of ops")?, ..Phase::default() });
            }
            "pauses" => {
                let phases = self.threads.last_mut().and_then(|thread| thread.phases.last_mut());
                let pauses = &mut phases.ok_or_else(|| invalid("there is no phase"))?.pauses;
                while let Some(ops) = words.next() {
                    if pauses.len() == 2 * PAUSES_MAX {
                        return Err(invalid("there are too many pauses"));
                    }
                    let (ops, ns) = (count(Some(ops), "number of ops")?, count(words.next(), "time")?);
                    pauses.push(Pause { ops, ns });
                }
            }
            name => {
                let act = RecordedAct::named(name).filter(|act| is_modelled(*act));
                let act = act.ok_or_else(|| invalid("expected seed, reach, thread, phase, or an act"))?;
                let state = self.state(act, &mut words)?;
                let phases = self.threads.last_mut().and_then(|thread| thread.phases.last_mut());
                let phase = phases.filter(|phase| phase.states.len() < STATES_MAX);
                phase.ok_or_else(|| invalid("there is no phase, or it has too many states"))?.states.push(state);
            }
        }
        Ok(())
    }

    fn state<'a>(&self, act: RecordedAct, words: &mut impl Iterator<Item = &'a str>) -> Result<State, LineProblem> {
        let target = words.next().unwrap_or("");
        let target = match TARGETS.iter().find(|(_, name)| *name == target) {
            Some((target, _)) => *target,
            None => {
                let number = count(Some(target), "file")?;
                let is_one = number < self.reaches.len().saturating_sub(1) as u64;
                Target::Busy(if is_one { number as u32 } else { return Err(invalid("there is no such file")) })
            }
        };
        let word = words.next().unwrap_or("");
        let (name, is_short) = word.strip_suffix(SHORT).map_or((word, false), |name| (name, true));
        let placement = PLACEMENTS.iter().find(|(_, known)| *known == name);
        let placement =
            placement.ok_or_else(|| invalid("expected first, next, start, append, place, jump or missing"))?.0;
        let (count, aux) = (count(words.next(), "count")?, count(words.next(), "flag")?);
        let mut state = State { is_short, count, aux, ..State::new(act, target, placement) };
        let mut list = None;
        for word in words {
            if let Some(found) = LISTS.iter().position(|name| *name == word) {
                list = Some(found);
                continue;
            }
            let list = &mut state.lists
                [list.ok_or_else(|| invalid("expected gap, size, seek, back, end, again, moved or then"))?];
            let (value, times) = word.split_once('*').unwrap_or((word, "1"));
            let times = crate::model::count(Some(times), "number of times")? as usize;
            if list.len() + times > 2 * STATES_MAX {
                return Err(invalid("the list is too long"));
            }
            list.resize(list.len() + times, number(Some(value), "value")?);
        }
        Ok(state)
    }

    /// Returns a problem with the model as a whole, if any.
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
            false => Some("a phase has no states, or one is followed by a state that does not exist"),
        }
    }
}

/// Whether a model supports this act.
fn is_modelled(act: RecordedAct) -> bool {
    use RecordedAct::{Add, Map, Other, Readlink};
    !matches!(act, Add | Map | Other | Readlink)
}

/// Whether a model supports this op. Failed ops are modelled only for missing names.
fn has_model(record: &Record) -> bool {
    is_modelled(record.act) && (record.result >= 0 || is_missing(record))
}

/// Whether the op failed because its name does not exist.
fn is_missing(record: &Record) -> bool {
    use RecordedAct::{Open, Stat, Unlink};
    record.result == NOT_THERE && record.handle == 0 && matches!(record.act, Open | Stat | Unlink)
}
