//! Limits on the settings of a run.

use super::Postmark;

/// Largest file size. PostMark's own numbers end here, and one call moves no more.
const BYTES_MAX: u64 = 0x7fff_f000;

/// Maximum number of files and transactions of all threads. Bounds the memory for names.
const FILES_MAX: u64 = 1 << 27;

const THREADS_MAX: u32 = 1024;

/// Maximum number of subdirectories of all locations.
const DIRECTORIES_MAX: u64 = 1 << 20;

/// An invalid setting of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsound {
    pub key: &'static str,
    pub message: String,
    /// How to fix it.
    pub help: &'static str,
}

impl Postmark {
    /// Returns `true` if all settings are valid.
    pub fn is_sound(&self) -> bool {
        self.problems().is_empty()
    }

    pub fn problems(&self) -> Vec<Unsound> {
        let mut problems = Vec::new();
        let mut unless = |holds: bool, key: &'static str, message: String, help: &'static str| {
            if !holds {
                problems.push(Unsound { key, message, help });
            }
        };
        let (low, high) = (self.low.0, self.high.0);
        unless(low > 0, "low", "an empty file would count as deleted".to_owned(), "use at least 1");
        unless(low <= high, "high", format!("{high} is less than the smallest size, {low}"), "use at least that");
        unless(
            high <= BYTES_MAX,
            "high",
            format!("{high} bytes are more than one call can move"),
            "use less than 2 GiB",
        );
        for (key, block) in [("read-block", self.read_block.0), ("write-block", self.write_block.0)] {
            unless(
                (1..=BYTES_MAX).contains(&block),
                key,
                format!("a call cannot move {block} bytes"),
                "use 1 to 2 GiB",
            );
        }
        for (key, bias) in [("bias-read", self.bias_read), ("bias-create", self.bias_create)] {
            let of_ten = bias.is_none_or(|bias| bias <= 10);
            unless(
                of_ten,
                key,
                format!("{} out of ten is too many", bias.unwrap_or(0)),
                "use 0 to 10, or leave it out",
            );
        }
        unless(self.number > 0, "number", "a run needs files".to_owned(), "use at least 1");
        unless(
            (1..=THREADS_MAX).contains(&self.threads),
            "threads",
            format!("{} threads are too many", self.threads),
            "use 1 to 1024",
        );
        let files = (2 * u64::from(self.number) + u64::from(self.transactions)).saturating_mul(self.threads.into());
        unless(
            files <= FILES_MAX,
            "number",
            format!("{files} names take too much memory"),
            "use fewer files, transactions or threads: 2^27 of them together",
        );
        let directories = u64::from(self.subdirectories).saturating_mul(self.locations.len().max(1) as u64);
        unless(
            directories <= DIRECTORIES_MAX,
            "subdirectories",
            format!("{directories} directories are too many"),
            "use fewer: 2^20 of them together",
        );
        let weights: u64 = self.locations.iter().map(|location| u64::from(location.weight)).sum();
        unless(
            self.locations.iter().all(|location| location.weight > 0) && weights <= u64::from(u32::MAX),
            "locations",
            "a location has weight 0, or the weights are too large".to_owned(),
            "use weights from 1 on",
        );
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PostmarkDraws, Totals};
    use super::*;
    use crate::units::Bytes;

    /// Protects against endless draws: an invalid run draws nothing.
    #[test]
    fn invalid_runs_are_reported_and_draw_nothing() {
        let sound = Postmark::default();
        assert_eq!(sound.problems(), []);
        for (key, run) in [
            ("low", Postmark { low: Bytes(0), ..sound.clone() }),
            ("high", Postmark { high: Bytes(100), ..sound.clone() }),
            ("high", Postmark { high: Bytes(1 << 31), ..sound.clone() }),
            ("read-block", Postmark { read_block: Bytes(0), ..sound.clone() }),
            ("bias-create", Postmark { bias_create: Some(11), ..sound.clone() }),
            ("number", Postmark { number: 0, ..sound.clone() }),
            ("number", Postmark { transactions: u32::MAX, ..sound.clone() }),
            ("threads", Postmark { threads: 0, ..sound.clone() }),
            ("subdirectories", Postmark { subdirectories: u32::MAX, ..sound.clone() }),
        ] {
            assert_eq!(run.problems().first().map(|problem| problem.key), Some(key), "{run:?}");
            assert_eq!(PostmarkDraws::new(&run, 0).to_end(), Totals::default());
            assert!(run.paths().is_empty());
        }
    }
}
