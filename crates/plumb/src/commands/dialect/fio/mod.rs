//! `plumb as fio`.

mod disk;
mod layout;
mod logs;
mod output;
mod progress;
mod recorded;
mod report;
mod run;
mod say;
mod translate;
mod trigger;

use super::ToolCall;
use super::runner::{Dialect, Load, RunEnded, Step};
use crate::exit::End;
use disk::DiskFiles;
use plumb_dialects::fio::lower::Lowered;
use plumb_dialects::fio::{self, Action, Fio};
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_study::Bench;
use progress::Watching;
use say::{complain, say, told, warn};

/// fio's jobs; what is wrong goes to standard error, and the code is then 1.
pub struct Jobs {
    fio: Fio,
    disk: DiskFiles,
}

impl Dialect for Jobs {
    const NAME: &'static str = "fio";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Lowered;
    type Listener<'a> = Watching<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Jobs> {
        let mut disk = DiskFiles::default();
        let fio = told(fio::read(call.words, &disk::this_machine(), &mut disk).map_err(|errors| errors.0))?;
        match &fio.invocation.action {
            Action::Version => say(fio::VERSION),
            Action::Help => say(&fio::help::program()),
            Action::CommandHelp(option) => say(&told(fio::help::command(option.as_deref()).map_err(|error| [error]))?),
            Action::EngineHelp(engine) => say(&told(fio::help::engine(engine.as_deref()).map_err(|error| [error]))?),
            Action::Run => {
                has_jobs(&fio)?;
                Ok(Jobs { fio, disk })
            }
            asked => {
                warn(&fio, &fio.warnings, &[])?;
                has_jobs(&fio)?;
                match asked {
                    Action::Translate => say(&translate::translate(&fio, &mut disk)?),
                    Action::Plan => say(&translate::plan(&fio, &mut disk)?),
                    Action::ShowCommand => say(&fio::show::line(&fio)),
                    _ => Err(End::Done.into()),
                }
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Lowered> {
        run::lowered(&self.fio, &mut self.disk)
    }

    fn load<'a>(&'a self, run: &'a Lowered) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a Lowered, bench: &mut Bench) -> Step<Watching<'a>> {
        run::watching(&self.fio, run, bench)
    }

    fn print<'a>(&'a self, _run: &'a Lowered, listener: Watching<'a>, ended: &RunEnded) -> Step<()> {
        Err(run::end(listener, ended)?.into())
    }
}

fn has_jobs(fio: &Fio) -> Step<()> {
    if fio.jobs.is_empty() {
        return told(Err(["no job given; name a job file, or define a job with --name=NAME"]));
    }
    Ok(())
}
