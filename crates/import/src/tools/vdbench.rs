//! vdbench: `flatfile.html`, `summary.html` and what it prints. The averages over a run, which leave out its first interval,
//! are taken. Its MB are of 2^20 bytes. Sources: the head of a report (`1024**2`) and of a flat file, which explains its
//! columns.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;

pub(super) fn is_its(input: &Input<'_>) -> bool {
    let is_flat = |line: &str| line.split_whitespace().take(4).any(|word| word == "Run") && line.contains("MB/sec");
    (input.has("1024**2") && input.has("Starting RD=")) || input.head().lines().any(is_flat)
}

/// What an average says; times in ms.
#[derive(Default)]
struct Average {
    rate: Option<f64>,
    mib: Option<f64>,
    read_percent: Option<f64>,
    response_ms: Option<f64>,
    read_ms: Option<f64>,
    write_ms: Option<f64>,
    max_ms: Option<f64>,
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let text = input.text();
    let mut run = Run::new("report");
    let mut name = String::new();
    let mut columns: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((_, rest)) = line.split_once("Starting RD=") {
            name = rest.split(';').next().unwrap_or_default().to_owned();
            let details = rest.split_once(';').map(|(_, rest)| rest.trim());
            run.set(&name, details);
        } else if words.contains(&"Run") && words.contains(&"MB/sec") && !line.starts_with('*') {
            run.form = "flat file".to_owned();
            columns = words;
        } else if line.contains("Vdbench release:") {
            run.version = line
                .split_once("release:")
                .map_or("", |(_, rest)| rest)
                .split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned();
        } else if !columns.is_empty() && words.len() == columns.len() {
            let of: BTreeMap<&str, &str> = BTreeMap::from_iter(columns.iter().copied().zip(words));
            if of.get("Interval").is_some_and(|interval| interval.starts_with("avg")) {
                let number = |name: &str| of.get(name).and_then(|text| decimal(text));
                let average = Average {
                    rate: number("rate"),
                    mib: number("MB/sec"),
                    read_percent: number("read%").or_else(|| number("rdpct")),
                    response_ms: number("resp"),
                    read_ms: number("read_resp"),
                    write_ms: number("write_resp"),
                    max_ms: number("resp_max"),
                };
                put(&mut run, of.get("Run").copied().unwrap_or_default(), &average);
            }
        } else if let Some(at) = words.iter().position(|word| word.starts_with("avg_")).filter(|at| *at <= 1) {
            let number = |place: usize| words.get(at + place).and_then(|text| decimal(text));
            let average = Average {
                rate: number(1),
                mib: number(2),
                read_percent: number(4),
                response_ms: number(5),
                ..Average::default()
            };
            put(&mut run, &name, &average);
        }
    }
    if run.phases.is_empty() {
        return Err(unread(
            "",
            "there is no line of averages (`avg_2-10`) in it",
            "give the report of a run that ended",
        ));
    }
    run.note("averages leave out the first interval");
    Ok(vec![run])
}

fn put(run: &mut Run, name: &str, average: &Average) {
    // An average over nothing, as of formatting.
    if average.rate.unwrap_or(0.0) == 0.0 {
        return;
    }
    let phase = run.phase(name);
    let bytes = average.mib.map(|mib| mib * MIB);
    let kind = match average.read_percent {
        Some(100.0) => Some(OpKind::Read),
        Some(0.0) => Some(OpKind::Write),
        _ => None,
    };
    let ns = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0).map(|ms| ms * NS_PER_MS);
    match kind {
        Some(kind) => {
            phase.rate(kind, average.rate);
            phase.bandwidth(kind, bytes);
            phase.latency(kind, Stat::Mean, ns(average.response_ms));
            phase.latency(kind, Stat::Max, ns(average.max_ms));
        }
        None => {
            phase.more("rate of reads and writes", average.rate, "ops/s");
            phase.more("bandwidth of reads and writes", bytes, "B/s");
            phase.plain("reads", average.read_percent, "%");
            phase.less("response mean", ns(average.response_ms), "ns");
            phase.less("response max", ns(average.max_ms), "ns");
            phase.latency(OpKind::Read, Stat::Mean, ns(average.read_ms));
            phase.latency(OpKind::Write, Stat::Mean, ns(average.write_ms));
        }
    }
}
