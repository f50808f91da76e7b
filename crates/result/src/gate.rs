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
    /// Name and version of this form: `plumb.gate/1`.
    pub schema: String,
    /// The answer over all numbers.
    pub answer: GateAnswer,
    /// With `cannot-tell`: one session looks worse, and a second one decides whether it is a regression.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
    /// The answer and its limits, as a sentence.
    pub note: String,
    /// Error rate of the answer, as a sentence.
    pub promise: String,
    /// The side that the candidate is judged against.
    pub baseline: GateSide,
    /// The side that is judged.
    pub candidate: GateSide,
    /// Arrangement in time of the runs of both sides.
    pub design: GateDesign,
    /// A regression within this factor passes: 0.05 is × or ÷ 1.05.
    pub margin: f64,
    /// Largest share of wrong answers: of gates of an unchanged system that answer `regression`, and of gates of a
    /// system that is worse by the margin that answer `pass`.
    pub error_rate: f64,
    /// The numbers that are judged.
    pub numbers: Vec<GateNumber>,
    /// Planned numbers that were not measured, each with the reason. They do not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Looks at the data; the error rate covers all of them together.
    pub looks: GateLooks,
    /// Time spent on measuring, s; simulated devices count simulated time.
    pub seconds: f64,
    /// Further measurements that would decide an open gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<GateNeed>,
    /// Whether there is no answer because the checks accept too few runs, or reject all runs of one side.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
    /// Runs that were left out, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Warnings of the checks about the runs of each side, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
    /// Findings about both sides together, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// Facts in which the two sides differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
    /// Further facts needed to read the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Ids of the runs, in execution order.
    pub runs: Vec<String>,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Pauses between the runs, and waits for idle storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// Number of gates that share the error rate of `regression`; absent if this is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gates: Option<u32>,
    /// Numbers of rejected runs, if no other runs are left. They are shown, and do not affect the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_numbers: Vec<Contrast>,
}

/// Printed form of a `cannot-tell` that a second session decides.
pub(crate) const SUSPECTED: &str = "suspected";

impl Gate {
    /// Returns the answer as printed; `suspected` if a second session decides.
    pub fn word(&self) -> &'static str {
        if self.suspected { SUSPECTED } else { self.answer.name() }
    }
}

/// The answer of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateAnswer {
    /// The data exclude a regression beyond the margin.
    Pass,
    /// The candidate is worse beyond chance, and a regression beyond the margin is not excluded.
    Regression,
    /// The data support neither answer.
    CannotTell,
}

impl GateAnswer {
    /// Returns the name that reports print.
    pub const fn name(self) -> &'static str {
        match self {
            GateAnswer::Pass => "pass",
            GateAnswer::Regression => "regression",
            GateAnswer::CannotTell => "cannot tell",
        }
    }
}

/// The gate's answer about a session. A kept history stores it with each run of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionAnswer {
    /// The answer for the session.
    pub answer: GateAnswer,
    /// Whether the session looked worse. The baseline excludes it while it is the newest session; the next session decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
}

/// One side of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateSide {
    /// Name of the side, as typed.
    pub name: String,
    /// Source of the side's numbers.
    pub source: GateSource,
    /// Number of runs that count.
    pub runs: u32,
    /// Number of sessions of these runs; runs of one session are close in time. Present only if the sides
    /// were measured at different times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
}

/// Source of a side's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateSource {
    /// Runs that were measured for this gate.
    Measured,
    /// Runs that were read from the store.
    Stored,
    /// Results read from a file.
    File,
}

/// Arrangement in time of the runs of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GateDesign {
    /// Blocks of one run of each side, in balanced order.
    Interleaved,
    /// Different times: variation of the machine between sessions is part of the error.
    History,
}

/// Interim looks of a gate at its data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateLooks {
    /// Number of looks so far.
    pub done: u32,
    /// Number of looks that share the level; determined by time alone, before the first look.
    pub planned: u32,
    /// Error level of each look: of `pass` for each number, of `regression` for all numbers together.
    pub level: f64,
}

/// Further measurements that would decide an open gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateNeed {
    /// Number of units needed in all: blocks of a new gate, or sessions of the candidate.
    pub units: u32,
    /// Duration of a new gate, s; absent for sessions, which span days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Options with which the same command decides in four of five cases: `--budget 4m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
}

/// The unit that counts as one sample of a gate.
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
    /// Returns the name that reports print.
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
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// The metric that is judged.
    pub metric: Metric,
    /// The answer for this number.
    pub answer: GateAnswer,
    /// With `cannot-tell`: the number looks worse in one session, and a second one decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspected: bool,
    /// Explanation, if the answer alone would mislead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Code of the check that forbids the answer that the numbers alone would give.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
    /// Geometric mean of the baseline's samples.
    pub baseline_value: Option<f64>,
    /// Geometric mean of the candidate's samples.
    pub candidate_value: Option<f64>,
    /// Geometric mean of candidate / baseline, turned so that above 1 is better for the candidate.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval; the number passes if it is within the margin.
    pub lo: Option<f64>,
    /// Upper end of the ratio's interval; below 1, the candidate is worse.
    pub hi: Option<f64>,
    /// Coverage of the interval: 1 less twice the level of the look.
    pub confidence: f64,
    /// One-sided p for the hypothesis that the candidate is not worse.
    pub p_worse: Option<f64>,
    /// The same after Holm's correction over all numbers, and for the gates that share the error rate.
    pub p_worse_adjusted: Option<f64>,
    /// One-sided p for the hypothesis that the candidate is worse by the margin or more.
    pub p_beyond: Option<f64>,
    /// Kind of sample that `units` counts.
    pub unit: GateUnit,
    /// Number of samples. For sessions: the baseline's since the last change of level after which there are five.
    pub units: u32,
    /// The smallest difference that the set-up can show, if `plumb noise` measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// Changes of level in the baseline's history, oldest first. The ratio refers to the sessions after the last
    /// change, if there are five of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<LevelChange>,
}

impl GateNumber {
    /// Returns the answer as printed; `suspected` if a second session decides.
    pub fn word(&self) -> &'static str {
        if self.suspected { SUSPECTED } else { self.answer.name() }
    }

    /// Returns `random-read read.iops`, with the phase if its name differs from the workload's.
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
    /// Start of the first session on the new level, RFC 3339.
    pub at: String,
    /// The level before the change.
    pub before: f64,
    /// The level after the change.
    pub after: f64,
}
