//! Runs of several ranks, of which this process is the first and measures like the others.

use super::super::begun::{BegunRun, OwnEvidence};
use super::super::{Bench, RunRequest};
use super::alone::resolve_here;
use super::{MeasuredByRanks, MeasuredRun, Mode, ResolvedRun, early_end};
use crate::outcome::RunError;
use crate::progress::Progress;
use crate::ranks::{Division, JoinedRanks, OfRanks, RanksFound, RanksRun, WorkloadOfRank};
use plumb_engine::signals::StopFlag;
use plumb_result::Measurement;
use plumb_trust::Measured;
use plumb_workload::Workload;
use std::rc::Rc;

/// Measures as one of several ranks.
pub(in crate::run) struct Ranks {
    pub(in crate::run) ranks: Rc<JoinedRanks>,
    pub(in crate::run) division: Division,
}

impl Mode for Ranks {
    fn resolve(&self, bench: &Bench, request: &RunRequest<'_>) -> Result<ResolvedRun, RunError> {
        resolve_here(bench, request)
    }

    fn measure(
        &self,
        bench: &mut Bench,
        run: &BegunRun<'_>,
        progress: &mut dyn Progress,
    ) -> Result<MeasuredRun, RunError> {
        let Ranks { ranks, division } = self;
        let own = WorkloadOfRank::new(run.workload, *division, 0, ranks.size())?;
        ranks.carry_on(false);
        run.order(bench).send(ranks)?;
        let together = RanksRun::new(ranks, bench.stop, run.workload, &own, (*division, 0));
        let work = run.work(bench, &own.workload, division.part(0, ranks.size()));
        let (measured, evidence) = run.observe(bench, work, Some(&together), progress, |engine, stop, evidence| {
            engine.measure(work, stop, evidence)
        });
        let found = together.finish(early_end(&measured).as_deref());
        progress.run_ended();
        add_up(ranks, found, (run.workload, *division, None), measured?, evidence, bench.stop)
    }

    fn of_first_host<'m>(
        &self,
        workload: &'m Workload,
        ranks: &'m MeasuredByRanks,
        whole: Measured<'m>,
    ) -> Measured<'m> {
        match self.division {
            Division::Each => Measured { workload, measurement: &ranks.own },
            Division::Groups | Division::Workers | Division::Apart => whole,
        }
    }
}

/// Replaces the measurement of this rank by that of all ranks.
pub(super) fn add_up(
    ranks: &JoinedRanks,
    found: RanksFound,
    parts: (&Workload, Division, Option<&[Workload]>),
    own: Measurement,
    evidence: OwnEvidence,
    stop: StopFlag,
) -> Result<MeasuredRun, RunError> {
    let mut measurement = own.clone();
    let all = OfRanks::new(found, ranks, parts, &mut measurement, stop)?;
    Ok(MeasuredRun { measurement, own: evidence, of_ranks: Some(MeasuredByRanks { all, own }) })
}
