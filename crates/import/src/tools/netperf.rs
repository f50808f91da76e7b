//! netperf: the tables of its tests, and the key=value and CSV output of omni tests. Bits per second become bytes. A
//! stream is a write, or with MAERTS a read; a request with its response is a transaction.

use crate::amount::{csv, decimal};
use crate::error::unread;
use crate::input::Input;
use crate::run::{PhaseRead, Run};
use plumb_result::published::Unread;
use plumb_tools_net::netperf::SELECTORS;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

const NS_PER_S: f64 = 1e9;
const NS_PER_US: f64 = 1e3;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| title(line).is_some()) || input.has_line("THROUGHPUT_UNITS=")
}

/// Returns the test of `MIGRATED TCP STREAM TEST from 0.0.0.0 …`.
fn title(line: &str) -> Option<String> {
    let (name, _) = line.split_once(" TEST from ")?;
    let name = name.trim().trim_start_matches("MIGRATED ");
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '/' | '|' | '_' | '-');
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut tests: Vec<(String, Vec<&str>)> = Vec::new();
    for line in input.text().lines() {
        match title(line) {
            Some(name) => tests.push((name, Vec::new())),
            None if tests.is_empty() => tests.push((String::new(), vec![line])),
            None => {
                if let Some((_, lines)) = tests.last_mut() {
                    lines.push(line);
                }
            }
        }
    }
    let mut runs = Vec::new();
    for (name, lines) in tests {
        let mut run = Run::new("text");
        run.is_network = true;
        if name.is_empty() && !lines.iter().any(|line| line.contains('=')) {
            continue;
        }
        run.set("test", Some(&name));
        let is_read = keys(&mut run, &name, &lines)
            || columns(&mut run, &name, &lines)
            || blocks(&mut run, &name, &lines)
            || table(&mut run, &name, &lines);
        if is_read {
            runs.push(run);
        } else if !name.is_empty() {
            return Err(unread(
                "",
                format!("the test `{name}` has no numbers"),
                "pass the complete output of a test, with its header",
            ));
        }
    }
    Ok(runs)
}

/// Returns the bytes per second of netperf's units: `10^6bits/sec`; `KBytes/sec`, whose K is 1024.
fn factor(unit: &str) -> Option<f64> {
    let power = |base: f64, letter: Option<char>| match letter {
        Some('K') => Some(base),
        Some('M') => Some(base.powi(2)),
        Some('G') => Some(base.powi(3)),
        _ => None,
    };
    if let Some(rest) = unit.strip_prefix("10^") {
        let exponent = rest.split("bits").next()?.parse::<i32>().ok().filter(|exponent| (0..=12).contains(exponent))?;
        return rest.contains("bits").then(|| 10f64.powi(exponent) / 8.0);
    }
    if unit.contains("Bytes") {
        return power(1024.0, unit.chars().next()).or(unit.starts_with("Bytes").then_some(1.0));
    }
    None
}

fn rate(phase: &mut PhaseRead, kind: OpKind, value: Option<f64>, unit: &str) {
    if unit.starts_with("Trans") {
        phase.transactions(value);
    } else if let Some(factor) = factor(unit) {
        phase.bandwidth(kind, value.map(|value| value * factor));
    } else {
        phase.more("throughput", value, unit);
    }
}

fn kind_of(name: &str, direction: &str) -> OpKind {
    let reads = name.contains("MAERTS") || name.contains("Receive") || matches!(direction, "Receive" | "Recv");
    if reads { OpKind::Read } else { OpKind::Write }
}

/// Reads lines of `KEY=value`.
fn keys(run: &mut Run, name: &str, lines: &[&str]) -> bool {
    let of = BTreeMap::from_iter(lines.iter().filter_map(|line| line.trim().split_once('=')));
    let is_read = selected(run, name, &of);
    if is_read {
        run.form = "key=value".to_owned();
    }
    is_read
}

/// Adds the values of selectors, by their names.
fn selected(run: &mut Run, name: &str, of: &BTreeMap<&str, &str>) -> bool {
    // Without a unit, the test's default applies.
    let is_exchange = name.contains("REQUEST") || name.contains('|') || name.contains("RR");
    let default = if is_exchange { "Trans/s" } else { "10^6bits/s" };
    let (throughput, unit) = match (of.get("THROUGHPUT"), of.get("TRANSACTION_RATE")) {
        (Some(throughput), _) => (throughput, of.get("THROUGHPUT_UNITS").copied().unwrap_or(default)),
        (None, Some(rate)) => (rate, "Trans/s"),
        (None, None) => return latencies(run, name, of),
    };
    let number = |key: &str| of.get(key).and_then(|text| decimal(text));
    for key in ["PROTOCOL", "DIRECTION", "REQUEST_SIZE", "RESPONSE_SIZE", "LOCAL_SEND_SIZE", "REMOTE_RECV_SIZE"] {
        run.set(key, of.get(key));
    }
    run.command = of.get("COMMAND_LINE").map(|text| text.trim_matches('"').to_owned());
    let phase = run.phase(if name.is_empty() { "omni" } else { name });
    phase.wall_ns = number("ELAPSED_TIME").map(|s| s * NS_PER_S);
    rate(phase, kind_of(name, of.get("DIRECTION").copied().unwrap_or_default()), decimal(throughput), unit);
    latencies(run, name, of);
    let Some(phase) = run.phases.last_mut() else { return true };
    for (key, what) in [("LOCAL_CPU_UTIL", "CPU of this host"), ("REMOTE_CPU_UTIL", "CPU of the other host")] {
        phase.less(what, number(key).filter(|percent| *percent >= 0.0), "%");
    }
    true
}

/// Adds latencies, which may be the only selectors.
fn latencies(run: &mut Run, name: &str, of: &BTreeMap<&str, &str>) -> bool {
    if !of.keys().any(|key| key.ends_with("_LATENCY")) {
        return false;
    }
    let phase = run.phase_named(if name.is_empty() { "omni" } else { name });
    for (key, value) in of {
        let Some(what) = key.strip_suffix("_LATENCY") else { continue };
        // -1 means not measured.
        let value = decimal(value).filter(|us| *us >= 0.0);
        phase.less(&format!("latency {}", what.to_lowercase()), value.map(|us| us * NS_PER_US), "ns");
    }
    phase.size() > 0
}

/// Returns the selector with this title; the title's lines are joined by blanks.
fn selector(title: &str) -> Option<&'static str> {
    let recognises = |of: &str| of.split(['|', ' ']).filter(|word| !word.is_empty()).eq(title.split_whitespace());
    SELECTORS.iter().find(|(_, of)| recognises(of)).map(|(name, _)| *name)
}

/// Reads a line of names and a line of values, the format of `-o`.
fn columns(run: &mut Run, name: &str, lines: &[&str]) -> bool {
    let is_head = |line: &&str| line.contains(',') && csv(line).iter().any(|title| selector(title).is_some());
    let Some(at) = lines.iter().position(is_head) else { return false };
    let Some(values) = lines.get(at + 1) else { return false };
    let (names, values) = (csv(lines[at]), csv(values));
    if names.len() != values.len() {
        return false;
    }
    run.form = "CSV".to_owned();
    let pairs = names.iter().zip(&values).filter_map(|(title, value)| Some((selector(title)?, value.trim())));
    selected(run, name, &BTreeMap::from_iter(pairs))
}

/// Reads columns below titles of several lines, the format of `-O`.
fn blocks(run: &mut Run, name: &str, lines: &[&str]) -> bool {
    let mut of: BTreeMap<&str, String> = BTreeMap::new();
    let is_own = |line: &&str| !line.starts_with("Interim result:");
    let lines: Vec<&str> = lines.iter().copied().filter(is_own).collect();
    for block in lines.split(|line| line.trim().is_empty()) {
        block_values(block, &mut of);
    }
    // The classic tables share some of these titles, but have units below them.
    let is_number = |name: &str| matches!(name, "THROUGHPUT" | "TRANSACTION_RATE") || name.ends_with("_LATENCY");
    if of.is_empty() || of.iter().any(|(name, value)| is_number(name) && decimal(value).is_none()) {
        return false;
    }
    let is_read = selected(run, name, &BTreeMap::from_iter(of.iter().map(|(name, value)| (*name, value.as_str()))));
    if is_read {
        run.form = "columns".to_owned();
    }
    is_read
}

/// Collects the values of a block. Columns are separated where every line is blank. A title may also have a blank
/// there, so neighbouring columns are tried together.
fn block_values(block: &[&str], of: &mut BTreeMap<&'static str, String>) {
    const TITLE_PARTS_MAX: usize = 3;
    if block.len() < 2 {
        return;
    }
    let letters: Vec<Vec<char>> = block.iter().map(|line| line.chars().collect()).collect();
    let width = letters.iter().map(Vec::len).max().unwrap_or(0);
    let is_blank = |at: usize| letters.iter().all(|line| line.get(at).is_none_or(|letter| letter.is_whitespace()));
    let mut columns: Vec<(usize, usize)> = Vec::new();
    for at in (0..width).filter(|at| !is_blank(*at)) {
        match columns.last_mut() {
            Some((_, end)) if *end == at => *end = at + 1,
            _ => columns.push((at, at + 1)),
        }
    }
    let cell = |line: &[char], (begin, end): (usize, usize)| -> String {
        line.iter().take(end).skip(begin).collect::<String>().trim().to_owned()
    };
    let (titles, values) = letters.split_at(letters.len() - 1);
    let mut first = 0;
    while first < columns.len() {
        let found = (1..=TITLE_PARTS_MAX.min(columns.len() - first)).find_map(|parts| {
            let span = (columns[first].0, columns[first + parts - 1].1);
            let title: Vec<String> = titles.iter().map(|line| cell(line, span)).collect();
            Some((parts, selector(&title.join(" "))?, cell(&values[0], span)))
        });
        match found {
            Some((parts, name, value)) => {
                of.insert(name, value);
                first += parts;
            }
            None => first += 1,
        }
    }
}

/// Reads the classic tables: rows of numbers below a header.
fn table(run: &mut Run, name: &str, lines: &[&str]) -> bool {
    let unit =
        lines.iter().find_map(|line| line.split_whitespace().find(|word| factor(word).is_some() && word.contains('s')));
    let rows: Vec<Vec<&str>> = lines
        .iter()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.first().is_some_and(|word| decimal(word).is_some()))
        .collect();
    let Some(first) = rows.first() else { return false };
    let at = |row: &[&str], place: usize| row.get(place).and_then(|text| decimal(text));
    let is_exchange = name.contains("REQUEST") || name.contains("Request") || name.contains("RR");
    let is_datagram = name.contains("UDP") && name.contains("STREAM");
    let phase = run.phase(name);
    if name.starts_with("OMNI") {
        let [.., time, throughput, unit] = first.as_slice() else { return false };
        phase.wall_ns = decimal(time).map(|s| s * NS_PER_S);
        rate(phase, kind_of(name, ""), decimal(throughput), unit);
    } else if is_exchange {
        // Send and receive size, request and response size, time, rate.
        phase.wall_ns = at(first, 4).map(|s| s * NS_PER_S);
        phase.transactions(at(first, 5));
    } else if is_datagram {
        // Socket, message, time, sent, errors, throughput. The next row is the receiver's: socket, time, received, throughput.
        let factor = unit.and_then(factor).unwrap_or(1e6 / 8.0);
        phase.wall_ns = at(first, 2).map(|s| s * NS_PER_S);
        phase.bandwidth(OpKind::Write, at(first, 5).map(|value| value * factor));
        phase.bandwidth(OpKind::Read, rows.get(1).and_then(|row| at(row, 3)).map(|value| value * factor));
        phase.less("errors", at(first, 4), "");
    } else {
        // Receive and send size, message, time, throughput.
        let factor = unit.and_then(factor).unwrap_or(1e6 / 8.0);
        phase.wall_ns = at(first, 3).map(|s| s * NS_PER_S);
        phase.bandwidth(kind_of(name, ""), at(first, 4).map(|value| value * factor));
    }
    phase.size() > 0
}
