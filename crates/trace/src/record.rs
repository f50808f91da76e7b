//! One entry of a recording, and what it is about.

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

/// Who did it: a thread.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Task {
    /// Its process; 0 if the format does not say.
    pub process: u32,
    /// Itself; 0 if the format does not say.
    pub thread: u32,
    /// The name of its program; empty if the format does not say.
    pub command: String,
}

/// What was done. The numbers are those of Plumb's own format and never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RecordedAct {
    /// The file is named for the first time.
    Add = 0,
    /// It is opened: `aux` has the flags of open(2), and its mode above the 32nd bit.
    Open = 1,
    /// It is closed.
    Close = 2,
    /// Bytes are read.
    Read = 3,
    /// Bytes are written.
    Write = 4,
    /// Bytes are discarded.
    Trim = 5,
    /// It is flushed.
    Sync = 6,
    /// Its data is flushed.
    Datasync = 7,
    /// Its attributes are read, or whether it may be used.
    Stat = 8,
    /// Its name is removed.
    Unlink = 9,
    /// A directory is made.
    Mkdir = 10,
    /// A directory is removed.
    Rmdir = 11,
    /// It is renamed; `aux` is the number of the file that it becomes.
    Rename = 12,
    /// It gets another name; `aux` is the number of that file.
    Link = 13,
    /// A symbolic link is made.
    Symlink = 14,
    /// A symbolic link is read.
    Readlink = 15,
    /// It is cut or grown to `length` bytes.
    Truncate = 16,
    /// Space is allocated or punched; `aux` is the mode of fallocate(2).
    Allocate = 17,
    /// A directory is listed.
    List = 18,
    /// Its position is moved to `offset`; the records of reads and writes have it already.
    Seek = 19,
    /// It is mapped into memory; what is read and written through the map is not recorded.
    Map = 20,
    /// Its mode, owner, times or extended attributes are changed.
    Attribute = 21,
    /// A range of it is flushed.
    SyncRange = 22,
    /// A whole file system, or all of them, is flushed.
    SyncAll = 23,
    /// Anything else.
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
    /// Its name, such as `fsync`.
    pub fn name(self) -> &'static str {
        ACTS[self as usize].1
    }

    /// The act with a number.
    pub fn numbered(number: u64) -> Option<RecordedAct> {
        ACTS.get(usize::try_from(number).ok()?).map(|(act, _)| *act)
    }

    /// The act with a name.
    pub fn named(name: &str) -> Option<RecordedAct> {
        ACTS.iter().find(|(_, known)| *known == name).map(|(act, _)| *act)
    }

    /// Whether it moves the bytes of its range.
    pub fn moves_data(self) -> bool {
        matches!(self, RecordedAct::Read | RecordedAct::Write)
    }
}

/// How long an op took, if the format does not say.
pub const UNKNOWN_NS: u64 = u64::MAX;

/// One entry of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// When it began, from the first record, ns; a recording without times has 0 throughout.
    pub at_ns: u64,
    /// How long it took, ns; [`UNKNOWN_NS`] if the format does not say.
    pub took_ns: u64,
    /// Where in the file, bytes; 0 where that means nothing.
    pub offset: u64,
    /// How much was asked for, bytes; 0 where that means nothing.
    pub length: u64,
    /// What came of it, as the kernel returns it: bytes moved, a descriptor, 0, or the negative number of an error.
    pub result: i64,
    /// What some acts have in addition; see [`RecordedAct`].
    pub aux: u64,
    /// Number of its file in [`RecordingReader::files`](crate::RecordingReader::files).
    pub file: u32,
    /// Number of its thread in [`RecordingReader::tasks`](crate::RecordingReader::tasks).
    pub task: u32,
    /// The descriptor that it used or returned, plus 1; 0 where there is none.
    pub handle: u32,
    /// What.
    pub act: RecordedAct,
    /// How: the bits of [`flag`].
    pub flags: u8,
}

/// Bits of [`Record::flags`].
pub mod flag {
    /// It is durable when it returns (O_SYNC, RWF_DSYNC, FUA).
    pub const SYNC: u8 = 1;
    /// Metadata of a file system.
    pub(crate) const METADATA: u8 = 2;
    /// Read ahead of what was asked for.
    pub(crate) const AHEAD: u8 = 4;
    /// Its end was not seen.
    pub const UNFINISHED: u8 = 8;
    /// It bypasses the page cache.
    pub const DIRECT: u8 = 16;
}

impl Record {
    /// An act that succeeded at once, of which nothing more is known.
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

    /// The same with a range, all of which was moved.
    pub const fn ranged(at_ns: u64, file: u32, act: RecordedAct, offset: u64, length: u64) -> Record {
        let result = match act {
            RecordedAct::Read | RecordedAct::Write => length as i64,
            _ => 0,
        };
        Record { offset, length, result, ..Record::new(at_ns, file, act) }
    }

    /// What it returns if all goes well.
    pub(crate) fn expected_result(&self) -> i64 {
        match self.act {
            RecordedAct::Read | RecordedAct::Write => self.length as i64,
            RecordedAct::Open => i64::from(self.handle) - 1,
            _ => 0,
        }
    }

    /// Bytes that it moved.
    pub fn moved(&self) -> u64 {
        if self.act.moves_data() { u64::try_from(self.result).unwrap_or(0).min(self.length) } else { 0 }
    }
}

/// Flags of open(2) as recordings have them: those of Linux on x86. Source: asm-generic/fcntl.h.
pub mod open_flag {
    /// Made if it is not there.
    pub const CREATE: u64 = 0o100;
    /// Must not be there.
    pub const EXCLUSIVE: u64 = 0o200;
    /// Written at its end.
    pub const APPEND: u64 = 0o2000;
    /// Cut to nothing.
    pub const TRUNCATE: u64 = 0o1000;
    /// A directory.
    pub const DIRECTORY: u64 = 0o200_000;
    /// A file without a name in a directory; has [`DIRECTORY`]'s bit as well.
    pub const TEMPORARY: u64 = 0o20_200_000;
}

/// When a record had ended, as far as that is known.
pub fn end_of(record: &Record) -> u64 {
    match record.took_ns {
        UNKNOWN_NS => record.at_ns,
        took_ns => record.at_ns.saturating_add(took_ns),
    }
}
