//! Trims amid other work.

use super::kind::{ANY, Kind, Slots, at_most};
use super::{Category, Shelf, Tier, row};

/// Trims amid other work.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Trim,
    options: &[
        row("trim_percentage", Tier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("0")
            .doc("Per cent of written blocks that are trimmed later."),
        row("trim_verify_zero", Tier::Two, Kind::Switch).default("1").doc("Expect zeros where a block was trimmed."),
        row("trim_backlog", Tier::Two, Kind::Wide(Slots::One, ANY)).doc("Trim after so many written blocks."),
        row("trim_backlog_batch", Tier::Two, Kind::Whole(Slots::One, ANY)).doc("Trim so many blocks at a time."),
    ],
};
