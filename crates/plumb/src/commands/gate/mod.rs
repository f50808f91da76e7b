//! `plumb gate`: answers pass, regression or cannot tell.

mod history;

use super::compare::{announcement, build_context, is_real, places, side, sizes, works};
use crate::args::GateArguments;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::output::{self, error_line};
use plumb_cli::progress::LiveLine;
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_cli::space_budget::{DataSizes, check_lengths, virtual_time};
use plumb_document::json;
use plumb_engine::guard::OutputFile;
use plumb_report::gate as page;
use plumb_result::Gate;
use plumb_result::gate::GateAnswer;
use plumb_stats::schedule::Side;
use plumb_study::compare::CompareSide;
use plumb_study::gate::{GateOutcome, PlacesRequest, gate_places, planned};
use plumb_trust::{CommandContext, Running};
use plumb_workload::Nanos;
use plumb_workload_text::named::{self, Scale};
use std::path::{Path, PathBuf};
use std::time::Duration;

const WORK: &str = "random-read";
/// Default budget: 60 s.
const BUDGET: Nanos = Nanos(60_000_000_000);
/// Longest time that `--until-decided` takes: one hour.
const UNTIL_DECIDED: Nanos = Nanos(3_600_000_000_000);
/// Longest timed phase: 1 s. A larger budget buys blocks instead, which an answer needs more than long phases.
const TIME: Nanos = Nanos(1_000_000_000);
const TIME_LEAST: Nanos = Nanos(500_000_000);
/// Number of blocks that a budget should allow; half of it goes to timed phases.
const BLOCKS: u64 = 8;

pub(crate) fn run(arguments: &GateArguments, common: &Common) -> Result<End, Stopped> {
    let budget = match (arguments.budget, arguments.until_decided) {
        (Some(budget), _) => budget,
        (None, true) => UNTIL_DECIDED,
        (None, false) => BUDGET,
    };
    check_lengths(budget, arguments.time, arguments.size)?;
    if !(arguments.margin.0 > 0.0 && arguments.margin.0 <= 1.0) {
        return Err(Stopped::usage("--margin: expected a share above 0 and up to 100%, such as `5%`"));
    }
    arguments.hosts.join()?;
    let outputs = [
        ("--junit", &arguments.outputs.junit),
        ("--md", &arguments.outputs.md),
        ("--bencher", &arguments.outputs.bencher),
    ];
    let named = outputs.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    named.into_iter().try_for_each(|(option, path)| writable(option, path))?;
    let baseline = match (&arguments.baseline, &arguments.keep) {
        (Some(text), _) => Reference::parse(text, arguments.keep.as_deref())?,
        (None, Some(keep)) => Reference::File(keep.clone()),
        (None, None) => return Err(Stopped::usage("name --baseline, or a file to keep runs in: --keep FILE")),
    };
    let candidate = Reference::parse(&arguments.candidate, None)?;
    let (outcome, unstored) = match (&baseline, &candidate) {
        (Reference::Place(_), Reference::Place(_)) if arguments.keep.is_some() => {
            return Err(Stopped::usage(
                "--keep keeps runs that are judged by a history; with a place for --baseline both sides are measured each \
                 time, and there is nothing to keep",
            ));
        }
        (Reference::Place(a), Reference::Place(b)) => of_places([a, b], arguments, budget, common)?,
        (Reference::Place(_), _) => {
            return Err(Stopped::usage(format!(
                "`{}` was measured before, and --baseline is a place: name a file or stored runs for --baseline, or a place \
                 for --candidate",
                arguments.candidate
            )));
        }
        (_, candidate) if arguments.hosts.are_given() && !matches!(candidate, Reference::Place(_)) => {
            return Err(Stopped::usage(format!(
                "`{}` was measured before, so --hosts have nothing to measure: name a place of theirs, such as /mnt/data, or leave \
                 --hosts out",
                arguments.candidate
            )));
        }
        _ => history::run(&baseline, &candidate, arguments, budget, common)?,
    };
    write_all(arguments, &outcome.gate, common)?;
    store_answer(&outcome.gate, common);
    if let Some(keep) = &arguments.keep {
        history::keep(keep, &outcome, arguments)?;
    }
    Ok(if unstored { End::Io } else { end(arguments, &outcome) })
}

enum Reference {
    Place(String),
    File(PathBuf),
    Stored(String),
}

impl Reference {
    /// Parses a reference. An existing directory is a place, and an existing file has results. A path that does not exist is
    /// an error, unless this gate creates it or it is a directory of the measuring hosts. Any other text selects stored runs.
    fn parse(text: &str, kept: Option<&Path>) -> Result<Reference, Stopped> {
        let path = Path::new(text);
        let is_first_directory = || text.split(',').next().is_some_and(|first| Path::new(first.trim()).is_dir());
        if text.starts_with("sim:") || path.is_dir() || is_first_directory() {
            return Ok(Reference::Place(text.to_owned()));
        }
        if path.is_file() || kept == Some(path) {
            return Ok(Reference::File(path.to_owned()));
        }
        let looks_like_path = text.starts_with(['/', '.']) || text.ends_with(".json");
        match looks_like_path {
            true if ranks::led().is_some() && !text.ends_with(".json") => Ok(Reference::Place(text.to_owned())),
            true => Err(Stopped::usage(format!("`{text}` is neither a directory nor a file of results"))),
            false => Ok(Reference::Stored(text.to_owned())),
        }
    }
}

fn end(arguments: &GateArguments, outcome: &GateOutcome) -> End {
    let gate = &outcome.gate;
    match gate.answer {
        _ if outcome.interrupted => End::Interrupted,
        GateAnswer::Pass => End::Done,
        GateAnswer::Regression => End::AssertedFalse,
        GateAnswer::CannotTell if gate.rejected => End::Rejected,
        GateAnswer::CannotTell if arguments.allow_cannot_tell => End::Done,
        GateAnswer::CannotTell if gate.suspected => End::Suspected,
        GateAnswer::CannotTell => End::CannotTell,
    }
}

/// Measures both sides. Returns `true` if the store did not accept everything.
fn of_places(
    [a, b]: [&str; 2],
    arguments: &GateArguments,
    budget: Nanos,
    common: &Common,
) -> Result<(GateOutcome, bool), Stopped> {
    let workloads = works(arguments.work.as_deref().unwrap_or(WORK))?;
    let planned = planned(&workloads, &arguments.metrics).map_err(Stopped::usage)?;
    let named = |text: &str, role: &str| if a == b { format!("{text} ({role})") } else { text.to_owned() };
    let sides = [side(Side::A, &named(a, "baseline"), a, 1)?, side(Side::B, &named(b, "candidate"), b, 1)?];
    let sizes = sizes(&sides, arguments.size)?;
    if !common.json && is_real(&sides) {
        session::announce(&announcement(&format!("{a} and {b}"), sizes));
    }
    let DataSizes { file_bytes, files } = sizes;
    let time_for = |budget: Nanos| arguments.time.unwrap_or_else(|| time(&sides, budget, workloads.len()));
    let time = time_for(budget);
    let options = |needed: Duration| {
        let needed = longer(needed);
        let time = match arguments.time {
            None if time_for(needed) != time => format!(" --time {time}"),
            _ => String::new(),
        };
        format!("--budget {needed}{time}")
    };
    let [baseline, candidate] = sides.clone();
    let request = PlacesRequest {
        baseline,
        candidate,
        workloads: workloads.clone(),
        planned,
        scale: Scale { file_bytes, files, time_ns: time.0, seed: arguments.seed, place: named::RunPlace::Directory },
        budget: Duration::from_nanos(budget.0),
        margin: arguments.margin.0,
        gates: arguments.gates,
        seed: arguments.seed,
        command: &session::command_line(),
        options: &options,
    };
    let mut bench = session::bench(common)?;
    bench.series.settling.pause = arguments.settle.map(|time| Duration::from_nanos(time.0));
    bench.command_context = CommandContext {
        settle_ns: arguments.settle.map(|time| time.0),
        ..build_context(Running::Gate, arguments.load, &request.compared())
    };
    let mut line = LiveLine::on_standard_error();
    let outcome = gate_places(&mut bench, &request, &mut line);
    line.clear();
    let unstored = session::incomplete(&bench, "the comparison of this gate", common);
    Ok((outcome?, unstored))
}

fn time(sides: &[CompareSide], Nanos(budget): Nanos, works: usize) -> Nanos {
    if !is_real(sides) {
        return virtual_time(places(sides));
    }
    Nanos((budget / 2 / (2 * BLOCKS * works.max(1) as u64)).clamp(TIME_LEAST.0, TIME.0))
}

/// Returns a budget of at least this length, in round units: `90s`, `4min`.
fn longer(needed: Duration) -> Nanos {
    let seconds = needed.as_secs_f64().ceil() as u64;
    let unit = if seconds <= 120 { 5 } else { 60 };
    Nanos(seconds.next_multiple_of(unit) * 1_000_000_000)
}

/// Fails before any measurement if the output file cannot be written.
fn writable(option: &str, path: &Path) -> Result<(), Stopped> {
    OutputFile::named(option, path).check().map_err(Stopped::of_check)
}

/// Stores the answer, which `plumb serve` shows over time. A gate of two files needs no database, so a failure is only reported.
fn store_answer(gate: &Gate, common: &Common) {
    if common.no_store || session::shared_address(common).is_some() {
        return;
    }
    let id = uuid::Uuid::now_v7().to_string();
    let stored = session::store(common).and_then(|mut store| Ok(store.save_gate(&id, gate)?));
    if let Err(error) = stored {
        error_line!("note: the answer is not stored: {}", error.message);
    }
}

fn write_all(arguments: &GateArguments, gate: &Gate, common: &Common) -> Result<(), Stopped> {
    if common.json {
        session::print_json(gate)?;
    } else {
        output::print(&page::page(gate, common.verbose, &session::style()));
    }
    let write = |option: &str, path: &Option<PathBuf>, text: &dyn Fn() -> Result<String, Stopped>| match path {
        Some(path) => Ok::<(), Stopped>(OutputFile::named(option, path).replace(text()?.as_bytes())?),
        None => Ok(()),
    };
    write("--junit", &arguments.outputs.junit, &|| Ok(page::junit(gate)))?;
    write("--md", &arguments.outputs.md, &|| Ok(page::markdown(gate)))?;
    write("--bencher", &arguments.outputs.bencher, &|| {
        Ok(json::to_string_pretty(&page::bencher(gate)).map_err(Stopped::io)? + "\n")
    })?;
    if arguments.outputs.github {
        session::to_github(&page::annotations(gate), &page::markdown(gate), common.json)?;
    }
    Ok(())
}
