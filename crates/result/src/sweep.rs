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

/// One setting of a workload taken through its levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sweep {
    /// [`SWEEP_SCHEMA`].
    pub schema: String,
    /// In words: what was found, and what limits it.
    pub verdict_note: String,
    /// The place, as typed.
    pub path: String,
    /// The workload's name.
    pub workload: String,
    /// The phase that is swept and measured.
    pub phase: String,
    /// What is counted and timed: kinds of op, or `txn`.
    pub counted: Vec<String>,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Runs of every point that were asked for; each repeat is a block that holds every point once, in balanced random order.
    pub repeats: u32,
    /// True where a signal ended it early.
    pub partial: bool,
    /// Length of the timed phase of each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
    /// Bytes of each op; absent where ops differ, or their size is swept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_bytes: Option<u64>,
    /// How the I/O reaches the storage: `direct`, `buffered`, `buffered, cold`, `buffered, warm`, `direct and buffered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<String>,
    /// Memory that the runs could use for caching: the machine's, or the control group's limit where that is less.
    pub memory_bytes: u64,
    /// One for each series of points.
    pub curves: Vec<SweepCurve>,
    /// Ids of all runs, in the order they ran.
    pub runs: Vec<String>,
    /// The tag that all its runs have in the store; absent where they are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Runs that were rejected by checks and left out of the curves, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// What was asked for and not had, or is to be known of how it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Pauses between the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// The load of other processes in the run in which it was largest, where it was a part of the numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub under_load: Option<Box<UnderLoad>>,
    /// Checks that warned of runs or rejected them, the worst first; the side is the points.
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
    /// Ops a second that arrive, of all workers together.
    Rate,
    /// Size of each op, bytes.
    Block,
    /// Working set, bytes.
    Size,
    /// Workers.
    Threads,
    /// Share of reads, percent.
    Read,
}

impl SweepKey {
    /// All, in the order of help.
    pub const ALL: &[SweepKey] = SweepKey::VARIANTS;

    /// As typed.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// A level as people write it: `64KiB`, `1200/s`, `70%`, `8`.
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

/// How ops arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// The next op waits for room in the queue: only service time can be known.
    Closed,
    /// At random times that do not wait for earlier ops; response time counts from the intended start.
    Poisson,
}

/// The points of one series, in the order of their levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepCurve {
    /// What varies along the curve.
    pub key: SweepKey,
    /// What is held at a level of its own on this curve.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<SweepKey, f64>,
    /// How ops arrive.
    pub arrivals: Arrivals,
    /// Under `rate=auto`: the closed-loop maximum that the rates are shares of, ops/s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_loop_max: Option<RunSpread>,
    /// Every planned point; one without accepted runs has no numbers.
    pub points: Vec<SweepPoint>,
    /// What the points say.
    pub found: CurveFindings,
}

/// One level of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepPoint {
    /// In the key's unit: ops, ops/s, bytes, workers or percent.
    pub level: f64,
    /// Achieved ops a second; `null` where no run was accepted, never 0.
    pub rate: Option<RunSpread>,
    /// Achieved bytes a second, where bytes move.
    pub bandwidth: Option<RunSpread>,
    /// Mean ops in flight.
    pub in_flight: Option<RunSpread>,
    /// Start to completion.
    pub service: LatencySummary,
    /// Intended start to completion, under Poisson arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<LatencySummary>,
    /// What the rate measured; `mixed` where the runs differ.
    pub tier: Option<TierName>,
    /// Share of the bytes that the device moved, mean of the runs, 0–1.
    pub device_share: Option<f64>,
    /// Every run of the point.
    pub runs: Vec<SweepRun>,
    /// The worst level of each check that noted something in any run of the point.
    pub checks: BTreeMap<String, Level>,
    /// The numbers of its runs where the checks rejected all of them; they are in no finding of the curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<Box<RejectedNumbers>>,
}

/// Numbers of rejected runs, to be shown and not to be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RejectedNumbers {
    /// Achieved ops a second of the rejected runs.
    pub rate: Option<RunSpread>,
    /// Achieved bytes a second, where bytes move.
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
    /// Its id.
    pub id: String,
    /// Its block, from 1.
    pub repeat: u32,
    /// Its verdict; a rejected run is left out of the point's numbers.
    pub verdict: RunVerdict,
}

/// Numbers of a distribution of times, ns; `null` where the runs carry too few samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencySummary {
    /// Arithmetic mean.
    pub mean: Option<RunSpread>,
    /// Median.
    pub p50: Option<RunSpread>,
    /// 99 %.
    pub p99: Option<RunSpread>,
    /// 99.9 %.
    #[serde(rename = "p99.9")]
    pub p999: Option<RunSpread>,
}

/// A number over runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSpread {
    /// Geometric mean over the runs, one value a run.
    pub value: f64,
    /// Lower end of its 95 % interval, by t on logarithms; `null` for a single run.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Runs that it rests on.
    pub runs: u32,
}

/// What the points of a curve say; each is `null` where it does not apply or too few points have runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CurveFindings {
    /// Where latency begins to grow faster than throughput.
    pub knee: Option<Knee>,
    /// Where more of the key brings no more throughput.
    pub saturation: Option<Saturation>,
    /// The highest rate within a limit of the 99th percentile.
    pub within: Option<WithinLimit>,
    /// Where the cache ends.
    pub edge: Option<CacheEdge>,
}

/// The level with the largest power, rate over mean latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knee {
    /// The level.
    pub level: f64,
    /// Least level around it whose power cannot be told from the largest.
    pub from: f64,
    /// Greatest such level.
    pub to: f64,
    /// Achieved rate there, ops/s.
    pub rate: f64,
    /// Mean latency there (response time under Poisson arrivals, else service time), ns.
    pub latency_ns: f64,
    /// Where in the sweep it lies.
    pub place: LevelPlace,
    /// Certainty of its place. The page, the charts and readers of this document all use this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<KneeFound>,
}

impl Knee {
    /// Returns how far the runs locate it. Documents of older versions have only its place.
    pub fn found(&self) -> KneeFound {
        self.found.unwrap_or(match self.place {
            _ if self.from < self.to && self.place != LevelPlace::Inside => KneeFound::Unlocated,
            LevelPlace::First => KneeFound::AtOrBelow,
            LevelPlace::Last => KneeFound::NotReached,
            LevelPlace::Inside => KneeFound::Located,
        })
    }
}

/// Certainty of a knee's place, given the spread of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KneeFound {
    /// It is at its level, or between `from` and `to`.
    Located,
    /// The first level is the best one: it is there or below.
    AtOrBelow,
    /// The last level is the best one: the sweep does not reach it.
    NotReached,
    /// The runs differ too much: it may be anywhere from `from` to `to`, or beyond an end of the sweep.
    Unlocated,
}

/// Where something lies among the levels of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LevelPlace {
    /// Between smaller and larger levels.
    Inside,
    /// At the first level: it may lie below.
    First,
    /// At the last level: it may lie beyond.
    Last,
}

/// The least level whose rate is equivalent to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saturation {
    /// The least level from which on, up to `level_max`, rates are proven within 5 % of the largest.
    pub level: f64,
    /// The least level from which on, up to `level_max`, means are within 5 %, proven or not.
    pub perhaps: f64,
    /// The greatest level up to which means stay within 5 %, from `level_max` on; absent from older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<f64>,
    /// The next level, where the rate is lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// The largest rate, ops/s.
    pub rate_max: f64,
    /// Its level.
    pub level_max: f64,
    /// At the last level: the rate may still be rising there.
    pub place: LevelPlace,
    /// Whether the rate at the level before the largest is proven to be smaller.
    pub rise: Rise,
}

/// The first level above the saturated ones whose rate is more than 5 % below the largest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// The level.
    pub level: f64,
    /// Its rate, ops/s.
    pub rate: f64,
    /// Whether the fall is more than chance.
    pub proven: bool,
}

/// Whether a rise of the rate from one level to the next is more than chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Rise {
    /// The interval of the ratio lies above 1.
    Proven,
    /// It holds 1, or there is no level before.
    Unproven,
}

/// The highest achieved rate whose 99th percentile is within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithinLimit {
    /// The limit, ns.
    pub limit_ns: u64,
    /// The point; `null` where no point is within.
    pub best: Option<WithinPoint>,
    /// Points with numbers of which this limit cannot be judged: their runs have too few ops for a 99th percentile, or
    /// are too few for its interval.
    #[serde(default)]
    pub unjudged: u32,
}

/// A point within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WithinPoint {
    /// Its level.
    pub level: f64,
    /// Its rate, ops/s.
    pub rate: f64,
    /// Upper end of the interval of its 99th percentile, ns.
    pub p99_hi_ns: f64,
}

/// The largest fall of the rate between two neighbouring sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CacheEdge {
    /// The size before it, bytes.
    pub below_bytes: f64,
    /// The size after it, bytes.
    pub above_bytes: f64,
    /// Rate after over rate before; where its interval holds 1, the edge rests on the tiers.
    pub ratio: RunSpread,
    /// What was measured before it.
    pub tier_before: Option<TierName>,
    /// What was measured after it.
    pub tier_after: Option<TierName>,
    /// Whether check B6 sees the cliff there, too.
    pub b6: Agreement,
}

/// Whether a check says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Agreement {
    /// It does.
    Agrees,
    /// It sees the edge elsewhere.
    Differs,
    /// It was not asked: the load does not go through the page cache, or is simulated.
    NotAsked,
}
