//! Files that a run created or took, as known to one process.

use super::made::FileKey;
use super::mark::FileOwner;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Files that a run created or took, as known to this process.
#[derive(Debug, Clone, Default)]
pub(super) struct TakenFiles(Arc<Mutex<Taken>>);

impl TakenFiles {
    pub(super) fn locked(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) files: Vec<TakenFile>,
    /// Files that this process has opened for the run, by device and inode. Another process of the same benchmark may mark such
    /// a file as left while this run goes on.
    pub(super) opened: HashMap<(u64, u64), (FileKey, FileOwner)>,
}

#[derive(Debug)]
pub(super) struct TakenFile {
    pub(super) path: PathBuf,
    pub(super) evidence: Evidence,
}

/// Evidence that a file belongs to the run that is ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// This process took it, or it bears the mark of a worker that did.
    Mark,
    /// Its name passed the guard when the run began. The run's files bear no marks, to save a system call for each.
    Name(FileOwner),
}

/// The kind of data that a run writes into its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenContent {
    /// Bytes that Plumb generates, and that may be overwritten later.
    TestData,
    /// A user's data, such as that of a copied file: the output is the user's, even if Plumb created it.
    Users,
}

/// A file that only Plumb has written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownFile {
    pub(super) owner: FileOwner,
    /// Whether this run has already taken it.
    pub(super) is_of_this_run: bool,
}
