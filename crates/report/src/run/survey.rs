//! The page of `plumb try`: reads next to writes, in MB/s and IOPS.

use super::access::{self, Flushed};
use super::rows::{Aside, Row};
use crate::format::{self, MISSING};
use crate::measure;
use crate::style::{Ink, Style};
use crate::table::{self, Align, Column};
use plumb_result::metric::Stat;
use plumb_result::run::TierName;
use plumb_result::{Metric, PhaseResult, RunResult};
use plumb_workload::OpKind;
use plumb_workload::named::SURVEY;

/// Two phases that differ only in direction.
struct Pair {
    title: &'static str,
    read: &'static str,
    write: &'static str,
}

const PAIRS: [Pair; 3] = [
    Pair { title: "Sequential", read: "stream-read", write: "stream-write" },
    Pair { title: "Random", read: "random-read-1", write: "random-write-1" },
    Pair { title: "Random", read: "random-read-32", write: "random-write-32" },
];

/// Phase with the flushes of a growing log.
const FLUSH: &str = "fsync";

/// Phases on small files, with the word for each.
const SMALL_FILES: [(&str, OpKind, &str); 4] = [
    ("create", OpKind::Create, "create"),
    ("stat", OpKind::Stat, "stat"),
    ("read", OpKind::Read, "read"),
    ("delete", OpKind::Unlink, "delete"),
];

/// Phases on small files that are shorter than this, as on any fast device, are shown with their duration.
const SHORT_NS: u64 = 100_000_000;

/// Returns `true` for a result of `plumb try`.
pub(super) fn is_survey(result: &RunResult) -> bool {
    result.workload.name == SURVEY
}

/// Returns the table of `plumb try`; `None` for any other run, and for one cut short before its first phase ended.
pub(super) fn survey(result: &RunResult, style: &Style) -> Option<String> {
    if !is_survey(result) {
        return None;
    }
    let everywhere = same_tier(result);
    let lines: Vec<Line<'_>> = PAIRS.iter().filter_map(|pair| Line::for_pair(result, pair)).collect();
    let others: Vec<Other> = [flushes(result), small_files(result, everywhere)].into_iter().flatten().collect();
    if lines.is_empty() && others.is_empty() {
        return None;
    }
    let label_width = lines
        .iter()
        .map(|line| &line.label)
        .chain(others.iter().map(|other| &other.label))
        .map(|label| measure::width(label))
        .max()
        .unwrap_or(0);
    let columns = columns(&lines, label_width);
    let is_wide = table::width_of_flush(&columns) <= style.width;
    let mut text = if is_wide {
        wide(&lines, columns, everywhere, style)
    } else {
        lines.iter().map(|line| line.narrow(everywhere, style)).collect()
    };
    for other in &others {
        text.push_str(&other.text(is_wide.then_some(label_width), style));
    }
    if let Some(depth) = lines.iter().filter_map(Line::batched_depth).max() {
        let wording =
            format!("QD{depth} submits in batches; fio submits one by one by default, and shows a higher latency.");
        text.push_str(&format!("{}\n", style.ink(Ink::Faint, &style.wrap(&wording, 2))));
    }
    if let Some(caches) = super::phases::caches(result) {
        text.push_str(&format!("{}\n", style.ink(Ink::Faint, &style.wrap(&caches, 2))));
    }
    if let Some(tier) = everywhere {
        let wording = match tier {
            TierName::Server => {
                "The server answered all of it, from its memory or its storage: a client cannot see which."
            }
            TierName::Cache => "⚠ Memory answered all of it. This says nothing about a device.",
            _ => "⚠ No counters of a device: whether memory or a device answered is unknown.",
        };
        text.push_str(&format!("{}\n", style.ink(Ink::Caution, &style.wrap(wording, 2))));
    }
    Some(text + "\n")
}

/// Returns the table's name of a phase, such as `Sequential 1 MiB read`. Pages of other workloads use the phase's own name.
pub(super) fn row_name(result: &RunResult, phase: &str) -> String {
    if !is_survey(result) {
        return phase.to_owned();
    }
    let of_pair = PAIRS.iter().find(|pair| pair.read == phase || pair.write == phase).and_then(|pair| {
        let way = if pair.read == phase { "read" } else { "write" };
        Some(format!("{} {way}", Line::for_pair(result, pair)?.short_label()))
    });
    let of_file = SMALL_FILES.iter().find(|(name, ..)| *name == phase).map(|(.., word)| format!("Small files {word}"));
    of_pair.or(of_file).unwrap_or_else(|| phase.to_owned())
}

/// Returns the tier shared by all rates, if it is not the device; it is then mentioned only once.
fn same_tier(result: &RunResult) -> Option<TierName> {
    let mut tiers = result
        .phases
        .iter()
        .flat_map(|phase| phase.metrics.values())
        .filter(|value| value.value.is_some())
        .filter_map(|value| value.tier);
    let first = tiers.next().filter(|tier| matches!(tier, TierName::Server | TierName::Cache | TierName::Unknown))?;
    tiers.all(|tier| tier == first).then_some(first)
}

fn row<'a>(result: &'a RunResult, phase: &str, kind: OpKind) -> Option<Row<'a>> {
    let phase = result.phases.iter().find(|candidate| candidate.name == phase)?;
    Row::for_kind(result, phase, kind).filter(|row| row.rate != MISSING)
}

/// A line of the table: a pair as it was measured.
struct Line<'a> {
    label: String,
    read: Option<Row<'a>>,
    write: Option<Row<'a>>,
}

impl<'a> Line<'a> {
    fn for_pair(result: &'a RunResult, pair: &Pair) -> Option<Line<'a>> {
        let (read, write) = (row(result, pair.read, OpKind::Read), row(result, pair.write, OpKind::Write));
        let one = write.as_ref().or(read.as_ref())?;
        let mut label = pair.title.to_owned();
        if let Some(bytes) = one.op_bytes() {
            label.push_str(&format!(" {}", format::bytes_brief(bytes)));
        }
        if let Some(plan) = one.plan {
            if let (Some(depth), "Random") = (access::depth(plan), pair.title) {
                label.push_str(&format!(" QD{depth}"));
            }
            label.push_str(&format!(", {}", plan.cache_mode().trim_end_matches(", cold")));
        }
        Some(Line { label, read, write })
    }

    /// Returns the label without the cache mode.
    fn short_label(&self) -> &str {
        self.label.split_once(',').map_or(self.label.as_str(), |(name, _)| name)
    }

    fn sides(&self) -> impl Iterator<Item = (&'static str, &Row<'a>)> {
        [("read", &self.read), ("write", &self.write)].into_iter().filter_map(|(name, row)| Some((name, row.as_ref()?)))
    }

    /// Returns the depth if ops are submitted in batches and their latency is shown.
    fn batched_depth(&self) -> Option<u32> {
        let shown = |(_, row): (&str, &Row<'a>)| if percentile(row).is_empty() { None } else { row.plan };
        let batched = self.sides().filter_map(shown).find(|plan| access::submits_in_batches(plan))?;
        access::depth(batched)
    }

    /// Returns the times of read and write: `4.0/0.4 s`.
    fn time(&self) -> String {
        let mut walls: Vec<String> = self.sides().map(|(_, row)| format::seconds(row.phase.wall_ns)).collect();
        walls.dedup();
        format!("{} s", walls.join("/"))
    }

    /// Returns the comments next to the rates. Comments that apply everywhere are printed once below the table.
    fn aside(&self, everywhere: Option<TierName>, style: &Style) -> Option<(String, Ink)> {
        let mut comments: Vec<(&str, String)> = Vec::new();
        let mut is_caution = false;
        for (name, row) in self.sides() {
            let tier = row.not_device().filter(|_| everywhere.is_some());
            let mut aside = row.aside();
            aside.cautions.retain(|comment| Some(comment) != tier.as_ref());
            if everywhere == Some(TierName::Server) {
                aside.remarks.retain(|comment| Some(comment.as_str()) != row.server_words());
            }
            is_caution |= !aside.cautions.is_empty();
            let Some(words) = aside.words() else { continue };
            match comments.last_mut() {
                Some((sides, last)) if *last == words => *sides = "both",
                _ => comments.push((name, words)),
            }
        }
        let comments: Vec<String> = comments.into_iter().map(|(name, words)| format!("{name}: {words}")).collect();
        let (words, ink) = Aside::marked(&comments.join("; "), is_caution);
        (!comments.is_empty()).then(|| (style.wrap(&words, 4), ink))
    }

    fn narrow(&self, everywhere: Option<TierName>, style: &Style) -> String {
        let mut text = format!("{}\n", self.label);
        for (name, row) in self.sides() {
            let p99 = percentile(row);
            let p99 = if p99.is_empty() { p99 } else { format!(", p99 {p99}") };
            let wording = format!("{name:5} {}{p99}, {} s", row.rate, format::seconds(row.phase.wall_ns));
            text.push_str(&format!("  {}\n", style.wrap(&wording, 4)));
        }
        if let Some((words, ink)) = self.aside(everywhere, style) {
            text.push_str(&format!("  {}\n", style.ink(ink, &words)));
        }
        text
    }
}

/// Returns the latency of random I/O. For buffered calls it would be that of memory, and for streams it is not informative.
fn percentile(row: &Row<'_>) -> String {
    let value = row.phase.metrics.get(&Metric::latency(row.kind, Stat::P99)).and_then(|value| value.value);
    let is_direct = row.plan.is_some_and(|plan| plan.cache_mode() == "direct");
    match value {
        _ if !is_direct => String::new(),
        Some(ns) => format::time_brief(ns),
        None => MISSING.to_owned(),
    }
}

fn columns(lines: &[Line<'_>], label_width: usize) -> Vec<Column> {
    let column = |title: &str, align, cell: &dyn Fn(&Line<'_>) -> String| Column {
        title: title.to_owned(),
        cells: lines.iter().map(cell).collect(),
        align,
        hide_order: None,
    };
    let rate = |row: &Option<Row<'_>>| row.as_ref().map_or(String::new(), |row| row.rate.clone());
    let p99 = |row: &Option<Row<'_>>| row.as_ref().map_or(String::new(), percentile);
    let flushed = |row: &Row<'_>| row.plan.and_then(access::flushed) == Some(Flushed::InTime);
    let writes = || lines.iter().filter_map(|line| line.write.as_ref());
    let write_title = if writes().all(flushed) { "write+fsync" } else { "write" };
    let mut columns = vec![column("", Align::Left, &|line| measure::left(&line.label, label_width))];
    if lines.iter().any(|line| line.read.is_some()) {
        columns.push(column("read", Align::Right, &|line| rate(&line.read)));
        columns.push(column("p99", Align::Right, &|line| p99(&line.read)));
    }
    if writes().next().is_some() {
        columns.push(column(write_title, Align::Right, &|line| rate(&line.write)));
        columns.push(column("p99", Align::Right, &|line| p99(&line.write)));
    }
    columns.push(column("time", Align::Left, &|line| line.time()));
    columns
}

fn wide(lines: &[Line<'_>], columns: Vec<Column>, everywhere: Option<TierName>, style: &Style) -> String {
    let set = table::set_flush(columns, style.width);
    if lines.is_empty() {
        return String::new();
    }
    let mut text = format!("{}\n", style.ink(Ink::Faint, &set.head));
    for (line, plain) in lines.iter().zip(&set.rows) {
        text.push_str(plain);
        if let Some((words, ink)) = line.aside(everywhere, style) {
            let fits = !words.contains('\n') && measure::width(plain) + 2 + measure::width(&words) <= style.width;
            text.push_str(if fits { "  " } else { "\n  " });
            text.push_str(&style.ink(ink, &words));
        }
        text.push('\n');
    }
    text
}

/// A line of words after a label.
struct Other {
    label: String,
    words: Vec<String>,
}

impl Other {
    fn text(&self, label_width: Option<usize>, style: &Style) -> String {
        match label_width {
            Some(width) => {
                format!("{}  {}\n", measure::left(&self.label, width), style.wrap_list(&self.words, width + 2))
            }
            None => format!("{}\n  {}\n", self.label, style.wrap_list(&self.words, 2)),
        }
    }
}

/// Returns `fsync, 4 KiB append   637 µs median, 928 µs p99, 1.52 k/s`.
fn flushes(result: &RunResult) -> Option<Other> {
    let flush = row(result, FLUSH, OpKind::Fsync)?;
    let appended = row(result, FLUSH, OpKind::Write).and_then(|row| row.op_bytes());
    let appended = appended.map_or(String::new(), |bytes| format!(", {} append", format::bytes_brief(bytes)));
    let quantile =
        |stat: Stat| flush.phase.metrics.get(&Metric::latency(OpKind::Fsync, stat)).and_then(|value| value.value);
    let mut words: Vec<String> = Vec::new();
    words.extend(quantile(Stat::P50).map(|ns| format!("{} median", format::time_brief(ns))));
    words.push(match quantile(Stat::P99) {
        Some(ns) => format!("{} p99", format::time_brief(ns)),
        None => "too few samples for p99".to_owned(),
    });
    words.push(flush.rate.clone());
    words.push(format!("{} s", format::seconds(flush.phase.wall_ns)));
    Some(Other { label: format!("fsync{appended}"), words })
}

/// Returns `Small files, 16 KiB   create 7.83 k/s, stat 593 k/s (from memory), …`.
fn small_files(result: &RunResult, everywhere: Option<TierName>) -> Option<Other> {
    let phase = |name: &str| -> Option<&PhaseResult> { result.phases.iter().find(|phase| phase.name == name) };
    let one = |&(name, kind, word): &(&str, OpKind, &str)| {
        let row = Row::for_kind(result, phase(name)?, kind).filter(|row| row.rate != MISSING)?;
        // The cost of a file is not counted in bytes.
        let per_second = row.phase.metrics.get(&Metric::rate(kind))?.value?;
        let tier = row.not_device().filter(|_| everywhere.is_none());
        let short =
            (row.phase.wall_ns < SHORT_NS).then(|| format!("in {}", format::time_brief(row.phase.wall_ns as f64)));
        let aside: Vec<String> = tier.into_iter().chain(short).collect();
        let aside = if aside.is_empty() { String::new() } else { format!(" ({})", aside.join(", ")) };
        Some(format!("{word} {}{aside}", format::per_second(per_second)))
    };
    let words: Vec<String> = SMALL_FILES.iter().filter_map(one).collect();
    let size =
        phase("create").and_then(|phase| Row::for_kind(result, phase, OpKind::Write)).and_then(|row| row.op_bytes());
    let size = size.map_or(String::new(), |bytes| format!(", {} mean", format::bytes_brief(bytes)));
    (!words.is_empty()).then(|| Other { label: format!("Small files{size}"), words })
}

/// Formats the rates of several storages, one line and one run each.
pub fn side_by_side(results: &[&RunResult], style: &Style) -> String {
    let path = |result: &RunResult| result.target.values().next().map_or(String::new(), |target| target.path.clone());
    let paths: Vec<String> = results.iter().map(|result| path(result)).collect();
    let mut labels: Vec<String> = Vec::new();
    let mut cells: Vec<Vec<String>> = vec![Vec::new(); results.len()];
    let mut add = |label: String, of: &dyn Fn(&RunResult) -> Option<String>| {
        let values: Vec<Option<String>> = results.iter().map(|result| of(result)).collect();
        if values.iter().any(Option::is_some) {
            labels.push(label);
            for (cells, value) in cells.iter_mut().zip(values) {
                cells.push(value.unwrap_or_else(|| MISSING.to_owned()));
            }
        }
    };
    let rate = |result: &RunResult, phase: &str, kind| {
        let row = row(result, phase, kind)?;
        let mark = if row.aside() == Aside::default() { "" } else { " ⚠" };
        Some(format!("{}{mark}", row.rate))
    };
    for pair in &PAIRS {
        let line = results.iter().find_map(|result| Line::for_pair(result, pair));
        let Some(line) = line else { continue };
        let name = |way: &str| line.short_label().to_owned() + way;
        add(name(" read"), &|result| rate(result, pair.read, OpKind::Read));
        add(name(" write"), &|result| rate(result, pair.write, OpKind::Write));
    }
    add("fsync, median".to_owned(), &|result| {
        let flush = row(result, FLUSH, OpKind::Fsync)?;
        let p50 = flush.phase.metrics.get(&Metric::latency(OpKind::Fsync, Stat::P50))?.value?;
        Some(format::time_brief(p50))
    });
    for &(phase, kind, word) in &SMALL_FILES {
        add(format!("Small files: {word}"), &|result| {
            let row = row(result, phase, kind)?;
            Some(format::per_second(row.phase.metrics.get(&Metric::rate(kind))?.value?))
        });
    }
    let column =
        |title: &str, cells: Vec<String>, align| Column { title: title.to_owned(), cells, align, hide_order: None };
    let mut columns = vec![column("", labels, Align::Left)];
    columns.extend(paths.iter().zip(cells).map(|(path, cells)| column(path, cells, Align::Right)));
    let set = table::set_flush(columns, style.width);
    let mut text = format!("{}\n", style.ink(Ink::Faint, &set.head));
    for row in &set.rows {
        text.push_str(&format!("{row}\n"));
    }
    let hint = match paths.as_slice() {
        [a, b] => format!("Single measurements are not a verdict. To get one: plumb compare {a} {b}"),
        _ => "Single measurements are not a verdict. To get one: plumb compare A B".to_owned(),
    };
    format!("{text}\n{}\n", style.wrap(&hint, 0))
}
