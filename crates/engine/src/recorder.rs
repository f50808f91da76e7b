//! Recorders: a worker's counters and latency histograms, in memory shared with the coordinator.
//!
//! Every cell has one writer, its worker, and only grows. The coordinator reads the cells while the worker writes them
//! and takes the difference of two readings; so interval series, the end of the ramp and the live line cost the hot
//! loop nothing, and a second in which nothing completed is a difference of zero.
#![allow(unsafe_code)]

use crate::shared::{Shareable, SharedSlice};
use plumb_result::Histogram;
use plumb_result::histogram::{BUCKETS, bucket};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// One distribution of times.
#[repr(C)]
struct TimeCells {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
    /// Smallest value, as its distance from `u64::MAX`, so that zeroed memory means "none yet".
    min_complement: AtomicU64,
    max_ns: AtomicU64,
}

/// One kind of op.
#[repr(C)]
struct KindCells {
    service: TimeCells,
    response: TimeCells,
    bytes: AtomicU64,
}

/// Everything that one worker records.
#[repr(C)]
pub(crate) struct WorkerCells {
    /// A bit for each kind that was recorded, and [`RESPONSES`].
    used: AtomicU64,
    kinds: [KindCells; OpKind::COUNT],
    start_lag: TimeCells,
    transactions: AtomicU64,
    short: AtomicU64,
    errors: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64 and arrays of it.
unsafe impl Shareable for WorkerCells {}

/// The bit of [`WorkerCells::used`] that says that there are response times.
const RESPONSES: u64 = 1 << 63;

/// Adds to a cell that only this thread writes: a load and a store, not a locked instruction.
#[inline(always)]
fn add(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl TimeCells {
    #[inline(always)]
    fn record(&self, ns: u64) {
        // In range by construction: `bucket` maps every u64 below BUCKETS.
        add(&self.buckets[bucket(ns)], 1);
        add(&self.sum_ns, ns);
        if !ns > self.min_complement.load(Relaxed) {
            self.min_complement.store(!ns, Relaxed);
        }
        if ns > self.max_ns.load(Relaxed) {
            self.max_ns.store(ns, Relaxed);
        }
    }

    fn read(&self) -> Histogram {
        let max = self.max_ns.load(Relaxed);
        // A value recorded after this reading of `max` may lie above it; it belongs to the next reading.
        let used = if self.sum_ns.load(Relaxed) == 0 && max == 0 { 1 } else { bucket(max) + 1 };
        let counts: Vec<u64> = self.buckets[..used].iter().map(|cell| cell.load(Relaxed)).collect();
        let min = !self.min_complement.load(Relaxed);
        Histogram::from_counts(&counts, u128::from(self.sum_ns.load(Relaxed)), min, max)
    }
}

/// The writing side, held by one worker.
pub(crate) struct Recorder<'a> {
    cells: &'a WorkerCells,
    /// What is set in [`WorkerCells::used`].
    used: u64,
}

impl<'a> Recorder<'a> {
    /// The recorder over a worker's cells. Only one may exist for each.
    pub(crate) fn new(cells: &'a WorkerCells) -> Recorder<'a> {
        Recorder { cells, used: 0 }
    }

    /// An op that completed.
    #[inline(always)]
    pub(crate) fn record(&mut self, kind: OpKind, bytes: u64, service_ns: u64) {
        self.uses(1 << kind as u64);
        let cells = &self.cells.kinds[kind as usize];
        cells.service.record(service_ns);
        add(&cells.bytes, bytes);
    }

    /// Says which cells are used. Merely looking at the others would give them memory, some hundred KiB a worker.
    #[inline(always)]
    fn uses(&mut self, bit: u64) {
        if self.used & bit == 0 {
            self.used |= bit;
            self.cells.used.store(self.used, Relaxed);
        }
    }

    /// The response time of an op under an open load, and how late it started.
    #[inline(always)]
    pub(crate) fn record_response(&mut self, kind: OpKind, response_ns: u64, lag_ns: u64) {
        self.uses(RESPONSES);
        self.cells.kinds[kind as usize].response.record(response_ns);
        self.cells.start_lag.record(lag_ns);
    }

    /// A read or write that moved less than was asked.
    #[cold]
    pub(crate) fn count_short(&mut self) {
        add(&self.cells.short, 1);
    }

    /// An op that failed.
    #[cold]
    pub(crate) fn count_error(&mut self) {
        add(&self.cells.errors, 1);
    }

    /// Times through the flow.
    pub(crate) fn set_transactions(&mut self, transactions: u64) {
        self.cells.transactions.store(transactions, Relaxed);
    }
}

/// One reading of a worker's cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    pub(crate) kinds: BTreeMap<OpKind, KindReading>,
    pub(crate) start_lag: Histogram,
    pub(crate) transactions: u64,
    pub(crate) short: u64,
    pub(crate) errors: u64,
}

/// One kind of op in a [`Reading`].
#[derive(Debug, Clone, Default)]
pub(crate) struct KindReading {
    pub(crate) service: Histogram,
    pub(crate) response: Histogram,
    pub(crate) bytes: u64,
}

impl Reading {
    fn of(cells: &WorkerCells) -> Reading {
        let mut kinds = BTreeMap::new();
        let used = cells.used.load(Relaxed);
        let responses = |times: &TimeCells| if used & RESPONSES == 0 { Histogram::new() } else { times.read() };
        for &kind in OpKind::ALL.iter().filter(|kind| used & (1 << **kind as u64) != 0) {
            let cells = &cells.kinds[kind as usize];
            let service = cells.service.read();
            if !service.is_empty() {
                let response = responses(&cells.response);
                kinds.insert(kind, KindReading { service, response, bytes: cells.bytes.load(Relaxed) });
            }
        }
        Reading {
            kinds,
            start_lag: responses(&cells.start_lag),
            transactions: cells.transactions.load(Relaxed),
            short: cells.short.load(Relaxed),
            errors: cells.errors.load(Relaxed),
        }
    }

    /// What was recorded since an earlier reading of the same worker.
    pub(crate) fn since(&self, earlier: &Reading) -> Reading {
        let mut kinds = BTreeMap::new();
        for (&kind, now) in &self.kinds {
            let delta = match earlier.kinds.get(&kind) {
                None => now.clone(),
                Some(before) => KindReading {
                    service: now.service.since(&before.service),
                    response: now.response.since(&before.response),
                    bytes: now.bytes - before.bytes,
                },
            };
            kinds.insert(kind, delta);
        }
        Reading {
            kinds,
            // Against nothing, smallest and largest stay exact.
            start_lag: match earlier.start_lag.is_empty() {
                true => self.start_lag.clone(),
                false => self.start_lag.since(&earlier.start_lag),
            },
            transactions: self.transactions - earlier.transactions,
            short: self.short - earlier.short,
            errors: self.errors - earlier.errors,
        }
    }

    /// Adds another worker's reading.
    pub(crate) fn merge(&mut self, other: &Reading) {
        for (&kind, more) in &other.kinds {
            let own = self.kinds.entry(kind).or_default();
            own.service.merge(&more.service);
            own.response.merge(&more.response);
            own.bytes += more.bytes;
        }
        self.start_lag.merge(&other.start_lag);
        self.transactions += other.transactions;
        self.short += other.short;
        self.errors += other.errors;
    }

    /// Ops of all kinds.
    pub(crate) fn count(&self) -> u64 {
        self.kinds.values().map(|kind| kind.service.count()).sum()
    }

    /// Bytes of all kinds.
    pub(crate) fn bytes(&self) -> u64 {
        self.kinds.values().map(|kind| kind.bytes).sum()
    }

    /// Sum of all service times, ns.
    pub(crate) fn service_sum_ns(&self) -> u128 {
        self.kinds.values().map(|kind| kind.service.sum()).sum()
    }
}

/// The cells of all workers of a phase.
pub(crate) struct Cells {
    workers: SharedSlice<WorkerCells>,
}

impl Cells {
    /// Zeroed cells for so many workers.
    pub(crate) fn new(workers: usize) -> io::Result<Cells> {
        Ok(Cells { workers: SharedSlice::new(workers)? })
    }

    /// The cells of one worker.
    pub(crate) fn worker(&self, number: usize) -> &WorkerCells {
        &self.workers[number]
    }

    /// Reads every worker's cells.
    pub(crate) fn read(&self) -> Vec<Reading> {
        self.workers.iter().map(Reading::of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_read_back_with_exact_extremes() {
        let cells = Cells::new(2).unwrap();
        let mut recorder = Recorder::new(cells.worker(1));
        recorder.record(OpKind::Read, 4096, 1_234);
        recorder.record(OpKind::Read, 4096, 99_999);
        recorder.record(OpKind::Fsync, 0, 3_600_000_000_000);
        let readings = cells.read();
        assert_eq!(readings[0].count(), 0);
        let read = &readings[1].kinds[&OpKind::Read];
        assert_eq!((read.service.count(), read.bytes), (2, 8192));
        assert_eq!((read.service.min(), read.service.max()), (Some(1_234), Some(99_999)));
        assert_eq!(readings[1].kinds[&OpKind::Fsync].service.max(), Some(3_600_000_000_000));
    }

    #[test]
    fn the_difference_of_two_readings_is_what_came_between() {
        let cells = Cells::new(1).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        recorder.record(OpKind::Write, 512, 10);
        let before = cells.read();
        recorder.record(OpKind::Write, 512, 20);
        recorder.record(OpKind::Stat, 0, 5);
        let delta = cells.read()[0].since(&before[0]);
        assert_eq!(delta.kinds[&OpKind::Write].service.count(), 1);
        assert_eq!(delta.kinds[&OpKind::Write].bytes, 512);
        assert_eq!(delta.kinds[&OpKind::Stat].service.count(), 1);
    }

    #[test]
    fn a_time_of_zero_counts() {
        let cells = Cells::new(1).unwrap();
        Recorder::new(cells.worker(0)).record(OpKind::Read, 1, 0);
        assert_eq!(cells.read()[0].count(), 1);
    }
}
