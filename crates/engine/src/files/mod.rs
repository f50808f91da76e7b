//! The files of a job: created, opened, prepared and removed by its rules.
//!
//! A target is laid out before the first phase ([`layout`]), by the rules of each job that uses it. Every
//! worker then opens the files for itself ([`open`]), before its clock starts or on demand. Every open
//! for writing passes the guard.

pub(crate) mod calls;
pub(crate) mod donor;
pub(crate) mod epilogue;
mod error;
pub(crate) mod evidence_files;
pub(crate) mod failed;
pub(crate) mod layout;
mod lengths;
pub(crate) mod lock;
pub(crate) mod open;
pub(crate) mod paths;

use crate::backend::FileKind;
use crate::guard::{Door, Guard, GuardedFile, Naming, Roots};
pub use error::JobFilesError;
pub(crate) use lengths::Lengths;
use paths::Paths;
use plumb_workload::{Backend, Bytes, FileCall, WorkerGroup};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a job's target after the layout.
pub(crate) struct JobTarget {
    pub(crate) paths: Paths,
    /// Lengths of the files when the jobs start: the requested length, or the existing one if that is larger.
    pub(crate) lengths: Lengths,
    /// Requested lengths, as in [`JobFiles::lengths`](plumb_workload::files::JobFiles::lengths).
    asked: Vec<Bytes>,
    pub(crate) kind: FileKind,
    /// Unit of offsets and lengths of direct I/O, in bytes.
    pub(crate) direct_alignment_bytes: u64,
    /// Devices to be written to, by file number. The run holds them so that nobody else can mount them.
    devices: Vec<HeldDevice>,
    guard: Guard,
    /// Directories that the user typed.
    roots: Arc<Roots>,
    first_path: PathBuf,
}

/// A device held by the run.
#[derive(Debug, Clone)]
pub(crate) struct HeldDevice {
    pub(crate) path: PathBuf,
    pub(crate) device: Arc<GuardedFile>,
}

impl JobTarget {
    /// Returns a guard door for its files.
    pub(crate) fn door(&self) -> Door {
        let naming = if self.paths.are_generated() { Naming::Generated } else { Naming::Typed };
        self.guard.door(naming).with_roots(Arc::clone(&self.roots))
    }

    /// Returns a guard door for other files, which the user named.
    fn user_named_door(&self) -> Door {
        self.guard.door(Naming::Typed)
    }

    /// Registers its files with the guard, which looks for the ones that this run marked.
    pub(crate) fn list_files(&self, guard: &Guard) {
        if self.kind == FileKind::Regular {
            (0..self.paths.count()).for_each(|number| guard.check_later(self.paths.path(number)));
        }
    }

    /// Returns the requested length of a file in bytes, or its existing length if none is requested.
    pub(crate) fn asked_bytes(&self, number: usize) -> u64 {
        asked_of(&self.asked, number).unwrap_or_else(|| self.lengths.get(number))
    }

    /// Returns the path of the first file, or of its directory if the file does not exist.
    pub(crate) fn first_path(&self) -> &Path {
        &self.first_path
    }
}

/// Returns the requested length of a file from a list. The last entry applies to all files after it.
fn asked_of(lengths: &[Bytes], number: usize) -> Option<u64> {
    lengths.get(number).or(lengths.last()).map(|bytes| bytes.0)
}

/// The way in which a job's ops use files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileUse {
    Opened,
    Called(FileCall),
    Unused,
}

impl FileUse {
    /// Returns how a backend uses files.
    pub(crate) fn for_backend(backend: &Backend) -> FileUse {
        match backend {
            Backend::Files(call) => FileUse::Called(*call),
            Backend::Null | Backend::Socket { .. } | Backend::PageFault => FileUse::Unused,
            _ => FileUse::Opened,
        }
    }
}

/// Returns `true` if a group changes files or their directories in any way, so that each must pass the guard.
pub(crate) fn changes(group: &WorkerGroup) -> bool {
    let moves = group.work.moves();
    let by_backend = match &group.backend {
        Backend::Fallocate | Backend::Truncate | Backend::MoveExtents { .. } => true,
        Backend::Files(call) => {
            matches!(call, FileCall::Create | FileCall::Unlink | FileCall::Mkdir | FileCall::Rmdir)
        }
        _ => false,
    };
    // A group that only verifies generates its writes but does not execute them.
    let only_reads = group.verify.as_ref().is_some_and(|verify| verify.only);
    by_backend || (!only_reads && (moves.write || moves.trim)) || group.files.unlink || group.files.unlink_each_loop
}
