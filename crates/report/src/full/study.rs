//! The report of a study: its full page, with charts.

use super::charts::{axis_of, forest, forest_row, format_of, slug};
use super::interactions::interactions;
use super::numbers::{RunNumber, accepted, mean};
use super::{FullReport, ecdf};
use crate::document::ReportPart;
use crate::format;
use crate::study::parts_in_full;
use crate::style::Ink;
use plumb_chart::{Bar, BarGroup, BarShape, Bars, Body, Chart, Forest, ForestRow, Mark, Scale};
use plumb_result::Metric;
use plumb_result::study::{EffectLine, EffectTable, StudyCell, StudyContrast, StudyReport};
use plumb_result::tidy::TidyTable;
use std::collections::BTreeMap;

/// If there are more verdicts than this, the charts come before them.
const VERDICTS_FIRST_MAX: usize = 8;

/// Name that a study gives to the level of a factor in cells without one.
const NO_LEVEL: &str = "-";

/// Creates the report of a study. `numbers` are those of all its runs, with a column for each factor.
pub fn study_report(report: &StudyReport, numbers: TidyTable) -> FullReport {
    let mut charts = Vec::new();
    charts.extend(verdicts(report));
    let levels = by_level(report, &numbers);
    let of_runs = levels.iter().flat_map(|chart| match &chart.body {
        Body::Bars(bars) => ecdf::draw_bars(chart, bars),
        _ => Vec::new(),
    });
    let of_runs: Vec<Chart> = of_runs.take(ecdf::CHARTS_MAX).collect();
    charts.extend(levels);
    charts.extend(interactions(report, &numbers));
    charts.extend(report.effects.iter().filter_map(effects));
    charts.extend(of_runs);
    let mut parts = parts_in_full(report);
    let heading = |start: &str| {
        parts.iter().position(|part| matches!(part, ReportPart::Heading(text) if text.starts_with(start)))
    };
    // Charts come after the answer and the verdicts and before the tables. If there are many verdicts, charts come
    // first, because they are quicker to read.
    let judged = report.contrasts.iter().filter(|one| one.is_judged()).count();
    let at = heading("Verdicts").filter(|_| judged > VERDICTS_FIRST_MAX).or_else(|| heading("Results by"));
    let at = at.unwrap_or(parts.len());
    if !charts.is_empty() {
        let heading = std::iter::once(ReportPart::Heading("Charts".to_owned()));
        parts.splice(at..at, heading.chain(charts.into_iter().map(ReportPart::chart)));
    }
    parts.extend(method(report));
    FullReport::new(report.name.clone(), parts, numbers)
}

fn label(one: &StudyContrast) -> String {
    let contrast = &one.contrast;
    let mut words: Vec<String> = contrast.workload.iter().cloned().collect();
    let of_factor = |(factor, level): (&String, &String)| format!("{factor} {level}");
    let is_stated = |level: &String| level == NO_LEVEL || contrast.workload.as_ref() == Some(level);
    words.extend(one.within.iter().filter(|(_, level)| !is_stated(level)).map(of_factor));
    if !contrast.phase.is_empty() && !words.contains(&contrast.phase) && !names_phase(contrast.metric, &contrast.phase)
    {
        words.push(contrast.phase.clone());
    }
    words.push(contrast.metric.to_string());
    words.join(" ")
}

/// Returns `true` if the name of a metric already names the phase: `write.bw` of `write`.
pub(super) fn names_phase(metric: Metric, phase: &str) -> bool {
    metric.to_string().split('.').next() == Some(phase)
}

fn verdicts(report: &StudyReport) -> Vec<Chart> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for one in &report.contrasts {
        let pair = (one.contrast.baseline.as_str(), one.contrast.candidate.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let chart = |(a, b): (&str, &str)| {
        let of_pair = |one: &&StudyContrast| one.contrast.baseline == a && one.contrast.candidate == b;
        let judged: Vec<&StudyContrast> =
            report.contrasts.iter().filter(of_pair).filter(|one| one.is_judged()).collect();
        let shown = if judged.is_empty() { report.contrasts.iter().filter(of_pair).collect() } else { judged };
        let rows: Vec<ForestRow> =
            shown.iter().map(|one| forest_row(label(one), &one.contrast, one.is_judged())).collect();
        let better = format!("{b} against {a}: right of 1 it is better, left of 1 worse");
        forest(&format!("{b} against {a}"), &better, None, rows)
    };
    pairs.into_iter().map(chart).collect()
}

/// Largest number of charts by level that still give an overview.
const BY_LEVEL_MAX: usize = 8;

/// Draws values by level, in one chart for each number with a verdict, and for others as far as there is room. Rows
/// are workloads with the levels of all other factors.
fn by_level(report: &StudyReport, table: &TidyTable) -> Vec<Chart> {
    let numbers = accepted(table);
    let mut levels: Vec<&str> = Vec::new();
    for level in report.cells.iter().filter_map(|cell| cell.levels.get(&report.by)) {
        if !levels.contains(&level.as_str()) {
            levels.push(level);
        }
    }
    if levels.is_empty() {
        return Vec::new();
    }
    let contrasts: Vec<(Metric, bool)> =
        report.contrasts.iter().map(|one| (one.contrast.metric, one.is_judged())).collect();
    drawn_by_level(&contrasts)
        .into_iter()
        .filter_map(|metric| level_chart(report, (table, &numbers), &levels, metric))
        .collect()
}

/// Selects the metrics to draw, each once. `contrasts` has each metric with whether it has a verdict.
fn drawn_by_level(contrasts: &[(Metric, bool)]) -> Vec<Metric> {
    let judged = contrasts.iter().filter(|(_, is_judged)| *is_judged);
    let others = contrasts.iter().filter(|(_, is_judged)| !*is_judged);
    let mut drawn: Vec<Metric> = Vec::new();
    for (metric, is_judged) in judged.chain(others) {
        let has_room = *is_judged || drawn.len() < BY_LEVEL_MAX;
        if has_room && !drawn.contains(metric) {
            drawn.push(*metric);
        }
    }
    drawn
}

/// A row of the chart: the workload, the phase, and the levels of the other factors.
type Row<'a> = (&'a str, &'a str, BTreeMap<&'a str, &'a str>);

fn level_chart(
    report: &StudyReport,
    (table, numbers): (&TidyTable, &[RunNumber<'_>]),
    levels: &[&str],
    metric: Metric,
) -> Option<Chart> {
    let others = |cell: &'_ StudyCell| -> BTreeMap<String, String> {
        let others = cell.levels.iter().filter(|(factor, _)| **factor != report.by);
        BTreeMap::from_iter(others.map(|(factor, level)| (factor.clone(), level.clone())))
    };
    let mut rows: Vec<Row<'_>> = Vec::new();
    for cell in &report.cells {
        for value in cell.values.iter().filter(|value| value.metric == metric) {
            let of_others = cell.levels.iter().filter(|(factor, _)| **factor != report.by);
            // If workloads are compared, the name of a workload is the level and not a row of its own.
            let work = if levels.contains(&cell.workload.as_str()) { "" } else { cell.workload.as_str() };
            let row = (
                work,
                value.phase.as_str(),
                BTreeMap::from_iter(of_others.map(|(factor, level)| (factor.as_str(), level.as_str()))),
            );
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    // Keep the rows of one workload together.
    let works: Vec<&str> = rows.iter().map(|(work, ..)| *work).collect();
    rows.sort_by_key(|(work, ..)| works.iter().position(|known| known == work));
    let bar = |(work, phase, other): &Row<'_>, series: usize| {
        let level = levels[series];
        let is_cell = |cell: &&StudyCell| {
            (work.is_empty() || cell.workload == *work)
                && cell.levels.get(&report.by).is_some_and(|of| of == level)
                && others(cell).iter().all(|(factor, of)| other.get(factor.as_str()) == Some(&of.as_str()))
        };
        let cell = report.cells.iter().find(is_cell);
        let value =
            cell.and_then(|cell| cell.values.iter().find(|value| value.metric == metric && value.phase == *phase));
        let of_bar = |number: &&RunNumber<'_>| {
            number.metric == metric
                && number.phase == *phase
                && (work.is_empty() || number.workload == *work)
                && number.level(table, &report.by) == level
                && other.iter().all(|(factor, of)| number.level(table, factor) == *of)
        };
        let runs: Vec<&RunNumber<'_>> = numbers.iter().filter(of_bar).collect();
        let missing = match cell {
            Some(cell) if cell.rejected > 0 && cell.done == 0 => "rejected",
            Some(cell) if cell.failed > 0 && cell.done == 0 => "failed",
            Some(cell) if cell.open > 0 && cell.done == 0 => "to come",
            _ => "no value",
        };
        Bar {
            series,
            value: value.map(|value| value.value),
            interval: mean(&runs).and_then(|(_, interval)| interval),
            runs: runs.iter().map(|run| run.value).collect(),
            missing: missing.to_owned(),
        }
    };
    let name = |(work, phase, other): &Row<'_>| {
        let mut words: Vec<String> = [*work].into_iter().filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let of_others = other.iter().filter(|(_, level)| *level != work && **level != NO_LEVEL);
        words.extend(of_others.map(|(factor, level)| format!("{factor} {level}")));
        let is_stated = phase.is_empty() || phase == work || names_phase(metric, phase);
        words.extend((!is_stated).then(|| (*phase).to_owned()));
        words.join(" ")
    };
    let groups: Vec<BarGroup> = rows
        .iter()
        .map(|row| BarGroup { label: name(row), bars: (0..levels.len()).map(|series| bar(row, series)).collect() })
        .collect();
    if groups.is_empty() {
        return None;
    }
    let emulated = report.emulated && metric.device_count().is_none();
    let format = format_of(metric);
    let wording: Vec<String> = groups
        .iter()
        .take(12)
        .map(|group| {
            let of = |bar: &Bar| {
                format!("{} {}", levels[bar.series], bar.value.map_or("none".to_owned(), |value| format.text(value)))
            };
            format!("{}: {}", group.label, group.bars.iter().map(of).collect::<Vec<_>>().join(", "))
        })
        .collect();
    let warned = if emulated { " Measured under emulation: absolute speeds mean nothing." } else { "" };
    Some(Chart {
        name: format!("by-{}-{}", slug(&report.by), slug(&metric.to_string())),
        title: format!("{metric} by {}", report.by),
        caption: format!(
            "Geometric means with 95 % intervals over plots (over runs where there is only one); each dot is a run.{warned}"
        ),
        alt: format!("{metric} by {}. {}.", report.by, wording.join("; ")),
        body: Body::Bars(Bars {
            axis: axis_of(metric, Scale::FromZero),
            series: levels.iter().map(|level| format!("{} {level}", report.by)).collect(),
            groups,
            shape: BarShape::Bar,
        }),
    })
}

/// Draws the effects of the factors, alone and together.
fn effects(table: &EffectTable) -> Option<Chart> {
    let row = |line: &EffectLine| {
        let ratio = line.ratio?;
        let of = |(factor, level): (&String, &String)| format!("{factor} {level}");
        let name = match (line.levels.as_slice(), line.against.as_slice()) {
            ([level], [against]) => format!("{} {level} against {against}", line.name),
            ([], _) => line.name.clone(),
            (levels, _) => line.factors.iter().zip(levels).map(of).collect::<Vec<_>>().join(" × "),
        };
        let interval = line.lo.zip(line.hi);
        let share = line.share.map_or(String::new(), |share| format!(", {} of variation", format::percent(share)));
        let between = interval.map_or(String::new(), |(lo, hi)| format!(" ({})", format::interval(lo, hi)));
        Some(ForestRow {
            label: name,
            value: Some(ratio),
            interval,
            mark: Mark::Unjudged,
            words: format!("{}×{between}{share}", format::ratio(ratio)),
        })
    };
    let rows: Vec<ForestRow> = table.lines.iter().filter_map(row).collect();
    if rows.len() < 2 {
        return None;
    }
    let title = format!("Effects on {} {}", table.workload, table.metric);
    let wording: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.label, row.words)).collect();
    Some(Chart {
        name: format!("effects-{}-{}", slug(&table.workload), slug(&table.metric.to_string())),
        title: title.clone(),
        caption: "Right of 1: the level is better than the factor's first, averaged over all other factors. With ×: how many times larger one \
               effect is at the other's level. Not corrected for their number: effects are no verdicts."
            .to_owned(),
        alt: format!("{title}. {}.", wording.join("; ")),
        body: Body::Forest(Forest { axis_title: "ratio".to_owned(), band: None, rows }),
    })
}

fn method(report: &StudyReport) -> Vec<ReportPart> {
    let counts = &report.counts;
    let corrected = match report.correction.as_str() {
        "none" => "p is not corrected",
        "benjamini-hochberg" => "p is corrected by Benjamini and Hochberg's method",
        _ => "p is corrected by Holm's method",
    };
    let text = format!(
        "The study {} ({}) was planned with {} plots and {} runs in random order, of which {} were accepted, {} rejected by checks \
         and {} failed. Levels of {} are compared as ratios of geometric means, plots as units where they vary, with 95 % intervals \
         on logarithms; {corrected} for the study's primary numbers. Plan {}, study {}, {}.",
        report.name,
        report.question.trim_end_matches('.'),
        counts.plots,
        counts.runs,
        counts.done,
        counts.rejected,
        counts.failed,
        report.by,
        report.plan_hash,
        report.id,
        report.created_at
    );
    vec![ReportPart::Heading("For a paper".to_owned()), ReportPart::Text(Ink::Faint, text)]
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a label does not repeat the phase (`write write.bw`), but still distinguishes two phases of writes.
    #[test]
    fn a_phase_is_named_once() {
        let metric: Metric = "write.bw".parse().unwrap();
        assert!(names_phase(metric, "write") && !names_phase(metric, "write-64KiB") && !names_phase(metric, "read"));
    }

    // Protects: every number with a verdict has a chart, and other numbers only fill up the remaining of eight.
    #[test]
    fn numbers_with_a_verdict_are_drawn_before_the_others() {
        let all: Vec<Metric> = ["read", "write", "seek"]
            .iter()
            .flat_map(|kind| ["iops", "bw", "lat.p50", "lat.p99", "lat.mean"].map(|name| format!("{kind}.{name}")))
            .filter_map(|name| name.parse().ok())
            .collect();
        assert!(all.len() >= 10, "{all:?}");
        let with = |judged: usize| -> Vec<(Metric, bool)> {
            let is_judged = |number: usize| number >= all.len() - judged;
            let once = all.iter().enumerate().map(|(number, metric)| (*metric, is_judged(number)));
            once.clone().chain(once).collect()
        };
        let few = drawn_by_level(&with(3));
        assert_eq!((few.len(), &few[..3]), (BY_LEVEL_MAX, &all[all.len() - 3..]));
        assert_eq!(drawn_by_level(&with(10)), all[all.len() - 10..], "no room for others");
        assert!(drawn_by_level(&[]).is_empty());
    }
}
