//! The power of a plan: the basis of its verdicts, and the difference that they can find.

use super::{Levels, Plan, PlannedRun};
use crate::earlier_spread::EarlierSpread;
use plumb_lab::protocol::HostWork;
use plumb_stats::power::{PlannedFamily, claimable_ratio};
use plumb_stats::verdict::{ReplicationUnit, VerdictRule};
use std::collections::{BTreeMap, BTreeSet};

/// Assumed spread of runs for the detectable difference, if no earlier study shows one.
pub const ASSUMED_SPREAD: f64 = 0.05;

/// The chance with which that difference is found.
pub const PROMISED: f64 = 0.8;

/// The unit of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedUnit {
    /// A plot of each side: the factor is hard to change.
    Plot,
    /// A plot that holds pairs of both sides: the factor is easy to change, and there are several plots.
    PairsOnPlot,
    /// A pair of runs: all are on one plot, and conclusions hold for that plot only.
    Pair,
}

/// The number of verdicts that share the error rate, and the basis of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedVerdicts {
    pub unit: PlannedUnit,
    /// Units of the verdict that has the fewest.
    pub units: u32,
    /// Runs of a side that the value of a unit averages.
    pub runs: u32,
    pub count: u32,
}

/// The spread of one unit's log ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitSpread {
    /// Its standard deviation.
    pub of_log_ratio: f64,
    /// Degrees of freedom of its estimate; `None` for an assumption.
    pub freedom: Option<u32>,
}

/// The subject of one verdict: a workload at some levels.
type Context<'a> = (&'a str, Levels);

/// Numbers of runs of the baseline and of a candidate, by unit.
type UnitRuns = BTreeMap<(u32, u32), [u32; 2]>;

impl PlannedVerdicts {
    /// Counts the verdicts of a plan. Without `primary` and `metrics` each workload has one. A wish like `bw` counts
    /// as one, because the numbers that match it are known only after measuring.
    pub fn of_plan(plan: &Plan) -> PlannedVerdicts {
        let compare = &plan.compare;
        let by = plan.factors.iter().find(|factor| factor.name == compare.by);
        let levels = by.map_or(&[][..], |factor| &factor.levels);
        let (baseline, candidates) = (levels.first(), levels.get(1..).unwrap_or_default());
        // Rules are kept or broken: their tests have no numbers.
        let has_numbers = |run: &&PlannedRun| !matches!(run.work, HostWork::Conformance(_));
        let certain = || plan.runs.iter().filter(|run| run.repeat < plan.repeats_least()).filter(has_numbers);
        let level_of = |run: &PlannedRun| plan.cells[run.cell as usize].levels.get(&compare.by);
        let context = |run: &PlannedRun| (plan.cells[run.cell as usize].workload.as_str(), plan.context(run.cell));
        let plots = BTreeSet::from_iter(certain().filter(|run| level_of(run).is_some()).map(|run| run.plot));
        let unit = if plan.compares_hard() {
            PlannedUnit::Plot
        } else if plots.len() > 1 && plan.provisions_anew() {
            PlannedUnit::PairsOnPlot
        } else {
            PlannedUnit::Pair
        };
        let mut contexts: BTreeMap<Context<'_>, UnitRuns> = BTreeMap::new();
        for run in certain() {
            let Some(level) = level_of(run) else { continue };
            let unit = match unit {
                PlannedUnit::Plot => (plan.plots[run.plot as usize].block, 0),
                PlannedUnit::PairsOnPlot => (run.plot, 0),
                PlannedUnit::Pair => (run.plot, run.repeat),
            };
            let runs = contexts.entry(context(run)).or_default().entry(unit).or_default();
            // Each of several candidates has its own verdict, with as many runs.
            if let Some(side) = [baseline, candidates.first()].iter().position(|side| *side == Some(level)) {
                runs[side] += 1;
            }
        }
        let named = if compare.primary.is_empty() { &compare.metrics } else { &compare.primary };
        let is_time = |name: &&String| !name.starts_with("device.");
        let numbers = named.iter().filter(is_time).count().max(1);
        let whole = |units: &UnitRuns| units.values().filter(|sides| !sides.contains(&0)).count() as u32;
        let runs = contexts.values().flat_map(BTreeMap::values).flatten().copied().filter(|runs| *runs > 0);
        PlannedVerdicts {
            unit,
            units: contexts.values().map(whole).min().unwrap_or(0),
            runs: runs.min().unwrap_or(1),
            count: (contexts.len() * numbers * candidates.len()) as u32,
        }
    }

    /// Returns the spread for runs that vary by [`ASSUMED_SPREAD`]. For a separate plot, this includes everything
    /// that its runs average; for pairs on plots, it assumes the same effect on each of them.
    pub fn assumed(&self) -> UnitSpread {
        let runs = if self.unit == PlannedUnit::PairsOnPlot { f64::from(self.runs) } else { 1.0 };
        UnitSpread { of_log_ratio: ASSUMED_SPREAD * (2.0 / runs).sqrt(), freedom: None }
    }

    /// Returns the spread from an earlier study.
    pub fn as_in(&self, earlier: &EarlierSpread) -> UnitSpread {
        let of_runs = earlier.runs.cv.powi(2) / f64::from(self.runs.max(1));
        let (variance, freedom) = match self.unit {
            PlannedUnit::Plot => (2.0 * (earlier.plots.cv.powi(2) + of_runs), earlier.plots.freedom),
            PlannedUnit::PairsOnPlot => match earlier.effects {
                Some(effects) => (effects.cv.powi(2) + 2.0 * of_runs, effects.freedom),
                None => (2.0 * of_runs, earlier.runs.freedom),
            },
            PlannedUnit::Pair => (2.0 * of_runs, earlier.runs.freedom),
        };
        UnitSpread { of_log_ratio: variance.sqrt(), freedom: Some(freedom) }
    }

    /// Returns the smallest ratio that is claimed in four of five studies; `None` if none is.
    pub fn claimable_ratio(&self, spread: UnitSpread, equivalence: f64) -> Option<f64> {
        let planned = PlannedFamily {
            units: self.units,
            unit: match self.unit {
                PlannedUnit::Plot | PlannedUnit::PairsOnPlot => ReplicationUnit::Plot,
                PlannedUnit::Pair => ReplicationUnit::Block,
            },
            spread: spread.of_log_ratio,
            spread_freedom: spread.freedom,
            verdicts: self.count,
        };
        let rule = VerdictRule { margin: equivalence, ..VerdictRule::default() };
        claimable_ratio(planned, &rule, PROMISED).ok().flatten()
    }
}
