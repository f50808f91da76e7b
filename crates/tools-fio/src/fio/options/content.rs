//! Contents of the written buffers.

use super::keywords::words;
use super::row::{Row, options, row};
use super::spec::UsageTier::{One, Two};
use crate::fio::value::Maybe;
use crate::fio::value::kind::{ANY, at_most};
use crate::fio::value::pattern::Piece;
use crate::fio::value::syntax::{Count, FLAG, PATTERN, Plain, SWITCH, Word, choice};
use plumb_workload::content::DedupeMode;

// Rows that other modules use.
pub(in crate::fio) const ZERO_BUFFERS: Row<Plain<bool>> = row("zero_buffers", Two, FLAG);

pub(in crate::fio) const REFILL_BUFFERS: Row<Plain<bool>> = row("refill_buffers", One, FLAG);

pub(in crate::fio) const SCRAMBLE_BUFFERS: Row<Plain<bool>> = row("scramble_buffers", Two, SWITCH).default("1");

options! {
    /// Contents of the buffers.
    pub struct ContentOptions {
        /// Write zeros.
        zero: bool = ZERO_BUFFERS;
        /// Generate new random data for every write.
        refill: bool = REFILL_BUFFERS;
        /// Change a few bytes of each buffer, so that no two writes are identical.
        scramble: bool = SCRAMBLE_BUFFERS;
        /// Pattern to fill buffers with.
        pattern: Vec<Piece> = row("buffer_pattern", Two, PATTERN);
        /// Target compressibility of the buffers, in percent.
        compress_percentage: Option<u32> = row("buffer_compress_percentage", Two, Maybe(Count(at_most(100))));
        /// Granularity of buffer_compress_percentage, in bytes.
        compress_chunk_bytes: u32 = row("buffer_compress_chunk", Two, Count(ANY)).default("512");
        /// Percentage of duplicate buffers.
        dedupe_percentage: Option<u32> = row("dedupe_percentage", Two, Maybe(Count(at_most(100))));
        /// Source of duplicates: the previous buffer, or a working set.
        dedupe_mode: DedupeMode = row("dedupe_mode", Two, choice::<DedupeMode>()).default("repeat");
        /// Size of that working set, as a percentage of the job's size.
        dedupe_working_set_percentage: u32 = row("dedupe_working_set_percentage", Two, Count(at_most(100))).default("5");
        /// Share the working set between all jobs.
        dedupe_global: bool = row("dedupe_global", Two, SWITCH).default("0");
    }
}

words! {
    for DedupeMode:
    Repeat = "repeat",
    WorkingSet = "working_set",
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
            Category::Content,
            &[
                ("zero_buffers", |job| job.content.zero),
                ("refill_buffers", |job| job.content.refill),
                ("scramble_buffers=0", |job| !job.content.scramble),
                ("buffer_pattern=0xff", |job| job.content.pattern == [Piece::Bytes(vec![0xff])]),
                ("buffer_compress_percentage=7", |job| job.content.compress_percentage == Some(7)),
                ("buffer_compress_chunk=7", |job| job.content.compress_chunk_bytes == 7),
                ("dedupe_percentage=7", |job| job.content.dedupe_percentage == Some(7)),
                ("dedupe_mode=working_set", |job| job.content.dedupe_mode == DedupeMode::WorkingSet),
                ("dedupe_working_set_percentage=7", |job| job.content.dedupe_working_set_percentage == 7),
                ("dedupe_global=1", |job| job.content.dedupe_global),
            ],
        );
    }
}
