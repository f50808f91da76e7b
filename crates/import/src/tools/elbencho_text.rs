//! elbencho's printed results: a block of rows per phase, with columns until the first and until the last worker was
//! done. Uses the last one, as for its files.

use super::elbencho::{Line, MIB};
use crate::amount::{decimal, leading, time_ns};
use crate::input::Input;

/// Recognises the header of the columns.
fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words == ["OPERATION", "RESULT", "TYPE", "FIRST", "DONE", "LAST", "DONE"]
}

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(is_head)
}

/// Parses `1m2.345s` or `12ms`, and returns ms.
fn elapsed_ms(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut ms = 0.0;
    while !rest.is_empty() {
        let (value, after) = leading(rest)?;
        let unit: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
        ms += value
            * match unit.as_str() {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1000.0,
                "ms" => 1.0,
                "us" => 1e-3,
                _ => return None,
            };
        rest = &after[unit.len()..];
    }
    Some(ms)
}

/// Parses `[ min=4us avg=5us max=11us ]`, and returns ns.
fn times(text: &str) -> [Option<f64>; 3] {
    ["min=", "avg=", "max="].map(|name| {
        let (_, rest) = text.split_once(name)?;
        time_ns(rest.split_whitespace().next()?)
    })
}

pub(super) fn lines(text: &str) -> Vec<Line> {
    let mut found: Vec<Line> = Vec::new();
    let mut is_table = false;
    let mut begins = true;
    for line in text.lines() {
        if is_head(line) {
            (is_table, begins) = (true, true);
            continue;
        }
        if line.starts_with("---") || line.starts_with("===") {
            begins = true;
            continue;
        }
        let Some((before, values)) = line.split_once(" : ").filter(|_| is_table) else { continue };
        let (operation, what) = match line.starts_with(' ') {
            true => (None, before.trim()),
            false => before.split_once(' ').map_or((None, before), |(operation, what)| (Some(operation), what.trim())),
        };
        if let Some(operation) = operation.filter(|_| begins) {
            found.push(Line::rounded(operation));
            begins = false;
        }
        let Some(now) = found.last_mut() else { continue };
        let last = values.split_whitespace().last().unwrap_or_default();
        let number = || decimal(last);
        match what {
            "Elapsed time" => now.elapsed_ms = elapsed_ms(last).filter(|ms| *ms > 0.0),
            "IOPS" | "IOPS write" => now.own.ops = number(),
            "IOPS read" => now.mixed.ops = number(),
            "Throughput MiB/s" | "MiB/s write" => now.own.bytes = number().map(|mib| mib * MIB),
            "Throughput MB/s" | "MB/s write" => now.own.bytes = number().map(|mb| mb * 1e6),
            "MiB/s read" => now.mixed.bytes = number().map(|mib| mib * MIB),
            "MB/s read" => now.mixed.bytes = number().map(|mb| mb * 1e6),
            "IO latency" | "IO wr latency" => now.own.io_ns = times(values),
            "IO rd latency" => now.mixed.io_ns = times(values),
            // Files, directories or entries.
            what if what.ends_with("/s") || what.ends_with("/s write") => now.own.entries = number(),
            what if what.ends_with("/s read") => now.mixed.entries = number(),
            what if what.ends_with(" rd latency") => now.mixed.entry_ns = times(values),
            what if what.ends_with(" latency") => now.own.entry_ns = times(values),
            _ => {}
        }
    }
    found
}
