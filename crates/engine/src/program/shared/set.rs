//! Opens a shared file set through the guard, and lays out its files.

use super::room::Room;
use super::shape::{Entry, PathText, SharedShape};
use super::state::SharedState;
use crate::content::Filler;
use crate::engine_error::EngineError;
use crate::files::open::allow_open_files;
use crate::guard::{Guard, GuardedDir, Mounts, open_beneath};
use crate::observer::{FileSetStep, Observer};
use crate::prepare::PrepareError;
use crate::rng::{Rng, StreamId};
use crate::setting::{Setting, content_stream};
use crate::signals::StopFlag;
use crate::source::plumb::Permutation;
use crate::testdir::remove_contents;
use crate::tree::layout::write_whole;
use plumb_workload::program::{ExistingTree, TreeAccess};
use plumb_workload::{Content, SharedTree, Workload};
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::cmp::Ordering;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Permissions of files and directories, before the umask.
pub(super) const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
pub(super) const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o755);

/// Maximum number of directories of a set that stay open; further ones are opened for each use.
const HELD_MAX: u32 = 1 << 16;

/// A laid-out file set that all workers share.
pub(crate) struct SharedSet {
    root: GuardedDir,
    pub(super) shape: SharedShape,
    pub(super) state: SharedState,
    pub(super) access: TreeAccess,
    pub(super) content: Content,
    pub(super) room: Room,
    dirs: HeldDirs,
}

/// Directories of the set that stay open, for all workers.
struct HeldDirs {
    /// Indexed by directory number, up to the limit. Directories are never removed while the set is in use.
    held: Box<[OnceLock<OwnedFd>]>,
}

impl HeldDirs {
    fn new(directories: u32) -> HeldDirs {
        // Best effort: without the higher limit, directories are opened for each use.
        let _ = allow_open_files(directories.clamp(1000, HELD_MAX) as usize);
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = u64::from(directories.min(HELD_MAX)).min(limit / 2);
        HeldDirs { held: (0..most).map(|_| OnceLock::new()).collect() }
    }
}

/// An open directory of the set.
pub(super) enum SetDir<'a> {
    Held(BorrowedFd<'a>),
    /// Opened for a single use, because its number is above the limit.
    Own(OwnedFd),
}

impl AsFd for SetDir<'_> {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            SetDir::Held(fd) => *fd,
            SetDir::Own(fd) => fd.as_fd(),
        }
    }
}

impl SharedSet {
    /// Returns the number of directories that may stay open.
    pub(super) fn held_directories(&self) -> usize {
        self.dirs.held.len()
    }

    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns directory `number`, opened at its first use, beneath the root and without following links.
    #[inline]
    pub(super) fn dir(&self, number: u32) -> rustix::io::Result<SetDir<'_>> {
        match self.dirs.held.get(number as usize).and_then(OnceLock::get) {
            Some(fd) => Ok(SetDir::Held(fd.as_fd())),
            None => self.open_dir(number),
        }
    }

    #[cold]
    fn open_dir(&self, number: u32) -> rustix::io::Result<SetDir<'_>> {
        let mut path = PathText::new();
        self.shape.write_directory(number, &mut path);
        let path = path.as_path().as_os_str().as_bytes();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let opened = open_beneath(self.root(), path, flags, Mode::empty(), Mounts::Entered)?;
        Ok(match self.dirs.held.get(number as usize) {
            Some(held) => SetDir::Held(held.get_or_init(|| opened).as_fd()),
            None => SetDir::Own(opened),
        })
    }

    /// Returns the path of the set's root.
    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    /// Returns the path of an entry, for messages.
    pub(super) fn path_of(&self, entry: Entry) -> PathBuf {
        let mut path = PathText::new();
        self.shape.write_path(entry, &mut path);
        self.root.path().join(path.as_path())
    }
}

/// Opens a set, and lays it out unless an existing tree is trusted.
///
/// # Errors
/// [`EngineError::Refused`] if the guard does not allow the path or the size, [`EngineError::Tree`] if the shape is invalid
/// or the set cannot be laid out, and [`EngineError::Prepare`] after a stop signal.
pub(crate) fn open_set(
    name: &str,
    target: &SharedTree,
    workload: &Workload,
    guard: &Guard,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<SharedSet, EngineError> {
    // Each set has its own random stream, so that sets of equal sizes differ.
    let seed = name.bytes().fold(workload.seed, |seed, byte| seed.rotate_left(8) ^ u64::from(byte));
    let failed = |reason: String| EngineError::Tree { target: name.to_owned(), reason };
    let shape = SharedShape::new(target, seed).map_err(|error| failed(error.to_string()))?;
    let facts = shape.facts();
    observer.file_set(name, FileSetStep::Populated(&facts));
    let path = setting.base.join(&target.path);
    let opened = guard.open_numbered_tree(&path, facts.bytes, target.existing)?;
    let room = Room::for_directory(opened.dir.as_fd(), opened.may_be_filled)
        .map_err(|error| failed(format!("cannot read the free space: {error}")))?;
    let state = SharedState::new(&shape);
    let dirs = HeldDirs::new(shape.directories());
    let (access, content) = (target.access, target.content);
    let set = SharedSet { root: opened.dir, shape, state, access, content, room, dirs };
    if target.existing == ExistingTree::Trust && !opened.is_empty {
        return Ok(set);
    }
    if target.existing == ExistingTree::Remove {
        observer.file_set(name, FileSetStep::Removing);
        if let Some(left) = remove_contents(set.root(), set.path()).first() {
            return Err(failed(format!("cannot remove {}: {}", left.path.display(), left.reason)));
        }
    }
    let stream = content_stream(workload, setting, u32::MAX >> 9, seed as u32 >> 8);
    let layout = Layout { set: &set, stop: setting.stop, stream, existing: target.existing, drops: target.uncached };
    let made = (|| {
        observer.file_set(name, FileSetStep::MakingDirectories);
        layout.make_directories()?;
        observer.file_set(name, FileSetStep::MakingFiles);
        layout.make_files(target.layout_threads, seed)?;
        // Otherwise, dirty pages would be written back during the measurement.
        crate::os::sync_file_system(set.root()).map_err(LayoutError::Flush)
    })();
    match made {
        Ok(()) => Ok(set),
        Err(LayoutError::Stopped) => Err(EngineError::Prepare(PrepareError::Stopped { signal: setting.stop.signal() })),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Error from laying out a set.
#[derive(Debug, thiserror::Error)]
enum LayoutError {
    #[error("stopped")]
    Stopped,
    #[error("cannot {what} `{path}` of the file set: {source}", path = path.display())]
    Call { what: &'static str, path: PathBuf, source: Errno },
    #[error("cannot flush the file set: {0}")]
    Flush(Errno),
    #[error("cannot start a layout thread: {0}")]
    Thread(std::io::Error),
}

impl LayoutError {
    fn at(path: &Path, what: &'static str, source: Errno) -> LayoutError {
        LayoutError::Call { what, path: path.to_owned(), source }
    }
}

struct Layout<'a> {
    set: &'a SharedSet,
    stop: StopFlag,
    stream: StreamId,
    existing: ExistingTree,
    /// Whether files are dropped from the page cache.
    drops: bool,
}

impl Layout<'_> {
    fn check_stop(&self) -> Result<(), LayoutError> {
        if self.stop.requested() { Err(LayoutError::Stopped) } else { Ok(()) }
    }

    /// Creates all directories, each after its parent.
    fn make_directories(&self) -> Result<(), LayoutError> {
        let (set, mut path) = (self.set, PathText::new());
        for directory in 1..set.shape.directories() {
            self.check_stop()?;
            let parent = set.shape.write_directory(directory, &mut path);
            self.make_directory(parent, &path)?;
        }
        for leaf in 0..set.shape.leaves() {
            self.check_stop()?;
            let parent = set.shape.write_path(Entry::Leaf(leaf), &mut path);
            if set.state.leaves.exists(leaf) {
                self.make_directory(parent, &path)?;
            } else if self.existing != ExistingTree::Remove {
                self.remove(parent, &path, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    fn make_directory(&self, parent: u32, path: &PathText) -> Result<(), LayoutError> {
        let made = self.set.dir(parent).and_then(|dir| rustix::fs::mkdirat(dir, path.name(), DIRECTORY_MODE));
        match made {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) if self.existing != ExistingTree::Remove => Ok(()),
            Err(source) => Err(LayoutError::at(path.as_path(), "create directory", source)),
        }
    }

    fn remove(&self, parent: u32, path: &PathText, flags: AtFlags) -> Result<(), LayoutError> {
        let removed = self.set.dir(parent).and_then(|dir| rustix::fs::unlinkat(dir, path.name(), flags));
        match removed {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(source) => Err(LayoutError::at(path.as_path(), "remove", source)),
        }
    }

    /// Creates the files in a random order, as in a tree that has been in use.
    fn make_files(&self, threads: u32, seed: u64) -> Result<(), LayoutError> {
        let files = u64::from(self.set.shape.files());
        if files == 0 {
            return Ok(());
        }
        let order = Permutation::new(files, &mut Rng::new(seed));
        let next = AtomicU64::new(0);
        let work = |thread: u32| {
            let mut filler = Filler::new(self.set.content, StreamId { worker: thread, ..self.stream });
            let (mut path, mut piece) = (PathText::new(), Vec::new());
            loop {
                let turn = next.fetch_add(1, Relaxed);
                if turn >= files {
                    return Ok(());
                }
                self.check_stop()?;
                self.make_file(order.map_index(turn) as u32, &mut path, &mut piece, &mut filler)?;
            }
        };
        if threads <= 1 {
            return work(0);
        }
        std::thread::scope(|scope| {
            let start = |number| {
                let builder = std::thread::Builder::new().name(format!("plumb-layout-{number}"));
                builder.spawn_scoped(scope, move || work(number)).map_err(LayoutError::Thread)
            };
            let started: Vec<_> = (0..threads).map(start).collect();
            let ended = started.into_iter().map(|thread| thread?.join().unwrap_or(Err(LayoutError::Stopped)));
            ended.fold(Ok(()), Result::and)
        })
    }

    fn make_file(
        &self,
        file: u32,
        path: &mut PathText,
        piece: &mut Vec<u8>,
        filler: &mut Filler,
    ) -> Result<(), LayoutError> {
        let set = self.set;
        let parent = set.shape.write_path(Entry::File(file), path);
        if !set.state.files.exists(file) {
            return match self.existing {
                ExistingTree::Remove => Ok(()),
                _ => self.remove(parent, path, AtFlags::empty()),
            };
        }
        let size = set.shape.size_of(file);
        let path = &*path;
        let failed = |what| move |source| LayoutError::at(path.as_path(), what, source);
        let new = if self.existing == ExistingTree::Remove { OFlags::EXCL } else { OFlags::empty() };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | new;
        let made = set.dir(parent).and_then(|dir| crate::raw_open::openat(dir, path.name(), flags, FILE_MODE));
        let handle = made.map_err(failed("create file"))?;
        let there = match self.existing {
            ExistingTree::Remove => 0,
            _ => rustix::fs::fstat(&handle).map_err(failed("read the length of file"))?.st_size as u64,
        };
        match there.cmp(&size) {
            Ordering::Less => write_whole(handle.as_fd(), size, piece, &mut |piece| filler.fill(piece))
                .map_err(failed("write file"))?,
            Ordering::Equal => {}
            Ordering::Greater => rustix::fs::ftruncate(&handle, size).map_err(failed("truncate file"))?,
        }
        if self.drops {
            rustix::fs::fadvise(&handle, 0, None, Advice::DontNeed).map_err(failed("evict file"))?;
        }
        Ok(())
    }
}
