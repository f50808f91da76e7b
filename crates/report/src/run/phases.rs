//! The phases of a run: how each was run, a line for each kind of op, and its limit.

use super::Detail;
use super::access;
use super::limits;
use super::ranks;
use super::rows::{self, Aside};
use crate::format;
use crate::measure;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::caches::CachePreparation;
use plumb_result::metric::Stat;
use plumb_result::{PhaseResult, RunResult};

/// Columns of latency, with the order in which narrow pages hide them. The tail stays longer than the middle, because
/// no rate shows a stall.
const QUANTILES: [(Stat, Option<u32>); 4] =
    [(Stat::P50, Some(2)), (Stat::P99, None), (Stat::P999, Some(3)), (Stat::Max, Some(4))];

/// Largest number of phases whose limits are shown without `-v`.
const LIMITS_IN_BRIEF: usize = 4;

/// A line of the table.
struct Line {
    label: String,
    size: String,
    rate: String,
    also: String,
    quantiles: [String; 4],
    aside: Aside,
}

/// Returns a block for each phase, all aligned as one table.
pub(super) fn phases(result: &RunResult, detail: Detail, style: &Style) -> String {
    let blocks: Vec<(&PhaseResult, Vec<Line>)> =
        result.phases.iter().map(|phase| (phase, lines(result, phase))).collect();
    let all: Vec<&Line> = blocks.iter().flat_map(|(_, lines)| lines).collect();
    if all.is_empty() {
        return "Nothing was measured.\n\n".to_owned();
    }
    let set = table::set(columns(&all), style.width);
    let mut rows = set.rows.iter();
    let mut text = format!("{}\n", style.ink(Ink::Faint, &set.head));
    for (phase, lines) in &blocks {
        text.push_str(&format!("{}\n", style.wrap(&heading(result, phase), 4)));
        for (line, row) in lines.iter().zip(&mut rows) {
            text.push_str(row);
            if let Some(words) = line.aside.words() {
                let (words, ink) = Aside::marked(&words, !line.aside.cautions.is_empty());
                let words = style.wrap(&words, 6);
                let fits = !words.contains('\n') && measure::width(row) + 2 + measure::width(&words) <= style.width;
                text.push_str(if fits { "  " } else { "\n    " });
                text.push_str(&style.ink(ink, &words));
            }
            text.push('\n');
        }
        let limit = limits::limit(phase).filter(|_| detail == Detail::Full || result.phases.len() <= LIMITS_IN_BRIEF);
        if let Some(spread) = ranks::spread(phase, detail) {
            text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&spread, 4))));
        }
        if let Some(limit) = limit {
            text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&limit, 4))));
        }
    }
    if let Some(caches) = caches(result) {
        text.push_str(&format!("  {}\n", style.ink(Ink::Faint, &style.wrap(&caches, 4))));
    }
    text + "\n"
}

/// Names the caches that Plumb dropped and other tools do not drop. This is the most likely reason if their numbers
/// for the same work differ.
pub(super) fn caches(result: &RunResult) -> Option<String> {
    let mut all = CachePreparation::default();
    for caches in result.phases.iter().filter_map(|phase| phase.caches.as_deref()) {
        all.add(caches.clone());
    }
    let unusual = all.unusual()?;
    Some(format!("Plumb {unusual} first; fio and dd do not, and may read at the speed of memory."))
}

/// Returns `random-read: depth 32 (batched), direct, 4.0 s`.
fn heading(result: &RunResult, phase: &PhaseResult) -> String {
    let mut words = Vec::new();
    if let Some(plan) = result.workload.phase.iter().find(|plan| plan.name == phase.name) {
        let workers: u32 = plan.workers.iter().map(|group| group.count).sum();
        let each = if phase.ranks.is_some() { " per rank" } else { "" };
        if workers > 1 {
            words.push(format!("{workers} workers{each}"));
        }
        if let Some(depth) = access::depth(plan) {
            let batched = if access::submits_in_batches(plan) { ", submitted in batches" } else { "" };
            words.push(format!("depth {depth}{batched}"));
        }
        // A network has no page cache.
        if plan.workers.iter().any(|group| group.work.net().is_none()) {
            words.push(plan.cache_mode().to_owned());
        }
        words.extend(access::flushed(plan).map(|flushed| access::flushed_words(flushed).to_owned()));
    }
    words.push(format::time_brief(phase.wall_ns as f64));
    format!("{}: {}", phase.name, words.join(", "))
}

fn lines(result: &RunResult, phase: &PhaseResult) -> Vec<Line> {
    let mut lines = Vec::new();
    for row in rows::rows(result, phase) {
        let size = row.op_bytes().map_or(String::new(), format::bytes_brief);
        let blank = || [const { String::new() }; 4];
        let mut aside = row.aside();
        if row.flush_is_not_in_latency() {
            aside.cautions.push("latency without the flush".to_owned());
        }
        lines.push(Line {
            label: row.kind.name().to_owned(),
            size,
            rate: row.rate.clone(),
            also: row.also.clone(),
            quantiles: QUANTILES.map(|(stat, _)| row.latency(stat)),
            aside,
        });
        lines.extend(rows::until_first_done(phase, row.kind).map(|(rate, also)| Line {
            label: format!("{} (until one finished)", row.kind.name()),
            size: String::new(),
            rate,
            also,
            quantiles: blank(),
            aside: Aside::default(),
        }));
    }
    lines.extend(rows::transactions(phase).map(|rate| Line {
        label: "transactions".to_owned(),
        size: String::new(),
        rate,
        also: String::new(),
        quantiles: [const { String::new() }; 4],
        aside: Aside::default(),
    }));
    lines
}

fn columns(lines: &[&Line]) -> Vec<Column> {
    let column = |title: &str, align, hide_order, cell: &dyn Fn(&Line) -> String| Column {
        title: title.to_owned(),
        cells: lines.iter().map(|line| cell(line)).collect(),
        align,
        hide_order,
    };
    let mut columns = vec![
        column("", Align::Left, None, &|line| line.label.clone()),
        column("size", Align::Right, Some(5), &|line| line.size.clone()),
        column("rate", Align::Right, None, &|line| line.rate.clone()),
        column("", Align::Right, Some(1), &|line| line.also.clone()),
    ];
    for (number, (stat, hide_order)) in QUANTILES.into_iter().enumerate() {
        columns.push(column(stat.name(), Align::Right, hide_order, &|line| line.quantiles[number].clone()));
    }
    columns
}
