//! Consistency of one file between several descriptors, mappings and processes.

use super::case::{Hand, linux, shall};
use super::{sizes, unlinked};
use crate::ctx::{Ctx, RDONLY, Run};
use crate::sys::{self, Aligned, Ended, Map, R, V, nr};
use std::time::Duration;

pub(super) const CASES: &[Hand] = &[
    shall(
        "append.moves-to-end",
        "write()",
        "With O_APPEND each write goes to the end of the file, at any offset.",
        |cx| {
            cx.file("f", b"start")?;
            let fd = append(cx)?;
            let other = unlinked::open(cx, "f")?;
            for (text, size) in [("one", 8), ("two", 11)] {
                let _ = cx.lseek(fd, 0, "SEEK_SET", libc::SEEK_SET);
                let written = cx.write(fd, text.as_bytes());
                cx.that(written == Ok(3), "bytes written", "3", &format!("{written:?}"));
                let got = cx.fstat(other).map(|stat| stat.size);
                cx.that(got == Ok(size), "size", &size.to_string(), &format!("{got:?}"));
            }
            sizes::reads(cx, other, 0, b"startonetwo");
            Ok(())
        },
    ),
    shall(
        "append.atomic",
        "write()",
        "Records that several processes append at the same time all arrive, complete and once.",
        |cx| {
            cx.file("f", b"")?;
            in_processes(cx, 3, &mut |writer| {
                let fd =
                    sys::call(nr!(openat), &[sys::AT, V::P("f"), V::N(i64::from(libc::O_WRONLY | libc::O_APPEND))])?;
                for record in 0..APPENDS {
                    let mut bytes = [b'a' + writer as u8; RECORD];
                    bytes[..8].copy_from_slice(&(record as u64).to_le_bytes());
                    sys::call(nr!(write), &[V::Fd(fd as i32), V::B(&bytes), V::N(RECORD as i64)])?;
                }
                Ok(0)
            })?;
            let fd = unlinked::open(cx, "f")?;
            let all = cx.pread(fd, 4 * APPENDS * RECORD, 0).unwrap_or_default();
            cx.equal("bytes in the file", (3 * APPENDS * RECORD) as i64, all.len() as i64);
            let mut next = [0u64; 3];
            let mut broken = 0;
            for record in all.chunks(RECORD) {
                let writer = usize::from(record[RECORD - 1].wrapping_sub(b'a')).min(2);
                let number = u64::from_le_bytes(record[..8].try_into().unwrap_or_default());
                let whole = record[8..].iter().all(|byte| *byte == b'a' + writer as u8);
                broken += usize::from(!whole || number != next[writer]);
                next[writer] = number + 1;
            }
            cx.equal("records that are torn, lost or out of order", 0, broken as i64);
            Ok(())
        },
    ),
    shall(
        "write.visible",
        "write()",
        "Written data is visible at once to another descriptor and another process.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"old content")?;
            let other = unlinked::open(cx, "f")?;
            for text in [&b"first"[..], b"other"] {
                let _ = cx.pwrite(fd, text, 0);
                sizes::reads(cx, other, 0, text);
            }
            in_processes(cx, 1, &mut |_| {
                let mut bytes = [0u8; 5];
                sys::call(nr!(pread64), &[V::Fd(other as i32), V::W(sys::cells(&mut bytes)), V::N(5), V::N(0)])?;
                if &bytes == b"other" { Ok(0) } else { Err(libc::EIO) }
            })
        },
    ),
    shall(
        "write.shared-offset",
        "dup(), fork()",
        "Descriptors shared by a fork share their offset; those of two opens do not.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"0123456789")?;
            let other = unlinked::open(cx, "f")?;
            in_processes(cx, 1, &mut |_| {
                sys::call(nr!(read), &[V::Fd(fd as i32), V::W(sys::cells(&mut [0; 4])), V::N(4)])
            })?;
            let here = cx.lseek(fd, 0, "SEEK_CUR", libc::SEEK_CUR);
            cx.that(here == Ok(4), "offset after the child has read", "4", &format!("{here:?}"));
            let here = cx.lseek(other, 0, "SEEK_CUR", libc::SEEK_CUR);
            cx.that(here == Ok(0), "offset of the other open", "0", &format!("{here:?}"));
            Ok(())
        },
    ),
    shall(
        "mmap.sees-write",
        "mmap()",
        "A shared mapping shows writes to the file, and the file shows writes to the mapping.",
        |cx| {
            let fd = sizes::with_content(cx, "f", &vec![b'.'; 8192])?;
            let map = mapped(cx, fd, 8192)?;
            let _ = cx.pwrite(fd, b"written", 4_090);
            let got: Vec<u8> = (4_090..4_097).map(|at| map.get(at)).collect();
            cx.code("printf(\"in the mapping: %.7s\\n\", map + 4090);");
            cx.that(got == b"written", "bytes in the mapping", "written", &got.escape_ascii().to_string());
            for (at, byte) in b"mapped".iter().enumerate() {
                map.set(100 + at, *byte);
            }
            cx.code("memcpy(map + 100, \"mapped\", 6);");
            sizes::reads(cx, fd, 100, b"mapped");
            let synced = map.sync();
            cx.code("msync(map, 8192, MS_SYNC);");
            cx.ok("msync", synced);
            Ok(())
        },
    ),
    shall("mmap.two-processes", "mmap()", "Two processes see each other's changes in a shared mapping.", |cx| {
        let fd = sizes::with_content(cx, "f", &vec![0; 4096])?;
        let map = mapped(cx, fd, 4096)?;
        map.set(0, 1);
        in_processes(cx, 1, &mut |_| {
            let seen = map.get(0);
            map.set(1, seen + 1);
            Ok(0)
        })?;
        cx.equal("value written by the other process", 2, i64::from(map.get(1)));
        sizes::reads(cx, fd, 0, &[1, 2]);
        Ok(())
    }),
    shall(
        "mmap.after-truncate",
        "mmap()",
        "Data written to a mapping beyond the end of the file, in its last page, reads as zeros when the file grows.",
        |cx| {
            let fd = sizes::with_content(cx, "f", b"tail")?;
            let map = mapped(cx, fd, 4096)?;
            map.set(10, b'x');
            cx.code("map[10] = 'x';");
            drop(map);
            cx.code("munmap(map, 4096);");
            let grown = cx.ftruncate(fd, 20);
            cx.ok("ftruncate", grown);
            sizes::reads(cx, fd, 0, b"tail\0\0\0\0\0\0\0\0");
            Ok(())
        },
    ),
    linux(
        "mmap.read-only-file",
        "mmap(2)",
        "A file that is open only for reading cannot be mapped shared and writable: EACCES.",
        |cx| {
            cx.file("f", b"data")?;
            let fd = cx.open("f", RDONLY, 0);
            let fd = cx.set_up("make.regular", "open", fd)?;
            let result = Map::shared(fd as i32, 0, 4096).map(|_| 0);
            cx.answers("mmap", result, &[libc::EACCES]);
            Ok(())
        },
    ),
    linux(
        "mmap.concurrent",
        "mmap(2)",
        "If one process writes through a mapping and another with pwrite, to different bytes of a page, no write is lost.",
        |cx| {
            let fd = sizes::with_content(cx, "f", &vec![0; 4096])?;
            let map = mapped(cx, fd, 4096)?;
            in_processes(cx, 2, &mut |writer| {
                for at in (writer..4096).step_by(2) {
                    if writer == 0 {
                        map.set(at, 7);
                    } else {
                        sys::call(nr!(pwrite64), &[V::Fd(fd as i32), V::B(&[7]), V::N(1), V::N(at as i64)])?;
                    }
                }
                Ok(0)
            })?;
            let all = cx.pread(fd, 4096, 0).unwrap_or_default();
            cx.equal("bytes that were written", 4096, all.iter().filter(|byte| **byte == 7).count() as i64);
            Ok(())
        },
    ),
    linux(
        "direct.sees-write",
        "open(2), O_DIRECT",
        "Direct reads return data written through the page cache, and buffered reads return data written directly.",
        |cx| {
            let (fd, direct, unit) = with_direct(cx)?;
            let length = unit.max(4096);
            let _ = cx.pwrite(fd, &vec![b'b'; length], 0);
            let mut buffer = Aligned::new(length, 0, 0);
            let read = pread_into(cx, direct, buffer.bytes(length), 0);
            cx.that(read == Ok(length as i64), "direct read", &length.to_string(), &format!("{read:?}"));
            let same = buffer.bytes(length).iter().all(|byte| *byte == b'b');
            cx.that(same, "data read", "the written data", "other data");
            let mut buffer = Aligned::new(length, b'd', 0);
            let written = cx.pwrite(direct, buffer.bytes(length), 0);
            cx.that(written == Ok(length as i64), "direct write", &length.to_string(), &format!("{written:?}"));
            sizes::reads(cx, fd, 0, b"dddd");
            Ok(())
        },
    ),
    linux(
        "direct.sees-mmap",
        "open(2), O_DIRECT",
        "A direct read returns data written to a mapping and synced; a mapping shows data written directly.",
        |cx| {
            let (fd, direct, unit) = with_direct(cx)?;
            let length = unit.max(4096);
            let map = mapped(cx, fd, length)?;
            map.set(0, b'm');
            let _ = map.sync();
            let mut buffer = Aligned::new(length, 0, 0);
            let _ = pread_into(cx, direct, buffer.bytes(length), 0);
            cx.equal("first byte of a direct read", i64::from(b'm'), i64::from(buffer.bytes(length)[0]));
            let mut buffer = Aligned::new(length, b'd', 0);
            let _ = cx.pwrite(direct, buffer.bytes(length), 0);
            cx.equal("first byte of the mapping", i64::from(b'd'), i64::from(map.get(0)));
            Ok(())
        },
    ),
    linux(
        "direct.alignment",
        "statx(2), STATX_DIOALIGN",
        "Direct I/O with the alignment from statx works; unaligned I/O works or fails with EINVAL, and never moves other bytes.",
        |cx| {
            let (fd, direct, unit) = with_direct(cx)?;
            let mut buffer = Aligned::new(unit, b'x', 0);
            let written = cx.pwrite(direct, buffer.bytes(unit), unit as i64);
            cx.that(
                written == Ok(unit as i64),
                &format!("a write of {unit} bytes at {unit}"),
                &unit.to_string(),
                &format!("{written:?}"),
            );
            let mut buffer = Aligned::new(unit, b'y', 1);
            let written = cx.pwrite(direct, buffer.bytes(unit), 2 * unit as i64);
            cx.answers("from an odd address", written.map(|_| 0), &[0, libc::EINVAL]);
            let expected = if written.is_ok() { b'y' } else { b'0' };
            sizes::reads(cx, fd, 2 * unit as i64, &[expected; 4]);
            let mut buffer = Aligned::new(unit, b'z', 0);
            let written = cx.pwrite(direct, &buffer.bytes(unit)[..unit - 1], 3 * unit as i64 + 1);
            cx.answers("at an odd offset", written.map(|_| 0), &[0, libc::EINVAL]);
            sizes::reads(cx, fd, 3 * unit as i64, if written.is_ok() { b"0z" } else { b"00" });
            Ok(())
        },
    ),
    linux(
        "direct.extends",
        "open(2), O_DIRECT",
        "A direct write beyond the end extends the file; the gap reads as zeros.",
        |cx| {
            let (fd, direct, unit) = with_direct(cx)?;
            let at = (16 * unit.max(4096)) as i64;
            let mut buffer = Aligned::new(unit, b'e', 0);
            let written = cx.pwrite(direct, buffer.bytes(unit), at);
            cx.that(written == Ok(unit as i64), "direct write", &unit.to_string(), &format!("{written:?}"));
            let got = cx.fstat(fd).map(|stat| stat.size as i64);
            cx.that(got == Ok(at + unit as i64), "size", &(at + unit as i64).to_string(), &format!("{got:?}"));
            sizes::reads(cx, fd, at - 2, b"\0\0ee");
            Ok(())
        },
    ),
];

/// Number of records that each process appends, and the length of each.
const APPENDS: usize = 100;
const RECORD: usize = 100;

fn append(cx: &mut Ctx<'_>) -> Result<i64, crate::ctx::Stop> {
    let fd = cx.open_as("f", "O_WRONLY | O_APPEND", libc::O_WRONLY | libc::O_APPEND, 0);
    cx.set_up("make.regular", "open", fd)
}

fn mapped(cx: &mut Ctx<'_>, fd: i64, length: usize) -> Result<Map, crate::ctx::Stop> {
    cx.code(&format!("map = mmap(0, {length}, PROT_READ | PROT_WRITE, MAP_SHARED, fd[{fd}], 0);"));
    let map = Map::shared(fd as i32, 0, length);
    match map {
        Err(libc::ENODEV) => {
            cx.needs(false, "files cannot be mapped")?;
            cx.set_up("mmap.sees-write", "mmap", Err(libc::ENODEV))
        }
        map => cx.set_up("mmap.sees-write", "mmap", map),
    }
}

/// Creates a file of `0`s, open through the page cache and directly. Also returns the unit of direct I/O in bytes.
fn with_direct(cx: &mut Ctx<'_>) -> Result<(i64, i64, usize), crate::ctx::Stop> {
    cx.needs(cx.facts.features.direct, "no O_DIRECT")?;
    let unit = match cx.facts.dio_align.0 {
        0 => 4096,
        unit => unit as usize,
    };
    let fd = sizes::with_content(cx, "f", &vec![b'0'; 8 * unit])?;
    let direct = cx.open_as("f", "O_RDWR | O_DIRECT", libc::O_RDWR | libc::O_DIRECT, 0);
    let direct = cx.set_up("make.regular", "O_DIRECT", direct)?;
    Ok((fd, direct, unit))
}

fn pread_into(cx: &mut Ctx<'_>, fd: i64, bytes: &mut [u8], offset: i64) -> R {
    let length = V::N(bytes.len() as i64);
    cx.call(nr!(pread64), &[V::Fd(fd as i32), V::W(sys::cells(bytes)), length, V::N(offset)])
}

/// Runs `body` in several processes at the same time. Each must succeed.
pub(super) fn in_processes(cx: &mut Ctx<'_>, count: usize, body: &mut dyn FnMut(usize) -> R) -> Run {
    let mut children = Vec::new();
    for number in 0..count {
        cx.remark(&format!("fork: process {number}"));
        let child = sys::spawn(&mut || body(number).err().unwrap_or(0));
        children.push(cx.set_up("make.regular", "fork", child)?);
    }
    for child in children {
        let ended = sys::wait(child, Duration::from_secs(5));
        let got = match ended {
            Some(Ended::Code(code)) => crate::errno::name(code),
            other => format!("{other:?}"),
        };
        cx.that(ended == Some(Ended::Code(0)), "result of another process", "success", &got);
    }
    Ok(())
}
