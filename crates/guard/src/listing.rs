//! Reads a directory once instead of making a call for each of many names in it.

use rustix::fs::{Dir, FileType, OFlags};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flags for opening a directory in order to list it.
pub(crate) const LISTED: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Maximum number of entries to read if only directories are expected.
pub(crate) const FEW: usize = 64;

/// Minimum number of names in a directory for which reading the directory costs less than a call per name.
pub const MANY_NAMES: usize = 8;

/// Returns `true` if two paths certainly name entries of the same directory. Faster than comparing [`Path::parent`],
/// which splits paths into components: a hundred thousand paths may be compared in sequence.
pub fn share_directory(one: &Path, other: &Path) -> bool {
    fn split(path: &Path) -> Option<(&[u8], &[u8])> {
        let path = path.as_os_str().as_bytes();
        let at = path.iter().rposition(|&byte| byte == b'/')?;
        Some((&path[..at], &path[at + 1..]))
    }
    // Paths that end with a slash or a dot name a directory.
    let is_name = |name: &[u8]| !matches!(name, b"" | b".");
    match (split(one), split(other)) {
        (Some((above, name)), Some((other_above, other_name))) => {
            above == other_above && is_name(name) && is_name(other_name)
        }
        (None, None) => one.parent() == other.parent(),
        _ => false,
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectoryEntry<'a> {
    /// Its name, without the directory.
    pub name: &'a [u8],
    /// Whether it is certainly a directory; not every file system reports this.
    pub is_directory: bool,
}

/// Returns `false` if an opened directory has at most `most` entries and none of them `is_meant`.
pub(crate) fn may_contain(directory: OwnedFd, most: usize, is_meant: impl Fn(DirectoryEntry<'_>) -> bool) -> bool {
    let Ok(mut entries) = Dir::new(directory) else { return true };
    let mut left = most;
    loop {
        let entry = match entries.read() {
            None => return false,
            Some(Err(_)) => return true,
            Some(Ok(entry)) => entry,
        };
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let is_directory = entry.file_type() == FileType::Directory;
        if left == 0 || is_meant(DirectoryEntry { name, is_directory }) {
            return true;
        }
        left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::guard;
    use crate::{Create, Naming, Permissions, Refusal};
    use rustix::fs::Mode;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// Returns whether the door considers that a directory may hold files.
    fn may_contain_files(directory: &Path) -> Result<bool, Refusal> {
        guard(Permissions::none()).door(Naming::Generated).may_contain_files(&directory.join("name"))
    }

    fn with_directories(count: usize) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        for number in 0..count {
            fs::create_dir(place.path().join(format!("d{number}"))).unwrap();
        }
        place
    }

    #[test]
    fn paths_share_a_directory_only_where_their_parents_are_the_same() {
        let paths = ["", "a", "b", "/a", "/b", "d/a", "d/b", "d//a", "d/", "d/.", "d/..", "e/a", "d/e/a", "/", "."];
        let paths = paths.map(Path::new);
        for (one, other) in paths.iter().flat_map(|one| paths.map(|other| (*one, other))) {
            assert!(!share_directory(one, other) || one.parent() == other.parent(), "{one:?} and {other:?}");
        }
        for (one, other) in [("a", "b"), ("/a", "/b"), ("d/a", "d/b"), ("/d/e/a", "/d/e/b")] {
            assert!(share_directory(Path::new(one), Path::new(other)), "{one} and {other}");
        }
    }

    /// Protects files among any number of directories. File systems that ignore case need no special handling,
    /// because no names are compared.
    #[test]
    fn a_file_is_seen_among_any_number_of_directories_and_stays() {
        for count in [0, 1, FEW - 1, FEW, 100] {
            let place = with_directories(count);
            assert_eq!(may_contain_files(place.path()).unwrap(), count > FEW, "{count} directories alone");
            let path = place.path().join("Name");
            fs::write(&path, "precious").unwrap();
            assert!(may_contain_files(place.path()).unwrap(), "{count} directories and a file");
            let mut door = guard(Permissions::none()).door(Naming::Generated);
            assert!(!door.is_free(&path).unwrap());
            assert!(matches!(door.open(&path, Create::Never), Err(Refusal::ExistingFile { .. })));
            assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
        }
    }

    #[test]
    fn links_pipes_and_missing_names_are_not_directories() {
        let place = with_directories(1);
        assert!(matches!(may_contain_files(&place.path().join("none")), Err(Refusal::NoDirectory { .. })));
        // A link to a directory counts too, because the run would write through it.
        for target in ["d0", "dangling"] {
            let link = place.path().join("link");
            symlink(target, &link).unwrap();
            assert!(may_contain_files(place.path()).unwrap(), "a link to {target}");
            fs::remove_file(&link).unwrap();
            assert!(!may_contain_files(place.path()).unwrap());
        }
        assert!(crate::testing::run("mkfifo", &[place.path().join("pipe").to_str().unwrap()]));
        assert!(may_contain_files(place.path()).unwrap());
    }

    /// Protects files in a directory that can be searched but not listed.
    #[test]
    fn a_directory_that_cannot_be_listed_may_hold_files() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("unreadable");
        fs::create_dir(&directory).unwrap();
        for (path, mode) in [(place.path(), 0o711), (&directory, 0o311)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let unlisted = crate::raw_open::open(&directory, OFlags::PATH | OFlags::DIRECTORY, Mode::empty()).unwrap();
        assert!(may_contain(unlisted, FEW, |_| false));
        let found = std::thread::spawn(move || {
            // Root can list everything. User ids set here apply to this thread only.
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            assert!(fs::read_dir(&directory).is_err());
            may_contain_files(&directory)
        });
        assert!(found.join().unwrap().unwrap());
    }
}
