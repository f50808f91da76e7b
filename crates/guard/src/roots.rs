//! Directories that the user typed. Links on the way to them are followed once, when they are pinned. Everything below them
//! is opened relative to their descriptors.

use super::Refusal;
use super::path_resolution::{Identity, Mounts, open_beneath};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Flags for opening a root, or a directory below it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Whether a root may be replaced between two openings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pinning {
    /// No: it must keep its device and inode.
    Pinned,
    /// Yes: the user's commands run in between, and may mount something there.
    Free,
}

/// The directories from which paths are resolved.
///
/// No descriptor is held between two uses, so that a file system can be unmounted and mounted again. Device and inode show
/// whether the directory is still the same.
#[derive(Debug)]
pub struct Roots {
    list: Vec<Root>,
    numbers: HashMap<PathBuf, usize>,
    pinning: Pinning,
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// The root that contains it, from which it is opened if it did not exist at first.
    above: Option<usize>,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has not been opened yet.
    Unseen,
    /// It did not exist at first: the run will create it, and a link there was planted.
    Absent,
    /// It is this directory, on the file system with this `f_fsid` (0 if it has none).
    Is(Identity, u64),
}

impl Roots {
    /// Returns the roots for these paths. A path is below one of the `typed` directories; otherwise its own directory counts as
    /// typed. Existing directories are pinned now, others when they are first opened.
    pub fn new(typed: &[PathBuf], paths: impl IntoIterator<Item = PathBuf>, pinning: Pinning) -> Roots {
        let mut roots = Roots { list: Vec::new(), numbers: HashMap::new(), pinning };
        // The first typed directory has number 0.
        for path in typed {
            roots.add(path);
        }
        for path in typed {
            let above = parent_of(path).map(|above| roots.add(above));
            let number = roots.add(path);
            roots.list[number].above = above;
        }
        let mut last = None;
        for path in paths {
            let Some(parent) = parent_of(&path) else { continue };
            // A hundred thousand files may be in one directory.
            if last.as_deref() == Some(parent) {
                continue;
            }
            if roots.find(&path).is_none() {
                roots.add(parent);
            }
            last = Some(parent.to_owned());
        }
        for number in 0..roots.list.len() {
            // Other errors are reported when the root is used.
            if let Err(Errno::NOENT) = roots.open(number) {
                roots.list[number].set(State::Absent);
            }
        }
        roots
    }

    fn add(&mut self, path: &Path) -> usize {
        let path = plain(path);
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.list.len();
        self.list.push(Root { path: path.to_owned(), above: None, state: Mutex::new(State::Unseen) });
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// Returns the innermost root that contains a path, and the rest of the path.
    pub fn find<'p>(&self, path: &'p Path) -> Option<(usize, &'p Path)> {
        path.ancestors().skip(1).find_map(|above| {
            let number = *self.numbers.get(plain(above))?;
            Some((number, path.strip_prefix(above).ok()?))
        })
    }

    /// Returns the number of roots.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// Returns the path of a root, for messages; empty for the working directory.
    pub fn path(&self, number: usize) -> &Path {
        self.list.get(number).map_or(Path::new(""), |root| &root.path)
    }

    /// Opens a root, and pins it if it is not pinned yet.
    ///
    /// # Errors
    /// `ESTALE` if another directory has taken its place; `ELOOP` if it is a link in place of a directory that the run was to
    /// create; otherwise the error of open(2).
    pub fn open(&self, number: usize) -> rustix::io::Result<OwnedFd> {
        let root = self.list.get(number).ok_or(Errno::NOENT)?;
        let state = *root.state.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match (state, root.above, root.path.file_name()) {
            (State::Absent, Some(above), Some(name)) => {
                open_beneath(self.open(above)?.as_fd(), name.as_bytes(), DIRECTORY, Mode::empty(), Mounts::Entered)?
            }
            _ if root.path.as_os_str().is_empty() => crate::raw_open::openat(CWD, ".", DIRECTORY, Mode::empty())?,
            _ => crate::raw_open::openat(CWD, &root.path, DIRECTORY, Mode::empty())?,
        };
        if self.pinning == Pinning::Free {
            return Ok(opened);
        }
        let found = Identity::from_stat(&rustix::fs::fstat(&opened)?);
        match state {
            State::Is(known, _) if known == found => {}
            // A remounted file system may be on another loop device.
            State::Is(known, system) if known.inode == found.inode && system != 0 && system == system_of(&opened)? => {}
            State::Is(..) => return Err(Errno::STALE),
            State::Unseen | State::Absent => root.set(State::Is(found, system_of(&opened)?)),
        }
        Ok(opened)
    }

    /// Opens the directory of a path, without following a link below its root. Returns `None` if no root contains the path.
    ///
    /// # Errors
    /// [`Refusal::NoDirectory`], [`Refusal::Symlink`] for a link below the root, [`Refusal::Swapped`] if another directory has
    /// taken the place of the root, [`Refusal::Io`].
    pub(crate) fn open_parent(&self, path: &Path) -> Result<Option<OwnedFd>, Refusal> {
        self.open_parent_from(path, &mut None)
    }

    /// Works as [`Roots::open_parent`], but reuses the root in `last` and stores the one it opened there.
    pub(crate) fn open_parent_from(
        &self,
        path: &Path,
        last: &mut Option<(usize, OwnedFd)>,
    ) -> Result<Option<OwnedFd>, Refusal> {
        let Some((number, rest)) = self.find(path) else { return Ok(None) };
        let failed = |error| self.refusal(number, path, error);
        let below = rest.parent().map_or(b"".as_slice(), |below| below.as_os_str().as_bytes());
        if below.is_empty() {
            return self.open(number).map(Some).map_err(failed);
        }
        let root = match last.take() {
            Some((opened, root)) if opened == number => root,
            _ => self.open(number).map_err(failed)?,
        };
        let opened = open_beneath(root.as_fd(), below, DIRECTORY, Mode::empty(), Mounts::Entered).map_err(failed);
        *last = Some((number, root));
        opened.map(Some)
    }

    fn refusal(&self, number: usize, path: &Path, error: Errno) -> Refusal {
        let parent = parent_of(path).unwrap_or(Path::new("."));
        match error {
            Errno::NOENT => Refusal::NoDirectory { path: path.to_owned(), directory: parent.to_owned() },
            Errno::LOOP | Errno::MLINK => Refusal::Symlink { path: parent.to_owned() },
            Errno::STALE => Refusal::Swapped {
                path: self.path(number).to_owned(),
                found: "another directory is there now".to_owned(),
            },
            error => Refusal::io(path, "open its directory")(error),
        }
    }
}

impl Root {
    fn set(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// Returns the `f_fsid` of the directory's file system.
fn system_of(dir: &OwnedFd) -> rustix::io::Result<u64> {
    Ok(rustix::fs::fstatvfs(dir)?.f_fsid)
}

/// Returns the directory of a path; empty for the working directory, `None` for `/`.
fn parent_of(path: &Path) -> Option<&Path> {
    plain(path).parent()
}

/// Replaces `.` by the empty path: both mean the working directory.
fn plain(path: &Path) -> &Path {
    if path == Path::new(".") { Path::new("") } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{AtFlags, RenameFlags};
    use std::fs;
    use std::os::unix::fs::symlink;

    fn roots(typed: &[&Path], paths: &[PathBuf]) -> Roots {
        let typed: Vec<PathBuf> = typed.iter().map(|path| path.to_path_buf()).collect();
        Roots::new(&typed, paths.iter().cloned(), Pinning::Pinned)
    }

    /// Links in the typed path are followed; links below it are not.
    #[test]
    fn links_are_followed_as_far_as_the_user_typed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("real/own/deep")).unwrap();
        symlink("real", at("link")).unwrap();
        symlink("own", at("real/inner")).unwrap();
        let typed = at("link");
        let roots = roots(&[&typed], &[]);
        let open = |path: &str| roots.open_parent(&at(path)).map(|found| found.is_some());
        assert!(open("link/file").unwrap() && open("link/own/deep/file").unwrap());
        assert!(matches!(open("link/inner/file"), Err(Refusal::Symlink { .. })));
        assert!(matches!(open("link/none/file"), Err(Refusal::NoDirectory { .. })));
    }

    /// A pinned directory that is later replaced, by a link or by another directory, is not entered.
    #[test]
    fn another_directory_is_not_entered() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for name in ["d", "other", "victim"] {
            fs::create_dir(at(name)).unwrap();
        }
        symlink("victim", at("e")).unwrap();
        let roots = roots(&[], &[at("d/f")]);
        assert!(roots.open_parent(&at("d/f")).unwrap().is_some());
        for with in ["e", "other"] {
            let swap = || {
                rustix::fs::renameat_with(CWD, at("d"), CWD, at(with), RenameFlags::EXCHANGE).unwrap();
            };
            swap();
            assert!(matches!(roots.open_parent(&at("d/f")), Err(Refusal::Swapped { .. })), "{with}");
            swap();
            assert!(roots.open_parent(&at("d/f")).is_ok(), "{with}");
        }
    }

    /// A link that is planted in place of a directory that the run will create is not followed.
    #[test]
    fn a_link_in_place_of_a_new_directory_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("victim")).unwrap();
        let typed = at("new");
        let roots = roots(&[&typed], &[]);
        symlink("victim", at("new")).unwrap();
        assert!(matches!(roots.open_parent(&at("new/f")), Err(Refusal::Symlink { .. })));
        rustix::fs::unlinkat(CWD, at("new"), AtFlags::empty()).unwrap();
        fs::create_dir(at("new")).unwrap();
        assert!(roots.open_parent(&at("new/f")).unwrap().is_some());
    }

    /// The working directory is a root too, as `.` and as the empty path.
    #[test]
    fn the_working_directory_has_two_names() {
        for typed in ["", "."] {
            let roots = roots(&[Path::new(typed)], &[]);
            let (_, rest) = roots.find(Path::new("a/b")).unwrap();
            assert_eq!(rest, Path::new("a/b"));
            assert!(roots.open_parent(Path::new("file")).unwrap().is_some());
        }
    }
}
