//! Effects of success: times and link counts of the file, of its directory and of a second directory. One routine
//! compares before and after; a row lists what must and must not change.

use crate::Level;
use crate::ctx::{Ctx, RDONLY, RDWR, Run, WRONLY};
use crate::facts::Kind;
use crate::ops::XATTR;
use crate::sys::{self, AT, Map, R, Stat, V, nr};

/// Expected changes of a call. A letter is a time (modification, change of status): upper case for "must change",
/// lower case for "must not"; a missing time may change. Then the link count: `+` one more, `-` one less, `=` the
/// same, `s`/`r` one subdirectory more/less, if those are counted.
pub(crate) struct Effect {
    /// Name of the operation in ids.
    pub name: &'static str,
    pub page: &'static str,
    /// Level of obligation of the rule.
    pub level: Level,
    /// Types of file that it is tested with.
    pub kinds: &'static [Kind],
    /// Path of the file afterwards; `p/t` before.
    pub after: &'static str,
    /// Changes of the file, of its directory `p`, and of another directory `q`.
    pub changes: [&'static str; 3],
    /// Makes the call. The file is `p/t`; [`Effect::before`] may create hard links to it.
    pub call: fn(&mut Ctx<'_>) -> R,
    pub before: fn(&mut Ctx<'_>) -> Run,
}

use Kind::{Block, Char, Dir, Fifo, Regular, Socket, Symlink};

const ALL: &[Kind] = Kind::ALL;
const NOT_LINKS: &[Kind] = &[Regular, Dir, Fifo, Block, Char, Socket];
const NOT_DIRS: &[Kind] = &[Regular, Fifo, Block, Char, Socket, Symlink];
const FILE: &[Kind] = &[Regular];
const DIR: &[Kind] = &[Dir];

const fn row(
    name: &'static str,
    page: &'static str,
    kinds: &'static [Kind],
    changes: [&'static str; 3],
    call: fn(&mut Ctx<'_>) -> R,
) -> Effect {
    Effect { name, page, level: Level::Shall, kinds, after: "p/t", changes, call, before: |_| Ok(()) }
}

const fn moved(after: &'static str, row: Effect) -> Effect {
    Effect { after, ..row }
}

const fn linux(row: Effect) -> Effect {
    Effect { level: Level::Linux, ..row }
}

const fn given(before: fn(&mut Ctx<'_>) -> Run, row: Effect) -> Effect {
    Effect { before, ..row }
}

/// Requires that the names of a file share their link count. Otherwise every case with a second name would
/// fail for the same reason.
pub(crate) fn links(cx: &mut Ctx<'_>) -> Run {
    cx.needs(cx.facts.features.links, "no hard links")?;
    cx.make(Regular, "s")?;
    let _ = cx.lstat("s");
    let _ = cx.link("s", "s2");
    let counts = ["s", "s2"].map(|path| cx.lstat(path).map(|stat| stat.nlink));
    let _ = cx.unlink("s2");
    let last = cx.lstat("s").map(|stat| stat.nlink);
    cx.premise(
        counts == [Ok(2); 2] && last == Ok(1),
        "make.link",
        "names of one file do not have the same count of links",
    )
}

/// Creates a second name of the file, `q/l`.
fn second_name(cx: &mut Ctx<'_>) -> Run {
    links(cx)?;
    let made = cx.link("p/t", "q/l");
    cx.set_up("make.link", "link", made).map(|_| ())
}

/// Creates a file `q/n` that the rename replaces. The case watches that file by its second name.
fn victim(cx: &mut Ctx<'_>) -> Run {
    second_name(cx)?;
    cx.make(Regular, "p/new")
}

fn has_xattr(cx: &mut Ctx<'_>) -> Run {
    cx.needs(cx.facts.features.xattr, "no extended attributes of users")
}

fn has_attribute(cx: &mut Ctx<'_>) -> Run {
    has_xattr(cx)?;
    let set = set_attribute(cx);
    cx.set_up("xattr.sets", "setxattr", set).map(|_| ())
}

fn set_attribute(cx: &mut Ctx<'_>) -> R {
    cx.call(nr!(setxattr), &[V::P("p/t"), V::P(XATTR), V::B(b"v"), V::N(1), V::N(0)])
}

fn with(cx: &mut Ctx<'_>, flags: V<'_>, body: fn(&mut Ctx<'_>, i64) -> R) -> R {
    let fd = cx.open("p/t", flags, 0)?;
    let result = body(cx, fd);
    cx.close(fd);
    result
}

fn new_node(cx: &mut Ctx<'_>, name: &'static str, mode: u32) -> R {
    cx.call(nr!(mknodat), &[AT, V::P("p/n"), V::C(name, i64::from(mode)), V::N(0)])
}

/// Runs one mode of fallocate from 0 to 4096.
fn allocate(cx: &mut Ctx<'_>, name: &'static str, mode: i64) -> R {
    let fd = cx.open("p/t", RDWR, 0)?;
    let result = cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::C(name, mode), V::N(0), V::N(4096)]);
    cx.close(fd);
    result
}

fn has_mode(cx: &mut Ctx<'_>, bit: usize) -> Run {
    cx.needs(cx.facts.features.fallocate >> bit & 1 == 1, "fallocate has no such mode here")
}

pub(crate) const EFFECTS: &[Effect] = &[
    row("chmod", "chmod()", NOT_LINKS, ["mC=", "mc=", "mc="], |cx| cx.chmod("p/t", 0o611)),
    row("fchmod", "fchmod()", &[Regular, Dir], ["mC=", "mc=", "mc="], |cx| {
        with(cx, RDONLY, |cx, fd| cx.call(nr!(fchmod), &[V::Fd(fd as i32), V::O(0o711)]))
    }),
    row("chown", "chown()", NOT_LINKS, ["mC=", "mc=", "mc="], |cx| {
        let (uid, gid) = (cx.facts.uid, cx.facts.gid);
        cx.chown("p/t", i64::from(uid), i64::from(gid))
    }),
    row("lchown", "lchown()", ALL, ["mC=", "mc=", "mc="], |cx| {
        let (uid, gid) = (cx.facts.uid, cx.facts.gid);
        cx.lchown("p/t", i64::from(uid), i64::from(gid))
    }),
    row("fchown", "fchown()", &[Regular, Dir], ["mC=", "mc=", "mc="], |cx| {
        let gid = V::N(i64::from(cx.facts.gid));
        let fd = cx.open("p/t", RDONLY, 0)?;
        let result = cx.call(nr!(fchown), &[V::Fd(fd as i32), V::N(-1), gid]);
        cx.close(fd);
        result
    }),
    given(links, row("link", "link()", NOT_DIRS, ["mC+", "mc=", "MC="], |cx| cx.link("p/t", "q/n"))),
    moved("q/l", given(second_name, row("unlink", "unlink()", NOT_DIRS, ["mC-", "MC=", "mc="], |cx| cx.unlink("p/t")))),
    moved("", row("rmdir", "rmdir()", DIR, ["", "MCr", "mc="], |cx| cx.rmdir("p/t"))),
    moved("q/n", row("rename", "rename()", NOT_DIRS, ["m=", "MC=", "MC="], |cx| cx.rename("p/t", "q/n"))),
    moved("p/n", row("rename-here", "rename()", NOT_DIRS, ["m=", "MC=", "mc="], |cx| cx.rename("p/t", "p/n"))),
    moved("q/n", row("rename-dir", "rename()", DIR, ["=", "MCr", "MCs"], |cx| cx.rename("p/t", "q/n"))),
    moved(
        "q/l",
        given(victim, row("rename-over", "rename()", NOT_DIRS, ["mC-", "MC=", "mc="], |cx| cx.rename("p/new", "p/t"))),
    ),
    linux(moved("q/n", row("rename-ctime", "rename(2)", ALL, ["C", "", ""], |cx| cx.rename("p/t", "q/n")))),
    row("mkdir", "mkdir()", DIR, ["mc=", "MCs", "mc="], |cx| cx.mkdir("p/n", 0o755)),
    row("mkfifo", "mkfifo()", FILE, ["mc=", "MC=", "mc="], |cx| new_node(cx, "S_IFIFO | 0644", libc::S_IFIFO | 0o644)),
    row("mknod", "mknod()", FILE, ["mc=", "MC=", "mc="], |cx| new_node(cx, "S_IFREG | 0644", libc::S_IFREG | 0o644)),
    row("symlink", "symlink()", FILE, ["mc=", "MC=", "mc="], |cx| cx.symlink("t", "p/n")),
    row("open-create", "open()", FILE, ["mc=", "MC=", "mc="], |cx| {
        let fd = cx.open("p/n", crate::ctx::NEW, 0o644)?;
        cx.close(fd);
        Ok(0)
    }),
    row("open-existing", "open()", FILE, ["mc=", "mc=", "mc="], |cx| {
        let fd = cx.open_as("p/t", "O_CREAT | O_RDONLY", libc::O_CREAT | libc::O_RDONLY, 0o600)?;
        cx.close(fd);
        Ok(0)
    }),
    row("open-trunc", "open()", FILE, ["MC=", "mc=", "mc="], |cx| {
        let fd = cx.open_as("p/t", "O_WRONLY | O_TRUNC", libc::O_WRONLY | libc::O_TRUNC, 0)?;
        cx.close(fd);
        Ok(0)
    }),
    row("open", "open()", &[Regular, Dir], ["mc=", "mc=", "mc="], |cx| with(cx, RDONLY, |_, _| Ok(0))),
    row("write", "write()", FILE, ["MC=", "mc=", "mc="], |cx| with(cx, WRONLY, |cx, fd| cx.write(fd, b"DATA"))),
    row("write-nothing", "write()", FILE, ["mc=", "mc=", "mc="], |cx| with(cx, WRONLY, |cx, fd| cx.write(fd, b""))),
    row("pwrite", "pwrite()", FILE, ["MC=", "mc=", "mc="], |cx| with(cx, WRONLY, |cx, fd| cx.pwrite(fd, b"x", 9))),
    row("read", "read()", FILE, ["mc=", "mc=", "mc="], |cx| {
        with(cx, RDONLY, |cx, fd| cx.pread(fd, 4, 0).map(|bytes| bytes.len() as i64))
    }),
    row("truncate-longer", "truncate()", FILE, ["MC=", "mc=", "mc="], |cx| cx.truncate("p/t", 100)),
    row("truncate-shorter", "truncate()", FILE, ["MC=", "mc=", "mc="], |cx| cx.truncate("p/t", 1)),
    row("ftruncate", "ftruncate()", FILE, ["MC=", "mc=", "mc="], |cx| with(cx, RDWR, |cx, fd| cx.ftruncate(fd, 1))),
    row("utimensat", "utimensat()", NOT_LINKS, ["MC=", "mc=", "mc="], |cx| cx.utimens("p/t", (1, 0), (2, 0))),
    row("stat", "stat()", ALL, ["mc=", "mc=", "mc="], |cx| cx.lstat("p/t").map(|_| 0)),
    row("readdir", "readdir()", DIR, ["mc=", "mc=", "mc="], |cx| {
        let fd = cx.open("p", RDONLY, 0)?;
        let mut bytes = [0u8; 1024];
        let result = cx.call(nr!(getdents64), &[V::Fd(fd as i32), V::W(sys::cells(&mut bytes)), V::N(1024)]);
        cx.close(fd);
        result
    }),
    row("fsync", "fsync()", FILE, ["mc=", "mc=", "mc="], |cx| with(cx, RDONLY, |cx, fd| cx.fsync(fd))),
    row("mmap", "msync()", FILE, ["MC=", "mc=", "mc="], |cx| {
        with(cx, RDWR, |cx, fd| {
            let map = Map::shared(fd as i32, 0, 4096)?;
            cx.remark("mmap(MAP_SHARED), write a byte, msync(MS_SYNC), munmap");
            map.set(0, b'!');
            map.sync()
        })
    }),
    linux(given(has_xattr, row("setxattr", "setxattr(2)", &[Regular, Dir], ["mC=", "mc=", "mc="], set_attribute))),
    linux(given(
        has_attribute,
        row("removexattr", "removexattr(2)", &[Regular, Dir], ["mC=", "mc=", "mc="], |cx| {
            cx.call(nr!(removexattr), &[V::P("p/t"), V::P(XATTR)])
        }),
    )),
    linux(given(
        |cx| has_mode(cx, 0),
        row("fallocate", "fallocate(2)", FILE, ["C=", "mc=", "mc="], |cx| allocate(cx, "0", 0)),
    )),
    linux(given(
        |cx| has_mode(cx, 2),
        row("punch-hole", "fallocate(2)", FILE, ["MC=", "mc=", "mc="], |cx| {
            allocate(cx, "FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE", 3)
        }),
    )),
    linux(row("copy-range", "copy_file_range(2)", FILE, ["MC=", "mc=", "mc="], |cx| {
        let from = cx.open("q/source", RDONLY, 0)?;
        let to = cx.open("p/t", WRONLY, 0)?;
        let args = [V::Fd(from as i32), V::Null, V::Fd(to as i32), V::Null, V::N(4), V::N(0)];
        let result = cx.call(nr!(copy_file_range), &args);
        cx.close(from);
        cx.close(to);
        result
    })),
    linux(moved(
        "q/n",
        given(
            |cx| {
                cx.needs(cx.facts.features.exchange, "no RENAME_EXCHANGE")?;
                cx.make(Regular, "q/n")
            },
            row("rename-exchange", "rename(2)", FILE, ["m=", "MC=", "MC="], |cx| {
                cx.call(nr!(renameat2), &[AT, V::P("p/t"), AT, V::P("q/n"), V::C("RENAME_EXCHANGE", 2)])
            }),
        ),
    )),
    linux(given(
        |cx| cx.needs(cx.facts.features.tmpfile, "no O_TMPFILE"),
        row("tmpfile", "open(2)", FILE, ["mc=", "mc=", "mc="], |cx| {
            let fd = cx.open_as("p", "O_TMPFILE | O_RDWR", libc::O_TMPFILE | libc::O_RDWR, 0o600)?;
            cx.close(fd);
            Ok(0)
        }),
    )),
];

/// Tests one effect with one type of file.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn run(cx: &mut Ctx<'_>, effect: &Effect, kind: Kind) -> Run {
    cx.needs_kind(kind)?;
    cx.dir("p", 0o755)?;
    cx.dir("q", 0o755)?;
    match kind {
        Regular => cx.file("p/t", b"data")?,
        kind => cx.make(kind, "p/t")?,
    }
    if effect.name == "copy-range" {
        cx.file("q/source", b"copy")?;
    }
    (effect.before)(cx)?;
    let before = ["p/t", "p", "q"].map(|path| cx.lstat(path));
    cx.nap();
    let result = (effect.call)(cx);
    if !cx.ok("the call", result.map(|_| 0)) {
        return Ok(());
    }
    let mut stats = Vec::new();
    for (path, before) in [effect.after, "p", "q"].into_iter().zip(before) {
        let after = if path.is_empty() { Ok(Stat::default()) } else { cx.lstat(path) };
        stats.push((before, after));
    }
    let names = ["the file", "its directory", "the other directory"];
    for ((changes, name), (before, after)) in effect.changes.iter().zip(names).zip(stats) {
        match (before, after) {
            _ if changes.is_empty() => {}
            (Ok(before), Ok(after)) => compare(cx, changes, name, &before, &after),
            (_, after) => {
                cx.answers(&format!("stat of {name}"), after.map(|_| 0), &[0]);
            }
        }
    }
    if let Ok(new) = cx.lstat("p/n").and_then(|new| before[1].map(|parent| (new, parent)))
        && effect.after == "p/t"
    {
        let (new, parent) = new;
        for (what, time) in [("access", new.atime), ("modification", new.mtime), ("change", new.ctime)] {
            let what = format!("time of {what} of the new file");
            let expected = format!("not before {}", crate::ctx::time(parent.ctime));
            cx.that(time >= parent.ctime, &what, &expected, &crate::ctx::time(time));
        }
    }
    Ok(())
}

fn compare(cx: &mut Ctx<'_>, changes: &str, name: &str, before: &Stat, after: &Stat) {
    for letter in changes.chars() {
        let (kind, old, new) = match letter.to_ascii_lowercase() {
            'm' => ("modification", before.mtime, after.mtime),
            _ => ("change", before.ctime, after.ctime),
        };
        let what = format!("time of {kind} of {name}");
        match letter {
            'M' | 'C' => {
                let expected = format!("other than {}", crate::ctx::time(old));
                cx.that(old != new, &what, &expected, &crate::ctx::time(new));
            }
            'm' | 'c' => cx.same_time(&what, old, new),
            's' | 'r' if !cx.facts.counts_subdirectories => {}
            letter => {
                let by = match letter {
                    '+' | 's' => 1,
                    '-' | 'r' => -1,
                    _ => 0,
                };
                cx.equal(&format!("link count of {name}"), i64::from(before.nlink) + by, i64::from(after.nlink));
            }
        }
    }
}
