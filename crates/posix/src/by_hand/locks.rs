//! Locks of fcntl, by process and by open file description, and locks of flock.

use super::case::{Hand, linux, shall};
use super::{shared, unlinked};
use crate::ctx::{Ctx, Run};
use crate::sys::{self, R, V, nr};

/// The fcntl commands of one kind of lock.
struct Locks {
    set: (&'static str, i64),
    get: (&'static str, i64),
}

const PROCESS: Locks = Locks { set: ("F_SETLK", libc::F_SETLK as i64), get: ("F_GETLK", libc::F_GETLK as i64) };
const DESCRIPTION: Locks =
    Locks { set: ("F_OFD_SETLK", libc::F_OFD_SETLK as i64), get: ("F_OFD_GETLK", libc::F_OFD_GETLK as i64) };

const BUSY: &[i32] = &[libc::EAGAIN, libc::EACCES];

/// Encodes `struct flock` of 64-bit Linux: type, whence, start, length, process.
/// Source: fcntl(2), asm-generic/fcntl.h.
fn flock_bytes(kind: i32, start: i64, length: i64) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..2].copy_from_slice(&(kind as i16).to_ne_bytes());
    bytes[8..16].copy_from_slice(&start.to_ne_bytes());
    bytes[16..24].copy_from_slice(&length.to_ne_bytes());
    bytes
}

fn raw(locks: &Locks, fd: i64, kind: i32, start: i64, length: i64) -> R {
    let bytes = flock_bytes(kind, start, length);
    sys::call(nr!(fcntl), &[V::Fd(fd as i32), V::N(locks.set.1), V::B(&bytes)])
}

fn lock(cx: &mut Ctx<'_>, locks: &Locks, fd: i64, kind: i32, start: i64, length: i64) -> R {
    let bytes = flock_bytes(kind, start, length);
    cx.remark(&format!("lock of type {kind} (0 read, 1 write, 2 none), bytes {start} to {}", start + length));
    cx.call(nr!(fcntl), &[V::Fd(fd as i32), V::C(locks.set.0, locks.set.1), V::B(&bytes)])
}

/// Tests whether another process could take a lock: its errno must be one of `allowed`.
fn other(cx: &mut Ctx<'_>, kind: i32, start: i64, length: i64, what: &str, allowed: &'static [i32]) -> Run {
    let mut got = libc::EIO;
    let map = sys::Map::shared(-1, 0, 4096);
    let map = cx.set_up("make.regular", "mmap", map)?;
    shared::in_processes(cx, 1, &mut |_| {
        let fd = sys::call(nr!(openat), &[sys::AT, V::P("f"), V::N(i64::from(libc::O_RDWR))])?;
        let error = raw(&PROCESS, fd, kind, start, length).err().unwrap_or(0);
        map.set(0, error as u8);
        Ok(0)
    })?;
    if cx.failed == 0 {
        got = i32::from(map.get(0));
    }
    let result = if got == 0 { Ok(0) } else { Err(got) };
    cx.answers(what, result, allowed);
    Ok(())
}

pub(super) const CASES: &[Hand] = &[
    shall(
        "locks.fcntl-excludes",
        "fcntl()",
        "A write lock of one process excludes others from the same bytes, and from no other bytes.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
            let got = lock(cx, &PROCESS, fd, libc::F_WRLCK, 10, 10);
            cx.ok("write lock", got);
            other(cx, libc::F_WRLCK, 15, 1, "a write lock on the same bytes", BUSY)?;
            other(cx, libc::F_RDLCK, 0, 11, "a read lock that overlaps", BUSY)?;
            other(cx, libc::F_WRLCK, 20, 10, "a write lock after", &[0])?;
            other(cx, libc::F_WRLCK, 0, 10, "a write lock before", &[0])
        },
    ),
    shall("locks.fcntl-shared", "fcntl()", "Read locks are shared; a write lock waits for all of them.", |cx| {
        let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
        let got = lock(cx, &PROCESS, fd, libc::F_RDLCK, 0, 0);
        cx.ok("read lock", got);
        other(cx, libc::F_RDLCK, 0, 0, "another read lock", &[0])?;
        other(cx, libc::F_WRLCK, 50, 1, "a write lock", BUSY)
    }),
    shall(
        "locks.fcntl-unlock",
        "fcntl()",
        "Unlocking the middle of a lock frees only that range; its type can be changed in place.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
            for (kind, start, length) in [(libc::F_WRLCK, 0, 90), (libc::F_UNLCK, 30, 30), (libc::F_RDLCK, 0, 30)] {
                let got = lock(cx, &PROCESS, fd, kind, start, length);
                cx.ok("lock", got);
            }
            other(cx, libc::F_WRLCK, 30, 30, "a write lock on the freed range", &[0])?;
            other(cx, libc::F_RDLCK, 0, 30, "a read lock on the range that became a read lock", &[0])?;
            other(cx, libc::F_WRLCK, 0, 30, "a write lock on it", BUSY)?;
            other(cx, libc::F_RDLCK, 60, 30, "a read lock on the rest", BUSY)
        },
    ),
    shall("locks.fcntl-close", "fcntl()", "Closing any descriptor of the file frees the locks of the process.", |cx| {
        let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
        let second = unlinked::open(cx, "f")?;
        let got = lock(cx, &PROCESS, fd, libc::F_WRLCK, 0, 0);
        cx.ok("write lock", got);
        cx.close(second);
        other(cx, libc::F_WRLCK, 0, 0, "a write lock after another descriptor was closed", &[0])
    }),
    shall(
        "locks.fcntl-exit",
        "fcntl()",
        "The locks of a process are released when it ends, and a child does not inherit them.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
            shared::in_processes(cx, 1, &mut |_| raw(&PROCESS, fd, libc::F_WRLCK, 0, 0))?;
            let got = lock(cx, &PROCESS, fd, libc::F_WRLCK, 0, 0);
            cx.ok("a write lock after the owner's process ended", got);
            shared::in_processes(cx, 1, &mut |_| match raw(&PROCESS, fd, libc::F_WRLCK, 0, 0) {
                Err(libc::EAGAIN | libc::EACCES) => Ok(0),
                _ => Err(libc::EIO),
            })
        },
    ),
    shall("locks.fcntl-getlk", "fcntl()", "F_GETLK reports the conflicting lock and its process.", |cx| {
        let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
        let got = lock(cx, &PROCESS, fd, libc::F_WRLCK, 10, 10);
        cx.ok("write lock", got);
        let me = std::process::id();
        shared::in_processes(cx, 1, &mut |_| {
            let fd = sys::call(nr!(openat), &[sys::AT, V::P("f"), V::N(i64::from(libc::O_RDWR))])?;
            let mut bytes = flock_bytes(libc::F_RDLCK, 0, 100);
            sys::call(nr!(fcntl), &[V::Fd(fd as i32), V::N(PROCESS.get.1), V::W(sys::cells(&mut bytes))])?;
            let word = |at: usize| i64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
            let pid = u32::from_ne_bytes(bytes[24..28].try_into().unwrap_or_default());
            let kind = i32::from(i16::from_ne_bytes([bytes[0], bytes[1]]));
            let right = (kind, word(8), word(16), pid) == (libc::F_WRLCK, 10, 10, me);
            if right { Ok(0) } else { Err(libc::EIO) }
        })
    }),
    shall(
        "locks.fcntl-access",
        "fcntl()",
        "A write lock requires a writable descriptor, and a read lock a readable one: EBADF.",
        |cx| {
            cx.file("f", b"data")?;
            for (flags, kind) in [(crate::ctx::RDONLY, libc::F_WRLCK), (crate::ctx::WRONLY, libc::F_RDLCK)] {
                let fd = cx.open("f", flags, 0);
                let fd = cx.set_up("make.regular", "open", fd)?;
                let result = lock(cx, &PROCESS, fd, kind, 0, 0);
                cx.answers("lock", result, &[libc::EBADF]);
                cx.close(fd);
            }
            Ok(())
        },
    ),
    linux(
        "locks.ofd-excludes",
        "fcntl(2), F_OFD_SETLK",
        "Locks of open file descriptions exclude each other even inside one process.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
            let second = unlinked::open(cx, "f")?;
            let got = lock(cx, &DESCRIPTION, fd, libc::F_WRLCK, 0, 50);
            cx.ok("write lock", got);
            let got = lock(cx, &DESCRIPTION, second, libc::F_RDLCK, 0, 10);
            cx.answers("a read lock by another descriptor", got, BUSY);
            let got = lock(cx, &DESCRIPTION, second, libc::F_WRLCK, 50, 10);
            cx.ok("a write lock on other bytes", got);
            other(cx, libc::F_WRLCK, 0, 10, "a lock of a process", BUSY)
        },
    ),
    linux(
        "locks.ofd-close",
        "fcntl(2), F_OFD_SETLK",
        "Such a lock stays when another descriptor of the file is closed, and is released with its own.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
            let second = unlinked::open(cx, "f")?;
            let got = lock(cx, &DESCRIPTION, fd, libc::F_WRLCK, 0, 0);
            cx.ok("write lock", got);
            cx.close(second);
            other(cx, libc::F_WRLCK, 0, 10, "after another descriptor was closed", BUSY)?;
            cx.close(fd);
            other(cx, libc::F_WRLCK, 0, 10, "after its own was closed", &[0])
        },
    ),
    linux("locks.ofd-getlk", "fcntl(2), F_OFD_SETLK", "F_OFD_GETLK reports such a lock, with the process -1.", |cx| {
        let fd = super::sizes::with_content(cx, "f", &[0; 100])?;
        let second = unlinked::open(cx, "f")?;
        let got = lock(cx, &DESCRIPTION, fd, libc::F_WRLCK, 5, 6);
        cx.ok("write lock", got);
        let mut bytes = flock_bytes(libc::F_RDLCK, 0, 100);
        let args = [V::Fd(second as i32), V::C(DESCRIPTION.get.0, DESCRIPTION.get.1), V::W(sys::cells(&mut bytes))];
        let got = cx.call(nr!(fcntl), &args);
        cx.ok("F_OFD_GETLK", got);
        let pid = i32::from_ne_bytes(bytes[24..28].try_into().unwrap_or_default());
        cx.equal("process", -1, i64::from(pid));
        Ok(())
    }),
    linux(
        "locks.flock-excludes",
        "flock(2)",
        "An exclusive lock of flock excludes all other locks; a shared one excludes only exclusive ones.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", b"")?;
            let second = unlinked::open(cx, "f")?;
            for (fd, name, op, allowed) in [
                (fd, "LOCK_EX | LOCK_NB", libc::LOCK_EX, 0),
                (second, "LOCK_SH | LOCK_NB", libc::LOCK_SH, libc::EWOULDBLOCK),
                (fd, "LOCK_SH | LOCK_NB", libc::LOCK_SH, 0),
                (second, "LOCK_SH | LOCK_NB", libc::LOCK_SH, 0),
                (second, "LOCK_EX | LOCK_NB", libc::LOCK_EX, libc::EWOULDBLOCK),
                (fd, "LOCK_UN", libc::LOCK_UN, 0),
                (second, "LOCK_EX | LOCK_NB", libc::LOCK_EX, 0),
            ] {
                let result = cx.call(nr!(flock), &[V::Fd(fd as i32), V::C(name, i64::from(op | libc::LOCK_NB))]);
                cx.answers(name, result, &[allowed]);
            }
            Ok(())
        },
    ),
    linux(
        "locks.flock-fork",
        "flock(2)",
        "A lock of flock is shared with children, and released when its last descriptor is closed.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", b"")?;
            let exclusive = V::C("LOCK_EX | LOCK_NB", i64::from(libc::LOCK_EX | libc::LOCK_NB));
            let got = cx.call(nr!(flock), &[V::Fd(fd as i32), exclusive]);
            cx.ok("LOCK_EX", got);
            shared::in_processes(cx, 1, &mut |_| {
                sys::call(nr!(flock), &[V::Fd(fd as i32), exclusive])?;
                sys::close(fd as i32);
                Ok(0)
            })?;
            let second = unlinked::open(cx, "f")?;
            let got = cx.call(nr!(flock), &[V::Fd(second as i32), exclusive]);
            cx.answers("after the child closed its copy", got, &[libc::EWOULDBLOCK]);
            cx.close(fd);
            let got = cx.call(nr!(flock), &[V::Fd(second as i32), exclusive]);
            cx.ok("after the last one was closed", got);
            Ok(())
        },
    ),
    linux(
        "locks.flock-and-fcntl",
        "flock(2)",
        "Locks of flock and of fcntl are independent on local file systems.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", b"data")?;
            let second = unlinked::open(cx, "f")?;
            let exclusive = V::C("LOCK_EX | LOCK_NB", i64::from(libc::LOCK_EX | libc::LOCK_NB));
            let got = cx.call(nr!(flock), &[V::Fd(fd as i32), exclusive]);
            cx.ok("LOCK_EX", got);
            let got = lock(cx, &DESCRIPTION, second, libc::F_WRLCK, 0, 0);
            cx.ok("a lock of fcntl by another descriptor", got);
            Ok(())
        },
    ),
    linux(
        "locks.lease",
        "fcntl(2), F_SETLEASE",
        "A write lease is granted while no one else has the file open, and refused otherwise: EAGAIN.",
        |cx| {
            let fd = super::sizes::with_content(cx, "f", b"data")?;
            let set = V::C("F_SETLEASE", 1024);
            let (write, none) = (V::C("F_WRLCK", i64::from(libc::F_WRLCK)), V::C("F_UNLCK", i64::from(libc::F_UNLCK)));
            let got = cx.call(nr!(fcntl), &[V::Fd(fd as i32), set, write]);
            if matches!(got, Err(libc::EINVAL | libc::EACCES | libc::EOPNOTSUPP)) {
                cx.needs(false, "no leases")?;
            }
            cx.ok("F_SETLEASE", got);
            let got = cx.call(nr!(fcntl), &[V::Fd(fd as i32), set, none]);
            cx.ok("releasing it", got);
            let second = unlinked::open(cx, "f")?;
            let got = cx.call(nr!(fcntl), &[V::Fd(second as i32), set, write]);
            cx.answers("while another descriptor is open", got, &[libc::EAGAIN]);
            Ok(())
        },
    ),
];
