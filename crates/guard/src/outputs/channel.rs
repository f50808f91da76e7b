//! Terminals, ports and other channels that are both read and written.

use super::place::open_both_ways;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a terminal, a port of a virtual machine, a pipe or another character device for reading and writing.
///
/// # Errors
/// The error of open(2); `EINVAL` for a block device or a regular file.
pub fn open_channel(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    let check = |stat: rustix::fs::Stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice | FileType::Fifo => Ok(()),
        _ => Err(Errno::INVAL),
    };
    check(rustix::fs::stat(path)?)?;
    let channel = open_both_ways(path)?;
    check(rustix::fs::fstat(&channel)?)?;
    Ok(File::from(channel))
}
