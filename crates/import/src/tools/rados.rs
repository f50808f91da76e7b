//! `rados bench`, whose output CBT keeps: its summary. MB are 2^20 bytes (Ceph's obj_bencher divides by 1024 twice).

use crate::amount::decimal;
use crate::error::unread;
use crate::input::Input;
use crate::run::Run;
use plumb_result::metric::Stat;
use plumb_result::published::Unread;
use plumb_workload::OpKind;

const MIB: f64 = 1_048_576.0;
const NS_PER_S: f64 = 1e9;

pub(super) fn recognises(input: &Input<'_>) -> bool {
    // A line per second precedes the summary.
    let text = input.text();
    text.contains("Total time run:") && text.contains("Bandwidth (MB/sec):")
}

pub(super) fn read(input: &Input<'_>) -> Result<Vec<Run>, Unread> {
    let mut runs: Vec<Run> = Vec::new();
    let mut kind = OpKind::Write;
    for line in input.text().lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, number) = (name.trim(), decimal(value.trim()));
        if name == "Total time run" {
            let mut run = Run::new("text");
            run.phase("bench").wall_ns = number.map(|s| s * NS_PER_S);
            runs.push(run);
        }
        let Some(run) = runs.last_mut() else { continue };
        if matches!(name, "Total writes made" | "Total reads made") {
            kind = if name.contains("reads") { OpKind::Read } else { OpKind::Write };
        }
        if matches!(name, "Write size" | "Read size" | "Object size") {
            run.set(name, Some(value.trim()));
        }
        let Some(phase) = run.phases.last_mut() else { continue };
        // Old versions print these names without a unit.
        match name.trim_end_matches("(s)").to_lowercase().as_str() {
            "bandwidth (mb/sec)" => phase.bandwidth(kind, number.map(|mib| mib * MIB)),
            "average iops" => phase.rate(kind, number),
            "average latency" => phase.latency(kind, Stat::Mean, number.map(|s| s * NS_PER_S)),
            "min latency" => phase.latency(kind, Stat::Min, number.map(|s| s * NS_PER_S)),
            "max latency" => phase.latency(kind, Stat::Max, number.map(|s| s * NS_PER_S)),
            "stddev bandwidth" => phase.plain("bandwidth stddev", number.map(|mib| mib * MIB), "B/s"),
            _ => {}
        }
    }
    match runs.is_empty() {
        true => Err(unread("", "the file contains no summary", "pass the complete output of `rados bench`")),
        false => Ok(runs),
    }
}
