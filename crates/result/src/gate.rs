//! The answer of a gate, as printed by `plumb gate --json` (`plumb.gate/1`).

use crate::compare::{Contrast, Difference, Floor, LeftOut, RunCheck};
use crate::finding::Finding;
use crate::metric::Metric;
use crate::settle::Settled;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of a gate.
pub const GATE_SCHEMA: &str = "plumb.gate/1";

/// Whether a candidate is worse than its baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// [`GATE_SCHEMA`].
    pub schema: String,
    /// The answer.
    pub answer: GateAnswer,
    /// With `cannot-tell`: one session looks worse, and a second one decides whether it is a regression.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
    /// In words: the answer, and what limits it.
    pub note: String,
    /// How often the answer is wrong, in words.
    pub promise: String,
    /// What the candidate is judged against.
    pub baseline: GateSide,
    /// What is judged.
    pub candidate: GateSide,
    /// How the two lie in time.
    pub design: GateDesign,
    /// A regression within this factor passes: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// The promise: at most this share of gates of an unchanged system answer `regression`, and at most this share of gates of
    /// one that is worse by the margin answer `pass`.
    pub error_rate: f64,
    /// One for each number that is judged.
    pub numbers: Vec<GateNumber>,
    /// Numbers that were to be judged and were not measured, each with the reason. They do not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Looks at the data: the error rate holds for all of them together.
    pub looks: GateLooks,
    /// Time spent on measuring, seconds; of simulated devices, their own.
    pub seconds: f64,
    /// What would decide it, where it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<GateNeed>,
    /// Nothing is answered, because too few runs are left that the checks accept, or because they reject those of one side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// Runs that were left out, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// What the checks warn of in the runs of each side, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
    /// What the checks say of both sides together, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// Facts in which the two sides differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// What else must be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Ids of the runs, in the order in which they ran.
    pub runs: Vec<String>,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Pauses between the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// Gates that share the error rate of `regression`, where there are more than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<u32>,
    /// The numbers of runs that the checks rejected, where no others are left; they are shown, and nothing is answered by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_numbers: Vec<Contrast>,
}

/// The printed form of a `cannot-tell` that a second session decides.
pub(crate) const SUSPECTED: &str = "suspected";

impl Gate {
    /// Returns the answer as printed: `suspected` where a second session decides.
    pub fn word(&self) -> &'static str {
        if self.suspected { SUSPECTED } else { self.answer.name() }
    }
}

/// What a gate answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateAnswer {
    /// A regression beyond the margin is excluded.
    Pass,
    /// It is worse, beyond chance, and a regression beyond the margin is not excluded.
    Regression,
    /// Neither can be said.
    CannotTell,
}

impl GateAnswer {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            GateAnswer::Pass => "pass",
            GateAnswer::Regression => "regression",
            GateAnswer::CannotTell => "cannot tell",
        }
    }
}

/// The answer of a gate about a session. A kept history has it with each run of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionAnswer {
    /// The answer.
    pub answer: GateAnswer,
    /// The session looked worse. As long as it is the newest one, the baseline excludes it: the next session decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
}

/// One side of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateSide {
    /// As typed.
    pub name: String,
    /// Where its numbers come from.
    pub source: GateSource,
    /// Runs that count.
    pub runs: u32,
    /// Sessions that these runs are of: runs of one session are close in time. Only where sides were measured at different times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
}

/// Where the numbers of a side come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateSource {
    /// Measured for this gate.
    Measured,
    /// Runs of the store.
    Stored,
    /// A file of results.
    File,
}

/// How the two sides of a gate lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateDesign {
    /// In blocks of one run of each side, in balanced order.
    Interleaved,
    /// At different times: what a machine differs by from session to session is part of the error.
    History,
}

/// The looks of a gate at its data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateLooks {
    /// Those that were made.
    pub done: u32,
    /// Those that share the level; fixed by time alone, before the first.
    pub planned: u32,
    /// Level of each: of `pass` for each number, of `regression` for all numbers together.
    pub level: f64,
}

/// What would decide a gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateNeed {
    /// Units that it takes in all: blocks of a new gate, or sessions of the candidate.
    pub units: u32,
    /// The time of a new gate, seconds; sessions take no time but days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Options with which the same command decides, in four of five cases: `--budget 4m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
}

/// What counts as one sample of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateUnit {
    /// A block: one run of each side.
    Block,
    /// A plot: one provisioning of each side, with all its runs.
    Plot,
    /// A session of the baseline: runs close in time.
    Session,
}

impl GateUnit {
    /// As it is called.
    pub const fn name(self) -> &'static str {
        match self {
            GateUnit::Block => "block",
            GateUnit::Plot => "place",
            GateUnit::Session => "session",
        }
    }
}

/// One number that a gate judges.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateNumber {
    /// Of which work.
    pub workload: String,
    /// Of which phase.
    pub phase: String,
    /// Which number.
    pub metric: Metric,
    /// What is said of it.
    pub answer: GateAnswer,
    /// With `cannot-tell`: it looks worse in one session, and a second one decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
    /// Why, where the word leaves something out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The code of the check that forbids what the numbers alone would say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
    /// Geometric mean of the baseline's samples.
    pub baseline_value: Option<f64>,
    /// Geometric mean of the candidate's.
    pub candidate_value: Option<f64>,
    /// Geometric mean of candidate / baseline, turned so that above 1 is better for the candidate.
    pub ratio: Option<f64>,
    /// Lower end of its interval; the number passes where it is within the margin.
    pub lo: Option<f64>,
    /// Upper end; below 1, the candidate is worse.
    pub hi: Option<f64>,
    /// Coverage of the interval: 1 less twice the level of the look.
    pub confidence: f64,
    /// One-sided p that the candidate is not worse.
    pub p_worse: Option<f64>,
    /// The same after Holm's correction over all numbers, and for the gates that share the error rate.
    pub p_worse_adjusted: Option<f64>,
    /// One-sided p that it is worse by the margin or more.
    pub p_beyond: Option<f64>,
    /// What `units` counts.
    pub unit: GateUnit,
    /// Samples that it rests on; of sessions, the baseline's since the last change of level that has five.
    pub units: u32,
    /// The smallest difference that the set-up can show, where `plumb noise` measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// Where the level of the baseline's history changed, the oldest first. The ratio is to what came after the last, if that has
    /// five sessions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
}

impl GateNumber {
    /// Returns the answer as printed: `suspected` where a second session decides.
    pub fn word(&self) -> &'static str {
        if self.suspected { SUSPECTED } else { self.answer.name() }
    }

    /// `random-read read.iops`; with the phase where it is called otherwise than the work.
    pub fn name(&self) -> String {
        if self.workload == self.phase || self.phase.is_empty() {
            format!("{} {}", self.workload, self.metric)
        } else {
            format!("{}/{} {}", self.workload, self.phase, self.metric)
        }
    }
}

/// A change of level in a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelChange {
    /// When the first session of the new level began, RFC 3339.
    pub at: String,
    /// The level before.
    pub before: f64,
    /// The level since.
    pub after: f64,
}
