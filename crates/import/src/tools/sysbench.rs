//! sysbench: the output of `fileio run`. MiB, and the Mb of 0.4 and 0.5, are 2^20 bytes. Its latencies cover reads,
//! writes and flushes together, so they have no metric if a run has several kinds.

use crate::amount::{bytes, bytes_of_1024, decimal, leading};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has("reads/s:") && input.has("fsyncs/s:")
        || input.has("Operations performed:") && input.has("Requests/sec executed")
        || input.has_line("sysbench ") && input.has("fileio")
        || input.has_line("sysbench ") && input.has("IOPS=")
}

/// Numbers of a run, collected until it is complete.
#[derive(Default)]
struct Read {
    /// Ops and bytes per second of reads, writes, flushes.
    rates: [Option<f64>; 3],
    bandwidths: [Option<f64>; 2],
    /// Counts and bytes, for versions that print only these.
    counts: [Option<f64>; 2],
    bytes: [Option<f64>; 2],
    seconds: Option<f64>,
    latencies: Vec<(String, f64)>,
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs = Vec::new();
    let mut head = Run::new("text");
    let mut read = Read::default();
    let mut begun = false;
    for line in input.text().lines() {
        let trimmed = line.trim().trim_start_matches('>').trim();
        if let Some(rest) =
            trimmed.strip_prefix("sysbench ").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            head.version = rest.split([' ', ':']).next().unwrap_or_default().to_owned();
        }
        begun |= trimmed.starts_with("File operations:")
            || trimmed.starts_with("Operations performed:")
            || trimmed.starts_with("Throughput:");
        if trimmed.starts_with("Threads fairness") && begun {
            runs.push(whole(&mut head, std::mem::take(&mut read)));
            begun = false;
        } else if begun {
            read.line(trimmed);
        } else {
            setting(&mut head, trimmed);
        }
    }
    // A file may end before the section on thread fairness.
    if begun && read.seconds.is_some() {
        runs.push(whole(&mut head, read));
    }
    match runs.is_empty() {
        true => Err(unread(
            "",
            "the file contains no completed run of fileio",
            "pass the complete output of `sysbench fileio run`",
        )),
        false => Ok(runs),
    }
}

fn setting(head: &mut Run, line: &str) {
    const SETTINGS: [&str; 5] = [
        "Number of threads: ",
        "Extra file open flags: ",
        "Read/Write ratio for combined random IO test: ",
        "Using ",
        "Doing ",
    ];
    if let Some(name) = SETTINGS.iter().find(|name| line.starts_with(**name)) {
        let value = &line[name.len()..];
        head.set(name.trim_end_matches([' ', ':']), Some(value));
    } else if let Some(size) = line.strip_prefix("Block size ") {
        head.set("block size", Some(size));
    } else if let Some(size) = line.strip_suffix(" total file size") {
        head.set("total file size", Some(size));
    }
}

impl Read {
    fn line(&mut self, line: &str) {
        let value = |name: &str| line.strip_prefix(name).map(str::trim);
        let number = |name: &str| value(name).and_then(decimal);
        for (at, name) in ["reads/s:", "writes/s:", "fsyncs/s:"].iter().enumerate() {
            self.rates[at] = number(name).or(self.rates[at]);
        }
        for (at, name) in ["read, MiB/s:", "written, MiB/s:"].iter().enumerate() {
            self.bandwidths[at] = number(name).map(|mib| mib * MIB).or(self.bandwidths[at]);
        }
        // 1.1: "read:  IOPS=1106.69 17.29 MiB/s (18.13 MB/s)".
        for (at, name) in ["read:", "write:", "fsync:"].iter().enumerate() {
            let Some((_, rest)) = value(name).and_then(|text| text.split_once("IOPS=")) else { continue };
            let mut words = rest.split_whitespace();
            self.rates[at] = words.next().and_then(decimal);
            if let (Some(amount), Some(unit), true) = (words.next(), words.next(), at < 2) {
                self.bandwidths[at] = bytes(&format!("{amount} {unit}"));
            }
        }
        if let Some(rest) = value("Operations performed:") {
            let mut counts = rest.split(',').map(|part| leading(part).map(|(count, _)| count));
            self.counts = [counts.next().flatten(), counts.next().flatten()];
        }
        // "Read 93.75Mb  Written 62.5Mb  Total transferred …".
        if let (Some(rest), true) = (value("Read "), line.contains("Written ")) {
            let amount = |text: &str| bytes_of_1024(&text.split_whitespace().next()?.replace('b', "B").to_uppercase());
            self.bytes = [amount(rest), rest.split_once("Written ").and_then(|(_, rest)| amount(rest))];
        }
        if let Some(text) = value("total time:") {
            self.seconds = leading(text).map(|(seconds, _)| seconds);
        }
        for name in ["min:", "avg:", "max:", "95th percentile:", "99th percentile:", "approx.  95 percentile:"] {
            if let Some((ms, _)) = value(name).and_then(leading) {
                self.latencies.push((
                    name.trim_start_matches("approx. ").trim().trim_end_matches(':').to_owned(),
                    ms * NS_PER_MS,
                ));
            }
        }
    }
}

fn whole(head: &mut Run, read: Read) -> Run {
    let next = Run { version: head.version.clone(), ..Run::new("text") };
    let mut run = std::mem::replace(head, next);
    let per_second = |count: Option<f64>| Some(count? / read.seconds.filter(|seconds| *seconds > 0.0)?);
    let phase = run.phase("fileio");
    phase.wall_ns = read.seconds.map(|seconds| seconds * 1e9);
    let mut kinds = Vec::new();
    for (at, kind) in [OpKind::Read, OpKind::Write, OpKind::Fsync].into_iter().enumerate() {
        let rate = read.rates[at].or_else(|| per_second(*read.counts.get(at)?)).filter(|rate| *rate > 0.0);
        let bandwidth = read.bandwidths.get(at).copied().flatten().or_else(|| per_second(*read.bytes.get(at)?));
        phase.rate(kind, rate);
        phase.bandwidth(kind, bandwidth.filter(|rate| *rate > 0.0));
        if rate.is_some() {
            kinds.push(kind);
        }
    }
    for (name, ns) in read.latencies {
        let stat = [("min", Stat::Min), ("avg", Stat::Mean), ("max", Stat::Max), ("99th percentile", Stat::P99)];
        match (kinds.as_slice(), stat.iter().find(|(known, _)| *known == name)) {
            ([kind], Some((_, stat))) => phase.latency(*kind, *stat, Some(ns)),
            _ => phase.less(&format!("latency {name}"), Some(ns), "ns"),
        }
    }
    if kinds.len() > 1 {
        run.note("sysbench's latencies are of all kinds of requests together");
    }
    run
}
