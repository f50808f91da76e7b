//! The system calls on files, as one table: the effect and the arguments of each.

use crate::record::RecordedAct;

/// Meaning of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    Descriptor,
    /// Descriptor of the directory that the following path is relative to.
    Directory,
    Path,
    /// Path of the other file.
    OtherPath,
    /// Number of bytes.
    Length,
    /// Offset in the file, in bytes.
    Offset,
    /// A value for `aux` of the record.
    Aux,
    /// Flags of open(2).
    OpenFlags,
    /// Permissions of a new file.
    Mode,
    Ignored,
}

/// A system call in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call {
    /// Name, as in the output of strace and in the kernel's events.
    pub(crate) name: &'static str,
    /// Effect on a file, or only on the meaning of descriptors.
    pub(crate) effect: Effect,
    arguments: &'static str,
}

/// Effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// An act on a file.
    Act(RecordedAct),
    /// Creates another descriptor for the same file.
    Duplicates,
    Moves,
    /// Creates a process or thread.
    Forks,
    /// Executes another program, which closes descriptors marked close-on-exec.
    Execs,
}

impl Call {
    /// Returns the meanings of its arguments, in order.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = Argument> {
        self.arguments.bytes().map(|letter| match letter {
            b'f' => Argument::Descriptor,
            b'd' => Argument::Directory,
            b'p' => Argument::Path,
            b'q' => Argument::OtherPath,
            b'l' => Argument::Length,
            b'o' => Argument::Offset,
            b'a' => Argument::Aux,
            b'm' => Argument::OpenFlags,
            b'x' => Argument::Mode,
            _ => Argument::Ignored,
        })
    }

    /// Returns the call with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Call> {
        CALLS.iter().find(|call| call.name == name)
    }
}

const fn act(name: &'static str, act: RecordedAct, arguments: &'static str) -> Call {
    Call { name, effect: Effect::Act(act), arguments }
}

const fn other(name: &'static str, effect: Effect, arguments: &'static str) -> Call {
    Call { name, effect, arguments }
}

/// All calls. A letter is an argument: f descriptor, d directory, p path, q other path, l length, o offset, a aux, m
/// flags of open, x mode.
const CALLS: &[Call] = {
    use RecordedAct::*;
    &[
        act("read", Read, "f_l"),
        act("pread64", Read, "f_lo"),
        act("readv", Read, "f"),
        act("preadv", Read, "f__o"),
        act("preadv2", Read, "f__o"),
        act("write", Write, "f_l"),
        act("pwrite64", Write, "f_lo"),
        act("writev", Write, "f"),
        act("pwritev", Write, "f__o"),
        act("pwritev2", Write, "f__o"),
        act("open", Open, "pmx"),
        act("openat", Open, "dpmx"),
        act("openat2", Open, "dp"),
        act("creat", Open, "px"),
        act("close", Close, "f"),
        act("fsync", Sync, "f"),
        act("fdatasync", Datasync, "f"),
        act("sync_file_range", SyncRange, "fol"),
        act("sync", SyncAll, ""),
        act("syncfs", SyncAll, "f"),
        act("stat", Stat, "p"),
        act("lstat", Stat, "p"),
        act("fstat", Stat, "f"),
        act("newfstatat", Stat, "dp"),
        act("statx", Stat, "dp"),
        act("access", Stat, "p"),
        act("faccessat", Stat, "dp"),
        act("faccessat2", Stat, "dp"),
        act("unlink", Unlink, "p"),
        act("unlinkat", Unlink, "dpa"),
        act("mkdir", Mkdir, "px"),
        act("mkdirat", Mkdir, "dpx"),
        act("rmdir", Rmdir, "p"),
        act("rename", Rename, "pq"),
        act("renameat", Rename, "dpdq"),
        act("renameat2", Rename, "dpdq"),
        act("link", Link, "pq"),
        act("linkat", Link, "dpdq"),
        act("symlink", Symlink, "_p"),
        act("symlinkat", Symlink, "_dp"),
        act("readlink", Readlink, "p"),
        act("readlinkat", Readlink, "dp"),
        act("truncate", Truncate, "pl"),
        act("ftruncate", Truncate, "fl"),
        act("fallocate", Allocate, "faol"),
        act("getdents", List, "f_l"),
        act("getdents64", List, "f_l"),
        act("lseek", Seek, "f"),
        act("mmap", Map, "_l__fo"),
        act("chmod", Attribute, "p"),
        act("fchmod", Attribute, "f"),
        act("fchmodat", Attribute, "dp"),
        act("chown", Attribute, "p"),
        act("fchown", Attribute, "f"),
        act("lchown", Attribute, "p"),
        act("fchownat", Attribute, "dp"),
        act("utimensat", Attribute, "dp"),
        act("setxattr", Attribute, "p"),
        act("fsetxattr", Attribute, "f"),
        other("dup", Effect::Duplicates, "f"),
        other("dup2", Effect::Duplicates, "f"),
        other("dup3", Effect::Duplicates, "f"),
        other("chdir", Effect::Moves, "p"),
        other("fchdir", Effect::Moves, "f"),
        other("clone", Effect::Forks, ""),
        other("clone3", Effect::Forks, ""),
        other("fork", Effect::Forks, ""),
        other("vfork", Effect::Forks, ""),
        other("execve", Effect::Execs, ""),
        other("execveat", Effect::Execs, ""),
    ]
};
