//! The coordinator's readings of a worker's cells.

use super::cells::{Buckets, RESPONSES, SUBMISSIONS, TimeSums, WorkerCells, kinds_of};
use plumb_result::Histogram;
use plumb_result::histogram::bucket;
use plumb_result::measurement::{Moved, OpMeasurement};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// One reading of a worker's cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    pub(crate) kinds: BTreeMap<OpKind, KindReading>,
    pub(crate) start_lag: Histogram,
    pub(crate) transactions: u64,
    /// Includes errors in the ramp, which are reported but not measured.
    pub(crate) errors: u64,
    /// Number of restarts of the recording. In a later edition, everything but the errors starts from zero.
    edition: u64,
}

/// One kind of op in a [`Reading`].
#[derive(Debug, Clone, Default)]
pub(crate) struct KindReading {
    pub(crate) service: Histogram,
    pub(crate) response: Histogram,
    pub(crate) submission: Histogram,
    pub(crate) completion: Histogram,
    pub(crate) bytes: u64,
    pub(crate) short: u64,
    pub(crate) untimed: u64,
}

/// Number of attempts to read cells while they are being reset. The process that resets
/// them may have been killed halfway.
const READING_TRIALS: u32 = 1000;

impl Reading {
    pub(super) fn from_cells(cells: &WorkerCells) -> Reading {
        for _ in 0..READING_TRIALS {
            let edition = cells.edition.load(Acquire);
            let reading = Reading::of_edition(cells, edition);
            fence(Acquire);
            if edition.is_multiple_of(2) && cells.edition.load(Relaxed) == edition {
                return reading;
            }
            std::thread::yield_now();
        }
        Reading::of_edition(cells, cells.edition.load(Acquire))
    }

    fn of_edition(cells: &WorkerCells, edition: u64) -> Reading {
        let mut kinds = BTreeMap::new();
        let used = cells.used.load(Relaxed);
        let times = |which: u64, sums: &TimeSums, buckets: &Buckets| match used & which {
            0 => Histogram::new(),
            _ => read_times(sums, buckets),
        };
        for kind in kinds_of(used) {
            let (words, buckets) = (&cells.kinds[kind as usize], &cells.buckets[kind as usize]);
            let service = read_times(&words.service, &buckets.service);
            if !service.is_empty() {
                let reading = KindReading {
                    service,
                    response: times(RESPONSES, &words.response, &buckets.response),
                    submission: times(SUBMISSIONS, &words.submission, &buckets.submission),
                    completion: times(SUBMISSIONS, &words.completion, &buckets.completion),
                    bytes: words.bytes.load(Relaxed),
                    short: words.short.load(Relaxed),
                    untimed: words.untimed.load(Relaxed),
                };
                kinds.insert(kind, reading);
            }
        }
        Reading {
            kinds,
            start_lag: times(RESPONSES, &cells.start_lag, &cells.start_lag_buckets),
            transactions: cells.transactions.load(Relaxed),
            errors: cells.errors.load(Relaxed),
            edition,
        }
    }

    /// Returns the difference from an earlier reading of the same worker.
    pub(crate) fn since(&self, earlier: &Reading) -> Reading {
        if self.edition != earlier.edition {
            return Reading { errors: self.errors - earlier.errors, ..self.clone() };
        }
        let mut kinds = BTreeMap::new();
        for (&kind, now) in &self.kinds {
            let delta = match earlier.kinds.get(&kind) {
                None => now.clone(),
                Some(before) => KindReading {
                    service: now.service.since(&before.service),
                    response: now.response.since(&before.response),
                    submission: now.submission.since(&before.submission),
                    completion: now.completion.since(&before.completion),
                    bytes: now.bytes - before.bytes,
                    short: now.short - before.short,
                    untimed: now.untimed - before.untimed,
                },
            };
            kinds.insert(kind, delta);
        }
        Reading {
            kinds,
            // Without an earlier value, minimum and maximum stay exact.
            start_lag: match earlier.start_lag.is_empty() {
                true => self.start_lag.clone(),
                false => self.start_lag.since(&earlier.start_lag),
            },
            transactions: self.transactions - earlier.transactions,
            errors: self.errors - earlier.errors,
            edition: self.edition,
        }
    }

    /// Adds another worker's reading.
    pub(crate) fn merge(&mut self, other: &Reading) {
        for (&kind, more) in &other.kinds {
            let own = self.kinds.entry(kind).or_default();
            own.service.merge(&more.service);
            own.response.merge(&more.response);
            own.submission.merge(&more.submission);
            own.completion.merge(&more.completion);
            own.bytes += more.bytes;
            own.short += more.short;
            own.untimed += more.untimed;
        }
        self.start_lag.merge(&other.start_lag);
        self.transactions += other.transactions;
        self.errors += other.errors;
    }

    /// Returns the number of ops of all kinds.
    pub(crate) fn count(&self) -> u64 {
        self.kinds.values().map(|kind| kind.service.count()).sum()
    }

    /// Returns the bytes of all kinds.
    pub(crate) fn bytes(&self) -> u64 {
        self.kinds.values().map(|kind| kind.bytes).sum()
    }

    /// Returns the number of reads, writes and trims that moved fewer bytes than requested.
    pub(crate) fn short(&self) -> u64 {
        self.kinds.values().map(|kind| kind.short).sum()
    }

    /// Returns the service times by kind of op.
    pub(crate) fn services(&self) -> impl Iterator<Item = (OpKind, &Histogram)> {
        self.kinds.iter().map(|(kind, reading)| (*kind, &reading.service))
    }

    /// Converts the reading to results by kind of op.
    pub(crate) fn measured(&self) -> BTreeMap<OpKind, OpMeasurement> {
        let some = |histogram: &Histogram| (!histogram.is_empty()).then(|| histogram.clone());
        let measured = self.kinds.iter().filter(|(_, reading)| !reading.service.is_empty());
        BTreeMap::from_iter(measured.map(|(&kind, reading)| {
            let measurement = OpMeasurement {
                count: reading.service.count(),
                bytes: reading.bytes,
                service: reading.service.clone(),
                response: some(&reading.response),
                submission: some(&reading.submission),
                completion: some(&reading.completion),
                short_count: reading.short,
                untimed_count: reading.untimed,
                priorities: Vec::new(),
            };
            (kind, measurement)
        }))
    }

    /// Returns the sum of all service times, ns.
    pub(crate) fn service_sum_ns(&self) -> u128 {
        self.kinds.values().map(|kind| kind.service.sum()).sum()
    }
}

/// Totals of data ops, without distributions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataTotals {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) service_sum_ns: u64,
}

impl DataTotals {
    pub(super) fn from_cells(cells: &WorkerCells) -> DataTotals {
        let kinds = kinds_of(cells.used.load(Relaxed)).filter(|kind| kind.moves_bytes());
        kinds
            .map(|kind| {
                let words = &cells.kinds[kind as usize];
                DataTotals {
                    count: words.count.load(Relaxed),
                    bytes: words.bytes.load(Relaxed),
                    service_sum_ns: words.service.sum_ns.load(Relaxed),
                }
            })
            .sum()
    }

    /// Returns the difference from an earlier reading.
    pub(crate) fn since(&self, earlier: &DataTotals) -> DataTotals {
        DataTotals {
            // A smaller value means that the measurement was restarted.
            count: self.count.saturating_sub(earlier.count),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            service_sum_ns: self.service_sum_ns.wrapping_sub(earlier.service_sum_ns),
        }
    }
}

impl std::iter::Sum for DataTotals {
    fn sum<I: Iterator<Item = DataTotals>>(all: I) -> DataTotals {
        all.fold(DataTotals::default(), |sum, one| DataTotals {
            count: sum.count + one.count,
            bytes: sum.bytes + one.bytes,
            service_sum_ns: sum.service_sum_ns.wrapping_add(one.service_sum_ns),
        })
    }
}

pub(super) fn read_times(sums: &TimeSums, buckets: &Buckets) -> Histogram {
    let max = sums.max_ns.load(Relaxed);
    // A value recorded after this reading of `max` may exceed it; it belongs to the next reading.
    let used = if sums.sum_ns.load(Relaxed) == 0 && max == 0 { 1 } else { bucket(max) + 1 };
    let min = !sums.min_complement.load(Relaxed);
    // Buckets below the smallest value are empty, and reading them would allocate pages.
    let unused = bucket(min.min(max));
    let mut counts = vec![0; used];
    for (count, cell) in counts[unused..].iter_mut().zip(&buckets[unused..used]) {
        *count = cell.load(Relaxed);
    }
    Histogram::from_counts(counts, u128::from(sums.sum_ns.load(Relaxed)), min, max)
}

/// Reads a worker's totals by kind, without distributions, which touches only one page.
pub(super) fn moved_in(cells: &WorkerCells) -> BTreeMap<OpKind, Moved> {
    let moved = kinds_of(cells.used.load(Relaxed)).map(|kind| {
        let words = &cells.kinds[kind as usize];
        (kind, Moved { count: words.count.load(Relaxed), bytes: words.bytes.load(Relaxed) })
    });
    BTreeMap::from_iter(moved.filter(|(_, moved)| moved.count > 0))
}
