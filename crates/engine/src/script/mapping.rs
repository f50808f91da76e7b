//! Loads and stores through the mapping of a handle.
//!
//! An I/O error under a mapping is a SIGBUS, not an errno: it ends the worker's process.
#![allow(unsafe_code)]

use crate::backend::mmap::{MapRules, Mapping, map};
use crate::backend::{Completion, Errno, FileAccess, completion};
use plumb_workload::script::{Advice, MapStep};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// A mapping of an open file.
pub(super) struct Mapped(Mapping);

// SAFETY: the memory is the file's; whoever holds the mapping may use it from any thread.
unsafe impl Send for Mapped {}

impl Mapped {
    /// Maps a file; one that is to be written to gets the length first where it is shorter.
    pub(super) fn new(fd: &OwnedFd, step: &MapStep) -> io::Result<Mapped> {
        let length = step.length.0;
        let found = rustix::fs::fstat(fd)?.st_size as u64;
        if found < length && step.write {
            rustix::fs::ftruncate(fd, length)?;
        } else if found < length {
            // Touching a page behind the end would be a SIGBUS.
            return Err(io::Error::from_raw_os_error(libc::ENXIO));
        }
        let access = if step.write { FileAccess::ReadWrite } else { FileAccess::Read };
        let rules = MapRules { access, advice: Vec::new(), drops_pages: false };
        let mapping = map(fd.as_fd().as_raw_fd(), length, &rules)?;
        let advice = match step.advice {
            Advice::None => return Ok(Mapped(mapping)),
            Advice::Normal => libc::MADV_NORMAL,
            Advice::Random => libc::MADV_RANDOM,
            Advice::Sequential => libc::MADV_SEQUENTIAL,
            Advice::WillNeed => libc::MADV_WILLNEED,
            Advice::DontNeed => libc::MADV_DONTNEED,
        };
        // SAFETY: the mapping that was just made, in full.
        match unsafe { libc::madvise(mapping.start.cast(), mapping.bytes, advice) } {
            0 => Ok(Mapped(mapping)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Where a record lies, where all of it is mapped.
    fn at(&self, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
        let offset = offset as usize;
        match offset.checked_add(bytes) {
            // SAFETY: inside of the mapping.
            Some(end) if end <= self.0.bytes => Ok(unsafe { self.0.start.add(offset) }),
            _ => Err(Errno(libc::EFAULT)),
        }
    }

    pub(super) fn load(&self, offset: u64, memory: &mut [u8]) -> Completion {
        let start = self.at(offset, memory.len())?;
        // SAFETY: the range is mapped, and `memory` is not.
        unsafe { std::ptr::copy_nonoverlapping(start, memory.as_mut_ptr(), memory.len()) };
        std::hint::black_box(memory.as_ptr());
        Ok(memory.len() as u64)
    }

    /// The mapping must be one for stores.
    pub(super) fn store(&self, offset: u64, memory: &[u8]) -> Completion {
        let start = self.at(offset, memory.len())?;
        // SAFETY: the range is mapped for stores, and `memory` is not of it.
        unsafe { std::ptr::copy_nonoverlapping(memory.as_ptr(), start, memory.len()) };
        Ok(memory.len() as u64)
    }

    /// `msync` of one record.
    pub(super) fn sync(&self, offset: u64, bytes: u64, flags: i32) -> Result<(), Errno> {
        // The call wants whole pages.
        let first = offset / PAGE_BYTES * PAGE_BYTES;
        let bytes = (offset + bytes - first) as usize;
        let start = self.at(first, bytes)?;
        // SAFETY: a mapped range that begins at a page.
        completion(unsafe { libc::msync(start.cast(), bytes, flags) } as isize).map(drop)
    }

    /// `msync` of all of it, waited for.
    pub(super) fn sync_all(&self) -> Completion {
        // SAFETY: the whole mapping, as it was made.
        completion(unsafe { libc::msync(self.0.start.cast(), self.0.bytes, libc::MS_SYNC) } as isize)
    }
}

/// Good for every page size up to this one.
const PAGE_BYTES: u64 = 64 << 10;
