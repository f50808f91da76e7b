//! vdbench: `flatfile.html`, `summary.html` and its output. Uses the averages over a run, which leave out its first interval.
//! Its MB are 2^20 bytes. Sources: the header of a report (`1024**2`), and of a flat file, which explains its columns.

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

pub(super) fn recognises(input: &Input<'_>) -> bool {
    let is_flat = |line: &str| line.split_whitespace().take(4).any(|word| word == "Run") && line.contains("MB/sec");
    (input.has("Starting RD=") && (input.has("1024**2") || input.has("ReqstdOps"))) || input.head().lines().any(is_flat)
}

/// A line of averages; times in ms.
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
    // For runs on files: names of the columns after the interval.
    let mut pairs: Vec<String> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some((_, rest)) = line.split_once("Starting RD=") {
            name = rest.split(';').next().unwrap_or_default().to_owned();
            let details = rest.split_once(';').map(|(_, rest)| rest.trim());
            run.set(&name, details);
        } else if words.iter().any(|word| word.contains("ReqstdOps")) {
            pairs = file_columns(&words);
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
                read_flat(&mut run, &of);
            }
        } else if let Some(at) = words.iter().position(|word| word.starts_with("avg_")).filter(|at| *at <= 1) {
            if !pairs.is_empty() {
                let of_files = |name: &str| {
                    let place = pairs.iter().position(|found| found == name)?;
                    words.get(at + 1 + place).and_then(|text| decimal(text))
                };
                put_files(&mut run, &name, &of_files);
                continue;
            }
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
            "the file contains no line of averages (`avg_2-10`)",
            "pass the report of a completed run",
        ));
    }
    run.note("averages leave out the first interval");
    Ok(vec![run])
}

/// Adds the means in a line of a flat file, by column name.
fn read_flat(run: &mut Run, of: &BTreeMap<&str, &str>) {
    let number = |name: &str| of.get(name).and_then(|text| decimal(text));
    let name = of.get("Run").copied().unwrap_or_default();
    if of.contains_key("Mkdir_rate") {
        let of_files = |name: &str| match name {
            "requested rate" => number("rate"),
            "requested resp" => number("resp"),
            name => {
                let (first, rest) = name.split_at(1);
                number(&format!("{}{}", first.to_uppercase(), rest.replace(' ', "_")))
            }
        };
        return put_files(run, name, &of_files);
    }
    let average = Average {
        rate: number("rate"),
        mib: number("MB/sec"),
        read_percent: number("read%").or_else(|| number("rdpct")),
        response_ms: number("resp"),
        read_ms: number("read_resp"),
        write_ms: number("write_resp"),
        max_ms: number("resp_max"),
    };
    put(run, name, &average);
}

/// Returns the columns of a run on files after the interval, from the upper header line: most are a rate and a response time.
fn file_columns(words: &[&str]) -> Vec<String> {
    let first = words.iter().position(|word| word.contains("ReqstdOps")).unwrap_or(0);
    let mut found = Vec::new();
    for word in &words[first..] {
        let name = word.trim_matches('.');
        match name {
            "ReqstdOps" => found.extend(["requested rate", "requested resp"].map(str::to_owned)),
            "cpu%" => found.extend(["cpu total", "cpu sys"].map(str::to_owned)),
            // The share of reads precedes their pair of columns.
            "read" if !word.starts_with('.') => found.push("read pct".to_owned()),
            "mb/sec" if word.starts_with('.') => found.extend(["MB_read", "MB_write"].map(str::to_owned)),
            "mb/sec" => found.push("MB total".to_owned()),
            "xfer" => found.push("xfer size".to_owned()),
            name => found.extend([format!("{name} rate"), format!("{name} resp")]),
        }
    }
    found
}

/// Adds the means of a run on files.
fn put_files(run: &mut Run, name: &str, of: &dyn Fn(&str) -> Option<f64>) {
    const CALLS: [(&str, OpKind); 11] = [
        ("read", OpKind::Read),
        ("write", OpKind::Write),
        ("mkdir", OpKind::Mkdir),
        ("rmdir", OpKind::Rmdir),
        ("create", OpKind::Create),
        ("open", OpKind::Open),
        ("close", OpKind::Close),
        ("delete", OpKind::Unlink),
        ("getattr", OpKind::Stat),
        ("setattr", OpKind::Utimens),
        ("access", OpKind::Access),
    ];
    let ns = |ms: Option<f64>| ms.filter(|ms| *ms > 0.0).map(|ms| ms * NS_PER_MS);
    let phase = run.phase(name);
    phase.more("requested operations", of("requested rate"), "ops/s");
    phase.less("requested operations response mean", ns(of("requested resp")), "ns");
    for (call, kind) in CALLS {
        let rate = of(&format!("{call} rate")).filter(|rate| *rate > 0.0);
        if rate.is_some() {
            phase.rate(kind, rate);
            phase.latency(kind, Stat::Mean, ns(of(&format!("{call} resp"))));
        }
    }
    for (column, kind) in [("MB_read", OpKind::Read), ("MB_write", OpKind::Write)] {
        phase.bandwidth(kind, of(column).filter(|mib| *mib > 0.0).map(|mib| mib * MIB));
    }
    for call in ["copy", "move"] {
        phase.more(call, of(&format!("{call} rate")).filter(|rate| *rate > 0.0), "ops/s");
    }
}

fn put(run: &mut Run, name: &str, average: &Average) {
    // An average over no ops, such as that of formatting.
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
