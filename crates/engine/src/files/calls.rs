//! System calls on a job's files, including those without a safe wrapper elsewhere.
#![allow(unsafe_code)]

use plumb_workload::files::WriteLife;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// With more files than this, only clean pages are dropped from the page cache: each flush would wait for the device.
/// Files that were just laid out are clean.
pub(crate) const WRITTEN_OUT_MAX: usize = 1024;

/// Writes out a file's dirty pages, because only clean pages can be dropped.
pub(crate) fn write_out(file: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::io::retry_on_intr(|| rustix::fs::fdatasync(file)) {
        // A character device has nothing to write out.
        Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::ROFS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Drops a file's clean pages from the page cache. For a device, drops as many as the kernel permits.
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

/// fcntl(2) command that sets the expected lifetime of written data. Source: fcntl(2), "File read/write hints".
#[cfg(target_os = "linux")]
const F_SET_RW_HINT: i32 = 1024 + 12;

fn outcome(returned: i32) -> io::Result<()> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Drops a device's pages from the page cache. Requires root.
#[cfg(target_os = "linux")]
pub(crate) fn flush_device_cache(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the request takes no argument.
    outcome(unsafe { libc::ioctl(device.as_raw_fd(), BLKFLSBUF as _, 0) })
}

/// Fails: only Linux has this call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn flush_device_cache(_device: BorrowedFd<'_>) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Returns the size of a device's logical block in bytes.
#[cfg(target_os = "linux")]
pub(crate) fn logical_block_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(rustix::fs::ioctl_blksszget(device)?.into())
}

/// Fails: only Linux has this call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn logical_block_bytes(_device: BorrowedFd<'_>) -> io::Result<u64> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Sets the expected lifetime of written data.
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

/// Fails: only Linux has this call.
#[cfg(not(target_os = "linux"))]
pub(crate) fn set_write_life(_file: BorrowedFd<'_>, _life: WriteLife) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Calls `posix_fallocate`, which writes zeros if the file system cannot reserve blocks.
pub(crate) fn posix_fallocate(file: BorrowedFd<'_>, length_bytes: u64) -> io::Result<()> {
    let length = libc::off_t::try_from(length_bytes).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: passes no memory.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}
