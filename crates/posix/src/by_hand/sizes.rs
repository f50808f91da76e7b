//! Contents of files: size, data, holes, large offsets.

use super::case::{Hand, linux, shall};
use crate::ctx::{Ctx, RDONLY, RDWR, WRONLY};
use crate::sys::{V, nr};

pub(super) const CASES: &[Hand] = &[
    shall(
        "write.extends",
        "write()",
        "A write beyond the end extends the file; unwritten bytes read as zeros.",
        |cx| {
            let fd = new(cx)?;
            for (offset, bytes, size) in [(0, &b"start"[..], 5), (10_000, b"end", 10_003), (5_000, b"middle", 10_003)] {
                let written = cx.pwrite(fd, bytes, offset);
                cx.that(
                    written == Ok(bytes.len() as i64),
                    "bytes written",
                    &bytes.len().to_string(),
                    &format!("{written:?}"),
                );
                let got = cx.fstat(fd).map(|stat| stat.size);
                cx.that(got == Ok(size), "size", &size.to_string(), &format!("{got:?}"));
            }
            for (offset, expected) in [(0, &b"start\0\0"[..]), (4_998, b"\0\0middle\0\0"), (9_999, b"\0end")] {
                reads(cx, fd, offset, expected);
            }
            let past_end = cx.pread(fd, 100, 10_003);
            cx.that(past_end == Ok(Vec::new()), "read at the end", "nothing", &format!("{past_end:?}"));
            Ok(())
        },
    ),
    shall(
        "truncate.sets",
        "truncate()",
        "truncate shortens or extends a file, by name and by descriptor; new bytes read as zeros.",
        |cx| {
            cx.file("f", b"0123456789")?;
            let fd = cx.open("f", RDWR, 0);
            let fd = cx.set_up("make.regular", "open", fd)?;
            for (size, by_name) in [(5, true), (20, true), (3, false), (5_000, false), (0, true), (1 << 20, false)] {
                let result = if by_name { cx.truncate("f", size) } else { cx.ftruncate(fd, size) };
                cx.ok(&format!("truncate to {size}"), result);
                let got = cx.stat("f").map(|stat| stat.size as i64);
                cx.that(got == Ok(size), "size", &size.to_string(), &format!("{got:?}"));
                if size == 20 {
                    reads(cx, fd, 0, b"01234\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
                }
                if size == 5_000 {
                    reads(cx, fd, 0, b"012\0\0\0");
                }
            }
            Ok(())
        },
    ),
    shall(
        "truncate.shrink-then-grow",
        "truncate()",
        "Truncated data does not reappear when the file grows again.",
        |cx| {
            let fd = new(cx)?;
            let _ = cx.pwrite(fd, &vec![b'#'; 10_000], 0);
            for size in [4_097, 10_000, 3, 8_192] {
                let result = cx.ftruncate(fd, size);
                cx.ok(&format!("ftruncate to {size}"), result);
            }
            reads(cx, fd, 0, b"###\0\0\0\0\0");
            let rest = cx.pread(fd, 8_192, 3).unwrap_or_default();
            let zeros = rest.iter().filter(|byte| **byte == 0).count();
            cx.equal("zero bytes after the third", 8_189, zeros as i64);
            Ok(())
        },
    ),
    shall("truncate.einval", "truncate()", "A negative length fails with EINVAL, by name and by descriptor.", |cx| {
        let fd = new(cx)?;
        for length in [-1, -999_999] {
            let result = cx.truncate("f", length);
            cx.answers("truncate", result, &[libc::EINVAL]);
            let result = cx.ftruncate(fd, length);
            cx.answers("ftruncate", result, &[libc::EINVAL]);
        }
        Ok(())
    }),
    shall(
        "truncate.efbig",
        "truncate()",
        "A length that the file system does not support fails with EFBIG or EINVAL and changes nothing; a supported one becomes the size.",
        |cx| {
            let fd = new(cx)?;
            for length in [999_999_999_999_999, i64::MAX] {
                let result = cx.ftruncate(fd, length);
                if !cx.answers(&format!("ftruncate to {length}"), result, &[0, libc::EFBIG, libc::EINVAL]) {
                    continue;
                }
                let expected = if result.is_ok() { length } else { 0 };
                let got = cx.fstat(fd).map(|stat| stat.size as i64);
                cx.that(got == Ok(expected), "size", &expected.to_string(), &format!("{got:?}"));
                let _ = cx.ftruncate(fd, 0);
            }
            Ok(())
        },
    ),
    shall("truncate.eisdir", "truncate()", "A directory cannot be truncated: EISDIR.", |cx| {
        cx.dir("d", 0o755)?;
        let result = cx.truncate("d", 0);
        cx.answers("truncate", result, &[libc::EISDIR]);
        Ok(())
    }),
    shall(
        "truncate.not-regular",
        "truncate()",
        "A file that is neither a regular file nor a directory cannot be truncated: EINVAL.",
        |cx| {
            for kind in cx
                .kinds()
                .into_iter()
                .filter(|kind| matches!(kind, crate::facts::Kind::Fifo | crate::facts::Kind::Socket))
            {
                cx.make(kind, "f")?;
                let result = cx.truncate("f", 0);
                cx.answers(kind.name(), result, &[libc::EINVAL]);
                cx.remove("f");
            }
            Ok(())
        },
    ),
    shall(
        "write.large-offsets",
        "write()",
        "Files can exceed 2 GiB and 4 GiB if the file system allows it: a byte reads back at its offset.",
        |cx| {
            let fd = new(cx)?;
            for offset in [(1i64 << 31) - 1, 1 << 31, (1 << 32) + 1, (1 << 40) - 4096] {
                let written = cx.pwrite(fd, b"x", offset);
                if written == Err(libc::EFBIG) && offset > 1 << 39 {
                    break;
                }
                cx.that(written == Ok(1), &format!("write at {offset}"), "1 byte", &format!("{written:?}"));
                reads(cx, fd, offset - 1, if offset == 1 << 31 { b"xx" } else { b"\0x" });
                let got = cx.fstat(fd).map(|stat| stat.size as i64);
                cx.that(got == Ok(offset + 1), "size", &(offset + 1).to_string(), &format!("{got:?}"));
            }
            Ok(())
        },
    ),
    linux(
        "write.largest-size",
        "open(2), O_LARGEFILE",
        "The maximum file size is found, and a write beyond it fails with EFBIG instead of landing elsewhere.",
        |cx| {
            let fd = new(cx)?;
            let mut largest = 0;
            for bit in (20..63).rev() {
                if cx.ftruncate(fd, largest | 1 << bit).is_ok() {
                    largest |= 1 << bit;
                }
            }
            cx.that(largest >= 1 << 31, "largest size found", "at least 2 GiB", &largest.to_string());
            let past_end = cx.pwrite(fd, b"x", i64::MAX - 10);
            cx.answers("write close to 2^63", past_end, &[libc::EFBIG, libc::EINVAL, 0]);
            let _ = cx.ftruncate(fd, 0);
            Ok(())
        },
    ),
    shall("lseek.bounds", "lseek()", "lseek can move beyond the end, but never before the start: EINVAL.", |cx| {
        let fd = new(cx)?;
        let _ = cx.pwrite(fd, b"data", 0);
        for (offset, name, whence, expected) in [
            (0, "SEEK_END", libc::SEEK_END, Ok(4)),
            (100, "SEEK_SET", libc::SEEK_SET, Ok(100)),
            (-50, "SEEK_CUR", libc::SEEK_CUR, Ok(50)),
            (-1, "SEEK_SET", libc::SEEK_SET, Err(libc::EINVAL)),
            (-5, "SEEK_END", libc::SEEK_END, Err(libc::EINVAL)),
        ] {
            let result = cx.lseek(fd, offset, name, whence);
            cx.that(result == expected, name, &format!("{expected:?}"), &format!("{result:?}"));
        }
        Ok(())
    }),
    shall("write.ebadf-negative", "pwrite()", "A negative offset fails with EINVAL.", |cx| {
        let fd = new(cx)?;
        let result = cx.pwrite(fd, b"x", -1);
        cx.answers("pwrite at -1", result, &[libc::EINVAL]);
        let result = cx.pread(fd, 1, -1).map(|_| 0);
        cx.answers("pread at -1", result, &[libc::EINVAL]);
        Ok(())
    }),
    shall("read.directory", "read()", "A directory cannot be read as a file: EISDIR.", |cx| {
        cx.dir("d", 0o755)?;
        let fd = cx.open("d", RDONLY, 0);
        let fd = cx.set_up("make.dir", "open", fd)?;
        let result = cx.pread(fd, 10, 0).map(|_| 0);
        cx.answers("pread", result, &[libc::EISDIR]);
        Ok(())
    }),
    shall(
        "fsync.works",
        "fsync()",
        "fsync and fdatasync of files, and fsync of directories, succeed, also on read-only descriptors.",
        |cx| {
            cx.file("f", b"data")?;
            for (path, flags) in [("f", RDONLY), ("f", WRONLY), (".", RDONLY)] {
                let fd = cx.open(path, flags, 0);
                let fd = cx.set_up("make.regular", "open", fd)?;
                let result = cx.fsync(fd);
                cx.ok(&format!("fsync of `{path}`"), result);
                let result = cx.call(nr!(fdatasync), &[V::Fd(fd as i32)]);
                cx.ok(&format!("fdatasync of `{path}`"), result);
                cx.close(fd);
            }
            Ok(())
        },
    ),
    shall(
        "write.blocks-counted",
        "stat()",
        "A sparse file uses fewer blocks than its size, and a written one uses some.",
        |cx| {
            let fd = new(cx)?;
            let _ = cx.pwrite(fd, &vec![7; 65_536], 0);
            let _ = cx.fsync(fd);
            let blocks = cx.fstat(fd).map(|stat| stat.blocks);
            // Inline data and compression use fewer blocks, but zero would be wrong.
            cx.that(blocks.is_ok_and(|blocks| blocks > 0), "blocks of a written file", "some", &format!("{blocks:?}"));
            Ok(())
        },
    ),
];

/// Creates a new file `f`, open for reading and writing.
fn new(cx: &mut Ctx<'_>) -> Result<i64, crate::ctx::Stop> {
    let fd = cx.open("f", crate::ctx::NEW, 0o644);
    cx.set_up("make.regular", "open", fd)
}

/// Checks the bytes read at an offset.
pub(super) fn reads(cx: &mut Ctx<'_>, fd: i64, offset: i64, expected: &[u8]) {
    let got = cx.pread(fd, expected.len(), offset);
    let shown = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let text = got.as_ref().map_or_else(|error| crate::errno::name(*error), |bytes| shown(bytes));
    cx.that(got.as_deref() == Ok(expected), &format!("bytes at {offset}"), &shown(expected), &text);
}

/// For other modules: creates a new file with this content and opens it.
pub(super) fn with_content(cx: &mut Ctx<'_>, name: &str, content: &[u8]) -> Result<i64, crate::ctx::Stop> {
    cx.file(name, content)?;
    let fd = cx.open(name, RDWR, 0);
    cx.set_up("make.regular", "open", fd)
}
