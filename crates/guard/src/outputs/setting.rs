//! Settings of the kernel: files of `/proc`, `/sys` and control groups.

use super::place::open_setting;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a setting of the kernel. Nothing is made, and nothing but a file is written.
///
/// # Errors
/// The system's own; `EINVAL` for anything but a file.
pub fn write_setting(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    let setting = open_setting(path.as_ref())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&setting)?.st_mode) {
        // The kernel takes a value with one write.
        FileType::RegularFile => File::from(setting).write_all(value.as_ref()),
        _ => Err(Errno::INVAL.into()),
    }
}
