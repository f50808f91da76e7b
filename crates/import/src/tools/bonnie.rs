//! Bonnie++: its CSV lines, each of which is a run, or its tables if a text has no such line. The dialect's reader
//! knows the columns of each version.

use super::bonnie_table::tables;
use crate::input::Input;
use crate::run::Run;
use plumb_result::Unit;
use plumb_result::metric::{Metric, Stat};
use plumb_result::published::Unread;
use plumb_tools_classic::bonnie::{PublishedTest, published_lines};
use plumb_workload::OpKind;

/// Fewest commas of a line of values.
const COMMAS_MIN: usize = 26;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    let is_values = |line: &str| {
        line.matches(',').count() >= COMMAS_MIN
            && line.split(',').all(|field| !field.contains('"'))
            && matches!(published_lines(line), Ok(lines) if !lines.is_empty())
    };
    input.has("Bonnie++") && input.has("format_version")
        || input.head().lines().any(is_values)
        || input.has("------Sequential Output------")
        || input.has("------Sequential Create------")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs = Vec::new();
    let lines = match published_lines(input.text()) {
        Ok(lines) => lines,
        Err(_) if !tables(input.text()).is_empty() => return read_tables(input.text()),
        Err(error) => return Err(error),
    };
    for line in lines {
        let mut run = Run::new(if line.version.is_some() { "CSV" } else { "CSV of 1.03" });
        run.version = line.version.unwrap_or_else(|| "1.03".to_owned());
        run.host = Some(line.machine);
        run.set("concurrency", line.concurrency);
        run.set("size", Some(line.size));
        run.set("files", Some(line.files));
        for one in line.tests {
            test(&mut run, &one);
        }
        runs.push(run);
    }
    Ok(runs)
}

fn read_tables(text: &str) -> Result<Vec<Run>, Unread> {
    let mut runs = Vec::new();
    for table in tables(text) {
        for line in published_lines(&table.csv())? {
            let mut run = Run::new("table");
            run.version.clone_from(&table.version);
            run.host = Some(line.machine);
            run.set("concurrency", table.concurrency.as_ref());
            run.set("size", Some(line.size));
            run.set("files", Some(line.files));
            for mut one in line.tests {
                let number = one.test as usize;
                let (group, place) = (number / 6, number % 6);
                one.latency_max_ns = table.latencies_ns[group].get(place).copied().flatten();
                test(&mut run, &one);
            }
            run.note("Bonnie++ rounds the numbers in its tables; its CSV line has more digits of latencies");
            runs.push(run);
        }
    }
    Ok(runs)
}

fn test(run: &mut Run, one: &PublishedTest) {
    let unit = if one.test.moves_bytes() { Unit::BytesPerSecond } else { Unit::OpsPerSecond };
    let metric = one.test.kind().metric(unit);
    let phase = run.phase(one.test.phase());
    let value = one.rate.as_ref().map(|number| number.value);
    match metric {
        // A test that was too short has no value, which is not 0.
        Some(metric) => phase.metric(metric, value),
        None => phase.number_or_null("rate", value, unit.symbol(), Some(plumb_result::Better::Higher)),
    }
    phase.less("CPU", one.cpu_percent, "%");
    let kind = metric.and_then(|metric: Metric| {
        OpKind::ALL.iter().copied().find(|kind| metric == Metric::bandwidth(*kind) || metric == Metric::rate(*kind))
    });
    // A rewrite's latency is that of a read, a seek and a write.
    match kind {
        Some(kind) if one.test != plumb_tools_classic::bonnie::Test::Rewrite => {
            phase.latency(kind, Stat::Max, one.latency_max_ns);
        }
        _ => phase.less("latency max", one.latency_max_ns, "ns"),
    }
}
