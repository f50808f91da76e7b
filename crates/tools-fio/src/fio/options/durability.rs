//! When data is made to last.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::choice::SyncRange;
use plumb_workload::files::OpenMode;

/// When data is made to last.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Durability,
    options: &[
        row("fsync", UsageTier::One, Kind::Whole(Slots::One, ANY)).default("0").doc("Call fsync after every N writes."),
        row("fdatasync", UsageTier::One, Kind::Whole(Slots::One, ANY))
            .default("0")
            .doc("Call fdatasync after every N writes."),
        row("sync_file_range", UsageTier::Two, Kind::Special(Special::SyncRange))
            .doc("Call sync_file_range with these flags after every N writes."),
        row("write_barrier", UsageTier::Three, Kind::Whole(Slots::One, ANY))
            .default("0")
            .ignored("fio sets a flag on these writes that none of its engines reads; use fsync to flush."),
        row("sync", UsageTier::One, Kind::Choice(OpenMode::WORDS))
            .default("none")
            .doc("Open files with O_SYNC or O_DSYNC."),
        row("end_fsync", UsageTier::One, Kind::Switch)
            .default("0")
            .doc("Call fsync on the files at the end of the job."),
        row("fsync_on_close", UsageTier::Two, Kind::Switch).default("0").doc("Call fsync whenever a file is closed."),
        row("end_syncfs", UsageTier::Two, Kind::Switch).default("0").doc("Call syncfs at the end of the job."),
    ],
};

/// When data is made to last.
#[derive(Debug, Clone, PartialEq)]
pub struct DurabilityOptions {
    /// fsync after every N writes.
    pub fsync: Option<u32>,
    /// fdatasync after every N writes.
    pub fdatasync: Option<u32>,
    /// sync_file_range after every N writes.
    pub sync_file_range: Option<SyncRange>,
    /// With which flags files are opened.
    pub sync: OpenMode,
    /// Sync files in the end.
    pub end_fsync: bool,
    /// Sync whenever a file is closed.
    pub fsync_on_close: bool,
    /// Sync the file system in the end.
    pub end_syncfs: bool,
}

impl DurabilityOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> DurabilityOptions {
        DurabilityOptions {
            fsync: values.count_unless_zero("fsync"),
            fdatasync: values.count_unless_zero("fdatasync"),
            sync_file_range: values.sync_range("sync_file_range"),
            sync: OpenMode::of(values),
            end_fsync: values.switch("end_fsync"),
            fsync_on_close: values.switch("fsync_on_close"),
            end_syncfs: values.switch("end_syncfs"),
        }
    }
}

words! {
    for OpenMode, "sync":
    Plain = "none" | "0",
    Sync = "sync" | "1",
    Dsync = "dsync",
}
