//! elbencho: the lines of `--csvfile` and `--jsonfile`, one per phase of a run; [`super::elbencho_text`] reads its
//! tables. Uses `last`, the numbers until the last worker was done, and not `first`. CSV has whole MiB/s, JSON has
//! bytes. Sources: elbencho's docs/csv-docs.md; `plumb_tools_app::elbencho` prints the same columns.

use super::elbencho_text;
use crate::amount::csv;
use crate::error::unread;
use crate::input::{Input, number_at, text_at};
use crate::run::{PhaseRead, Run};
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;
const NS_PER_US: f64 = 1e3;

const CSV_BEGINNING: &str = "ISO date,label,path type,";

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has_line(CSV_BEGINNING)
        || elbencho_text::recognises(input)
        || (input.has("\"phase_type\"") && input.has("\"iso_start_date\""))
}

/// Numbers of a phase, from any format.
#[derive(Default)]
pub(super) struct Line {
    pub(super) operation: String,
    command: String,
    version: String,
    date: String,
    label: String,
    settings: BTreeMap<String, String>,
    pub(super) elapsed_ms: Option<f64>,
    pub(super) own: Rates,
    pub(super) mixed: Rates,
    cpu_percent: Option<f64>,
    pub(super) is_rounded: bool,
}

impl Line {
    /// Creates an empty line of a format with rounded numbers.
    pub(super) fn rounded(operation: &str) -> Line {
        Line { operation: operation.to_owned(), is_rounded: true, ..Line::default() }
    }
}

#[derive(Default)]
pub(super) struct Rates {
    pub(super) entries: Option<f64>,
    pub(super) ops: Option<f64>,
    pub(super) bytes: Option<f64>,
    /// Least, mean and greatest latency of entries, ns; then the same of I/Os.
    pub(super) entry_ns: [Option<f64>; 3],
    pub(super) io_ns: [Option<f64>; 3],
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let is_text = elbencho_text::recognises(input);
    let is_csv = !is_text && (!input.is_json() || input.has_line(CSV_BEGINNING));
    let lines = match (is_text, is_csv) {
        (true, _) => elbencho_text::lines(input.text()),
        (_, true) => read_csv(input.text())?,
        _ => read_json(input)?,
    };
    let mut runs: Vec<Run> = Vec::new();
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut last = String::new();
    for line in lines {
        // A repeated phase starts a new run.
        let same = format!("{}\n{}\n{}", line.command, line.label, line.version);
        if runs.is_empty() || same != last || known.contains(&line.operation) {
            known.clear();
            let mut run = Run::new(match (is_text, is_csv) {
                (true, _) => "text",
                (_, true) => "CSV",
                _ => "JSON",
            });
            run.at = time_of(&line.date);
            run.version = line.version.clone();
            run.command = Some(line.command.clone()).filter(|command| !command.is_empty());
            run.settings = line.settings.clone();
            run.set("label", Some(line.label.clone()));
            runs.push(run);
        }
        last = same;
        known.insert(line.operation.clone());
        if let Some(run) = runs.last_mut() {
            phase(run, line);
        }
    }
    Ok(runs)
}

/// Parses `2026-11-20T18:59:43.011+0000`.
fn time_of(text: &str) -> Option<jiff::Timestamp> {
    let at = text.len().checked_sub(2)?;
    let (head, minutes) = (text.get(..at)?, text.get(at..)?);
    let text = if head.ends_with(':') || text.ends_with('Z') { text.to_owned() } else { format!("{head}:{minutes}") };
    text.parse().ok()
}

fn read_csv(text: &str) -> Result<Vec<Line>, Unread> {
    let mut columns: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for (number, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        if text.starts_with("ISO date,") {
            columns = text.split(',').map(|name| name.trim().to_owned()).collect();
            continue;
        }
        if columns.is_empty() {
            let message = "the header line is missing";
            return Err(unread(
                format!("line {number}"),
                message,
                "put it before the values: elbencho writes it with --csvfile",
            ));
        }
        // A command has blanks in place of commas, and its quotation marks are not CSV quoting.
        let mut fields: Vec<String> = text.splitn(columns.len(), ',').map(str::to_owned).collect();
        if fields.len() != columns.len() {
            fields = csv(text);
        }
        if fields.len() != columns.len() {
            let message = format!("{} values for {} columns", fields.len(), columns.len());
            return Err(unread(format!("line {number}"), message, "pass the file as elbencho wrote it"));
        }
        let of: BTreeMap<&str, &str> =
            BTreeMap::from_iter(columns.iter().map(String::as_str).zip(fields.iter().map(|one| one.trim())));
        found.push(line_of_csv(&of));
    }
    Ok(found)
}

fn line_of_csv(of: &BTreeMap<&str, &str>) -> Line {
    let text = |name: &str| of.get(name).map_or(String::new(), |text| (*text).to_owned());
    let number = |name: &str| of.get(name).and_then(|text| text.parse::<f64>().ok());
    let rates = |before: &str| {
        let rate = |what: &str| number(&format!("{before}{what} [last]"));
        let times = |what: &str| {
            ["min", "avg", "max"]
                .map(|stat| number(&format!("{before}{what} lat us [{stat}]")).map(|us| us * NS_PER_US))
        };
        Rates {
            entries: rate("entries/s"),
            ops: rate("IOPS"),
            bytes: rate("MiB/s").map(|mib| mib * MIB),
            entry_ns: times("Ent"),
            io_ns: times("IO"),
        }
    };
    const SETTINGS: [&str; 14] = [
        "path type",
        "paths",
        "hosts",
        "threads",
        "dirs",
        "files",
        "file size",
        "block size",
        "direct IO",
        "random",
        "random aligned",
        "IO depth",
        "shared paths",
        "truncate",
    ];
    Line {
        operation: text("operation"),
        command: text("command"),
        version: text("version"),
        date: text("ISO date"),
        label: text("label"),
        settings: BTreeMap::from_iter(
            SETTINGS.iter().map(|name| ((*name).to_owned(), text(name))).filter(|(_, value)| !value.is_empty()),
        ),
        elapsed_ms: number("time ms [last]"),
        own: rates(""),
        mixed: rates("rwmix read "),
        cpu_percent: number("CPU% [last]"),
        is_rounded: true,
    }
}

fn read_json(input: &Input<'_>) -> Result<Vec<Line>, Unread> {
    let values = input.json_values()?;
    let found: Vec<Line> = values.iter().filter(|value| value.get("phase_type").is_some()).map(line_of_json).collect();
    match found.is_empty() {
        true => Err(unread("", "no object has a `phase_type`", "pass the file written by `elbencho --jsonfile`")),
        false => Ok(found),
    }
}

fn line_of_json(value: &Value) -> Line {
    let text = |path: &[&str]| text_at(value, path).unwrap_or_default();
    let rates = |inner: Option<&str>| {
        let path = |head: &[&'static str], tail: &'static str| -> Vec<String> {
            head.iter().copied().chain(inner.map(|_| "rwmix_read")).chain([tail]).map(str::to_owned).collect()
        };
        let number = |path: Vec<String>| number_at(value, &path.iter().map(String::as_str).collect::<Vec<_>>());
        let times = |what: &'static str| {
            ["min_us", "avg_us", "max_us"]
                .map(|stat| number(path(&["last_done", "latency", what], stat)).map(|us| us * NS_PER_US))
        };
        Rates {
            entries: number(path(&["last_done"], "entries/s")),
            ops: number(path(&["last_done"], "iops")),
            bytes: number(path(&["last_done"], "bytes/s")),
            entry_ns: times("entries"),
            io_ns: times("IO"),
        }
    };
    let config = value.get("config").and_then(Value::as_object).into_iter().flatten();
    let settings = config
        .filter(|(name, _)| !matches!(name.as_str(), "version" | "command"))
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let settings = BTreeMap::from_iter(settings);
    Line {
        operation: text(&["phase_type"]),
        command: text(&["config", "command"]),
        version: text(&["config", "version"]),
        date: text(&["iso_start_date"]),
        label: text(&["label"]),
        settings,
        elapsed_ms: number_at(value, &["last_done", "elapsed_time_ms"]),
        own: rates(None),
        mixed: rates(Some("rwmix_read")),
        cpu_percent: number_at(value, &["last_done", "cpu%"]),
        is_rounded: false,
    }
}

fn phase(run: &mut Run, line: Line) {
    let rounds = line.is_rounded && line.own.bytes.is_some();
    let phase = run.phase(line.operation.clone());
    phase.wall_ns = line.elapsed_ms.map(|ms| ms * NS_PER_MS);
    let has_mixed = line.mixed.bytes.is_some() || line.mixed.ops.is_some();
    rates(phase, &line.operation, &line.own);
    if has_mixed {
        rates(phase, "READ", &line.mixed);
    }
    phase.plain("CPU", line.cpu_percent, "%");
    if rounds {
        run.note("elbencho's CSV and text have whole MiB/s, rounded down; its JSON has bytes");
    }
}

fn rates(phase: &mut PhaseRead, operation: &str, rates: &Rates) {
    const STATS: [Stat; 3] = [Stat::Min, Stat::Mean, Stat::Max];
    let entry = match operation {
        "MKDIRS" => Some(OpKind::Mkdir),
        "RMDIRS" => Some(OpKind::Rmdir),
        "STAT" | "STATFILES" => Some(OpKind::Stat),
        "RMFILES" => Some(OpKind::Unlink),
        _ => None,
    };
    let block = match operation {
        _ if operation.starts_with("READ") || operation.starts_with("GET") => OpKind::Read,
        _ => OpKind::Write,
    };
    phase.bandwidth(block, rates.bytes);
    phase.rate(block, rates.ops);
    for (stat, ns) in STATS.into_iter().zip(rates.io_ns) {
        phase.latency(block, stat, ns);
    }
    match entry {
        Some(kind) => {
            phase.rate(kind, rates.entries);
            for (stat, ns) in STATS.into_iter().zip(rates.entry_ns) {
                phase.latency(kind, stat, ns);
            }
        }
        None => {
            phase.more(&format!("{} entries", block.name()), rates.entries, "ops/s");
            for (stat, ns) in STATS.into_iter().zip(rates.entry_ns) {
                phase.less(&format!("{} entry {}", block.name(), stat.name()), ns, "ns");
            }
        }
    }
}
