//! Facts about the system that lowering needs.

use plumb_tools::FileError;
use plumb_workload::blocks::trace::Waits;

/// The type of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    Absent,
    Regular {
        bytes: u64,
    },
    Block {
        bytes: u64,
    },
    /// A character device, a pipe or a socket.
    Character,
    Directory,
    /// An object whose size cannot be queried.
    Unreadable,
}

/// A recording that a job replays: one, or several merged.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingRequest {
    /// Its parts, at least one.
    pub parts: Vec<RecordingPart>,
    /// Meaning of the waits in version 2.
    pub waits: Waits,
}

/// A recording in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordingPart {
    pub path: String,
    /// Percentage by which its times are scaled.
    pub percent: f64,
    pub times: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedFiles {
    /// Its files, in the order of their first mention.
    pub files: Vec<RecordedFile>,
    /// Size of its largest op in bytes.
    pub largest_bytes: u64,
    /// Number of waits whose meaning is ambiguous.
    pub waits: u64,
}

/// A file in a recording, and the extent of its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    pub name: RecordedName,
    /// End of the op that reaches furthest, in bytes.
    pub end_bytes: u64,
    pub reads: u64,
    pub writes: u64,
    pub trims: u64,
}

/// The name of a file in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordedName {
    Path(String),
    /// A block device, by its numbers.
    Device {
        major: u32,
        minor: u32,
    },
}

/// Inspects paths and the machine without changing anything.
pub trait Places {
    /// Returns the type of file at a path, following links.
    fn find(&mut self, path: &str) -> Found;

    /// Returns the client that owns the jobs, if they come from another host.
    fn client(&self) -> Option<String> {
        None
    }

    /// Returns the free bytes of the file system at a path, which need not exist; `None` if unknown.
    fn free_bytes(&mut self, path: &str) -> Option<u64>;

    /// Returns the paths of all regular files below a directory, in the system's order.
    fn files_below(&mut self, directory: &str) -> Vec<String>;

    /// Returns the files that a recording, or several merged, touches.
    ///
    /// # Errors
    ///
    /// The recording cannot be read.
    fn recording(&mut self, asked: &RecordingRequest) -> Result<RecordedFiles, FileError>;

    /// The path of a block device; `None` if there is none with these numbers.
    fn device_node(&mut self, major: u32, minor: u32) -> Option<String>;

    /// The CPUs of a NUMA node; `None` if there is no such node.
    fn cpus_of_node(&mut self, node: u32) -> Option<Vec<u32>>;
}
