//! Tests whether the runs of a sweep depend on the point before them. Pure.

use super::find::RunNumbers;
use plumb_stats::carry_over::{CarryRun, carry_over};

/// The chance of a false alarm.
const ALPHA: f64 = 0.01;

/// A smaller effect does not matter.
const RELEVANT: f64 = 1.01;

/// A run of a sweep in run order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlacedRun {
    pub(super) point: usize,
    pub(super) repeat: u32,
}

/// Returns the largest factor between the rates after two different points, if it is beyond chance. Runs that were
/// left out have no numbers, but leave a debt like all others.
pub(super) fn of_points<'a>(
    sequence: &[PlacedRun],
    numbers: impl Fn(PlacedRun) -> Option<&'a RunNumbers>,
) -> Option<f64> {
    let runs: Vec<CarryRun> = sequence
        .windows(2)
        .enumerate()
        .filter_map(|(at, pair)| {
            let value = numbers(pair[1])?.rate;
            Some(CarryRun { own: pair[1].point, previous: pair[0].point, at: at as f64, value })
        })
        .collect();
    let found = carry_over(&runs).ok().flatten()?;
    (found.p < ALPHA && found.spread() > RELEVANT).then(|| found.spread())
}

/// Returns the note of a sweep whose runs depend on the run before.
pub(super) fn note(spread: f64) -> String {
    format!(
        "runs depend on which point ran before them, by a factor of up to {spread:.2} (E15): no knee and no saturation is named; \
         repeat with `--settle TIME`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_stats::balanced_orders;
    use plumb_stats::random::SplitMix;

    /// Returns how many of 200 sweeps are flagged if point 1 leaves a debt to the next run.
    fn flagged(points: usize, repeats: usize, carry: f64) -> usize {
        let is_flagged = |seed: &u64| {
            let mut noise = SplitMix::new(seed * 31);
            let order = balanced_orders(*seed, points, repeats).concat();
            let sequence: Vec<PlacedRun> =
                order.iter().zip(0u32..).map(|(&point, at)| PlacedRun { point, repeat: at / points as u32 }).collect();
            let numbers: Vec<RunNumbers> = (0..order.len())
                .map(|at| {
                    let debt = if at > 0 && order[at - 1] == 1 { carry } else { 0.0 };
                    let rate = 1000.0 * (1 + order[at]) as f64 * (0.02 * noise.normal()).exp() / (1.0 + debt);
                    RunNumbers { rate, ..RunNumbers::default() }
                })
                .collect();
            let numbers_of = |run: PlacedRun| sequence.iter().position(|one| *one == run).map(|at| &numbers[at]);
            of_points(&sequence, numbers_of).is_some()
        };
        (0..200).filter(is_flagged).count()
    }

    #[test]
    fn a_point_that_leaves_unfinished_work_is_found_and_clean_sweeps_are_not() {
        for (points, repeats) in [(4, 8), (5, 10)] {
            assert!(flagged(points, repeats, 0.0) <= 8, "{} of 200", flagged(points, repeats, 0.0));
            assert!(flagged(points, repeats, 0.2) >= 180, "{} of 200", flagged(points, repeats, 0.2));
        }
    }

    #[test]
    fn too_few_runs_are_not_judged() {
        assert_eq!(flagged(9, 1, 0.5), 0);
    }
}
