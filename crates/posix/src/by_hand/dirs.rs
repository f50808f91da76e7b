//! Reading directories, including while they change.

use super::case::{Hand, common, shall};
use crate::ctx::{Ctx, RDONLY, Run};
use crate::sys::{self, V, nr};

pub(super) const CASES: &[Hand] = &[
    shall(
        "readdir.lists",
        "readdir()",
        "Every entry of a directory is listed once, with its inode, and no other names are listed.",
        |cx| {
            cx.dir("d", 0o755)?;
            for number in 0..300 {
                cx.file(&format!("d/file-{number}"), b"")?;
            }
            let names = list(cx, "d");
            cx.answers("reading the directory", names.as_ref().map(|_| 0).map_err(|error| *error), &[0]);
            let names = names.unwrap_or_default();
            cx.equal("entries, with . and ..", 302, names.len() as i64);
            for number in [0, 150, 299] {
                let name = format!("file-{number}");
                let inode = cx.lstat(&format!("d/{name}")).map_or(0, |stat| stat.ino);
                let found: Vec<u64> = names.iter().filter(|(n, _)| n == name.as_bytes()).map(|(_, ino)| *ino).collect();
                cx.that(
                    found == [inode],
                    &format!("inodes listed for {name}"),
                    &format!("[{inode}]"),
                    &format!("{found:?}"),
                );
            }
            Ok(())
        },
    ),
    shall(
        "readdir.under-change",
        "readdir()",
        "While other files are created and removed, a file that exists all the time is listed exactly once.",
        |cx| {
            cx.dir("d", 0o755)?;
            for number in 0..200 {
                cx.file(&format!("d/stays-{number}"), b"")?;
                cx.file(&format!("d/goes-{number}"), b"")?;
            }
            let fd = cx.open("d", RDONLY, 0);
            let fd = cx.set_up("make.dir", "open", fd)?;
            let mut found = Vec::new();
            let mut round = 0;
            // A small buffer, so that the directory changes between two reads.
            while let Ok(true) = read_some(cx, fd, 600, &mut found) {
                let _ = cx.unlink(&format!("d/goes-{round}"));
                let _ = cx.unlink(&format!("d/goes-{}", 199 - round));
                cx.file(&format!("d/comes-{round}"), b"")?;
                round += 1;
            }
            cx.that(round > 3, "reads", "several", &round.to_string());
            let mut wrong = Vec::new();
            for number in 0..200 {
                let name = format!("stays-{number}");
                let times = found.iter().filter(|(n, _)| n == name.as_bytes()).count();
                if times != 1 {
                    wrong.push(format!("{name}: {times} times"));
                }
            }
            cx.that(wrong.is_empty(), "files that stay", "each once", &wrong.join(", "));
            Ok(())
        },
    ),
    shall("readdir.rewind", "rewinddir()", "After a rewind, a directory lists its current entries.", |cx| {
        cx.dir("d", 0o755)?;
        cx.file("d/old", b"")?;
        let fd = cx.open("d", RDONLY, 0);
        let fd = cx.set_up("make.dir", "open", fd)?;
        let mut found = Vec::new();
        while let Ok(true) = read_some(cx, fd, 4096, &mut found) {}
        cx.file("d/new", b"")?;
        let _ = cx.unlink("d/old");
        let moved = cx.lseek(fd, 0, "SEEK_SET", libc::SEEK_SET);
        cx.ok("lseek to 0", moved);
        found.clear();
        while let Ok(true) = read_some(cx, fd, 4096, &mut found) {}
        let has = |name: &[u8]| found.iter().any(|(n, _)| n == name);
        let (new, old) = (has(b"new"), has(b"old"));
        cx.that(new && !old, "the list", "new and not old", &format!("new: {new}, old: {old}"));
        Ok(())
    }),
    common("readdir.seek", "seekdir()", "Reading from a returned position continues with the same entries.", |cx| {
        cx.dir("d", 0o755)?;
        for number in 0..100 {
            cx.file(&format!("d/{number}"), b"")?;
        }
        let fd = cx.open("d", RDONLY, 0);
        let fd = cx.set_up("make.dir", "open", fd)?;
        let mut first = Vec::new();
        let _ = read_some(cx, fd, 600, &mut first);
        let here = cx.lseek(fd, 0, "SEEK_CUR", libc::SEEK_CUR);
        let mut rest = Vec::new();
        while let Ok(true) = read_some(cx, fd, 600, &mut rest) {}
        let moved = cx.lseek(fd, here.unwrap_or(-1), "SEEK_SET", libc::SEEK_SET);
        cx.ok("lseek to a returned position", moved.map(|_| 0));
        let mut again = Vec::new();
        while let Ok(true) = read_some(cx, fd, 600, &mut again) {}
        cx.that(
            !rest.is_empty() && rest == again,
            "entries from there on",
            &rest.len().to_string(),
            &again.len().to_string(),
        );
        Ok(())
    }),
    shall("readdir.einval", "readdir()", "A file other than a directory cannot be listed: ENOTDIR.", |cx| {
        cx.file("f", b"")?;
        let fd = cx.open("f", RDONLY, 0);
        let fd = cx.set_up("make.regular", "open", fd)?;
        let mut bytes = [0u8; 512];
        let result = cx.call(nr!(getdents64), &[V::Fd(fd as i32), V::W(sys::cells(&mut bytes)), V::N(512)]);
        cx.answers("getdents64", result, &[libc::ENOTDIR]);
        Ok(())
    }),
    shall(
        "readdir.many",
        "readdir()",
        "Each of 3,000 files is listed once, and the directory can be emptied while it is read.",
        |cx| many(cx, 3_000),
    ),
];

/// Name and inode of an entry.
pub(super) type Entry = (Vec<u8>, u64);

/// Reads a directory's entries, including `.` and `..`.
pub(super) fn list(cx: &mut Ctx<'_>, path: &str) -> Result<Vec<Entry>, i32> {
    let fd = cx.open(path, RDONLY, 0)?;
    let mut found = Vec::new();
    while read_some(cx, fd, 32_768, &mut found)? {}
    cx.close(fd);
    Ok(found)
}

/// Reads as many entries as fit into a buffer. Returns `false` at the end. Source of the layout: getdents64(2).
fn read_some(cx: &mut Ctx<'_>, fd: i64, room: usize, found: &mut Vec<Entry>) -> Result<bool, i32> {
    let mut bytes = vec![0u8; room];
    let args = [V::Fd(fd as i32), V::W(sys::cells(&mut bytes)), V::N(room as i64)];
    let length = cx.call(nr!(getdents64), &args)? as usize;
    let mut at = 0;
    while at + 19 <= length {
        let inode = u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let size = usize::from(u16::from_ne_bytes([bytes[at + 16], bytes[at + 17]]));
        let name = &bytes[at + 19..(at + size).min(length)];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        found.push((name[..end].to_vec(), inode));
        at += size.max(19);
    }
    Ok(length > 0)
}

fn many(cx: &mut Ctx<'_>, count: usize) -> Run {
    cx.dir("d", 0o755)?;
    let make = |cx: &mut Ctx<'_>| {
        for number in 0..count {
            let made = cx.open(&format!("d/{number}"), crate::ctx::NEW, 0o644);
            cx.close(made.unwrap_or(-1));
        }
    };
    cx.in_a_loop(make, |()| {
        format!(
            "for (long i = 0; i < {count}; i++) {{ snprintf(buffer, sizeof buffer, \"d/%ld\", i); close(syscall(SYS_openat, AT_FDCWD, \
             buffer, O_CREAT | O_EXCL | O_RDWR, 0644)); }}"
        )
    });
    let mut times = vec![0u32; count];
    let names = list(cx, "d").unwrap_or_default();
    for (name, _) in &names {
        let number = std::str::from_utf8(name).ok().and_then(|name| name.parse::<usize>().ok());
        if let Some(times) = number.and_then(|number| times.get_mut(number)) {
            *times += 1;
        }
    }
    cx.equal("files that are listed once", count as i64, times.iter().filter(|times| **times == 1).count() as i64);
    let fd = cx.open("d", RDONLY, 0);
    let fd = cx.set_up("make.dir", "open", fd)?;
    let mut found = Vec::new();
    let mut at = 0;
    while let Ok(true) = read_some(cx, fd, 4_096, &mut found) {
        for (name, _) in &found[at..] {
            let _ = cx.unlink(&format!("d/{}", String::from_utf8_lossy(name)));
        }
        at = found.len();
    }
    let left = list(cx, "d").map_or(0, |names| names.len());
    cx.equal("remaining entries", 2, left as i64);
    let gone = cx.rmdir("d");
    cx.ok("rmdir of the emptied directory", gone);
    Ok(())
}
