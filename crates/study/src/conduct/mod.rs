//! Conducts a study: builds each plot, makes its runs in their order, takes it down, and commits
//! every run as it ends.
//!
//! It makes no planning decisions: the [`Plan`] is frozen, and the store knows which of its runs have ended. Resuming
//! after a kill is therefore the same as starting.

mod attempt;
mod build_record;
mod costs;
mod enough;
mod failures;
#[cfg(test)]
pub(crate) mod fake;
mod hosts;
mod judged;
#[cfg(test)]
mod tests;

pub use build_record::BuildRecord;
pub use costs::{LeftBasis, TimeLeft};
pub use hosts::{COMMAND_LIMIT, Hosts};

use crate::plan::{Levels, Plan, PlannedRun, StopPlan};
use attempt::Attempt;
pub(crate) use failures::kind;

use costs::PlotStage;
use plumb_engine::signals::StopFlag;
use plumb_lab::protocol::HostWork;
use plumb_stats::orders_in_complete_block;
use plumb_store::{ResultStore, Store, StoreError, StudyIn, StudyPlotState, StudyRunRow, StudyRunStatus};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A study that was frozen in the store.
#[derive(Debug, Clone, PartialEq)]
pub struct FrozenStudy {
    /// Its id in the store.
    pub id: String,
    pub plan: Plan,
}

/// Path and content of a study's file.
#[derive(Debug, Clone, Copy)]
pub struct StudyOrigin<'a> {
    /// Absolute path, as stored with the study.
    pub file: &'a str,
    pub text: &'a str,
    /// Additions from the command line, as JSON.
    pub options: &'a str,
}

impl FrozenStudy {
    pub fn begin(store: &mut Store, plan: Plan, origin: &StudyOrigin<'_>) -> Result<FrozenStudy, StoreError> {
        let id = uuid::Uuid::now_v7().to_string();
        let text = plumb_document::json::to_string(&plan)
            .map_err(|source| StoreError::Json { what: "the plan of a study", source })?;
        let runs: Vec<u32> = plan.runs.iter().map(|run| run.plot).collect();
        store.begin_study(&StudyIn {
            id: &id,
            name: &plan.name,
            plan_hash: &plan.hash,
            plan: &text,
            file: origin.file,
            text: origin.text,
            options: origin.options,
            plots: plan.plots.len() as u32,
            runs: &runs,
        })?;
        Ok(FrozenStudy { id, plan })
    }

    /// Loads a frozen plan. `id` must be complete.
    pub fn open(store: &dyn ResultStore, id: &str) -> Result<FrozenStudy, StoreError> {
        let stored = store.study(id)?;
        let plan = plumb_document::json::from_str(&stored.plan).map_err(|error| StoreError::Unreadable {
            path: store.location().to_owned(),
            id: id.to_owned(),
            what: "the plan",
            reason: error.to_string(),
        })?;
        Ok(FrozenStudy { id: stored.row.id, plan })
    }
}

/// The reason why conducting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConductEnded {
    /// Every run has ended, successfully or not.
    AllRuns,
    /// A signal asked for it.
    Interrupted,
    /// The budget is used up.
    Budget,
    /// The same failure came twice, and continuing would repeat it. The rest of the plan waits.
    SameFailure,
}

/// The outcome of conducting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conducted {
    pub ended: ConductEnded,
    /// Whether the write guard refused something.
    pub refused: bool,
}

/// Progress of a study, with an estimate of the remaining time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// The current plot, from 1.
    pub plot: u32,
    pub plots: u32,
    /// Number of runs that have ended, successfully or not.
    pub ended: u32,
    pub runs: u32,
    /// Remaining time, from the runs so far or else from the plan; `None` if neither gives an estimate.
    pub left: Option<TimeLeft>,
}

/// An event during a study.
#[derive(Debug)]
pub enum ConductEvent<'a> {
    /// A plot is being built.
    Plot {
        position: Position,
        /// Levels of its hard factors.
        levels: &'a Levels,
        /// Number of this build of the plot, from 1.
        build: u32,
    },
    /// A line of a host or of a command.
    Line(&'a str),
    Run {
        position: Position,
        levels: &'a Levels,
        workload: &'a str,
        work: &'a HostWork,
    },
    RunEnded {
        position: Position,
        /// Number of the run, from 1.
        number: u32,
        /// Number of earlier attempts, all of them rejected.
        rejected_before: u32,
        status: StudyRunStatus,
        /// The reason unless the run was successful.
        reason: Option<&'a str>,
    },
    /// A plot could not be built, or not be taken down; or its host was lost.
    Trouble(&'a str),
}

/// Receives the events of a study.
pub trait ConductWatcher {
    fn event(&mut self, event: &ConductEvent<'_>);
}

impl ConductWatcher for () {
    fn event(&mut self, _event: &ConductEvent<'_>) {}
}

/// Environment and options of conducting.
pub struct ConductSetting<'a> {
    pub hosts: &'a mut dyn Hosts,
    /// Set by a signal.
    pub stop: StopFlag,
    /// No plot begins after this time.
    pub budget: Option<Duration>,
    /// Whether to continue after a repeated failure.
    pub keep_going: bool,
    /// The only plot to measure, from 0; `None` for all.
    pub only_plot: Option<u32>,
    pub watcher: &'a mut dyn ConductWatcher,
    /// Permissions to destroy data from the command line, in addition to the file:
    /// [`plumb_lab::step::Safety::typed`].
    pub typed: String,
    /// As typed, for the record.
    pub command: &'a str,
    /// Whether runs report each second, as lines of [`plumb_result::stream`].
    pub stream: bool,
}

/// Number of times that a host may be lost during a run, or while a plot is built, before that counts as a failure.
const LOSSES_MAX: u32 = 3;
/// Number of times that a failure may come before it ends the study.
const SAME_FAILURES_MAX: u32 = 2;
/// Number of times that a rejected run is made again on its plot. Not more: a check that keeps
/// rejecting has found something permanent.
const REPEATS_OF_REJECTED: u32 = 1;

/// Processes a study's plots and runs, except those that have ended, until all have, a signal comes, or
/// the budget is used up.
///
/// # Errors
/// The store failed. All that it has taken is kept, all builds are taken down, and
/// conducting again continues from there.
pub fn conduct(
    store: &mut Store,
    study: &FrozenStudy,
    setting: &mut ConductSetting<'_>,
) -> Result<Conducted, StoreError> {
    store.claim_study(&study.id)?;
    let mut conductor = Conductor {
        rows: store.study_runs(&study.id)?,
        store,
        study,
        setting,
        started: Instant::now(),
        refused: false,
        values: enough::Values::default(),
        failures: BTreeMap::new(),
        costs: costs::Costs::new(&study.plan),
        standing: None,
        last_run_ended: Instant::now(),
    };
    conductor.remember()?;
    let ended = conductor.go();
    let refused = conductor.refused;
    // This fails too if the store is full; report the first error.
    let released = store.release_study(&study.id);
    let ended = ended?;
    released?;
    Ok(Conducted { ended, refused })
}

struct Conductor<'a, 'b> {
    store: &'a mut Store,
    study: &'a FrozenStudy,
    setting: &'a mut ConductSetting<'b>,
    rows: Vec<StudyRunRow>,
    started: Instant,
    refused: bool,
    /// Values that decide on optional repetitions.
    values: enough::Values,
    /// Number of occurrences of each failure, by its reason without numbers.
    failures: BTreeMap<String, u32>,
    /// Times of plots and runs.
    costs: costs::Costs,
    /// The plot that is built.
    standing: Option<u32>,
    /// End of the last run on the current plot.
    last_run_ended: Instant,
}

impl Conductor<'_, '_> {
    fn go(&mut self) -> Result<ConductEnded, StoreError> {
        for plot in 0..self.study.plan.plots.len() as u32 {
            if self.next_run(plot).is_none() || self.setting.only_plot.is_some_and(|only| only != plot) {
                continue;
            }
            if self.budget_is_spent() {
                return Ok(ConductEnded::Budget);
            }
            if !self.plot(plot)? {
                return Ok(ConductEnded::Interrupted);
            }
            if self.fails_again() {
                return Ok(ConductEnded::SameFailure);
            }
        }
        Ok(ConductEnded::AllRuns)
    }

    /// Returns `true` if a failure has come so often that it will come again.
    fn fails_again(&self) -> bool {
        !self.setting.keep_going && self.failures.values().any(|count| *count >= SAME_FAILURES_MAX)
    }

    /// Loads earlier measurements, for the remaining time and for optional repetitions.
    fn remember(&mut self) -> Result<(), StoreError> {
        for row in self.rows.iter().filter(|row| row.status.has_ended()) {
            let cell = self.study.plan.runs[row.seq as usize].cell;
            self.costs.run(cell, row.seconds.unwrap_or(0.0));
        }
        for plot in self.store.study_plots(&self.study.id)? {
            plot.build_s.into_iter().for_each(|seconds| self.costs.built(plot.seq, seconds));
            plot.take_down_s.into_iter().for_each(|seconds| self.costs.taken_down(plot.seq, seconds));
        }
        if self.study.plan.stop.is_none() {
            return Ok(());
        }
        for row in self.rows.iter().filter(|row| row.status == StudyRunStatus::Done) {
            if let Some(run) = &row.run_id {
                self.values.take(&self.study.plan, row.seq, &self.store.get(run)?);
            }
        }
        Ok(())
    }

    fn budget_is_spent(&self) -> bool {
        self.setting.budget.is_some_and(|budget| self.started.elapsed() >= budget)
    }

    /// Returns the reason if a run is an optional repetition that is not needed.
    fn not_needed(&self, seq: u32) -> Option<&'static str> {
        let run = &self.study.plan.runs[seq as usize];
        let stop = self.study.plan.stop.as_ref().filter(|stop| run.repeat >= stop.repeats_min)?;
        if self.study.plan.compares_easy() {
            let block = self.complete_block(run, stop);
            if self.rows.iter().any(|row| row.attempts > 0 && block.contains(&row.seq)) {
                return None;
            }
            let mut cells = block.iter().map(|&seq| self.study.plan.runs[seq as usize].cell);
            if cells.all(|cell| self.values.are_precise(cell, stop)) {
                return Some("precise enough without it");
            }
        } else if self.values.are_precise(run.cell, stop) {
            return Some("precise enough without it");
        }
        self.budget_is_spent().then_some("the budget is spent")
    }

    /// Returns the optional runs of a plot that belong together: repetitions of all its cells in which each follows
    /// every other one equally often. If the plan has too few of them, those of one repetition.
    fn complete_block(&self, run: &PlannedRun, stop: &StopPlan) -> Vec<u32> {
        let in_plot = || self.study.plan.runs.iter().zip(0u32..).filter(|(other, _)| other.plot == run.plot);
        let cells = in_plot().filter(|(other, _)| other.repeat == run.repeat).count();
        let optional = in_plot().map(|(other, _)| other.repeat + 1).max().unwrap_or(0).saturating_sub(stop.repeats_min);
        let complete = orders_in_complete_block(cells) as u32;
        let length = if complete <= optional { complete } else { 1 };
        let number = |repeat: u32| repeat.checked_sub(stop.repeats_min).map(|optional| optional / length);
        in_plot().filter(|(other, _)| number(other.repeat) == number(run.repeat)).map(|(_, seq)| seq).collect()
    }

    /// Returns the first run of a plot that has not ended.
    fn next_run(&self, plot: u32) -> Option<u32> {
        self.rows.iter().find(|row| row.plot == plot && !row.status.has_ended()).map(|row| row.seq)
    }

    /// Builds and measures a plot until all its runs have ended. Returns `false` if a signal ended it.
    fn plot(&mut self, plot: u32) -> Result<bool, StoreError> {
        let mut build_losses = 0;
        while self.next_run(plot).is_some() {
            if self.setting.stop.requested() {
                return Ok(false);
            }
            match self.attempt(plot)? {
                Attempt::Finished => {}
                Attempt::Interrupted => {
                    self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Planned, Some("interrupted"))?;
                    return Ok(false);
                }
                Attempt::Failed(reason) => return self.plot_failed(plot, &reason),
                Attempt::LostBuilding(reason) => {
                    self.report(&ConductEvent::Trouble(&reason));
                    build_losses += 1;
                    if build_losses == LOSSES_MAX {
                        return self.plot_failed(plot, &format!("lost {build_losses} times, at last: {reason}"));
                    }
                    let again = format!("{reason}; built again");
                    self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Planned, Some(&again))?;
                }
                Attempt::FailedAgain => {
                    self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Planned, Some("ended early"))?;
                    return Ok(true);
                }
                Attempt::LostRunning(reason) => {
                    self.report(&ConductEvent::Trouble(&reason));
                    self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Planned, Some(&reason))?;
                }
            }
        }
        self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Done, None)?;
        Ok(true)
    }

    /// Marks every run of the plot that has not ended as failed.
    fn plot_failed(&mut self, plot: u32, reason: &str) -> Result<bool, StoreError> {
        let before = self.count_failure(reason);
        let mut failed = 0;
        while let Some(seq) = self.next_run(plot) {
            self.commit_run(seq, &judged::Judged::failed(format!("its plot was not built: {reason}")), 0.0)?;
            failed += 1;
        }
        // Show the reason only once, for all runs and plots with it.
        let why = if before == 0 { reason } else { "as before" };
        let runs = if failed == 1 { "its run has failed".to_owned() } else { format!("its {failed} runs have failed") };
        self.report(&ConductEvent::Trouble(&format!("plot {} was not built, so {runs}: {why}", plot + 1)));
        self.store.end_study_plot(&self.study.id, plot, StudyPlotState::Failed, Some(reason))?;
        Ok(true)
    }

    /// Counts a failure, and returns the number of earlier occurrences.
    fn count_failure(&mut self, reason: &str) -> u32 {
        let count = self.failures.entry(failures::kind(reason)).or_default();
        *count += 1;
        *count - 1
    }

    fn position(&self, plot: u32) -> Position {
        let runs = self.rows.len() as u32;
        let ended = self.rows.iter().filter(|row| row.status.has_ended()).count() as u32;
        let share = f64::from(runs - ended) / f64::from(runs.max(1));
        let open = self.rows.iter().filter(|row| !row.status.has_ended());
        let cells = open.clone().map(|row| self.study.plan.runs[row.seq as usize].cell);
        let mut plots: BTreeMap<u32, PlotStage> = BTreeMap::from_iter(open.map(|row| (row.plot, PlotStage::Ahead)));
        plots.extend(self.standing.map(|plot| (plot, PlotStage::Standing)));
        let basis = if self.study.plan.stop.is_some() { LeftBasis::AtMost } else { LeftBasis::Measured };
        let by_runs = self
            .costs
            .left_s(cells, self.attempts_per_run(), plots.into_iter())
            .map(|seconds| TimeLeft { seconds, basis });
        let by_plan = || {
            let seconds = self.study.plan.estimate.seconds? * share;
            Some(TimeLeft { seconds, basis: LeftBasis::Assumed })
        };
        Position {
            plot: plot + 1,
            plots: self.study.plan.plots.len() as u32,
            ended,
            runs,
            left: by_runs.or_else(by_plan),
        }
    }

    /// Returns how often a run is made on average, since rejected ones are made again. The first
    /// few runs carry little weight.
    fn attempts_per_run(&self) -> f64 {
        const TAKEN_AS_GOOD: f64 = 4.0;
        let made = self.rows.iter().filter(|row| row.status.has_ended() && row.attempts > 0);
        let (runs, attempts) =
            made.fold((TAKEN_AS_GOOD, TAKEN_AS_GOOD), |(runs, all), row| (runs + 1.0, all + f64::from(row.attempts)));
        attempts / runs
    }

    fn report(&mut self, event: &ConductEvent<'_>) {
        self.setting.watcher.event(event);
    }
}
