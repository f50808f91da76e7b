//! Extended attributes and access control lists.

use super::case::{Hand, linux};
use crate::ctx::{A, B, Ctx, RDONLY, RDWR, Run, Stop, WRONLY};
use crate::facts::Kind;
use crate::outcome::SkipKind;
use crate::sys::{self, R, V, nr};

pub(super) const CASES: &[Hand] = &[
    linux(
        "xattr.sets",
        "setxattr(2)",
        "An attribute reads back as it was set, even if empty or with zero bytes, and is listed once.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            for kind in [Kind::Regular, Kind::Dir] {
                cx.make(kind, "f")?;
                for (name, value) in
                    [("user.a", &b"value"[..]), ("user.empty", b""), ("user.bytes", b"\0\xff\0"), ("user.a", b"other")]
                {
                    let result = set(cx, "f", name, value, 0);
                    cx.ok(&format!("setxattr of a {}", kind.name()), result);
                    value_is(cx, "f", name, Ok(value));
                }
                let listed = list(cx, "f");
                for name in ["user.a", "user.empty", "user.bytes"] {
                    let times = listed.split(|byte| *byte == 0).filter(|found| *found == name.as_bytes()).count();
                    cx.equal(&format!("times that {name} is listed"), 1, times as i64);
                }
                cx.remove("f");
            }
            Ok(())
        },
    ),
    linux(
        "xattr.create-replace",
        "setxattr(2)",
        "XATTR_CREATE of an existing attribute fails with EEXIST, XATTR_REPLACE of a missing one with ENODATA.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.file("f", b"")?;
            let result = set(cx, "f", "user.a", b"1", 2);
            cx.answers("XATTR_REPLACE of a missing one", result, &[libc::ENODATA]);
            let result = set(cx, "f", "user.a", b"1", 1);
            cx.ok("XATTR_CREATE of a new one", result);
            let result = set(cx, "f", "user.a", b"2", 1);
            cx.answers("XATTR_CREATE of an existing one", result, &[libc::EEXIST]);
            let result = set(cx, "f", "user.a", b"3", 2);
            cx.ok("XATTR_REPLACE", result);
            value_is(cx, "f", "user.a", Ok(b"3"));
            Ok(())
        },
    ),
    linux("xattr.removes", "removexattr(2)", "A removed attribute cannot be read: ENODATA.", |cx| {
        cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
        cx.file("f", b"")?;
        let _ = set(cx, "f", "user.a", b"1", 0);
        for expected in [0, libc::ENODATA] {
            let result = cx.call(nr!(removexattr), &[V::P("f"), V::P("user.a")]);
            cx.answers("removexattr", result, &[expected]);
        }
        value_is(cx, "f", "user.a", Err(libc::ENODATA));
        Ok(())
    }),
    linux(
        "xattr.sizes",
        "getxattr(2)",
        "Without a buffer the size is returned; a buffer that is too small fails with ERANGE.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.file("f", b"")?;
            let _ = set(cx, "f", "user.a", b"0123456789", 0);
            let size = cx.call(nr!(getxattr), &[V::P("f"), V::P("user.a"), V::Null, V::N(0)]);
            cx.that(size == Ok(10), "size", "10", &format!("{size:?}"));
            let mut bytes = [0u8; 5];
            let small = cx.call(nr!(getxattr), &[V::P("f"), V::P("user.a"), V::W(sys::cells(&mut bytes)), V::N(5)]);
            cx.answers("a buffer of 5 bytes", small, &[libc::ERANGE]);
            let small = cx.call(nr!(listxattr), &[V::P("f"), V::W(sys::cells(&mut bytes)), V::N(5)]);
            cx.answers("a list of 5 bytes", small, &[libc::ERANGE]);
            Ok(())
        },
    ),
    linux(
        "xattr.limits",
        "xattr(7)",
        "A name over 255 bytes fails with ERANGE, a value over 64 KiB with E2BIG, and a value that does not fit with ENOSPC or E2BIG.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.file("f", b"")?;
            let result = set(cx, "f", &format!("user.{}", "n".repeat(251)), b"1", 0);
            cx.answers("a name of 256 bytes", result, &[libc::ERANGE, libc::ENAMETOOLONG]);
            let result = set(cx, "f", "user.", b"1", 0);
            cx.answers("no name after the dot", result, &[libc::EINVAL, libc::EOPNOTSUPP]);
            let result = set(cx, "f", "user.a", &vec![0; 65_537], 0);
            cx.answers("a value of 65,537 bytes", result, &[libc::E2BIG]);
            let result = set(cx, "f", "user.a", &vec![7; 65_536], 0);
            cx.answers("a value of 65,536 bytes", result, &[0, libc::ENOSPC, libc::E2BIG, libc::ERANGE, libc::EDQUOT]);
            if result.is_err() {
                value_is(cx, "f", "user.a", Err(libc::ENODATA));
            }
            Ok(())
        },
    ),
    linux(
        "xattr.namespaces",
        "xattr(7)",
        "An attribute outside the namespaces fails with EOPNOTSUPP; trusted ones are hidden from other users.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.file("f", b"")?;
            cx.set_mode("f", 0o666)?;
            let result = set(cx, "f", "nonsense.a", b"1", 0);
            cx.answers("an unknown namespace", result, &[libc::EOPNOTSUPP]);
            if cx.facts.can_switch && set(cx, "f", "trusted.plumb", b"1", 0).is_ok() {
                let result = cx.as_user(A, |cx| set(cx, "f", "trusted.plumb", b"2", 0));
                cx.answers("a trusted one, by another user", result, &[libc::EPERM, libc::ENODATA]);
                let result = cx.as_user(A, |cx| get(cx, "f", "trusted.plumb")).map(|_| 0);
                cx.answers("reading a trusted one, by another user", result, &[libc::ENODATA, libc::EPERM]);
            }
            Ok(())
        },
    ),
    linux(
        "xattr.special-files",
        "xattr(7)",
        "Attributes of users are for regular files and directories only: EPERM for all others.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            for kind in cx.kinds().into_iter().filter(|kind| !matches!(kind, Kind::Regular | Kind::Dir)) {
                cx.make(kind, "f")?;
                let args = [V::P("f"), V::P("user.a"), V::B(b"1"), V::N(1), V::N(0)];
                let result = cx.call(nr!(lsetxattr), &args);
                cx.answers(kind.name(), result, &[libc::EPERM, libc::EOPNOTSUPP]);
                cx.remove("f");
            }
            Ok(())
        },
    ),
    linux(
        "xattr.sticky-directory",
        "xattr(7)",
        "Only the owner can set attributes of a world-writable sticky directory: EPERM.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.needs_users()?;
            cx.dir("d", 0o1777)?;
            let result = cx.as_user(A, |cx| set(cx, "d", "user.a", b"1", 0));
            cx.answers("another user", result, &[libc::EPERM]);
            cx.give("d", A.uid, A.gid)?;
            cx.set_mode("d", 0o1777)?;
            let result = cx.as_user(A, |cx| set(cx, "d", "user.a", b"1", 0));
            cx.ok("the owner", result);
            Ok(())
        },
    ),
    linux(
        "xattr.survives",
        "rename(2), link(2)",
        "Attributes stay with the file when it is renamed, linked, written and changed.",
        |cx| {
            cx.needs(cx.facts.features.xattr, "no extended attributes of users")?;
            cx.file("f", b"")?;
            let _ = set(cx, "f", "user.a", b"kept", 0);
            let _ = cx.chmod("f", 0o600);
            let _ = cx.truncate("f", 100);
            let _ = cx.rename("f", "g");
            value_is(cx, "g", "user.a", Ok(b"kept"));
            if cx.facts.features.links {
                let _ = cx.link("g", "h");
                value_is(cx, "h", "user.a", Ok(b"kept"));
            }
            Ok(())
        },
    ),
    linux(
        "acl.grants",
        "acl(5)",
        "An entry for a user grants or denies access to that user only, within the mask.",
        |cx| {
            cx.needs(cx.facts.features.acl, "no access control lists")?;
            cx.needs_users()?;
            cx.file("f", b"data")?;
            for (grant, mask, expected) in [(6, 7, 0), (4, 7, libc::EACCES), (6, 4, libc::EACCES), (0, 7, libc::EACCES)]
            {
                access_list(cx, "f", &[(ACL_USER, grant, A.uid)], (6, mask, 4))?;
                let result = cx.as_user(A, |cx| open_close(cx, RDWR));
                cx.answers(&format!("entry {grant}, mask {mask}, read and write"), result, &[expected]);
                let result = cx.as_user(B, |cx| open_close(cx, RDONLY));
                cx.answers("another user, read", result, &[0]);
                let result = cx.as_user(B, |cx| open_close(cx, WRONLY));
                cx.answers("another user, write", result, &[libc::EACCES]);
            }
            Ok(())
        },
    ),
    linux(
        "acl.groups",
        "acl(5)",
        "Entries for groups add up; a user who matches one does not count as others.",
        |cx| {
            cx.needs(cx.facts.features.acl, "no access control lists")?;
            cx.needs_users()?;
            cx.file("f", b"data")?;
            access_list(cx, "f", &[(ACL_GROUP, 0, A.gid)], (6, 7, 7))?;
            let result = cx.as_user(A, |cx| open_close(cx, RDONLY));
            cx.answers("a group without permission, others with", result, &[libc::EACCES]);
            access_list(cx, "f", &[(ACL_GROUP, 4, A.gid)], (6, 7, 0))?;
            let result = cx.as_user(A, |cx| open_close(cx, RDONLY));
            cx.ok("a group with permission, others without", result);
            let result = cx.as_user(B, |cx| open_close(cx, RDONLY));
            cx.answers("another user", result, &[libc::EACCES]);
            Ok(())
        },
    ),
    linux(
        "acl.mode-is-mask",
        "acl(5)",
        "With a list, the mode's group bits are the mask: chmod changes it, and it limits the entries.",
        |cx| {
            cx.needs(cx.facts.features.acl, "no access control lists")?;
            cx.needs_users()?;
            cx.file("f", b"data")?;
            access_list(cx, "f", &[(ACL_USER, 6, A.uid)], (6, 6, 0))?;
            let got = cx.lstat("f").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode with a mask of 6", 0o660, got);
            for (mode, expected) in [(0o600, libc::EACCES), (0o660, 0)] {
                cx.set_mode("f", mode)?;
                let result = cx.as_user(A, |cx| open_close(cx, RDWR));
                cx.answers(&format!("after chmod {mode:03o}"), result, &[expected]);
            }
            Ok(())
        },
    ),
    linux(
        "acl.inherits",
        "acl(5)",
        "New files inherit a directory's default list, regardless of the umask; new directories also inherit it as their default.",
        |cx| {
            cx.needs(cx.facts.features.acl, "no access control lists")?;
            cx.needs_users()?;
            cx.dir("d", 0o755)?;
            let bytes = acl_bytes_of(&[(ACL_USER, 6, A.uid)], (7, 7, 0));
            let result = set(cx, "d", "system.posix_acl_default", &bytes, 0);
            if result == Err(libc::EOPNOTSUPP) {
                cx.needs(false, "no default lists")?;
            }
            cx.ok("setting a default list", result);
            let _ = cx.call(nr!(umask), &[V::O(0o077)]);
            let made = cx.open("d/f", crate::ctx::NEW, 0o666);
            let below = cx.mkdir("d/e", 0o777);
            let _ = cx.call(nr!(umask), &[V::O(0)]);
            cx.ok("a new file", made.map(|_| 0));
            cx.ok("a new directory", below);
            let got = cx.lstat("d/f").map_or(u32::MAX, |stat| stat.mode);
            cx.mode_is("mode of the new file", 0o660, got);
            let result = cx.as_user(A, |cx| {
                let fd = cx.open("d/f", RDWR, 0)?;
                cx.close(fd);
                Ok(0)
            });
            cx.ok("the user whose entry is inherited", result);
            let inherited = get(cx, "d/e", "system.posix_acl_default");
            cx.that(
                inherited.as_ref() == Ok(&bytes),
                "default list of the new directory",
                "that of the one above",
                "another or none",
            );
            Ok(())
        },
    ),
    linux(
        "acl.einval",
        "acl(5)",
        "An invalid list fails with EINVAL: no entry for others, or a user without a mask.",
        |cx| {
            cx.needs(cx.facts.features.acl, "no access control lists")?;
            cx.file("f", b"")?;
            for entries in [
                &[(ACL_USER_OBJ, 6, u32::MAX), (ACL_GROUP_OBJ, 4, u32::MAX)][..],
                &[
                    (ACL_USER_OBJ, 6, u32::MAX),
                    (ACL_USER, 6, A.uid),
                    (ACL_GROUP_OBJ, 4, u32::MAX),
                    (ACL_OTHER, 4, u32::MAX),
                ],
            ] {
                let result = set(cx, "f", "system.posix_acl_access", &encode(entries), 0);
                cx.answers("setxattr", result, &[libc::EINVAL]);
            }
            Ok(())
        },
    ),
];

/// Tags of entries. Source: linux/posix_acl.h.
const ACL_USER_OBJ: u16 = 1;
const ACL_USER: u16 = 2;
const ACL_GROUP_OBJ: u16 = 4;
const ACL_GROUP: u16 = 8;
const ACL_MASK: u16 = 16;
const ACL_OTHER: u16 = 32;

/// An entry: tag, permissions and ID.
type Entry = (u16, u16, u32);

/// Encodes a list for the kernel: version 2, entries of 8 bytes. Source: linux/posix_acl_xattr.h.
fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = 2u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Encodes a list with these named entries, and owner, mask and others.
fn acl_bytes_of(named: &[Entry], (owner, mask, other): (u16, u16, u16)) -> Vec<u8> {
    let mut entries = vec![(ACL_USER_OBJ, owner, u32::MAX)];
    entries.extend(named.iter().filter(|(tag, ..)| *tag == ACL_USER));
    entries.push((ACL_GROUP_OBJ, 4, u32::MAX));
    entries.extend(named.iter().filter(|(tag, ..)| *tag == ACL_GROUP));
    entries.extend([(ACL_MASK, mask, u32::MAX), (ACL_OTHER, other, u32::MAX)]);
    encode(&entries)
}

/// Encodes a list that the mode cannot express, to test for support: a user's entry in addition to those named.
pub(crate) fn acl_bytes(named: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut entries = vec![(ACL_USER, 4, A.uid)];
    entries.extend(named);
    acl_bytes_of(&entries, (6, 4, 4))
}

fn access_list(cx: &mut Ctx<'_>, path: &str, named: &[Entry], around: (u16, u16, u16)) -> Run {
    let bytes = acl_bytes_of(named, around);
    let result = set(cx, path, "system.posix_acl_access", &bytes, 0);
    match result {
        Ok(_) => Ok(()),
        Err(error) => Err(Stop::Skip(SkipKind::NoFeature, format!("setting a list: {}", crate::errno::name(error)))),
    }
}

fn open_close(cx: &mut Ctx<'_>, flags: V<'_>) -> R {
    let fd = cx.open("f", flags, 0)?;
    cx.close(fd);
    Ok(0)
}

fn set(cx: &mut Ctx<'_>, path: &str, name: &str, value: &[u8], flags: i64) -> R {
    cx.call(nr!(setxattr), &[V::P(path), V::P(name), V::B(value), V::N(value.len() as i64), V::N(flags)])
}

fn get(cx: &mut Ctx<'_>, path: &str, name: &str) -> Result<Vec<u8>, i32> {
    let mut bytes = vec![0; 65_536];
    let args = [V::P(path), V::P(name), V::W(sys::cells(&mut bytes)), V::N(65_536)];
    let length = cx.call(nr!(getxattr), &args)?;
    bytes.truncate(length as usize);
    Ok(bytes)
}

fn list(cx: &mut Ctx<'_>, path: &str) -> Vec<u8> {
    let mut bytes = vec![0; 4_096];
    let length = cx.call(nr!(listxattr), &[V::P(path), V::W(sys::cells(&mut bytes)), V::N(4_096)]);
    bytes.truncate(length.unwrap_or(0) as usize);
    bytes
}

fn value_is(cx: &mut Ctx<'_>, path: &str, name: &str, expected: Result<&[u8], i32>) {
    let got = get(cx, path, name);
    let shown = |value: Result<&[u8], i32>| match value {
        Ok(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        Err(error) => crate::errno::name(error),
    };
    let got = got.as_deref().map_err(|error| *error);
    cx.that(got == expected, &format!("value of {name}"), &shown(expected), &shown(got));
}
