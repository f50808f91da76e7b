//! How full a worker's queue is and how its ops are gathered: plain counters in memory shared with the coordinator, only
//! for those who ask.

use crate::shared::SharedSlice;
use plumb_result::measurement::QueueCounts;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The counters of all workers of a phase.
pub(crate) struct QueueCells {
    cells: SharedSlice<AtomicU64>,
    /// By worker: where its counters begin and its depth; `None` where it keeps none.
    places: Vec<Option<CellRange>>,
}

#[derive(Clone, Copy)]
struct CellRange {
    start: usize,
    depth: usize,
}

impl CellRange {
    /// Counters of one distribution: from 0 to the depth.
    fn each(self) -> usize {
        self.depth + 1
    }
}

impl QueueCells {
    /// Zeroed counters for workers of these depths; nothing for those without.
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

    /// The writing side of one worker. Only one may exist for each.
    pub(crate) fn tally(&self, worker: usize) -> Option<QueueTally<'_>> {
        let place = (*self.places.get(worker)?)?;
        let each = place.each();
        let part = |number: usize| &self.cells[place.start + number * each..place.start + (number + 1) * each];
        Some(QueueTally { depth: part(0), submitted: part(1), completed: part(2) })
    }

    /// What a worker has counted; `None` where it counts nothing, or had no queue after all.
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

/// The writing side of one worker's counters.
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
    /// This many ops were handed over together, with this many in flight before.
    pub(crate) fn submitted(&self, in_flight_before: usize, ops: usize) {
        add(self.submitted, ops, 1);
        for number in 1..=ops {
            add(self.depth, in_flight_before + number, 1);
        }
    }

    /// This many completions were taken together.
    pub(crate) fn completed(&self, ops: usize) {
        add(self.completed, ops, 1);
    }

    /// The ramp is over: what was counted in it is forgotten.
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
        assert_eq!(cells.read(1), None, "nothing was handed over");
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
