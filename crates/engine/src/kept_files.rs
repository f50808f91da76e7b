//! Test data that outlives a run, so that many runs over the same file lay it out only once.

use plumb_guard::testdir::{TestDir, TestDirError, TestDirs};
use plumb_workload::Content;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// A test directory whose laid out files persist between runs. Dropping it removes the directory.
#[derive(Debug)]
pub struct KeptFiles {
    dir: TestDir,
    laid_out: RefCell<Vec<LaidOut>>,
}

/// Fully written files of one target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LaidOut {
    pub(crate) path: PathBuf,
    pub(crate) files: u32,
    pub(crate) size_bytes: u64,
    pub(crate) content: Content,
}

/// Source of a target's files.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FilesFrom<'a> {
    Existing(&'a TestDir),
    /// Lay the files out here, for this run and later ones.
    New(&'a TestDir),
    /// Other data is at their path: use the run's own directory.
    Taken,
}

impl KeptFiles {
    /// Creates the directory in `base` and registers it.
    ///
    /// # Errors
    /// Those of [`TestDirs::create`].
    pub fn create(dirs: &TestDirs, base: &Path, label: &str) -> Result<KeptFiles, TestDirError> {
        Ok(KeptFiles { dir: dirs.create(base, label)?, laid_out: RefCell::default() })
    }

    /// Removes the directory with all its files. Like dropping it, but reports errors.
    ///
    /// # Errors
    /// [`TestDirError::Remove`] with the files that remain.
    pub fn remove(self) -> Result<(), TestDirError> {
        self.dir.remove()
    }

    pub(crate) fn source(&self, wanted: &LaidOut) -> FilesFrom<'_> {
        match self.laid_out.borrow().iter().find(|there| there.path == wanted.path) {
            Some(there) if there == wanted => FilesFrom::Existing(&self.dir),
            Some(_) => FilesFrom::Taken,
            None => FilesFrom::New(&self.dir),
        }
    }

    /// Marks these files as complete.
    pub(crate) fn complete(&self, files: LaidOut) {
        self.laid_out.borrow_mut().push(files);
    }
}
