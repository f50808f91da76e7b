//! `plumb as dbench`.

use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::PhaseNow;
use plumb_engine::guard::Remover;
use plumb_engine::signals::StopFlag;
use plumb_tools_app::dbench::print::{self, Done};
use plumb_tools_app::dbench::{self, Action, DbenchSettings, lower};
use plumb_tools_run::ToolCall;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, conclude, page};
use plumb_tools_run::verdicts::LinePlace;
use plumb_workload::Workload;
use std::path::{Path, PathBuf};

const TOOL: &str = "dbench";

/// A dbench command. It runs once. The exit code is 1 on any failure.
pub struct Dbench {
    settings: DbenchSettings,
    has_run: bool,
}

impl Dbench {
    /// Returns the directory in which the clients work.
    fn clients(&self) -> PathBuf {
        Path::new(&self.settings.directory).join("clients")
    }
}

/// Returns any file of a tree, because the load would remove it.
fn any_file(directory: &Path) -> Option<PathBuf> {
    std::fs::read_dir(directory).ok()?.filter_map(Result::ok).find_map(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory { any_file(&entry.path()) } else { Some(entry.path()) }
    })
}

impl Dialect for Dbench {
    const NAME: &'static str = TOOL;
    type Run = Workload;
    type Listener<'a> = DbenchProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Dbench> {
        match dbench::read(call.words) {
            Ok(Action::Help) => page(&dbench::help()),
            Ok(Action::Run(settings)) => {
                output::print(&print::head(&settings));
                Ok(Dbench { settings, has_run: false })
            }
            Err(error) => {
                error_line!("{TOOL}: {error}");
                error_text!("{}", dbench::help());
                Err(End::DialectFailed.into())
            }
        }
    }

    fn next(&mut self, _stop: Option<StopFlag>) -> Step<Workload> {
        if self.has_run {
            return Err(End::Done.into());
        }
        self.has_run = true;
        if let Some(file) = any_file(&self.clients()) {
            error_line!(
                "{TOOL}: '{}' exists, and the run would remove all files of '{}'; remove it, or use another -D",
                file.display(),
                self.clients().display()
            );
            return Err(End::Refused.into());
        }
        Ok(lower(&self.settings))
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<DbenchProgress<'a>> {
        let remover = Remover::new(&[PathBuf::from(&self.settings.directory)], []);
        Ok(DbenchProgress { settings: &self.settings, last: Done::default(), remover })
    }

    /// The throughput is in the last line, and scripts read it with `dbench 2>&1 | tail -1`.
    fn line_place(&self) -> LinePlace {
        LinePlace::BeforeReport
    }

    fn print<'a>(&'a self, _run: &'a Workload, watching: DbenchProgress<'a>, ended: &RunEnded) -> Step<()> {
        // `next` checked that the directory did not exist before.
        if !self.settings.keeps
            && ended.outcome().is_some()
            && let Err(error) = watching.remover.remove_tree(&self.clients())
        {
            error_line!("{TOOL}: cannot remove '{}': {error}", self.clients().display());
        }
        if let Some(phase) = ended.outcome().and_then(|outcome| outcome.measurement.phases.first()) {
            output::print(&print::report(&self.settings, phase));
        }
        Err(conclude(TOOL, ended).into())
    }
}

/// Prints a line each second.
pub struct DbenchProgress<'a> {
    settings: &'a DbenchSettings,
    last: Done,
    /// Removes files that the clients leave.
    remover: Remover,
}

impl Progress for DbenchProgress<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        output::print(&print::released(self.settings));
    }

    fn tick_ns(&self) -> Option<u64> {
        Some(1_000_000_000)
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let warmup_ns = self.settings.warmup_s().saturating_mul(1_000_000_000);
        let seconds = now.elapsed_ns().saturating_sub(warmup_ns) as f64 / 1e9;
        // The warm-up is not counted.
        if seconds < 0.5 {
            return;
        }
        let done = Done::from_ops(&now.measurement().ops);
        output::print(&print::line(self.settings, seconds, &done, &self.last));
        self.last = done;
    }
}
