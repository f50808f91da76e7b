//! Cases that need their own file system: full ones, and limits that are reached.

use super::case::{Hand, common, linux, on, shall};
use crate::Place;
use crate::ctx::{A, B, Ctx, NEW, RDWR, Stop};
use crate::facts::{self, APPEND, IMMUTABLE};
use crate::outcome::SkipKind;
use crate::sys::{R, V, nr};

/// Maximum number of links to create: more than ext2, ext3, ext4 and btrfs allow.
const LINKS_MAX: u32 = 66_000;
/// Number of directories to spread them over, because some file systems read a directory from its start.
const DIRECTORIES: u32 = 128;

/// The file of the user whose quota is used up.
fn data() -> String {
    format!("{}/data", crate::quota::DIRECTORY)
}

/// Writes after the first MiB until a write fails, at most 4 MiB. Returns the result of the last write.
fn write_on(cx: &mut Ctx<'_>, fd: i64) -> R {
    let block = vec![1u8; 65_536];
    let mut at = 1 << 20;
    let mut ended = Ok(0);
    for _ in 0..64 {
        ended = cx.pwrite(fd, &block, at);
        match ended {
            Ok(written) => at += written,
            Err(_) => break,
        }
    }
    ended
}

pub(super) const CASES: &[Hand] = &[
    on(
        Place::Image,
        shall(
            "link.emlink",
            "link()",
            "A file with the maximum number of links cannot get another: EMLINK. It keeps its links.",
            |cx| {
                for directory in 0..DIRECTORIES {
                    cx.dir(&format!("links-{directory}"), 0o755)?;
                }
                cx.file("linked", b"")?;
                let name = |made| format!("links-{}/{made}", made % DIRECTORIES);
                let make = |cx: &mut Ctx<'_>| {
                    let mut made = 1;
                    while cx.link("linked", &name(made)).is_ok() && made < LINKS_MAX {
                        made += 1;
                    }
                    made
                };
                let made = cx.in_a_loop(make, |made| {
                    format!(
                        "for (long i = 1; i < {made}; i++) {{ snprintf(buffer, sizeof buffer, \"links-%ld/%ld\", i % {DIRECTORIES}, i); \
                         syscall(SYS_linkat, AT_FDCWD, \"linked\", AT_FDCWD, buffer, 0L); }}"
                    )
                });
                let ended = if made < LINKS_MAX { cx.link("linked", &name(made)) } else { Ok(0) };
                let count = cx.lstat("linked").map_or(0, |stat| stat.nlink);
                if ended.is_ok() || ended == Err(libc::ENOSPC) {
                    for number in 1..=made {
                        let _ = cx.unlink(&name(number));
                    }
                    let why = format!("no limit was reached with {made} links");
                    return Err(Stop::Skip(SkipKind::LimitTooHigh, why));
                }
                cx.answers(&format!("link {}", made + 1), ended, &[libc::EMLINK]);
                cx.equal("remaining links", i64::from(made), i64::from(count));
                Ok(())
            },
        ),
    ),
    on(
        Place::Full,
        shall(
            "write.enospc",
            "write()",
            "A write on a full file system fails with ENOSPC or writes a part; the file keeps its old content.",
            |cx| {
                let fd = cx.open("data", RDWR, 0);
                let fd = cx.set_up("make.regular", "open", fd)?;
                let ended = write_on(cx, fd);
                cx.answers("writing on", ended, &[libc::ENOSPC]);
                super::sizes::reads(cx, fd, 0, b"data");
                let _ = cx.ftruncate(fd, 4);
                Ok(())
            },
        ),
    ),
    on(
        Place::Full,
        linux(
            "fallocate.enospc",
            "fallocate(2)",
            "Allocating more than the free space fails with ENOSPC, and the content stays.",
            |cx| {
                cx.needs(cx.facts.features.fallocate & 1 == 1, "no fallocate")?;
                let fd = cx.open("data", RDWR, 0);
                let fd = cx.set_up("make.regular", "open", fd)?;
                let result = cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::N(0), V::N(0), V::N(1 << 32)]);
                cx.answers("fallocate of 4 GiB", result, &[libc::ENOSPC]);
                super::sizes::reads(cx, fd, 0, b"data");
                let _ = cx.ftruncate(fd, 4);
                Ok(())
            },
        ),
    ),
    on(
        Place::Full,
        common("rename.works-when-full", "rename()", "Files can be renamed and removed on a full file system.", |cx| {
            let result = cx.rename("data", "moved");
            cx.ok("rename", result);
            let result = cx.rename("moved", "data");
            cx.ok("rename back", result);
            Ok(())
        }),
    ),
    on(
        Place::Quota,
        linux(
            "write.edquot",
            "write(2)",
            "A write beyond the user's quota fails with EDQUOT or writes a part; the file keeps its old content.",
            |cx| {
                cx.as_user(A, |cx| {
                    let fd = cx.open(&data(), RDWR, 0);
                    let fd = cx.set_up("make.regular", "open", fd)?;
                    let ended = write_on(cx, fd);
                    cx.answers("writing on", ended, &[libc::EDQUOT]);
                    super::sizes::reads(cx, fd, 0, b"data");
                    cx.close(fd);
                    Ok(())
                })
            },
        ),
    ),
    on(
        Place::Quota,
        common(
            "fallocate.edquot",
            "fallocate(2)",
            "Allocating beyond the user's quota fails with EDQUOT, and the content stays.",
            |cx| {
                cx.needs(cx.facts.features.fallocate & 1 == 1, "no fallocate")?;
                cx.as_user(A, |cx| {
                    let fd = cx.open(&data(), RDWR, 0);
                    let fd = cx.set_up("make.regular", "open", fd)?;
                    let result = cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::N(0), V::N(0), V::N(3 << 20)]);
                    cx.answers("fallocate of 3 MiB", result, &[libc::EDQUOT]);
                    super::sizes::reads(cx, fd, 0, b"data");
                    cx.close(fd);
                    Ok(())
                })
            },
        ),
    ),
    on(
        Place::Quota,
        common(
            "quota.read-and-rename",
            "quotactl(2)",
            "A user with an exhausted quota can still read and rename files and change their modes.",
            |cx| {
                cx.as_user(A, |cx| {
                    let moved = format!("{}/moved", crate::quota::DIRECTORY);
                    let fd = cx.open(&data(), crate::ctx::RDONLY, 0);
                    if cx.ok("open to read", fd.map(|_| 0)) {
                        super::sizes::reads(cx, fd.unwrap_or(-1), 0, b"data");
                        cx.close(fd.unwrap_or(-1));
                    }
                    for (from, to) in [(data(), moved.clone()), (moved, data())] {
                        let result = cx.rename(&from, &to);
                        cx.ok("rename", result);
                    }
                    let result = cx.chmod(&data(), 0o600);
                    cx.ok("chmod", result);
                    Ok(())
                })
            },
        ),
    ),
    on(
        Place::Quota,
        common(
            "quota.room-again",
            "quotactl(2)",
            "A user with an exhausted quota has space again after removing a large file.",
            |cx| {
                cx.as_user(A, |cx| {
                    let large = format!("{}/fill/data", crate::quota::DIRECTORY);
                    let removed = cx.unlink(&large);
                    if cx.ok("unlink", removed) {
                        // Freed space may count only after the next write-back.
                        let fd = cx.open(&data(), RDWR, 0);
                        let fd = cx.set_up("make.regular", "open", fd)?;
                        let _ = cx.fsync(fd);
                        let written = cx.pwrite(fd, &[1; 4096], 0);
                        cx.ok("write of 4 KiB", written.map(|_| 0));
                        cx.close(fd);
                        // Restore the state for the following cases.
                        let fd = cx.open(&large, NEW, 0o600);
                        let fd = cx.set_up("make.regular", "open", fd)?;
                        let mut at = 0;
                        while let Ok(written) = cx.pwrite(fd, &[1; 4096], at) {
                            at += written;
                            if at > 1 << 22 {
                                break;
                            }
                        }
                        cx.close(fd);
                    }
                    Ok(())
                })
            },
        ),
    ),
    on(
        Place::ReadOnly,
        linux(
            "open.read-only-fs",
            "open(2)",
            "On a read-only file system files can be read, and O_CREAT of an existing file has no effect.",
            |cx| {
                let fd = cx.open("data", crate::ctx::RDONLY, 0);
                if cx.ok("open to read", fd.map(|_| 0)) {
                    super::sizes::reads(cx, fd.unwrap_or(-1), 0, b"data");
                }
                let fd = cx.open_as("data", "O_CREAT | O_RDONLY", libc::O_CREAT, 0o644);
                cx.ok("open with O_CREAT | O_RDONLY", fd.map(|_| 0));
                let fd = cx.open("new-file", NEW, 0o644);
                cx.answers("a new file", fd, &[libc::EROFS]);
                Ok(())
            },
        ),
    ),
    on(
        Place::ReadOnly,
        linux("flags.erofs", "ioctl_iflags(2)", "On a read-only file system flags cannot be set: EROFS.", |cx| {
            cx.needs(cx.facts.features.immutable, "the flag immutable cannot be set (chattr)")?;
            let fd = cx.open("data", crate::ctx::RDONLY, 0);
            let fd = cx.set_up("make.regular", "open", fd)?;
            let result = facts::set_flags(fd as i32, IMMUTABLE);
            cx.answers("FS_IOC_SETFLAGS", result, &[libc::EROFS]);
            Ok(())
        }),
    ),
    linux(
        "flags.sets",
        "ioctl_iflags(2)",
        "The flags immutable and append-only can be set and read back; an append-only file can be appended to.",
        |cx| {
            cx.needs(
                cx.facts.features.immutable && cx.facts.features.append_only,
                "the flags immutable and append-only cannot be set (chattr)",
            )?;
            let fd = super::sizes::with_content(cx, "f", b"data")?;
            for flag in [IMMUTABLE, APPEND] {
                let set = facts::set_flags(fd as i32, flag);
                cx.ok("FS_IOC_SETFLAGS", set);
                let got = facts::get_flags(fd as i32).map(|flags| flags & (IMMUTABLE | APPEND));
                cx.that(got == Ok(flag), "flags", &format!("{flag:#x}"), &format!("{got:x?}"));
            }
            let end = cx.open_as("f", "O_WRONLY | O_APPEND", libc::O_WRONLY | libc::O_APPEND, 0);
            if cx.ok("open with O_APPEND", end.map(|_| 0)) {
                let written = cx.write(end.unwrap_or(-1), b"more");
                cx.that(written == Ok(4), "bytes appended", "4", &format!("{written:?}"));
            }
            let cleared = facts::set_flags(fd as i32, 0);
            cx.ok("clearing the flags", cleared);
            Ok(())
        },
    ),
    linux(
        "flags.eperm",
        "ioctl_iflags(2)",
        "Without CAP_LINUX_IMMUTABLE neither the owner nor another user can set or clear these flags: EPERM.",
        |cx| {
            cx.needs(cx.facts.features.immutable, "the flag immutable cannot be set (chattr)")?;
            cx.needs_users()?;
            let fd = super::sizes::with_content(cx, "f", b"data")?;
            cx.give("f", A.uid, A.gid)?;
            for who in [A, B] {
                let result = cx.as_user(who, |_| facts::set_flags(fd as i32, IMMUTABLE));
                cx.answers("setting", result, &[libc::EPERM, libc::EACCES]);
            }
            crate::errors::flag(cx, "f", IMMUTABLE)?;
            let result = cx.as_user(A, |_| facts::set_flags(fd as i32, 0));
            cx.answers("clearing, by the owner", result, &[libc::EPERM]);
            crate::errors::flag(cx, "f", 0)
        },
    ),
];
