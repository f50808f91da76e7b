//! Why the files of a job cannot be had.

use crate::guard::Refusal;
use std::path::{Path, PathBuf};

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

    pub(super) fn call(path: PathBuf, action: &'static str, source: std::io::Error) -> JobFilesError {
        let hint = match source.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => "; use a smaller size, or another file system",
            Some(libc::EFBIG) => "; files cannot be this long here (file system, or `ulimit -f`): use a smaller size",
            Some(libc::EMFILE | libc::ENFILE) => "; keep fewer open (`open-files`, fio's openfiles)",
            _ => "",
        };
        JobFilesError::Call { path, action, source, hint }
    }
}

/// A refusal of direct I/O in the words of jobs.
pub(super) fn job_words(refusal: Refusal) -> JobFilesError {
    match refusal {
        Refusal::NoDirect { path } => {
            let file_system = file_system_of(&path);
            JobFilesError::NoDirect { path, file_system }
        }
        refusal => JobFilesError::Refused(refusal),
    }
}

/// The type of the file system on which a path lies, as the table of mounts has it. Source: proc_pid_mountinfo(5).
fn file_system_of(path: &Path) -> String {
    let unknown = || "of an unknown type".to_owned();
    let Ok(path) = std::path::absolute(path) else { return unknown() };
    let Ok(table) = std::fs::read_to_string("/proc/self/mountinfo") else { return unknown() };
    let mounts = table.lines().filter_map(|line| {
        let point = line.split(' ').nth(4)?.replace("\\040", " ");
        let kind = line.split(" - ").nth(1)?.split(' ').next()?;
        path.starts_with(&point).then(|| (point.len(), kind.to_owned()))
    });
    mounts.max_by_key(|(length, _)| *length).map_or_else(unknown, |(_, kind)| kind)
}
