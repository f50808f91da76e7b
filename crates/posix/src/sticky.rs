//! The restricted deletion flag, S_ISVTX, of directories. One function decides who may remove, rename or replace a
//! file, and each type of file is compared with it for every owner of the directory and of the file.

use crate::ctx::{A, B, Ctx, Run};
use crate::facts::Kind;
use crate::sys::R;

/// An operation in the sticky directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StickyOp {
    /// Removes a file of this type.
    Remove(Kind),
    /// Moves a file of this type out of it.
    MoveOut(Kind),
    /// Moves a file of the first type over one of the second, which is in it.
    Replace(Kind, Kind),
    /// Renames a file of this type within it.
    RenameWithin(Kind),
}

pub(crate) fn all() -> Vec<StickyOp> {
    let mut all: Vec<StickyOp> = Kind::ALL.iter().copied().map(StickyOp::Remove).collect();
    all.extend(Kind::ALL.iter().copied().map(StickyOp::MoveOut));
    all.extend(Kind::ALL.iter().copied().map(StickyOp::RenameWithin));
    for &from in Kind::ALL {
        for &to in Kind::ALL {
            // A directory replaces directories, and nothing else does.
            if (from == Kind::Dir) == (to == Kind::Dir) {
                all.push(StickyOp::Replace(from, to));
            }
        }
    }
    all
}

impl StickyOp {
    /// Returns the part of the id.
    pub(crate) fn id(self) -> String {
        match self {
            StickyOp::Remove(Kind::Dir) => "rmdir.sticky".to_owned(),
            StickyOp::Remove(kind) => format!("unlink.sticky[{}]", kind.name()),
            StickyOp::MoveOut(kind) => format!("rename.sticky-from[{}]", kind.name()),
            StickyOp::RenameWithin(kind) => format!("rename.sticky-within[{}]", kind.name()),
            StickyOp::Replace(from, to) => format!("rename.sticky-to[{},{}]", from.name(), to.name()),
        }
    }
}

/// Whether the user is permitted. Source: POSIX.1-2017, XBD 4.3 "Directory Protection".
fn allowed(user: u32, directory_owner: u32, file_owner: u32) -> bool {
    user == directory_owner || user == file_owner
}

/// Tests the operation for all owners.
///
/// # Errors
/// Returns an error if the case cannot be tested.
pub(crate) fn run(cx: &mut Ctx<'_>, op: StickyOp) -> Run {
    cx.needs_users()?;
    let (kind, other) = match op {
        StickyOp::Remove(kind) | StickyOp::MoveOut(kind) | StickyOp::RenameWithin(kind) => (kind, kind),
        StickyOp::Replace(from, to) => (to, from),
    };
    cx.needs_kind(kind)?;
    cx.needs_kind(other)?;
    cx.dir("own", 0o755)?;
    cx.give("own", A.uid, A.gid)?;
    let owners = [(A.uid, "the user's"), (0, "root's"), (B.uid, "another user's")];
    for (directory_owner, of_directory) in owners {
        for (file_owner, of_file) in owners {
            cx.dir("d", 0o1777)?;
            cx.make(kind, "d/f")?;
            // Moving a directory writes its `..`, which must not be the reason for a refusal.
            if kind == Kind::Dir {
                cx.set_mode("d/f", 0o777)?;
            }
            cx.give("d/f", file_owner, file_owner)?;
            if let StickyOp::Replace(from, _) = op {
                cx.make(from, "own/f")?;
                cx.give("own/f", A.uid, A.gid)?;
            }
            cx.give("d", directory_owner, directory_owner)?;
            let before = cx.lstat("d/f");
            let before = cx.set_up("make.regular", "stat", before)?;
            let result = cx.as_user(A, |cx| call(cx, op));
            let what = format!("the directory is {of_directory}, the file {of_file}");
            let may = allowed(A.uid, directory_owner, file_owner);
            let errnos: &[i32] = if may { &[0] } else { &[libc::EACCES, libc::EPERM] };
            cx.answers(&what, result.map(|_| 0), errnos);
            let there = cx.lstat("d/f").is_ok_and(|after| after.ino == before.ino && after.uid == before.uid);
            if result.is_ok() == may {
                let (expected, got) = (if may { "gone" } else { "unchanged" }, if there { "there" } else { "gone" });
                cx.that(there != may, &format!("{what}: the file afterwards"), expected, got);
            }
            for path in ["d/f", "d/n", "d", "own/f", "own/n"] {
                cx.remove(path);
            }
        }
    }
    Ok(())
}

fn call(cx: &mut Ctx<'_>, op: StickyOp) -> R {
    match op {
        StickyOp::Remove(Kind::Dir) => cx.rmdir("d/f"),
        StickyOp::Remove(_) => cx.unlink("d/f"),
        StickyOp::MoveOut(_) => cx.rename("d/f", "own/n"),
        StickyOp::RenameWithin(_) => cx.rename("d/f", "d/n"),
        StickyOp::Replace(..) => cx.rename("own/f", "d/f"),
    }
}
