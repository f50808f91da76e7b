//! Times: utimensat, their range and precision; statx.

use super::case::{Hand, common, linux, shall};
use crate::ctx::{A, B, Ctx, NOFOLLOW, Run, Stop};
use crate::facts::Kind;
use crate::sys::{self, AT, V, nr};

/// `UTIME_NOW`, `UTIME_OMIT`: values of the nanoseconds. Source: linux/stat.h.
const NOW: i64 = (1 << 30) - 1;
const OMIT: i64 = (1 << 30) - 2;
/// Two dates after 2030, before 2038.
const ONE: i64 = 1_900_000_000;
const TWO: i64 = 1_950_000_000;

pub(super) const CASES: &[Hand] = &[
    shall(
        "utimensat.sets",
        "utimensat()",
        "Both times of a file of any type can be set, even if the modification precedes the access.",
        |cx| {
            for kind in cx.kinds() {
                cx.make(kind, "f")?;
                for (access, change) in [(ONE, TWO), (TWO, ONE)] {
                    let bytes = sys::two_times((access, 0), (change, 0));
                    let set = cx.call(nr!(utimensat), &[AT, V::P("f"), V::B(&bytes), NOFOLLOW]);
                    cx.ok(&format!("utimensat of a {}", kind.name()), set);
                    times_are(cx, "f", (access, 0), (change, 0));
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall("utimensat.now", "utimensat()", "UTIME_NOW sets the system's current time.", |cx| {
        cx.file("f", b"")?;
        let before = cx.lstat("f").map_or((0, 0), |stat| stat.ctime);
        let set = cx.utimens("f", (ONE, 0), (ONE, 0));
        cx.ok("set to another time", set);
        let set = cx.utimens("f", (0, NOW), (0, NOW));
        cx.ok("UTIME_NOW", set);
        if let Some(stat) = cx.expect_exists("the file", "f") {
            for (what, time) in [("access", stat.atime), ("modification", stat.mtime)] {
                let near = time >= (before.0 - 1, 0) && time.0 < before.0 + 60;
                cx.that(near, &format!("time of {what}"), &format!("about {}", before.0), &crate::ctx::time(time));
            }
        }
        Ok(())
    }),
    shall("utimensat.omit", "utimensat()", "UTIME_OMIT leaves a time exactly unchanged.", |cx| {
        cx.file("f", b"")?;
        let mut is = [(ONE, 0), (TWO, 0)];
        let set = cx.utimens("f", is[0], is[1]);
        cx.ok("set both", set);
        for (access, change) in [((5, OMIT), (1_000, 0)), ((2_000, 0), (7, OMIT)), ((0, OMIT), (0, OMIT))] {
            let set = cx.utimens("f", access, change);
            cx.ok("set one", set);
            for (is, new) in is.iter_mut().zip([access, change]) {
                if new.1 != OMIT {
                    *is = new;
                }
            }
            times_are(cx, "f", is[0], is[1]);
        }
        Ok(())
    }),
    shall("utimensat.einval", "utimensat()", "Nanoseconds of 1,000,000,000 or more fail with EINVAL.", |cx| {
        cx.file("f", b"")?;
        for nanos in [1_000_000_000, -1] {
            let result = cx.utimens("f", (1, nanos), (1, 0));
            cx.answers(&format!("{nanos} ns"), result, &[libc::EINVAL]);
        }
        Ok(())
    }),
    shall(
        "utimensat.links",
        "utimensat()",
        "A link is followed; with AT_SYMLINK_NOFOLLOW its own times are set.",
        |cx| {
            cx.file("f", b"")?;
            let made = cx.symlink("f", "s");
            cx.set_up("make.symlink", "symlink", made)?;
            let set = cx.utimens("s", (ONE, 0), (ONE, 0));
            cx.ok("through the link", set);
            times_are(cx, "f", (ONE, 0), (ONE, 0));
            let bytes = sys::two_times((TWO, 0), (TWO, 0));
            let set = cx.call(nr!(utimensat), &[AT, V::P("s"), V::B(&bytes), NOFOLLOW]);
            cx.ok("of the link", set);
            times_are(cx, "s", (TWO, 0), (TWO, 0));
            times_are(cx, "f", (ONE, 0), (ONE, 0));
            Ok(())
        },
    ),
    shall("utimensat.nanoseconds", "utimensat()", "Times keep fractions of a second, at least tenths.", |cx| {
        cx.file("f", b"")?;
        let set = cx.utimens("f", (100_000_000, 100_000_000), (200_000_000, 200_000_000));
        cx.ok("utimensat", set);
        times_are(cx, "f", (100_000_000, 100_000_000), (200_000_000, 200_000_000));
        Ok(())
    }),
    linux("times.granularity", "utimensat(2)", "Times are kept to the nanosecond.", |cx| {
        cx.file("f", b"")?;
        let set = cx.utimens("f", (100_000_000, 123_456_789), (200_000_000, 987_654_321));
        cx.ok("utimensat", set);
        times_are(cx, "f", (100_000_000, 123_456_789), (200_000_000, 987_654_321));
        Ok(())
    }),
    common("times.y2038", "utimensat()", "Times after 2038 are kept.", |cx| range(cx, &[2_147_483_648, 4_294_967_301])),
    common("times.before-1970", "utimensat()", "Times before 1970 are kept.", |cx| range(cx, &[-1, -2_147_483_648])),
    linux(
        "times.clamped",
        "utimensat(2)",
        "A time outside the file system's range becomes the nearest limit, never another time.",
        |cx| {
            cx.file("f", b"")?;
            for second in [-2_147_483_649, -1, 17_179_869_184, 1 << 40, 253_402_300_800] {
                let set = cx.utimens("f", (second, 0), (second, 0));
                if set == Err(libc::EINVAL) || !cx.answers(&format!("setting {second} s"), set, &[0]) {
                    continue;
                }
                let got = cx.lstat("f").map_or(0, |stat| stat.mtime.0);
                // The time must be clamped to the limit on its side.
                let sane = if second < 0 {
                    (second..0).contains(&got)
                } else {
                    (0..=second).contains(&got) && got >= 2_147_483_647
                };
                cx.that(
                    sane,
                    &format!("the time that {second} s becomes"),
                    "itself, or the limit on its side",
                    &got.to_string(),
                );
            }
            Ok(())
        },
    ),
    common(
        "times.monotonic",
        "XBD 4.9 File Times Update",
        "The change time of a file never goes back, and grows with each change after a step of the clock.",
        |cx| {
            cx.file("f", b"")?;
            let mut last = cx.lstat("f").map_or((0, 0), |stat| stat.ctime);
            for round in 0..20 {
                cx.nap();
                let _ = cx.chmod("f", 0o600 | round & 1);
                let now = cx.lstat("f").map_or((0, 0), |stat| stat.ctime);
                cx.later("time of change", last, now);
                last = now;
            }
            Ok(())
        },
    ),
    shall(
        "times.atime-of-read",
        "read()",
        "Reading sets the access time if it precedes the modification time, unless mounted with noatime.",
        |cx| {
            if cx.facts.mounted_with(crate::facts::ST_NOATIME) {
                return Err(Stop::Skip(crate::outcome::SkipKind::MountOption, "mounted with noatime".to_owned()));
            }
            let fd = super::sizes::with_content(cx, "f", b"data")?;
            let set = cx.utimens("f", (1_000, 0), (2_000, 0));
            cx.ok("utimensat", set);
            let _ = cx.pread(fd, 4, 0);
            if let Some(stat) = cx.expect_exists("the file", "f") {
                cx.later("time of access", (1_000, 0), stat.atime);
            }
            Ok(())
        },
    ),
    shall(
        "utimensat.now-permission",
        "utimensat()",
        "UTIME_NOW for both times is permitted to the owner and to users who can write the file; others get EACCES.",
        |cx| {
            cx.needs_users()?;
            cx.file("f", b"")?;
            cx.give("f", B.uid, B.gid)?;
            for (mode, who, expected) in [(0o644, A, libc::EACCES), (0o666, A, 0), (0o444, B, 0)] {
                cx.set_mode("f", mode)?;
                let result = cx.as_user(who, |cx| cx.utimens("f", (0, NOW), (0, NOW)));
                cx.answers(&format!("mode {mode:04o}"), result, &[expected]);
            }
            Ok(())
        },
    ),
    shall(
        "utimensat.set-permission",
        "utimensat()",
        "Other times can be set by the owner and root only: EPERM, even for users who can write the file.",
        |cx| {
            cx.needs_users()?;
            cx.file("f", b"")?;
            cx.give("f", B.uid, B.gid)?;
            for mode in [0o644, 0o666] {
                cx.set_mode("f", mode)?;
                for (access, change) in
                    [((0, OMIT), (TWO, 0)), ((ONE, 0), (0, OMIT)), ((ONE, 0), (TWO, 0)), ((0, NOW), (0, OMIT))]
                {
                    let result = cx.as_user(A, |cx| cx.utimens("f", access, change));
                    cx.answers(&format!("mode {mode:04o}, another user"), result, &[libc::EPERM]);
                }
            }
            cx.set_mode("f", 0o444)?;
            let result = cx.as_user(B, |cx| cx.utimens("f", (ONE, 0), (TWO, 0)));
            cx.ok("the owner", result);
            let result = cx.utimens("f", (TWO, 0), (ONE, 0));
            cx.ok("root", result);
            times_are(cx, "f", (TWO, 0), (ONE, 0));
            Ok(())
        },
    ),
    linux(
        "statx.btime",
        "statx(2)",
        "The birth time, if known, is not after any other time, and no call changes it.",
        |cx| {
            cx.needs(cx.facts.features.btime, "no time of birth")?;
            cx.file("f", b"")?;
            let born = cx.lstat("f").map_or((0, 0), |stat| stat.btime);
            cx.nap();
            let _ = cx.chmod("f", 0o600);
            let _ = cx.utimens("f", (TWO, 0), (TWO, 0));
            if let Some(stat) = cx.expect_exists("the file", "f") {
                cx.same_time("time of birth", born, stat.btime);
                cx.that(stat.ctime >= born, "time of change", "not before the birth", &crate::ctx::time(stat.ctime));
            }
            Ok(())
        },
    ),
    linux("statx.mask", "statx(2)", "statx fills all basic fields and sets their bits in its mask.", |cx| {
        for kind in cx.kinds() {
            cx.make(kind, "f")?;
            let got = cx.lstat("f").map_or(0, |stat| stat.mask & 0x7ff);
            cx.equal(&format!("mask of a {}", kind.name()), 0x7ff, i64::from(got));
            cx.remove("f");
        }
        Ok(())
    }),
    linux("statx.attributes", "statx(2)", "statx reports the flags immutable and append-only.", |cx| {
        cx.file("f", b"")?;
        for (flag, bit) in [(crate::facts::IMMUTABLE, 0x10), (crate::facts::APPEND, 0x20)] {
            crate::errors::flag(cx, "f", flag)?;
            let got = cx.lstat("f").map_or(0, |stat| stat.attributes & 0x30);
            crate::errors::flag(cx, "f", 0)?;
            cx.equal("flags", bit, got as i64);
        }
        Ok(())
    }),
    shall(
        "stat.stable",
        "stat()",
        "A directory without changes keeps its attributes, even if a name is looked up in it or mkdir of it fails.",
        |cx| {
            let changes = crate::snapshot::drift(cx);
            cx.that(changes.is_none(), "a directory without changes", "no change", &changes.unwrap_or_default());
            Ok(())
        },
    ),
    shall(
        "stat.dev-ino",
        "stat()",
        "Two files never share an inode number; a file and its directory share the device.",
        |cx| {
            cx.file("a", b"")?;
            cx.file("b", b"")?;
            cx.make(Kind::Dir, "d")?;
            let numbers = ["a", "b", "d", "."].map(|path| cx.lstat(path).map_or((0, 0), |stat| (stat.dev, stat.ino)));
            for (at, one) in numbers.iter().enumerate() {
                let twins = numbers.iter().filter(|other| *other == one).count();
                cx.equal(&format!("files with the number of file {at}"), 1, twins as i64);
                cx.that(one.0 == numbers[3].0, "device", "that of the directory", "another");
            }
            Ok(())
        },
    ),
];

fn times_are(cx: &mut Ctx<'_>, path: &str, access: (i64, i64), change: (i64, i64)) {
    let Some(stat) = cx.expect_exists("the file", path) else { return };
    for (what, expected, got) in [("access", access, stat.atime), ("modification", change, stat.mtime)] {
        let expected = (expected.0, expected.1 as u32);
        let what = format!("time of {what} of `{path}`");
        cx.that(expected == got, &what, &crate::ctx::time(expected), &crate::ctx::time(got));
    }
}

fn range(cx: &mut Ctx<'_>, seconds: &[i64]) -> Run {
    cx.file("f", b"")?;
    for second in seconds {
        let set = cx.utimens("f", (*second, 0), (*second, 0));
        cx.ok(&format!("setting {second} s"), set);
        times_are(cx, "f", (*second, 0), (*second, 0));
    }
    Ok(())
}
