//! dbench's output.

use super::settings::DbenchSettings;
use plumb_result::PhaseMeasurement;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_tools::support::significant;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

pub fn head(settings: &DbenchSettings) -> String {
    format!(
        "dbench version 4.00 (plumb)\n\nRunning for {} seconds with load '{}' and minimum warmup {} secs\n",
        settings.time_s,
        settings.load,
        settings.warmup_s()
    )
}

/// Formats the lines printed when all clients have started.
pub fn released(settings: &DbenchSettings) -> String {
    let clients = settings.clients;
    format!("{clients} of {clients} processes prepared for launch   0 sec\nreleasing clients\n")
}

/// Operations in dbench's order, with its names.
const OPERATIONS: [(&str, OpKind); 17] = [
    ("NTCreateX", OpKind::Open),
    ("Close", OpKind::Close),
    ("Rename", OpKind::Rename),
    ("Unlink", OpKind::Unlink),
    ("Deltree", OpKind::RemoveTree),
    ("Rmdir", OpKind::Rmdir),
    ("Mkdir", OpKind::Mkdir),
    ("Qpathinfo", OpKind::Stat),
    ("Qfileinfo", OpKind::Fstat),
    ("Qfsinfo", OpKind::Statfs),
    ("Sfileinfo", OpKind::Utimens),
    ("Find", OpKind::Readdir),
    ("WriteX", OpKind::Write),
    ("ReadX", OpKind::Read),
    ("LockX", OpKind::Lock),
    ("UnlockX", OpKind::Unlock),
    ("Flush", OpKind::Fsync),
];

/// Totals up to some moment of the run.
#[derive(Debug, Clone, Default)]
pub struct Done {
    count: u64,
    bytes: u64,
    latency: Histogram,
}

impl Done {
    /// Sums up the measurements of all ops.
    pub fn from_ops(ops: &BTreeMap<OpKind, OpMeasurement>) -> Done {
        let mut done = Done::default();
        for measured in ops.values() {
            done.count += measured.count;
            done.bytes += measured.bytes;
            done.latency.merge(&measured.service);
        }
        done
    }

    fn mb_s(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { self.bytes as f64 / 1e6 / seconds } else { 0.0 }
    }
}

fn ms(ns: Option<u64>) -> f64 {
    ns.unwrap_or(0) as f64 / 1e6
}

/// Formats the line of one second. `last` holds the totals at the previous line.
pub fn line(settings: &DbenchSettings, seconds: f64, done: &Done, last: &Done) -> String {
    format!(
        "{:>4}  {:>8}  {:>7.2} MB/sec  execute {seconds:>3.0} sec  latency {:.3} ms\n",
        settings.clients,
        done.count / u64::from(settings.clients),
        done.mb_s(seconds),
        ms(done.latency.since(&last.latency).max())
    )
}

/// Formats the summary at the end.
pub fn report(settings: &DbenchSettings, phase: &PhaseMeasurement) -> String {
    let mut text =
        "\n Operation      Count    AvgLat    MaxLat\n ----------------------------------------\n".to_owned();
    for (name, kind) in OPERATIONS {
        let Some(measured) = phase.ops.get(&kind).filter(|measured| measured.count > 0) else { continue };
        let mean_ms = measured.service.sum() as f64 / 1e6 / measured.count as f64;
        text.push_str(&format!(
            " {name:<12} {:>7} {mean_ms:>9.3} {:>9.3}\n",
            measured.count,
            ms(measured.service.max())
        ));
    }
    let all = Done::from_ops(&phase.ops);
    let flags = [(settings.sync_open, " (sync open)"), (settings.sync_directories, " (sync dirs)")];
    let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, flag)| flag).collect();
    let clients = settings.clients;
    text.push_str(&format!(
        "\nThroughput {} MB/sec{flags}  {clients} clients  {clients} procs  max_latency={:.3} ms\n",
        significant(all.mb_s(phase.wall_ns as f64 / 1e9), 6),
        ms(all.latency.max())
    ));
    text
}
