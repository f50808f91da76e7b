//! Runs of hosts that this process leads. It measures nothing itself.

use super::super::begun::BegunRun;
use super::super::{Bench, RunRequest};
use super::ranks::add_up;
use super::{MeasuredByRanks, MeasuredRun, Mode, ResolvedRun, early_end};
use crate::fit::Policies;
use crate::outcome::RunError;
use crate::progress::Progress;
use crate::ranks::{Division, JoinedRanks, RanksRun, WorkloadOfRank};
use plumb_result::observe::Environment;
use plumb_trust::Measured;
use plumb_workload::Workload;
use std::rc::Rc;

/// Lets hosts make the runs.
pub(in crate::run) struct Hosts {
    pub(in crate::run) ranks: Rc<JoinedRanks>,
    pub(in crate::run) division: Division,
    /// The workload of each host, if each has its own.
    pub(in crate::run) apart: Option<Rc<[Workload]>>,
}

impl Mode for Hosts {
    fn resolve(&self, bench: &Bench, request: &RunRequest<'_>) -> Result<ResolvedRun, RunError> {
        if self.apart.is_some() {
            // The hosts have resolved their workloads themselves.
            return Ok(ResolvedRun { workload: request.workload.clone(), not_had: Vec::new() });
        }
        let fitted = request.policies == Policies::Fitted;
        let resolved = self.ranks.resolve(bench.stop, request.workload, request.base, fitted)?;
        let workload = resolved.workload.unwrap_or_else(|| request.workload.clone());
        Ok(ResolvedRun { workload, not_had: resolved.not_had })
    }

    fn apart(&self) -> Option<&[Workload]> {
        self.apart.as_deref()
    }

    fn measure(
        &self,
        bench: &mut Bench,
        run: &BegunRun<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MeasuredRun, RunError> {
        let Hosts { ranks, division, apart } = self;
        let own = WorkloadOfRank::new(run.workload, *division, 0, ranks.size())?;
        ranks.carry_on(apart.is_some());
        let order = run.order(bench);
        match apart {
            None => order.send(ranks)?,
            Some(apart) => order.send_apart(ranks, apart)?,
        }
        let together = RanksRun::new(ranks, bench.stop, run.workload, &own, (*division, 0));
        let work = run.work(bench, &own.workload, division.part(0, ranks.size()));
        let (measured, evidence) = run.observe(bench, work, Some(&together), progress, |_, _, evidence| {
            evidence.begin_at_once();
            Ok(together.lead(run.workload, evidence.progress()))
        });
        let found = together.finish(early_end(&measured).as_deref());
        progress.run_ended();
        add_up(ranks, found, (run.workload, *division, apart.as_deref()), measured?, evidence, bench.stop)
    }

    fn of_first_host<'m>(
        &self,
        _workload: &'m Workload,
        ranks: &'m MeasuredByRanks,
        whole: Measured<'m>,
    ) -> Measured<'m> {
        let first = ranks.all.hosts.first();
        first.map_or(whole, |first| Measured { workload: &first.workload, measurement: &first.measurement })
    }

    fn environment_elsewhere<'m>(&self, measured: &'m MeasuredRun) -> Option<&'m Environment> {
        Some(&measured.observations().environment)
    }
}
