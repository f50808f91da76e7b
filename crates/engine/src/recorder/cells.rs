//! The memory that a worker records in.
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

/// What a distribution of times keeps exactly.
#[repr(C)]
pub(super) struct TimeSums {
    pub(super) sum_ns: AtomicU64,
    /// Smallest value, as its distance from `u64::MAX`, so that zeroed memory means "none yet".
    pub(super) min_complement: AtomicU64,
    pub(super) max_ns: AtomicU64,
}

/// The words of one kind of op, those of every op in one cache line.
#[repr(C, align(64))]
pub(super) struct KindWords {
    pub(super) count: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) service: TimeSums,
    pub(super) short: AtomicU64,
    pub(super) response: TimeSums,
    pub(super) submission: TimeSums,
    pub(super) completion: TimeSums,
    /// Ops that were counted at the time of another.
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

/// Everything that one worker records. The words come first, together in a page: who only wants to know how much was
/// done reads nothing else.
#[repr(C, align(4096))]
pub(crate) struct WorkerCells {
    /// A bit for each kind that was recorded, and [`RESPONSES`].
    pub(super) used: AtomicU64,
    pub(super) transactions: AtomicU64,
    pub(super) errors: AtomicU64,
    /// How often recording began and ended to begin anew: odd while it is being forgotten what was recorded.
    pub(super) edition: AtomicU64,
    pub(super) start_lag: TimeSums,
    pub(super) kinds: [KindWords; OpKind::COUNT],
    pub(super) buckets: [KindBuckets; OpKind::COUNT],
    pub(super) start_lag_buckets: Buckets,
}

// SAFETY: repr(C), nothing but AtomicU64 and arrays of it.
unsafe impl Shareable for WorkerCells {}

impl TimeSums {
    fn forget(&self) {
        for cell in [&self.sum_ns, &self.min_complement, &self.max_ns] {
            cell.store(0, Relaxed);
        }
    }
}

/// A distribution of times with what it keeps exactly.
#[repr(C)]
pub(crate) struct SharedTimes {
    sums: TimeSums,
    buckets: Buckets,
}

impl SharedTimes {
    /// Adds a time; only one thread may.
    pub(crate) fn add(&self, ns: u64) {
        add_time(&self.sums, &self.buckets, ns);
    }

    /// What was added so far.
    pub(crate) fn read(&self) -> Histogram {
        match self.sums.min_complement.load(Relaxed) {
            // Nothing was: looking at the buckets would give them memory.
            0 => Histogram::new(),
            _ => read_times(&self.sums, &self.buckets),
        }
    }

    /// Forgets what was added.
    pub(crate) fn forget(&self) {
        forget_times(&self.sums, &self.buckets);
    }
}

/// Forgets a distribution of times.
fn forget_times(sums: &TimeSums, buckets: &Buckets) {
    // Behind the largest there is nothing, and writing there would give it memory.
    let used = bucket(sums.max_ns.load(Relaxed));
    buckets[..=used].iter().for_each(|cell| cell.store(0, Relaxed));
    sums.forget();
}

/// Times that ops take that nothing is waited for.
const USUAL_NS: RangeInclusive<u64> = 64..=1 << 20;

impl WorkerCells {
    /// Gives memory to the cells that ops of these kinds write at first. Else the first few of them would each wait for a
    /// page, which is more than a cached read takes.
    pub(crate) fn expect(&self, kinds: &BTreeSet<OpKind>) {
        let usual = bucket(*USUAL_NS.start())..=bucket(*USUAL_NS.end());
        for kind in kinds {
            add(&self.kinds[*kind as usize].count, 0);
            self.buckets[*kind as usize].service[usual.clone()].iter().for_each(|cell| add(cell, 0));
        }
    }

    /// Forgets what was recorded, but for errors.
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

/// The bit of [`WorkerCells::used`] that says that there are response times.
pub(super) const RESPONSES: u64 = 1 << 63;

/// The bit of [`WorkerCells::used`] that says that service times were recorded in two parts as well.
pub(super) const SUBMISSIONS: u64 = 1 << 62;

/// Adds to a cell that only this thread writes: a load and a store, not a locked instruction.
#[inline(always)]
pub(super) fn add(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Adds a time to a distribution.
#[inline(always)]
pub(super) fn add_time(sums: &TimeSums, buckets: &Buckets, ns: u64) {
    // SAFETY: `bucket` maps every u64 below BUCKETS, which is the length. A look at that is two instructions of each op.
    add(unsafe { buckets.get_unchecked(bucket(ns)) }, 1);
    add(&sums.sum_ns, ns);
    if !ns > sums.min_complement.load(Relaxed) {
        sums.min_complement.store(!ns, Relaxed);
    }
    if ns > sums.max_ns.load(Relaxed) {
        sums.max_ns.store(ns, Relaxed);
    }
}

/// Kinds of op of which a set of used cells speaks.
pub(super) fn kinds_of(used: u64) -> impl Iterator<Item = OpKind> {
    OpKind::ALL.iter().copied().filter(move |kind| used & (1 << *kind as u64) != 0)
}
