//! The result of a comparison, as printed by `--json` (`plumb.compare/1`).

use crate::metric::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the JSON form of a comparison.
pub const COMPARE_SCHEMA: &str = "plumb.compare/1";

/// Two set-ups, interleaved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// In words: what was found, and what limits it.
    pub verdict_note: String,
    /// One for each phase and headline metric.
    pub contrasts: Vec<Contrast>,
    /// Facts in which the two set-ups differ.
    pub differences: Vec<Difference>,
    /// Where `--varying` named a factor: true when anything else differs too (D5).
    pub confounded: bool,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// The order in which the sides ran, `A` and `B`, a block a string: `["AB", "BA", …]`.
    pub order: Vec<String>,
    /// Ids of the runs, in the order they ran.
    pub runs: Vec<String>,
    /// Ids of runs that were rejected by checks and left out of the contrasts, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// What was asked for and not had, each with workload, phase, side and reason, and with what was done instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A run that was left out of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// The run.
    pub run: String,
    /// Name of its side, as in the contrasts.
    pub side: String,
    /// Codes of the checks that rejected it, with their messages.
    pub reason: String,
}

/// A fact in which two set-ups differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The fact, `target.data.mount.options`.
    pub fact: String,
    /// Its factor class: `fs`, `mount`, `device`, `scheduler`, `kernel`, `host`, `fullness` … — the words of `--varying`.
    pub factor: String,
    /// On the baseline.
    pub baseline: String,
    /// On the candidate.
    pub candidate: String,
}

/// The candidate against the baseline, in one metric of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contrast {
    /// Which number.
    pub metric: Metric,
    /// Of which phase.
    pub phase: String,
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the candidate.
    pub candidate: String,
    /// Geometric mean of the baseline's runs.
    pub baseline_value: Option<f64>,
    /// Geometric mean of the candidate's runs.
    pub candidate_value: Option<f64>,
    /// Spread (coefficient of variation) of the baseline's runs.
    pub baseline_cv: Option<f64>,
    /// Spread (coefficient of variation) of the candidate's runs.
    pub candidate_cv: Option<f64>,
    /// Geometric mean of candidate / baseline over the blocks, turned so that above 1 is better for the candidate.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end of its interval.
    pub hi: Option<f64>,
    /// Coverage of the interval.
    pub confidence: f64,
    /// Two-sided p of the exact sign-flip test over blocks.
    pub p_sign_flip: Option<f64>,
    /// What may be said.
    pub verdict: ContrastVerdict,
    /// Blocks that it rests on.
    pub blocks: u32,
    /// About so many more blocks would settle it, where it is open.
    pub blocks_needed: Option<u32>,
}

/// What a comparison is allowed to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastVerdict {
    /// The candidate is better, by more than the equivalence margin.
    Faster,
    /// The candidate is worse, by more than the equivalence margin.
    Slower,
    /// The difference is within the margin.
    Equivalent,
    /// The data do not carry a claim.
    CannotTell,
    /// The interval and the permutation test disagree.
    Fragile,
}

impl ContrastVerdict {
    /// As printed.
    pub const fn name(self) -> &'static str {
        match self {
            ContrastVerdict::Faster => "faster",
            ContrastVerdict::Slower => "slower",
            ContrastVerdict::Equivalent => "equivalent",
            ContrastVerdict::CannotTell => "cannot-tell",
            ContrastVerdict::Fragile => "fragile",
        }
    }
}
