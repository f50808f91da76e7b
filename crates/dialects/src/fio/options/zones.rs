//! Devices and files in zones.

use super::kind::{ANY, Kind, Slots, at_most};
use super::{Category, Shelf, Tier, row};

/// Engines that tell a device where to place data.
const PLACING: &[&str] = &["io_uring_cmd", "xnvme"];

/// Devices and files in zones.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Zones,
    options: &[
        row("zonemode", Tier::Two, Kind::Choice(&["none", "strided", "zbd"]))
            .default("none")
            .doc("How zones are treated: not at all, as strides, or as a zoned device."),
        row("zonesize", Tier::Two, Kind::Wide(Slots::One, ANY)).default("0").doc("Bytes of one zone."),
        row("zonerange", Tier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Bytes from the start of one zone to the start of the next."),
        row("zoneskip", Tier::Two, Kind::Region).default("0").doc("Bytes that are passed over after a zone."),
        row("zonecapacity", Tier::Two, Kind::Wide(Slots::One, ANY))
            .default("0")
            .doc("Bytes of a zone that can be used."),
        row("read_beyond_wp", Tier::Two, Kind::Switch).default("0").doc("Allow reads of what was never written."),
        row("max_open_zones", Tier::Two, Kind::Whole(Slots::One, at_most(4096)))
            .default("0")
            .doc("Zones that all jobs together keep open."),
        row("job_max_open_zones", Tier::Two, Kind::Whole(Slots::One, at_most(4096)))
            .default("0")
            .doc("Zones that one job keeps open."),
        row("ignore_zone_limits", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Do not keep to the device's own limit of open zones."),
        row("zone_reset_threshold", Tier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 1.0)) })
            .doc("Reset zones once this share of the capacity is written."),
        row("zone_reset_frequency", Tier::Two, Kind::Floats { most: 1, bounds: Some((0.0, 1.0)) })
            .doc("How often a zone is reset then."),
        row("recover_zbd_write_error", Tier::Three, Kind::Switch)
            .not_yet("Recovery from write errors in zones is not translated."),
        row("write_zone_remainder", Tier::Three, Kind::Switch).not_yet("Filling the rest of a zone is not translated."),
        row("fdp", Tier::Three, Kind::Switch)
            .default("0")
            .only(PLACING)
            .not_yet("Data placement needs NVMe passthrough, which is not connected yet."),
        row("dataplacement", Tier::Three, Kind::Choice(&["none", "fdp", "streams"]))
            .or("data_placement")
            .default("none")
            .only(PLACING)
            .not_yet("Data placement needs NVMe passthrough, which is not connected yet."),
        row("plid_select", Tier::Three, Kind::Choice(&["random", "roundrobin", "scheme"]))
            .or("fdp_pli_select")
            .default("roundrobin")
            .only(PLACING)
            .not_yet("Data placement needs NVMe passthrough, which is not connected yet."),
        row("plids", Tier::Three, Kind::Text)
            .or("fdp_pli")
            .only(PLACING)
            .not_yet("Data placement needs NVMe passthrough, which is not connected yet."),
        row("dp_scheme", Tier::Three, Kind::Text)
            .only(PLACING)
            .not_yet("Data placement needs NVMe passthrough, which is not connected yet."),
    ],
};
