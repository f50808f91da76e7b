//! Data for the tests.

use crate::fio::print::grid;
use plumb_result::Histogram;

/// A percentile whose value is known to be in a range, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub percent: f64,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Returns a histogram of `total` values with these percentiles on fio's grid.
pub(super) fn shaped(total: u64, steps: &[Step]) -> Histogram {
    let mut histogram = Histogram::new();
    let mut placed = 0;
    let mut last = 0;
    for step in steps {
        let bucket = (grid::bucket(step.from_ns).saturating_sub(1)..)
            .take_while(|bucket| grid::value(*bucket) <= step.to_ns)
            .find(|bucket| grid::value(*bucket) >= step.from_ns)
            .unwrap_or_else(|| panic!("none of fio's buckets matches {step:?}"));
        last = grid::value(bucket);
        let upto = ((step.percent / 100.0 * total as f64).ceil() as u64).min(total);
        histogram.record_n(last, upto.saturating_sub(placed));
        placed = placed.max(upto);
    }
    histogram.record_n(last, total - placed);
    histogram
}
