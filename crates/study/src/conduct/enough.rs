//! When optional repetitions are not needed any more.

use crate::plan::{Plan, StopPlan, is_meant};
use plumb_result::{Metric, RunResult};
use plumb_stats::{estimate, geometric_mean};
use std::collections::BTreeMap;

/// The values of the runs of each plot.
type ByPlot = BTreeMap<u32, Vec<f64>>;

/// The values of the metric that decides, by cell and number, and in it by plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values(BTreeMap<u32, BTreeMap<(String, Metric), ByPlot>>);

impl Values {
    /// Takes the values of a run that counts.
    pub(super) fn take(&mut self, plan: &Plan, seq: u32, result: &RunResult) {
        let Some(stop) = &plan.stop else { return };
        let run = &plan.runs[seq as usize];
        for phase in &result.phases {
            for (&metric, value) in phase.metrics.iter().filter(|(metric, _)| is_meant(&stop.metric, **metric)) {
                let Some(value) = value.value.filter(|value| *value > 0.0 && value.is_finite()) else { continue };
                let numbers = self.0.entry(run.cell).or_default();
                numbers.entry((phase.name.clone(), metric)).or_default().entry(run.plot).or_default().push(value);
            }
        }
    }

    /// Whether every number of a cell is as precise as asked for: of plots where there are several, else of runs.
    /// Only the width of the interval is looked at, never whether there is a difference: stopping at that would make
    /// significance of noise.
    pub(super) fn are_precise(&self, cell: u32, stop: &StopPlan) -> bool {
        let is_precise = |plots: &ByPlot| {
            let units: Vec<f64> = if plots.len() > 1 {
                plots.values().filter_map(|runs| geometric_mean(runs).ok()).collect()
            } else {
                plots.values().flatten().copied().collect()
            };
            let interval = estimate::sample(&units).and_then(|estimate| estimate.interval(0.95));
            interval.is_ok_and(|found| (found.hi / found.lo).sqrt() - 1.0 <= stop.half_width)
        };
        self.0.get(&cell).is_some_and(|numbers| !numbers.is_empty() && numbers.values().all(is_precise))
    }
}
