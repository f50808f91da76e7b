//! `plumb as fs_mark`.

use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_tools_app::fs_mark::print::{self, To};
use plumb_tools_app::fs_mark::{self, DEFAULT_LOG, FsMarkSettings, lower};
use plumb_tools_run::ToolCall;
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, conclude};
use plumb_tools_run::verdicts::LinePlace;
use plumb_workload::Workload;
use std::cell::Cell;
use std::path::Path;

const TOOL: &str = "fs_mark";

/// An fs_mark command, which may run several iterations. The exit code is 1 on any failure.
pub struct FsMark {
    settings: FsMarkSettings,
    done: Cell<u32>,
}

pub struct Quiet;

impl Progress for Quiet {}

impl FsMark {
    /// Returns the log file. Links are not followed under the default name, which the user need not have chosen.
    fn log(&self) -> OutputFile<'_> {
        match self.settings.log.as_str() {
            DEFAULT_LOG => OutputFile::made_up("-l", DEFAULT_LOG),
            path => OutputFile::named("-l", path),
        }
    }

    fn say(&self, text: &str, to: To) -> Step<()> {
        match to {
            To::Output => output::print(text),
            To::Log => report_files::or_report(report_files::add(self.log(), text), TOOL, End::DialectFailed)?,
        }
        Ok(())
    }
}

impl Dialect for FsMark {
    const NAME: &'static str = TOOL;
    type Run = Workload;
    type Listener<'a> = Quiet;

    fn read(call: &ToolCall<'_>) -> Step<FsMark> {
        let settings = match fs_mark::read(call.words) {
            Ok(settings) => settings,
            Err(error) => {
                let why = error.to_string();
                if !why.is_empty() {
                    error_line!("{why}");
                }
                error_text!("{}", fs_mark::usage());
                return Err(End::DialectFailed.into());
            }
        };
        let command: Vec<String> =
            std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned()).collect();
        let tool = FsMark { settings, done: Cell::new(0) };
        let began = report_files::ctime();
        for to in [To::Output, To::Log] {
            tool.say(&print::head(&tool.settings, &command, &began, to), to)?;
        }
        Ok(tool)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Workload> {
        if self.done.get() >= self.settings.iterations || stop.is_some_and(|stop| stop.signal().is_some()) {
            return Err(End::Done.into());
        }
        let now = jiff::Timestamp::now();
        Ok(lower(&self.settings, now.as_second().max(0) as u64, now.as_nanosecond() as u64))
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<Quiet> {
        Ok(Quiet)
    }

    /// Keeps Plumb's own line from being the last one, from which scripts read the rate: `fs_mark 2>&1 | tail -1`.
    fn line_place(&self) -> LinePlace {
        if self.settings.iterations == 1 { LinePlace::BeforeReport } else { LinePlace::LastUnlessMerged }
    }

    fn print<'a>(&'a self, _run: &'a Workload, _listener: Quiet, ended: &RunEnded) -> Step<()> {
        let end = conclude(TOOL, ended);
        let Some(outcome) = ended.outcome().filter(|_| end == End::Done) else { return Err(end.into()) };
        let settings = &self.settings;
        let files = u64::from(self.done.get()) * u64::from(settings.files) * settings.threads.len() as u64;
        let full = full_percent(Path::new(&settings.threads[0]));
        let line = print::line(settings, &outcome.measurement.phases, full, files);
        self.done.set(self.done.get() + 1);
        self.say(&line, To::Output)?;
        self.say(&line, To::Log)
    }
}

/// Returns the used share of a directory's file system, in percent.
fn full_percent(directory: &Path) -> u32 {
    rustix::fs::statvfs(directory).map_or(0, |found| {
        let used = found.f_blocks.saturating_sub(found.f_bavail);
        (100.0 * used as f64 / found.f_blocks.max(1) as f64) as u32
    })
}
