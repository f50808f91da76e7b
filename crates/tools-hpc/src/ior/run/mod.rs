//! `plumb as ior`.

use crate::machine::{self, Report};
use plumb_bench::{Bench, Division, Progress, mpi_io_of};
use plumb_cli::exit::End;
use plumb_cli::output::{error_line, error_text};
use plumb_cluster::mpi::MpiIo;
use plumb_engine::LoggedOp;
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools::FileError;
use plumb_tools_hpc::aiori::FileSystem;
use plumb_tools_hpc::ior::hints::{self, NotAHint};
use plumb_tools_hpc::ior::lower::lower;
use plumb_tools_hpc::ior::print::{self, Done, Session};
use plumb_tools_hpc::ior::{self, Access, AccessKind, Api, Facts, Form, Invocation, IorError, Lowered, Test};
use plumb_tools_run::ToolCall;
use plumb_tools_run::error::DialectError;
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{Dialect, Load, RunEnded, Step, page};
use plumb_tools_run::verdicts::LinePlace;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An IOR command. The exit code is the number of transfers with wrong data, or 255 after an error.
pub struct Ior {
    tests: Vec<Test>,
    session: Session,
    seed: i32,
    /// Ranks per node, if the user sets it; otherwise 0.
    ranks_per_node: u32,
    /// Index of the next test, and of its repetition.
    next: (usize, u32),
    /// Start of the current test.
    began: Instant,
    done: RefCell<Vec<Done>>,
    report: Report,
    /// Results so far, for the result file.
    results: RefCell<String>,
}

/// IOR's exit code after an error: MPI's -1.
const ABORTED: u8 = 255;

/// The end of a run after an error.
const FAILED: End = End::DialectCode(ABORTED);

/// A repetition of a test.
pub struct Run {
    pub lowered: Lowered,
    test: usize,
}

impl Dialect for Ior {
    const NAME: &'static str = "ior";
    type Run = Run;
    type Listener<'a> = IorProgress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Ior> {
        let mut file = |path: &str| plumb_text::bounded::read_to_string(path).map_err(FileError::io(path));
        let launched = machine::launched();
        let tests = match ior::read(call.words, launched.as_ref(), &mut file) {
            Ok(Invocation::Help) => return page(&ior::help()),
            Ok(Invocation::Run(tests, ignored)) => {
                machine::report_ignored(&ignored);
                tests
            }
            Err(error) => {
                error_line!("ior: {error}");
                return Err(if matches!(error, IorError::Words(_)) { End::DialectFailed } else { FAILED }.into());
            }
        };
        let words: Vec<String> =
            std::iter::once(call.called).map(str::to_owned).chain(call.words.iter().cloned()).collect();
        Ior::from_tests(tests, &words, Report::Printed)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Run> {
        if stop.is_some_and(|stop| stop.signal().is_some()) {
            self.finish()?;
            return Err(End::Interrupted.into());
        }
        let (mut number, mut repetition) = self.next;
        if self.is_late(number, repetition) {
            (number, repetition) = (number + 1, 0);
        }
        if repetition == 0 {
            self.began = Instant::now();
        }
        let Some(test) = self.tests.get(number) else {
            self.finish()?;
            // As in IOR, as far as the number fits an exit code.
            let mismatched: u64 =
                self.done.borrow().iter().flat_map(|done| &done.accesses).map(|access| access.mismatched).sum();
            return Err(match u8::try_from(mismatched) {
                Ok(0) => End::Done,
                Ok(code) => End::DialectCode(code),
                Err(_) => FAILED,
            }
            .into());
        };
        self.next =
            if repetition + 1 < test.repetition.repetitions { (number, repetition + 1) } else { (number + 1, 0) };
        let file = ior::lower::first_file(test, repetition);
        let facts = Facts {
            repetition,
            seed: self.seed,
            ranks_per_node: self.ranks_per_node,
            transfers_at_wall: self.transfers_at_wall(test)?,
            file_bytes: std::fs::metadata(&file).ok().map(|metadata| metadata.len()),
            hints: hints(test)?,
            missing_directories: (0..)
                .zip(ior::lower::directories(test))
                .filter_map(|(rank, path)| (!Path::new(&path).is_dir()).then_some(rank))
                .collect(),
        };
        let lowered = lower(test, &facts);
        if repetition == 0 {
            let done = Done {
                test: test.clone(),
                began: report_files::ctime(),
                file_system: match test.api {
                    Api::Dummy(_) => FileSystem::default(),
                    Api::Posix | Api::Aio(_) | Api::Mmap | Api::MpiIo(_) => machine::file_system(Path::new(&file)),
                },
                file,
                api_version: match mpi_io(test)? {
                    Some(library) => {
                        let (version, subversion) = library.standard();
                        format!("({version}.{subversion})")
                    }
                    None => String::new(),
                },
                accesses: Vec::new(),
            };
            if let Some(last) = self.done.borrow().last() {
                self.print_result(&print::test_tail(last));
            }
            self.print_result(&print::test_head(&done, self.per_node(test)));
            self.done.borrow_mut().push(done);
        }
        self.report.print(&print::data_stamp(test, self.seed));
        if repetition == 0 {
            self.print_result(print::table_head(test));
        }
        Ok(Run { lowered, test: number })
    }

    fn load<'a>(&'a self, run: &'a Run) -> Load<'a> {
        Load::here(&run.lowered.workload)
    }

    fn listen<'a>(&'a self, run: &'a Run, bench: &mut Bench) -> Step<IorProgress<'a>> {
        bench.partners.division = Division::Groups;
        let (test, repetition) = (&self.tests[run.test], run.lowered.repetition);
        let library = mpi_io(test)?;
        bench.engine.mpi_io = library.as_ref().map(mpi_io_of);
        let shows = library.filter(|_| test.hints.shows);
        if let Some(library) = &shows {
            library.watch_hints();
        }
        Ok(IorProgress { ior: self, test, repetition, accesses: Vec::new(), shows, failed: None })
    }

    /// JSON and CSV must remain valid after `>FILE 2>&1`.
    fn line_place(&self) -> LinePlace {
        let is_table = self.tests.iter().all(|test| test.output.form == Form::Table);
        if is_table { LinePlace::Last } else { LinePlace::LastUnlessMerged }
    }

    fn print<'a>(&'a self, run: &'a Run, watching: IorProgress<'a>, ended: &RunEnded) -> Step<()> {
        let test = &self.tests[run.test];
        if let Some(error) = watching.failed {
            report_files::or_report(Err(error), "ior", FAILED)?;
        }
        let of_calls = watching.accesses.iter().flat_map(|access| access.failed.first()).next().cloned();
        // A failed access has no measurement. IOR prints nothing about it either.
        let measured = || watching.accesses.iter().filter(|access| access.failed.is_empty());
        for access in measured() {
            if let Some(path) = test.output.rank_csv.as_deref().filter(|_| access.kind != AccessKind::WriteCheck) {
                report_files::or_report(
                    report_files::add(
                        OutputFile::named("saveRankPerformanceDetailsCSV", path),
                        &print::rank_csv(access),
                    ),
                    "ior",
                    FAILED,
                )?;
            }
            let at_wall = access.at_wall().filter(|_| access.kind == AccessKind::Write);
            if let (Some(path), Some((_, most, _)), false) = (&test.limits.status_file, at_wall, test.phases.dry) {
                report_files::or_report(
                    report_files::write(OutputFile::named("stoneWallingStatusFile", path), &most.to_string()),
                    "ior",
                    FAILED,
                )?;
            }
        }
        if let Some(done) = self.done.borrow_mut().last_mut() {
            done.accesses.extend(measured().cloned());
        }
        let failed = ended.error().or(of_calls);
        if let Some(why) = &failed {
            error_line!("ior: {why}");
        }
        if failed.is_some() || ended.signal.is_some() {
            self.finish()?;
            let refused = matches!(&ended.result, Err(error) if error.refusal().is_some());
            return Err(match (refused, ended.signal) {
                (true, _) => End::Refused,
                (false, Some(_)) => End::Interrupted,
                (false, None) => FAILED,
            }
            .into());
        }
        Ok(())
    }
}

impl Ior {
    /// Creates the dialect for tests that were parsed already. `command` includes the program's name.
    pub fn from_tests(tests: Vec<Test>, command: &[String], report: Report) -> Step<Ior> {
        let verbosity = tests.first().map_or(0, |test| test.output.verbosity);
        let session =
            Session { command: command.join(" "), began: report_files::ctime(), machine: machine::machine(verbosity) };
        let faked = std::env::var("IOR_FAKE_TASK_PER_NODES").ok().and_then(|text| text.parse().ok());
        let per_node = faked.or(machine::launched().map(|launched| launched.per_node()));
        for path in tests.iter().filter_map(|test| test.output.rank_csv.as_deref()) {
            report_files::or_report(
                report_files::write(OutputFile::named("saveRankPerformanceDetailsCSV", path), print::rank_csv_head()),
                "ior",
                FAILED,
            )?;
        }
        let ior = Ior {
            tests,
            session,
            seed: machine::seed_by_clock(),
            ranks_per_node: per_node.unwrap_or(0),
            next: (0, 0),
            began: Instant::now(),
            done: RefCell::default(),
            report,
            results: RefCell::default(),
        };
        if let Some(path) = ior.result_file() {
            ior.report.print(&format!("Writing output to {path}\n"));
        }
        if ior.tests.first().is_some_and(|test| test.output.form == Form::Table) {
            ior.print_result(&print::head(&ior.session));
        }
        Ok(ior)
    }

    /// Returns the path of the result file, which gets all results in any format; `None` prints them instead.
    fn result_file(&self) -> Option<&str> {
        self.tests.first()?.output.summary_file.as_deref()
    }

    /// Prints results, or keeps them for the result file, which is written at once.
    fn print_result(&self, text: &str) {
        match self.result_file() {
            Some(_) => self.results.borrow_mut().push_str(text),
            None => self.report.print(text),
        }
    }

    /// Returns the measurements of all tests so far.
    pub fn accesses(&self) -> Vec<Access> {
        self.done.borrow().iter().flat_map(|done| &done.accesses).cloned().collect()
    }

    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns `true` if the time of a test is over before this repetition. The first one always runs.
    fn is_late(&self, number: usize, repetition: u32) -> bool {
        self.tests.get(number).is_some_and(|test| is_over(test.limits.time_max_min, repetition, self.began.elapsed()))
    }

    fn per_node(&self, test: &Test) -> u32 {
        if self.ranks_per_node == 0 { test.tasks } else { self.ranks_per_node.min(test.tasks) }
    }

    /// Returns the transfers before an earlier run's stonewall, if this test writes nothing.
    fn transfers_at_wall(&self, test: &Test) -> Step<Option<u64>> {
        let Some(path) = test.limits.status_file.as_ref().filter(|_| !test.phases.writes) else { return Ok(None) };
        match machine::read_count(path) {
            Some(transfers) => Ok(Some(transfers)),
            None => {
                error_line!(
                    "ior: Could not read back the stonewalling status from {path}; write it first, or leave it out"
                );
                Err(FAILED.into())
            }
        }
    }

    /// Prints the text after the last test.
    fn finish(&self) -> Step<()> {
        let done = self.done.borrow();
        let Some(first) = done.first() else { return Ok(()) };
        let (per_node, ended) = (self.per_node(&first.test), report_files::ctime());
        let text = match first.test.output.form {
            Form::Json => print::json(&self.session, &done, &ended, per_node),
            _ => {
                let last = done.last().map(print::test_tail).unwrap_or_default();
                last + &print::summary(&done, per_node) + &print::tail(&done, &ended)
            }
        };
        self.print_result(&text);
        let Some(path) = self.result_file() else { return Ok(()) };
        report_files::or_report(
            report_files::write(OutputFile::named("summaryFile", path), &self.results.borrow()),
            "ior",
            FAILED,
        )
    }
}

/// Returns the MPI library for a test with MPI-IO. Initializes it if no launcher did.
fn mpi_io(test: &Test) -> Step<Option<Arc<MpiIo>>> {
    if !matches!(test.calls(), Api::MpiIo(_)) {
        return Ok(None);
    }
    plumb_cli::ranks::mpi_io().map(Some).map_err(|error| {
        error_line!("ior: -a MPIIO: {error}");
        FAILED.into()
    })
}

/// Returns the hints to MPI-IO from the environment and the test's hint file. The file takes precedence.
fn hints(test: &Test) -> Step<BTreeMap<String, String>> {
    if !matches!(test.api, Api::MpiIo(_)) {
        return Ok(BTreeMap::new());
    }
    let invalid = |place: &str, error: &NotAHint| {
        error_line!("ior: {place}: {error}");
        FAILED
    };
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let line = format!("{}={}", name.to_str()?, value.to_str()?);
        line.starts_with("IOR_HINT").then_some(line)
    });
    let variables: Vec<String> = variables.collect();
    let of_variables = hints::hints(variables.iter().map(String::as_str));
    let mut all = of_variables.map_err(|error| invalid("environment", &error))?;
    if let Some(path) = &test.hints.file {
        let option = "--mpiio.hintsFileName";
        let text = plumb_text::bounded::read_to_string(path)
            .map_err(DialectError::file(format!("{option}: cannot read {path}")));
        let text = report_files::or_report(text, "ior", FAILED)?;
        all.extend(hints::hints(text.lines()).map_err(|error| invalid(path, &error))?);
    }
    Ok(all)
}

/// Prints each result as soon as it is available.
pub struct IorProgress<'a> {
    ior: &'a Ior,
    test: &'a Test,
    repetition: u32,
    accesses: Vec<Access>,
    /// MPI library whose hints are printed.
    shows: Option<Arc<MpiIo>>,
    /// Error from writing a file of single transfers.
    failed: Option<DialectError>,
}

impl IorProgress<'_> {
    /// Prints a remark between the rows of a table. JSON and CSV have no remarks.
    fn remark(&self, text: &str) {
        match self.test.output.form {
            Form::Table => self.ior.report.print(text),
            Form::Json | Form::Csv => error_text!("{text}"),
        }
    }

    /// Writes the transfers of one rank in a phase.
    fn write_ops(
        &self,
        prefix: &str,
        phase: &str,
        rank: u32,
        ops: &mut dyn Iterator<Item = LoggedOp>,
    ) -> io::Result<()> {
        let path = print::op_csv_name(prefix, self.test, phase, self.repetition, rank);
        let mut began = None;
        let mut transfers = ops.filter(|op| op.kind.moves_bytes()).map(|op| {
            let began = *began.get_or_insert(op.submit_ns);
            LoggedOp { submit_ns: op.submit_ns - began, complete_ns: op.complete_ns.saturating_sub(began), ..op }
        });
        machine::write_ops(&path, self.test.size.transfer_bytes, &mut transfers)
    }
}

impl Progress for IorProgress<'_> {
    fn clock_starts(&mut self, phase: &str) {
        let facts = Facts { repetition: self.repetition, ranks_per_node: self.ior.ranks_per_node, ..Facts::default() };
        let lines = print::begins(self.test, phase, &ior::lower::readers(self.test, &facts), &report_files::ctime());
        if !lines.is_empty() {
            self.remark(&lines);
        }
    }

    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        // The name is `GROUP/NUMBER`, and each rank is a group.
        let group = worker.split('/').next().unwrap_or(worker);
        let rank = group.strip_prefix(ior::lower::RANK_PREFIX).and_then(|rank| rank.parse().ok());
        let (Some(prefix), Some(rank)) = (&self.test.output.op_csv, rank) else { return };
        if let Err(error) = self.write_ops(prefix, phase, rank, ops) {
            let what = format!("savePerOpDataCSV: cannot write {prefix}");
            self.failed.get_or_insert(DialectError::file(what)(error));
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        for hints in self.shows.iter().flat_map(|library| library.take_hints()) {
            self.remark(&print::hints("hints passed to MPI_File_open()", &hints.given));
            self.remark(&print::hints("hints returned from opened file", &hints.taken));
        }
        if measured.name == ior::lower::REMOVE {
            self.ior.print_result(&print::removal_row(self.test, measured.wall_ns as f64 / 1e9, self.repetition));
        }
        let Some(access) = Access::from_measurement(measured, self.test, self.repetition) else { return };
        self.remark(&print::remarks(self.test, &access));
        if self.test.output.form != Form::Json && access.failed.is_empty() {
            self.ior.print_result(&print::row(self.test, &access));
        }
        self.accesses.push(access);
    }
}

/// Returns `true` if -T ends a test before this repetition; 0 minutes mean no limit.
fn is_over(minutes: u32, repetition: u32, elapsed: Duration) -> bool {
    repetition > 0 && minutes > 0 && elapsed >= Duration::from_secs(u64::from(minutes) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects -T: no repetition starts after its minutes, but the first one always runs.
    #[test]
    fn no_repetition_starts_late() {
        let minute = Duration::from_secs(60);
        assert!(!is_over(1, 0, minute * 9));
        assert!(!is_over(0, 5, minute * 9));
        assert!(!is_over(2, 1, minute * 2 - Duration::from_millis(1)));
        assert!(is_over(2, 1, minute * 2));
    }
}
