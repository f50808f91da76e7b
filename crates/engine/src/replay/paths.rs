//! Resolves recorded paths below the replay's directory, and never outside it.
//!
//! A recorded path is split into its names: a leading `/`, `.` and `..` never lead out. The rest is opened beneath the
//! root, without following links or entering mounts (openat2(2), `RESOLVE_BENEATH`, or step by step).

use super::order::Ancestors;
use crate::backend::{Completion, Errno};
use crate::guard::Mounts;
use plumb_workload::replay::path_names;
use rustix::fs::{Mode, OFlags};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Stands for a file number when the recording does not mention the directory.
const NOT_MENTIONED: u32 = u32::MAX;

/// Maximum number of directories that a lane keeps open.
const DIRECTORIES_MAX: usize = 256;

/// Opens a path of one or several names below a directory.
pub(super) fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    Ok(crate::guard::open_beneath(dir, path.as_bytes(), flags, mode, Mounts::Refused)?)
}

/// Paths of a recording's files.
#[derive(Debug, Default)]
pub(super) struct Paths {
    /// By file: the index of its directory and its name there. An empty name is the root itself.
    files: Vec<(u32, Box<str>)>,
    /// Paths of directories; the first is the root.
    directories: Vec<Box<str>>,
    /// By file: its nearest ancestor directory that the recording mentions.
    ancestors: Ancestors,
    /// By file: whether it is such an ancestor.
    is_above: Box<[bool]>,
    /// Number of removals and renames of directories.
    changes: AtomicU64,
}

impl Paths {
    /// Splits recorded paths into directories and names.
    pub(super) fn new(recorded: &[String]) -> Paths {
        let mut directories: Vec<Box<str>> = vec!["".into()];
        let mut known: HashMap<String, u32> = HashMap::from([(String::new(), 0)]);
        let mut files = Vec::with_capacity(recorded.len());
        let mut by_path: HashMap<String, u32> = HashMap::with_capacity(recorded.len());
        for (number, path) in recorded.iter().enumerate() {
            let names = path_names(path);
            by_path.entry(names.join("/")).or_insert(number as u32);
            let (name, above) = match names.split_last() {
                Some((name, above)) => (*name, above.join("/")),
                None => ("", String::new()),
            };
            let directory = *known.entry(above).or_insert_with_key(|above| {
                directories.push(above.as_str().into());
                directories.len() as u32 - 1
            });
            files.push((directory, name.into()));
        }
        // No call creates, removes or renames a directory that the recording does not mention.
        let of_directory: Vec<u32> =
            directories.iter().map(|path| by_path.get(&**path).copied().unwrap_or(NOT_MENTIONED)).collect();
        let nearest = |path: &str| {
            let mut path = path;
            loop {
                match by_path.get(path) {
                    Some(&file) if !path.is_empty() => return file,
                    _ => {}
                }
                match path.rsplit_once('/') {
                    Some((above, _)) => path = above,
                    None => return NOT_MENTIONED,
                }
            }
        };
        let parents: Vec<u32> = files
            .iter()
            .map(|(directory, _)| match of_directory[*directory as usize] {
                file if file != NOT_MENTIONED && *directory != 0 => file,
                _ => nearest(&directories[*directory as usize]),
            })
            .collect();
        let mut is_above = vec![false; files.len()].into_boxed_slice();
        for &parent in &parents {
            if let Some(is_above) = is_above.get_mut(parent as usize) {
                *is_above = true;
            }
        }
        Paths { files, directories, ancestors: Ancestors { parents }, is_above, changes: AtomicU64::new(0) }
    }

    pub(super) fn ancestors(&self) -> Ancestors {
        self.ancestors.clone()
    }

    /// Returns the path of a file relative to the root of the replay.
    pub(super) fn path(&self, file: u32) -> String {
        match self.files.get(file as usize) {
            Some((directory, name)) => match &*self.directories[*directory as usize] {
                "" => name.to_string(),
                above => format!("{above}/{name}"),
            },
            None => String::new(),
        }
    }

    /// Notes that a directory may have been renamed or removed.
    pub(super) fn directory_changes(&self, file: u32) {
        if self.is_above.get(file as usize) == Some(&true) {
            self.changes.fetch_add(1, Relaxed);
        }
    }
}

/// A lane's cache of open directories.
pub(super) struct OpenDirectories {
    root: OwnedFd,
    place: PathBuf,
    paths: Arc<Paths>,
    open: HashMap<u32, Rc<OwnedFd>>,
    changes: u64,
}

impl OpenDirectories {
    pub(super) fn new(root: OwnedFd, place: PathBuf, paths: Arc<Paths>) -> OpenDirectories {
        OpenDirectories { root, place, paths, open: HashMap::new(), changes: 0 }
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns the path of a file, for messages.
    pub(super) fn path(&self, file: u32) -> PathBuf {
        self.place.join(self.paths.path(file))
    }

    /// Returns the path of a file relative to the root of the replay.
    pub(super) fn name(&self, file: u32) -> String {
        self.paths.path(file)
    }

    pub(super) fn directory_changes(&self, file: u32) {
        self.paths.directory_changes(file);
    }

    /// Calls `does` with a file's directory and its name there.
    pub(super) fn at<T>(
        &mut self,
        file: u32,
        does: impl FnOnce(BorrowedFd<'_>, &str) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let paths = Arc::clone(&self.paths);
        let (directory, name) = paths.files.get(file as usize).ok_or(Errno(libc::ENOENT))?;
        if *directory == 0 {
            return does(self.root.as_fd(), name);
        }
        let opened = self.directory(*directory)?;
        does(opened.as_fd(), name)
    }

    fn directory(&mut self, number: u32) -> Result<Rc<OwnedFd>, Errno> {
        let changes = self.paths.changes.load(Relaxed);
        if changes != self.changes {
            self.changes = changes;
            self.open.clear();
        }
        if let Some(opened) = self.open.get(&number) {
            return Ok(Rc::clone(opened));
        }
        if self.open.len() == DIRECTORIES_MAX {
            self.open.clear();
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let path = &self.paths.directories[number as usize];
        let opened = Rc::new(open_beneath(self.root.as_fd(), path, flags, Mode::empty())?);
        self.open.insert(number, Rc::clone(&opened));
        Ok(opened)
    }
}

/// Refuses the replay's root, whose name is empty: no call may create or remove it.
pub(super) fn refuse_root(name: &str) -> Completion {
    if name.is_empty() { Err(Errno(libc::EBUSY)) } else { Ok(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    #[test]
    fn no_recorded_path_leads_out() {
        for (recorded, below) in [
            ("/etc/passwd", "etc/passwd"),
            ("../../etc/passwd", "etc/passwd"),
            ("/a/../../b", "b"),
            ("a/./b//c/", "a/b/c"),
            ("/", ""),
            ("..", ""),
            ("/a/b/../../../../../x", "x"),
        ] {
            assert_eq!(path_names(recorded).join("/"), below, "{recorded}");
            assert_eq!(Paths::new(&[recorded.to_owned()]).path(0), below, "{recorded}");
        }
    }

    #[test]
    fn the_parent_is_the_nearest_mentioned_directory() {
        let paths = Paths::new(&["/a/b/c/f", "/a/b", "/a", "/g", "/"].map(str::to_owned));
        assert_eq!(paths.ancestors().parents, [1, 2, u32::MAX, u32::MAX, u32::MAX]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn links_are_not_followed_anywhere() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("secret"), "x").unwrap();
        symlink(outside.path(), inside.path().join("way-out")).unwrap();
        symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
        symlink("..", inside.path().join("up")).unwrap();
        fs::create_dir(inside.path().join("d")).unwrap();
        let paths = ["/way-out/secret", "/file", "/up/x", "/d/f"].map(str::to_owned);
        let root = File::open(inside.path()).unwrap();
        let mut directories = OpenDirectories::new(root.into(), inside.path().to_owned(), Arc::new(Paths::new(&paths)));
        let mut open = |file| {
            let flags = OFlags::RDWR | OFlags::CREATE;
            directories.at(file, |dir, name| open_beneath(dir, name, flags, Mode::RUSR)).map(drop)
        };
        assert_eq!(open(0), Err(Errno(libc::ELOOP)));
        assert_eq!(open(1), Err(Errno(libc::ELOOP)));
        assert_eq!(open(2), Err(Errno(libc::ELOOP)));
        assert_eq!(open(3), Ok(()));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was created outside");
    }

    /// Creates, renames and removes files in 2,000 rounds while their directory is exchanged
    /// with a link to another one.
    #[test]
    #[cfg(target_os = "linux")]
    fn an_exchanged_directory_leads_nowhere() {
        use crate::guard::testing::{Swapping, Victim};
        use rustix::fs::AtFlags;
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("d")).unwrap();
        let victim = Victim::new(place.path(), &["f", "g"]);
        let paths = Arc::new(Paths::new(&["/d/f", "/d/g", "/d"].map(str::to_owned)));
        let swapping = Swapping::begin(&at("d"), &at("e"), &victim);
        for _ in 0..2000 {
            let root = File::open(place.path()).unwrap();
            let mut directories = OpenDirectories::new(root.into(), place.path().to_owned(), Arc::clone(&paths));
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC;
            let _ = directories.at(0, |dir, name| open_beneath(dir, name, flags, Mode::RUSR).map(drop));
            let _ = directories.at(0, |dir, name| Ok(rustix::fs::renameat(dir, name, dir, "g")?));
            let _ = directories.at(1, |dir, name| Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty())?));
        }
        let swaps = swapping.end();
        victim.is_unharmed("replay");
        assert!(swaps > 100, "only {swaps} exchanges");
    }

    /// Protects: a replaced directory does not stay in the cache.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_renamed_directory_is_reopened() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        let paths = Arc::new(Paths::new(&["/d/f", "/d"].map(str::to_owned)));
        let root = File::open(place.path()).unwrap();
        let mut directories = OpenDirectories::new(root.into(), place.path().to_owned(), paths);
        let make = |directories: &mut OpenDirectories| {
            let flags = OFlags::RDWR | OFlags::CREATE;
            directories.at(0, |dir, name| open_beneath(dir, name, flags, Mode::RUSR)).map(drop)
        };
        make(&mut directories).unwrap();
        fs::rename(place.path().join("d"), place.path().join("e")).unwrap();
        fs::create_dir(place.path().join("d")).unwrap();
        directories.directory_changes(1);
        make(&mut directories).unwrap();
        assert!(place.path().join("d/f").exists());
    }
}
