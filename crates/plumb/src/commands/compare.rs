//! `plumb compare`: which of two places is faster.

use crate::args::{CompareArguments, LoadArguments};
use crate::command_context;
use plumb_bench::Place;
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::location::place;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::ranks;
use plumb_cli::session;
use plumb_cli::space_budget::{DataSizes, FILE_BYTES, FileSize, SpaceBudget, check_lengths, virtual_time};
use plumb_report::{compare as page, format};
use plumb_result::compare::Replicate;
use plumb_result::{Comparison, Finding, Level};
use plumb_stats::schedule::Side;
use plumb_stats::stop::StopRule;
use plumb_stats::verdict::PLOTS_MIN;
use plumb_study::compare::stored::{StoredError, StoredRequest, compare_stored};
use plumb_study::compare::{CompareRequest, CompareSide, compare};
use plumb_trust::{CommandContext, Factor, Running};
use plumb_workload::{Bytes, Nanos};
use plumb_workload_text::named::{self, NamedWorkload, Scale};
use std::path::Path;
use std::time::Duration;

pub(crate) fn run(arguments: &CompareArguments, common: &Common) -> Result<End, Stopped> {
    let varying = arguments.varying.as_deref().map(plumb_trust::factor).transpose().map_err(Stopped::usage)?;
    if arguments.from_store {
        if arguments.live_output.stream.is_typed() {
            return Err(Stopped::usage(
                "--from-store measures nothing, so there are no seconds to stream; leave out --stream",
            ));
        }
        return from_store(arguments, varying, common);
    }
    arguments.hosts.join()?;
    check_lengths(arguments.budget, arguments.time, arguments.size)?;
    arguments.report_file.writable()?;
    let sides = sides(&arguments.a, &arguments.b, arguments.plots)?;
    let workloads = works(&arguments.work)?;
    let sizes = sizes(&sides, arguments.size)?;
    if !common.json && is_real(&sides) {
        let [a, b] = &sides;
        session::announce(&announcement(&format!("{} and {}", a.name, b.name), sizes));
    }
    if let Some(factor) = varying.filter(|factor| !common.json && factor.is_hard())
        && sides.iter().any(|side| side.plots.len() == 1)
    {
        session::announce(&no_claim_warning(factor.name));
    }
    let DataSizes { file_bytes, files } = sizes;
    let standard = StopRule::default();
    let blocks_max = standard.blocks_max.max(arguments.blocks);
    let rule = StopRule { blocks_min: arguments.blocks, blocks_max, ..standard };
    let Nanos(pause_ns) = arguments.settle.unwrap_or(Nanos(0));
    let time = || time_per_phase(&sides, arguments.budget, workloads.len(), &rule, pause_ns);
    let time_ns = arguments.time.map_or_else(time, |time| time.0);
    let [baseline, candidate] = sides;
    let request = CompareRequest {
        baseline,
        candidate,
        workloads,
        scale: Scale { file_bytes, files, time_ns, seed: arguments.seed, place: named::RunPlace::Directory },
        budget: Duration::from_nanos(arguments.budget.0),
        rule,
        varying,
        seed: arguments.seed,
        command: &session::command_line(),
        phases: &arguments.phase,
    };
    request.phases_exist().map_err(Stopped::usage)?;
    let mut live_output = LiveOutput::open(&arguments.live_output, LiveWarnings::FailuresOnly, common)?;
    let mut bench = session::bench(common)?;
    bench.series.settling.pause = arguments.settle.map(|time| Duration::from_nanos(time.0));
    bench.command_context = CommandContext {
        settle_ns: arguments.settle.map(|time| time.0),
        ..build_context(Running::Compare, arguments.load, &request)
    };
    let outcome = live_output.watch(|watcher| compare(&mut bench, &request, watcher));
    live_output.clear();
    let unstored = session::incomplete(&bench, "the comparison", common);
    let outcome = outcome?;
    show(&outcome.comparison, common)?;
    arguments.report_file.comparison(&outcome.comparison, bench.results.stored())?;
    let nothing_left = outcome.rejected > 0 && has_too_few_left(&outcome.comparison, &rule);
    Ok(if unstored {
        End::Io
    } else if outcome.interrupted {
        End::Interrupted
    } else if nothing_left {
        End::Rejected
    } else {
        End::Done
    })
}

/// Returns the options of a comparison, a gate or a noise floor, for the advice of its findings.
pub(super) fn build_context(running: Running, load: LoadArguments, request: &CompareRequest<'_>) -> CommandContext {
    let plots = request.plots_of_a_side() as u32;
    let blocks = (request.rule.blocks_min + request.rule.step).max(2 * plots);
    CommandContext {
        time_ns: Some(request.scale.time_ns),
        budget_ns: u64::try_from(request.budget.as_nanos()).ok(),
        file_bytes: Some(request.scale.file_bytes),
        runs: Some(2 * blocks * request.workloads.len() as u32),
        timed_phases: command_context::most_timed_phases(&request.workloads, &request.scale),
        ..command_context::for_command(running, load)
    }
}

fn from_store(arguments: &CompareArguments, varying: Option<&'static Factor>, common: &Common) -> Result<End, Stopped> {
    let store = session::store_to_read(common)?;
    let request = StoredRequest {
        selections: [&arguments.a, &arguments.b],
        metrics: &arguments.metrics,
        varying,
        seed: arguments.seed,
        runs_max: None,
    };
    let comparison = compare_stored(&*store, &request).map_err(|error| match error {
        StoredError::Store(error) => error.into(),
        other => Stopped::usage(other),
    })?;
    show(&comparison, common)?;
    arguments.report_file.comparison(&comparison, Some(&*store))?;
    let nothing_left = !comparison.left_out.is_empty() && has_too_few_left(&comparison, &StopRule::default());
    Ok(if nothing_left { End::Rejected } else { End::Done })
}

fn show(comparison: &Comparison, common: &Common) -> Result<(), Stopped> {
    if common.json {
        return session::print_json(comparison);
    }
    output::print(&page::page(comparison, &named::titles(), common.verbose, &session::style()));
    Ok(())
}

/// Returns `true` if the checks rejected most runs and too few are left. Otherwise the numbers are too noisy.
fn has_too_few_left(comparison: &Comparison, rule: &StopRule) -> bool {
    comparison.contrasts.iter().filter(|contrast| !contrast.rejected).all(|contrast| match contrast.unit {
        Replicate::Block | Replicate::Run => contrast.blocks < rule.blocks_min,
        Replicate::Plot | Replicate::Stretch => contrast.blocks < PLOTS_MIN,
    })
}

pub(super) fn warnings(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().filter(|finding| finding.level >= Level::Warn).cloned().collect()
}

/// Warns before the time is spent that one place per side gives no verdict about a factor.
fn no_claim_warning(factor: &str) -> String {
    format!(
        "note: one place a side is one sample of {factor}, however often it is measured: the page will show numbers, but no \
         verdict about {factor}. Name two or three places for each side, with commas (`--plots 3` for simulated devices), \
         or leave out --varying"
    )
}

/// Returns both sides; appends (A) and (B) if their names are equal.
fn sides(a: &str, b: &str, plots: u32) -> Result<[CompareSide; 2], Stopped> {
    let named = |text: &str, letter: &str| if a == b { format!("{text} ({letter})") } else { text.to_owned() };
    let sides = [side(Side::A, &named(a, "A"), a, plots)?, side(Side::B, &named(b, "B"), b, plots)?];
    let places = sides.each_ref().map(|side| side.plots.len());
    if places[0] != places[1] && places.contains(&1) {
        return Err(Stopped::usage(format!(
            "{} has {} and {} has {}: give both sides one place, or both at least two",
            sides[0].name,
            places_in_words(places[0]),
            sides[1].name,
            places_in_words(places[1])
        )));
    }
    Ok(sides)
}

fn places_in_words(places: usize) -> String {
    if places == 1 { "one place".to_owned() } else { format!("{places} places") }
}

/// Parses a side: one place, or several separated by commas. A directory whose own name has a comma is one place.
pub(super) fn side(side: Side, name: &str, text: &str, plots: u32) -> Result<CompareSide, Stopped> {
    let texts: Vec<&str> = if !text.contains(',') || Path::new(text).exists() {
        vec![text]
    } else {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()
    };
    if let [only] = texts.as_slice() {
        return match place(only)? {
            place @ Place::Sim(_) => Ok(CompareSide::provisioned(side, name, &place, plots)),
            Place::Directory(_) if plots > 1 => Err(Stopped::usage(format!(
                "`--plots` only provisions simulated devices; for {only}, name several places with commas: A1,A2,A3"
            ))),
            place => Ok(CompareSide::at(side, name, place)),
        };
    }
    if plots > 1 {
        return Err(Stopped::usage(format!("`--plots` takes one simulated device, but `{text}` names several places")));
    }
    let mut places: Vec<(String, Place)> = Vec::with_capacity(texts.len());
    for text_of_one in texts {
        let place = place(text_of_one)?;
        // Each mention of a simulated device is a new plot; the same directory twice is not.
        let is_there = |known: &(String, Place)| match (&known.1, &place) {
            (Place::Directory(one), Place::Directory(other)) => {
                one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
            }
            _ => false,
        };
        if places.iter().any(is_there) {
            return Err(Stopped::usage(format!(
                "`{text}` names `{text_of_one}` twice: name each place once; each must have its own mkfs"
            )));
        }
        places.push((text_of_one.to_owned(), place));
    }
    Ok(CompareSide::over(side, name, places))
}

/// Returns `true` if a side writes to this machine's storage.
pub(super) fn is_real(sides: &[CompareSide]) -> bool {
    places(sides).any(|place| matches!(place, Place::Directory(_)))
}

pub(super) fn places(sides: &[CompareSide]) -> impl Iterator<Item = &Place> {
    sides.iter().flat_map(|side| &side.plots).map(|plot| &plot.place)
}

/// Returns sizes that are safe on every place; all places get the same.
pub(super) fn sizes(sides: &[CompareSide], wanted: Option<Bytes>) -> Result<DataSizes, Stopped> {
    let mut budget = SpaceBudget::UNLIMITED;
    for place in places(sides) {
        if let Place::Directory(path) = place {
            budget = budget.and(SpaceBudget::under(path, FileSize::from_option(wanted))?);
        }
    }
    Ok(budget.one_at_a_time(wanted.unwrap_or(FILE_BYTES)))
}

pub(super) fn announcement(places: &str, sizes: DataSizes) -> String {
    let space = format::bytes_iec(sizes.one_at_a_time_bytes() as f64);
    format!(
        "{places}{}: each run keeps at most {space} of test data in a new directory, and removes it; nothing else is touched",
        ranks::on_each_host()
    )
}

pub(super) fn works(names: &str) -> Result<Vec<&'static NamedWorkload>, Stopped> {
    let selected: Vec<_> =
        names.split(',').map(|name| named::select(name.trim())).collect::<Result<_, _>>().map_err(Stopped::usage)?;
    let mut works: Vec<&'static NamedWorkload> = Vec::new();
    for work in selected.into_iter().flatten() {
        if work.headline.is_empty() {
            return Err(Stopped::usage(format!(
                "`{}` measures the same metrics in several phases, and a comparison needs one number of each; use `plumb run`",
                work.name
            )));
        }
        if !works.iter().any(|known| known.name == work.name) {
            works.push(work);
        }
    }
    Ok(works)
}

/// Returns the length of a timed phase. Half of the budget goes to timed phases, for two blocks more than the minimum;
/// the rest goes to laying out files.
pub(super) fn time_per_phase(
    sides: &[CompareSide],
    Nanos(budget_ns): Nanos,
    workloads: usize,
    rule: &StopRule,
    pause_ns: u64,
) -> u64 {
    if !is_real(sides) {
        return virtual_time(places(sides)).0;
    }
    let pairs = sides.iter().map(|side| side.plots.len()).max().unwrap_or(1) as u64;
    let blocks = u64::from(rule.blocks_min + rule.step).max(2 * pairs);
    let runs = blocks * 2 * workloads.max(1) as u64;
    (budget_ns.saturating_sub(pause_ns.saturating_mul(runs)) / 2 / runs).clamp(1_000_000_000, 10_000_000_000)
}
