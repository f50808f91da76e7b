//! Replays of recorded calls on named files, such as open, read, rename and unlink.
//!
//! A recording of block I/O alone is a [stream](crate::blocks::trace::Recording).

use crate::blocks::trace::Waits;
use crate::content::Content;
use crate::target::Prepare;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// Calls of a recording. The group's workers act as the recorded threads. Each makes the calls of one thread, or
/// of several one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Replay {
    /// Path of the recording, in any format that Plumb reads.
    pub path: PathBuf,
    /// Text of a model to replay instead of the recording, as `plumb trace fit` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Further recordings to replay at the same time. Files of the same name are the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<PathBuf>,
    /// Number of times to replay the recording, one after another, each with its own files.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub loops: u32,
    /// Number of copies to replay at the same time, each with its own threads and files.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub clones: u32,
    /// Part of the recording that this process replays; all of it when absent. Plumb assigns each rank its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ReplayShare>,
    /// Rule for when calls begin.
    #[serde(default)]
    pub timing: Timing,
    /// Dependencies between calls.
    #[serde(default)]
    pub order: ReplayOrder,
    /// Replay only calls on files below this recorded directory, which becomes the root of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// Meaning of the `wait` numbers in a version 2 fio iolog.
    #[serde(default)]
    pub waits: Waits,
}

impl Replay {
    /// Returns a replay of the whole recording at its own times.
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

/// Share of one of several processes that replay a recording together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ReplayShare {
    /// Number of this process, counted from 0.
    pub number: u32,
    /// Number of processes.
    pub of: u32,
}

/// Part of a recording that one process replays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayPart {
    /// Copies of the whole recording, by number.
    Copies(Range<u32>),
    /// A part of its threads.
    Threads(ReplayShare),
}

/// Returns the part of this share in a replay with `clones` copies; `None` if the copies cannot be split evenly.
pub fn replay_part(share: Option<ReplayShare>, clones: u32) -> Option<ReplayPart> {
    let clones = clones.max(1);
    let share = share.filter(|share| share.of > 1).unwrap_or(ReplayShare { number: 0, of: 1 });
    match clones / share.of {
        _ if clones == 1 && share.of > 1 => Some(ReplayPart::Threads(share)),
        each if each * share.of == clones => Some(ReplayPart::Copies(share.number * each..(share.number + 1) * each)),
        _ => None,
    }
}

/// Splits a recorded path into its components. All paths start at the root of the replay, whether relative or
/// absolute, and `..` cannot leave it.
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

/// Rule for when recorded calls begin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Timing {
    /// At the recorded times, scaled to a percentage of the recorded speed.
    Recorded {
        /// Speed in percent: 100 is the recorded speed, 200 twice that.
        speed_percent: f64,
    },
    /// As soon as the calls that they depend on are done.
    AsFastAsPossible,
    /// After the recorded delay from the calls that they depend on.
    ThinkTimes,
    /// As soon as no more calls are in flight than when they were recorded.
    InFlight,
}

impl Default for Timing {
    fn default() -> Timing {
        Timing::Recorded { speed_percent: 100.0 }
    }
}

/// Calls that a recorded call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReplayOrder {
    /// No calls: each call goes to the next thread.
    None,
    /// The previous call of its thread.
    Thread,
    /// The previous call of its thread, and all calls on the same descriptor, bytes or names that had ended before it
    /// began. A file must exist before it is opened, for example.
    #[default]
    Resource,
    /// The previous call of its thread, and the last call of every other thread that had ended before it began.
    Inferred,
    /// All calls that had ended before it began, and the start of the previous call.
    Total,
}

/// A directory with everything that a recording expects to exist: the files and directories that it uses but does not
/// create. Files are as large as the recording reads them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RecordedTree {
    /// Path of the directory, relative to the test directory.
    pub path: PathBuf,
    /// Method of allocating its files.
    #[serde(default)]
    pub prepare: Prepare,
    /// Data written when its files are laid out.
    #[serde(default)]
    pub content: Content,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_split_threads_or_copies_evenly() {
        let of = |number, of, clones| replay_part(Some(ReplayShare { number, of }), clones);
        assert_eq!(replay_part(None, 3), Some(ReplayPart::Copies(0..3)));
        assert_eq!(of(1, 2, 1), Some(ReplayPart::Threads(ReplayShare { number: 1, of: 2 })));
        assert_eq!(of(1, 2, 6), Some(ReplayPart::Copies(3..6)));
        assert_eq!(of(0, 1, 1), Some(ReplayPart::Copies(0..1)));
        assert_eq!(of(0, 4, 2), None);
        assert_eq!(of(0, 2, 3), None);
    }
}
