//! `plumb as fio`.

mod act;
mod clients;
mod debug_ops;
mod disk;
mod idle;
mod inflate;
mod layout;
mod logs;
mod output;
mod own_tests;
mod progress;
mod recorded;
mod report;
mod run;
mod say;
mod schedulers;
mod served;
mod translate;
mod trigger;

use disk::DiskFiles;
use plumb_bench::Bench;
use plumb_cli::exit::End;
use plumb_cli::output::{self as stdout, error_text};
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_tools_fio::fio::invocation::{Invocation, OutputFormat};
use plumb_tools_fio::fio::lower::Lowered;
use plumb_tools_fio::fio::{self, Action, Fio};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step};
use plumb_tools_run::verdicts::LinePlace;
use progress::FioProgress;
use say::{complain, or_complain, say, warn};
pub use served::{ASKED, FioService, PULLED, pulled};

/// fio's jobs. Errors go to standard error, with exit code 1.
pub struct Jobs {
    fio: Fio,
    disk: DiskFiles,
}

impl Dialect for Jobs {
    const NAME: &'static str = "fio";
    const HEARS: &'static [StopSignal] = &[StopSignal::Interrupt, StopSignal::Terminate];
    type Run = Lowered;
    type Listener<'a> = FioProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Jobs> {
        let mut disk = DiskFiles::default();
        let fio = or_complain(fio::read(call.words, &disk::this_machine(), &mut disk).map_err(|errors| errors.0))?;
        if fio.invocation.action == Action::Run && !fio.invocation.hosts.clients.is_empty() {
            return Err(clients::run(&fio.invocation, call)?.into());
        }
        if fio.invocation.action == Action::Run && fio.invocation.hosts.server.is_some() {
            return Err(clients::serve(&fio.invocation)?.into());
        }
        match &fio.invocation.action {
            Action::Version => say(fio::VERSION),
            Action::Help => say(&fio::help::program()),
            // fio exits with 0 here, even if the option does not exist.
            Action::CommandHelp(option) => answer(&fio::help::command(option.as_deref()), End::Done),
            Action::EngineHelp(engine) => answer(&fio::help::engine(engine.as_deref()), End::DialectFailed),
            Action::DebugHelp => say(&fio::debug::areas()),
            Action::InflateLog(path) => inflate::print(path),
            Action::ClockTest => own_tests::clocks(),
            Action::ChecksumTest(asked) => own_tests::checksums(asked.as_deref()),
            Action::IdleCalibration => {
                say(&format!("CPU idleness:\n{}", fio::print::unit_work(own_tests::unit_work())))
            }
            Action::Run => {
                unknown_areas(&fio);
                has_jobs(&fio)?;
                Ok(Jobs { fio, disk })
            }
            asked => {
                warn(&fio, &fio.warnings, &[])?;
                unknown_areas(&fio);
                if *asked == Action::ParseOnly {
                    stdout::print(&debug_lines(&fio));
                }
                // Actions that only read need no job.
                if !matches!(asked, Action::ParseOnly | Action::ShowCommand) {
                    has_jobs(&fio)?;
                }
                match asked {
                    Action::ShowCommand if fio.jobs.is_empty() => Err(End::Done.into()),
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

    fn listen<'a>(&'a self, run: &'a Lowered, bench: &mut Bench) -> Step<FioProgress<'a>> {
        run::watching(&self.fio, run, bench)
    }

    fn line_place(&self) -> LinePlace {
        line_place(&self.fio.invocation)
    }

    fn print<'a>(&'a self, _run: &'a Lowered, listener: FioProgress<'a>, ended: &RunEnded) -> Step<()> {
        Err(run::end(listener, ended)?.into())
    }
}

/// Programs parse every format except `normal`. bench_fio of fio-plot treats any text on standard error as a failure,
/// and files of `--output-format=json >FILE 2>&1` must stay valid JSON.
fn line_place(invocation: &Invocation) -> LinePlace {
    if invocation.formats.contains(&OutputFormat::Normal) { LinePlace::Last } else { LinePlace::LastOnTerminal }
}

/// Prints a help answer; `unless_found` is the result if the topic does not exist.
fn answer<T>(answer: &fio::help::Answer, unless_found: End) -> Step<T> {
    error_text!("{}", answer.complaint);
    stdout::print(&answer.page);
    Err(if answer.is_found { End::Done } else { unless_found }.into())
}

fn unknown_areas(fio: &Fio) {
    for word in &fio.invocation.debug.unknown {
        complain(format!("debug mask {word} not found"));
    }
}

/// Returns the `--debug` output about the command line.
fn debug_lines(fio: &Fio) -> String {
    let debug = &fio.invocation.debug;
    let mut lines: String = debug.replies.iter().map(|reply| format!("{reply}\n")).collect();
    if debug.parse {
        lines.push_str(&fio::debug::parsed(fio, std::process::id()));
    }
    lines
}

fn has_jobs(fio: &Fio) -> Step<()> {
    if fio.jobs.is_empty() {
        return or_complain(Err(["no job given; name a job file, or define a job with --name=NAME"]));
    }
    Ok(())
}
