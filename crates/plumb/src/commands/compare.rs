//! `plumb compare`: which of two is faster.

use super::run::command_line;
use super::try_storage::safe_file_bytes;
use crate::args::{Common, CompareArguments};
use crate::exit::{End, Stopped};
use crate::progress::LiveLine;
use crate::session;
use plumb_report::{compare as page, run as run_page};
use plumb_result::{ContrastVerdict, Level};
use plumb_stats::stop::StopRule;
use plumb_study::Place;
use plumb_study::compare::{CompareRequest, CompareSide, compare};
use plumb_workload::named::{self, Named, Scale};
use plumb_workload::{Bytes, Nanos};
use std::time::Duration;

/// Size of each run's test file where there is room.
const FILE_BYTES: u64 = 256 << 20;

/// Length of a timed phase on a simulated device: virtual, and enough for thousands of ops.
const SIM_TIME_NS: u64 = 2_000_000_000;

/// Compares two places.
pub fn run(arguments: &CompareArguments, common: &Common) -> Result<End, Stopped> {
    let varying = arguments.varying.as_deref().map(plumb_trust::factor).transpose().map_err(Stopped::usage)?;
    let sides = [side(&arguments.a)?, side(&arguments.b)?];
    let workloads = works(&arguments.work)?;
    let mut file_bytes = arguments.size.unwrap_or(Bytes(FILE_BYTES)).0;
    for side in &sides {
        if let Place::Directory(path) = &side.place {
            // Both sides get the same size: the smaller of what is safe on each.
            file_bytes = safe_file_bytes(path, file_bytes)?;
        }
    }
    let rule = StopRule::default();
    let time_ns =
        arguments.time.map_or_else(|| time_per_phase(&sides, arguments.budget, workloads.len(), &rule), |time| time.0);
    let [baseline, candidate] = sides;
    let request = CompareRequest {
        baseline,
        candidate,
        workloads,
        scale: Scale { file_bytes, time_ns, seed: arguments.seed, ..Scale::moderate(named::Place::Directory) },
        budget: Duration::from_nanos(arguments.budget.0),
        rule,
        varying,
        seed: arguments.seed,
        command: command_line(),
    };
    let mut bench = session::bench(common)?;
    let mut line = LiveLine::new();
    let outcome = compare(&mut bench, &request, &mut line);
    line.clear();
    let outcome = outcome?;
    if common.json {
        session::print_json(&outcome.comparison)?;
    } else {
        let style = session::style();
        session::print(&page::page(&outcome.comparison, &style))?;
        let worth_saying: Vec<_> =
            outcome.findings.iter().filter(|finding| finding.level >= Level::Note).cloned().collect();
        session::print(&run_page::findings(&worth_saying, &style))?;
    }
    if let Some(reason) = &outcome.not_stored {
        eprintln!("warning: the comparison is not stored: {reason}");
    }
    let nothing_left = outcome.rejected > 0
        && outcome.comparison.contrasts.iter().all(|contrast| contrast.verdict == ContrastVerdict::CannotTell);
    Ok(if outcome.interrupted {
        End::Interrupted
    } else if nothing_left {
        End::Rejected
    } else {
        End::Done
    })
}

fn side(text: &str) -> Result<CompareSide, Stopped> {
    Ok(CompareSide { name: text.to_owned(), place: Place::parse(text)? })
}

fn works(names: &str) -> Result<Vec<&'static Named>, Stopped> {
    let selected: Vec<_> =
        names.split(',').map(|name| named::select(name.trim())).collect::<Result<_, _>>().map_err(Stopped::usage)?;
    Ok(selected.into_iter().flatten().collect())
}

/// Half of the budget goes to timed phases, spread over two blocks more than the least; the rest to laying out files.
fn time_per_phase(sides: &[CompareSide], Nanos(budget_ns): Nanos, workloads: usize, rule: &StopRule) -> u64 {
    if sides.iter().all(|side| matches!(side.place, Place::Sim(_))) {
        return SIM_TIME_NS;
    }
    let runs = u64::from(rule.blocks_min + rule.step) * 2 * workloads.max(1) as u64;
    (budget_ns / 2 / runs).clamp(1_000_000_000, 10_000_000_000)
}
