//! One entry of a recording.

use std::fmt;

/// Which file a record is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileName {
    /// By its path.
    Path(String),
    /// A block device by its numbers.
    Device {
        /// Of its driver.
        major: u32,
        /// Of the device.
        minor: u32,
    },
}

impl fmt::Display for FileName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileName::Path(path) => formatter.write_str(path),
            FileName::Device { major, minor } => write!(formatter, "device {major}:{minor}"),
        }
    }
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordedAct {
    /// The file is named for the first time.
    Add,
    /// It is opened.
    Open,
    /// It is closed.
    Close,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// Bytes are discarded.
    Trim,
    /// It is flushed.
    Sync,
    /// Its data is flushed.
    Datasync,
}

/// One entry of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When, from the first record, ns; a recording without times has 0 throughout.
    pub at_ns: u64,
    /// Number of its file in [`Reader::files`](crate::RecordingReader::files).
    pub file: u32,
    /// What.
    pub act: RecordedAct,
    /// Where in the file, bytes; 0 where that means nothing.
    pub offset: u64,
    /// How much, bytes; 0 where that means nothing.
    pub length: u64,
}
