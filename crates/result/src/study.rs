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

/// What a study found, and what limits it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyReport {
    /// [`STUDY_SCHEMA`].
    pub schema: String,
    /// The study, UUIDv7.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What it asks.
    pub question: String,
    /// The scale that it was planned for, `full`.
    pub scale: String,
    /// Hash of its plan.
    pub plan_hash: String,
    /// When it was begun, RFC 3339, UTC.
    pub created_at: String,
    /// Whether the load of other programs was declared a part of the set-up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub under_load: bool,
    /// The answer in words: one for each level that is held against the baseline.
    pub answer: Vec<String>,
    /// How much of what was planned was had.
    pub counts: StudyCounts,
    /// The factor whose levels are compared.
    pub by: String,
    /// Another question than the plan's, where the report answers one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedQuestion>,
    /// How `p_adjusted` of the contrasts is corrected for their number: `holm`, `benjamini-hochberg` or `none`; empty in older
    /// reports, which were corrected by Holm's method.
    #[serde(default)]
    pub correction: String,
    /// The verdicts, in the order of workloads and levels.
    pub contrasts: Vec<StudyContrast>,
    /// What the checks say of the study as a whole, worst first.
    pub checks: Vec<Finding>,
    /// What the checks say of its runs, gathered, worst first.
    pub findings: Vec<GatheredFinding>,
    /// Facts in which the sides differ although no factor was declared that covers them (D5).
    pub undeclared: Vec<Difference>,
    /// Where the spread comes from, by number.
    pub spread: Vec<SpreadSources>,
    /// What the factors do, alone and together, by number.
    pub effects: Vec<EffectTable>,
    /// Every planned cell (E10).
    pub cells: Vec<StudyCell>,
    /// Which rules the file systems keep, where a workload tests that; an entry for each such workload.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conformance: Vec<StudyConformance>,
    /// What was measured, and how it was built: one entry for each combination of hard levels.
    #[serde(default)]
    pub systems: Vec<StudySystem>,
    /// Counts that the study file states, and whether they came out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected: Vec<StudyExpectation>,
    /// Published claims, next to our verdicts on the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimBeside>,
    /// Published numbers, beside ours. Nothing follows from them: they come without evidence.
    #[serde(default)]
    pub published: Vec<Published>,
    /// Absolute speeds mean nothing: the machines were emulated (C14).
    pub emulated: bool,
    /// Where machines were emulated: what the devices did for each op, and how long a model of a disk would take for it. A line
    /// for each cell, below one that says what the model assumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<String>,
    /// What else must be known.
    pub notes: Vec<String>,
}

/// A count that a study expects of a cell, and what its runs counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyExpectation {
    /// The count, such as `device.written-per-byte`.
    pub metric: Metric,
    /// The work of the cell.
    pub workload: String,
    /// The levels of the cell.
    pub levels: BTreeMap<String, String>,
    /// The smallest value that meets it.
    pub at_least: f64,
    /// The largest; absent where it has no upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The reason to expect it, in the study's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// Number of runs that counted it.
    pub runs: u32,
    /// The smallest count of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_least: Option<f64>,
    /// The largest count of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_most: Option<f64>,
    /// Whether every run meets it; absent where none counted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}

impl StudyExpectation {
    /// `1.5`, `1.47 to 1.53`, `at most 0.02`.
    pub fn wanted(&self) -> String {
        bounds_in_words(self.at_least, self.at_most)
    }

    /// The value that was found, or the smallest and the largest.
    pub fn found(&self) -> String {
        match (self.found_least, self.found_most) {
            (Some(least), Some(most)) if plain(least) == plain(most) => plain(most),
            (Some(least), Some(most)) => format!("{} to {}", plain(least), plain(most)),
            _ => "nothing".to_owned(),
        }
    }
}

/// Bounds of a count: `1.5`, `1.47 to 1.53`, `at most 0.02`.
pub fn bounds_in_words(at_least: f64, at_most: Option<f64>) -> String {
    match at_most {
        None => format!("at least {}", plain(at_least)),
        Some(most) if most == at_least => plain(most),
        Some(most) if at_least == 0.0 => format!("at most {}", plain(most)),
        Some(most) => format!("{} to {}", plain(at_least), plain(most)),
    }
}

/// Up to four decimals, without zeros at the end.
fn plain(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How much of a study was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCounts {
    /// Provisionings that were planned.
    pub plots: u32,
    /// Those of them that could not be built.
    pub plots_failed: u32,
    /// Runs that were planned.
    pub runs: u32,
    /// Those of them whose result the checks accept.
    pub done: u32,
    /// Those that the checks rejected; left out of all numbers.
    pub rejected: u32,
    /// Those that were made again because checks rejected their first result, however they ended.
    #[serde(default)]
    pub made_again: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that are still to come.
    pub open: u32,
    /// Optional repetitions that were not needed.
    pub not_needed: u32,
    /// Cells that were planned.
    pub cells: u32,
    /// Cells that have a value.
    pub cells_with_value: u32,
}

impl StudyCounts {
    /// Whether the checks rejected half of the runs or more: what is left may be the lucky half.
    pub fn is_mostly_rejected(&self) -> bool {
        self.rejected > 0 && self.rejected >= self.done
    }
}

/// A question that was asked of the data once they were there. What it compares and the plan did not is exploratory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedQuestion {
    /// In words: what was asked, what the plan asks, and what that is worth.
    pub note: String,
    /// What was asked.
    pub asked: ComparedLevels,
    /// What the plan asks.
    pub planned: ComparedLevels,
    /// Contrasts below that the plan declared: their verdicts are the plan's own, corrected for its family.
    pub declared: u32,
    /// Contrasts below that have a verdict and that the plan did not declare. They are corrected for their own number, and not
    /// for other questions that were asked of the same data.
    pub exploratory: u32,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedLevels {
    /// The factor whose levels are compared.
    pub by: String,
    /// Its levels that are compared; the first is the baseline.
    pub levels: Vec<String>,
    /// Factors whose levels are told apart, `load`, or only one of them, `load=random`.
    pub within: Vec<String>,
    /// Metrics by name or by their last parts; empty for the default ones.
    pub metrics: Vec<String>,
}

/// In reports of older versions every contrast was.
const fn is_primary() -> bool {
    true
}

/// A contrast, with the levels it is within.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyContrast {
    /// Levels of the factors that are told apart.
    pub within: BTreeMap<String, String>,
    /// The verdict in words.
    pub words: String,
    /// Whether it is one of the numbers that the study decides on. The others have an interval, not corrected for their
    /// number, and no verdict.
    #[serde(default = "is_primary")]
    pub primary: bool,
    /// It answers another question than the plan's (`asked`): its verdict is a hint for the next study, and never one of this
    /// study's. `primary` is false then.
    #[serde(default)]
    pub exploratory: bool,
    /// The numbers.
    #[serde(flatten)]
    pub contrast: Contrast,
}

impl StudyContrast {
    /// Whether it has a verdict: it is what the study decides on, or what was asked afterwards.
    pub const fn is_judged(&self) -> bool {
        self.primary || self.exploratory
    }
}

/// The rules of `plumb posix` on each set-up of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyConformance {
    /// The work that tests them.
    pub workload: String,
    /// Each combination of hard levels on which it ran.
    pub setups: Vec<SetupConformance>,
    /// Cases that fail somewhere, or that end otherwise on one set-up than on another; the most binding first.
    pub differing: Vec<DifferingCase>,
}

/// How one set-up conforms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetupConformance {
    /// The levels of the hard factors; none where there are none.
    pub levels: BTreeMap<String, String>,
    /// The kind of its file system.
    pub filesystem: String,
    /// The kernel's release.
    pub kernel: String,
    /// How often it was tested, each provisioning and repetition counted.
    pub runs: u32,
    /// Cases by outcome. One that did not end the same in all runs is `flaky`.
    pub counts: Vec<OutcomeCount>,
    /// Cases that fail and count at the level that was asked for.
    pub failures: u32,
    /// Rules that these are of: cases that differ only in brackets are of one.
    pub broken_rules: u32,
    /// The reports in the store.
    pub reports: Vec<String>,
}

/// How many cases ended so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutcomeCount {
    /// How.
    pub outcome: PosixOutcome,
    /// How many.
    pub cases: u32,
}

impl SetupConformance {
    /// Cases of an outcome.
    pub fn count(&self, outcome: PosixOutcome) -> u32 {
        self.counts.iter().find(|one| one.outcome == outcome).map_or(0, |one| one.cases)
    }
}

/// A case that fails somewhere or differs between set-ups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferingCase {
    /// Its id.
    pub id: String,
    /// How binding its rule is: `SHALL`, `LINUX` or `COMMON`.
    pub level: String,
    /// Whether it fails somewhere; otherwise it differs in whether it could be tested.
    pub fails: bool,
    /// How it ends on each set-up, in their order; absent where it was not run.
    pub outcomes: Vec<Option<PosixOutcome>>,
    /// What was expected, what was found, or why it could not be tested or is known to fail: of the first set-up where it does not pass.
    pub found: String,
}

/// A system of a study: what its runs saw of it, and how it was built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudySystem {
    /// The levels of the hard factors; none where there are none.
    pub levels: BTreeMap<String, String>,
    /// Its host in the study file; `local` is this machine.
    pub host: String,
    /// What its results and builds say of it; none where nothing was measured.
    pub facts: Vec<SystemFact>,
    /// How it is built: what the user runs before, the steps of the study file, what the user runs behind.
    pub steps: Vec<String>,
    /// The commands that its first build ran, in order; none where it built nothing, or in studies of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
}

/// A fact about a system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemFact {
    /// `machine`, `processor`, `memory`, `virtualisation`, `kernel`, `system`, `measured by`, `file system`, `made with` (its features),
    /// `mount options`, `mount settings` (what the kernel added to them), `devices`, or a program that built it, such as `mkfs.ext4`.
    pub name: String,
    /// What it is; several where its provisionings or runs differ.
    pub values: Vec<String>,
}

/// A finding that runs of a study share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GatheredFinding {
    /// The check.
    pub code: String,
    /// The worst level that it came to.
    pub level: Level,
    /// In how many runs it came to that level.
    pub runs: u32,
    /// How many runs have findings at all: those with a result.
    pub of: u32,
    /// What it says of the first of them.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// Where the spread of one number comes from, all cells pooled, each held against its own mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpreadSources {
    /// The work.
    pub workload: String,
    /// Its phase.
    pub phase: String,
    /// The number.
    pub metric: Metric,
    /// Share of the variance that is between provisionings, 0–1.
    pub plots_share: f64,
    /// Share of the variance that is between runs on one provisioning, 0–1.
    pub runs_share: f64,
    /// Spread between provisionings, as a coefficient of variation.
    pub plots_cv: f64,
    /// Spread between runs on one provisioning, as a coefficient of variation.
    pub runs_cv: f64,
    /// Degrees of freedom of the spread between provisionings; 0 in a report from before they were counted.
    #[serde(default)]
    pub plots_freedom: u32,
    /// Degrees of freedom of the spread between runs.
    #[serde(default)]
    pub runs_freedom: u32,
    /// The number of runs for each provisioning that narrows intervals most for its time; absent where provisionings add no
    /// spread, or nothing is known of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_per_plot: Option<u32>,
    /// What that says about the next plan.
    pub advice: String,
}

/// What the factors do to one number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectTable {
    /// The work.
    pub workload: String,
    /// Its phase.
    pub phase: String,
    /// The number.
    pub metric: Metric,
    /// How they were estimated: `contrasts` of the cells' logarithms, with plots as units. Older reports have `sign-table` and
    /// `split-plot`.
    pub method: String,
    /// Effects of each factor, then of each pair, and the errors behind them.
    pub lines: Vec<EffectLine>,
}

/// One main effect, interaction or error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectLine {
    /// The factors that it is about; none for an error.
    pub factors: Vec<String>,
    /// `level × load`, `between provisionings`.
    pub name: String,
    /// The levels that it is about, one for each of its factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// What they are held against: the first level of each of its factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub against: Vec<String>,
    /// Share of all variation of the factor or pair, 0–1, in its first line; absent where a cell has no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// How many times better the level is than the factor's first, averaged over all other factors: above 1 is better. Of
    /// a count, how many times as many. Of a pair of factors: how many times larger the one's ratio is at the other's
    /// level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lo: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hi: Option<f64>,
    /// p that there is no such effect, not corrected: effects are not claims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// Why there is no interval or no estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// One planned cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyCell {
    /// The levels of every factor.
    pub levels: BTreeMap<String, String>,
    /// The work.
    pub workload: String,
    /// Runs that were planned.
    pub planned: u32,
    /// Those whose result the checks accept.
    pub done: u32,
    /// Those that the checks rejected.
    pub rejected: u32,
    /// Those that failed.
    pub failed: u32,
    /// Those that are still to come.
    pub open: u32,
    /// Optional repetitions that were not needed.
    pub not_needed: u32,
    /// Why runs failed or were rejected: each reason once, the most frequent first.
    pub reasons: Vec<CellReason>,
    /// Its numbers; none where it has no value, never 0.
    pub values: Vec<CellValue>,
    /// What the block devices did in a run.
    pub devices: Vec<CellDevice>,
    /// The numbers of runs that the checks rejected, where no others are left; they are shown, and are in no contrast.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected_values: Vec<CellValue>,
}

/// Why runs of a cell have no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellReason {
    /// Why.
    pub reason: String,
    /// Of how many runs.
    pub runs: u32,
}

/// One number of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellValue {
    /// The phase.
    pub phase: String,
    /// The number.
    pub metric: Metric,
    /// Geometric mean of its runs.
    pub value: f64,
    /// Spread of its runs (coefficient of variation); absent below two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// On how many provisionings.
    pub plots: u32,
    /// In how many runs.
    pub runs: u32,
    /// What it measured; `mixed` where runs differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<TierName>,
}

/// A conclusion of a published study, next to the verdicts of this one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimBeside {
    /// The claim in the authors' words.
    pub text: String,
    /// The audited file, relative to the study.
    pub file: String,
    /// Levels of this study that ask the same; absent if the scale has none of the claim's numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<BTreeMap<String, String>>,
    /// Our verdicts in words, those of primary numbers if there are any.
    pub ours: Vec<String>,
}

/// Published numbers of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Published {
    /// What the study calls them.
    pub label: String,
    /// The file that they were read from when the study was planned, relative to it.
    pub file: String,
    /// Who wrote it: `audit`, `iozone`, `bonnie++`.
    pub dialect: String,
    /// The levels that they stand for, of some factors.
    pub levels: BTreeMap<String, String>,
    /// The numbers, in the file's order.
    pub numbers: Vec<PublishedBeside>,
}

/// A published number, and what was measured of its kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedBeside {
    /// The number.
    #[serde(flatten)]
    pub number: PublishedNumber,
    /// Our metric of its kind; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// Ours, of every cell that it stands for.
    pub ours: Vec<OurNumber>,
}

/// What was measured in one phase of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OurNumber {
    /// The cell's levels.
    pub levels: BTreeMap<String, String>,
    /// The work.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// Geometric mean of its runs, in the published number's unit; absent under emulation, where it means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Ours divided by the published one. No claim follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

/// What one block device did in a run of a cell, over all its runs that count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellDevice {
    /// Its name in the recipe, `@disks.1`; the kernel's, `sda`, where the recipe has none for it.
    pub device: String,
    /// What the kernel called it, where the recipe has a name for it: one for each build, if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// In how many runs it was looked at.
    pub runs: u32,
    /// Reads completed.
    pub reads: RunCount,
    /// Bytes read.
    pub read_bytes: RunCount,
    /// Writes completed.
    pub writes: RunCount,
    /// Bytes written.
    pub written_bytes: RunCount,
    /// Flushes completed.
    pub flushes: RunCount,
    /// Bytes written by the device for each byte that the work wrote; absent where the work wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_per_byte: Option<f64>,
    /// Bytes read by the device for each byte that the work read; absent where the work read none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_per_byte: Option<f64>,
}

/// A count over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunCount {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
}

impl RunCount {
    /// The counts of several runs; `None` of none.
    pub fn of(counts: &[u64]) -> Option<RunCount> {
        let (min, max) = (*counts.iter().min()?, *counts.iter().max()?);
        let mean = counts.iter().map(|count| *count as f64).sum::<f64>() / counts.len() as f64;
        Some(RunCount { mean, min, max })
    }

    /// Whether all runs had the same.
    pub const fn is_exact(&self) -> bool {
        self.min == self.max
    }
}
