//! The root of a tree in which another tool's language made up every name.

use super::path_resolution::{Identity, open_entry};
use super::{Guard, GuardedDir, Refusal, occupied_bytes, read_only_file_system};
use plumb_workload::program::ExistingTree;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// No tree of generated names is deeper.
const LEVELS_MAX: usize = 64;

/// The name of the first directory in the root: a tree of generated names always has it.
const FIRST_NAME: &[u8] = b"00000001";

/// A directory of generated names, opened.
pub struct GeneratedDir {
    /// It.
    pub dir: GuardedDir,
    /// Whether anything is in it.
    pub is_empty: bool,
    /// Whether its file system may be written to until nothing is left.
    pub may_be_filled: bool,
}

impl Guard {
    /// Opens a directory in which all entries have numbers of eight or more digits for names, `00000001` among them, and
    /// makes it where it is missing. Such a tree is test data. `needed_bytes` is what all files in it will take; what
    /// takes room in it already, because it is kept or removed first, is not counted again.
    ///
    /// # Errors
    /// [`Refusal::NotTestData`] where anything else is in it and the user did not name the directory, or where a file that
    /// would be written to has a second name; [`Refusal::NoDirectory`], [`Refusal::Symlink`], [`Refusal::WrongKind`],
    /// [`Refusal::ReadOnly`], [`Refusal::Space`], [`Refusal::Io`].
    pub fn open_numbered_tree(
        &self,
        path: &Path,
        needed_bytes: u64,
        existing: ExistingTree,
    ) -> Result<GeneratedDir, Refusal> {
        let not_a_directory = || Refusal::WrongKind {
            path: path.to_owned(),
            found: "the root of a file system or no name",
            expected: "a directory that can be removed",
        };
        let name = path.file_name().ok_or_else(not_a_directory)?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = crate::raw_open::open(parent, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => Refusal::NoDirectory { path: path.to_owned(), directory: parent.to_owned() },
            error => Refusal::io(path, "open its directory")(error),
        })?;
        let stat = rustix::fs::fstatvfs(&above).map_err(Refusal::io(path, "check its file system"))?;
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Err(read_only_file_system(path));
        }
        let open = || open_entry(above.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let opened = match open() {
            Err(Errno::NOENT) => {
                self.admit(above.as_fd(), path, needed_bytes)?;
                match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(error) => return Err(Refusal::io(path, "make a directory there")(error)),
                }
            }
            opened => opened,
        };
        let fd = opened.map_err(|error| match error {
            Errno::LOOP => Refusal::Symlink { path: path.to_owned() },
            Errno::NOTDIR => Refusal::WrongKind { path: path.to_owned(), found: "a file", expected: "a directory" },
            error => Refusal::io(path, "open it")(error),
        })?;
        let identity = rustix::fs::fstat(&fd).map(|stat| Identity::of(&stat));
        let is_named = identity.is_ok_and(|identity| self.permissions.names_file(identity));
        let found = Found::in_root(fd.as_fd()).map_err(Refusal::io(path, "check what is in it"))?;
        let not_test_data = |found: String| Refusal::NotTestData {
            path: path.to_owned(),
            found,
            setting: self.permissions.setting_with(&path.to_string_lossy()),
        };
        if let Some(foreign) = found.foreign.filter(|_| !is_named) {
            return Err(not_test_data(foreign));
        }
        // Removing a second name loses nothing; writing to it would change the other file.
        if let Some(linked) = found.linked.filter(|_| !is_named || existing != ExistingTree::Remove) {
            return Err(not_test_data(format!("`{}`, a file with a second name (a hard link)", linked.display())));
        }
        let further = match existing {
            ExistingTree::Trust if !found.is_empty => 0,
            _ => needed_bytes.saturating_sub(found.occupied_bytes),
        };
        self.admit(fd.as_fd(), path, further)?;
        let may_be_filled = self.may_fill(fd.as_fd());
        Ok(GeneratedDir { dir: GuardedDir { fd, path: path.to_owned() }, is_empty: found.is_empty, may_be_filled })
    }
}

/// What a directory holds.
struct Found {
    is_empty: bool,
    /// The first thing that is not of such a tree, in words.
    foreign: Option<String>,
    /// The first file with a second name, relative to the root.
    linked: Option<PathBuf>,
    /// Bytes that its files take.
    occupied_bytes: u64,
}

impl Found {
    fn in_root(root: BorrowedFd<'_>) -> rustix::io::Result<Found> {
        let mut found = Found { is_empty: true, foreign: None, linked: None, occupied_bytes: 0 };
        found.add(root, Path::new(""), 0)?;
        if !found.is_empty && found.foreign.is_none() {
            let first = rustix::fs::statat(root, FIRST_NAME, AtFlags::SYMLINK_NOFOLLOW);
            let is_there = first.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
            found.foreign = (!is_there).then(|| "numbered names, but no directory `00000001`".to_owned());
        }
        Ok(found)
    }

    /// Adds what lies in a directory.
    fn add(&mut self, dir: BorrowedFd<'_>, below: &Path, level: usize) -> rustix::io::Result<()> {
        for entry in Dir::read_from(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            self.is_empty = false;
            let name = OsStr::from_bytes(name);
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let is_numbered = name.len() >= FIRST_NAME.len() && name.as_bytes().iter().all(u8::is_ascii_digit);
            let path = below.join(name);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if is_numbered => {
                    self.occupied_bytes = self.occupied_bytes.saturating_add(occupied_bytes(&stat));
                    if stat.st_nlink > 1 && self.linked.is_none() {
                        self.linked = Some(path);
                    }
                }
                FileType::Directory if is_numbered && level < LEVELS_MAX => {
                    let inner = open_entry(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
                    self.add(inner.as_fd(), &path, level + 1)?;
                }
                _ if self.foreign.is_none() => self.foreign = Some(format!("`{}`", path.display())),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permissions;
    use crate::testing::guard;
    use std::fs;

    /// Only a tree of numbers is test data: anything else in it, at any depth, keeps all of it from being removed.
    #[test]
    fn only_numbered_trees_are_test_data() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("set");
        let unnamed = guard(Permissions::none());
        assert!(unnamed.open_numbered_tree(&root, 0, ExistingTree::Remove).unwrap().is_empty, "it is made");
        fs::create_dir_all(root.join("00000001/00000002")).unwrap();
        fs::write(root.join("00000001/00000002/00000001"), "test").unwrap();
        assert!(!unnamed.open_numbered_tree(&root, 0, ExistingTree::Remove).unwrap().is_empty);
        fs::write(root.join("00000001/00000002/thesis.tex"), "precious").unwrap();
        let refusal = unnamed.open_numbered_tree(&root, 0, ExistingTree::Remove).err().unwrap().to_string();
        assert!(refusal.contains("thesis.tex") && refusal.contains("PLUMB_ALLOW="), "{refusal}");
        let allowed = guard(Permissions::parse(root.to_str().unwrap()));
        assert!(!allowed.open_numbered_tree(&root, 0, ExistingTree::Remove).unwrap().is_empty);
    }

    /// Neither a link in the place of the tree, nor a file, nor the root of the file system is taken for it.
    #[test]
    fn what_is_no_directory_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let unnamed = guard(Permissions::none());
        fs::create_dir(place.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", place.path().join("link")).unwrap();
        fs::write(place.path().join("file"), "").unwrap();
        for (name, says) in [("link", "symbolic link"), ("file", "a file"), ("no/where", "mkdir -p")] {
            let refusal = unnamed
                .open_numbered_tree(&place.path().join(name), 0, ExistingTree::Remove)
                .err()
                .unwrap()
                .to_string();
            assert!(refusal.contains(says), "{name}: {refusal}");
        }
        assert!(unnamed.open_numbered_tree(Path::new("/"), 0, ExistingTree::Remove).is_err());
        assert!(
            unnamed.open_numbered_tree(&place.path().join("set"), u64::MAX, ExistingTree::Remove).is_err(),
            "no room for that"
        );
    }

    /// Other people's numbers are no test data: photographs by date, and files with a second name, whatever is done to a
    /// tree that exists.
    #[test]
    fn other_numbered_names_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let unnamed = guard(Permissions::none());
        let refused = |name: &str, guard: &Guard, existing| {
            let refusal = guard.open_numbered_tree(&place.path().join(name), 0, existing).err();
            refusal.unwrap_or_else(|| panic!("{name}, {existing:?}")).to_string()
        };
        let every = [ExistingTree::Remove, ExistingTree::Reuse, ExistingTree::Trust];
        fs::create_dir_all(place.path().join("photos/20240131")).unwrap();
        fs::write(place.path().join("photos/20240131/00012345"), "precious").unwrap();
        fs::create_dir_all(place.path().join("linked/00000001")).unwrap();
        fs::write(place.path().join("precious"), "precious").unwrap();
        fs::hard_link(place.path().join("precious"), place.path().join("linked/00000001/00000001")).unwrap();
        for existing in every {
            assert!(refused("photos", &unnamed, existing).contains("no directory `00000001`"));
            assert!(refused("linked", &unnamed, existing).contains("a hard link"));
        }
        // A named directory covers no file with a second name: it may be removed there, and not be written to.
        let named = guard(Permissions::parse(place.path().join("linked").to_str().unwrap()));
        assert!(refused("linked", &named, ExistingTree::Reuse).contains("a hard link"));
        assert!(named.open_numbered_tree(&place.path().join("linked"), 0, ExistingTree::Remove).is_ok());
    }

    /// What a tree takes already is not needed again, and what it lacks is; only a tree that is trusted needs nothing.
    #[test]
    fn what_is_there_is_not_counted_again() {
        let place = tempfile::tempdir().unwrap();
        let (root, unnamed) = (place.path().join("set"), guard(Permissions::none()));
        fs::create_dir_all(root.join("00000001")).unwrap();
        fs::write(root.join("00000001/00000001"), vec![1; 4 << 20]).unwrap();
        fs::File::open(root.join("00000001/00000001")).unwrap().sync_all().unwrap();
        let fits = |needed: u64, existing| unnamed.open_numbered_tree(&root, needed, existing).is_ok();
        let free = crate::space::Space::of(fs::File::open(&root).unwrap()).unwrap().unwrap().headroom_bytes();
        assert!(!fits(u64::MAX, ExistingTree::Reuse) && fits(u64::MAX, ExistingTree::Trust));
        // Others write to the file system meanwhile: half of it is far from both edges.
        assert!(fits(free / 2, ExistingTree::Remove) && fits(4 << 20, ExistingTree::Reuse));
        let found = Found::in_root(fs::File::open(&root).unwrap().as_fd()).unwrap();
        assert!(found.occupied_bytes > 0 && !found.is_empty);
    }
}
