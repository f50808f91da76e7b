//! dbench 3 and 4: its throughput and its table of operations. MB are 10^6 bytes.

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::published::Unread;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.head().lines().any(|line| throughput(line).is_some())
}

/// Parses `Throughput 123.4 MB/sec (sync open)  4 clients  4 procs  max_latency=12.3 ms`; 3.0 prints procs only.
fn throughput(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("Throughput ")?;
    let (value, rest) = rest.split_once(" MB/sec")?;
    rest.contains(" procs").then(|| decimal(value)).flatten()
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut head = Run::new("text");
    let mut rows: Vec<(String, f64, f64, f64)> = Vec::new();
    let mut in_table = false;
    for line in input.text().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(rest) = line.strip_prefix("dbench version ") {
            head.version = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if words.first() == Some(&"Operation") && words.contains(&"AvgLat") {
            (in_table, rows) = (true, Vec::new());
        } else if let Some(value) = throughput(line) {
            let next = Run { version: head.version.clone(), ..Run::new("text") };
            let mut run = std::mem::replace(&mut head, next);
            let before = |word: &str| {
                let at = words.iter().position(|found| *found == word)?;
                words.get(at.checked_sub(1)?)
            };
            run.set("clients", before("clients").or_else(|| before("procs")));
            let phase = run.phase("load");
            phase.more("throughput", Some(value * 1e6), "B/s");
            let latency = line.split_once("max_latency=").and_then(|(_, rest)| rest.split_whitespace().next());
            phase.less("latency max", latency.and_then(decimal).map(|ms| ms * 1e6), "ns");
            for (name, count, mean, max) in rows.drain(..) {
                phase.plain(&format!("{name} count"), Some(count), "");
                phase.less(&format!("{name} latency mean"), Some(mean * 1e6), "ns");
                phase.less(&format!("{name} latency max"), Some(max * 1e6), "ns");
            }
            in_table = false;
            runs.push(run);
        } else if let ([name, count, mean, max], true) = (words.as_slice(), in_table)
            && let (Some(count), Some(mean), Some(max)) = (decimal(count), decimal(mean), decimal(max))
        {
            rows.push(((*name).to_owned(), count, mean, max));
        }
    }
    match runs.is_empty() {
        true => Err(unread("", "the file contains no throughput", "pass the complete output of dbench")),
        false => Ok(runs),
    }
}
