//! Test data that outlives a run, so that many runs over the same file lay it out once.

use plumb_guard::testdir::{TestDir, TestDirError, TestDirs};
use plumb_workload::Content;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A test directory whose files stay as they are laid out from one run to the next. It is removed when it is dropped.
#[derive(Debug)]
pub struct KeptFiles {
    dir: TestDir,
    laid_out: RefCell<Vec<LaidOut>>,
}

/// Files of one target, written in full.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LaidOut {
    pub(crate) path: PathBuf,
    pub(crate) files: u32,
    pub(crate) size_bytes: u64,
    pub(crate) content: Content,
}

/// Where a target's files are to come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FilesFrom<'a> {
    /// They are there already.
    There(&'a TestDir),
    /// They are to be laid out here, for this run and the later ones.
    New(&'a TestDir),
    /// Other data lies at their path: they belong into the run's own directory.
    Taken,
}

impl KeptFiles {
    /// Makes the directory in `base` and registers it.
    ///
    /// # Errors
    /// As [`TestDirs::create`].
    pub fn create(dirs: &TestDirs, base: &Path, label: &str) -> Result<KeptFiles, TestDirError> {
        Ok(KeptFiles { dir: dirs.create(base, label)?, laid_out: RefCell::default() })
    }

    /// Removes the directory with all its files; what dropping does, but saying what went wrong.
    ///
    /// # Errors
    /// [`TestDirError::Remove`] with what stayed.
    pub fn remove(self) -> Result<(), TestDirError> {
        self.dir.remove()
    }

    pub(crate) fn source(&self, wanted: &LaidOut) -> FilesFrom<'_> {
        match self.laid_out.borrow().iter().find(|there| there.path == wanted.path) {
            Some(there) if there == wanted => FilesFrom::There(&self.dir),
            Some(_) => FilesFrom::Taken,
            None => FilesFrom::New(&self.dir),
        }
    }

    /// These files are complete from now on.
    pub(crate) fn complete(&self, files: LaidOut) {
        self.laid_out.borrow_mut().push(files);
    }
}
