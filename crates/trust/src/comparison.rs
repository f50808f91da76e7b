//! What the checks of a comparison look at: two sides, what each ran, and the numbers run by run.

use crate::factors::Factor;
use crate::same_work::WorkPrint;
use plumb_result::compare::Difference;
use plumb_result::observe::{Environment, PhaseObservations, TargetFacts};
use plumb_result::{Better, Histogram, Metric, UnderLoad};
use plumb_stats::schedule::Side;
use std::collections::BTreeMap;

/// Two sides of a comparison, and what was declared to differ.
pub struct ComparisonView<'a> {
    /// The side that the candidate is compared with.
    pub baseline: ComparisonSide<'a>,
    /// The side in question.
    pub candidate: ComparisonSide<'a>,
    /// The factor that was declared to vary.
    pub varying: Option<&'static Factor>,
    /// Every number that was compared, run by run.
    pub numbers: &'a [NumberView<'a>],
    /// Every number that was planned; empty where there was no plan.
    pub planned: &'a [Planned],
    /// Times of single ops, the runs of each side merged.
    pub latencies: &'a [LatencyView<'a>],
    /// Order of all runs, including those that were left out.
    pub sequence: Sequence<'a>,
}

/// Runs in the order in which they happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequence<'a> {
    /// The side of the run before each, by [`RunValue::run`]: `None` for a first one. Empty if runs of
    /// something else may have come in between.
    pub previous: &'a [Option<Side>],
    /// Mean time of a run with what it needs before and after, in seconds.
    pub run_seconds: Option<f64>,
}

/// One side of a comparison.
#[derive(Clone, Copy)]
pub struct ComparisonSide<'a> {
    /// How it is called.
    pub name: &'a str,
    /// The machine.
    pub environment: &'a Environment,
    /// The storage under each target, by the target's name.
    pub targets: &'a BTreeMap<String, TargetFacts>,
    /// Runs of each work that were not left out; the fewest, where there are several works.
    pub runs: u32,
    /// Everything else that is known of its runs.
    pub record: &'a SideRecord,
}

/// What a side's runs were.
#[derive(Debug, Clone, PartialEq)]
pub struct SideRecord {
    /// Provisionings that the runs are spread over.
    pub plots: u32,
    /// Runs that their checks rejected.
    pub rejected: u32,
    /// Codes of the checks that rejected them, each once.
    pub rejected_by: Vec<String>,
    /// Facts in which its places differ from the first of them, where it has several.
    pub unlike_plots: Vec<Difference>,
    /// What was run, one entry for each distinct workload.
    pub works: Vec<WorkPrint>,
    /// What ran it, one entry for each distinct program.
    pub tools: Vec<ToolPrint>,
    /// What the probe saw around the phases of the first of them.
    pub phases: Vec<PhaseObservations>,
    /// The load of other processes in each run that was not left out.
    pub loads: Vec<Option<UnderLoad>>,
}

impl Default for SideRecord {
    /// One place, and nothing known of its runs.
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
    /// `plumb`, `fio` …
    pub name: String,
    /// Its version, as it states it.
    pub version: String,
    /// The dialect whose meanings the run followed; `None` for Plumb's own.
    pub dialect: Option<DialectPrint>,
}

/// Another tool's language, in the meaning that a run gave it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DialectPrint {
    /// `fio`, `iozone` …
    pub name: String,
    /// Version of the meanings; it grows when the same words come to mean something else.
    pub semantics: u32,
}

impl DialectPrint {
    /// The meanings that a dialect began with. None has changed yet.
    pub const FIRST_SEMANTICS: u32 = 1;
}

/// One number that is compared, run by run.
pub struct NumberView<'a> {
    /// Which work.
    pub workload: &'a str,
    /// Which phase of it.
    pub phase: &'a str,
    /// Which number.
    pub metric: Metric,
    /// The baseline's runs.
    pub baseline: &'a [RunValue],
    /// The candidate's runs.
    pub candidate: &'a [RunValue],
    /// What the statistics found, before any check spoke.
    pub found: NumberFinding,
    /// The smallest difference that the set-up can show, as a share (0.03 is × or ÷ 1.03); `None` where no `plumb noise`
    /// measured it.
    pub floor: Option<f64>,
    /// Unit and direction as somebody else stated them; `None` for Plumb's own numbers, which have the metric's.
    pub stated: Option<Stated<'a>>,
}

impl NumberView<'_> {
    /// `random-read: read.iops`; with the phase where it is called otherwise than the work.
    pub fn name(&self) -> String {
        number_name(self.workload, self.phase, self.metric)
    }
}

/// `random-read: read.iops`; with the phase where it is called otherwise than the work.
pub fn number_name(workload: &str, phase: &str, metric: Metric) -> String {
    if workload == phase { format!("{workload}: {metric}") } else { format!("{workload}/{phase}: {metric}") }
}

/// A number that was meant to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Planned {
    /// Which work.
    pub workload: String,
    /// Which number of it.
    pub metric: Metric,
}

/// One run's value of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunValue {
    /// The run's place in the order in which all runs of the comparison happened, from 0. Numbers of one run have the
    /// same place.
    pub run: u32,
    /// Which plot of its side it ran on, from 0.
    pub plot: u32,
    /// The value, in the metric's unit; above 0.
    pub value: f64,
}

/// What the statistics found of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberFinding {
    /// A difference beyond chance: this factor.
    Difference {
        /// Candidate against baseline, turned so that above 1 is better.
        ratio: f64,
    },
    /// Equal within this share.
    Equal {
        /// 0.05 is × or ÷ 1.05.
        margin: f64,
    },
    /// Neither.
    Nothing,
}

/// Unit and direction of a number, as stated by whoever published it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    /// The unit as written, `MB/s`.
    pub unit: Option<&'a str>,
    /// The direction that was drawn or written.
    pub better: Option<Better>,
}

/// Times of one kind of op in one phase, all runs of each side merged, ns.
pub struct LatencyView<'a> {
    /// Which work.
    pub workload: &'a str,
    /// Which phase of it.
    pub phase: &'a str,
    /// Which op.
    pub op: &'a str,
    /// The baseline's runs.
    pub baseline: &'a Histogram,
    /// The candidate's runs.
    pub candidate: &'a Histogram,
}

impl NumberView<'_> {
    /// The sides in the order in which their runs happened.
    pub(crate) fn order(&self) -> Vec<Side> {
        let of = |runs: &[RunValue], side: Side| runs.iter().map(|run| (run.run, side)).collect::<Vec<(u32, Side)>>();
        let mut runs = [of(self.baseline, Side::A), of(self.candidate, Side::B)].concat();
        runs.sort_by_key(|(place, _)| *place);
        runs.into_iter().map(|(_, side)| side).collect()
    }

    /// What is left of each run once its side's and its plot's own level is taken away: the logarithm of value over
    /// geometric mean of its plot, in the order of the runs.
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

/// A run's distance from the level of its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Residual {
    /// The run's place in the order.
    pub(crate) run: u32,
    /// Logarithm of value / level.
    pub(crate) log: f64,
}
