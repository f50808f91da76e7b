//! Rules about whether the bytes moved: what size, rate and command reveal about memory and device.

use super::below::{shrinking_sides, shrinking_words};
use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed};
use crate::command::CommandAction;
use crate::form::Durability;
use crate::numbers::PrintedUnit;
use crate::view::{CellView, View, is_bonnie};
use plumb_result::{CellMetric, Level};
use plumb_trust::text::{bytes, bytes_exact, count, nanos, ops_rate, percent, rate, short};

pub(crate) static READ_FROM_MEMORY: Rule = Rule {
    code: "A1",
    name: "read-from-memory",
    what: "Reads of a file that fits in memory, or may, at rates above those of the disks.",
    fix: "Read with cold caches, or use files much larger than memory.",
    stage: AppliedTo::Study(read_from_memory),
};

pub(crate) static NOT_FLUSHED: Rule = Rule {
    code: "A3",
    name: "not-flushed",
    what: "Writes without a flush in the measured time.",
    fix: "Flush within the measured time: dd conv=fsync, iozone -e, bonnie++ from 1.96 on.",
    stage: AppliedTo::Study(not_flushed),
};

pub(crate) static IMPOSSIBLE_RATE: Rule = Rule {
    code: "A6",
    name: "impossible-rate",
    what: "Rates above the bandwidth of the link to the disks.",
    fix: "Look for a cache above the link.",
    stage: AppliedTo::Study(impossible_rate),
};

pub(crate) static ZERO_BYTES: Rule = Rule {
    code: "A8",
    name: "zero-bytes",
    what: "A result that transferred nothing.",
    fix: "Leave it out, and say why it failed.",
    stage: AppliedTo::Study(zero_bytes),
};

pub(crate) static SQUEEZABLE: Rule = Rule {
    code: "A9",
    name: "zeros",
    what: "Data that is mostly zeros or shrinks to nothing, which disks, hypervisors and file systems need not store.",
    fix: "Write incompressible data.",
    stage: AppliedTo::Study(compressible),
};

pub(crate) static WORKING_SET: Rule = Rule {
    code: "B6",
    name: "working-set",
    what: "Files that fit in the memory of the system or of the host under it.",
    fix: "Use files several times larger than all memory, or read cold and flush, or sweep the size and show the curve.",
    stage: AppliedTo::Study(working_set),
};

pub(crate) static AVERAGE: Rule = Rule {
    code: "E4",
    name: "average",
    what: "One mean over different conditions.",
    fix: "Show each number, and compare condition by condition.",
    stage: AppliedTo::Study(average),
};

/// Ratio of read to write rate, for one tool and file, at which memory is suspected.
const FASTER_WARN: f64 = 2.0;
const FASTER_FAIL: f64 = 5.0;
/// Ratio of file size to memory below which memory holds everything.
const CLIFF_FROM: f64 = 0.5;
/// Ratio of file size to memory up to which memory matters.
const CLIFF_TO: f64 = 1.5;

/// Returns the memory that holds a cell's files: its owner, and its bytes.
fn held_by(view: &View<'_>, cell: &CellView<'_>) -> Option<(&'static str, u64)> {
    let set = cell.set_bytes?;
    view.memories().into_iter().find(|(_, ram)| set <= *ram)
}

fn read_from_memory(view: &View<'_>) -> Vec<Draft> {
    struct Seen<'a, 'v> {
        cell: &'a CellView<'v>,
        level: Level,
        rate: f64,
        times: Option<f64>,
        is_open: bool,
    }
    let mut seen = Vec::new();
    for cell in view.cells.iter().filter(|cell| cell.cell.metric.reads() && cell.is_byte_rate() && !cell.is_cold()) {
        let Some(rate) = cell.value else { continue };
        // If the study states no sizes, only the rate can show it.
        let is_open = cell.set_bytes.is_none() || view.memories().is_empty();
        if !is_open && held_by(view, cell).is_none() {
            continue;
        }
        let written = view.cells.iter().filter(|other| {
            other.cell.metric.writes()
                && other.test.tool == cell.test.tool
                && other.cell.side == cell.cell.side
                && (cell.set_bytes.is_none() || other.set_bytes == cell.set_bytes)
                // Flushing each write slows writes down by as much as memory speeds up reads.
                && !(is_open && other.durability == Some(Durability::FlushEach))
        });
        let fastest = written.filter_map(|other| other.value).fold(0.0, f64::max);
        let times = (fastest > 0.0).then(|| rate / fastest);
        let over_link = view.study.machine.link.is_some_and(|link| rate > link.0);
        let level = match times {
            _ if over_link && !is_open => Level::Fail,
            Some(times) if is_open && times >= FASTER_FAIL => Level::Warn,
            _ if is_open => continue,
            Some(times) if times >= FASTER_FAIL => Level::Fail,
            Some(times) if times >= FASTER_WARN => Level::Warn,
            _ => continue,
        };
        seen.push(Seen { cell, level, rate, times, is_open });
    }
    grouped(seen, |seen| (seen.cell.test.tool.clone(), seen.level, seen.is_open))
        .into_iter()
        .map(|((tool, level, is_open), seen)| {
            let rates = seen.iter().map(|seen| seen.rate);
            let (low, high) = (rates.clone().fold(f64::INFINITY, f64::min), rates.fold(0.0, f64::max));
            let times = seen.iter().filter_map(|seen| seen.times).fold(0.0, f64::max);
            let range = if low == high { rate(high) } else { format!("{} to {}", rate(low), rate(high)) };
            let compared =
                if times > 0.0 { format!(", up to {} times the write rate", short(times)) } else { String::new() };
            let meaning = match level {
                Level::Fail => "this is the speed of memory",
                _ => "memory has probably answered in the disks' place",
            };
            Draft {
                level,
                cells: ids(seen.iter().map(|seen| seen.cell)),
                observed: format!("{range}{compared}"),
                message: if is_open {
                    format!(
                        "{tool} read at {range}{compared}, and the sizes of file and memory are not stated: {meaning}."
                    )
                } else {
                    format!(
                        "{tool} read files that were just written and fit in memory, at {range}{compared}: {meaning}."
                    )
                },
            }
        })
        .collect()
}

fn not_flushed(view: &View<'_>) -> Vec<Draft> {
    let writes = view.cells.iter().filter(|cell| {
        let writes = cell.cell.metric.writes() || (cell.cell.metric.reads() && is_postmark(cell));
        writes && cell.cell.value.is_some() && cell.durability.is_some_and(|rule| !rule.reaches_device())
    });
    grouped(writes, |cell| (cell.test.tool.clone(), cell.durability))
        .into_iter()
        .map(|((tool, durability), cells)| {
            let rule = durability.unwrap_or(Durability::None);
            Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: format!("{}: {}", tool, rule.words()),
                message: format!(
                    "The time of {tool} ends with data still in memory ({}): part of the write was not measured.",
                    rule.words()
                ),
            }
        })
        .collect()
}

fn is_postmark(cell: &CellView<'_>) -> bool {
    cell.actions.iter().any(|action| matches!(action, CommandAction::Postmark(_)))
}

fn impossible_rate(view: &View<'_>) -> Vec<Draft> {
    let Some(link) = view.study.machine.link else { return Vec::new() };
    let over = view.cells.iter().filter(|cell| cell.is_byte_rate() && cell.value.is_some_and(|rate| rate > link.0));
    grouped(over, |cell| cell.test.tool.clone())
        .into_iter()
        .map(|(tool, cells)| {
            let highest = cells.iter().filter_map(|cell| cell.value).fold(0.0, f64::max);
            Draft {
                level: Level::Fail,
                cells: ids(cells.iter().copied()),
                observed: format!("{} against {}", rate(highest), rate(link.0)),
                message: format!(
                    "{} of {tool}, up to {}, are above the bandwidth of the link to the disks, {}.",
                    count(cells.len() as u64, "rate"),
                    rate(highest),
                    rate(link.0)
                ),
            }
        })
        .collect()
}

fn zero_bytes(view: &View<'_>) -> Vec<Draft> {
    let nothing = view.cells.iter().filter(|cell| cell.cell.bytes == Some(0) || cell.cell.ops == Some(0));
    nothing
        .map(|cell| Draft {
            level: Level::Fail,
            cells: vec![cell.id()],
            observed: "0 bytes".to_owned(),
            message: format!("{} transferred nothing, so it measured nothing.", cell.id()),
        })
        .collect()
}

fn compressible(view: &View<'_>) -> Vec<Draft> {
    let of_zeros = view.cells.iter().filter(|cell| {
        cell.cell.metric.writes() && cell.cell.value.is_some() && cell.actions.iter().any(CommandAction::writes_zeros)
    });
    let cells: Vec<&CellView<'_>> = of_zeros.collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let (shrunk, plain): (Vec<&CellView<'_>>, Vec<&CellView<'_>>) =
        cells.into_iter().partition(|cell| !shrinking_sides(view, &[*cell]).is_empty());
    let virtual_disk = match &view.study.machine.virtual_by {
        Some(by) => format!(", onto virtual disks of {by}, which need not store them"),
        None => String::new(),
    };
    let below = shrinking_words(&shrinking_sides(view, &shrunk));
    [(shrunk, below), (plain, virtual_disk)]
        .into_iter()
        .filter(|(cells, _)| !cells.is_empty())
        .map(|(cells, onto)| {
            let tools = listed(&distinct(cells.iter().map(|cell| cell.test.tool.clone())));
            Draft {
                level: if onto.is_empty() { Level::Note } else { Level::Warn },
                cells: ids(cells.iter().copied()),
                observed: format!("zeros from {tools}"),
                message: format!("{tools} wrote zeros, or what shrinks to nearly nothing{onto}."),
            }
        })
        .collect()
}

/// Returns `true` if a test reads the file whose size is stated. Bonnie++ also reads in its rewrite and its seeks.
pub(super) fn reads_its_file(cell: &CellView<'_>) -> bool {
    let metric = cell.cell.metric;
    metric.reads()
        || matches!(metric, CellMetric::Seeks | CellMetric::Mix)
        || (metric == CellMetric::Rewrite && is_bonnie(&cell.test.tool))
}

fn working_set(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for (whose, ram) in view.memories() {
        let asked = view.cells.iter().filter(|cell| {
            let matters = if reads_its_file(cell) {
                !cell.is_cold()
            } else {
                cell.cell.metric.writes() && cell.durability.is_some_and(|rule| !rule.reaches_device())
            };
            matters
                && cell.cell.value.is_some()
                && cell.set_bytes_start.is_some_and(|set| set as f64 <= CLIFF_TO * ram as f64)
        });
        let regime =
            |cell: &&CellView<'_>| cell.set_bytes_start.is_some_and(|set| set as f64 > CLIFF_FROM * ram as f64);
        for ((tool, cliff), cells) in grouped(asked, |cell| (cell.test.tool.clone(), regime(cell))) {
            let mut sets: Vec<u64> = distinct(cells.iter().filter_map(|cell| cell.set_bytes_start));
            sets.sort();
            let (Some(low), Some(high)) = (sets.first(), sets.last()) else { continue };
            let range = if low == high { bytes(*low) } else { format!("{} to {}", bytes(*low), bytes(*high)) };
            let share = |set: u64| percent(set as f64 / ram as f64);
            let shares = if low == high { share(*low) } else { format!("{} to {}", share(*low), share(*high)) };
            let meaning = if cliff {
                "on the cliff, where a little memory changes the result"
            } else {
                "memory may have answered in the disks' place"
            };
            found.push(Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: format!("{range} against {} ({shares})", bytes_exact(ram)),
                message: format!(
                    "The files of {tool} are {range}, {shares} of the {} of memory of {whose}, and caching was not \
                     prevented: {meaning}.",
                    bytes_exact(ram)
                ),
            });
        }
    }
    found
}

/// Formats a value in its cell's kind of unit.
fn in_its_unit(cell: &CellView<'_>, value: f64) -> String {
    match cell.unit {
        Some(PrintedUnit::PerSecond { .. }) => ops_rate(value),
        Some(PrintedUnit::Time { .. }) => nanos(value * 1e9),
        Some(PrintedUnit::Bytes { .. }) | None => rate(value),
    }
}

fn average(view: &View<'_>) -> Vec<Draft> {
    let cells = view.cells.iter().filter(|cell| cell.cell.mean_over.is_some());
    let kind = |cell: &&CellView<'_>| cell.unit.as_ref().map(std::mem::discriminant);
    grouped(cells, |cell| (cell.test.tool.clone(), cell.cell.mean_over.clone(), kind(cell)))
        .into_iter()
        .map(|((tool, over, _), cells)| {
            let over = over.unwrap_or_default();
            let values: Vec<f64> = cells.iter().filter_map(|cell| cell.value).collect();
            let (low, high) =
                (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max));
            let spread = if low > 0.0 && low.is_finite() { short(high / low) } else { "?".to_owned() };
            Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: format!(
                    "{} to {}, a factor of {spread}",
                    in_its_unit(cells[0], low),
                    in_its_unit(cells[0], high)
                ),
                message: format!(
                    "Numbers of {tool} are means over {over}: cache and disk are mixed in one number, and the means \
                     themselves differ by a factor of {spread}."
                ),
            }
        })
        .collect()
}
