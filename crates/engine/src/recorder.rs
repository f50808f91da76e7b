//! Recorders: a worker's counters and latency histograms, in memory shared with the coordinator.
//!
//! Every cell has one writer, its worker, and only grows. The coordinator reads the cells while the worker writes them
//! and takes the difference of two readings; so interval series, the end of the ramp and the live line cost the hot
//! loop nothing, and a second in which nothing completed is a difference of zero.
#![allow(unsafe_code)]

use crate::shared::{Shareable, SharedSlice};
use plumb_result::Histogram;
use plumb_result::histogram::{BUCKETS, bucket};
use plumb_result::measurement::{Moved, OpMeasurement};
use plumb_workload::OpKind;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// The counts of one distribution of times.
type Buckets = [AtomicU64; BUCKETS];

/// What a distribution of times keeps exactly.
#[repr(C)]
struct Sums {
    sum_ns: AtomicU64,
    /// Smallest value, as its distance from `u64::MAX`, so that zeroed memory means "none yet".
    min_complement: AtomicU64,
    max_ns: AtomicU64,
}

/// The words of one kind of op, those of every op in one cache line.
#[repr(C, align(64))]
struct KindWords {
    count: AtomicU64,
    bytes: AtomicU64,
    service: Sums,
    short: AtomicU64,
    response: Sums,
    submission: Sums,
    completion: Sums,
    /// Ops that were counted at the time of another.
    untimed: AtomicU64,
}

/// The distributions of one kind of op.
#[repr(C)]
struct KindBuckets {
    service: Buckets,
    response: Buckets,
    submission: Buckets,
    completion: Buckets,
}

/// Everything that one worker records. The words come first, together in a page: who only wants to know how much was
/// done reads nothing else.
#[repr(C, align(4096))]
pub(crate) struct WorkerCells {
    /// A bit for each kind that was recorded, and [`RESPONSES`].
    used: AtomicU64,
    transactions: AtomicU64,
    errors: AtomicU64,
    /// How often recording began and ended to begin anew: odd while it is being forgotten what was recorded.
    edition: AtomicU64,
    start_lag: Sums,
    kinds: [KindWords; OpKind::COUNT],
    buckets: [KindBuckets; OpKind::COUNT],
    start_lag_buckets: Buckets,
}

// SAFETY: repr(C), nothing but AtomicU64 and arrays of it.
unsafe impl Shareable for WorkerCells {}

impl Sums {
    fn forget(&self) {
        for cell in [&self.sum_ns, &self.min_complement, &self.max_ns] {
            cell.store(0, Relaxed);
        }
    }
}

/// Forgets a distribution of times.
fn forget_times(sums: &Sums, buckets: &Buckets) {
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
    fn forget(&self) {
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
const RESPONSES: u64 = 1 << 63;

/// The bit of [`WorkerCells::used`] that says that service times were recorded in two parts as well.
const SUBMISSIONS: u64 = 1 << 62;

/// Adds to a cell that only this thread writes: a load and a store, not a locked instruction.
#[inline(always)]
fn add(cell: &AtomicU64, amount: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(amount), Relaxed);
}

/// Adds a time to a distribution.
#[inline(always)]
fn add_time(sums: &Sums, buckets: &Buckets, ns: u64) {
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

fn read_times(sums: &Sums, buckets: &Buckets) -> Histogram {
    let max = sums.max_ns.load(Relaxed);
    // A value recorded after this reading of `max` may lie above it; it belongs to the next reading.
    let used = if sums.sum_ns.load(Relaxed) == 0 && max == 0 { 1 } else { bucket(max) + 1 };
    let min = !sums.min_complement.load(Relaxed);
    // Below the smallest value there is nothing, and looking at it would give it memory.
    let unused = bucket(min.min(max));
    let mut counts = vec![0; used];
    for (count, cell) in counts[unused..].iter_mut().zip(&buckets[unused..used]) {
        *count = cell.load(Relaxed);
    }
    Histogram::from_counts(counts, u128::from(sums.sum_ns.load(Relaxed)), min, max)
}

/// Where ops of one kind are recorded.
#[derive(Clone, Copy)]
struct KindPlace<'a> {
    words: &'a KindWords,
    service: &'a Buckets,
}

/// The writing side, held by one worker.
pub(crate) struct Recorder<'a> {
    cells: &'a WorkerCells,
    /// What is set in [`WorkerCells::used`].
    used: u64,
    /// Where the kinds of op that were recorded are recorded.
    places: [Option<KindPlace<'a>>; OpKind::COUNT],
    /// Those of the measured time, while its ramp lasts.
    measured: Option<&'a WorkerCells>,
    /// Times through the flow in the ramp.
    ramp_transactions: u64,
}

impl<'a> Recorder<'a> {
    /// The recorder over a worker's cells. Only one may exist for each.
    pub(crate) fn new(cells: &'a WorkerCells) -> Recorder<'a> {
        Recorder { cells, used: 0, places: [None; OpKind::COUNT], measured: None, ramp_transactions: 0 }
    }

    /// The recorder of a worker that has a ramp: what is recorded before [`end_ramp`](Recorder::end_ramp) is kept apart.
    pub(crate) fn with_ramp(ramp: &'a WorkerCells, measured: &'a WorkerCells) -> Recorder<'a> {
        Recorder { measured: Some(measured), ..Recorder::new(ramp) }
    }

    /// From here on it is measured.
    pub(crate) fn end_ramp(&mut self) {
        if let Some(measured) = self.measured.take() {
            self.ramp_transactions = self.cells.transactions.load(Relaxed);
            self.cells = measured;
            self.used = 0;
            self.places = [None; OpKind::COUNT];
        }
    }

    /// What was recorded so far is no part of what is measured.
    pub(crate) fn begin_anew(&mut self) {
        self.ramp_transactions += self.cells.transactions.load(Relaxed);
        self.cells.forget();
    }

    /// An op that completed.
    #[inline(always)]
    pub(crate) fn record(&mut self, kind: OpKind, bytes: u64, service_ns: u64) {
        let KindPlace { words, service } = match self.places[kind as usize] {
            Some(place) => place,
            None => self.first_of(kind),
        };
        add_time(&words.service, service, service_ns);
        add(&words.bytes, bytes);
        add(&words.count, 1);
    }

    /// The first op of a kind.
    #[cold]
    #[inline(never)]
    fn first_of(&mut self, kind: OpKind) -> KindPlace<'a> {
        self.uses(1 << kind as u64);
        let cells = self.cells;
        let place = KindPlace { words: &cells.kinds[kind as usize], service: &cells.buckets[kind as usize].service };
        self.places[kind as usize] = Some(place);
        place
    }

    /// So many ops that were timed together, each of the same part of that.
    pub(crate) fn record_many(&mut self, kind: OpKind, ops: u64, bytes: u64, service_ns: u64) {
        if ops == 0 {
            return;
        }
        self.record(kind, bytes, service_ns);
        self.record_like(kind, ops - 1, 0, service_ns, service_ns.saturating_mul(ops - 1));
    }

    /// So many ops of one kind and length that were not timed by themselves: counted at the time of an op that was, which
    /// is recorded already, and with the time that they took together.
    pub(crate) fn record_like(&mut self, kind: OpKind, ops: u64, length: u64, like_ns: u64, together_ns: u64) {
        let words = &self.cells.kinds[kind as usize];
        add(&self.cells.buckets[kind as usize].service[bucket(like_ns)], ops);
        add(&words.service.sum_ns, together_ns);
        add(&words.bytes, ops * length);
        add(&words.count, ops);
        add(&words.untimed, ops);
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
        add_time(&self.cells.kinds[kind as usize].response, &self.cells.buckets[kind as usize].response, response_ns);
        add_time(&self.cells.start_lag, &self.cells.start_lag_buckets, lag_ns);
    }

    /// The two parts of a recorded op's service time: handing it over, and from then on.
    pub(crate) fn record_parts(&mut self, kind: OpKind, submission_ns: u64, completion_ns: u64) {
        self.uses(SUBMISSIONS);
        let (words, buckets) = (&self.cells.kinds[kind as usize], &self.cells.buckets[kind as usize]);
        add_time(&words.submission, &buckets.submission, submission_ns);
        add_time(&words.completion, &buckets.completion, completion_ns);
    }

    /// A read, write or trim that moved less than was asked.
    #[cold]
    pub(crate) fn count_short(&mut self, kind: OpKind) {
        add(&self.cells.kinds[kind as usize].short, 1);
    }

    /// An op that failed.
    #[cold]
    pub(crate) fn count_error(&mut self) {
        add(&self.cells.errors, 1);
    }

    /// Times through the flow, since the worker's start.
    pub(crate) fn set_transactions(&mut self, transactions: u64) {
        self.cells.transactions.store(transactions - self.ramp_transactions, Relaxed);
    }
}

/// One reading of a worker's cells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    pub(crate) kinds: BTreeMap<OpKind, KindReading>,
    pub(crate) start_lag: Histogram,
    pub(crate) transactions: u64,
    /// Also those in the ramp: what fails there is no measurement, but it is news.
    pub(crate) errors: u64,
    /// Of another edition, all but the errors was recorded anew.
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

/// Kinds of op of which a set of used cells speaks.
fn kinds_of(used: u64) -> impl Iterator<Item = OpKind> {
    OpKind::ALL.iter().copied().filter(move |kind| used & (1 << *kind as u64) != 0)
}

/// So often cells are read that are being forgotten meanwhile. Who forgets may have been killed amid it.
const READING_TRIALS: u32 = 1000;

impl Reading {
    fn of(cells: &WorkerCells) -> Reading {
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
        let times = |which: u64, sums: &Sums, buckets: &Buckets| match used & which {
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

    /// What was recorded since an earlier reading of the same worker.
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
            // Against nothing, smallest and largest stay exact.
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

    /// Ops of all kinds.
    pub(crate) fn count(&self) -> u64 {
        self.kinds.values().map(|kind| kind.service.count()).sum()
    }

    /// Bytes of all kinds.
    pub(crate) fn bytes(&self) -> u64 {
        self.kinds.values().map(|kind| kind.bytes).sum()
    }

    /// Reads, writes and trims that moved less than was asked.
    pub(crate) fn short(&self) -> u64 {
        self.kinds.values().map(|kind| kind.short).sum()
    }

    /// By kind of op, as it is told.
    pub(crate) fn measured(&self) -> BTreeMap<OpKind, OpMeasurement> {
        let some = |histogram: &Histogram| (!histogram.is_empty()).then(|| histogram.clone());
        let measured = self.kinds.iter().filter(|(_, reading)| !reading.service.is_empty());
        measured
            .map(|(&kind, reading)| {
                let measurement = OpMeasurement {
                    count: reading.service.count(),
                    bytes: reading.bytes,
                    service: reading.service.clone(),
                    response: some(&reading.response),
                    submission: some(&reading.submission),
                    completion: some(&reading.completion),
                    short_count: reading.short,
                    untimed_count: reading.untimed,
                };
                (kind, measurement)
            })
            .collect()
    }

    /// Sum of all service times, ns.
    pub(crate) fn service_sum_ns(&self) -> u128 {
        self.kinds.values().map(|kind| kind.service.sum()).sum()
    }
}

/// What was done with data, without distributions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Work {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
    pub(crate) service_sum_ns: u64,
}

impl Work {
    /// What was done since an earlier reading.
    pub(crate) fn since(&self, earlier: &Work) -> Work {
        Work {
            // Less than before: what is measured has begun anew.
            count: self.count.saturating_sub(earlier.count),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            service_sum_ns: self.service_sum_ns.wrapping_sub(earlier.service_sum_ns),
        }
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Work>>(all: I) -> Work {
        all.fold(Work::default(), |sum, one| Work {
            count: sum.count + one.count,
            bytes: sum.bytes + one.bytes,
            service_sum_ns: sum.service_sum_ns.wrapping_add(one.service_sum_ns),
        })
    }
}

/// Whether workers of a phase have a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ramps {
    /// None has.
    None,
    /// Some have.
    Some,
}

/// The cells of all workers of a phase.
pub(crate) struct Cells {
    workers: SharedSlice<WorkerCells>,
    /// For what is done in ramps: as many, or none.
    ramps: SharedSlice<WorkerCells>,
}

impl Cells {
    /// Zeroed cells for so many workers.
    pub(crate) fn new(workers: usize, ramps: Ramps) -> io::Result<Cells> {
        let ramps = if ramps == Ramps::Some { workers } else { 0 };
        Ok(Cells { workers: SharedSlice::new(workers)?, ramps: SharedSlice::new(ramps)? })
    }

    /// The cells of one worker's measured time.
    pub(crate) fn worker(&self, number: usize) -> &WorkerCells {
        &self.workers[number]
    }

    /// The cells of one worker's ramp; `None` where nobody has one.
    pub(crate) fn ramp(&self, number: usize) -> Option<&WorkerCells> {
        self.ramps.get(number)
    }

    /// Reads one worker's cells.
    pub(crate) fn read_worker(&self, number: usize) -> Reading {
        let mut reading = Reading::of(self.worker(number));
        reading.errors += self.ramp(number).map_or(0, |cells| cells.errors.load(Relaxed));
        reading
    }

    /// Reads every worker's cells.
    pub(crate) fn read(&self) -> Vec<Reading> {
        (0..self.workers.len()).map(|number| self.read_worker(number)).collect()
    }

    /// What a worker has done with data in its measured time, of all kinds: a page is read, and no distributions.
    pub(crate) fn work(&self, number: usize) -> Work {
        let cells = self.worker(number);
        let kinds = kinds_of(cells.used.load(Relaxed)).filter(|kind| kind.moves_bytes());
        kinds
            .map(|kind| {
                let words = &cells.kinds[kind as usize];
                Work {
                    count: words.count.load(Relaxed),
                    bytes: words.bytes.load(Relaxed),
                    service_sum_ns: words.service.sum_ns.load(Relaxed),
                }
            })
            .sum()
    }

    /// What a worker has done in its measured time: a page is read, and no distributions.
    pub(crate) fn moved(&self, number: usize) -> BTreeMap<OpKind, Moved> {
        moved_in(self.worker(number))
    }

    /// Bytes that a worker has moved in its ramp.
    pub(crate) fn ramp_bytes(&self, number: usize) -> u64 {
        let moved = self.ramp(number).map(moved_in).unwrap_or_default();
        moved.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, moved)| moved.bytes).sum()
    }
}

fn moved_in(cells: &WorkerCells) -> BTreeMap<OpKind, Moved> {
    kinds_of(cells.used.load(Relaxed))
        .map(|kind| {
            let words = &cells.kinds[kind as usize];
            (kind, Moved { count: words.count.load(Relaxed), bytes: words.bytes.load(Relaxed) })
        })
        .filter(|(_, moved)| moved.count > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: memory that is made ready for ops holds none.
    #[test]
    fn what_is_only_expected_is_not_recorded() {
        let cells = Cells::new(1, Ramps::None).unwrap();
        cells.worker(0).expect(&[OpKind::Read, OpKind::Write].into());
        let reading = cells.read_worker(0);
        assert_eq!((reading.count(), reading.errors), (0, 0));
        assert_eq!(reading.measured(), BTreeMap::new());
        Recorder::new(cells.worker(0)).record(OpKind::Read, 4096, 500);
        let measured = cells.read_worker(0).measured();
        assert_eq!(measured.keys().collect::<Vec<_>>(), [&OpKind::Read]);
        assert_eq!((measured[&OpKind::Read].service.count(), measured[&OpKind::Read].service.min()), (1, Some(500)));
    }

    #[test]
    fn what_was_recorded_is_read_back_with_exact_extremes() {
        let cells = Cells::new(2, Ramps::None).unwrap();
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
        let cells = Cells::new(1, Ramps::None).unwrap();
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
        let cells = Cells::new(1, Ramps::None).unwrap();
        Recorder::new(cells.worker(0)).record(OpKind::Read, 1, 0);
        assert_eq!(cells.read()[0].count(), 1);
    }

    // Protects: ops of the ramp are no part of what is measured, and the extremes of what is are exact.
    #[test]
    fn what_is_recorded_in_the_ramp_is_kept_apart() {
        let cells = Cells::new(1, Ramps::Some).unwrap();
        let mut recorder = Recorder::with_ramp(cells.ramp(0).unwrap(), cells.worker(0));
        recorder.record(OpKind::Read, 4096, 7);
        recorder.count_error();
        recorder.set_transactions(3);
        assert_eq!((cells.read()[0].count(), cells.read()[0].errors), (0, 1), "an error is news all the same");
        recorder.end_ramp();
        recorder.record(OpKind::Read, 4096, 1_000_001);
        recorder.set_transactions(5);
        let reading = &cells.read()[0];
        let service = &reading.kinds[&OpKind::Read].service;
        assert_eq!((service.count(), service.min(), service.max()), (1, Some(1_000_001), Some(1_000_001)));
        assert_eq!(reading.transactions, 2);
        assert_eq!(cells.moved(0), [(OpKind::Read, Moved { count: 1, bytes: 4096 })].into());
    }

    // Protects: what was recorded for a search is no part of the result, whatever was read of it meanwhile.
    #[test]
    fn what_was_recorded_before_it_begins_anew_is_forgotten() {
        let cells = Cells::new(1, Ramps::None).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        recorder.record(OpKind::Read, 4096, 1_000_000);
        recorder.record_response(OpKind::Read, 2_000_000, 1_000);
        recorder.record_parts(OpKind::Read, 500, 999_500);
        recorder.count_error();
        let search = cells.read();
        recorder.begin_anew();
        assert_eq!((cells.read()[0].count(), cells.read()[0].errors), (0, 1), "an error is news all the same");
        recorder.record(OpKind::Read, 512, 77);
        let reading = &cells.read()[0];
        let ops = reading.measured();
        let read = &ops[&OpKind::Read];
        assert_eq!((read.count, read.bytes, read.service.min(), read.service.max()), (1, 512, Some(77), Some(77)));
        assert!(read.response.is_none() && read.completion.is_none() && reading.start_lag.is_empty());
        let since = reading.since(&search[0]);
        assert_eq!((since.count(), since.bytes(), since.errors), (1, 512, 0));
    }

    #[test]
    fn parts_of_service_times_are_kept_beside_them() {
        let cells = Cells::new(1, Ramps::None).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        recorder.record(OpKind::Write, 512, 9_000);
        recorder.record_parts(OpKind::Write, 300, 8_700);
        recorder.count_short(OpKind::Write);
        let ops = cells.read()[0].measured();
        let write = &ops[&OpKind::Write];
        assert_eq!(write.service.max(), Some(9_000));
        assert_eq!(write.submission.as_ref().and_then(Histogram::max), Some(300));
        assert_eq!(write.completion.as_ref().and_then(Histogram::max), Some(8_700));
        assert_eq!((write.short_count, write.response.is_none()), (1, true));
    }

    #[test]
    fn ops_of_a_group_count_one_by_one() {
        let cells = Cells::new(1, Ramps::None).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        recorder.record_many(OpKind::Write, 16, 16 * 512, 100);
        recorder.record_many(OpKind::Read, 0, 0, 100);
        recorder.record(OpKind::Write, 512, 900);
        let ops = cells.read()[0].measured();
        assert_eq!(ops.len(), 1, "of reads there are none");
        let write = &ops[&OpKind::Write];
        assert_eq!((write.count, write.bytes), (17, 17 * 512));
        assert_eq!((write.service.count(), write.service.sum()), (17, 16 * 100 + 900));
        assert_eq!(write.untimed_count, 15, "one of the group stands for its reading of the clock");
    }
}
