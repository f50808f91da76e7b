//! Filebench 1.4 and 1.5: the output of a run. Its mb are 2^20 bytes. The workload defines the names of flow ops, so
//! that their rates have no metric; the sums of reads and of writes have one.

use crate::amount::{decimal, leading};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("Filebench Version") || input.text().contains(": IO Summary: ")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut current = Run::new("text");
    let mut took_s = None;
    for line in input.text().lines() {
        let trimmed =
            line.split_once(": ").filter(|(time, _)| decimal(time).is_some()).map_or(line, |(_, rest)| rest).trim();
        if let Some(version) = trimmed.strip_prefix("Filebench Version ") {
            current.version = version.to_owned();
        } else if let Some((name, _)) = trimmed.split_once(" personality successfully loaded") {
            current.set("personality", Some(name));
        } else if let Some(rest) = trimmed.strip_prefix("Run took ") {
            took_s = leading(rest).map(|(seconds, _)| seconds);
        } else if let Some(summary) = trimmed.strip_prefix("IO Summary: ") {
            let mut run =
                Run { version: current.version.clone(), settings: current.settings.clone(), ..Run::new("text") };
            std::mem::swap(&mut run, &mut current);
            whole(&mut run, summary, took_s);
            runs.push(run);
        } else {
            flow_op(&mut current, trimmed);
        }
    }
    match runs.is_empty() {
        true => Err(unread(
            "",
            "the file contains no `IO Summary`, so the run did not end",
            "pass the complete output of a run",
        )),
        false => Ok(runs),
    }
}

/// Parses `rand-read1  1339359ops  667414ops/s 5214.2mb/s  0.003ms/op [0.000ms - 48.063ms]`; 1.4 prints `0.0ms/op  123us/op-cpu`.
fn flow_op(run: &mut Run, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, count, rate, bandwidth, time, ..] = words.as_slice() else { return };
    let part = |word: &str, unit: &str| word.strip_suffix(unit).and_then(decimal);
    let (Some(count), Some(rate)) = (part(count, "ops"), part(rate, "ops/s")) else { return };
    let phase = run.phase(*name);
    phase.more("rate", Some(rate), "ops/s");
    phase.more("bandwidth", part(bandwidth, "mb/s").map(|mib| mib * MIB), "B/s");
    phase.less("latency mean", part(time, "ms/op").map(|ms| ms * NS_PER_MS), "ns");
    phase.plain("ops", Some(count), "ops");
    if let Some((least, greatest)) =
        line.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']')?.split_once(" - "))
    {
        phase.less("latency min", part(least.trim(), "ms").map(|ms| ms * NS_PER_MS), "ns");
        phase.less("latency max", part(greatest.trim(), "ms").map(|ms| ms * NS_PER_MS), "ns");
    }
}

/// Parses `1339359 ops 667414.296 ops/s 667414/0 rd/wr 5214.2mb/s 0.003ms/op`; 1.4 prints commas, `(667414/0 r/w)` and `latency`.
fn whole(run: &mut Run, summary: &str, took_s: Option<f64>) {
    let words: Vec<&str> = summary.split_whitespace().map(|word| word.trim_matches([',', '(', ')'])).collect();
    let before = |unit: &str| {
        let at = words.iter().position(|word| *word == unit)?;
        words.get(at.checked_sub(1)?).copied()
    };
    let ending = |unit: &str| words.iter().find_map(|word| decimal(word.strip_suffix(unit)?));
    let phase = run.phase("IO Summary");
    phase.wall_ns = took_s.map(|seconds| seconds * 1e9);
    phase.more("rate", before("ops/s").and_then(decimal), "ops/s");
    let both = before("rd/wr").or_else(|| before("r/w")).and_then(|text| text.split_once('/'));
    let [reads, writes] = both.map_or([None, None], |(reads, writes)| [decimal(reads), decimal(writes)]);
    phase.rate(OpKind::Read, reads.filter(|rate| *rate > 0.0));
    phase.rate(OpKind::Write, writes.filter(|rate| *rate > 0.0));
    let bytes = ending("mb/s").map(|mib| mib * MIB);
    match (reads, writes) {
        (Some(reads), Some(0.0)) if reads > 0.0 => phase.bandwidth(OpKind::Read, bytes),
        (Some(0.0), Some(writes)) if writes > 0.0 => phase.bandwidth(OpKind::Write, bytes),
        _ => phase.more("bandwidth of reads and writes", bytes, "B/s"),
    }
    let latency = ending("ms/op").or_else(|| ending("ms"));
    phase.less("latency mean", latency.map(|ms| ms * NS_PER_MS), "ns");
}
