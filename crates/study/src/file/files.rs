//! Access to the files that a study file names.

use std::io;
use std::path::{Path, PathBuf};

/// Reads the files that a study file names. Paths are relative to the study.
pub trait StudyFiles {
    /// Returns the content of a file.
    ///
    /// # Errors
    /// Has the system's error.
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, StudyFileError>;

    /// Returns the text of a file.
    ///
    /// # Errors
    /// Has the system's error, or the file is not UTF-8 text.
    fn read(&mut self, path: &Path) -> Result<String, StudyFileError> {
        String::from_utf8(self.bytes(path)?).map_err(|_| StudyFileError::NotText)
    }
}

/// Reads files relative to a directory.
#[derive(Debug, Clone)]
pub struct FilesInDirectory(pub PathBuf);

impl StudyFiles for FilesInDirectory {
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, StudyFileError> {
        Ok(plumb_text::bounded::read(self.0.join(path))?)
    }
}

/// The reason why a file cannot be read. The caller knows its name and the place that names it.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not text.
    #[error("it is no text in UTF-8")]
    NotText,
}
