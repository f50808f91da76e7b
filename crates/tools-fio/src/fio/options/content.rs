//! What is written.

use super::keywords::{Word, words};
use super::kind::{ANY, Kind, Slots, Special, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;
use crate::fio::value::pattern::Piece;
use plumb_workload::content::DedupeMode;

/// What is written.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Content,
    options: &[
        row("zero_buffers", UsageTier::Two, Kind::Flag).doc("Write zeros."),
        row("refill_buffers", UsageTier::One, Kind::Flag).doc("Generate new random data for every write."),
        row("scramble_buffers", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("Change a few bytes of each buffer, so that no two writes are identical."),
        row("buffer_pattern", UsageTier::Two, Kind::Special(Special::Pattern)).doc("Pattern to fill buffers with."),
        row("buffer_compress_percentage", UsageTier::Two, Kind::Whole(Slots::One, at_most(100)))
            .doc("Target compressibility of the buffers, in percent."),
        row("buffer_compress_chunk", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .default("512")
            .doc("Granularity of buffer_compress_percentage, in bytes."),
        row("dedupe_percentage", UsageTier::Two, Kind::Whole(Slots::One, at_most(100)))
            .doc("Percentage of duplicate buffers."),
        row("dedupe_mode", UsageTier::Two, Kind::Choice(DedupeMode::WORDS))
            .default("repeat")
            .doc("Source of duplicates: the previous buffer, or a working set."),
        row("dedupe_working_set_percentage", UsageTier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("5")
            .doc("Size of that working set, as a percentage of the job's size."),
        row("dedupe_global", UsageTier::Two, Kind::Switch).default("0").doc("Share the working set between all jobs."),
    ],
};

/// What is written.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentOptions {
    /// Zeros.
    pub zero: bool,
    /// New random data for every write.
    pub refill: bool,
    /// A little change in each buffer.
    pub scramble: bool,
    /// This pattern; empty if none is given.
    pub pattern: Vec<Piece>,
    /// Percent each buffer can be compressed by.
    pub compress_percentage: Option<u32>,
    /// Within this many bytes.
    pub compress_chunk_bytes: u32,
    /// Percentage of buffers that repeat.
    pub dedupe_percentage: Option<u32>,
    /// Which ones.
    pub dedupe_mode: DedupeMode,
    /// Size of the set, in percent of the job.
    pub dedupe_working_set_percentage: u32,
    /// Share the set among all jobs.
    pub dedupe_global: bool,
}

impl ContentOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> ContentOptions {
        ContentOptions {
            zero: values.switch("zero_buffers"),
            refill: values.switch("refill_buffers"),
            scramble: values.switch("scramble_buffers"),
            pattern: values.pattern("buffer_pattern").unwrap_or_default(),
            compress_percentage: values.maybe_count("buffer_compress_percentage"),
            compress_chunk_bytes: values.count("buffer_compress_chunk"),
            dedupe_percentage: values.maybe_count("dedupe_percentage"),
            dedupe_mode: DedupeMode::of(values),
            dedupe_working_set_percentage: values.count("dedupe_working_set_percentage"),
            dedupe_global: values.switch("dedupe_global"),
        }
    }
}

words! {
    for DedupeMode, "dedupe_mode":
    Repeat = "repeat",
    WorkingSet = "working_set",
}
