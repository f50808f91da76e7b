//! The rate of a phase, second by second.

use crate::evidence::PhaseView;
use crate::plan;
use crate::text;
use plumb_result::Interval;
use plumb_stats::change::{ChangePoint, History, WITHIN_RUN_MAGNITUDE, history, within_run};
use plumb_stats::trend::{mann_kendall, theil_sen};
use plumb_workload::{CachePolicy, OpKind};

/// A shorter interval, such as the last one of a phase, has no meaningful rate.
const MIN_INTERVAL_NS: u64 = 500_000_000;
/// A second that ends this soon after the first worker did still belongs entirely to the load: 1 %.
const TOLERATED_NS: u64 = 10_000_000;

/// The unit of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RateUnit {
    Bytes,
    Ops,
}

/// One rate for each second in which every worker was active and measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    /// Rates per second.
    pub(crate) rates: Vec<f64>,
    pub(crate) unit: RateUnit,
}

impl Series {
    /// Returns the series over all kinds of op: bytes of block I/O, else ops. It excludes the time after the first
    /// worker's end (others that are still busy, a flush inside the clock), and the time before the last one's
    /// measured part: its delay, its ramp, its search for a depth. It is empty for a search that does not end,
    /// because its steps are not levels.
    pub(crate) fn from_phase(view: &PhaseView<'_>) -> Series {
        let is_block_io = plan::is_block_io(view.plan);
        let unit = if is_block_io && view.measured.bytes() > 0 { RateUnit::Bytes } else { RateUnit::Ops };
        let amount = |interval: &Interval| -> u64 {
            interval.ops.values().map(|op| if unit == RateUnit::Bytes { op.bytes } else { op.count }).sum()
        };
        let measured = view.measured.io_workers().filter(|worker| worker.wall_ns > 0);
        let start_ns = measured.map(|worker| worker.started_ns).max().unwrap_or(0);
        let end_ns = match view.depth_asked() {
            Some(_) => view.measured.first_done_ns.unwrap_or(view.measured.wall_ns) + TOLERATED_NS,
            None => 0,
        };
        let rates = view
            .measured
            .intervals
            .iter()
            .filter(|one| one.length_ns >= MIN_INTERVAL_NS)
            .filter(|one| one.start_ns + TOLERATED_NS >= start_ns && one.start_ns + one.length_ns <= end_ns)
            .map(|one| amount(one) as f64 * 1e9 / one.length_ns as f64)
            .collect();
        Series { rates, unit }
    }

    /// Formats a rate for findings.
    pub(crate) fn text(&self, rate: f64) -> String {
        match self.unit {
            RateUnit::Bytes => text::rate(rate),
            RateUnit::Ops => text::ops_rate(rate),
        }
    }
}

/// The drift of a rate over a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drift {
    /// Two-sided p under the hypothesis of no drift. Source: Mann and Kendall.
    pub(crate) p: f64,
    /// Rise of the line of Theil and Sen from the first value to the last, relative to its
    /// middle; negative if it falls.
    pub(crate) share: f64,
}

/// Returns the drift of rates; `None` if they are too few or all 0.
pub(crate) fn drift(rates: &[f64]) -> Option<Drift> {
    let p = mann_kendall(rates).ok()?.p;
    let line = theil_sen(rates).ok()?;
    let rise = line.slope * (rates.len() as f64 - 1.0);
    let middle = line.start + rise / 2.0;
    (middle > 0.0).then(|| Drift { p, share: rise / middle })
}

/// Seconds needed to distinguish a change of level from chance: six, after the first.
pub(crate) const CHANGE_SECONDS_MIN: usize = 7;
/// Largest p of a change by a t test. It is stricter than by ranks, since the test assumes independent seconds.
const T_TEST_P: f64 = 0.0001;
/// The two levels must then be this many times the width of a level apart.
const APART: f64 = 2.0;
/// A level's width ignores this share of its lowest and of its highest values.
const TRIMMED: f64 = 0.1;
/// A longer series is averaged in equal groups first.
const POINTS_MAX: usize = 300;

/// Finds the clearest change of level within a run: p < 0.001 and more than 5 %.
///
/// Ranks (Pettitt) find it in noise, but not in fewer than 22 seconds, nor if one of the levels is short: 8
/// of 24 seconds can never reach p < 0.001. In those cases a t test must find it, and the two levels must be
/// apart by more than twice the width of either. Without that condition, correlated seconds (r = 0.8) show a
/// change in a third of flat runs; with it, in 1 %. The first second, in which queues and the device's own
/// cache fill, belongs to no level.
pub(crate) fn level_change(rates: &[f64]) -> Option<ChangePoint> {
    if rates.len() < CHANGE_SECONDS_MIN {
        return None;
    }
    let levels = &rates[1..];
    let group = levels.len().div_ceil(POINTS_MAX);
    let points: Vec<f64> = levels.chunks_exact(group).map(mean).collect();
    let change = within_run(&points).ok().flatten().or_else(|| step(&points))?;
    Some(ChangePoint { at: 1 + change.at * group, ..change })
}

/// Returns the largest of the changes that a t test finds between separate levels.
fn step(points: &[f64]) -> Option<ChangePoint> {
    let rule = History { p: T_TEST_P, magnitude: WITHIN_RUN_MAGNITUDE, ..History::default() };
    let changes = history(points, &rule).ok()?;
    let bounds: Vec<usize> = changes.iter().map(|change| change.at).chain([points.len()]).collect();
    let mut start = 0;
    let mut largest: Option<ChangePoint> = None;
    for (change, end) in changes.iter().zip(&bounds[1..]) {
        if are_apart(&points[start..change.at], &points[change.at..*end])
            && largest.is_none_or(|largest| change.magnitude() > largest.magnitude())
        {
            largest = Some(*change);
        }
        start = change.at;
    }
    largest
}

/// Returns `true` if the gap between two levels is more than twice as wide as either of them.
fn are_apart(one: &[f64], other: &[f64]) -> bool {
    let range = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let cut = (values.len() as f64 * TRIMMED) as usize;
        let kept = &sorted[cut..sorted.len() - cut];
        Some((*kept.first()?, *kept.last()?))
    };
    let (Some((low, high)), Some((other_low, other_high))) = (range(one), range(other)) else { return false };
    let gap = (other_low - high).max(low - other_high);
    gap > APART * (high - low).max(other_high - other_low)
}

/// Returns the mean; 0 of no values.
pub(crate) fn mean(rates: &[f64]) -> f64 {
    if rates.is_empty() { 0.0 } else { rates.iter().sum::<f64>() / rates.len() as f64 }
}

/// Returns `true` if writes go into the page cache first. The seconds of such a phase show memory filling up and not
/// the device, even if a flush at its end makes the total valid.
pub(crate) fn memory_takes_the_writes(view: &PhaseView<'_>) -> bool {
    let flushes = view.ops(OpKind::Fsync) + view.ops(OpKind::Fdatasync);
    let changes = view.ops(OpKind::Write) > 0 || plan::changes_names(view.plan);
    view.cache() != CachePolicy::Direct && changes && flushes == 0
}

/// Returns `true` if nothing made the phase's writes durable while the clock ran.
pub(crate) fn left_in_memory(view: &PhaseView<'_>) -> bool {
    let inside = view.measured.end.inside_clock || plan::has_jobs(view.plan);
    let waited = plan::flushes_at_end(view.plan) && inside;
    memory_takes_the_writes(view) && !waited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::RunView;
    use crate::fixture::{MIB, Scene, resembling};
    use plumb_result::WorkerMeasurement;
    use plumb_result::measurement::DepthSearched;

    fn found(seconds: usize, noise: f64, resemblance: f64, level: impl Fn(usize) -> f64 + Copy) -> usize {
        let changed = |seed| level_change(&resembling(seconds, noise, resemblance, seed, level)).is_some();
        (0..500).filter(|seed| changed(*seed)).count()
    }

    /// The rate of false alarms is at most 1 %, even for correlated seconds.
    #[test]
    fn flat_runs_have_no_change() {
        for seconds in [7, 8, 10, 15, 21, 40] {
            for resemblance in [0.0, 0.5, 0.8] {
                for noise in [0.02, 0.10] {
                    let alarms = found(seconds, noise, resemblance, |_| 100.0);
                    assert!(alarms <= 7, "{alarms} of 500: {seconds} s, noise {noise}, resemblance {resemblance}");
                }
            }
        }
    }

    #[test]
    fn a_drop_to_two_thirds_is_found_in_short_and_long_runs() {
        for seconds in [7, 8, 10, 15, 21, 40] {
            let dropping = |second: usize| if second < seconds / 2 { 100.0 } else { 66.0 };
            assert!(found(seconds, 0.01, 0.0, dropping) >= 495, "{seconds} s");
        }
        // Ranks are never certain about a short level.
        assert!(found(40, 0.02, 0.0, |second| if second < 5 { 100.0 } else { 66.0 }) >= 495);
        assert!(found(900, 0.02, 0.0, |second| if second < 30 { 100.0 } else { 66.0 }) >= 495);
        assert!(found(10, 0.03, 0.0, |second| if second < 5 { 100.0 } else { 66.0 }) >= 475);
    }

    /// A volatile cache takes the first writes at once, which is not a level.
    #[test]
    fn the_first_second_belongs_to_no_level() {
        let bursting = |second: usize| [300.0, 240.0][second.min(1)];
        assert_eq!(found(8, 0.01, 0.0, bursting), 0);
        let throttled = |second: usize| [300.0, 240.0, 240.0, 240.0, 120.0][second.min(4)];
        assert!(found(8, 0.02, 0.0, throttled) >= 495);
    }

    fn rates(scene: &Scene) -> Vec<f64> {
        let run = RunView::new(&scene.workload, &scene.measurement, &scene.observations);
        Series::from_phase(&run.phases[0]).rates
    }

    /// A flush inside the clock, and workers that finish after the first, are not slow seconds of the load.
    #[test]
    fn the_series_ends_with_the_first_worker() {
        let mut scene = Scene::reading(MIB).rates(&[4096.0, 8192.0, 0.0]);
        scene.measured().first_done_ns = Some(2_000_000_000);
        assert_eq!(rates(&scene), [4096.0, 8192.0]);
    }

    /// A worker's delay, ramp and search for a depth come before the load.
    #[test]
    fn the_series_begins_with_the_last_worker() {
        let mut scene = Scene::reading(MIB).rates(&[1024.0, 4096.0, 8192.0]);
        scene.measured().workers[0].started_ns = 1_000_000_000;
        assert_eq!(rates(&scene), [4096.0, 8192.0]);
        // A worker that was stopped before it was measured does not show when the load begins.
        let never = WorkerMeasurement { started_ns: 3_000_000_000, ..WorkerMeasurement::default() };
        scene.measured().workers.push(never);
        assert_eq!(rates(&scene), [4096.0, 8192.0]);
    }

    /// Depths tried one after another are not levels of a rate.
    #[test]
    fn a_search_that_does_not_end_has_no_series() {
        let mut scene = Scene::reading(MIB).rates(&[1024.0, 4096.0, 8192.0]);
        let searched = |found| Some(DepthSearched { depth: 4, found });
        scene.measured().workers[0].depth_search = searched(false);
        assert!(rates(&scene).is_empty());
        scene.measured().workers[0].depth_search = searched(true);
        assert_eq!(rates(&scene).len(), 3);
    }

    #[test]
    fn a_fraction_of_a_second_is_ignored_and_a_long_interval_counts_more() {
        let mut scene = Scene::reading(MIB).rates(&[4096.0, 8192.0]);
        scene.measured().intervals[0].length_ns = 400_000_000;
        scene.measured().intervals[1].length_ns = 2_000_000_000;
        scene.measured().first_done_ns = Some(3_000_000_000);
        assert_eq!(rates(&scene), [4096.0]);
    }
}
