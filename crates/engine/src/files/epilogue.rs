//! Flushes after the last op of a job that was stopped: of its files and their file systems. They count in its time. A
//! job that ends by itself has these flushes among its ops.

use super::open::JobOpener;
use crate::backend::{BlockFiles, Errno, FileAccess, Opener};
use crate::syscall::mapping::Mapping;
use crate::terms::Ended;
use crate::worker::WorkerContext;
use plumb_workload::{Backend, OpKind, WorkerGroup};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

/// A call that flushes a file.
#[derive(Debug, Clone, Copy)]
enum FileFlush {
    Fsync,
    Fdatasync,
    /// `msync` of a mapping of the whole file, because the run also flushes stores to mappings with `msync`.
    Msync,
}

impl FileFlush {
    fn call(self, file: &File) -> io::Result<()> {
        match self {
            FileFlush::Fsync => Ok(rustix::fs::fsync(file)?),
            FileFlush::Fdatasync => Ok(rustix::fs::fdatasync(file)?),
            FileFlush::Msync => {
                let mapping = Mapping::new(file.as_raw_fd(), file.metadata()?.len(), FileAccess::Read)?;
                mapping.sync_all().map(drop).map_err(|errno| io::Error::from_raw_os_error(errno.0))
            }
        }
    }
}

/// Flushes after the last op.
#[derive(Default)]
pub(crate) struct Epilogue {
    /// Call that flushes every file; `None` if they need no flush.
    files: Option<FileFlush>,
    /// Call `syncfs` on every file system.
    file_systems: bool,
    /// Files that were open during the whole run.
    open: Arc<[File]>,
    /// Opens the other files.
    opener: Option<Arc<JobOpener>>,
    count: usize,
}

impl Epilogue {
    /// Builds the flushes of a group; none if it writes nothing.
    pub(crate) fn new(group: &WorkerGroup, opener: Arc<JobOpener>, files: &BlockFiles) -> Epilogue {
        let writes = group.work.moves().write;
        let syncs = group.syncs;
        let of_requests = group.work.requests().map(|of| of.flush);
        let flushes = syncs.at_end || syncs.at_close || of_requests.is_some_and(|flush| flush.at_end);
        let flush = match group.backend {
            Backend::Mmap => FileFlush::Msync,
            _ if of_requests.is_some_and(|flush| flush.data_only) => FileFlush::Fdatasync,
            _ => FileFlush::Fsync,
        };
        Epilogue {
            files: (writes && flushes).then_some(flush),
            file_systems: writes && syncs.file_system_at_end,
            open: files._owned.clone(),
            count: files.fds.len(),
            opener: Some(opener),
        }
    }

    /// Flushes and records each flush. `ended` is the result of the ops before.
    pub(crate) fn run(&self, context: &mut WorkerContext<'_>, ended: Ended) -> Ended {
        let Some(opener) = &self.opener else { return ended };
        if self.files.is_none() && !self.file_systems {
            return ended;
        }
        let mut synced = BTreeSet::new();
        let mut ended = ended;
        for number in 0..self.count {
            let late;
            let file = match self.open.get(number) {
                Some(file) => file,
                None => match opener.open_file(number) {
                    Ok(file) => {
                        late = file;
                        &late
                    }
                    // A file that the job never opened.
                    Err(_) => continue,
                },
            };
            if let Some(how) = self.files {
                ended = flush(context, opener, number, OpKind::EndFsync, ended, || how.call(file));
            }
            if self.file_systems
                && let Ok(stat) = rustix::fs::fstat(file.as_fd())
                && synced.insert(stat.st_dev)
            {
                let sync = || Ok(crate::os::sync_file_system(file.as_fd())?);
                ended = flush(context, opener, number, OpKind::Syncfs, ended, sync);
            }
        }
        ended
    }
}

fn flush(
    context: &mut WorkerContext<'_>,
    opener: &JobOpener,
    number: usize,
    kind: OpKind,
    ended: Ended,
    mut call: impl FnMut() -> io::Result<()>,
) -> Ended {
    let start = context.clock.now();
    let mut done = call();
    while done.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
        done = call();
    }
    let end = context.clock.now();
    match done {
        Ok(()) => {
            context.recorder.record(kind, 0, context.clock.ns_between(start, end));
            ended
        }
        Err(error) => {
            let errno = Errno(error.raw_os_error().unwrap_or(libc::EIO));
            let path = opener.path(u32::try_from(number).unwrap_or(u32::MAX));
            context.recorder.count_error();
            context.faults.keep(kind, 0, 0, Some(errno.0), &path, &errno.text());
            Ended::Failed
        }
    }
}
