//! Fill level and batch sizes of a worker's queue: plain counters in memory shared with the coordinator, only for
//! jobs that ask for them.

use crate::shared::SharedSlice;
use plumb_result::measurement::QueueCounts;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counters of all workers of a phase.
pub(crate) struct QueueCells {
    cells: SharedSlice<AtomicU64>,
    /// By worker: index of its first counter, and its depth; `None` without counters.
    places: Vec<Option<CellRange>>,
}

#[derive(Clone, Copy)]
struct CellRange {
    start: usize,
    depth: usize,
}

impl CellRange {
    /// Returns the number of counters of one distribution: from 0 to the depth.
    fn each(self) -> usize {
        self.depth + 1
    }
}

impl QueueCells {
    /// Allocates zeroed counters for workers with these depths.
    pub(crate) fn new(depths: &[Option<u32>]) -> io::Result<QueueCells> {
        let mut cells = 0;
        let mut place = |depth: u32| {
            let place = CellRange { start: cells, depth: depth as usize };
            cells += 3 * place.each();
            place
        };
        let places = depths.iter().map(|depth| depth.map(&mut place)).collect();
        Ok(QueueCells { cells: SharedSlice::new(cells)?, places })
    }

    /// Returns the writer of one worker; `None` without counters. Only one may exist per worker.
    pub(crate) fn tally(&self, worker: usize) -> Option<QueueTally<'_>> {
        let place = (*self.places.get(worker)?)?;
        let each = place.each();
        let part = |number: usize| &self.cells[place.start + number * each..place.start + (number + 1) * each];
        Some(QueueTally { depth: part(0), submitted: part(1), completed: part(2) })
    }

    /// Returns a worker's counts; `None` if it counts nothing, or never used a queue.
    pub(crate) fn read(&self, worker: usize) -> Option<QueueCounts> {
        let tally = self.tally(worker)?;
        let read = |cells: &[AtomicU64]| -> Vec<u64> {
            let mut counts: Vec<u64> = cells.iter().map(|cell| cell.load(Relaxed)).collect();
            counts.truncate(counts.iter().rposition(|&count| count != 0).map_or(0, |last| last + 1));
            counts
        };
        let counts = QueueCounts {
            depth: read(tally.depth),
            submitted: read(tally.submitted),
            completed: read(tally.completed),
        };
        (!counts.depth.is_empty()).then_some(counts)
    }
}

/// Writer of one worker's counters.
#[derive(Clone, Copy)]
pub(crate) struct QueueTally<'a> {
    depth: &'a [AtomicU64],
    submitted: &'a [AtomicU64],
    completed: &'a [AtomicU64],
}

fn add(cells: &[AtomicU64], at: usize, amount: u64) {
    if let Some(cell) = cells.get(at) {
        cell.store(cell.load(Relaxed) + amount, Relaxed);
    }
}

impl QueueTally<'_> {
    /// Records a submission of `ops` ops, with `in_flight_before` ops in flight before.
    pub(crate) fn submitted(&self, in_flight_before: usize, ops: usize) {
        add(self.submitted, ops, 1);
        for number in 1..=ops {
            add(self.depth, in_flight_before + number, 1);
        }
    }

    /// Records `ops` completions that were reaped together.
    pub(crate) fn completed(&self, ops: usize) {
        add(self.completed, ops, 1);
    }

    /// Resets the counters at the end of the ramp.
    pub(crate) fn forget(&self) {
        for cell in self.depth.iter().chain(self.submitted).chain(self.completed) {
            cell.store(0, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_op_counts_at_its_own_depth() {
        let cells = QueueCells::new(&[None, Some(4)]).unwrap();
        assert!(cells.tally(0).is_none());
        assert_eq!(cells.read(1), None, "nothing was submitted");
        let tally = cells.tally(1).unwrap();
        tally.submitted(0, 3);
        tally.completed(2);
        tally.submitted(1, 1);
        let counts = cells.read(1).unwrap();
        assert_eq!(counts.depth, [0, 1, 2, 1]);
        assert_eq!((counts.submitted, counts.completed), (vec![0, 1, 0, 1], vec![0, 0, 1]));
        tally.forget();
        assert_eq!(cells.read(1), None);
    }
}
