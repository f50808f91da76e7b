//! What a PostMark run moves, from its settings alone.
//!
//! PostMark draws everything from one Mersenne Twister that it seeds with 42, so a configuration fixes the sequence of
//! operations and every byte, on any machine. The sequence itself is [`Course`], which runs of PostMark's load take too.

use plumb_workload::Bytes;
use plumb_workload::script::Postmark;
use plumb_workload::script::postmark::Course;

pub use plumb_workload::script::postmark::Totals;

/// What can be set, with PostMark's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Smallest size of a new file, in bytes.
    pub low: u64,
    /// Largest size, in bytes; new files stay below, appended ones reach it.
    pub high: u64,
    /// Files at the start.
    pub number: u64,
    /// Transactions.
    pub transactions: u64,
    /// Seed.
    pub seed: u32,
    /// Subdirectories; 0 and 1 are the same.
    pub subdirectories: u64,
    /// Reads among ten reads and appends; −1 for neither.
    pub bias_read: i64,
    /// Creations among ten creations and deletions; −1 for neither.
    pub bias_create: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            low: 500,
            high: 10_000,
            number: 500,
            transactions: 500,
            seed: 42,
            subdirectories: 0,
            bias_read: 5,
            bias_create: 5,
        }
    }
}

/// Why a run cannot be replayed on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReplayable {
    /// PostMark divides by a tenth of the transactions.
    #[error("PostMark itself crashes with fewer than 10 transactions")]
    TooFew,
    /// A file of size 0 counts as none, and a largest size below the smallest draws nothing.
    #[error("the smallest size must be at least 1, and the largest not below it")]
    Sizes,
    /// Settings that nobody runs.
    #[error(
        "the settings are beyond what PostMark can run: at most 2^29 bytes, 4 million files, 20 million transactions"
    )]
    TooLarge,
    /// All files were deleted before the end.
    #[error("the run ends early, out of files")]
    OutOfFiles,
}

/// Replays a run on paper.
pub fn replay(settings: &Settings) -> Result<Totals, NotReplayable> {
    let Settings { low, high, number, transactions, .. } = *settings;
    if transactions < 10 {
        return Err(NotReplayable::TooFew);
    }
    if low == 0 || high < low || number == 0 {
        return Err(NotReplayable::Sizes);
    }
    if high > 1 << 29 || number > 4_000_000 || transactions > 20_000_000 {
        return Err(NotReplayable::TooLarge);
    }
    let too_large = |_| NotReplayable::TooLarge;
    let bias = |tenths: i64| (tenths != -1).then(|| tenths.clamp(0, 10) as u8);
    let run = Postmark {
        low: Bytes(low),
        high: Bytes(high),
        number: u32::try_from(number).map_err(too_large)?,
        transactions: u32::try_from(transactions).map_err(too_large)?,
        seed: settings.seed,
        subdirectories: u32::try_from(settings.subdirectories).map_err(too_large)?,
        bias_read: bias(settings.bias_read),
        bias_create: bias(settings.bias_create),
        ..Postmark::default()
    };
    if !run.is_sound() {
        return Err(NotReplayable::TooLarge);
    }
    let totals = Course::new(&run, 0).to_end();
    if totals.transactions < transactions { Err(NotReplayable::OutOfFiles) } else { Ok(totals) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: u64, high: u64, number: u64, transactions: u64) -> Settings {
        Settings { low, high, number, transactions, ..Settings::default() }
    }

    /// What PostMark 1.53 printed for the same settings: files created, read, appended, left; MiB read and written.
    #[test]
    fn totals_are_those_of_the_real_tool() {
        for (settings, counts, mib_read, mib_written) in [
            (Settings::default(), [764, 243, 257, 528], 1.36, 4.45),
            (of(1000, 100_000, 2000, 50_000), [27_272, 24_986, 24_955, 2544], 1579.51, 1717.98),
            (of(1000, 300_000, 4000, 50_000), [29_002, 25_108, 24_865, 4004], 4668.08, 5420.00),
            (of(1, 1000, 30_000, 50_000), [54_911, 24_921, 24_964, 29_822], 13.61, 31.35),
        ] {
            let totals = replay(&settings).unwrap();
            assert_eq!([totals.created, totals.read, totals.appended, totals.left], counts, "{settings:?}");
            // PostMark adds in single precision, which errs in the second decimal of large totals.
            let close = |bytes: u64, mib: f64| (bytes as f64 / (1 << 20) as f64 - mib).abs() < 0.006 + mib * 1e-4;
            assert!(close(totals.bytes_read, mib_read) && close(totals.bytes_written, mib_written), "{totals:?}");
        }
        assert_eq!(replay(&Settings::default()).unwrap().bytes_read, 1_430_770);
        assert_eq!(replay(&Settings::default()).unwrap().bytes_written, 4_662_068);
    }

    #[test]
    fn settings_that_no_run_survives_are_refused() {
        assert_eq!(replay(&of(500, 1000, 10, 9)), Err(NotReplayable::TooFew));
        assert_eq!(replay(&of(0, 1000, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&of(1000, 10, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&of(1, 1 << 30, 10, 100)), Err(NotReplayable::TooLarge));
        let only_deletions = Settings { bias_create: 0, ..of(500, 1000, 10, 100) };
        assert_eq!(replay(&only_deletions), Err(NotReplayable::OutOfFiles));
    }
}
