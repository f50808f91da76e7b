//! What one factor does at each level of another: level means with intervals. Lines that run alike mean that the factors act alone.

use super::charts::{axis_of, slug};
use super::numbers::{RunNumber, accepted, mean};
use plumb_chart::{Axis, Body, Chart, Format, Lines, Panel, Point, Scale, Series, SeriesShape};
use plumb_result::study::{EffectTable, StudyReport};
use plumb_result::tidy::TidyTable;

/// Charts in a report; the table of effects has all pairs.
const CHARTS_MAX: usize = 12;

/// More curves than this cannot be told apart.
const LEVELS_MAX: usize = 7;

/// How far neighbours stand apart, so that their intervals do not cover one another, in steps of the axis.
const APART: f64 = 0.06;

/// The compared factor at the levels of each other one, a chart for each number with effects.
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
        for other in &factors {
            let mut others = levels(other);
            // Levels that this work never had: a factor may be the work itself.
            others.retain(|level| numbers.iter().any(|number| number.level(table, other) == *level));
            if others.len() > 1 {
                let pair = Pair { by: &report.by, by_levels: &by, other, other_levels: &others };
                charts.extend(chart(effects, table, &numbers, &pair));
            }
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

fn chart(effects: &EffectTable, table: &TidyTable, numbers: &[&RunNumber<'_>], pair: &Pair<'_>) -> Option<Chart> {
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
    let series: Vec<Series> = pair.by_levels.iter().enumerate().map(series).collect();
    let has_values = |one: &&Series| one.points.iter().filter(|point| point.y.is_some()).count() > 1;
    if series.iter().filter(has_values).count() < 2 {
        return None;
    }
    let axis = axis_of(effects.metric, Scale::FromZero);
    let said = |one: &Series| {
        let value = |value: Option<f64>| value.map_or("none".to_owned(), |value| axis.format.text(value));
        let values =
            one.points.iter().zip(pair.other_levels).map(|(point, level)| format!("{level} {}", value(point.y)));
        format!("{}: {}", one.name, values.collect::<Vec<_>>().join(", "))
    };
    let name = if effects.phase.is_empty() || effects.phase == effects.workload {
        effects.workload.clone()
    } else {
        format!("{} {}", effects.workload, effects.phase)
    };
    let title = format!("{name} {}: {} by {}", effects.metric, pair.by, pair.other);
    Some(Chart {
        name: format!("together-{}", slug(&title)),
        says: "Geometric means with 95 % intervals over provisionings (over runs where there is only one), over all other factors. Lines \
               that run alike: the factors act alone. Lines that cross or part: what one does depends on the other."
            .to_owned(),
        alt: format!("{title}. {}.", series.iter().map(said).collect::<Vec<_>>().join("; ")),
        title,
        body: Body::Lines(Lines {
            x: Axis { title: pair.other.to_owned(), format: Format::Count, scale: Scale::Linear },
            x_names: pair.other_levels.iter().map(|level| (*level).to_owned()).collect(),
            panels: vec![Panel { y: axis, height: 170.0, series }],
            marks: Vec::new(),
        }),
    })
}
