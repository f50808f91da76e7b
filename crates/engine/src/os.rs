//! What Linux has and other systems lack or spell otherwise: one place for each, so that all above it reads the same
//! everywhere. Elsewhere a call either does the same or fails with the system's own "not supported"; none is left out in
//! silence. Sources: the manual pages of Linux and FreeBSD named at each.
#![allow(unsafe_code)]

use rustix::fs::{FallocateFlags, OFlags};
use std::os::fd::BorrowedFd;

/// Wishes for space of fallocate(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Space {
    /// The file grows where the range ends behind it.
    Grow,
    /// The file keeps its length.
    Keep,
    /// What is there is given back.
    Punch,
}

/// Blocks that two files exchange, at the same place of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExtentMove {
    /// The first, counted in blocks of the file system.
    pub(crate) first: u64,
    /// How many.
    pub(crate) count: u64,
}

#[cfg(target_os = "linux")]
mod here {
    use super::*;
    use rustix::io::Errno;
    use std::os::fd::AsRawFd;

    /// The C library's: the one of rustix is `O_SYNC`, which flushes more.
    pub(crate) const DSYNC: OFlags = OFlags::from_bits_retain(libc::O_DSYNC as u32);
    pub(crate) const RSYNC: OFlags = OFlags::RSYNC;
    pub(crate) const HAS_NOATIME: bool = true;
    pub(crate) const NOATIME: OFlags = OFlags::NOATIME;
    pub(crate) const MAP_NORESERVE: libc::c_int = libc::MAP_NORESERVE;
    pub(crate) const MADV_HUGEPAGE: libc::c_int = libc::MADV_HUGEPAGE;
    pub(crate) const MADV_NOHUGEPAGE: libc::c_int = libc::MADV_NOHUGEPAGE;
    pub(crate) const MSG_MORE: libc::c_int = libc::MSG_MORE;
    pub(crate) const SETVAL: libc::c_int = libc::SETVAL;
    /// Memory that is only to be occupied: neither children nor core dumps have it.
    pub(crate) const OCCUPIED: &[libc::c_int] = &[libc::MADV_DONTFORK, libc::MADV_DONTDUMP, libc::MADV_HUGEPAGE];

    /// Has timeouts of this thread end when they are due, and not up to 50 µs later, so that several end at once.
    pub(crate) fn wake_in_time() {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    }

    /// The calling thread's number.
    pub(crate) fn thread_number() -> libc::pid_t {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    /// Async-signal-safe. A thread that has ended gets nothing.
    pub(crate) fn signal_thread(process: libc::pid_t, thread: libc::pid_t, signal: libc::c_int) {
        // SAFETY: the call passes numbers only.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
    }

    /// Flushes the file system that a file lies on. Source: syncfs(2).
    ///
    /// # Errors
    /// The system's own.
    pub fn sync_file_system(file: BorrowedFd<'_>) -> rustix::io::Result<()> {
        rustix::fs::syncfs(file)
    }

    /// Memory of this machine, bytes. Source: sysinfo(2).
    pub fn ram_bytes() -> u64 {
        let info = rustix::system::sysinfo();
        u64::from(info.mem_unit) * info.totalram as u64
    }

    /// Begins to write a range out. Source: sync_file_range(2), `SYNC_FILE_RANGE_WRITE`.
    pub(crate) fn write_out(file: BorrowedFd<'_>, offset: u64, length: u64) -> rustix::io::Result<()> {
        use std::os::fd::AsRawFd;
        let (offset, length) = (offset as libc::off64_t, length as libc::off64_t);
        // SAFETY: no memory is passed.
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

    /// Exchanges blocks of two files of ext4; how many. Source: fs/ext4/ext4.h, `EXT4_IOC_MOVE_EXT` and `struct move_extent`.
    ///
    /// # Errors
    /// The system's own: `ENOTTY` on other file systems.
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
        // SAFETY: the kernel reads and writes 40 bytes, which is the length of the structure.
        match unsafe { libc::ioctl(file.as_raw_fd(), MOVE_EXT as _, &raw mut request) } {
            0 => Ok(request.moved),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }

    /// Flags of mmap(2) for huge pages of this size.
    pub(crate) fn huge_map_flags(page_bytes: usize) -> std::io::Result<libc::c_int> {
        Ok(libc::MAP_HUGETLB | ((page_bytes.trailing_zeros() as i32) << libc::MAP_HUGE_SHIFT))
    }

    /// Flags of shmget(2) for huge pages of this size.
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
    /// Reads that wait for what is written wait for all that `O_SYNC` waits for: Linux knows no difference either.
    pub(crate) const RSYNC: OFlags = OFlags::SYNC;
    /// Access times are a mount's affair here; whoever asks for the flag is refused.
    pub(crate) const HAS_NOATIME: bool = false;
    pub(crate) const NOATIME: OFlags = OFlags::empty();
    /// Memory is never reserved here.
    pub(crate) const MAP_NORESERVE: c_int = 0;
    /// No advice of any system: madvise(2) refuses it with `EINVAL`.
    pub(crate) const MADV_HUGEPAGE: c_int = c_int::MAX;
    pub(crate) const MADV_NOHUGEPAGE: c_int = c_int::MAX;
    /// Each send goes by itself.
    pub(crate) const MSG_MORE: c_int = 0;
    /// FreeBSD's sys/sem.h.
    pub(crate) const SETVAL: c_int = 8;
    pub(crate) const OCCUPIED: &[c_int] = &[];

    unsafe extern "C" {
        /// pthread_getthreadid_np(3).
        fn pthread_getthreadid_np() -> c_int;
        /// thr_kill2(2).
        fn thr_kill2(process: libc::pid_t, thread: libc::c_long, signal: c_int) -> c_int;
    }

    /// Its timeouts end when they are due.
    pub(crate) fn wake_in_time() {}

    pub(crate) fn thread_number() -> libc::pid_t {
        // SAFETY: the call takes nothing and cannot fail.
        unsafe { pthread_getthreadid_np() }
    }

    pub(crate) fn signal_thread(process: libc::pid_t, thread: libc::pid_t, signal: c_int) {
        // SAFETY: the call passes numbers only.
        unsafe { thr_kill2(process, thread.into(), signal) };
    }

    /// There is no syncfs(2): sync(2) starts writing everything, and fsync(2) of the directory or file waits for its own.
    ///
    /// # Errors
    /// The system's own.
    pub fn sync_file_system(file: BorrowedFd<'_>) -> Result<()> {
        rustix::fs::sync();
        rustix::fs::fsync(file)
    }

    /// Memory of this machine, bytes; 0 where the system does not say. Source: sysconf(3).
    pub fn ram_bytes() -> u64 {
        // SAFETY: the call passes numbers only.
        let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
        u64::try_from(pages).unwrap_or(0) * rustix::param::page_size() as u64
    }

    /// A range alone cannot be written out here, so the file is.
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
            "huge pages by name are Linux's; use `memory = \"private\"`",
        )
    }

    pub(crate) fn huge_map_flags(_: usize) -> std::io::Result<c_int> {
        Err(no_huge_pages())
    }

    pub(crate) fn huge_segment_flags(_: usize) -> std::io::Result<c_int> {
        Err(no_huge_pages())
    }

    /// preadv(2); flags are refused.
    ///
    /// # Safety
    /// As of preadv(2).
    pub(crate) unsafe fn preadv2(
        fd: c_int,
        vectors: *const libc::iovec,
        count: c_int,
        offset: libc::off_t,
        flags: c_int,
    ) -> isize {
        // SAFETY: as the caller says.
        if flags == 0 { unsafe { libc::preadv(fd, vectors, count, offset) } } else { refused() }
    }

    /// pwritev(2); flags are refused.
    ///
    /// # Safety
    /// As of pwritev(2).
    pub(crate) unsafe fn pwritev2(
        fd: c_int,
        vectors: *const libc::iovec,
        count: c_int,
        offset: libc::off_t,
        flags: c_int,
    ) -> isize {
        // SAFETY: as the caller says.
        if flags == 0 { unsafe { libc::pwritev(fd, vectors, count, offset) } } else { refused() }
    }

    fn refused() -> isize {
        // SAFETY: this thread's own errno.
        unsafe { *libc::__error() = libc::EOPNOTSUPP };
        -1
    }
}

pub(crate) use here::*;
pub use here::{ram_bytes, sync_file_system};
