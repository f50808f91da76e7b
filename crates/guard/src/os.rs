//! What only Linux has of what the guard asks the system. Elsewhere a call fails with the system's own "not supported"; none is left
//! out in silence.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

#[cfg(target_os = "linux")]
mod here {
    use super::*;
    use rustix::io::Errno;
    use std::os::fd::AsRawFd;

    /// Device and inode of a loop device's image. Source: loop(4), `LOOP_GET_STATUS64`; include/uapi/linux/loop.h.
    ///
    /// # Errors
    /// The system's own: `ENOTTY` for what is no loop device, `ENXIO` for one without an image.
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

    /// The signal of a lease. Not in the C library's headers of every architecture. Source: fcntl(2), `F_SETSIG`.
    const F_SETSIG: libc::c_int = 10;

    fn fcntl(file: BorrowedFd<'_>, command: libc::c_int, value: libc::c_int) -> rustix::io::Result<libc::c_int> {
        // SAFETY: the descriptor is open, and the commands used here take a number.
        match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
            -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
            answer => Ok(answer),
        }
    }

    /// A lease for writing, which the kernel grants only where this is the file's one open description anywhere:
    /// no process, mapping, loop device or swap space has another. Whoever opens it later waits until it is returned, and
    /// this process gets `signal`. Source: fcntl(2), "Leases".
    ///
    /// # Errors
    /// `EAGAIN` where somebody else has it open; `EACCES` for another user's file; what a file system without leases says.
    pub(crate) fn take_lease(file: BorrowedFd<'_>, signal: libc::c_int) -> rustix::io::Result<()> {
        fcntl(file, F_SETSIG, signal)?;
        fcntl(file, libc::F_SETLEASE, libc::F_WRLCK as libc::c_int).map(drop)
    }

    /// Whether nobody has asked for the file since the lease was taken.
    pub(crate) fn has_lease(file: BorrowedFd<'_>) -> bool {
        fcntl(file, libc::F_GETLEASE, 0) == Ok(libc::F_WRLCK as libc::c_int)
    }

    /// Gives a lease back.
    pub(crate) fn return_lease(file: BorrowedFd<'_>) {
        // One that was broken is gone already.
        let _ = fcntl(file, libc::F_SETLEASE, libc::F_UNLCK as libc::c_int);
        let _ = fcntl(file, F_SETSIG, 0);
    }

    /// Opens an open file once more, by its descriptor and not by its name, so that it cannot be another one.
    pub(crate) fn reopen(file: BorrowedFd<'_>, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        crate::raw_open::open(format!("/proc/self/fd/{}", file.as_raw_fd()), flags | OFlags::CLOEXEC, Mode::empty())
    }

    /// By what [`reopen`] reopens, for errors.
    pub(crate) const REOPEN: &str = "reopen it through /proc/self/fd";

    pub(crate) use rustix::fs::{XattrFlags, fgetxattr, fremovexattr, fsetxattr};
}

#[cfg(not(target_os = "linux"))]
mod here {
    use super::*;
    use libc::c_int;
    use rustix::io::{Errno, Result};

    /// As on Linux, where the system can: FreeBSD 14 does. Source: open(2), `O_EMPTY_PATH`.
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

    /// There are no loop devices.
    pub(crate) fn loop_image(_: BorrowedFd<'_>) -> Result<(u64, u64)> {
        Err(Errno::NOTTY)
    }

    /// There are no leases: who else has a file open is not known.
    pub(crate) fn take_lease(_: BorrowedFd<'_>, _: c_int) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    pub(crate) fn has_lease(_: BorrowedFd<'_>) -> bool {
        false
    }

    pub(crate) fn return_lease(_: BorrowedFd<'_>) {}

    /// Files keep no marks of Plumb's here; those who ask keep a register instead.
    pub(crate) fn fsetxattr(_: BorrowedFd<'_>, _: &str, _: &[u8], _: XattrFlags) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    /// As above: none was set.
    pub(crate) fn fgetxattr(_: BorrowedFd<'_>, _: &str, _: &mut [u8]) -> Result<usize> {
        Err(Errno::OPNOTSUPP)
    }

    /// Always fails: no mark can have been set.
    pub(crate) fn fremovexattr(_: BorrowedFd<'_>, _: &str) -> Result<()> {
        Err(Errno::OPNOTSUPP)
    }

    /// The flags of setxattr(2): none, since there is no such call.
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
