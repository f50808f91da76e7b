//! Decides when optional repetitions are no longer needed.

use crate::plan::{Plan, StopPlan, is_meant};
use plumb_result::{Metric, RunResult};
use plumb_stats::{estimate, geometric_mean};
use std::collections::BTreeMap;

/// The values of the runs of each plot.
type ByPlot = BTreeMap<u32, Vec<f64>>;

/// The values of the deciding metric, by cell and number, and within it by plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values(BTreeMap<u32, BTreeMap<(String, Metric), ByPlot>>);

impl Values {
    /// Adds the values of an accepted run.
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

    /// Returns `true` if every number of a cell is as precise as requested: over plots if there are several,
    /// otherwise over runs. It only uses the width of the interval, never whether there is a difference: stopping at
    /// a difference would turn noise into significance.
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
