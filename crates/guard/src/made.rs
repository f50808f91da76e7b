//! Files that Plumb made under names that the user said, on file systems without extended attributes: one small file each
//! in a directory of Plumb's own state.

use super::Identity;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What tells one start of the system from another. Source: proc_sys_kernel(5).
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// Stands between where a file comes from and its state.
const BEFORE_STATE: &str = "; ";

/// Knows files that were made or taken and could not be marked.
#[derive(Debug, Clone)]
pub struct MadeFiles {
    directory: PathBuf,
}

impl MadeFiles {
    /// With its entries in a directory, which is made when it is needed.
    pub fn new(directory: PathBuf) -> MadeFiles {
        MadeFiles { directory }
    }

    /// Remembers a file that was just made, or taken: `state` tells what its mark would, in one line, and is empty for one
    /// that was made. Entries of files that are gone are dropped.
    ///
    /// # Errors
    /// The entry cannot be written.
    pub(super) fn add(&self, file: BorrowedFd<'_>, path: &Path, state: &str) -> io::Result<()> {
        crate::private_directory(&self.directory)?;
        for entry in fs::read_dir(&self.directory)?.flatten() {
            let is_gone = fs::read(entry.path()).is_ok_and(|text| path_in(&text).is_some_and(|path| !path.exists()));
            if is_gone {
                // Another run may have dropped it just now.
                let _ = fs::remove_file(entry.path());
            }
        }
        let path = std::path::absolute(path)?;
        let mut text = origin_of(file)?.into_bytes();
        if !state.is_empty() {
            text.extend_from_slice(BEFORE_STATE.as_bytes());
            text.extend_from_slice(state.as_bytes());
        }
        text.push(b'\n');
        text.extend_from_slice(path.as_os_str().as_bytes());
        Ok(crate::OutputFile::made_up("the register", &self.entry(file)?).private().replace(&text)?)
    }

    /// The state in which this very file, under this path, was remembered.
    pub(super) fn state(&self, file: BorrowedFd<'_>, path: &Path) -> Option<String> {
        let (entry, origin) = (self.entry(file).ok()?, origin_of(file).ok()?);
        let text = fs::read(entry).ok()?;
        if path_in(&text)? != std::path::absolute(path).ok()? {
            return None;
        }
        let first = std::str::from_utf8(text.split(|&byte| byte == b'\n').next()?).ok()?;
        match first.strip_prefix(&origin)? {
            "" => Some(String::new()),
            rest => rest.strip_prefix(BEFORE_STATE).map(str::to_owned),
        }
    }

    fn entry(&self, file: BorrowedFd<'_>) -> io::Result<PathBuf> {
        let identity = Identity::of(&rustix::fs::fstat(file)?);
        Ok(self.directory.join(format!("{}-{}", identity.device, identity.inode)))
    }
}

fn path_in(text: &[u8]) -> Option<&Path> {
    let at = text.iter().position(|&byte| byte == b'\n')?;
    Some(Path::new(std::ffi::OsStr::from_bytes(text.get(at + 1..)?)))
}

/// What a later file of the same number has not got: its time of birth, or where the file system keeps none, this start of
/// the system.
fn origin_of(file: BorrowedFd<'_>) -> io::Result<String> {
    Ok(match birth_of(file)? {
        Some((seconds, nanoseconds)) => format!("born {seconds}.{nanoseconds:09}"),
        None => format!("boot {}", fs::read_to_string(BOOT_ID)?.trim()),
    })
}

/// Seconds and nanoseconds of a file's time of birth.
#[cfg(target_os = "linux")]
fn birth_of(file: BorrowedFd<'_>) -> io::Result<Option<(i64, u32)>> {
    use rustix::fs::{AtFlags, StatxFlags};
    let seen = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?;
    let is_kept = StatxFlags::from_bits_retain(seen.stx_mask).contains(StatxFlags::BTIME);
    Ok(is_kept.then_some((seen.stx_btime.tv_sec, seen.stx_btime.tv_nsec)))
}

#[cfg(target_os = "freebsd")]
fn birth_of(file: BorrowedFd<'_>) -> io::Result<Option<(i64, i64)>> {
    let seen = rustix::fs::fstat(file)?;
    Ok(Some((seen.st_birthtime, seen.st_birthtime_nsec)))
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn birth_of(_: BorrowedFd<'_>) -> io::Result<Option<(i64, u32)>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[test]
    fn a_file_is_known_under_its_path_until_another_takes_its_place() {
        let place = tempfile::tempdir().unwrap();
        let made = MadeFiles::new(place.path().join("state/made"));
        let path = place.path().join("said");
        let file = File::create(&path).unwrap();
        assert_eq!(made.state(file.as_fd(), &path), None, "nothing is known at first");
        for state in ["left with 5 bytes", ""] {
            made.add(file.as_fd(), &path, state).unwrap();
            assert_eq!(made.state(file.as_fd(), &path).as_deref(), Some(state));
        }
        let link = place.path().join("link");
        fs::hard_link(&path, &link).unwrap();
        assert_eq!(made.state(file.as_fd(), &link), None, "another name is another word of the user");
        fs::remove_file(&path).unwrap();
        let other = File::create(&path).unwrap();
        assert_eq!(made.state(other.as_fd(), &path), None, "what lies there now was made by somebody else");
    }

    #[test]
    fn entries_of_files_that_are_gone_are_dropped() {
        let place = tempfile::tempdir().unwrap();
        let made = MadeFiles::new(place.path().join("made"));
        let (gone, stays) = (place.path().join("gone"), place.path().join("stays"));
        made.add(File::create(&gone).unwrap().as_fd(), &gone, "").unwrap();
        let kept = File::create(&stays).unwrap();
        fs::remove_file(&gone).unwrap();
        made.add(kept.as_fd(), &stays, "").unwrap();
        assert_eq!(fs::read_dir(place.path().join("made")).unwrap().count(), 1);
    }
}
