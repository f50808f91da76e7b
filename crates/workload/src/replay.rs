//! Recordings of what programs do to files by name: opened, read, renamed and removed again as it was recorded.
//!
//! A recording of block I/O alone is a [stream](crate::blocks::trace::Recording).

use crate::blocks::trace::Waits;
use crate::content::Content;
use crate::target::Prepare;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// The calls of a recording. Its group's workers are the threads that make them: each makes the calls of one recorded thread,
/// or of several one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Replay {
    /// The recording, in any form that Plumb reads.
    pub path: PathBuf,
    /// What is replayed in its place: the text of a model, such as `plumb trace fit` makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Recordings that are replayed with it at the same time. Files of one name are one file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<PathBuf>,
    /// Replay it this many times, one after the other, each time on files of its own.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub loops: u32,
    /// Replay so many copies of it at the same time, each with threads and files of its own.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub clones: u32,
    /// Which part of it one of several processes replays; all of it where absent. Plumb gives each rank its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ReplayShare>,
    /// When calls begin.
    #[serde(default)]
    pub timing: Timing,
    /// What a call waits for.
    #[serde(default)]
    pub order: ReplayOrder,
    /// Only calls on files below this recorded directory, which becomes the root of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// What the waits of fio's iolog of version 2 are.
    #[serde(default)]
    pub waits: Waits,
}

impl Replay {
    /// All of a recording, at its own times.
    pub fn new(path: PathBuf) -> Replay {
        let (timing, order, waits) = (Timing::default(), ReplayOrder::default(), Waits::default());
        let (model, with, share, below) = (None, Vec::new(), None, None);
        Replay { path, model, with, loops: 1, clones: 1, share, timing, order, below, waits }
    }
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

/// One of several processes that replay a recording together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplayShare {
    /// From 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

/// What one process replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayPart {
    /// Copies of the whole, by their numbers.
    Copies(Range<u32>),
    /// A part of its threads.
    Threads(ReplayShare),
}

/// What this share is of a replay with so many copies; `None` where the processes cannot have as many copies each.
pub fn replay_part(share: Option<ReplayShare>, clones: u32) -> Option<ReplayPart> {
    let clones = clones.max(1);
    let share = share.filter(|share| share.of > 1).unwrap_or(ReplayShare { number: 0, of: 1 });
    match clones / share.of {
        _ if clones == 1 && share.of > 1 => Some(ReplayPart::Threads(share)),
        each if each * share.of == clones => Some(ReplayPart::Copies(share.number * each..(share.number + 1) * each)),
        _ => None,
    }
}

/// The names of a recorded path, one below the other. Relative or absolute, it begins at the root of the replay, and `..` leads
/// no higher.
pub fn path_names(recorded: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in recorded.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

/// When calls of a recording begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Timing {
    /// At the recorded times, at this share of the recorded speed.
    Recorded {
        /// 100 is the recorded speed, 200 twice that.
        speed_percent: f64,
    },
    /// As soon as what they wait for is done.
    AsFastAsPossible,
    /// As long after what they wait for as it was recorded.
    ThinkTimes,
    /// While no more are in flight than were when they were recorded.
    InFlight,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing::Recorded { speed_percent: 100.0 }
    }
}

/// What a recorded call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReplayOrder {
    /// Nothing: each call goes to the next thread.
    None,
    /// The call of its thread before it.
    Thread,
    /// As well, all calls that had ended before it began and that concern the same descriptor, the same bytes or the same names: that
    /// a file must be there before it is opened.
    #[default]
    Resource,
    /// The call of its thread before it, and of every other thread the last call that had ended before it began.
    Inferred,
    /// All calls that had ended before it began, and the beginning of the call before it.
    Total,
}

/// A directory with what a recording needs to be there: the files and directories that it uses and does not make, as large as
/// it reads them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordedTree {
    /// The directory, relative to the test directory.
    pub path: PathBuf,
    /// How its files get their blocks.
    #[serde(default)]
    pub prepare: Prepare,
    /// What is written into them.
    #[serde(default)]
    pub content: Content,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_a_part_of_the_threads_or_as_many_copies_each() {
        let of = |number, of, clones| replay_part(Some(ReplayShare { number, of }), clones);
        assert_eq!(replay_part(None, 3), Some(ReplayPart::Copies(0..3)));
        assert_eq!(of(1, 2, 1), Some(ReplayPart::Threads(ReplayShare { number: 1, of: 2 })));
        assert_eq!(of(1, 2, 6), Some(ReplayPart::Copies(3..6)));
        assert_eq!(of(0, 1, 1), Some(ReplayPart::Copies(0..1)));
        assert_eq!(of(0, 4, 2), None);
        assert_eq!(of(0, 2, 3), None);
    }
}
