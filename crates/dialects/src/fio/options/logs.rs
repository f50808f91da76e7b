//! Series over time, in files.

use super::kind::{ANY, Kind, Slots, Special, at_most, between};
use super::{Category, Shelf, Tier, row};

/// Series over time, in files.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Logs,
    options: &[
        row("write_bw_log", Tier::One, Kind::Special(Special::LogName))
            .doc("Log bandwidth over time into files that begin with this."),
        row("write_lat_log", Tier::One, Kind::Special(Special::LogName))
            .doc("Log latencies into files that begin with this."),
        row("write_iops_log", Tier::One, Kind::Special(Special::LogName))
            .doc("Log ops per second over time into files that begin with this."),
        row("write_hist_log", Tier::Two, Kind::Special(Special::LogName))
            .doc("Log latency histograms into files that begin with this."),
        row("log_avg_msec", Tier::One, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Log averages over so many milliseconds instead of every op."),
        row("log_hist_msec", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Log a histogram every so many milliseconds."),
        row("log_hist_coarseness", Tier::Two, Kind::Whole(Slots::One, at_most(6)))
            .default("0")
            .doc("Halve the number of histogram columns so often."),
        row("log_window_value", Tier::Two, Kind::Choice(&["avg", "max", "both", "0", "1"]))
            .or("log_max_value")
            .default("avg")
            .doc("Log the average of each window, the largest value, or both."),
        row("log_offset", Tier::Two, Kind::Switch).default("0").doc("Log the offset of each op."),
        row("log_prio", Tier::Two, Kind::Switch).default("0").doc("Log the priority of each op."),
        row("log_issue_time", Tier::Two, Kind::Switch).default("0").doc("Log when each op was issued."),
        row("log_entries", Tier::Two, Kind::Whole(Slots::One, between(1024, 1048576)))
            .default("1024")
            .ignored("Logs grow as needed."),
        row("per_job_logs", Tier::Two, Kind::Switch).default("1").doc("One log for each copy of the job."),
        row("log_compression", Tier::Two, Kind::Whole(Slots::One, between(1024, 536870912)))
            .doc("Compress logs in memory; a log needs none here before it is written."),
        row("log_store_compressed", Tier::Two, Kind::Switch)
            .doc("Store logs compressed, for `fio --inflate-log`; histograms stay as they are."),
        row("log_compression_cpus", Tier::Three, Kind::Special(Special::Cpus))
            .ignored("Logs are written when the job is over, and disturb nobody."),
        row("log_alternate_epoch", Tier::Two, Kind::Switch).or("log_unix_epoch").doc("Log absolute times."),
        row("log_alternate_epoch_clock_id", Tier::Two, Kind::Whole(Slots::One, ANY)).doc("The clock of those times."),
    ],
};
