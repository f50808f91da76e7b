//! warp, a benchmark of S3: the total of each kind of operation in its output. Its MiB are 2^20 bytes. A put object is
//! bytes written, a fetched one bytes read.

use crate::amount::{bytes, decimal, leading, time_ns};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| head(line).is_some()) && (input.has("obj/s") || input.has("Average:"))
}

/// Recognises `Operation: PUT. Concurrency: 32`, `Operation: GET (3650). Ran 4m59s.`, `Report: GET. Concurrency: 20.`
fn head(line: &str) -> Option<&str> {
    let line = line.trim();
    let rest = line.strip_prefix("Operation: ").or_else(|| line.strip_prefix("Report: "))?;
    let name = rest.split([' ', '.', ',', '(']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase());
    (is_name && (rest.contains("Concurrency") || rest.contains("Ran"))).then_some(rest)
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    let mut has_rate = true;
    let mut in_parts = false;
    for line in input.text().lines() {
        let trimmed = line.trim().trim_start_matches("* ").trim();
        if let Some(rest) = head(line) {
            let name = rest.split([' ', '.', ',', '(']).next().unwrap_or_default().to_owned();
            run.set(&name, Some(rest));
            run.phase(&name).wall_ns = ran_ns(rest);
            (has_rate, in_parts) = (false, false);
        } else if run.phases.is_empty() {
            continue;
        } else if trimmed.starts_with("Throughput by host") || trimmed.contains("split into") {
            in_parts = true;
        } else if in_parts {
            continue;
        } else if let Some(rest) =
            trimmed.strip_prefix("Average: ").or_else(|| trimmed.strip_prefix("Throughput: ")).filter(|_| !has_rate)
        {
            has_rate = true;
            rates(&mut run, rest);
        } else if trimmed.starts_with("Reqs: ") || trimmed.starts_with("Avg: ") {
            latencies(&mut run, trimmed.trim_start_matches("Reqs: "));
        }
    }
    match run.phases.iter().any(|phase| phase.size() > 0) {
        true => Ok(vec![run]),
        false => Err(unread("", "no operation in the file has an average", "pass the output of `warp analyze`")),
    }
}

/// Parses `Ran 4m59s` or `Ran: 1m`.
fn ran_ns(rest: &str) -> Option<f64> {
    let text = rest.split_once("Ran")?.1.trim_start_matches([':', ' ']);
    let mut seconds = 0.0;
    let mut text = text.split([' ', ',']).next()?.trim_end_matches('.');
    while !text.is_empty() {
        let (value, after) = leading(text)?;
        let unit: String = after.chars().take_while(char::is_ascii_alphabetic).collect();
        seconds += value
            * match unit.as_str() {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                _ => return None,
            };
        text = &after[unit.len()..];
    }
    (seconds > 0.0).then_some(seconds * 1e9)
}

/// Parses `141.82 MiB/s, 14.18 obj/s (…)`.
fn rates(run: &mut Run, text: &str) {
    let Some(phase) = run.phases.last_mut() else { return };
    let kind = match phase.name.as_str() {
        "PUT" | "MULTIPART" => Some(OpKind::Write),
        "GET" => Some(OpKind::Read),
        "DELETE" => Some(OpKind::Unlink),
        "STAT" => Some(OpKind::Stat),
        _ => None,
    };
    for part in text.split(", ") {
        let part = part.split('(').next().unwrap_or_default().trim();
        if part.contains("B/s") {
            match kind.filter(|kind| kind.moves_bytes()) {
                Some(kind) => phase.bandwidth(kind, bytes(part)),
                None => phase.more("bandwidth", bytes(part), "B/s"),
            }
        } else if let Some(rate) = part.strip_suffix("obj/s").and_then(decimal) {
            match kind {
                Some(kind) => phase.rate(kind, Some(rate)),
                None => phase.more("objects", Some(rate), "ops/s"),
            }
        }
    }
}

/// Parses latencies of requests: `Avg: 100ms, 50%: 50ms, 90%: 150ms, 99%: 200ms, Fastest: 1ms, Slowest: 300ms`.
fn latencies(run: &mut Run, text: &str) {
    let Some(phase) = run.phases.last_mut() else { return };
    for part in text.split(", ") {
        if let Some((name, value)) = part.split_once(": ") {
            phase.less(&format!("request {}", name.trim()), time_ns(value), "ns");
        }
    }
}
