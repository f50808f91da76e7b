//! The files of a job: made, opened, looked after and left as its rules say.
//!
//! A target is laid out before the first phase ([`layout`]), by the rules of each job that uses it. Every worker then
//! opens the files for itself ([`open`]), before its clock starts or as their turn comes. Whatever is written to passes
//! the guard, each time that it is opened.

pub(crate) mod calls;
pub(crate) mod donor;
pub(crate) mod epilogue;
pub(crate) mod failed;
pub(crate) mod layout;
mod lengths;
pub(crate) mod lock;
pub(crate) mod look;
pub(crate) mod open;
pub(crate) mod paths;

use crate::backend::FileKind;
use crate::guard::{Door, Guard, GuardedFile, Naming, Refusal, Roots};
pub(crate) use lengths::Lengths;
use paths::Paths;
use plumb_workload::{Backend, Bytes, FileCall, WorkerGroup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a target of jobs, laid out.
pub(crate) struct JobTarget {
    pub(crate) paths: Paths,
    /// Of the files as the jobs find them: what is asked for, or more where there is more.
    pub(crate) lengths: Lengths,
    /// What is asked for, as [`JobFiles::lengths`](plumb_workload::files::JobFiles::lengths).
    asked: Vec<Bytes>,
    pub(crate) kind: FileKind,
    /// Offsets and lengths of direct I/O are multiples of this, bytes.
    pub(crate) direct_alignment_bytes: u64,
    /// Devices that are written to, held by the run so that nobody mounts them; by the number of the file.
    devices: Vec<HeldDevice>,
    guard: Guard,
    /// The directories that the user typed.
    roots: Arc<Roots>,
    first_path: PathBuf,
}

/// A device that a run holds.
#[derive(Debug, Clone)]
pub(crate) struct HeldDevice {
    pub(crate) path: PathBuf,
    pub(crate) device: Arc<GuardedFile>,
}

impl JobTarget {
    /// A door for its files.
    pub(crate) fn door(&self) -> Door {
        let naming = if self.paths.are_generated() { Naming::Generated } else { Naming::Said };
        self.guard.door(naming).within(Arc::clone(&self.roots))
    }

    /// A door for other files, whose names the user said.
    fn said_door(&self) -> Door {
        self.guard.door(Naming::Said)
    }

    /// Lists its files for the guard, which registers the ones that this run marked.
    pub(crate) fn list_files(&self, guard: &Guard) {
        if self.kind == FileKind::Regular {
            (0..self.paths.count()).for_each(|number| guard.look_later(self.paths.path(number)));
        }
    }

    /// The length that is asked of a file, bytes; the one that it has where none is asked for.
    pub(crate) fn asked_bytes(&self, number: usize) -> u64 {
        asked_of(&self.asked, number).unwrap_or_else(|| self.lengths.of(number))
    }

    /// Where its files lie: the first of them, or its directory where that is not there.
    pub(crate) fn first_path(&self) -> &Path {
        &self.first_path
    }
}

/// The length that a list asks of a file: the last one holds for all behind it.
fn asked_of(lengths: &[Bytes], number: usize) -> Option<u64> {
    lengths.get(number).or(lengths.last()).map(|bytes| bytes.0)
}

/// What a job does to the files themselves, whatever it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileUse {
    /// Its ops go to open files.
    Opened,
    /// Its ops are calls on names.
    Called(FileCall),
    /// Nothing goes to files at all.
    Unused,
}

impl FileUse {
    /// What the group's backend does with files.
    pub(crate) fn of(backend: &Backend) -> FileUse {
        match backend {
            Backend::Files(call) => FileUse::Called(*call),
            Backend::Null | Backend::Socket { .. } | Backend::PageFault => FileUse::Unused,
            _ => FileUse::Opened,
        }
    }
}

/// Whether anything that a group does changes a file or its directory, so that each has to pass the guard.
pub(crate) fn changes(group: &WorkerGroup) -> bool {
    let moves = group.work.moves();
    let by_backend = match &group.backend {
        Backend::Fallocate | Backend::Truncate | Backend::MoveExtents { .. } => true,
        Backend::Files(call) => {
            matches!(call, FileCall::Create | FileCall::Unlink | FileCall::Mkdir | FileCall::Rmdir)
        }
        _ => false,
    };
    // What only verifies draws its writes and does none.
    let only_reads = group.verify.as_ref().is_some_and(|verify| verify.only);
    by_backend || (!only_reads && (moves.write || moves.trim)) || group.files.unlink || group.files.unlink_each_loop
}

/// Why a job's files could not be opened or laid out.
#[derive(Debug, thiserror::Error)]
pub enum JobFilesError {
    /// The guard says no, or the system does.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file is missing, and the job may make none.
    #[error("{path} does not exist, and the job may not create files (`create = false`, fio's allow_file_create=0)", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is missing, and nothing says how long it is to be.
    #[error("{path} does not exist, and its length is unknown; give a length (fio's size or filesize)", path = path.display())]
    NoLength {
        /// The file.
        path: PathBuf,
    },
    /// What is there is no file and no device.
    #[error("{path} is {found}, neither a file nor a device", path = path.display())]
    WrongKind {
        /// The path.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// A file system or device without `O_DIRECT`.
    #[error("{path}: its file system ({file_system}) does not support O_DIRECT; use the page cache (`direct = false`, fio's direct=0), or use another file system", path = path.display())]
    NoDirect {
        /// The file.
        path: PathBuf,
        /// The type of its file system.
        file_system: String,
    },
    /// A call on a file failed.
    #[error("could not {action} {path}: {source}{hint}", path = path.display())]
    Call {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: std::io::Error,
        /// The way out, with a separator in front; empty if there is none to tell.
        hint: &'static str,
    },
    /// More files than a process may have open.
    #[error(
        "{count} files cannot be open at once, the limit is {limit}; keep fewer open (`open-files`, fio's openfiles), or raise the limit: ulimit -n {needed}"
    )]
    TooManyFiles {
        /// How many files.
        count: usize,
        /// The hard limit of this process.
        limit: u64,
        /// What would do.
        needed: u64,
    },
    /// The run is to stop.
    #[error("stopped while files were being laid out")]
    Stopped,
}

impl JobFilesError {
    /// The guard's refusal, where it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            JobFilesError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether the job, rather than the system, is to blame.
    pub fn is_plan(&self) -> bool {
        matches!(self, JobFilesError::Missing { .. } | JobFilesError::NoLength { .. } | JobFilesError::WrongKind { .. })
    }

    /// The file that it is about, where it is about one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            JobFilesError::Refused(refusal) => Some(refusal.path()),
            JobFilesError::Missing { path }
            | JobFilesError::NoLength { path }
            | JobFilesError::WrongKind { path, .. }
            | JobFilesError::NoDirect { path, .. }
            | JobFilesError::Call { path, .. } => Some(path),
            JobFilesError::TooManyFiles { .. } | JobFilesError::Stopped => None,
        }
    }

    /// The number of the system's error, or the one that comes closest. Source: errno(3).
    pub fn errno(&self) -> i32 {
        match self {
            JobFilesError::Refused(refusal) => refusal.errno(),
            JobFilesError::Missing { .. } | JobFilesError::NoLength { .. } => libc::ENOENT,
            JobFilesError::WrongKind { .. } | JobFilesError::NoDirect { .. } => libc::EINVAL,
            JobFilesError::Call { source, .. } => source.raw_os_error().unwrap_or(libc::EIO),
            JobFilesError::TooManyFiles { .. } => libc::EMFILE,
            JobFilesError::Stopped => libc::EINTR,
        }
    }

    fn call(path: PathBuf, action: &'static str, source: std::io::Error) -> JobFilesError {
        let hint = match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => "; use a smaller size, or another file system",
            Some(libc::EFBIG) => "; files cannot be this long here (file system, or `ulimit -f`): use a smaller size",
            Some(libc::EMFILE | libc::ENFILE) => "; keep fewer open (`open-files`, fio's openfiles)",
            _ => "",
        };
        JobFilesError::Call { path, action, source, hint }
    }
}
