//! Judges measurements and turns them into a result.

use super::begun::BegunRun;
use super::mode::{MeasuredRun, Mode};
use crate::fit::NotHad;
use crate::outcome::RunOutcome;
use plumb_probe::BackgroundRead;
use plumb_result::observe::Environment;
use plumb_result::run::RESULT_SCHEMA;
use plumb_result::{Level, Observations, PhaseResult, RunResult, Seen};
use plumb_trust::{CommandContext, Judgement, Measured, Typed};
use plumb_workload::Workload;

impl MeasuredRun {
    /// Returns the observations of the run's first host, which represent all hosts in checks and pages.
    pub(super) fn observations(&self) -> &Observations {
        let first = self.of_ranks.as_ref().and_then(|ranks| ranks.all.hosts.first());
        first.map_or(&self.own.observations, |first| &first.observations)
    }

    /// Returns the workload of one host.
    pub(super) fn workload_of_a_host<'w>(&'w self, workload: &'w Workload) -> &'w Workload {
        let first = self.of_ranks.as_ref().and_then(|ranks| ranks.all.hosts.first());
        first.map_or(workload, |first| &first.workload)
    }

    /// Adds the null backend's rate to the observations of each phase.
    pub(super) fn add_null_ceiling(&mut self, ceiling: &Seen<f64>) {
        let hosts = self.of_ranks.iter_mut().flat_map(|ranks| &mut ranks.all.hosts);
        let phases = hosts.flat_map(|host| &mut host.observations.phases).chain(&mut self.own.observations.phases);
        phases.for_each(|phase| phase.null_ceiling_ops = ceiling.clone());
    }

    /// Judges the run, worded for the command that asked for it, and keeps live observations with the phases.
    pub(super) fn judged(&mut self, mode: &dyn Mode, workload: &Workload, context: &CommandContext) -> Judgement {
        let mut judgement = match &self.of_ranks {
            None => plumb_trust::judge(workload, &self.measurement, &self.own.observations),
            Some(ranks) => {
                let whole = Measured { workload: &ranks.all.workload, measurement: &self.measurement };
                plumb_trust::judge_hosts(whole, mode.of_first_host(workload, ranks, whole), &ranks.all.hosts)
            }
        };
        if context.under_load == Typed::Yes {
            judgement.declare_load();
        }
        plumb_trust::reword(&mut judgement.findings, context);
        for (phase, seen) in self.measurement.phases.iter_mut().zip(std::mem::take(&mut self.own.seen)) {
            for finding in judgement.findings.iter_mut().filter(|one| one.phase.as_ref() == Some(&phase.name)) {
                finding.at_ns = seen.first_found.get(&finding.code).copied().filter(|_| finding.level > Level::Note);
            }
            phase.lanes = seen.lanes;
        }
        judgement
    }

    /// Converts the phases to results, with unmet requests and the time spread of the ranks.
    fn phase_results(&self, workload: &Workload, judgement: &Judgement, not_had: &[NotHad]) -> Vec<PhaseResult> {
        let mut phases = plumb_trust::phase_results(workload, &self.measurement, judgement);
        for phase in &mut phases {
            phase.notes.extend(not_had.iter().filter(|one| one.phase == phase.name).map(|one| one.note.clone()));
        }
        let hosts = self.of_ranks.as_ref().map_or(&[][..], |ranks| &ranks.all.hosts);
        plumb_trust::fidelity_of_hosts(&mut phases, hosts);
        let spreads = self.of_ranks.iter().flat_map(|ranks| &ranks.all.spreads);
        for (phase, spread) in phases.iter_mut().zip(spreads) {
            phase.ranks = spread.clone().map(Box::new);
        }
        phases
    }

    /// Builds the result without storing it.
    pub(super) fn outcome(
        self,
        mode: &dyn Mode,
        run: BegunRun<'_>,
        not_had: &[NotHad],
        judgement: Judgement,
        environment: &BackgroundRead<Environment>,
    ) -> RunOutcome {
        let phases = self.phase_results(run.workload, &judgement, not_had);
        let elsewhere = mode.environment_elsewhere(&self);
        let is_elsewhere = elsewhere.is_some();
        let environment = elsewhere.unwrap_or_else(|| environment.get()).clone();
        let observations = self.observations().clone();
        let MeasuredRun { measurement, own, of_ranks } = self;
        let (hosts, ranks) = of_ranks.map(|ranks| (ranks.all.hosts, Box::new(ranks.all.facts))).unzip();
        let result = RunResult {
            schema: RESULT_SCHEMA.to_owned(),
            id: run.id,
            started_at: own.started_at,
            tool: run.tool,
            workload: run.workload.clone(),
            environment,
            target: observations.targets.clone(),
            verdict: judgement.verdict,
            partial: measurement.interrupted || measurement.error.is_some(),
            error: measurement.error.clone(),
            checks: judgement.findings,
            phases,
            ranks,
            imported: None,
            gated: None,
            under_load: judgement.under_load.map(Box::new),
        };
        let hosts = hosts.filter(|_| is_elsewhere).unwrap_or_default();
        RunOutcome { result, measurement, observations, hosts, not_stored: None }
    }
}
