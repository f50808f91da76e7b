//! Errors of outputs.

use crate::Refusal;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Error for an output that cannot be written, or must not be. Each message names the option, the path and the fix.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The path is a block device.
    #[error(
        "{option}: {path} is a block device; Plumb never writes results onto a device, because all data on it would be lost; \
         name a file",
        path = path.display()
    )]
    Device {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the output, before links are followed.
        path: PathBuf,
    },

    /// The path is a device that stores data, or a pipe or socket under a name that the user did not type.
    #[error("{option}: {path} is {found}; name a file, a pipe or a terminal", path = path.display())]
    WrongKind {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the output, before links are followed.
        path: PathBuf,
        /// Kind of the file that was found, such as `a character device`.
        found: &'static str,
    },

    /// A symbolic link has a name that the user did not type.
    #[error(
        "{option}: {path} is a symbolic link; Plumb does not follow links under names that it or the tool made up, because \
         others can foresee them; remove the link, or name the output yourself",
        path = path.display()
    )]
    Link {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the symbolic link itself.
        path: PathBuf,
    },

    /// A file under a name that the user did not type has a second hard link.
    #[error(
        "{option}: {path} is a file that has another name too (a hard link), and writing would change that file; remove {path}, \
         or name the output yourself",
        path = path.display()
    )]
    SecondName {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the file with several names.
        path: PathBuf,
    },

    /// The file is in use as a device: the image of a loop device.
    #[error("{option}: {source}")]
    InUse {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Names the device that uses the file, and the way to release it.
        source: Box<Refusal>,
    },

    /// The file must be new, but it exists.
    #[error("{option}: {path} exists; remove it, or name another file", path = path.display())]
    Exists {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the file that exists.
        path: PathBuf,
    },

    /// `/dev/fd/N` without an open descriptor N.
    #[error("{option}: {path} is not an open descriptor of this process", path = path.display())]
    NoDescriptor {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the output, before links are followed.
        path: PathBuf,
    },

    /// A system call failed while the output was opened or written.
    #[error("{option}: cannot write {path}: {source}", path = path.display())]
    Io {
        /// Name of the output in messages, such as `--html`.
        option: String,
        /// Path of the output, before links are followed.
        path: PathBuf,
        /// Error of the failed system call.
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
