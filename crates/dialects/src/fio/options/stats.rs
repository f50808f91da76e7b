//! What is measured and how it is told.

use super::kind::{ANY, Kind, Slots, between};
use super::{Category, Shelf, Tier, row};

/// What is measured and how it is told.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Statistics,
    options: &[
        row("bwavgtime", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("500")
            .doc("Window of bandwidth samples, in milliseconds."),
        row("iopsavgtime", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("500")
            .doc("Window of samples of ops per second, in milliseconds."),
        row("stats", Tier::Two, Kind::Switch).default("1").doc("Collect statistics at all."),
        row("clat_percentiles", Tier::One, Kind::Switch).default("1").doc("Tell percentiles of completion latency."),
        row("lat_percentiles", Tier::One, Kind::Switch).default("0").doc("Tell percentiles of total latency."),
        row("slat_percentiles", Tier::Two, Kind::Switch).default("0").doc("Tell percentiles of submission latency."),
        row("percentile_list", Tier::One, Kind::Floats { most: 20, bounds: Some((0.0, 100.0)) })
            .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
            .doc("Which percentiles are told."),
        row("significant_figures", Tier::Two, Kind::Whole(Slots::One, between(1, 10)))
            .default("4")
            .doc("Digits in printed figures."),
        row("disk_util", Tier::One, Kind::Switch).default("1").doc("Tell what the block devices did."),
        row("gtod_reduce", Tier::One, Kind::Switch)
            .default("0")
            .doc("Take fewer timestamps: no latencies and no bandwidth samples."),
        row("disable_lat", Tier::One, Kind::Switch).default("0").doc("Do not measure total latency."),
        row("disable_clat", Tier::One, Kind::Switch).default("0").doc("Do not measure completion latency."),
        row("disable_slat", Tier::One, Kind::Switch).default("0").doc("Do not measure submission latency."),
        row("disable_bw_measurement", Tier::Two, Kind::Switch)
            .or("disable_bw")
            .default("0")
            .doc("Take no bandwidth samples."),
        row("unified_rw_reporting", Tier::Two, Kind::Choice(&["none", "mixed", "both", "0", "1", "2"]))
            .default("none")
            .doc("Tell reads, writes and trims apart, together, or both."),
        row("kb_base", Tier::Two, Kind::Choice(&["1024", "1000"]))
            .default("1024")
            .first()
            .doc("Whether k is 1024 or 1000."),
        row("unit_base", Tier::Two, Kind::Choice(&["0", "8", "1"])).first().doc("Tell bandwidth in bytes or in bits."),
        row("clocksource", Tier::Two, Kind::Choice(&["gettimeofday", "clock_gettime", "cpu"]))
            .ignored("Plumb uses one monotonic clock."),
        row("gtod_cpu", Tier::Two, Kind::Whole(Slots::One, ANY))
            .ignored("Plumb reads the clock in each worker; no CPU is set apart for it."),
        row("job_start_clock_id", Tier::Two, Kind::Whole(Slots::One, ANY))
            .doc("The clock that a job's start is told in."),
        row("block_error_percentiles", Tier::Three, Kind::Switch)
            .default("0")
            .ignored("Percentiles of errors per block are not told."),
    ],
};
