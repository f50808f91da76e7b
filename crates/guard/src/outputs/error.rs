//! Errors of outputs.

use crate::Refusal;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// An output that cannot be written, or must not be. Each message names the option, the path, and the way out.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The path is a block device.
    #[error(
        "{option}: {path} is a block device; Plumb never writes results onto a device, because all data on it would be lost; \
         name a file",
        path = path.display()
    )]
    Device {
        /// The option.
        option: String,
        /// The path as typed.
        path: PathBuf,
    },

    /// The path is a device that keeps what is written, or a pipe or socket under a made-up name.
    #[error("{option}: {path} is {found}; name a file, a pipe or a terminal", path = path.display())]
    WrongKind {
        /// The option.
        option: String,
        /// The path as typed.
        path: PathBuf,
        /// Its kind, `a character device`.
        found: &'static str,
    },

    /// A symbolic link has a name that was made up.
    #[error(
        "{option}: {path} is a symbolic link; Plumb does not follow links under names that it or the tool made up, because \
         others can foresee them; remove the link, or name the output yourself",
        path = path.display()
    )]
    Link {
        /// The option.
        option: String,
        /// The link.
        path: PathBuf,
    },

    /// A file of a made-up name has another name.
    #[error(
        "{option}: {path} is a file that has another name too (a hard link), and writing would change that file; remove {path}, \
         or name the output yourself",
        path = path.display()
    )]
    SecondName {
        /// The option.
        option: String,
        /// The file.
        path: PathBuf,
    },

    /// The file is in use as a device: the image of a loop device.
    #[error("{option}: {source}")]
    InUse {
        /// The option.
        option: String,
        /// The user of the file, and how to release it.
        source: Box<Refusal>,
    },

    /// The file must be new, and exists.
    #[error("{option}: {path} exists; remove it, or name another file", path = path.display())]
    Exists {
        /// The option.
        option: String,
        /// The file.
        path: PathBuf,
    },

    /// `/dev/fd/N` without an open descriptor N.
    #[error("{option}: {path} is not an open descriptor of this process", path = path.display())]
    NoDescriptor {
        /// The option.
        option: String,
        /// The path as typed.
        path: PathBuf,
    },

    /// The system refused.
    #[error("{option}: cannot write {path}: {source}", path = path.display())]
    Io {
        /// The option.
        option: String,
        /// The path as typed.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl OutputError {
    /// Returns `true` if Plumb refused, `false` if the system did.
    pub fn is_refusal(&self) -> bool {
        match self {
            OutputError::Device { .. }
            | OutputError::WrongKind { .. }
            | OutputError::Link { .. }
            | OutputError::SecondName { .. }
            | OutputError::InUse { .. } => true,
            OutputError::Exists { .. } | OutputError::NoDescriptor { .. } | OutputError::Io { .. } => false,
        }
    }
}

impl From<OutputError> for io::Error {
    /// Keeps the kind of a system error; the message is that of the [`OutputError`].
    fn from(error: OutputError) -> io::Error {
        let kind = match &error {
            OutputError::Io { source, .. } => source.kind(),
            OutputError::Exists { .. } => io::ErrorKind::AlreadyExists,
            _ => io::ErrorKind::PermissionDenied,
        };
        io::Error::new(kind, error)
    }
}
