//! Creating files of each type, links, and valid names.

use super::case::{Hand, common, linux, shall};
use crate::ctx::{Ctx, NEW, Run, Stop};
use crate::facts::Kind;
use crate::outcome::SkipKind;
use crate::sys::{self, AT, R, V, nr};

pub(super) const CASES: &[Hand] = &[
    shall(
        "make.regular",
        "open()",
        "O_CREAT makes an empty regular file with one link and the requested mode.",
        |cx| makes(cx, Kind::Regular),
    ),
    shall("make.dir", "mkdir()", "mkdir makes a directory with the requested mode.", |cx| makes(cx, Kind::Dir)),
    shall("make.fifo", "mkfifo()", "A FIFO can be made.", |cx| makes(cx, Kind::Fifo)),
    common("make.socket", "mknod(2)", "A socket can be made.", |cx| makes(cx, Kind::Socket)),
    common("make.block", "mknod(2)", "Root can make a block device.", |cx| makes(cx, Kind::Block)),
    common("make.char", "mknod(2)", "Root can make a character device.", |cx| makes(cx, Kind::Char)),
    linux("make.device-number", "mknod(2)", "A device keeps the number that it was made with.", device_numbers),
    shall(
        "make.symlink",
        "symlink()",
        "A symbolic link holds its target, and its size is the target's length.",
        symlink,
    ),
    shall("make.link", "link()", "A hard link is the same file, and the link count is the number of its names.", link),
    shall(
        "link.kinds",
        "link()",
        "Files of every type except directories can have several names, with the same attributes.",
        link_kinds,
    ),
    shall("link.directory", "link()", "A directory cannot get a second name: EPERM.", |cx| {
        cx.dir("d", 0o755)?;
        let result = cx.link("d", "l");
        cx.answers("link of a directory", result, &[libc::EPERM]);
        cx.gone("the new name", "l");
        Ok(())
    }),
    linux(
        "link.symlink",
        "link(2)",
        "A hard link to a symbolic link refers to the link itself, not to its target.",
        |cx| {
            cx.needs(cx.facts.features.links, "no hard links")?;
            cx.file("f", b"")?;
            let made = cx.symlink("f", "s");
            cx.set_up("make.symlink", "symlink", made)?;
            let result = cx.link("s", "l");
            if cx.ok("link", result)
                && let Some(stat) = cx.expect_exists("the new name", "l")
            {
                cx.that(stat.mode & libc::S_IFMT == libc::S_IFLNK, "its type", "a symbolic link", "another");
            }
            Ok(())
        },
    ),
    shall(
        "make.umask",
        "umask()",
        "Bits of the file mode creation mask are cleared in the modes of new files of every type.",
        umask,
    ),
    shall(
        "make.owner",
        "open()",
        "A new file belongs to the effective user, and to the effective group or that of its directory.",
        new_owner,
    ),
    linux(
        "make.setgid-directory",
        "inode(7)",
        "In a directory with S_ISGID new files get its group, and new directories the bit too.",
        setgid_directory,
    ),
    common(
        "make.sticky-file",
        "chmod(2)",
        "Root can set the sticky bit of a file of any type but a symbolic link.",
        |cx| {
            cx.needs_users()?;
            for kind in cx.kinds().into_iter().filter(|kind| *kind != Kind::Symlink) {
                cx.make(kind, "f")?;
                let result = cx.chmod("f", 0o1644);
                cx.ok(&format!("chmod 01644 of a {}", kind.name()), result);
                if let Some(stat) = cx.expect_exists("the file", "f") {
                    cx.mode_is("its mode", 0o1644, stat.mode);
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
    common(
        "names.name-max",
        "pathconf()",
        "Names may have 255 bytes, and a longer one fails with ENAMETOOLONG.",
        |cx| {
            cx.equal("bytes of the longest possible name", 255, i64::from(cx.facts.name_max));
            let longer = cx.open(&"n".repeat(256), NEW, 0o600);
            cx.answers("a name of 256 bytes", longer, &[libc::ENAMETOOLONG]);
            Ok(())
        },
    ),
    shall("names.name-max-errno", "open()", "A name longer than the maximum fails with ENAMETOOLONG.", |cx| {
        let length = cx.facts.name_max as usize + 1;
        let longer = cx.open(&"n".repeat(length), NEW, 0o600);
        cx.answers(&format!("a new name of {length} bytes"), longer, &[libc::ENAMETOOLONG]);
        let found = cx.lstat(&"n".repeat(length)).map(|_| 0);
        cx.answers(&format!("looking up a name of {length} bytes"), found, &[libc::ENAMETOOLONG]);
        Ok(())
    }),
    common("names.symlink-max", "symlink()", "A symbolic link can hold a path of 4095 bytes.", |cx| {
        cx.needs_kind(Kind::Symlink)?;
        cx.equal("bytes of the longest possible target", 4095, i64::from(cx.facts.symlink_max));
        Ok(())
    }),
    shall("names.symlink-too-long", "symlink()", "A target longer than the maximum fails with ENAMETOOLONG.", |cx| {
        cx.needs_kind(Kind::Symlink)?;
        let result = cx.symlink(&"t".repeat(cx.facts.symlink_max as usize + 1), "s");
        cx.answers("a target that is one byte too long", result, &[libc::ENAMETOOLONG]);
        let result = cx.symlink(&"t".repeat(4096), "s");
        cx.answers("a target of 4096 bytes", result, &[libc::ENAMETOOLONG]);
        let result = cx.symlink("", "s");
        cx.answers("an empty target", result, &[libc::ENOENT]);
        cx.gone("the link", "s");
        Ok(())
    }),
    shall(
        "names.symlink-chain",
        "XBD 4.13 Pathname Resolution",
        "A path may lead through 8 symbolic links (SYMLOOP_MAX is at least 8).",
        |cx| {
            cx.file("l0", b"end")?;
            for link in 1..=8 {
                let made = cx.symlink(&format!("l{}", link - 1), &format!("l{link}"));
                cx.set_up("make.symlink", "symlink", made)?;
            }
            let found = cx.stat("l8").map(|stat| stat.size as i64);
            cx.that(found == Ok(3), "size of the file at the end", "3", &format!("{found:?}"));
            Ok(())
        },
    ),
    common(
        "names.bytes",
        "XBD 3.170 Filename",
        "Names may contain any byte except the slash and zero, and are returned unchanged.",
        |cx| {
            names(
                cx,
                &[b"\n", b"\xff\xfe", b"a\\b:c*?\"<>|", b" leading and trailing ", b"-", b"\x01\x7f", b"con", b"x."],
            )
        },
    ),
    common(
        "names.unicode",
        "XBD 3.170 Filename",
        "Names that Unicode treats as equal (NFC and NFD, letter case) are different files.",
        |cx| names(cx, &["é".as_bytes(), "e\u{301}".as_bytes(), b"Case", b"case", "ß".as_bytes(), b"ss"]),
    ),
    shall(
        "names.dots",
        "XBD 4.13 Pathname Resolution",
        "`.` is the directory itself and `..` its parent, also through a link to it.",
        |cx| {
            cx.dir("d", 0o755)?;
            cx.dir("d/e", 0o755)?;
            let here = cx.stat("d");
            for path in ["d/.", "d/e/..", "d/e/../.", "d//", "d/./e/.."] {
                let found = cx.stat(path).map(|stat| stat.ino);
                cx.that(found == here.map(|stat| stat.ino), path, "the directory", &format!("{found:?}"));
            }
            Ok(())
        },
    ),
    shall("link.path-conf", "link()", "A file can have at least 8 names (_POSIX_LINK_MAX).", |cx| {
        cx.needs(cx.facts.features.links, "no hard links")?;
        cx.file("f", b"")?;
        for link in 1..8 {
            let made = cx.link("f", &format!("l{link}"));
            cx.ok(&format!("name {link}"), made);
        }
        let count = cx.stat("l7").map(|stat| i64::from(stat.nlink));
        cx.that(count == Ok(8), "count of links", "8", &format!("{count:?}"));
        Ok(())
    }),
];

fn makes(cx: &mut Ctx<'_>, kind: Kind) -> Run {
    if cx.facts.uid != 0 && matches!(kind, Kind::Block | Kind::Char) {
        return Err(Stop::Skip(SkipKind::NeedsPrivilege, "only root makes devices".to_owned()));
    }
    let result = cx.try_make(kind, "f");
    if result == Err(libc::EPERM) && cx.facts.uid == 0 && !matches!(kind, Kind::Regular | Kind::Dir) && is_namespaced()
    {
        return Err(Stop::Skip(SkipKind::NeedsPrivilege, "devices cannot be made in a user namespace".to_owned()));
    }
    cx.ok(&format!("making a {}", kind.name()), result);
    let Some(stat) = result.ok().and_then(|_| cx.expect_exists("the new file", "f")) else { return Ok(()) };
    let (mode, format) = match kind {
        Kind::Regular => (0o644, libc::S_IFREG),
        Kind::Dir => (0o755, libc::S_IFDIR),
        Kind::Fifo => (0o644, libc::S_IFIFO),
        Kind::Block => (0o644, libc::S_IFBLK),
        Kind::Char => (0o644, libc::S_IFCHR),
        Kind::Socket => (0o644, libc::S_IFSOCK),
        Kind::Symlink => (0o777, libc::S_IFLNK),
    };
    cx.mode_is("its mode", mode, stat.mode);
    cx.equal("its type", i64::from(format), i64::from(stat.mode & libc::S_IFMT));
    if kind != Kind::Dir {
        cx.equal("its count of links", 1, i64::from(stat.nlink));
    }
    if kind == Kind::Regular {
        cx.equal("its size", 0, stat.size as i64);
    }
    cx.equal("its owner", i64::from(cx.facts.uid), i64::from(stat.uid));
    Ok(())
}

/// Tests small numbers, and the largest of each part in the kernel's old and new encoding.
fn device_numbers(cx: &mut Ctx<'_>) -> Run {
    let can_make = |kind: Kind| cx.facts.kind_errno[kind as usize] == 0;
    if cx.facts.uid != 0 || !can_make(Kind::Block) && !can_make(Kind::Char) {
        return Err(Stop::Skip(SkipKind::NeedsPrivilege, "no devices can be made here".to_owned()));
    }
    for (kind, format) in [(Kind::Block, libc::S_IFBLK), (Kind::Char, libc::S_IFCHR)] {
        if cx.facts.kind_errno[kind as usize] != 0 {
            continue;
        }
        for (major, minor) in [(1, 2), (255, 255), (259, 65_536)] {
            let number = libc::makedev(major, minor);
            let name = format!("{}-{major}-{minor}", kind.name());
            let args = [AT, V::P(&name), V::O(format | 0o600), V::N(number as i64)];
            let made = cx.call(nr!(mknodat), &args);
            if !cx.ok("making a device", made) {
                continue;
            }
            if let Some(stat) = cx.expect_exists("the device", &name) {
                let found = format!("{}:{}", stat.rdev.0, stat.rdev.1);
                cx.that(stat.rdev == (major, minor), "its number", &format!("{major}:{minor}"), &found);
            }
        }
    }
    Ok(())
}

/// Whether this is not the initial user namespace. Source: user_namespaces(7): the initial one maps all IDs.
pub(super) fn is_namespaced() -> bool {
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| !map.contains("4294967295"))
}

fn symlink(cx: &mut Ctx<'_>) -> Run {
    for target in ["t", "/no/such/path", "../x y", &"l".repeat(200)] {
        let made = cx.symlink(target, "s");
        if !cx.ok("symlink", made) {
            continue;
        }
        let mut bytes = [0u8; 512];
        let read = cx.call(nr!(readlinkat), &[AT, V::P("s"), V::W(sys::cells(&mut bytes)), V::N(512)]);
        let got = String::from_utf8_lossy(&bytes[..read.unwrap_or(0) as usize]).into_owned();
        cx.that(got == target, "readlink", target, &got);
        if let Some(stat) = cx.expect_exists("the link", "s") {
            cx.equal("its size", target.len() as i64, stat.size as i64);
            cx.equal("its type", i64::from(libc::S_IFLNK), i64::from(stat.mode & libc::S_IFMT));
        }
        let short = cx.call(nr!(readlinkat), &[AT, V::P("s"), V::W(sys::cells(&mut bytes)), V::N(1)]);
        cx.that(short == Ok(1), "readlink into one byte", "1", &format!("{short:?}"));
        cx.remove("s");
    }
    cx.file("f", b"")?;
    let read = cx.call(nr!(readlinkat), &[AT, V::P("f"), V::W(sys::cells(&mut [0; 8])), V::N(8)]);
    cx.answers("readlink of a regular file", read, &[libc::EINVAL]);
    Ok(())
}

fn link(cx: &mut Ctx<'_>) -> Run {
    if !cx.facts.features.links {
        cx.needs(false, "no hard links")?;
    }
    cx.file("a", b"data")?;
    for (count, name) in [(2, "b"), (3, "c")] {
        let made = cx.link("a", name);
        cx.ok("link", made);
        for path in ["a", name] {
            let got = cx.lstat(path).map(|stat| stat.nlink);
            cx.that(got == Ok(count), &format!("count of links of `{path}`"), &count.to_string(), &format!("{got:?}"));
        }
    }
    let inodes = ["a", "b", "c"].map(|path| cx.lstat(path).map(|stat| stat.ino));
    cx.that(inodes[0] == inodes[1] && inodes[1] == inodes[2], "inodes", "the same", &format!("{inodes:?}"));
    let set = cx.chmod("b", 0o600);
    cx.ok("chmod of one name", set);
    let mode = cx.lstat("a").map_or(0, |stat| stat.mode);
    cx.mode_is("mode by another name", 0o600, mode);
    let _ = cx.unlink("a");
    for path in ["b", "c"] {
        let left = cx.lstat(path).map(|stat| stat.nlink);
        cx.that(left == Ok(2), "count of links after an unlink", "2", &format!("{left:?}"));
    }
    Ok(())
}

fn link_kinds(cx: &mut Ctx<'_>) -> Run {
    crate::effects::links(cx)?;
    for kind in cx.kinds().into_iter().filter(|kind| !matches!(kind, Kind::Dir | Kind::Symlink)) {
        cx.make(kind, "f")?;
        let made = cx.link("f", "l");
        cx.ok(&format!("link of a {}", kind.name()), made);
        let set = cx.chmod("f", 0o201);
        cx.ok("chmod", set);
        let uid = cx.facts.uid;
        let given = cx.chown("l", if cx.facts.can_switch { 60_003 } else { i64::from(uid) }, -1);
        cx.ok("chown", given);
        let of = |cx: &mut Ctx<'_>, path: &str| cx.lstat(path).map(|stat| (stat.ino, stat.mode, stat.uid, stat.nlink));
        let (one, other) = (of(cx, "f"), of(cx, "l"));
        cx.that(
            one == other,
            &format!("inode, mode, owner and links of a {}", kind.name()),
            &format!("{one:?}"),
            &format!("{other:?}"),
        );
        let links = one.map(|(.., links)| links);
        cx.that(links == Ok(2), "count of links", "2", &format!("{links:?}"));
        cx.remove("f");
        let links = cx.lstat("l").map(|stat| stat.nlink);
        cx.that(links == Ok(1), "count of links after an unlink", "1", &format!("{links:?}"));
        cx.remove("l");
    }
    Ok(())
}

/// Makes a file of a type with a mode.
fn make_with(cx: &mut Ctx<'_>, kind: Kind, mode: u32) -> R {
    match kind {
        Kind::Regular => {
            let fd = cx.open("f", NEW, mode)?;
            cx.close(fd);
            Ok(0)
        }
        Kind::Dir => cx.mkdir("f", mode),
        Kind::Fifo => {
            cx.call(nr!(mknodat), &[AT, V::P("f"), V::C("S_IFIFO", i64::from(libc::S_IFIFO | mode)), V::N(0)])
        }
        _ => cx.call(nr!(mknodat), &[AT, V::P("f"), V::C("S_IFREG | mode", i64::from(libc::S_IFREG | mode)), V::N(0)]),
    }
}

fn umask(cx: &mut Ctx<'_>) -> Run {
    for kind in [Kind::Regular, Kind::Dir, Kind::Fifo, Kind::Socket] {
        if !cx.facts.can_make(kind) {
            continue;
        }
        for (mask, mode, expected) in [
            (0, 0o755, 0o755),
            (0, 0o151, 0o151),
            (0o077, 0o151, 0o100),
            (0o070, 0o345, 0o305),
            (0o501, 0o345, 0o244),
            (0o777, 0o777, 0),
            (0o022, 0, 0),
        ] {
            let _ = cx.call(nr!(umask), &[V::O(mask)]);
            let made = make_with(cx, kind, mode);
            let _ = cx.call(nr!(umask), &[V::O(0)]);
            cx.ok(&format!("making a {} with a mask of {mask:03o}", kind.name()), made);
            if let Some(stat) = made.ok().and_then(|_| cx.expect_exists("the new file", "f")) {
                cx.mode_is(
                    &format!("mode of a {} made with {mode:03o} and a mask of {mask:03o}", kind.name()),
                    expected,
                    stat.mode,
                );
            }
            cx.remove("f");
        }
    }
    Ok(())
}

fn new_owner(cx: &mut Ctx<'_>) -> Run {
    use crate::ctx::{A, B, Who};
    cx.needs_users()?;
    cx.dir("d", 0o777)?;
    cx.give("d", A.uid, A.gid)?;
    for kind in [Kind::Regular, Kind::Dir, Kind::Fifo, Kind::Socket, Kind::Symlink] {
        if !cx.facts.can_make(kind) {
            continue;
        }
        for who in [A, Who { gid: B.gid, ..A }, B] {
            let made = cx.as_user(who, |cx| cx.try_make(kind, "d/f"));
            cx.ok(&format!("making a {}", kind.name()), made);
            if let Some(stat) = made.ok().and_then(|_| cx.expect_exists("the new file", "d/f")) {
                cx.equal("its owner", i64::from(who.uid), i64::from(stat.uid));
                let is_one = stat.gid == who.gid || stat.gid == A.gid;
                cx.that(is_one, "its group", &format!("{} or {}", who.gid, A.gid), &stat.gid.to_string());
            }
            cx.remove("d/f");
        }
    }
    Ok(())
}

fn setgid_directory(cx: &mut Ctx<'_>) -> Run {
    use crate::ctx::{A, B};
    cx.needs_users()?;
    cx.dir("d", 0o2777)?;
    cx.give("d", A.uid, A.gid)?;
    cx.set_mode("d", 0o2777)?;
    for kind in [Kind::Regular, Kind::Dir, Kind::Fifo] {
        if !cx.facts.can_make(kind) {
            continue;
        }
        let made = cx.as_user(B, |cx| cx.try_make(kind, "d/f"));
        cx.ok(&format!("making a {}", kind.name()), made);
        if let Some(stat) = made.ok().and_then(|_| cx.expect_exists("the new file", "d/f")) {
            cx.equal(&format!("group of a {}", kind.name()), i64::from(A.gid), i64::from(stat.gid));
            if kind == Kind::Dir {
                cx.mode_is("mode of the directory", 0o2755, stat.mode);
            }
        }
        cx.remove("d/f");
    }
    Ok(())
}

/// Creates files of these names, and finds them again by listing and by name.
fn names(cx: &mut Ctx<'_>, names: &[&[u8]]) -> Run {
    cx.dir("d", 0o755)?;
    let path = |name: &[u8]| [b"d/", name].concat();
    for name in names {
        let path = path(name);
        let fd = cx.call(nr!(openat), &[AT, V::S(&path), NEW, V::O(0o644)]);
        if cx.ok(&format!("making {}", name.escape_ascii()), fd.map(|_| 0)) {
            cx.close(fd.unwrap_or(-1));
        }
    }
    let listed = super::dirs::list(cx, "d");
    let listed = cx.set_up("readdir.lists", "reading the directory", listed)?;
    for name in names {
        let found = listed.iter().filter(|(entry, _)| entry == name).count();
        cx.equal(&format!("times that {} is listed", name.escape_ascii()), 1, found as i64);
        let path = path(name);
        let gone = cx.call(nr!(unlinkat), &[AT, V::S(&path), V::N(0)]);
        cx.ok(&format!("removing {}", name.escape_ascii()), gone);
    }
    Ok(())
}
