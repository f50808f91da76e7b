//! Zoned devices and zoned access to files.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{Three, Two};
use crate::fio::value::kind::{ANY, at_most};
use crate::fio::value::syntax::{Choice, Count, ENGINE_TEXT, Floats, OneOf, Plain, REGION, SWITCH, Wide, Word, choice};
use crate::fio::value::{FileRegion, Map, UnlessZero};

/// Engines that support data placement.
const PLACING: &[&str] = &["io_uring_cmd", "xnvme"];

/// One share from 0 to 1.
const SHARE: Floats = Floats { most: 1, bounds: Some((0.0, 1.0)) };

// Rows that other modules use.
pub(in crate::fio) const ZONEMODE: Row<Choice<ZoneMode>> = row("zonemode", Two, choice::<ZoneMode>()).default("none");

pub(in crate::fio) const ZONESIZE: Row<UnlessZero<Wide>> = row("zonesize", Two, UnlessZero(Wide(ANY))).default("0");

pub(in crate::fio) const ZONERANGE: Row<UnlessZero<Wide>> = row("zonerange", Two, UnlessZero(Wide(ANY))).default("0");

pub(in crate::fio) const ZONESKIP: Row<Plain<FileRegion>> = row("zoneskip", Two, REGION).default("0");

pub(in crate::fio) const ZONECAPACITY: Row<UnlessZero<Wide>> =
    row("zonecapacity", Two, UnlessZero(Wide(ANY))).default("0");

pub(in crate::fio) const READ_BEYOND_WP: Row<Plain<bool>> = row("read_beyond_wp", Two, SWITCH).default("0");

pub(in crate::fio) const MAX_OPEN_ZONES: Row<UnlessZero<Count>> =
    row("max_open_zones", Two, UnlessZero(Count(at_most(4096)))).default("0");

pub(in crate::fio) const JOB_MAX_OPEN_ZONES: Row<UnlessZero<Count>> =
    row("job_max_open_zones", Two, UnlessZero(Count(at_most(4096)))).default("0");

pub(in crate::fio) const IGNORE_ZONE_LIMITS: Row<Plain<bool>> = row("ignore_zone_limits", Two, SWITCH).default("0");

pub(in crate::fio) const ZONE_RESET_THRESHOLD: Row<Map<Floats, Option<f64>>> =
    row("zone_reset_threshold", Two, Map(SHARE, |shares| shares.first().copied()));

pub(in crate::fio) const ZONE_RESET_FREQUENCY: Row<Map<Floats, Option<f64>>> =
    row("zone_reset_frequency", Two, Map(SHARE, |shares| shares.first().copied()));

options! {
    /// Devices and files in zones.
    pub struct ZoneOptions {
        /// Zone mode: none, strided access, or a zoned block device.
        mode: ZoneMode = ZONEMODE;
        /// Zone size.
        size_bytes: Option<u64> = ZONESIZE;
        /// Distance between the starts of consecutive zones.
        range_bytes: Option<u64> = ZONERANGE;
        /// Amount to skip after each zone.
        skip: FileRegion = ZONESKIP;
        /// Usable bytes of each zone.
        capacity_bytes: Option<u64> = ZONECAPACITY;
        /// Allow reads beyond the write pointer.
        read_beyond_wp: bool = READ_BEYOND_WP;
        /// Maximum number of open zones, all jobs together.
        max_open: Option<u32> = MAX_OPEN_ZONES;
        /// Maximum number of open zones per job.
        job_max_open: Option<u32> = JOB_MAX_OPEN_ZONES;
        /// Ignore the device's limit on open zones.
        ignore_limits: bool = IGNORE_ZONE_LIMITS;
        /// Share of the capacity that may be written before zones are reset.
        reset_threshold: Option<f64> = ZONE_RESET_THRESHOLD;
        /// Frequency of those resets, as a share of the writes.
        reset_frequency: Option<f64> = ZONE_RESET_FREQUENCY;
        _ = row("recover_zbd_write_error", Three, SWITCH).not_yet("recovery from zone write errors is not implemented.");
        _ = row("write_zone_remainder", Three, SWITCH).not_yet("writing the remainder of a zone is not implemented.");
        _ = row("fdp", Three, SWITCH).default("0").only(PLACING).not_yet("data placement needs NVMe passthrough.");
        _ = row("dataplacement", Three, OneOf(&["none", "fdp", "streams"]))
            .or("data_placement")
            .default("none")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough.");
        _ = row("plid_select", Three, OneOf(&["random", "roundrobin", "scheme"]))
            .or("fdp_pli_select")
            .default("roundrobin")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough.");
        _ = row("plids", Three, ENGINE_TEXT).or("fdp_pli").only(PLACING).not_yet("data placement needs NVMe passthrough.");
        _ = row("dp_scheme", Three, ENGINE_TEXT).only(PLACING).not_yet("data placement needs NVMe passthrough.");
    }
}

words! {
    /// The kind of zones in a job.
    ZoneMode:
    None = "none",
    /// Strides: a zone, a gap, the next zone.
    Strided = "strided",
    /// The zones of a zoned device.
    Zoned = "zbd",
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
            Category::Zones,
            &[
                ("zonemode=zbd", |job| job.zones.mode == ZoneMode::Zoned),
                ("zonesize=7k", |job| job.zones.size_bytes == Some(7 << 10)),
                ("zonerange=7k", |job| job.zones.range_bytes == Some(7 << 10)),
                ("zoneskip=2z", |job| job.zones.skip == FileRegion::Zones(2)),
                ("zonecapacity=7k", |job| job.zones.capacity_bytes == Some(7 << 10)),
                ("read_beyond_wp=1", |job| job.zones.read_beyond_wp),
                ("max_open_zones=7", |job| job.zones.max_open == Some(7)),
                ("job_max_open_zones=7", |job| job.zones.job_max_open == Some(7)),
                ("ignore_zone_limits=1", |job| job.zones.ignore_limits),
                ("zone_reset_threshold=0.5", |job| job.zones.reset_threshold == Some(0.5)),
                ("zone_reset_frequency=0.25", |job| job.zones.reset_frequency == Some(0.25)),
            ],
        );
    }
}
