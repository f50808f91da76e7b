//! The operations on paths, one row each. Every rule that applies to a row makes a case without further code.

use crate::ctx::{Ctx, NOFOLLOW, RDONLY, RDWR, REMOVEDIR, Run, WRONLY};
use crate::facts::Kind;
use crate::sys::{self, AT, R, V, nr};

/// File that must exist at a path before the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequiredFile {
    /// Any file; the set-up makes a regular one.
    File,
    /// An empty directory.
    Dir,
    /// A symbolic link.
    Link,
    /// No file.
    Nothing,
}

/// The last component is followed if it is a symbolic link.
pub(crate) const FOLLOW: u16 = 1;
/// The file or its name is changed: `EROFS` and chattr flags apply.
pub(crate) const CHANGE: u16 = 2;
/// The directory of the name is written to.
pub(crate) const PARENT: u16 = 4;
/// Only the owner is permitted.
pub(crate) const OWNER: u16 = 8;
/// The name must be free: `EEXIST`.
pub(crate) const EXCL: u16 = 16;
/// Only root is permitted, regardless of the permissions.
pub(crate) const ROOT: u16 = 32;
/// The path must be short: a socket address has 108 bytes.
pub(crate) const SHORT: u16 = 64;
/// The name is removed or redirected: append-only directories refuse it.
pub(crate) const AWAY: u16 = 128;
/// A dangling link at the end is not an error.
pub(crate) const CREATE: u16 = 256;
/// The C library reads the path itself.
pub(crate) const COPIED: u16 = 512;
/// Needs free space: `ENOSPC`.
pub(crate) const ROOM: u16 = 1024;
/// Fails between two file systems: `EXDEV`.
pub(crate) const SAME_FS: u16 = 2048;

/// A path argument of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// Name in ids, such as `from`; empty for a single path.
    pub name: &'static str,
    /// File that must exist there.
    pub want: RequiredFile,
    /// See [`FOLLOW`] and the others.
    pub flags: u16,
}

/// Feature that an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpNeeds {
    Nothing,
    /// Files of a type.
    Kind(Kind),
    Xattr,
    Links,
    NoReplace,
    Exchange,
    Tmpfile,
}

/// An operation on one or two paths.
pub(crate) struct Op {
    /// Name in ids.
    pub name: &'static str,
    /// Page that specifies it, in POSIX or Linux.
    pub page: &'static str,
    pub slots: &'static [Slot],
    pub needs: OpNeeds,
    pub call: fn(&mut Ctx<'_>, V<'_>, V<'_>) -> R,
}

const fn one(want: RequiredFile, flags: u16) -> Slot {
    Slot { name: "", want, flags }
}
const fn slot(name: &'static str, want: RequiredFile, flags: u16) -> Slot {
    Slot { name, want, flags }
}

const fn op(
    name: &'static str,
    page: &'static str,
    slots: &'static [Slot],
    call: fn(&mut Ctx<'_>, V<'_>, V<'_>) -> R,
) -> Op {
    Op { name, page, slots, needs: OpNeeds::Nothing, call }
}

const fn needing(needs: OpNeeds, op: Op) -> Op {
    Op { needs, ..op }
}

/// Opens a file and closes it again.
fn opened(cx: &mut Ctx<'_>, path: V<'_>, flags: V<'_>) -> R {
    let fd = cx.call(nr!(openat), &[AT, path, flags, V::O(0o644)])?;
    cx.close(fd);
    Ok(0)
}

fn statx(cx: &mut Ctx<'_>, path: V<'_>, flags: V<'_>) -> R {
    let mut bytes = [0u8; 256];
    cx.call(nr!(statx), &[AT, path, flags, V::C("STATX_ALL", 0xfff), V::W(sys::cells(&mut bytes))])
}

fn node(cx: &mut Ctx<'_>, path: V<'_>, name: &'static str, mode: u32, device: i64) -> R {
    cx.call(nr!(mknodat), &[AT, path, V::C(name, i64::from(mode)), V::N(device)])
}

fn rename(cx: &mut Ctx<'_>, from: V<'_>, to: V<'_>, name: &'static str, flags: i64) -> R {
    cx.call(nr!(renameat2), &[AT, from, AT, to, V::C(name, flags)])
}

/// Binds a UNIX domain socket.
fn bind(cx: &mut Ctx<'_>, path: V<'_>, _: V<'_>) -> R {
    let (V::P(text), family) = (path, libc::AF_UNIX as u16) else { return Err(libc::EFAULT) };
    let mut address = family.to_ne_bytes().to_vec();
    address.extend(text.as_bytes());
    address.push(0);
    let types = [V::C("AF_UNIX", i64::from(libc::AF_UNIX)), V::C("SOCK_STREAM", i64::from(libc::SOCK_STREAM)), V::N(0)];
    let fd = cx.call(nr!(socket), &types)?;
    let result = cx.call(nr!(bind), &[V::Fd(fd as i32), V::B(&address), V::N(address.len() as i64)]);
    cx.close(fd);
    result
}

fn watch(cx: &mut Ctx<'_>, path: V<'_>, _: V<'_>) -> R {
    let fd = cx.call(nr!(inotify_init1), &[V::N(0)])?;
    let result = cx.call(nr!(inotify_add_watch), &[V::Fd(fd as i32), path, V::C("IN_MODIFY", 2)]);
    cx.close(fd);
    result
}

/// Name of the attribute that operations on attributes use.
pub(crate) const XATTR: &str = "user.plumb";
/// Seconds of the times that are set.
pub(crate) const STAMP: i64 = 1_000_000_000;

use RequiredFile::{Dir, File, Link, Nothing};

/// All operations. Add new rows at the end: ids do not depend on the order, but reports do.
pub(crate) const OPS: &[Op] = &[
    op("stat", "stat()", &[one(File, FOLLOW)], |cx, a, _| statx(cx, a, V::N(0))),
    op("lstat", "lstat()", &[one(File, 0)], |cx, a, _| statx(cx, a, NOFOLLOW)),
    op("access", "access()", &[one(File, FOLLOW)], |cx, a, _| cx.call(nr!(faccessat), &[AT, a, V::C("F_OK", 0)])),
    op("chmod", "chmod()", &[one(File, FOLLOW | CHANGE | OWNER)], |cx, a, _| {
        cx.call(nr!(fchmodat), &[AT, a, V::O(0o640)])
    }),
    op("chown", "chown()", &[one(File, FOLLOW | CHANGE | OWNER)], |cx, a, _| {
        let gid = V::N(i64::from(cx.actor().gid));
        cx.call(nr!(fchownat), &[AT, a, V::N(-1), gid, V::N(0)])
    }),
    op("lchown", "lchown()", &[one(File, CHANGE | OWNER)], |cx, a, _| {
        let gid = V::N(i64::from(cx.actor().gid));
        cx.call(nr!(fchownat), &[AT, a, V::N(-1), gid, NOFOLLOW])
    }),
    op("utimensat", "utimensat()", &[one(File, FOLLOW | CHANGE | OWNER)], |cx, a, _| {
        let times = sys::two_times((STAMP, 0), (STAMP, 0));
        cx.call(nr!(utimensat), &[AT, a, V::B(&times), V::N(0)])
    }),
    op("truncate", "truncate()", &[one(File, FOLLOW | CHANGE)], |cx, a, _| cx.call(nr!(truncate), &[a, V::N(123)])),
    op("open-read", "open()", &[one(File, FOLLOW)], |cx, a, _| opened(cx, a, RDONLY)),
    op("open-write", "open()", &[one(File, FOLLOW | CHANGE)], |cx, a, _| opened(cx, a, RDWR)),
    op("open-create", "open()", &[one(Nothing, FOLLOW | CHANGE | PARENT | CREATE | ROOM)], |cx, a, _| {
        opened(cx, a, V::C("O_CREAT | O_WRONLY", i64::from(libc::O_CREAT | libc::O_WRONLY)))
    }),
    op("open-excl", "open()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOM)], |cx, a, _| {
        opened(cx, a, crate::ctx::NEW)
    }),
    op("open-dir", "open()", &[one(Dir, FOLLOW)], |cx, a, _| {
        opened(cx, a, V::C("O_DIRECTORY", i64::from(libc::O_DIRECTORY)))
    }),
    needing(
        OpNeeds::Tmpfile,
        op("open-tmpfile", "open(2), O_TMPFILE", &[one(Dir, FOLLOW | CHANGE)], |cx, a, _| {
            opened(cx, a, V::C("O_TMPFILE | O_RDWR", i64::from(libc::O_TMPFILE | libc::O_RDWR)))
        }),
    ),
    op("mkdir", "mkdir()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOM)], |cx, a, _| {
        cx.call(nr!(mkdirat), &[AT, a, V::O(0o755)])
    }),
    needing(
        OpNeeds::Kind(Kind::Fifo),
        op("mkfifo", "mkfifo()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOM)], |cx, a, _| {
            node(cx, a, "S_IFIFO | 0644", libc::S_IFIFO | 0o644, 0)
        }),
    ),
    op("mknod", "mknod()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOM)], |cx, a, _| {
        node(cx, a, "S_IFREG | 0644", libc::S_IFREG | 0o644, 0)
    }),
    needing(
        OpNeeds::Kind(Kind::Char),
        op("mknod-char", "mknod()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOT | ROOM)], |cx, a, _| {
            node(cx, a, "S_IFCHR | 0644", libc::S_IFCHR | 0o644, 1 << 8 | 2)
        }),
    ),
    needing(
        OpNeeds::Kind(Kind::Block),
        op("mknod-block", "mknod()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOT | ROOM)], |cx, a, _| {
            node(cx, a, "S_IFBLK | 0644", libc::S_IFBLK | 0o644, 1 << 8 | 2)
        }),
    ),
    needing(
        OpNeeds::Kind(Kind::Socket),
        op("bind", "bind()", &[one(Nothing, CHANGE | PARENT | EXCL | SHORT | COPIED | ROOM)], bind),
    ),
    needing(
        OpNeeds::Kind(Kind::Symlink),
        op("symlink", "symlink()", &[one(Nothing, CHANGE | PARENT | EXCL | ROOM)], |cx, a, _| {
            cx.call(nr!(symlinkat), &[V::P("target"), AT, a])
        }),
    ),
    needing(
        OpNeeds::Links,
        op(
            "link",
            "link()",
            &[slot("from", File, CHANGE | SAME_FS), slot("to", Nothing, CHANGE | PARENT | EXCL | SAME_FS | ROOM)],
            |cx, a, b| cx.call(nr!(linkat), &[AT, a, AT, b, V::N(0)]),
        ),
    ),
    op("unlink", "unlink()", &[one(File, CHANGE | PARENT | AWAY)], |cx, a, _| {
        cx.call(nr!(unlinkat), &[AT, a, V::N(0)])
    }),
    op("rmdir", "rmdir()", &[one(Dir, CHANGE | PARENT | AWAY)], |cx, a, _| cx.call(nr!(unlinkat), &[AT, a, REMOVEDIR])),
    op(
        "rename",
        "rename()",
        &[slot("from", File, CHANGE | PARENT | AWAY | SAME_FS), slot("to", Nothing, CHANGE | PARENT | SAME_FS)],
        |cx, a, b| rename(cx, a, b, "0", 0),
    ),
    op(
        "rename-dir",
        "rename()",
        &[slot("from", Dir, CHANGE | PARENT | AWAY | SAME_FS), slot("to", Nothing, CHANGE | PARENT | SAME_FS)],
        |cx, a, b| rename(cx, a, b, "0", 0),
    ),
    needing(
        OpNeeds::NoReplace,
        op(
            "rename-noreplace",
            "rename(2), RENAME_NOREPLACE",
            &[
                slot("from", File, CHANGE | PARENT | AWAY | SAME_FS),
                slot("to", Nothing, CHANGE | PARENT | EXCL | SAME_FS),
            ],
            |cx, a, b| rename(cx, a, b, "RENAME_NOREPLACE", 1),
        ),
    ),
    needing(
        OpNeeds::Exchange,
        op(
            "rename-exchange",
            "rename(2), RENAME_EXCHANGE",
            &[slot("from", File, CHANGE | PARENT | AWAY | SAME_FS), slot("to", File, CHANGE | PARENT | AWAY | SAME_FS)],
            |cx, a, b| rename(cx, a, b, "RENAME_EXCHANGE", 2),
        ),
    ),
    op("readlink", "readlink()", &[one(Link, 0)], |cx, a, _| {
        let mut bytes = [0u8; 64];
        cx.call(nr!(readlinkat), &[AT, a, V::W(sys::cells(&mut bytes)), V::N(64)])
    }),
    op("chdir", "chdir()", &[one(Dir, FOLLOW)], |cx, a, _| {
        let here = cx.open(".", V::C("O_PATH | O_DIRECTORY", i64::from(libc::O_PATH | libc::O_DIRECTORY)), 0)?;
        let result = cx.call(nr!(chdir), &[a]);
        let _ = cx.call(nr!(fchdir), &[V::Fd(here as i32)]);
        cx.close(here);
        result
    }),
    op("statfs", "statvfs()", &[one(File, FOLLOW)], |cx, a, _| {
        let mut bytes = [0u8; 120];
        cx.call(nr!(statfs), &[a, V::W(sys::cells(&mut bytes))])
    }),
    op("exec", "execve()", &[one(File, FOLLOW | ROOT)], |cx, a, _| {
        // A file executed by mistake is empty: ENOEXEC.
        cx.call(nr!(execve), &[a, V::Null, V::Null])
    }),
    op("inotify", "inotify_add_watch(2)", &[one(File, FOLLOW)], watch),
    needing(
        OpNeeds::Xattr,
        op("setxattr", "setxattr(2)", &[one(File, FOLLOW | CHANGE)], |cx, a, _| {
            cx.call(nr!(setxattr), &[a, V::P(XATTR), V::B(b"value"), V::N(5), V::N(0)])
        }),
    ),
    needing(
        OpNeeds::Xattr,
        op("getxattr", "getxattr(2)", &[one(File, FOLLOW)], |cx, a, _| {
            let mut bytes = [0u8; 64];
            cx.call(nr!(getxattr), &[a, V::P(XATTR), V::W(sys::cells(&mut bytes)), V::N(64)])
        }),
    ),
    needing(
        OpNeeds::Xattr,
        op("listxattr", "listxattr(2)", &[one(File, FOLLOW)], |cx, a, _| {
            let mut bytes = [0u8; 1024];
            cx.call(nr!(listxattr), &[a, V::W(sys::cells(&mut bytes)), V::N(1024)])
        }),
    ),
    needing(
        OpNeeds::Xattr,
        op("removexattr", "removexattr(2)", &[one(File, FOLLOW | CHANGE)], |cx, a, _| {
            cx.call(nr!(removexattr), &[a, V::P(XATTR)])
        }),
    ),
    op("open-trunc", "open()", &[one(File, FOLLOW | CHANGE)], |cx, a, _| {
        opened(cx, a, V::C("O_WRONLY | O_TRUNC", i64::from(libc::O_WRONLY | libc::O_TRUNC)))
    }),
    op("access-write", "access()", &[one(File, FOLLOW | CHANGE)], |cx, a, _| {
        cx.call(nr!(faccessat), &[AT, a, V::C("W_OK", 2)])
    }),
    op("open-write-only", "open()", &[one(File, FOLLOW | CHANGE)], |cx, a, _| opened(cx, a, WRONLY)),
];

impl Op {
    /// Checks that the operation is possible here.
    ///
    /// # Errors
    /// Skips the case with the reason if not.
    pub(crate) fn possible(&self, cx: &Ctx<'_>) -> Run {
        let facts = cx.facts;
        match self.needs {
            OpNeeds::Nothing => Ok(()),
            OpNeeds::Kind(kind) => cx.needs_kind(kind),
            OpNeeds::Xattr => cx.needs(facts.features.xattr, "no extended attributes of users"),
            OpNeeds::Links => cx.needs(facts.features.links, "no hard links"),
            OpNeeds::NoReplace => cx.needs(facts.features.noreplace, "no RENAME_NOREPLACE"),
            OpNeeds::Exchange => cx.needs(facts.features.exchange, "no RENAME_EXCHANGE"),
            OpNeeds::Tmpfile => cx.needs(facts.features.tmpfile, "no O_TMPFILE"),
        }
    }

    /// Creates the file that a slot needs at a path.
    ///
    /// # Errors
    /// Returns an error if it cannot be made.
    pub(crate) fn prepare(&self, cx: &mut Ctx<'_>, at: usize, path: &str) -> Run {
        match self.slots[at].want {
            Nothing => Ok(()),
            Dir => cx.dir(path, 0o755),
            Link => cx.make(Kind::Symlink, path),
            File => {
                cx.make(Kind::Regular, path)?;
                if self.needs == OpNeeds::Xattr {
                    let set = cx.call(nr!(setxattr), &[V::P(path), V::P(XATTR), V::B(b"1"), V::N(1), V::N(0)]);
                    cx.set_up("xattr.sets", "setxattr", set)?;
                }
                Ok(())
            }
        }
    }

    /// Makes the call with this path in one slot, and a newly created file in the other.
    ///
    /// # Errors
    /// Returns an error if the other file cannot be made.
    pub(crate) fn with(&self, cx: &mut Ctx<'_>, at: usize, path: V<'_>) -> Result<R, crate::ctx::Stop> {
        let other = self.other(cx, at)?;
        Ok(self.call_at(cx, at, path, &other))
    }

    /// Returns the path in the other slot, prepared; empty if there is none.
    ///
    /// # Errors
    /// Returns an error if its file cannot be made.
    pub(crate) fn other(&self, cx: &mut Ctx<'_>, at: usize) -> Result<String, crate::ctx::Stop> {
        if self.slots.len() < 2 {
            return Ok(String::new());
        }
        let name = cx.fresh();
        self.prepare(cx, 1 - at, &name)?;
        if self.slots[1 - at].want != Nothing {
            let who = cx.actor();
            cx.give(&name, who.uid, who.gid)?;
        }
        Ok(name)
    }

    /// Makes the call with both paths.
    pub(crate) fn call_at(&self, cx: &mut Ctx<'_>, at: usize, path: V<'_>, other: &str) -> R {
        let other = V::P(other);
        if at == 0 { (self.call)(cx, path, other) } else { (self.call)(cx, other, path) }
    }
}
