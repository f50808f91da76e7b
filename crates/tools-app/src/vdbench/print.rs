//! vdbench's output.

use super::script::{Rate, Run};
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// Number of lines between two headers.
pub const HEADER_EVERY: u64 = 30;

const MIB: f64 = 1_048_576.0;

/// Returns the rate of a run in I/Os per second, if it has one. `largest` is the rate of the first run of its curve.
pub fn rate(run: &Run, largest: f64) -> Option<f64> {
    super::lower::rate(run, largest)
}

/// Formats the text before a run. `now` is a time of day with milliseconds.
pub fn starting(run: &Run, rate: Option<f64>, now: &str, simulates: bool) -> String {
    let verb = if simulates { "Simulating" } else { "Starting" };
    let rate = match (run.rate, rate) {
        (Rate::Max, _) => "Uncontrolled MAX".to_owned(),
        (Rate::CurveMax, _) => "Uncontrolled curve".to_owned(),
        (_, Some(rate)) => format!("{rate:.0}"),
        (Rate::CurvePercent(percent), None) => format!("{percent}% of the curve's largest"),
        (Rate::PerSecond(rate), None) => rate.to_string(),
    };
    let warmup = if run.warmup_s > 0 { format!(" warmup={}", run.warmup_s) } else { String::new() };
    format!(
        "{now} {verb} RD={}; I/O rate: {rate}; elapsed={}{warmup}; For loops: {}\n",
        run.name, run.elapsed_s, run.loops
    )
}

/// Formats the two header lines. `today` is a date such as `Feb 20, 2026`.
pub fn header(today: &str) -> String {
    let line = |words: [&str; 11]| {
        let widths = [10, 10, 8, 7, 6, 8, 8, 8, 8, 8, 5];
        let columns = words.iter().zip(widths).map(|(word, width)| format!("{word:>width$}"));
        columns.collect::<Vec<_>>().join(" ")
    };
    let above = ["interval", "i/o", "MB/sec", "bytes", "read", "resp", "read", "write", "resp", "resp", "queue"];
    let below = ["", "rate", "1024**2", "i/o", "pct", "time", "resp", "resp", "max", "stddev", "depth"];
    format!("\n{today}{}\n            {}\n", line(above), line(below))
}

/// Totals up to some moment of the run.
#[derive(Debug, Clone, Default)]
pub struct Done {
    reads: Histogram,
    writes: Histogram,
    bytes: u64,
}

impl Done {
    /// Sums up the measurements of reads and writes.
    pub fn from_ops(ops: &BTreeMap<OpKind, OpMeasurement>) -> Done {
        let of = |kind: OpKind| ops.get(&kind).map(|ops| (ops.service.clone(), ops.bytes)).unwrap_or_default();
        let ((reads, read_bytes), (writes, written_bytes)) = (of(OpKind::Read), of(OpKind::Write));
        Done { reads, writes, bytes: read_bytes + written_bytes }
    }

    /// Returns the difference to an earlier moment.
    pub fn since(&self, earlier: &Done) -> Done {
        Done {
            reads: self.reads.since(&earlier.reads),
            writes: self.writes.since(&earlier.writes),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }

    /// Returns the I/Os per second.
    pub fn rate(&self, seconds: f64) -> f64 {
        if seconds > 0.0 { (self.reads.count() + self.writes.count()) as f64 / seconds } else { 0.0 }
    }
}

fn mean_ms(sum_ns: u128, count: u64) -> f64 {
    if count == 0 { 0.0 } else { sum_ns as f64 / count as f64 / 1e6 }
}

/// Returns the standard deviation of all latencies, from the middles of the histogram's buckets.
fn deviation_ms(done: &Done, mean_ms: f64) -> f64 {
    let count = done.reads.count() + done.writes.count();
    if count < 2 {
        return 0.0;
    }
    let buckets = done.reads.buckets().chain(done.writes.buckets());
    let squares: f64 = buckets
        .map(|bucket| {
            let middle_ms = (bucket.lowest as f64 + bucket.highest as f64) / 2e6;
            (middle_ms - mean_ms) * (middle_ms - mean_ms) * bucket.count as f64
        })
        .sum();
    (squares / (count - 1) as f64).sqrt()
}

/// The values of an interval; times in milliseconds.
pub(super) struct Figures {
    pub(super) rate: f64,
    pub(super) mib_per_second: f64,
    /// Mean transfer size, bytes.
    pub(super) bytes: u64,
    pub(super) read_percent: f64,
    pub(super) mean: f64,
    pub(super) read_mean: f64,
    pub(super) write_mean: f64,
    pub(super) largest: f64,
    pub(super) deviation: f64,
    pub(super) depth: f64,
}

impl Figures {
    pub(super) fn new(done: &Done, seconds: f64) -> Figures {
        let (reads, writes) = (done.reads.count(), done.writes.count());
        let all = reads + writes;
        let sum = done.reads.sum() + done.writes.sum();
        let mean = mean_ms(sum, all);
        Figures {
            rate: done.rate(seconds),
            mib_per_second: if seconds > 0.0 { done.bytes as f64 / MIB / seconds } else { 0.0 },
            bytes: done.bytes / all.max(1),
            read_percent: if all > 0 { reads as f64 / all as f64 * 100.0 } else { 0.0 },
            mean,
            read_mean: mean_ms(done.reads.sum(), reads),
            write_mean: mean_ms(done.writes.sum(), writes),
            largest: done.reads.max().max(done.writes.max()).unwrap_or(0) as f64 / 1e6,
            deviation: deviation_ms(done, mean),
            depth: if seconds > 0.0 { sum as f64 / 1e9 / seconds } else { 0.0 },
        }
    }
}

/// Formats the line of an interval, or of the mean of several, with this title.
pub fn line(now: &str, title: &str, done: &Done, seconds: f64) -> String {
    let Figures { rate, mib_per_second, bytes, read_percent, mean, read_mean, write_mean, largest, deviation, depth } =
        Figures::new(done, seconds);
    format!(
        "{now}{title:>10} {rate:>10.2} {mib_per_second:>8.2} {bytes:>7} {read_percent:>6.2} {mean:>8.3} {read_mean:>8.3} \
         {write_mean:>8.3} {largest:>8.3} {deviation:>8.3} {depth:>5.1} \n"
    )
}
