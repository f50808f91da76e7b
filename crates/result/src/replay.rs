//! Fidelity of a replay to its recording.

use crate::histogram::Histogram;
use plumb_workload::{OpKind, ReplayOrder, Timing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Totals of the ops of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayedSum {
    /// Number of ops, including failed ones.
    pub ops: u64,
    /// Number of ops that failed.
    pub failed: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
}

/// Calls whose outcome differed from the recorded one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferentOutcome {
    /// Kind of op of these calls.
    pub kind: OpKind,
    /// Recorded outcome: 1 for bytes, 0 for success, or the negative error number.
    pub recorded: i64,
    /// Outcome in the replay, in the same form.
    pub replayed: i64,
    /// Number of calls with these outcomes.
    pub count: u64,
    /// Path of the first of them.
    pub path: String,
}

/// Measurements of a replay beyond those of any phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayMeasurement {
    /// When ops were scheduled to start.
    pub timing: Timing,
    /// Ordering rule between ops; `null` for block I/O from one queue.
    pub order: Option<ReplayOrder>,
    /// Number of threads that replayed it.
    pub threads: u32,
    /// Largest number of recorded threads alive at once.
    pub threads_recorded: u32,
    /// Ops in the recording, by kind.
    pub recorded: BTreeMap<OpKind, ReplayedSum>,
    /// Time from the start of the first op to the start of the last in the recording, at the requested speed, ns.
    pub recorded_length_ns: u64,
    /// Time from the start of the first op to the start of the last in the replay, ns.
    pub replayed_length_ns: u64,
    /// Total duration of all recorded ops, ns; `null` if some durations are unknown.
    pub recorded_busy_ns: Option<u64>,
    /// Number of ops that started.
    pub begun: u64,
    /// Number of ops that started after an op that follows them in the recording.
    pub overtaken: u64,
    /// Number of ops delayed by the ops that they depend on, or by a full queue.
    pub held: u64,
    /// 99th percentile of the delay of ops past both their scheduled time and the ops they had to wait for, ns. It
    /// measures the replay's own delay, without delays from earlier ops that took longer than recorded.
    pub own_lag_p99_ns: u64,
    /// Largest such delay, ns.
    pub own_lag_max_ns: u64,
    /// Difference between the recorded and replayed gaps between ops: the largest
    /// difference of their cumulative distributions.
    pub gap_distance: Option<f64>,
    /// Difference between recorded and replayed rates, per interval of time: root mean square divided by the mean.
    pub rate_error: Option<f64>,
    /// Outcomes that differ, by kind.
    pub different: Vec<DifferentOutcome>,
    /// Number of ops whose outcome differed.
    pub different_count: u64,
    /// Number of files opened although the recording contains no open call for them.
    pub opened_beside: u64,
    /// Number of recorded closes of descriptors that the recording did not open; they were not replayed.
    pub closes_of_others: u64,
    /// Number of records that were not replayed, by name.
    pub left_out: BTreeMap<String, u64>,
    /// Raw counts behind gaps, rates and delays; present during a run and absent from results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub counts: Option<Box<ReplayCounts>>,
}

/// Largest number of different outcomes kept.
const DIFFERENT_MAX: usize = 32;

/// Counts of op starts in the recording and in the replay, in this order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Gaps between ops of a thread, by order of magnitude.
    pub gaps: [Vec<u64>; 2],
    /// Number of ops that started in each interval of time.
    pub rates: [Vec<u64>; 2],
    /// Length of an interval, ns: a fixed base length times a power of two.
    pub piece_ns: u64,
    /// Delays of op starts caused by the replay itself, ns.
    pub own_lag: Histogram,
}

fn add_counts(mine: &mut Vec<u64>, other: &[u64]) {
    mine.resize(mine.len().max(other.len()), 0);
    mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
}

impl ReplayCounts {
    /// Adds the counts of another thread or process.
    pub fn add(&mut self, mut other: ReplayCounts) {
        for (mine, other) in self.gaps.iter_mut().zip(&other.gaps) {
            add_counts(mine, other);
        }
        if self.piece_ns == 0 {
            self.piece_ns = other.piece_ns;
        }
        let longest_ns = self.piece_ns.max(other.piece_ns);
        self.in_pieces_of(longest_ns);
        other.in_pieces_of(longest_ns);
        for (mine, other) in self.rates.iter_mut().zip(&other.rates) {
            add_counts(mine, other);
        }
        self.own_lag.merge(&other.own_lag);
    }

    fn in_pieces_of(&mut self, longer_ns: u64) {
        let times = (longer_ns / self.piece_ns.max(1)).max(1) as usize;
        if times > 1 {
            self.rates = self.rates.each_ref().map(|rates| rates.chunks(times).map(|some| some.iter().sum()).collect());
            self.piece_ns = longer_ns;
        }
    }

    /// Returns the Kolmogorov–Smirnov distance of the gaps: the largest difference of the cumulative distributions.
    pub fn gap_distance(&self) -> Option<f64> {
        let [recorded, replayed] = &self.gaps;
        let totals = [recorded, replayed].map(|gaps| gaps.iter().sum::<u64>());
        if totals.contains(&0) {
            return None;
        }
        let (mut sums, mut largest) = ([0_u64; 2], 0.0_f64);
        for (one, other) in recorded.iter().zip(replayed) {
            sums = [sums[0] + one, sums[1] + other];
            let shares = [sums[0] as f64 / totals[0] as f64, sums[1] as f64 / totals[1] as f64];
            largest = largest.max((shares[0] - shares[1]).abs());
        }
        Some(largest)
    }

    /// Returns the root mean square difference of the rates per interval, divided by the recording's mean rate.
    pub fn rate_error(&self) -> Option<f64> {
        let [recorded, replayed] = &self.rates;
        let pieces = recorded.len().max(replayed.len());
        let mean = recorded.iter().sum::<u64>() as f64 / pieces.max(1) as f64;
        if mean == 0.0 {
            return None;
        }
        let at = |rates: &Vec<u64>, piece: usize| rates.get(piece).copied().unwrap_or(0) as f64;
        let squares: f64 = (0..pieces).map(|piece| (at(recorded, piece) - at(replayed, piece)).powi(2)).sum();
        Some((squares / pieces as f64).sqrt() / mean)
    }
}

impl ReplayMeasurement {
    /// Adds an outcome that differs. Only the first [`DIFFERENT_MAX`] distinct outcomes are kept.
    pub fn add_different(different: &mut Vec<DifferentOutcome>, outcome: DifferentOutcome) {
        let is_same = |known: &&mut DifferentOutcome| {
            (known.kind, known.recorded, known.replayed) == (outcome.kind, outcome.recorded, outcome.replayed)
        };
        let has_room = different.len() < DIFFERENT_MAX;
        match different.iter_mut().find(is_same) {
            Some(known) => known.count += outcome.count,
            None if has_room => different.push(outcome),
            None => {}
        }
    }

    /// Adds the replay of another process at the same time: a part of the same recording, or a copy.
    pub fn add(&mut self, other: ReplayMeasurement) {
        // Name every field, so that the compiler rejects a new field that is not handled here.
        let ReplayMeasurement {
            timing: _,
            order: _,
            threads,
            threads_recorded,
            recorded,
            recorded_length_ns,
            replayed_length_ns,
            recorded_busy_ns,
            begun,
            overtaken,
            held,
            own_lag_p99_ns: _,
            own_lag_max_ns: _,
            gap_distance: _,
            rate_error: _,
            different,
            different_count,
            opened_beside,
            closes_of_others,
            left_out,
            counts,
        } = other;
        self.threads += threads;
        self.threads_recorded += threads_recorded;
        for (kind, sum) in recorded {
            let mine = self.recorded.entry(kind).or_default();
            mine.ops += sum.ops;
            mine.failed += sum.failed;
            mine.bytes += sum.bytes;
        }
        self.recorded_length_ns = self.recorded_length_ns.max(recorded_length_ns);
        self.replayed_length_ns = self.replayed_length_ns.max(replayed_length_ns);
        self.recorded_busy_ns =
            self.recorded_busy_ns.zip(recorded_busy_ns).map(|(mine, other)| mine.saturating_add(other));
        self.begun += begun;
        self.overtaken += overtaken;
        self.held += held;
        for outcome in different {
            ReplayMeasurement::add_different(&mut self.different, outcome);
        }
        self.different_count += different_count;
        self.opened_beside += opened_beside;
        self.closes_of_others += closes_of_others;
        for (name, count) in left_out {
            *self.left_out.entry(name).or_default() += count;
        }
        match (&mut self.counts, counts) {
            (Some(mine), Some(other)) => mine.add(*other),
            (mine, other) => *mine = mine.take().or(other),
        }
        self.settle();
    }

    /// Computes the numbers about gaps, rates and delays from the counts.
    pub fn settle(&mut self) {
        let Some(counts) = &self.counts else { return };
        self.own_lag_p99_ns = counts.own_lag.quantile(0.99).unwrap_or(0);
        self.own_lag_max_ns = counts.own_lag.max().unwrap_or(0);
        self.gap_distance = counts.gap_distance();
        self.rate_error = counts.rate_error();
    }
}

/// Judgement of one property of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FidelityVerdict {
    /// There is no requirement for this property.
    Info,
    /// The property was reproduced within its tolerance.
    Pass,
    /// The property was reproduced only approximately.
    Warn,
    /// The property was not reproduced.
    Fail,
}

impl FidelityVerdict {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        match self {
            FidelityVerdict::Info => "info",
            FidelityVerdict::Pass => "PASS",
            FidelityVerdict::Warn => "WARN",
            FidelityVerdict::Fail => "FAIL",
        }
    }
}

/// Unit of the numbers in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FidelityUnit {
    /// Times in nanoseconds.
    Ns,
    /// Numbers of ops.
    Ops,
    /// Amounts in bytes.
    Bytes,
    /// Shares, 0–1.
    Share,
}

/// One property in the fidelity sheet of a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FidelityLine {
    /// Name of the property that is compared.
    pub name: String,
    /// Host that the line is about; absent unless ranks of several hosts replayed the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Judgement of how well it was reproduced.
    pub verdict: FidelityVerdict,
    /// Unit of `recorded` and `replayed`.
    pub unit: FidelityUnit,
    /// Value in the recording; absent if the recording does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<f64>,
    /// Value in the replay.
    pub replayed: f64,
    /// Largest deviation that passes, as a share of the recorded number, or of the replayed one if nothing is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<f64>,
    /// Further explanation; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rates: [Vec<u64>; 2], piece_ns: u64) -> ReplayCounts {
        ReplayCounts { rates, piece_ns, ..ReplayCounts::default() }
    }

    #[test]
    fn intervals_of_different_lengths_are_added_at_the_longer() {
        let mut sum = counts([vec![1, 2, 3], vec![6, 0, 0]], 10);
        sum.add(counts([vec![10, 20], vec![30]], 20));
        assert_eq!((sum.rates, sum.piece_ns), ([vec![13, 23], vec![36, 0]], 20));
        let mut sum = counts([vec![10, 20], vec![30]], 20);
        sum.add(counts([vec![1, 2, 3], vec![6]], 10));
        assert_eq!((sum.rates, sum.piece_ns), ([vec![13, 23], vec![36]], 20));
    }

    #[test]
    fn distances_compare_distributions_and_intervals() {
        let mut found = counts([vec![2, 2], vec![4, 0]], 10);
        found.gaps = [vec![1, 1, 0], vec![0, 1, 1]];
        assert_eq!((found.gap_distance(), found.rate_error()), (Some(0.5), Some(1.0)));
        assert_eq!((ReplayCounts::default().gap_distance(), ReplayCounts::default().rate_error()), (None, None));
    }

    #[test]
    fn equal_outcomes_are_counted_together() {
        let outcome = |kind, count| DifferentOutcome { kind, recorded: 0, replayed: -2, count, path: "a".to_owned() };
        let mut all = Vec::new();
        for one in [outcome(OpKind::Open, 1), outcome(OpKind::Stat, 2), outcome(OpKind::Open, 3)] {
            ReplayMeasurement::add_different(&mut all, one);
        }
        assert_eq!(all, [outcome(OpKind::Open, 4), outcome(OpKind::Stat, 2)]);
    }
}
