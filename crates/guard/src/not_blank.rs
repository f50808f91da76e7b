//! Why a file may hold something that somebody misses: an error of its own, below the checks that return it and the refusals
//! that quote it.

use super::program::Program;
use plumb_probe::ProbeError;
use rustix::io::Errno;
use std::io;

/// Why a file may hold something that somebody misses.
#[derive(Debug, thiserror::Error)]
pub enum NotBlank {
    /// It holds data.
    #[error("it holds data, first at byte {offset_bytes}")]
    Data {
        /// Where.
        offset_bytes: u64,
    },
    /// It holds too much to look at.
    #[error("it holds more than the {} MiB that are read to see whether it is only zeros", .bytes_max >> 20)]
    TooLarge {
        /// The limit, bytes.
        bytes_max: u64,
    },
    /// Another directory entry means it, too.
    #[error("it has {count} names (hard links)")]
    Linked {
        /// How many.
        count: u64,
    },
    /// Somebody has it open or mapped.
    #[error("{} has it open", .by.as_ref().map_or("another program".to_owned(), ToString::to_string))]
    InUse {
        /// Who, where that can be seen.
        by: Option<Program>,
    },
    /// Nobody can see here whether somebody has it open.
    #[error("{why}")]
    Unseen {
        /// In words.
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
