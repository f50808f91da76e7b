//! The other ranks' side: the runs and the work that rank 0 asks for.

use super::JoinedRanks;
use super::order::{Order, ResolveOrder, Resolved, RunOrder, UNREADABLE, UnreadOrder};
use super::patience::AfterSignal;
use crate::fit::fit;
use crate::progress::Progress;
use crate::run::Bench;
use plumb_cluster::ClusterError;
use plumb_document::json;
use plumb_engine::guard::Permissions;
use plumb_engine::guard::space::{FillPlaces, WhenFull};
use plumb_engine::signals::StopFlag;
use plumb_engine::{DropCaches, Unopened};

/// A rank that follows rank 0. It does work other than runs, such as IO500's find, and observes runs.
pub trait Follower: Progress {
    /// Takes part.
    ///
    /// # Errors
    /// The other ranks are unreachable, or `words` are unknown here.
    fn other(&mut self, words: &str, ranks: &JoinedRanks, stop: StopFlag) -> Result<(), ClusterError>;
}

/// Makes every run that rank 0 asks for, and takes part in other work, until rank 0 ends it.
/// Returns rank 0's exit code.
///
/// # Errors
/// Rank 0, or the rank that forwards its messages, is gone.
pub fn follow(bench: &mut Bench, ranks: &JoinedRanks, follower: &mut dyn Follower) -> Result<u8, ClusterError> {
    // Rank 0 gets the signal from the same launcher, and decides what happens.
    let after_signal = AfterSignal::new(bench.stop, &*ranks.cluster);
    loop {
        // A rank that fails must not exit as if all were well: the others would wait for it.
        let broken = |_: &ClusterError| ranks.broken.set(true);
        let bytes = ranks.cluster.broadcast(Vec::new(), &after_signal.patience()).inspect_err(broken)?;
        let order = match json::from_slice::<Order>(&bytes) {
            Ok(order) => order,
            Err(error) => {
                // A newer Plumb may ask for what this one does not know.
                let refused = UnreadOrder::refuse(&bytes, error.to_string()).inspect_err(broken)?;
                let answer = json::to_vec(&refused).map_err(|_| UNREADABLE)?;
                ranks.gather(bench.stop, answer)?;
                continue;
            }
        };
        match order {
            Order::End(exit_code) => return Ok(exit_code),
            Order::Other(words) => follower.other(&words, ranks, bench.stop)?,
            Order::Resolve(order) => {
                let answer = json::to_vec(&order.answer(bench)).map_err(|_| UNREADABLE)?;
                ranks.gather(bench.stop, answer)?;
            }
            Order::Run(order) => {
                order.prepare(bench);
                ranks.compare_clocks().inspect_err(|_| ranks.broken.set(true))?;
                bench.run_as_ordered(&order, ranks, follower)?;
            }
        }
    }
}

impl ResolveOrder {
    /// Resolves the workload on this host.
    fn answer(&self, bench: &Bench) -> Resolved {
        let refused = bench.partners.policy.as_ref().map(|policy| policy.admit_workload(&self.workload, &self.base));
        let resolved = match refused {
            Some(Err(error)) => Err(error.to_string()),
            Some(Ok(())) | None => bench.resolve_here(&self.workload, &self.base).map_err(|error| error.to_string()),
        };
        match resolved {
            Err(error) => Resolved { error: Some(error), ..Resolved::default() },
            Ok(mut workload) => {
                let not_had = if self.fitted { fit(&mut workload, &self.base) } else { Vec::new() };
                Resolved { workload: Some(workload), not_had, error: None }
            }
        }
    }
}

impl RunOrder {
    /// Allows on this bench what the user allowed on rank 0.
    fn prepare(&self, bench: &mut Bench) {
        bench.engine.unopened = if self.unopened_fails_jobs { Unopened::FailsItsJobs } else { Unopened::EndsRun };
        if let Some(policy) = &bench.partners.policy {
            // The agent decides what may be overwritten, not its client.
            bench.engine.permissions = policy.permissions.clone();
            return;
        }
        bench.engine.permissions = Permissions::parse(&self.allow);
        if let Some((at, never)) = self.fill.clone() {
            bench.engine.permissions.when_full = WhenFull::FilledAt(FillPlaces { at, never });
        }
        bench.engine.drop_caches = if self.may_drop_caches { DropCaches::Allowed } else { DropCaches::Never };
    }
}
