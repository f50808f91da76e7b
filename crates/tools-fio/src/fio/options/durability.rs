//! Flushes and synchronous writes.

use super::keywords::words;
use super::row::{options, row};
use super::spec::UsageTier::{One, Three, Two};
use crate::fio::value::choice::SyncRange;
use crate::fio::value::kind::ANY;
use crate::fio::value::syntax::{Count, SWITCH, SYNC_RANGE, Word, choice};
use crate::fio::value::{Maybe, UnlessZero};
use plumb_workload::files::OpenMode;

options! {
    /// Flushes.
    pub struct DurabilityOptions {
        /// Call fsync after every N writes.
        fsync: Option<u32> = row("fsync", One, UnlessZero(Count(ANY))).default("0");
        /// Call fdatasync after every N writes.
        fdatasync: Option<u32> = row("fdatasync", One, UnlessZero(Count(ANY))).default("0");
        /// Call sync_file_range with these flags after every N writes.
        sync_file_range: Option<SyncRange> = row("sync_file_range", Two, Maybe(SYNC_RANGE));
        _ = row("write_barrier", Three, Count(ANY))
            .default("0")
            .ignored("fio sets a flag on these writes that none of its engines reads; use fsync to flush.");
        /// Open files with O_SYNC or O_DSYNC.
        sync: OpenMode = row("sync", One, choice::<OpenMode>()).default("none");
        /// Call fsync on the files at the end of the job.
        end_fsync: bool = row("end_fsync", One, SWITCH).default("0");
        /// Call fsync whenever a file is closed.
        fsync_on_close: bool = row("fsync_on_close", Two, SWITCH).default("0");
        /// Call syncfs at the end of the job.
        end_syncfs: bool = row("end_syncfs", Two, SWITCH).default("0");
    }
}

words! {
    for OpenMode:
    Plain = "none" | "0",
    Sync = "sync" | "1",
    Dsync = "dsync",
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
            Category::Durability,
            &[
                ("fsync=7", |job| job.durability.fsync == Some(7)),
                ("fdatasync=7", |job| job.durability.fdatasync == Some(7)),
                ("sync_file_range=write:8", |job| {
                    job.durability.sync_file_range.is_some_and(|range| range.write && range.every == 8)
                }),
                ("sync=dsync", |job| job.durability.sync == OpenMode::Dsync),
                ("end_fsync=1", |job| job.durability.end_fsync),
                ("fsync_on_close=1", |job| job.durability.fsync_on_close),
                ("end_syncfs=1", |job| job.durability.end_syncfs),
            ],
        );
    }
}
