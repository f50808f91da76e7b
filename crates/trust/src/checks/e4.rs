use crate::check::{Check, Judge, Outcome};
use crate::comparison::{LatencyView, NumberView, RunValue};
use crate::evidence::ComparisonView;
use crate::text::{nanos, percent};
use plumb_result::compare::Mode;
use plumb_result::{Better, Histogram, Remedy};
use plumb_stats::modes::{DIP_P, centred, dip, modes, modes_of_sides};
use std::collections::BTreeMap;

/// Smallest number of runs of both sides together for the test of run means.
const RUNS_MIN: usize = 12;

/// The chance of a false alarm over all numbers of a comparison together.
const ALPHA: f64 = 0.01;

/// Latencies are tested on this many of their quantiles: tests of millions of ops find every ripple.
const QUANTILES: usize = 200;

/// Groups of times closer than this are one hump with a shoulder.
const LATENCY_RATIO: f64 = 0.67;

pub(crate) static CHECK: Check = Check {
    code: "E4",
    title: "Several modes",
    what: "Whether the runs of a comparison, or the latencies of single ops, fall into separate groups, fast and slow.",
    why: "A disk that is slow in one of five runs has a mean that no run shows, and such runs defeat small samples: \
          with 20 % of runs 25 % slower, the t interval of five runs contains the truth in 67 of 100 cases. Latencies \
          have several modes wherever a cache answers some of the ops; a mean between the two is a time that no op \
          took. Maricq, Duplyakin, Jimenez, Maltzahn, Stutsman and Ricci, \"Taming Performance Variability\", OSDI \
          2018.",
    how: "Runs: each over the median of its side (and plot), both sides together, from 12 runs on; the widest gap \
          between neighbours against the spread within the groups it separates, and Hartigan's dip test; where a side (or plot) has \
          fewer than 10 runs, an alarm must be as rare among normal samples of the same sizes. Ops: the dip \
          test over 200 quantiles of the merged histogram of each side, on logarithms.",
    threshold: "groups of runs at least 2 % apart (p < 0.01, shared among the numbers) warn, and the headline shows \
                both speeds instead of one mean; groups of latencies more than 1.5 times apart are noted",
    settled: "By experiment: a slow mode in 20 % of the runs, 25 % slower, was found in 99 % of 960 comparisons of 12 \
              blocks or more (80 % were required); samples without one give at most 1 % false alarms, whether plots have 2 or 60 \
              runs (docs/statistics.md, docs/calibration.md). Below 12 runs groups form by chance. A mode that no run \
              showed cannot be found: eight runs miss one of 10 % in 43 of 100 cases, so that a comparison says how frequent and \
              how slow one would have to be to undo its claims. Latencies less than 1.5 times apart are one hump with a \
              shoulder.",
    fix: &[
        Remedy::words(
            "Find what the slow runs share (place on the disk, garbage collection, a neighbour), or report both speeds with \
             their shares.",
        ),
        Remedy::MoreRuns { at_least: 30 },
    ],
    judges: &[Judge::Comparison(examine)],
};

fn examine(view: &ComparisonView<'_>) -> Outcome {
    let found = run_modes(view.numbers);
    let names = [view.baseline.name, view.candidate.name];
    let groups: Vec<String> = view
        .numbers
        .iter()
        .zip(&found)
        .filter_map(|(number, modes)| Some(describe_runs(number, modes.as_ref()?, names)))
        .collect();
    if !groups.is_empty() {
        let list = groups.join("; ");
        let message = format!("Runs fall into a fast and a slow group, so one mean describes neither: {list}.");
        return Outcome::warn(list, message);
    }
    let latencies: Vec<String> = view.latencies.iter().filter_map(|view| describe_latency(view, names)).collect();
    if !latencies.is_empty() {
        let list = latencies.join("; ");
        let message = format!("Latencies fall into two groups; their mean is between them: {list}.");
        return Outcome::note(list, message).remedy("Read percentiles, not the mean.");
    }
    let asked = view.numbers.iter().any(|number| number.baseline.len() + number.candidate.len() >= RUNS_MIN);
    if asked || !view.latencies.is_empty() { Outcome::pass("one mode each") } else { Outcome::NotApplicable }
}

/// Groups of the runs of one number, for each side: the larger first, empty if a side has a single group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunModes {
    pub baseline: Vec<Mode>,
    pub candidate: Vec<Mode>,
}

/// Returns the groups of the runs of each number (E4), in the order of the numbers; `None` if they form one group.
pub fn run_modes(numbers: &[NumberView<'_>]) -> Vec<Option<RunModes>> {
    let asked = numbers.iter().filter(|number| number.baseline.len() + number.candidate.len() >= RUNS_MIN).count();
    numbers.iter().map(|number| of_number(number, asked)).collect()
}

fn of_number(number: &NumberView<'_>, family: usize) -> Option<RunModes> {
    if number.baseline.len() + number.candidate.len() < RUNS_MIN {
        return None;
    }
    let sides = [plots(number.baseline), plots(number.candidate)];
    let all: Vec<&[f64]> = sides.iter().flatten().map(Vec::as_slice).collect();
    let found = modes_of_sides(&all, ALPHA / family as f64).ok()??;
    let grouped = |plots: &[Vec<f64>]| -> Vec<Mode> {
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for plot in plots {
            for (value, relative) in plot.iter().zip(centred(&[plot]).unwrap_or_default()) {
                if relative < found.split { low.push(*value) } else { high.push(*value) }
            }
        }
        let runs = low.len() + high.len();
        if low.is_empty() || high.is_empty() {
            return Vec::new();
        }
        let mode = |values: &[f64]| Mode {
            value: plumb_stats::geometric_mean(values).unwrap_or(f64::NAN),
            share: values.len() as f64 / runs as f64,
        };
        let mut both = vec![mode(&low), mode(&high)];
        both.sort_by(|one, other| other.share.total_cmp(&one.share));
        both
    };
    Some(RunModes { baseline: grouped(&sides[0]), candidate: grouped(&sides[1]) })
}

/// Returns the values of each plot.
fn plots(runs: &[RunValue]) -> Vec<Vec<f64>> {
    let mut plots: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in runs {
        plots.entry(run.plot).or_default().push(run.value);
    }
    plots.into_values().collect()
}

fn describe_runs(number: &NumberView<'_>, modes: &RunModes, names: [&str; 2]) -> String {
    let sides: Vec<String> = [&modes.baseline, &modes.candidate]
        .into_iter()
        .zip(names)
        .filter_map(|(modes, name)| {
            let [more, fewer] = modes.as_slice() else { return None };
            let (low, high) = (more.value.min(fewer.value), more.value.max(fewer.value));
            let is_slower = (fewer.value < more.value) == (number.metric.better() == Better::Higher);
            let word = if is_slower { "slower" } else { "faster" };
            Some(format!("{} of the runs of {name} are {} {word}", percent(fewer.share), apart(high / low)))
        })
        .collect();
    match sides.as_slice() {
        [] => format!("{}, both sides together", number.name()),
        sides => format!("{}, {}", number.name(), sides.join(" and ")),
    }
}

fn describe_latency(view: &LatencyView<'_>, names: [&str; 2]) -> Option<String> {
    let sides: Vec<String> = [view.baseline, view.candidate]
        .into_iter()
        .zip(names)
        .filter_map(|(histogram, name)| {
            let points = quantiles(histogram)?;
            let logs: Vec<f64> = points.iter().map(|ns| ns.ln()).collect();
            if dip(&logs).ok()?.p >= DIP_P {
                return None;
            }
            let found = modes(&points).filter(|modes| modes.ratio < LATENCY_RATIO)?;
            Some(format!("{} of them below {} on {name}", percent(found.low_share), nanos(found.split)))
        })
        .collect();
    if sides.is_empty() {
        return None;
    }
    let place =
        if view.workload == view.phase { view.phase.to_owned() } else { format!("{}/{}", view.workload, view.phase) };
    Some(format!("{} in {place}, {}", view.op, sides.join(", ")))
}

/// Formats `24 %`, or `14×` from twice on.
fn apart(ratio: f64) -> String {
    if ratio < 2.0 { percent(ratio - 1.0) } else { format!("{ratio:.0}×") }
}

/// Returns evenly spaced quantiles, spread evenly within each bucket, because values in one bucket are
/// not known to be equal.
fn quantiles(histogram: &Histogram) -> Option<Vec<f64>> {
    let total = histogram.count();
    if total < QUANTILES as u64 {
        return None;
    }
    let mut points = Vec::with_capacity(QUANTILES);
    let mut below = 0u64;
    for bucket in histogram.buckets() {
        while points.len() < QUANTILES {
            let wanted = (points.len() as f64 + 0.5) / QUANTILES as f64 * total as f64;
            let within = (wanted - below as f64) / bucket.count as f64;
            if within >= 1.0 {
                break;
            }
            let (low, high) = (bucket.lowest as f64, bucket.highest as f64 + 1.0);
            points.push((low + (high - low) * within.max(0.0)).max(1.0));
        }
        below += bucket.count;
    }
    Some(points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Both, Number};
    use plumb_result::Level;

    /// Twelve values around 1 with a spread of about 1 %.
    const NOISE: [f64; 12] = [1.004, 0.991, 1.011, 0.997, 1.007, 0.988, 1.001, 1.005, 0.994, 1.009, 0.999, 0.996];

    fn both(baseline: impl Fn(usize) -> f64, candidate: impl Fn(usize) -> f64) -> Both {
        let values = |level: &dyn Fn(usize) -> f64| -> Vec<f64> {
            NOISE.iter().enumerate().map(|(block, noise)| level(block) * noise).collect()
        };
        let number = Number::new("read.iops", &values(&baseline), &values(&candidate));
        Both::equal().with(|both| both.numbers.push(number))
    }

    #[test]
    fn slow_runs_of_one_side_are_found_and_reported() {
        let slow = |block: usize| if block % 5 == 2 { 75.0 } else { 100.0 };
        let found = both(slow, |_| 100.0).judge().finding("E4").unwrap();
        assert_eq!(found.level, Level::Warn);
        assert!(
            found.message.contains("of the runs of A") && !found.message.contains("of the runs of B"),
            "{}",
            found.message
        );
        assert_eq!(both(|_| 100.0, |_| 100.0).level("E4"), Some(Level::Pass));
    }

    /// The compared difference must not look like two modes.
    #[test]
    fn a_difference_between_the_sides_is_not_a_second_mode() {
        assert_eq!(both(|_| 100.0, |_| 150.0).level("E4"), Some(Level::Pass));
    }

    #[test]
    fn the_headline_gets_both_speeds() {
        let slow = |block: usize| if block % 4 == 1 { 75.0 } else { 100.0 };
        let number = both(slow, |_| 100.0).numbers.remove(0);
        let view = NumberView {
            workload: "work",
            phase: "work",
            metric: number.metric,
            baseline: &number.sides[0],
            candidate: &number.sides[1],
            found: number.found,
            floor: None,
            stated: None,
        };
        let modes = run_modes(&[view]).remove(0).unwrap();
        assert_eq!(modes.candidate, []);
        let [fast, slow] = modes.baseline.as_slice() else { panic!("{modes:?}") };
        assert!((fast.share, slow.share) == (0.75, 0.25) && (fast.value / slow.value - 4.0 / 3.0).abs() < 0.05);
    }

    fn latencies(modes: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(ns, count) in modes {
            // About a normal hump: 20 steps of 2 %, the most in the middle.
            for step in 0..20u64 {
                let from_middle = (step as f64 - 9.5) / 4.0;
                let share = (-from_middle * from_middle / 2.0).exp();
                histogram.record_n(ns * (40 + step) / 50, (count as f64 * share) as u64);
            }
        }
        histogram
    }

    fn of_latencies(baseline: Histogram) -> Option<Level> {
        let candidate = latencies(&[(80_000, 10_000)]);
        Both::equal().with(|both| both.latencies = Some([baseline, candidate])).level("E4")
    }

    #[test]
    fn cached_and_uncached_ops_are_noted() {
        assert_eq!(of_latencies(latencies(&[(80_000, 10_000)])), Some(Level::Pass));
        assert_eq!(of_latencies(latencies(&[(2_000, 10_000), (80_000, 10_000)])), Some(Level::Note));
        assert_eq!(of_latencies(latencies(&[(80_000, 10_000), (100_000, 9_000)])), Some(Level::Pass), "a shoulder");
    }

    /// A few buckets hold all times of a steady device; bucket boundaries are not modes.
    #[test]
    fn a_device_of_constant_speed_has_one_mode() {
        let mut steady = Histogram::new();
        for (ns, count) in [(70_000, 1_000), (70_600, 8_000), (71_200, 9_000), (71_800, 2_000)] {
            steady.record_n(ns, count);
        }
        assert_eq!(of_latencies(steady), Some(Level::Pass));
        let mut constant = Histogram::new();
        constant.record_n(1_000, 100_000);
        assert_eq!(of_latencies(constant), Some(Level::Pass));
    }

    #[test]
    fn few_runs_are_exempt() {
        let few = Both::equal().with(|both| both.numbers.push(Number::new("read.iops", &[1.0; 5], &[1.0; 5])));
        assert_eq!(few.level("E4"), None);
    }
}
