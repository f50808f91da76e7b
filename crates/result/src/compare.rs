//! The result of a comparison, as printed by `--json` (`plumb.compare/1`).

use crate::finding::Finding;
use crate::metric::Metric;
use crate::run::TierName;
use crate::settle::Settled;
use crate::tails::Tail;
use crate::under_load::UnderLoad;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the JSON form of a comparison.
pub const COMPARE_SCHEMA: &str = "plumb.compare/1";

/// Two set-ups: interleaved, or as their stored runs lie in time (`stored`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// [`COMPARE_SCHEMA`].
    pub schema: String,
    /// In words: what was found, and what limits it.
    pub verdict_note: String,
    /// One for each phase and headline metric.
    pub contrasts: Vec<Contrast>,
    /// The slowest ops of both sides, of the kinds that the contrasts are about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
    /// Facts in which the two set-ups differ.
    pub differences: Vec<Difference>,
    /// Where `--varying` named a factor: true when anything else differs too (D5).
    pub confounded: bool,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// The order in which the sides ran, `A` and `B`, a block a string: `["AB", "BA", …]`, and of two works `["ABBA", …]`: two
    /// runs for each. Of stored runs without blocks, a string for each stretch of one side.
    pub order: Vec<String>,
    /// Ids of the runs, in the order they ran.
    pub runs: Vec<String>,
    /// Ids of runs that were rejected by checks and left out of the contrasts, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// What the checks warn of in the runs of each side, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
    /// What was asked for and done otherwise, each with workload, phase, side and reason, and with what was done instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What the checks say of the comparison as a whole, worst first; those of single runs are with the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// The only factor that was declared to differ; without one the verdict is about the places as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varying: Option<String>,
    /// The places of each side, where a side has several: each is a provisioning (a plot) of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plots: Option<Plots>,
    /// How many numbers were planned; `contrasts` has those that were measured (E10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// Where nothing was measured: which stored runs were compared, and how they lie in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredRuns>,
    /// Pauses between the runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// The load of other processes, of each side in whose runs it was a part of the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under_load: Vec<SideLoad>,
}

impl Comparison {
    /// Which side each run is of, 0 the baseline, as the order says. Where older versions ran several works, each ran on the sides in
    /// the block's order. Empty where the order does not cover the runs, as of stored runs of several works.
    pub fn sides_of_runs(&self) -> BTreeMap<&str, usize> {
        let letters: usize = self.order.iter().map(String::len).sum();
        let works = self.runs.len().checked_div(letters).unwrap_or(0);
        if works == 0 || works * letters != self.runs.len() {
            return BTreeMap::new();
        }
        let in_order = self.order.iter().flat_map(|block| (0..works).flat_map(|_| block.chars()));
        let sides = in_order.map(|letter| usize::from(letter == 'B'));
        BTreeMap::from_iter(self.runs.iter().map(String::as_str).zip(sides))
    }
}

/// Stored runs that are compared without measuring anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredRuns {
    /// The baseline's.
    pub baseline: StoredSide,
    /// The candidate's.
    pub candidate: StoredSide,
    /// How the runs of each work lie in time.
    pub works: Vec<StoredWork>,
    /// Runs that other tools measured: what differed between their set-ups was not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub imported: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The runs of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredSide {
    /// What selects them, as typed.
    pub selection: String,
    /// Runs that it selects, also those that are left out.
    pub runs: u32,
    /// When the first of them began, RFC 3339.
    pub first_at: String,
    /// When the last of them began.
    pub last_at: String,
}

/// The runs of one work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredWork {
    /// The work.
    pub workload: String,
    /// How they lie in time.
    pub interleaving: StoredOrder,
}

/// How stored runs of two sides lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StoredOrder {
    /// Neighbours are of two sides, and are compared as blocks.
    Pairs,
    /// The sides took turns in stretches of several runs; a stretch is one sample.
    Stretches,
    /// One side after the other: a difference may be one of time (D8).
    Apart,
}

/// The places of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plots {
    /// Of the baseline.
    pub baseline: Vec<String>,
    /// Of the candidate.
    pub candidate: Vec<String>,
}

/// A run that was left out of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// The run.
    pub run: String,
    /// Name of its side, as in the contrasts.
    pub side: String,
    /// Codes of the checks that rejected it, with their messages.
    pub reason: String,
}

/// The load of other processes during the runs of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideLoad {
    /// Name of the side, as in the contrasts.
    pub side: String,
    /// Number of its runs with such a load.
    pub runs: u32,
    /// Number of all its runs.
    pub of: u32,
    /// The median of their loads.
    pub load: UnderLoad,
}

/// A check that warned of runs of one side, or rejected them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCheck {
    /// Name of the side, as in the contrasts.
    pub side: String,
    /// How many of its runs.
    pub runs: u32,
    /// How many runs it has.
    pub of: u32,
    /// The worst finding of them, the first of several.
    pub finding: Finding,
}

/// A fact in which two set-ups differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl Difference {
    /// The fact without what is the same of all: the target's name, and that it is of its stack.
    pub fn short(&self) -> &str {
        let of_target = self.fact.strip_prefix("target.").and_then(|rest| rest.split_once('.')).map(|(_, fact)| fact);
        of_target.map_or(self.fact.as_str(), |fact| fact.strip_prefix("stack.").unwrap_or(fact))
    }
}

/// The candidate against the baseline, in one metric of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contrast {
    /// Which number.
    pub metric: Metric,
    /// Of which phase; the work's name where the number is of the whole run. Empty where works are compared whose phases have
    /// different names.
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
    /// Two-sided p of Student's t over blocks or plots; `null` below two of them.
    #[serde(default)]
    pub p: Option<f64>,
    /// The same after Holm's correction over all contrasts of the comparison: the chance of one as small among them all,
    /// were there no difference in any.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// Two-sided p of the exact sign-flip test over blocks.
    pub p_sign_flip: Option<f64>,
    /// What may be said.
    pub verdict: ContrastVerdict,
    /// Blocks that it rests on.
    pub blocks: u32,
    /// About so many more blocks would settle it, where it is open.
    pub blocks_needed: Option<u32>,
    /// Of which work; phases of two works may have one name. Absent where works are what a study compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// What `blocks` and `blocks_needed` count.
    #[serde(default)]
    pub unit: Replicate,
    /// What the verdict's word leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the numbers alone would have said, where a check forbids it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<Capped>,
    /// The smallest difference that the set-up can show, where `plumb noise` measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// What the baseline's numbers measured, `mixed` where its runs differ; `null` where no tier belongs to the number.
    #[serde(default)]
    pub baseline_tier: Option<TierName>,
    /// The same of the candidate.
    #[serde(default)]
    pub candidate_tier: Option<TierName>,
    /// Where the baseline's runs have several speeds: each with its share of the runs (E4). One mean then describes none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_modes: Vec<Mode>,
    /// The same of the candidate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate_modes: Vec<Mode>,
    /// Runs that stand far from the others of their side. They are in every number above: what is far out is told, and
    /// never dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// The ratio as it would be without the blocks of those runs; absent where there are none, or too few blocks beside them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_outliers: Option<RatioWithout>,
    /// Of a claim: the slow mode that these runs may have missed, and that would undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<UnseenMode>,
    /// Whether the checks rejected these runs: the numbers are shown, and nothing is claimed of them. Absent where it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
}

/// A slow mode of one side that no run showed. A claim is about runs like those that were seen: typical ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnseenMode {
    /// Runs of the side that has fewer.
    pub runs: u32,
    /// The mode may be in up to this share of all runs: a larger one shows itself in so many with a chance of 95 %.
    pub share: f64,
    /// It undoes the claim where its runs are slower by this share or more.
    pub slower: f64,
}

impl UnseenMode {
    /// Modes slower than this are not spoken of: a run at less than a tenth of its speed.
    const SLOWER_MAX: f64 = 0.9;

    /// Whether a reader should know of it.
    pub fn is_plausible(&self) -> bool {
        self.slower <= UnseenMode::SLOWER_MAX
    }
}

/// What the claims of these contrasts are about, and what would undo the weakest of them; `None` where none is made, or only a mode
/// beyond belief would. Contrasts whose runs have several speeds say so themselves (E4).
pub fn typical_runs<'a>(contrasts: impl IntoIterator<Item = &'a Contrast>) -> Option<String> {
    let one_speed = |one: &&Contrast| one.baseline_modes.is_empty() && one.candidate_modes.is_empty();
    let unseen: Vec<UnseenMode> = contrasts.into_iter().filter(one_speed).filter_map(|one| one.unseen).collect();
    let weakest =
        unseen.iter().filter(|mode| mode.is_plausible()).min_by(|one, other| one.slower.total_cmp(&other.slower))?;
    let (claims, claim) =
        if unseen.len() == 1 { ("The claim holds", "the claim") } else { ("Claims hold", "the weakest claim") };
    let percent = |share: f64| crate::number::percent(share, crate::number::Digits::Spoken);
    Some(format!(
        "{claims} for typical runs: {} a side can miss a slow mode that hits up to {} of runs. If those were {} slower, \
         {claim} would fail.",
        weakest.runs,
        percent(weakest.share),
        percent(weakest.slower)
    ))
}

/// A run that stands far from the others of its side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// The run.
    pub run: String,
    /// Name of its side.
    pub side: String,
    /// Its value.
    pub value: f64,
}

/// A ratio with its interval, turned as that of the contrast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioWithout {
    /// Geometric mean over the blocks that are left.
    pub ratio: f64,
    /// Lower end of its interval.
    pub lo: f64,
    /// Upper end of its interval.
    pub hi: f64,
    /// Coverage of the interval.
    pub confidence: f64,
}

/// What counts as one sample.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Replicate {
    /// A block: one run of each side.
    #[default]
    Block,
    /// A plot: one provisioning of each side, with all its runs.
    Plot,
    /// A stretch of stored runs of one side in a row, next to one of the other side.
    Stretch,
    /// A stored run of each side, of which none is next to another.
    Run,
}

impl Replicate {
    /// As it is called.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A verdict that a check forbids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capped {
    /// What the numbers alone would have said.
    pub verdict: ContrastVerdict,
    /// The check.
    pub code: String,
    /// In words.
    pub reason: String,
}

/// What a place shows against itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Floor {
    /// As a share: 0.03 is × or ÷ 1.03.
    pub share: f64,
    /// When it was measured, RFC 3339.
    pub measured_at: String,
    /// Where.
    pub place: String,
}

/// One of several speeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Geometric mean of its runs, in the metric's unit.
    pub value: f64,
    /// Share of the runs, 0–1.
    pub share: f64,
}

/// What a comparison is allowed to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr, strum::VariantArray)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ContrastVerdict {
    /// The candidate is better, beyond chance and beyond the noise floor.
    Faster,
    /// The candidate is worse, beyond chance and beyond the noise floor.
    Slower,
    /// The difference is within the margin.
    Equivalent,
    /// The data do not carry a claim.
    CannotTell,
    /// The t test and the permutation test disagree.
    Fragile,
}

impl Contrast {
    /// The verdict's word for people: what devices count is not faster or slower, but fewer or more.
    pub fn word(&self) -> &'static str {
        match (self.metric.device_count(), self.verdict) {
            _ if self.rejected => "rejected",
            (Some(_), ContrastVerdict::Faster) => "fewer",
            (Some(_), ContrastVerdict::Slower) => "more",
            (_, verdict) => verdict.name(),
        }
    }
}

impl ContrastVerdict {
    /// As printed.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a dot of a chart is never a run of the other side. With two works, each ran on both sides in the block's order.
    #[test]
    fn runs_are_of_the_sides_that_the_order_says() {
        let comparison = |order: &[&str], runs: &[&str]| Comparison {
            schema: COMPARE_SCHEMA.to_owned(),
            verdict_note: String::new(),
            contrasts: Vec::new(),
            tails: Vec::new(),
            differences: Vec::new(),
            confounded: false,
            seed: 0,
            order: order.iter().map(|block| (*block).to_owned()).collect(),
            runs: runs.iter().map(|run| (*run).to_owned()).collect(),
            left_out: Vec::new(),
            run_checks: Vec::new(),
            notes: Vec::new(),
            checks: Vec::new(),
            varying: None,
            plots: None,
            planned: None,
            stored: None,
            settle: None,
            under_load: Vec::new(),
        };
        let sides = |order: &[&str], runs: &[&str]| -> Vec<usize> {
            let comparison = comparison(order, runs);
            let sides = comparison.sides_of_runs();
            runs.iter().filter_map(|run| sides.get(run).copied()).collect()
        };
        assert_eq!(sides(&["AB", "BA"], &["a", "b", "c", "d"]), [0, 1, 1, 0]);
        assert_eq!(sides(&["AB", "BA"], &["a", "b", "c", "d", "e", "f", "g", "h"]), [0, 1, 0, 1, 1, 0, 1, 0]);
        assert_eq!(
            sides(&["AB", "BA"], &["a", "b", "c"]),
            [0usize; 0],
            "an order that does not cover the runs says nothing"
        );
        assert_eq!(sides(&[], &["a"]), [0usize; 0]);
    }
}
