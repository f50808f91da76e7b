//! The names of a target's files, by number.

use super::op::FileInDirectory;
use crate::guard::{Guard, Roots, share_directory};
use crate::tree::write_number;
use std::ffi::{CStr, CString};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Paths in one block of memory. The paths of many small files are read in any order, so compact memory
/// keeps them in the processor's caches.
struct PathList {
    /// All paths, each with its NUL.
    text: Vec<u8>,
    /// Start of each path in `text`, and the end of the last one.
    bounds: Vec<usize>,
}

impl PathList {
    fn new(paths: impl Iterator<Item = PathBuf>) -> PathList {
        let (mut text, mut bounds) = (Vec::new(), vec![0]);
        for path in paths {
            // A path that contains a NUL stays empty, so that calls on it fail with ENOENT.
            let path = CString::new(path.into_os_string().into_encoded_bytes()).unwrap_or_default();
            text.extend_from_slice(path.as_bytes_with_nul());
            bounds.push(text.len());
        }
        PathList { text, bounds }
    }

    fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Returns a path, NUL included.
    #[inline]
    fn bytes(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        let (from, to) = (*self.bounds.get(number)?, *self.bounds.get(number + 1)?);
        self.text.get(from..to)
    }

    #[inline]
    fn get(&self, number: u32) -> Option<&CStr> {
        CStr::from_bytes_with_nul(self.bytes(number)?).ok()
    }
}

/// Files after the listed ones whose names are numbers, from 1, in one of several directories. They are not
/// listed: an op contains the directory.
pub(super) struct NumberedFiles {
    directories: Vec<NumberedDirectory>,
    count: usize,
}

struct NumberedDirectory {
    root: u32,
    /// Path with a trailing slash; empty for the working directory.
    path: Vec<u8>,
    /// Length of the root's part of `path`.
    skip: usize,
}

impl NumberedFiles {
    /// Creates `count` files in these directories.
    pub(super) fn new(directories: &[PathBuf], count: usize, roots: &Roots) -> NumberedFiles {
        let directories = directories.iter().map(|directory| {
            let mut path = directory.join("1").into_os_string().into_encoded_bytes();
            let (root, skip) = place_of(Path::new(std::ffi::OsStr::from_bytes(&path)), roots);
            path.pop();
            NumberedDirectory { root, path, skip }
        });
        NumberedFiles { directories: directories.collect(), count }
    }

    /// Writes the path of file `number` into `text`, without the first `skip` bytes of its directory's path.
    #[inline]
    fn write(directory: &NumberedDirectory, skip: usize, number: u32, text: &mut Vec<u8>) {
        text.clear();
        text.extend_from_slice(directory.path.get(skip..).unwrap_or_default());
        let (at, digits) = (text.len(), number.checked_ilog10().unwrap_or(0) as usize + 1);
        text.resize(at + digits + 1, 0);
        write_number(&mut text[at..at + digits], number.into());
    }
}

/// The names of a target's files, by number.
pub(super) struct FileTable {
    paths: PathList,
    numbered: Option<NumberedFiles>,
    /// Length of a path's prefix before the file's name.
    directory_bytes: usize,
    /// Marks files when they are created, so that the run's other workers recognise them. If `None`, the run registers
    /// them at its end, because each mark costs a system call.
    pub(super) marks: Option<Guard>,
    /// The directories that the user typed.
    roots: Arc<Roots>,
    /// Root and prefix length of each name, run-length encoded: consecutive names mostly share both.
    places: Vec<NamePlace>,
    /// Numbers of files that the user allowed; files that replace them are not marked.
    pub(super) allowed: Vec<u32>,
    /// Numbers of blank files that Plumb did not make; files that replace them are also lent.
    pub(super) lent: Vec<u32>,
}

/// Root and prefix length of the names from `from` up to the next entry.
struct NamePlace {
    from: u32,
    root: u32,
    skip: usize,
}

/// Finds the root of a path, and the length of the prefix that the root covers.
fn place_of(path: &Path, roots: &Roots) -> (u32, usize) {
    let (root, rest) = roots.find(path).unwrap_or((usize::MAX, path));
    // `rest` is a slice of the path, so the difference of their addresses is the prefix length.
    let begins = |path: &Path| path.as_os_str().as_bytes().as_ptr() as usize;
    (root as u32, begins(rest).saturating_sub(begins(path)))
}

/// Finds the root and the prefix length of each path.
fn places_of(paths: &[PathBuf], roots: &Roots) -> Vec<NamePlace> {
    let mut places: Vec<NamePlace> = Vec::new();
    let mut from = 0;
    // Names in one directory share both, and comparing directories is cheaper than searching for a root.
    for of_directory in paths.chunk_by(|one, next| share_directory(one, next)) {
        let Some(path) = of_directory.first() else { continue };
        let (root, skip) = place_of(path, roots);
        if places.last().is_none_or(|last| (last.root, last.skip) != (root, skip)) {
            places.push(NamePlace { from, root, skip });
        }
        from += of_directory.len() as u32;
    }
    places
}

impl FileTable {
    /// Creates a table of these paths. Its files are not marked, and none is allowed or lent.
    pub(super) fn new(paths: Vec<PathBuf>, base: &Path, roots: Arc<Roots>) -> FileTable {
        let directory_bytes =
            if base.as_os_str().is_empty() || base == Path::new(".") { 0 } else { base.as_os_str().len() + 1 };
        let places = places_of(&paths, &roots);
        let paths = PathList::new(paths.into_iter());
        let (marks, allowed, lent) = (None, Vec::new(), Vec::new());
        FileTable { paths, numbered: None, directory_bytes, roots, places, marks, allowed, lent }
    }

    /// Adds numbered files after the listed ones.
    pub(super) fn followed_by(self, numbered: Option<NumberedFiles>) -> FileTable {
        FileTable { numbered, ..self }
    }

    /// Returns the root of the first name.
    pub(super) fn first_root(&self) -> Option<u32> {
        let numbered = || self.numbered.as_ref()?.directories.first().map(|directory| directory.root);
        self.directory_and_path(0).map(|(root, _)| root).or_else(numbered)
    }

    /// Returns the directory of a numbered file, and the number that is its name; `None` for listed files.
    #[inline]
    fn numbered(&self, file: u64) -> Option<(&NumberedDirectory, u32)> {
        let FileInDirectory { place, directory } = FileInDirectory::from(file);
        let number = place.checked_sub(self.paths.len() as u32)?.checked_add(1)?;
        Some((self.numbered.as_ref()?.directories.get(directory as usize)?, number))
    }

    /// Returns the root of an op's file, and the path relative to it, for which `text` is memory.
    #[inline]
    pub(super) fn locate<'a>(&'a self, file: u64, text: &'a mut Vec<u8>) -> Option<(u32, &'a CStr)> {
        if self.numbered.is_none() {
            return self.directory_and_path(file as u32);
        }
        let Some((directory, number)) = self.numbered(file) else { return self.directory_and_path(file as u32) };
        NumberedFiles::write(directory, directory.skip, number, text);
        Some((directory.root, CStr::from_bytes_with_nul(text).ok()?))
    }

    /// Returns the root of a listed name, and the path relative to it.
    #[inline]
    pub(super) fn directory_and_path(&self, number: u32) -> Option<(u32, &CStr)> {
        let path = self.paths.bytes(number)?;
        let place = match self.places.as_slice() {
            [place] => place,
            places => places.get(places.partition_point(|place| place.from <= number).checked_sub(1)?)?,
        };
        Some((place.root, CStr::from_bytes_with_nul(path.get(place.skip..)?).ok()?))
    }

    /// Returns the directories that the user typed.
    pub(super) fn roots(&self) -> &Arc<Roots> {
        &self.roots
    }

    /// Returns `true` if a file is in a subdirectory of those that the user typed.
    pub(super) fn has_directories(&self) -> bool {
        let numbered = self.numbered.iter().flat_map(|numbered| &numbered.directories);
        numbered.into_iter().any(|directory| directory.path.len() > directory.skip)
            || (0..self.paths.len() as u32)
                .any(|number| self.directory_and_path(number).is_some_and(|(_, path)| path.to_bytes().contains(&b'/')))
    }

    #[inline]
    pub(super) fn path(&self, number: u32) -> Option<&CStr> {
        self.paths.get(number)
    }

    /// Returns the file's name without its directory: the content of a link in the same directory.
    pub(super) fn name(&self, number: u32) -> Option<&CStr> {
        let path = self.path(number)?.to_bytes_with_nul();
        CStr::from_bytes_with_nul(path.get(self.directory_bytes..)?).ok()
    }

    pub(super) fn path_buf(&self, file: u64) -> PathBuf {
        let mut text = Vec::new();
        let path = match self.numbered(file) {
            Some((directory, number)) => {
                NumberedFiles::write(directory, 0, number, &mut text);
                text.strip_suffix(b"\0").unwrap_or_default()
            }
            None => self.path(file as u32).map(CStr::to_bytes).unwrap_or_default(),
        };
        PathBuf::from(std::ffi::OsStr::from_bytes(path))
    }

    pub(super) fn count(&self) -> usize {
        self.paths.len() + self.numbered.as_ref().map_or(0, |numbered| numbered.count)
    }

    /// Marks a file that was created under the name with this number.
    #[cold]
    pub(super) fn mark_created(&self, number: u32, file: BorrowedFd<'_>) {
        let Some(guard) = self.marks.as_ref().filter(|_| !self.allowed.contains(&number)) else { return };
        // A tool may remove and recreate a lent file; its owner will take the new one for theirs.
        match self.lent.contains(&number) {
            true => guard.take_lent(file, &self.path_buf(number.into())),
            false => guard.take_made(file, &self.path_buf(number.into())),
        }
    }
}
