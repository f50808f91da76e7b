//! The tests to run.

use super::{Given, IozoneSettings, Seen};
use crate::iozone::IozoneUsageError;
use crate::iozone::pass::Test;

#[derive(Debug, Clone, PartialEq)]
pub struct TestSelection {
    /// Whether only the tests of `include` run.
    pub selects: bool,
    /// `-i`: the named tests.
    pub include: Vec<Test>,
    /// `-E`: whether the extension tests run.
    pub extended: bool,
    /// `-A`: whether the table is limited to writes and reads, in spite of `-i`.
    pub only_writes_and_reads: bool,
    /// `-+n`: whether rewrites and rereads are left out.
    pub no_retest: bool,
}

/// Handles an option about tests; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    match given.name {
        "E" => settings.tests.extended = true,
        "i" => {
            settings.tests.selects = true;
            match (given.number().max(0), settings.strict) {
                (number @ 0..=10, _) => settings.tests.include.push(Test::ALL[number as usize]),
                // Debian's binary lacks the calls for it and does nothing.
                (11, _) => seen.missing.push("-i 11 (pwritev)"),
                (_, false) => seen.missing.push("-i 12 (preadv) and above"),
                (_, true) => {
                    settings.messages.line("Selected test not available on the version.");
                    settings.tests.include.push(Test::Write);
                }
            }
        }
        "+n" => {
            settings.messages.line("No retest option selected");
            settings.tests.no_retest = true;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
