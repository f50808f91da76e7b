//! Errors that keep a worker from starting or continuing.

use crate::backend::Errno;
use crate::backend::socket::LinkError;
use crate::content::{ContentError, IntervalError, Mismatch};
use crate::files::JobFilesError;
use crate::guard::Refusal;
use crate::process::ProcessError;
use crate::source::trace::ReplayError;
use std::io;

/// Error that keeps a worker from starting or continuing. The caller's message names the worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The workload asks for a backend of another tool.
    #[error("Plumb does not have the engine `{engine}`; use one of its own backends")]
    Foreign { engine: String },
    /// The simulated backend was used on a real target.
    #[error("the `sim` backend needs a `sim` target")]
    NotSimulated,
    /// The backend does not support record locks.
    #[error("{backend} does not support record locks; use psync, libaio or mmap, or leave `record-lock` out")]
    NoRecordLocks { backend: &'static str },
    /// The system cannot create a ring of this kind.
    #[error("io_uring at depth {depth}: {source}; use another backend, or lower `depth`")]
    Ring { depth: u32, source: io::Error },
    /// A system call of the backend failed.
    #[error("{backend}: {source}")]
    Backend { backend: &'static str, source: io::Error },
    /// The connection could not be established.
    #[error("{backend}: {source}")]
    Link { backend: &'static str, source: LinkError },
    /// A queued backend was requested as a sync one.
    #[error("{backend}: it is not synchronous; this is a bug in Plumb")]
    OnlyQueued { backend: &'static str },
    /// There is not enough memory for the buffers.
    #[error("cannot allocate {slots} buffers of {bytes} bytes: {source}")]
    Buffers { slots: usize, bytes: u64, source: io::Error },
    /// An op is too long.
    #[error("an op of {bytes} bytes is too long; use less than 4 GiB")]
    TooLong { bytes: u64 },
    /// The files to lock are not all open at once.
    #[error(
        "files that are opened one after another cannot be locked; keep all open (fio's openfiles and create_on_open left \
         out), or no `lock` (fio's lockfile)"
    )]
    LockedInTurn,
    /// File locks were requested with several ops in flight.
    #[error(
        "files are locked around one op at a time; use a backend without a queue (fio's psync), or no `lock` (fio's \
         lockfile)"
    )]
    LockedQueue,
    /// This caller cannot read recordings.
    #[error("{path}: recordings cannot be read here")]
    NoReader { path: String },
    /// There is not enough memory for the buffers of a program's steps.
    #[error("cannot allocate {bytes} bytes of memory: {source}")]
    Memory { bytes: usize, source: io::Error },
    /// This CPU cannot flush single cache lines.
    #[cfg(not(target_arch = "x86_64"))]
    #[error("emptying the CPU caches needs x86-64; remove `purge-line` (IOzone's -p)")]
    NoPurge,
    /// The arguments of a companion program cannot be split.
    #[error("the arguments of {program} have an unclosed quote: {arguments}")]
    Arguments { program: String, arguments: String },
    /// The output file of a companion program cannot be written.
    #[error("cannot write the output of {program} into {path}: {source}")]
    Output { program: String, path: String, source: io::Error },
    /// A call outside of the clock failed.
    #[error("{op} of {path}{}: {}", .offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default(), .errno.text())]
    Call { op: &'static str, path: String, offset: Option<u64>, errno: Errno },
    /// Data read by such a call differs from the data written.
    #[error("{path}: {mismatch}")]
    Mismatch { path: String, mismatch: Box<Mismatch> },
    /// The content cannot be made or verified.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// The blocks have no room for stamps.
    #[error(transparent)]
    Interval(#[from] IntervalError),
    /// The recording cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The system denies a process property of the job, or a command around the job failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The files cannot be opened.
    #[error(transparent)]
    Files(#[from] Box<JobFilesError>),
    /// The write guard refused access.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// The worker cannot run on the configured CPU.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu { cpu: u32, source: io::Error },
    /// Threads cannot be bound to CPUs on this system.
    #[cfg(not(target_os = "linux"))]
    #[error("CPU affinity is not available on this platform")]
    NoAffinity,
}

impl WorkerError {
    /// Returns the system's error number, if there is one.
    pub(crate) fn errno(&self) -> Option<i32> {
        match self {
            WorkerError::Backend { source, .. }
            | WorkerError::Ring { source, .. }
            | WorkerError::Buffers { source, .. }
            | WorkerError::Memory { source, .. }
            | WorkerError::Output { source, .. }
            | WorkerError::Cpu { source, .. } => source.raw_os_error(),
            WorkerError::Call { errno, .. } => Some(errno.0),
            WorkerError::Link { source, .. } => source.errno(),
            _ => None,
        }
    }
}
