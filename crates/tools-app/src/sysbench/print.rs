//! sysbench's output.

use super::lower::file_name;
use super::settings::{IoMode, SysbenchSettings, TestMode};
use plumb_result::PhaseMeasurement;
use plumb_result::histogram::Histogram;
use plumb_result::measurement::OpMeasurement;
use plumb_tools::support::significant;
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// The first line, and the empty line after it.
pub const HEAD: &str = "sysbench 1.0.20 (plumb)\n\n";

pub const VERSION: &str = "sysbench 1.0.20\n";

const MIB: f64 = 1_048_576.0;

/// Formats bytes with a unit, in five digits without trailing zeros.
fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = "";
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi"] {
        if value < 1024.0 {
            break;
        }
        (value, unit) = (value / 1024.0, next);
    }
    let text = significant(value, 5);
    format!("{text}{unit}B")
}

fn flags(settings: &SysbenchSettings) -> String {
    let flags = [(settings.files.sync, "sync "), (settings.files.dsync, "dsync "), (settings.files.direct, "directio")];
    let flags: String = flags.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    format!("Extra file open flags: {}\n", if flags.is_empty() { "(none)" } else { &flags })
}

/// Formats the text before files are created. `lengths` are those of existing files.
pub fn preparing(settings: &SysbenchSettings, lengths: &[Option<u64>]) -> String {
    let (each, files) = (settings.file_bytes(), u64::from(settings.files.count));
    let mut text = format!(
        "{files} files, {}Kb each, {}Mb total\nCreating files for the test...\n{}",
        each / 1024,
        each * files / (1024 * 1024),
        flags(settings)
    );
    for number in 0..settings.files.count {
        let does = match lengths.get(number as usize).copied().flatten() {
            Some(length) if length >= each => "Reusing existing",
            Some(1..) => "Extending existing",
            _ => "Creating",
        };
        text.push_str(&format!("{does} file {}\n", file_name(number)));
    }
    text
}

/// Formats the text after files were created.
pub fn prepared(phase: &PhaseMeasurement) -> String {
    match phase.ops.get(&OpKind::Write) {
        Some(writes) if writes.bytes > 0 => {
            let seconds = phase.wall_ns as f64 / 1e9;
            let rate = writes.bytes as f64 / MIB / seconds;
            format!("{} bytes written in {seconds:.2} seconds ({rate:.2} MiB/sec).\n", writes.bytes)
        }
        _ => "No bytes written.\n".to_owned(),
    }
}

/// Formats the text before a run.
pub fn running(settings: &SysbenchSettings, mode: TestMode) -> String {
    let mut text = format!("Running the test with following options:\nNumber of threads: {}\n", settings.threads);
    if settings.limits.rate > 0 {
        text.push_str(&format!("Target transaction rate: {}/sec\n", settings.limits.rate));
    }
    if settings.report.interval_s > 0 {
        text.push_str(&format!("Report intermediate results every {} second(s)\n", settings.report.interval_s));
    }
    if settings.requests.validates {
        text.push_str("Validation checks: on.\n\n");
    }
    text.push_str(&match settings.seed {
        0 => "Initializing random number generator from current time\n\n".to_owned(),
        seed => format!("Initializing random number generator from seed ({}).\n\n", seed as u32 as i32),
    });
    let each = settings.file_bytes();
    text.push_str(&format!(
        "\n{}{} files, {} each\n{} total file size\nBlock size {}\n",
        flags(settings),
        settings.files.count,
        size(each),
        size(each * u64::from(settings.files.count)),
        size(settings.requests.block)
    ));
    if settings.requests.merged > 0 {
        text.push_str(&format!("Merging requests up to {} for sequential IO.\n", size(settings.request_bytes())));
    }
    if mode.is_random() {
        text.push_str(&format!(
            "Number of IO requests: {}\nRead/Write ratio for combined random IO test: {:.2}\n",
            settings.limits.events, settings.requests.ratio
        ));
    }
    if settings.flush.every > 0 {
        let every = settings.flush.every;
        text.push_str(&format!("Periodic FSYNC enabled, calling fsync() each {every} requests.\n"));
    }
    if settings.flush.at_end {
        text.push_str("Calling fsync() at the end of test, Enabled.\n");
    }
    if settings.flush.each {
        text.push_str("Calling fsync() after each write operation.\n");
    }
    let by = match settings.requests.io {
        IoMode::Sync => "synchronous",
        IoMode::Async => "asynchronous",
        IoMode::Mmap => "fast mmaped",
    };
    let does = match mode {
        TestMode::Create => "sequential write (creation)",
        TestMode::Rewrite => "sequential rewrite",
        TestMode::Read => "sequential read",
        TestMode::RandomRead => "random read",
        TestMode::RandomWrite => "random write",
        TestMode::RandomMix => "random r/w",
    };
    let checks = if settings.requests.validates { "Using checksums validation.\n" } else { "" };
    text.push_str(&format!("Using {by} I/O mode\n{checks}Doing {does} test\n"));
    text
}

/// Formats the error for the first block that fails validation; empty if there is none.
pub fn invalid(phase: &PhaseMeasurement) -> String {
    let Some(fault) = phase.faults.iter().find(|fault| fault.op == OpKind::Read && fault.errno.is_none()) else {
        return String::new();
    };
    let name = fault.path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.rsplit('.').next().unwrap_or_default();
    format!(
        "FATAL: {}\nFATAL: Validation failed on file {number}, block offset {}, exiting...\n",
        fault.message, fault.offset
    )
}

/// Formats the error for a file that is missing or too short.
pub fn unusable(settings: &SysbenchSettings, number: u32, length: Option<u64>) -> String {
    let name = file_name(number);
    match length {
        None => format!(
            "FATAL: Cannot open file '{name}' errno = 2 (No such file or directory)\nWARNING: Did you forget to run the \
             prepare step?\n"
        ),
        Some(length) => format!(
            "FATAL: Size of file '{name}' is {}, but at least {} is expected.\nWARNING: Did you run 'prepare' with \
             different --file-total-size or --file-num values?\n",
            size(length),
            size(settings.file_bytes())
        ),
    }
}

/// Ops counted over a run, or over a part of it.
#[derive(Debug, Clone, Default)]
pub struct Counted {
    reads: u64,
    writes: u64,
    /// Flushes, including those at the end.
    flushes: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// Latencies of events: requests, and flushes between them.
    latency: Histogram,
    events: u64,
}

impl Counted {
    /// Sums up ops. If each write is flushed, the flush belongs to the write's event.
    pub fn from_ops(ops: &BTreeMap<OpKind, OpMeasurement>, flushes_each: bool) -> Counted {
        let mut counted = Counted::default();
        for (kind, measured) in ops {
            let is_event = match kind {
                OpKind::Read => {
                    (counted.reads, counted.read_bytes) = (measured.count, measured.bytes);
                    true
                }
                OpKind::Write => {
                    (counted.writes, counted.written_bytes) = (measured.count, measured.bytes);
                    true
                }
                _ => {
                    counted.flushes += measured.count;
                    *kind != OpKind::EndFsync && !flushes_each
                }
            };
            if is_event {
                counted.events += measured.count;
            }
            if is_event || flushes_each {
                // With a rate, latency includes the wait since the op was due.
                counted.latency.merge(measured.response.as_ref().unwrap_or(&measured.service));
            }
        }
        counted
    }

    /// Returns the difference to an earlier moment.
    pub fn since(&self, earlier: &Counted) -> Counted {
        Counted {
            reads: self.reads.saturating_sub(earlier.reads),
            writes: self.writes.saturating_sub(earlier.writes),
            flushes: self.flushes.saturating_sub(earlier.flushes),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            latency: self.latency.since(&earlier.latency),
            events: self.events.saturating_sub(earlier.events),
        }
    }

    fn percentile_ms(&self, percentile: u32) -> f64 {
        ms(self.latency.quantile(f64::from(percentile) / 100.0))
    }
}

fn ms(ns: Option<u64>) -> f64 {
    ns.unwrap_or(0) as f64 / 1e6
}

/// Formats the line of one interval of `seconds` seconds.
pub fn line(settings: &SysbenchSettings, at_s: f64, seconds: f64, counted: &Counted) -> String {
    let Counted { read_bytes, written_bytes, flushes, .. } = *counted;
    format!(
        "[ {at_s:.0}s ] reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s latency (ms,{}%): {:.3}\n",
        read_bytes as f64 / MIB / seconds,
        written_bytes as f64 / MIB / seconds,
        flushes as f64 / seconds,
        settings.report.percentile,
        counted.percentile_ms(settings.report.percentile)
    )
}

/// Number of histogram classes, and the range in milliseconds. Source: sysbench 1.0.20.
const CLASSES: usize = 1024;
const CLASS_MIN_MS: f64 = 0.001;
const CLASS_MAX_MS: f64 = 100_000.0;

/// Width of the widest bar, in characters.
const BAR: f64 = 40.0;

fn histogram(settings: &SysbenchSettings, latency: &Histogram) -> String {
    let mut text = "Latency histogram (values are in milliseconds)\n".to_owned();
    let (first, scale) = (CLASS_MIN_MS.ln(), (CLASSES - 1) as f64 / (CLASS_MAX_MS / CLASS_MIN_MS).ln());
    let mut counts = [0u64; CLASSES];
    for bucket in latency.buckets().filter(|_| settings.report.percentile > 0) {
        let middle_ms = (bucket.lowest as f64 + bucket.highest as f64) / 2e6;
        // Latencies outside of the range count in the first or last class.
        let class = ((middle_ms.max(CLASS_MIN_MS).ln() - first) * scale + 0.5).floor() as usize;
        counts[class.min(CLASSES - 1)] += bucket.count;
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    if most > 0 {
        text.push_str("       value  ------------- distribution ------------- count\n");
    }
    for (class, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let width = (count as f64 * BAR / most as f64 + 0.5).floor() as usize;
        let value = (class as f64 / scale + first).exp();
        text.push_str(&format!("{value:12.3} |{:<40} {count}\n", "*".repeat(width)));
    }
    text.push_str(" \n");
    text
}

/// Returns mean and standard deviation over threads.
fn fairness(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / count).sqrt())
}

/// Formats the report after a run.
pub fn report(settings: &SysbenchSettings, phase: &PhaseMeasurement) -> String {
    let seconds = phase.wall_ns as f64 / 1e9;
    let all = Counted::from_ops(&phase.ops, settings.flush.each);
    let a_second = |number: u64| number as f64 / seconds;
    let threads: Vec<Counted> =
        phase.workers.iter().map(|worker| Counted::from_ops(&worker.ops, settings.flush.each)).collect();
    let (events, events_spread) = fairness(&threads.iter().map(|one| one.events as f64).collect::<Vec<_>>());
    let time = |one: &Counted| one.latency.sum() as f64 / 1e9;
    let (times, times_spread) = fairness(&threads.iter().map(time).collect::<Vec<_>>());
    let percentile = match settings.report.percentile {
        0 => "         percentile stats:               disabled\n".to_owned(),
        number => format!("        {number:>3}th percentile: {:>27.2}\n", all.percentile_ms(number)),
    };
    let sum_ms = all.latency.sum() as f64 / 1e6;
    let head = if settings.report.histogram { histogram(settings, &all.latency) } else { String::new() };
    format!(
        "{head}\nFile operations:\n    reads/s:                      {:.2}\n    writes/s:                     {:.2}\n    \
         fsyncs/s:                     {:.2}\n\nThroughput:\n    read, MiB/s:                  {:.2}\n    \
         written, MiB/s:               {:.2}\n\nGeneral statistics:\n    \
         total time:                          {seconds:.4}s\n    total number of events:              {}\n\n\
         Latency (ms):\n         min: {:>39.2}\n         avg: {:>39.2}\n         max: {:>39.2}\n{percentile}         \
         sum: {sum_ms:>39.2}\n\nThreads fairness:\n    events (avg/stddev):           {events:.4}/{events_spread:.2}\n    \
         execution time (avg/stddev):   {times:.4}/{times_spread:.2}\n\n",
        a_second(all.reads),
        a_second(all.writes),
        a_second(all.flushes),
        a_second(all.read_bytes) / MIB,
        a_second(all.written_bytes) / MIB,
        all.events,
        ms(all.latency.min()),
        if all.events > 0 { sum_ms / all.events as f64 } else { 0.0 },
        ms(all.latency.max()),
    )
}
