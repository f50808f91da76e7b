//! The result of a sweep, as printed by `--json` (`plumb.sweep/1`).

use crate::compare::{LeftOut, RunCheck};
use crate::finding::{Level, RunVerdict};
use crate::run::TierName;
use crate::settle::Settled;
use crate::under_load::UnderLoad;
use plumb_workload::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::VariantArray;

/// Name and version of the JSON form of a sweep.
pub const SWEEP_SCHEMA: &str = "plumb.sweep/1";

/// Results of a workload with one setting varied through its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// Name and version of this form: `plumb.sweep/1`.
    pub schema: String,
    /// The findings and their limits, as a sentence.
    pub verdict_note: String,
    /// Path of the place, as typed.
    pub path: String,
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the phase that is swept and measured.
    pub phase: String,
    /// Kinds of op that are counted and timed, or `txn`.
    pub counted: Vec<String>,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Requested runs of every point. Each repeat is a block that holds every point once, in balanced random order.
    pub repeats: u32,
    /// Whether a signal ended the sweep early.
    pub partial: bool,
    /// Length of each run's timed phase, ns; absent if runs are not timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Bytes of each op; absent if ops differ, or their size is swept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_bytes: Option<u64>,
    /// Path of the I/O to the storage: `direct`, `buffered`, `buffered, cold`, `buffered, warm`, `direct and buffered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Memory available for caching: the machine's, or the control group's limit if that is less.
    pub memory_bytes: u64,
    /// One curve for each series of points.
    pub curves: Vec<SweepCurve>,
    /// Ids of all runs, in execution order.
    pub runs: Vec<String>,
    /// Tag of all runs in the store; absent if they are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Runs that were left out because checks rejected them, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Requests that could not be met, and other facts about the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Pauses between the runs, and waits for idle storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// Largest load of other processes among the runs; absent if no load affected the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<Box<UnderLoad>>,
    /// Checks that warned of runs or rejected them, worst first. Their `side` names the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
}

/// A setting that can be swept.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SweepKey {
    /// Ops in flight of each worker.
    Depth,
    /// Arriving ops per second, over all workers together.
    Rate,
    /// Size of each op, bytes.
    Block,
    /// Size of the working set, bytes.
    Size,
    /// Number of workers that run at once.
    Threads,
    /// Share of reads, percent.
    Read,
}

impl SweepKey {
    /// All keys, in the order that help lists them.
    pub const ALL: &[SweepKey] = SweepKey::VARIANTS;

    /// Returns the name that users type.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Formats a level for people: `64KiB`, `1200/s`, `70%`, `8`.
    pub fn text(self, level: f64) -> String {
        match self {
            SweepKey::Block | SweepKey::Size => Bytes(level as u64).to_string(),
            SweepKey::Rate if level >= 100.0 => format!("{level:.0}/s"),
            SweepKey::Rate => format!("{level:.1}/s"),
            SweepKey::Read => format!("{level:.0}%"),
            SweepKey::Depth | SweepKey::Threads => format!("{level:.0}"),
        }
    }
}

/// Arrival process of the ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Each op waits for room in the queue, so only service times are known.
    Closed,
    /// Ops arrive at random times, regardless of earlier ops. Response time counts from the intended start.
    Poisson,
}

/// The points of one series, in the order of their levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCurve {
    /// The setting that varies along the curve.
    pub key: SweepKey,
    /// Settings fixed at a level that belongs to this curve alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<SweepKey, f64>,
    /// Arrival process of the ops.
    pub arrivals: Arrivals,
    /// With `rate=auto`: the closed-loop maximum that the rates are shares of, ops/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_loop_max: Option<RunSpread>,
    /// Every planned point; a point without accepted runs has no numbers.
    pub points: Vec<SweepPoint>,
    /// Findings about the shape of the curve.
    pub found: CurveFindings,
}

/// One level of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    /// The level in the key's unit: ops, ops/s, bytes, workers or percent.
    pub level: f64,
    /// Achieved ops per second; `null` if no run was accepted, and never 0.
    pub rate: Option<RunSpread>,
    /// Achieved bytes per second, if the ops move bytes.
    pub bandwidth: Option<RunSpread>,
    /// Mean number of ops in flight.
    pub in_flight: Option<RunSpread>,
    /// Time from start to completion.
    pub service: LatencySummary,
    /// Time from intended start to completion, under Poisson arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
    /// Origin of the bytes; `mixed` if the runs differ.
    pub tier: Option<TierName>,
    /// Share of the bytes that the device moved, mean of the runs, 0–1.
    pub device_share: Option<f64>,
    /// All runs of the point.
    pub runs: Vec<SweepRun>,
    /// Worst level of each check that reported anything in any run of the point.
    pub checks: BTreeMap<String, Level>,
    /// Numbers of the runs if checks rejected all of them; not used in the curve's findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<RejectedNumbers>>,
}

/// Numbers of rejected runs, which are shown but not used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedNumbers {
    /// Achieved ops per second of the rejected runs.
    pub rate: Option<RunSpread>,
    /// Achieved bytes per second, if the ops move bytes.
    pub bandwidth: Option<RunSpread>,
    /// Mean number of ops in flight.
    pub in_flight: Option<RunSpread>,
    /// Time from start to completion.
    pub service: LatencySummary,
    /// Time from intended start to completion, under Poisson arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
}

/// A run of a point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepRun {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// Number of the run's block, from 1.
    pub repeat: u32,
    /// Verdict on the run; a rejected run is left out of the point's numbers.
    pub verdict: RunVerdict,
}

/// Summary of a distribution of times, ns; `null` if the runs have too few samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Arithmetic mean of the times.
    pub mean: Option<RunSpread>,
    /// Median of the times.
    pub p50: Option<RunSpread>,
    /// 99th percentile of the times.
    pub p99: Option<RunSpread>,
    /// 99.9th percentile of the times.
    #[serde(rename = "p99.9")]
    pub p999: Option<RunSpread>,
}

/// A number over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSpread {
    /// Geometric mean over the runs, with one value for each run.
    pub value: f64,
    /// Lower end of the 95 % interval, by t on logarithms; `null` for a single run.
    pub lo: Option<f64>,
    /// Upper end of the 95 % interval; `null` for a single run.
    pub hi: Option<f64>,
    /// Number of runs that were averaged.
    pub runs: u32,
}

/// Findings about the shape of a curve; each is `null` if it does not apply or too few points have runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurveFindings {
    /// The level where latency begins to grow faster than throughput.
    pub knee: Option<Knee>,
    /// The level above which throughput no longer rises.
    pub saturation: Option<Saturation>,
    /// The highest rate within a limit of the 99th percentile.
    pub within: Option<WithinLimit>,
    /// The working-set size where the cache ends.
    pub edge: Option<CacheEdge>,
}

/// The level with the largest power, which is rate divided by mean latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// Level of the knee, in the key's unit.
    pub level: f64,
    /// Smallest nearby level whose power is indistinguishable from the largest.
    pub from: f64,
    /// Largest nearby level whose power is indistinguishable from the largest.
    pub to: f64,
    /// Achieved rate at the knee, ops/s.
    pub rate: f64,
    /// Mean latency at the knee (response time under Poisson arrivals, else service time), ns.
    pub latency_ns: f64,
    /// Position of the knee among the levels.
    pub place: LevelPlace,
    /// Confidence in the knee's position. The page, the charts and readers of this document all use this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<KneeFound>,
}

impl Knee {
    /// Returns how well the runs locate the knee. Documents of older versions have only its position.
    pub fn found(&self) -> KneeFound {
        self.found.unwrap_or(match self.place {
            _ if self.from < self.to && self.place != LevelPlace::Inside => KneeFound::Unlocated,
            LevelPlace::First => KneeFound::AtOrBelow,
            LevelPlace::Last => KneeFound::NotReached,
            LevelPlace::Inside => KneeFound::Located,
        })
    }
}

/// Confidence in a knee's position, given the spread of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KneeFound {
    /// The knee is at its level, or between `from` and `to`.
    Located,
    /// The first level is best: the knee is at or below it.
    AtOrBelow,
    /// The last level is best: the sweep does not reach the knee.
    NotReached,
    /// The runs differ too much: the knee may be anywhere from `from` to `to`, or beyond an end of the sweep.
    Unlocated,
}

/// Position among the levels of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LevelPlace {
    /// Between smaller and larger levels.
    Inside,
    /// At the first level; the true position may be below it.
    First,
    /// At the last level; the true position may be beyond it.
    Last,
}

/// The smallest level whose rate is equivalent to the largest rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saturation {
    /// Smallest level such that all rates from here to `level_max` are proven to be within 5 % of the largest.
    pub level: f64,
    /// Smallest level such that all means from here to `level_max` are within 5 %, proven or not.
    pub perhaps: f64,
    /// Largest level such that all means from `level_max` to here are within 5 %; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// The next higher level, where the rate is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// The largest rate, ops/s.
    pub rate_max: f64,
    /// Level of the largest rate.
    pub level_max: f64,
    /// Position of the saturation; at the last level, the rate may still be rising.
    pub place: LevelPlace,
    /// Whether the rate at the level before the largest is proven to be smaller.
    pub rise: Rise,
}

/// The first level above the saturated ones whose rate is more than 5 % below the largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// The level, in the key's unit.
    pub level: f64,
    /// Rate at this level, ops/s.
    pub rate: f64,
    /// Whether the decrease is more than chance.
    pub proven: bool,
}

/// Whether the increase in rate from one level to the next is more than chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rise {
    /// The interval of the ratio lies above 1.
    Proven,
    /// The interval contains 1, or there is no level before.
    Unproven,
}

/// The highest achieved rate whose 99th percentile is within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithinLimit {
    /// Limit of the 99th percentile, ns.
    pub limit_ns: u64,
    /// The best point; `null` if no point is within the limit.
    pub best: Option<WithinPoint>,
    /// Number of points that this limit cannot judge: their runs have too few ops for a 99th percentile, or there are
    /// too few runs for its interval.
    #[serde(default)]
    pub unjudged: u32,
}

/// A point within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithinPoint {
    /// Level of the point, in the key's unit.
    pub level: f64,
    /// Achieved rate of the point, ops/s.
    pub rate: f64,
    /// Upper end of the interval of the 99th percentile, ns.
    pub p99_hi_ns: f64,
}

/// The largest drop in rate between two neighbouring sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheEdge {
    /// Size before the drop, bytes.
    pub below_bytes: f64,
    /// Size after the drop, bytes.
    pub above_bytes: f64,
    /// Rate after the drop divided by the rate before. If its interval contains 1, only the tiers show the edge.
    pub ratio: RunSpread,
    /// Origin of the bytes before the drop.
    pub tier_before: Option<TierName>,
    /// Origin of the bytes after the drop.
    pub tier_after: Option<TierName>,
    /// Whether check B6 finds the edge at the same size.
    pub b6: Agreement,
}

/// Whether a check agrees with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// The check finds the same edge.
    Agrees,
    /// The check finds an edge elsewhere.
    Differs,
    /// The check does not apply: the load bypasses the page cache, or is simulated.
    NotAsked,
}
