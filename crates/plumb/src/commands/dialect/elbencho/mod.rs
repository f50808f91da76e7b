//! `plumb as elbencho`.

mod between;
mod outputs;
mod places;
mod watching;

use super::ToolCall;
use super::error::DialectError;
use super::runner::{Dialect, Load, RunEnded, Step, page};
use crate::exit::End;
use crate::output::error_line;
use outputs::Outputs;
use places::HostPlaces;
use plumb_dialects::FileError;
use plumb_dialects::elbencho::lower::{Lowered, lower};
use plumb_dialects::elbencho::{self, Action, Settings, help};
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_study::{Bench, RunError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use watching::Watching;

/// elbencho's phases; what is wrong goes to standard error, and the code is then 1.
pub struct Elbencho {
    settings: Settings,
    /// With the program's own name.
    command: Vec<String>,
}

impl Dialect for Elbencho {
    const NAME: &'static str = "elbencho";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Lowered;
    type Listener<'a> = Watching<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Elbencho> {
        let mut file = |path: &str| std::fs::read_to_string(path).map_err(FileError::io(path));
        let settings = match elbencho::read(call.words, &mut file) {
            Ok(settings) => settings,
            Err(wrong) => {
                wrong.iter().for_each(complain);
                return Err(End::DialectFailed.into());
            }
        };
        match settings.action {
            Action::Version => page(&help::version()),
            Action::Help => page(&help::short()),
            Action::HelpAll => page(&help::all()),
            Action::DryRun => {
                let lowered = told(lower(&settings, &mut HostPlaces::of(&settings)))?;
                page(&elbencho::print::dryrun::phases(&lowered, &settings))
            }
            Action::Run => {
                let command = std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned());
                Ok(Elbencho { settings, command: command.collect() })
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Lowered> {
        let lowered = told(lower(&self.settings, &mut HostPlaces::of(&self.settings)))?;
        for note in &lowered.notes {
            error_line!("NOTE: {note}.");
        }
        Ok(lowered)
    }

    fn load<'a>(&'a self, run: &'a Lowered) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a Lowered, bench: &mut Bench) -> Step<Watching<'a>> {
        let outputs = told(Outputs::open(&self.settings, &run.geometry))?;
        told(wait_for_start(&self.settings, bench.stop))?;
        let mut watching = told(Watching::new(&self.settings, run, &self.command, outputs, bench.stop))?;
        told(watching.begin())?;
        if run.workload.phase.is_empty() {
            return Err(End::Done.into());
        }
        Ok(watching)
    }

    fn print<'a>(&'a self, _run: &'a Lowered, mut watching: Watching<'a>, ended: &RunEnded) -> Step<()> {
        watching.clear();
        match &ended.result {
            Ok(_) => {}
            Err(RunError::EndedEarly { error, .. }) => {
                complain(error);
                watching.fail();
            }
            Err(error) => {
                complain(error);
                return Err(End::DialectFailed.into());
            }
        }
        let interrupted = ended.signal.is_some();
        let reasons = [(watching.time_is_over(), "phase time limit"), (interrupted, "interrupt signal")];
        for (_, reason) in reasons.into_iter().filter(|(is, _)| *is) {
            if let Err(error) = watching.say(&format!("Terminating due to {reason}.\n")) {
                complain(error);
                watching.fail();
            }
        }
        Err(if interrupted || watching.has_failed() { End::DialectFailed } else { End::Done }.into())
    }
}

/// Waits for the time of `--start`.
fn wait_for_start(settings: &Settings, stop: StopFlag) -> Result<(), DialectError> {
    if settings.start_s == 0 {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = Duration::from_secs(settings.start_s).checked_sub(now);
    stop.sleep(wait.ok_or(DialectError::StartPassed)?);
    Ok(())
}

/// What there is, or what is wrong, told.
fn told<T>(result: Result<T, impl std::fmt::Display>) -> Step<T> {
    result.map_err(|error| {
        complain(error);
        End::DialectFailed.into()
    })
}

/// What goes wrong is told on standard error.
fn complain(what: impl std::fmt::Display) {
    error_line!("ERROR: {what}");
}
