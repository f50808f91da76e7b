//! What a study file names, and how it is read.

use std::io;
use std::path::{Path, PathBuf};

/// What a study file names is read through this. Paths are relative to the study.
pub trait StudyFiles {
    /// What is in a file.
    ///
    /// # Errors
    /// In the system's words.
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, StudyFileError>;

    /// The text of a file.
    ///
    /// # Errors
    /// In the system's words, and where it is no text.
    fn read(&mut self, path: &Path) -> Result<String, StudyFileError> {
        String::from_utf8(self.bytes(path)?).map_err(|_| StudyFileError::NotText)
    }
}

/// Files below a directory.
#[derive(Debug, Clone)]
pub struct Beside(pub PathBuf);

impl StudyFiles for Beside {
    fn bytes(&mut self, path: &Path) -> Result<Vec<u8>, StudyFileError> {
        Ok(plumb_text::bounded::read(self.0.join(path))?)
    }
}

/// Why a file that a study names cannot be read. Whoever asked for it knows its name and who names it.
#[derive(Debug, thiserror::Error)]
pub enum StudyFileError {
    /// The system's words.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is something else.
    #[error("it is no text in UTF-8")]
    NotText,
}
