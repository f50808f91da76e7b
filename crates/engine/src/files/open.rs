//! Opens a job's files for one worker, and applies the job's rules to each open file.

use super::calls::{WRITTEN_OUT_MAX, drop_pages, posix_fallocate, set_write_life, write_out};
use super::error::{JobFilesError, into_job_error};
use super::{FileUse, JobTarget};
use crate::backend::{BlockFiles, FileAccess, NOT_OPEN, Opener, SyncRangeFlags};
use crate::guard::{Access, Create, Door, FoundName, Refusal, open_again_as};
use plumb_workload::blocks::sweep::SweepOps;
use plumb_workload::files::{AccessHint, FileAdvice, FileRules, OpenMode};
use plumb_workload::{Backend, WorkerGroup};
use rustix::fs::{Advice, OFlags};
use rustix::process::{Resource, Rlimit};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of descriptors that the program needs besides the jobs' files.
pub(crate) const OTHER_DESCRIPTORS: u64 = 256;

/// Length of one read when a file is read ahead of the start.
const READ_BYTES: usize = 1 << 20;

/// The handle through which a job uses a device held by the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeviceHandle {
    /// Its own handle, which has its own position.
    Own,
    /// The run's exclusive handle. While it is held, Linux rejects trims through other handles if
    /// the blocks have dirty pages.
    Held,
}

impl DeviceHandle {
    /// Returns the handle that a group needs.
    pub(crate) fn for_group(group: &WorkerGroup) -> DeviceHandle {
        let has_position = matches!(group.backend, Backend::Seek | Backend::SeekVectored | Backend::Stdio);
        if group.work.moves().trim && !has_position { DeviceHandle::Held } else { DeviceHandle::Own }
    }
}

/// Opens files of a target for one worker.
pub(crate) struct JobOpener {
    target: Arc<JobTarget>,
    rules: FileRules,
    access: FileAccess,
    devices: DeviceHandle,
    /// Locked by one thread only, except for backends with their own threads.
    door: Mutex<Door>,
}

impl JobOpener {
    pub(crate) fn new(
        target: Arc<JobTarget>,
        rules: FileRules,
        access: FileAccess,
        devices: DeviceHandle,
    ) -> JobOpener {
        let door = Mutex::new(target.door().making(rules.new.opened));
        JobOpener { target, rules, access, devices, door }
    }

    /// Opens a file by its number.
    ///
    /// # Errors
    /// [`JobFilesError`] if the guard or the system refuses.
    pub(crate) fn open_file(&self, number: usize) -> Result<File, JobFilesError> {
        let path = self.target.paths.path(number);
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.open_path(&mut door, &path).map_err(into_job_error)?;
        drop(door);
        if !self.rules.at_open.is_nothing() {
            self.at_open(&file, &path, number)?;
        }
        self.apply_cache_rules(&file, &path)?;
        Ok(file)
    }

    fn open_path(&self, door: &mut Door, path: &Path) -> Result<File, Refusal> {
        let flags = self.flags();
        if self.access == FileAccess::Read {
            if self.rules.create_on_open
                && self.rules.prepare.create
                && !self.rules.prepare.later
                && door.find(path)? == FoundName::Nothing
            {
                door.open(path, Create::IfMissing)?;
            }
            return door.open_to_read(path, flags);
        }
        if let Some(held) = self.target.devices.iter().find(|held| held.path == path) {
            return match self.devices {
                DeviceHandle::Held if flags.is_empty() => {
                    held.device.as_fd().try_clone_to_owned().map(File::from).map_err(Refusal::io(path, "share"))
                }
                _ => open_again_as(held.device.as_fd(), path, Access::ReadWrite, flags),
            };
        }
        let create = match self.rules.prepare.create {
            true => Create::IfMissing,
            false => Create::Never,
        };
        let file = door.open(path, create)?.file;
        if flags.is_empty() {
            return Ok(file);
        }
        // Some flags take effect only at open.
        open_again_as(file.as_fd(), path, Access::ReadWrite, flags)
    }

    fn flags(&self) -> OFlags {
        let direct = if self.rules.direct { OFlags::DIRECT } else { OFlags::empty() };
        direct
            | match self.rules.open_mode {
                OpenMode::Plain => OFlags::empty(),
                OpenMode::Sync => OFlags::SYNC,
                OpenMode::Dsync => crate::os::DSYNC,
            }
    }

    /// Applies the rules for opened files: empties, extends, allocates or stats them.
    fn at_open(&self, file: &File, path: &Path, number: usize) -> Result<(), JobFilesError> {
        let rules = self.rules.at_open;
        let failed = |action| move |error: io::Error| JobFilesError::call(path.to_owned(), action, error);
        let is_file = self.target.kind == crate::backend::FileKind::Regular;
        if self.access == FileAccess::ReadWrite && is_file {
            let length_bytes = self.target.asked_bytes(number);
            if rules.empty {
                file.set_len(0).map_err(failed("empty"))?;
            }
            if rules.to_length {
                file.set_len(length_bytes).map_err(failed("set the length of"))?;
            }
            if rules.allocate && length_bytes > 0 {
                posix_fallocate(file.as_fd(), length_bytes).map_err(failed("reserve the blocks of"))?;
            }
        }
        if rules.stat {
            rustix::fs::fstat(file).map_err(|error| failed("ask about")(error.into()))?;
        }
        Ok(())
    }

    fn is_device(&self, path: &Path) -> bool {
        self.target.devices.iter().any(|held| held.path == path) || self.target.kind == crate::backend::FileKind::Device
    }

    /// Drops or reads pages and sets hints, by the rules of the job.
    fn apply_cache_rules(&self, file: &File, path: &Path) -> Result<(), JobFilesError> {
        let is_device = self.is_device(path);
        let failed = |action| move |error: io::Error| JobFilesError::call(path.to_owned(), action, error);
        if self.rules.drop_cached {
            if self.target.paths.count() <= WRITTEN_OUT_MAX {
                write_out(file.as_fd()).map_err(failed("write out the cached pages of"))?;
            }
            drop_pages(file.as_fd(), is_device).map_err(failed("drop the cached pages of"))?;
        }
        if self.rules.read_first {
            read_through(file).map_err(failed("read"))?;
        }
        let advice = match self.rules.hint {
            AccessHint::None => None,
            AccessHint::Sequential => Some(Advice::Sequential),
            AccessHint::Random => Some(Advice::Random),
            AccessHint::NoReuse => Some(Advice::NoReuse),
        };
        // Advice only: if the kernel does not support it, nothing is lost.
        if let Some(advice) = advice {
            let _ = rustix::fs::fadvise(file, 0, None, advice);
        }
        for &advice in &self.rules.advice.file {
            let (advice, action) = match advice {
                FileAdvice::DontNeed => (Advice::DontNeed, "advise `dont-need` about"),
                FileAdvice::NoReuse => (Advice::NoReuse, "advise `no-reuse` about"),
                FileAdvice::Sequential => (Advice::Sequential, "advise `sequential` about"),
                FileAdvice::Random => (Advice::Random, "advise `random` about"),
                FileAdvice::WillNeed => (Advice::WillNeed, "advise `will-need` about"),
            };
            rustix::fs::fadvise(file, 0, None, advice).map_err(|error| failed(action)(error.into()))?;
        }
        if let Some(life) = self.rules.write_life {
            set_write_life(file.as_fd(), life).map_err(failed("set the write lifetime hint of"))?;
        }
        Ok(())
    }

    /// Returns all files of a worker. They are open, except those opened on demand.
    ///
    /// # Errors
    /// [`JobFilesError`] if a file cannot be opened.
    pub(crate) fn block_files(self: &Arc<Self>, group: &WorkerGroup) -> Result<BlockFiles, JobFilesError> {
        let backend = &group.backend;
        let count = self.target.paths.count();
        let open_files = group.work.fio().and_then(|stream| stream.open_files);
        let in_turn = open_files.is_some_and(|open| (open as usize) < count) || group.removes_files_between_loops();
        let mut files = BlockFiles {
            kind: self.target.kind,
            sync_range: group.syncs.range.as_ref().map(SyncRangeFlags::from_range).unwrap_or_default(),
            ..BlockFiles::default()
        };
        match FileUse::for_backend(backend) {
            FileUse::Opened if in_turn || self.rules.create_on_open => files.fds = vec![NOT_OPEN; count],
            FileUse::Opened => {
                allow_open_files(count)?;
                let owned: Vec<File> = (0..count).map(|number| self.open_file(number)).collect::<Result<_, _>>()?;
                files.fds = owned.iter().map(AsRawFd::as_raw_fd).collect();
                files._owned = owned.into();
            }
            // Path-based calls need no open files.
            FileUse::Called(_) => {}
            FileUse::Unused => files.fds = vec![NOT_OPEN; count],
        }
        // Other backends ask the opener for the few paths that their messages need.
        if matches!(backend, Backend::Files(_) | Backend::Stdio | Backend::Mmap) {
            files.paths = (0..count).map(|number| self.target.paths.path(number)).collect();
        }
        if *backend == Backend::Mmap {
            files.lengths = self.target.lengths.to_vec();
        }
        files.roots = Some(Arc::clone(&self.target.roots));
        files.new = self.rules.new;
        files.opener = Some(Arc::clone(self) as Arc<dyn Opener>);
        files.flush_at_close = group.work.moves().write && group.syncs.at_close;
        if let Some(sweep) = group.work.sweep()
            && let SweepOps::Call { passes_over_errno, makes_parents, .. } = sweep.does
        {
            files.passes_over_errno = passes_over_errno;
            files.makes_parents = makes_parents;
        }
        Ok(files)
    }
}

impl Opener for JobOpener {
    fn open(&self, file: u32) -> io::Result<OwnedFd> {
        match self.open_file(file as usize) {
            Ok(opened) => Ok(OwnedFd::from(opened)),
            Err(error) => Err(io::Error::from_raw_os_error(error.errno())),
        }
    }

    fn remove(&self, file: u32) -> io::Result<()> {
        let mut door = self.door.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = door.remove(&self.path(file));
        removed.map_err(|refusal| io::Error::from_raw_os_error(into_job_error(refusal).errno()))
    }

    fn path(&self, file: u32) -> PathBuf {
        self.target.paths.path(file as usize)
    }
}

/// Reads a file into the page cache.
fn read_through(file: &File) -> io::Result<()> {
    let again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let mut buffer = vec![0; READ_BYTES];
    let mut offset = 0;
    loop {
        match again.read_at(&mut buffer, offset) {
            Ok(0) => return Ok(()),
            Ok(got) => offset += got as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Raises the limit of open files to the maximum for this process. Workers of one process share the limit, so a smaller
/// value could be too low for the others.
pub(crate) fn allow_open_files(count: usize) -> Result<(), JobFilesError> {
    let needed = (count as u64).saturating_add(OTHER_DESCRIPTORS);
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) && count < 1000 {
        return Ok(());
    }
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let hard = limit.maximum.unwrap_or(u64::MAX);
    if hard < needed || rustix::process::setrlimit(Resource::Nofile, raised).is_err() {
        return Err(JobFilesError::TooManyFiles { count, limit: hard, needed });
    }
    Ok(())
}
