//! Parts of files: allocation, holes, copies without data.

use super::case::{Hand, common, linux, shall};
use super::{sizes, unlinked};
use crate::ctx::{Ctx, Run, Stop};
use crate::facts::FALLOCATE;
use crate::sys::{R, V, nr};

/// A size that every file system can shift by.
const UNIT: i64 = 65_536;

fn mode(cx: &Ctx<'_>, bit: usize) -> Run {
    cx.needs(cx.facts.features.fallocate >> bit & 1 == 1, "fallocate has no such mode here")
}

fn allocate(cx: &mut Ctx<'_>, fd: i64, bit: usize, offset: i64, length: i64) -> R {
    let (name, value) = FALLOCATE[bit];
    cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::C(name, value), V::N(offset), V::N(length)])
}

/// Creates a file of four units: `a`s, `b`s, `c`s and `d`s.
fn lettered(cx: &mut Ctx<'_>) -> Result<i64, Stop> {
    let mut content = Vec::new();
    for letter in b"abcd" {
        content.resize(content.len() + UNIT as usize, *letter);
    }
    sizes::with_content(cx, "f", &content)
}

/// Checks the first and the last byte of each unit, and the size.
fn units(cx: &mut Ctx<'_>, fd: i64, expected: &str) {
    let size = cx.fstat(fd).map_or(-1, |stat| stat.size as i64);
    cx.equal("size", expected.len() as i64 * UNIT, size);
    let mut got = String::new();
    for unit in 0..expected.len() as i64 {
        let first = cx.pread(fd, 1, unit * UNIT).unwrap_or_default();
        let last = cx.pread(fd, 1, (unit + 1) * UNIT - 1).unwrap_or_default();
        got.push(match (first.first(), last.first()) {
            (Some(0), Some(0)) => '0',
            (Some(first), Some(last)) if first == last => char::from(*first),
            _ => '?',
        });
    }
    cx.that(got == expected, "units of the file", expected, &got);
}

pub(super) const CASES: &[Hand] = &[
    shall(
        "fallocate.extends",
        "posix_fallocate()",
        "Allocation beyond the end extends the file with zeros; existing content stays.",
        |cx| {
            mode(cx, 0)?;
            let fd = sizes::with_content(cx, "f", b"data")?;
            let result = allocate(cx, fd, 0, 0, 10_000);
            cx.ok("fallocate", result);
            let got = cx.fstat(fd).map(|stat| stat.size);
            cx.that(got == Ok(10_000), "size", "10000", &format!("{got:?}"));
            sizes::reads(cx, fd, 0, b"data\0\0");
            sizes::reads(cx, fd, 9_990, &[0; 10]);
            let result = allocate(cx, fd, 0, 0, 100);
            cx.ok("fallocate of less", result);
            let got = cx.fstat(fd).map(|stat| stat.size);
            cx.that(got == Ok(10_000), "size, which never shrinks", "10000", &format!("{got:?}"));
            Ok(())
        },
    ),
    shall("fallocate.einval", "posix_fallocate()", "A length of 0 or less, and a negative offset, are EINVAL.", |cx| {
        mode(cx, 0)?;
        let fd = sizes::with_content(cx, "f", b"data")?;
        for (offset, length) in [(0, 0), (0, -1), (-1, 10)] {
            let result = allocate(cx, fd, 0, offset, length);
            cx.answers(&format!("offset {offset}, length {length}"), result, &[libc::EINVAL]);
        }
        Ok(())
    }),
    shall(
        "fallocate.ebadf",
        "posix_fallocate()",
        "A read-only descriptor fails with EBADF; a FIFO with ESPIPE; a directory with EISDIR, ENODEV or EBADF.",
        |cx| {
            mode(cx, 0)?;
            cx.file("f", b"data")?;
            let fd = cx.open("f", crate::ctx::RDONLY, 0);
            let fd = cx.set_up("make.regular", "open", fd)?;
            let result = allocate(cx, fd, 0, 0, 100);
            cx.answers("a descriptor for reading", result, &[libc::EBADF]);
            if cx.facts.can_make(crate::facts::Kind::Fifo) {
                cx.make(crate::facts::Kind::Fifo, "p")?;
                let fd = cx.open_as("p", "O_RDWR | O_NONBLOCK", libc::O_RDWR | libc::O_NONBLOCK, 0);
                let fd = cx.set_up("make.fifo", "open", fd)?;
                let result = allocate(cx, fd, 0, 0, 100);
                cx.answers("a FIFO", result, &[libc::ESPIPE, libc::ENODEV]);
            }
            Ok(())
        },
    ),
    linux(
        "fallocate.keep-size",
        "fallocate(2)",
        "FALLOC_FL_KEEP_SIZE allocates blocks beyond the end, and leaves the size.",
        |cx| {
            mode(cx, 1)?;
            let fd = sizes::with_content(cx, "f", b"data")?;
            let before = cx.fstat(fd).map_or(0, |stat| stat.blocks);
            let result = allocate(cx, fd, 1, 0, 1 << 20);
            cx.ok("fallocate", result);
            let got = cx.fstat(fd).map_or((0, 0), |stat| (stat.size, stat.blocks));
            cx.equal("size", 4, got.0 as i64);
            cx.that(got.1 > before, "blocks", &format!("more than {before}"), &got.1.to_string());
            Ok(())
        },
    ),
    linux(
        "fallocate.punch-hole",
        "fallocate(2)",
        "A punched hole reads as zeros, frees blocks, and leaves the size and the other content.",
        |cx| {
            mode(cx, 2)?;
            let fd = lettered(cx)?;
            let _ = cx.fsync(fd);
            let before = cx.fstat(fd).map_or(0, |stat| stat.blocks);
            let result = allocate(cx, fd, 2, UNIT, UNIT);
            cx.ok("fallocate", result);
            units(cx, fd, "a0cd");
            let after = cx.fstat(fd).map_or(0, |stat| stat.blocks);
            cx.that(after < before, "blocks", &format!("less than {before}"), &after.to_string());
            let result = allocate(cx, fd, 2, 3 * UNIT - 1, 2);
            cx.ok("fallocate of two bytes", result);
            sizes::reads(cx, fd, 3 * UNIT - 3, b"cc\0\0dd");
            Ok(())
        },
    ),
    linux(
        "fallocate.collapse",
        "fallocate(2)",
        "A collapsed range is removed, and the content after it moves up.",
        |cx| {
            mode(cx, 3)?;
            let fd = lettered(cx)?;
            let result = allocate(cx, fd, 3, UNIT, UNIT);
            cx.ok("fallocate", result);
            units(cx, fd, "acd");
            let result = allocate(cx, fd, 3, UNIT, 2 * UNIT);
            cx.answers("up to the end", result, &[libc::EINVAL]);
            Ok(())
        },
    ),
    linux(
        "fallocate.zero-range",
        "fallocate(2)",
        "A zeroed range reads as zeros; beyond the end it extends the file.",
        |cx| {
            mode(cx, 4)?;
            let fd = lettered(cx)?;
            let result = allocate(cx, fd, 4, 2 * UNIT, UNIT);
            cx.ok("fallocate", result);
            units(cx, fd, "ab0d");
            let result = allocate(cx, fd, 4, 4 * UNIT, UNIT);
            cx.ok("fallocate beyond the end", result);
            units(cx, fd, "ab0d0");
            Ok(())
        },
    ),
    linux(
        "fallocate.insert",
        "fallocate(2)",
        "An inserted range is a hole, and the content after it moves down.",
        |cx| {
            mode(cx, 5)?;
            let fd = lettered(cx)?;
            let result = allocate(cx, fd, 5, UNIT, UNIT);
            cx.ok("fallocate", result);
            units(cx, fd, "a0bcd");
            Ok(())
        },
    ),
    linux(
        "fallocate.unknown",
        "fallocate(2)",
        "Unknown or incompatible modes fail with EOPNOTSUPP or EINVAL and change nothing.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"data")?;
            for value in [1 << 20, 2, 8 | 32] {
                let result = cx.call(nr!(fallocate), &[V::Fd(fd as i32), V::N(value), V::N(0), V::N(UNIT)]);
                cx.answers(&format!("mode {value}"), result, &[libc::EOPNOTSUPP, libc::EINVAL]);
            }
            sizes::reads(cx, fd, 0, b"data");
            Ok(())
        },
    ),
    linux(
        "seek.hole-data",
        "lseek(2), SEEK_HOLE",
        "Data is found at its offset, the end of the file is a hole, and an offset beyond it fails with ENXIO.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"data")?;
            for (offset, name, whence, expected) in [
                (0, "SEEK_DATA", libc::SEEK_DATA, Ok(0)),
                (2, "SEEK_DATA", libc::SEEK_DATA, Ok(2)),
                (0, "SEEK_HOLE", libc::SEEK_HOLE, Ok(4)),
                (4, "SEEK_DATA", libc::SEEK_DATA, Err(libc::ENXIO)),
                (4, "SEEK_HOLE", libc::SEEK_HOLE, Err(libc::ENXIO)),
                (100, "SEEK_DATA", libc::SEEK_DATA, Err(libc::ENXIO)),
            ] {
                let result = cx.lseek(fd, offset, name, whence);
                cx.that(
                    result == expected,
                    &format!("{name} from {offset}"),
                    &format!("{expected:?}"),
                    &format!("{result:?}"),
                );
            }
            Ok(())
        },
    ),
    linux(
        "seek.no-data-in-holes",
        "lseek(2), SEEK_HOLE",
        "Every reported hole reads as zeros, and all data is found.",
        |cx| {
            let fd = unlinked_new(cx)?;
            for offset in [0, 1 << 20, 3 << 20] {
                let _ = cx.pwrite(fd, &vec![b'x'; 4096], offset);
            }
            let _ = cx.ftruncate(fd, 4 << 20);
            let (mut at, mut covered) = (0, Vec::new());
            while let Ok(data) = cx.lseek(fd, at, "SEEK_DATA", libc::SEEK_DATA) {
                let Ok(hole) = cx.lseek(fd, data, "SEEK_HOLE", libc::SEEK_HOLE) else { break };
                if hole <= data {
                    break;
                }
                covered.push((data, hole));
                at = hole;
            }
            for offset in [0, 1 << 20, 3 << 20] {
                let found = covered.iter().any(|(data, hole)| *data <= offset && offset + 4096 <= *hole);
                cx.that(found, &format!("data at {offset}"), "inside of a range of data", &format!("{covered:?}"));
            }
            Ok(())
        },
    ),
    common("seek.finds-holes", "lseek(2), SEEK_HOLE", "Holes of a megabyte are found: SEEK_DATA skips them.", |cx| {
        let fd = unlinked_new(cx)?;
        let _ = cx.pwrite(fd, &vec![b'x'; 4096], 1 << 20);
        let result = cx.lseek(fd, 0, "SEEK_DATA", libc::SEEK_DATA);
        cx.that(result == Ok(1 << 20), "first data", "1048576", &format!("{result:?}"));
        Ok(())
    }),
    linux(
        "copy-range.copies",
        "copy_file_range(2)",
        "Bytes can be copied between two files, from and to any offset, also extending the file.",
        |cx| {
            let from = sizes::with_content(cx, "from", b"0123456789")?;
            let to = sizes::with_content(cx, "to", b"abc")?;
            let copied = copy(cx, from, 2, to, 5, 4);
            cx.that(copied == Ok(4), "bytes copied", "4", &format!("{copied:?}"));
            sizes::reads(cx, to, 0, b"abc\0\x002345");
            sizes::reads(cx, from, 0, b"0123456789");
            let copied = copy(cx, from, 10, to, 0, 4);
            cx.that(copied == Ok(0), "bytes copied from the end", "0", &format!("{copied:?}"));
            Ok(())
        },
    ),
    linux(
        "copy-range.overlap",
        "copy_file_range(2)",
        "Overlapping ranges of one file fail with EINVAL; others are copied.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"0123456789")?;
            let copied = copy(cx, fd, 0, fd, 2, 5);
            cx.answers("ranges that overlap", copied.map(|_| 0), &[libc::EINVAL]);
            let copied = copy(cx, fd, 0, fd, 6, 4);
            cx.that(copied == Ok(4), "ranges that do not", "4", &format!("{copied:?}"));
            sizes::reads(cx, fd, 0, b"0123450123");
            Ok(())
        },
    ),
    linux(
        "copy-range.flags",
        "copy_file_range(2)",
        "Flags fail with EINVAL, a target with O_APPEND with EBADF, and a directory with EISDIR.",
        |cx| {
            let from = sizes::with_content(cx, "from", b"0123456789")?;
            let to = cx.open_as(
                "to",
                "O_CREAT | O_WRONLY | O_APPEND",
                libc::O_CREAT | libc::O_WRONLY | libc::O_APPEND,
                0o644,
            );
            let to = cx.set_up("make.regular", "open", to)?;
            let copied = copy(cx, from, 0, to, 0, 4);
            cx.answers("to a descriptor with O_APPEND", copied, &[libc::EBADF]);
            let args = [V::Fd(from as i32), V::Null, V::Fd(to as i32), V::Null, V::N(1), V::N(1)];
            let result = cx.call(nr!(copy_file_range), &args);
            cx.answers("flags", result, &[libc::EINVAL]);
            Ok(())
        },
    ),
    linux(
        "clone.shares-nothing",
        "ioctl_ficlone(2)",
        "A clone has the content of its source, and neither changes with the other afterwards.",
        |cx| {
            cx.needs(cx.facts.features.clone, "no FICLONE")?;
            let from = sizes::with_content(cx, "from", &vec![b's'; 100_000])?;
            let to = sizes::with_content(cx, "to", b"")?;
            let result =
                cx.call(nr!(ioctl), &[V::Fd(to as i32), V::C("FICLONE", crate::facts::FICLONE), V::Fd(from as i32)]);
            cx.ok("FICLONE", result);
            let got = cx.fstat(to).map(|stat| stat.size);
            cx.that(got == Ok(100_000), "size", "100000", &format!("{got:?}"));
            let _ = cx.pwrite(to, b"TO", 50_000);
            let _ = cx.pwrite(from, b"FROM", 0);
            sizes::reads(cx, from, 49_999, b"ssss");
            sizes::reads(cx, to, 49_999, b"sTOs");
            sizes::reads(cx, to, 0, b"ssss");
            Ok(())
        },
    ),
];

fn copy(cx: &mut Ctx<'_>, from: i64, from_at: i64, to: i64, to_at: i64, length: i64) -> R {
    let (from_at, to_at) = (from_at.to_ne_bytes(), to_at.to_ne_bytes());
    let args = [V::Fd(from as i32), V::B(&from_at), V::Fd(to as i32), V::B(&to_at), V::N(length), V::N(0)];
    cx.call(nr!(copy_file_range), &args)
}

fn unlinked_new(cx: &mut Ctx<'_>) -> Result<i64, Stop> {
    cx.file("f", b"")?;
    unlinked::open(cx, "f")
}
