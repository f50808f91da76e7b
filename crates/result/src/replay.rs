//! What a replay kept of its recording.

use plumb_document::{FromDocument, ToDocument};
use plumb_sorted::SortedMap;
use plumb_workload::{OpKind, ReplayOrder, Timing};

/// Ops of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedSum {
    /// How many, failures among them.
    pub ops: u64,
    /// How many failed.
    pub failed: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// Calls that came to something else than they did when they were recorded.
#[derive(Debug, Clone, PartialEq, Eq, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferentOutcome {
    /// What.
    pub kind: OpKind,
    /// What it came to: 1 for bytes, 0 for success, or the negative number of an error.
    pub recorded: i64,
    /// The same of the replay.
    pub replayed: i64,
    /// How often.
    pub count: u64,
    /// The first of them.
    pub path: String,
}

/// What a replay did, beside what its recording says.
#[derive(Debug, Clone, PartialEq, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayMeasurement {
    /// When ops were to begin.
    pub timing: Timing,
    /// What each waited for; `None` of block I/O from one queue.
    pub order: Option<ReplayOrder>,
    /// Threads that replayed it.
    pub threads: u32,
    /// Threads of the recording that were alive at once.
    pub threads_recorded: u32,
    /// What the recording does, by kind.
    pub recorded: SortedMap<OpKind, ReplayedSum>,
    /// From the beginning of the first op to that of the last, at the asked speed, ns.
    pub recorded_length_ns: u64,
    /// The same of the replay.
    pub replayed_length_ns: u64,
    /// Durations of all recorded ops, ns; `None` if some are unknown.
    pub recorded_busy_ns: Option<u64>,
    /// Ops that began.
    pub begun: u64,
    /// Ops that began after one that comes behind them in the recording.
    pub overtaken: u64,
    /// Ops that were held back: by what they wait for, or by a full queue.
    pub held: u64,
    /// How late ops began behind their time and behind what they had to wait for, 99 % of them, ns: what is the replay's own fault,
    /// and not that of ops before them that took longer than they were recorded to.
    pub own_lag_p99_ns: u64,
    /// The same of all.
    pub own_lag_max_ns: u64,
    /// How far the gaps between ops are from the recorded ones: the largest difference of the shares up to any length.
    pub gap_distance: Option<f64>,
    /// How far rates are from the recorded ones, piece by piece: root of the mean square, by the mean.
    pub rate_error: Option<f64>,
    /// Outcomes that differ, by kind.
    pub different: Vec<DifferentOutcome>,
    /// How many ops came to something else.
    pub different_count: u64,
    /// Files that were opened although the recording has no open of theirs.
    pub opened_beside: u64,
    /// Closes of descriptors that the recording did not open; nothing was done for them.
    pub closes_of_others: u64,
    /// Records that were not replayed, by what they are called.
    pub left_out: SortedMap<String, u64>,
}

/// How well something of a recording was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FidelityVerdict {
    /// Nothing was promised of it.
    Info,
    /// It was kept.
    Pass,
    /// Not quite.
    Warn,
    /// It was not.
    Fail,
}

impl FidelityVerdict {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            FidelityVerdict::Info => "info",
            FidelityVerdict::Pass => "PASS",
            FidelityVerdict::Warn => "WARN",
            FidelityVerdict::Fail => "FAIL",
        }
    }
}

/// What the numbers of a line are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FidelityUnit {
    /// Nanoseconds.
    Ns,
    /// Ops.
    Ops,
    /// Bytes.
    Bytes,
    /// Shares of 1.
    Share,
}

/// A line of the sheet that says what a replay kept of its recording.
#[derive(Debug, Clone, PartialEq, ToDocument, FromDocument)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FidelityLine {
    /// What is compared.
    pub name: String,
    /// How well it was kept.
    pub verdict: FidelityVerdict,
    /// What the numbers are.
    pub unit: FidelityUnit,
    /// Of the recording, where that has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
    /// Of the replay.
    pub replayed: f64,
    /// What may differ for a pass: a share of the recorded number, or of the replayed one where nothing is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// More about it; empty if there is nothing to say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}
