//! `plumb as elbencho`.

mod between;
mod led;
mod outputs;
mod phase_watch;
mod places;
mod real;
mod service;
mod watching;

use led::Led;
use outputs::Outputs;
pub use phase_watch::LOOK_NS;
use places::HostPlaces;
use plumb_bench::{Bench, Division, RunError};
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_tools::FileError;
use plumb_tools_app::elbencho::lower::{Lowered, lower};
use plumb_tools_app::elbencho::{self, Action, ElbenchoSettings, help};
use plumb_tools_run::ToolCall;
use plumb_tools_run::error::DialectError;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page};
use plumb_workload::Workload;
use real::ServiceKind;
pub use service::{ASKED, ElbenchoService, ToAgent};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use watching::ElbenchoProgress;

/// An elbencho command. Errors go to standard error, and the exit code is then 1.
pub struct Elbencho {
    settings: ElbenchoSettings,
    /// The command line, including the program's name.
    command: Vec<String>,
    /// The services that run the phases; empty if this process does.
    services: Vec<String>,
    /// The coordinated run, after the services have received their parts.
    led: Option<Led>,
}

/// One run of all phases.
pub struct Run {
    lowered: Lowered,
    apart: Vec<Workload>,
    base: PathBuf,
}

impl Dialect for Elbencho {
    const NAME: &'static str = "elbencho";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Run;
    type Listener<'a> = ElbenchoProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Elbencho> {
        let mut file = |path: &str| plumb_text::bounded::read_to_string(path).map_err(FileError::io(path));
        let settings = match elbencho::read(call.words, &mut file) {
            Ok(settings) => settings,
            Err(errors) => {
                errors.iter().for_each(complain);
                return Err(End::DialectFailed.into());
            }
        };
        match settings.action {
            Action::Version => page(&help::version()),
            Action::Help => page(&help::short()),
            Action::HelpAll => page(&help::all()),
            Action::HelpDist => page(&help::dist()),
            Action::Service | Action::ServiceInForeground => led::serve(&settings),
            Action::Interrupt => led::send_to_services(&settings, ToAgent::InterruptOthers),
            Action::Quit => led::send_to_services(&settings, ToAgent::End),
            Action::DryRun | Action::Run => {
                let (mut settings, mut services, mut led) = (settings, Vec::new(), None);
                if settings.hosts.are_given() {
                    services = led::names(&settings)?;
                    led::wait(&settings, &services)?;
                    if or_complain(led::kind(&services))? == ServiceKind::Real {
                        return real::run(call, &settings, &services);
                    }
                    led::join(&settings, &services)?;
                    led = Some(led::ask(call, &settings, &services)?);
                    settings.part.hosts = services.len() as u32;
                }
                if settings.action == Action::DryRun {
                    let lowered = match led {
                        Some(led) => led.lowered,
                        None => or_complain(lower(&settings, &mut HostPlaces::new(&settings)))?,
                    };
                    return page(&elbencho::print::dryrun::phases(&lowered, &settings));
                }
                let command = std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned());
                Ok(Elbencho { settings, command: command.collect(), services, led })
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Run> {
        let Led { lowered, apart } = match self.led.take() {
            Some(led) => led,
            None => {
                let lowered = or_complain(lower(&self.settings, &mut HostPlaces::new(&self.settings)))?;
                Led { lowered, apart: Vec::new() }
            }
        };
        for note in &lowered.notes {
            error_line!("NOTE: {note}.");
        }
        let base = if apart.is_empty() { PathBuf::from(".") } else { led::base(&self.settings) };
        Ok(Run { lowered, apart, base })
    }

    fn load<'a>(&'a self, run: &'a Run) -> Load<'a> {
        Load { workload: &run.lowered.workload, base: &run.base }
    }

    fn listen<'a>(&'a self, run: &'a Run, bench: &mut Bench) -> Step<ElbenchoProgress<'a>> {
        if !run.apart.is_empty() {
            bench.partners.apart = Some(run.apart.clone().into());
            bench.partners.division = Division::Apart;
        }
        let outputs = or_complain(Outputs::open(&self.settings, &run.lowered.geometry))?;
        or_complain(wait_for_start(&self.settings, bench.stop))?;
        let words = (self.command.as_slice(), self.services.as_slice());
        let mut watching =
            or_complain(ElbenchoProgress::new(&self.settings, &run.lowered, words, outputs, bench.stop))?;
        or_complain(watching.begin())?;
        if run.lowered.workload.phase.is_empty() {
            return Err(End::Done.into());
        }
        Ok(watching)
    }

    fn print<'a>(&'a self, _run: &'a Run, mut watching: ElbenchoProgress<'a>, ended: &RunEnded) -> Step<()> {
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
fn wait_for_start(settings: &ElbenchoSettings, stop: StopFlag) -> Result<(), DialectError> {
    if settings.schedule.start_s == 0 {
        return Ok(());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wait = Duration::from_secs(settings.schedule.start_s).checked_sub(now);
    stop.sleep(wait.ok_or(DialectError::StartPassed)?);
    Ok(())
}

/// Returns the value, or prints the error and ends the tool.
fn or_complain<T>(result: Result<T, impl std::fmt::Display>) -> Step<T> {
    result.map_err(|error| {
        complain(error);
        End::DialectFailed.into()
    })
}

/// Prints an error to standard error.
fn complain(what: impl std::fmt::Display) {
    error_line!("ERROR: {what}");
}
