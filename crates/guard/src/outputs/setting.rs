//! Kernel settings: files of `/proc`, `/sys` and control groups.

use super::place::open_setting;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a kernel setting. Creates no file, and writes only to regular files.
///
/// # Errors
/// The error of open(2) or write(2); `EINVAL` for anything but a regular file.
pub fn write_setting(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    let mut setting = File::from(open_setting(path.as_ref())?);
    if FileType::from_raw_mode(rustix::fs::fstat(&setting)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL.into());
    }
    // Kernel files have no length, and some cannot be truncated.
    let _ = setting.set_len(0);
    // The kernel expects the whole value in one write.
    setting.write_all(value.as_ref())
}
