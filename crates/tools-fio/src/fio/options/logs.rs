//! Time series, written to files.

use super::keywords::words;
use super::row::{options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::choice::LogName;
use crate::fio::value::kind::{ANY, at_most, between};
use crate::fio::value::syntax::{CPUS, Count, LOG_NAME, SWITCH, Word, choice};
use crate::fio::value::{Maybe, UnlessZero};

options! {
    /// Time series, written to files.
    pub struct LogOptions {
        /// Log bandwidth over time to files with this prefix.
        bw: Option<LogName> = row("write_bw_log", One, Maybe(LOG_NAME));
        /// Log latencies to files with this prefix.
        lat: Option<LogName> = row("write_lat_log", One, Maybe(LOG_NAME));
        /// Log IOPS over time to files with this prefix.
        iops: Option<LogName> = row("write_iops_log", One, Maybe(LOG_NAME));
        /// Log latency histograms to files with this prefix.
        hist: Option<LogName> = row("write_hist_log", Two, Maybe(LOG_NAME));
        /// Log averages over N milliseconds instead of every op.
        avg_ms: Option<u32> = row("log_avg_msec", One, UnlessZero(Count(ANY))).default("0");
        /// Log a histogram every N milliseconds.
        hist_ms: Option<u32> = row("log_hist_msec", Two, UnlessZero(Count(ANY))).default("0");
        /// Number of times to halve the histogram's resolution.
        hist_coarseness: u32 = row("log_hist_coarseness", Two, Count(at_most(6))).default("0");
        /// Values to log per window: the average, the maximum, or both.
        window_value: WindowValue = row("log_window_value", Two, choice::<WindowValue>())
            .or("log_max_value")
            .default("avg");
        /// Log the offset of each op.
        offset: bool = row("log_offset", Two, SWITCH).default("0");
        /// Log the priority of each op.
        prio: bool = row("log_prio", Two, SWITCH).default("0");
        /// Log the issue time of each op.
        issue_time: bool = row("log_issue_time", Two, SWITCH).default("0");
        _ = row("log_entries", Two, Count(between(1024, 1048576))).default("1024").ignored("Logs grow as needed.");
        /// Write one log per copy of the job.
        per_job: bool = row("per_job_logs", Two, SWITCH).default("1");
        _ = row("log_compression", Two, Count(between(1024, 536870912)))
            .ignored("Logs are compressed when they are written, by log_store_compressed.");
        /// Store logs compressed, for `fio --inflate-log`; histogram logs stay uncompressed.
        store_compressed: bool = row("log_store_compressed", Two, SWITCH);
        _ = row("log_compression_cpus", Three, CPUS)
            .ignored("Logs are written after the job has ended, so they disturb no measurement.");
        /// Log absolute timestamps.
        alternate_epoch: bool = row("log_alternate_epoch", Two, SWITCH).or("log_unix_epoch");
        _ = row("log_alternate_epoch_clock_id", Two, Count(ANY)).ignored("Absolute timestamps are Unix time.");
    }
}

words! {
    /// The statistic logged per window.
    WindowValue:
    Average = "avg" | "0",
    Largest = "max" | "1",
    Both = "both",
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;
    use super::*;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Logs,
            &[
                ("write_bw_log=x", |job| job.logs.bw == Some(LogName::Named("x".to_owned()))),
                ("write_lat_log", |job| job.logs.lat == Some(LogName::OfJob)),
                ("write_iops_log", |job| job.logs.iops == Some(LogName::OfJob)),
                ("write_hist_log", |job| job.logs.hist == Some(LogName::OfJob)),
                ("log_avg_msec=7", |job| job.logs.avg_ms == Some(7)),
                ("log_hist_msec=7", |job| job.logs.hist_ms == Some(7)),
                ("log_hist_coarseness=5", |job| job.logs.hist_coarseness == 5),
                ("log_window_value=both", |job| job.logs.window_value == WindowValue::Both),
                ("log_offset=1", |job| job.logs.offset),
                ("log_prio=1", |job| job.logs.prio),
                ("log_issue_time=1", |job| job.logs.issue_time),
                ("per_job_logs=0", |job| !job.logs.per_job),
                ("log_store_compressed=1", |job| job.logs.store_compressed),
                ("log_alternate_epoch=1", |job| job.logs.alternate_epoch),
            ],
        );
    }
}
