//! [`NotBlank`], the reason that a file is not overwritten unasked. The checks return it, and refusals quote it.

use super::program::Program;
use plumb_probe::ProbeError;
use rustix::io::Errno;
use std::io;

/// The reason that a file may hold data of value.
#[derive(Debug, thiserror::Error)]
pub enum NotBlank {
    /// It holds data.
    #[error("it holds data, first at byte {offset_bytes}")]
    Data {
        /// Offset of the first byte that is not zero.
        offset_bytes: u64,
    },
    /// It is too large to be searched for data.
    #[error("it holds more than the {} MiB that are read to see whether it is only zeros", .bytes_max >> 20)]
    TooLarge {
        /// The limit, bytes.
        bytes_max: u64,
    },
    /// Another directory entry means it, too.
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
    /// Whether a program has it open cannot be seen here.
    #[error("{why}")]
    Unseen {
        /// The reason, as a sentence.
        why: &'static str,
    },
    /// It was changed meanwhile.
    #[error("it changed while it was checked")]
    Changed,
    /// A signal came while it was read.
    #[error("it was not read to its end")]
    Stopped,
    /// It cannot be read.
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
