//! System calls on a job's files, with those that have no safe form elsewhere.
#![allow(unsafe_code)]

use plumb_workload::files::WriteLife;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Of more files than this, only what is clean is dropped from the page cache: each would wait for the device. Those that
/// were just laid out are clean.
pub(crate) const WRITTEN_OUT_MAX: usize = 1024;

/// Writes a file's dirty pages out; only clean ones can be dropped.
pub(crate) fn write_out(file: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fdatasync(file)) {
        // A character device has nothing to write out.
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Drops a file's clean pages from the page cache. A device's go as far as the kernel lets them.
pub(crate) fn drop_pages(file: BorrowedFd<'_>, is_device: bool) -> io::Result<()> {
    if is_device {
        return match flush_device_cache(file) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
            outcome => outcome,
        };
    }
    match rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed) {
        Ok(()) | Err(rustix::io::Errno::SPIPE | rustix::io::Errno::INVAL) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// `_IO(0x12, 97)`: writes out and drops a device's pages. Source: linux/fs.h.
#[cfg(target_os = "linux")]
const BLKFLSBUF: u64 = 0x1261;

/// Commands of fcntl(2) for the lifetime of what is written. Source: fcntl(2), "File read/write hints".
#[cfg(target_os = "linux")]
const F_SET_RW_HINT: i32 = 1024 + 12;

fn outcome(returned: i32) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops a device's pages from the page cache; it needs root.
#[cfg(target_os = "linux")]
pub(crate) fn flush_device_cache(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the request takes no argument.
    outcome(unsafe { libc::ioctl(device.as_raw_fd(), BLKFLSBUF as _, 0) })
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn flush_device_cache(_device: BorrowedFd<'_>) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Bytes of a device's logical block.
#[cfg(target_os = "linux")]
pub(crate) fn logical_block_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(rustix::fs::ioctl_blksszget(device)?.into())
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn logical_block_bytes(_device: BorrowedFd<'_>) -> io::Result<u64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Tells how long written data is expected to live.
#[cfg(target_os = "linux")]
pub(crate) fn set_write_life(file: BorrowedFd<'_>, life: WriteLife) -> io::Result<()> {
    let hint: u64 = match life {
        WriteLife::None => 1,
        WriteLife::Short => 2,
        WriteLife::Medium => 3,
        WriteLife::Long => 4,
        WriteLife::Extreme => 5,
    };
    // SAFETY: reads a u64 that outlives the call.
    outcome(unsafe { libc::fcntl(file.as_raw_fd(), F_SET_RW_HINT, &raw const hint) })
}

/// Only Linux has it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn set_write_life(_file: BorrowedFd<'_>, _life: WriteLife) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// `posix_fallocate`, which makes blocks of zeros where the file system reserves none.
pub(crate) fn posix_fallocate(file: BorrowedFd<'_>, length_bytes: u64) -> io::Result<()> {
    let length = libc::off_t::try_from(length_bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: no memory is passed.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
