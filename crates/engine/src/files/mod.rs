//! The files of a job: made, opened, looked after and left as its rules say.
//!
//! A target is laid out before the first phase ([`layout`]), by the rules of each job that uses it. Every worker then
//! opens the files for itself ([`open`]), before its clock starts or as their turn comes. Whatever is written to passes
//! the guard, each time that it is opened.

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
