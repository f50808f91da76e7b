//! `plumb sweep`: measures a setting at several levels.

use super::run::{Loaded, load};
use crate::args::SweepArguments;
use crate::command_context;
use plumb_bench::{Bench, Place, Policies};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::location::Location;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_cli::space_budget::{FILE_BYTES, FileSize, SpaceBudget, check_lengths, test_data_bytes, virtual_time};
use plumb_report::{format, sweep as page};
use plumb_result::SweepKey;
use plumb_study::sweep::key::{self, looks_like_axis};
use plumb_study::sweep::plan::SweepSchedule;
use plumb_study::sweep::{SweepError, SweepOutcome, SweepRequest, apply, keep_sweep, sweep};
use plumb_trust::{CommandContext, Running};
use plumb_workload::{Bytes, FileTarget, Nanos, Prepare, Size, Target, Workload};
use plumb_workload_text::named::{self, Scale};
use std::path::Path;
use std::time::Duration;

const DEFAULT_WORK: &str = "random-read";

/// Settings of the working-set curve. It goes through the page cache, since it looks for the edge of the cache: reads
/// every block of the set once before the clock starts, and then random blocks.
const WORKING_SET: [&str; 2] = ["cache=warm", "pattern=random"];

pub(crate) fn run(arguments: &SweepArguments, common: &Common) -> Result<End, Stopped> {
    let (axes, path) = axes_and_place(&arguments.what)?;
    arguments.report_file.writable()?;
    arguments.hosts.join()?;
    // A zero budget means one repeat, so only the other lengths are checked.
    check_lengths(Nanos(1), arguments.time, arguments.size)?;
    let mut live_output = LiveOutput::open(&arguments.live_output, LiveWarnings::FailuresOnly, common)?;
    let mut bench = session::bench(common)?;
    bench.series.settling.pause = arguments.settle.map(|time| Duration::from_nanos(time.0));
    let location = Location::parse(path)?;
    let ram_bytes = match &location {
        Location::Place(Place::Sim(_)) => bench.ram_bytes(),
        _ => bench.ram_of_runs(location.base())?,
    };
    let asked = axes
        .iter()
        .map(|axis| key::parse(axis, arguments.points, ram_bytes))
        .collect::<Result<Vec<_>, _>>()
        .map_err(Stopped::usage)?;
    let plan = SweepSchedule::new(asked, arguments.rate, arguments.points).map_err(Stopped::usage)?;
    let Loaded { mut workload, policies, .. } = work(arguments, &plan, &location)?;
    let phase = apply::phase_of(&workload, arguments.phase.as_deref()).map_err(Stopped::usage)?;
    move_to(&mut workload, &location);
    if arguments.read_only {
        refuse_writes(&workload, &plan, &location)?;
    }
    let budget = match &location {
        Location::Place(Place::Directory(directory)) => {
            Some(SpaceBudget::under(directory, FileSize::from_option(arguments.size))?)
        }
        _ => None,
    };
    let needed_bytes = fit(&mut workload, &plan, budget, &bench, location.base())?;
    if !common.json && !matches!(location, Location::Place(Place::Sim(_))) {
        session::announce(&announcement(&location, path, &workload, needed_bytes, bench.keeps_files()));
    }
    let time = time(arguments, &plan, &location);
    let command = session::command_line();
    let request = SweepRequest {
        workload: &workload,
        phase,
        policies,
        base: location.base(),
        path,
        plan: &plan,
        time,
        p99_limit: arguments.p99,
        repeats: arguments.repeat,
        budget: Duration::from_nanos(arguments.budget.0),
        seed: arguments.seed,
        ram_bytes,
        command: &command,
    };
    bench.command_context = CommandContext {
        time_ns: time.map(|time| time.0),
        budget_ns: Some(arguments.budget.0),
        settle_ns: arguments.settle.map(|time| time.0),
        runs: Some(arguments.repeat * plan.points() as u32),
        timed_phases: 1,
        ..command_context::for_command(Running::Sweep, arguments.load)
    };
    let outcome = live_output.watch(|watcher| sweep(&mut bench, &request, watcher));
    live_output.clear();
    let outcome = outcome.map_err(|error| {
        session::incomplete(&bench, "the sweep", common);
        match error {
            SweepError::Run(error) => error.into(),
            SweepError::Apply(error) => Stopped::usage(error),
        }
    })?;
    report(arguments, outcome, &mut bench, common)
}

/// Splits the words of the command line into axes and at most one place, by default the current directory.
fn axes_and_place(words: &[String]) -> Result<(Vec<&String>, &str), Stopped> {
    let (axes, places): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| looks_like_axis(word));
    match places.as_slice() {
        [] => Ok((axes, ".")),
        [path] => Ok((axes, path.as_str())),
        [_, second, ..] => {
            Err(Stopped::usage(format!("`{second}`: a sweep runs in one place; `plumb compare` takes two")))
        }
    }
}

fn report(
    arguments: &SweepArguments,
    mut outcome: SweepOutcome,
    bench: &mut Bench,
    common: &Common,
) -> Result<End, Stopped> {
    outcome.sweep.verdict_note = page::sentence(&outcome.sweep);
    keep_sweep(bench, &outcome.sweep);
    let unstored = session::incomplete(bench, "the sweep", common);
    if common.json {
        session::print_json(&outcome.sweep)?;
    } else {
        output::print(&page::page(&outcome.sweep, &session::style()));
    }
    arguments.report_file.sweep(&outcome.sweep, bench.results.stored())?;
    Ok(if unstored {
        End::Io
    } else if outcome.sweep.partial {
        End::Interrupted
    } else if outcome.is_mostly_rejected() {
        End::Rejected
    } else {
        End::Done
    })
}

fn work(arguments: &SweepArguments, plan: &SweepSchedule, location: &Location) -> Result<Loaded, Stopped> {
    let place = match location {
        Location::Place(place) => place.for_named(),
        Location::Device(_) | Location::File(_) => named::RunPlace::Directory,
    };
    let scale = Scale {
        file_bytes: arguments.size.unwrap_or(FILE_BYTES).0,
        time_ns: virtual_time(std::iter::empty()).0,
        seed: arguments.seed,
        ..Scale::moderate(place)
    };
    let mut set = Vec::new();
    let simulated = matches!(location, Location::Place(Place::Sim(_)));
    if plan.sweeps(SweepKey::Size) && arguments.work.is_none() && !simulated {
        set.extend(WORKING_SET.map(str::to_owned));
    }
    set.extend(arguments.set.iter().cloned());
    let mut loaded = load(arguments.work.as_deref().unwrap_or(DEFAULT_WORK), &set, scale)?;
    // The settings added above are Plumb's, not the user's.
    let typed = arguments.set.iter().any(|set| set.split('=').next().is_some_and(|key| key.ends_with("cache")));
    if arguments.work.is_none() && !typed {
        loaded.policies = Policies::Fitted;
    }
    Ok(loaded)
}

/// Moves the work to an existing device or file: replaces its one file target.
fn move_to(workload: &mut Workload, location: &Location) {
    for target in workload.target.values_mut() {
        let Target::File(FileTarget { path: relative, content, .. }) = target else { continue };
        if relative.is_absolute() {
            continue;
        }
        if let Some(moved) = location.target(*content) {
            *target = moved;
        }
    }
}

fn refuse_writes(workload: &Workload, plan: &SweepSchedule, location: &Location) -> Result<(), Stopped> {
    if let Location::Place(Place::Directory(path)) = location {
        return Err(Stopped::usage(format!(
            "--read-only: a sweep in the directory {} has to lay out a file first; name a file or a device that is there",
            path.display()
        )));
    }
    if plan.sweeps(SweepKey::Read) || workload.phase.iter().any(apply::writes) {
        return Err(Stopped::usage(format!(
            "--read-only: `{}` writes; sweep work that only reads, such as --for random-read",
            workload.name
        )));
    }
    Ok(())
}

/// Returns the most bytes that the directory holds at a time. Reduces a default size to a safe one; an explicit size is kept.
fn fit(
    workload: &mut Workload,
    plan: &SweepSchedule,
    budget: Option<SpaceBudget>,
    bench: &Bench,
    base: &Path,
) -> Result<u64, Stopped> {
    let Some(budget) = budget else { return Ok(0) };
    let sizes = plan.axes.iter().find(|axis| axis.key == SweepKey::Size);
    if let Some(axis) = sizes {
        // Agents lay out a new file for each run.
        let all = match bench.keeps_files() {
            true => axis.levels.iter().sum::<f64>(),
            false => axis.levels.iter().copied().fold(0.0, f64::max),
        };
        if all > budget.most_bytes() as f64 {
            return Err(Stopped::usage(format!(
                "the sizes {} {}, and a tenth of what is free is {}; use a smaller range or fewer points",
                if bench.keeps_files() { "keep a file each, together" } else { "take up to" },
                format::bytes_iec(all),
                format::bytes_iec(budget.most_bytes() as f64)
            )));
        }
        return Ok(all as u64);
    }
    for target in workload.target.values_mut() {
        match target {
            Target::File(FileTarget { path, size: Some(Size::Bytes(bytes)), .. }) if path.is_relative() => {
                *bytes = Bytes(bytes.0.min(budget.one_at_a_time(*bytes).file_bytes));
            }
            Target::Tree(tree) => tree.files = tree.files.min(budget.one_at_a_time(FILE_BYTES).files),
            _ => {}
        }
    }
    let resolved = bench.resolve(workload, base)?;
    Ok(resolved.target.values().map(test_data_bytes).sum())
}

/// Returns the length of a timed phase. Half of the budget goes to timed phases, the rest to laying out files and to checks.
fn time(arguments: &SweepArguments, plan: &SweepSchedule, location: &Location) -> Option<Nanos> {
    match (arguments.time, &arguments.work) {
        (Some(time), _) => Some(time),
        // A workload file keeps its own times.
        (None, Some(work)) if Path::new(work).is_file() => None,
        (None, _) if arguments.set.iter().any(|set| set.starts_with("time=")) => None,
        (None, _) if let Location::Place(place @ Place::Sim(_)) = location => {
            Some(virtual_time(std::iter::once(place)))
        }
        (None, _) => {
            let runs = plan.points() as u64 * u64::from(arguments.repeat);
            Some(Nanos((arguments.budget.0 / 2 / runs.max(1)).clamp(1_000_000_000, 10_000_000_000)))
        }
    }
}

fn announcement(location: &Location, path: &str, workload: &Workload, needed_bytes: u64, keeps_files: bool) -> String {
    match location {
        Location::Place(Place::Sim(_)) => format!("{path}: simulated, nothing is written"),
        Location::Device(_) | Location::File(_) if workload.phase.iter().any(apply::writes) => {
            format!("{path}: is WRITTEN to, if the write guard allows it")
        }
        Location::Device(_) | Location::File(_) => format!("{path}: is only read"),
        Location::Place(Place::Directory(_)) => {
            let once = workload.target.values().all(|target| {
                matches!(target, Target::File(file) if file.prepare == Prepare::Write)
                    || matches!(target, Target::Files(files) if files.prepare == Prepare::Write)
            });
            let when = match once {
                true if keeps_files => "once",
                true => "again for every run",
                false => "again for every run, because the work changes it",
            };
            format!(
                "{path}{}: writes about {} of test data, {when}, and removes it at the end; nothing else is touched",
                ranks::on_each_host(),
                format::bytes_iec(needed_bytes as f64)
            )
        }
    }
}
