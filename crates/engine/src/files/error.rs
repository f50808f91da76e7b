//! Errors from opening or laying out a job's files.

use crate::guard::Refusal;
use std::path::{Path, PathBuf};

/// Error from opening or laying out a job's files.
#[derive(Debug, thiserror::Error)]
pub enum JobFilesError {
    /// The guard or the system refused access.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A file is missing, and the job may not create files.
    #[error("{path} does not exist, and the job may not create files (`create = false`, fio's allow_file_create=0)", path = path.display())]
    Missing { path: PathBuf },
    /// A file is missing, and its length is unknown.
    #[error("{path} does not exist, and its length is unknown; give a length (fio's size or filesize)", path = path.display())]
    NoLength { path: PathBuf },
    /// The path is neither a file nor a device.
    #[error("{path} is {found}, neither a file nor a device", path = path.display())]
    WrongKind {
        path: PathBuf,
        /// Description of the object found.
        found: &'static str,
    },
    /// The file system or device does not support `O_DIRECT`.
    #[error("{path}: its file system ({file_system}) does not support O_DIRECT; use the page cache (`direct = false`, fio's direct=0), or use another file system", path = path.display())]
    NoDirect {
        path: PathBuf,
        /// Type of the file system.
        file_system: String,
    },
    /// A system call on a file failed.
    #[error("could not {action} {path}: {source}{hint}", path = path.display())]
    Call {
        path: PathBuf,
        /// Verb of the action that failed, for the message.
        action: &'static str,
        source: std::io::Error,
        /// How to fix it, with a separator in front; empty if there is no advice.
        hint: &'static str,
    },
    /// The job needs more open files than the process may have.
    #[error(
        "{count} files cannot be open at once, the limit is {limit}; keep fewer open (`open-files`, fio's openfiles), or raise the limit: ulimit -n {needed}"
    )]
    TooManyFiles {
        /// Number of files needed.
        count: usize,
        /// Hard limit of this process.
        limit: u64,
        /// Limit that would be enough.
        needed: u64,
    },
    /// The run was stopped.
    #[error("stopped while files were being laid out")]
    Stopped,
}

impl JobFilesError {
    /// Returns the guard's refusal, if that is the error.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            JobFilesError::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Returns `true` if the job and not the system is at fault.
    pub fn is_plan(&self) -> bool {
        matches!(self, JobFilesError::Missing { .. } | JobFilesError::NoLength { .. } | JobFilesError::WrongKind { .. })
    }

    /// Returns the path that the error is about, if any.
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

    /// Returns the system's error number, or the closest one. Source: errno(3).
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

/// Converts a refusal to the error of a job, with advice in terms of job options.
pub(super) fn into_job_error(refusal: Refusal) -> JobFilesError {
    match refusal {
        Refusal::NoDirect { path } => {
            let file_system = file_system_of(&path);
            JobFilesError::NoDirect { path, file_system }
        }
        refusal => JobFilesError::Refused(refusal),
    }
}

/// Returns the type of the file system of a path, from the mount table. Source: proc_pid_mountinfo(5).
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
