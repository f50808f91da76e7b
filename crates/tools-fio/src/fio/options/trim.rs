//! Trims amid other work.

use super::kind::{ANY, Kind, Slots, at_most};
use super::spec::{Category, Shelf, UsageTier, row};
use super::values::OptionValues;

/// Trims amid other work.
pub(super) static SHELF: Shelf = Shelf {
    category: Category::Trim,
    options: &[
        row("trim_percentage", UsageTier::Two, Kind::Whole(Slots::One, at_most(100)))
            .default("0")
            .doc("Percentage of written blocks to trim later."),
        row("trim_verify_zero", UsageTier::Two, Kind::Switch)
            .default("1")
            .doc("Verify that trimmed blocks read as zeros."),
        row("trim_backlog", UsageTier::Two, Kind::Wide(Slots::One, ANY)).doc("Trim after N blocks have been written."),
        row("trim_backlog_batch", UsageTier::Two, Kind::Whole(Slots::One, ANY))
            .doc("Number of blocks to trim at a time."),
    ],
};

/// Trims amid other work.
#[derive(Debug, Clone, PartialEq)]
pub struct TrimOptions {
    /// Percentage of written blocks to trim later.
    pub percentage: u32,
    /// Verify that trimmed blocks read as zeros.
    pub verify_zero: bool,
    /// Trim after N blocks have been written.
    pub backlog: Option<u64>,
    /// Trim this many at a time.
    pub backlog_batch: Option<u32>,
}

impl TrimOptions {
    pub(in crate::fio) fn of(values: &OptionValues) -> TrimOptions {
        TrimOptions {
            percentage: values.count("trim_percentage"),
            verify_zero: values.switch("trim_verify_zero"),
            backlog: values.wide_unless_zero("trim_backlog"),
            backlog_batch: values.count_unless_zero("trim_backlog_batch"),
        }
    }
}
