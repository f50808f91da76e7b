//! What is measured, told and logged.

use super::keywords::{Unified, UnitBase, WindowValue, Word};
use super::values::Values;
use crate::fio::value::choice::LogName;

fn kb_base(values: &Values) -> u32 {
    if values.choice("kb_base") == Some("1000") { 1_000 } else { 1_024 }
}

/// Series over time, in files.
#[derive(Debug, Clone, PartialEq)]
pub struct Logs {
    /// Bandwidth.
    pub bw: Option<LogName>,
    /// Latencies.
    pub lat: Option<LogName>,
    /// Ops per second.
    pub iops: Option<LogName>,
    /// Histograms of latency.
    pub hist: Option<LogName>,
    /// Average over so many milliseconds; every op where absent.
    pub avg_ms: Option<u32>,
    /// A histogram every so many milliseconds.
    pub hist_ms: Option<u32>,
    /// Halve the columns so often, 0 to 6.
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
    /// Compress in pieces of so many bytes.
    pub compression_bytes: Option<u32>,
    /// Store compressed.
    pub store_compressed: bool,
    /// Absolute times.
    pub alternate_epoch: bool,
    /// Their clock.
    pub alternate_epoch_clock_id: Option<u32>,
}

impl Logs {
    pub(super) fn of(values: &Values) -> Logs {
        Logs {
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

/// What is measured and how it is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Collect statistics at all.
    pub stats: bool,
    /// Window of bandwidth samples.
    pub bw_avg_ms: u32,
    /// Window of samples of ops per second.
    pub iops_avg_ms: u32,
    /// Percentiles of completion latency.
    pub clat_percentiles: bool,
    /// Percentiles of total latency.
    pub lat_percentiles: bool,
    /// Percentiles of submission latency.
    pub slat_percentiles: bool,
    /// Which percentiles.
    pub percentiles: Vec<f64>,
    /// Digits in figures.
    pub significant_figures: u32,
    /// What block devices did.
    pub disk_util: bool,
    /// Fewer timestamps; it switches the next four off.
    pub gtod_reduce: bool,
    /// Measure total latency.
    pub measure_lat: bool,
    /// Measure completion latency.
    pub measure_clat: bool,
    /// Measure submission latency.
    pub measure_slat: bool,
    /// Take bandwidth samples.
    pub measure_bw: bool,
    /// How reads, writes and trims are told.
    pub unified: Unified,
    /// What k is: 1024 or 1000.
    pub kb_base: u32,
    /// Bytes or bits.
    pub unit_base: UnitBase,
    /// The clock of a job's start.
    pub job_start_clock_id: Option<u32>,
}

impl Statistics {
    pub(super) fn of(values: &Values) -> Statistics {
        Statistics {
            stats: values.switch("stats"),
            bw_avg_ms: values.count("bwavgtime"),
            iops_avg_ms: values.count("iopsavgtime"),
            clat_percentiles: values.switch("clat_percentiles"),
            lat_percentiles: values.switch("lat_percentiles"),
            slat_percentiles: values.switch("slat_percentiles"),
            percentiles: values.floats("percentile_list"),
            significant_figures: values.count("significant_figures"),
            disk_util: values.switch("disk_util"),
            gtod_reduce: values.switch("gtod_reduce"),
            measure_lat: !values.switch("gtod_reduce") && !values.switch("disable_lat"),
            measure_clat: !values.switch("gtod_reduce") && !values.switch("disable_clat"),
            measure_slat: !values.switch("gtod_reduce") && !values.switch("disable_slat"),
            measure_bw: !values.switch("gtod_reduce") && !values.switch("disable_bw_measurement"),
            unified: Unified::of(values),
            kb_base: kb_base(values),
            unit_base: UnitBase::maybe(values).unwrap_or(UnitBase::Auto),
            job_start_clock_id: values.maybe_count("job_start_clock_id"),
        }
    }
}
