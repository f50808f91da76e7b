//! A run in progress: its id, the order for the other ranks, and the evidence of this process.

use super::engine::EngineOptions;
use super::{Bench, RunRequest, tool};
use crate::evidence::{Evidence, EvidenceLog, LastLook, SeenInPhase};
use crate::progress::{Progress, RunBegun};
use crate::ranks::{RanksRun, RunOrder, SimOrder};
use crate::work::Work;
use jiff::Timestamp;
use plumb_engine::guard::space::WhenFull;
use plumb_engine::signals::StopFlag;
use plumb_engine::sim::left_behind;
use plumb_engine::{DropCaches, EngineError, Part, Unopened};
use plumb_result::{Measurement, Observations, Tool};
use plumb_workload::Workload;

/// A run in progress: its id, its workload, and what is needed to order, observe and judge it.
pub(super) struct BegunRun<'a> {
    pub(super) request: &'a RunRequest<'a>,
    /// Workload of all ranks together, with every size in bytes.
    pub(super) workload: &'a Workload,
    pub(super) id: String,
    pub(super) tool: Tool,
    content_seed: u64,
}

/// The evidence that this process collected during the run.
pub(super) struct OwnEvidence {
    pub(super) started_at: String,
    pub(super) observations: Observations,
    pub(super) seen: Vec<SeenInPhase>,
}

impl<'a> BegunRun<'a> {
    pub(super) fn new(request: &'a RunRequest<'a>, workload: &'a Workload) -> BegunRun<'a> {
        let id = uuid::Uuid::now_v7();
        BegunRun { request, workload, id: id.to_string(), tool: tool(), content_seed: id.as_u64_pair().1 }
    }

    /// Returns this process's part of the work.
    pub(super) fn work<'w>(&'w self, bench: &Bench, workload: &'w Workload, part: Part) -> Work<'w> {
        Work {
            workload,
            part,
            base: self.request.base,
            content_seed: self.content_seed,
            sim_run: self.request.sim_run,
            sim_debt: bench.series.carried,
        }
    }

    /// Returns the order for the other ranks.
    pub(super) fn order(&self, bench: &Bench) -> RunOrder {
        let base = self.request.base;
        RunOrder {
            workload: self.workload.clone(),
            division: bench.partners.division,
            phases: self.workload.phase.len() as u32,
            // On another host, a relative path is relative to the working directory of its agent.
            base: match bench.partners.led() {
                Some(_) => base.to_owned(),
                None => std::path::absolute(base).unwrap_or_else(|_| base.to_owned()),
            },
            content_seed: self.content_seed,
            sim: SimOrder::new(self.request.sim_run, bench.series.carried),
            may_drop_caches: bench.engine.drop_caches == DropCaches::Allowed,
            unopened_fails_jobs: bench.engine.unopened == Unopened::FailsItsJobs,
            allow: bench.engine.permissions.text(),
            fill: match &bench.engine.permissions.when_full {
                WhenFull::Refused => None,
                WhenFull::FilledAt(places) => Some((places.at.clone(), places.never.clone())),
            },
        }
    }

    /// Collects the evidence of this process while `measure` runs.
    pub(super) fn observe<'w>(
        &'w self,
        bench: &'w mut Bench,
        work: Work<'w>,
        together: Option<&'w RanksRun<'w>>,
        progress: &'w mut dyn Progress,
        measure: impl FnOnce(&EngineOptions, StopFlag, &mut Evidence<'w>) -> Result<Measurement, EngineError>,
    ) -> (Result<Measurement, EngineError>, OwnEvidence) {
        let RunRequest { base, command, dialect, .. } = *self.request;
        progress.run_begins(&RunBegun { id: &self.id, workload: self.workload, base });
        let started_at = (Timestamp::now() + bench.ahead).to_string();
        let Bench { results, environment, command_context, device_readings, engine, stop, series, .. } = bench;
        let log = results.run_log().map(|to| EvidenceLog {
            to,
            id: &self.id,
            started_at: started_at.clone(),
            tool: &self.tool,
            command,
            dialect,
        });
        let mut evidence = Evidence::new(work.workload, environment, base, log, progress)
            .with_ranks(together)
            .with_load(command_context.under_load);
        if let Some(looks) = device_readings {
            // In another tool's dialect, the command removes its files and may make several runs, so the parent process
            // takes the last reading.
            let last = if dialect.is_none() { LastLook::BeforeRemoval } else { LastLook::Elsewhere };
            evidence = evidence.with_looks(looks, last);
        }
        let measured = measure(engine, *stop, &mut evidence);
        let (observations, seen) = evidence.collected();
        series.carried = series.carried.after(left_behind(self.workload));
        (measured, OwnEvidence { started_at, observations, seen })
    }
}
