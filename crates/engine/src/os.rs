//! Linux features that other systems lack or spell differently, each in one place, so that the code above is portable.
//! On another system, a call does the same or fails with the system's "not supported". None is silently ignored.
//! Sources: the manual pages of Linux and FreeBSD named at each.
#![allow(unsafe_code)]

use rustix::fs::{FallocateFlags, OFlags};
use std::os::fd::BorrowedFd;

/// Modes of fallocate(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// Extends the file if the range ends past its end.
    Grow,
    /// Keeps the file's length.
    Keep,
    /// Frees the space of the range.
    Punch,
}

/// A range of blocks that two files exchange, at the same offset in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtentMove {
    /// First block, in units of the file system's block size.
    pub(crate) first: u64,
    pub(crate) count: u64,
}

#[cfg(target_os = "linux")]
mod here {
    use super::*;
    use rustix::io::Errno;
    use std::os::fd::AsRawFd;

    /// From the C library: the constant of rustix is `O_SYNC`, which flushes more.
    pub(crate) const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);
    pub(crate) const RSYNC: OFlags = OFlags::RSYNC;
    pub(crate) const HAS_NOATIME: bool = true;
    pub(crate) const NOATIME: OFlags = OFlags::NOATIME;
    pub(crate) const MAP_NORESERVE: libc::c_int = libc::MAP_NORESERVE;
    pub(crate) const MADV_HUGEPAGE: libc::c_int = libc::MADV_HUGEPAGE;
    pub(crate) const MADV_NOHUGEPAGE: libc::c_int = libc::MADV_NOHUGEPAGE;
    pub(crate) const MSG_MORE: libc::c_int = libc::MSG_MORE;
    pub(crate) const SETVAL: libc::c_int = libc::SETVAL;
    /// Advice for memory that only occupies RAM: exclude it from children and core dumps.
    pub(crate) const OCCUPIED: &[libc::c_int] = &[libc::MADV_DONTFORK, libc::MADV_DONTDUMP, libc::MADV_HUGEPAGE];

    /// Lets this thread's timeouts end on time instead of up to 50 µs late, when the kernel groups them.
    pub(crate) fn wake_in_time() {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    /// Returns the ID of the calling thread.
    pub(crate) fn thread_number() -> libc::pid_t {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    /// Sends a signal to a thread. Async-signal-safe. Does nothing if the thread has ended.
    pub(crate) fn signal_thread(process: libc::pid_t, thread: libc::pid_t, signal: libc::c_int) {
        // SAFETY: passes only numbers.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
    }

    /// Flushes the file system of a file. Source: syncfs(2).
    ///
    /// # Errors
    /// Those of syncfs(2).
    pub fn sync_file_system(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
        rustix::fs::syncfs(file)
    }

    /// Returns the size of this machine's memory in bytes. Source: sysinfo(2).
    pub fn ram_bytes() -> u64 {
        let info = rustix::system::sysinfo();
        u64::from(info.mem_unit) * info.totalram as u64
    }

    /// Starts to write out a range. Source: sync_file_range(2), `SYNC_FILE_RANGE_WRITE`.
    pub(crate) fn write_out(file: BorrowedFd<'_>, offset: u64, length: u64) -> rustix::io::Result<()> {
        use std::os::fd::AsRawFd;
        let (offset, length) = (offset as libc::off64_t, length as libc::off64_t);
        // SAFETY: passes no memory.
        match unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE) } {
            0 => Ok(()),
            _ => {
                Err(rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::IO))
            }
        }
    }

    pub(crate) fn take_space(file: BorrowedFd<'_>, space: Space, offset: u64, length: u64) -> rustix::io::Result<()> {
        let flags = match space {
            Space::Grow => FallocateFlags::empty(),
            Space::Keep => FallocateFlags::KEEP_SIZE,
            Space::Punch => FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE,
        };
        rustix::fs::fallocate(file, flags, offset, length)
    }

    /// Exchanges blocks of two ext4 files and returns their number. Source:
    /// fs/ext4/ext4.h, `EXT4_IOC_MOVE_EXT` and `struct move_extent`.
    ///
    /// # Errors
    /// Those of ioctl(2); `ENOTTY` on other file systems.
    pub(crate) fn move_extents(
        file: BorrowedFd<'_>,
        donor: BorrowedFd<'_>,
        range: ExtentMove,
    ) -> rustix::io::Result<u64> {
        /// `_IOWR('f', 15, struct move_extent)`.
        const MOVE_EXT: libc::c_ulong = 0xc028_660f;
        #[repr(C)]
        struct Request {
            reserved: u32,
            donor: u32,
            first: u64,
            donor_first: u64,
            count: u64,
            moved: u64,
        }
        let ExtentMove { first, count } = range;
        let donor = donor.as_raw_fd() as u32;
        let mut request = Request { reserved: 0, donor, first, donor_first: first, count, moved: 0 };
        // SAFETY: the kernel reads and writes 40 bytes, which is the length of the struct.
        match unsafe { libc::ioctl(file.as_raw_fd(), MOVE_EXT as _, &raw mut request) } {
            0 => Ok(request.moved),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }

    /// Returns the mmap(2) flags for huge pages of this size.
    pub(crate) fn huge_map_flags(page_bytes: usize) -> std::io::Result<libc::c_int> {
        Ok(libc::MAP_HUGETLB | ((page_bytes.trailing_zeros() as i32) << libc::MAP_HUGE_SHIFT))
    }

    /// Returns the shmget(2) flags for huge pages of this size.
    pub(crate) fn huge_segment_flags(page_bytes: usize) -> std::io::Result<libc::c_int> {
        Ok(libc::SHM_HUGETLB | ((page_bytes.trailing_zeros() as i32) << libc::MAP_HUGE_SHIFT))
    }

    pub(crate) use libc::{preadv2, pwritev2};
}

#[cfg(not(target_os = "linux"))]
mod here {
    use super::*;
    use rustix::io::{Errno, Result};
    use std::ffi::c_int;

    pub(crate) const DSYNC: OFlags = OFlags::DSYNC;
    /// `O_RSYNC` reads wait for the same as `O_SYNC`: Linux makes no difference either.
    pub(crate) const RSYNC: OFlags = OFlags::SYNC;
    /// Access times are a mount option here, so the flag is rejected.
    pub(crate) const HAS_NOATIME: bool = false;
    pub(crate) const NOATIME: OFlags = OFlags::empty();
    /// Memory is never reserved here.
    pub(crate) const MAP_NORESERVE: c_int = 0;
    /// Not a valid advice on any system: madvise(2) rejects it with `EINVAL`.
    pub(crate) const MADV_HUGEPAGE: c_int = c_int::MAX;
    pub(crate) const MADV_NOHUGEPAGE: c_int = c_int::MAX;
    /// Each send goes out on its own.
    pub(crate) const MSG_MORE: c_int = 0;
    /// From FreeBSD's sys/sem.h.
    pub(crate) const SETVAL: c_int = 8;
    pub(crate) const OCCUPIED: &[c_int] = &[];

    unsafe extern "C" {
        /// pthread_getthreadid_np(3).
        fn pthread_getthreadid_np() -> c_int;
        /// thr_kill2(2).
        fn thr_kill2(process: libc::pid_t, thread: libc::c_long, signal: c_int) -> c_int;
    }

    /// Does nothing: timeouts end on time here.
    pub(crate) fn wake_in_time() {}

    pub(crate) fn thread_number() -> libc::pid_t {
        // SAFETY: the call takes no arguments and cannot fail.
        unsafe { pthread_getthreadid_np() }
    }

    pub(crate) fn signal_thread(process: libc::pid_t, thread: libc::pid_t, signal: c_int) {
        // SAFETY: passes only numbers.
        unsafe { thr_kill2(process, thread.into(), signal) };
    }

    /// Flushes through sync(2) and fsync(2), because syncfs(2) does not exist: sync(2) starts to write everything, and
    /// fsync(2) waits for the directory or file.
    ///
    /// # Errors
    /// Those of fsync(2).
    pub fn sync_file_system(file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::sync();
        rustix::fs::fsync(file)
    }

    /// Returns the size of this machine's memory in bytes; 0 if the system does not report it. Source: sysconf(3).
    pub fn ram_bytes() -> u64 {
        // SAFETY: passes only numbers.
        let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
        u64::try_from(pages).unwrap_or(0) * rustix::param::page_size() as u64
    }

    /// Flushes the whole file, because a range alone cannot be written out here.
    pub(crate) fn write_out(file: BorrowedFd<'_>, _offset: u64, _length: u64) -> Result<()> {
        rustix::fs::fsync(file)
    }

    pub(crate) fn take_space(file: BorrowedFd<'_>, space: Space, offset: u64, length: u64) -> Result<()> {
        match space {
            Space::Grow => rustix::fs::fallocate(file, FallocateFlags::empty(), offset, length),
            Space::Keep | Space::Punch => Err(Errno::OPNOTSUPP),
        }
    }

    pub(crate) fn move_extents(_: BorrowedFd<'_>, _: BorrowedFd<'_>, _: ExtentMove) -> Result<u64> {
        Err(Errno::OPNOTSUPP)
    }

    fn no_huge_pages() -> std::io::Error {
        std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            "huge pages of a given size need Linux; use `memory = \"private\"`",
        )
    }

    pub(crate) fn huge_map_flags(_: usize) -> std::io::Result<c_int> {
        Err(no_huge_pages())
    }

    pub(crate) fn huge_segment_flags(_: usize) -> std::io::Result<c_int> {
        Err(no_huge_pages())
    }

    /// Calls preadv(2). Flags are rejected.
    ///
    /// # Safety
    /// As for preadv(2).
    pub(crate) unsafe fn preadv2(
        fd: c_int,
        vectors: *const libc::iovec,
        count: c_int,
        offset: libc::off_t,
        flags: c_int,
    ) -> isize {
        // SAFETY: guaranteed by the caller.
        if flags == 0 { unsafe { libc::preadv(fd, vectors, count, offset) } } else { refused() }
    }

    /// Calls pwritev(2). Flags are rejected.
    ///
    /// # Safety
    /// As for pwritev(2).
    pub(crate) unsafe fn pwritev2(
        fd: c_int,
        vectors: *const libc::iovec,
        count: c_int,
        offset: libc::off_t,
        flags: c_int,
    ) -> isize {
        // SAFETY: guaranteed by the caller.
        if flags == 0 { unsafe { libc::pwritev(fd, vectors, count, offset) } } else { refused() }
    }

    fn refused() -> isize {
        // SAFETY: writes this thread's own errno.
        unsafe { *libc::__error() = libc::EOPNOTSUPP };
        -1
    }
}

pub(crate) use here::*;
pub use here::{ram_bytes, sync_file_system};
