//! chmod, chown, and the bits S_ISUID and S_ISGID.

use super::case::{Hand, common, shall};
use crate::ctx::{A, B, Ctx, RDWR, Run, Stop, Who};
use crate::facts::{self, Kind};
use crate::outcome::SkipKind;

pub(super) const CASES: &[Hand] = &[
    shall(
        "chmod.sets",
        "chmod()",
        "chmod sets the twelve bits of the mode of a file of any type, and follows links.",
        |cx| {
            for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Symlink) {
                cx.make(kind, "f")?;
                for mode in [0o111, 0, 0o7, 0o70, 0o700, 0o666] {
                    let set = cx.chmod("f", mode);
                    cx.ok(&format!("chmod {mode:03o} of a {}", kind.name()), set);
                    let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
                    cx.mode_is(&format!("mode of a {}", kind.name()), mode, got);
                }
                let made = cx.symlink("f", "s");
                cx.set_up("make.symlink", "symlink", made)?;
                let link = cx.lstat("s").map(|stat| stat.mode);
                let set = cx.chmod("s", 0o222);
                cx.ok("chmod through a link", set);
                let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
                cx.mode_is("mode of the target", 0o222, got);
                let after = cx.lstat("s").map(|stat| stat.mode);
                cx.that(link == after, "mode of the link", &format!("{link:?}"), &format!("{after:?}"));
                cx.remove("s");
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "chmod.special-bits",
        "chmod()",
        "The owner can set and clear S_ISUID and S_ISGID of a file whose group is the owner's.",
        |cx| {
            let who = cx.actor();
            cx.file("f", b"")?;
            cx.give("f", who.uid, who.gid)?;
            for mode in [0o4755, 0o2755, 0o6755, 0o755] {
                let set = cx.as_user(who, |cx| cx.chmod("f", mode));
                cx.ok(&format!("chmod {mode:04o}"), set);
                let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
                cx.mode_is("mode", mode, got);
            }
            Ok(())
        },
    ),
    shall(
        "chmod.setgid-of-other-group",
        "chmod()",
        "If the group of a regular file is not the caller's, chmod clears S_ISGID.",
        |cx| {
            cx.needs_users()?;
            cx.file("f", b"")?;
            cx.give("f", A.uid, B.gid)?;
            let set = cx.as_user(A, |cx| cx.chmod("f", 0o2755));
            cx.ok("chmod 02755", set);
            let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode", 0o755, got);
            Ok(())
        },
    ),
    shall(
        "chown.sets",
        "chown()",
        "Root can set owner and group of a file of any type; chown follows links, lchown does not.",
        |cx| {
            cx.needs_users()?;
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                let set = cx.lchown("f", 123, 456);
                cx.ok(&format!("lchown of a {}", kind.name()), set);
                let got = cx.lstat("f").map(|stat| (stat.uid, stat.gid));
                cx.that(got == Ok((123, 456)), "owner and group", "123 and 456", &format!("{got:?}"));
                let set = cx.lchown("f", -1, 457);
                cx.ok("lchown of the group only", set);
                let set = cx.lchown("f", 124, -1);
                cx.ok("lchown of the owner only", set);
                let got = cx.lstat("f").map(|stat| (stat.uid, stat.gid));
                cx.that(got == Ok((124, 457)), "owner and group", "124 and 457", &format!("{got:?}"));
                if kind != Kind::Symlink {
                    let made = cx.symlink("f", "s");
                    cx.set_up("make.symlink", "symlink", made)?;
                    let link = cx.lstat("s").map(|stat| (stat.uid, stat.gid));
                    let set = cx.chown("s", 125, 458);
                    cx.ok("chown through a link", set);
                    let got = cx.lstat("f").map(|stat| (stat.uid, stat.gid));
                    cx.that(got == Ok((125, 458)), "owner and group of the target", "125 and 458", &format!("{got:?}"));
                    let after = cx.lstat("s").map(|stat| (stat.uid, stat.gid));
                    cx.that(link == after, "owner of the link", &format!("{link:?}"), &format!("{after:?}"));
                    cx.remove("s");
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "chown.group-of-owner",
        "chown()",
        "An owner can give a file to each of the owner's groups, and to no other.",
        |cx| {
            cx.needs_users()?;
            let who = Who { groups: &[60_007, 60_008], ..A };
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                cx.give("f", A.uid, A.gid)?;
                for (uid, gid) in [(-1, 60_007), (i64::from(A.uid), 60_008)] {
                    let set = cx.as_user(who, |cx| cx.lchown("f", uid, gid));
                    cx.ok(&format!("a group of the owner's, of a {}", kind.name()), set);
                    let got = cx.lstat("f").map(|stat| i64::from(stat.gid));
                    cx.that(got == Ok(gid), "group", &gid.to_string(), &format!("{got:?}"));
                }
                let other = cx.as_user(who, |cx| cx.lchown("f", -1, i64::from(B.gid)));
                cx.answers("a group that is not the owner's", other, &[libc::EPERM]);
                let given = cx.as_user(who, |cx| cx.lchown("f", i64::from(B.uid), -1));
                cx.answers("another owner", given, &[libc::EPERM]);
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "chown.not-owner",
        "chown()",
        "An unprivileged user who does not own a file can change neither owner nor group: EPERM.",
        |cx| {
            cx.needs_users()?;
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                cx.give("f", A.uid, A.gid)?;
                for (uid, gid) in [(B.uid, B.gid), (A.uid, A.gid)] {
                    let set = cx.as_user(B, |cx| cx.lchown("f", i64::from(uid), i64::from(gid)));
                    cx.answers(&format!("lchown of a {} by another", kind.name()), set, &[libc::EPERM]);
                }
                let got = cx.lstat("f").map(|stat| (stat.uid, stat.gid));
                cx.that(got == Ok((A.uid, A.gid)), "owner and group", "as before", &format!("{got:?}"));
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "chown.nothing",
        "chown()",
        "chown(-1, -1) by any user succeeds, and changes neither owner nor group.",
        |cx| {
            cx.needs_users()?;
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                let before = cx.lstat("f").map(|stat| (stat.uid, stat.gid, stat.mode));
                let set = cx.as_user(A, |cx| cx.lchown("f", -1, -1));
                cx.ok(&format!("lchown(-1, -1) of a {} by another user", kind.name()), set);
                let after = cx.lstat("f").map(|stat| (stat.uid, stat.gid, stat.mode));
                cx.that(before == after, "owner, group and mode", &format!("{before:?}"), &format!("{after:?}"));
                cx.remove("f");
            }
            Ok(())
        },
    ),
    common(
        "chown.nothing-ctime",
        "chown()",
        "chown(-1, -1) need not, and here does not, change the time of change of status.",
        |cx| {
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                let before = cx.lstat("f");
                cx.nap();
                let set = cx.lchown("f", -1, -1);
                cx.ok(&format!("lchown(-1, -1) of a {}", kind.name()), set);
                if let (Ok(before), Ok(after)) = (before, cx.lstat("f")) {
                    cx.same_time(&format!("time of change of a {}", kind.name()), before.ctime, after.ctime);
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "chown.clears-suid",
        "chown()",
        "When an unprivileged owner gives an executable regular file to another group, S_ISUID and S_ISGID are cleared.",
        |cx| {
            cx.needs_users()?;
            let who = Who { groups: &[60_007], ..A };
            cx.file("f", b"")?;
            cx.give("f", A.uid, A.gid)?;
            for gid in [60_007, i64::from(A.gid)] {
                cx.set_mode("f", 0o6555)?;
                let set = cx.as_user(who, |cx| cx.lchown("f", -1, gid));
                cx.ok("chown", set);
                let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
                cx.mode_is("mode", 0o555, got);
            }
            Ok(())
        },
    ),
    common(
        "chown.clears-suid-root",
        "chown(2)",
        "chown by root clears S_ISUID and S_ISGID of an executable regular file too.",
        |cx| {
            cx.needs_users()?;
            cx.file("f", b"")?;
            cx.set_mode("f", 0o6555)?;
            let set = cx.chown("f", i64::from(A.uid), i64::from(A.gid));
            cx.ok("chown", set);
            let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode", 0o555, got);
            Ok(())
        },
    ),
    common(
        "chown.clears-suid-directory",
        "chown()",
        "When an unprivileged owner gives a directory to another group, S_ISUID and S_ISGID may be cleared, and are here.",
        |cx| {
            cx.needs_users()?;
            let who = Who { groups: &[60_007], ..A };
            cx.dir("d", 0o755)?;
            cx.give("d", A.uid, A.gid)?;
            cx.set_mode("d", 0o6555)?;
            let set = cx.as_user(who, |cx| cx.lchown("d", -1, 60_007));
            cx.ok("chown", set);
            let got = cx.lstat("d").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode", 0o555, got);
            Ok(())
        },
    ),
    shall(
        "write.clears-suid",
        "write()",
        "A write by an unprivileged user clears S_ISUID, and S_ISGID if the group may execute.",
        |cx| {
            for mode in [0o4777, 0o2777, 0o6777] {
                clears(cx, mode, "write", |cx, fd| cx.write(fd, b"x"))?;
            }
            Ok(())
        },
    ),
    common(
        "truncate.clears-suid",
        "ftruncate()",
        "Truncation by an unprivileged user clears S_ISUID and S_ISGID.",
        |cx| clears(cx, 0o6777, "ftruncate", |cx, fd| cx.ftruncate(fd, 1)),
    ),
    common(
        "fallocate.clears-suid",
        "fallocate(2)",
        "Allocation by an unprivileged user clears S_ISUID and S_ISGID.",
        |cx| {
            use crate::sys::{V, nr};
            cx.needs(cx.facts.features.fallocate & 1 == 1, "no fallocate")?;
            clears(cx, 0o6777, "fallocate", |cx, fd| {
                cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::N(0), V::N(0), V::N(8192)])
            })
        },
    ),
    shall("write.keeps-suid-of-root", "write()", "A write by root keeps S_ISUID: root is privileged.", |cx| {
        cx.needs_users()?;
        cx.file("f", b"data")?;
        cx.set_mode("f", 0o4755)?;
        let fd = cx.open("f", RDWR, 0);
        let fd = cx.set_up("make.regular", "open", fd)?;
        let written = cx.write(fd, b"x");
        cx.ok("write", written.map(|_| 0));
        let got = cx.fstat(fd).map_or(u32::MAX, |stat| stat.mode);
        // The standard leaves this to the system: both results are allowed, and no others.
        let got = got & 0o7777;
        cx.that([0o4755, 0o755].contains(&got), "mode", "04755 or 0755", &format!("{got:04o}"));
        Ok(())
    }),
    shall(
        "exec.suid",
        "execve()",
        "The file system stores the mode bits S_ISUID and S_ISGID, and stat returns them.",
        |cx| {
            if cx.facts.mounted_with(facts::ST_NOSUID) && cx.facts.uid == 0 {
                return Err(Stop::Skip(SkipKind::MountOption, "mounted with nosuid".to_owned()));
            }
            let who = cx.actor();
            cx.file("f", b"")?;
            cx.give("f", who.uid, who.gid)?;
            cx.set_mode("f", 0o6711)?;
            let got = cx.stat("f").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode", 0o6711, got);
            Ok(())
        },
    ),
];

/// Makes a call as a user other than the owner, on a file that everyone may write.
fn clears(cx: &mut Ctx<'_>, mode: u32, what: &str, call: fn(&mut Ctx<'_>, i64) -> crate::sys::R) -> Run {
    cx.needs_users()?;
    let name = cx.fresh();
    cx.file(&name, b"data")?;
    cx.set_mode(&name, mode)?;
    let result = cx.as_user(A, |cx| {
        let fd = cx.open(&name, RDWR, 0)?;
        let result = call(cx, fd);
        let inside = cx.fstat(fd).map_or(u32::MAX, |stat| stat.mode);
        cx.close(fd);
        result.map(|_| inside)
    });
    cx.ok(what, result.map(|_| 0));
    cx.mode_is(&format!("mode by the descriptor, {mode:04o} before"), 0o777, result.unwrap_or(u32::MAX));
    let got = cx.lstat(&name).map_or(u32::MAX, |stat| stat.mode);
    cx.mode_is(&format!("mode by name, {mode:04o} before"), 0o777, got);
    Ok(())
}
