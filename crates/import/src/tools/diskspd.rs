//! DiskSpd: its text. Rates are bytes over the test's time, which have more digits than the printed rates. MiB are 2^20 bytes.

use crate::amount::{decimal, leading};
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const MIB: f64 = 1_048_576.0;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    input.has_line("Results for timespan ") && input.has("actual test time:")
        || input.has_line("Total IO") && input.has("I/O per s")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut run = Run::new("text");
    let mut seconds = None;
    let mut timespan = 1u32;
    let mut kind: Option<Option<OpKind>> = None;
    for line in input.text().lines() {
        let trimmed = line.trim();
        let phase = |number: u32| format!("timespan {number}");
        match trimmed {
            "Total IO" => kind = Some(None),
            "Read IO" => kind = Some(Some(OpKind::Read)),
            "Write IO" => kind = Some(Some(OpKind::Write)),
            _ => {}
        }
        if let Some(command) = trimmed.strip_prefix("Command Line: ") {
            run.command = Some(command.to_owned());
        } else if let Some(number) = trimmed.strip_prefix("Results for timespan ") {
            timespan = number.trim_end_matches(':').parse().unwrap_or(timespan);
            (seconds, kind) = (None, None);
        } else if let Some(time) = trimmed.strip_prefix("actual test time:") {
            seconds = leading(time.trim()).map(|(seconds, _)| seconds).filter(|seconds| *seconds > 0.0);
            run.phase_named(&phase(timespan)).extend_to(seconds.map(|seconds| seconds * 1e9));
        } else if let (Some(rest), Some(kind)) =
            (trimmed.strip_prefix("total:").filter(|rest| rest.contains('|')), kind)
        {
            total(&mut run, &phase(timespan), kind, rest, seconds);
        } else if trimmed.contains('|') {
            percentile(&mut run, &phase(timespan), trimmed);
        } else if let Some((name, value)) = trimmed.split_once(": ").filter(|_| seconds.is_none()) {
            setting(&mut run, name, value);
        }
    }
    run.phases.retain(|phase| phase.size() > 0);
    match run.phases.is_empty() {
        true => Err(unread("", "no table in the file has a total", "pass the complete output of diskspd")),
        false => Ok(vec![run]),
    }
}

fn setting(run: &mut Run, name: &str, value: &str) {
    const NAMES: [&str; 6] = [
        "duration",
        "warm up time",
        "block size",
        "number of outstanding I/O operations per thread",
        "threads per file",
        "path",
    ];
    match name {
        "path" => _ = run.paths.insert(value.trim_matches('\'').to_owned()),
        name if NAMES.contains(&name) => run.set(name, Some(value)),
        _ => {}
    }
}

/// Parses `13592559616 |  207406 |  108.01 |  1728.17 |  9.257 |  17.604`: bytes, I/Os, MiB/s, I/Os per second, latency in ms.
fn total(run: &mut Run, phase: &str, kind: Option<OpKind>, rest: &str, seconds: Option<f64>) {
    let numbers: Vec<Option<f64>> = rest.split('|').map(decimal).collect();
    let at = |place: usize| numbers.get(place).copied().flatten();
    let (bytes, ops) = (at(0), at(1));
    if ops == Some(0.0) {
        return;
    }
    let per_second = |value: Option<f64>| Some(value? / seconds?);
    let bandwidth = per_second(bytes).or_else(|| at(2).map(|mib| mib * MIB));
    let rate = per_second(ops).or_else(|| at(3));
    let mean = at(4).map(|ms| ms * 1e6);
    let phase = run.phase_named(phase);
    match kind {
        Some(kind) => {
            phase.bandwidth(kind, bandwidth);
            phase.rate(kind, rate);
            phase.done(kind, ops, bytes);
            phase.latency(kind, Stat::Mean, mean);
        }
        None => {
            phase.more("all bandwidth", bandwidth, "B/s");
            phase.more("all rate", rate, "ops/s");
            phase.less("all latency mean", mean, "ns");
        }
    }
}

/// Parses `   99th |     49.633 |      0.656 |     49.337`: percentile of reads, of writes, of all.
fn percentile(run: &mut Run, phase: &str, line: &str) {
    let fields: Vec<&str> = line.split('|').map(str::trim).collect();
    let [name, read, write, ..] = fields.as_slice() else { return };
    let stat = match *name {
        "min" => Stat::Min,
        "50th" => Stat::P50,
        "90th" => Stat::P90,
        "99th" => Stat::P99,
        "3-nines" => Stat::P999,
        "4-nines" => Stat::P9999,
        "max" => Stat::Max,
        _ => return,
    };
    for (kind, text) in [(OpKind::Read, read), (OpKind::Write, write)] {
        // "N/A" if there were none.
        run.phase_named(phase).latency(kind, stat, decimal(text).map(|ms| ms * 1e6));
    }
}
