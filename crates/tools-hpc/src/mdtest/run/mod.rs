//! `plumb as mdtest`.

use crate::machine::{self, Report};
use plumb_bench::{Bench, Division, Progress, RunError};
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools_hpc::aiori::FileSystem;
use plumb_tools_hpc::mdtest::print::OpFile;
use plumb_tools_hpc::mdtest::trace::{self, Trace};
use plumb_tools_hpc::mdtest::{
    self, Facts, Invocation, IterationResult, Lowered, MdtestSettings, Test, lower, print, verbose,
};
use plumb_tools_run::ToolCall;
use plumb_tools_run::error::DialectError;
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page, refuse};
use plumb_workload::OpKind;
use std::cell::RefCell;
use std::path::Path;

/// An mdtest command. Errors go to standard error, and the exit code is then 1.
pub struct Mdtest {
    settings: MdtestSettings,
    /// Seed of the data, and of orders without an own seed.
    seed: i32,
    /// Whether the directories did not exist before.
    makes_places: bool,
    /// Number of tasks of the current runs; 0 before the first.
    tasks: u32,
    iteration: u32,
    /// Results of the iterations with this number of tasks.
    results: RefCell<Vec<IterationResult>>,
    report: Report,
}

impl Dialect for Mdtest {
    const NAME: &'static str = "mdtest";
    type Run = Lowered;
    type Listener<'a> = MdtestProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Mdtest> {
        let settings = match mdtest::read(call.words, machine::launched().as_ref()) {
            Ok(Invocation::Help) => return page(&mdtest::help()),
            Ok(Invocation::Run(settings, ignored)) => {
                machine::report_ignored(&ignored);
                *settings
            }
            Err(error) => return refuse(&format!("mdtest: {error}\n")),
        };
        let command: Vec<String> =
            std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned()).collect();
        Mdtest::from_settings(settings, &command, Report::Printed)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Lowered> {
        if stop.is_some_and(|stop| stop.signal().is_some()) {
            return Err(End::Interrupted.into());
        }
        let (first, last, stride) = self.settings.tasks;
        loop {
            let begins = self.tasks == 0 || self.iteration == self.settings.repetition.iterations;
            if begins {
                self.tasks = if self.tasks == 0 { first } else { self.tasks.saturating_add(stride) };
                self.iteration = 0;
            }
            if self.tasks > last || self.settings.repetition.iterations == 0 {
                self.report.print(&print::tail(&machine::now()));
                return Err(End::Done.into());
            }
            if begins {
                self.results.borrow_mut().clear();
            }
            let is_last =
                self.tasks.saturating_add(stride) > last && self.iteration + 1 == self.settings.repetition.iterations;
            let facts = Facts {
                iteration: self.iteration,
                tasks: self.tasks,
                seed: self.seed,
                items_at_wall: self.items_at_wall(),
                removes_places: is_last && self.makes_places,
            };
            let lowered = lower(&self.settings, &facts);
            if begins {
                self.report.print(&print::tasks(&self.settings, &lowered));
            }
            self.iteration += 1;
            if !lowered.workload.phase.is_empty() {
                return Ok(lowered);
            }
            // There is nothing to do: a single directory cannot be renamed, or there are 0 items.
            let none = IterationResult::default();
            if let Some(mut trace) = Trace::new(&self.settings, &lowered.facts) {
                trace.print(None, &none, &mut |lines| self.report.print(lines));
            }
            self.keep(none, &lowered, false)?;
        }
    }

    fn load<'a>(&'a self, run: &'a Lowered) -> Load<'a> {
        Load::here(&run.workload)
    }

    fn listen<'a>(&'a self, run: &'a Lowered, bench: &mut Bench) -> Step<MdtestProgress<'a>> {
        bench.partners.division = Division::Workers;
        let trace = Trace::new(&self.settings, &run.facts);
        Ok(MdtestProgress {
            settings: &self.settings,
            result: IterationResult::default(),
            tasks: run.facts.tasks,
            trace,
            report: &self.report,
            failed: None,
        })
    }

    fn print<'a>(&'a self, run: &'a Lowered, watching: MdtestProgress<'a>, ended: &RunEnded) -> Step<()> {
        let MdtestProgress { result, trace, failed, .. } = watching;
        report_files::or_report(failed.map_or(Ok(()), Err), "mdtest", End::DialectFailed)?;
        if let (Some(mut trace), Ok(_), None) = (trace, &ended.result, ended.signal) {
            trace.print(None, &result, &mut |lines| self.report.print(lines));
        }
        if let Some(wall) = print::wall(&result, run.items) {
            self.report.print(&wall);
        }
        self.report.print(&print::warnings(&result));
        let items_at_wall = result.at_wall.iter().max().copied();
        let fault = result.tests().find_map(|test| test.faults.first()).filter(|_| self.settings.warnings_are_errors);
        if let Some(fault) = fault {
            error_line!("mdtest: {} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
        }
        let failed = fault.is_some();
        if let Err(error) = &ended.result {
            error_line!("mdtest: {error}");
            // Measurements before the error are reported and kept.
            if !matches!(error, RunError::EndedEarly { .. }) {
                return Err(if error.refusal().is_some() { End::Refused } else { End::DialectFailed }.into());
            }
        }
        let ended_early = ended.result.is_err() || ended.signal.is_some() || failed;
        if let (Some(path), Some(items)) = (&self.settings.stonewall.status_file, items_at_wall) {
            report_files::or_report(
                report_files::write(OutputFile::named("-x", path), &items.to_string()),
                "mdtest",
                End::DialectFailed,
            )?;
        }
        self.report.print(&verbose::results(&self.settings, &result, run.facts.iteration));
        self.keep(result, run, ended_early)?;
        match ended_early {
            false => Ok(()),
            true if ended.signal.is_some() => Err(End::Interrupted.into()),
            true => Err(End::DialectFailed.into()),
        }
    }
}

impl Mdtest {
    /// Creates the dialect for settings that were parsed already. `command` includes the program's name.
    pub fn from_settings(settings: MdtestSettings, command: &[String], report: Report) -> Step<Mdtest> {
        let seed = settings.data.seed.unwrap_or_else(machine::seed_by_clock);
        report.print(&print::head(&settings, command, &machine::now()));
        let place = Path::new(&settings.tree.directories[0]);
        let [before, after] = trace::place(&settings);
        let file_system = match settings.dummy {
            None => machine::file_system(place),
            Some(_) => FileSystem::default(),
        };
        report.print(&format!("{before}{}{after}", print::place(&settings, &file_system, seed)));
        if let Some(path) = &settings.output.rank_csv {
            report_files::or_report(
                report_files::write(OutputFile::named("--saveRankPerformanceDetails", path), &print::csv_head()),
                "mdtest",
                End::DialectFailed,
            )?;
        }
        let makes_places = settings.dummy.is_none()
            && settings.tree.directories.iter().all(|directory| !Path::new(directory).exists());
        Ok(Mdtest { settings, seed, makes_places, tasks: 0, iteration: 0, results: RefCell::default(), report })
    }

    /// Returns the results of the iterations with the last number of tasks.
    pub fn results(&self) -> Vec<IterationResult> {
        self.results.borrow().clone()
    }

    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Keeps the result of an iteration, and prints the report after the last one.
    fn keep(&self, result: IterationResult, run: &Lowered, ends: bool) -> Step<()> {
        self.results.borrow_mut().push(result);
        if run.facts.iteration + 1 < self.settings.repetition.iterations && !ends {
            return Ok(());
        }
        let results = self.results.borrow();
        self.report.print(&print::report(&self.settings, &results));
        match &self.settings.output.rank_csv {
            Some(path) => {
                let rows = print::csv(&results, run.items);
                report_files::or_report(
                    report_files::add(OutputFile::named("--saveRankPerformanceDetails", path), &rows),
                    "mdtest",
                    End::DialectFailed,
                )
            }
            None => Ok(()),
        }
    }

    /// Returns the items before an earlier run's stonewall, if this run creates no files.
    fn items_at_wall(&self) -> Option<u64> {
        let path = self.settings.stonewall.status_file.as_ref().filter(|_| !self.settings.phases.creates)?;
        let read = machine::read_count(path);
        if read.is_none() {
            self.report.print("WARNING: Could not read stonewall status file\n");
        }
        read
    }
}

pub struct MdtestProgress<'a> {
    settings: &'a MdtestSettings,
    result: IterationResult,
    tasks: u32,
    trace: Option<Trace<'a>>,
    report: &'a Report,
    /// Error from writing a file of single operations.
    failed: Option<DialectError>,
}

impl Progress for MdtestProgress<'_> {
    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let Some(OpFile { path, bytes }) = print::op_file(self.settings, phase, worker) else { return };
        let mut of_files = ops.filter(|op| !matches!(op.kind, OpKind::Sync | OpKind::Command));
        if let Err(error) = machine::write_ops(&path, bytes, &mut of_files) {
            let what = format!("--savePerOpDataCSV: cannot write {path}");
            self.failed.get_or_insert(DialectError::file(what)(error));
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        self.result.add(measured, self.tasks);
        if let (Some(trace), Some(test)) = (&mut self.trace, Test::of_phase(&measured.name)) {
            trace.print(Some(test), &self.result, &mut |lines| self.report.print(lines));
        }
    }
}
