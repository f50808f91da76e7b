//! The result of a comparison, as printed by `--json` (`plumb.compare/1`).

use crate::finding::Finding;
use crate::metric::Metric;
use crate::run::TierName;
use crate::settle::Settled;
use crate::tails::Tail;
use crate::under_load::UnderLoad;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Name and version of the JSON form of a comparison.
pub const COMPARE_SCHEMA: &str = "plumb.compare/1";

/// A comparison of two set-ups: measured in interleaved order, or made of stored runs (`stored`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name and version of this form: `plumb.compare/1`.
    pub schema: String,
    /// The findings and their limits, as a sentence.
    pub verdict_note: String,
    /// One contrast for each phase and headline metric.
    pub contrasts: Vec<Contrast>,
    /// The slowest ops of both sides, for the kinds of op in the contrasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tails: Vec<Tail>,
    /// Facts in which the two set-ups differ.
    pub differences: Vec<Difference>,
    /// Whether factors other than the one named by `--varying` differ (D5).
    pub confounded: bool,
    /// Seed of the order and of the ops.
    pub seed: u64,
    /// Order of the sides, `A` and `B`, one string for each block: `["AB", "BA", …]`. With two workloads, each has two
    /// runs: `["ABBA", …]`. For stored runs without blocks, one string for each stretch of one side.
    pub order: Vec<String>,
    /// Ids of the runs, in execution order.
    pub runs: Vec<String>,
    /// Runs that were left out of the contrasts because checks rejected them, each with the reason.
    pub left_out: Vec<LeftOut>,
    /// Warnings of the checks about the runs of each side, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
    /// Requests that could not be met, each with workload, phase, side, reason and substitute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Findings about the comparison as a whole, worst first. Findings about single runs are stored with the runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Finding>,
    /// The only factor declared to differ; absent if the verdict is about the places themselves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub varying: Option<String>,
    /// Places of both sides, if a side has several; each is a separate provisioning (a plot).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plots: Option<Plots>,
    /// Number of contrasts planned; `contrasts` contains those that were measured (E10).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u32>,
    /// For a comparison of stored runs: the runs, and their arrangement in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored: Option<StoredRuns>,
    /// Pauses between the runs, and waits for idle storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settled>,
    /// Load of other processes for each side whose numbers it affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under_load: Vec<SideLoad>,
}

impl Comparison {
    /// Returns the differences to print: several targets in one place, such as data and log, have the same facts, and
    /// each is returned once.
    pub fn distinct_differences(&self) -> Vec<&Difference> {
        let mut seen = BTreeSet::new();
        let key = |one: &Difference| {
            (one.factor.clone(), one.short().to_owned(), one.baseline.clone(), one.candidate.clone())
        };
        self.differences.iter().filter(|one| seen.insert(key(one))).collect()
    }

    /// Returns the side of each run as the order gives it, 0 for the baseline. In results of older versions with
    /// several workloads, each workload ran on the sides in the block's order. The map is empty if the order does not
    /// cover the runs, as for stored runs of several workloads.
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

/// Stored runs that are compared without new measurements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredRuns {
    /// Stored runs of the baseline, the first side.
    pub baseline: StoredSide,
    /// Stored runs of the candidate, the second side.
    pub candidate: StoredSide,
    /// Arrangement in time of each workload's runs.
    pub works: Vec<StoredWork>,
    /// Number of runs that other tools measured. The differences between their set-ups were not recorded.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub imported: u32,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Stored runs of one side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredSide {
    /// Selection of the runs, as typed.
    pub selection: String,
    /// Number of selected runs, including those left out.
    pub runs: u32,
    /// Start of the first run, RFC 3339.
    pub first_at: String,
    /// Start of the last run, RFC 3339.
    pub last_at: String,
}

/// Stored runs of one workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StoredWork {
    /// Name of the measured workload.
    pub workload: String,
    /// Arrangement of its runs in time.
    pub interleaving: StoredOrder,
}

/// Arrangement in time of the stored runs of two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StoredOrder {
    /// Neighbouring runs belong to different sides, and are compared as blocks.
    Pairs,
    /// The sides alternate in stretches of several runs; a stretch is one sample.
    Stretches,
    /// All runs of one side follow the other side's; a difference may come from the time between them (D8).
    Apart,
}

/// Places of both sides of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plots {
    /// Places of the baseline, one for each provisioning.
    pub baseline: Vec<String>,
    /// Places of the candidate, one for each provisioning.
    pub candidate: Vec<String>,
}

/// A run that was left out of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Id of the run, a UUIDv7.
    pub run: String,
    /// Name of the run's side, as in the contrasts.
    pub side: String,
    /// Codes of the checks that rejected the run, with their messages.
    pub reason: String,
}

/// Load of other processes during the runs of one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideLoad {
    /// Name of the side, as in the contrasts.
    pub side: String,
    /// Number of the side's runs with such a load.
    pub runs: u32,
    /// Number of all runs of the side.
    pub of: u32,
    /// The median of these loads.
    pub load: UnderLoad,
}

/// A check that warned of runs of one side, or rejected them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCheck {
    /// Name of the side, as in the contrasts.
    pub side: String,
    /// Number of the side's runs with the finding.
    pub runs: u32,
    /// Number of all runs of the side.
    pub of: u32,
    /// The worst such finding; the first of several equal ones.
    pub finding: Finding,
}

/// A fact in which two set-ups differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Name of the fact, such as `target.data.mount.options`.
    pub fact: String,
    /// Class of the factor, as accepted by `--varying`: `fs`, `mount`, `device`, `scheduler`, `kernel`, `host`, `fullness` …
    pub factor: String,
    /// Value of the fact on the baseline.
    pub baseline: String,
    /// Value of the fact on the candidate.
    pub candidate: String,
}

impl Difference {
    /// Returns the fact without the prefixes that all facts share: the target's name, and `stack`.
    pub fn short(&self) -> &str {
        let of_target = self.fact.strip_prefix("target.").and_then(|rest| rest.split_once('.')).map(|(_, fact)| fact);
        of_target.map_or(self.fact.as_str(), |fact| fact.strip_prefix("stack.").unwrap_or(fact))
    }
}

/// The candidate compared with the baseline, in one metric of one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contrast {
    /// The metric that is compared.
    pub metric: Metric,
    /// Name of the phase, or of the workload if the number covers the whole run. Empty if workloads with
    /// different phase names are compared.
    pub phase: String,
    /// Name of the baseline.
    pub baseline: String,
    /// Name of the candidate.
    pub candidate: String,
    /// Geometric mean of the baseline's runs.
    pub baseline_value: Option<f64>,
    /// Geometric mean of the candidate's runs.
    pub candidate_value: Option<f64>,
    /// Spread of the baseline's runs, as a coefficient of variation.
    pub baseline_cv: Option<f64>,
    /// Spread of the candidate's runs, as a coefficient of variation.
    pub candidate_cv: Option<f64>,
    /// Geometric mean of candidate / baseline over the blocks, turned so that above 1 is better for the candidate.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub lo: Option<f64>,
    /// Upper end of the ratio's interval.
    pub hi: Option<f64>,
    /// Coverage of the interval, such as 0.95.
    pub confidence: f64,
    /// Two-sided p of Student's t test over blocks or plots; `null` below two of them.
    #[serde(default)]
    pub p: Option<f64>,
    /// The same after Holm's correction over all contrasts: the probability of a p this small in any of them, if
    /// no contrast had a difference.
    #[serde(default)]
    pub p_adjusted: Option<f64>,
    /// Two-sided p of the exact sign-flip test over blocks.
    pub p_sign_flip: Option<f64>,
    /// The claim that the data support.
    pub verdict: ContrastVerdict,
    /// Number of blocks that were measured.
    pub blocks: u32,
    /// Approximate number of further blocks that would settle an open contrast.
    pub blocks_needed: Option<u32>,
    /// Name of the workload, because phases of two workloads may share a name. Absent if a study compares workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Unit of `blocks` and `blocks_needed`.
    #[serde(default)]
    pub unit: Replicate,
    /// Explanation, if the verdict alone would mislead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The verdict that the numbers alone would give, if a check forbids it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<Capped>,
    /// The smallest difference that the set-up can show, if `plumb noise` measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor: Option<Floor>,
    /// Origin of the baseline's bytes; `mixed` if runs differ, `null` if the metric has no tier.
    #[serde(default)]
    pub baseline_tier: Option<TierName>,
    /// Origin of the candidate's bytes, in the same form.
    #[serde(default)]
    pub candidate_tier: Option<TierName>,
    /// The speeds of the baseline's runs and their shares, if there are several (E4). A single mean describes none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub baseline_modes: Vec<Mode>,
    /// The speeds of the candidate's runs and their shares, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidate_modes: Vec<Mode>,
    /// Runs far from the others of their side. All numbers above include them: outliers are reported, and never dropped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Ratio without the blocks of the outliers; absent if there are no outliers, or too few other blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_outliers: Option<RatioWithout>,
    /// For a claim: the slow mode that these runs may have missed, and that would refute the claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unseen: Option<UnseenMode>,
    /// Whether the checks rejected these runs; the numbers are then shown without a claim. Absent if false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rejected: bool,
}

/// A slow mode of one side that no run showed. A claim is about typical runs, like those that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnseenMode {
    /// Number of runs of the side with fewer runs.
    pub runs: u32,
    /// Largest share of all runs that the mode may have. A larger mode would have appeared in this many
    /// runs with 95 % probability.
    pub share: f64,
    /// Smallest slowdown of the mode's runs, as a share, that would refute the claim.
    pub slower: f64,
}

impl UnseenMode {
    /// Modes slower than this are not reported: their runs have less than a tenth of the speed.
    const SLOWER_MAX: f64 = 0.9;

    /// Returns `true` if the mode is plausible enough to report.
    pub fn is_plausible(&self) -> bool {
        self.slower <= UnseenMode::SLOWER_MAX
    }
}

/// Describes the runs that the claims of these contrasts cover, and the slow mode that would refute the weakest
/// claim. `None` without claims, or if only an implausible mode would refute them. Contrasts whose runs have several
/// speeds report those themselves (E4).
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

/// A run far from the others of its side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outlier {
    /// Id of the run, a UUIDv7.
    pub run: String,
    /// Name of the run's side.
    pub side: String,
    /// Value of the run, in the metric's unit.
    pub value: f64,
}

/// A ratio with its interval, in the same direction as the contrast's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RatioWithout {
    /// Geometric mean over the remaining blocks.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub lo: f64,
    /// Upper end of the ratio's interval.
    pub hi: f64,
    /// Coverage of the interval, such as 0.95.
    pub confidence: f64,
}

/// The unit that counts as one sample.
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
    /// A stretch of consecutive stored runs of one side, next to one of the other side.
    Stretch,
    /// A stored run of each side, none next to another.
    Run,
}

impl Replicate {
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A verdict that a check forbids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Capped {
    /// The verdict that the numbers alone would give.
    pub verdict: ContrastVerdict,
    /// Code of the check, such as `E4`.
    pub code: String,
    /// Reason why the check forbids it, as a sentence.
    pub reason: String,
}

/// The noise floor of a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Floor {
    /// Smallest difference as a share: 0.03 is × or ÷ 1.03.
    pub share: f64,
    /// Time of the measurement, RFC 3339.
    pub measured_at: String,
    /// Path of the place that was measured.
    pub place: String,
}

/// One of several speeds of a side's runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// Geometric mean of the runs at this speed, in the metric's unit.
    pub value: f64,
    /// Share of the runs at this speed, 0–1.
    pub share: f64,
}

/// The claims that a comparison can make.
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
    /// The data do not support a claim.
    CannotTell,
    /// The t test and the permutation test disagree.
    Fragile,
}

impl Contrast {
    /// Returns the verdict's word for people. Device counts are fewer or more, rather than faster or slower.
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
    /// Returns the name that reports print.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(order: &[&str], runs: &[&str]) -> Comparison {
        Comparison {
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
        }
    }

    // Protects: a page shows a fact of several targets once, and facts with other values or of other factors each.
    #[test]
    fn a_fact_of_several_targets_is_one_difference() {
        let difference = |fact: &str, factor: &str, candidate: &str| Difference {
            fact: fact.to_owned(),
            factor: factor.to_owned(),
            baseline: "true".to_owned(),
            candidate: candidate.to_owned(),
        };
        let differences = vec![
            difference("target.data.stack.rotational", "device", "false"),
            difference("target.log.stack.rotational", "device", "false"),
            difference("target.log.stack.rotational", "device", "unknown"),
            difference("target.log.stack.rotational", "host", "false"),
        ];
        let comparison = Comparison { differences, ..comparison(&[], &[]) };
        let distinct: Vec<&str> = comparison.distinct_differences().iter().map(|one| one.fact.as_str()).collect();
        assert_eq!(distinct.len(), 3, "{distinct:?}");
        assert_eq!(distinct[0], "target.data.stack.rotational");
    }

    // Protects: a chart never shows a run on the wrong side. With two workloads, each ran on both sides in the block's order.
    #[test]
    fn sides_of_runs_follow_the_order() {
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
            "no sides are known if the order does not cover the runs"
        );
        assert_eq!(sides(&[], &["a"]), [0usize; 0]);
    }
}
