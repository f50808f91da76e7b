//! `plumb run`: runs one workload.

pub(crate) use plumb_cli::session::command_line;

use super::measure::measure;
use super::workloads::explain;
use crate::args::RunArguments;
use crate::command_context;
use plumb_bench::place::capacity_bytes;
use plumb_bench::{Place, Policies, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::location::place;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_cli::space_budget::{check_lengths, test_data_bytes};
use plumb_engine::DropCaches;
use plumb_engine::sim::{CarriedDebt, SimRun};
use plumb_report::{format, loads};
use plumb_result::assertion::{Assertion, AssertionError, PRECONDITIONING};
use plumb_study::precondition::{Preconditioning, precondition, until_steady};
use plumb_trust::{CommandContext, Running};
use plumb_workload::net::Probe;
use plumb_workload::suggest::nearest;
use plumb_workload::{Nanos, Target, Workload};
use plumb_workload_text::named::{self, Scale};
use plumb_workload_text::native::{self, Override};
use std::path::Path;

pub(crate) fn run(arguments: &RunArguments, common: &Common) -> Result<End, Stopped> {
    if arguments.explain {
        return explain(&arguments.workload, common);
    }
    if !arguments.translate {
        arguments.hosts.join()?;
    }
    let place = place(&arguments.at)?;
    let Loaded { mut workload, policies, banner } =
        load(&arguments.workload, &arguments.set, Scale::moderate(place.for_named()))?;
    if let Some(seed) = arguments.seed {
        workload.seed = seed;
    }
    if let Some(time) = arguments.time {
        set_time(&mut workload, time)?;
    }
    if let Some(host) = &arguments.probe {
        let without = workload.phase.iter_mut().filter(|phase| phase.probe.is_none());
        without.for_each(|phase| phase.probe = Some(Box::new(Probe::to(host))));
    }
    if arguments.once {
        workload.repeat = None;
    }
    if let Some(repeat) = workload.repeat.clone().filter(|_| !arguments.translate) {
        return super::repeat::run(&repeat, &Loaded { workload, policies, banner }, &place, arguments, common);
    }
    let assertions = conditions(&arguments.assertions, &workload)?;
    if let Some(until) = arguments.until {
        until_steady(&mut workload, until).map_err(Stopped::usage)?;
    }
    let mut bench = None;
    if arguments.precondition {
        let bench = bench.insert(session::bench(common)?);
        // The announcement states bytes, so resolve sizes first.
        workload = bench.resolve(&workload, place.base())?;
        let added = precondition(&mut workload, capacity_bytes).map_err(Stopped::usage)?;
        if !common.json && !arguments.translate {
            session::announce(&announcement(&added));
        }
    }
    if arguments.translate {
        let text = native::to_toml(&workload).map_err(Stopped::usage)?;
        output::print(&text);
        return Ok(End::Done);
    }
    let mut live_output =
        LiveOutput::open(&arguments.report.live_output, LiveWarnings::from_arguments(common), common)?;
    let mut bench = bench.map_or_else(|| session::bench(common), Ok)?;
    if arguments.drop_caches {
        bench.engine.drop_caches = DropCaches::Allowed;
    }
    bench.command_context = build_context(arguments, &workload);
    if !common.json {
        if let Some(of) = banner {
            session::announce(&loads::banner(of));
        }
        session::announce(&run_summary(&bench.resolve(&workload, place.base())?, &place));
    }
    let (run_index, plot_index) = arguments.sim_run.map_or((0, 0), |place| (place.run, place.plot));
    let sim_run = SimRun { seed: workload.seed, run_index, plot_index };
    bench.series.carried = arguments.sim_run.and_then(|place| CarriedDebt::of_share(place.debt)).unwrap_or_default();
    let command = command_line();
    let request =
        RunRequest { workload: &workload, policies, base: place.base(), command: &command, dialect: None, sim_run };
    let measured = measure(&mut bench, &request, &arguments.report, &mut live_output)?;
    measured.present(&assertions, &arguments.report, bench.results.stored(), common)
}

pub(super) fn set_time(workload: &mut Workload, time: Nanos) -> Result<(), Stopped> {
    check_lengths(Nanos(1), Some(time), None)?;
    let mut timed = workload.phase.iter_mut().filter_map(|phase| phase.stop.time.as_mut()).peekable();
    if timed.peek().is_none() {
        return Err(Stopped::usage(format!(
            "--time {time}: `{}` has no timed phase; each of its phases ends when its work is done",
            workload.name
        )));
    }
    timed.for_each(|of_phase| *of_phase = time);
    Ok(())
}

/// Returns the options of a run, for the advice of its findings.
pub(super) fn build_context(arguments: &RunArguments, workload: &Workload) -> CommandContext {
    CommandContext {
        time_ns: command_context::time_ns(workload),
        runs: Some(arguments.report.runs),
        timed_phases: command_context::timed_phases(workload),
        precondition: command_context::typed(arguments.precondition),
        until_steady: command_context::typed(arguments.until.is_some()),
        ..command_context::for_command(Running::Run, arguments.load)
    }
}

/// Returns what a run writes and how long it measures; printed before it starts.
pub(super) fn run_summary(workload: &Workload, place: &Place) -> String {
    if let Place::Sim(device) = place {
        return format!("{}: on {device}, simulated; nothing is written", workload.name);
    }
    let needed_bytes: u64 = workload.target.values().map(test_data_bytes).sum();
    let mut words = Vec::new();
    if needed_bytes > 0 {
        let each = ranks::joined().map_or(String::new(), |ranks| match (ranks.size(), ranks.leads_only()) {
            (1, true) => "the host ".to_owned(),
            (hosts, true) => format!("each of {hosts} hosts "),
            (all, false) => format!("each of {all} ranks "),
        });
        words.push(format!(
            "{each}makes {} of test data in a new directory below {place}, and removes it at the end",
            format::bytes_iec(needed_bytes as f64)
        ));
    }
    let timed_ns: u64 = workload.phase.iter().filter_map(|phase| phase.stop.time).map(|time| time.0).sum();
    if timed_ns > 0 {
        words.push(format!("measures for {}", format::time_brief(timed_ns as f64)));
    }
    for (target, path) in workload.target.values().filter_map(|target| Some((target, existing(target)?))) {
        let changes =
            workload.phase.iter().flat_map(|phase| &phase.workers).any(|group| {
                group.work.changes() && group.targets().any(|name| workload.target.get(name) == Some(target))
            });
        let what = if changes { "WRITES to" } else { "only reads" };
        words.push(format!("{what} {}", path.display()));
    }
    if words.is_empty() {
        words.push("writes no test data".to_owned());
    }
    format!("{}: {}", workload.name, words.join("; "))
}

/// Returns the path of a device or file that exists before the run.
fn existing(target: &Target) -> Option<&Path> {
    match target {
        Target::Device(device) => Some(&device.path),
        Target::File(file) if file.path.is_absolute() => Some(&file.path),
        _ => None,
    }
}

/// Parses the conditions before anything runs. A phase named in a condition must exist.
pub(super) fn conditions<T: AsRef<str>>(texts: &[T], workload: &Workload) -> Result<Vec<Assertion>, Stopped> {
    let assertions: Vec<Assertion> = texts
        .iter()
        .map(|text| text.as_ref().parse())
        .collect::<Result<_, AssertionError>>()
        .map_err(Stopped::usage)?;
    for assertion in &assertions {
        let Some(named) = &assertion.phase else { continue };
        let phases: Vec<&str> = workload.phase.iter().map(|phase| phase.name.as_str()).collect();
        if !phases.contains(&named.as_str()) && !named.starts_with(PRECONDITIONING) {
            let start = assertion.text.find(named.as_str()).unwrap_or(0);
            return Err(Stopped::usage(AssertionError {
                text: assertion.text.clone(),
                span: start..start + named.len(),
                message: format!("`{}` has no phase `{named}`", workload.name),
                help: match nearest(named, phases.iter().copied()) {
                    Some(phase) => format!("did you mean `{phase}`?"),
                    None => format!("its phases: {}", phases.join(", ")),
                },
            }));
        }
    }
    Ok(assertions)
}

/// Returns what preconditioning writes; printed before it starts.
fn announcement(added: &Preconditioning) -> String {
    let fills: Vec<String> = added
        .fills
        .iter()
        .map(|fill| match fill.bytes {
            Some(bytes) => format!("{} to `{}`", format::bytes_iec(bytes as f64), fill.target),
            None => format!("twice its size to `{}`", fill.target),
        })
        .collect();
    let rounds: Vec<String> = added
        .rounds
        .iter()
        .map(|rounds| format!("the writes of `{}` until they are steady, for {} at most", rounds.phase, rounds.longest))
        .collect();
    let then = if rounds.is_empty() { String::new() } else { format!("; then {}", rounds.join(", ")) };
    format!("preconditioning: writes {} in sequence{then}", fills.join(" and "))
}

pub(crate) struct Loaded {
    pub workload: Workload,
    /// Whether the cache policies were typed by the user.
    pub policies: Policies,
    /// Note that the workload gives no official result of the benchmark that its name suggests.
    pub banner: Option<&'static str>,
}

/// Loads a workload file, or a named workload at a scale, with overrides.
pub(crate) fn load(name: &str, set: &[String], mut scale: Scale) -> Result<Loaded, Stopped> {
    let overrides =
        set.iter().map(|text| text.parse::<Override>()).collect::<Result<Vec<_>, _>>().map_err(Stopped::usage)?;
    let path = Path::new(name);
    if path.is_file() {
        let text = plumb_text::bounded::read_to_string(path)
            .map_err(|error| Stopped::io(format!("{}: {error}", path.display())))?;
        let workload = native::parse_with(name, &text, &overrides).map_err(Stopped::usage)?;
        return Ok(Loaded { workload, policies: Policies::AsWritten, banner: None });
    }
    match named::select(name).as_deref() {
        Ok([named]) => {
            // A named workload lays out its files once, so their number affects more than this setting.
            if let Some(files) = overrides
                .iter()
                .rev()
                .find(|change| change.path == "files")
                .and_then(|change| change.value.parse().ok())
            {
                scale.files = files;
            }
            let workload = native::with_overrides(&named.workload(&scale), &overrides).map_err(Stopped::usage)?;
            // A typed policy is used as written.
            let typed = overrides.iter().any(|change| change.path.rsplit('.').next() == Some("cache"));
            let policies = if typed { Policies::AsWritten } else { Policies::Fitted };
            Ok(Loaded { workload, policies, banner: named.banner })
        }
        Ok(workloads) => Err(Stopped::usage(format!(
            "`{name}` names several workloads, and `plumb run` takes one of them: {}\nTo run them all: `plumb try`, or \
             `plumb compare A B --for {name}`",
            workloads.iter().map(|named| named.name).collect::<Vec<_>>().join(", ")
        ))),
        Err(error) => Err(Stopped::usage(format!("there is no file `{name}`; {error}"))),
    }
}
