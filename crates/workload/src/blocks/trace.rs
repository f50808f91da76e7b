//! Block I/O recordings to be replayed.

use super::ByKind;
use crate::replay::ReplayShare;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Ops of a recording. The target's files are the recording's, in order of first mention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recording {
    /// Path of the recording, in any format that Plumb reads.
    pub path: PathBuf,
    /// Text of a model to replay instead of the recording, as `plumb trace fit` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Further recordings to replay at the same time. Files of the same name are the same file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<PathBuf>,
    /// Size of the recording's largest op in bytes.
    pub largest: Bytes,
    /// Replay at the recorded times, at this percentage of the recorded speed. As fast as possible when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_percent: Option<u32>,
    /// Replay as fast as possible, but with no more ops in flight than were when each op was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
    /// Report how closely the replay followed the recording: times, gaps and amounts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sheet: bool,
    /// Divisor of all offsets.
    #[serde(default = "once")]
    pub scale: u32,
    /// Round offsets to a multiple of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Add this to all offsets, after the division.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub shift: Bytes,
    /// Wrap offsets at this size: larger ones start over at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Bytes>,
    /// Repeat each op at this many places, `clone-every` bytes apart.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub clones: u32,
    /// Distance in bytes between the places of a cloned op.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub clone_every: Bytes,
    /// Part of the recording that this process replays; all of it when absent. Plumb assigns each rank its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ReplayShare>,
    /// Send all ops to the target's first file.
    #[serde(default)]
    pub one_file: bool,
    /// Kinds of op to leave out.
    #[serde(default)]
    pub skip: SkipOps,
    /// Kinds of op in the recording, except the ones left out. A recording without writes
    /// needs no permission to write.
    #[serde(default = "all_kinds")]
    pub moves: ByKind<bool>,
    /// Meaning of the `wait` numbers in a version 2 fio iolog.
    #[serde(default)]
    pub waits: Waits,
    /// Number of times to replay the recording, one after another.
    #[serde(default = "one")]
    pub loops: u64,
    /// Start over at the end, until the group's time is up.
    #[serde(default)]
    pub repeat_until_time: bool,
    /// Bytes after which to stop, over all loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<Bytes>,
    /// Number of ops that move data after which to stop, over all loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ops: Option<u64>,
}

impl Recording {
    /// Returns a replay of the whole recording, once and as fast as possible.
    pub fn new(path: PathBuf, largest: Bytes) -> Recording {
        Recording {
            path,
            model: None,
            with: Vec::new(),
            largest,
            speed_percent: None,
            in_flight: false,
            sheet: false,
            shift: Bytes(0),
            fold: None,
            clones: 1,
            clone_every: Bytes(0),
            share: None,
            scale: 1,
            align: None,
            one_file: false,
            skip: SkipOps::default(),
            moves: all_kinds(),
            waits: Waits::default(),
            loops: 1,
            repeat_until_time: false,
            io_bytes: None,
            max_ops: None,
        }
    }
}

/// Meaning of the `wait` numbers in a version 2 fio iolog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Microseconds since the previous wait, as fio's manual says.
    #[default]
    Manual,
    /// Milliseconds since the start, as fio implements it.
    Fio,
}

/// Kinds of op that a replay leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SkipOps {
    /// Leave out all recorded reads.
    #[serde(default)]
    pub read: bool,
    /// Leave out all recorded writes.
    #[serde(default)]
    pub write: bool,
    /// Leave out all recorded trims.
    #[serde(default)]
    pub trim: bool,
    /// Leave out all recorded flushes.
    #[serde(default)]
    pub sync: bool,
}

fn all_kinds() -> ByKind<bool> {
    ByKind::all(true)
}

fn once() -> u32 {
    1
}

fn is_nothing(bytes: &Bytes) -> bool {
    bytes.0 == 0
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

fn one() -> u64 {
    1
}
