//! How much may be written where: never more than a tenth of what is free, however much was asked for; and for how long.

use crate::exit::Stopped;
use crate::ranks;
use crate::session;
use plumb_report::format;
use plumb_study::Place;
use plumb_workload::sim::SimModel;
use plumb_workload::{Bytes, FileTarget, Nanos, Size, Target};
use std::path::Path;

/// Never more than this share of what is free.
const FREE_SHARE: f64 = 0.10;

/// With less than this, nothing is worth measuring.
const LEAST_BYTES: u64 = 16 << 20;

/// Sizes are whole MiB.
const BLOCK_BYTES: u64 = 1 << 20;

/// Files of a file set where there is room.
const FILES: u64 = 4000;

/// Space of a small file on disk: 16 KiB on average, rounded up to blocks, with its inode.
const SMALL_FILE_BYTES: u64 = 20 << 10;

/// The same where files are added to, as a mail server does.
const GROWING_FILE_BYTES: u64 = 40 << 10;

/// A test file comes with a log of a sixteenth of its size.
const LOG_PARTS: u64 = 16;

/// Size of each run's test file where there is room, for commands that make many runs.
pub const FILE_BYTES: Bytes = Bytes(256 << 20);

/// Length of a timed phase on simulated devices: it costs no time to speak of, and is enough for the thousand ops that a
/// p99 takes.
pub fn virtual_time<'a>(mut places: impl Iterator<Item = &'a Place>) -> Nanos {
    let is_slow = |place: &Place| matches!(place, Place::Sim(device) if device.model == SimModel::Hdd);
    Nanos(if places.any(is_slow) { 20_000_000_000 } else { 2_000_000_000 })
}

/// The shortest time of a phase in which a disk completes ops at all.
const SHORTEST_TIME: Nanos = Nanos(10_000_000);

/// Refuses lengths and sizes in which nothing can be measured.
pub fn check_lengths(budget: Nanos, time: Option<Nanos>, size: Option<Bytes>) -> Result<(), Stopped> {
    if budget.0 == 0 {
        return Err(Stopped::usage("--budget 0s leaves no time to measure in; give a minute or more"));
    }
    if let Some(time) = time
        && time.0 < SHORTEST_TIME.0
    {
        return Err(Stopped::usage(format!(
            "--time {time} is too short to measure anything; give a second or more, or leave it out"
        )));
    }
    if size.is_some_and(|size| size.0 == 0) {
        return Err(Stopped::usage("--size 0 leaves nothing to read or write; give 1MiB or more, or leave it out"));
    }
    Ok(())
}

/// What may be written at a time; the least of all places that were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceBudget {
    most_bytes: u64,
}

/// Sizes of test data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSizes {
    /// Of the one large file.
    pub file_bytes: u64,
    /// Number of small files.
    pub files: u64,
}

impl SpaceBudget {
    /// Nothing is written at all.
    pub const UNLIMITED: SpaceBudget = SpaceBudget { most_bytes: u64::MAX };

    /// A tenth of what is free under a directory.
    pub fn under(base: &Path) -> Result<SpaceBudget, Stopped> {
        let free = match ranks::led() {
            Some(hosts) => hosts.free_for_each(session::stop_flag()?, base)?,
            None => plumb_study::place::free_bytes(base).map_err(|reason| {
                Stopped::io(format!("cannot see how much is free on {}: {reason}", base.display()))
            })?,
        };
        let most_bytes = (free as f64 * FREE_SHARE) as u64;
        if most_bytes < LEAST_BYTES {
            return Err(Stopped::usage(format!(
                "{} has {} free; a tenth of that is too little to measure with: free some space, or name a path with at \
                 least 160 MiB free",
                base.display(),
                format::bytes_iec(free as f64)
            )));
        }
        Ok(SpaceBudget { most_bytes })
    }

    /// The smaller of two.
    pub fn and(self, other: SpaceBudget) -> SpaceBudget {
        SpaceBudget { most_bytes: self.most_bytes.min(other.most_bytes) }
    }

    /// What may be written at a time, bytes.
    pub fn most_bytes(self) -> u64 {
        self.most_bytes
    }

    /// File, log and file set beside each other, as the survey has them.
    pub fn together(self, wanted: Bytes) -> DataSizes {
        let files = FILES.min(self.most_bytes / 4 / SMALL_FILE_BYTES);
        DataSizes { file_bytes: self.file_bytes(wanted, files * SMALL_FILE_BYTES), files }
    }

    /// Either file and log, or a file set, as one named workload has them.
    pub fn one_at_a_time(self, wanted: Bytes) -> DataSizes {
        DataSizes { file_bytes: self.file_bytes(wanted, 0), files: FILES.min(self.most_bytes / GROWING_FILE_BYTES) }
    }

    fn file_bytes(self, Bytes(wanted): Bytes, taken_bytes: u64) -> u64 {
        let most = (self.most_bytes - taken_bytes) / (LOG_PARTS + 1) * LOG_PARTS;
        (wanted.min(most) / BLOCK_BYTES).max(1) * BLOCK_BYTES
    }
}

impl DataSizes {
    /// Space of file, log and file set beside each other.
    pub fn together_bytes(self) -> u64 {
        self.file_bytes + self.file_bytes / LOG_PARTS + self.files * SMALL_FILE_BYTES
    }

    /// Space of the larger of file with log and file set.
    pub fn one_at_a_time_bytes(self) -> u64 {
        (self.file_bytes + self.file_bytes / LOG_PARTS).max(self.files * GROWING_FILE_BYTES)
    }
}

/// Space that a target's test data takes below a test directory; 0 for what is there already. Of a file set it is a guess.
pub fn test_data_bytes(target: &Target) -> u64 {
    match target {
        Target::File(FileTarget { path, size: Some(Size::Bytes(bytes)), .. }) if path.is_relative() => bytes.0,
        Target::Files(files) => files.size.fixed().map_or(0, |size| size.0).saturating_mul(u64::from(files.count)),
        Target::Tree(tree) => tree.files.saturating_mul(SMALL_FILE_BYTES),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise made to who runs it on storage in use.
    #[test]
    fn all_test_data_together_stays_within_the_room() {
        for most_bytes in [LEAST_BYTES, 30 << 20, 100 << 20, 1 << 30, 1 << 40] {
            for wanted in [1, 64 << 20, 1 << 30, u64::MAX] {
                let budget = SpaceBudget { most_bytes };
                let together = budget.together(Bytes(wanted));
                let alone = budget.one_at_a_time(Bytes(wanted));
                assert!(together.together_bytes() <= most_bytes, "{most_bytes} {wanted}: {together:?}");
                assert!(alone.one_at_a_time_bytes() <= most_bytes, "{most_bytes} {wanted}: {alone:?}");
                for sizes in [together, alone] {
                    assert!(sizes.files >= 100 && sizes.file_bytes >= BLOCK_BYTES, "{sizes:?}");
                    assert!(sizes.file_bytes.is_multiple_of(BLOCK_BYTES));
                }
            }
        }
    }

    #[test]
    fn where_there_is_room_what_was_asked_for_is_had() {
        let sizes = SpaceBudget::UNLIMITED.together(Bytes(1 << 30));
        assert_eq!(sizes, DataSizes { file_bytes: 1 << 30, files: FILES });
        assert_eq!(SpaceBudget::UNLIMITED.and(SpaceBudget { most_bytes: 5 }), SpaceBudget { most_bytes: 5 });
    }
}
