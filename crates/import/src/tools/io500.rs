//! IO500: `result_summary.txt` and its output, of the C program and of the older scripts. Its GiB are 2^30 bytes; the
//! scripts print GB with the same meaning.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const GIB: f64 = 1_073_741_824.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| result(line.trim()).is_some() || score(line.trim()).is_some())
}

struct Line<'a> {
    name: &'a str,
    value: f64,
    unit: &'a str,
    seconds: Option<f64>,
    is_invalid: bool,
}

/// Parses `[RESULT]       ior-easy-write        0.094283 GiB/s : time 2.032 seconds [INVALID]`; the scripts print `BW
/// phase 1` before the name, and `_` in it.
fn result(line: &str) -> Option<Line<'_>> {
    let rest = line.strip_prefix("[RESULT]").or_else(|| line.strip_prefix("[RESULT-invalid]"))?;
    let (rest, time) = rest.split_once(" : time ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [.., name, value, unit] = words.as_slice() else { return None };
    let is_unit = matches!(unit.to_ascii_lowercase().as_str(), "gib/s" | "gb/s" | "kiops");
    is_unit.then_some(Line {
        name,
        value: decimal(value)?,
        unit,
        seconds: time.split_whitespace().next().and_then(decimal),
        is_invalid: line.contains("[INVALID]") || line.starts_with("[RESULT-invalid]"),
    })
}

/// Parses `[SCORE ] Bandwidth 2.405543 GiB/s : IOPS 25.123456 kiops : TOTAL 7.773211 [INVALID]`.
fn score(line: &str) -> Option<(&str, [Option<f64>; 3])> {
    let (head, rest) = line.strip_prefix("[SCORE")?.split_once(']')?;
    let after = |word: &str| rest.split_once(word)?.1.split_whitespace().next().and_then(decimal);
    let numbers = [after("Bandwidth "), after("IOPS "), after("TOTAL ")];
    numbers[2].map(|_| (head.trim(), numbers))
}

/// Returns the kind of op of a phase. `None` for a read of mdtest, which opens, reads and closes a file, and for find.
fn kind(name: &str) -> Option<OpKind> {
    let has = |word: &str| name.contains(word);
    match () {
        () if name.starts_with("ior") && has("write") => Some(OpKind::Write),
        () if name.starts_with("ior") && has("read") => Some(OpKind::Read),
        () if name.starts_with("mdtest") && (has("write") || has("create")) => Some(OpKind::Create),
        () if name.starts_with("mdtest") && has("stat") => Some(OpKind::Stat),
        () if name.starts_with("mdtest") && has("delete") => Some(OpKind::Unlink),
        () => None,
    }
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut run = Run::new("summary");
    for line in input.text().lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("IO500 version ") {
            if run.size() > 0 {
                runs.push(std::mem::replace(&mut run, Run::new("summary")));
            }
            run.version = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some(line) = result(line) {
            let name = line.name.replace('_', "-");
            let is_bytes = line.unit.to_ascii_lowercase().starts_with('g');
            let kind = kind(&name);
            let phase = run.phase(&name);
            phase.wall_ns = line.seconds.map(|seconds| seconds * 1e9);
            match (kind, is_bytes) {
                (Some(kind), true) => phase.bandwidth(kind, Some(line.value * GIB)),
                (None, true) => phase.more("bandwidth", Some(line.value * GIB), "B/s"),
                (Some(kind), false) => phase.rate(kind, Some(line.value * 1e3)),
                (None, false) => phase.more("rate", Some(line.value * 1e3), "ops/s"),
            }
            if line.is_invalid {
                run.note(format!("IO500 calls {name} invalid"));
            }
        } else if let Some((extended, [bandwidth, iops, total])) = score(line) {
            let phase = run.phase(if extended.starts_with('X') { "score of the extended mode" } else { "score" });
            phase.more("bandwidth", bandwidth.map(|gib| gib * GIB), "B/s");
            phase.more("rate", iops.map(|kiops| kiops * 1e3), "ops/s");
            phase.more("total", total, "");
            if line.contains("[INVALID]") {
                run.note("IO500 calls the score invalid");
            }
        }
    }
    if run.size() > 0 {
        runs.push(run);
    }
    match runs.is_empty() {
        true => Err(unread("", "no line begins with [RESULT] or [SCORE ]", "pass IO500's result_summary.txt")),
        false => Ok(runs),
    }
}
