//! Meetings of the workers of all ranks inside a phase: at its stonewall, and at its barrier steps.
//!
//! Every rank takes part in every meeting of a phase, so that none waits for one that never comes: a rank whose workers have ended, or
//! that has none, does so from the end of its phase.

use super::patience::AfterSignal;
use plumb_cluster::{Cluster, ClusterError, Reduction};
use plumb_engine::OtherProcesses;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The meetings of a run.
pub(super) struct Meetings {
    cluster: Arc<dyn Cluster>,
    after_signal: AfterSignal,
    phase: Mutex<PhaseMeetings>,
}

/// Those of the phase at hand.
#[derive(Default)]
struct PhaseMeetings {
    met: usize,
    /// Somebody did not come.
    failed: Option<ClusterError>,
}

impl Meetings {
    pub(super) fn new(cluster: Arc<dyn Cluster>, after_signal: AfterSignal) -> Meetings {
        Meetings { cluster, after_signal, phase: Mutex::default() }
    }

    fn phase(&self) -> MutexGuard<'_, PhaseMeetings> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Comes to those of a phase's meetings that this rank's workers have not come to. The next meeting is that of another phase.
    ///
    /// # Errors
    /// A rank did not come.
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
        // Those below wait for an answer, whether somebody is missing or not.
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

/// The largest count.
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

    /// Each rank by itself, in a thread.
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

    // Protects: all learn of the furthest, meeting by meeting, and a rank whose workers never come, or come once only, holds up nobody.
    #[test]
    fn everybody_meets_and_learns_of_the_furthest() {
        let said = together(35, |rank, meetings| {
            let mut said = Vec::new();
            for phase in [0, 100] {
                let comes = match rank {
                    34 => 0,
                    33 => 1,
                    _ => 2,
                };
                said.extend((0..comes).map(|meeting| meetings.meet(phase + 10 * meeting + u64::from(rank % 7))));
                meetings.finish(2).unwrap();
            }
            said
        });
        let furthest: Vec<Option<u64>> = [6, 16, 106, 116].map(Some).into();
        assert!(said[..33].iter().all(|said| *said == furthest), "{said:?}");
        assert_eq!((&said[33], &said[34]), (&vec![Some(6), Some(106)], &Vec::new()));
    }
}
