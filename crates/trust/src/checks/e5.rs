use crate::check::{Check, Judge, Outcome};
use crate::comparison::{NumberView, Residual, RunValue};
use crate::evidence::ComparisonView;
use crate::text::percent;
use plumb_result::Remedy;
use plumb_stats::schedule::{Interleaving, interleaving};
use plumb_stats::trend::spearman;
use std::collections::BTreeSet;

/// The chance of a false alarm over all numbers of a comparison together.
const ALPHA: f64 = 0.01;

/// A drift below this over the whole comparison does not matter: the margin within which two sides are called equal.
const RELEVANT: f64 = 0.05;

/// Smallest number of runs of both sides for the test.
const RUNS_MIN: usize = 8;

pub(crate) static CHECK: Check = Check {
    code: "E5",
    title: "Drift over the comparison",
    what: "Whether runs became faster or slower over the course of the comparison, on both sides alike: a disk that \
           warms up, a file system that fills, a neighbour that arrives.",
    why: "With a drift of 0.5 % per run, six runs of one side and then six of the other call equal set-ups different \
          in 56 of 100 comparisons. Plumb runs blocks in balanced random order and compares within blocks, which \
          protects the ratio; absolute numbers still depend on when they were measured. Mytkowicz, Diwan, Hauswirth \
          and Sweeney, \"Producing Wrong Data Without Doing Anything Obviously Wrong!\", ASPLOS 2009.",
    how: "Spearman's rank correlation of the run's place in the order with the logarithm of its value over the \
          geometric mean of its side (and plot); the least-squares line over all runs says how much it drifted.",
    threshold: "a drift of 5 % or more over the comparison, with p < 0.01 shared among its numbers, warns; fewer than \
                8 runs are not tested",
    settled: "By calculation: p < 0.01 is a false alarm in one of a hundred comparisons; of six runs only a perfect \
              order reaches it, and shared among four numbers not even that, hence eight. A drift below 5 %, the \
              margin within which comparisons treat two as equal, is too small to matter, however certain it is.",
    fix: &[Remedy::words(
        "Look for what changes with time (temperature, fullness, other work), or let a warm-up pass before the runs.",
    )],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let residuals: Vec<(&NumberView<'_>, Vec<Residual>)> = view
        .numbers
        .iter()
        .map(|number| (number, residuals(number)))
        .filter(|(_, residuals)| residuals.len() >= RUNS_MIN)
        .collect();
    if residuals.is_empty() {
        return Outcome::NotApplicable;
    }
    let alpha = ALPHA / residuals.len() as f64;
    let mut worst: Option<Drift> = None;
    for (number, residuals) in &residuals {
        let places: Vec<f64> = residuals.iter().map(|one| f64::from(one.run)).collect();
        let logs: Vec<f64> = residuals.iter().map(|one| one.log).collect();
        let Ok(correlation) = spearman(&places, &logs) else { continue };
        if correlation.p < alpha {
            let change = over_all(&places, &logs);
            let (verb, share) = if change > 0.0 { ("rose", change.exp_m1()) } else { ("fell", -change.exp_m1()) };
            let what = format!("{} {verb} by {} from the first run to the last", number.name(), percent(share));
            if worst.as_ref().is_none_or(|worst| share > worst.share) {
                worst = Some(Drift { share, what });
            }
        }
    }
    match worst {
        None => Outcome::pass("no number follows the order of the runs"),
        Some(Drift { share, what }) if share < RELEVANT => Outcome::pass(format!("{what}, too little to matter")),
        Some(Drift { what, .. }) => {
            let effect = match view.numbers.iter().all(in_pairs) {
                true => "The ratio holds, since both runs of a block share the drift; absolute numbers do not.",
                false => "The runs of the two sides are not neighbours in time, so the ratio contains drift, too.",
            };
            let message = format!("{what}. {effect}");
            Outcome::warn(what, message)
        }
    }
}

/// Returns the residuals of runs. Sides that do not alternate are treated separately, because their distance in time
/// is part of their levels.
fn residuals(number: &NumberView<'_>) -> Vec<Residual> {
    if interleaving(&number.order()) != Interleaving::Apart {
        return number.residuals();
    }
    let placed = |runs: &[RunValue]| -> Vec<RunValue> {
        let mut runs = runs.to_vec();
        runs.sort_by_key(|run| run.run);
        (0..).zip(runs).map(|(place, run)| RunValue { run: place, ..run }).collect()
    };
    let (baseline, candidate) = (placed(number.baseline), placed(number.candidate));
    NumberView { baseline: &baseline, candidate: &candidate, ..*number }.residuals()
}

/// Returns `true` if both sides share the drift: their runs are interleaved like blocks, or have the same
/// positions, each on its plot.
fn in_pairs(number: &NumberView<'_>) -> bool {
    let runs = number.baseline.len() + number.candidate.len();
    let places = BTreeSet::from_iter(number.baseline.iter().chain(number.candidate).map(|run| run.run));
    places.len() < runs || matches!(interleaving(&number.order()), Interleaving::Pairs(_))
}

/// A number that follows the order of the runs.
struct Drift {
    /// Change from the first run to the last, 0–1.
    share: f64,
    what: String,
}

/// Returns the change of the logarithm from the first position to the last, along the least-squares line.
fn over_all(places: &[f64], logs: &[f64]) -> f64 {
    let n = places.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / n;
    let (place, log) = (mean(places), mean(logs));
    let spread: f64 = places.iter().map(|x| (x - place).powi(2)).sum();
    let shared: f64 = places.iter().zip(logs).map(|(x, y)| (x - place) * (y - log)).sum();
    let span = places.last().zip(places.first()).map_or(0.0, |(last, first)| last - first);
    if spread > 0.0 { shared / spread * span } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    /// Ten values around 100 whose noise has no trend.
    const NOISE: [f64; 10] = [101.0, 99.2, 100.4, 98.9, 100.9, 99.6, 101.2, 99.0, 100.1, 99.8];

    /// Certain, but too small to matter.
    #[test]
    fn a_drift_below_the_margin_does_not_warn() {
        // 0.6 % over ten blocks, without any noise.
        let values: Vec<f64> = (0..10).map(|block| 100.0 * (1.0 + 0.0006 * f64::from(block))).collect();
        let number = Number::new("read.iops", &values, &values);
        let finding = Both::equal().with(|both| both.numbers.push(number)).judge().finding("E5").unwrap();
        assert_eq!(finding.level, Level::Pass);
        assert!(finding.message.contains("too little to matter"), "{}", finding.message);
    }

    fn level(slope: f64, candidate: f64) -> Option<Level> {
        let at = |block: usize, scale: f64| NOISE[block] * scale * (1.0 + slope * block as f64);
        let values = |scale: f64| -> Vec<f64> { (0..10).map(|block| at(block, scale)).collect() };
        let number = Number::new("read.iops", &values(1.0), &values(candidate));
        Both::equal().with(|both| both.numbers.push(number)).level("E5")
    }

    #[test]
    fn drift_is_reported_and_noise_is_not() {
        assert_eq!(level(0.0, 1.0), Some(Level::Pass));
        assert_eq!(level(-0.01, 1.0), Some(Level::Warn));
        assert_eq!(level(0.01, 1.0), Some(Level::Warn));
    }

    // Protects: no message claims that blocks protect a ratio if there were none.
    #[test]
    fn without_blocks_drift_is_part_of_the_ratio() {
        let drifting = |from: usize| (from..from + 10).map(|run| NOISE[run % 10] * (1.0 + 0.01 * run as f64)).collect();
        let (one, other): (Vec<f64>, Vec<f64>) = (drifting(0), drifting(10));
        let message = |apart: bool| {
            let mut number = Number::new("read.iops", &one, &other);
            if apart {
                number.sides[0].iter_mut().enumerate().for_each(|(place, run)| run.run = place as u32);
                number.sides[1].iter_mut().enumerate().for_each(|(place, run)| run.run = 10 + place as u32);
            }
            Both::equal().with(|both| both.numbers.push(number)).judge().finding("E5").unwrap().message
        };
        assert!(message(false).contains("both runs of a block share the drift"), "{}", message(false));
        assert!(message(true).contains("the ratio contains drift"), "{}", message(true));
    }

    /// The compared difference must not look like drift.
    #[test]
    fn a_difference_between_the_sides_is_not_drift() {
        assert_eq!(level(0.0, 2.0), Some(Level::Pass));
    }
}
