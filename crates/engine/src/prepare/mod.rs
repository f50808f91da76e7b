//! Preparation outside the measured time. Opens targets and allocates file blocks before the first
//! phase. Before each phase, it sets the state of the page cache ([`cache`]) and holds memory back if
//! the phase asks for that ([`pressure`]).
//!
//! Everything opened for writing goes through the guard; read-only targets do not need it.

pub mod cache;
pub mod pressure;

pub use cache::{ColdProof, DropCaches, NotCold, Warmth, evict, warm};
pub use pressure::{MemoryPressure, PressureError};

use crate::guard::{
    Access, FileOpening, Guard, GuardedFile, Intent, IoMode, PassReason, Refusal, open_again, set_mode,
};
use crate::signals::{StopFlag, StopSignal};
use crate::testdir::TestDir;
use plumb_probe::{extents, residency};
use plumb_result::Seen;
use plumb_result::observe::{Extents, Residency};
use plumb_workload::{DeviceTarget, FileTarget, FilesTarget, Prepare, Target};
use rustix::fs::{FallocateFlags, FileType, SeekFrom};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Bytes per write of the layout.
const WRITE_BYTES: usize = 4 << 20;

/// Bounds for the bytes written between two flushes of the layout.
const WINDOW_MIN_BYTES: u64 = WRITE_BYTES as u64;
const WINDOW_MAX_BYTES: u64 = 256 << 20;

/// Descriptors reserved for the rest of the program, in addition to the targets'.
const OTHER_DESCRIPTORS: u64 = 256;

/// Error from opening a target or laying it out.
#[derive(Debug, Error)]
pub enum PrepareError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A target that is only read cannot be opened.
    #[error("cannot open {path} for reading: {source}", path = path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A target that is only read is neither a file nor a block device.
    #[error("{path} is neither a file nor a block device", path = path.display())]
    WrongKind { path: PathBuf },
    /// A tree, null or sim target has no files to open.
    #[error("a {kind} target has no files to open")]
    NoFiles { kind: &'static str },
    /// The file must be created, but its target has no size.
    #[error("{path} does not exist yet, and its target has no `size`; add one", path = path.display())]
    NoSize { path: PathBuf },
    /// The existing file or device is shorter than the target's `size`.
    #[error("{path} has {length_bytes} bytes, but the target's `size` is {size_bytes}; correct it", path = path.display())]
    TooShort {
        path: PathBuf,
        length_bytes: u64,
        /// The target's `size`.
        size_bytes: u64,
    },
    /// The target has more files than a process may open.
    #[error(
        "{count} files cannot be open at once, the limit is {limit}; use fewer files, a file set (`tree`), or raise the limit: ulimit -n {needed}"
    )]
    TooManyFiles {
        count: u32,
        /// Hard limit of this process.
        limit: u64,
        /// Limit that would suffice.
        needed: u64,
    },
    /// Writing, allocating or extending a file failed.
    #[error("could not {action} {path} at byte {offset}: {source}{hint}", path = path.display())]
    Layout {
        path: PathBuf,
        /// Action that failed: `write`, `allocate`, `extend`, `flush`.
        action: &'static str,
        offset: u64,
        source: io::Error,
        /// Suggestion with a leading separator; empty if there is none.
        hint: &'static str,
    },
    /// A stop was requested during the layout.
    #[error("stopped while files were being laid out")]
    Stopped {
        /// `None` only after a harmless race between the stop request and its signal.
        signal: Option<StopSignal>,
    },
}

impl PrepareError {
    /// Returns the exit code for this error: 5 for a refusal, 2 for an impossible workload, 130 for a stop, else 4.
    pub fn exit_code(&self) -> u8 {
        match self {
            PrepareError::Refused(refusal) => refusal.exit_code(),
            PrepareError::Read { .. } | PrepareError::Layout { .. } => 4,
            PrepareError::Stopped { .. } => 130,
            PrepareError::WrongKind { .. }
            | PrepareError::NoFiles { .. }
            | PrepareError::NoSize { .. }
            | PrepareError::TooShort { .. }
            | PrepareError::TooManyFiles { .. } => 2,
        }
    }
}

/// Progress of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayoutProgress {
    /// Index of the current file.
    pub file: u32,
    /// Number of files.
    pub files: u32,
    /// Bytes written so far, over all files.
    pub written_bytes: u64,
    /// Bytes to write, over all files.
    pub total_bytes: u64,
}

/// Fills the buffer with the content for a file number and offset. Called in order of offsets, with 4 MiB buffers
/// except for the end of a file.
pub(crate) type FillContent<'a> = dyn FnMut(&mut [u8], u32, u64) + 'a;

/// Arguments for laying out a target.
pub(crate) struct LayoutRequest<'a> {
    /// Write guard that opens the files.
    pub guard: &'a Guard,
    /// Base directory of relative paths.
    pub dir: &'a TestDir,
    /// Whether any phase writes to the target.
    pub access: Access,
    /// Upper bound for the bytes that phases write. Used for the free space check if the layout itself writes nothing.
    pub phase_writes_bytes: u64,
    /// Stops the layout early.
    pub stop: StopFlag,
    /// Generates the content.
    pub fill: &'a mut FillContent<'a>,
    /// Called with the progress after each write.
    pub progress: &'a mut (dyn FnMut(LayoutProgress) + 'a),
}

/// One open file or device of a target.
#[derive(Debug)]
pub struct TargetFile {
    path: PathBuf,
    length_bytes: u64,
    handle: Handle,
}

#[derive(Debug)]
enum Handle {
    Guarded(GuardedFile),
    ReadOnly(File),
}

impl TargetFile {
    /// Path for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the end of the range for ops, which starts at 0.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Returns the file, opened buffered or with `O_DIRECT` as set by [`TargetFiles::set_mode`].
    pub fn file(&self) -> &File {
        match &self.handle {
            Handle::Guarded(file) => file.file(),
            Handle::ReadOnly(file) => file,
        }
    }

    /// Returns whether the file may be written.
    pub fn access(&self) -> Access {
        match self.handle {
            Handle::Guarded(_) => Access::ReadWrite,
            Handle::ReadOnly(_) => Access::Read,
        }
    }

    /// Opens the file again for one worker, which needs its own offset and read-ahead.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`]; [`Refusal::Io`].
    pub fn again(&self, mode: IoMode) -> Result<File, Refusal> {
        open_again(self.as_fd(), &self.path, self.access(), mode)
    }
}

impl AsFd for TargetFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file().as_fd()
    }
}

/// The open files of one target, ordered by file number.
#[derive(Debug, Default)]
pub struct TargetFiles {
    files: Vec<TargetFile>,
}

impl TargetFiles {
    /// Opens files or devices read-only, such as the image below a loop device, which must be evicted too.
    ///
    /// # Errors
    /// [`PrepareError::Read`], [`PrepareError::WrongKind`].
    pub(crate) fn open_read_only<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<TargetFiles, PrepareError> {
        let files = paths.into_iter().map(|path| open_existing(path, None)).collect::<Result<_, _>>()?;
        Ok(TargetFiles { files })
    }

    /// Opens the corresponding files of another process read-only. They have the same number, lengths and naming
    /// scheme; `first` is the path of the first one.
    ///
    /// # Errors
    /// As [`TargetFiles::open_read_only`]; [`PrepareError::TooManyFiles`].
    pub(crate) fn of_others(&self, first: &Path) -> Result<TargetFiles, PrepareError> {
        // This process keeps its own files open.
        allow_open_files((self.len() as u32).saturating_mul(2))?;
        let first = first.as_os_str().as_bytes();
        let path = |number: usize| match number {
            0 => first.to_vec(),
            // Names are `data.0`, `data.1`, …
            number => [first.strip_suffix(b"0").unwrap_or(first), number.to_string().as_bytes()].concat(),
        };
        let opened = self.files.iter().enumerate().map(|(number, own)| {
            let path = PathBuf::from(OsString::from_vec(path(number)));
            Ok(TargetFile { length_bytes: own.length_bytes, ..open_existing(&path, None)? })
        });
        Ok(TargetFiles { files: opened.collect::<Result<_, PrepareError>>()? })
    }

    pub fn iter(&self) -> std::slice::Iter<'_, TargetFile> {
        self.files.iter()
    }

    pub fn len(&self) -> usize {
        self.files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the sum of the file lengths.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length_bytes).sum()
    }

    /// Switches all files between buffered I/O and `O_DIRECT`, before a phase.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`]: the caller may fall back to [`evict`] if it reports that.
    pub fn set_mode(&self, mode: IoMode) -> Result<(), Refusal> {
        self.files.iter().try_for_each(|file| set_mode(file.as_fd(), &file.path, mode))
    }

    /// Returns how much of the files is in the page cache.
    pub fn residency(&self) -> Seen<Residency> {
        residency::sum(self.files.iter().map(|file| residency::of_fd(file.as_fd())))
    }

    /// Returns the extents of the files on their devices.
    pub fn extents(&self) -> Seen<Extents> {
        extents::sum(self.files.iter().map(|file| extents::of_fd(file.as_fd())))
    }

    /// Removes the files that are test data and keeps all others. Only files outside a test directory need this, since
    /// a test directory is removed with its files.
    ///
    /// # Errors
    /// The first removal that failed; the remaining files are still tried.
    pub fn remove(self) -> Result<(), Refusal> {
        let guarded = self.files.iter().filter_map(|file| match &file.handle {
            Handle::Guarded(file) => Some(file),
            Handle::ReadOnly(_) => None,
        });
        guarded.map(GuardedFile::remove).fold(Ok(()), Result::and)
    }
}

impl<'a> IntoIterator for &'a TargetFiles {
    type Item = &'a TargetFile;
    type IntoIter = std::slice::Iter<'a, TargetFile>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Opens a file, files or device target, and allocates blocks for new files. `size_bytes` is the resolved
/// size of each file; `None` means the existing length. Space is checked before anything is written. On
/// failure, the created files are removed.
///
/// An existing file at an absolute path that no phase writes to is opened unchanged, whatever its `prepare` setting.
///
/// # Errors
/// [`PrepareError`].
pub(crate) fn open_target(
    target: &Target,
    size_bytes: Option<u64>,
    layout: &mut LayoutRequest<'_>,
) -> Result<TargetFiles, PrepareError> {
    match target {
        Target::File(target) => open_file(target, size_bytes, layout),
        Target::Files(target) => open_files(target, size_bytes, layout),
        Target::Device(target) => open_device(target, size_bytes, layout),
        Target::Tree(_)
        | Target::JobFiles(_)
        | Target::Scratch(_)
        | Target::SharedTree(_)
        | Target::Recorded(_)
        | Target::Null(_)
        | Target::Sim(_)
        | Target::Host(_) => Err(PrepareError::NoFiles { kind: target.kind() }),
    }
}

fn open_file(
    target: &FileTarget,
    size_bytes: Option<u64>,
    layout: &mut LayoutRequest<'_>,
) -> Result<TargetFiles, PrepareError> {
    if target.path.is_absolute() && layout.access == Access::Read && target.path.exists() {
        return Ok(TargetFiles { files: vec![open_existing(&target.path, size_bytes)?] });
    }
    lay_out(vec![target.path.clone()], target.prepare, size_bytes, layout)
}

fn open_files(
    target: &FilesTarget,
    size_bytes: Option<u64>,
    layout: &mut LayoutRequest<'_>,
) -> Result<TargetFiles, PrepareError> {
    allow_open_files(target.count)?;
    let paths: Vec<PathBuf> = (0..target.count)
        .map(|number| {
            let mut path = target.path.clone().into_os_string();
            path.push(format!(".{number}"));
            PathBuf::from(path)
        })
        .collect();
    if target.path.is_absolute() && layout.access == Access::Read && paths.iter().all(|path| path.exists()) {
        let files = paths.iter().map(|path| open_existing(path, size_bytes)).collect::<Result<_, _>>()?;
        return Ok(TargetFiles { files });
    }
    lay_out(paths, target.prepare, size_bytes, layout)
}

fn open_device(
    target: &DeviceTarget,
    size_bytes: Option<u64>,
    layout: &LayoutRequest<'_>,
) -> Result<TargetFiles, PrepareError> {
    if layout.access == Access::Read {
        return Ok(TargetFiles { files: vec![open_existing(&target.path, size_bytes)?] });
    }
    let device = layout.guard.open_device(&target.path, target.destroy_serial.as_deref(), IoMode::Buffered)?;
    let capacity_bytes = end_of(device.file()).map_err(Refusal::io(&target.path, "determine its size"))?;
    let length_bytes = length_within(&target.path, capacity_bytes, size_bytes)?;
    let path = target.path.clone();
    Ok(TargetFiles { files: vec![TargetFile { path, length_bytes, handle: Handle::Guarded(device) }] })
}

/// Opens an existing file or device read-only.
fn open_existing(path: &Path, size_bytes: Option<u64>) -> Result<TargetFile, PrepareError> {
    let failed = |source: io::Error| PrepareError::Read { path: path.to_owned(), source };
    // Check the type first: opening a pipe for reading would block until it has a writer.
    let kind = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode);
    match rustix::fs::stat(path).map(kind) {
        Ok(FileType::RegularFile | FileType::BlockDevice) => {}
        Ok(_) => return Err(PrepareError::WrongKind { path: path.to_owned() }),
        Err(error) => return Err(failed(error.into())),
    }
    let file = File::open(path).map_err(failed)?;
    let length_bytes = length_within(path, end_of(&file).map_err(failed)?, size_bytes)?;
    Ok(TargetFile { path: path.to_owned(), length_bytes, handle: Handle::ReadOnly(file) })
}

fn end_of(file: &File) -> io::Result<u64> {
    let end = rustix::fs::seek(file, SeekFrom::End(0))?;
    rustix::fs::seek(file, SeekFrom::Start(0))?;
    Ok(end)
}

fn length_within(path: &Path, length_bytes: u64, size_bytes: Option<u64>) -> Result<u64, PrepareError> {
    match size_bytes {
        Some(size_bytes) if size_bytes > length_bytes => {
            Err(PrepareError::TooShort { path: path.to_owned(), length_bytes, size_bytes })
        }
        size_bytes => Ok(size_bytes.unwrap_or(length_bytes)),
    }
}

/// Raises the limit of open files as far as this process may.
fn allow_open_files(count: u32) -> Result<(), PrepareError> {
    let needed = u64::from(count).saturating_add(OTHER_DESCRIPTORS);
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let hard = limit.maximum.unwrap_or(u64::MAX);
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    if hard < needed || rustix::process::setrlimit(Resource::Nofile, raised).is_err() {
        return Err(PrepareError::TooManyFiles { count, limit: hard, needed });
    }
    Ok(())
}

fn lay_out(
    paths: Vec<PathBuf>,
    prepare: Prepare,
    size_bytes: Option<u64>,
    layout: &mut LayoutRequest<'_>,
) -> Result<TargetFiles, PrepareError> {
    let mut target = TargetFiles { files: Vec::with_capacity(paths.len()) };
    let result = open_all(&paths, prepare, size_bytes, layout, &mut target).and_then(|()| {
        let total_bytes = target.total_bytes();
        let files = target.files.len() as u32;
        let mut progress = LayoutProgress { file: 0, files, written_bytes: 0, total_bytes };
        for (number, file) in target.files.iter().enumerate() {
            progress.file = number as u32;
            give_blocks(file, prepare, layout, &mut progress)?;
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(target),
        Err(error) => {
            let made = target.files.iter().filter_map(|file| match &file.handle {
                Handle::Guarded(file) if file.origin() == PassReason::Made => Some(file),
                _ => None,
            });
            for file in made {
                let _ = file.remove();
            }
            Err(error)
        }
    }
}

fn open_all(
    paths: &[PathBuf],
    prepare: Prepare,
    size_bytes: Option<u64>,
    layout: &LayoutRequest<'_>,
    target: &mut TargetFiles,
) -> Result<(), PrepareError> {
    let each_bytes = match (size_bytes, prepare) {
        (Some(bytes), _) => bytes,
        (None, Prepare::Nothing) => 0,
        (None, _) => return Err(PrepareError::NoSize { path: paths.first().cloned().unwrap_or_default() }),
    };
    let all_bytes = each_bytes.saturating_mul(paths.len() as u64);
    let mut needed_bytes = match prepare {
        Prepare::Write | Prepare::Allocate => all_bytes,
        Prepare::Sparse | Prepare::Nothing => layout.phase_writes_bytes.min(all_bytes.max(each_bytes)),
    };
    if prepare == Prepare::Nothing && size_bytes.is_none() {
        needed_bytes = layout.phase_writes_bytes;
    }
    for path in paths {
        let opening = FileOpening { intent: Intent::Overwrite, mode: IoMode::Buffered, needed_bytes };
        // The first check covers all files, since nothing is written in between.
        needed_bytes = 0;
        let file = match path.is_absolute() {
            true => layout.guard.open_file(path, opening)?,
            false => layout.guard.open_in(layout.dir, path, opening)?,
        };
        let there_bytes = end_of(file.file()).map_err(Refusal::io(path, "determine its length"))?;
        let length_bytes = size_bytes.unwrap_or(there_bytes);
        target.files.push(TargetFile { path: file.path().to_owned(), length_bytes, handle: Handle::Guarded(file) });
    }
    Ok(())
}

fn give_blocks(
    target: &TargetFile,
    prepare: Prepare,
    layout: &mut LayoutRequest<'_>,
    progress: &mut LayoutProgress,
) -> Result<(), PrepareError> {
    let length_bytes = target.length_bytes;
    match prepare {
        Prepare::Nothing => return Ok(()),
        Prepare::Write => write_all(target, layout, progress)?,
        Prepare::Allocate if length_bytes > 0 => loop {
            match rustix::fs::fallocate(target.file(), FallocateFlags::empty(), 0, length_bytes) {
                Err(Errno::INTR) if !layout.stop.requested() => {}
                Ok(()) | Err(Errno::INTR) => break,
                Err(error) => return Err(failed(target, "allocate", 0, error.into())),
            }
        },
        Prepare::Allocate => {}
        Prepare::Sparse => {
            let there_bytes = end_of(target.file()).map_err(|error| failed(target, "extend", 0, error))?;
            // Only extend: never truncate existing data.
            if there_bytes < length_bytes {
                rustix::fs::ftruncate(target.file(), length_bytes)
                    .map_err(|error| failed(target, "extend", there_bytes, error.into()))?;
            }
        }
    }
    if layout.stop.requested() {
        return Err(PrepareError::Stopped { signal: layout.stop.signal() });
    }
    rustix::io::retry_on_intr(|| rustix::fs::fsync(target.file()))
        .map_err(|error| failed(target, "flush", length_bytes, error.into()))
}

/// Writes the whole range with flushes in between, so that the last flush, which cannot be interrupted, is short. The
/// window is sized so that one flush takes about a quarter of a second.
fn write_all(
    target: &TargetFile,
    layout: &mut LayoutRequest<'_>,
    progress: &mut LayoutProgress,
) -> Result<(), PrepareError> {
    const AIM: Duration = Duration::from_millis(250);
    let length_bytes = target.length_bytes;
    let mut buffer = vec![0; length_bytes.min(WRITE_BYTES as u64) as usize];
    let mut window_bytes = 4 * WINDOW_MIN_BYTES;
    let mut unflushed_bytes = 0;
    let mut offset = 0;
    while offset < length_bytes {
        if layout.stop.requested() {
            return Err(PrepareError::Stopped { signal: layout.stop.signal() });
        }
        let chunk = buffer.len().min((length_bytes - offset).try_into().unwrap_or(usize::MAX));
        let chunk = &mut buffer[..chunk];
        (layout.fill)(chunk, progress.file, offset);
        // Retries after EINTR and after short writes.
        target.file().write_all_at(chunk, offset).map_err(|error| failed(target, "write", offset, error))?;
        offset += chunk.len() as u64;
        unflushed_bytes += chunk.len() as u64;
        progress.written_bytes += chunk.len() as u64;
        (layout.progress)(*progress);
        if unflushed_bytes >= window_bytes {
            let start = Instant::now();
            rustix::io::retry_on_intr(|| rustix::fs::fdatasync(target.file()))
                .map_err(|error| failed(target, "flush", offset, error.into()))?;
            unflushed_bytes = 0;
            let took = start.elapsed();
            if took < AIM / 2 {
                window_bytes = (window_bytes * 2).min(WINDOW_MAX_BYTES);
            } else if took > AIM * 2 {
                window_bytes = (window_bytes / 2).max(WINDOW_MIN_BYTES);
            }
        }
    }
    Ok(())
}

fn failed(target: &TargetFile, action: &'static str, offset: u64, source: io::Error) -> PrepareError {
    let hint = match Errno::from_io_error(&source) {
        Some(Errno::OPNOTSUPP) => "; this file system cannot reserve blocks: use `prepare = \"write\"`",
        Some(Errno::FBIG) => "; files cannot be this long here (file system, or `ulimit -f`): use a smaller `size`",
        Some(Errno::NOSPC | Errno::DQUOT) => "; use a smaller `size`, or another file system",
        _ => "",
    };
    PrepareError::Layout { path: target.path.clone(), action, offset, source, hint }
}

#[cfg(test)]
mod tests;
