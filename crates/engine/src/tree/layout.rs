//! Creates a tree: its directories, and the files that exist before the first phase.

use super::{ExtraDirectory, FileId, PathBuffer, TreeShape};
use crate::open_dirs::OpenDirs;
use crate::signals::StopFlag;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::ops::Range;
use std::path::PathBuf;

/// Bytes per write when files are filled.
const PIECE_BYTES: u64 = 1 << 20;

/// Maximum number of directories kept open while files are created.
const LAYOUT_DIRECTORIES: u64 = 64;

/// Totals of the created tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TreeLayout {
    /// Number of directories below the root.
    pub directories: u64,
    pub files: u64,
    /// Bytes in all files.
    pub bytes: u64,
}

/// Error from creating a tree.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    #[error("cannot create directory `{path}` of the file set: {source}; the root of a file set must be empty", path = path.display())]
    Directory {
        /// Relative to the tree's root.
        path: PathBuf,
        source: Errno,
    },
    #[error("cannot create file `{path}` of the file set: {source}; the root of a file set must be empty", path = path.display())]
    Create {
        /// Relative to the tree's root.
        path: PathBuf,
        source: Errno,
    },
    #[error(
        "cannot write {size} bytes into file `{path}` of the file set: {source}; \
         a smaller `files`, `size` or `preallocated-percent` needs less space", path = path.display()
    )]
    Write {
        /// Relative to the tree's root.
        path: PathBuf,
        /// Intended size of the file, bytes.
        size: u64,
        source: Errno,
    },
    #[error("stopped while the file set was being laid out")]
    Stopped,
    #[error("cannot flush the file set: {source}")]
    Flush { source: Errno },
}

/// Creates the whole tree below `root`, an empty directory, and flushes it (`syncfs`). `fill` generates the content.
///
/// Never opens or changes an existing file: one that is in the way is an error.
pub fn layout(
    root: BorrowedFd<'_>,
    shape: &TreeShape,
    stop: StopFlag,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<TreeLayout, LayoutError> {
    let directories = make_directories(root, shape, stop)?;
    let made = make_files(root, shape, 0..shape.files(), stop, fill)?;
    flush(root)?;
    Ok(TreeLayout { directories, ..made })
}

/// Creates all directories of a tree below `root`, level by level, then the extra ones. Returns their number.
pub fn make_directories(root: BorrowedFd<'_>, shape: &TreeShape, stop: StopFlag) -> Result<u64, LayoutError> {
    let mut path = PathBuffer::new();
    let mut dirs = open_dirs(root, shape)?;
    let mut made = 0;
    for level in 1..=shape.depth() {
        for number in 0..shape.width.pow(level) {
            if stop.requested() {
                return Err(LayoutError::Stopped);
            }
            shape.write_directory(level, number, &mut path);
            make_directory(&mut dirs, &path)?;
            made += 1;
        }
    }
    for number in 0..shape.prepared_directories() {
        if stop.requested() {
            return Err(LayoutError::Stopped);
        }
        shape.write_extra(ExtraDirectory { owner: ExtraDirectory::BEFOREHAND, number }, &mut path);
        make_directory(&mut dirs, &path)?;
        made += 1;
    }
    Ok(made)
}

fn make_directory(dirs: &mut OpenDirs, path: &PathBuffer) -> Result<(), LayoutError> {
    let mode = Mode::from_raw_mode(0o755);
    dirs.call(0, path.as_c_str(), |dir, name| rustix::fs::mkdirat(dir, name, mode)).map_err(|error| {
        LayoutError::Directory { path: path.as_path().to_owned(), source: Errno::from_raw_os_error(error.0) }
    })
}

/// Returns a cache of the tree's directories, which opens them on demand.
fn open_dirs(root: BorrowedFd<'_>, shape: &TreeShape) -> Result<OpenDirs, LayoutError> {
    let root = root.try_clone_to_owned().map_err(|error| LayoutError::Directory {
        path: PathBuf::new(),
        source: Errno::from_io_error(&error).unwrap_or(Errno::MFILE),
    })?;
    Ok(OpenDirs::below(vec![root], shape.leaves().min(LAYOUT_DIRECTORIES)))
}

/// Creates and fills the preallocated files of a range. The directories must exist. Several threads may create disjoint
/// ranges; none of them flushes.
pub fn make_files(
    root: BorrowedFd<'_>,
    shape: &TreeShape,
    files: Range<u64>,
    stop: StopFlag,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<TreeLayout, LayoutError> {
    let mut path = PathBuffer::new();
    let mut dirs = open_dirs(root, shape)?;
    let mut piece = Vec::new();
    let mut made = TreeLayout::default();
    for file in files.map(FileId).filter(|file| shape.is_preallocated(*file)) {
        if stop.requested() {
            return Err(LayoutError::Stopped);
        }
        shape.write_path(file, &mut path);
        let size = shape.size_of(file);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o644);
        let opened = dirs.call(0, path.as_c_str(), |dir, name| crate::raw_open::openat(dir, name, flags, mode));
        let handle = opened.map_err(|error| LayoutError::Create {
            path: path.as_path().to_owned(),
            source: Errno::from_raw_os_error(error.0),
        })?;
        write_whole(handle.as_fd(), size, &mut piece, fill).map_err(|source| LayoutError::Write {
            path: path.as_path().to_owned(),
            size,
            source,
        })?;
        made.files += 1;
        made.bytes += size;
    }
    Ok(made)
}

/// Writes `size` bytes from the beginning of a file, in pieces.
pub(crate) fn write_whole(
    file: BorrowedFd<'_>,
    size: u64,
    piece: &mut Vec<u8>,
    fill: &mut dyn FnMut(&mut [u8]),
) -> Result<(), Errno> {
    let mut offset = 0;
    while offset < size {
        let length = (size - offset).min(PIECE_BYTES) as usize;
        if piece.len() < length {
            piece.resize(length, 0);
        }
        fill(&mut piece[..length]);
        let mut written = 0;
        while written < length {
            match rustix::io::pwrite(file, &piece[written..length], offset + written as u64) {
                Ok(0) => return Err(Errno::IO),
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        offset += length as u64;
    }
    Ok(())
}

fn flush(root: BorrowedFd<'_>) -> Result<(), LayoutError> {
    #[cfg(target_os = "linux")]
    let done = rustix::fs::syncfs(root);
    #[cfg(not(target_os = "linux"))]
    let done = rustix::fs::fsync(root).map(|()| rustix::fs::sync());
    done.map_err(|source| LayoutError::Flush { source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::{Bytes, Content, Distribution, TreeTarget};
    use std::fs::{self, File};

    fn shape() -> TreeShape {
        let target = TreeTarget {
            path: "tree".into(),
            files: 50,
            width: 3,
            depth: 2,
            size: Distribution::Uniform { min: Bytes(0), max: Bytes(3 << 20) },
            preallocated_percent: 50,
            directories: 0,
            content: Content::Zero,
        };
        TreeShape::new(&target, 9).unwrap()
    }

    #[test]
    fn the_tree_on_disk_matches_the_shape() {
        let directory = tempfile::tempdir().unwrap();
        let root = File::open(directory.path()).unwrap();
        let shape = shape();
        let mut next = 0u8;
        let made = layout(root.as_fd(), &shape, StopFlag::detached(), &mut |piece| {
            next = next.wrapping_add(1);
            piece.fill(next);
        })
        .unwrap();
        assert_eq!((made.directories, made.files), (12, 25));
        let mut bytes = 0;
        for file in (0..50).map(FileId) {
            let mut path = PathBuffer::new();
            shape.write_path(file, &mut path);
            let found = fs::metadata(directory.path().join(path.as_path()));
            assert_eq!(found.is_ok(), shape.is_preallocated(file));
            if let Ok(found) = found {
                assert_eq!(found.len(), shape.size_of(file));
                bytes += found.len();
            }
        }
        assert_eq!(bytes, made.bytes);
    }

    #[test]
    fn existing_files_are_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let root = File::open(directory.path()).unwrap();
        let shape = shape();
        let stop = StopFlag::detached();
        make_directories(root.as_fd(), &shape, stop).unwrap();
        let file = (0..50).map(FileId).find(|file| shape.is_preallocated(*file)).unwrap();
        let mut path = PathBuffer::new();
        shape.write_path(file, &mut path);
        let precious = directory.path().join(path.as_path());
        fs::write(&precious, "precious").unwrap();
        let error = make_files(root.as_fd(), &shape, 0..50, stop, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(path.as_path().to_str().unwrap()), "{error}");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(layout(root.as_fd(), &shape, stop, &mut |_| {}).is_err());
    }
}
