//! The report of a comparison.

use super::charts::{axis_of, forest, forest_row, format_of, slug};
use super::numbers::{RunNumber, accepted, mean};
use super::{FullReport, ecdf, method};
use crate::document::{ColumnHead, Item, ReportPart, ReportTable};
use crate::format::{self, MISSING};
use crate::style::Ink;
use crate::table::Align;
use plumb_chart::{Bar, BarGroup, BarShape, Bars, Body, Chart, Scale};
use plumb_result::compare::Difference;
use plumb_result::tidy::TidyTable;
use plumb_result::{Comparison, Contrast, Level, RunResult};

/// Margin within which ratios are equivalent. Source: docs/statistics.md.
const MARGIN: f64 = 0.05;

/// Creates the report of a comparison. `examples` has a result of each side, the baseline's first, if they are known.
/// `numbers` are those of all its runs.
pub fn comparison_report(comparison: &Comparison, examples: &[RunResult], numbers: TidyTable) -> FullReport {
    let sides = comparison.contrasts.first().map(|first| (first.baseline.clone(), first.candidate.clone()));
    let title = sides.as_ref().map_or("Comparison".to_owned(), |(a, b)| format!("{b} against {a}"));
    let mut parts = vec![ReportPart::Text(Ink::Strong, comparison.verdict_note.clone())];
    parts.extend(trust(comparison));
    if !comparison.contrasts.is_empty() {
        parts.extend(ratios(comparison, &title, &numbers));
    }
    parts.extend(differences(comparison));
    let named: Vec<(String, &RunResult)> = match &sides {
        Some((a, b)) => [a.clone(), b.clone()].into_iter().zip(examples).collect(),
        None => Vec::new(),
    };
    if !named.is_empty() {
        parts.extend(method::setups(&named));
        parts.extend(method::not_checked(&examples.iter().collect::<Vec<_>>()));
    }
    parts.extend(order(comparison, examples));
    FullReport::new(title, parts, numbers)
}

/// Draws and lists the ratios of a comparison that has some.
fn ratios(comparison: &Comparison, title: &str, numbers: &TidyTable) -> Vec<ReportPart> {
    let mut parts = vec![ReportPart::Heading("Charts".to_owned())];
    let label = |one: &Contrast| name(comparison, one);
    let rows = comparison.contrasts.iter().map(|one| forest_row(label(one), one, true)).collect();
    let better = format!("{title}: right of 1 it is better, left of 1 worse");
    parts.push(ReportPart::chart(forest(title, &better, Some(MARGIN), rows)));
    let values = bars(comparison, numbers);
    let of_runs = values.iter().flat_map(|chart| match &chart.body {
        Body::Bars(bars) => ecdf::draw_bars(chart, bars),
        _ => Vec::new(),
    });
    let of_runs: Vec<Chart> = of_runs.take(ecdf::CHARTS_MAX).collect();
    parts.extend(values.into_iter().chain(of_runs).map(ReportPart::chart));
    parts.push(ReportPart::Heading("Numbers".to_owned()));
    parts.push(ReportPart::Table(table(comparison)));
    parts
}

fn name(comparison: &Comparison, contrast: &Contrast) -> String {
    let works: Vec<&Option<String>> = comparison.contrasts.iter().map(|one| &one.workload).collect();
    let several = works.iter().any(|work| **work != contrast.workload);
    let work = contrast.workload.as_deref().filter(|work| several && *work != contrast.phase);
    let parts = [work.unwrap_or_default(), &contrast.phase, &contrast.metric.to_string()].map(str::to_owned);
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn trust(comparison: &Comparison) -> Vec<ReportPart> {
    let warned = comparison.checks.iter().filter(|finding| finding.level >= Level::Warn);
    let mut items: Vec<Item> =
        warned.map(|finding| Item::finding(finding.level, &finding.code, &finding.message, &finding.remedy)).collect();
    for check in &comparison.run_checks {
        let (level, code) = (check.finding.level, &check.finding.code);
        let message = format!("{} ({} of {} runs): {}", check.side, check.runs, check.of, check.finding.message);
        items.push(Item::finding(level, code, &message, &check.finding.remedy));
    }
    for left_out in crate::compare::unexplained(&comparison.left_out, &comparison.run_checks) {
        let text = format!("run {} of {}: {}", left_out.run, left_out.side, left_out.reason);
        items.push(Item { ink: Ink::Bad, head: "left out".to_owned(), text });
    }
    items.extend(comparison.notes.iter().map(|note| Item {
        ink: Ink::Faint,
        head: "note".to_owned(),
        text: note.clone(),
    }));
    if items.is_empty() {
        items.push(Item::no_warnings());
    }
    vec![ReportPart::Heading("How far to trust it".to_owned()), ReportPart::List(items)]
}

fn table(comparison: &Comparison) -> ReportTable {
    let first = comparison.contrasts.first();
    let side = |of: fn(&Contrast) -> &String, letter: &str| first.map_or(letter.to_owned(), |one| of(one).clone());
    let heads = [
        ("number".to_owned(), Align::Left),
        (side(|one| &one.baseline, "A"), Align::Right),
        (side(|one| &one.candidate, "B"), Align::Right),
        ("ratio".to_owned(), Align::Right),
        ("95 % interval".to_owned(), Align::Right),
        ("verdict".to_owned(), Align::Left),
        ("rests on".to_owned(), Align::Right),
        ("p".to_owned(), Align::Right),
    ];
    let row = |one: &Contrast| {
        let value = |value: Option<f64>| value.map_or(MISSING.to_owned(), |value| format::metric(value, one.metric));
        let interval = one.lo.zip(one.hi).map_or(MISSING.to_owned(), |(lo, hi)| format::interval(lo, hi));
        vec![
            name(comparison, one),
            value(one.baseline_value),
            value(one.candidate_value),
            one.ratio.map_or(MISSING.to_owned(), format::ratio),
            interval,
            one.word().to_owned(),
            crate::compare::count(one.blocks, one.unit, ""),
            one.p_adjusted.or(one.p).map_or(MISSING.to_owned(), format::probability),
        ]
    };
    ReportTable {
        columns: heads.iter().map(|(title, align)| ColumnHead::new(title, *align, None)).collect(),
        rows: comparison.contrasts.iter().map(row).collect(),
    }
}

/// Draws the values of both sides with their runs, in one chart for each kind of number.
fn bars(comparison: &Comparison, numbers: &TidyTable) -> Vec<Chart> {
    let numbers = accepted(numbers);
    let sides = comparison.sides_of_runs();
    let mut charts: Vec<Chart> = Vec::new();
    let mut formats = Vec::new();
    for contrast in &comparison.contrasts {
        let format = format_of(contrast.metric);
        if !formats.contains(&format) {
            formats.push(format);
        }
    }
    for format in formats {
        let chosen: Vec<&Contrast> =
            comparison.contrasts.iter().filter(|one| format_of(one.metric) == format).collect();
        let Some(first) = chosen.first() else { continue };
        let bar = |one: &Contrast, side: usize| {
            let of_run = |number: &&RunNumber<'_>| {
                number.metric == one.metric
                    && (one.phase.is_empty() || number.phase == one.phase || number.phase.is_empty())
                    && one.workload.as_deref().is_none_or(|work| work == number.workload)
                    && sides.get(number.run) == Some(&side)
            };
            let runs: Vec<&RunNumber<'_>> = numbers.iter().filter(of_run).collect();
            let value = if side == 0 { one.baseline_value } else { one.candidate_value };
            // With several places, runs are not independent samples, and the numbers do not record the place.
            let interval = mean(&runs).and_then(|(_, interval)| interval).filter(|_| comparison.plots.is_none());
            Bar {
                series: side,
                value,
                interval,
                runs: runs.iter().map(|run| run.value).collect(),
                missing: "no value".to_owned(),
            }
        };
        let group = |one: &&Contrast| BarGroup { label: name(comparison, one), bars: vec![bar(one, 0), bar(one, 1)] };
        let groups: Vec<BarGroup> = chosen.iter().map(group).collect();
        let has_runs = groups.iter().flat_map(|group| &group.bars).any(|bar| !bar.runs.is_empty());
        let axis = axis_of(first.metric, Scale::FromZero);
        let title = axis.title.split(':').next().unwrap_or_default().to_owned();
        let wording: Vec<String> = groups
            .iter()
            .map(|group| {
                let values =
                    group.bars.iter().map(|bar| bar.value.map_or("none".to_owned(), |value| format.text(value)));
                format!("{}: {}", group.label, values.collect::<Vec<_>>().join(" and "))
            })
            .collect();
        charts.push(Chart {
            name: slug(&title),
            title,
            caption: if has_runs {
                "Geometric means; each dot is a run. The interval is that of one side alone: sides are compared by the ratios above."
            } else {
                "Geometric means of each side. Sides are compared by the ratios above."
            }
            .to_owned(),
            alt: format!("{} and {}. {}.", first.baseline, first.candidate, wording.join("; ")),
            body: Body::Bars(Bars {
                axis,
                series: vec![first.baseline.clone(), first.candidate.clone()],
                groups,
                shape: BarShape::Bar,
            }),
        });
    }
    charts
}

fn differences(comparison: &Comparison) -> Vec<ReportPart> {
    let mut parts = vec![ReportPart::Heading("Differences between the sides".to_owned())];
    if comparison.differences.is_empty() {
        parts.push(ReportPart::Text(
            Ink::Faint,
            "No recorded fact differs between the two set-ups: file system, device, options, kernel.".to_owned(),
        ));
        return parts;
    }
    let row = |one: &Difference| {
        vec![one.factor.clone(), one.short().to_owned(), one.baseline.clone(), one.candidate.clone()]
    };
    let rows = comparison.distinct_differences().into_iter().map(row).collect();
    let heads = ["factor", "fact", "A", "B"];
    parts.push(ReportPart::Table(ReportTable {
        columns: heads.iter().map(|head| ColumnHead::new(head, Align::Left, None)).collect(),
        rows,
    }));
    parts
}

fn order(comparison: &Comparison, examples: &[RunResult]) -> Vec<ReportPart> {
    let first = comparison.contrasts.first();
    let units = first.map_or(String::new(), |one| crate::compare::count(one.blocks, one.unit, ""));
    let order = comparison.order.join(" ");
    let machine = examples.first().map_or(String::new(), |result| format!(" on {}", method::machine(result)));
    let tool =
        examples.first().map_or("Plumb".to_owned(), |result| format!("{} {}", result.tool.name, result.tool.version));
    let how = match &comparison.stored {
        Some(_) => "Runs that were stored before were compared",
        None => "Both sides were measured in interleaved blocks of balanced order",
    };
    let text = format!(
        "{how} with {tool}{machine} ({} runs, {units}; order {order}, seed {}). Ratios are geometric means over blocks or plots with \
         95 % intervals by Student's t on logarithms; p is corrected by Holm's method; a difference is claimed only where the corrected p \
         and an exact sign-flip test agree, and equivalence only within ± {}.",
        comparison.runs.len(),
        comparison.seed,
        format::percent(MARGIN)
    );
    method::paragraph(text, &tool)
}
