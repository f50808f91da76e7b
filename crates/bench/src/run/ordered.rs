//! One rank's part in a run ordered by rank 0.

use super::Bench;
use super::mode::early_end;
use crate::evidence::Evidence;
use crate::progress::Progress;
use crate::ranks::{JoinedRanks, RanksRun, RunOrder, WorkloadOfRank};
use crate::work::Work;
use plumb_cluster::ClusterError;

impl Bench {
    /// Runs one rank's part of a run. Reports its end to rank 0 in any case.
    ///
    /// # Errors
    /// The order is one that rank 0 refuses before sending it.
    pub(crate) fn run_as_ordered(
        &mut self,
        order: &RunOrder,
        ranks: &JoinedRanks,
        progress: &mut dyn Progress,
    ) -> Result<(), ClusterError> {
        let own = WorkloadOfRank::new(&order.workload, order.division, ranks.number(), ranks.size())
            .map_err(|_| ClusterError::Unexpected { rank: 0, what: "a run that several ranks cannot make" })
            .inspect_err(|_| ranks.break_off())?;
        let together = RanksRun::new(ranks, self.stop, &order.workload, &own, (order.division, order.phases));
        let work = Work { workload: &own.workload, ..order.work(ranks.number(), ranks.size()) };
        let mut evidence =
            Evidence::new(work.workload, &self.environment, work.base, None, progress).with_ranks(Some(&together));
        let refused = self.partners.policy.as_ref().and_then(|policy| policy.admit(order).err());
        if let Some(refused) = refused {
            drop(evidence);
            together.finish(Some(&refused.to_string()));
            return Ok(());
        }
        let measured = self.engine.measure(work, self.stop, &mut evidence);
        drop(evidence);
        together.finish(early_end(&measured).as_deref());
        Ok(())
    }
}
