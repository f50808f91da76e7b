//! Runs a tool's arguments: parses them, lowers them to a workload, measures it, judges the result and prints it in
//! the tool's own format. A [`Dialect`] holds what differs between tools.

use super::ToolCall;
use crate::dashes;
use crate::own_words::OwnWords;
use crate::simulated;
use crate::verdicts::{LinePlace, Verdicts, report_unstored};
use plumb_bench::{Bench, Both, Policies, Progress, RunError, RunOutcome, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line, error_text};
use plumb_cli::session;
use plumb_cli::session::command_line;
use plumb_cli::stream::{StandardOutput, Streams};
use plumb_engine::guard::Guard;
use plumb_engine::signals::{self, StopFlag, StopSignal};
use plumb_engine::sim::SimRun;
use plumb_engine::write_guard;
use plumb_workload::Workload;
use std::path::Path;

/// The reason that a tool stops. Every message was already printed, except the one in [`Cut::Stopped`].
#[derive(Debug)]
pub enum Cut {
    /// The tool ended with this exit status.
    Over(End),
    /// Plumb itself failed.
    Stopped(Stopped),
    /// The process kills itself with this signal.
    Signal(StopSignal),
}

impl From<End> for Cut {
    fn from(end: End) -> Cut {
        Cut::Over(end)
    }
}

impl From<Stopped> for Cut {
    fn from(stopped: Stopped) -> Cut {
        Cut::Stopped(stopped)
    }
}

/// Result of one step of a tool's run.
pub type Step<T> = Result<T, Cut>;

/// A run that the engine is about to execute.
pub struct Load<'a> {
    pub workload: &'a Workload,
    /// Base directory of relative file names.
    pub base: &'a Path,
}

impl<'a> Load<'a> {
    /// Returns a load in the working directory.
    pub fn here(workload: &'a Workload) -> Load<'a> {
        Load { workload, base: Path::new(".") }
    }
}

pub struct RunEnded {
    /// The measurement, or the reason that there is none.
    pub result: Result<RunOutcome, RunError>,
    /// The signal that ended the run. `None` if the program itself requested the stop.
    pub signal: Option<StopSignal>,
}

impl RunEnded {
    /// Returns the measurement, whole or partial.
    pub fn outcome(&self) -> Option<&RunOutcome> {
        match &self.result {
            Ok(outcome) => Some(outcome),
            Err(RunError::EndedEarly { outcome, .. }) => Some(outcome),
            Err(_) => None,
        }
    }

    /// Returns the error that ended the run early.
    pub fn error(&self) -> Option<String> {
        match &self.result {
            Ok(_) => None,
            Err(RunError::EndedEarly { error, .. }) => Some(error.clone()),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// The parts of a tool that differ from other tools: its arguments, workload and output.
pub trait Dialect: Sized {
    /// Name of the tool in results.
    const NAME: &'static str;
    /// Signals that the tool handles even if its parent process ignores them.
    const HEARS: &'static [StopSignal] = &[];
    /// One run: its workload, and the tool's own data about it.
    type Run;
    /// Watches the run, prints the live output, and collects data for the report.
    type Listener<'a>: Progress
    where
        Self: 'a;

    /// Parses the arguments. Help pages and usage errors are printed here.
    fn read(call: &ToolCall<'_>) -> Step<Self>;

    /// Lowers the next run and prints its header; ends the tool after the last run. `stop` is `Some` after the first
    /// run, and is set by signals.
    fn next(&mut self, stop: Option<StopFlag>) -> Step<Self::Run>;

    /// Creates the bench, before the first run.
    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        session::bench_of_tool(common)
    }

    /// Removes the parts of a run that do not fit on the device, if the rest is still a valid run, and reports that.
    fn fit(&mut self, _run: &mut Self::Run, _guard: &Guard) -> Step<()> {
        Ok(())
    }

    /// Returns the load for the engine.
    fn load<'a>(&'a self, run: &'a Self::Run) -> Load<'a>;

    /// Opens the run's outputs, and adapts the bench to the run.
    fn listen<'a>(&'a self, run: &'a Self::Run, bench: &mut Bench) -> Step<Self::Listener<'a>>;

    /// Returns the place where a verdict line does not break programs that parse the tool's output.
    fn line_place(&self) -> LinePlace {
        LinePlace::Last
    }

    /// Prints the report after the run. Ends the tool, or lets it go on to the next run.
    fn print<'a>(&'a self, run: &'a Self::Run, listener: Self::Listener<'a>, ended: &RunEnded) -> Step<()>;
}

/// Runs one invocation of a tool.
pub fn speak<D: Dialect>(call: &ToolCall<'_>) -> Result<End, Stopped> {
    let mut bench = None;
    let mut verdicts = Verdicts::new(call.verdicts, call.common);
    let Err(cut) = runs::<D>(call, &mut bench, &mut verdicts);
    end(cut, bench, verdicts)
}

/// Returns the exit status. Not generic, so that it is compiled once and not for every tool.
fn end(cut: Cut, bench: Option<Bench>, mut verdicts: Verdicts) -> Result<End, Stopped> {
    verdicts.print();
    // The tool's own failure is more informative. After a success, the missing result still is an error.
    let is_stored = bench.as_ref().is_none_or(|bench| bench.results.not_stored.is_none());
    match cut {
        Cut::Over(End::Done) if !is_stored => Ok(End::Io),
        Cut::Over(end) => Ok(verdicts.end(end)),
        Cut::Stopped(stopped) => Err(stopped),
        Cut::Signal(signal) => {
            // Close the store first: `kill_self` does not return.
            drop(bench);
            plumb_cli::ranks::dismiss(End::Interrupted.number());
            signals::kill_self(signal)
        }
    }
}

/// Executes one run after another, until a step ends the tool.
fn runs<D: Dialect>(
    call: &ToolCall<'_>,
    bench: &mut Option<Bench>,
    verdicts: &mut Verdicts,
) -> Step<std::convert::Infallible> {
    let OwnWords { words, stream } = OwnWords::extract(call.words)?;
    let call = &ToolCall { words: &words, ..*call };
    dashes::hint(call);
    let mut dialect = D::read(call)?;
    // A tool that changes its uid has done so by now.
    let mut streams = Streams::open(&stream, StandardOutput::Tool)?;
    hear(D::HEARS)?;
    loop {
        let mut run = dialect.next(bench.as_ref().map(|bench| bench.stop))?;
        let bench = match &mut *bench {
            Some(bench) => bench,
            none => none.insert(fitted(dialect.bench(call.common)?, call.common)?),
        };
        dialect.fit(&mut run, &write_guard(bench.engine.permissions.clone()))?;
        let load = dialect.load(&run);
        let on_devices = on_devices(&load, D::NAME)?;
        let load = on_devices.as_ref().map_or(load, Load::here);
        let mut listener = dialect.listen(&run, bench)?;
        let ended = measured(bench, &load, D::NAME, &mut listener, &mut streams);
        if let Some(outcome) = ended.outcome() {
            verdicts.add(outcome, dialect.line_place());
        }
        let printed = dialect.print(&run, listener, &ended);
        if let Some(outcome) = ended.outcome() {
            report_unstored(outcome, call.common);
        }
        printed?;
    }
}

/// Handles signals even if the parent process ignores them.
fn hear(all: &[StopSignal]) -> Result<(), Stopped> {
    let failed = |error| Stopped::io(format!("cannot set up signal handling: {error}"));
    all.iter().try_for_each(|&signal| signals::hear(signal).map_err(failed))
}

/// Configures the bench for a tool: sets the policy for full disks, and prefixes messages with `plumb: `.
fn fitted(mut bench: Bench, common: &Common) -> Result<Bench, Stopped> {
    bench.engine.permissions.when_full = session::when_full(common)?;
    bench.engine.say = |text| error_line!("plumb: {text}");
    Ok(bench)
}

/// Moves the workload to simulated devices; `None` if none of its files is named `sim:…`.
fn on_devices(load: &Load<'_>, name: &str) -> Step<Option<Workload>> {
    simulated::on_devices(load.workload, load.base).or_else(|error| refuse(&format!("{name}: {error}\n")))
}

fn measured(
    bench: &mut Bench,
    load: &Load<'_>,
    name: &'static str,
    listener: &mut dyn Progress,
    streams: &mut Streams,
) -> RunEnded {
    let command = command_line();
    let request = RunRequest {
        workload: load.workload,
        policies: Policies::AsWritten,
        base: load.base,
        command: &command,
        dialect: Some(name),
        sim_run: SimRun { seed: load.workload.seed, run_index: 0, plot_index: 0 },
    };
    let result = bench.run(&request, &mut Both(listener, streams));
    RunEnded { result, signal: bench.stop.signal().filter(|&signal| signal != StopSignal::Program) }
}

/// Returns the exit status after a tool's only run. Errors go to standard error, prefixed with the tool's name.
pub fn conclude(tool: &str, ended: &RunEnded) -> End {
    let phases = ended.outcome().map_or([].as_slice(), |outcome| &outcome.measurement.phases);
    for fault in phases.iter().flat_map(|phase| &phase.faults) {
        error_line!("{tool}: {} of {}: {}", fault.op.name(), fault.path.display(), fault.message);
    }
    ended.error().iter().for_each(|error| error_line!("{tool}: {error}"));
    match &ended.result {
        Ok(_) if ended.signal.is_some() => End::Interrupted,
        Ok(_) if phases.iter().all(|phase| phase.fault_count == 0) => End::Done,
        Err(error) if error.refusal().is_some() => End::Refused,
        Ok(_) | Err(_) => End::DialectFailed,
    }
}

/// Prints a help page and ends the tool.
pub fn page<T>(text: &str) -> Step<T> {
    output::print(text);
    Err(End::Done.into())
}

/// Prints the tool's own error text to standard error and ends the tool.
pub fn refuse<T>(text: &str) -> Step<T> {
    error_text!("{text}");
    Err(End::DialectFailed.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own_words::VerdictOptions;
    use plumb_result::PhaseMeasurement;
    use plumb_workload::phase::Limit;
    use plumb_workload::{Blocks, Bytes, NullTarget, Phase, Target, WorkerGroup};
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    /// A tool whose argument is the number of runs. It records every step that the runner calls.
    struct Counting {
        left: u32,
    }

    static STEPS: Mutex<Vec<&str>> = Mutex::new(Vec::new());

    fn step(name: &'static str) {
        STEPS.lock().unwrap().push(name);
    }

    struct Listening {
        ops: u64,
    }

    impl Progress for Listening {
        fn phase_ended(&mut self, measured: &PhaseMeasurement) {
            step("phase");
            self.ops += measured.ops.values().map(|moved| moved.count).sum::<u64>();
        }
    }

    impl Dialect for Counting {
        const NAME: &'static str = "counting";
        type Run = Workload;
        type Listener<'a> = Listening;

        fn read(call: &ToolCall<'_>) -> Step<Counting> {
            step("read");
            match call.words {
                [times] => Ok(Counting { left: times.parse().unwrap() }),
                _ => refuse("counting: say how often\n"),
            }
        }

        fn next(&mut self, stop: Option<StopFlag>) -> Step<Workload> {
            step(if stop.is_some() { "next, heard" } else { "next" });
            self.left = self.left.checked_sub(1).ok_or(End::Done)?;
            let group = WorkerGroup {
                limit: Limit { ops: Some(8), ..Limit::default() },
                ..WorkerGroup::new("nothing", Blocks::default())
            };
            Ok(Workload {
                name: "counting".to_owned(),
                description: String::new(),
                seed: 1,
                target: BTreeMap::from([("nothing".to_owned(), Target::Null(NullTarget::with_size(Bytes(1 << 20))))]),
                phase: vec![Phase::new("only", vec![group])],
                repeat: None,
            })
        }

        fn load<'a>(&'a self, run: &'a Workload) -> Load<'a> {
            Load::here(run)
        }

        fn listen<'a>(&'a self, _run: &'a Workload, _bench: &mut Bench) -> Step<Listening> {
            step("listen");
            Ok(Listening { ops: 0 })
        }

        fn print<'a>(&'a self, _run: &'a Workload, listener: Listening, ended: &RunEnded) -> Step<()> {
            step("print");
            let outcome = ended.outcome().unwrap();
            assert_eq!((listener.ops, ended.error(), ended.signal), (8, None, None));
            assert_eq!(outcome.result.workload.name, "counting");
            Ok(())
        }
    }

    // Protects the order of every tool's steps: invalid arguments run nothing, and runs follow one another until the
    // last.
    #[test]
    fn each_run_takes_the_same_steps() {
        let common = Common { no_store: true, ..Common::of_environment() };
        let run = |words: &[&str]| {
            STEPS.lock().unwrap().clear();
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let end = speak::<Counting>(&ToolCall {
                called: "counting",
                words: &words,
                common: &common,
                verdicts: VerdictOptions::default(),
            })
            .unwrap();
            (end, STEPS.lock().unwrap().join("; "))
        };
        assert_eq!(run(&[]), (End::DialectFailed, "read".to_owned()));
        assert_eq!(run(&["0"]), (End::Done, "read; next".to_owned()));
        let twice = "read; next; listen; phase; print; next, heard; listen; phase; print; next, heard";
        assert_eq!(run(&["2"]), (End::Done, twice.to_owned()));
    }
}
