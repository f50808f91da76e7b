//! What all workers had done when the first of them was done: taken by that worker itself, at the end of its own time.

use crate::recorder::PhaseCells;
use crate::shared::SharedSlice;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// Nobody is done.
const OPEN: u64 = 0;
/// Somebody is, and is writing down what he sees.
const TAKEN: u64 = 1;
/// It is written down.
const THERE: u64 = 2;

/// What all workers had done when the first of them was done.
pub(crate) struct FirstDone {
    /// The state, then a count and bytes for each kind of op.
    words: SharedSlice<AtomicU64>,
    workers: usize,
}

impl FirstDone {
    /// For this many workers.
    pub(crate) fn new(workers: usize) -> io::Result<FirstDone> {
        Ok(FirstDone { words: SharedSlice::new(1 + 2 * OpKind::COUNT)?, workers })
    }

    /// Called by each worker as soon as its own time is over; what the first one sees counts.
    pub(crate) fn take(&self, cells: &PhaseCells) {
        if self.workers < 2 || self.words[0].compare_exchange(OPEN, TAKEN, AcqRel, Relaxed).is_err() {
            return;
        }
        for number in 0..self.workers {
            for (kind, moved) in cells.moved(number) {
                let at = 1 + 2 * kind as usize;
                self.words[at].fetch_add(moved.count, Relaxed);
                self.words[at + 1].fetch_add(moved.bytes, Relaxed);
            }
        }
        self.words[0].store(THERE, Release);
    }

    /// What was seen; nothing where nobody is done, or nobody else was there.
    pub(crate) fn read(&self) -> BTreeMap<OpKind, Moved> {
        if self.words[0].load(Acquire) != THERE {
            return BTreeMap::new();
        }
        let moved = |kind: OpKind| {
            let at = 1 + 2 * kind as usize;
            Moved { count: self.words[at].load(Relaxed), bytes: self.words[at + 1].load(Relaxed) }
        };
        let seen = OpKind::ALL.iter().map(|&kind| (kind, moved(kind)));
        BTreeMap::from_iter(seen.filter(|(_, moved)| moved.count > 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Ramps, Recorder};

    // Protects: only what the first one saw counts, of all workers, and a worker alone is no first.
    #[test]
    fn the_first_one_counts_all_of_them() {
        let cells = PhaseCells::new(2, Ramps::None).unwrap();
        let (mut one, mut two) = (Recorder::new(cells.worker(0)), Recorder::new(cells.worker(1)));
        one.record(OpKind::Read, 4096, 10);
        two.record(OpKind::Read, 512, 10);
        two.record(OpKind::Stat, 0, 10);
        let first = FirstDone::new(2).unwrap();
        assert!(first.read().is_empty());
        first.take(&cells);
        two.record(OpKind::Read, 512, 10);
        first.take(&cells);
        let seen = first.read();
        assert_eq!(seen[&OpKind::Read], Moved { count: 2, bytes: 4608 });
        assert_eq!(seen[&OpKind::Stat], Moved { count: 1, bytes: 0 });
        let alone = FirstDone::new(1).unwrap();
        alone.take(&cells);
        assert!(alone.read().is_empty());
    }
}
