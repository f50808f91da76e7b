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
    let mut setting = File::from(open_setting(path.as_ref())?);
    if FileType::from_raw_mode(rustix::fs::fstat(&setting)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL.into());
    }
    // The kernel's files have no length, and need not take one.
    let _ = setting.set_len(0);
    // The kernel takes a value with one write.
    setting.write_all(value.as_ref())
}
