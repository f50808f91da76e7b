//! The report of a study, as printed by `--json` (`plumb.study/1`).

use crate::compare::{Contrast, Difference};
use crate::finding::{Finding, Level};
use crate::metric::Metric;
use crate::posix::PosixOutcome;
use crate::published::PublishedNumber;
use crate::run::TierName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the JSON form of a study's report.
pub const STUDY_SCHEMA: &str = "plumb.study/1";

/// The findings of a study, and their limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyReport {
    /// Name and version of this form: `plumb.study/1`.
    pub schema: String,
    /// Id of the study, a UUIDv7.
    pub id: String,
    /// Name of the study.
    pub name: String,
    /// The question that the study asks.
    pub question: String,
    /// Name of the scale that it was planned for, such as `full`.
    pub scale: String,
    /// Hash of the study's plan.
    pub plan_hash: String,
    /// Start of the study, RFC 3339, UTC.
    pub created_at: String,
    /// Whether the user declared the load of other programs as a part of the set-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_load: bool,
    /// The answer: one sentence for each level compared with the baseline.
    pub answer: Vec<String>,
    /// Numbers of planned and completed runs and cells.
    pub counts: StudyCounts,
    /// The factor whose levels are compared.
    pub by: String,
    /// A question other than the plan's, if the report answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedQuestion>,
    /// Correction of the contrasts' `p_adjusted` for multiple comparisons: `holm`, `benjamini-hochberg` or `none`.
    /// Empty in older reports, which used Holm's method.
    #[serde(default)]
    pub correction: String,
    /// The verdicts, in the order of workloads and levels.
    pub contrasts: Vec<StudyContrast>,
    /// Findings about the study as a whole, worst first.
    pub checks: Vec<Finding>,
    /// Findings about its runs, gathered by check, worst first.
    pub findings: Vec<GatheredFinding>,
    /// Facts in which the sides differ although no declared factor covers them (D5).
    pub undeclared: Vec<Difference>,
    /// Sources of the spread of each number.
    pub spread: Vec<SpreadSources>,
    /// Effects of the factors on each number, alone and together.
    pub effects: Vec<EffectTable>,
    /// Every planned cell (E10).
    pub cells: Vec<StudyCell>,
    /// POSIX conformance of the file systems: one entry for each workload that tests it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conformance: Vec<StudyConformance>,
    /// The measured systems and how they were built: one entry for each combination of hard levels.
    #[serde(default)]
    pub systems: Vec<StudySystem>,
    /// Counts that the study file states, and whether the runs confirmed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<StudyExpectation>,
    /// Published claims, next to this study's verdicts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimBeside>,
    /// Published numbers, next to this study's. They come without evidence and support no claim.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Whether the machines were emulated, so that absolute speeds mean nothing (C14).
    pub emulated: bool,
    /// For emulated machines: device activity for each op, and the time that a model of a disk would need for it. One
    /// line for each cell, below a line with the model's assumptions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<String>,
    /// Further facts needed to read the report.
    pub notes: Vec<String>,
}

/// An expected count of a cell, and the counts of its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyExpectation {
    /// The count, such as `device.written-per-byte`.
    pub metric: Metric,
    /// Name of the cell's workload.
    pub workload: String,
    /// The levels of the cell.
    pub levels: BTreeMap<String, String>,
    /// Smallest value that meets the expectation.
    pub at_least: f64,
    /// Largest value that meets the expectation; absent without an upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// Reason for the expectation, in the study's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Number of runs that counted it.
    pub runs: u32,
    /// Smallest count of any run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_least: Option<f64>,
    /// Largest count of any run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_most: Option<f64>,
    /// Whether every run meets the expectation; absent if no run counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}

impl StudyExpectation {
    /// Returns the bounds: `1.5`, `1.47 to 1.53`, `at most 0.02`.
    pub fn wanted(&self) -> String {
        bounds_in_words(self.at_least, self.at_most)
    }

    /// Returns the value that the runs found, or the smallest and largest.
    pub fn found(&self) -> String {
        match (self.found_least, self.found_most) {
            (Some(least), Some(most)) if plain(least) == plain(most) => plain(most),
            (Some(least), Some(most)) => format!("{} to {}", plain(least), plain(most)),
            _ => "nothing".to_owned(),
        }
    }
}

/// Formats the bounds of a count: `1.5`, `1.47 to 1.53`, `at most 0.02`.
pub fn bounds_in_words(at_least: f64, at_most: Option<f64>) -> String {
    match at_most {
        None => format!("at least {}", plain(at_least)),
        Some(most) if most == at_least => plain(most),
        Some(most) if at_least == 0.0 => format!("at most {}", plain(most)),
        Some(most) => format!("{} to {}", plain(at_least), plain(most)),
    }
}

/// Formats a value with up to four decimals, without trailing zeros.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Numbers of planned and completed runs, provisionings and cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCounts {
    /// Provisionings that were planned.
    pub plots: u32,
    /// Provisionings that could not be built.
    pub plots_failed: u32,
    /// Runs that were planned.
    pub runs: u32,
    /// Runs whose result the checks accept.
    pub done: u32,
    /// Runs that the checks rejected; they are left out of all numbers.
    pub rejected: u32,
    /// Runs that were repeated because checks rejected their first result, regardless of the outcome.
    #[serde(default)]
    pub made_again: u32,
    /// Number of runs that failed.
    pub failed: u32,
    /// Runs that are still to come.
    pub open: u32,
    /// Optional repetitions that were not needed.
    pub not_needed: u32,
    /// Cells that were planned.
    pub cells: u32,
    /// Cells that have a value.
    pub cells_with_value: u32,
}

impl StudyCounts {
    /// Returns `true` if the checks rejected half of the runs or more: the remaining ones may be the lucky half.
    pub fn is_mostly_rejected(&self) -> bool {
        self.rejected > 0 && self.rejected >= self.done
    }
}

/// A question asked after the data existed. Contrasts that the plan did not declare are exploratory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedQuestion {
    /// The question, the plan's question, and what the answer is worth, as text.
    pub note: String,
    /// The comparison that was asked for.
    pub asked: ComparedLevels,
    /// The comparison of the plan.
    pub planned: ComparedLevels,
    /// Number of contrasts that the plan declared. Their verdicts are the plan's own, corrected for its family.
    pub declared: u32,
    /// Number of contrasts with a verdict that the plan did not declare. They are corrected for their own number, and
    /// not for other questions asked of the same data.
    pub exploratory: u32,
}

/// The levels that a question compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedLevels {
    /// The factor whose levels are compared.
    pub by: String,
    /// Its compared levels; the first is the baseline.
    pub levels: Vec<String>,
    /// Factors whose levels are kept apart, such as `load`, or a single level, such as `load=random`.
    pub within: Vec<String>,
    /// Metrics by name or by their last parts; empty for the default ones.
    pub metrics: Vec<String>,
}

/// Returns the default for reports of older versions, in which every contrast was primary.
const fn is_primary() -> bool {
    true
}

/// A contrast, and the levels that it is within.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyContrast {
    /// Levels of the factors that are kept apart.
    pub within: BTreeMap<String, String>,
    /// The verdict as a sentence.
    pub words: String,
    /// Whether the study decides on this number. The others have an uncorrected interval and no verdict.
    #[serde(default = "is_primary")]
    pub primary: bool,
    /// Whether it answers a question other than the plan's (`asked`). Its verdict is then a hint for the next study
    /// and not a result of this one, and `primary` is false.
    #[serde(default)]
    pub exploratory: bool,
    /// Numbers and verdict of the contrast.
    #[serde(flatten)]
    pub contrast: Contrast,
}

impl StudyContrast {
    /// Returns `true` if it has a verdict: it is primary, or was asked for afterwards.
    pub const fn is_judged(&self) -> bool {
        self.primary || self.exploratory
    }
}

/// Results of `plumb posix` on each set-up of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyConformance {
    /// Name of the workload that tests the rules.
    pub workload: String,
    /// Each combination of hard levels on which it ran.
    pub setups: Vec<SetupConformance>,
    /// Cases that fail on a set-up, or end differently on different set-ups; most binding first.
    pub differing: Vec<DifferingCase>,
}

/// POSIX conformance of one set-up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetupConformance {
    /// Levels of the hard factors; empty if there are none.
    pub levels: BTreeMap<String, String>,
    /// Type of the file system, such as `ext4`.
    pub filesystem: String,
    /// Release of the running kernel.
    pub kernel: String,
    /// Number of test runs over all provisionings and repetitions.
    pub runs: u32,
    /// Numbers of cases by outcome. A case whose outcome differs between runs is `flaky`.
    pub counts: Vec<OutcomeCount>,
    /// Number of failing cases that count at the requested level.
    pub failures: u32,
    /// Number of rules that these cases belong to. Cases that differ only in brackets belong to one rule.
    pub broken_rules: u32,
    /// Ids of the reports in the store.
    pub reports: Vec<String>,
}

/// Number of cases with one outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeCount {
    /// Outcome that the cases have in common.
    pub outcome: PosixOutcome,
    /// Number of cases with this outcome.
    pub cases: u32,
}

impl SetupConformance {
    /// Returns the number of cases with an outcome.
    pub fn count(&self, outcome: PosixOutcome) -> u32 {
        self.counts.iter().find(|one| one.outcome == outcome).map_or(0, |one| one.cases)
    }
}

/// A case that fails on a set-up or differs between set-ups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferingCase {
    /// Id of the case, which never changes.
    pub id: String,
    /// Level of the rule, most binding first: `SHALL`, `LINUX` or `COMMON`.
    pub level: String,
    /// Whether it fails on a set-up; otherwise set-ups differ in whether it could be tested.
    pub fails: bool,
    /// Outcome on each set-up, in the order of set-ups; absent if it was not run.
    pub outcomes: Vec<Option<PosixOutcome>>,
    /// Explanation from the first set-up where the case does not pass: expected and found result, or why it could not
    /// be tested or is known to fail.
    pub found: String,
}

/// A system of a study: facts observed by its runs, and the steps that built it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudySystem {
    /// Levels of the hard factors; empty if there are none.
    pub levels: BTreeMap<String, String>,
    /// Name of its host in the study file; `local` is this machine.
    pub host: String,
    /// Facts from its results and builds; empty if nothing was measured.
    pub facts: Vec<SystemFact>,
    /// Steps that build it: the user's commands before, the steps of the study file, the user's commands after.
    pub steps: Vec<String>,
    /// Commands of its first build, in order; absent if it built nothing, or in studies of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// A fact about a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemFact {
    /// Name of the fact: `machine`, `processor`, `memory`, `virtualisation`, `kernel`, `system`, `measured by`,
    /// `file system`, `made with` (its features), `mount options`, `mount settings` (added by the kernel), `devices`, or
    /// a program that built it, such as `mkfs.ext4`.
    pub name: String,
    /// Values of the fact; several if provisionings or runs differ.
    pub values: Vec<String>,
}

/// A finding that several runs of a study share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GatheredFinding {
    /// Code of the check, such as `C1`.
    pub code: String,
    /// The worst level of the finding.
    pub level: Level,
    /// Number of runs with that level.
    pub runs: u32,
    /// Number of runs that have findings at all, because they have a result.
    pub of: u32,
    /// Message from the first of these runs.
    pub message: String,
    /// Remedy for the finding, as text.
    pub remedy: String,
}

/// Sources of the spread of one number, pooled over all cells, each relative to its own mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpreadSources {
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// The metric whose spread is divided.
    pub metric: Metric,
    /// Share of the variance between provisionings, 0–1.
    pub plots_share: f64,
    /// Share of the variance between runs on one provisioning, 0–1.
    pub runs_share: f64,
    /// Spread between provisionings, as a coefficient of variation.
    pub plots_cv: f64,
    /// Spread between runs on one provisioning, as a coefficient of variation.
    pub runs_cv: f64,
    /// Degrees of freedom of the spread between provisionings; 0 in reports that did not count them.
    #[serde(default)]
    pub plots_freedom: u32,
    /// Degrees of freedom of the spread between runs.
    #[serde(default)]
    pub runs_freedom: u32,
    /// Number of runs for each provisioning that narrows intervals most in a given time; absent if provisionings add
    /// no spread, or their duration is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_plot: Option<u32>,
    /// Advice for the next plan that follows from this.
    pub advice: String,
}

/// Effects of the factors on one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectTable {
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// The metric that the factors affect.
    pub metric: Metric,
    /// Method of estimation: `contrasts` of the cells' logarithms, with plots as units. Older
    /// reports have `sign-table` and `split-plot`.
    pub method: String,
    /// Effects of each factor, then of each pair, and their errors.
    pub lines: Vec<EffectLine>,
}

/// One main effect, interaction or error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectLine {
    /// The factors concerned; empty for an error.
    pub factors: Vec<String>,
    /// Name of the effect: `level × load`, `between provisionings`.
    pub name: String,
    /// The levels concerned, one for each factor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The reference levels: the first level of each factor.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// Share of all variation of the factor or pair, 0–1, in its first line; absent if a cell has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Improvement of the level over the factor's first level, as a ratio averaged over all other factors; above 1 is
    /// better. For a count: its ratio to the count at the first level. For a pair of factors: the ratio of one factor's
    /// improvement at the other's level to its improvement at the other's first level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Lower end of the ratio's 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    /// Upper end of the ratio's 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
    /// p for the hypothesis of no effect, not corrected, because effects are not claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Reason why there is no interval or no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One planned cell with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCell {
    /// Level of each factor in this cell.
    pub levels: BTreeMap<String, String>,
    /// Name of the measured workload.
    pub workload: String,
    /// Runs that were planned.
    pub planned: u32,
    /// Runs whose result the checks accept.
    pub done: u32,
    /// Runs that the checks rejected.
    pub rejected: u32,
    /// Number of runs that failed.
    pub failed: u32,
    /// Runs that are still to come.
    pub open: u32,
    /// Optional repetitions that were not needed.
    pub not_needed: u32,
    /// Reasons why runs failed or were rejected: each reason once, most frequent first.
    pub reasons: Vec<CellReason>,
    /// Values of the cell; empty if nothing was measured, and never 0 instead.
    pub values: Vec<CellValue>,
    /// Activity of the block devices in a run.
    pub devices: Vec<CellDevice>,
    /// Values from rejected runs, if no other runs are left. They are shown, and enter no contrast.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_values: Vec<CellValue>,
}

/// A reason why runs of a cell have no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellReason {
    /// The reason, as text.
    pub reason: String,
    /// Number of runs with this reason.
    pub runs: u32,
}

/// One number of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellValue {
    /// Name of the measured phase.
    pub phase: String,
    /// The metric of the value.
    pub metric: Metric,
    /// Geometric mean of the cell's runs.
    pub value: f64,
    /// Spread of the runs (coefficient of variation); absent below two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// Number of provisionings that were measured.
    pub plots: u32,
    /// Number of runs that were averaged.
    pub runs: u32,
    /// Origin of the bytes; `mixed` if runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
}

/// A conclusion of a published study, next to this study's verdicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimBeside {
    /// The claim in the authors' words.
    pub text: String,
    /// Path of the audited file, relative to the study.
    pub file: String,
    /// Levels of this study that ask the same question; absent if the scale has none of the claim's numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<BTreeMap<String, String>>,
    /// This study's verdicts as text: those of primary numbers if there are any.
    pub ours: Vec<String>,
}

/// Published numbers of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// Label of the numbers in the study.
    pub label: String,
    /// Path of the file, relative to the study; it was read when the study was planned.
    pub file: String,
    /// Origin of the file's format: `audit`, `iozone`, `bonnie++`.
    pub dialect: String,
    /// Levels of some factors that the numbers represent.
    pub levels: BTreeMap<String, String>,
    /// The numbers, in the order of the file.
    pub numbers: Vec<PublishedBeside>,
}

/// A published number, next to measured ones of the same kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedBeside {
    /// The published number itself.
    #[serde(flatten)]
    pub number: PublishedNumber,
    /// Our metric for the same quantity; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// This study's numbers, for every cell that the published number represents.
    pub ours: Vec<OurNumber>,
}

/// A number measured in one phase of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OurNumber {
    /// Level of each factor in the cell.
    pub levels: BTreeMap<String, String>,
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the measured phase.
    pub phase: String,
    /// Geometric mean of the runs in the published number's unit; absent under emulation, where it is meaningless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// This study's value divided by the published one. No claim follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// Activity of one block device in a run of a cell, over all runs that count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellDevice {
    /// Name in the recipe, such as `@disks.1`, or else the kernel's, such as `sda`.
    pub device: String,
    /// Kernel names of the device, if the recipe has a name for it; one for each build if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Number of runs that observed the device.
    pub runs: u32,
    /// Number of reads that completed.
    pub reads: RunCount,
    /// Bytes read from the device.
    pub read_bytes: RunCount,
    /// Number of writes that completed.
    pub writes: RunCount,
    /// Bytes written to the device.
    pub written_bytes: RunCount,
    /// Number of flushes that completed.
    pub flushes: RunCount,
    /// Bytes written by the device per byte that the workload wrote; absent if it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_byte: Option<f64>,
    /// Bytes read by the device per byte that the workload read; absent if it read none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_per_byte: Option<f64>,
}

/// A count over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCount {
    /// Arithmetic mean of the runs.
    pub mean: f64,
    /// Smallest count of a run.
    pub min: u64,
    /// Largest count of a run.
    pub max: u64,
}

impl RunCount {
    /// Returns the statistics of several runs' counts; `None` if there are none.
    pub fn from_counts(counts: &[u64]) -> Option<RunCount> {
        let (min, max) = (*counts.iter().min()?, *counts.iter().max()?);
        let mean = counts.iter().map(|count| *count as f64).sum::<f64>() / counts.len() as f64;
        Some(RunCount { mean, min, max })
    }

    /// Returns `true` if all runs have the same count.
    pub const fn is_exact(&self) -> bool {
        self.min == self.max
    }
}
