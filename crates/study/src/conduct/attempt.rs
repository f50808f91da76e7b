//! One build of a plot, with as many of its runs as it lasts for.

use super::build_record::BuildRecord;
use super::judged::Judged;
use super::{ConductEvent, Conductor, LOSSES_MAX, REPEATS_OF_REJECTED};
use crate::plan::{Plan, PlannedRun};
use plumb_bench::not_stored::NotStored;
use plumb_engine::signals::{Slept, StopFlag};
use plumb_engine::sim::{CarriedDebt, left_behind};
use plumb_lab::protocol::{HostWork, RunJob, SimPlace};
use plumb_lab::step::Safety;
use plumb_lab::{Host, HostError, LineError};
use plumb_store::{StoreError, StudyRunEnd, StudyRunRow, StudyRunStatus};
use plumb_workload_text::native;
use std::time::{Duration, Instant};

/// A user command before or after a plot failed.
#[derive(Debug, thiserror::Error)]
#[error("{when} `{line}`: {source}")]
struct AroundError {
    /// `on-enter` or `on-leave`.
    when: &'static str,
    line: String,
    source: LineError,
}

/// The outcome of a build.
pub(super) enum Attempt {
    /// All its runs have ended.
    Finished,
    Interrupted,
    /// It could not be built.
    Failed(String),
    /// Its host was lost before the build was complete.
    LostBuilding(String),
    /// Its host was lost during a run.
    LostRunning(String),
    /// A run failed in the same way as another before: the study ends.
    FailedAgain,
}

impl Conductor<'_, '_> {
    /// Builds a plot, makes the runs that have not ended, and takes it down. In any case, runs
    /// the user's `on-leave` commands afterwards.
    pub(super) fn attempt(&mut self, plot: u32) -> Result<Attempt, StoreError> {
        let planned = &self.study.plan.plots[plot as usize];
        let build = self.store.begin_study_plot(&self.study.id, plot)?;
        let position = self.position(plot);
        self.report(&ConductEvent::Plot { position, levels: &planned.levels, build });
        let stop = self.setting.stop;
        let began = Instant::now();
        let entered = self.commands(&planned.on_enter, "on-enter", Some(stop));
        let attempt = match entered {
            Ok(()) => self.on_host(plot, build, began),
            Err(_) if stop.requested() => Ok(Attempt::Interrupted),
            Err(error) => Ok(Attempt::Failed(error.to_string())),
        };
        if let Err(error) = self.commands(&planned.on_leave, "on-leave", None) {
            self.report(&ConductEvent::Trouble(&error.to_string()));
        }
        if self.standing.take().is_some() {
            let seconds = self.last_run_ended.elapsed().as_secs_f64();
            self.costs.taken_down(plot, seconds);
            // Report the first error.
            if attempt.is_ok() {
                self.store.record_take_down(&self.study.id, plot, seconds)?;
            }
        }
        attempt
    }

    fn commands(&mut self, lines: &[String], when: &'static str, stop: Option<StopFlag>) -> Result<(), AroundError> {
        for line in lines {
            let super::ConductSetting { hosts, watcher, .. } = &mut *self.setting;
            hosts
                .command(line, stop, &mut |line| watcher.event(&ConductEvent::Line(line)))
                .map_err(|source| AroundError { when, line: line.clone(), source })?;
        }
        Ok(())
    }

    fn on_host(&mut self, plot: u32, build: u32, began: Instant) -> Result<Attempt, StoreError> {
        let plan = &self.study.plan;
        let planned = &plan.plots[plot as usize];
        let Some(host) = plan.hosts.get(&planned.host) else {
            return Ok(Attempt::Failed(format!("the plan has no host `{}`", planned.host)));
        };
        let tag = format!("{}/{plot}", self.study.id);
        let super::ConductSetting { hosts, watcher, typed, .. } = &mut *self.setting;
        let mut record = BuildRecord::default();
        let listener = &mut |line: &str| {
            record.add_line(line);
            watcher.event(&ConductEvent::Line(line));
        };
        let safety = Safety { typed: typed.clone(), ..plan.safety.clone() };
        let mut host = match hosts.open(&planned.host, host, listener) {
            Ok(host) => host,
            Err(error) => return Ok(self.not_built(&format!("host {}", planned.host), error)),
        };
        if let Err(error) = host.build(&tag, &planned.steps, &safety, listener) {
            let attempt = self.not_built(&format!("host {}", planned.host), error);
            self.close(host);
            return Ok(attempt);
        }
        let built_s = began.elapsed().as_secs_f64();
        self.costs.built(plot, built_s);
        self.standing = Some(plot);
        let stored = plumb_document::json::to_string(&record)
            .map_err(|source| StoreError::Json { what: "the record of a build", source })
            .and_then(|record| self.store.record_build(&self.study.id, plot, built_s, &record));
        let attempt = stored.and_then(|()| self.runs(plot, build, host.as_mut()));
        self.last_run_ended = Instant::now();
        // Also after a store error, so that nothing is left behind.
        if !matches!(attempt, Ok(Attempt::LostRunning(_))) {
            let super::ConductSetting { watcher, .. } = &mut *self.setting;
            if let Err(error) = host.undo(&mut |line| watcher.event(&ConductEvent::Line(line))) {
                self.report(&ConductEvent::Trouble(&format!("plot {} could not be taken down: {error}", plot + 1)));
            }
        }
        self.close(host);
        attempt
    }

    fn close(&mut self, host: Box<dyn Host>) {
        if let Err(error) = host.close() {
            self.report(&ConductEvent::Trouble(&format!("the host could not be closed: {error}")));
        }
    }

    /// Returns the outcome of a build that was not completed. A signal may be the cause.
    fn not_built(&mut self, doing: &str, error: HostError) -> Attempt {
        if self.setting.stop.requested() {
            return Attempt::Interrupted;
        }
        match error {
            HostError::Failed { reason, refused } => {
                self.refused |= refused;
                Attempt::Failed(format!("{doing}: {reason}"))
            }
            HostError::Lost(reason) => Attempt::LostBuilding(format!("{doing}: lost: {reason}")),
        }
    }

    fn runs(&mut self, plot: u32, build: u32, host: &mut dyn Host) -> Result<Attempt, StoreError> {
        let study = self.study;
        let mut has_run = false;
        while let Some(seq) = self.next_run_or_repeat(plot)? {
            if self.setting.stop.requested() {
                return Ok(Attempt::Interrupted);
            }
            if self.fails_again() {
                return Ok(Attempt::FailedAgain);
            }
            if let Some(reason) = self.not_needed(seq) {
                self.end_run(seq, &Judged::skipped(reason), 0.0)?;
                continue;
            }
            let run = &study.plan.runs[seq as usize];
            let cell = &study.plan.cells[run.cell as usize];
            let position = self.position(plot);
            let (levels, workload) = (&cell.levels, cell.workload.as_str());
            self.report(&ConductEvent::Run { position, levels, workload, work: &run.work });
            let settle = study.plan.settle_ns.filter(|_| has_run && !run.is_simulated());
            if settle.is_some_and(|ns| self.setting.stop.sleep(Duration::from_nanos(ns)) == Slept::Cut) {
                return Ok(Attempt::Interrupted);
            }
            has_run = true;
            self.store.begin_study_run(&study.id, seq, build)?;
            let began = Instant::now();
            let super::ConductSetting { watcher, stream, .. } = &mut *self.setting;
            let stream = *stream;
            let job = job(run, seq, debt_before(&study.plan, &self.rows, seq), stream);
            let answer = host.run(&job, &mut |line| watcher.event(&ConductEvent::Line(line)));
            let seconds = began.elapsed().as_secs_f64();
            let judged = match answer {
                Ok(mut answer) => {
                    if study.plan.under_load
                        && let Some(result) = &mut answer.result
                    {
                        plumb_trust::declare_load_of(result);
                    }
                    Judged::from_answer(answer)
                }
                Err(HostError::Failed { reason, refused }) => {
                    self.refused |= refused;
                    Judged::failed(reason)
                }
                Err(HostError::Lost(reason)) => {
                    return self.lost_running(seq, &reason, seconds);
                }
            };
            // A run cut short by a signal is not a failure of the run.
            let cut = judged.status == StudyRunStatus::Failed && self.setting.stop.requested();
            if cut {
                self.store.replan_study_run(&study.id, seq, "interrupted", false)?;
                return Ok(Attempt::Interrupted);
            }
            self.end_run(seq, &judged, seconds)?;
        }
        Ok(Attempt::Finished)
    }

    /// Returns the next run of the plot that has not ended. After the last run of each repetition, it may replan a
    /// rejected run and return that: close to its original position in the order, so that drift over the plot
    /// differs little between the two.
    fn next_run_or_repeat(&mut self, plot: u32) -> Result<Option<u32>, StoreError> {
        let next = self.next_run(plot);
        let runs = &self.study.plan.runs;
        let repetition = |seq: u32| runs[seq as usize].repeat;
        let is_repeated = |row: &&mut plumb_store::StudyRunRow| {
            row.plot == plot
                && next.is_none_or(|next| repetition(row.seq) < repetition(next))
                && row.status == StudyRunStatus::Rejected
                && row.rejected_before < REPEATS_OF_REJECTED
                && row.attempts > 0
        };
        let Some(row) = self.rows.iter_mut().find(is_repeated) else { return Ok(next) };
        row.status = StudyRunStatus::Planned;
        row.rejected_before += 1;
        let seq = row.seq;
        self.store.replan_rejected_runs(&self.study.id, Some(seq))?;
        Ok(Some(seq))
    }

    fn lost_running(&mut self, seq: u32, reason: &str, seconds: f64) -> Result<Attempt, StoreError> {
        if self.setting.stop.requested() {
            self.store.replan_study_run(&self.study.id, seq, "interrupted", false)?;
            return Ok(Attempt::Interrupted);
        }
        let losses = self.store.replan_study_run(&self.study.id, seq, &format!("lost: {reason}"), true)?;
        if losses >= LOSSES_MAX {
            let failed = Judged::failed(format!("its host was lost {losses} times under it, at last: {reason}"));
            self.end_run(seq, &failed, seconds)?;
        }
        Ok(Attempt::LostRunning(format!("lost under run {}: {reason}", seq + 1)))
    }

    /// Commits a run that is over, with its result, and reports it.
    fn end_run(&mut self, seq: u32, judged: &Judged, seconds: f64) -> Result<(), StoreError> {
        self.commit_run(seq, judged, seconds)?;
        let position = self.position(self.study.plan.runs[seq as usize].plot);
        let rejected_before = self.rows.iter().find(|row| row.seq == seq).map_or(0, |row| row.rejected_before);
        self.report(&ConductEvent::RunEnded {
            position,
            number: seq + 1,
            rejected_before,
            status: judged.status,
            reason: judged.reason.as_deref(),
        });
        Ok(())
    }

    /// Commits a run that is over, with its result.
    pub(super) fn commit_run(&mut self, seq: u32, judged: &Judged, seconds: f64) -> Result<(), StoreError> {
        let run = &self.study.plan.runs[seq as usize];
        let devices = plumb_document::json::to_string(&judged.devices)
            .map_err(|source| StoreError::Json { what: "the devices' counts", source })?;
        let dialect = match &run.work {
            HostWork::Native { .. } | HostWork::Conformance(_) => None,
            HostWork::Dialect { tool, .. } => Some(tool.as_str()),
        };
        let ended = self.store.end_study_run(
            &self.study.id,
            seq,
            &StudyRunEnd {
                status: judged.status,
                reason: judged.reason.as_deref(),
                exit_code: judged.exit_code,
                result: judged.result.as_ref(),
                conformance: judged.conformance.as_ref(),
                command: self.setting.command,
                dialect,
                devices: (!judged.devices.is_empty()).then_some(devices.as_str()),
                seconds,
            },
        );
        if let (Err(error), Some(result)) = (&ended, &judged.result) {
            let kept = NotStored::result(self.store.path(), error.to_string(), result);
            self.report(&ConductEvent::Trouble(&unstored(seq, &kept)));
        }
        ended?;
        if let Some(result) = judged.result.as_ref().filter(|_| judged.status == StudyRunStatus::Done) {
            self.values.take(&self.study.plan, seq, result);
        }
        let row = &mut self.rows[seq as usize];
        row.status = judged.status;
        if judged.exit_code.is_some() || seconds > 0.0 {
            row.attempts += 1;
            self.costs.run(run.cell, seconds);
            if let (StudyRunStatus::Failed, Some(reason)) = (judged.status, &judged.reason) {
                self.count_failure(reason);
            }
        }
        Ok(())
    }
}

/// Describes a result that the store did not take. The study reports the store's error itself.
fn unstored(seq: u32, kept: &NotStored) -> String {
    let head = format!("the result of run {} is not in the database", seq + 1);
    match (kept.results.first(), &kept.lost) {
        (Some(path), _) => format!(
            "{head}; it is saved to {0}. `plumb import {0}` adds it as a run of its own; the study runs it again when resumed",
            path.display()
        ),
        (None, Some(lost)) => format!("{head}, and {lost}"),
        (None, None) => head,
    }
}

/// Returns the debt that earlier runs of a study left on simulated devices. It only depends on the plan and on the
/// runs made, so a resumed study gets the same.
fn debt_before(plan: &Plan, rows: &[StudyRunRow], seq: u32) -> CarriedDebt {
    let was_made = |row: &&StudyRunRow| row.seq < seq && row.attempts > 0;
    rows.iter().filter(was_made).fold(CarriedDebt::default(), |debt, row| {
        let carry = match &plan.runs[row.seq as usize].work {
            HostWork::Native { toml } if toml.contains("carry=") => {
                native::parse("plan", toml).map_or(0.0, |workload| left_behind(&workload))
            }
            HostWork::Native { .. } | HostWork::Dialect { .. } | HostWork::Conformance(_) => 0.0,
        };
        debt.after(carry)
    })
}

fn job(run: &PlannedRun, seq: u32, debt: CarriedDebt, stream: bool) -> RunJob {
    RunJob {
        work: run.work.clone(),
        dir: run.dir.clone(),
        seed: run.seed,
        timeout_s: run.timeout_s,
        sim: Some(SimPlace { run: seq, plot: run.plot, debt: debt.share() }),
        led: None,
        stream,
    }
}
