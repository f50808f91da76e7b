//! rename(), rmdir() and link() when two files meet.

use super::case::{Hand, common, linux, on, shall};
use crate::Place;
use crate::ctx::{A, B, Ctx, Run};
use crate::facts::Kind;
use crate::sys::{AT, R, V, nr};

const EXISTS: &[i32] = &[libc::EEXIST, libc::ENOTEMPTY];

pub(super) const CASES: &[Hand] = &[
    shall(
        "rename.moves",
        "rename()",
        "A file of any type keeps inode, mode and links in a rename, also to another directory and over another file.",
        |cx| {
            cx.dir("d", 0o755)?;
            for kind in cx.kinds() {
                cx.make(kind, "a")?;
                let before = cx.lstat("a");
                let mut from = "a";
                for to in ["b", "d/c"] {
                    let result = cx.rename(from, to);
                    cx.ok(&format!("rename of a {}", kind.name()), result);
                    cx.gone("the old name", from);
                    let (was, is) = (before, cx.lstat(to));
                    let same = |stat: Result<crate::sys::Stat, i32>| stat.map(|stat| (stat.ino, stat.mode, stat.size));
                    cx.that(
                        same(was) == same(is),
                        "inode, mode and size",
                        &format!("{:?}", same(was)),
                        &format!("{:?}", same(is)),
                    );
                    from = to;
                }
                cx.remove(from);
            }
            Ok(())
        },
    ),
    shall(
        "rename.replaces",
        "rename()",
        "A file is replaced by one of any type; the new name is the old file.",
        |cx| {
            for from in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
                for to in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
                    cx.make(from, "a")?;
                    cx.make(to, "b")?;
                    let before = cx.lstat("a").map(|stat| stat.ino);
                    let result = cx.rename("a", "b");
                    cx.ok(&format!("rename of a {} over a {}", from.name(), to.name()), result);
                    let after = cx.lstat("b").map(|stat| stat.ino);
                    cx.that(before == after, "inode of the new name", &format!("{before:?}"), &format!("{after:?}"));
                    cx.gone("the old name", "a");
                    cx.remove("a");
                    cx.remove("b");
                }
            }
            Ok(())
        },
    ),
    shall("rename.replaces-directory", "rename()", "A directory replaces an empty directory.", |cx| {
        cx.dir("a", 0o755)?;
        cx.dir("a/x", 0o755)?;
        cx.dir("b", 0o755)?;
        let result = cx.rename("a", "b");
        cx.ok("rename", result);
        cx.expect_exists("what was in it", "b/x");
        cx.gone("the old name", "a");
        Ok(())
    }),
    shall("rename.enotdir", "rename()", "A directory can replace only a directory: ENOTDIR.", |cx| {
        cx.dir("d", 0o755)?;
        for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
            cx.make(kind, "f")?;
            let result = cx.rename("d", "f");
            cx.answers(&format!("over a {}", kind.name()), result, &[libc::ENOTDIR]);
            cx.expect_exists("the directory", "d");
            cx.remove("f");
        }
        Ok(())
    }),
    shall("rename.eisdir", "rename()", "A directory can be replaced only by a directory: EISDIR.", |cx| {
        cx.dir("d", 0o755)?;
        for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
            cx.make(kind, "f")?;
            let result = cx.rename("f", "d");
            cx.answers(&format!("by a {}", kind.name()), result, &[libc::EISDIR]);
            cx.expect_exists("the file", "f");
            cx.remove("f");
        }
        Ok(())
    }),
    shall(
        "rename.not-empty",
        "rename()",
        "A directory that is not empty is not replaced, whatever its contents: EEXIST or ENOTEMPTY.",
        |cx| {
            for kind in cx.kinds() {
                cx.dir("a", 0o755)?;
                cx.dir("b", 0o755)?;
                cx.make(kind, "b/x")?;
                let result = cx.rename("a", "b");
                cx.answers(&format!("with a {} in it", kind.name()), result, EXISTS);
                cx.expect_exists("what is in it", "b/x");
                for path in ["b/x", "a", "b"] {
                    cx.remove(path);
                }
            }
            Ok(())
        },
    ),
    shall("rename.einval-child", "rename()", "A directory cannot be moved into itself: EINVAL.", |cx| {
        cx.dir("d", 0o755)?;
        cx.dir("d/e", 0o755)?;
        for to in ["d/n", "d/e/n", "d/e/../n"] {
            let result = cx.rename("d", to);
            cx.answers(to, result, &[libc::EINVAL]);
        }
        let result = cx.rename("d/e", "d");
        cx.answers("a directory over its own parent", result, EXISTS);
        Ok(())
    }),
    shall(
        "rename.dots",
        "rename()",
        "`.` and `..` can be neither renamed nor replaced: EBUSY, EINVAL, or an error that a directory exists.",
        |cx| {
            cx.dir("d", 0o755)?;
            cx.dir("e", 0o755)?;
            let errnos = &[libc::EBUSY, libc::EINVAL];
            for path in ["d/.", "d/..", ".", ".."] {
                let result = cx.rename(path, "n");
                cx.answers(&format!("from {path}"), result, errnos);
                let result = cx.rename("e", path);
                cx.answers(&format!("to {path}"), result, &[libc::EBUSY, libc::EINVAL, libc::EEXIST, libc::ENOTEMPTY]);
            }
            Ok(())
        },
    ),
    shall(
        "rename.same-file",
        "rename()",
        "Renaming one name of a file to another of its names, or to itself, succeeds and does nothing.",
        |cx| {
            cx.file("a", b"data")?;
            let result = cx.rename("a", "a");
            cx.ok("to itself", result);
            cx.needs(cx.facts.features.links, "no hard links")?;
            let made = cx.link("a", "b");
            cx.set_up("make.link", "link", made)?;
            let result = cx.rename("a", "b");
            cx.ok("to another name", result);
            cx.expect_exists("the old name", "a");
            cx.expect_exists("the new name", "b");
            Ok(())
        },
    ),
    shall("rename.over-linked", "rename()", "A replaced file keeps its other names, and loses one link.", |cx| {
        crate::effects::links(cx)?;
        cx.file("a", b"new")?;
        cx.file("b", b"old")?;
        let made = cx.link("b", "c");
        cx.set_up("make.link", "link", made)?;
        let result = cx.rename("a", "b");
        cx.ok("rename", result);
        for (path, size) in [("b", 3), ("c", 3)] {
            let got = cx.lstat(path).map(|stat| (stat.nlink, stat.size));
            cx.that(got == Ok((1, size)), &format!("links and size of `{path}`"), "1 and 3", &format!("{got:?}"));
        }
        Ok(())
    }),
    shall("rename.dotdot", "rename()", "After a move, the `..` of a directory is its new parent.", |cx| {
        cx.dir("p", 0o755)?;
        cx.dir("q", 0o755)?;
        cx.dir("p/d", 0o755)?;
        for (parent, path) in [("p", "p/d"), ("q", "q/d")] {
            let (above, dots) =
                (cx.lstat(parent).map(|stat| stat.ino), cx.lstat(&format!("{path}/..")).map(|stat| stat.ino));
            cx.that(above == dots, &format!("`{path}/..`"), &format!("{above:?}"), &format!("{dots:?}"));
            let _ = cx.rename("p/d", "q/d");
        }
        Ok(())
    }),
    common(
        "rename.dir-links",
        "stat()",
        "The link count of a directory is 2 and one for each subdirectory, before and after a rename.",
        |cx| {
            cx.dir("p", 0o755)?;
            cx.dir("q", 0o755)?;
            cx.dir("p/d", 0o755)?;
            let check = |cx: &mut Ctx<'_>, expected: [u32; 2]| {
                for (path, expected) in ["p", "q"].into_iter().zip(expected) {
                    let got = cx.lstat(path).map_or(0, |stat| stat.nlink);
                    cx.equal(&format!("links of `{path}`"), i64::from(expected), i64::from(got));
                }
            };
            check(cx, [3, 2]);
            let result = cx.rename("p/d", "q/d");
            cx.ok("rename", result);
            check(cx, [2, 3]);
            Ok(())
        },
    ),
    shall(
        "rename.write-access-of-file",
        "rename()",
        "Write access to both directories is enough to rename a file of another user.",
        |cx| {
            cx.needs_users()?;
            cx.dir("p", 0o777)?;
            cx.dir("q", 0o777)?;
            cx.file("p/f", b"")?;
            let result = cx.as_user(A, |cx| cx.rename("p/f", "q/g"));
            cx.ok("rename", result);
            cx.expect_exists("the new name", "q/g");
            Ok(())
        },
    ),
    linux(
        "rename.write-access-of-directory",
        "rename(2)",
        "A directory moves to another parent only if it is writable, since `..` changes: EACCES. A rename within its parent is allowed.",
        |cx| {
            cx.needs_users()?;
            cx.dir("p", 0o777)?;
            cx.dir("q", 0o777)?;
            cx.dir("p/d", 0o700)?;
            let result = cx.as_user(A, |cx| cx.rename("p/d", "p/e"));
            cx.ok("in the same directory", result);
            let result = cx.as_user(A, |cx| cx.rename("p/e", "q/e"));
            cx.answers("to another directory", result, &[libc::EACCES]);
            cx.set_mode("p/e", 0o707)?;
            let result = cx.as_user(A, |cx| cx.rename("p/e", "q/e"));
            cx.ok("to another directory, once it is writable", result);
            Ok(())
        },
    ),
    linux(
        "rename.write-access-of-others-directory",
        "rename(2)",
        "The owner of both parent directories can move another user's directory only if it is writable: EACCES.",
        |cx| {
            cx.needs_users()?;
            for name in ["p", "q"] {
                cx.dir(name, 0o755)?;
                cx.give(name, A.uid, A.gid)?;
            }
            cx.dir("p/d", 0o755)?;
            cx.give("p/d", B.uid, B.gid)?;
            let result = cx.as_user(A, |cx| cx.rename("p/d", "q/d"));
            cx.answers("to another directory", result, &[libc::EACCES]);
            let result = cx.as_user(A, |cx| cx.rename("p/d", "p/e"));
            cx.ok("in the same directory", result);
            Ok(())
        },
    ),
    shall(
        "rename.open-target",
        "rename()",
        "A process that has a replaced file open continues to read the old one.",
        |cx| {
            cx.file("new", b"new")?;
            let fd = super::sizes::with_content(cx, "old", b"old")?;
            let result = cx.rename("new", "old");
            cx.ok("rename", result);
            super::sizes::reads(cx, fd, 0, b"old");
            let now = super::sizes::with_content(cx, "other", b"")?;
            cx.close(now);
            let fd = cx.open("old", crate::ctx::RDONLY, 0);
            if cx.ok("open of the new file", fd.map(|_| 0)) {
                super::sizes::reads(cx, fd.unwrap_or(-1), 0, b"new");
            }
            Ok(())
        },
    ),
    linux(
        "rename.noreplace",
        "rename(2)",
        "RENAME_NOREPLACE renames to a free name; an existing file stays: EEXIST.",
        |cx| {
            cx.needs(cx.facts.features.noreplace, "no RENAME_NOREPLACE")?;
            cx.file("a", b"a")?;
            cx.file("b", b"bb")?;
            let result = flagged(cx, "a", "b", "RENAME_NOREPLACE", 1);
            cx.answers("over a file", result, &[libc::EEXIST]);
            let sizes = (cx.lstat("a").map(|stat| stat.size), cx.lstat("b").map(|stat| stat.size));
            cx.that(sizes == (Ok(1), Ok(2)), "sizes of both", "1 and 2", &format!("{sizes:?}"));
            let result = flagged(cx, "a", "c", "RENAME_NOREPLACE", 1);
            cx.ok("to a new name", result);
            cx.expect_exists("the new name", "c");
            Ok(())
        },
    ),
    linux("rename.exchange", "rename(2)", "RENAME_EXCHANGE atomically swaps two files of any types.", |cx| {
        cx.needs(cx.facts.features.exchange, "no RENAME_EXCHANGE")?;
        cx.dir("d", 0o755)?;
        for kind in cx.kinds() {
            cx.file("a", b"data")?;
            cx.make(kind, "d/b")?;
            let before = (cx.lstat("a").map(|stat| stat.ino), cx.lstat("d/b").map(|stat| stat.ino));
            let result = flagged(cx, "a", "d/b", "RENAME_EXCHANGE", 2);
            cx.ok(&format!("a file and a {}", kind.name()), result);
            let after = (cx.lstat("d/b").map(|stat| stat.ino), cx.lstat("a").map(|stat| stat.ino));
            cx.that(before == after, "inodes", &format!("{before:?}"), &format!("{after:?}"));
            cx.remove("a");
            cx.remove("d/b");
        }
        cx.file("a", b"data")?;
        let result = flagged(cx, "a", "no", "RENAME_EXCHANGE", 2);
        cx.answers("with a name that is not there", result, &[libc::ENOENT]);
        let result = flagged(cx, "a", "d", "RENAME_NOREPLACE | RENAME_EXCHANGE", 3);
        cx.answers("with RENAME_NOREPLACE", result, &[libc::EINVAL]);
        Ok(())
    }),
    linux(
        "rename.exchange-atomic",
        "rename(2)",
        "While two files are swapped repeatedly, a reader always finds both names.",
        |cx| {
            cx.needs(cx.facts.features.exchange, "no RENAME_EXCHANGE")?;
            cx.file("a", b"a")?;
            cx.file("b", b"b")?;
            watched(cx, &["a", "b"], |cx| flagged(cx, "a", "b", "RENAME_EXCHANGE", 2))
        },
    ),
    shall(
        "rename.atomic",
        "rename()",
        "While a file is replaced by rename repeatedly, its name always exists.",
        |cx| {
            cx.file("a", b"a")?;
            watched(cx, &["a"], |cx| {
                let fd = cx.open_as("new", "O_CREAT | O_WRONLY", libc::O_CREAT | libc::O_WRONLY, 0o644)?;
                cx.close(fd);
                cx.rename("new", "a")
            })
        },
    ),
    linux(
        "rename.whiteout",
        "rename(2)",
        "RENAME_WHITEOUT leaves a character device 0:0 in place of the old name.",
        |cx| {
            cx.needs(cx.facts.features.whiteout, "no RENAME_WHITEOUT")?;
            cx.file("a", b"a")?;
            let result = flagged(cx, "a", "b", "RENAME_WHITEOUT", 4);
            cx.ok("rename", result);
            if let Some(stat) = cx.expect_exists("the old name", "a") {
                cx.equal("its type", i64::from(libc::S_IFCHR), i64::from(stat.mode & libc::S_IFMT));
            }
            cx.expect_exists("the new name", "b");
            Ok(())
        },
    ),
    shall("rmdir.removes", "rmdir()", "rmdir removes an empty directory.", |cx| {
        cx.dir("d", 0o755)?;
        let result = cx.rmdir("d");
        cx.ok("rmdir", result);
        cx.gone("the directory", "d");
        Ok(())
    }),
    shall(
        "rmdir.not-empty",
        "rmdir()",
        "A directory that is not empty stays, whatever its contents: EEXIST or ENOTEMPTY.",
        |cx| {
            cx.dir("d", 0o755)?;
            for kind in cx.kinds() {
                cx.make(kind, "d/x")?;
                let result = cx.rmdir("d");
                cx.answers(&format!("with a {} in it", kind.name()), result, EXISTS);
                cx.expect_exists("what is in it", "d/x");
                cx.remove("d/x");
            }
            Ok(())
        },
    ),
    shall(
        "rmdir.not-directory",
        "rmdir()",
        "rmdir of any other file, including a link to a directory, fails with ENOTDIR.",
        |cx| {
            for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
                cx.make(kind, "f")?;
                let result = cx.rmdir("f");
                cx.answers(kind.name(), result, &[libc::ENOTDIR]);
                cx.remove("f");
            }
            cx.dir("d", 0o755)?;
            let made = cx.symlink("d", "s");
            cx.set_up("make.symlink", "symlink", made)?;
            let result = cx.rmdir("s");
            cx.answers("a link to a directory", result, &[libc::ENOTDIR]);
            Ok(())
        },
    ),
    shall(
        "rmdir.dots",
        "rmdir()",
        "A path that ends in `.` fails with EINVAL; one that ends in `..` with EEXIST or ENOTEMPTY.",
        |cx| {
            cx.dir("d", 0o755)?;
            cx.dir("d/e", 0o755)?;
            let result = cx.rmdir("d/e/.");
            cx.answers("`.`", result, &[libc::EINVAL]);
            let result = cx.rmdir("d/e/..");
            cx.answers("`..`", result, EXISTS);
            cx.expect_exists("the directory", "d/e");
            Ok(())
        },
    ),
    on(
        Place::Mounts,
        shall("rmdir.ebusy", "rmdir()", "A mount point can be neither removed nor renamed: EBUSY.", |cx| {
            cx.dir("m", 0o755)?;
            crate::image::mount_here(cx, "m")?;
            let result = cx.rmdir("m");
            cx.answers("rmdir", result, &[libc::EBUSY]);
            let result = cx.rename("m", "n");
            cx.answers("rename", result, &[libc::EBUSY]);
            cx.dir("d", 0o755)?;
            let result = cx.rename("d", "m");
            cx.answers("rename over it", result, &[libc::EBUSY]);
            crate::image::unmount(cx, "m");
            Ok(())
        }),
    ),
    shall(
        "unlink.removes",
        "unlink()",
        "unlink removes the name of a file of any type except a directory; for a link, not its target.",
        |cx| {
            for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Dir) {
                cx.make(kind, "f")?;
                let result = cx.unlink("f");
                cx.ok(kind.name(), result);
                cx.gone("the name", "f");
            }
            cx.file("target", b"")?;
            let made = cx.symlink("target", "s");
            cx.set_up("make.symlink", "symlink", made)?;
            let result = cx.unlink("s");
            cx.ok("a link", result);
            cx.expect_exists("its target", "target");
            Ok(())
        },
    ),
    linux("unlink.directory", "unlink(2)", "unlink of a directory fails with EISDIR (POSIX: EPERM).", |cx| {
        cx.dir("d", 0o755)?;
        let result = cx.unlink("d");
        cx.answers("unlink", result, &[libc::EISDIR, libc::EPERM]);
        cx.expect_exists("the directory", "d");
        Ok(())
    }),
    shall(
        "unlink.directory-eperm",
        "unlink()",
        "unlink of a directory fails with EPERM, unless the file system supports it.",
        |cx| {
            cx.dir("d", 0o755)?;
            let result = cx.unlink("d");
            cx.answers("unlink", result, &[libc::EPERM]);
            Ok(())
        },
    ),
    shall(
        "mkdir.dots",
        "mkdir()",
        "`.`, `..` and existing directories fail with EEXIST, also with trailing slashes.",
        |cx| {
            cx.dir("d", 0o755)?;
            for path in [".", "..", "d/.", "d/..", "d/", "d"] {
                let result = cx.mkdir(path, 0o755);
                cx.answers(path, result, &[libc::EEXIST]);
            }
            let result = cx.mkdir("new/", 0o755);
            cx.ok("a new name with a trailing slash", result);
            Ok(())
        },
    ),
];

fn flagged(cx: &mut Ctx<'_>, from: &str, to: &str, name: &'static str, flags: i64) -> R {
    cx.call(nr!(renameat2), &[AT, V::P(from), AT, V::P(to), V::C(name, flags)])
}

/// Number of changes made while another process checks.
const ROUNDS: usize = 400;

/// Repeats a change while a child checks that the names exist.
fn watched(cx: &mut Ctx<'_>, names: &[&str], change: fn(&mut Ctx<'_>) -> R) -> Run {
    let map = crate::sys::Map::shared(-1, 0, 4096);
    let map = cx.set_up("make.regular", "mmap", map)?;
    cx.remark("fork; the child looks for the names until the parent ends");
    let pid = crate::sys::spawn(&mut || {
        map.set(1, 1);
        while map.get(0) == 0 {
            for name in names {
                if crate::sys::statx(AT, V::P(name), 0) == Err(libc::ENOENT) {
                    return 1;
                }
            }
        }
        0
    });
    let pid = cx.set_up("make.regular", "fork", pid)?;
    while map.get(1) == 0 {
        std::hint::spin_loop();
    }
    let mut failed = Ok(0);
    for _ in 0..ROUNDS {
        failed = failed.and(crate::errors::success(change(cx)));
    }
    map.set(0, 1);
    let ended = crate::sys::wait(pid, std::time::Duration::from_secs(5));
    cx.ok("every change", failed);
    let is_well = ended == Some(crate::sys::Ended::Code(0));
    cx.that(is_well, "what the other process found", "the names, always", &format!("a name missing: {ended:?}"));
    Ok(())
}
