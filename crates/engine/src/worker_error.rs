//! Why a worker cannot begin, or cannot go on.

use crate::backend::Errno;
use crate::backend::socket::LinkError;
use crate::content::{ContentError, IntervalError, Mismatch};
use crate::files::JobFilesError;
use crate::guard::Refusal;
use crate::process::ProcessError;
use crate::source::trace::ReplayError;
use std::io;

/// Why a worker cannot begin, or cannot go on. Its address is the worker's, which whoever tells of it names.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    /// The backend is one of another tool.
    #[error("Plumb does not have the engine `{engine}`; use one of its own backends")]
    Foreign { engine: String },
    /// The simulated backend on something real.
    #[error("the `sim` backend needs a `sim` target")]
    NotSimulated,
    /// Locks around ops that the backend cannot have.
    #[error("{backend} does not support record locks; use psync, libaio or mmap, or leave `record-lock` out")]
    NoRecordLocks { backend: &'static str },
    /// The system has no ring of this kind.
    #[error("io_uring at depth {depth}: {source}; use another backend, or lower `depth`")]
    Ring { depth: u32, source: io::Error },
    /// The system refused what a backend needs, or failed it.
    #[error("{backend}: {source}")]
    Backend { backend: &'static str, source: io::Error },
    /// There is no connection.
    #[error("{backend}: {source}")]
    Link { backend: &'static str, source: LinkError },
    /// A backend asked for in a way in which there is none of it.
    #[error("{backend}: it is not synchronous; this is a bug in Plumb")]
    OnlyQueued { backend: &'static str },
    /// There is no memory for what ops move.
    #[error("cannot allocate {slots} buffers of {bytes} bytes: {source}")]
    Buffers { slots: usize, bytes: u64, source: io::Error },
    /// An op longer than an op can be.
    #[error("an op of {bytes} bytes is too long; use less than 4 GiB")]
    TooLong { bytes: u64 },
    /// Locked files that are not all open.
    #[error(
        "files that are opened one after another cannot be locked; keep all open (fio's openfiles and create_on_open left \
         out), or no `lock` (fio's lockfile)"
    )]
    LockedInTurn,
    /// Locked files of several ops in flight.
    #[error(
        "files are locked around one op at a time; use a backend without a queue (fio's psync), or no `lock` (fio's \
         lockfile)"
    )]
    LockedQueue,
    /// A recording without anybody who reads such.
    #[error("{path}: recordings cannot be read here")]
    NoReader { path: String },
    /// There is no memory for what a program's steps move.
    #[error("cannot allocate {bytes} bytes of memory: {source}")]
    Memory { bytes: usize, source: io::Error },
    /// Caches cannot be purged line by line here.
    #[cfg(not(target_arch = "x86_64"))]
    #[error("emptying the processor's caches needs x86-64; leave `purge-line` out (IOzone's -p)")]
    NoPurge,
    /// A program that is run beside has arguments that cannot be parted.
    #[error("the arguments of {program} have an unclosed quote: {arguments}")]
    Arguments { program: String, arguments: String },
    /// A program that is run beside has nowhere to write.
    #[error("cannot write the output of {program} into {path}: {source}")]
    Output { program: String, path: String, source: io::Error },
    /// A call that no clock sees failed.
    #[error("{op} of {path}{}: {}", .offset.map(|offset| format!(" at byte {offset}")).unwrap_or_default(), .errno.text())]
    Call { op: &'static str, path: String, offset: Option<u64>, errno: Errno },
    /// What such a call read is not what was written.
    #[error("{path}: {mismatch}")]
    Mismatch { path: String, mismatch: Box<Mismatch> },
    /// What it writes cannot be made, or not be verified.
    #[error(transparent)]
    Content(#[from] ContentError),
    /// Its blocks have no room for stamps.
    #[error(transparent)]
    Interval(#[from] IntervalError),
    /// What it replays cannot be read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The system does not let it be what its job asks for, or a command around the job failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Its files cannot be opened.
    #[error(transparent)]
    Files(#[from] Box<JobFilesError>),
    /// The write guard refuses.
    #[error(transparent)]
    Refused(#[from] Box<Refusal>),
    /// It may not run where it should.
    #[error("cannot run on CPU {cpu}: {source}")]
    Cpu { cpu: u32, source: io::Error },
    /// Threads cannot be bound to processors here.
    #[cfg(not(target_os = "linux"))]
    #[error("CPU affinity is not available on this platform")]
    NoAffinity,
}

impl WorkerError {
    /// The system's error number, where it has one.
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
