//! Estimates the remaining time of a study from its plots and runs so far.

use crate::plan::Plan;
use std::collections::BTreeMap;

/// Remaining time of a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeLeft {
    pub seconds: f64,
    /// Data that the estimate uses.
    pub basis: LeftBasis,
}

/// The data of an estimate of the remaining time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftBasis {
    /// Rates that the plan assumes: nothing has been measured yet.
    Assumed,
    Measured,
    /// Measured times, if every optional repetition is needed.
    AtMost,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum_s: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, seconds: f64) {
        self.sum_s += seconds;
        self.count += 1;
    }

    fn from_times(times: impl Iterator<Item = f64>) -> Mean {
        let mut mean = Mean::default();
        times.for_each(|seconds| mean.add(seconds));
        mean
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / f64::from(self.count))
    }
}

/// Mean times by kind.
#[derive(Debug, Default)]
struct Times(BTreeMap<u32, Mean>);

impl Times {
    fn add(&mut self, kind: u32, seconds: f64) {
        self.0.entry(kind).or_default().add(seconds);
    }

    /// Returns the mean time of a kind; if none of its kind has ended, the mean over all others.
    fn mean(&self, kind: u32) -> Option<f64> {
        let own = self.0.get(&kind).and_then(|mean| mean.get());
        own.or_else(|| Mean::from_times(self.0.values().filter_map(|mean| mean.get())).get())
    }
}

/// Stage of a plot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlotStage {
    /// It is still to be built.
    Ahead,
    Standing,
}

/// Times of completed steps. Plots with the same build steps are of one kind: a mirror that must be in sync takes
/// longer than one that need not.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// The kind of each plot.
    kinds: Vec<u32>,
    /// From a plot's start until it is built.
    building: Times,
    /// From its last run until it is taken down.
    taking_down: Times,
    /// Runs, by cell.
    runs: Times,
}

impl Costs {
    pub(super) fn new(plan: &Plan) -> Costs {
        let mut first: Vec<u32> = Vec::new();
        for (number, plot) in plan.plots.iter().enumerate() {
            let is_same = |other: &&u32| {
                let other = &plan.plots[**other as usize];
                (&other.host, &other.steps, &other.on_enter, &other.on_leave)
                    == (&plot.host, &plot.steps, &plot.on_enter, &plot.on_leave)
            };
            first.push(first.iter().find(is_same).copied().unwrap_or(number as u32));
        }
        Costs { kinds: first, ..Costs::default() }
    }

    /// Records that a plot is built, after this many seconds.
    pub(super) fn built(&mut self, plot: u32, seconds: f64) {
        self.building.add(self.kinds[plot as usize], seconds);
    }

    /// Records that a plot is taken down, this many seconds after its last run.
    pub(super) fn taken_down(&mut self, plot: u32, seconds: f64) {
        self.taking_down.add(self.kinds[plot as usize], seconds);
    }

    /// Records that a run has ended. Skipped runs do not count.
    pub(super) fn run(&mut self, cell: u32, seconds: f64) {
        if seconds > 0.0 {
            self.runs.add(cell, seconds);
        }
    }

    /// Returns the seconds that these runs and plots will take, if each run takes `attempts_per_run` attempts on average;
    /// `None` before the first run has ended.
    pub(super) fn left_s(
        &self,
        cells: impl Iterator<Item = u32>,
        attempts_per_run: f64,
        plots: impl Iterator<Item = (u32, PlotStage)>,
    ) -> Option<f64> {
        let mut left = 0.0;
        for cell in cells {
            left += self.runs.mean(cell)? * attempts_per_run;
        }
        for (plot, stage) in plots {
            let kind = self.kinds[plot as usize];
            // A finished build does not show yet how long taking the plot down takes.
            left += self.taking_down.mean(kind).unwrap_or(0.0);
            if stage == PlotStage::Ahead {
                left += self.building.mean(kind).unwrap_or(0.0);
            }
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::fake::plan;

    // Protects: the remaining time includes slow cells that are still to come, and the times for building and taking
    // down plots of each kind.
    #[test]
    fn the_remaining_time_depends_on_cells_and_kinds_of_plots() {
        let mut two_kinds = plan(&["a", "b"], &["4k"], 2, 1);
        for plot in &mut two_kinds.plots {
            // The order of systems alternates.
            plot.on_enter = vec![plot.levels["system"].clone()];
        }
        let mut costs = Costs::new(&two_kinds);
        assert_eq!(costs.kinds, [0, 1, 1, 0]);
        let none = || [].into_iter();
        assert_eq!(costs.left_s([0].into_iter(), 1.0, none()), None);
        for (cell, seconds) in [(0, 1.0), (0, 3.0), (1, 60.0), (1, 0.0)] {
            costs.run(cell, seconds);
        }
        assert_eq!(costs.left_s([0, 0, 1].into_iter(), 1.0, none()), Some(64.0));
        let unknown = costs.left_s([7].into_iter(), 1.0, none());
        assert_eq!(unknown, Some(31.0), "a cell without a run takes as long as the others");
        assert_eq!(costs.left_s([1].into_iter(), 1.5, none()), Some(90.0), "rejected runs are made again");
        costs.built(0, 10.0);
        // The second kind is unknown: it counts like the first.
        let ahead = |plot| (plot, PlotStage::Ahead);
        assert_eq!(costs.left_s([0].into_iter(), 1.0, [ahead(1)].into_iter()), Some(12.0));
        costs.taken_down(0, 1.0);
        costs.built(1, 100.0);
        let plots = [(1, PlotStage::Standing), ahead(2), ahead(3)];
        assert_eq!(costs.left_s([0].into_iter(), 1.0, plots.into_iter()), Some(2.0 + 3.0 + 100.0 + 10.0));
    }
}
