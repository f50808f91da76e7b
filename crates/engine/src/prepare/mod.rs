//! What happens outside the clock: opening targets and giving files their blocks before the first phase, and the state
//! of the page cache before each ([`cache`]), with memory held back if the phase wants that ([`pressure`]).
//!
//! Everything that is opened for writing goes through the guard; what is only read does not need it.

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

/// One write of the layout.
const WRITE_BYTES: usize = 4 << 20;

/// Bounds of what is written between two flushes of the layout.
const WINDOW_MIN_BYTES: u64 = WRITE_BYTES as u64;
const WINDOW_MAX_BYTES: u64 = 256 << 20;

/// Descriptors that the rest of the program needs besides the targets'.
const OTHER_DESCRIPTORS: u64 = 256;

/// Why a target could not be opened or laid out.
#[derive(Debug, Error)]
pub enum PrepareError {
    /// The guard says no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// What is only to be read cannot be opened.
    #[error("cannot open {path} for reading: {source}", path = path.display())]
    Read {
        /// The file or device.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What is only to be read is neither a file nor a block device.
    #[error("{path} is neither a file nor a block device", path = path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
    },
    /// A tree, null or sim target has no files to open.
    #[error("a {kind} target has no files to open")]
    NoFiles {
        /// Kind of the target.
        kind: &'static str,
    },
    /// A file that has to be made has no size.
    #[error("{path} does not exist yet, and its target has no `size`; add one", path = path.display())]
    NoSize {
        /// The file.
        path: PathBuf,
    },
    /// What exists is shorter than the target says.
    #[error("{path} has {length_bytes} bytes, but the target's `size` is {size_bytes}; correct it", path = path.display())]
    TooShort {
        /// The file or device.
        path: PathBuf,
        /// Its length.
        length_bytes: u64,
        /// What the target says.
        size_bytes: u64,
    },
    /// More files than a process may have open.
    #[error(
        "{count} files cannot be open at once, the limit is {limit}; use fewer files, a file set (`tree`), or raise the limit: ulimit -n {needed}"
    )]
    TooManyFiles {
        /// How many files.
        count: u32,
        /// The hard limit of this process.
        limit: u64,
        /// What would do.
        needed: u64,
    },
    /// Writing, allocating or extending failed.
    #[error("could not {action} {path} at byte {offset}: {source}{hint}", path = path.display())]
    Layout {
        /// The file.
        path: PathBuf,
        /// What was tried: `write`, `allocate`, `extend`, `flush`.
        action: &'static str,
        /// Where.
        offset: u64,
        /// What the system said.
        source: io::Error,
        /// The way out, with a separator in front; empty if there is none to tell.
        hint: &'static str,
    },
    /// The run is to stop.
    #[error("stopped while files were being laid out")]
    Stopped {
        /// Why; `None` cannot happen but for a race of no importance.
        signal: Option<StopSignal>,
    },
}

impl PrepareError {
    /// Exit code of a program that ends by this: 5 for a refusal, 2 for a workload that cannot be, 130 for a stop, else 4.
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

/// How far the layout is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LayoutProgress {
    /// Number of the file at hand.
    pub file: u32,
    /// How many there are.
    pub files: u32,
    /// Written so far, of all files, bytes.
    pub written_bytes: u64,
    /// To be written, of all files, bytes.
    pub total_bytes: u64,
}

/// Makes content: fills the buffer as it will stand in that file at that offset. Called in order of offsets, with
/// buffers of 4 MiB but for a file's last.
pub(crate) type FillContent<'a> = dyn FnMut(&mut [u8], u32, u64) + 'a;

/// What the layout of a target needs.
pub(crate) struct LayoutRequest<'a> {
    /// The door.
    pub guard: &'a Guard,
    /// Where relative paths lie.
    pub dir: &'a TestDir,
    /// Whether any phase writes to the target.
    pub access: Access,
    /// Bytes that phases write to it at most, for the check of free space where the layout itself writes nothing.
    pub phase_writes_bytes: u64,
    /// Ends the layout early.
    pub stop: StopFlag,
    /// Makes content.
    pub fill: &'a mut FillContent<'a>,
    /// Receives the progress, after each write.
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
    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The range in which ops take place: from 0 to here.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// The file, opened through the page cache or around it as [`TargetFiles::set_mode`] has it.
    pub fn file(&self) -> &File {
        match &self.handle {
            Handle::Guarded(file) => file.file(),
            Handle::ReadOnly(file) => file,
        }
    }

    /// What it may be used for.
    pub fn access(&self) -> Access {
        match self.handle {
            Handle::Guarded(_) => Access::ReadWrite,
            Handle::ReadOnly(_) => Access::Read,
        }
    }

    /// Opens it once more, for a worker of its own: another offset, another read-ahead.
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

/// The open files of one target, in the order of their numbers.
#[derive(Debug, Default)]
pub struct TargetFiles {
    files: Vec<TargetFile>,
}

impl TargetFiles {
    /// Opens files or devices for reading only, such as the image below a loop device, whose cache is to be emptied too.
    ///
    /// # Errors
    /// [`PrepareError::Read`], [`PrepareError::WrongKind`].
    pub(crate) fn open_read_only<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<TargetFiles, PrepareError> {
        let files = paths.into_iter().map(|path| open_existing(path, None)).collect::<Result<_, _>>()?;
        Ok(TargetFiles { files })
    }

    /// The same files of another process, for reading only: as many, as long, and named alike, from the first one on.
    ///
    /// # Errors
    /// As [`TargetFiles::open_read_only`]; [`PrepareError::TooManyFiles`].
    pub(crate) fn of_others(&self, first: &Path) -> Result<TargetFiles, PrepareError> {
        // Own files stay open.
        allow_open_files((self.len() as u32).saturating_mul(2))?;
        let first = first.as_os_str().as_bytes();
        let path = |number: usize| match number {
            0 => first.to_vec(),
            // `data.0`, `data.1` …
            number => [first.strip_suffix(b"0").unwrap_or(first), number.to_string().as_bytes()].concat(),
        };
        let opened = self.files.iter().enumerate().map(|(number, own)| {
            let path = PathBuf::from(OsString::from_vec(path(number)));
            Ok(TargetFile { length_bytes: own.length_bytes, ..open_existing(&path, None)? })
        });
        Ok(TargetFiles { files: opened.collect::<Result<_, PrepareError>>()? })
    }

    /// Each of them.
    pub fn iter(&self) -> std::slice::Iter<'_, TargetFile> {
        self.files.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Lengths together, bytes.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.length_bytes).sum()
    }

    /// Switches all of them between the page cache and `O_DIRECT`, before a phase.
    ///
    /// # Errors
    /// [`Refusal::NoDirect`]: the caller may fall back to [`evict`], and say so.
    pub fn set_mode(&self, mode: IoMode) -> Result<(), Refusal> {
        self.files.iter().try_for_each(|file| set_mode(file.as_fd(), &file.path, mode))
    }

    /// What the page cache holds of them.
    pub fn residency(&self) -> Seen<Residency> {
        residency::sum(self.files.iter().map(|file| residency::of_fd(file.as_fd())))
    }

    /// Where their bytes lie.
    pub fn extents(&self) -> Seen<Extents> {
        extents::sum(self.files.iter().map(|file| extents::of_fd(file.as_fd())))
    }

    /// Removes those that are test data; all others stay. Files in a test directory go with it anyway; this is for
    /// files elsewhere.
    ///
    /// # Errors
    /// The first that could not be removed; the others are tried all the same.
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

/// Opens a file, files or device target, and gives new files their blocks. `size_bytes` is the target's size (of each
/// file), resolved; `None` is the length that is there. Space is checked before anything is written. If it fails, what it
/// made is removed.
///
/// An existing file at an absolute path that no phase writes to is opened as it is, whatever its `prepare` says.
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
    let capacity_bytes = end_of(device.file()).map_err(Refusal::io(&target.path, "see how large it is"))?;
    let length_bytes = length_within(&target.path, capacity_bytes, size_bytes)?;
    let path = target.path.clone();
    Ok(TargetFiles { files: vec![TargetFile { path, length_bytes, handle: Handle::Guarded(device) }] })
}

/// Opens what exists, for reading only.
fn open_existing(path: &Path, size_bytes: Option<u64>) -> Result<TargetFile, PrepareError> {
    let failed = |source: io::Error| PrepareError::Read { path: path.to_owned(), source };
    // Looked at first: opening a pipe for reading would wait for somebody who writes.
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
        // The first one answers for all; nothing is written in between.
        needed_bytes = 0;
        let file = match path.is_absolute() {
            true => layout.guard.open_file(path, opening)?,
            false => layout.guard.open_in(layout.dir, path, opening)?,
        };
        let there_bytes = end_of(file.file()).map_err(Refusal::io(path, "see how long it is"))?;
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
            // Only ever longer: nothing that is there is cut off.
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

/// Writes the whole range. It flushes in between, so that the last flush, which nothing can interrupt, is short: the
/// window is chosen so that a flush takes a quarter of a second or so.
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
