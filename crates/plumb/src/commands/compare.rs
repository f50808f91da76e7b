//! `plumb compare`: which of two is faster.

use super::run::command_line;
use crate::args::{Common, CompareArguments};
use crate::exit::{End, Stopped};
use crate::progress::LiveLine;
use crate::room::{Room, Sizes};
use crate::session;
use plumb_report::{compare as page, format, run as run_page};
use plumb_result::{ContrastVerdict, Finding, Level};
use plumb_stats::stop::StopRule;
use plumb_study::Place;
use plumb_study::compare::{CompareRequest, CompareSide, compare};
use plumb_workload::named::{self, Named, Scale};
use plumb_workload::{Bytes, Nanos};
use std::time::Duration;

/// Size of each run's test file where there is room.
const FILE_BYTES: Bytes = Bytes(256 << 20);

/// Length of a timed phase on a simulated device: virtual, and enough for thousands of ops.
const SIM_TIME_NS: u64 = 2_000_000_000;

/// Compares two places.
pub fn run(arguments: &CompareArguments, common: &Common) -> Result<End, Stopped> {
    let varying = arguments.varying.as_deref().map(plumb_trust::factor).transpose().map_err(Stopped::usage)?;
    let sides = sides(&arguments.a, &arguments.b)?;
    let workloads = works(&arguments.work)?;
    let mut room = Room::UNLIMITED;
    for side in &sides {
        if let Place::Directory(path) = &side.place {
            // Both sides get the same sizes: what is safe on each.
            room = room.and(Room::under(path)?);
        }
    }
    let sizes = room.one_at_a_time(arguments.size.unwrap_or(FILE_BYTES));
    if !common.json && sides.iter().any(|side| matches!(side.place, Place::Directory(_))) {
        eprintln!("{}", announcement(&sides, sizes));
    }
    let Sizes { file_bytes, files } = sizes;
    let rule = StopRule::default();
    let time_ns =
        arguments.time.map_or_else(|| time_per_phase(&sides, arguments.budget, workloads.len(), &rule), |time| time.0);
    let [baseline, candidate] = sides;
    let request = CompareRequest {
        baseline,
        candidate,
        workloads,
        scale: Scale { file_bytes, files, time_ns, seed: arguments.seed, place: named::Place::Directory },
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
        // Where every run was rejected, why is on the page already, and more blocks would not help.
        let no_run = outcome.comparison.contrasts.is_empty() && outcome.rejected > 0;
        let said = |finding: &Finding| no_run && finding.code == "E1";
        let worth_saying: Vec<_> =
            outcome.findings.iter().filter(|finding| finding.level >= Level::Warn && !said(finding)).cloned().collect();
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

/// Two sides of one name are told apart.
fn sides(a: &str, b: &str) -> Result<[CompareSide; 2], Stopped> {
    let side = |text: &str, letter: &str| -> Result<CompareSide, Stopped> {
        let name = if a == b { format!("{text} ({letter})") } else { text.to_owned() };
        Ok(CompareSide { name, place: Place::parse(text)? })
    };
    Ok([side(a, "A")?, side(b, "B")?])
}

/// What will be written, said before anything is.
fn announcement(sides: &[CompareSide; 2], sizes: Sizes) -> String {
    let space = format::bytes_iec(sizes.one_at_a_time_bytes() as f64);
    let [a, b] = sides;
    format!(
        "{} and {}: each run takes at most {space} in a directory of its own, which is removed at its end; nothing else is \
         touched",
        a.name, b.name
    )
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
