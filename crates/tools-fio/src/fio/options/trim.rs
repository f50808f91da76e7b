//! Trims amid other work.

use super::row::{options, row};
use super::spec::UsageTier::Two;
use crate::fio::value::UnlessZero;
use crate::fio::value::kind::{ANY, at_most};
use crate::fio::value::syntax::{Count, SWITCH, Wide};

options! {
    /// Trims amid other work.
    pub struct TrimOptions {
        /// Percentage of written blocks to trim later.
        percentage: u32 = row("trim_percentage", Two, Count(at_most(100))).default("0");
        /// Verify that trimmed blocks read as zeros.
        verify_zero: bool = row("trim_verify_zero", Two, SWITCH).default("1");
        /// Trim after N blocks have been written.
        backlog: Option<u64> = row("trim_backlog", Two, UnlessZero(Wide(ANY)));
        /// Number of blocks to trim at a time.
        backlog_batch: Option<u32> = row("trim_backlog_batch", Two, UnlessZero(Count(ANY)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::tests::assert_each_sets;

    // Protects: each option sets its own field to the value of its text.
    #[test]
    fn each_option_sets_its_field() {
        assert_each_sets(
            Category::Trim,
            &[
                ("trim_percentage=7", |job| job.trim.percentage == 7),
                ("trim_verify_zero=0", |job| !job.trim.verify_zero),
                ("trim_backlog=7k", |job| job.trim.backlog == Some(7 << 10)),
                ("trim_backlog_batch=7", |job| job.trim.backlog_batch == Some(7)),
            ],
        );
    }
}
