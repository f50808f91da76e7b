//! `plumb run` of a repeated workload: in rounds until figures are steady, or at each load of a ladder.

use super::names::Names;
use super::run::{Loaded, build_context, run_summary};
use crate::args::RunArguments;
use plumb_bench::{Place, RunError, RunRequest};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_cli::live_output::LiveOutput;
use plumb_cli::output;
use plumb_cli::progress::LiveWarnings;
use plumb_cli::session;
use plumb_engine::DropCaches;
use plumb_engine::sim::SimRun;
use plumb_report::{loads, repeat as page};
use plumb_result::RunVerdict;
use plumb_result::repeat::{Repeated, RepeatedRuns};
use plumb_study::repeat::{RepeatRequest, keep, ladder, rounds};
use plumb_workload::{Repeat, Workload};

pub(crate) fn run(
    repeat: &Repeat,
    loaded: &Loaded,
    place: &Place,
    arguments: &RunArguments,
    common: &Common,
) -> Result<End, Stopped> {
    let Loaded { workload, policies, banner } = loaded;
    refuse(&workload.name, arguments)?;
    arguments.report.report_file.writable()?;
    let mut live_output = LiveOutput::open(&arguments.report.live_output, LiveWarnings::FailuresOnly, common)?;
    let mut bench = session::bench(common)?;
    bench.command_context = build_context(arguments, workload);
    if arguments.drop_caches {
        bench.engine.drop_caches = DropCaches::Allowed;
    }
    if !common.json {
        if let Some(of) = banner {
            session::announce(&loads::banner(of));
        }
        let (first, how) = first(repeat, workload);
        session::announce(&format!("{}; {how}", run_summary(&bench.resolve(&first, place.base())?, place)));
    }
    let command = session::command_line();
    let path = arguments.at.display().to_string();
    let request = RepeatRequest {
        run: RunRequest {
            workload,
            policies: *policies,
            base: place.base(),
            command: &command,
            dialect: None,
            sim_run: SimRun { seed: workload.seed, run_index: 0, plot_index: 0 },
        },
        path: &path,
        banner: *banner,
    };
    let (repeated, error) = match repeat {
        Repeat::Rounds(rule) => {
            let done = live_output.watch(|watcher| rounds(&mut bench, &request, rule, watcher));
            live_output.clear();
            let (mut result, error) = done?;
            result.verdict_note = page::rounds_sentence(&result);
            (Repeated::Rounds(Box::new(result)), error)
        }
        Repeat::Ladder(rule) => {
            let done = live_output.watch(|watcher| ladder(&mut bench, &request, rule, watcher));
            live_output.clear();
            let (mut result, error) = done?;
            result.verdict_note = page::ladder_sentence(&result);
            (Repeated::Ladder(Box::new(result)), error)
        }
    };
    keep(&mut bench, &repeated);
    show(&repeated, common)?;
    arguments.report.report_file.repeated(&repeated, bench.results.stored())?;
    let (verdict, is_met, what) = match &repeated {
        Repeated::Rounds(rounds) => (rounds.verdict, rounds.steady.is_some(), "the rounds"),
        Repeated::Ladder(ladder) => (ladder.verdict, ladder.within_limit != Some(false), "the ladder"),
    };
    let unstored = session::incomplete(&bench, what, common);
    end(repeated.runs(), verdict, is_met, unstored, error)
}

/// Replaces the names in a repeated measurement under `--anonymise`.
pub(crate) fn named(repeated: Repeated, names: &mut Names) -> Result<Repeated, Stopped> {
    Ok(match repeated {
        Repeated::Rounds(rounds) => Repeated::Rounds(Box::new(names.shown(*rounds)?)),
        Repeated::Ladder(ladder) => Repeated::Ladder(Box::new(names.shown(*ladder)?)),
    })
}

pub(crate) fn show(repeated: &Repeated, common: &Common) -> Result<(), Stopped> {
    let style = session::style();
    match (repeated, common.json) {
        (Repeated::Rounds(rounds), true) => session::print_json(&**rounds)?,
        (Repeated::Rounds(rounds), false) => output::print(&page::rounds_page(rounds, &style)),
        (Repeated::Ladder(ladder), true) => session::print_json(&**ladder)?,
        (Repeated::Ladder(ladder), false) => output::print(&page::ladder_page(ladder, &style)),
    }
    Ok(())
}

fn refuse(name: &str, arguments: &RunArguments) -> Result<(), Stopped> {
    let given = [
        ("--runs", arguments.report.runs > 1),
        ("--name", arguments.report.name.is_some()),
        ("--output", arguments.report.output.is_some()),
        ("--assert", !arguments.assertions.is_empty()),
        ("--until", arguments.until.is_some()),
        ("--precondition", arguments.precondition),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(Stopped::usage(format!(
            "`{name}` is repeated, and {option} applies to a single run; add --once to run its phases once"
        ))),
    }
}

/// Returns the workload that runs first, and a description of the repeats.
fn first(repeat: &Repeat, workload: &Workload) -> (Workload, String) {
    match repeat {
        Repeat::Rounds(rule) => {
            let how = format!("{} to {} rounds, until they are steady", rule.window, rule.max_rounds);
            (rule.round(workload, 1), how)
        }
        Repeat::Ladder(rule) => {
            let loads = rule.percent.len() + rule.again.len();
            (Workload { repeat: None, ..workload.clone() }, format!("at {loads} loads"))
        }
    }
}

fn end(
    of: &RepeatedRuns,
    verdict: RunVerdict,
    is_met: bool,
    unstored: bool,
    error: Option<RunError>,
) -> Result<End, Stopped> {
    if let Some(error) = error {
        return Err(error.into());
    }
    Ok(match verdict {
        _ if unstored => End::Io,
        _ if of.partial => End::Interrupted,
        RunVerdict::Reject => End::Rejected,
        _ if !is_met => End::AssertedFalse,
        _ => End::Done,
    })
}
