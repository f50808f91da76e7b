//! Progress of all workers when the first one is done. That worker reads it at the end of its own time.

use crate::recorder::PhaseCells;
use crate::shared::SharedSlice;
use plumb_result::measurement::Moved;
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// No worker is done.
const OPEN: u64 = 0;
/// A worker is done and is storing the progress.
const TAKEN: u64 = 1;
/// The progress is stored.
const STORED: u64 = 2;

/// Progress of all workers when the first one was done.
pub(crate) struct FirstDone {
    /// The state, then a count and bytes for each kind of op.
    words: SharedSlice<AtomicU64>,
    workers: usize,
}

impl FirstDone {
    pub(crate) fn new(workers: usize) -> io::Result<FirstDone> {
        Ok(FirstDone { words: SharedSlice::new(1 + 2 * OpKind::COUNT)?, workers })
    }

    /// Stores the progress if this worker is the first to end. Every worker calls this right after its time is over.
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
        self.words[0].store(STORED, Release);
    }

    /// Returns the stored progress; empty if no worker is done, or if there is only one.
    pub(crate) fn read(&self) -> BTreeMap<OpKind, Moved> {
        if self.words[0].load(Acquire) != STORED {
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

    // Protects the result: only the snapshot of the first worker counts, and a single worker has none.
    #[test]
    fn the_first_finisher_counts_all_workers() {
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
