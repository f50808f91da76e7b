//! Permissions: one function decides which accesses are granted, and every operation is compared with it, for owner,
//! group, supplementary group and others, with each of eight modes. The other classes have the opposite bits, so that
//! a wrong class shows up.

use crate::ctx::{A, B, Ctx, RDONLY, RDWR, Run, WRONLY, Who};
use crate::facts::Kind;
use crate::ops::XATTR;
use crate::sys::{self, AT, R, V, nr};

/// Read, write, and search or execute.
const R_BIT: u32 = 4;
const W_BIT: u32 = 2;
const X_BIT: u32 = 1;

/// Returns the bits that the kernel grants. Source: POSIX.1-2017, XBD 4.5 "File Access Permissions":
/// the first matching class decides.
fn granted(who: &Who, owner: u32, group: u32, mode: u32) -> u32 {
    let shift = if who.uid == owner {
        6
    } else if who.gid == group || who.groups.contains(&group) {
        3
    } else {
        0
    };
    mode >> shift & 7
}

/// Relation of the user to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The file's owner.
    Owner,
    /// The file's group is the user's.
    Group,
    /// The file's group is a supplementary group of the user.
    Supplementary,
    Other,
}

/// All classes, with their names in ids.
pub(crate) const CLASSES: [(Class, &str); 4] = [
    (Class::Owner, "owner"),
    (Class::Group, "group"),
    (Class::Supplementary, "supplementary"),
    (Class::Other, "other"),
];

/// An operation, and the permissions that it needs.
pub(crate) struct Access {
    /// Name in ids.
    pub name: &'static str,
    pub page: &'static str,
    /// Type of the file whose mode is tested.
    pub kind: Kind,
    /// Bits that must be granted.
    pub needs: u32,
    /// Whether the owner is always permitted.
    pub owner_may: bool,
    /// Makes the call. The file is `f`; in a directory `f/x` is a file.
    pub call: fn(&mut Ctx<'_>) -> R,
}

const fn row(name: &'static str, page: &'static str, kind: Kind, needs: u32, call: fn(&mut Ctx<'_>) -> R) -> Access {
    Access { name, page, kind, needs, owner_may: false, call }
}

fn opened(cx: &mut Ctx<'_>, flags: V<'_>) -> R {
    let fd = cx.open("f", flags, 0)?;
    cx.close(fd);
    Ok(0)
}

fn nonblocking(cx: &mut Ctx<'_>, name: &'static str, flags: i32) -> R {
    match opened(cx, V::C(name, i64::from(flags | libc::O_NONBLOCK))) {
        // No reader, but permission was granted.
        Err(libc::ENXIO) => Ok(0),
        result => result,
    }
}

fn may(cx: &mut Ctx<'_>, name: &'static str, bits: u32) -> R {
    cx.call(nr!(faccessat), &[AT, V::P("f"), V::C(name, i64::from(bits))])
}

use Kind::{Dir, Fifo, Regular};

pub(crate) const ACCESSES: &[Access] = &[
    row("open-read", "open()", Regular, R_BIT, |cx| opened(cx, RDONLY)),
    row("open-write", "open()", Regular, W_BIT, |cx| opened(cx, WRONLY)),
    row("open-rdwr", "open()", Regular, R_BIT | W_BIT, |cx| opened(cx, RDWR)),
    row("open-trunc", "open()", Regular, R_BIT | W_BIT, |cx| {
        opened(cx, V::C("O_RDONLY | O_TRUNC", i64::from(libc::O_TRUNC)))
    }),
    row("open-fifo-read", "open()", Fifo, R_BIT, |cx| nonblocking(cx, "O_RDONLY | O_NONBLOCK", libc::O_RDONLY)),
    row("open-fifo-write", "open()", Fifo, W_BIT, |cx| nonblocking(cx, "O_WRONLY | O_NONBLOCK", libc::O_WRONLY)),
    row("open-fifo-rdwr", "open()", Fifo, R_BIT | W_BIT, |cx| nonblocking(cx, "O_RDWR | O_NONBLOCK", libc::O_RDWR)),
    row("list", "open()", Dir, R_BIT, |cx| opened(cx, RDONLY)),
    row("search", "stat()", Dir, X_BIT, |cx| cx.lstat("f/x").map(|_| 0)),
    row("chdir", "chdir()", Dir, X_BIT, |cx| {
        cx.call(nr!(chdir), &[V::P("f")])?;
        cx.call(nr!(chdir), &[V::P("..")])
    }),
    row("mkdir-in", "mkdir()", Dir, W_BIT | X_BIT, |cx| cx.mkdir("f/n", 0o755)),
    row("create-in", "open()", Dir, W_BIT | X_BIT, |cx| {
        let fd = cx.open("f/n", crate::ctx::NEW, 0o644)?;
        cx.close(fd);
        Ok(0)
    }),
    row("symlink-in", "symlink()", Dir, W_BIT | X_BIT, |cx| cx.symlink("x", "f/n")),
    row("mknod-in", "mknod()", Dir, W_BIT | X_BIT, |cx| {
        let mode = V::C("S_IFREG | 0644", i64::from(libc::S_IFREG | 0o644));
        cx.call(nr!(mknodat), &[AT, V::P("f/n"), mode, V::N(0)])
    }),
    row("unlink-in", "unlink()", Dir, W_BIT | X_BIT, |cx| cx.unlink("f/x")),
    row("rename-from", "rename()", Dir, W_BIT | X_BIT, |cx| cx.rename("f/x", "moved")),
    row("rename-to", "rename()", Dir, W_BIT | X_BIT, |cx| cx.rename("own", "f/n")),
    row("truncate", "truncate()", Regular, W_BIT, |cx| cx.truncate("f", 1)),
    row("access-read", "access()", Regular, R_BIT, |cx| may(cx, "R_OK", R_BIT)),
    row("access-write", "access()", Regular, W_BIT, |cx| may(cx, "W_OK", W_BIT)),
    row("access-exec", "access()", Regular, X_BIT, |cx| may(cx, "X_OK", X_BIT)),
    row("access-all", "access()", Dir, R_BIT | W_BIT | X_BIT, |cx| may(cx, "R_OK | W_OK | X_OK", 7)),
    Access {
        owner_may: true,
        ..row("utimes-now", "utimensat()", Regular, W_BIT, |cx| {
            cx.call(nr!(utimensat), &[AT, V::P("f"), V::Null, V::N(0)])
        })
    },
    row("getxattr", "getxattr(2)", Regular, R_BIT, |cx| {
        let mut bytes = [0u8; 16];
        cx.call(nr!(getxattr), &[V::P("f"), V::P(XATTR), V::W(sys::cells(&mut bytes)), V::N(16)])
    }),
    row("setxattr", "setxattr(2)", Regular, W_BIT, |cx| {
        cx.call(nr!(setxattr), &[V::P("f"), V::P(XATTR), V::B(b"w"), V::N(1), V::N(0)])
    }),
    row("inotify", "inotify_add_watch(2)", Regular, R_BIT, |cx| {
        let fd = cx.call(nr!(inotify_init1), &[V::N(0)])?;
        let result = cx.call(nr!(inotify_add_watch), &[V::Fd(fd as i32), V::P("f"), V::C("IN_MODIFY", 2)]);
        cx.close(fd);
        result
    }),
];

/// A group that only supplementary members have.
const EXTRA: u32 = 60_009;

/// Tests an operation for a class of users.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn run(cx: &mut Ctx<'_>, access: &Access, class: Class) -> Run {
    if class != Class::Owner || cx.facts.uid == 0 {
        cx.needs_users()?;
    }
    cx.needs_kind(access.kind)?;
    let is_xattr = access.name.ends_with("xattr");
    cx.needs(cx.facts.features.xattr || !is_xattr, "no extended attributes of users")?;
    let (who, owner, group, shift) = match class {
        Class::Owner => (cx.actor(), cx.actor().uid, B.gid, 6),
        Class::Group => (A, B.uid, A.gid, 3),
        Class::Supplementary => (Who { groups: &[EXTRA], ..A }, B.uid, EXTRA, 3),
        Class::Other => (A, B.uid, B.gid, 0),
    };
    cx.set_mode(".", 0o777)?;
    let grants = |bits: &u32| bits & access.needs == access.needs;
    // Refused modes first: permitted calls change the file.
    for bits in (0..8).filter(|bits| !grants(bits)).chain((0..8).filter(grants)) {
        // The other classes have the opposite bits. The owner of a plain user's file must be able to clean up; the
        // runner takes care of that.
        let opposite = !bits & 7;
        let mode = (0..3).fold(0, |mode, class| mode | if class * 3 == shift { bits } else { opposite } << (class * 3));
        cx.make(access.kind, "f")?;
        match access.kind {
            Dir => cx.make(Regular, "f/x")?,
            Regular if is_xattr => {
                let set = cx.call(nr!(setxattr), &[V::P("f"), V::P(XATTR), V::B(b"v"), V::N(1), V::N(0)]);
                cx.set_up("xattr.sets", "setxattr", set)?;
            }
            _ => {}
        }
        cx.make(Regular, "own")?;
        cx.give("own", who.uid, who.gid)?;
        cx.give("f", owner, group)?;
        cx.set_mode("f", mode)?;
        let result = cx.as_user(who, |cx| (access.call)(cx));
        let has = granted(&who, owner, group, mode);
        let allowed = has & access.needs == access.needs || access.owner_may && class == Class::Owner;
        let expected = if allowed { 0 } else { libc::EACCES };
        cx.answers(&format!("{} of mode {mode:04o}", access.kind.name()), result.map(|_| 0), &[expected]);
        let _ = cx.chmod("f", 0o700);
        for path in ["f/x", "f/n", "f", "own", "moved"] {
            cx.remove(path);
        }
    }
    Ok(())
}
