//! Results of repeated workloads, as printed by `plumb run --json`: in rounds (`plumb.rounds/1`), or at the
//! loads of a ladder (`plumb.ladder/1`).

use crate::compare::LeftOut;
use crate::finding::RunVerdict;
use crate::run::TierName;
use plumb_workload::Figure;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of rounds.
pub const ROUNDS_SCHEMA: &str = "plumb.rounds/1";

/// Name and version of the JSON form of a ladder.
pub const LADDER_SCHEMA: &str = "plumb.ladder/1";

/// A stored result of repeated runs, of either kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Repeated {
    /// Rounds that ran until their figures were steady.
    Rounds(Box<RoundsResult>),
    /// Runs at the loads of a ladder.
    Ladder(Box<LadderResult>),
}

impl Repeated {
    /// Returns the runs of the repeated workload.
    pub fn runs(&self) -> &RepeatedRuns {
        match self {
            Repeated::Rounds(rounds) => &rounds.of,
            Repeated::Ladder(ladder) => &ladder.of,
        }
    }
}

/// A repeated workload and its runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedRuns {
    /// The benchmark of which this is not an official result, if the name could suggest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// Name of the measured workload.
    pub workload: String,
    /// Path of the place, as typed.
    pub path: String,
    /// Time of the start, RFC 3339, UTC.
    pub started_at: String,
    /// Seed of the first round, and of every load.
    pub seed: u64,
    /// Whether a signal or an error ended it early.
    pub partial: bool,
    /// Ids of the runs, in execution order.
    pub runs: Vec<String>,
    /// Tag of the runs in the store; absent if they are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Runs that the checks rejected, each with the reason. Their numbers are shown nevertheless.
    pub rejected: Vec<LeftOut>,
    /// Requests that could not be met, and other facts about the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Rounds of a workload, repeated until its figures were steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsResult {
    /// Name and version of this form: `plumb.rounds/1`.
    pub schema: String,
    /// Which rounds were steady, or that none were, as a sentence.
    pub verdict_note: String,
    /// Whether the numbers can be trusted; `reject` if a check rejected a round that they depend on.
    pub verdict: RunVerdict,
    /// The underlying runs, one for each round.
    #[serde(flatten)]
    pub of: RepeatedRuns,
    /// The rule that determines when rounds are steady.
    pub rule: RoundsRule,
    /// First and last of the rounds that met the rule; `null` if none did.
    pub steady: Option<RoundSpan>,
    /// Figures that the rule tracked.
    pub tracked: Vec<TrackedRounds>,
    /// Rounds that the values are means of: the steady ones, or else the last ones.
    pub window: Option<RoundSpan>,
    /// Every phase that was repeated.
    pub phases: Vec<RoundsPhase>,
}

/// Consecutive rounds, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundSpan {
    /// Number of the first round.
    pub first: u32,
    /// Number of the last round.
    pub last: u32,
}

/// Parameters of the steadiness rule for rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsRule {
    /// Number of consecutive rounds that are judged together.
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Number of rounds after which the run gives up.
    pub max_rounds: u32,
}

/// A figure that had to be steady, over its window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrackedRounds {
    /// Name of the measured phase.
    pub phase: String,
    /// The figure that is tracked.
    pub figure: Figure,
    /// Whether the figure was steady over the window.
    pub is_steady: bool,
    /// Mean over the window, in the figure's unit.
    pub mean: Option<f64>,
    /// (max − min) / mean over the window.
    pub range: Option<f64>,
    /// Rise of the fitted line over the window, relative to the mean; negative if it falls.
    pub slope: Option<f64>,
}

/// One phase over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsPhase {
    /// Name of the measured phase.
    pub name: String,
    /// Share of reads in percent, for block I/O.
    pub read: Option<u32>,
    /// Bytes of each op, for block I/O.
    pub block: Option<u64>,
    /// Origin of the bytes over all rounds; `mixed` if rounds differ.
    pub tier: Option<TierName>,
    /// Figures of the phase, those shown by default first.
    pub figures: Vec<FigureRounds>,
}

/// One figure of a phase over all rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureRounds {
    /// The figure, in ops/s, bytes/s or ns.
    pub figure: Figure,
    /// Value over the window: the mean, or for a maximum the largest.
    pub value: Option<f64>,
    /// Value of each round; `null` if not measured.
    pub rounds: Vec<Option<f64>>,
}

impl RoundsPhase {
    /// Returns a figure of the phase.
    pub fn figure(&self, figure: Figure) -> Option<&FigureRounds> {
        self.figures.iter().find(|one| one.figure == figure)
    }
}

/// Results of one workload at several loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderResult {
    /// Name and version of this form: `plumb.ladder/1`.
    pub schema: String,
    /// The outcome, as a sentence.
    pub verdict_note: String,
    /// Whether the numbers can be trusted; `reject` if a check rejected a run.
    pub verdict: RunVerdict,
    /// The underlying runs, one for each load.
    #[serde(flatten)]
    pub of: RepeatedRuns,
    /// Full load, ops/s: requested, or the maximum that was reached; `null` if no run determined it.
    pub full: Option<f64>,
    /// Largest allowed mean response time, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Whether the mean response time stayed within the limit at every load; `null` without a limit, or if a load has no time.
    pub within_limit: Option<bool>,
    /// The loads in execution order.
    pub steps: Vec<LadderStep>,
    /// Loads that were run a second time.
    pub again: Vec<LadderRepeat>,
    /// Largest allowed difference in rate and mean response time between the two runs, as a share.
    pub within: f64,
    /// Mean response time over all loads from zero to the highest, ns: the area under the curve of response time over
    /// rate, divided by the highest rate.
    pub overall_response_ns: Option<f64>,
}

/// Results of the run at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderStep {
    /// Load as a percentage of the full load.
    pub percent: f64,
    /// Number of ops requested per second.
    pub asked: f64,
    /// Number of ops achieved per second.
    pub rate: Option<f64>,
    /// Mean response time, ns.
    pub response_ns: Option<f64>,
    /// 99th percentile of the response time, ns; `null` if the run has too few ops.
    pub response_p99_ns: Option<f64>,
    /// Origin of the bytes that were moved.
    pub tier: Option<TierName>,
    /// Whether this is the second run of a load.
    pub is_again: bool,
    /// Id of the run at this load.
    pub run: String,
    /// Groups of workers; absent for a single group.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<LadderStream>,
}

/// A group of workers at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderStream {
    /// Name of the group of workers.
    pub name: String,
    /// Share of all requested ops.
    pub asked: f64,
    /// Share of all completed ops.
    pub done: Option<f64>,
}

/// Comparison of the two runs of one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderRepeat {
    /// Load as a percentage of the full load.
    pub percent: f64,
    /// Rate of the second run divided by that of the first.
    pub rate: Option<f64>,
    /// Mean response time of the second run divided by that of the first.
    pub response: Option<f64>,
    /// Whether both differ by no more than allowed; `null` if a number is missing.
    pub holds: Option<bool>,
}
