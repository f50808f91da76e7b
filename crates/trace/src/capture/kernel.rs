//! Memory shared between the kernel's programs and this process, and system calls.
//! `unsafe` because they take addresses.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// The value of a one-entry kernel map, mapped into this process.
pub(super) struct SharedTables {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: on this side the memory belongs to this value alone, and all accesses are atomic.
unsafe impl Send for SharedTables {}

impl SharedTables {
    /// Maps the value; `bytes` is its size.
    ///
    /// # Errors
    /// Returns the system's error if the map is smaller or cannot be mapped.
    pub(super) fn new(map: impl AsFd, bytes: usize) -> io::Result<SharedTables> {
        let (access, map) = (libc::PROT_READ | libc::PROT_WRITE, map.as_fd().as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. The kernel refuses one that
        // is larger than the value.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, map, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(SharedTables { start: start.cast(), bytes })
    }

    /// Sets the byte at this position.
    ///
    /// # Panics
    /// Panics if the position is outside the tables.
    pub(super) fn set(&self, at: usize, value: u8) {
        assert!(at < self.bytes, "byte {at} of tables of {} bytes", self.bytes);
        // SAFETY: within the mapping; programs and this process change single bytes.
        unsafe { &*self.start.add(at).cast::<AtomicU8>() }.store(value, Ordering::Relaxed);
    }

    /// Returns the 64-bit word at this position.
    ///
    /// # Panics
    /// Panics if the position is outside the tables or not a multiple of eight.
    pub(super) fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= self.bytes, "word at {at} of tables of {} bytes", self.bytes);
        // SAFETY: within the mapping, which begins at a page and lives as long as this value.
        unsafe { &*self.start.add(at).cast::<AtomicU64>() }
    }
}

impl Drop for SharedTables {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Moves the calling thread into its own copy of the process's mount namespace.
pub(super) fn leave_mount_namespace() -> io::Result<()> {
    // SAFETY: no pointers; other threads keep their namespace, and this thread's descriptors stay shared.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Makes `calls` reads of zero bytes with a recorded call, in several rounds. Returns the ns per call of the fastest
/// round: interference only slows calls down.
pub(super) fn idle_calls_ns(file: &std::fs::File, calls: u32, rounds: u32) -> f64 {
    let round = |_| {
        let begun = std::time::Instant::now();
        let mut byte = [0_u8];
        for _ in 0..calls {
            // SAFETY: the buffer has a byte, and zero bytes are requested.
            unsafe { libc::pread(file.as_raw_fd(), byte.as_mut_ptr().cast(), 0, 0) };
        }
        begun.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}
