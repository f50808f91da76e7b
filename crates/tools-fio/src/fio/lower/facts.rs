//! Facts about a job that several lowering modules need: op sizes, file ranges, its
//! recording, and the lines of its plan.

use super::places::{RecordedFile, RecordedFiles};
use crate::fio::job::FioJob;
use crate::fio::options::direction::{DirectionOptions, KindSizes};
use crate::fio::value::PerDirection;
use plumb_workload::Bytes;
use plumb_workload::blocks::ByKind;
use plumb_workload::blocks::fio::FileRange;
use plumb_workload::blocks::trace::Waits;

/// Returns the smallest op of one kind.
pub(super) fn smallest(sizes: &KindSizes) -> u64 {
    match sizes {
        KindSizes::Fixed(bytes) => *bytes,
        KindSizes::Range(range) => range.low,
        KindSizes::Split(shares) => shares.iter().map(|share| share.bytes).min().unwrap_or(0),
    }
}

/// Returns the largest op of one kind.
pub(super) fn largest(sizes: &KindSizes) -> u64 {
    match sizes {
        KindSizes::Fixed(bytes) => *bytes,
        KindSizes::Range(range) => range.high,
        KindSizes::Split(shares) => shares.iter().map(|share| share.bytes).max().unwrap_or(0),
    }
}

/// Returns the smallest op of any kind, at least 1.
pub(super) fn smallest_of_all(work: &DirectionOptions) -> u64 {
    let sizes = work.sizes();
    [&sizes.read, &sizes.write, &sizes.trim].map(smallest).into_iter().min().unwrap_or(1).max(1)
}

/// Formats the range of op sizes: `4KiB`, or `4KiB to 64KiB`.
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

/// Limits a number of ops to the largest integer of a workload file: TOML integers are signed. No real job reaches it.
pub(super) fn ops_limit(ops: Option<u64>) -> Option<u64> {
    ops.map(|ops| ops.min(i64::MAX as u64))
}

/// Converts the dialect's three directions to the workload's.
pub(super) fn by_kind<T>(each: PerDirection<T>) -> ByKind<T> {
    ByKind { read: each.read, write: each.write, trim: each.trim }
}

/// Lengths and ranges of a job's files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// Required length of each file; empty if nothing is laid out.
    pub lengths: Vec<Bytes>,
    /// Range of each file that the job uses.
    pub ranges: Vec<FileRange>,
    /// Bytes to transfer per loop, if that differs from the size of the ranges.
    pub io_bytes: Option<Bytes>,
    /// Total size of the ranges.
    pub bytes: u64,
    /// Number of files to lay out.
    pub fresh: usize,
}

/// The recording that a copy of a job replays.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recorded {
    pub path: String,
    /// The treatment of recorded times.
    pub waits: Waits,
    pub files: RecordedFiles,
}

/// Returns the kinds of op that a replay contains.
pub(super) fn moves(job: &FioJob, recorded: &Recorded) -> ByKind<bool> {
    let has = |count: fn(&RecordedFile) -> u64| recorded.files.files.iter().any(|file| count(file) > 0);
    let skips = |kind: &str| job.replay.skip.contains(&kind);
    ByKind {
        read: has(|file| file.reads) && !skips("read"),
        write: has(|file| file.writes) && !skips("write"),
        trim: has(|file| file.trims) && !skips("trim"),
    }
}

/// A line of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLine {
    /// The subject, in a word.
    pub about: &'static str,
    pub text: String,
}

impl PlanLine {
    pub(super) fn new(about: &'static str, text: impl Into<String>) -> PlanLine {
        PlanLine { about, text: text.into() }
    }
}
