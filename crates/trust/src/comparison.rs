//! Input of a comparison's checks: two sides, the works of each, and the numbers run by run.

use crate::factors::Factor;
use crate::same_work::WorkPrint;
use plumb_result::compare::Difference;
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{Better, Histogram, Metric, UnderLoad};
use plumb_stats::schedule::Side;
use std::collections::BTreeMap;

/// Two sides of a comparison, and their declared difference.
pub struct ComparisonView<'a> {
    /// The reference side.
    pub baseline: ComparisonSide<'a>,
    /// The side that is compared with it.
    pub candidate: ComparisonSide<'a>,
    /// The factor that was declared to vary.
    pub varying: Option<&'static Factor>,
    /// Every compared number, run by run.
    pub numbers: &'a [NumberView<'a>],
    /// Every planned number; empty without a plan.
    pub planned: &'a [Planned],
    /// Times of single ops, the runs of each side merged.
    pub latencies: &'a [LatencyView<'a>],
    /// Order of all runs, including those that were left out.
    pub sequence: Sequence<'a>,
}

/// Runs in the order in which they happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequence<'a> {
    /// The side of the run before each, by [`RunValue::run`]: `None` for a first one. Empty if other runs
    /// may have come in between.
    pub previous: &'a [Option<Side>],
    /// Mean time of a run including its preparation and cleanup, in seconds.
    pub run_seconds: Option<f64>,
}

/// One side of a comparison.
#[derive(Clone, Copy)]
pub struct ComparisonSide<'a> {
    pub name: &'a str,
    pub environment: &'a Environment,
    /// The storage under each target, by the target's name.
    pub targets: &'a BTreeMap<String, TargetFacts>,
    /// Runs of each work that were not left out; with several works, the fewest.
    pub runs: u32,
    /// Other facts about its runs.
    pub record: &'a SideRecord,
}

/// Facts about a side's runs.
#[derive(Debug, Clone, PartialEq)]
pub struct SideRecord {
    /// Number of plots that the runs are spread over.
    pub plots: u32,
    /// Number of runs that their checks rejected.
    pub rejected: u32,
    /// Codes of the checks that rejected them, each once.
    pub rejected_by: Vec<String>,
    /// Facts in which its places differ from the first of them, if it has several.
    pub unlike_plots: Vec<Difference>,
    /// Its workloads, each distinct one once.
    pub works: Vec<WorkPrint>,
    /// The programs that ran it, each distinct one once.
    pub tools: Vec<ToolPrint>,
    /// Observations around the phases of its first run.
    pub phases: Vec<PhaseObservations>,
    /// The load of other processes in each run that was not left out.
    pub loads: Vec<Option<UnderLoad>>,
}

impl Default for SideRecord {
    /// A side with one place and unknown runs.
    fn default() -> SideRecord {
        SideRecord {
            plots: 1,
            rejected: 0,
            rejected_by: Vec::new(),
            unlike_plots: Vec::new(),
            works: Vec::new(),
            tools: Vec::new(),
            phases: Vec::new(),
            loads: Vec::new(),
        }
    }
}

/// The program that made a run's numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToolPrint {
    /// Such as `plumb` or `fio`.
    pub name: String,
    /// Version as printed by the program.
    pub version: String,
    /// The dialect that the run was interpreted in; `None` for Plumb's own.
    pub dialect: Option<DialectPrint>,
}

/// Another tool's language, in one version of its interpretation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DialectPrint {
    /// Such as `fio` or `iozone`.
    pub name: String,
    /// Version of the interpretation; it grows when the same words change their meaning.
    pub semantics: u32,
}

impl DialectPrint {
    /// The first version of a dialect. None has changed yet.
    pub const FIRST_SEMANTICS: u32 = 1;
}

/// One compared number, run by run.
pub struct NumberView<'a> {
    pub workload: &'a str,
    pub phase: &'a str,
    pub metric: Metric,
    pub baseline: &'a [RunValue],
    pub candidate: &'a [RunValue],
    /// The statistics' result, before any check.
    pub found: NumberFinding,
    /// The smallest difference that the set-up can show, as a share (0.03 is × or ÷ 1.03); `None` if
    /// no `plumb noise` measured it.
    pub floor: Option<f64>,
    /// Unit and direction as stated by a publisher; `None` for Plumb's own numbers, which have the metric's.
    pub stated: Option<Stated<'a>>,
}

impl NumberView<'_> {
    /// Returns the name, `random-read: read.iops`; with the phase if its name differs from that of the work.
    pub fn name(&self) -> String {
        number_name(self.workload, self.phase, self.metric)
    }
}

/// Formats the name of a number like `random-read: read.iops`; with the phase if its name differs
/// from that of the work.
pub fn number_name(workload: &str, phase: &str, metric: Metric) -> String {
    if workload == phase { format!("{workload}: {metric}") } else { format!("{workload}/{phase}: {metric}") }
}

/// A number that was meant to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    pub workload: String,
    pub metric: Metric,
}

/// One run's value of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// Position of the run in the order of all runs of the comparison, from 0. Numbers of one
    /// run have the same position.
    pub run: u32,
    /// Plot of its side that it ran on, from 0.
    pub plot: u32,
    /// The value, in the metric's unit; above 0.
    pub value: f64,
}

/// The statistics' result for a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberFinding {
    /// A difference beyond chance, by this factor.
    Difference {
        /// Candidate against baseline, with the direction chosen so that above 1 is better.
        ratio: f64,
    },
    /// Equal within this share.
    Equal {
        /// 0.05 is × or ÷ 1.05.
        margin: f64,
    },
    /// Neither of them.
    Nothing,
}

/// Unit and direction of a number, as stated by its publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    /// The unit as written, such as `MB/s`.
    pub unit: Option<&'a str>,
    /// The direction as drawn or written.
    pub better: Option<Better>,
}

/// Times of one kind of op in one phase, all runs of each side merged, in ns.
pub struct LatencyView<'a> {
    pub workload: &'a str,
    pub phase: &'a str,
    pub op: &'a str,
    pub baseline: &'a Histogram,
    pub candidate: &'a Histogram,
}

impl NumberView<'_> {
    /// Returns the sides in the order of their runs.
    pub(crate) fn order(&self) -> Vec<Side> {
        let of = |runs: &[RunValue], side: Side| runs.iter().map(|run| (run.run, side)).collect::<Vec<(u32, Side)>>();
        let mut runs = [of(self.baseline, Side::A), of(self.candidate, Side::B)].concat();
        runs.sort_by_key(|(place, _)| *place);
        runs.into_iter().map(|(_, side)| side).collect()
    }

    /// Returns the residual of each run in run order: the logarithm of its value over the geometric mean
    /// of its side and plot.
    pub(crate) fn residuals(&self) -> Vec<Residual> {
        let mut all: Vec<Residual> = Vec::with_capacity(self.baseline.len() + self.candidate.len());
        for side in [self.baseline, self.candidate] {
            let mut plots: BTreeMap<u32, Vec<RunValue>> = BTreeMap::new();
            for &run in side.iter().filter(|run| run.value > 0.0) {
                plots.entry(run.plot).or_default().push(run);
            }
            for runs in plots.values() {
                let mean = runs.iter().map(|run| run.value.ln()).sum::<f64>() / runs.len() as f64;
                all.extend(runs.iter().map(|run| Residual { run: run.run, log: run.value.ln() - mean }));
            }
        }
        all.sort_by_key(|residual| residual.run);
        all
    }
}

/// A run's distance from the level of its plot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Residual {
    /// Position of the run.
    pub(crate) run: u32,
    /// Logarithm of value / level.
    pub(crate) log: f64,
}
