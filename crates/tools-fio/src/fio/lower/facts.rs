//! Facts about a job that several modules of lowering need: sizes of its ops, parts of its files, what it replays, and
//! the lines of its plan.

use super::places::{RecordedFile, RecordedFiles};
use crate::fio::job::FioJob;
use crate::fio::options::direction::{DirectionOptions, KindSizes};
use crate::fio::value::PerDirection;
use plumb_workload::Bytes;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::FileRange;
use plumb_workload::blocks::trace::Waits;

/// The smallest op of one kind.
pub(super) fn smallest(sizes: &KindSizes) -> u64 {
    match sizes {
        KindSizes::Fixed(bytes) => *bytes,
        KindSizes::Range(range) => range.low,
        KindSizes::Split(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
    }
}

/// The largest op of one kind.
pub(super) fn largest(sizes: &KindSizes) -> u64 {
    match sizes {
        KindSizes::Fixed(bytes) => *bytes,
        KindSizes::Range(range) => range.high,
        KindSizes::Split(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
    }
}

/// The smallest op of any kind, at least 1.
pub(super) fn smallest_of_all(work: &DirectionOptions) -> u64 {
    let sizes = work.sizes();
    [&sizes.read, &sizes.write, &sizes.trim].map(smallest).into_iter().min().unwrap_or(1).max(1)
}

/// Sizes of ops that say what a job does: `4KiB`, or `4KiB to 64KiB`.
pub(super) fn span(sizes: &PerDirection<KindSizes>, kind: ByKind<bool>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (moves, sizes) in [(kind.read, &sizes.read), (kind.write, &sizes.write), (kind.trim, &sizes.trim)] {
        let text = match (smallest(sizes), largest(sizes)) {
            (low, high) if low == high => Bytes(low).to_string(),
            (low, high) => format!("{} to {}", Bytes(low), Bytes(high)),
        };
        if moves && !parts.contains(&text) {
            parts.push(text);
        }
    }
    parts.join(" or ")
}

/// Limits a number of ops to what a workload file can hold: the integers of TOML are signed. No job lives to do as many.
pub(super) fn ops_limit(ops: Option<u64>) -> Option<u64> {
    ops.map(|ops| ops.min(i64::MAX as u64))
}

/// From a dialect's three to the workload's.
pub(super) fn by_kind<T>(each: PerDirection<T>) -> ByKind<T> {
    ByKind { read: each.read, write: each.write, trim: each.trim }
}

/// What a job's files are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// The length that each file must have; empty if nothing is laid out.
    pub lengths: Vec<Bytes>,
    /// The part of each that is used.
    pub ranges: Vec<FileRange>,
    /// Bytes to move in one loop, where that is not what the ranges hold.
    pub io_bytes: Option<Bytes>,
    /// What the ranges hold together.
    pub bytes: u64,
    /// Files that are laid out now.
    pub fresh: usize,
}

/// What a copy of a job repeats.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recorded {
    /// What the engine reads.
    pub path: String,
    /// How its times are used.
    pub waits: Waits,
    /// What it touches.
    pub files: RecordedFiles,
}

/// Kinds of op that a replay has.
pub(super) fn moves(job: &FioJob, recorded: &Recorded) -> ByKind<bool> {
    let has = |count: fn(&RecordedFile) -> u64| recorded.files.files.iter().any(|file| count(file) > 0);
    let skips = |kind: &str| job.replay.skip.contains(&kind);
    ByKind {
        read: has(|file| file.reads) && !skips("read"),
        write: has(|file| file.writes) && !skips("write"),
        trim: has(|file| file.trims) && !skips("trim"),
    }
}

/// One fact of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    /// What it is about, in a word.
    pub about: &'static str,
    /// The fact.
    pub text: String,
}

impl PlanLine {
    pub(super) fn new(about: &'static str, text: impl Into<String>) -> PlanLine {
        PlanLine { about, text: text.into() }
    }
}
