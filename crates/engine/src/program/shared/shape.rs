//! The tree of a shared file set: its directories, and the directory of each file.
//!
//! Directories are a table of 16 bytes each. Files need no table: file `n` is in the last directory
//! that begins at or before `n`.

use super::draw::Drawn;
use crate::math::ln;
use crate::rng::{Purpose, Rng, StreamId, splitmix64};
use crate::tree::gamma;
use plumb_workload::SharedTree;
use plumb_workload::program::Amount;

/// Maximum depth of a directory, whatever is drawn.
const LEVELS_MAX: u32 = 60;

/// Minimum digits of a name.
const NAME_DIGITS: usize = 8;

/// Size of the longest path: a name and a separator for each level, the file's own name, and the NUL.
pub(super) const PATH_BYTES: usize = (LEVELS_MAX as usize + 2) * (NAME_DIGITS + 3) + 1;

/// Last name with the minimum number of digits.
const NAME_MAX: u32 = 99_999_999;

/// Maximum number of directories of a tree, whose table takes 1 GiB.
const DIRECTORIES_MAX: u32 = 1 << 26;

/// Error for a tree with more directories than the table can hold.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "its files need more than {directories_max} directories of {mean_width:.0} entries; use a larger `width` \
     (Filebench: `dirwidth`), or fewer files"
)]
pub(crate) struct TooManyDirectories {
    directories_max: u32,
    mean_width: f64,
}

/// A directory of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Directory {
    parent: u32,
    /// Name of the directory in its parent.
    name: u32,
    /// Number of the first file in this directory or a later one.
    first_file: u32,
    /// Number of the first empty directory in this directory or a later one.
    first_leaf: u32,
}

/// Statistics of a tree, computed before it is created.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeFacts {
    /// Number of files, existing or not.
    pub files: u64,
    /// Number of empty directories, existing or not.
    pub leaf_directories: u64,
    /// Requested mean number of entries per directory.
    pub mean_width: f64,
    /// Mean depth: requested, or computed from the width.
    pub mean_depth: f64,
    /// Bytes of all files, existing or not.
    pub bytes: u64,
}

/// A tree of directories and files.
pub(crate) struct SharedShape {
    directories: Vec<Directory>,
    files: u32,
    leaves: u32,
    size: Drawn,
    seed: u64,
    preallocated_percent: u32,
    mean_width: f64,
    mean_depth: f64,
}

/// Draws depths and widths of directories.
struct Drawing {
    rng: Rng,
    width: Drawn,
    depth: Option<Drawn>,
    spread: f64,
    mean_width: f64,
    mean_depth: f64,
}

impl Drawing {
    fn new(target: &SharedTree, seed: u64) -> Drawing {
        let entries = target.files.saturating_add(target.leaf_directories).max(1) as f64;
        let mean_width = match &target.width {
            Amount::Fixed(0) => entries,
            width => width.mean().unwrap_or(1.0),
        };
        let implied = if mean_width > 1.0 { ln(entries) / ln(mean_width) } else { f64::from(LEVELS_MAX) };
        let mean_depth = target.depth.as_ref().map_or(implied, |depth| depth.mean().unwrap_or(implied));
        let rng = StreamId { seed, phase: 0, worker: 0 }.rng(Purpose::Layout);
        Drawing {
            rng,
            width: Drawn::from_amount(&target.width),
            depth: target.depth.as_ref().map(Drawn::from_amount),
            spread: target.spread,
            mean_width,
            mean_depth,
        }
    }

    fn spread_around(&mut self, mean: f64) -> u64 {
        let number = if self.spread > 0.0 { gamma(self.spread, &mut self.rng) * (mean / self.spread) } else { mean };
        (number as u64).max(1)
    }

    fn width(&mut self) -> u32 {
        let width = match &self.width {
            Drawn::Fixed(0) => u64::from(NAME_MAX),
            Drawn::Fixed(_) => self.spread_around(self.mean_width),
            drawn => drawn.draw(&mut self.rng),
        };
        width.clamp(1, NAME_MAX.into()) as u32
    }

    fn depth(&mut self) -> u32 {
        let depth = match &self.depth {
            Some(drawn) => drawn.draw(&mut self.rng),
            None => self.spread_around(self.mean_depth),
        };
        depth.clamp(1, LEVELS_MAX.into()) as u32
    }
}

impl SharedShape {
    /// Draws the tree of a target.
    ///
    /// # Errors
    /// The tree would have too many directories.
    pub(crate) fn new(target: &SharedTree, seed: u64) -> Result<SharedShape, TooManyDirectories> {
        SharedShape::with_limit(target, seed, DIRECTORIES_MAX)
    }

    fn with_limit(target: &SharedTree, seed: u64, directories_max: u32) -> Result<SharedShape, TooManyDirectories> {
        let mut drawing = Drawing::new(target, seed);
        let mut shape = SharedShape {
            directories: vec![Directory { parent: 0, name: 0, first_file: 0, first_leaf: 0 }],
            files: 0,
            leaves: 0,
            size: Drawn::from_amount(&target.size),
            seed: splitmix64(seed ^ u64::from_be_bytes(*b"\0\0shared")),
            preallocated_percent: target.preallocated_percent,
            mean_width: drawing.mean_width,
            mean_depth: drawing.mean_depth,
        };
        shape.grow(&mut drawing, target.files as u32, target.leaf_directories as u32, directories_max)?;
        Ok(shape)
    }

    /// Adds directories below the root until all files and empty directories have a place. The root itself has no files.
    fn grow(
        &mut self,
        drawing: &mut Drawing,
        files: u32,
        leaves: u32,
        directories_max: u32,
    ) -> Result<(), TooManyDirectories> {
        /// A directory whose entries are still being added.
        struct Open {
            directory: u32,
            level: u32,
            entries: u32,
            width: u32,
        }
        let is_full = |shape: &SharedShape| shape.files == files && shape.leaves == leaves;
        let mut open = vec![Open { directory: 0, level: 0, entries: 0, width: u32::MAX }];
        while !is_full(self) {
            let Some(at) = open.last_mut() else { break };
            if at.entries == at.width {
                open.pop();
                continue;
            }
            at.entries += 1;
            let (level, name, parent) = (at.level + 1, at.entries, at.directory);
            let directory = self.directories.len() as u32;
            if directory >= directories_max {
                return Err(TooManyDirectories { directories_max, mean_width: drawing.mean_width });
            }
            let (first_file, first_leaf) = (self.files, self.leaves);
            self.directories.push(Directory { parent, name, first_file, first_leaf });
            let width = drawing.width();
            if level < drawing.depth() {
                open.push(Open { directory, level, entries: 0, width });
                continue;
            }
            let here = width.min(files - self.files);
            self.files += here;
            self.leaves += (width - here).min(leaves - self.leaves);
        }
        Ok(())
    }

    pub(super) fn files(&self) -> u32 {
        self.files
    }

    pub(super) fn leaves(&self) -> u32 {
        self.leaves
    }

    pub(super) fn directories(&self) -> u32 {
        self.directories.len() as u32
    }

    /// Returns the tree's statistics.
    pub(crate) fn facts(&self) -> TreeFacts {
        TreeFacts {
            files: self.files.into(),
            leaf_directories: self.leaves.into(),
            mean_width: self.mean_width,
            mean_depth: self.mean_depth,
            bytes: (0..self.files).map(|file| self.size_of(file)).fold(0, u64::saturating_add),
        }
    }

    /// Returns the initial size of a file, bytes.
    #[inline]
    pub(super) fn size_of(&self, file: u32) -> u64 {
        match &self.size {
            Drawn::Fixed(size) => *size,
            drawn => drawn.draw(&mut Rng::new(self.seed ^ splitmix64(u64::from(file) << 1))),
        }
    }

    /// Returns `true` if an entry exists before the first phase.
    pub(super) fn is_preallocated(&self, entry: Entry) -> bool {
        let place = match entry {
            Entry::File(file) => u64::from(file) << 1 | 1,
            Entry::Leaf(leaf) => u64::from(leaf) << 33 | 1,
        };
        match self.preallocated_percent {
            0 => false,
            100.. => true,
            percent => splitmix64(self.seed.rotate_left(17) ^ place) % 100 < u64::from(percent),
        }
    }

    /// Writes the path of an entry, relative to the root. Returns the number of its directory.
    #[inline]
    pub(super) fn write_path(&self, entry: Entry, path: &mut PathText) -> u32 {
        let (directory, name) = match entry {
            Entry::File(file) => {
                let at = self.directories.partition_point(|directory| directory.first_file <= file) - 1;
                (at, file - self.directories[at].first_file + 1)
            }
            Entry::Leaf(leaf) => {
                let at = self.directories.partition_point(|directory| directory.first_leaf <= leaf) - 1;
                let directory = &self.directories[at];
                let files_here = self.directories.get(at + 1).map_or(self.files, |next| next.first_file);
                (at, files_here - directory.first_file + leaf - directory.first_leaf + 1)
            }
        };
        path.clear();
        path.put_name(name);
        self.put_parents(directory as u32, path);
        directory as u32
    }

    /// Writes the path of a directory, relative to the root; `.` for the root. Returns
    /// the number of its parent directory.
    pub(super) fn write_directory(&self, directory: u32, path: &mut PathText) -> u32 {
        path.clear();
        if directory == 0 {
            path.set_to_current_directory();
            return 0;
        }
        let Directory { parent, name, .. } = self.directories[directory as usize];
        path.put_name(name);
        self.put_parents(parent, path);
        parent
    }

    #[inline]
    fn put_parents(&self, mut directory: u32, path: &mut PathText) {
        while directory != 0 {
            let Directory { parent, name, .. } = self.directories[directory as usize];
            path.put_before(name);
            directory = parent;
        }
    }
}

/// A file or an empty directory, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    File(u32),
    Leaf(u32),
}

/// A path that is written from its end.
pub(super) struct PathText {
    bytes: [u8; PATH_BYTES],
    start: usize,
    /// Offset of the last name.
    name: usize,
}

impl PathText {
    pub(super) fn new() -> PathText {
        PathText { bytes: [0; PATH_BYTES], start: PATH_BYTES - 1, name: PATH_BYTES - 1 }
    }

    #[inline]
    fn clear(&mut self) {
        self.start = PATH_BYTES - 1;
    }

    fn set_to_current_directory(&mut self) {
        self.start = PATH_BYTES - 2;
        self.bytes[self.start] = b'.';
        self.name = self.start;
    }

    /// Writes the last name of the path; later names are put before it.
    #[inline]
    fn put_name(&mut self, name: u32) {
        self.put_before(name);
        self.name = self.start;
    }

    /// Prepends a name of eight or more digits.
    #[inline]
    fn put_before(&mut self, name: u32) {
        if self.start != PATH_BYTES - 1 {
            self.start -= 1;
            self.bytes[self.start] = b'/';
        }
        let (mut rest, mut digits) = (name, 0);
        while digits < NAME_DIGITS || rest > 0 {
            self.start -= 1;
            self.bytes[self.start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            digits += 1;
        }
    }

    /// Returns the last name, for system calls in its directory.
    #[inline]
    pub(super) fn name(&self) -> &std::ffi::CStr {
        std::ffi::CStr::from_bytes_with_nul(&self.bytes[self.name..]).unwrap_or_default()
    }

    /// Returns the path for messages.
    pub(super) fn as_path(&self) -> &std::path::Path {
        use std::os::unix::ffi::OsStrExt;
        std::path::Path::new(std::ffi::OsStr::from_bytes(&self.bytes[self.start..PATH_BYTES - 1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::program::{ExistingTree, TreeAccess};
    use std::collections::BTreeSet;

    fn tree(files: u64, leaves: u64, width: u64, spread: f64) -> SharedTree {
        SharedTree {
            path: "set".into(),
            files,
            leaf_directories: leaves,
            size: Amount::Fixed(1024),
            width: Amount::Fixed(width),
            depth: None,
            spread,
            preallocated_percent: 80,
            layout_threads: 1,
            existing: ExistingTree::Remove,
            uncached: false,
            access: TreeAccess::ReadWrite,
            content: Default::default(),
        }
    }

    fn shape(tree: &SharedTree, seed: u64) -> SharedShape {
        SharedShape::new(tree, seed).unwrap()
    }

    fn path(shape: &SharedShape, entry: Entry) -> String {
        let mut text = PathText::new();
        shape.write_path(entry, &mut text);
        text.as_path().to_str().unwrap().to_owned()
    }

    /// Protects: `define file` has one place, and a wide set has one directory, as the tools' users expect.
    #[test]
    fn names_match_the_format() {
        let single = shape(&tree(1, 0, 10, 0.0), 1);
        assert_eq!(path(&single, Entry::File(0)), "00000001/00000001");
        let wide = shape(&tree(1000, 0, 1_000_000, 0.0), 1);
        assert_eq!(path(&wide, Entry::File(999)), "00000001/00001000");
        let regular = shape(&tree(400, 0, 20, 0.0), 1);
        assert_eq!(path(&regular, Entry::File(25)), "00000001/00000002/00000006");
        assert_eq!(shape(&tree(7, 0, 0, 1.5), 1).directories(), 2);
    }

    /// Protects: every file and empty directory has its own path, in any tree.
    #[test]
    fn each_entry_has_its_own_path() {
        for (files, leaves, width, spread) in [
            (1000, 0, 20, 1.5),
            (0, 300, 5, 1.5),
            (200, 100, 7, 1.5),
            (50, 0, 1, 1.5),
            (1, 1, 2, 0.0),
            (500, 500, 3, 0.3),
        ] {
            let shape = self::shape(&tree(files, leaves, width, spread), 3);
            assert_eq!((u64::from(shape.files()), u64::from(shape.leaves())), (files, leaves));
            let entries = (0..files as u32).map(Entry::File).chain((0..leaves as u32).map(Entry::Leaf));
            let mut paths: BTreeSet<String> = entries.map(|entry| path(&shape, entry)).collect();
            let mut text = PathText::new();
            for directory in 1..shape.directories() {
                shape.write_directory(directory, &mut text);
                paths.insert(text.as_path().to_str().unwrap().to_owned());
            }
            assert_eq!(paths.len() as u64, files + leaves + u64::from(shape.directories()) - 1);
            assert!(paths.iter().all(|path| path.contains('/') || path.len() == 8));
        }
    }

    /// Protects: without a spread, the depth of a tree follows from the number of its files and its width. With a
    /// spread, each directory draws its possible depth around that depth. The printed facts of a tree agree.
    #[test]
    fn trees_have_the_requested_depth() {
        let levels = |shape: &SharedShape, file| path(shape, Entry::File(file)).matches('/').count() as f64;
        let regular = self::shape(&tree(10_000, 0, 20, 0.0), 1);
        assert!((0..10_000).all(|file| levels(&regular, file) == 3.0), "log 10,000 / log 20 = 3.07");
        let facts = regular.facts();
        assert_eq!((facts.files, facts.bytes, facts.mean_width), (10_000, 10_000 * 1024, 20.0));
        assert!((facts.mean_depth - 3.07).abs() < 0.01, "{facts:?}");
        // A gamma variable of shape 1.5 and mean 3.07, cut to whole levels and at least 1, has the mean 2.77.
        let spread = tree(10_000, 0, 20, 1.5);
        let mut drawing = Drawing::new(&spread, 1);
        let mean = (0..10_000).map(|_| f64::from(drawing.depth())).sum::<f64>() / 10_000.0;
        assert!((mean - 2.77).abs() < 0.1, "{mean}");
        // A directory that may be deep has 20 below it, each with its files. So most files are
        // deeper than most directories may be.
        let drawn = self::shape(&spread, 1);
        let mean = (0..10_000).map(|file| levels(&drawn, file)).sum::<f64>() / 10_000.0;
        assert!(mean > 3.07, "{mean}");
    }

    /// Protects: a tree with more directories than its table can hold is refused, with the
    /// way out, before any is created.
    #[test]
    fn too_many_directories_are_refused() {
        let error = SharedShape::with_limit(&tree(1000, 0, 1, 0.0), 1, 500).err().unwrap();
        assert!(error.to_string().contains("more than 500 directories of 1 entries; use a larger `width`"), "{error}");
        assert!(SharedShape::with_limit(&tree(1000, 0, 1000, 0.0), 1, 500).is_ok());
    }

    /// Protects: the requested share of the files exists before the first phase.
    #[test]
    fn a_share_of_the_files_exists() {
        let shape = self::shape(&tree(10_000, 0, 20, 1.5), 1);
        let share = (0..10_000).filter(|&file| shape.is_preallocated(Entry::File(file))).count();
        assert!((7800..8200).contains(&share), "{share} of 10000 at 80 %");
    }
}
