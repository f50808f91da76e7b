//! Series over time, in files.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_most, between};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::choice::LogName;

/// Series over time, in files.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Logs,
    options: &[
        row("write_bw_log", UsageTier::One, Kind::Special(Special::LogName))
            .doc("Log bandwidth over time to files with this prefix."),
        row("write_lat_log", UsageTier::One, Kind::Special(Special::LogName))
            .doc("Log latencies to files with this prefix."),
        row("write_iops_log", UsageTier::One, Kind::Special(Special::LogName))
            .doc("Log IOPS over time to files with this prefix."),
        row("write_hist_log", UsageTier::Two, Kind::Special(Special::LogName))
            .doc("Log latency histograms to files with this prefix."),
        row("log_avg_msec", UsageTier::One, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Log averages over N milliseconds instead of every op."),
        row("log_hist_msec", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Log a histogram every N milliseconds."),
        row("log_hist_coarseness", UsageTier::Two, Kind::Whole(Slots::One, at_most(6)))
            .default("0")
            .doc("Number of times to halve the histogram's resolution."),
        row("log_window_value", UsageTier::Two, Kind::Choice(WindowValue::WORDS))
            .or("log_max_value")
            .default("avg")
            .doc("What to log per window: the average, the maximum, or both."),
        row("log_offset", UsageTier::Two, Kind::Switch).default("0").doc("Log the offset of each op."),
        row("log_prio", UsageTier::Two, Kind::Switch).default("0").doc("Log the priority of each op."),
        row("log_issue_time", UsageTier::Two, Kind::Switch).default("0").doc("Log the issue time of each op."),
        row("log_entries", UsageTier::Two, Kind::Whole(Slots::One, between(1024, 1048576)))
            .default("1024")
            .ignored("Logs grow as needed."),
        row("per_job_logs", UsageTier::Two, Kind::Switch).default("1").doc("Write one log per copy of the job."),
        row("log_compression", UsageTier::Two, Kind::Whole(Slots::One, between(1024, 536870912)))
            .ignored("Logs are compressed when they are written, by log_store_compressed."),
        row("log_store_compressed", UsageTier::Two, Kind::Switch)
            .doc("Store logs compressed, for `fio --inflate-log`; histogram logs stay uncompressed."),
        row("log_compression_cpus", UsageTier::Three, Kind::Special(Special::Cpus))
            .ignored("Logs are written after the job has ended, so they disturb no measurement."),
        row("log_alternate_epoch", UsageTier::Two, Kind::Switch).or("log_unix_epoch").doc("Log absolute timestamps."),
        row("log_alternate_epoch_clock_id", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .ignored("Absolute timestamps are Unix time."),
    ],
};

/// Series over time, in files.
#[derive(Debug, Clone, PartialEq)]
pub struct LogOptions {
    /// Bandwidth.
    pub bw: Option<LogName>,
    /// Latencies.
    pub lat: Option<LogName>,
    /// Ops per second.
    pub iops: Option<LogName>,
    /// Histograms of latency.
    pub hist: Option<LogName>,
    /// Average over this many milliseconds; every op if absent.
    pub avg_ms: Option<u32>,
    /// A histogram every N milliseconds.
    pub hist_ms: Option<u32>,
    /// Halve the columns this many times, 0 to 6.
    pub hist_coarseness: u32,
    /// What a window says.
    pub window_value: WindowValue,
    /// Log offsets.
    pub offset: bool,
    /// Log priorities.
    pub prio: bool,
    /// Log times of issue.
    pub issue_time: bool,
    /// A log for each copy.
    pub per_job: bool,
    /// Compress in pieces of this many bytes.
    pub compression_bytes: Option<u32>,
    /// Store compressed.
    pub store_compressed: bool,
    /// Absolute times.
    pub alternate_epoch: bool,
    /// Their clock.
    pub alternate_epoch_clock_id: Option<u32>,
}

impl LogOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> LogOptions {
        LogOptions {
            bw: values.log_name("write_bw_log"),
            lat: values.log_name("write_lat_log"),
            iops: values.log_name("write_iops_log"),
            hist: values.log_name("write_hist_log"),
            avg_ms: values.count_unless_zero("log_avg_msec"),
            hist_ms: values.count_unless_zero("log_hist_msec"),
            hist_coarseness: values.count("log_hist_coarseness"),
            window_value: WindowValue::of(values),
            offset: values.switch("log_offset"),
            prio: values.switch("log_prio"),
            issue_time: values.switch("log_issue_time"),
            per_job: values.switch("per_job_logs"),
            compression_bytes: values.count_unless_zero("log_compression"),
            store_compressed: values.switch("log_store_compressed"),
            alternate_epoch: values.switch("log_alternate_epoch"),
            alternate_epoch_clock_id: values.maybe_count("log_alternate_epoch_clock_id"),
        }
    }
}

words! {
    /// What a window of a log says.
    WindowValue, "log_window_value":
    /// The average.
    Average = "avg" | "0",
    /// The largest value.
    Largest = "max" | "1",
    /// Both.
    Both = "both",
}
