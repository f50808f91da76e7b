//! Compares two passes over the same range.

use crate::evidence::PhaseView;
use crate::plan;
use plumb_result::{Interval, PhaseMeasurement};
use plumb_workload::{CachePolicy, OpKind};

/// A shorter pass has no rate that one-second intervals can show.
pub(crate) const MIN_PASS_NS: u64 = 2_000_000_000;

/// Returns the rate of the second pass over that of the first, within one direct phase with only this kind of
/// op. Uniform random offsets count as passes too: the first reaches 63 % of the blocks, so most blocks of
/// the second were already met.
pub(crate) fn pass_ratio(view: &PhaseView<'_>, kind: OpKind) -> Option<f64> {
    let alone = view.traffic.app_read + view.traffic.app_write == moved(view.measured, kind);
    let even = view.plan.workers.iter().all(|group| group.work.is_even()) && plan::is_closed(view.plan);
    if view.cache() != CachePolicy::Direct || !alone || !even {
        return None;
    }
    let range = view.measured.working_set_bytes.filter(|range| *range > 0)?;
    let twice = range.checked_mul(2).filter(|twice| moved(view.measured, kind) >= *twice)?;
    let first = reached_ns(&view.measured.intervals, kind, range)?;
    let second = reached_ns(&view.measured.intervals, kind, twice)?.saturating_sub(first);
    (first >= MIN_PASS_NS && second >= MIN_PASS_NS).then(|| first as f64 / second as f64)
}

/// A phase compared with an earlier one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Against {
    /// Its rate over that of the earlier phase.
    pub(crate) ratio: f64,
    /// Number of the earlier phase.
    pub(crate) position: usize,
}

/// Compares this phase with the first earlier phase that did the same in the same way.
pub(crate) fn against_earlier(view: &PhaseView<'_>, kind: OpKind) -> Option<Against> {
    if !view.plan.workers.iter().all(|group| group.work.covers_once()) {
        return None;
    }
    let position = view.earlier.iter().position(|measured| {
        let plan = view.workload.phase.iter().find(|plan| plan.name == measured.name);
        plan.is_some_and(|plan| {
            crate::plan::cache(plan) == view.cache()
                && (&plan.end, &plan.workers, &plan.companions)
                    == (&view.plan.end, &view.plan.workers, &view.plan.companions)
        })
    })?;
    let alike = &view.earlier[position];
    let long_enough = |measured: &PhaseMeasurement| measured.wall_ns >= MIN_PASS_NS;
    if !long_enough(alike) || !long_enough(view.measured) {
        return None;
    }
    let before = alike.per_second(moved(alike, kind)).filter(|rate| *rate > 0.0)?;
    let rate = view.measured.per_second(moved(view.measured, kind))?;
    Some(Against { ratio: rate / before, position })
}

/// Returns the number of passes of a phase over its range; `None` if its pattern does not bound it.
pub(crate) fn made(view: &PhaseView<'_>, kind: OpKind) -> Option<f64> {
    let range = view.measured.working_set_bytes.filter(|range| *range > 0)?;
    Some(moved(view.measured, kind) as f64 / range as f64)
}

fn moved(measured: &PhaseMeasurement, kind: OpKind) -> u64 {
    measured.ops.get(&kind).map_or(0, |op| op.bytes)
}

/// Returns the time at which `bytes` had been moved, interpolated within the interval.
fn reached_ns(intervals: &[Interval], kind: OpKind, bytes: u64) -> Option<u64> {
    let mut so_far = 0;
    for interval in intervals {
        let here = interval.ops.get(&kind).map_or(0, |op| op.bytes);
        if here > 0 && so_far + here >= bytes {
            let part = (bytes - so_far) as f64 / here as f64;
            return Some(interval.start_ns + (interval.length_ns as f64 * part) as u64);
        }
        so_far += here;
    }
    None
}
