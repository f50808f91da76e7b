//! Rules that recompute numbers from other printed numbers.

use super::rule::{AppliedTo, Draft, Rule, distinct, grouped, ids, listed, side_name};
use crate::command::CommandAction;
use crate::form::Quoted;
use crate::numbers::{Base, Explanation, PrintedNumber, PrintedUnit};
use crate::view::{CellView, View};
use plumb_result::{CellMetric, Level};
use plumb_trust::text::ops_rate;

pub(crate) static RATE: Rule = Rule {
    code: "P1",
    name: "rate",
    what: "A rate that is not its own bytes or ops divided by its own seconds, in any unit.",
    fix: "Compute the rate from the bytes or ops and the seconds that the tool printed.",
    stage: AppliedTo::Study(rate),
};

pub(crate) static IOPS: Rule = Rule {
    code: "P1",
    name: "iops",
    what: "IOPS that, times the block size, are not the bytes per second stated for the same test.",
    fix: "Take both from one line of the tool's output.",
    stage: AppliedTo::Study(iops),
};

pub(crate) static QUOTED: Rule = Rule {
    code: "P2",
    name: "quoted",
    what: "A number that the study states differently in another place.",
    fix: "Generate tables and text from the stored result, never by hand.",
    stage: AppliedTo::Study(quoted),
};

pub(crate) static EXCHANGED: Rule = Rule {
    code: "P9",
    name: "exchanged",
    what: "Two numbers of one side that look swapped.",
    fix: "Look at the tool's own output again.",
    stage: AppliedTo::Study(exchanged),
};

pub(crate) static UNIT: Rule = Rule {
    code: "E11",
    name: "unit",
    what: "A rate that is correct in another unit than the printed one.",
    fix: "Write MB/s for 1000 and MiB/s for 1024.",
    stage: AppliedTo::Study(unit),
};

pub(crate) static MIXED_UNITS: Rule = Rule {
    code: "E11",
    name: "mixed-units",
    what: "Sides that are compared in different units under one name.",
    fix: "Convert both sides from bytes and seconds into one unit before comparing.",
    stage: AppliedTo::Study(mixed_units),
};

pub(crate) static POINT_MOVED: Rule = Rule {
    code: "E11",
    name: "point-moved",
    what: "Units of 1024 bytes converted to megabytes by moving the decimal point.",
    fix: "Multiply by 1024 and divide by 1 000 000, or keep the unit of 1024 bytes.",
    stage: AppliedTo::Study(point_moved),
};

pub(crate) static HEADING: Rule = Rule {
    code: "E11",
    name: "heading",
    what: "A column whose heading names a different kind of unit than its numbers.",
    fix: "Give the unit of the numbers in the heading.",
    stage: AppliedTo::Study(heading),
};

fn rate(view: &View<'_>) -> Vec<Draft> {
    let ops = view.cells.iter().filter_map(|cell| {
        let (ops, printed) = (cell.cell.ops?, cell.printed()?);
        let Some(unit @ PrintedUnit::PerSecond { .. }) = cell.unit.filter(|_| !cell.cell.about) else { return None };
        let seconds = cell.cell.seconds.as_ref()?;
        let exact = ops as f64 / seconds.value();
        let agrees = cell.cell.value.as_ref()?.prints(exact / unit.factor(Base::Decimal));
        (!agrees).then(|| Draft {
            level: Level::Fail,
            cells: vec![cell.id()],
            observed: ops_rate(exact),
            message: format!(
                "{printed} does not match its own ops and seconds, {ops} in {seconds} s: {}.",
                ops_rate(exact)
            ),
        })
    });
    let wrong = view.cells.iter().filter(|cell| cell.explanation == Some(Explanation::Nothing));
    wrong
        .filter_map(|cell| {
            let (exact, printed, unit) = (cell.exact?, cell.printed()?, cell.unit?);
            Some(Draft {
                level: Level::Fail,
                cells: vec![cell.id()],
                observed: both(exact, unit),
                message: format!(
                    "{printed} does not match its own bytes and seconds, which give {}.",
                    both(exact, unit)
                ),
            })
        })
        .chain(ops)
        .collect()
}

/// Compares a rate in ops per second with one in bytes per second, of the same test and side.
fn iops(view: &View<'_>) -> Vec<Draft> {
    let quoted = view.cells.iter().flat_map(|cell| {
        let elsewhere =
            |quoted: &'_ Quoted| Some((quoted.value.clone()?, PrintedUnit::parse(quoted.unit.as_deref()?)?));
        cell.cell.quoted.iter().filter_map(move |quoted| {
            let (there, unit) = elsewhere(quoted)?;
            iops_and_bytes(cell, &there, unit, vec![cell.id()])
        })
    });
    // A table of IOPS and one of MB/s are two tests with one command.
    let in_two_tables = view.cells.iter().enumerate().flat_map(|(at, cell)| {
        let same = move |other: &&CellView<'_>| {
            (&other.cell.side, other.cell.metric, other.command())
                == (&cell.cell.side, cell.cell.metric, cell.command())
        };
        let others = view.cells[at + 1..].iter().filter(|_| cell.command().is_some()).filter(same);
        others.filter_map(move |other| {
            iops_and_bytes(cell, other.cell.value.as_ref()?, other.unit?, vec![cell.id(), other.id()])
        })
    });
    quoted.chain(in_two_tables).collect()
}

/// Compares a cell's number with the same one `there`, if one counts ops and the other bytes.
fn iops_and_bytes(
    cell: &CellView<'_>,
    there: &PrintedNumber,
    there_unit: PrintedUnit,
    cells: Vec<String>,
) -> Option<Draft> {
    let here = cell.cell.value.as_ref()?;
    let here_unit = cell.unit?;
    let ((ops, ops_unit), (bytes, bytes_unit)) = match (here_unit, there_unit) {
        (PrintedUnit::PerSecond { .. }, PrintedUnit::Bytes { .. }) => ((here, here_unit), (there, there_unit)),
        (PrintedUnit::Bytes { .. }, PrintedUnit::PerSecond { .. }) => ((there, there_unit), (here, here_unit)),
        _ => return None,
    };
    let block = cell.actions.iter().find_map(CommandAction::block_bytes)?;
    let factor = ops_unit.factor(Base::Decimal);
    let exact = ops.value() * factor * block as f64;
    // Uncertainty of the last digit of the ops.
    let leeway = ops.last_digit() * factor * block as f64;
    let fits = |base: Base| {
        let unit = bytes_unit.factor(base);
        (bytes.value() * unit - exact).abs() <= leeway + bytes.last_digit() * unit
    };
    if fits(Base::Decimal) || fits(Base::Binary) {
        return None;
    }
    let block = plumb_trust::text::bytes_exact(block);
    Some(Draft {
        level: Level::Fail,
        cells,
        observed: format!("{ops} {} × {block} = {}", ops_unit.clear(Base::Decimal), both(exact, bytes_unit)),
        message: format!(
            "{ops} {} of {block} are {}, but the same test is stated as {bytes} {}.",
            if ops_unit == (PrintedUnit::PerSecond { power: 0 }) { "IOPS" } else { "thousand IOPS" },
            both(exact, bytes_unit),
            bytes_unit.clear(cell.base())
        ),
    })
}

/// Formats a rate in both bases: `38.04 MB/s or 36.28 MiB/s`.
fn both(exact: f64, unit: PrintedUnit) -> String {
    let scaled = |base: Base| unit.bytes_per_second(base).map(|factor| exact / factor);
    match (scaled(Base::Decimal), scaled(Base::Binary)) {
        (Some(decimal), Some(binary)) if unit.clear(Base::Decimal) != unit.clear(Base::Binary) => {
            format!("{decimal:.2} {} or {binary:.2} {}", unit.clear(Base::Decimal), unit.clear(Base::Binary))
        }
        (Some(value), _) => format!("{value:.2} {}", unit.clear(Base::Decimal)),
        _ => format!("{exact:.2}"),
    }
}

fn unit(view: &View<'_>) -> Vec<Draft> {
    let is_other = |cell: &&CellView<'_>| match (cell.explanation, cell.unit) {
        (Some(Explanation::Base(base)), Some(PrintedUnit::Bytes { base: Some(stated), .. })) => base != stated,
        (Some(Explanation::Base(base)), Some(PrintedUnit::Bytes { base: None, power })) => {
            power > 0 && base == Base::Binary
        }
        (Some(Explanation::Moved { .. }), _) => true,
        _ => false,
    };
    let kind = |cell: &&CellView<'_>| (cell.cell.side.clone(), cell.cell.unit.clone(), cell.explanation);
    grouped(view.cells.iter().filter(is_other), kind)
        .into_iter()
        .filter_map(|((side, _, explanation), cells)| {
            let first = cells.first()?;
            let (unit, exact, printed) = (first.unit?, first.exact?, first.printed()?);
            let name = side_name(view.study, &side);
            let message = match explanation? {
                Explanation::Moved { digits, .. } => format!(
                    "{printed} of {name}: the decimal point is {} off, by its own bytes and seconds.",
                    count(digits.unsigned_abs() as usize, "place")
                ),
                _ => format!(
                    "{} of {name} printed as {} {} really {}: {printed} is {}.",
                    count(cells.len(), "rate"),
                    first.cell.unit.as_deref().unwrap_or_default(),
                    if cells.len() == 1 { "is" } else { "are" },
                    unit.clear(first.base()),
                    both(exact, unit)
                ),
            };
            Some(Draft { level: Level::Warn, cells: ids(cells.iter().copied()), observed: both(exact, unit), message })
        })
        .collect()
}

/// Finds rows whose numbers count different things: ops on one side, bytes on the other.
fn mixed_kinds(view: &View<'_>) -> Vec<Draft> {
    let rows = view.rows().into_iter().filter(|row| {
        let mut units = row.iter().filter_map(|cell| cell.unit);
        let first = units.next();
        first.is_some_and(|first| units.any(|unit| !unit.is_same_kind(first)))
    });
    rows.map(|row| {
        let printed: Vec<String> = row.iter().filter_map(|cell| cell.printed()).collect();
        Draft {
            level: Level::Warn,
            cells: ids(row.iter().copied()),
            observed: printed.join(" | "),
            message: format!("{} are in one row but count different things.", listed(&printed)),
        }
    })
    .collect()
}

fn mixed_units(view: &View<'_>) -> Vec<Draft> {
    let mut found = mixed_kinds(view);
    found.extend(mixed_bases(view));
    found
}

fn mixed_bases(view: &View<'_>) -> Option<Draft> {
    let mut mixed: Vec<&CellView<'_>> = Vec::new();
    let mut example = None;
    for row in view.rows() {
        let settled: Vec<&CellView<'_>> =
            row.into_iter().filter(|cell| matches!(cell.explanation, Some(Explanation::Base(_)))).collect();
        let powers_above_one =
            settled.iter().all(|cell| matches!(cell.unit, Some(PrintedUnit::Bytes { power: 1.., .. })));
        if powers_above_one && distinct(settled.iter().map(|cell| cell.base())).len() > 1 {
            example.get_or_insert_with(|| settled.clone());
            mixed.extend(settled);
        }
    }
    let example = example?;
    let power = match example[0].unit {
        Some(PrintedUnit::Bytes { power, .. }) => i32::from(power),
        _ => 2,
    };
    let bias = (1.024_f64.powi(power) - 1.0) * 100.0;
    let parts: Vec<String> = example
        .iter()
        .filter_map(|cell| {
            let unit = cell.unit?;
            let name = side_name(view.study, &cell.cell.side);
            Some(format!("{name} in {}", unit.clear(cell.base())))
        })
        .collect();
    // In larger units, the same rate is a smaller number.
    let understated: Vec<String> = example
        .iter()
        .filter(|cell| cell.base() == Base::Binary)
        .map(|cell| side_name(view.study, &cell.cell.side).to_owned())
        .collect();
    Some(Draft {
        level: Level::Warn,
        cells: ids(mixed.iter().copied()),
        observed: format!("{bias:.1} % between the units"),
        message: format!(
            "{} are compared as if they had the same unit, which understates {} by {bias:.1} %.",
            listed(&parts),
            listed(&understated)
        ),
    })
}

fn quoted(view: &View<'_>) -> Vec<Draft> {
    let places = || view.cells.iter().flat_map(|cell| cell.cell.quoted.iter().map(move |quoted| (cell, quoted)));
    let mut found: Vec<Draft> = places().filter_map(|(cell, quoted)| quoted_value(view, cell, quoted)).collect();
    let blocks = places().filter_map(|(cell, quoted)| wrong_block(cell, quoted));
    found.extend(grouped(blocks, |wrong| (wrong.place, wrong.stated)).into_iter().map(|((place, stated), wrong)| {
        let real: Vec<String> = distinct(wrong.iter().map(|wrong| plumb_trust::text::bytes(wrong.real)));
        let stated = plumb_trust::text::bytes(stated);
        Draft {
            level: Level::Warn,
            cells: ids(wrong.iter().map(|wrong| wrong.cell)),
            observed: format!("{stated} against {}", listed(&real)),
            message: format!("The {place} gives a block size of {stated}, but the commands use {}.", listed(&real)),
        }
    }));
    found
}

fn quoted_value(view: &View<'_>, cell: &CellView<'_>, quoted: &Quoted) -> Option<Draft> {
    let (there, here) = (quoted.value.as_ref()?, cell.cell.value.as_ref()?);
    if quoted.unit.is_some() && quoted.unit != cell.cell.unit {
        return None;
    }
    let coarser = there.last_digit().max(here.last_digit());
    if (there.value() - here.value()).abs() < coarser {
        return None;
    }
    let unit = cell.cell.unit.as_deref().unwrap_or_default();
    // A number copied from another row explains the error.
    let slipped = view.cells.iter().find(|other| {
        other.cell.side == cell.cell.side
            && other.cell.metric == cell.cell.metric
            && other.test_index != cell.test_index
            && other.cell.value.as_ref().is_some_and(|value| value.value() == there.value())
    });
    let slipped = slipped.map(|other| format!(", the number of {}", other.test.id)).unwrap_or_default();
    let computed = cell.exact.zip(cell.unit).map(|(exact, unit)| both(exact, unit));
    let observed = match computed {
        Some(computed) => format!("{here} against {there} {unit}; bytes and seconds give {computed}"),
        None => format!("{here} against {there} {unit}"),
    };
    Some(Draft {
        level: Level::Fail,
        cells: vec![cell.id()],
        observed,
        message: format!("The {} says {there} {unit}, but the result is {here} {unit}{slipped}.", quoted.place),
    })
}

/// A stated block size that differs from the command's.
struct WrongBlock<'a, 'v> {
    cell: &'a CellView<'v>,
    place: &'a str,
    stated: u64,
    real: u64,
}

fn wrong_block<'a, 'v>(cell: &'a CellView<'v>, quoted: &'a Quoted) -> Option<WrongBlock<'a, 'v>> {
    let stated = quoted.block?.0;
    let real = cell.actions.iter().find_map(CommandAction::block_bytes)?;
    (stated != real).then_some(WrongBlock { cell, place: &quoted.place, stated, real })
}

fn point_moved(view: &View<'_>) -> Vec<Draft> {
    let mut cells: Vec<&CellView<'_>> = Vec::new();
    let mut example = None;
    for cell in &view.cells {
        for quoted in &cell.cell.quoted {
            let parsed = quoted.unit.as_deref().and_then(PrintedUnit::parse);
            let (Some(there), Some(PrintedUnit::Bytes { power: to, base: None })) = (&quoted.value, parsed) else {
                continue;
            };
            let Some(PrintedUnit::Bytes { power: from, base: stated }) = cell.unit else { continue };
            let (Some(here), true) = (&cell.cell.value, to > from) else { continue };
            if stated.unwrap_or(cell.base()) != Base::Binary {
                continue;
            }
            let moved = here.value() / 1000_f64.powi(i32::from(to - from));
            if there.prints(moved) && !cells.iter().any(|known| std::ptr::eq(*known, cell)) {
                cells.push(cell);
                example.get_or_insert((cell, there, to));
            }
        }
    }
    let Some((cell, there, power)) = example else { return Vec::new() };
    let Some(exact) = cell.value else { return Vec::new() };
    let unit = PrintedUnit::Bytes { power, base: None };
    vec![Draft {
        level: Level::Warn,
        cells: ids(cells.iter().copied()),
        observed: both(exact, unit),
        message: format!(
            "{} {} became {there} {} by moving the decimal point; {} uses units of 1024, so the value is {}.",
            cell.cell.value.as_ref().map(ToString::to_string).unwrap_or_default(),
            cell.cell.unit.as_deref().unwrap_or_default(),
            unit.clear(Base::Decimal),
            cell.test.tool,
            both(exact, unit)
        ),
    }]
}

fn heading(view: &View<'_>) -> Vec<Draft> {
    let of_another_kind = |cell: &&CellView<'_>| {
        let headed = cell.test.heading.as_deref().and_then(PrintedUnit::parse);
        headed.zip(cell.unit).is_some_and(|(headed, unit)| !headed.is_same_kind(unit))
    };
    let wrong = view.cells.iter().filter(of_another_kind);
    grouped(wrong, |cell| (cell.test.heading.clone().unwrap_or_default(), cell.cell.unit.clone().unwrap_or_default()))
        .into_iter()
        .map(|((heading, unit), cells)| {
            let tests = distinct(cells.iter().map(|cell| cell.test.id.clone()));
            Draft {
                level: Level::Warn,
                cells: ids(cells.iter().copied()),
                observed: format!("{heading} over {unit}"),
                message: format!("The column of {} is headed {heading}, but its numbers are {unit}.", listed(&tests)),
            }
        })
        .collect()
}

/// Pairs of results that are adjacent in Bonnie++'s output, each with the result that it should resemble.
const NEIGHBOURS: [[CellMetric; 2]; 3] = [
    [CellMetric::RandomCreate, CellMetric::Create],
    [CellMetric::RandomStat, CellMetric::Stat],
    [CellMetric::RandomDelete, CellMetric::Delete],
];
/// Factor by which the exchanged places must fit better, averaged over both.
const FITS_BETTER: f64 = 3.0;

fn exchanged(view: &View<'_>) -> Vec<Draft> {
    let mut found = Vec::new();
    for index in 0..view.tests.len() {
        for side in &view.study.side {
            let cell =
                |metric| view.of_test(index).find(|cell| cell.cell.side == side.id && cell.cell.metric == metric);
            for (first, second) in [(0, 1), (1, 2), (0, 2)] {
                let [one_metric, one_like] = NEIGHBOURS[first];
                let [other_metric, other_like] = NEIGHBOURS[second];
                let (Some(one), Some(other)) = (cell(one_metric), cell(other_metric)) else { continue };
                let like = |metric| cell(metric).and_then(|cell| cell.value).filter(|value| *value > 0.0);
                let (Some(one_like), Some(other_like)) = (like(one_like), like(other_like)) else { continue };
                let (Some(a), Some(b)) = (one.value.filter(|v| *v > 0.0), other.value.filter(|v| *v > 0.0)) else {
                    continue;
                };
                let misfit = |x: f64, y: f64| (x / one_like).ln().abs() + (y / other_like).ln().abs();
                // As printed, both must be far off; exchanged, both must be close.
                let near = [(b / one_like), (a / other_like)].iter().all(|ratio| (0.4..2.5).contains(ratio));
                if near && misfit(a, b) - misfit(b, a) > 2.0 * FITS_BETTER.ln() {
                    found.push(Draft {
                        level: Level::Warn,
                        cells: vec![one.id(), other.id()],
                        observed: format!(
                            "{a:.0} and {b:.0} per second; the sequential ones are {one_like:.0} and {other_like:.0}"
                        ),
                        message: format!(
                            "{} and {} of {} look swapped.",
                            one_metric.name(),
                            other_metric.name(),
                            side_name(view.study, &side.id)
                        ),
                    });
                }
            }
        }
    }
    found
}

/// Formats a count: `1 rate`, `10 rates`.
fn count(number: usize, noun: &str) -> String {
    plumb_trust::text::count(number as u64, noun)
}
