//! Devices and files in zones.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::FileRegion;

/// Engines that support data placement.
const PLACING: &[&str] = &["io_uring_cmd", "xnvme"];

/// Devices and files in zones.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Zones,
    options: &[
        row("zonemode", UsageTier::Two, Kind::Choice(ZoneMode::WORDS))
            .default("none")
            .doc("Zone mode: none, strided access, or a zoned block device."),
        row("zonesize", UsageTier::Two, Kind::Wide(Slots::One, ANY)).default("0").doc("Zone size."),
        row("zonerange", UsageTier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Distance between the starts of consecutive zones."),
        row("zoneskip", UsageTier::Two, Kind::Region).default("0").doc("Amount to skip after each zone."),
        row("zonecapacity", UsageTier::Two, Kind::Wide(Slots::One, ANY)).default("0").doc("Usable bytes of each zone."),
        row("read_beyond_wp", UsageTier::Two, Kind::Switch).default("0").doc("Allow reads beyond the write pointer."),
        row("max_open_zones", UsageTier::Two, Kind::Whole(Slots::One, at_most(4096)))
            .default("0")
            .doc("Maximum number of open zones, all jobs together."),
        row("job_max_open_zones", UsageTier::Two, Kind::Whole(Slots::One, at_most(4096)))
            .default("0")
            .doc("Maximum number of open zones per job."),
        row("ignore_zone_limits", UsageTier::Two, Kind::Switch)
            .default("0")
            .doc("Ignore the device's limit on open zones."),
        row("zone_reset_threshold", UsageTier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 1.0)) })
            .doc("Share of the capacity that may be written before zones are reset."),
        row("zone_reset_frequency", UsageTier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 1.0)) })
            .doc("Frequency of those resets, as a share of the writes."),
        row("recover_zbd_write_error", UsageTier::Three, Kind::Switch)
            .not_yet("recovery from zone write errors is not implemented."),
        row("write_zone_remainder", UsageTier::Three, Kind::Switch)
            .not_yet("writing the remainder of a zone is not implemented."),
        row("fdp", UsageTier::Three, Kind::Switch)
            .default("0")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough."),
        row("dataplacement", UsageTier::Three, Kind::Choice(&["none", "fdp", "streams"]))
            .or("data_placement")
            .default("none")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough."),
        row("plid_select", UsageTier::Three, Kind::Choice(&["random", "roundrobin", "scheme"]))
            .or("fdp_pli_select")
            .default("roundrobin")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough."),
        row("plids", UsageTier::Three, Kind::Text)
            .or("fdp_pli")
            .only(PLACING)
            .not_yet("data placement needs NVMe passthrough."),
        row("dp_scheme", UsageTier::Three, Kind::Text).only(PLACING).not_yet("data placement needs NVMe passthrough."),
    ],
};

/// Devices and files in zones.
#[derive(Debug, Clone, PartialEq)]
pub struct ZoneOptions {
    /// How zones are treated.
    pub mode: ZoneMode,
    /// Bytes of a zone.
    pub size_bytes: Option<u64>,
    /// Bytes from one zone's start to the next.
    pub range_bytes: Option<u64>,
    /// What is passed over after a zone.
    pub skip: FileRegion,
    /// Usable bytes of each zone.
    pub capacity_bytes: Option<u64>,
    /// Read what was never written.
    pub read_beyond_wp: bool,
    /// Zones all jobs keep open.
    pub max_open: Option<u32>,
    /// Zones this job keeps open.
    pub job_max_open: Option<u32>,
    /// Do not keep to the device's limit.
    pub ignore_limits: bool,
    /// Reset zones once this share is written.
    pub reset_threshold: Option<f64>,
    /// How often then.
    pub reset_frequency: Option<f64>,
}

impl ZoneOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> ZoneOptions {
        ZoneOptions {
            mode: ZoneMode::of(values),
            size_bytes: values.wide_unless_zero("zonesize"),
            range_bytes: values.wide_unless_zero("zonerange"),
            skip: values.region("zoneskip").unwrap_or(FileRegion::Bytes(0)),
            capacity_bytes: values.wide_unless_zero("zonecapacity"),
            read_beyond_wp: values.switch("read_beyond_wp"),
            max_open: values.count_unless_zero("max_open_zones"),
            job_max_open: values.count_unless_zero("job_max_open_zones"),
            ignore_limits: values.switch("ignore_zone_limits"),
            reset_threshold: values.floats("zone_reset_threshold").first().copied(),
            reset_frequency: values.floats("zone_reset_frequency").first().copied(),
        }
    }
}

words! {
    /// How zones are treated.
    ZoneMode, "zonemode":
    /// There are none.
    None = "none",
    /// A stride of zones, one after another.
    Strided = "strided",
    /// The zones of a zoned device.
    Zoned = "zbd",
}
