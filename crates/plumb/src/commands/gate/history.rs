//! Gates whose baseline was measured earlier and is in a file or in the store.

use super::{Reference, TIME};
use crate::args::GateArguments;
use crate::command_context;
use crate::commands::compare::{announcement, is_real, side, sizes, works};
use crate::commands::store;
use plumb_bench::Place;
use plumb_cli::common::Common;
use plumb_cli::exit::Stopped;
use plumb_cli::progress::LiveLine;
use plumb_cli::session;
use plumb_cli::space_budget::{DataSizes, virtual_time};
use plumb_document::json;
use plumb_engine::guard::OutputFile;
use plumb_result::gate::{GateSource, SessionAnswer};
use plumb_result::{RunResult, RunVerdict};
use plumb_stats::schedule::Side;
use plumb_study::compare::stored::StoredError;
use plumb_study::gate::{
    Alone, AloneRequest, GateOutcome, HistoryRequest, HistorySide, gate_history, measure_alone, newest,
    newest_sessions, results, session_count, suspected, works_at,
};
use plumb_trust::{CommandContext, Running};
use plumb_workload::{Nanos, Workload};
use plumb_workload_text::named::Scale;
use std::path::Path;
use std::time::Duration;

/// Judges a candidate by earlier runs. Returns `true` if new runs could not be stored.
pub(super) fn run(
    baseline: &Reference,
    candidate: &Reference,
    arguments: &GateArguments,
    budget: Nanos,
    common: &Common,
) -> Result<(GateOutcome, bool), Stopped> {
    if let Some(keep) = &arguments.keep {
        super::writable("--keep", keep)?;
    }
    let baseline_file = match baseline {
        Reference::File(path) => Some(path.as_path()),
        Reference::Place(_) | Reference::Stored(_) => None,
    };
    let baseline = before(baseline, arguments, common)?;
    // A candidate with its own file, such as a pull request's, keeps a suspected session there until its second
    // session. A suspected session in a read-only baseline belongs to another candidate.
    let own_file = arguments.keep.as_deref().filter(|keep| baseline_file != Some(keep));
    let kept = match own_file {
        Some(own) if own.exists() => in_file(own)?,
        _ => Vec::new(),
    };
    let suspected = match (&arguments.keep, own_file) {
        (Some(_), Some(_)) => suspected(&kept, gap(arguments)),
        (Some(_), None) => suspected(&baseline.results, gap(arguments)),
        (None, _) => Vec::new(),
    };
    let (candidate, alone, unstored) = match candidate {
        Reference::Place(text) => {
            let before = [baseline.results.as_slice(), kept.as_slice()].concat();
            let (alone, unstored) = measure(text, &baseline.results, &before, arguments, budget, common)?;
            let results = alone.results.clone();
            (HistorySide { name: text.clone(), source: GateSource::Measured, results }, Some(alone), unstored)
        }
        before_it => (before(before_it, arguments, common)?, None, false),
    };
    let request = HistoryRequest {
        baseline,
        suspected: if matches!(candidate.source, GateSource::Measured) { suspected } else { Vec::new() },
        candidate,
        kept: arguments.keep.is_some(),
        metrics: &arguments.metrics,
        margin: arguments.margin.0,
        gates: arguments.gates,
        session_gap: gap(arguments),
        spent: alone.as_ref().map_or(Duration::ZERO, |alone| alone.spent),
        seed: arguments.seed,
    };
    let outcome = gate_history(&request).map_err(stopped)?;
    let interrupted = alone.is_some_and(|alone| alone.interrupted);
    Ok((GateOutcome { interrupted, ..outcome }, unstored))
}

fn stopped(error: StoredError) -> Stopped {
    match error {
        StoredError::Store(error) => error.into(),
        other => Stopped::usage(other),
    }
}

fn gap(arguments: &GateArguments) -> Duration {
    Duration::from_nanos(arguments.session_gap.0)
}

/// Returns the earlier runs of the selected works.
fn before(reference: &Reference, arguments: &GateArguments, common: &Common) -> Result<HistorySide, Stopped> {
    let (name, source, mut results) = match reference {
        Reference::File(path) => {
            let results = if path.exists() { in_file(path)? } else { Vec::new() };
            (plumb_result::path_text(path), GateSource::File, results)
        }
        Reference::Stored(text) | Reference::Place(text) => {
            let store = session::store_to_read(common)?;
            (text.clone(), GateSource::Stored, results(&*store, text).map_err(stopped)?)
        }
    };
    if let Some(names) = &arguments.work {
        let wanted: Vec<&str> = names.split(',').map(str::trim).collect();
        let found = results.len();
        results.retain(|result| wanted.contains(&result.workload.name.as_str()));
        if results.is_empty() && found > 0 {
            return Err(Stopped::usage(format!("no run of {name} measured `{names}`")));
        }
    }
    Ok(HistorySide { name, source, results })
}

/// Reads the runs of a file. An empty file was created for later runs.
fn in_file(path: &Path) -> Result<Vec<RunResult>, Stopped> {
    if std::fs::metadata(path).is_ok_and(|facts| facts.len() == 0) {
        return Ok(Vec::new());
    }
    store::read_file(path)
}

/// Measures the candidate with the baseline's work, or with a named one if there is no baseline
/// yet. `before` has all earlier sessions.
fn measure(
    text: &str,
    baseline: &[RunResult],
    before: &[RunResult],
    arguments: &GateArguments,
    budget: Nanos,
    common: &Common,
) -> Result<(Alone, bool), Stopped> {
    let one = side(Side::B, text, text, 1)?;
    let sides = [one.clone()];
    let place: &Place = match one.plots.as_slice() {
        [only] => &only.place,
        _ => return Err(Stopped::usage(format!("`{text}` names several places; a history is of one"))),
    };
    let sizes = sizes(&sides, arguments.size)?;
    if !common.json && is_real(&sides) {
        session::announce(&announcement(text, sizes));
    }
    let DataSizes { file_bytes, files } = sizes;
    let time = arguments.time.unwrap_or_else(|| match place {
        Place::Sim(_) => virtual_time(std::iter::once(place)),
        Place::Directory(_) => TIME,
    });
    let works: Vec<Workload> = match baseline.is_empty() {
        true => works(arguments.work.as_deref().unwrap_or(super::WORK))?
            .into_iter()
            .map(|named| {
                let place = place.for_named();
                named.workload(&Scale { file_bytes, files, time_ns: time.0, seed: arguments.seed, place })
            })
            .collect(),
        false => works_at(baseline, place).ok_or_else(|| {
            Stopped::usage(format!("{text} cannot run the baseline's work: only one of them is a simulated device"))
        })?,
    };
    if works.is_empty() {
        return Err(Stopped::usage("the baseline's runs are another tool's: their work cannot be run again here"));
    }
    let mut bench = session::bench(common)?;
    bench.series.settling.pause = arguments.settle.map(|time| Duration::from_nanos(time.0));
    bench.command_context = CommandContext {
        time_ns: Some(time.0),
        budget_ns: Some(budget.0),
        settle_ns: arguments.settle.map(|time| time.0),
        file_bytes: Some(file_bytes),
        ..command_context::for_command(Running::Gate, arguments.load)
    };
    let mut line = LiveLine::on_standard_error();
    let request = AloneRequest {
        place,
        works: &works,
        budget: Duration::from_nanos(budget.0),
        seed: arguments.seed,
        session: session_count(before, gap(arguments)),
        newest: newest(before),
        command: &session::command_line(),
    };
    let alone = measure_alone(&mut bench, &request, &mut line);
    line.clear();
    let unstored = session::incomplete(&bench, "what this gate measured", common);
    Ok((alone?, unstored))
}

/// Adds the measured session with its answer to a file, and prints a summary. Regressions are kept, too: without its bad
/// sessions, a history would make the machine look calmer than it is. Only rejected and interrupted runs are left out.
pub(super) fn keep(path: &Path, outcome: &GateOutcome, arguments: &GateArguments) -> Result<(), Stopped> {
    let gate = &outcome.gate;
    let is_good = |result: &&RunResult| result.verdict != RunVerdict::Reject && !result.partial;
    let gated = Some(SessionAnswer { answer: gate.answer, suspected: gate.suspected });
    let with_answer = |result: RunResult| RunResult { gated, ..result };
    let good: Vec<RunResult> = outcome.measured.iter().filter(is_good).cloned().map(with_answer).collect();
    let shown = path.display();
    let why_not = if outcome.interrupted {
        Some("it was interrupted")
    } else if gate.rejected || good.is_empty() {
        Some("the checks rejected too many")
    } else {
        None
    };
    if let Some(why_not) = why_not {
        session::announce(&format!("{shown}: these runs are not kept, because {why_not}"));
        return Ok(());
    }
    let mut all = if path.exists() { in_file(path)? } else { Vec::new() };
    let added = good.len();
    all.extend(good);
    let all = newest_sessions(all, gap(arguments));
    let sessions = session_count(&all, gap(arguments));
    write(path, &all)?;
    let s = if sessions == 1 { "" } else { "s" };
    session::announce(&format!("{shown}: {added} runs kept; it has {} runs of {sessions} session{s}", all.len()));
    Ok(())
}

/// Writes a run per line, like `plumb export`. Replaces the file atomically, so that a kill leaves the old or the new one.
fn write(path: &Path, runs: &[RunResult]) -> Result<(), Stopped> {
    let texts: Result<Vec<String>, _> = runs.iter().map(json::to_string).collect();
    let text = format!("[\n{}\n]\n", texts.map_err(Stopped::io)?.join(",\n"));
    Ok(OutputFile::named("--keep", path).replace(text.as_bytes())?)
}
