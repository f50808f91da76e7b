//! Pages of repeated workloads: rounds with their steady window and tables by size and mix, ladders with their loads.

use crate::document::{ColumnHead, Item, ReportPart, ReportTable, terminal};
use crate::format::{self, MISSING};
use crate::loads::banner;
use crate::style::{Ink, Style};
use crate::table::Align;
use plumb_result::compare::LeftOut;
use plumb_result::repeat::{LadderRepeat, LadderStep, RepeatedRuns, RoundSpan, RoundsPhase, TrackedRounds};
use plumb_result::{LadderResult, RoundsResult, RunVerdict};
use plumb_workload::{Bytes, Figure};

/// Formats the value of a figure.
pub(crate) fn value(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Iops => format::iops(value),
        Figure::Bandwidth => format::rate_si(value),
        Figure::Latency | Figure::LatencyMax => format::time(value),
    }
}

/// Returns the title of a figure.
pub(crate) const fn title(figure: Figure) -> &'static str {
    match figure {
        Figure::Iops => "IOPS",
        Figure::Bandwidth => "Throughput",
        Figure::Latency => "Mean latency",
        Figure::LatencyMax => "Longest latency",
    }
}

fn span(span: RoundSpan) -> String {
    format!("rounds {} to {}", span.first, span.last)
}

/// Returns a sentence that names the steady rounds.
pub fn rounds_sentence(result: &RoundsResult) -> String {
    let count = result.of.runs.len();
    let named = &result.of.workload;
    match (result.steady, result.of.partial) {
        (Some(steady), _) => format!("Steady: {} of {named} meet the rule.", span(steady)),
        (None, true) => format!("Not steady: {named} was ended early, after {count} rounds."),
        (None, false) => {
            format!("Not steady: no {} rounds in a row of {count} of {named} meet the rule.", result.rule.window)
        }
    }
}

/// Returns a sentence with the result of a ladder.
pub fn ladder_sentence(result: &LadderResult) -> String {
    let named = &result.of.workload;
    let highest = result.steps.iter().filter(|step| !step.is_again).max_by(|a, b| a.asked.total_cmp(&b.asked));
    let Some(highest) = highest else { return format!("No load of {named} was measured.") };
    let at = format!(
        "{} ops/s at {} %, mean response time {}",
        highest.rate.map_or(MISSING.to_owned(), format::count),
        highest.percent,
        highest.response_ns.map_or(MISSING.to_owned(), format::time)
    );
    let limit = result.limit_ns.map(|limit| format::time_brief(limit as f64)).unwrap_or_default();
    match result.within_limit {
        Some(true) => format!("{named}: {at}; every load is within the limit of {limit}."),
        Some(false) => format!("{named}: {at}; a load is beyond the limit of {limit}."),
        None => format!("{named}: {at}."),
    }
}

/// Returns the page of rounds.
pub fn rounds_page(result: &RoundsResult, style: &Style) -> String {
    let mut parts = head(&result.of, &result.verdict_note, result.verdict, result.steady.is_some());
    parts.extend(rounds_parts(result));
    parts.extend(trust(&result.of));
    terminal(&parts, style)
}

/// Returns the page of a ladder.
pub fn ladder_page(result: &LadderResult, style: &Style) -> String {
    let mut parts = head(&result.of, &result.verdict_note, result.verdict, result.within_limit != Some(false));
    parts.extend(ladder_parts(result));
    parts.extend(trust(&result.of));
    terminal(&parts, style)
}

/// Returns the answer, with its disclaimer.
pub(crate) fn head(of: &RepeatedRuns, note: &str, verdict: RunVerdict, is_good: bool) -> Vec<ReportPart> {
    let ink = match verdict {
        RunVerdict::Reject => Ink::Bad,
        _ if is_good => Ink::Good,
        _ => Ink::Caution,
    };
    let mut parts = vec![ReportPart::Text(ink, note.to_owned())];
    if verdict == RunVerdict::Reject {
        let text = "The checks rejected a run that these numbers depend on; see below.".to_owned();
        parts.push(ReportPart::Text(Ink::Bad, text));
    }
    parts.extend(of.banner.as_deref().map(|name| ReportPart::Text(Ink::Faint, banner(name))));
    parts
}

/// Lists rejected runs and notes.
pub(crate) fn trust(of: &RepeatedRuns) -> Vec<ReportPart> {
    let mut items: Vec<Item> = rejected(&of.rejected);
    items.extend(of.notes.iter().map(|note| Item { ink: Ink::Faint, head: "note".to_owned(), text: note.clone() }));
    if let Some(tag) = &of.tag {
        let text = format!("{} runs; `plumb list --tag {tag}` lists them", of.runs.len());
        items.push(Item { ink: Ink::Faint, head: String::new(), text });
    }
    if items.is_empty() { Vec::new() } else { vec![ReportPart::List(items)] }
}

/// Lists rejected runs, those with the same reason in one line with the text of the first.
fn rejected(left_out: &[LeftOut]) -> Vec<Item> {
    // A reason begins with the code of its check.
    let code = |one: &LeftOut| one.reason.split(' ').next().unwrap_or_default().to_owned();
    let mut codes: Vec<String> = left_out.iter().map(code).collect();
    codes.sort_unstable();
    codes.dedup();
    let item = |wanted: &String| {
        let mut of: Vec<&LeftOut> = left_out.iter().filter(|one| code(one) == *wanted).collect();
        let first = of.remove(0);
        let others = match of.as_slice() {
            [] => String::new(),
            [only] => format!(" So was {}.", only.side),
            [.., last] => format!(" So were {} others, up to {}.", of.len(), last.side),
        };
        let text = format!("{}: {}{others}", first.side, first.reason);
        Item { ink: Ink::Bad, head: "rejected".to_owned(), text }
    };
    codes.iter().map(item).collect()
}

/// Returns the steady state, and a table for each figure.
pub(crate) fn rounds_parts(result: &RoundsResult) -> Vec<ReportPart> {
    let rule = &result.rule;
    let mut parts = vec![
        ReportPart::Heading("Steady state".to_owned()),
        ReportPart::Text(
            Ink::Faint,
            format!(
                "Over {} rounds, (max − min) is at most {} of the mean, and the fitted line rises or falls by at most {}; {} rounds \
                 at most.",
                rule.window,
                format::percent(rule.range),
                format::percent(rule.slope),
                rule.max_rounds
            ),
        ),
        ReportPart::Table(tracked(&result.tracked)),
    ];
    let Some(window) = result.window else { return parts };
    let over = if result.steady.is_some() { span(window) } else { format!("{}, not steady", span(window)) };
    let shown: Vec<Figure> =
        result.phases.first().map_or(Vec::new(), |phase| phase.figures.iter().map(|figure| figure.figure).collect());
    for figure in shown {
        if result.phases.iter().all(|phase| phase.figure(figure).is_none_or(|figure| figure.value.is_none())) {
            continue;
        }
        let what = if figure == Figure::LatencyMax { "largest" } else { "mean" };
        parts.push(ReportPart::Heading(format!("{} ({what} of {over})", title(figure))));
        parts.push(ReportPart::Table(by_size_and_mix(&result.phases, figure)));
    }
    parts
}

fn tracked(tracked: &[TrackedRounds]) -> ReportTable {
    let heads = ["", "phase", "figure", "mean", "range", "slope"];
    let columns = heads
        .iter()
        .enumerate()
        .map(|(index, head)| ColumnHead::new(head, if index < 3 { Align::Left } else { Align::Right }, None));
    let share = |share: Option<f64>| share.map_or(MISSING.to_owned(), format::percent);
    let row = |one: &TrackedRounds| {
        vec![
            if one.is_steady { "steady" } else { "not steady" }.to_owned(),
            one.phase.clone(),
            title(one.figure).to_owned(),
            one.mean.map_or(MISSING.to_owned(), |mean| value(one.figure, mean)),
            share(one.range),
            share(one.slope),
        ]
    };
    ReportTable { columns: columns.collect(), rows: tracked.iter().map(row).collect() }
}

/// Returns the row or column names of a table, each once, in the order of the phases.
pub(crate) fn places<T: PartialEq + Copy>(phases: &[RoundsPhase], of: fn(&RoundsPhase) -> Option<T>) -> Vec<T> {
    let mut places: Vec<T> = Vec::new();
    for place in phases.iter().filter_map(of) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns the text before `-r65-64KiB` in a cell's name, or the whole name of a phase that is not a cell.
pub(crate) fn work(phase: &RoundsPhase) -> &str {
    let (Some(read), Some(block)) = (phase.read, phase.block) else { return &phase.name };
    phase.name.strip_suffix(&format!("-r{read}-{}", Bytes(block))).unwrap_or(&phase.name)
}

pub(crate) fn mix(read: u32) -> String {
    format!("{read}/{}", 100_u32.saturating_sub(read))
}

/// Returns a table with sizes down and read/write mixes across, or with one row for each phase if phases are not cells.
fn by_size_and_mix(phases: &[RoundsPhase], figure: Figure) -> ReportTable {
    let (mixes, sizes) = (places(phases, |phase| phase.read), places(phases, |phase| phase.block));
    let cell = |phase: Option<&RoundsPhase>| {
        let found = phase.and_then(|phase| phase.figure(figure)?.value);
        // The heading names the unit.
        found.map_or(MISSING.to_owned(), |found| match figure {
            Figure::Iops => format::count(found),
            _ => value(figure, found),
        })
    };
    let mut works: Vec<&str> = phases.iter().map(work).collect();
    works.dedup();
    let is_grid = phases.iter().all(|phase| work(phase) != phase.name);
    if !is_grid {
        let heads = ["phase", title(figure)];
        let aligns = [Align::Left, Align::Right];
        let columns = heads.iter().zip(aligns).map(|(head, align)| ColumnHead::new(head, align, None));
        let rows = phases.iter().map(|phase| vec![phase.name.clone(), cell(Some(phase))]);
        return ReportTable { columns: columns.collect(), rows: rows.collect() };
    }
    let mut columns = vec![ColumnHead::new("size, by % reads/writes", Align::Left, None)];
    columns.extend(mixes.iter().map(|read| ColumnHead::new(&mix(*read), Align::Right, None)));
    let mut rows = Vec::new();
    for name in &works {
        for size in &sizes {
            let label = if works.len() > 1 { format!("{name} {}", Bytes(*size)) } else { Bytes(*size).to_string() };
            let of = |read: &u32| {
                let here = |phase: &&RoundsPhase| {
                    work(phase) == *name && phase.read == Some(*read) && phase.block == Some(*size)
                };
                cell(phases.iter().find(here))
            };
            rows.push(std::iter::once(label).chain(mixes.iter().map(of)).collect());
        }
    }
    ReportTable { columns, rows }
}

/// Returns the loads, the repeated loads, and the streams at the full load.
pub(crate) fn ladder_parts(result: &LadderResult) -> Vec<ReportPart> {
    let mut parts = vec![ReportPart::Heading("Loads".to_owned()), ReportPart::Table(loads(&result.steps))];
    if let Some(overall) = result.overall_response_ns {
        let text = format!(
            "Overall response time: {}, the area under the curve of response time over rate, divided by the highest rate.",
            format::time(overall)
        );
        parts.push(ReportPart::Text(Ink::Strong, text));
    }
    if !result.again.is_empty() {
        parts.push(ReportPart::Heading(format!("Repeated loads (within {})", format::percent(result.within))));
        parts.push(ReportPart::Table(again(&result.again)));
    }
    let full = result.steps.iter().filter(|step| !step.is_again).max_by(|a, b| a.asked.total_cmp(&b.asked));
    if let Some(step) = full.filter(|step| !step.streams.is_empty()) {
        parts.push(ReportPart::Heading(format!("Shares of the streams at {} %", step.percent)));
        parts.push(ReportPart::Table(streams(step)));
    }
    parts
}

fn heads(heads: &[&str]) -> Vec<ColumnHead> {
    let align = |index| if index == 0 { Align::Left } else { Align::Right };
    heads.iter().enumerate().map(|(index, head)| ColumnHead::new(head, align(index), None)).collect()
}

fn loads(steps: &[LadderStep]) -> ReportTable {
    let row = |step: &LadderStep| {
        let time = |ns: Option<f64>| ns.map_or(MISSING.to_owned(), format::time);
        vec![
            format!("{} %{}", step.percent, if step.is_again { " again" } else { "" }),
            format::count(step.asked),
            step.rate.map_or(MISSING.to_owned(), format::count),
            time(step.response_ns),
            time(step.response_p99_ns),
            step.tier.map_or("", |tier| tier.name()).to_owned(),
        ]
    };
    ReportTable {
        columns: heads(&["load", "asked ops/s", "done ops/s", "mean response", "p99", "tier"]),
        rows: steps.iter().map(row).collect(),
    }
}

fn again(again: &[LadderRepeat]) -> ReportTable {
    let ratio = |ratio: Option<f64>| ratio.map_or(MISSING.to_owned(), format::fine_ratio);
    let row = |one: &LadderRepeat| {
        let words = match one.holds {
            Some(true) => "repeats",
            Some(false) => "differs",
            None => MISSING,
        };
        vec![format!("{} %", one.percent), ratio(one.rate), ratio(one.response), words.to_owned()]
    };
    ReportTable {
        columns: heads(&["load", "rate, second / first", "mean response, second / first", ""]),
        rows: again.iter().map(row).collect(),
    }
}

fn streams(step: &LadderStep) -> ReportTable {
    let rows = step.streams.iter().map(|stream| {
        let done = stream.done.map_or(MISSING.to_owned(), |done| format!("{done:.4}"));
        vec![stream.name.clone(), format!("{:.4}", stream.asked), done]
    });
    ReportTable { columns: heads(&["stream", "asked", "done"]), rows: rows.collect() }
}
