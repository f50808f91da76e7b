//! `plumb fit-for`: checks that storage is good enough for a use.

use super::run::{conditions, set_time};
use crate::args::FitForArguments;
use crate::command_context;
use plumb_bench::place::capacity_bytes;
use plumb_bench::{Bench, Place, Policies, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::location::Location;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::session;
use plumb_cli::space_budget::{FileSize, SpaceBudget, test_data_bytes};
use plumb_engine::sim::SimRun;
use plumb_report::{fit_for as page, format};
use plumb_result::assertion::Assertion;
use plumb_result::{FitAnswer, RunResult};
use plumb_store::TagChange;
use plumb_study::fit_for::{FitCondition, FitRuns, judge, measure};
use plumb_trust::{CommandContext, Running};
use plumb_workload::named::Use;
use plumb_workload::{Bytes, Content, Size, Target, Workload};
use plumb_workload_text::named::{self, RunPlace, Scale, USES, load_of, on_device, use_named};
use std::time::Duration;

/// Starts no run that would end later than this: the command promises to take less than a minute.
const BUDGET: Duration = Duration::from_secs(57);

/// Budget with `--time`, large enough for all runs.
const BUDGET_OF_LENGTH: Duration = Duration::from_secs(24 * 3600);

fn budget(arguments: &FitForArguments) -> Duration {
    if arguments.time.is_some() { BUDGET_OF_LENGTH } else { BUDGET }
}

const OWN_LIMIT: &str = "given with --limit";

/// Output of `plumb fit-for --list --json`.
#[derive(serde::Serialize)]
struct Listed<'a> {
    schema: &'a str,
    uses: Vec<ListedUse<'a>>,
}

/// A use, as printed by `plumb fit-for --list --json`.
#[derive(serde::Serialize)]
struct ListedUse<'a> {
    name: &'a str,
    workload: &'a str,
    limits: Vec<[&'a str; 2]>,
    note: &'a str,
}

pub(crate) fn run(arguments: &FitForArguments, common: &Common) -> Result<End, Stopped> {
    if arguments.use_name.is_none() && !arguments.limits.is_empty() {
        return Err(Stopped::usage("--limit is about a use; name one first: `plumb fit-for` lists them"));
    }
    let Some(name) = arguments.use_name.as_ref().filter(|_| !arguments.list) else { return list(common) };
    let wanted = use_named(name).map_err(Stopped::usage)?;
    let location = Location::parse(&arguments.path)?;
    let mut workload = workload(wanted, &location, arguments.seed)?;
    if let Some(time) = arguments.time {
        set_time(&mut workload, time)?;
    }
    let published = wanted.limits.iter().map(|limit| (limit.condition, limit.source));
    let own = arguments.limits.iter().map(|limit| (limit.as_str(), OWN_LIMIT));
    let (texts, sources): (Vec<&str>, Vec<&str>) = published.chain(own).unzip();
    let judged_by: Vec<FitCondition> = conditions(&texts, &workload)?
        .into_iter()
        .zip(sources)
        .map(|(assertion, source): (Assertion, &str)| FitCondition { assertion, source: source.to_owned() })
        .collect();
    let mut live_output = LiveOutput::open(&arguments.live_output, LiveWarnings::FailuresOnly, common)?;
    let mut bench = session::bench(common)?;
    if judged_by.is_empty() {
        session::announce(&no_limit_warning(wanted));
    }
    bench.command_context = CommandContext {
        time_ns: command_context::time_ns(&workload),
        runs: Some(arguments.runs),
        timed_phases: command_context::timed_phases(&workload),
        ..command_context::for_command(Running::FitFor, arguments.load)
    };
    if !common.json {
        session::announce(&announcement(&workload, &location, arguments));
    }
    let command = session::command_line();
    let request = RunRequest {
        workload: &workload,
        policies: Policies::Fitted,
        base: location.base(),
        command: &command,
        dialect: None,
        sim_run: SimRun { seed: arguments.seed, run_index: 0, plot_index: 0 },
    };
    let begun = jiff::Timestamp::now().to_string();
    let measured =
        live_output.watch(|watcher| measure(&mut bench, &request, arguments.runs, budget(arguments), watcher));
    live_output.clear();
    let FitRuns { outcomes, cut_short } = measured?;
    tag(
        &mut bench,
        wanted,
        outcomes.iter().filter(|outcome| outcome.not_stored.is_none()).map(|outcome| &outcome.result),
    )?;
    let unstored = session::incomplete(&bench, "the answer", common);
    if let Some(error) = cut_short {
        return Err(Stopped::io(error));
    }
    let results: Vec<&RunResult> = outcomes.iter().map(|outcome| &outcome.result).collect();
    if results.iter().any(|result| result.partial) {
        return Ok(End::Interrupted);
    }
    let mut fit = judge(wanted, &arguments.path, &begun, &judged_by, &results);
    fit.answer_note = page::sentence(&fit);
    if common.json {
        session::print_json(&fit)?;
    } else {
        output::print(&page::page(&fit, &session::style()));
    }
    Ok(match fit.answer {
        _ if unstored => End::Io,
        FitAnswer::Yes | FitAnswer::NoLimit => End::Done,
        FitAnswer::No => End::AssertedFalse,
        FitAnswer::Borderline | FitAnswer::CannotTell => End::CannotTell,
        FitAnswer::Refused => End::Rejected,
    })
}

/// Returns the load of a use, as large as is safe here. On a device it covers a part of the device.
fn workload(wanted: &Use, location: &Location, seed: u64) -> Result<Workload, Stopped> {
    match location {
        Location::Place(place) => {
            let mut scale = Scale { seed, ..Scale::moderate(place.for_named()) };
            if let Place::Directory(directory) = place {
                let sizes = SpaceBudget::under(directory, FileSize::Fixed)?.one_at_a_time(Bytes(scale.file_bytes));
                (scale.file_bytes, scale.files) = (sizes.file_bytes, sizes.files);
            }
            Ok(load_of(wanted).workload(&scale))
        }
        Location::Device(path) => {
            let scale = Scale { seed, ..Scale::moderate(RunPlace::Directory) };
            let capacity = location.target(Content::default()).and_then(|target| capacity_bytes(&target)).unwrap_or(0);
            on_device(load_of(wanted).workload(&scale), path, capacity)
                .map_err(|error| Stopped::usage(error.to_string()))
        }
        Location::File(path) => {
            Err(Stopped::usage(format!("{} is a file; name a directory or a device", path.display())))
        }
    }
}

/// Warns that there will be no answer, before a minute is spent on measuring.
fn no_limit_warning(wanted: &Use) -> String {
    format!(
        "note: nobody has published a limit for {}: this measures its numbers, and answers neither yes nor no. Give a limit of your own \
         with --limit, such as `PHASE/read.bw >= 400MB/s`.",
        wanted.name
    )
}

fn announcement(workload: &Workload, location: &Location, arguments: &FitForArguments) -> String {
    let runs = arguments.runs;
    let time = if arguments.time.is_some() { "" } else { "; under a minute" };
    let of = |target: &Target| match target {
        Target::Device(device) => device.size.and_then(Size::fixed).map_or(0, |size| size.0),
        target => test_data_bytes(target),
    };
    let bytes = format::bytes_iec(workload.target.values().map(of).sum::<u64>() as f64);
    match location {
        Location::Place(Place::Sim(device)) => format!("{device}: simulated, nothing is written"),
        Location::Place(place) => format!(
            "{place}: up to {runs} runs, each with {bytes} of test data in a new directory, which it removes{time}"
        ),
        Location::Device(path) | Location::File(path) => {
            let path = path.display();
            format!("{path}: up to {runs} runs, each over the first {bytes} of it, where the data is lost{time}")
        }
    }
}

/// Tags the runs, so that `plumb list --tag fit-for-etcd` finds them.
fn tag<'a>(bench: &mut Bench, wanted: &Use, runs: impl Iterator<Item = &'a RunResult>) -> Result<(), Stopped> {
    let Some(store) = bench.results.store.as_mut() else { return Ok(()) };
    for run in runs {
        store.tag(&run.id, &format!("fit-for-{}", wanted.name), TagChange::Add)?;
    }
    Ok(())
}

fn list(common: &Common) -> Result<End, Stopped> {
    if common.json {
        let listed = |one: &'static Use| ListedUse {
            name: one.name,
            workload: one.load,
            limits: one.limits.iter().map(|limit| [limit.condition, limit.source]).collect(),
            note: one.note,
        };
        session::print_json(&Listed { schema: "plumb.uses/1", uses: USES.iter().map(listed).collect() })?;
    } else {
        output::print(&page::list(USES, &named::titles(), &session::style()));
    }
    Ok(End::Done)
}
