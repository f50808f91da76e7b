//! Creates a job's files before the first phase, and extends those that are too short.

use super::calls::{logical_block_bytes, posix_fallocate};
use super::error::JobFilesError;
use super::paths::Paths;
use super::{FileUse, HeldDevice, JobTarget, Lengths, asked_of, changes, donor};
use crate::backend::FileKind;
use crate::files::failed::Unopened;
use crate::guard::{
    Create, Door, FoundName, Guard, MountedDevice, Naming, PassReason, PassedFile, Pinning, Refusal, Roots,
};
use crate::os::{self, Space};
use crate::signals::StopFlag;
use plumb_workload::files::{Allocation, JobFiles};
use plumb_workload::{BlockStream, FileCall, WorkerGroup};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Length of one write of the layout.
const WRITE_BYTES: usize = 4 << 20;

/// With more files than this, the layout flushes their file systems once instead of each file, because each flush
/// would wait for the device.
const FLUSHED_ALONE_MAX: usize = 64;

/// Number of files between two checks of the stop flag.
const FILES_PER_STOP_CHECK: usize = 256;

/// Generates content for a group: arguments are the buffer, the file number and the file offset.
pub(crate) type JobFill<'a> = dyn FnMut(&WorkerGroup, &mut [u8], u32, u64) + 'a;

/// Inputs and callbacks of the layout.
pub(crate) struct JobLayout<'a> {
    pub(crate) guard: &'a Guard,
    /// Base of relative paths.
    pub(crate) base: &'a Path,
    pub(crate) stop: StopFlag,
    pub(crate) fill: &'a mut JobFill<'a>,
    /// Receives progress messages.
    pub(crate) say: &'a mut dyn FnMut(&str),
    /// Devices that the run already holds.
    pub(crate) held: &'a mut Vec<HeldDevice>,
    pub(crate) unopened: Unopened,
}

/// Result of laying out a target.
pub(crate) struct Laid {
    pub(crate) target: JobTarget,
    /// Members that cannot use the target, with their errors.
    pub(crate) failed: Vec<FailedMember>,
}

pub(crate) struct FailedMember {
    /// Index among the members.
    pub(crate) place: usize,
    pub(crate) error: JobFilesError,
}

/// Lays out a target by the rules of all jobs that use it, in their order.
///
/// # Errors
/// [`JobFilesError`]. If jobs may fail separately, only [`JobFilesError::Stopped`].
pub(crate) fn lay_out(
    files: &JobFiles,
    members: &[&WorkerGroup],
    layout: &mut JobLayout<'_>,
) -> Result<Laid, JobFilesError> {
    let paths = Paths::new(&files.names, layout.base);
    if let Some(below) = &files.make_below
        && members.iter().any(|member| FileUse::for_backend(&member.backend) != FileUse::Unused)
    {
        make_directories(&paths, &super::paths::typed(std::slice::from_ref(below), layout.base), layout)?;
    }
    let naming = if paths.are_generated() { Naming::Generated } else { Naming::Typed };
    // A command that runs before a job may mount the file system of its files.
    let runs_commands = members.iter().any(|member| member.process.run_before.is_some());
    let pinning = if runs_commands { Pinning::Free } else { Pinning::Pinned };
    let typed = super::paths::typed(&files.typed, layout.base);
    let all = (0..paths.count()).map(|number| paths.path(number));
    let roots = Arc::new(Roots::new(&typed, all, pinning));
    let mut laid = LaidOut {
        door: layout.guard.door(naming).with_roots(Arc::clone(&roots)),
        lengths: Vec::new(),
        kind: FileKind::Regular,
        direct_alignment_bytes: 512,
        devices: Vec::new(),
        paths,
    };
    let mut failed = Vec::new();
    for (place, &member) in members.iter().enumerate() {
        let before = std::mem::take(&mut laid.lengths);
        laid.lengths.reserve_exact(laid.paths.count());
        let done = match FileUse::for_backend(&member.backend) {
            FileUse::Unused => {
                laid.lay_out_unused(files, member);
                Ok(())
            }
            FileUse::Called(call) => laid.lay_out_for_calls(files, call, member, layout),
            FileUse::Opened => laid.lay_out_opened(files, member, layout),
        };
        match done {
            Ok(()) => {}
            Err(JobFilesError::Stopped | JobFilesError::Refused(Refusal::Stopped { .. })) => {
                return Err(JobFilesError::Stopped);
            }
            Err(error) if layout.unopened == Unopened::EndsRun => return Err(error),
            Err(error) => {
                laid.lengths = before;
                failed.push(FailedMember { place, error });
            }
        }
    }
    let mut first_path = laid.paths.path(0);
    if !first_path.exists() {
        first_path.pop();
    }
    let target = JobTarget {
        first_path,
        lengths: Lengths::from_each(laid.lengths),
        asked: files.lengths.clone(),
        kind: laid.kind,
        direct_alignment_bytes: laid.direct_alignment_bytes,
        devices: laid.devices,
        paths: laid.paths,
        guard: layout.guard.clone(),
        roots,
    };
    Ok(Laid { target, failed })
}

/// Creates the missing directories of the files, below the directories that the user named.
fn make_directories(paths: &Paths, below: &[PathBuf], layout: &JobLayout<'_>) -> Result<(), JobFilesError> {
    let mut made: Option<PathBuf> = None;
    for number in 0..paths.count() {
        stop_at(layout.stop, number)?;
        let path = paths.path(number);
        if made.as_deref() == path.parent() {
            continue;
        }
        below.iter().try_for_each(|below| plumb_guard::make_parents_below(below, &path))?;
        made = path.parent().map(PathBuf::from);
    }
    Ok(())
}

struct LaidOut {
    paths: Paths,
    door: Door,
    /// Lengths of the files so far, for the current job.
    lengths: Vec<u64>,
    kind: FileKind,
    direct_alignment_bytes: u64,
    devices: Vec<HeldDevice>,
}

/// A file to create or extend.
struct FileToExtend {
    number: usize,
    length_bytes: u64,
}

impl LaidOut {
    fn lay_out_unused(&mut self, files: &JobFiles, member: &WorkerGroup) {
        let asked = |number| asked_bytes(files, number).unwrap_or_else(|| range_end(member, number));
        self.lengths.extend((0..self.paths.count()).map(asked));
    }

    /// Prepares the names for path-based calls: free names for calls that create, existing
    /// files or directories for others.
    fn lay_out_for_calls(
        &mut self,
        files: &JobFiles,
        call: FileCall,
        member: &WorkerGroup,
        layout: &mut JobLayout<'_>,
    ) -> Result<(), JobFilesError> {
        for number in 0..self.paths.count() {
            stop_at(layout.stop, number)?;
            let path = self.paths.path(number);
            if member.files.prepare.later {
                self.check_later_call(&path, call)?;
                self.lengths.push(called_bytes(files, member, number));
                continue;
            }
            match call {
                FileCall::Create | FileCall::Mkdir => {
                    // Detects names that cannot be created, and files that belong to the user.
                    let found = self.door.find(&path)?;
                    if matches!(found, FoundName::File { .. }) {
                        self.door.open(&path, Create::Never)?;
                    }
                }
                FileCall::Stat | FileCall::Lstat | FileCall::Statx | FileCall::Unlink => {
                    if call == FileCall::Unlink {
                        self.door.admit_removal(&path)?;
                    }
                    if self.door.find(&path)? == FoundName::Nothing || call == FileCall::Unlink {
                        self.door.open(&path, Create::IfMissing)?;
                    }
                }
                FileCall::StatDir | FileCall::Rmdir => self.door.make_dir(&path)?,
            }
            self.lengths.push(called_bytes(files, member, number));
        }
        Ok(())
    }

    /// Looks up a path; returns [`FoundName::Nothing`] if its directory does not exist yet.
    fn check_later(&mut self, path: &Path) -> Result<FoundName, JobFilesError> {
        match self.door.find(path) {
            Err(Refusal::NoDirectory { .. }) => Ok(FoundName::Nothing),
            outcome => Ok(outcome?),
        }
    }

    /// Checks a path for a call on files of an earlier phase: an existing file must be test data
    /// if the call changes it.
    fn check_later_call(&mut self, path: &Path, call: FileCall) -> Result<(), JobFilesError> {
        if call == FileCall::Unlink {
            return match self.door.admit_removal(path) {
                Err(Refusal::NoDirectory { .. }) => Ok(()),
                outcome => Ok(outcome?),
            };
        }
        let changes = call == FileCall::Create;
        if changes && matches!(self.check_later(path)?, FoundName::File { .. }) {
            self.door.open(path, Create::Never)?;
        }
        Ok(())
    }

    fn lay_out_opened(
        &mut self,
        files: &JobFiles,
        member: &WorkerGroup,
        layout: &mut JobLayout<'_>,
    ) -> Result<(), JobFilesError> {
        let changes = changes(member);
        donor::pass(&mut layout.guard.door(Naming::Typed), layout.base, member)?;
        // Existing files are evidence: reads report a file that is too short, and the layout does not extend it.
        let checks = member.verify.as_ref().is_some_and(|verify| verify.only || !member.work.moves().write);
        let mut to_extend: Vec<FileToExtend> = Vec::new();
        let mut needed_bytes: u64 = 0;
        let mut path = PathBuf::new();
        for number in 0..self.paths.count() {
            stop_at(layout.stop, number)?;
            path = self.paths.path(number);
            let asked = asked_bytes(files, number);
            let later = member.files.prepare.later;
            let found = if later { self.check_later(&path)? } else { self.door.find(&path)? };
            let length_bytes = match found {
                FoundName::Device => self.device(&path, member, layout)?,
                FoundName::Character => asked.unwrap_or_else(|| range_end(member, number)),
                FoundName::Directory => {
                    return Err(JobFilesError::WrongKind { path, found: "a directory" });
                }
                FoundName::Other(found) => return Err(JobFilesError::WrongKind { path, found }),
                FoundName::Nothing if later => {
                    let length_bytes = asked.unwrap_or_else(|| range_end(member, number));
                    if changes {
                        needed_bytes = needed_bytes.saturating_add(length_bytes);
                    }
                    length_bytes
                }
                FoundName::Nothing if !member.files.prepare.create => return Err(JobFilesError::Missing { path }),
                FoundName::Nothing => {
                    let Some(length_bytes) = asked.or_else(|| grows(member).then_some(0)) else {
                        return Err(JobFilesError::NoLength { path });
                    };
                    if !member.files.create_on_open {
                        to_extend.push(FileToExtend { number, length_bytes });
                    }
                    needed_bytes = needed_bytes.saturating_add(length_bytes);
                    length_bytes
                }
                FoundName::File { length_bytes: existing_bytes, occupied_bytes } => {
                    let length_bytes = asked.unwrap_or(existing_bytes).max(existing_bytes);
                    if existing_bytes < length_bytes && checks {
                        self.lengths.push(length_bytes);
                        continue;
                    }
                    if existing_bytes < length_bytes && !member.files.create_on_open && !later {
                        to_extend.push(FileToExtend { number, length_bytes });
                    } else if changes {
                        // Let the guard detect user data before anything is written.
                        self.door.open(&path, Create::Never)?;
                    }
                    if changes || existing_bytes < length_bytes {
                        needed_bytes = needed_bytes.saturating_add(length_bytes.saturating_sub(occupied_bytes));
                    }
                    length_bytes
                }
            };
            self.lengths.push(length_bytes);
        }
        if needed_bytes > 0 {
            // Its directory may not exist yet.
            while path.parent().is_some_and(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
                path.pop();
            }
            match fills(member) {
                // A job that writes until the space is used up has declared so.
                true => self.door.admit_filling(&path)?,
                false => self.door.admit(&path, needed_bytes)?,
            }
        }
        self.give_lengths(&to_extend, member, layout)
    }

    fn give_lengths(
        &mut self,
        to_extend: &[FileToExtend],
        member: &WorkerGroup,
        layout: &mut JobLayout<'_>,
    ) -> Result<(), JobFilesError> {
        if let Some(first) = to_extend.first() {
            let bytes: u64 = to_extend.iter().map(|file| file.length_bytes).sum();
            let path = self.paths.path(first.number);
            let how = if member.files.prepare.write { "writing" } else { "making" };
            let files = if to_extend.len() == 1 { String::new() } else { format!(" and {} more", to_extend.len() - 1) };
            (layout.say)(&format!("{how} {}{files}: {} MiB", path.display(), bytes >> 20));
        }
        let mut buffer = Vec::new();
        let together = to_extend.len() > FLUSHED_ALONE_MAX;
        // One file of each file system.
        let mut unflushed: BTreeMap<u64, File> = BTreeMap::new();
        for (done, file) in to_extend.iter().enumerate() {
            stop_at(layout.stop, done)?;
            let path = self.paths.path(file.number);
            self.door.make_with(member.files.new.laid_out);
            let PassedFile { file: open, origin } = self.door.open(&path, Create::IfMissing)?;
            match give_length(&open, &path, file, member, layout, &mut buffer) {
                // A partly written file is not test data. Files of other owners stay, as in every other tool.
                Err(JobFilesError::Stopped) => {
                    if matches!(origin, PassReason::Made | PassReason::TestData) {
                        self.door.remove(&path)?;
                    }
                    return Err(JobFilesError::Stopped);
                }
                outcome => outcome?,
            }
            if member.files.prepare.write && member.files.prepare.flush && file.length_bytes > 0 {
                let failed = |error: Errno| JobFilesError::call(path.clone(), "flush", error.into());
                if together {
                    let stat = rustix::fs::fstat(&open).map_err(failed)?;
                    unflushed.entry(stat.st_dev).or_insert(open);
                } else {
                    rustix::io::retry_on_intr(|| rustix::fs::fsync(&open)).map_err(failed)?;
                }
            }
        }
        for file in unflushed.values() {
            let path = || to_extend.first().map(|first| self.paths.path(first.number)).unwrap_or_default();
            rustix::io::retry_on_intr(|| crate::os::sync_file_system(file.as_fd()))
                .map_err(|error| JobFilesError::call(path(), "flush the file system of", error.into()))?;
        }
        Ok(())
    }

    /// Takes hold of a device that will be written to, and returns its length.
    fn device(&mut self, path: &Path, member: &WorkerGroup, layout: &mut JobLayout<'_>) -> Result<u64, JobFilesError> {
        self.kind = FileKind::Device;
        let seen = self.door.open_to_read(path, OFlags::empty())?;
        let failed = |action| move |error: std::io::Error| JobFilesError::call(path.to_owned(), action, error);
        let length_bytes =
            rustix::fs::seek(&seen, rustix::fs::SeekFrom::End(0)).map_err(|error| failed("measure")(error.into()))?;
        let block_bytes = logical_block_bytes(seen.as_fd()).map_err(failed("ask for the block size of"))?;
        self.direct_alignment_bytes = self.direct_alignment_bytes.max(block_bytes);
        drop(seen);
        if changes(member) && !self.devices.iter().any(|held| held.path == path) {
            let device = match layout.held.iter().find(|held| is_same_device(path, held)) {
                Some(held) => Arc::clone(&held.device),
                None => {
                    let mounted = match member.files.allow_mounted {
                        true => MountedDevice::Allowed,
                        false => MountedDevice::Refused,
                    };
                    Arc::new(layout.guard.open_typed_device(path, mounted)?)
                }
            };
            let held = HeldDevice { path: path.to_owned(), device };
            layout.held.push(held.clone());
            self.devices.push(held);
        }
        Ok(length_bytes)
    }
}

fn is_same_device(path: &Path, held: &HeldDevice) -> bool {
    let number = |stat: rustix::io::Result<rustix::fs::Stat>| stat.ok().map(|stat| stat.st_rdev);
    number(rustix::fs::stat(path)) == number(rustix::fs::fstat(held.device.as_fd()))
}

fn stop_at(stop: StopFlag, number: usize) -> Result<(), JobFilesError> {
    if number.is_multiple_of(FILES_PER_STOP_CHECK) && stop.requested() { Err(JobFilesError::Stopped) } else { Ok(()) }
}

/// Returns the length that a target requests for a file.
fn asked_bytes(files: &JobFiles, number: usize) -> Option<u64> {
    asked_of(&files.lengths, number)
}

/// Returns the length of a file for path-based calls. Without a requested length, it is the number of bytes
/// that the calls count for.
fn called_bytes(files: &JobFiles, member: &WorkerGroup, number: usize) -> u64 {
    asked_bytes(files, number).filter(|&bytes| bytes > 0).unwrap_or_else(|| range_end(member, number))
}

/// Returns the end of the part of a file that a group uses.
fn range_end(member: &WorkerGroup, number: usize) -> u64 {
    match member.work.stream() {
        Some(BlockStream::Fio(stream)) => {
            let range = stream.ranges.get(number).or(stream.ranges.last());
            range.map_or(0, |range| range.start.0.saturating_add(range.length.0))
        }
        Some(BlockStream::Requests(requests)) => requests.file_bytes.0,
        Some(BlockStream::Accesses(accesses)) => accesses.start.0.saturating_add(accesses.length.0),
        Some(BlockStream::Trace(_)) => u64::MAX >> 1,
        // Path-based calls use no part of a file.
        Some(BlockStream::Sweep(sweep)) if sweep.call().is_none() => sweep.end_in(number),
        Some(BlockStream::Sweep(_) | BlockStream::Plumb(_)) | None => 0,
    }
}

/// Returns `true` if a group writes until no space is left.
fn fills(member: &WorkerGroup) -> bool {
    member.work.fio().is_some_and(|stream| stream.fill_device)
}

/// Returns `true` if a group can begin with an empty file.
fn grows(member: &WorkerGroup) -> bool {
    let moves = member.work.moves();
    fills(member) || (moves.write && !moves.read) || member.work.trace().is_some()
}

fn give_length(
    file: &File,
    path: &Path,
    to_extend: &FileToExtend,
    member: &WorkerGroup,
    layout: &mut JobLayout<'_>,
    buffer: &mut Vec<u8>,
) -> Result<(), JobFilesError> {
    let prepare = member.files.prepare;
    let length_bytes = to_extend.length_bytes;
    // The final length of the file is unknown or zero.
    if fills(member) || length_bytes == 0 {
        return Ok(());
    }
    let failed = |action| move |error: std::io::Error| JobFilesError::call(path.to_owned(), action, error);
    allocate(file, prepare.allocation, length_bytes).map_err(failed("allocate"))?;
    if !prepare.write {
        return Ok(());
    }
    rustix::fs::ftruncate(file, length_bytes).map_err(|error| failed("extend")(error.into()))?;
    buffer.resize(WRITE_BYTES.min(usize::try_from(length_bytes).unwrap_or(WRITE_BYTES)), 0);
    let mut offset = 0;
    while offset < length_bytes {
        if layout.stop.requested() {
            return Err(JobFilesError::Stopped);
        }
        let length = buffer.len().min(usize::try_from(length_bytes - offset).unwrap_or(WRITE_BYTES));
        let chunk = &mut buffer[..length];
        (layout.fill)(member, chunk, u32::try_from(to_extend.number).unwrap_or(u32::MAX), offset);
        file.write_all_at(chunk, offset).map_err(failed("write"))?;
        offset += length as u64;
    }
    Ok(())
}

/// Reserves space. A file system without support for it is not an error.
fn allocate(file: &File, allocation: Allocation, length_bytes: u64) -> std::io::Result<()> {
    let quietly = |outcome: rustix::io::Result<()>| match outcome {
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        outcome => outcome.map_err(std::io::Error::from),
    };
    let reserve = |space| rustix::io::retry_on_intr(|| os::take_space(file.as_fd(), space, 0, length_bytes));
    match allocation {
        Allocation::None => Ok(()),
        Allocation::Native => quietly(reserve(Space::Grow)),
        Allocation::Keep => quietly(reserve(Space::Keep)),
        Allocation::Posix => posix_fallocate(file.as_fd(), length_bytes),
        Allocation::Truncate => Ok(rustix::fs::ftruncate(file, length_bytes)?),
    }
}
