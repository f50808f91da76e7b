//! How every tool's words are run: read, lowered, measured and judged as every run of Plumb, and told as the tool tells it.
//! What tools differ in is a [`Dialect`]; the rest is here, once.

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

/// Why it goes no further. What there was to say has been said, but for the message of [`Cut::Stopped`].
#[derive(Debug)]
pub enum Cut {
    /// It is over, and ends so.
    Over(End),
    /// Plumb itself cannot go on.
    Stopped(Stopped),
    /// As a signal ends programs.
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

/// A part of the way, or its end.
pub type Step<T> = Result<T, Cut>;

/// A run that is to be made.
pub struct Load<'a> {
    /// What is done.
    pub workload: &'a Workload,
    /// Where its files are.
    pub base: &'a Path,
}

impl<'a> Load<'a> {
    /// In the working directory.
    pub fn here(workload: &'a Workload) -> Load<'a> {
        Load { workload, base: Path::new(".") }
    }
}

/// How a run ended.
pub struct RunEnded {
    /// What was measured, or why nothing was.
    pub result: Result<RunOutcome, RunError>,
    /// The signal that ended it; its own request to stop is none.
    pub signal: Option<StopSignal>,
}

impl RunEnded {
    /// What was measured, whole or in part.
    pub fn outcome(&self) -> Option<&RunOutcome> {
        match &self.result {
            Ok(outcome) => Some(outcome),
            Err(RunError::EndedEarly { outcome, .. }) => Some(outcome),
            Err(_) => None,
        }
    }

    /// Why it did not come to its end by itself.
    pub fn error(&self) -> Option<String> {
        match &self.result {
            Ok(_) => None,
            Err(RunError::EndedEarly { error, .. }) => Some(error.clone()),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// A tool's language, as far as it differs from others: its words, its workload, its output.
pub trait Dialect: Sized {
    /// What results call it.
    const NAME: &'static str;
    /// Signals that the tool hears although whoever started it ignores them.
    const HEARS: &'static [StopSignal] = &[];
    /// One run: its workload, and what the tool knows of it.
    type Run;
    /// Looks on while it runs, prints what is printed then, and gathers what is printed later.
    type Listener<'a>: Progress
    where
        Self: 'a;

    /// Reads the words. What asks for nothing to be run, or is wrong, is printed here.
    fn read(call: &ToolCall<'_>) -> Step<Self>;

    /// The next run, lowered, with what is printed before anything is made; the end behind the last. `stop` is set by
    /// signals once something has run.
    fn next(&mut self, stop: Option<StopFlag>) -> Step<Self::Run>;

    /// What is measured with; made before the first run.
    fn bench(&self, common: &Common) -> Result<Bench, Stopped> {
        session::bench_of_tool(common)
    }

    /// Leaves out of a run what there is no room for, where the rest of it is a run too, and says so.
    fn fit(&mut self, _run: &mut Self::Run, _guard: &Guard) -> Step<()> {
        Ok(())
    }

    /// What the engine is given.
    fn load<'a>(&'a self, run: &'a Self::Run) -> Load<'a>;

    /// Opens what the run prints to, and fits the bench to it.
    fn listen<'a>(&'a self, run: &'a Self::Run, bench: &mut Bench) -> Step<Self::Listener<'a>>;

    /// Where a line about the verdict of a run does not break what reads the tool's output.
    fn line_place(&self) -> LinePlace {
        LinePlace::Last
    }

    /// Prints what is printed behind the run, and ends it all, or goes on to the next.
    fn print<'a>(&'a self, run: &'a Self::Run, listener: Self::Listener<'a>, ended: &RunEnded) -> Step<()>;
}

/// Runs the words of a call.
pub fn speak<D: Dialect>(call: &ToolCall<'_>) -> Result<End, Stopped> {
    let mut bench = None;
    let mut verdicts = Verdicts::new(call.verdicts, call.common);
    let Err(cut) = runs::<D>(call, &mut bench, &mut verdicts);
    end(cut, bench, verdicts)
}

/// How the program ends. Like all that is the same for every tool, it is compiled once.
fn end(cut: Cut, bench: Option<Bench>, mut verdicts: Verdicts) -> Result<End, Stopped> {
    verdicts.print();
    // The tool's own failure says more; where it succeeds, its result is still not where it should be.
    let is_stored = bench.as_ref().is_none_or(|bench| bench.results.not_stored.is_none());
    match cut {
        Cut::Over(End::Done) if !is_stored => Ok(End::Io),
        Cut::Over(end) => Ok(verdicts.end(end)),
        Cut::Stopped(stopped) => Err(stopped),
        Cut::Signal(signal) => {
            // The store is closed before.
            drop(bench);
            plumb_cli::ranks::dismiss(End::Interrupted.number());
            signals::die_by(signal)
        }
    }
}

/// One run after another, until something ends it.
fn runs<D: Dialect>(
    call: &ToolCall<'_>,
    bench: &mut Option<Bench>,
    verdicts: &mut Verdicts,
) -> Step<std::convert::Infallible> {
    let OwnWords { words, stream } = OwnWords::of(call.words)?;
    let call = &ToolCall { words: &words, ..*call };
    dashes::hint(call);
    let mut dialect = D::read(call)?;
    // A tool that becomes another user has done so.
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

/// Hears signals although whoever started the program ignores them.
fn hear(all: &[StopSignal]) -> Result<(), Stopped> {
    let failed = |error| Stopped::io(format!("cannot set up signal handling: {error}"));
    all.iter().try_for_each(|&signal| signals::hear(signal).map_err(failed))
}

/// A bench that says what it has to say as tools' messages are said.
fn fitted(mut bench: Bench, common: &Common) -> Result<Bench, Stopped> {
    bench.engine.permissions.when_full = session::when_full(common)?;
    bench.engine.say = |text| error_line!("plumb: {text}");
    Ok(bench)
}

/// The same on simulated devices, where the variables of the environment ask for these.
fn on_devices(load: &Load<'_>, name: &str) -> Step<Option<Workload>> {
    simulated::on_devices(load.workload, load.base).or_else(|error| refuse(&format!("{name}: {error}\n")))
}

/// Makes a run.
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

/// How a tool ends behind its only run. What went wrong is said on standard error, behind the tool's name.
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

/// Prints a page, which is all that was asked for.
pub fn page<T>(text: &str) -> Step<T> {
    output::print(text);
    Err(End::Done.into())
}

/// Says on standard error, in the tool's own words, why nothing is run.
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

    /// A tool whose words say how often it runs; every step that is asked of it is written down.
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
                target: BTreeMap::from([("nothing".to_owned(), Target::Null(NullTarget::of(Bytes(1 << 20))))]),
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

    // Protects the way that every tool goes: what is wrong runs nothing, and one run follows another until there is none.
    #[test]
    fn words_are_read_and_runs_follow_one_another() {
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
