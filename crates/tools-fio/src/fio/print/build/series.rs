//! Rates of the workers over time.

use crate::fio::print::report::{Figure, Samples};
use plumb_result::WorkerMeasurement;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// Totals of several workers in one interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Piece {
    /// Longest sample among the workers, in nanoseconds.
    length_ns: u64,
    ops: BTreeMap<OpKind, Moved>,
    /// Number of workers' samples in it.
    parts: u64,
}

impl Piece {
    fn add(&mut self, ops: &BTreeMap<OpKind, Moved>) {
        for (kind, moved) in ops {
            let all = self.ops.entry(*kind).or_default();
            all.count += moved.count;
            all.bytes += moved.bytes;
        }
    }
}

/// Adds up the samples of all workers for each interval. A shorter last sample of a worker counts
/// if it covers most of its interval.
pub(super) fn sum(workers: &[&WorkerMeasurement]) -> Vec<Piece> {
    let all = || workers.iter().flat_map(|worker| worker.samples.iter().map(move |sample| (worker.started_ns, sample)));
    let longest = all().map(|(_, sample)| sample.length_ns).max().unwrap_or(0);
    let first_start = workers.iter().map(|worker| worker.started_ns).min().unwrap_or(0);
    let mut pieces: BTreeMap<u64, Piece> = BTreeMap::new();
    for (started_ns, sample) in all().filter(|(_, sample)| sample.length_ns > 0 && sample.length_ns >= longest / 2) {
        let since = started_ns - first_start + sample.start_ns;
        let piece = pieces.entry((since + longest / 2) / longest).or_default();
        piece.length_ns = piece.length_ns.max(sample.length_ns);
        piece.parts += 1;
        piece.add(&sample.ops);
    }
    pieces.into_values().collect()
}

/// A window may be shorter by this fraction, because samples end slightly early.
const SLACK_PART: u64 = 32;

/// Returns the rates of these kinds of op in windows of this length, including empty windows. As in fio, windows of
/// several workers are counted once per worker. An incomplete window at the end has no rate.
pub(super) fn samples(
    pieces: &[Piece],
    window_ns: u64,
    kinds: &[OpKind],
    amount: impl Fn(Moved) -> f64,
) -> Figure<Samples> {
    let mut rates: Vec<f64> = Vec::new();
    let mut count = 0;
    let (mut length_ns, mut done, mut parts) = (0, 0.0, 0);
    for piece in pieces {
        length_ns += piece.length_ns;
        done += kinds.iter().filter_map(|kind| piece.ops.get(kind)).map(|one| amount(*one)).sum::<f64>();
        parts = parts.max(piece.parts);
        if length_ns >= window_ns - window_ns / SLACK_PART {
            rates.push(done * 1e9 / length_ns.max(1) as f64);
            count += parts;
            (length_ns, done, parts) = (0, 0.0, 0);
        }
    }
    Samples::from_values(&rates).map_or(Figure::Off, |samples| Figure::Is(Samples { count, ..samples }))
}
