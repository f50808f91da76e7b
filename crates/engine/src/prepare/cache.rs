//! The page cache before a phase: emptied of the targets, with proof; or filled with them.

use super::{PrepareError, TargetFiles};
use crate::guard::space::{InMemory, MachineMemory};
use crate::guard::{IoMode, drop_page_cache};
use crate::signals::{Slept, StopFlag};
use plumb_result::Seen;
use plumb_result::observe::Residency;
use rustix::fs::Advice;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// Cold is: no more than this of the bytes resident, percent. Source: check A2.
const RESIDENT_MAX_PERCENT: u64 = 1;

/// Waits between looks, since eviction is asynchronous: pages under writeback or in another CPU's batch go later.
const PATIENCE: [Duration; 6] = [
    Duration::from_millis(0),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

const READ_BYTES: usize = 1 << 20;

/// Whether the page cache of the whole machine may be dropped, which slows everybody down for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCaches {
    /// If nothing else helps; it needs root.
    Allowed,
    /// Not even then.
    Never,
}

/// That nothing (no more than 1 %) of the targets is in the page cache, seen after eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColdProof {
    /// What was seen.
    pub residency: Residency,
    /// How often it took to evict.
    pub attempts: u32,
    /// Whether the page cache of the whole machine had to be dropped.
    pub dropped_caches: bool,
}

/// Why the targets cannot be called cold.
#[derive(Debug, Error)]
pub enum NotCold {
    /// There is nothing below the cache.
    #[error("{path} is on {kind}, which is in memory and never cold; use another path, or the cache policy `as-is`", path = path.display(), kind = kind.name())]
    InMemory {
        /// The first such file.
        path: PathBuf,
        /// The file system.
        kind: InMemory,
    },
    /// Still in the cache after all was tried.
    #[error(
        "{resident} of {total} bytes are still in the page cache after {attempts} evictions ({dirty} dirty); a program maps or reads these files{advice}",
        resident = residency.resident_bytes, total = residency.total_bytes, dirty = residency.dirty_bytes
    )]
    StillResident {
        /// What was seen last.
        residency: Residency,
        /// How often it was tried.
        attempts: u32,
        /// What else could be done.
        advice: &'static str,
    },
    /// The cache cannot be checked, so that there is no proof.
    #[error("residency in the page cache cannot be checked: {reason}; use the cache policy `direct` or `as-is`")]
    Unseen {
        /// Why.
        reason: String,
    },
    /// Writing the file out, or advising the kernel, failed.
    #[error("could not {action} {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The run is to stop.
    #[error("stopped while the page cache was being dropped")]
    Stopped,
}

/// Empties the page cache of the targets, and looks whether it is so. Dirty pages are written out first.
///
/// A file on a loop device is cached twice: its image's pages are another file's, to be evicted as such
/// ([`TargetFiles::open_read_only`]).
///
/// # Errors
/// [`NotCold`], with numbers.
pub fn evict(files: &TargetFiles, permission: DropCaches, stop: StopFlag) -> Result<ColdProof, NotCold> {
    refuse_in_memory(files)?;
    let mut residency = Residency::default();
    let mut attempts = 0;
    for wait in PATIENCE {
        if stop.sleep(wait) == Slept::Cut {
            return Err(NotCold::Stopped);
        }
        attempts += 1;
        residency = evict_once(files)?;
        if is_cold(&residency) {
            return Ok(ColdProof { residency, attempts, dropped_caches: false });
        }
    }
    let advice = match permission {
        DropCaches::Never => "; allow dropping the cache of the whole machine, or find that program (fuser, lsof)",
        DropCaches::Allowed => match drop_page_cache() {
            Ok(()) => {
                attempts += 1;
                residency = evict_once(files)?;
                if is_cold(&residency) {
                    return Ok(ColdProof { residency, attempts, dropped_caches: true });
                }
                "; dropping the whole cache did not help; find that program (fuser, lsof)"
            }
            Err(_) => "; dropping the cache of the whole machine needs root, or find that program (fuser, lsof)",
        },
    };
    Err(NotCold::StillResident { residency, attempts, advice })
}

/// Files of which nothing lies below the cache are refused.
///
/// # Errors
/// [`NotCold::InMemory`]; [`NotCold::Io`].
pub(crate) fn refuse_in_memory(files: &TargetFiles) -> Result<(), NotCold> {
    for file in files {
        let kind = InMemory::of(file).map_err(|error| NotCold::Io {
            path: file.path().to_owned(),
            action: "check the file system of",
            source: error.into(),
        })?;
        if let Some(kind) = kind {
            return Err(NotCold::InMemory { path: file.path().to_owned(), kind });
        }
    }
    Ok(())
}

fn evict_once(files: &TargetFiles) -> Result<Residency, NotCold> {
    for file in files {
        let failed = |action| {
            move |error: rustix::io::Errno| NotCold::Io { path: file.path().to_owned(), action, source: error.into() }
        };
        // Dirty pages are not dropped.
        rustix::io::retry_on_intr(|| rustix::fs::fdatasync(file)).map_err(failed("write out"))?;
        rustix::fs::fadvise(file, 0, None, Advice::DontNeed).map_err(failed("evict"))?;
    }
    match files.residency() {
        Seen::Yes(residency) => Ok(residency),
        Seen::No(reason) => Err(NotCold::Unseen { reason }),
    }
}

fn is_cold(residency: &Residency) -> bool {
    let limit = u128::from(residency.total_bytes) * u128::from(RESIDENT_MAX_PERCENT);
    u128::from(residency.resident_bytes) * 100 <= limit
}

/// What a warming reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Warmth {
    /// Read, each byte counted once, bytes.
    pub read_bytes: u64,
    /// Left out, since memory would not hold them, bytes.
    pub left_out_bytes: u64,
    /// What the cache holds now.
    pub residency: Seen<Residency>,
}

/// Warm is: at least this much of what was read stays resident, percent.
const WARM_MIN_PERCENT: u64 = 99;

/// Another reading must bring at least this much more of the targets into the cache, percent, or the cache is full.
const WARM_GAIN_PERCENT: u64 = 5;

/// Readings at most.
const WARM_READINGS: u32 = 4;

/// Reads the targets in order, as far as available memory goes. Where they do not stay (a cache that is full of what was
/// used twice gives up the newcomers first), reads them again, each part twice in a row, so that they count as used twice
/// themselves; and so on as long as that brings more of them into the cache. Source: the kernel's mm/swap.c,
/// `folio_mark_accessed`, and mm/workingset.c.
///
/// # Errors
/// [`PrepareError::Read`], [`PrepareError::Stopped`].
pub fn warm(files: &TargetFiles, stop: StopFlag) -> Result<Warmth, PrepareError> {
    let mut warmth = read_all(files, Readings::One, stop)?;
    let times = |bytes: u64, percent: u64| u128::from(bytes) * u128::from(percent);
    for _ in 1..WARM_READINGS {
        let Seen::Yes(before) = warmth.residency else { break };
        let all = before.total_bytes;
        if warmth.left_out_bytes > 0 || times(before.resident_bytes, 100) >= times(all, WARM_MIN_PERCENT) {
            break;
        }
        warmth = read_all(files, Readings::Two, stop)?;
        let Seen::Yes(after) = warmth.residency else { break };
        let gained = after.resident_bytes.saturating_sub(before.resident_bytes);
        if times(gained, 100) < times(all, WARM_GAIN_PERCENT) {
            break;
        }
    }
    Ok(warmth)
}

/// How often each part is read in a row.
#[derive(Clone, Copy)]
enum Readings {
    One = 1,
    Two = 2,
}

fn read_all(files: &TargetFiles, readings: Readings, stop: StopFlag) -> Result<Warmth, PrepareError> {
    let mut budget_bytes = MachineMemory::now().map_or(u64::MAX, |memory| memory.available_bytes);
    let mut read_bytes = 0;
    let mut buffer = vec![0; READ_BYTES];
    for file in files {
        // The target's own descriptor may be around the cache, and its read-ahead is for the phase.
        let reader = file.again(IoMode::Buffered)?;
        let end = file.length_bytes().min(budget_bytes);
        let mut offset = 0;
        while offset < end {
            if stop.requested() {
                return Err(PrepareError::Stopped { signal: stop.signal() });
            }
            let wanted = buffer.len().min((end - offset).try_into().unwrap_or(usize::MAX));
            let mut read = || (0..readings as u32).try_fold(0, |_, _| reader.read_at(&mut buffer[..wanted], offset));
            match read() {
                Ok(0) => break,
                Ok(got) => offset += got as u64,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(PrepareError::Read { path: file.path().to_owned(), source }),
            }
        }
        read_bytes += offset;
        budget_bytes -= end;
    }
    let left_out_bytes = files.total_bytes().saturating_sub(read_bytes);
    Ok(Warmth { read_bytes, left_out_bytes, residency: files.residency() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cold_is_at_most_one_percent() {
        let residency = |resident_bytes| Residency { total_bytes: 1000, resident_bytes, ..Residency::default() };
        assert!(is_cold(&residency(0)) && is_cold(&residency(10)));
        assert!(!is_cold(&residency(11)));
        assert!(is_cold(&Residency::default()), "nothing is cold");
        assert!(!is_cold(&Residency { total_bytes: u64::MAX, resident_bytes: u64::MAX, ..Residency::default() }));
    }
}
