//! iostat of sysstat: its reports as text and as JSON. Each device of a report is a phase, and so are the processors.
//!
//! A `kB` of iostat is 1024 bytes, and an `MB` 1024² (iostat(1)). With `--human`, a letter after a number is its unit instead.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::{Input, at, list_at, text_at};
use crate::run::{PhaseRead, Run};
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use serde_json::Value;
use std::collections::BTreeSet;

const KIB: f64 = 1024.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    let is_text = || input.has_line("Linux ") && input.head().lines().any(|line| heads_devices(&plain(line)));
    let of_processors = || input.has_line("Linux ") && input.has_line("avg-cpu:");
    input.is_json() && input.has("\"sysstat\"") && (input.has("\"disk\"") || input.has("\"avg-cpu\""))
        || is_text()
        || of_processors()
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs = if input.is_json() { read_json(input.json()?) } else { read_text(input.text()) };
    runs.retain(|run| run.size() > 0);
    for run in &mut runs {
        run.note("iostat's first report is of the time since the machine started, unless `-y` was given");
    }
    match runs.is_empty() {
        true => {
            Err(unread("", "the file contains no report", "pass the output of iostat, with the headers of its columns"))
        }
        false => Ok(runs),
    }
}

/// Removes colour sequences from a line.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

/// Returns `true` for the header of the devices' columns; `-h` puts the name last.
fn heads_devices(line: &str) -> bool {
    let is_name = |word: Option<&str>| word.is_some_and(|word| matches!(word, "Device" | "Device:"));
    let mut words = line.split_whitespace();
    let (first, last) = (words.next(), words.next_back());
    (is_name(first) || is_name(last)) && line.split_whitespace().any(|word| word == "tps" || word.contains('/'))
}

/// Kind of the rows below a header.
enum Below {
    Nothing,
    Processors(Vec<String>),
    Devices { columns: Vec<String>, is_name_last: bool },
}

/// Current report, and the columns of devices seen in it: `--pretty` splits it into several tables.
#[derive(Default)]
struct Report {
    number: usize,
    columns: BTreeSet<String>,
}

impl Report {
    fn next(&mut self) {
        self.number += 1;
        self.columns.clear();
    }
}

fn read_text(text: &str) -> Vec<Run> {
    let (mut runs, mut run) = (Vec::new(), Run::new("text"));
    let (mut below, mut report) = (Below::Nothing, Report::default());
    for line in text.lines().map(plain) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["Linux", kernel, machine, ..] = words[..] {
            runs.push(std::mem::replace(&mut run, Run::new("text")));
            run.set("kernel", Some(kernel));
            run.host = Some(machine.trim_matches(['(', ')']).to_owned());
            report = Report::default();
        } else if words.first() == Some(&"avg-cpu:") {
            report.next();
            below = Below::Processors(words[1..].iter().map(|&word| word.to_owned()).collect());
        } else if heads_devices(&line) {
            let is_name_last = !words[0].starts_with("Device");
            let columns = match is_name_last {
                true => &words[..words.len() - 1],
                false => &words[1..],
            };
            if report.number == 0 || columns.iter().any(|&column| report.columns.contains(column)) {
                report.next();
            }
            report.columns.extend(columns.iter().map(|&column| column.to_owned()));
            below = Below::Devices { columns: columns.iter().map(|&word| word.to_owned()).collect(), is_name_last };
        } else if let (Some((&first, rest)), Some((&last, front))) = (words.split_first(), words.split_last()) {
            match &below {
                Below::Processors(columns) => fill(phase(&mut run, "avg-cpu", report.number), columns, &words),
                Below::Devices { columns, is_name_last: true } => {
                    fill(phase(&mut run, last, report.number), columns, front);
                }
                Below::Devices { columns, .. } => fill(phase(&mut run, first, report.number), columns, rest),
                Below::Nothing => {}
            }
        } else {
            below = Below::Nothing;
        }
    }
    runs.push(run);
    runs
}

/// Returns the phase of a device, or of all processors, in a report.
fn phase<'run>(run: &'run mut Run, name: &str, report: usize) -> &'run mut PhaseRead {
    let name = if report > 1 { format!("{name}, report {report}") } else { name.to_owned() };
    run.phase_named(&name)
}

fn fill(phase: &mut PhaseRead, columns: &[String], words: &[&str]) {
    if columns.len() == words.len() {
        columns.iter().zip(words).for_each(|(column, word)| put(phase, column, amount(column, word)));
    }
}

/// Converts a number to its column's unit: `8.1M` below `rkB/s` is 8.1 · 1024.
fn amount(column: &str, word: &str) -> Option<f64> {
    let word = word.trim_end_matches('%');
    let Some(at) = word.find(|letter: char| letter.is_ascii_alphabetic()) else { return decimal(word) };
    let power = "BkMGTP".find(&word[at..])?;
    let bytes = decimal(&word[..at])? * KIB.powi(i32::try_from(power).ok()?);
    Some(bytes / column_bytes(column).unwrap_or(KIB))
}

/// Returns the bytes of a column's unit.
fn column_bytes(column: &str) -> Option<f64> {
    [("kB", KIB), ("MB", KIB * KIB), ("Blk", 512.0), ("sec", 512.0)]
        .into_iter()
        .find_map(|(unit, bytes)| column.contains(unit).then_some(bytes))
}

/// Adds a value, by its text header or its JSON key.
fn put(phase: &mut PhaseRead, column: &str, value: Option<f64>) {
    let as_bytes = || value.zip(column_bytes(column)).map(|(value, bytes)| value * bytes);
    let mean_ns = || value.map(|ms| ms * 1e6);
    match column {
        "r/s" => phase.rate(OpKind::Read, value),
        "w/s" => phase.rate(OpKind::Write, value),
        "r_await" => phase.latency(OpKind::Read, Stat::Mean, mean_ns()),
        "w_await" => phase.latency(OpKind::Write, Stat::Mean, mean_ns()),
        "tps" => phase.more("tps", value, "1/s"),
        "rkB/s" | "rMB/s" | "kB_read/s" | "MB_read/s" | "rsec/s" | "Blk_read/s" => {
            phase.bandwidth(OpKind::Read, as_bytes());
        }
        "wkB/s" | "wMB/s" | "kB_wrtn/s" | "MB_wrtn/s" | "wsec/s" | "Blk_wrtn/s" => {
            phase.bandwidth(OpKind::Write, as_bytes());
        }
        _ if column.contains("await") || column == "svctm" => phase.less(column, mean_ns(), "ns"),
        _ if column_bytes(column).is_some() => {
            let unit = if column.ends_with("/s") { "B/s" } else { "B" };
            phase.plain(column, as_bytes(), unit);
        }
        // Mean size of a request, kB.
        _ if column.ends_with("areq-sz") => phase.plain(column, value.map(|kb| kb * KIB), "B"),
        _ if column.starts_with('%') || column.ends_with("rqm") => phase.plain(column, value, "%"),
        _ if column.ends_with("/s") => phase.plain(column, value, "1/s"),
        _ => phase.plain(column, value, ""),
    }
}

fn read_json(value: &Value) -> Vec<Run> {
    list_at(value, &["sysstat", "hosts"]).iter().map(read_host).collect()
}

fn read_host(host: &Value) -> Run {
    let mut run = Run::new("JSON");
    run.host = text_at(host, &["nodename"]);
    run.set("kernel", text_at(host, &["release"]));
    for (number, report) in list_at(host, &["statistics"]).iter().enumerate() {
        let number = number + 1;
        let of_processors = at(report, &["avg-cpu"]).and_then(Value::as_object);
        for (key, value) in of_processors.into_iter().flatten() {
            put(phase(&mut run, "avg-cpu", number), &format!("%{key}"), value.as_f64());
        }
        for disk in list_at(report, &["disk"]) {
            let Some(name) = text_at(disk, &["disk_device"]) else { continue };
            let of_disk = phase(&mut run, &name, number);
            for (key, value) in disk.as_object().into_iter().flatten() {
                let column = if key == "util" { "%util" } else { key };
                put(of_disk, column, value.as_f64());
            }
        }
    }
    run
}
