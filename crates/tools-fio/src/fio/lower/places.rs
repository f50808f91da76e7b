//! What lowering needs to know about the system.

use plumb_tools::FileError;
use plumb_workload::blocks::trace::Waits;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Absent,
    /// A regular file.
    Regular {
        /// Its length.
        bytes: u64,
    },
    /// A block device.
    Block {
        /// Its size.
        bytes: u64,
    },
    /// A character device, a pipe or a socket.
    Character,
    /// A directory.
    Directory,
    /// Something whose size cannot be asked for.
    Unreadable,
}

/// A recording that a job repeats: one, or several merged.
#[derive(Debug, Clone, PartialEq)]
pub struct AskedRecording {
    /// What it is made of; one at least.
    pub parts: Vec<RecordingPart>,
    /// What the waits of version 2 are.
    pub waits: Waits,
}

/// A recording in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingPart {
    /// Where it is.
    pub path: String,
    /// Its times are multiplied by this percentage.
    pub percent: f64,
    /// It is repeated this many times.
    pub times: u32,
}

/// What a recording touches.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedFiles {
    /// Its files, in the order of their first mention.
    pub files: Vec<RecordedFile>,
    /// Bytes of its largest op.
    pub largest_bytes: u64,
    /// Waits whose meaning is doubtful.
    pub waits: u64,
}

/// What a recording does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    /// Which.
    pub name: RecordedName,
    /// The end of the op that reaches furthest, bytes.
    pub end_bytes: u64,
    /// Reads of it.
    pub reads: u64,
    /// Writes of it.
    pub writes: u64,
    /// Trims of it.
    pub trims: u64,
}

/// How a recording calls a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedName {
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

/// Inspects paths and at the machine, and changes nothing.
pub trait Places {
    /// What a path leads to, links followed.
    fn look(&mut self, path: &str) -> Found;

    /// The client whose jobs are run, where they are those of another host.
    fn client(&self) -> Option<String> {
        None
    }

    /// Bytes that are free where a path lies or would lie; `None` if that is not known.
    fn free_bytes(&mut self, path: &str) -> Option<u64>;

    /// The paths of all regular files below a directory, in the system's order.
    fn files_below(&mut self, directory: &str) -> Vec<String>;

    /// What a recording, or several merged, touches.
    ///
    /// # Errors
    /// It cannot be read.
    fn recording(&mut self, asked: &AskedRecording) -> Result<RecordedFiles, FileError>;

    /// The path of a block device; `None` if there is none with these numbers.
    fn device_node(&mut self, major: u32, minor: u32) -> Option<String>;

    /// The CPUs of a NUMA node; `None` if there is no such node.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
}
