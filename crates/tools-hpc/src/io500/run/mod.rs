//! `plumb as io500`.

mod find;
mod places;

pub use find::TakesPart;

use crate::ior::{self, Ior};
use crate::machine::{self, Report};
use crate::md_workbench::{self, MdWorkbench};
use crate::mdtest::{self, Mdtest};
use places::Places;
use plumb_bench::{Bench, Progress};
use plumb_cli::exit::End;
use plumb_cli::output::{self, error_line};
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_result::PhaseMeasurement;
use plumb_tools::FileError;
use plumb_tools_hpc::io500::score::{Counts, Scores};
use plumb_tools_hpc::io500::{self, FindResult, Given, Invocation, Outcome, Phase, Plan, Task, Work, print, table};
use plumb_tools_hpc::ior::Access;
use plumb_tools_hpc::md_workbench::{Part, Sums};
use plumb_tools_hpc::mdtest::{IterationResult, Lowered};
use plumb_tools_run::ToolCall;
use plumb_tools_run::report_files;
use plumb_tools_run::runner::{Cut, Dialect, Load, RunEnded, Step, page, refuse};
use plumb_workload::Workload;
use std::cell::RefCell;
use std::io::Read;
use std::time::Instant;

/// Size limit of a configuration, bytes.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
const GIB: f64 = (1u64 << 30) as f64;

/// The phases of IO500, each run by IOR's or mdtest's dialect. Results are "io500-style". The exit code is 0 even if
/// they are invalid, as in IO500.
pub struct Io500 {
    plan: Plan,
    /// The text in place of IO500's version.
    version: String,
    /// Index of the next task.
    next: usize,
    running: Option<Running>,
    outcomes: RefCell<Vec<(Phase, Outcome)>>,
    places: Places,
}

struct Running {
    task: Task,
    tool: Tool,
    clock: Clock,
}

struct Clock {
    began: Instant,
    /// Local time of the start.
    at: String,
}

/// The tool that runs a phase.
enum Tool {
    Ior(Box<Ior>),
    Mdtest(Box<Mdtest>),
    Workbench(Box<MdWorkbench>),
}

/// A run of the tool.
pub enum Run {
    Ior(ior::Run),
    Mdtest(Lowered),
    Workbench(Workload),
}

pub enum Io500Progress<'a> {
    Ior(ior::IorProgress<'a>),
    Mdtest(mdtest::MdtestProgress<'a>),
    Workbench(md_workbench::MdWorkbenchProgress<'a>),
}

impl Progress for Io500Progress<'_> {
    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        match self {
            Io500Progress::Ior(watching) => watching.phase_ended(measured),
            Io500Progress::Mdtest(watching) => watching.phase_ended(measured),
            Io500Progress::Workbench(watching) => watching.phase_ended(measured),
        }
    }
}

/// Returns the local time in the format of results.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string()
}

impl Clock {
    fn start() -> Clock {
        Clock { began: Instant::now(), at: now() }
    }
}

fn read_config(path: &str) -> Result<String, FileError> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(FileError::io(path))?;
    file.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text).map_err(FileError::io(path))?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(FileError::TooLong { path: path.to_owned(), most_bytes: CONFIG_BYTES_MAX });
    }
    Ok(text)
}

impl Dialect for Io500 {
    const NAME: &'static str = "io500";
    type Run = Run;
    type Listener<'a> = Io500Progress<'a>;

    fn read(call: &ToolCall<'_>) -> Step<Io500> {
        let stamp = jiff::Zoned::now().strftime("%Y.%m.%d-%H.%M.%S").to_string();
        let given = match io500::read(call.words, machine::launched().as_ref(), &stamp, &mut read_config) {
            Ok(Invocation::Help) => return page(&io500::help()),
            Ok(Invocation::List) => return page(&table::list()),
            Ok(Invocation::ConfigHash(hash)) => return page(&print::pair("config-hash", &format!("{:X}", hash.0))),
            Ok(Invocation::Run(given)) => *given,
            Err(error) => return refuse(&format!("io500: {error}\n")),
        };
        machine::report_ignored(&given.ignored);
        if given.plan.is_dry {
            let phases = given.plan.tasks.iter().filter(|task| !task.is_left_out);
            return page(&phases.map(|task| print::dry(task.phase, &task.words)).collect::<String>());
        }
        Io500::begin(given)
    }

    fn next(&mut self, stop: Option<StopFlag>) -> Step<Run> {
        loop {
            if let Some(mut running) = self.running.take() {
                match running.tool.next(stop, running.task.phase) {
                    Ok(run) => {
                        self.running = Some(running);
                        return Ok(run);
                    }
                    Err(cut) => self.tool_ended(&running, cut)?,
                }
            }
            let Some(task) = self.plan.tasks.get(self.next).cloned() else { return Err(self.end()?) };
            if stop.is_some_and(StopFlag::requested) {
                self.end_early(&task)?;
                return Err(End::Interrupted.into());
            }
            self.next += 1;
            self.start(task, stop)?;
        }
    }

    fn load<'a>(&'a self, run: &'a Run) -> Load<'a> {
        Load::here(match run {
            Run::Ior(run) => &run.lowered.workload,
            Run::Mdtest(lowered) => &lowered.workload,
            Run::Workbench(workload) => workload,
        })
    }

    fn listen<'a>(&'a self, run: &'a Run, bench: &mut Bench) -> Step<Io500Progress<'a>> {
        match (self.tool(), run) {
            (Some(Tool::Ior(tool)), Run::Ior(run)) => tool.listen(run, bench).map(Io500Progress::Ior),
            (Some(Tool::Mdtest(tool)), Run::Mdtest(run)) => tool.listen(run, bench).map(Io500Progress::Mdtest),
            (Some(Tool::Workbench(tool)), Run::Workbench(run)) => tool.listen(run, bench).map(Io500Progress::Workbench),
            // The run always belongs to the current tool.
            _ => Err(End::DialectFailed.into()),
        }
    }

    fn print<'a>(&'a self, run: &'a Run, watching: Io500Progress<'a>, ended: &RunEnded) -> Step<()> {
        let printed = match (self.tool(), run, watching) {
            (Some(Tool::Ior(tool)), Run::Ior(run), Io500Progress::Ior(watching)) => tool.print(run, watching, ended),
            (Some(Tool::Mdtest(tool)), Run::Mdtest(run), Io500Progress::Mdtest(watching)) => {
                tool.print(run, watching, ended)
            }
            (Some(Tool::Workbench(tool)), Run::Workbench(run), Io500Progress::Workbench(watching)) => {
                tool.print(run, watching, ended)
            }
            _ => Err(End::DialectFailed.into()),
        };
        if let (Err(_), Some(running)) = (&printed, &self.running) {
            self.keep_report(running)?;
            self.end_early(&running.task)?;
        }
        printed
    }
}

impl Io500 {
    /// Creates the directories, and writes the facts that are known before the first phase.
    fn begin(given: Given) -> Step<Io500> {
        let Given { plan, text, .. } = given;
        let places = reported(Places::make(&plan))?;
        let version = print::version(env!("CARGO_PKG_VERSION"));
        let head = print::head(&plan, &version);
        let result = print::result_head(&plan, &version, &now());
        for (name, text) in [
            ("config-orig.ini", &text),
            ("config.ini", &plan.config.text_of_all()),
            ("result.txt", &result),
            ("result_summary.txt", &head),
        ] {
            reported(report_files::write(OutputFile::made_up("resultdir", &plan.result(name)), text))?;
        }
        output::print(&head);
        plan.invalid().iter().for_each(|why| output::print(&print::invalid(why)));
        Ok(Io500 { plan, version, next: 0, running: None, outcomes: RefCell::default(), places })
    }

    fn tool(&self) -> Option<&Tool> {
        self.running.as_ref().map(|running| &running.tool)
    }

    /// Starts a phase. Phases without a tool run here.
    fn start(&mut self, task: Task, stop: Option<StopFlag>) -> Step<()> {
        let clock = Clock::start();
        if task.is_left_out {
            return self.conclude(&task, &clock, Outcome::default());
        }
        let report = Report::Kept(RefCell::default());
        let tool = match &task.work {
            Work::Ior(test) => {
                Ior::from_tests(vec![(**test).clone()], &task.words, report).map(|tool| Tool::Ior(Box::new(tool)))
            }
            Work::Mdtest(settings) => Mdtest::from_settings((**settings).clone(), &task.words, report)
                .map(|tool| Tool::Mdtest(Box::new(tool))),
            Work::Workbench(_) => return self.start_workbench(task, clock, report),
            Work::Timestamp => {
                reported(report_files::write(OutputFile::made_up("resultdir", &self.plan.timestamp_file()), ""))?;
                return self.conclude(&task, &clock, Outcome::default());
            }
            Work::Find(find) => {
                let workers = find.threads.unwrap_or(u32::MAX).min(self.plan.ranks).max(1);
                let result = match (plumb_cli::ranks::joined(), stop) {
                    (Some(ranks), Some(stop)) => find::find_with(&ranks, find, workers, stop),
                    _ => find::find(find, workers, stop),
                };
                let result = reported(result).inspect_err(|_| drop(self.end_early(&task)))?;
                if stop.is_some_and(StopFlag::requested) {
                    self.end_early(&task)?;
                    return Err(End::Interrupted.into());
                }
                let csv = self.plan.result(&format!("{}.csv", task.phase.name()));
                reported(report_files::write(OutputFile::made_up("resultdir", &csv), &result.csv()))?;
                return self.conclude(&task, &clock, find_outcome(&result));
            }
        };
        let tool = tool.inspect_err(|_| drop(self.end_early(&task)))?;
        self.running = Some(Running { task, tool, clock });
        Ok(())
    }

    /// Starts a phase of md-workbench. Its number of files follows from the rate of mdtest's easy phase.
    fn start_workbench(&mut self, task: Task, clock: Clock, report: Report) -> Step<()> {
        let easy = |(phase, outcome): &(Phase, Outcome)| (*phase == Phase::MdtestEasyWrite).then_some(outcome.score);
        let kiops = self.outcomes.borrow().iter().find_map(easy).unwrap_or(0.0);
        let task = match self.plan.files_per_set(kiops) {
            Some(count) => task.with_files_per_set(count),
            None => task,
        };
        let Work::Workbench(settings) = &task.work else { return Err(End::DialectFailed.into()) };
        let tool = MdWorkbench::from_settings((**settings).clone(), &task.words, report);
        let tool = Tool::Workbench(Box::new(tool.inspect_err(|_| drop(self.end_early(&task)))?));
        self.running = Some(Running { task, tool, clock });
        Ok(())
    }

    /// Handles the end of a tool: it has no more runs, or it failed.
    fn tool_ended(&self, running: &Running, cut: Cut) -> Step<()> {
        self.keep_report(running)?;
        match cut {
            // IOR's exit code is the number of transfers with wrong data, which is also in its result. Or IOR had no
            // file to read: then there is no score.
            Cut::Over(End::Done | End::DialectCode(_)) => {
                let wall_s = self.plan.wall_s() as f64;
                let met_wall = running.task.phase.writes() && running.clock.began.elapsed().as_secs_f64() >= wall_s;
                let outcome = running.tool.outcome(running.task.phase, met_wall.then_some(wall_s));
                self.conclude(&running.task, &running.clock, outcome)
            }
            other => {
                self.end_early(&running.task)?;
                Err(other)
            }
        }
    }

    /// Writes the tool's output to a file.
    fn keep_report(&self, running: &Running) -> Step<()> {
        let path = self.plan.result(&format!("{}.txt", running.task.phase.name()));
        reported(report_files::write(OutputFile::made_up("resultdir", &path), &running.tool.report().kept()))
    }

    /// Judges a phase by IO500's rules, and prints its result.
    fn conclude(&self, task: &Task, clock: &Clock, mut outcome: Outcome) -> Step<()> {
        let phase = task.phase;
        outcome.time_s = clock.began.elapsed().as_secs_f64();
        let wall_s = self.plan.wall_s() as f64;
        if phase.writes() && outcome.time_s < wall_s {
            outcome.invalid.push(format!("Phase took {:.1} s, less than the stonewall's {wall_s} s", outcome.time_s));
        } else if outcome.score <= 0.0 && phase != Phase::Timestamp {
            outcome.invalid.push("Resulting score is 0.0".to_owned());
        }
        if phase.writes() && outcome.time_s < self.plan.least_s() as f64 {
            outcome.invalid.push("Runtime is smaller than expected minimum runtime".to_owned());
        }
        outcome.invalid.iter().for_each(|why| output::print(&print::invalid(why)));
        self.say(&print::line(phase, &outcome))?;
        self.add_result(&print::result_phase(phase, &task.words, &outcome, &clock.at, &now()))?;
        self.outcomes.borrow_mut().push((phase, outcome));
        Ok(())
    }

    /// Prints a line to standard output and to the summary.
    fn say(&self, line: &str) -> Step<()> {
        output::print(line);
        reported(report_files::add(OutputFile::made_up("resultdir", &self.plan.result("result_summary.txt")), line))
    }

    fn add_result(&self, text: &str) -> Step<()> {
        reported(report_files::add(OutputFile::made_up("resultdir", &self.plan.result("result.txt")), text))
    }

    /// Prints the scores of the measured phases.
    fn scores(&self, ended_early: bool) -> Step<()> {
        let outcomes = self.outcomes.borrow();
        let modes = if self.plan.is_extended { &[Counts::Standard, Counts::All][..] } else { &[Counts::Standard] };
        for &counts in modes {
            let counted = outcomes.iter().filter(|(phase, _)| counts == Counts::All || !phase.is_extended());
            let is_valid = !ended_early
                && self.plan.invalid().is_empty()
                && counted.into_iter().all(|(_, outcome)| outcome.invalid.is_empty());
            self.add_result(&print::result_scores(&outcomes, &self.version, counts, is_valid))?;
            self.say(&print::score_line(&Scores::from_outcomes(&outcomes, counts), counts, is_valid))?;
        }
        Ok(())
    }

    /// Finishes the run after the last phase.
    fn end(&self) -> Step<Cut> {
        self.scores(false)?;
        self.places.clear(&self.plan);
        self.add_result(&print::result_tail(&now()))?;
        output::print(&format!("\nThe result files are stored in the directory: {}\n", self.plan.results));
        Ok(End::Done.into())
    }

    /// Ends the run after a failed or interrupted phase, and keeps earlier results.
    fn end_early(&self, task: &Task) -> Step<()> {
        let why = format!("Ended early, in the phase {}", task.phase.name());
        output::print(&print::invalid(&why));
        self.add_result(&format!("\n; {}", print::invalid(&why)))?;
        self.scores(true)?;
        error_line!("io500: ended early; results so far are in {}, test data in {}", self.plan.results, self.plan.data);
        Ok(())
    }
}

impl Tool {
    /// Returns the tool's next run. Results call it by the phase's name.
    fn next(&mut self, stop: Option<StopFlag>, phase: Phase) -> Step<Run> {
        match self {
            Tool::Ior(tool) => {
                let mut run = tool.next(stop)?;
                phase.name().clone_into(&mut run.lowered.workload.name);
                Ok(Run::Ior(run))
            }
            Tool::Mdtest(tool) => {
                let mut lowered = tool.next(stop)?;
                phase.name().clone_into(&mut lowered.workload.name);
                Ok(Run::Mdtest(lowered))
            }
            Tool::Workbench(tool) => {
                let mut workload = tool.next(stop)?;
                phase.name().clone_into(&mut workload.name);
                Ok(Run::Workbench(workload))
            }
        }
    }

    fn report(&self) -> &Report {
        match self {
            Tool::Ior(tool) => tool.report(),
            Tool::Mdtest(tool) => tool.report(),
            Tool::Workbench(tool) => tool.report(),
        }
    }

    /// Returns the outcome. `wall_s` is the time of the stonewall, if the phase reached it.
    fn outcome(&self, phase: Phase, wall_s: Option<f64>) -> Outcome {
        match self {
            Tool::Ior(tool) => ior_outcome(&tool.accesses(), wall_s),
            Tool::Mdtest(tool) => mdtest_outcome(&tool.results(), phase, wall_s),
            Tool::Workbench(tool) => workbench_outcome(&tool.results(), tool.reads_only()),
        }
    }
}

fn ior_outcome(accesses: &[Access], wall_s: Option<f64>) -> Outcome {
    let Some(access) = accesses.last() else { return Outcome::default() };
    let mut outcome = Outcome { score: access.bandwidth() / GIB, ..Outcome::default() };
    let at_wall: u64 = access.ranks.iter().filter_map(|rank| rank.at_wall).sum();
    let transfers: u64 = access.ranks.iter().map(|rank| rank.transfers).sum();
    if let Some(wall_s) = wall_s.filter(|_| at_wall > 0 && transfers > 0) {
        let bytes = access.bytes as f64 / transfers as f64 * at_wall as f64;
        outcome.details.push(("throughput-stonewall", format!("{:.2}", bytes / wall_s / GIB)));
    }
    for (count, what) in
        [(access.mismatched, "did not match the written data"), (access.short, "moved less than requested")]
    {
        if count > 0 {
            outcome.invalid.push(format!("Transfers that {what}: {count}"));
        }
    }
    outcome
}

fn mdtest_outcome(results: &[IterationResult], phase: Phase, wall_s: Option<f64>) -> Outcome {
    let Some(result) = results.last() else { return Outcome::default() };
    let rate = phase.mdtest().and_then(|test| result.test(test)).map_or(0.0, |test| test.rate());
    let mut outcome = Outcome { score: rate / 1e3, ..Outcome::default() };
    let at_wall: u64 = result.at_wall.iter().sum();
    if let Some(wall_s) = wall_s.filter(|_| at_wall > 0) {
        outcome.details.push(("rate-stonewall", format!("{:.6}", at_wall as f64 / wall_s / 1e3)));
    }
    let failed: u64 = result.tests().map(|test| test.fault_count).sum();
    if failed > 0 {
        outcome.invalid.push(format!("Operations that failed: {failed}"));
    }
    outcome
}

/// Returns the outcome of the last phase: with two iterations, the second counts.
fn workbench_outcome(results: &[(Part, Sums)], reads_only: bool) -> Outcome {
    let kiops = |(part, sums): &(Part, Sums)| sums.rate(part, reads_only) / 1e3;
    let Some((last, before)) = results.split_last() else { return Outcome::default() };
    let longest = |sums: &Sums| format!("{:.6}", sums.longest_s());
    let mut outcome = Outcome { score: kiops(last), ..Outcome::default() };
    outcome.details.push(("maxOpTime", longest(&last.1)));
    if let Some(first) = before.first() {
        outcome.details.push(("scoreIteration0", format!("{:.6}", kiops(first))));
        outcome.details.push(("maxOpTime0", longest(&first.1)));
    }
    let errors: u64 = results.iter().map(|(_, sums)| sums.errors).sum();
    if errors > 0 {
        outcome.invalid.push(format!("Operations that failed or read wrong data: {errors}"));
    }
    outcome
}

fn find_outcome(result: &FindResult) -> Outcome {
    let details = vec![
        ("nproc", result.threads.len().to_string()),
        ("found", result.found().to_string()),
        ("total-files", result.files().to_string()),
    ];
    let mut invalid = Vec::new();
    if result.errors() > 0 {
        let first = result.error.as_deref().unwrap_or_default();
        invalid.push(format!("Directories and files that could not be read: {}; {first}", result.errors()));
    }
    if result.found() == 0 {
        invalid.push("Find found nothing".to_owned());
    }
    Outcome { score: result.kiops(), details, invalid, ..Outcome::default() }
}

/// Returns the value, or prints the error and ends the tool.
fn reported<T>(result: Result<T, plumb_tools_run::error::DialectError>) -> Step<T> {
    report_files::or_report(result, "io500", End::DialectFailed)
}
