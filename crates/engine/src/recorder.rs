//! Recorders: a worker's counters and latency histograms, in memory shared with the coordinator.
//!
//! Every cell has one writer, its worker, and only grows. The coordinator reads the cells while the worker writes them
//! and takes the difference of two readings; so interval series, the end of the ramp and the live line cost the hot
//! loop nothing, and a second in which nothing completed is a difference of zero.

mod cells;
mod reading;
#[cfg(test)]
mod tests;

pub(crate) use cells::{SharedTimes, WorkerCells};
pub(crate) use reading::{DataTotals, Reading};

use crate::shared::SharedSlice;
use cells::{Buckets, KindWords, RESPONSES, SUBMISSIONS, add, add_time};
use plumb_result::histogram::bucket;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;
use reading::moved_in;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

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

    /// This many ops that were timed together, each of the same part of that.
    pub(crate) fn record_many(&mut self, kind: OpKind, ops: u64, bytes: u64, service_ns: u64) {
        if ops == 0 {
            return;
        }
        self.record(kind, bytes, service_ns);
        self.record_like(kind, ops - 1, 0, service_ns, service_ns.saturating_mul(ops - 1));
    }

    /// This many ops of one kind and length that were not timed by themselves: counted at the time of an op that was, which
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

/// Whether workers of a phase have a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ramps {
    /// None has.
    None,
    /// Some have.
    Some,
}

/// The cells of all workers of a phase.
pub(crate) struct PhaseCells {
    workers: SharedSlice<WorkerCells>,
    /// For what is done in ramps: as many, or none.
    ramps: SharedSlice<WorkerCells>,
}

impl PhaseCells {
    /// Zeroed cells for this many workers.
    pub(crate) fn new(workers: usize, ramps: Ramps) -> io::Result<PhaseCells> {
        let ramps = if ramps == Ramps::Some { workers } else { 0 };
        Ok(PhaseCells { workers: SharedSlice::new(workers)?, ramps: SharedSlice::new(ramps)? })
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
    pub(crate) fn data_totals(&self, number: usize) -> DataTotals {
        DataTotals::of(self.worker(number))
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
