//! When data is made to last.

use super::kind::{ANY, Kind, Slots, Special};
use super::{Category, Shelf, Tier, row};

/// When data is made to last.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Durability,
    options: &[
        row("fsync", Tier::One, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Call fsync after every so many writes."),
        row("fdatasync", Tier::One, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Call fdatasync after every so many writes."),
        row("sync_file_range", Tier::Two, Kind::Special(Special::SyncRange))
            .doc("Call sync_file_range after every so many writes, with these flags."),
        row("write_barrier", Tier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .ignored("fio marks these writes, and none of its engines reads the mark; say fsync for a flush."),
        row("sync", Tier::One, Kind::Choice(&["none", "0", "sync", "1", "dsync"]))
            .default("none")
            .doc("Open files with O_SYNC or O_DSYNC."),
        row("end_fsync", Tier::One, Kind::Switch).default("0").doc("Sync files at the end of the job."),
        row("fsync_on_close", Tier::Two, Kind::Switch).default("0").doc("Sync a file whenever it is closed."),
        row("end_syncfs", Tier::Two, Kind::Switch)
            .default("0")
            .doc("Sync the whole file system at the end of the job."),
    ],
};
