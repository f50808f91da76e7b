//! Synchronizes the workers of all ranks inside a phase: at its stonewall, and at its barrier steps.
//!
//! Every rank attends every meeting of a phase, so that no rank waits for one that never arrives. A rank whose workers
//! have ended, or that has none, attends the remaining meetings once its own phase has ended.

use super::patience::AfterSignal;
use plumb_cluster::{Cluster, ClusterError, Reduction};
use plumb_engine::OtherProcesses;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All meetings of a run.
pub(super) struct Meetings {
    cluster: Arc<dyn Cluster>,
    after_signal: AfterSignal,
    phase: Mutex<PhaseMeetings>,
}

/// Meetings of the current phase.
#[derive(Default)]
struct PhaseMeetings {
    met: usize,
    /// Error of a meeting that some rank did not attend.
    failed: Option<ClusterError>,
}

impl Meetings {
    pub(super) fn new(cluster: Arc<dyn Cluster>, after_signal: AfterSignal) -> Meetings {
        Meetings { cluster, after_signal, phase: Mutex::default() }
    }

    fn phase(&self) -> MutexGuard<'_, PhaseMeetings> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attends the meetings of a phase that this rank's workers have not attended. The next
    /// meeting belongs to another phase.
    ///
    /// # Errors
    /// A rank did not attend.
    pub(super) fn finish(&self, all: usize) -> Result<(), ClusterError> {
        while self.phase().met < all && self.meet(0).is_some() {}
        match std::mem::take(&mut *self.phase()).failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn furthest(&self, count: u64) -> Result<u64, ClusterError> {
        let patience = self.after_signal.patience();
        let mut furthest = Furthest { count, missing: None };
        self.cluster.reduce(&mut furthest, &patience)?;
        // The ranks below wait for an answer, even if a rank is missing.
        let answer = self.cluster.broadcast(furthest.count.to_le_bytes().to_vec(), &patience)?;
        match furthest.missing {
            Some(error) => Err(error),
            None => read(&answer).ok_or(ClusterError::Unexpected { rank: 0, what: "not a count" }),
        }
    }
}

impl OtherProcesses for Meetings {
    fn give_up(&self) {
        self.cluster.announce_end();
    }

    fn meet(&self, count: u64) -> Option<u64> {
        let mut phase = self.phase();
        if phase.failed.is_some() {
            return None;
        }
        phase.met += 1;
        match self.furthest(count) {
            Ok(count) => Some(count),
            Err(error) => {
                phase.failed = Some(error);
                None
            }
        }
    }
}

fn read(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// Reduces to the largest count.
struct Furthest {
    count: u64,
    missing: Option<ClusterError>,
}

impl Reduction for Furthest {
    fn absorb(&mut self, child: u32, sent: Result<Vec<u8>, ClusterError>) {
        let unexpected = ClusterError::Unexpected { rank: child, what: "not a count" };
        match sent.and_then(|bytes| read(&bytes).ok_or(unexpected)) {
            Ok(count) => self.count = self.count.max(count),
            Err(error) => self.missing = Some(error),
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        self.count.to_le_bytes().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_cluster::in_process::{Thread, threads};
    use plumb_engine::signals::StopFlag;

    /// Runs each rank in its own thread.
    fn together<T: Send>(ranks: u32, body: impl Fn(u32, &Meetings) -> T + Sync) -> Vec<T> {
        let meetings = |rank: Thread| {
            let after_signal = AfterSignal::new(StopFlag::detached(), &rank);
            Meetings::new(Arc::new(rank), after_signal)
        };
        let all: Vec<Meetings> = threads(ranks).into_iter().map(meetings).collect();
        std::thread::scope(|scope| {
            let body = &body;
            let running: Vec<_> =
                (0..).zip(&all).map(|(rank, meetings)| scope.spawn(move || body(rank, meetings))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    // Protects: in each meeting, all ranks learn the largest count, and a rank whose workers arrive late, or not at
    // all, does not hold up the others.
    #[test]
    fn all_ranks_meet_and_learn_the_largest_count() {
        let counts = together(35, |rank, meetings| {
            let mut counts = Vec::new();
            for phase in [0, 100] {
                let attended = match rank {
                    34 => 0,
                    33 => 1,
                    _ => 2,
                };
                counts.extend((0..attended).map(|meeting| meetings.meet(phase + 10 * meeting + u64::from(rank % 7))));
                meetings.finish(2).unwrap();
            }
            counts
        });
        let furthest: Vec<Option<u64>> = [6, 16, 106, 116].map(Some).into();
        assert!(counts[..33].iter().all(|counts| *counts == furthest), "{counts:?}");
        assert_eq!((&counts[33], &counts[34]), (&vec![Some(6), Some(106)], &Vec::new()));
    }
}
