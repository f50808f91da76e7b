//! What is written.

use super::kind::{ANY, Kind, Slots, Special, at_most};
use super::{Category, Shelf, Tier, row};

/// What is written.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Content,
    options: &[
        row("zero_buffers", Tier::Two, Kind::Flag).doc("Write zeros."),
        row("refill_buffers", Tier::One, Kind::Flag).doc("Draw new random data for every write."),
        row("scramble_buffers", Tier::Two, Kind::Switch)
            .default("1")
            .doc("Change a little of each buffer, so that no two are alike."),
        row("buffer_pattern", Tier::Two, Kind::Special(Special::Pattern)).doc("Write this pattern."),
        row("buffer_compress_percentage", Tier::Two, Kind::Whole(Slots::One, at_most(100)))
            .doc("Per cent by which each buffer can be compressed."),
        row("buffer_compress_chunk", Tier::Two, Kind::Whole(Slots::One, ANY))
            .default("512")
            .doc("Bytes within which that per cent is kept."),
        row("dedupe_percentage", Tier::Two, Kind::Whole(Slots::One, at_most(100)))
            .doc("Per cent of buffers that repeat earlier ones."),
        row("dedupe_mode", Tier::Two, Kind::Choice(&["repeat", "working_set"]))
            .default("repeat")
            .doc("Repeat the last buffer, or one of a set."),
        row("dedupe_working_set_percentage", Tier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("5")
            .doc("Size of that set, in per cent of the job."),
        row("dedupe_global", Tier::Two, Kind::Switch).default("0").doc("Share that set among all jobs."),
    ],
};
