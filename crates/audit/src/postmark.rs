//! Computes what a PostMark run transfers, from its settings alone.
//!
//! PostMark draws everything from one Mersenne Twister that it seeds with 42. So a configuration fixes the sequence of
//! operations and every byte, on any machine. [`PostmarkDraws`] is that sequence; runs of PostMark's load use it, too.

use plumb_tools_classic::postmark::{PostmarkSettings, run_of};
use plumb_workload::program::postmark::PostmarkDraws;

pub(crate) use plumb_workload::program::postmark::Totals;

/// Reason why a run cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReplayable {
    /// PostMark divides by a tenth of the transactions.
    #[error("PostMark itself crashes with fewer than 10 transactions")]
    TooFew,
    /// A file of size 0 counts as missing, and a largest size below the smallest draws nothing.
    #[error("the smallest size must be at least 1, and the largest not below it")]
    Sizes,
    /// Settings beyond any real run.
    #[error(
        "the settings are beyond what PostMark can run: at most 2^29 bytes, 4 million files, 20 million transactions"
    )]
    TooLarge,
    /// All files were deleted before the end.
    #[error("the run ends early, out of files")]
    OutOfFiles,
}

/// Computes the totals of a run.
pub(crate) fn replay(settings: &PostmarkSettings) -> Result<Totals, NotReplayable> {
    const SIZE_MAX_BYTES: u32 = 1 << 29;
    const FILES_MAX: u32 = 4_000_000;
    const TRANSACTIONS_MAX: u32 = 20_000_000;
    let PostmarkSettings { low, high, number, transactions, .. } = *settings;
    if transactions < 10 {
        return Err(NotReplayable::TooFew);
    }
    if low == 0 || high < low || number == 0 {
        return Err(NotReplayable::Sizes);
    }
    let run = run_of(settings);
    if high > SIZE_MAX_BYTES || number > FILES_MAX || transactions > TRANSACTIONS_MAX || !run.is_sound() {
        return Err(NotReplayable::TooLarge);
    }
    let totals = PostmarkDraws::new(&run, 0).to_end();
    if totals.transactions < transactions.into() { Err(NotReplayable::OutOfFiles) } else { Ok(totals) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(low: u32, high: u32, number: u32, transactions: u32) -> PostmarkSettings {
        PostmarkSettings { low, high, number, transactions, ..PostmarkSettings::default() }
    }

    /// Output of PostMark 1.53 for the same settings: files created, read, appended, left; MiB read and written.
    #[test]
    fn totals_are_those_of_the_real_tool() {
        for (settings, counts, mib_read, mib_written) in [
            (PostmarkSettings::default(), [764, 243, 257, 528], 1.36, 4.45),
            (settings(1000, 100_000, 2000, 50_000), [27_272, 24_986, 24_955, 2544], 1579.51, 1717.98),
            (settings(1000, 300_000, 4000, 50_000), [29_002, 25_108, 24_865, 4004], 4668.08, 5420.00),
            (settings(1, 1000, 30_000, 50_000), [54_911, 24_921, 24_964, 29_822], 13.61, 31.35),
        ] {
            let totals = replay(&settings).unwrap();
            assert_eq!([totals.created, totals.read, totals.appended, totals.left], counts, "{settings:?}");
            // PostMark adds in single precision, with errors in the second decimal of large totals.
            let close = |bytes: u64, mib: f64| (bytes as f64 / (1 << 20) as f64 - mib).abs() < 0.006 + mib * 1e-4;
            assert!(close(totals.bytes_read, mib_read) && close(totals.bytes_written, mib_written), "{totals:?}");
        }
        assert_eq!(replay(&PostmarkSettings::default()).unwrap().bytes_read, 1_430_770);
        assert_eq!(replay(&PostmarkSettings::default()).unwrap().bytes_written, 4_662_068);
    }

    #[test]
    fn settings_that_no_run_survives_are_refused() {
        assert_eq!(replay(&settings(500, 1000, 10, 9)), Err(NotReplayable::TooFew));
        assert_eq!(replay(&settings(0, 1000, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&settings(1000, 10, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&settings(1, 1 << 30, 10, 100)), Err(NotReplayable::TooLarge));
        let only_deletions = PostmarkSettings { bias_create: 0, ..settings(500, 1000, 10, 100) };
        assert_eq!(replay(&only_deletions), Err(NotReplayable::OutOfFiles));
    }
}
