//! The shared memory that a worker records in.
#![allow(unsafe_code)]

use super::reading::read_times;
use crate::shared::Shareable;
use plumb_result::Histogram;
use plumb_result::histogram::{BUCKETS, bucket};
use plumb_workload::OpKind;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

/// The counts of one distribution of times.
pub(super) type Buckets = [AtomicU64; BUCKETS];

/// Exact values of a distribution of times.
#[repr(C)]
pub(super) struct TimeSums {
    pub(super) sum_ns: AtomicU64,
    /// Smallest value, stored as `u64::MAX - value`, so that zeroed memory means "none yet".
    pub(super) min_complement: AtomicU64,
    pub(super) max_ns: AtomicU64,
}

/// The counters of one kind of op. Those that every op changes share a cache line.
#[repr(C, align(64))]
pub(super) struct KindWords {
    pub(super) count: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) service: TimeSums,
    pub(super) short: AtomicU64,
    pub(super) response: TimeSums,
    pub(super) submission: TimeSums,
    pub(super) completion: TimeSums,
    /// Ops recorded with the time of another op.
    pub(super) untimed: AtomicU64,
}

/// The distributions of one kind of op.
#[repr(C)]
pub(super) struct KindBuckets {
    pub(super) service: Buckets,
    pub(super) response: Buckets,
    pub(super) submission: Buckets,
    pub(super) completion: Buckets,
}

/// Everything that one worker records. The counters come first, together in one page: a
/// reader of totals touches nothing else.
#[repr(C, align(4096))]
pub(crate) struct WorkerCells {
    /// A bit for each recorded kind, plus [`RESPONSES`] and [`SUBMISSIONS`].
    pub(super) used: AtomicU64,
    pub(super) transactions: AtomicU64,
    pub(super) errors: AtomicU64,
    /// Incremented before and after each reset of the records: odd while a reset is in progress.
    pub(super) edition: AtomicU64,
    pub(super) start_lag: TimeSums,
    pub(super) kinds: [KindWords; OpKind::COUNT],
    pub(super) buckets: [KindBuckets; OpKind::COUNT],
    pub(super) start_lag_buckets: Buckets,
}

// SAFETY: repr(C), only AtomicU64 and arrays of it.
unsafe impl Shareable for WorkerCells {}

impl TimeSums {
    fn forget(&self) {
        for cell in [&self.sum_ns, &self.min_complement, &self.max_ns] {
            cell.store(0, Relaxed);
        }
    }
}

/// A distribution of times with its exact values.
#[repr(C)]
pub(crate) struct SharedTimes {
    sums: TimeSums,
    buckets: Buckets,
}

impl SharedTimes {
    /// Adds a time; only one thread may call this.
    pub(crate) fn add(&self, ns: u64) {
        add_time(&self.sums, &self.buckets, ns);
    }

    /// Returns the times added so far.
    pub(crate) fn read(&self) -> Histogram {
        match self.sums.min_complement.load(Relaxed) {
            // The distribution is empty: reading the buckets would allocate pages.
            0 => Histogram::new(),
            _ => read_times(&self.sums, &self.buckets),
        }
    }

    pub(crate) fn forget(&self) {
        forget_times(&self.sums, &self.buckets);
    }
}

/// Resets a distribution of times.
fn forget_times(sums: &TimeSums, buckets: &Buckets) {
    // Buckets above the largest value are empty, and writing to them would allocate pages.
    let used = bucket(sums.max_ns.load(Relaxed));
    buckets[..=used].iter().for_each(|cell| cell.store(0, Relaxed));
    sums.forget();
}

/// Usual durations of ops that do not have to wait.
const USUAL_NS: RangeInclusive<u64> = 64..=1 << 20;

impl WorkerCells {
    /// Touches the cells that ops of these kinds usually write. Otherwise the first few ops would each take a page
    /// fault, which costs more than a cached read.
    pub(crate) fn expect(&self, kinds: &BTreeSet<OpKind>) {
        let usual = bucket(*USUAL_NS.start())..=bucket(*USUAL_NS.end());
        for kind in kinds {
            add(&self.kinds[*kind as usize].count, 0);
            self.buckets[*kind as usize].service[usual.clone()].iter().for_each(|cell| add(cell, 0));
        }
    }

    /// Resets everything but the errors.
    pub(super) fn forget(&self) {
        self.edition.fetch_add(1, AcqRel);
        let used = self.used.load(Relaxed);
        for kind in kinds_of(used) {
            let (words, buckets) = (&self.kinds[kind as usize], &self.buckets[kind as usize]);
            forget_times(&words.service, &buckets.service);
            if used & RESPONSES != 0 {
                forget_times(&words.response, &buckets.response);
            }
            if used & SUBMISSIONS != 0 {
                forget_times(&words.submission, &buckets.submission);
                forget_times(&words.completion, &buckets.completion);
            }
            for cell in [&words.count, &words.bytes, &words.short, &words.untimed] {
                cell.store(0, Relaxed);
            }
        }
        if used & RESPONSES != 0 {
            forget_times(&self.start_lag, &self.start_lag_buckets);
        }
        self.transactions.store(0, Relaxed);
        self.edition.fetch_add(1, Release);
    }
}

/// Bit of [`WorkerCells::used`]: response times were recorded.
pub(super) const RESPONSES: u64 = 1 << 63;

/// Bit of [`WorkerCells::used`]: service times were also recorded in two parts.
pub(super) const SUBMISSIONS: u64 = 1 << 62;

/// Adds to a cell that only this thread writes: a load and a store, not a locked instruction.
#[inline(always)]
pub(super) fn add(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Adds a time to a distribution.
#[inline(always)]
pub(super) fn add_time(sums: &TimeSums, buckets: &Buckets, ns: u64) {
    // SAFETY: `bucket` maps every u64 below BUCKETS, which is the length. A bounds check
    // would cost two instructions per op.
    add(unsafe { buckets.get_unchecked(bucket(ns)) }, 1);
    add(&sums.sum_ns, ns);
    if !ns > sums.min_complement.load(Relaxed) {
        sums.min_complement.store(!ns, Relaxed);
    }
    if ns > sums.max_ns.load(Relaxed) {
        sums.max_ns.store(ns, Relaxed);
    }
}

/// Returns the kinds of op in a set of used cells.
pub(super) fn kinds_of(used: u64) -> impl Iterator<Item = OpKind> {
    OpKind::ALL.iter().copied().filter(move |kind| used & (1 << *kind as u64) != 0)
}
