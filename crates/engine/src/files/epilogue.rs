//! What comes behind the last op of a job that was stopped, and still counts in its time: flushes of its files and their
//! file systems. A job that comes to its own end has them among its ops.

use super::open::JobOpener;
use crate::backend::{BlockFiles, Errno, Opener};
use crate::terms::Ended;
use crate::worker::WorkerContext;
use plumb_workload::{OpKind, WorkerGroup};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Flushes behind the last op.
#[derive(Default)]
pub(crate) struct Epilogue {
    /// `fsync` of every file.
    files: bool,
    /// By `fdatasync`.
    data_only: bool,
    /// `syncfs` of every file system.
    file_systems: bool,
    /// Open all the time.
    open: Arc<[File]>,
    /// Opens those that are not.
    opener: Option<Arc<JobOpener>>,
    count: usize,
}

impl Epilogue {
    /// What a group asks for: nothing where it writes nothing.
    pub(crate) fn new(group: &WorkerGroup, opener: Arc<JobOpener>, files: &BlockFiles) -> Epilogue {
        let writes = group.work.moves().write;
        let syncs = group.syncs;
        Epilogue {
            files: writes
                && (syncs.at_end || syncs.at_close || group.work.requests().is_some_and(|of| of.flush.at_end)),
            data_only: group.work.requests().is_some_and(|of| of.flush.data_only),
            file_systems: writes && syncs.file_system_at_end,
            open: files._owned.clone(),
            count: files.fds.len(),
            opener: Some(opener),
        }
    }

    /// Flushes, and records each flush; `ended` is how the ops before it ended.
    pub(crate) fn run(&self, context: &mut WorkerContext<'_>, ended: Ended) -> Ended {
        let Some(opener) = &self.opener else { return ended };
        if !self.files && !self.file_systems {
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
                    // A file whose turn never came.
                    Err(_) => continue,
                },
            };
            if self.files {
                let call = || if self.data_only { rustix::fs::fdatasync(file) } else { rustix::fs::fsync(file) };
                ended = flush(context, opener, number, OpKind::EndFsync, ended, call);
            }
            if self.file_systems
                && let Ok(stat) = rustix::fs::fstat(file.as_fd())
                && synced.insert(stat.st_dev)
            {
                ended =
                    flush(context, opener, number, OpKind::Syncfs, ended, || crate::os::sync_file_system(file.as_fd()));
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
    call: impl FnMut() -> rustix::io::Result<()>,
) -> Ended {
    let start = context.clock.now();
    let done = rustix::io::retry_on_intr(call);
    let end = context.clock.now();
    match done {
        Ok(()) => {
            context.recorder.record(kind, 0, context.clock.ns_between(start, end));
            ended
        }
        Err(error) => {
            let errno = Errno(error.raw_os_error());
            let path = opener.path(u32::try_from(number).unwrap_or(u32::MAX));
            context.recorder.count_error();
            context.faults.keep(kind, 0, 0, Some(errno.0), &path, &errno.text());
            Ended::Failed
        }
    }
}
