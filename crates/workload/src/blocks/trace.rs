//! Recordings that are replayed.

use super::ByKind;
use crate::replay::ReplayShare;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Ops of a recording. Its files are the target's, in the order of the recording's first mention.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Recording {
    /// The recording, in any form that Plumb reads.
    pub path: PathBuf,
    /// What is replayed in its place: the text of a model, such as `plumb trace fit` makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Recordings that are replayed with it at the same time. Files of one name are one file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub with: Vec<PathBuf>,
    /// Bytes of its largest op.
    pub largest: Bytes,
    /// Keep to the recorded times; as fast as possible where absent. Per cent of the recorded speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_percent: Option<u32>,
    /// As fast as possible, but with no more in flight than were when each op was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_flight: bool,
    /// Say what was kept of it: times, gaps, amounts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sheet: bool,
    /// Divide offsets by this.
    #[serde(default = "once")]
    pub scale: u32,
    /// Round offsets to a multiple of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<Bytes>,
    /// Add this to offsets, behind the division.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub shift: Bytes,
    /// Fold offsets into so much: what lies behind begins again at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<Bytes>,
    /// Make each op so often, in as many places one behind another: each `clone-every` bytes.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub clones: u32,
    /// From one place of a clone to the next.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub clone_every: Bytes,
    /// Which part of it one of several processes replays; all of it where absent. Plumb gives each rank its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<ReplayShare>,
    /// Send all ops to the target's first file.
    #[serde(default)]
    pub one_file: bool,
    /// Leave out ops of these kinds.
    #[serde(default)]
    pub skip: SkipOps,
    /// Kinds of op that it has, those left out not counted. A recording without writes needs no permission to write.
    #[serde(default = "all_kinds")]
    pub moves: ByKind<bool>,
    /// What the waits of fio's iolog of version 2 are.
    #[serde(default)]
    pub waits: Waits,
    /// Replay it this many times, one after the other.
    #[serde(default = "one")]
    pub loops: u64,
    /// Begin again instead of ending, until the group's time is over.
    #[serde(default)]
    pub repeat_until_time: bool,
    /// Stop after this many bytes, over all loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_bytes: Option<Bytes>,
    /// Stop after this many ops that move data, over all loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ops: Option<u64>,
}

impl Recording {
    /// All of a recording, once and as fast as possible.
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

/// What the number of a `wait` in fio's iolog of version 2 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Waits {
    /// Microseconds after the wait before, as fio's manual says.
    #[default]
    Manual,
    /// Milliseconds since the start, as fio does.
    Fio,
}

/// Kinds of op that a replay leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SkipOps {
    /// Reads.
    #[serde(default)]
    pub read: bool,
    /// Writes.
    #[serde(default)]
    pub write: bool,
    /// Trims.
    #[serde(default)]
    pub trim: bool,
    /// Flushes.
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
