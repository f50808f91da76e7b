//! Rules about errors. Each is one function, and a case for every operation and path that it applies to. An operation
//! that fails must leave everything unchanged.

use crate::ctx::{A, Ctx, RDONLY, RDWR, Run, Stop};
use crate::facts::{self, APPEND, IMMUTABLE, Kind};
use crate::long_paths::{PATH_MAX, longest_path};
use crate::ops::{
    AWAY, CHANGE, COPIED, CREATE, EXCL, FOLLOW, OPS, OWNER, Op, OpNeeds, PARENT, ROOM, ROOT, RequiredFile, SAME_FS,
    SHORT, Slot,
};
use crate::outcome::SkipKind;
use crate::snapshot::{snapshot, unchanged};
use crate::sys::{R, V};
use crate::{Level, Place};

/// A rule about an error.
pub(crate) struct ErrnoRule {
    /// Name in ids.
    pub name: &'static str,
    /// The errno, as in the standard's list of errors.
    pub errno: &'static str,
    /// The rule in words, after "fails if".
    pub text: &'static str,
    /// Level of obligation of the rule.
    pub level: Level,
    /// Place where it is tested.
    pub place: Place,
    /// Whether it applies to a path of an operation.
    pub applies: fn(&Op, &Slot) -> bool,
    pub run: fn(&mut Ctx<'_>, &Op, usize) -> Run,
}

const fn rule(
    name: &'static str,
    errno: &'static str,
    text: &'static str,
    applies: fn(&Op, &Slot) -> bool,
    run: fn(&mut Ctx<'_>, &Op, usize) -> Run,
) -> ErrnoRule {
    ErrnoRule { name, errno, text, level: Level::Shall, place: Place::Here, applies, run }
}

const fn linux(rule: ErrnoRule) -> ErrnoRule {
    ErrnoRule { level: Level::Linux, ..rule }
}

const fn on(place: Place, rule: ErrnoRule) -> ErrnoRule {
    ErrnoRule { place, ..rule }
}

fn has(slot: &Slot, flag: u16) -> bool {
    slot.flags & flag != 0
}

/// All rules. Names are parts of ids and never change.
pub(crate) const RULES: &[ErrnoRule] = &[
    rule("enotdir", "ENOTDIR", "a component of the path prefix is not a directory", |_, _| true, enotdir),
    rule("enoent-prefix", "ENOENT", "a component of the path prefix does not exist", |_, _| true, enoent_prefix),
    rule("enoent", "ENOENT", "the named file does not exist", |_, slot| slot.want != RequiredFile::Nothing, enoent),
    rule("enoent-empty", "ENOENT", "the path is empty", |_, slot| !has(slot, COPIED), enoent_empty),
    rule(
        "enoent-dangling",
        "ENOENT",
        "the path is a symbolic link to a file that does not exist",
        |_, slot| has(slot, FOLLOW) && !has(slot, CREATE),
        enoent_dangling,
    ),
    rule(
        "enametoolong-name",
        "ENAMETOOLONG",
        "a component is longer than NAME_MAX; a name of NAME_MAX bytes is accepted",
        |_, slot| !has(slot, SHORT),
        too_long_name,
    ),
    rule(
        "enametoolong-path",
        "ENAMETOOLONG",
        "the path, with its final zero byte, is longer than PATH_MAX",
        |_, slot| !has(slot, SHORT),
        too_long_path,
    ),
    rule(
        "longest-path",
        "none",
        "never for its length, if the path with its final zero byte has PATH_MAX bytes, or as many as work for lstat, in \
         directories of 200 bytes each",
        |_, slot| !has(slot, SHORT | ROOT),
        longest_path,
    ),
    rule("eloop", "ELOOP", "symbolic links of the path prefix form a loop", |_, _| true, eloop_prefix),
    rule(
        "eloop-last",
        "ELOOP",
        "the path is a symbolic link to itself, through another",
        |_, slot| has(slot, FOLLOW),
        eloop_last,
    ),
    rule(
        "eacces-search",
        "EACCES",
        "search permission is denied for a component of the path prefix; once it is granted, the call succeeds",
        |_, slot| !has(slot, ROOT),
        eacces_search,
    ),
    rule(
        "eacces-parent",
        "EACCES",
        "write permission is denied on the directory whose entry is made or removed; once it is granted, the call succeeds",
        |_, slot| has(slot, PARENT) && !has(slot, ROOT),
        eacces_parent,
    ),
    rule(
        "eperm-owner",
        "EPERM",
        "the effective user is neither the owner nor privileged, whatever the mode is",
        |_, slot| has(slot, OWNER),
        eperm_owner,
    ),
    rule(
        "eexist",
        "EEXIST",
        "the file exists, of whatever type, a dangling link included",
        |_, slot| has(slot, EXCL),
        eexist,
    ),
    linux(rule("efault", "EFAULT", "the path is not in the address space", |_, slot| !has(slot, COPIED), efault)),
    rule(
        "trailing-slash",
        "ENOTDIR",
        "the path names a file that is not a directory, and ends in a slash",
        |_, slot| slot.want == RequiredFile::File,
        trailing_slash,
    ),
    linux(rule(
        "eperm-immutable",
        "EPERM",
        "the file is immutable (chattr +i)",
        |op, slot| has(slot, CHANGE) && slot.want != RequiredFile::Nothing && op.needs != OpNeeds::Tmpfile,
        |cx, op, at| flagged_file(cx, op, at, IMMUTABLE),
    )),
    linux(rule(
        "eperm-append",
        "EPERM",
        "the file is append-only (chattr +a)",
        |op, slot| {
            has(slot, CHANGE)
                && slot.want != RequiredFile::Nothing
                && op.needs != OpNeeds::Tmpfile
                && op.name != "access-write"
        },
        |cx, op, at| flagged_file(cx, op, at, APPEND),
    )),
    linux(rule(
        "eperm-immutable-parent",
        "EPERM",
        "the directory whose entry is made or removed is immutable",
        |_, slot| has(slot, PARENT),
        |cx, op, at| flagged_parent(cx, op, at, IMMUTABLE),
    )),
    linux(rule(
        "eperm-append-parent",
        "EPERM",
        "the directory is append-only, and an entry of it is removed or renamed",
        |_, slot| has(slot, AWAY),
        |cx, op, at| flagged_parent(cx, op, at, APPEND),
    )),
    on(
        Place::Mounts,
        rule("exdev", "EXDEV", "both paths are on different file systems", |_, slot| has(slot, SAME_FS), exdev),
    ),
    on(
        Place::ReadOnly,
        rule(
            "erofs",
            "EROFS",
            "the file system is read-only, and the call would change it",
            |_, slot| has(slot, CHANGE),
            crate::image::erofs,
        ),
    ),
    on(
        Place::Quota,
        linux(rule(
            "edquot",
            "EDQUOT",
            "the user's quota of blocks or files on the file system is used up",
            |_, slot| has(slot, ROOM) && !has(slot, ROOT | COPIED),
            crate::image::edquot,
        )),
    ),
    on(
        Place::Full,
        rule(
            "enospc",
            "ENOSPC",
            "there is no room for the new file or entry",
            |_, slot| has(slot, ROOM),
            crate::image::enospc,
        ),
    ),
];

/// Checks that the call fails with the errno and changes nothing.
fn refused(cx: &mut Ctx<'_>, op: &Op, at: usize, path: V<'_>, what: &str, errnos: &[i32], watched: &[&str]) -> Run {
    let other = op.other(cx, at)?;
    let mut paths = watched.to_vec();
    paths.extend([".", &other]);
    let before = snapshot(cx, &paths);
    let result = op.call_at(cx, at, path, &other);
    cx.answers(what, result, errnos);
    if result.is_err() {
        unchanged(cx, &paths, &before)?;
    }
    Ok(())
}

/// Requires that looking up the path fails in the same way. Otherwise every operation would report the same defect.
fn lookup(cx: &mut Ctx<'_>, op: &Op, path: &str, errno: i32, by: &'static str) -> Run {
    if op.name == "lstat" {
        return Ok(());
    }
    let found = cx.lstat(path).map(|_| 0);
    cx.premise(found == Err(errno), by, "looking up the path gives another result, whatever the operation")
}

fn enotdir(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    for kind in cx.kinds().into_iter().filter(|kind| !matches!(kind, Kind::Dir | Kind::Symlink)) {
        let file = cx.fresh();
        cx.make(kind, &file)?;
        let path = format!("{file}/x");
        lookup(cx, op, &path, libc::ENOTDIR, "lstat.enotdir")?;
        refused(cx, op, at, V::P(&path), &format!("prefix is a {}", kind.name()), &[libc::ENOTDIR], &[&file])?;
    }
    Ok(())
}

fn enoent_prefix(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    lookup(cx, op, "no/x", libc::ENOENT, "lstat.enoent-prefix")?;
    refused(cx, op, at, V::P("no/x"), "prefix does not exist", &[libc::ENOENT], &[])
}

fn enoent(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    cx.dir("d", 0o755)?;
    lookup(cx, op, "d/no", libc::ENOENT, "lstat.enoent")?;
    refused(cx, op, at, V::P("d/no"), "the file does not exist", &[libc::ENOENT], &["d", "d/no"])
}

fn enoent_empty(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    refused(cx, op, at, V::P(""), "the empty path", &[libc::ENOENT], &[])
}

fn enoent_dangling(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let made = cx.symlink("no", "l");
    cx.set_up("make.symlink", "symlink", made)?;
    refused(cx, op, at, V::P("l"), "a dangling link", &[libc::ENOENT], &["l", "no"])
}

fn too_long_name(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    cx.premise(cx.facts.name_max == 255, "names.name-max", "the longest name is not of 255 bytes")?;
    let name = "x".repeat(256);
    lookup(cx, op, &name, libc::ENAMETOOLONG, "lstat.enametoolong-name")?;
    refused(cx, op, at, V::P(&name), "a name of 256 bytes", &[libc::ENAMETOOLONG], &[])?;
    refused(cx, op, at, V::P(&format!("{name}/x")), "a prefix of 256 bytes", &[libc::ENAMETOOLONG], &[])?;
    let name = "y".repeat(255);
    op.prepare(cx, at, &name)?;
    if op.slots[at].flags & ROOT == 0 {
        let result = op.with(cx, at, V::P(&name))?;
        cx.ok("a name of 255 bytes", result.map(|_| 0));
    }
    Ok(())
}

fn too_long_path(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let path = format!("{}x", "./".repeat(PATH_MAX / 2));
    refused(cx, op, at, V::P(&path[path.len() - PATH_MAX..]), "a path of 4096 bytes", &[libc::ENAMETOOLONG], &[])
}

fn looped(cx: &mut Ctx<'_>) -> Run {
    for (to, path) in [("l2", "l1"), ("l1", "l2")] {
        let made = cx.symlink(to, path);
        cx.set_up("make.symlink", "symlink", made)?;
    }
    Ok(())
}

fn eloop_prefix(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    looped(cx)?;
    lookup(cx, op, "l1/x", libc::ELOOP, "lstat.eloop")?;
    refused(cx, op, at, V::P("l1/x"), "a loop in the prefix", &[libc::ELOOP], &["l1", "l2"])
}

fn eloop_last(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    looped(cx)?;
    refused(cx, op, at, V::P("l1"), "a link to itself", &[libc::ELOOP], &["l1", "l2"])
}

/// Creates a directory of the actor's with the file that the slot needs, also the actor's.
fn of_actor(cx: &mut Ctx<'_>, op: &Op, at: usize, name: &str) -> Result<String, Stop> {
    let who = cx.actor();
    cx.set_mode(".", 0o777)?;
    cx.dir(name, 0o700)?;
    let path = format!("{name}/x");
    op.prepare(cx, at, &path)?;
    if op.slots[at].want != RequiredFile::Nothing {
        cx.give(&path, who.uid, who.gid)?;
    }
    cx.give(name, who.uid, who.gid)?;
    Ok(path)
}

/// Checks that the actor is refused with each of these modes of the directory, and permitted with 0700.
fn denied(cx: &mut Ctx<'_>, op: &Op, at: usize, modes: &[u32]) -> Run {
    op.possible(cx)?;
    if cx.facts.uid == 0 && !cx.facts.can_switch {
        cx.needs_users()?;
    }
    let path = of_actor(cx, op, at, "d")?;
    let other = op.other(cx, at)?;
    let who = cx.actor();
    for mode in modes {
        cx.set_mode("d", *mode)?;
        // Root can see everything. The user can see into a directory only with search permission.
        let paths = if cx.facts.can_switch { vec!["d", &path, &other] } else { vec!["d", &other] };
        let before = snapshot(cx, &paths);
        let result = cx.as_user(who, |cx| op.call_at(cx, at, V::P(&path), &other));
        cx.answers(&format!("directory of mode {mode:04o}"), result, &[libc::EACCES]);
        if result.is_ok() {
            return Ok(());
        }
        unchanged(cx, &paths, &before)?;
    }
    cx.set_mode("d", 0o700)?;
    let result = cx.as_user(who, |cx| op.call_at(cx, at, V::P(&path), &other));
    cx.ok("directory of mode 0700", result.map(|_| 0));
    Ok(())
}

fn eacces_search(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    denied(cx, op, at, &[0o000, 0o677, 0o600])
}

fn eacces_parent(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    denied(cx, op, at, &[0o577, 0o500, 0o100])
}

fn eperm_owner(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    cx.needs_users()?;
    for kind in cx.kinds() {
        // An operation that follows the link reaches its target.
        if kind == Kind::Symlink && (op.slots[at].flags & FOLLOW != 0 || op.name == "utimensat") {
            continue;
        }
        let file = cx.fresh();
        cx.make(kind, &file)?;
        if kind != Kind::Symlink {
            cx.set_mode(&file, 0o777)?;
        }
        cx.give(&file, crate::ctx::B.uid, crate::ctx::B.gid)?;
        let before = snapshot(cx, &[&file]);
        let result = cx.as_user(A, |cx| (op.call)(cx, V::P(&file), V::Null));
        cx.answers(&format!("a {} of another user", kind.name()), result, &[libc::EPERM]);
        unchanged(cx, &[&file], &before)?;
    }
    Ok(())
}

fn eexist(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    let errno = if op.name == "bind" { libc::EADDRINUSE } else { libc::EEXIST };
    for kind in cx.kinds() {
        let file = cx.fresh();
        cx.make(kind, &file)?;
        refused(cx, op, at, V::P(&file), &format!("a {} is there", kind.name()), &[errno], &[&file])?;
    }
    Ok(())
}

fn efault(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    refused(cx, op, at, V::Bad, "an address where nothing is mapped", &[libc::EFAULT], &[])
}

fn trailing_slash(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    op.prepare(cx, at, "f")?;
    refused(cx, op, at, V::P("f/"), "a file, with a trailing slash", &[libc::ENOTDIR], &["f"])
}

/// Sets chattr flags on a file of the case; the runner clears them again.
pub(crate) fn flag(cx: &mut Ctx<'_>, path: &str, flags: u32) -> Run {
    let has = if flags == APPEND { cx.facts.features.append_only } else { cx.facts.features.immutable };
    if !has {
        let why = "the flags immutable and append-only cannot be set (chattr)";
        return Err(Stop::Skip(SkipKind::NoFeature, why.to_owned()));
    }
    let fd = cx.open(path, RDONLY, 0);
    let fd = cx.set_up("make.regular", "open", fd)?;
    cx.remark(if flags == APPEND { "chattr +a" } else { "chattr +i" });
    let set = facts::set_flags(fd as i32, flags);
    cx.close(fd);
    if flags == 0 {
        return Ok(());
    }
    match set {
        Ok(_) => Ok(()),
        Err(error) => {
            let why = format!("chattr on `{path}`: {}", crate::errno::name(error));
            Err(Stop::Skip(SkipKind::NoFeature, why))
        }
    }
}

fn flagged_file(cx: &mut Ctx<'_>, op: &Op, at: usize, flags: u32) -> Run {
    op.possible(cx)?;
    op.prepare(cx, at, "f")?;
    if op.slots[at].want == RequiredFile::File && op.needs != OpNeeds::Xattr {
        let fd = cx.open("f", RDWR, 0);
        let fd = cx.set_up("make.regular", "open", fd)?;
        let _ = cx.pwrite(fd, b"data", 0);
        cx.close(fd);
    }
    flag(cx, "f", flags)?;
    let result = refused(cx, op, at, V::P("f"), "the file has the flag", &[libc::EPERM], &["f"]);
    flag(cx, "f", 0)?;
    result
}

fn flagged_parent(cx: &mut Ctx<'_>, op: &Op, at: usize, flags: u32) -> Run {
    op.possible(cx)?;
    cx.dir("d", 0o755)?;
    op.prepare(cx, at, "d/x")?;
    flag(cx, "d", flags)?;
    let result = refused(cx, op, at, V::P("d/x"), "the directory has the flag", &[libc::EPERM], &["d", "d/x"]);
    flag(cx, "d", 0)?;
    result
}

fn exdev(cx: &mut Ctx<'_>, op: &Op, at: usize) -> Run {
    op.possible(cx)?;
    cx.dir("m", 0o755)?;
    crate::image::mount_here(cx, "m")?;
    op.prepare(cx, at, "m/x")?;
    let result = refused(cx, op, at, V::P("m/x"), "the other path is on a tmpfs", &[libc::EXDEV], &["m", "m/x"]);
    crate::image::unmount(cx, "m");
    result
}

/// Returns every operation, rule and path to which the rule applies.
pub(crate) fn pairs() -> impl Iterator<Item = (usize, usize, usize)> {
    OPS.iter().enumerate().flat_map(|(op, row)| {
        let slots = row.slots.iter().enumerate();
        slots.flat_map(move |(at, slot)| {
            let rules = RULES.iter().enumerate().filter(move |(_, rule)| (rule.applies)(row, slot));
            rules.map(move |(rule, _)| (op, rule, at))
        })
    })
}

/// Maps a number of bytes or a descriptor to plain success.
pub(crate) fn success(result: R) -> R {
    result.map(|_| 0)
}
