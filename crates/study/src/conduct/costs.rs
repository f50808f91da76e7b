//! What is left of a study, by what its plots and runs have taken so far.

use std::collections::BTreeMap;

/// Times of what has ended.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// Seconds that each plot took beside its runs: built, opened, taken down.
    pub(super) plot_s: Vec<f64>,
    /// Seconds and number of runs, by cell.
    runs: BTreeMap<u32, (f64, u32)>,
}

impl Costs {
    /// A run has ended. Those that were not made at all say nothing.
    pub(super) fn run(&mut self, cell: u32, seconds: f64) {
        if seconds > 0.0 {
            let (sum, count) = self.runs.entry(cell).or_default();
            *sum += seconds;
            *count += 1;
        }
    }

    /// Seconds that these runs and so many plots will take; `None` before the first run has ended. A cell without a run takes
    /// as long as the others on average.
    pub(super) fn left_s(&self, cells: impl Iterator<Item = u32>, plots: usize) -> Option<f64> {
        let means: BTreeMap<u32, f64> =
            self.runs.iter().map(|(cell, (sum, count))| (*cell, sum / f64::from(*count))).collect();
        let usual = mean(means.values().copied())?;
        let of_runs: f64 = cells.map(|cell| means.get(&cell).copied().unwrap_or(usual)).sum();
        let of_plots = mean(self.plot_s.iter().copied()).unwrap_or(0.0) * plots as f64;
        Some(of_runs + of_plots)
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: slow cells that are still to come, and builds, are in the time that is left.
    #[test]
    fn what_is_left_is_reckoned_by_cells_and_plots() {
        let mut costs = Costs::default();
        assert_eq!(costs.left_s([0].into_iter(), 1), None);
        for (cell, seconds) in [(0, 1.0), (0, 3.0), (1, 60.0), (1, 0.0)] {
            costs.run(cell, seconds);
        }
        costs.plot_s = vec![10.0, 20.0];
        assert_eq!(costs.left_s([0, 0, 1].into_iter(), 2), Some(2.0 + 2.0 + 60.0 + 30.0));
        assert_eq!(costs.left_s([7].into_iter(), 0), Some(31.0), "a cell without a run takes as long as the others");
    }
}
