//! [`NotBlank`], the reason why a file is not overwritten without permission. Checks return
//! it, and refusals quote it.

use super::program::Program;
use plumb_probe::ProbeError;
use rustix::io::Errno;
use std::io;

/// The reason why a file may hold data of value.
#[derive(Debug, thiserror::Error)]
pub enum NotBlank {
    /// The file holds data.
    #[error("it holds data, first at byte {offset_bytes}")]
    Data {
        /// Offset of the first byte that is not zero.
        offset_bytes: u64,
    },
    /// The file is too large to be searched for data.
    #[error("it holds more than the {} MiB that are searched for data", .bytes_max >> 20)]
    TooLarge {
        /// The limit, bytes.
        bytes_max: u64,
    },
    /// The file has further hard links.
    #[error("it has {count} names (hard links)")]
    Linked {
        /// Number of directory entries.
        count: u64,
    },
    /// A program has it open or mapped.
    #[error("{} has it open", .by.as_ref().map_or("another program".to_owned(), ToString::to_string))]
    InUse {
        /// The program, if `/proc` shows it.
        by: Option<Program>,
    },
    /// It cannot be seen whether a program has the file open.
    #[error("{why}")]
    Unseen {
        /// The reason, as a sentence.
        why: &'static str,
    },
    /// The file changed during the check.
    #[error("it changed while it was checked")]
    Changed,
    /// A signal arrived while the file was being read.
    #[error("it was not read to its end")]
    Stopped,
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

impl From<ProbeError> for NotBlank {
    fn from(error: ProbeError) -> NotBlank {
        NotBlank::Unreadable(io::Error::other(error))
    }
}

impl From<Errno> for NotBlank {
    fn from(errno: Errno) -> NotBlank {
        NotBlank::Unreadable(errno.into())
    }
}
