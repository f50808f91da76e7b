//! The shape of a file tree.

use super::path::PathBuffer;
use super::path::digits_of;
use super::sizes::{SizesError, TreeSizes};
use crate::rng::{Purpose, Rng, StreamId, splitmix64};
use plumb_workload::TreeTarget;
use std::ops::Range;

/// Maximum depth of a tree.
pub const MAX_DEPTH: u32 = 32;

/// Maximum number of leaf directories of a tree.
pub const MAX_LEAVES: u64 = 1 << 24;

/// Maximum number of files of a tree.
pub const MAX_FILES: u64 = 1 << 40;

/// Minimum width of a file number.
pub(super) const FILE_DIGITS_MIN: usize = 8;

/// Minimum width of a directory number.
pub(super) const DIRECTORY_DIGITS_MIN: usize = 2;

/// Number of a file of a tree, from 0; or of a leaf directory, for `readdir`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u64);

/// An extra directory that a flow creates, numbered per worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtraDirectory {
    /// Number of the worker that created it.
    pub owner: u32,
    /// Number among that worker's directories.
    pub number: u32,
}

impl ExtraDirectory {
    /// Owner of the extra directories that exist before the first phase. No phase has this many workers.
    pub(crate) const BEFOREHAND: u32 = u32::MAX;

    /// Packs both numbers into one, so that an op can carry it in place of a file number.
    pub fn pack(self) -> FileId {
        FileId((u64::from(self.owner) << 32) | u64::from(self.number))
    }

    /// Inverse of [`pack`](ExtraDirectory::pack).
    pub fn unpack(id: FileId) -> ExtraDirectory {
        ExtraDirectory { owner: (id.0 >> 32) as u32, number: id.0 as u32 }
    }
}

/// Error from an invalid tree.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// Width 0 with a depth above 0.
    #[error("a tree of depth {depth} needs a width of at least 1")]
    NoWidth { depth: u32 },
    #[error("a tree of depth {depth} is deeper than {MAX_DEPTH} levels; use fewer levels and a larger width")]
    TooDeep { depth: u32 },
    #[error(
        "a tree of width {width} and depth {depth} has more than {MAX_LEAVES} leaf directories; reduce width or depth"
    )]
    TooManyLeaves { width: u32, depth: u32 },
    #[error("a tree of {files} files is larger than {MAX_FILES}; reduce `files`")]
    TooManyFiles { files: u64 },
    /// More than 100 % of the files preallocated.
    #[error("`preallocated-percent = {percent}` is more than 100 %; use 0 to 100")]
    Percent { percent: u32 },
    #[error("sizes of the tree's files: {0}")]
    Sizes(#[from] SizesError),
}

/// Maps file numbers to paths, sizes and initial existence.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeShape {
    files: u64,
    pub(super) width: u64,
    depth: u32,
    leaves: u64,
    files_per_leaf: u64,
    /// Number of leaves with one more file than the others.
    fuller_leaves: u64,
    directory_digits: usize,
    pub(super) file_digits: usize,
    preallocated_percent: u64,
    prepared_directories: u32,
    sizes: TreeSizes,
    size_seed: u64,
}

impl TreeShape {
    /// Computes the shape of a target. Sizes depend on `seed`, the workload's seed.
    pub fn new(target: &TreeTarget, seed: u64) -> Result<TreeShape, TreeError> {
        let TreeTarget { files, width, depth, preallocated_percent, .. } = *target;
        if depth > MAX_DEPTH {
            return Err(TreeError::TooDeep { depth });
        }
        if depth > 0 && width == 0 {
            return Err(TreeError::NoWidth { depth });
        }
        let leaves = u64::from(width).checked_pow(depth).filter(|leaves| *leaves <= MAX_LEAVES);
        let leaves = leaves.ok_or(TreeError::TooManyLeaves { width, depth })?;
        if files > MAX_FILES {
            return Err(TreeError::TooManyFiles { files });
        }
        if preallocated_percent > 100 {
            return Err(TreeError::Percent { percent: preallocated_percent });
        }
        Ok(TreeShape {
            files,
            width: u64::from(width),
            depth,
            leaves,
            files_per_leaf: files / leaves,
            fuller_leaves: files % leaves,
            directory_digits: digits_of(u64::from(width).saturating_sub(1)).max(DIRECTORY_DIGITS_MIN),
            file_digits: digits_of(files.saturating_sub(1)).max(FILE_DIGITS_MIN),
            preallocated_percent: u64::from(preallocated_percent),
            prepared_directories: target.directories,
            sizes: TreeSizes::new(&target.size)?,
            size_seed: StreamId { seed, phase: 0, worker: 0 }.rng(Purpose::Layout).next_u64(),
        })
    }

    /// Returns the maximum number of files.
    pub fn files(&self) -> u64 {
        self.files
    }

    /// Returns the number of leaf directories, at least 1.
    pub fn leaves(&self) -> u64 {
        self.leaves
    }

    /// Returns the number of directory levels below the root.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns the number of files that exist before the first phase.
    pub fn preallocated(&self) -> u64 {
        self.preallocated_below(self.files)
    }

    /// Returns the number of extra directories that exist before the first phase. Their owner is not a worker.
    pub(crate) fn prepared_directories(&self) -> u32 {
        self.prepared_directories
    }

    /// Returns `true` for files that exist before the first phase. They are spread evenly over the numbers, and so over
    /// leaves and workers' shares, for any number of workers.
    pub(crate) fn is_preallocated(&self, file: FileId) -> bool {
        self.preallocated_below(file.0 + 1) > self.preallocated_below(file.0)
    }

    fn preallocated_below(&self, end: u64) -> u64 {
        // At most 2^40 * 100: no overflow.
        end * self.preallocated_percent / 100
    }

    /// Returns the initial size of a file, bytes: a hash of the tree's seed and the number. Gamma sizes use the C
    /// library's logarithm, which another C library may round differently. The same machine code gives the same size.
    pub fn size_of(&self, file: FileId) -> u64 {
        self.sizes.draw(&mut Rng::new(self.size_seed ^ splitmix64(file.0)))
    }

    /// Returns the number of the leaf directory that holds the file.
    #[inline]
    pub(crate) fn leaf_of(&self, file: FileId) -> u64 {
        let in_fuller = self.fuller_leaves * (self.files_per_leaf + 1);
        if file.0 < in_fuller {
            file.0 / (self.files_per_leaf + 1)
        } else {
            // If leaves outnumber files, all files are below `in_fuller`. So a valid number never divides by 0 here.
            self.fuller_leaves + (file.0 - in_fuller) / self.files_per_leaf.max(1)
        }
    }

    /// Returns the numbers of the files in a leaf directory.
    pub fn files_of(&self, leaf: u64) -> Range<u64> {
        let first = leaf * self.files_per_leaf + leaf.min(self.fuller_leaves);
        first..first + self.files_per_leaf + u64::from(leaf < self.fuller_leaves)
    }

    /// Writes the path of a file, such as `d12/d06/f00001234`.
    #[inline]
    pub fn write_path(&self, file: FileId, buffer: &mut PathBuffer) {
        buffer.clear();
        self.push_file(file, buffer);
    }

    /// Writes the target of a symbolic link that replaces any of the files and
    /// leads to `file`, such as `../../d00/d01/f00000007`.
    pub(crate) fn write_link(&self, file: FileId, buffer: &mut PathBuffer) {
        buffer.clear();
        for _ in 0..self.depth {
            buffer.push(b"../");
        }
        self.push_file(file, buffer);
    }

    /// Writes the path of a leaf directory; `.` for the root.
    pub fn write_leaf(&self, leaf: u64, buffer: &mut PathBuffer) {
        self.write_directory(self.depth, leaf, buffer);
    }

    /// Writes the path of the directory with this number at this level; level 0 is the root, `.`.
    pub fn write_directory(&self, level: u32, number: u64, buffer: &mut PathBuffer) {
        buffer.clear();
        match level {
            0 => buffer.push(b"."),
            _ => self.push_directory(level, number, buffer),
        }
    }

    /// Writes the path of an extra directory, such as `d03/d17/x0002.00000041`. They are spread over all leaves.
    pub(crate) fn write_extra(&self, directory: ExtraDirectory, buffer: &mut PathBuffer) {
        buffer.clear();
        let leaf = (u64::from(directory.owner) + u64::from(directory.number)) % self.leaves;
        if self.depth > 0 {
            self.push_directory(self.depth, leaf, buffer);
            buffer.push(b"/");
        }
        buffer.push(b"x");
        buffer.push_number(u64::from(directory.owner), digits_of(u64::from(directory.owner)).max(4));
        buffer.push(b".");
        buffer.push_number(u64::from(directory.number), digits_of(u64::from(directory.number)).max(8));
    }

    #[inline]
    fn push_file(&self, file: FileId, buffer: &mut PathBuffer) {
        if self.depth > 0 {
            self.push_directory(self.depth, self.leaf_of(file), buffer);
            buffer.push(b"/");
        }
        buffer.push(b"f");
        buffer.push_number(file.0, self.file_digits);
    }

    #[inline]
    fn push_directory(&self, level: u32, number: u64, buffer: &mut PathBuffer) {
        buffer.push_numbers(b'd', level as usize, self.directory_digits, number, self.width);
    }
}
