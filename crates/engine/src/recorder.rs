//! Recorders: a worker's counters and latency histograms, in memory shared with the coordinator.
//!
//! Every cell has one writer, its worker, and only increases. The coordinator reads the cells while the worker writes
//! them, and takes the difference of two readings. So the interval series, the end of the ramp and the live line cost
//! the hot loop nothing, and a second without completions is a difference of zero.

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

/// Cells for ops of one kind.
#[derive(Clone, Copy)]
struct KindPlace<'a> {
    words: &'a KindWords,
    service: &'a Buckets,
}

/// Writer of the cells, owned by one worker.
pub(crate) struct Recorder<'a> {
    cells: &'a WorkerCells,
    /// Copy of [`WorkerCells::used`].
    used: u64,
    /// Cells of the kinds of op recorded so far.
    places: [Option<KindPlace<'a>>; OpKind::COUNT],
    /// Cells of the measured time, until the ramp ends.
    measured: Option<&'a WorkerCells>,
    /// Number of completed transactions in the ramp.
    ramp_transactions: u64,
}

impl<'a> Recorder<'a> {
    /// Creates the recorder over a worker's cells. Only one may exist per worker.
    pub(crate) fn new(cells: &'a WorkerCells) -> Recorder<'a> {
        Recorder { cells, used: 0, places: [None; OpKind::COUNT], measured: None, ramp_transactions: 0 }
    }

    /// Creates the recorder of a worker with a ramp: ops before [`end_ramp`](Recorder::end_ramp) are recorded
    /// separately.
    pub(crate) fn with_ramp(ramp: &'a WorkerCells, measured: &'a WorkerCells) -> Recorder<'a> {
        Recorder { measured: Some(measured), ..Recorder::new(ramp) }
    }

    /// Starts to record measured time.
    pub(crate) fn end_ramp(&mut self) {
        if let Some(measured) = self.measured.take() {
            self.ramp_transactions = self.cells.transactions.load(Relaxed);
            self.cells = measured;
            self.used = 0;
            self.places = [None; OpKind::COUNT];
        }
    }

    /// Discards everything recorded so far, which is not part of the measurement.
    pub(crate) fn restart(&mut self) {
        self.ramp_transactions += self.cells.transactions.load(Relaxed);
        self.cells.forget();
    }

    /// Records a completed op.
    #[inline(always)]
    pub(crate) fn record(&mut self, kind: OpKind, bytes: u64, service_ns: u64) {
        let KindPlace { words, service } = match self.places[kind as usize] {
            Some(place) => place,
            None => self.first_op_of(kind),
        };
        add_time(&words.service, service, service_ns);
        add(&words.bytes, bytes);
        add(&words.count, 1);
    }

    /// Prepares the cells of a kind, at its first op.
    #[cold]
    #[inline(never)]
    fn first_op_of(&mut self, kind: OpKind) -> KindPlace<'a> {
        self.uses(1 << kind as u64);
        let cells = self.cells;
        let place = KindPlace { words: &cells.kinds[kind as usize], service: &cells.buckets[kind as usize].service };
        self.places[kind as usize] = Some(place);
        place
    }

    /// Records `ops` ops that were timed together, each with the same part of the time.
    pub(crate) fn record_many(&mut self, kind: OpKind, ops: u64, bytes: u64, service_ns: u64) {
        if ops == 0 {
            return;
        }
        self.record(kind, bytes, service_ns);
        self.record_like(kind, ops - 1, 0, service_ns, service_ns.saturating_mul(ops - 1));
    }

    /// Records `ops` untimed ops of one kind and length. They count in the histogram with the time of a similar op that
    /// is already recorded, and in the sum with the time that they took together.
    pub(crate) fn record_like(&mut self, kind: OpKind, ops: u64, length: u64, like_ns: u64, together_ns: u64) {
        let words = &self.cells.kinds[kind as usize];
        add(&self.cells.buckets[kind as usize].service[bucket(like_ns)], ops);
        add(&words.service.sum_ns, together_ns);
        add(&words.bytes, ops * length);
        add(&words.count, ops);
        add(&words.untimed, ops);
    }

    /// Marks cells as used. Reading unused cells would make the kernel allocate them, some hundred KiB per worker.
    #[inline(always)]
    fn uses(&mut self, bit: u64) {
        if self.used & bit == 0 {
            self.used |= bit;
            self.cells.used.store(self.used, Relaxed);
        }
    }

    /// Records the response time of an op under an open load, and the delay of its start.
    #[inline(always)]
    pub(crate) fn record_response(&mut self, kind: OpKind, response_ns: u64, lag_ns: u64) {
        self.uses(RESPONSES);
        add_time(&self.cells.kinds[kind as usize].response, &self.cells.buckets[kind as usize].response, response_ns);
        add_time(&self.cells.start_lag, &self.cells.start_lag_buckets, lag_ns);
    }

    /// Records the two parts of an op's service time: submission and completion.
    pub(crate) fn record_parts(&mut self, kind: OpKind, submission_ns: u64, completion_ns: u64) {
        self.uses(SUBMISSIONS);
        let (words, buckets) = (&self.cells.kinds[kind as usize], &self.cells.buckets[kind as usize]);
        add_time(&words.submission, &buckets.submission, submission_ns);
        add_time(&words.completion, &buckets.completion, completion_ns);
    }

    /// Counts a read, write or trim that moved fewer bytes than requested.
    #[cold]
    pub(crate) fn count_short(&mut self, kind: OpKind) {
        add(&self.cells.kinds[kind as usize].short, 1);
    }

    /// Counts a failed op.
    #[cold]
    pub(crate) fn count_error(&mut self) {
        add(&self.cells.errors, 1);
    }

    /// Sets the number of completed transactions since the worker's start.
    pub(crate) fn set_transactions(&mut self, transactions: u64) {
        self.cells.transactions.store(transactions - self.ramp_transactions, Relaxed);
    }
}

/// Whether workers of a phase have a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ramps {
    /// No worker has a ramp.
    None,
    /// Some workers have a ramp.
    Some,
}

/// Cells of all workers of a phase.
pub(crate) struct PhaseCells {
    workers: SharedSlice<WorkerCells>,
    /// Cells for ops in ramps: one per worker, or none.
    ramps: SharedSlice<WorkerCells>,
}

impl PhaseCells {
    /// Allocates zeroed cells for `workers` workers.
    pub(crate) fn new(workers: usize, ramps: Ramps) -> io::Result<PhaseCells> {
        let ramps = if ramps == Ramps::Some { workers } else { 0 };
        Ok(PhaseCells { workers: SharedSlice::new(workers)?, ramps: SharedSlice::new(ramps)? })
    }

    /// Returns the cells of one worker's measured time.
    pub(crate) fn worker(&self, number: usize) -> &WorkerCells {
        &self.workers[number]
    }

    /// Returns the cells of one worker's ramp; `None` if no worker has one.
    pub(crate) fn ramp(&self, number: usize) -> Option<&WorkerCells> {
        self.ramps.get(number)
    }

    /// Reads one worker's cells.
    pub(crate) fn read_worker(&self, number: usize) -> Reading {
        let mut reading = Reading::from_cells(self.worker(number));
        reading.errors += self.ramp(number).map_or(0, |cells| cells.errors.load(Relaxed));
        reading
    }

    /// Reads every worker's cells.
    pub(crate) fn read(&self) -> Vec<Reading> {
        (0..self.workers.len()).map(|number| self.read_worker(number)).collect()
    }

    /// Returns a worker's totals of data ops in its measured time. Reads one page and no distributions.
    pub(crate) fn data_totals(&self, number: usize) -> DataTotals {
        DataTotals::from_cells(self.worker(number))
    }

    /// Returns a worker's ops and bytes in its measured time, by kind. Reads one page and no distributions.
    pub(crate) fn moved(&self, number: usize) -> BTreeMap<OpKind, Moved> {
        moved_in(self.worker(number))
    }

    /// Returns the number of bytes that a worker has moved in its ramp.
    pub(crate) fn ramp_bytes(&self, number: usize) -> u64 {
        let moved = self.ramp(number).map(moved_in).unwrap_or_default();
        moved.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, moved)| moved.bytes).sum()
    }
}
