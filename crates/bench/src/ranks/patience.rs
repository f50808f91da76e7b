//! Limits a rank's wait for other ranks after a signal.

use plumb_cluster::Cluster;
use plumb_engine::signals::{StopFlag, StopSignal, signalled_alone};
use std::cell::OnceCell;
use std::time::{Duration, Instant};

/// After a signal to all ranks, each collective step waits this long for the ranks below, which may have died.
/// Launchers kill a second after their signal, and measurements must be stored by then. A rank waits [`EACH_LEVEL`]
/// longer for each level of ranks below it, which do the same.
const AFTER_SIGNAL: Duration = Duration::from_millis(200);
/// See [`AFTER_SIGNAL`].
const EACH_LEVEL: Duration = Duration::from_millis(50);
/// The rank above answers once it has waited for all ranks below it. If a rank gave up earlier and exited, launchers
/// would kill rank 0, which still has to store results.
const FOR_AN_ANSWER: Duration = Duration::from_secs(5);
/// After a signal to this rank alone, no launcher kills, and the others learn of it at their next sign of life.
const AFTER_OWN_SIGNAL: Duration = Duration::from_secs(10);

/// Waits forever, but only for a limited time after a signal.
#[derive(Debug, Clone, Copy)]
pub(super) struct AfterSignal {
    stop: StopFlag,
    parent: Option<u32>,
    /// Levels of ranks below this one.
    height: u32,
    /// No launcher forwards a signal to the other ranks, and none kills.
    leads_only: bool,
}

impl AfterSignal {
    pub(super) fn new(stop: StopFlag, cluster: &dyn Cluster) -> AfterSignal {
        let leads_only = cluster.leads_only();
        AfterSignal { stop, parent: cluster.parent(), height: cluster.height(), leads_only }
    }

    /// Returns `true` if this process got a signal. Does not count the end of a run by another rank, which has the
    /// reason.
    pub(super) fn is_signalled(&self) -> bool {
        self.stop.signal().is_some_and(|signal| signal != StopSignal::Program)
    }

    /// Returns the wait condition of one collective step.
    pub(super) fn patience(&self) -> impl Fn(u32, Duration) -> bool {
        let (own, since) = (*self, OnceCell::new());
        move |rank, _waited| {
            let most = || if own.leads_only || signalled_alone() { AFTER_OWN_SIGNAL } else { own.most(rank) };
            !own.is_signalled() || since.get_or_init(Instant::now).elapsed() < most()
        }
    }

    /// Returns the longest wait after a signal to all ranks.
    fn most(&self, rank: u32) -> Duration {
        match self.parent == Some(rank) {
            true => FOR_AN_ANSWER,
            false => AFTER_SIGNAL + EACH_LEVEL * self.height,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_cluster::tree;

    // Protects measurements when a rank dies: no rank gives up before those above it have gone on without the dead
    // one, and rank 0 has time left of the second that launchers give.
    #[test]
    fn no_rank_gives_up_before_the_ranks_above() {
        for size in [2, 33, 34, 1057, 1058, 40_000] {
            let of = |rank: u32| AfterSignal {
                stop: StopFlag::detached(),
                parent: tree::parent(rank),
                height: tree::height(rank, size),
                leads_only: false,
            };
            for rank in 1..size {
                let parent = tree::parent(rank).unwrap();
                assert!(of(rank).most(parent) > of(0).most(1), "{rank} of {size}");
                if tree::height(rank, size) > 0 {
                    let child = tree::children(rank, size).next().unwrap();
                    assert!(of(rank).most(child) < of(parent).most(rank), "{rank} of {size}");
                }
            }
            assert!(of(0).most(1) * 2 < Duration::from_millis(900), "{size}");
        }
    }
}
