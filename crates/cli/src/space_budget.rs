//! Limits of test data and of the length of runs. Test data takes at most a tenth of the free space. If a tenth is too
//! little to measure with, a size that the user gives may take up to half of it.

use crate::exit::Stopped;
use crate::ranks;
use crate::session;
use plumb_bench::Place;
use plumb_report::format;
use plumb_workload::sim::SimModel;
use plumb_workload::{Bytes, FileTarget, Nanos, Size, Target};
use std::path::Path;

/// Largest share of the free space that test data takes.
const FREE_SHARE: f64 = 0.10;

/// Smallest budget for test data; less is not worth measuring.
const LEAST_BYTES: u64 = 16 << 20;

/// Largest share on a small file system, if the user gives a size.
const FREE_SHARE_ASKED: f64 = 0.50;

/// Smallest budget for a size that the user gives.
const LEAST_BYTES_ASKED: u64 = 8 << 20;

/// Size that the error message suggests if a tenth of the free space is too little.
const SMALL_FILE_ASKED: &str = "8MiB";

/// Unit of sizes: whole MiB.
const BLOCK_BYTES: u64 = 1 << 20;

/// Allocation unit of most file systems.
const PAGE_BYTES: u64 = 4096;

/// Number of files of a file set, given enough room.
const FILES: u64 = 4000;

/// Space of a small file on disk: 16 KiB on average, rounded up to blocks, with its inode.
const SMALL_FILE_BYTES: u64 = 20 << 10;

/// Space of a file that is appended to, as a mail server does.
const GROWING_FILE_BYTES: u64 = 40 << 10;

/// Divisor of the size of the test file; the log takes this part of it.
const LOG_PARTS: u64 = 16;

/// Default size of the test file of each run, for commands that make many runs.
pub const FILE_BYTES: Bytes = Bytes(256 << 20);

/// Returns the length of a timed phase on simulated devices. It costs almost no real time, and is enough for the
/// thousand ops that a p99 needs.
pub fn virtual_time<'a>(mut places: impl Iterator<Item = &'a Place>) -> Nanos {
    let is_slow = |place: &Place| matches!(place, Place::Sim(device) if device.model == SimModel::Hdd);
    Nanos(if places.any(is_slow) { 20_000_000_000 } else { 2_000_000_000 })
}

/// Shortest phase in which a disk completes any ops.
const SHORTEST_TIME: Nanos = Nanos(10_000_000);

/// Refuses lengths and sizes that are too small to measure anything.
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

/// Source of the size of the test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSize {
    /// Set by a command that has no option for it.
    Fixed,
    /// The command's default, without `--size`.
    Usual,
    /// Given by the user with `--size`.
    Named,
}

impl FileSize {
    /// Returns `Named` if `--size` was given.
    pub fn from_option(size: Option<Bytes>) -> FileSize {
        if size.is_some() { FileSize::Named } else { FileSize::Usual }
    }
}

/// Most bytes that may be written at a time: the smallest limit of all places.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpaceBudget {
    most_bytes: u64,
    /// Share of the free space.
    share: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSizes {
    /// Bytes of the large file.
    pub file_bytes: u64,
    pub files: u64,
}

impl SpaceBudget {
    /// For places where nothing is written.
    pub const UNLIMITED: SpaceBudget = SpaceBudget { most_bytes: u64::MAX, share: 1.0 };

    /// Returns the limit for a directory.
    pub fn under(base: &Path, asked: FileSize) -> Result<SpaceBudget, Stopped> {
        let free = match ranks::led() {
            Some(hosts) => hosts.free_for_each(session::stop_flag()?, base)?,
            None => plumb_bench::place::free_bytes(base).map_err(|reason| {
                Stopped::io(format!("cannot see how much is free on {}: {reason}", base.display()))
            })?,
        };
        SpaceBudget::of_free(free, asked).ok_or_else(|| Stopped::usage(too_little(base, free, asked)))
    }

    /// Returns `None` if too little is free.
    fn of_free(free: u64, asked: FileSize) -> Option<SpaceBudget> {
        let share = |share: f64| (free as f64 * share) as u64;
        let usual = share(FREE_SHARE);
        if usual >= LEAST_BYTES {
            return Some(SpaceBudget { most_bytes: usual, share: FREE_SHARE });
        }
        let small = share(FREE_SHARE_ASKED);
        (asked == FileSize::Named && small >= LEAST_BYTES_ASKED)
            .then_some(SpaceBudget { most_bytes: small, share: FREE_SHARE_ASKED })
    }

    /// Returns the smaller of two limits.
    pub fn and(self, other: SpaceBudget) -> SpaceBudget {
        if other.most_bytes < self.most_bytes { other } else { self }
    }

    /// Returns the share of the free space that may be written, such as `10 %`.
    pub fn share(self) -> String {
        format!("{:.0} %", self.share * 100.0)
    }

    /// Returns the bytes that may be written at a time.
    pub fn most_bytes(self) -> u64 {
        self.most_bytes
    }

    /// Returns sizes for a file, its log and a file set at the same time, as in the survey.
    pub fn together(self, wanted: Bytes) -> DataSizes {
        let files = FILES.min(self.most_bytes / 4 / SMALL_FILE_BYTES);
        DataSizes { file_bytes: self.file_bytes(wanted, files * SMALL_FILE_BYTES), files }
    }

    /// Returns sizes for either a file with its log or a file set, as in one named workload.
    pub fn one_at_a_time(self, wanted: Bytes) -> DataSizes {
        DataSizes { file_bytes: self.file_bytes(wanted, 0), files: FILES.min(self.most_bytes / GROWING_FILE_BYTES) }
    }

    fn file_bytes(self, Bytes(wanted): Bytes, taken_bytes: u64) -> u64 {
        let most = (self.most_bytes - taken_bytes) / (LOG_PARTS + 1) * LOG_PARTS;
        (wanted.min(most) / BLOCK_BYTES).max(1) * BLOCK_BYTES
    }
}

impl DataSizes {
    /// Space of file, log and file set together.
    pub fn together_bytes(self) -> u64 {
        self.file_bytes + self.file_bytes / LOG_PARTS + self.files * SMALL_FILE_BYTES
    }

    /// Space of the larger of file with log, and file set.
    pub fn one_at_a_time_bytes(self) -> u64 {
        (self.file_bytes + self.file_bytes / LOG_PARTS).max(self.files * GROWING_FILE_BYTES)
    }
}

/// Returns the space that a target's test data takes in a test directory; 0 for an existing target. For a file set,
/// this is the mean: each file is rounded up to a block of the usual size.
pub fn test_data_bytes(target: &Target) -> u64 {
    match target {
        Target::File(FileTarget { path, size: Some(Size::Bytes(bytes)), .. }) if path.is_relative() => bytes.0,
        Target::Files(files) => files.size.fixed().map_or(0, |size| size.0).saturating_mul(u64::from(files.count)),
        Target::Tree(tree) => tree.files.saturating_mul(tree.size.mean().0.next_multiple_of(PAGE_BYTES)),
        _ => 0,
    }
}

/// Formats the refusal, with a size that would be accepted if one exists.
fn too_little(base: &Path, free: u64, asked: FileSize) -> String {
    let way_out = match SpaceBudget::of_free(free, FileSize::Named) {
        Some(_) if asked != FileSize::Fixed => {
            format!("`--size {SMALL_FILE_ASKED}` measures in up to half of it, or name a path with more")
        }
        _ => "free some space, or name a path with at least 160 MiB free".to_owned(),
    };
    format!(
        "{} has {} free; a tenth of that is too little to measure with: {way_out}",
        base.display(),
        format::bytes_iec(free as f64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: 64 MiB file systems are measured if the user gives a size, and the refusal suggests one.
    #[test]
    fn a_small_file_system_is_measured_on_request() {
        const MIB: u64 = 1 << 20;
        let most = |free: u64, asked| SpaceBudget::of_free(free, asked).map(|budget| budget.most_bytes);
        assert_eq!(most(56 * MIB, FileSize::Usual), None);
        assert_eq!(most(56 * MIB, FileSize::Named), Some(28 * MIB));
        assert_eq!(most(400 * MIB, FileSize::Named), Some(40 * MIB), "a tenth stays the limit where it is enough");
        assert_eq!(most(15 * MIB, FileSize::Named), None);
        let sizes = SpaceBudget { most_bytes: 28 * MIB, share: 0.5 }.together(Bytes(8 * MIB));
        assert_eq!(sizes.file_bytes, 8 * MIB, "{sizes:?}");
        assert!(too_little(Path::new("/d"), 56 * MIB, FileSize::Usual).contains("--size 8MiB"));
        for (free, asked) in [(15 * MIB, FileSize::Usual), (56 * MIB, FileSize::Fixed)] {
            assert!(too_little(Path::new("/d"), free, asked).contains("free some space"));
        }
    }

    // Protects: the announced space is what the files take, also for large ones.
    #[test]
    fn a_file_set_takes_the_space_of_its_files() {
        let text = "[target.cache.tree]\npath = \"cache\"\nfiles = 96\npreallocated-percent = 50\nsize = \"16MiB\"\n[[phase]]\nname = \"a\"\nstop.time = \"1s\"\n\
            [[phase.workers]]\ntarget = \"cache\"\nwork.program.steps = [\"stat\"]\n";
        let workload = plumb_workload_text::native::parse("w.toml", &format!("name = \"w\"\n{text}")).unwrap();
        assert_eq!(test_data_bytes(&workload.target["cache"]), 96 * (16 << 20));
    }

    /// Protects the promise that test data leaves room on storage in use.
    #[test]
    fn all_test_data_together_stays_within_the_room() {
        for most_bytes in [LEAST_BYTES_ASKED, LEAST_BYTES, 30 << 20, 100 << 20, 1 << 30, 1 << 40] {
            for wanted in [1, 64 << 20, 1 << 30, u64::MAX] {
                let budget = SpaceBudget { most_bytes, share: FREE_SHARE };
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
    fn with_enough_room_the_requested_size_is_granted() {
        let small = SpaceBudget { most_bytes: 5, share: FREE_SHARE };
        let sizes = SpaceBudget::UNLIMITED.together(Bytes(1 << 30));
        assert_eq!(sizes, DataSizes { file_bytes: 1 << 30, files: FILES });
        assert_eq!(SpaceBudget::UNLIMITED.and(small), small);
    }
}
