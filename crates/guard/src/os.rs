//! System calls that the guard needs and only Linux has. On other systems they fail with "not
//! supported"; none is skipped silently.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

#[cfg(target_os = "linux")]
mod here {
    use super::*;
    use rustix::io::Errno;
    use std::os::fd::AsRawFd;

    /// Returns device and inode of a loop device's image. Source: loop(4),
    /// `LOOP_GET_STATUS64`; include/uapi/linux/loop.h.
    ///
    /// # Errors
    /// `ENOTTY` if it is not a loop device, `ENXIO` if it has no image.
    pub(crate) fn loop_image(device: BorrowedFd<'_>) -> rustix::io::Result<(u64, u64)> {
        const LOOP_GET_STATUS64: libc::c_ulong = 0x4c05;
        /// `struct loop_info64` has 232 bytes and begins with these two numbers.
        #[repr(C)]
        struct Status {
            device: u64,
            inode: u64,
            rest: [u64; 27],
        }
        let mut status = Status { device: 0, inode: 0, rest: [0; 27] };
        // SAFETY: the kernel writes 232 bytes, which is the length of the structure.
        let code = unsafe { libc::ioctl(device.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut status) };
        match code {
            0 => Ok((status.device, status.inode)),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }

    /// Sets the signal of a lease. Some architectures lack it in the C library's headers.
    /// Source: fcntl(2), `F_SETSIG`.
    const F_SETSIG: libc::c_int = 10;

    fn fcntl(file: BorrowedFd<'_>, command: libc::c_int, value: libc::c_int) -> rustix::io::Result<libc::c_int> {
        // SAFETY: the descriptor is open, and the commands used here take a number.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            answer => Ok(answer),
        }
    }

    /// Takes a write lease. The kernel grants it only if this is the file's only open description: no process,
    /// mapping, loop device or swap space has another one. A process that opens the file later waits until the lease is
    /// returned, and this process gets `signal`. Source: fcntl(2), "Leases".
    ///
    /// # Errors
    /// `EAGAIN` if another process has it open; `EACCES` for another user's file; the error
    /// of a file system without leases.
    pub(crate) fn take_lease(file: BorrowedFd<'_>, signal: libc::c_int) -> rustix::io::Result<()> {
        fcntl(file, F_SETSIG, signal)?;
        fcntl(file, libc::F_SETLEASE, libc::F_WRLCK as libc::c_int).map(drop)
    }

    /// Returns `true` if no other process has tried to open the file since the lease was taken.
    pub(crate) fn has_lease(file: BorrowedFd<'_>) -> bool {
        fcntl(file, libc::F_GETLEASE, 0) == Ok(libc::F_WRLCK as libc::c_int)
    }

    /// Returns a lease to the kernel.
    pub(crate) fn return_lease(file: BorrowedFd<'_>) {
        // A broken lease is already gone.
        let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK as libc::c_int);
        let _ = fcntl(file, F_SETSIG, 0);
    }

    /// Opens an open file again by its descriptor instead of its name, so that it cannot be another file.
    pub(crate) fn reopen(file: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        crate::raw_open::open(format!("/proc/self/fd/{}", file.as_raw_fd()), flags | OFlags::CLOEXEC, Mode::empty())
    }

    /// Description of the method of [`reopen`], for errors.
    pub(crate) const REOPEN: &str = "reopen it through /proc/self/fd";

    pub(crate) use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
}

#[cfg(not(target_os = "linux"))]
mod here {
    use super::*;
    use libc::c_int;
    use rustix::io::{Errno, Result};

    /// Works as on Linux, on systems that support it, such as FreeBSD 14. Source: open(2), `O_EMPTY_PATH`.
    #[cfg(target_os = "freebsd")]
    pub(crate) fn reopen(file: BorrowedFd<'_>, flags: OFlags) -> Result<OwnedFd> {
        let by_descriptor = OFlags::from_bits_retain(libc::O_EMPTY_PATH as _);
        crate::raw_open::openat(file, "", flags | by_descriptor | OFlags::CLOEXEC, Mode::empty())
    }

    #[cfg(not(target_os = "freebsd"))]
    pub(crate) fn reopen(_: BorrowedFd<'_>, _: OFlags) -> Result<OwnedFd> {
        Err(Errno::OPNOTSUPP)
    }

    pub(crate) const REOPEN: &str = "reopen it by its descriptor";

    /// Fails, because there are no loop devices.
    pub(crate) fn loop_image(_: BorrowedFd<'_>) -> Result<(u64, u64)> {
        Err(Errno::NOTTY)
    }

    /// Fails, because there are no leases: other users of a file are unknown.
    pub(crate) fn take_lease(_: BorrowedFd<'_>, _: c_int) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    pub(crate) fn has_lease(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(crate) fn return_lease(_: BorrowedFd<'_>) {}

    /// Fails, because files cannot hold Plumb's marks here; callers use the register instead.
    pub(crate) fn fsetxattr(_: BorrowedFd<'_>, _: &str, _: &[u8], _: XattrFlags) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    /// Fails, because no mark can have been set.
    pub(crate) fn fgetxattr(_: BorrowedFd<'_>, _: &str, _: &mut [u8]) -> Result<usize> {
        Err(Errno::OPNOTSUPP)
    }

    /// Always fails: no mark can have been set.
    pub(crate) fn fremovexattr(_: BorrowedFd<'_>, _: &str) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    /// Flags of setxattr(2), which does not exist here.
    pub(crate) struct XattrFlags;

    impl XattrFlags {
        pub(crate) fn empty() -> XattrFlags {
            XattrFlags
        }
    }
}

pub(crate) use here::*;

/// Duplicates a descriptor that this process inherited, for `/dev/fd/N`.
///
/// # Errors
/// `EBADF` if it is not open, or if this process opened it itself: Plumb opens all its descriptors with
/// `FD_CLOEXEC`, which inherited ones cannot have.
pub(crate) fn duplicate(number: i32) -> rustix::io::Result<OwnedFd> {
    let last_error =
        || rustix::io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(rustix::io::Errno::BADF);
    // SAFETY: `F_GETFD` accepts any number and only reports the flags of the descriptor.
    let flags = unsafe { libc::fcntl(number, libc::F_GETFD) };
    if flags == -1 || (number > libc::STDERR_FILENO && flags & libc::FD_CLOEXEC != 0) {
        return Err(rustix::io::Errno::BADF);
    }
    // SAFETY: `F_DUPFD_CLOEXEC` accepts any number and creates a new descriptor.
    match unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) } {
        -1 => Err(last_error()),
        // SAFETY: the descriptor is new, so nothing else owns it.
        copy => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
    }
}
