//! Paths of trees, written when they are needed, and their checks by the guard.

use crate::backend::Errno;
use crate::files::paths::Paths;
use crate::guard::{FoundName, Guard, Naming, Pinning, Refusal, Roots};
use crate::open_dirs::{DirAndName, OpenDirs};
use crate::setting::Setting;
use plumb_workload::files::Names;
use plumb_workload::program::{TreeEntry, TreeName, TreeNames, TreeWork, put_number};
use plumb_workload::{ScratchTarget, Workload};
use std::ffi::{CStr, OsStr};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of a tree's directories that a worker keeps open.
const DIRECTORIES: u64 = 256;

/// The trees of a target, for all workers and phases.
pub(crate) struct TreeFiles {
    /// Names whose places are relative to the run's base.
    pub(super) names: TreeNames,
    /// The places and their parent directories.
    pub(in crate::program) roots: Arc<Roots>,
    /// The roots of each place, by its number.
    places: Vec<PlaceRoots>,
}

#[derive(Debug, Clone, Copy)]
struct PlaceRoots {
    /// Root of the entries in the place.
    inside: u32,
    /// Root of the place itself: its parent directory.
    above: u32,
    /// Length of the place's path before its own name.
    above_bytes: usize,
}

impl TreeFiles {
    pub(in crate::program) fn new(names: TreeNames, base: &Path) -> TreeFiles {
        let places = Paths::new(&Names::Made(names.places.clone()), base);
        let places: Vec<PathBuf> = (0..places.count()).map(|number| places.path(number)).collect();
        let roots = Roots::new(&places, [], Pinning::Pinned);
        let found = places.iter().map(|place| {
            let (above, name) = roots.find(place).unwrap_or((usize::MAX, place));
            let (inside, _) = roots.find(&place.join("_")).unwrap_or((usize::MAX, place));
            let begins = |path: &Path| path.as_os_str().as_bytes().as_ptr() as usize;
            let above_bytes = begins(name).saturating_sub(begins(place));
            PlaceRoots { inside: inside as u32, above: above as u32, above_bytes }
        });
        let found = found.collect();
        TreeFiles { names: TreeNames { places, ..names }, roots: Arc::new(roots), places: found }
    }

    /// Returns the root of an entry, and the length of the path prefix that the root covers.
    fn root_of(&self, name: TreeName) -> (u32, usize) {
        let place = match name.entry {
            TreeEntry::Place(place) => place as usize,
            _ => name.owner as usize % self.places.len().max(1),
        };
        let Some(roots) = self.places.get(place) else { return (u32::MAX, 0) };
        if matches!(name.entry, TreeEntry::Place(_)) {
            return (roots.above, roots.above_bytes);
        }
        let bytes = self.names.places[place].as_os_str().as_bytes();
        // Matches `write_path`: no slash after a place that is empty or ends with one.
        (roots.inside, bytes.len() + usize::from(!bytes.is_empty() && !bytes.ends_with(b"/")))
    }

    /// Returns the first place, or its parent directory if it does not exist.
    pub(crate) fn first_path(&self) -> PathBuf {
        let first = self.names.places.first().cloned().unwrap_or_default();
        if first.exists() {
            return first;
        }
        first.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
    }
}

/// Checks the places of trees, and refuses them if they are impossible or have no room.
///
/// # Errors
/// [`Refusal`], with the way out.
pub(crate) fn open(
    name: &str,
    target: &ScratchTarget,
    names: &TreeNames,
    workload: &Workload,
    guard: &Guard,
    setting: &Setting<'_>,
) -> Result<TreeFiles, Refusal> {
    let base = match target.path.as_os_str().is_empty() {
        true => setting.base.to_owned(),
        false => setting.base.join(&target.path),
    };
    let files = TreeFiles::new(names.clone(), &base);
    let groups = workload.phase.iter().flat_map(|phase| &phase.workers).filter(|group| group.target == name);
    let steps = groups.filter_map(|group| group.work.program()).flat_map(|program| program.trees());
    let (mut changes, mut most_bytes) = (false, 0);
    for step in steps.filter(|step| step.changes()) {
        changes = true;
        // The number of items until a wall is unknown; the reserve of free space ends a step that lasts too long. A
        // renewed item reuses the space of the removed one.
        let is_open = step.wall.is_some() || matches!(step.does, TreeWork::Renew(_));
        let each = if is_open { 1 } else { step.count.unwrap_or(u64::MAX).min(names.items_each()) };
        let items = each.saturating_mul(names.owners.into()).saturating_mul(names.roots.into());
        most_bytes = most_bytes.max(step.made_bytes().saturating_mul(items));
    }
    if changes {
        let mut door = guard.door(Naming::Generated).with_roots(Arc::clone(&files.roots));
        for place in &files.names.places {
            // Links are followed only in the places, which the user typed, and never within the trees.
            if !matches!(door.find(place)?, FoundName::Nothing | FoundName::Directory) {
                return Err(Refusal::io(place, "create trees in it")(rustix::io::Errno::NOTDIR));
            }
        }
        for place in &files.names.places {
            for root in 0..names.roots {
                let owners = if names.flat { names.owners } else { 1 };
                for owner in 0..owners {
                    door.admit_tree_removal(&place.join(files.names.root_name(owner, root)))?;
                }
            }
        }
        if let Some(first) = files.names.places.first() {
            door.admit(first, most_bytes)?;
        }
    }
    Ok(files)
}

/// Writes the paths of a worker's ops. Items of one directory differ only in their
/// numbers, and usually follow one another.
pub(in crate::program) struct TreePaths {
    files: Arc<TreeFiles>,
    path: PathBuffer,
    other: PathBuffer,
    /// Open directories of first and of second paths.
    dirs: OpenDirs,
    others: OpenDirs,
}

/// A path of which only the part from the item's number on is rewritten, if possible.
#[derive(Default)]
struct PathBuffer {
    /// The path with its NUL.
    text: Vec<u8>,
    /// Length of the part that all numbers of the range share.
    common: usize,
    /// Range of items in the same directory, and the item's own number at its start.
    from: u64,
    to: u64,
    first_item: u64,
    suffix: Vec<u8>,
    /// The root, and the length of the path prefix that it covers.
    root: u32,
    skip: usize,
}

impl PathBuffer {
    #[inline]
    fn write(&mut self, files: &TreeFiles, number: u64) {
        if !(self.from..self.to).contains(&number) {
            return self.write_whole(files, number);
        }
        self.text.truncate(self.common);
        put_number(self.first_item + (number - self.from), &mut self.text);
        self.text.extend_from_slice(&self.suffix);
        self.text.push(0);
    }

    #[inline(never)]
    fn write_whole(&mut self, files: &TreeFiles, number: u64) {
        let names = &files.names;
        let name = names.name(number);
        (self.root, self.skip) = files.root_of(name);
        self.text.clear();
        let common = names.write_path(name, &mut self.text);
        (self.from, self.to) = (0, 0);
        if let (Some(common), TreeEntry::Item(kind, item)) = (common, name.entry) {
            let each = names.per_directory.max(1);
            self.common = common;
            self.first_item = item - item % each;
            self.from = number - item % each;
            self.to = self.from + each;
            self.suffix.clear();
            if let Some(item) = names.items.get(usize::from(kind)) {
                self.suffix.extend_from_slice(item.suffix.as_bytes());
            }
        }
        self.text.push(0);
    }

    /// Returns the path relative to its root. A path that contains a NUL is empty, so that
    /// calls on it fail with ENOENT.
    #[inline]
    fn path(&self) -> &CStr {
        self.text.get(self.skip..).and_then(|rest| CStr::from_bytes_with_nul(rest).ok()).unwrap_or_default()
    }
}

impl TreePaths {
    pub(in crate::program) fn new(files: Arc<TreeFiles>) -> TreePaths {
        let dirs = || OpenDirs::below_roots(Arc::clone(&files.roots), DIRECTORIES);
        let (dirs, others) = (dirs(), dirs());
        TreePaths { files, path: PathBuffer::default(), other: PathBuffer::default(), dirs, others }
    }

    /// Writes the path of the current op, and opens its directory.
    #[inline]
    pub(in crate::program) fn write(&mut self, number: u64) {
        self.path.write(&self.files, number);
        self.dirs.warm(self.path.root, self.path.path());
    }

    /// Writes the second path of the current op, and opens its directory.
    pub(in crate::program) fn write_other(&mut self, number: u64) {
        self.other.write(&self.files, number);
        self.others.warm(self.other.root, self.other.path());
    }

    /// Runs `call` on the directory and the name of the current op.
    #[inline]
    pub(in crate::program) fn call<T>(
        &mut self,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        self.dirs.call(self.path.root, self.path.path(), call)
    }

    /// Runs `call` on the directories and names of both of the current op's paths.
    pub(in crate::program) fn call_two<T>(
        &mut self,
        call: impl Fn(DirAndName<'_>, DirAndName<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let TreePaths { path, other, dirs, others, .. } = self;
        dirs.call(path.root, path.path(), |dir, name| match others.at(other.root, other.path()) {
            Ok(other) => call((dir, name), (other.dir, other.name)),
            Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
        })
    }

    /// Returns the names of the trees.
    pub(super) fn names(&self) -> &TreeNames {
        &self.files.names
    }

    /// Converts a number to its name.
    pub(in crate::program) fn name(&self, number: u64) -> TreeName {
        self.files.names.name(number)
    }

    /// Returns the path of a number, for messages.
    pub(in crate::program) fn path_buf(&self, number: u64) -> PathBuf {
        let mut path = Vec::new();
        self.files.names.write_path(self.name(number), &mut path);
        PathBuf::from(OsStr::from_bytes(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::program::ItemName;

    // Protects every path from remnants of the previous one: items of one directory share
    // the part that is not rewritten.
    #[test]
    fn paths_match_their_numbers() {
        let item = |suffix: &str| ItemName { prefix: "i.".to_owned(), suffix: suffix.to_owned(), shared: false };
        let names = TreeNames {
            places: vec!["a".into(), "b/".into()],
            root: "r".to_owned(),
            roots: 2,
            directory: "t".to_owned(),
            own_trees: true,
            branch: 2,
            depth: 1,
            owners: 3,
            items: vec![item(""), item("-XX")],
            tree_shift: 0,
            per_directory: 12,
            leaves_only: false,
            flat: false,
        };
        let files = Arc::new(TreeFiles::new(names.clone(), Path::new("/base")));
        let mut paths = TreePaths::new(Arc::clone(&files));
        let mut seen = std::collections::BTreeSet::new();
        for entry in [TreeEntry::Root, TreeEntry::Directory(2)]
            .into_iter()
            .chain((0..36).flat_map(|number| [TreeEntry::Item(0, number), TreeEntry::Item(1, 35 - number)]))
        {
            for owner in 0..3 {
                let number = names.number(TreeName { root: 1, owner, entry });
                paths.write(number);
                let whole = paths.path_buf(number);
                let place = Path::new(if whole.starts_with("/base/a") { "/base/a" } else { "/base/b" });
                assert_eq!(OsStr::from_bytes(paths.path.path().to_bytes()), whole.strip_prefix(place).unwrap());
                // Owners of one place share its roots.
                assert!(seen.insert(paths.path_buf(number)) || entry == TreeEntry::Root);
            }
        }
        assert!(seen.contains(Path::new("/base/b/r1/t1.0/t1.2/i.1.35-XX")), "{seen:?}");
        assert!(seen.contains(Path::new("/base/a/r1/t2.0/i.2.0")), "{seen:?}");
    }
}
