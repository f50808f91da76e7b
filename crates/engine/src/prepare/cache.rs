//! Page cache state before a phase: evicts the targets and proves it, or reads them into the cache.

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

/// A target counts as cold if at most this percentage of its bytes is resident. Source: check A2.
const RESIDENT_MAX_PERCENT: u64 = 1;

/// Waits between residency checks. Eviction is asynchronous: pages under writeback or
/// in another CPU's batch leave later.
const EVICTION_WAITS: [Duration; 6] = [
    Duration::from_millis(0),
    Duration::from_millis(20),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

const READ_BYTES: usize = 1 << 20;

/// Whether the page cache of the whole machine may be dropped. Dropping it slows down every process for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropCaches {
    /// As a last resort; requires root.
    Allowed,
    Never,
}

/// Proof that at most 1 % of the targets was in the page cache after eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColdProof {
    pub residency: Residency,
    /// Number of eviction attempts.
    pub attempts: u32,
    /// Whether the page cache of the whole machine had to be dropped.
    pub dropped_caches: bool,
}

/// Reason why the targets cannot be called cold.
#[derive(Debug, Error)]
pub enum NotCold {
    /// The file system keeps its files in memory, so no device is below the cache.
    #[error("{path} is on {kind}, which is in memory and never cold; use another path, or the cache policy `as-is`", path = path.display(), kind = kind.name())]
    InMemory {
        /// First such file.
        path: PathBuf,
        kind: InMemory,
    },
    /// Pages stayed in the cache after all attempts.
    #[error(
        "{resident} of {total} bytes are still in the page cache after {attempts} evictions ({dirty} dirty); \
         a program probably maps or reads these files{advice}",
        resident = residency.resident_bytes, total = residency.total_bytes, dirty = residency.dirty_bytes
    )]
    StillResident {
        /// Residency after the last attempt.
        residency: Residency,
        attempts: u32,
        /// Remaining options for the user, with a leading separator.
        advice: &'static str,
    },
    /// Residency cannot be checked, so there is no proof.
    #[error("residency in the page cache cannot be checked: {reason}; use the cache policy `direct` or `as-is`")]
    Unseen { reason: String },
    /// The check of the file system, the write-out of the file, or the advice to the kernel failed.
    #[error("could not {action} {path}: {source}", path = path.display())]
    Io {
        path: PathBuf,
        /// Verb phrase for the message, such as `write out`.
        action: &'static str,
        source: io::Error,
    },
    #[error("stopped while the page cache was being dropped")]
    Stopped,
}

/// Writes dirty pages of the targets out, evicts the targets from the page cache, and checks the
/// result. A file on a loop device is cached twice: the pages of its image belong to another file
/// and must be evicted separately ([`TargetFiles::open_read_only`]).
///
/// # Errors
/// [`NotCold`], with numbers.
pub fn evict(files: &TargetFiles, permission: DropCaches, stop: StopFlag) -> Result<ColdProof, NotCold> {
    refuse_in_memory(files)?;
    let mut residency = Residency::default();
    let mut attempts = 0;
    for wait in EVICTION_WAITS {
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

/// Refuses files on file systems that live in memory.
///
/// # Errors
/// [`NotCold::InMemory`]; [`NotCold::Io`].
pub(crate) fn refuse_in_memory(files: &TargetFiles) -> Result<(), NotCold> {
    for file in files {
        let kind = InMemory::detect(file).map_err(|error| NotCold::Io {
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
        // The kernel does not drop dirty pages.
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

/// Result of warming the cache.
#[derive(Debug, Clone, PartialEq)]
pub struct Warmth {
    /// Bytes read; bytes read twice count once.
    pub read_bytes: u64,
    /// Bytes not read because memory would not hold them.
    pub left_out_bytes: u64,
    /// Residency after the last pass over the targets.
    pub residency: Seen<Residency>,
}

/// Warm means that at least this percentage of the bytes read stays resident.
const WARM_MIN_PERCENT: u64 = 99;

/// Another pass must add at least this percentage of the targets to the cache; otherwise the cache is full.
const WARM_GAIN_PERCENT: u64 = 5;

/// Maximum number of passes over the targets.
const WARM_READINGS: u32 = 4;

/// Reads the targets in order, up to the available memory. A cache full of pages that were used
/// twice drops new pages first. If pages do not stay, this function reads each part twice in a row,
/// so that its pages also count as used twice. It repeats that while each pass adds pages.
/// Source: the kernel's mm/swap.c, `folio_mark_accessed`, and mm/workingset.c.
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

/// Number of times that each part is read in a row.
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
        // The target's own descriptor may bypass the cache, and its read-ahead setting belongs to the phase.
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
        assert!(is_cold(&Residency::default()), "an empty target is cold");
        assert!(!is_cold(&Residency { total_bytes: u64::MAX, resident_bytes: u64::MAX, ..Residency::default() }));
    }
}
