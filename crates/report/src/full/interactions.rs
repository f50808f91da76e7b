//! Draws the effect of one factor at each level of another, as level means with intervals. Parallel lines mean that
//! the factors act independently. If there is a third factor, each of its levels has a panel: rates by record size
//! for each file size, as IOzone's users draw them.

use super::charts::{axis_of, slug};
use super::numbers::{RunNumber, accepted, mean};
use super::study::names_phase;
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::study::{EffectTable, StudyReport};
use plumb_result::tidy::TidyTable;

/// Largest number of such charts in a report; the table of effects has all pairs.
const CHARTS_MAX: usize = 12;

/// Largest number of curves that can be distinguished.
const LEVELS_MAX: usize = 7;

/// Largest number of panels, one for each combination of levels of the remaining factors. If there are more,
/// means over them are drawn.
const PANELS_MAX: usize = 6;

/// Horizontal distance between neighbouring points in steps of the axis, so that their intervals do not overlap.
const APART: f64 = 0.06;

/// Draws the compared factor at the levels of each other factor, in one chart for each number with effects.
pub(super) fn interactions(report: &StudyReport, table: &TidyTable) -> Vec<Chart> {
    let numbers = accepted(table);
    let levels = |factor: &str| {
        let mut levels: Vec<&str> = Vec::new();
        for level in report.cells.iter().filter_map(|cell| cell.levels.get(factor)) {
            if !levels.contains(&level.as_str()) {
                levels.push(level);
            }
        }
        levels
    };
    let by = levels(&report.by);
    if by.len() < 2 || by.len() > LEVELS_MAX {
        return Vec::new();
    }
    let mut factors: Vec<&str> = Vec::new();
    for factor in report.cells.iter().flat_map(|cell| cell.levels.keys()) {
        if *factor != report.by && !factors.contains(&factor.as_str()) {
            factors.push(factor);
        }
    }
    let mut charts = Vec::new();
    for effects in &report.effects {
        let of_table = |number: &&RunNumber<'_>| {
            number.metric == effects.metric && number.phase == effects.phase && number.workload == effects.workload
        };
        let numbers: Vec<&RunNumber<'_>> = numbers.iter().filter(of_table).collect();
        let levels_here = |factor: &str| {
            let mut levels = levels(factor);
            // Drop levels that this workload never had, because a factor may be the workload itself.
            levels.retain(|level| numbers.iter().any(|number| number.level(table, factor) == *level));
            levels
        };
        for other in &factors {
            let others = levels_here(other);
            if others.len() < 2 {
                continue;
            }
            let pair = Pair { by: &report.by, by_levels: &by, other, other_levels: &others };
            let rest: Vec<(&str, Vec<&str>)> = factors
                .iter()
                .filter(|factor| *factor != other)
                .map(|factor| (*factor, levels_here(factor)))
                .filter(|(_, levels)| levels.len() > 1)
                .collect();
            charts.extend(chart(effects, table, &numbers, &pair, &slices(&rest)));
        }
    }
    charts.truncate(CHARTS_MAX);
    charts
}

struct Pair<'a> {
    by: &'a str,
    by_levels: &'a [&'a str],
    other: &'a str,
    other_levels: &'a [&'a str],
}

/// Levels of all other factors, which identify a panel.
type Slice<'a> = Vec<(&'a str, &'a str)>;

/// Returns each combination of levels, or a single empty one if there are too many.
fn slices<'a>(rest: &[(&'a str, Vec<&'a str>)]) -> Vec<Slice<'a>> {
    let mut slices: Vec<Slice<'a>> = vec![Vec::new()];
    for (factor, levels) in rest {
        let with = |slice: &Slice<'a>, level: &&'a str| {
            let mut slice = slice.clone();
            slice.push((*factor, *level));
            slice
        };
        slices = slices.iter().flat_map(|slice| levels.iter().map(|level| with(slice, level))).collect();
    }
    if slices.len() > PANELS_MAX { vec![Vec::new()] } else { slices }
}

fn chart(
    effects: &EffectTable,
    table: &TidyTable,
    numbers: &[&RunNumber<'_>],
    pair: &Pair<'_>,
    slices: &[Slice<'_>],
) -> Option<Chart> {
    let panel = |slice: &Slice<'_>| {
        let of_slice =
            |number: &&&RunNumber<'_>| slice.iter().all(|(factor, level)| number.level(table, factor) == *level);
        let numbers: Vec<&RunNumber<'_>> = numbers.iter().filter(of_slice).copied().collect();
        let series = series(table, &numbers, pair);
        let has_values = |one: &&Series| one.points.iter().filter(|point| point.y.is_some()).count() > 1;
        let of: Vec<String> = slice.iter().map(|(factor, level)| format!("{factor} {level}")).collect();
        (series.iter().filter(has_values).count() > 1).then(|| (of.join(", "), series))
    };
    // The label of each panel, empty for the mean over all, with its curves.
    let panels: Vec<(String, Vec<Series>)> = slices.iter().filter_map(panel).collect();
    if panels.is_empty() {
        return None;
    }
    let axis = axis_of(effects.metric, Scale::FromZero);
    let describe = |(of, series): &(String, Vec<Series>)| {
        let value = |value: Option<f64>| value.map_or("none".to_owned(), |value| axis.format.text(value));
        let curve = |one: &Series| {
            let values =
                one.points.iter().zip(pair.other_levels).map(|(point, level)| format!("{level} {}", value(point.y)));
            format!("{}: {}", one.name, values.collect::<Vec<_>>().join(", "))
        };
        let curves = series.iter().map(curve).collect::<Vec<_>>().join("; ");
        if of.is_empty() { curves } else { format!("{of}: {curves}") }
    };
    let phase = effects.phase.as_str();
    let name = if phase.is_empty() || phase == effects.workload || names_phase(effects.metric, phase) {
        effects.workload.clone()
    } else {
        format!("{} {}", effects.workload, effects.phase)
    };
    let title = format!("{name} {}: {} by {}", effects.metric, pair.by, pair.other);
    let over = if slices.iter().all(Vec::is_empty) { ", over all other factors" } else { "" };
    Some(Chart {
        name: format!("together-{}", slug(&title)),
        caption: format!(
            "Geometric means with 95 % intervals over plots (over runs where there is only one){over}. Parallel lines: the \
             factors act independently. Lines that cross or diverge: the effect of one depends on the other."
        ),
        alt: format!("{title}. {}.", panels.iter().map(describe).collect::<Vec<_>>().join(". ")),
        title,
        body: Body::Lines(Lines {
            x: Axis { title: pair.other.to_owned(), format: Format::Count, scale: Scale::Linear },
            x_names: pair.other_levels.iter().map(|level| (*level).to_owned()).collect(),
            panels: panels
                .into_iter()
                .map(|(of, series)| {
                    let title = if of.is_empty() { axis.title.clone() } else { format!("{of}. {}", axis.title) };
                    Panel { y: Axis { title, ..axis.clone() }, height: 170.0, series }
                })
                .collect(),
            marks: Vec::new(),
        }),
    })
}

/// Returns one curve for each level of the first factor, with a point for each level of the other.
fn series(table: &TidyTable, numbers: &[&RunNumber<'_>], pair: &Pair<'_>) -> Vec<Series> {
    let first = -APART * (pair.by_levels.len() - 1) as f64 / 2.0;
    let series = |(number, level): (usize, &&str)| {
        let point = |(place, other): (usize, &&str)| {
            let of_cell = |number: &&&RunNumber<'_>| {
                number.level(table, pair.by) == *level && number.level(table, pair.other) == *other
            };
            let runs: Vec<&RunNumber<'_>> = numbers.iter().filter(of_cell).copied().collect();
            let (value, interval) = mean(&runs).unzip();
            Point { x: place as f64 + first + APART * number as f64, y: value, interval: interval.flatten() }
        };
        Series {
            name: format!("{} {level}", pair.by),
            shape: SeriesShape::Line,
            points: pair.other_levels.iter().enumerate().map(point).collect(),
        }
    };
    pair.by_levels.iter().enumerate().map(series).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: each combination of the other factors has a panel, and if there are too many, means are drawn.
    #[test]
    fn other_factors_have_panels() {
        assert_eq!(slices(&[]), [Vec::new()]);
        let size = ("size", vec!["1m", "512m"]);
        assert_eq!(slices(std::slice::from_ref(&size)), [vec![("size", "1m")], vec![("size", "512m")]]);
        let mode = ("mode", vec!["a", "b", "c"]);
        assert_eq!(slices(&[size.clone(), mode.clone()]).len(), 6);
        assert_eq!(slices(&[size, mode, ("depth", vec!["1", "2"])]), [Vec::new()]);
    }
}
