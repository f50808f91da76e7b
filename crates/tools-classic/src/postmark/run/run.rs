//! Runs PostMark once and prints its output.

use super::{Shell, complain, put};
use plumb_bench::{Progress, RunError, RunOutcome};
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_engine::PhaseNow;
use plumb_engine::guard::{Refusal, Remover};
use plumb_result::PhaseMeasurement;
use plumb_tools_classic::postmark::{
    Compat, Counts, OUT_OF_FILES, PhaseKind, Plan, PostmarkSettings, ReportForm, Spent, dots, lower, report,
};
use plumb_tools_run::runner::{RunEnded, Step};
use plumb_tools_run::simulated;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Interval between checks for dots in nanoseconds.
const LOOK_NS: u64 = 100_000_000;

/// From this file size on, PostMark's own numbers overflow.
const OVERFLOW_BYTES: u32 = 1 << 30;

/// A requested run.
pub struct Run {
    pub(super) plan: Plan,
    form: ReportForm,
    /// File that the report is appended to; `None` for standard output.
    to: Option<String>,
}

impl Shell {
    /// Returns the run of the current settings, or `None` if it is impossible.
    pub(super) fn run(&self, to: Option<String>) -> Step<Option<Run>> {
        let settings = &self.language.settings;
        if self.compat == Compat::Strict
            && let Some(code) = crash(settings)?
        {
            return Err(End::DialectCode(code).into());
        }
        let plan = match lower(settings, self.compat) {
            Ok(plan) => plan,
            Err(why) => {
                complain(why);
                return Ok(None);
            }
        };
        if let Some(directory) = plan.run.directories().find(|path| path.exists()) {
            complain(format!(
                "'{}' exists, and the run would delete it; remove it, or use another `set location`",
                directory.display()
            ));
            return Ok(None);
        }
        Ok(Some(Run { plan, form: settings.report, to }))
    }

    /// Prints the report of a run, or the reason why there is none.
    pub(super) fn print_report(&self, run: &Run, watching: PostmarkProgress<'_>, ended: &RunEnded) -> Step<()> {
        let PostmarkProgress { began, has_begun, remover, .. } = watching;
        let plan = &run.plan;
        let outcome = match &ended.result {
            Ok(outcome) if !outcome.result.partial && (self.compat == Compat::Strict || !has_faults(outcome)) => {
                outcome
            }
            result => {
                if has_begun {
                    remove_what_is_left(plan, &remover);
                    output::print("\n");
                }
                self.end.set(End::DialectFailed);
                match result {
                    Ok(outcome) => tell_faults(outcome),
                    Err(RunError::EndedEarly { error, outcome }) => {
                        complain(error);
                        tell_faults(outcome);
                    }
                    Err(error) => {
                        if error.refusal().is_some() {
                            self.end.set(End::Refused);
                        }
                        complain(error);
                    }
                }
                return if ended.signal.is_some() { Err(End::Interrupted.into()) } else { Ok(()) };
            }
        };
        if has_faults(outcome) {
            remove_what_is_left(plan, &remover);
        }
        if plan.runs_out_of_files() {
            return Ok(());
        }
        let phases = &outcome.measurement.phases;
        let strict = (Counts::requested(plan), Spent::whole_seconds(phases, began.subsec_nanos().into()));
        let meant = (Counts::measured(plan, phases), Spent::measured(phases));
        let (counts, spent) = if self.compat == Compat::Strict { strict } else { meant };
        if self.compat == Compat::Meant && !self.warned.replace(true) {
            error_line!(
                "plumb: times are exact; PostMark rounds to whole seconds, at least 1, and would print {} \
                 transactions per second (--compat=strict)",
                (strict.0.transactions as f64 / strict.1.transactions_s) as u64
            );
        }
        put(run.to.as_deref(), &report(run.form, &counts, &spent, self.compat));
        Ok(())
    }
}

/// Emulates a crash of PostMark: prints its output before it, and returns the exit code that a shell sees.
fn crash(settings: &PostmarkSettings) -> Result<Option<u8>, Stopped> {
    let (why, code) = if settings.high >= OVERFLOW_BYTES {
        complain("failed to allocate source file of size -2147483648");
        ("twice the largest size overflows its numbers", 139)
    } else if settings.transactions < 10 {
        output::print("Creating files...Done\nPerforming transactions");
        ("it divides by a tenth of the transactions, which is 0", 136)
    } else {
        return Ok(None);
    };
    error_line!("plumb: PostMark crashes here: {why}; nothing was run (remove --compat=strict to run it)");
    Ok(Some(code))
}

/// Removes the files and subdirectories of a run that did not complete. None of them existed before,
/// or the run would have been refused.
fn remove_what_is_left(plan: &Plan, remover: &Remover) {
    let paths = plan.run.paths();
    let (directories, files) = paths.split_at(plan.run.directory_count() as usize);
    for file in files {
        complain_of(remover.remove_file(file));
    }
    for directory in directories {
        complain_of(remover.remove_dir(directory));
    }
}

fn complain_of(removed: Result<bool, Refusal>) {
    if let Err(refusal) = removed {
        complain(refusal);
    }
}

fn has_faults(outcome: &RunOutcome) -> bool {
    outcome.measurement.phases.iter().any(|phase| phase.fault_count > 0)
}

fn tell_faults(outcome: &RunOutcome) {
    for fault in outcome.measurement.phases.iter().flat_map(|phase| &phase.faults) {
        complain(format!("{} of '{}': {}", fault.op.name(), fault.path.display(), fault.message));
    }
}

/// Prints each part as it begins and ends, with a dot for each tenth of the transactions.
pub struct PostmarkProgress<'a> {
    plan: &'a Plan,
    /// Time since 1970.
    began: Duration,
    dots: u64,
    has_begun: bool,
    /// Removes the files of an interrupted run.
    remover: Remover,
}

impl<'a> PostmarkProgress<'a> {
    pub(super) fn new(plan: &'a Plan) -> PostmarkProgress<'a> {
        // In virtual time, every run begins at a full second.
        let is_simulated =
            plan.run.locations.iter().any(|location| location.path.to_str().is_some_and(simulated::is_named));
        let began = match is_simulated {
            true => Duration::ZERO,
            false => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
        };
        let typed: Vec<PathBuf> = match plan.run.locations.as_slice() {
            [] => vec![PathBuf::new()],
            locations => locations.iter().map(|location| location.path.clone()).collect(),
        };
        PostmarkProgress { plan, began, dots: 0, has_begun: false, remover: Remover::new(&typed, []) }
    }

    fn dots_up_to(&mut self, count: u64) {
        let missing = count.saturating_sub(self.dots);
        self.dots += missing;
        output::print(&".".repeat(missing as usize));
    }
}

impl Progress for PostmarkProgress<'_> {
    fn clock_starts(&mut self, phase: &str) {
        self.has_begun = true;
        if let Some(kind) = PhaseKind::from_name(phase) {
            output::print(kind.announced());
        }
    }

    fn tick_ns(&self) -> Option<u64> {
        Some(LOOK_NS)
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        if now.phase() != PhaseKind::Transactions.name() {
            return;
        }
        let done: u64 = now.workers().iter().flat_map(|worker| worker.ops.values()).map(|moved| moved.count).sum();
        let all = self.plan.transaction_ops().max(1);
        let transactions = u128::from(self.plan.transactions()) * u128::from(done.min(all)) / u128::from(all);
        self.dots_up_to(dots(transactions as u64, self.plan.run.transactions.into()));
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        if measured.fault_count > 0
            && self
                .plan
                .workload
                .phase
                .iter()
                .any(|phase| phase.workers.iter().any(|group| group.on_error == plumb_workload::OnError::Stop))
        {
            return;
        }
        match PhaseKind::from_name(&measured.name) {
            Some(PhaseKind::Transactions) => {
                self.dots_up_to(dots(self.plan.transactions(), self.plan.run.transactions.into()));
                output::print(if self.plan.runs_out_of_files() { OUT_OF_FILES } else { "Done\n" });
            }
            Some(_) => output::print("Done\n"),
            None => {}
        }
    }
}
