//! What is measured and how it is reported.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, between};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;

/// What is measured and how it is reported.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Statistics,
    options: &[
        row("bwavgtime", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("500")
            .doc("Averaging window for bandwidth, in milliseconds."),
        row("iopsavgtime", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("500")
            .doc("Averaging window for IOPS, in milliseconds."),
        row("stats", UsageTier::Two, Kind::Switch).default("1").doc("Collect statistics."),
        row("clat_percentiles", UsageTier::One, Kind::Switch)
            .default("1")
            .doc("Report percentiles of completion latency."),
        row("lat_percentiles", UsageTier::One, Kind::Switch).default("0").doc("Report percentiles of total latency."),
        row("slat_percentiles", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Report percentiles of submission latency."),
        row("percentile_list", UsageTier::One, Kind::Floats { most: 20, bounds: Some((0.0, 100.0)) })
            .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99")
            .doc("Percentiles to report."),
        row("significant_figures", UsageTier::Two, Kind::Whole(Slots::One, between(1, 10)))
            .default("4")
            .doc("Significant digits of printed values."),
        row("disk_util", UsageTier::One, Kind::Switch).default("1").doc("Report block device statistics."),
        row("gtod_reduce", UsageTier::One, Kind::Switch)
            .default("0")
            .doc("Take fewer timestamps: no latencies, no bandwidth samples."),
        row("disable_lat", UsageTier::One, Kind::Switch).default("0").doc("Do not measure total latency."),
        row("disable_clat", UsageTier::One, Kind::Switch).default("0").doc("Do not measure completion latency."),
        row("disable_slat", UsageTier::One, Kind::Switch).default("0").doc("Do not measure submission latency."),
        row("disable_bw_measurement", UsageTier::Two, Kind::Switch)
            .or("disable_bw")
            .default("0")
            .doc("Take no bandwidth samples."),
        row("unified_rw_reporting", UsageTier::Two, Kind::Choice(Unified::WORDS))
            .default("none")
            .doc("Report reads, writes and trims separately, combined, or both."),
        row("kb_base", UsageTier::Two, Kind::Choice(&["1024", "1000"]))
            .default("1024")
            .first()
            .doc("Base of the unit k: 1024 or 1000."),
        row("unit_base", UsageTier::Two, Kind::Choice(UnitWord::WORDS))
            .first()
            .doc("Report bandwidth in bytes (8) or bits (1)."),
        row("clocksource", UsageTier::Two, Kind::Choice(&["gettimeofday", "clock_gettime", "cpu"]))
            .ignored("Plumb uses one monotonic clock."),
        row("gtod_cpu", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .ignored("Each worker reads the clock itself; no CPU is reserved for it."),
        row("job_start_clock_id", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .ignored("The start of a job is printed as Unix time."),
        row("block_error_percentiles", UsageTier::Three, Kind::Switch)
            .default("0")
            .ignored("Percentiles of errors per block are not reported."),
    ],
};

/// What is measured and how it is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct StatsOptions {
    /// Collect statistics.
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
    /// How reads, writes and trims are reported.
    pub unified: Unified,
    /// What k is: 1024 or 1000.
    pub kb_base: u32,
    /// Bytes or bits.
    pub unit_base: UnitWord,
    /// The clock of a job's start.
    pub job_start_clock_id: Option<u32>,
}

impl StatsOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> StatsOptions {
        StatsOptions {
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
            unit_base: UnitWord::maybe(values).unwrap_or(UnitWord::Auto),
            job_start_clock_id: values.maybe_count("job_start_clock_id"),
        }
    }
}

fn kb_base(values: &OptionValues) -> u32 {
    if values.choice("kb_base") == Some("1000") { 1_000 } else { 1_024 }
}

words! {
    /// How reads, writes and trims are reported.
    Unified, "unified_rw_reporting":
    /// Apart.
    None = "none" | "0",
    /// Together.
    Mixed = "mixed" | "1",
    /// Apart and together.
    Both = "both" | "2",
}

words! {
    /// What bandwidth is reported in.
    UnitWord, "unit_base":
    /// What fits the engine.
    Auto = "0",
    /// Bytes.
    Bytes = "8",
    /// Bits.
    Bits = "1",
}
