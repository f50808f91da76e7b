//! Current state of this machine: mounts, loop devices, sizes. Read from /proc and /sys.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One mount. Source: proc_pid_mountinfo(5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MountPoint {
    /// Mount point.
    pub(crate) target: PathBuf,
    /// Source as passed to mount(2).
    pub(crate) source: PathBuf,
    /// Type of the file system.
    pub(crate) kind: String,
    /// Options of the file system.
    pub(crate) options: String,
}

/// Returns all mounts. Later ones hide earlier ones.
pub(crate) fn mounts() -> io::Result<Vec<MountPoint>> {
    let text = fs::read("/proc/self/mountinfo")?;
    Ok(text.split(|byte| *byte == b'\n').filter_map(mount_of_line).collect())
}

fn mount_of_line(line: &[u8]) -> Option<MountPoint> {
    let mut fields = line.split(|byte| *byte == b' ');
    let target = unescaped(fields.nth(4)?);
    // Optional fields end with a dash; type and source follow.
    fields.find(|field| *field == b"-")?;
    let kind = String::from_utf8_lossy(fields.next()?).into_owned();
    let source = unescaped(fields.next()?);
    let options = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    Some(MountPoint { target, source, kind, options })
}

/// Decodes escapes such as `\040`, which /proc uses for blanks in names.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let code = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Returns the path under which the kernel shows a directory that exists or will exist: resolves the existing part.
pub(crate) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let mut missing = vec![];
    let mut here = path.as_path();
    loop {
        match fs::canonicalize(here) {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (Some(parent), Some(name)) = (here.parent(), here.file_name()) else { return Err(error) };
                missing.push(name.to_owned());
                here = parent;
            }
            Err(error) => return Err(error),
        }
    }
}

/// A loop device in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoopDevice {
    /// Path such as `/dev/loop0`.
    pub(crate) device: PathBuf,
    /// Path of its image file.
    pub(crate) image: PathBuf,
}

/// Returns the loop devices that are in use.
pub(crate) fn loops() -> io::Result<Vec<LoopDevice>> {
    let mut found = vec![];
    for entry in fs::read_dir("/sys/block")? {
        let entry = entry?;
        let Ok(mut image) = fs::read(entry.path().join("loop/backing_file")) else { continue };
        image.truncate(image.trim_ascii_end().len());
        // The kernel appends this if the image was unlinked.
        let image = image.strip_suffix(b" (deleted)").map_or(image.clone(), <[u8]>::to_vec);
        found.push(LoopDevice {
            device: Path::new("/dev").join(entry.file_name()),
            image: OsString::from_vec(image).into(),
        });
    }
    Ok(found)
}

/// Returns the number of the block device at a path, following links; `None` if there is none.
pub(crate) fn device_number(path: &Path) -> Option<u64> {
    let meta = fs::metadata(path).ok()?;
    meta.file_type().is_block_device().then(|| meta.rdev())
}

/// Returns the directory of a block device below /sys.
pub(crate) fn sys_dir(device: &Path) -> io::Result<PathBuf> {
    let number = device_number(device).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{} is not a block device", device.display()))
    })?;
    let name = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    fs::canonicalize(Path::new("/sys/dev/block").join(name))
}

/// Returns the entries of a /sys directory that have an attribute: each name with the attribute's value.
pub(crate) fn with_attribute(dir: &str, attribute: &str) -> impl Iterator<Item = (String, String)> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let value = text(&entry.path().join(attribute)).ok()?;
        Some((entry.file_name().to_string_lossy().into_owned(), value))
    })
}

/// Returns the kernel's name of a block device, such as `sda1`.
pub(crate) fn kernel_name(device: &Path) -> io::Result<String> {
    Ok(sys_dir(device)?.file_name().unwrap_or_default().to_string_lossy().into_owned())
}

/// Returns the size of a block device in bytes.
pub(crate) fn device_bytes(device: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(sys_dir(device)?.join("size"))?;
    // In sectors of 512 bytes, regardless of the device's own.
    text.trim().parse::<u64>().map(|sectors| sectors * 512).map_err(io::Error::other)
}

/// Returns number and /dev path of each partition of a disk.
pub(crate) fn partitions(disk: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut found = vec![];
    for entry in fs::read_dir(sys_dir(disk)?)? {
        let entry = entry?;
        if let Ok(number) = fs::read_to_string(entry.path().join("partition")) {
            let number = number.trim().parse().map_err(io::Error::other)?;
            found.push((number, Path::new("/dev").join(entry.file_name())));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the text of a file in /sys or /proc, trimmed.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(fs::read_to_string(path)?.trim().to_owned())
}

/// Waits until a condition holds. Returns `false` on a timeout.
pub(crate) fn wait_until(longest: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if begin.elapsed() > longest {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mounts_is_read_with_its_blanks() {
        let line = br"36 35 98:0 / /mnt\040a rw,noatime master:1 - ext3 /dev/loop7 rw,errors=continue";
        let mount = MountPoint {
            target: "/mnt a".into(),
            source: "/dev/loop7".into(),
            kind: "ext3".to_owned(),
            options: "rw,errors=continue".to_owned(),
        };
        assert_eq!(mount_of_line(line), Some(mount));
        assert_eq!(mount_of_line(b""), None);
        assert!(mounts().unwrap().iter().any(|mount| mount.target == Path::new("/proc")));
    }

    #[test]
    fn a_path_is_resolved_as_far_as_it_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let real = fs::canonicalize(dir.path()).unwrap();
        std::os::unix::fs::symlink(&real, dir.path().join("link")).unwrap();
        assert_eq!(resolved(&dir.path().join("link/a/b")).unwrap(), real.join("a/b"));
    }
}
