//! Measurements and their form in reports.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::Map;
use crate::fio::value::kind::{ANY, between};
use crate::fio::value::syntax::{Count, Floats, OneOf, SWITCH, Word, choice};

// Rows that other modules use.
pub(in crate::fio) const KB_BASE: Row<Map<OneOf, u32>> =
    row("kb_base", Two, Map(OneOf(&["1024", "1000"]), |base| if base == "1000" { 1_000 } else { 1_024 }))
        .default("1024")
        .first();

pub(in crate::fio) const PERCENTILE_LIST: Row<Floats> =
    row("percentile_list", One, Floats { most: 20, bounds: Some((0.0, 100.0)) })
        .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99");

options! {
    /// Measurements, and their form in reports.
    pub struct StatsOptions {
        /// Averaging window for bandwidth, in milliseconds.
        bw_avg_ms: u32 = row("bwavgtime", Two, Count(ANY)).default("500");
        /// Averaging window for IOPS, in milliseconds.
        iops_avg_ms: u32 = row("iopsavgtime", Two, Count(ANY)).default("500");
        /// Collect statistics.
        stats: bool = row("stats", Two, SWITCH).default("1");
        /// Report percentiles of completion latency.
        clat_percentiles: bool = row("clat_percentiles", One, SWITCH).default("1");
        /// Report percentiles of total latency.
        lat_percentiles: bool = row("lat_percentiles", One, SWITCH).default("0");
        /// Report percentiles of submission latency.
        slat_percentiles: bool = row("slat_percentiles", Two, SWITCH).default("0");
        /// Percentiles to report.
        percentiles: Vec<f64> = PERCENTILE_LIST;
        /// Significant digits of printed values.
        significant_figures: u32 = row("significant_figures", Two, Count(between(1, 10))).default("4");
        /// Report block device statistics.
        disk_util: bool = row("disk_util", One, SWITCH).default("1");
        /// Take fewer timestamps: no latencies, no bandwidth samples.
        gtod_reduce: bool = row("gtod_reduce", One, SWITCH).default("0");
        /// Do not measure total latency.
        disable_lat: bool = row("disable_lat", One, SWITCH).default("0");
        /// Do not measure completion latency.
        disable_clat: bool = row("disable_clat", One, SWITCH).default("0");
        /// Do not measure submission latency.
        disable_slat: bool = row("disable_slat", One, SWITCH).default("0");
        /// Take no bandwidth samples.
        disable_bw: bool = row("disable_bw_measurement", Two, SWITCH).or("disable_bw").default("0");
        /// Report reads, writes and trims separately, combined, or both.
        unified: Unified = row("unified_rw_reporting", Two, choice::<Unified>()).default("none");
        /// Base of the unit k: 1024 or 1000.
        kb_base: u32 = KB_BASE;
        /// Report bandwidth in bytes (8) or bits (1).
        unit_base: UnitWord = row("unit_base", Two, choice::<UnitWord>()).first();
        _ = row("clocksource", Two, OneOf(&["gettimeofday", "clock_gettime", "cpu"]))
            .ignored("Plumb uses one monotonic clock.");
        _ = row("gtod_cpu", Two, Count(ANY)).ignored("Each worker reads the clock itself; no CPU is reserved for it.");
        _ = row("job_start_clock_id", Two, Count(ANY)).ignored("The start of a job is printed as Unix time.");
        _ = row("block_error_percentiles", Three, SWITCH)
            .default("0")
            .ignored("Percentiles of errors per block are not reported.");
    }
}

impl StatsOptions {
    /// Whether total latency is measured.
    pub fn measures_lat(&self) -> bool {
        !self.gtod_reduce && !self.disable_lat
    }

    /// Whether completion latency is measured.
    pub fn measures_clat(&self) -> bool {
        !self.gtod_reduce && !self.disable_clat
    }

    /// Whether submission latency is measured.
    pub fn measures_slat(&self) -> bool {
        !self.gtod_reduce && !self.disable_slat
    }

    /// Whether bandwidth is sampled.
    pub fn measures_bw(&self) -> bool {
        !self.gtod_reduce && !self.disable_bw
    }
}

words! {
    /// The combination of reads, writes and trims in reports.
    Unified:
    None = "none" | "0",
    Mixed = "mixed" | "1",
    Both = "both" | "2",
}

words! {
    /// The unit of reported bandwidth.
    UnitWord:
    /// The natural unit of the engine.
    Auto = "0",
    /// Bytes.
    Bytes = "8",
    /// Bits.
    Bits = "1",
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
            Category::Statistics,
            &[
                ("bwavgtime=7", |job| job.statistics.bw_avg_ms == 7),
                ("iopsavgtime=7", |job| job.statistics.iops_avg_ms == 7),
                ("stats=0", |job| !job.statistics.stats),
                ("clat_percentiles=0", |job| !job.statistics.clat_percentiles),
                ("lat_percentiles=1", |job| job.statistics.lat_percentiles),
                ("slat_percentiles=1", |job| job.statistics.slat_percentiles),
                ("percentile_list=50:99.9", |job| job.statistics.percentiles == [50.0, 99.9]),
                ("significant_figures=2", |job| job.statistics.significant_figures == 2),
                ("disk_util=0", |job| !job.statistics.disk_util),
                ("gtod_reduce=1", |job| job.statistics.gtod_reduce),
                ("disable_lat=1", |job| job.statistics.disable_lat),
                ("disable_clat=1", |job| job.statistics.disable_clat),
                ("disable_slat=1", |job| job.statistics.disable_slat),
                ("disable_bw_measurement=1", |job| job.statistics.disable_bw),
                ("unified_rw_reporting=mixed", |job| job.statistics.unified == Unified::Mixed),
                ("kb_base=1000", |job| job.statistics.kb_base == 1_000),
                ("unit_base=1", |job| job.statistics.unit_base == UnitWord::Bits),
            ],
        );
    }
}
