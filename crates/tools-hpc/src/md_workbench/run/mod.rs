//! `plumb as md-workbench`.

use crate::machine::{self, Report};
use plumb_bench::{Bench, Division, Progress, RunError};
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_engine::LoggedOp;
use plumb_engine::guard::{OutputFile, Remover};
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools_hpc::md_workbench::{self, Facts, Invocation, MdWorkbenchSettings, Part, PartKind, Sums, lower, print};
use plumb_tools_run::ToolCall;
use plumb_tools_run::error::DialectError;
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page, refuse};
use plumb_workload::Workload;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

const TOOL: &str = "md-workbench";

/// An md-workbench command: one run. As in md-workbench, failed operations leave the exit code 0. It is 1
/// if -X found wrong data.
pub struct MdWorkbench {
    settings: MdWorkbenchSettings,
    facts: Facts,
    parts: Vec<Part>,
    has_run: bool,
    began: Instant,
    results: RefCell<Vec<(Part, Sums)>>,
    /// Position at which the next run continues.
    position: Cell<u64>,
    report: Report,
    /// Removes the directory if it is empty.
    remover: Remover,
}

impl Dialect for MdWorkbench {
    const NAME: &'static str = TOOL;
    type Run = Workload;
    type Listener<'a> = MdWorkbenchProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<MdWorkbench> {
        let settings = match md_workbench::read(call.words, machine::launched().as_ref()) {
            Ok(Invocation::Help) => return page(&md_workbench::help()),
            Ok(Invocation::Run(settings, ignored)) => {
                machine::report_ignored(&ignored);
                *settings
            }
            Err(error) => return refuse(&format!("{TOOL}: {error}\n")),
        };
        let command: Vec<String> =
            std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned()).collect();
        MdWorkbench::from_settings(settings, &command, Report::Printed)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Workload> {
        if stop.is_some_and(|stop| stop.signal().is_some()) {
            return Err(End::Interrupted.into());
        }
        if self.has_run || self.parts.is_empty() {
            self.report.print(&print::tail(&self.settings, self.began.elapsed().as_secs_f64(), &now()));
            let is_wrong = self.results.borrow().iter().any(|(_, sums)| sums.read_what_was_not_written());
            return Err(if is_wrong { End::DialectCode(1) } else { End::Done }.into());
        }
        self.has_run = true;
        Ok(lower(&self.settings, &self.facts))
    }

    fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
        Load::here(run)
    }

    fn listen<'a>(&'a self, _run: &'a Workload, bench: &mut Bench) -> Step<MdWorkbenchProgress<'a>> {
        bench.partners.division = Division::Workers;
        Ok(MdWorkbenchProgress { tool: self, written: BTreeSet::new(), failed: None })
    }

    fn print<'a>(&'a self, _run: &'a Workload, watching: MdWorkbenchProgress<'a>, ended: &RunEnded) -> Step<()> {
        if let Err(error) = &ended.result {
            error_line!("{TOOL}: {error}");
            if !matches!(error, RunError::EndedEarly { .. }) {
                return Err(if error.refusal().is_some() { End::Refused } else { End::DialectFailed }.into());
            }
        }
        let written = watching.failed.map_or(Ok(()), Err);
        report_files::or_report(written, TOOL, End::DialectFailed)?;
        if ended.signal.is_some() {
            return Err(End::Interrupted.into());
        }
        if ended.result.is_err() || !self.is_prepared() {
            return Err(End::DialectFailed.into());
        }
        self.conclude()
    }
}

impl MdWorkbench {
    /// Creates the dialect for settings that were parsed already. `command` includes the program's name.
    pub fn from_settings(settings: MdWorkbenchSettings, command: &[String], report: Report) -> Step<MdWorkbench> {
        report.print(&print::head(&settings, command, &now()));
        let goes_on = !settings.phases.precreates && settings.dataset.start_item.is_none();
        let start = match (settings.dataset.start_item, goes_on) {
            (Some(item), _) => item,
            (None, false) => 0,
            (None, true) => report_files::or_report(position(&settings.status_file), TOOL, End::DialectFailed)?,
        };
        let facts = Facts { seed: settings.data.seed.unwrap_or_else(machine::seed_by_clock), start };
        Ok(MdWorkbench {
            remover: Remover::new(&[PathBuf::from(&settings.directory)], []),
            parts: Part::all(&settings),
            settings,
            facts,
            has_run: false,
            began: Instant::now(),
            results: RefCell::default(),
            position: Cell::new(start),
            report,
        })
    }

    /// Returns the measurements by phase.
    pub fn results(&self) -> Vec<(Part, Sums)> {
        self.results.borrow().clone()
    }

    /// Returns `true` if the benchmark only reads.
    pub fn reads_only(&self) -> bool {
        self.settings.phases.reads_only
    }

    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns `true` if all objects to renew exist; otherwise reports an error.
    fn is_prepared(&self) -> bool {
        let results = self.results.borrow();
        let failed = |(part, sums): &(Part, Sums)| part.kind == PartKind::Precreate && sums.errors > 0;
        let failed = results.iter().any(failed) && !self.settings.phases.ignores_precreate_errors;
        if failed {
            error_line!(
                "{TOOL}: data sets or objects could not be created in {}; remove what is left there, or use \
                 --ignore-precreate-errors",
                self.settings.directory
            );
        }
        !failed
    }

    /// Keeps the position for the next run. After the last phase, removes the directory if it is empty.
    fn conclude(&self) -> Step<()> {
        let MdWorkbenchSettings { directory, status_file, .. } = &self.settings;
        if !self.settings.phases.cleans_up {
            let written = report_files::write(
                OutputFile::named("--run-info-file", status_file),
                &print::status(self.position.get()),
            );
            return report_files::or_report(written, TOOL, End::DialectFailed);
        }
        if self.settings.dummy.is_none() && !self.remover.remove_dir(Path::new(directory)).unwrap_or(false) {
            self.report.print(&format!("Unable to remove directory {directory}\n"));
        }
        Ok(())
    }
}

/// Returns the local time in md-workbench's format.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Reads the position of an earlier run.
fn position(path: &str) -> Result<u64, DialectError> {
    let what = || format!("--run-info-file: cannot read {path}, which a run without -3 leaves");
    let text = plumb_text::bounded::read_to_string(path).map_err(DialectError::file(what()))?;
    let no_position = || io::Error::new(io::ErrorKind::InvalidData, "it holds no `pos: NUMBER`");
    print::position(&text).ok_or_else(|| DialectError::file(what())(no_position()))
}

/// Prints each finished phase.
pub struct MdWorkbenchProgress<'a> {
    tool: &'a MdWorkbench,
    /// Files of latencies that this run wrote.
    written: BTreeSet<String>,
    /// Error from writing a file of latencies.
    failed: Option<DialectError>,
}

impl MdWorkbenchProgress<'_> {
    fn part(&self, phase: &str) -> Option<&Part> {
        let settings = &self.tool.settings;
        self.tool.parts.iter().find(|part| part.phase(settings) == phase)
    }

    /// Writes the operations of one rank in a phase, to a file for each kind.
    fn write_ops(&mut self, prefix: &str, part: Part, ops: &mut dyn Iterator<Item = LoggedOp>) -> io::Result<()> {
        let mut files = Vec::new();
        for (kind, name) in part.ops() {
            let path = print::latency_file(&self.tool.settings, prefix, &part, name);
            // The first rank replaces the file of an earlier run.
            let is_new = self.written.insert(path.clone());
            let output = OutputFile::made_up("--latency", &path);
            let mut file = BufWriter::new(if is_new { output.create()? } else { output.append()? });
            if is_new {
                file.write_all(print::LATENCY_HEAD.as_bytes())?;
            }
            files.push((*kind, file));
        }
        for op in ops {
            if let Some((_, file)) = files.iter_mut().find(|(kind, _)| *kind == op.kind) {
                let row = print::latency_row(op.submit_ns, op.complete_ns.saturating_sub(op.submit_ns));
                file.write_all(row.as_bytes())?;
            }
        }
        files.iter_mut().try_for_each(|(_, file)| file.flush())
    }
}

impl Progress for MdWorkbenchProgress<'_> {
    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let settings = &self.tool.settings;
        let is_rank_0 = worker.rsplit('/').next() == Some("0");
        let (Some(prefix), Some(&part)) = (settings.output.latency_files.clone(), self.part(phase)) else { return };
        if !is_rank_0 && !settings.output.latencies_of_all {
            return;
        }
        if let Err(error) = self.write_ops(&prefix, part, ops) {
            self.failed.get_or_insert(DialectError::file(format!("-L: cannot write {prefix}"))(error));
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let Some(&part) = self.part(&measured.name) else { return };
        let MdWorkbench { settings, report, position, results, .. } = self.tool;
        report.print(&print::phase(settings, &part, measured));
        if part.kind == PartKind::Benchmark {
            position.set(position.get() + print::renewed(settings, &part, measured));
        }
        results.borrow_mut().push((part, Sums::from_measurement(measured)));
    }
}
