//! Removes files that a tool created under its own names, from directories that were pinned before it ran. Anything older than
//! the run stays, under any name.

use super::path_resolution::open_entry;
use super::{Pinning, Refusal, Roots};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Removes files, links and directories by name, in the directories that the names referred to when the remover was created.
/// Pipes, sockets and devices stay, because no tool creates them. So do files that are older than the remover.
#[derive(Debug)]
pub struct Remover {
    roots: Roots,
    /// Creation time, seconds and nanoseconds since 1970, by the clock that stamps files.
    began: (i64, i64),
}

impl Remover {
    /// Pins the directories of `paths`, or the `typed` directories above them.
    pub fn new(typed: &[PathBuf], paths: impl IntoIterator<Item = PathBuf>) -> Remover {
        Remover { roots: Roots::new(typed, paths, Pinning::Pinned), began: now() }
    }

    /// Returns `true` if an entry was created after the remover.
    fn is_new(&self, dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<bool> {
        Ok(creation_time(dir, name)? >= self.began)
    }

    /// Returns the first entry below a directory that is older than the remover and not itself a directory.
    fn first_old(&self, dir: BorrowedFd<'_>, path: &Path) -> rustix::io::Result<Option<PathBuf>> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            let path = path.join(name);
            match open_entry(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
                Ok(inner) => {
                    if let Some(old) = self.first_old(inner.as_fd(), &path)? {
                        return Ok(Some(old));
                    }
                }
                Err(Errno::NOTDIR | Errno::LOOP) if !self.is_new(dir, name)? => return Ok(Some(path)),
                Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes a regular file or a symbolic link. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] for anything else, [`Refusal::Swapped`] and [`Refusal::Symlink`]
    /// if its directory was replaced, [`Refusal::Io`].
    pub fn remove_file(&self, path: &Path) -> Result<bool, Refusal> {
        self.remove_file_if(path, |is_new, _| is_new)
    }

    /// Removes a regular file or a symbolic link that is newer than the remover, or empty. Users create empty files
    /// as signals. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// As [`Remover::remove_file`].
    pub fn remove_signal_file(&self, path: &Path) -> Result<bool, Refusal> {
        self.remove_file_if(path, |is_new, stat| is_new || stat.st_size == 0)
    }

    fn remove_file_if(&self, path: &Path, is_expendable: impl Fn(bool, &Stat) -> bool) -> Result<bool, Refusal> {
        let Some((dir, name)) = self.enter(path)? else { return Ok(false) };
        let stat = match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(false),
            found => found.map_err(Refusal::io(path, "look at it"))?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Symlink => {
                let is_new = self.is_new(dir.as_fd(), name).map_err(Refusal::io(path, "look at it"))?;
                match is_expendable(is_new, &stat) {
                    true => unlink(&dir, name, path, AtFlags::empty()),
                    false => Err(older(path)),
                }
            }
            _ => Err(super::wrong_kind(path, &stat)),
        }
    }

    /// Removes an empty directory. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// [`Refusal::Io`], for example if the directory is not empty; [`Refusal::Swapped`] and [`Refusal::Symlink`].
    pub fn remove_dir(&self, path: &Path) -> Result<bool, Refusal> {
        match self.enter(path)? {
            Some((dir, name)) => unlink(&dir, name, path, AtFlags::REMOVEDIR),
            None => Ok(false),
        }
    }

    /// Removes a directory and everything in it, without following links. Returns `false` if it does not exist.
    ///
    /// # Errors
    /// [`Refusal::Io`], [`Refusal::Swapped`], [`Refusal::Symlink`].
    pub fn remove_tree(&self, path: &Path) -> Result<bool, Refusal> {
        let Some((dir, name)) = self.enter(path)? else { return Ok(false) };
        let tree = match open_entry(dir.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(false),
            Err(Errno::LOOP) => return Err(Refusal::Symlink { path: path.to_owned() }),
            opened => opened.map_err(Refusal::io(path, "open it"))?,
        };
        if let Some(old) = self.first_old(tree.as_fd(), path).map_err(Refusal::io(path, "look through it"))? {
            return Err(older(&old));
        }
        if let Some(left) = crate::testdir::remove_contents(tree.as_fd(), path).into_iter().next() {
            return Err(Refusal::Io {
                path: left.path,
                action: "remove it",
                source: std::io::Error::other(left.reason),
            });
        }
        unlink(&dir, name, path, AtFlags::REMOVEDIR)
    }

    /// Returns the opened directory of a path, and the name in it; `None` if the directory does not exist.
    fn enter<'p>(&self, path: &'p Path) -> Result<Option<(OwnedFd, &'p OsStr)>, Refusal> {
        let Some(name) = path.file_name() else { return Ok(None) };
        match self.roots.open_parent(path) {
            Ok(dir) => Ok(dir.map(|dir| (dir, name))),
            Err(Refusal::NoDirectory { .. }) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}

/// Returns the time of the coarse clock, which stamps files and lags the exact clock by up to one tick.
#[cfg(target_os = "linux")]
fn now() -> (i64, i64) {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    (now.tv_sec, now.tv_nsec as i64)
}

#[cfg(not(target_os = "linux"))]
fn now() -> (i64, i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.as_secs() as i64, 0)
}

/// Returns the creation time of an entry; its change time if the file system does not store creation times.
#[cfg(target_os = "linux")]
fn creation_time(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(i64, i64)> {
    use rustix::fs::StatxFlags;
    let wanted = StatxFlags::BTIME | StatxFlags::CTIME;
    let found = rustix::fs::statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, wanted)?;
    let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
    let time = if has_birth { found.stx_btime } else { found.stx_ctime };
    Ok((time.tv_sec, i64::from(time.tv_nsec)))
}

#[cfg(not(target_os = "linux"))]
fn creation_time(dir: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<(i64, i64)> {
    let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((found.st_ctime as i64, found.st_ctime_nsec as i64))
}

/// Returns the refusal for an entry that is older than this run.
fn older(path: &Path) -> Refusal {
    Refusal::Io {
        path: path.to_owned(),
        action: "remove it",
        source: std::io::Error::other("it is older than this run; remove it by hand if it is not needed"),
    }
}

fn unlink(dir: &OwnedFd, name: &OsStr, path: &Path, flags: AtFlags) -> Result<bool, Refusal> {
    match rustix::fs::unlinkat(dir, name, flags) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(Refusal::io(path, "remove it")(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, RenameFlags};
    use std::fs;
    use std::os::unix::fs::{FileTypeExt, symlink};

    /// Files, links and directories are removed. Pipes stay, and so does the target of a swapped directory.
    #[test]
    fn only_files_that_tools_create_are_removed_and_only_in_their_place() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("d/tree/deep")).unwrap();
        fs::create_dir_all(at("victim/tree/deep")).unwrap();
        fs::write(at("victim/f"), "precious").unwrap();
        symlink("victim", at("e")).unwrap();
        fs::write(at("d/old"), "precious").unwrap();
        fs::write(at("d/signal"), "").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let remover = Remover::new(&[at("d")], []);
        fs::write(at("d/f"), "x").unwrap();
        symlink("/nowhere", at("d/link")).unwrap();
        rustix::fs::mknodat(CWD, at("d/pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(remover.remove_file(&at("d/old")).unwrap_err().to_string().contains("older than this run"));
        assert!(remover.remove_signal_file(&at("d/old")).is_err() && at("d/old").exists());
        assert!(remover.remove_file(&at("d/signal")).is_err() && remover.remove_signal_file(&at("d/signal")).unwrap());
        fs::rename(at("d/old"), at("d/tree/deep/old")).unwrap();
        assert!(remover.remove_tree(&at("d/tree")).unwrap_err().to_string().contains("deep/old"));
        fs::remove_file(at("d/tree/deep/old")).unwrap();
        let swap = || rustix::fs::renameat_with(CWD, at("d"), CWD, at("e"), RenameFlags::EXCHANGE).unwrap();
        swap();
        assert!(matches!(remover.remove_file(&at("d/f")), Err(Refusal::Swapped { .. })));
        assert!(matches!(remover.remove_tree(&at("d/tree")), Err(Refusal::Swapped { .. })));
        assert!(matches!(remover.remove_dir(&at("d/tree/deep")), Err(Refusal::Swapped { .. })));
        swap();
        assert!(at("victim/tree/deep").exists() && at("victim/f").exists());
        assert!(remover.remove_file(&at("d/f")).unwrap() && remover.remove_file(&at("d/link")).unwrap());
        assert!(!remover.remove_file(&at("d/f")).unwrap() && !remover.remove_file(&at("d/none/f")).unwrap());
        assert!(matches!(remover.remove_file(&at("d/pipe")), Err(Refusal::WrongKind { .. })));
        assert!(fs::metadata(at("d/pipe")).unwrap().file_type().is_fifo());
        assert!(remover.remove_dir(&at("d/tree")).is_err() && remover.remove_tree(&at("d/tree")).unwrap());
        symlink("../victim/tree", at("d/tree")).unwrap();
        assert!(matches!(remover.remove_tree(&at("d/tree")), Err(Refusal::Symlink { .. })));
        assert!(at("victim/tree/deep").exists());
    }
}
