//! Workloads that were repeated, as printed by `plumb run --json`: in rounds (`plumb.rounds/1`), or at the loads of a ladder
//! (`plumb.ladder/1`).

use crate::compare::LeftOut;
use crate::finding::RunVerdict;
use crate::run::TierName;
use plumb_workload::Figure;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of rounds.
pub const ROUNDS_SCHEMA: &str = "plumb.rounds/1";

/// Name and version of the JSON form of a ladder.
pub const LADDER_SCHEMA: &str = "plumb.ladder/1";

/// What was repeated, of either kind, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Repeated {
    /// Rounds until figures were steady.
    Rounds(Box<RoundsResult>),
    /// The loads of a ladder.
    Ladder(Box<LadderResult>),
}

impl Repeated {
    /// The runs that it rests on.
    pub fn of(&self) -> &RepeatedRuns {
        match self {
            Repeated::Rounds(rounds) => &rounds.of,
            Repeated::Ladder(ladder) => &ladder.of,
        }
    }
}

/// What was repeated, and the runs that it rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedRuns {
    /// Of what this is no official result, where its name could be taken for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub banner: Option<String>,
    /// The workload's name.
    pub workload: String,
    /// The place, as typed.
    pub path: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// Seed of the first round, and of every load.
    pub seed: u64,
    /// True where a signal or an error ended it early.
    pub partial: bool,
    /// Ids of the runs, in their order.
    pub runs: Vec<String>,
    /// The tag that they have in the store; absent where they are not stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Runs that the checks rejected, each with the reason. Their numbers are shown all the same.
    pub rejected: Vec<LeftOut>,
    /// What was asked for and not had, or is to be known of how it was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Rounds of a workload, until figures were steady.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsResult {
    /// [`ROUNDS_SCHEMA`].
    pub schema: String,
    /// In words: which rounds were steady, or that none were.
    pub verdict_note: String,
    /// Whether the numbers can be believed: `reject` where a check rejected a round that they rest on.
    pub verdict: RunVerdict,
    /// The runs, one a round.
    #[serde(flatten)]
    pub of: RepeatedRuns,
    /// The rule.
    pub rule: RoundsRule,
    /// The first and the last of the rounds that met the rule; `null` where none did.
    pub steady: Option<RoundSpan>,
    /// What the rule was about.
    pub tracked: Vec<TrackedRounds>,
    /// The rounds that values are means of: the steady ones, or else the last ones.
    pub window: Option<RoundSpan>,
    /// Every phase that was repeated.
    pub phases: Vec<RoundsPhase>,
}

/// Rounds that follow one another, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundSpan {
    /// The first.
    pub first: u32,
    /// The last.
    pub last: u32,
}

/// The numbers of the round rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsRule {
    /// Rounds looked at together.
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Rounds after which it gives up.
    pub max_rounds: u32,
}

/// A figure that had to be steady, over its window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrackedRounds {
    /// The phase.
    pub phase: String,
    /// The figure.
    pub figure: Figure,
    /// Whether it was steady over the window.
    pub is_steady: bool,
    /// Mean of the window, in the figure's unit.
    pub mean: Option<f64>,
    /// (max − min) / mean.
    pub range: Option<f64>,
    /// Rise of the fitted line over the window, relative to the mean; negative where it falls.
    pub slope: Option<f64>,
}

/// A phase over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundsPhase {
    /// Its name.
    pub name: String,
    /// Share of reads, per cent, of block I/O.
    pub read: Option<u32>,
    /// Bytes of each op, of block I/O.
    pub block: Option<u64>,
    /// What moved its bytes: of all rounds, `mixed` where they differ.
    pub tier: Option<TierName>,
    /// Its figures, the shown ones first.
    pub figures: Vec<FigureRounds>,
}

/// A figure of a phase over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureRounds {
    /// Which: ops/s, bytes/s, or ns.
    pub figure: Figure,
    /// Over the window: the mean, or the largest of the largest.
    pub value: Option<f64>,
    /// In each round; `null` where nothing was measured.
    pub rounds: Vec<Option<f64>>,
}

impl RoundsPhase {
    /// A figure of it.
    pub fn figure(&self, figure: Figure) -> Option<&FigureRounds> {
        self.figures.iter().find(|one| one.figure == figure)
    }
}

/// The same work at several loads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderResult {
    /// [`LADDER_SCHEMA`].
    pub schema: String,
    /// In words: what was found.
    pub verdict_note: String,
    /// Whether the numbers can be believed: `reject` where a check rejected a run.
    pub verdict: RunVerdict,
    /// The runs, one a load.
    #[serde(flatten)]
    pub of: RepeatedRuns,
    /// The full load, ops/s: asked for, or reached as fast as it goes; `null` where no run told it.
    pub full: Option<f64>,
    /// Largest allowed mean response time, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_ns: Option<u64>,
    /// Whether the mean response time was within the limit at every load; `null` without a limit, or where a load has no time.
    pub within_limit: Option<bool>,
    /// The loads in their order.
    pub steps: Vec<LadderStep>,
    /// Loads that ran again.
    pub again: Vec<LadderRepeat>,
    /// Rate and mean response time of those may differ by this share.
    pub within: f64,
    /// The mean response time over all loads from none to the highest, ns: the area under the curve of response time over rate,
    /// divided by the highest rate.
    pub overall_response_ns: Option<f64>,
}

/// One load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderStep {
    /// Of the full load, per cent.
    pub percent: f64,
    /// Ops a second that were asked for.
    pub asked: f64,
    /// Ops a second that were done.
    pub rate: Option<f64>,
    /// Mean response time, ns.
    pub response_ns: Option<f64>,
    /// 99 % of it, ns; `null` where the run carries too few ops.
    pub response_p99_ns: Option<f64>,
    /// What moved the bytes.
    pub tier: Option<TierName>,
    /// Whether it is a load that ran again.
    pub is_again: bool,
    /// The id of its run.
    pub run: String,
    /// The groups of workers, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub streams: Vec<LadderStream>,
}

/// A group of workers at a load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderStream {
    /// Its name.
    pub name: String,
    /// Its share of all ops that were asked for.
    pub asked: f64,
    /// Its share of all ops that were done.
    pub done: Option<f64>,
}

/// A load that ran twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LadderRepeat {
    /// The load.
    pub percent: f64,
    /// Rate of the second run over that of the first.
    pub rate: Option<f64>,
    /// The same of the mean response time.
    pub response: Option<f64>,
    /// Whether both differ by no more than is allowed; `null` where a number is missing.
    pub holds: Option<bool>,
}
