//! The mapping of a handle.

use crate::backend::FileAccess;
use crate::syscall::mapping::Mapping;
use plumb_workload::program::{Advice, MapStep};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Maps a file for a step. A file that will be written to is extended first if it is shorter.
pub(super) fn map(fd: &OwnedFd, step: &MapStep) -> io::Result<Mapping> {
    let length = step.length.0;
    let found = rustix::fs::fstat(fd)?.st_size as u64;
    if found < length && step.write {
        rustix::fs::ftruncate(fd, length)?;
    } else if found < length {
        // Touching a page beyond the end would raise SIGBUS.
        return Err(io::Error::from_raw_os_error(libc::ENXIO));
    }
    let access = if step.write { FileAccess::ReadWrite } else { FileAccess::Read };
    let mapping = Mapping::new(fd.as_raw_fd(), length, access)?;
    let advice = match step.advice {
        Advice::None => return Ok(mapping),
        Advice::Normal => libc::MADV_NORMAL,
        Advice::Random => libc::MADV_RANDOM,
        Advice::Sequential => libc::MADV_SEQUENTIAL,
        Advice::WillNeed => libc::MADV_WILLNEED,
        Advice::DontNeed => libc::MADV_DONTNEED,
    };
    mapping.advise(advice)?;
    Ok(mapping)
}
