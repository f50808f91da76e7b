//! The root of a tree in which another tool's language made up every name.

use super::beneath::{Identity, open_entry};
use super::{Guard, GuardedDir, Refusal, read_only_file_system};
use rustix::fs::{Dir, FileType, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// No tree of generated names is deeper.
const LEVELS_MAX: usize = 64;

/// A directory of generated names, opened.
pub(crate) struct GeneratedDir {
    pub(crate) dir: GuardedDir,
    /// Whether anything is in it.
    pub(crate) is_empty: bool,
}

impl Guard {
    /// Opens a directory in which all entries have numbers of eight or more digits for names, and makes it where it is
    /// missing. Such a tree is test data. `needed_bytes` is what all files in it will take.
    ///
    /// # Errors
    /// [`Refusal::NotTestData`] where anything else is in it and the user did not name the directory;
    /// [`Refusal::NoDirectory`], [`Refusal::Symlink`], [`Refusal::WrongKind`], [`Refusal::ReadOnly`], [`Refusal::Space`],
    /// [`Refusal::Io`].
    pub(crate) fn open_numbered_tree(&self, path: &Path, needed_bytes: u64) -> Result<GeneratedDir, Refusal> {
        let not_a_directory = || Refusal::WrongKind {
            path: path.to_owned(),
            found: "the root of a file system or no name",
            expected: "a directory that can be removed",
        };
        let name = path.file_name().ok_or_else(not_a_directory)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = rustix::fs::open(parent, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => Refusal::NoDirectory { path: path.to_owned(), directory: parent.to_owned() },
            error => Refusal::io(path, "open its directory")(error),
        })?;
        let stat = rustix::fs::fstatvfs(&above).map_err(Refusal::io(path, "check its file system"))?;
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(read_only_file_system(path));
        }
        self.admit(above.as_fd(), path, needed_bytes)?;
        match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(Refusal::io(path, "make a directory there")(error)),
        }
        let fd =
            open_entry(above.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).map_err(|error| {
                match error {
                    Errno::LOOP => Refusal::Symlink { path: path.to_owned() },
                    Errno::NOTDIR => {
                        Refusal::WrongKind { path: path.to_owned(), found: "a file", expected: "a directory" }
                    }
                    error => Refusal::io(path, "open it")(error),
                }
            })?;
        let found = Found::below(fd.as_fd(), 0).map_err(Refusal::io(path, "check what is in it"))?;
        let identity = rustix::fs::fstat(&fd).map(|stat| Identity::of(&stat));
        let is_named = identity.is_ok_and(|identity| self.permissions.names_file(identity));
        if let Found::Foreign(foreign) = &found
            && !is_named
        {
            return Err(Refusal::NotTestData {
                path: path.to_owned(),
                found: format!("`{}`", foreign.display()),
                setting: self.permissions.setting_with(&path.to_string_lossy()),
            });
        }
        Ok(GeneratedDir { dir: GuardedDir { fd, path: path.to_owned() }, is_empty: matches!(found, Found::Nothing) })
    }
}

/// What a directory holds.
enum Found {
    Nothing,
    Generated,
    /// Something of another name, relative to the directory.
    Foreign(PathBuf),
}

impl Found {
    fn below(dir: BorrowedFd<'_>, level: usize) -> rustix::io::Result<Found> {
        let mut found = Found::Nothing;
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            found = Found::Generated;
            let name = OsStr::from_bytes(name);
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let stat = rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?;
                    FileType::from_raw_mode(stat.st_mode)
                }
                kind => kind,
            };
            let is_numbered = name.len() >= 8 && name.as_bytes().iter().all(u8::is_ascii_digit);
            match kind {
                FileType::RegularFile if is_numbered => {}
                FileType::Directory if is_numbered && level < LEVELS_MAX => {
                    let inner = open_entry(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
                    if let Found::Foreign(foreign) = Found::below(inner.as_fd(), level + 1)? {
                        return Ok(Found::Foreign(Path::new(name).join(foreign)));
                    }
                }
                _ => return Ok(Found::Foreign(name.into())),
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Permissions;
    use std::fs;

    /// Only a tree of numbers is test data: anything else in it, at any depth, keeps all of it from being removed.
    #[test]
    fn only_numbered_trees_are_test_data() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("set");
        let guard = Guard::new(Permissions::none());
        assert!(guard.open_numbered_tree(&root, 0).unwrap().is_empty, "it is made");
        fs::create_dir_all(root.join("00000001/00000002")).unwrap();
        fs::write(root.join("00000001/00000002/00000001"), "test").unwrap();
        assert!(!guard.open_numbered_tree(&root, 0).unwrap().is_empty);
        fs::write(root.join("00000001/00000002/thesis.tex"), "precious").unwrap();
        let refusal = guard.open_numbered_tree(&root, 0).err().unwrap().to_string();
        assert!(refusal.contains("thesis.tex") && refusal.contains("PLUMB_ALLOW="), "{refusal}");
        let allowed = Guard::new(Permissions::parse(root.to_str().unwrap()));
        assert!(!allowed.open_numbered_tree(&root, 0).unwrap().is_empty);
    }

    /// Neither a link in the place of the tree, nor a file, nor the root of the file system is taken for it.
    #[test]
    fn what_is_no_directory_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let guard = Guard::new(Permissions::none());
        fs::create_dir(place.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        for (name, says) in [("link", "symbolic link"), ("file", "a file"), ("no/where", "mkdir -p")] {
            let refusal = guard.open_numbered_tree(&place.path().join(name), 0).err().unwrap().to_string();
            assert!(refusal.contains(says), "{name}: {refusal}");
        }
        assert!(guard.open_numbered_tree(Path::new("/"), 0).is_err());
        assert!(guard.open_numbered_tree(&place.path().join("set"), u64::MAX).is_err(), "no room for that");
    }
}
