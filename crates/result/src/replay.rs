//! What a replay kept of its recording.

use crate::histogram::Histogram;
use plumb_workload::{OpKind, ReplayOrder, Timing};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Ops of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub recorded: BTreeMap<OpKind, ReplayedSum>,
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
    pub left_out: BTreeMap<String, u64>,
    /// What the numbers of gaps, rates and lags are made from: while a run goes on, and not in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub counts: Option<Box<ReplayCounts>>,
}

/// Kinds of difference that are kept.
const DIFFERENT_MAX: usize = 32;

/// Beginnings of ops, counted: in the recording and in the replay.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Gaps between ops of a thread, by their magnitude.
    pub gaps: [Vec<u64>; 2],
    /// Ops that began in each piece of time.
    pub rates: [Vec<u64>; 2],
    /// How long a piece is, ns: a fixed length, or that twice, four times and so on.
    pub piece_ns: u64,
    /// How late ops began by the replay's own fault.
    pub own_lag: Histogram,
}

fn add_counts(mine: &mut Vec<u64>, other: &[u64]) {
    mine.resize(mine.len().max(other.len()), 0);
    mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
}

impl ReplayCounts {
    /// Adds what another thread or process counted.
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

    /// The largest difference of the shares of gaps up to any length: Kolmogorov and Smirnov's.
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

    /// The root of the mean square of the differences between pieces of time, by the mean of the recording.
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
    /// Adds an outcome that differs; of many kinds, the first are kept.
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

    /// Adds what another process replayed at the same time: a part of the same recording, or a copy.
    pub fn add(&mut self, other: ReplayMeasurement) {
        // Every field is named, so that the next one is not forgotten.
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

    /// Makes the numbers of gaps, rates and lags from what was counted.
    pub fn settle(&mut self) {
        let Some(counts) = &self.counts else { return };
        self.own_lag_p99_ns = counts.own_lag.quantile(0.99).unwrap_or(0);
        self.own_lag_max_ns = counts.own_lag.max().unwrap_or(0);
        self.gap_distance = counts.gap_distance();
        self.rate_error = counts.rate_error();
    }
}

/// How well something of a recording was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FidelityLine {
    /// What is compared.
    pub name: String,
    /// Of which host alone it is, where ranks of several hosts replayed the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(rates: [Vec<u64>; 2], piece_ns: u64) -> ReplayCounts {
        ReplayCounts { rates, piece_ns, ..ReplayCounts::default() }
    }

    #[test]
    fn pieces_of_different_lengths_are_added_in_the_longer() {
        let mut sum = counts([vec![1, 2, 3], vec![6, 0, 0]], 10);
        sum.add(counts([vec![10, 20], vec![30]], 20));
        assert_eq!((sum.rates, sum.piece_ns), ([vec![13, 23], vec![36, 0]], 20));
        let mut sum = counts([vec![10, 20], vec![30]], 20);
        sum.add(counts([vec![1, 2, 3], vec![6]], 10));
        assert_eq!((sum.rates, sum.piece_ns), ([vec![13, 23], vec![36]], 20));
    }

    #[test]
    fn distances_are_those_of_shares_and_of_pieces() {
        let mut found = counts([vec![2, 2], vec![4, 0]], 10);
        found.gaps = [vec![1, 1, 0], vec![0, 1, 1]];
        assert_eq!((found.gap_distance(), found.rate_error()), (Some(0.5), Some(1.0)));
        assert_eq!((ReplayCounts::default().gap_distance(), ReplayCounts::default().rate_error()), (None, None));
    }

    #[test]
    fn outcomes_of_one_kind_are_one() {
        let outcome = |kind, count| DifferentOutcome { kind, recorded: 0, replayed: -2, count, path: "a".to_owned() };
        let mut all = Vec::new();
        for one in [outcome(OpKind::Open, 1), outcome(OpKind::Stat, 2), outcome(OpKind::Open, 3)] {
            ReplayMeasurement::add_different(&mut all, one);
        }
        assert_eq!(all, [outcome(OpKind::Open, 4), outcome(OpKind::Stat, 2)]);
    }
}
