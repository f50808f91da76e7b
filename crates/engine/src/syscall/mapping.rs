//! Shared mappings of files, and anonymous memory: mmap(2), msync(2), madvise(2).
//!
//! An I/O error in a mapping raises SIGBUS instead of returning an errno, which kills the worker's process. Run such
//! workers as processes if the medium may fail; the coordinator reports a worker that died.
#![allow(unsafe_code)]

use crate::backend::{Completion, Errno, FileAccess, completion};
use std::io;
use std::os::fd::RawFd;

/// A shared mapping of a file from its beginning, or anonymous memory.
pub(crate) struct Mapping {
    start: *mut u8,
    bytes: usize,
    /// The kernel's page size: syncing a larger unit would write more than the record.
    page_bytes: u64,
}

// SAFETY: the memory belongs to the file or to the mapping itself; the owner of the mapping may use it from any thread.
unsafe impl Send for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `Mapping::new` with exactly this length.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

impl Mapping {
    /// Maps `length` bytes of an open file, which should be at least that long: touching a
    /// page beyond its end raises SIGBUS.
    pub(crate) fn new(fd: RawFd, length: u64, access: FileAccess) -> io::Result<Mapping> {
        let protection = match access {
            FileAccess::Read => libc::PROT_READ,
            FileAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
        };
        let bytes = length.max(1) as usize;
        // SAFETY: a new mapping of an open file at an address chosen by the kernel.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { start: start.cast(), bytes, page_bytes: rustix::param::page_size() as u64 })
    }

    /// Maps new anonymous memory, private to the process.
    pub(crate) fn anonymous(length: u64) -> io::Result<Mapping> {
        let bytes = length.max(1) as usize;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping at an address chosen by the kernel.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { start: start.cast(), bytes, page_bytes: rustix::param::page_size() as u64 })
    }

    /// Advises the kernel about the whole mapping: `MADV_` of madvise(2).
    pub(crate) fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is exactly the mapping.
        match unsafe { libc::madvise(self.start.cast(), self.bytes, advice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Advises through POSIX, which the C library may ignore: `POSIX_MADV_` of posix_madvise(3).
    pub(crate) fn advise_by_posix(&self, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: the range is exactly the mapping.
        match unsafe { libc::posix_madvise(self.start.cast(), self.bytes, advice) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Returns the address of a record; fails unless all of it is mapped.
    #[inline]
    fn at(&self, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
        let offset = offset as usize;
        match offset.checked_add(bytes) {
            // SAFETY: the offset is within the mapping.
            Some(end) if end <= self.bytes => Ok(unsafe { self.start.add(offset) }),
            _ => Err(Errno(libc::EFAULT)),
        }
    }

    /// Copies bytes out of the mapping.
    #[inline]
    pub(crate) fn load(&self, offset: u64, memory: &mut [u8]) -> Completion {
        let start = self.at(offset, memory.len())?;
        // SAFETY: the range is mapped, and `memory` does not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(start, memory.as_mut_ptr(), memory.len()) };
        std::hint::black_box(memory.as_ptr());
        Ok(memory.len() as u64)
    }

    /// Copies bytes into the mapping, which must be writable.
    #[inline]
    pub(crate) fn store(&self, offset: u64, memory: &[u8]) -> Completion {
        let start = self.at(offset, memory.len())?;
        // SAFETY: the range is mapped writable, and `memory` does not overlap it.
        unsafe { std::ptr::copy_nonoverlapping(memory.as_ptr(), start, memory.len()) };
        Ok(memory.len() as u64)
    }

    /// Expands a record to whole pages, which the system calls require.
    fn pages(&self, offset: u64, bytes: u64) -> Result<(*mut libc::c_void, usize), Errno> {
        let first = offset / self.page_bytes * self.page_bytes;
        let bytes = (offset + bytes - first) as usize;
        Ok((self.at(first, bytes)?.cast(), bytes))
    }

    pub(crate) fn sync(&self, offset: u64, bytes: u64, flags: libc::c_int) -> Result<(), Errno> {
        let (start, bytes) = self.pages(offset, bytes)?;
        // SAFETY: a mapped range that begins at a page boundary.
        completion(unsafe { libc::msync(start, bytes, flags) } as isize).map(drop)
    }

    /// Syncs the whole mapping and waits for it.
    pub(crate) fn sync_all(&self) -> Completion {
        // SAFETY: the range is exactly the mapping.
        completion(unsafe { libc::msync(self.start.cast(), self.bytes, libc::MS_SYNC) } as isize)
    }

    /// Writes back and drops the pages of one record.
    pub(crate) fn drop_pages(&self, offset: u64, bytes: u64) -> Result<(), Errno> {
        self.sync(offset, bytes, libc::MS_SYNC)?;
        let (start, bytes) = self.pages(offset, bytes)?;
        // SAFETY: a shared mapping of a file, whose pages are read from the file again.
        completion(unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) } as isize).map(drop)
    }

    /// Writes back and drops all pages of the mapping.
    pub(crate) fn drop_all_pages(&self) -> Result<(), Errno> {
        self.drop_pages(0, self.bytes as u64)
    }
}
