//! Open files without a name: removed ones, and those of O_TMPFILE.

use super::case::{Hand, linux, shall};
use super::sizes;
use crate::ctx::{Ctx, RDWR};
use crate::sys::{V, nr};

pub(super) const CASES: &[Hand] = &[
    shall("unlink.open-links", "unlink()", "An open file that was removed has no links.", |cx| {
        let fd = sizes::with_content(cx, "f", b"data")?;
        let gone = cx.unlink("f");
        cx.ok("unlink", gone);
        let got = cx.fstat(fd).map(|stat| stat.nlink);
        cx.that(got == Ok(0), "links of the open file", "0", &format!("{got:?}"));
        Ok(())
    }),
    shall(
        "unlink.open-content",
        "unlink()",
        "An open file that was removed can be read, written, truncated and changed until it is closed.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"Hello, World!")?;
            let gone = cx.unlink("f");
            cx.ok("unlink", gone);
            sizes::reads(cx, fd, 0, b"Hello, World!");
            let written = cx.pwrite(fd, b"more", 5_000);
            cx.that(written == Ok(4), "bytes written", "4", &format!("{written:?}"));
            let got = cx.fstat(fd).map(|stat| stat.size);
            cx.that(got == Ok(5_004), "size", "5004", &format!("{got:?}"));
            let result = cx.ftruncate(fd, 5);
            cx.ok("ftruncate", result);
            sizes::reads(cx, fd, 0, b"Hello");
            let result = cx.call(nr!(fchmod), &[V::Fd(fd as i32), V::O(0o600)]);
            cx.ok("fchmod", result);
            let result = cx.fsync(fd);
            cx.ok("fsync", result);
            Ok(())
        },
    ),
    shall(
        "unlink.open-new-name",
        "unlink()",
        "A new file can take the name of a removed open one; the two share nothing.",
        |cx| {
            let old = sizes::with_content(cx, "f", b"old")?;
            let gone = cx.unlink("f");
            cx.ok("unlink", gone);
            let new = sizes::with_content(cx, "f", b"new")?;
            sizes::reads(cx, old, 0, b"old");
            sizes::reads(cx, new, 0, b"new");
            let inodes = (cx.fstat(old).map(|stat| stat.ino), cx.fstat(new).map(|stat| stat.ino));
            cx.that(inodes.0 != inodes.1, "inodes of both", "different", &format!("{inodes:?}"));
            Ok(())
        },
    ),
    shall(
        "rmdir.open",
        "rmdir()",
        "An open directory that was removed is empty, and no files can be created in it: ENOENT.",
        |cx| {
            cx.dir("d", 0o755)?;
            let fd = cx.open("d", crate::ctx::RDONLY, 0);
            let fd = cx.set_up("make.dir", "open", fd)?;
            let gone = cx.rmdir("d");
            cx.ok("rmdir", gone);
            let made = cx.call(nr!(openat), &[V::Fd(fd as i32), V::P("x"), crate::ctx::NEW, V::O(0o644)]);
            cx.answers("a new file in it", made, &[libc::ENOENT]);
            let mut bytes = [0u8; 512];
            let listed = cx.call(nr!(getdents64), &[V::Fd(fd as i32), V::W(crate::sys::cells(&mut bytes)), V::N(512)]);
            cx.answers("reading it", listed, &[0, libc::ENOENT]);
            Ok(())
        },
    ),
    linux(
        "tmpfile.no-name",
        "open(2), O_TMPFILE",
        "A file of O_TMPFILE has no name and no links, and stores written data.",
        |cx| {
            let fd = temporary(cx, "O_TMPFILE | O_RDWR", 0)?;
            let written = cx.pwrite(fd, b"data", 0);
            cx.that(written == Ok(4), "bytes written", "4", &format!("{written:?}"));
            sizes::reads(cx, fd, 0, b"data");
            let got = cx.fstat(fd).map(|stat| (stat.nlink, stat.size, stat.mode & 0o7777));
            cx.that(got == Ok((0, 4, 0o640)), "links, size and mode", "0, 4 and 0640", &format!("{got:?}"));
            let listed = super::dirs::list(cx, ".").map(|names| names.len());
            cx.that(listed == Ok(2), "entries of the directory", "only . and ..", &format!("{listed:?}"));
            Ok(())
        },
    ),
    linux(
        "tmpfile.linkat",
        "open(2), O_TMPFILE",
        "linkat gives such a file a name; with O_EXCL it never gets one.",
        |cx| {
            for (name, flags, expected) in
                [("O_TMPFILE | O_RDWR", 0, 0), ("O_TMPFILE | O_EXCL | O_RDWR", libc::O_EXCL, libc::ENOENT)]
            {
                let fd = temporary(cx, name, flags)?;
                let _ = cx.pwrite(fd, b"data", 0);
                let path = format!("/proc/self/fd/{fd}");
                let follow = V::C("AT_SYMLINK_FOLLOW", i64::from(libc::AT_SYMLINK_FOLLOW));
                let result = cx.call(nr!(linkat), &[crate::sys::AT, V::P(&path), crate::sys::AT, V::P("f"), follow]);
                cx.answers(name, result, &[expected]);
                if let Some(stat) = result.ok().and_then(|_| cx.expect_exists("the name", "f")) {
                    cx.equal("links", 1, i64::from(stat.nlink));
                    cx.equal("size", 4, stat.size as i64);
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
];

fn temporary(cx: &mut Ctx<'_>, name: &'static str, flags: i32) -> Result<i64, crate::ctx::Stop> {
    cx.needs(cx.facts.features.tmpfile, "no O_TMPFILE")?;
    let fd = cx.open_as(".", name, libc::O_TMPFILE | libc::O_RDWR | flags, 0o640);
    cx.set_up("make.regular", "O_TMPFILE", fd)
}

/// Opens a file for reading and writing, as part of the set-up.
pub(super) fn open(cx: &mut Ctx<'_>, path: &str) -> Result<i64, crate::ctx::Stop> {
    let fd = cx.open(path, RDWR, 0);
    cx.set_up("make.regular", "open", fd)
}
