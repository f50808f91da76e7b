//! One entry of a recording, and the file it is about.

use std::fmt;

/// The file of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileName {
    /// A file by its path.
    Path(String),
    /// A block device by its numbers.
    Device {
        /// Major number: the driver.
        major: u32,
        /// Minor number: the device.
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

/// A thread that made ops.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Task {
    /// Process number; 0 if the format has none.
    pub process: u32,
    /// Thread number; 0 if the format has none.
    pub thread: u32,
    /// Name of the program; empty if the format has none.
    pub command: String,
}

/// Kind of an op. The numbers are those of Plumb's own format and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RecordedAct {
    /// Names the file for the first time.
    Add = 0,
    /// Opens the file: `aux` has the flags of open(2), and the mode above the 32nd bit.
    Open = 1,
    /// Closes the file or descriptor.
    Close = 2,
    /// Reads bytes from the file.
    Read = 3,
    /// Writes bytes to the file.
    Write = 4,
    /// Discards bytes of the device.
    Trim = 5,
    /// Flushes the file (fsync).
    Sync = 6,
    /// Flushes the file's data (fdatasync).
    Datasync = 7,
    /// Reads the file's attributes, or tests its access permissions.
    Stat = 8,
    /// Removes the file's name.
    Unlink = 9,
    Mkdir = 10,
    Rmdir = 11,
    /// Renames the file; `aux` is the number of the new file name.
    Rename = 12,
    /// Creates another name; `aux` is the number of that file name.
    Link = 13,
    /// Creates a symbolic link.
    Symlink = 14,
    /// Reads a symbolic link.
    Readlink = 15,
    /// Truncates or extends the file to `length` bytes.
    Truncate = 16,
    /// Allocates or punches space; `aux` is the mode of fallocate(2).
    Allocate = 17,
    /// Lists a directory.
    List = 18,
    /// Moves the file position to `offset`; the records of reads and writes include it already.
    Seek = 19,
    /// Maps the file into memory. I/O through the map is not recorded.
    Map = 20,
    /// Changes the mode, owner, times or extended attributes.
    Attribute = 21,
    /// Flushes a range of the file.
    SyncRange = 22,
    /// Flushes a whole file system, or all of them.
    SyncAll = 23,
    /// Any other act.
    Other = 24,
}

/// Each act by its number, with its name.
pub const ACTS: [(RecordedAct, &str); 25] = {
    use RecordedAct::*;
    [
        (Add, "add"),
        (Open, "open"),
        (Close, "close"),
        (Read, "read"),
        (Write, "write"),
        (Trim, "trim"),
        (Sync, "fsync"),
        (Datasync, "fdatasync"),
        (Stat, "stat"),
        (Unlink, "unlink"),
        (Mkdir, "mkdir"),
        (Rmdir, "rmdir"),
        (Rename, "rename"),
        (Link, "link"),
        (Symlink, "symlink"),
        (Readlink, "readlink"),
        (Truncate, "truncate"),
        (Allocate, "fallocate"),
        (List, "list"),
        (Seek, "seek"),
        (Map, "mmap"),
        (Attribute, "set-attribute"),
        (SyncRange, "sync-range"),
        (SyncAll, "sync"),
        (Other, "other"),
    ]
};

impl RecordedAct {
    /// Returns the name, such as `fsync`.
    pub fn name(self) -> &'static str {
        ACTS[self as usize].1
    }

    /// Returns the act with this number.
    pub fn numbered(number: u64) -> Option<RecordedAct> {
        ACTS.get(usize::try_from(number).ok()?).map(|(act, _)| *act)
    }

    /// Returns the act with this name.
    pub fn named(name: &str) -> Option<RecordedAct> {
        ACTS.iter().find(|(_, known)| *known == name).map(|(act, _)| *act)
    }

    /// Whether it moves the bytes of its range.
    pub fn moves_data(self) -> bool {
        matches!(self, RecordedAct::Read | RecordedAct::Write)
    }
}

/// Duration of an op if the format has none.
pub const UNKNOWN_NS: u64 = u64::MAX;

/// One entry of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Start time, from the first record, ns; 0 throughout in a recording without times.
    pub at_ns: u64,
    /// Duration in ns; [`UNKNOWN_NS`] if the format has none.
    pub took_ns: u64,
    /// Offset in the file, bytes; 0 for acts without one.
    pub offset: u64,
    /// Requested length, bytes; 0 for acts without one.
    pub length: u64,
    /// Result, as the kernel returns it: bytes moved, a descriptor, 0, or a negative error number.
    pub result: i64,
    /// Additional value of some acts; see [`RecordedAct`].
    pub aux: u64,
    /// Number of its file in [`RecordingReader::files`](crate::RecordingReader::files).
    pub file: u32,
    /// Number of its thread in [`RecordingReader::tasks`](crate::RecordingReader::tasks).
    pub task: u32,
    /// The descriptor that it used or returned, plus 1; 0 if there is none.
    pub handle: u32,
    pub act: RecordedAct,
    /// Bits of [`flag`].
    pub flags: u8,
}

/// Bits of [`Record::flags`].
pub mod flag {
    /// The data is durable when it returns (O_SYNC, RWF_DSYNC, FUA).
    pub const SYNC: u8 = 1;
    /// Accesses metadata of a file system.
    pub(crate) const METADATA: u8 = 2;
    /// Reads ahead of the requested data.
    pub(crate) const AHEAD: u8 = 4;
    /// Its end was not seen.
    pub const UNFINISHED: u8 = 8;
    /// Bypasses the page cache.
    pub const DIRECT: u8 = 16;
}

impl Record {
    /// Creates a record of a successful act with unknown duration.
    pub const fn new(at_ns: u64, file: u32, act: RecordedAct) -> Record {
        Record {
            at_ns,
            took_ns: UNKNOWN_NS,
            offset: 0,
            length: 0,
            result: 0,
            aux: 0,
            file,
            task: 0,
            handle: 0,
            act,
            flags: 0,
        }
    }

    /// Creates a record with a range, all of which was moved.
    pub const fn ranged(at_ns: u64, file: u32, act: RecordedAct, offset: u64, length: u64) -> Record {
        let result = match act {
            RecordedAct::Read | RecordedAct::Write => length as i64,
            _ => 0,
        };
        Record { offset, length, result, ..Record::new(at_ns, file, act) }
    }

    /// Returns the result of a successful op.
    pub(crate) fn expected_result(&self) -> i64 {
        match self.act {
            RecordedAct::Read | RecordedAct::Write => self.length as i64,
            RecordedAct::Open => i64::from(self.handle) - 1,
            _ => 0,
        }
    }

    /// Returns the number of bytes moved.
    pub fn moved(&self) -> u64 {
        if self.act.moves_data() { u64::try_from(self.result).unwrap_or(0).min(self.length) } else { 0 }
    }
}

/// Flags of open(2) in recordings: those of Linux on x86. Source: asm-generic/fcntl.h.
pub mod open_flag {
    /// Creates the file if it does not exist.
    pub const CREATE: u64 = 0o100;
    /// Fails if the file exists.
    pub const EXCLUSIVE: u64 = 0o200;
    /// Writes at the end of the file.
    pub const APPEND: u64 = 0o2000;
    /// Truncates the file to nothing.
    pub const TRUNCATE: u64 = 0o1000;
    /// Fails if it is not a directory.
    pub const DIRECTORY: u64 = 0o200_000;
    /// Creates a nameless file in a directory; includes [`DIRECTORY`]'s bit.
    pub const TEMPORARY: u64 = 0o20_200_000;
}

/// Returns the end time of a record, as far as it is known.
pub fn end_of(record: &Record) -> u64 {
    match record.took_ns {
        UNKNOWN_NS => record.at_ns,
        took_ns => record.at_ns.saturating_add(took_ns),
    }
}
