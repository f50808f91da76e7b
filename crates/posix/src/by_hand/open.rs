//! open(): the meaning of its flags.

use super::case::{Hand, linux, on, shall};
use crate::Place;
use crate::ctx::{Ctx, RDONLY, RDWR, Run, Stop, WRONLY};
use crate::facts::{self, Kind};
use crate::outcome::SkipKind;
use crate::sys::{self, Ended, V, nr};
use std::time::Duration;

pub(super) const CASES: &[Hand] = &[
    shall("open.eisdir", "open()", "A directory cannot be opened for writing: EISDIR.", |cx| {
        cx.dir("d", 0o755)?;
        for (what, flags) in [("O_WRONLY", WRONLY), ("O_RDWR", RDWR)] {
            let result = cx.open("d", flags, 0);
            cx.answers(what, result, &[libc::EISDIR]);
        }
        let result = cx.open_as("d", "O_RDONLY | O_TRUNC", libc::O_TRUNC, 0);
        cx.answers("O_RDONLY | O_TRUNC", result, &[libc::EISDIR]);
        let result = cx.open_as("d", "O_RDONLY | O_CREAT", libc::O_CREAT, 0o644);
        cx.answers("O_RDONLY | O_CREAT", result, &[libc::EISDIR]);
        Ok(())
    }),
    shall("open.nofollow", "open()", "O_NOFOLLOW does not open a symbolic link: ELOOP.", |cx| {
        cx.file("f", b"")?;
        let made = cx.symlink("f", "s");
        cx.set_up("make.symlink", "symlink", made)?;
        for (name, flags) in [
            ("O_RDONLY | O_NOFOLLOW", libc::O_RDONLY),
            ("O_WRONLY | O_NOFOLLOW", libc::O_WRONLY),
            ("O_RDWR | O_NOFOLLOW", libc::O_RDWR),
            ("O_RDONLY | O_CREAT | O_NOFOLLOW", libc::O_CREAT),
        ] {
            let result = cx.open_as("s", name, flags | libc::O_NOFOLLOW, 0o644);
            cx.answers(name, result, &[libc::ELOOP]);
        }
        let result = cx.open_as("f", "O_RDONLY | O_NOFOLLOW", libc::O_NOFOLLOW, 0);
        cx.ok("of a regular file", result.map(|_| 0));
        Ok(())
    }),
    shall("open.directory", "open()", "O_DIRECTORY opens only directories: ENOTDIR.", |cx| {
        for kind in cx.kinds().into_iter().filter(|kind| !matches!(kind, Kind::Dir | Kind::Symlink)) {
            cx.make(kind, "f")?;
            let name = "O_DIRECTORY | O_NONBLOCK";
            let result = cx.open_as("f", name, libc::O_DIRECTORY | libc::O_NONBLOCK, 0);
            cx.answers(kind.name(), result, &[libc::ENOTDIR]);
            cx.remove("f");
        }
        Ok(())
    }),
    shall(
        "open.enxio-fifo",
        "open()",
        "A FIFO without a reader cannot be opened with O_WRONLY | O_NONBLOCK: ENXIO; with a reader it can.",
        |cx| {
            cx.needs_kind(Kind::Fifo)?;
            cx.make(Kind::Fifo, "f")?;
            let flags = libc::O_WRONLY | libc::O_NONBLOCK;
            let result = cx.open_as("f", "O_WRONLY | O_NONBLOCK", flags, 0);
            cx.answers("without a reader", result, &[libc::ENXIO]);
            let reader = cx.open_as("f", "O_RDONLY | O_NONBLOCK", libc::O_NONBLOCK, 0);
            cx.ok("O_RDONLY | O_NONBLOCK", reader.map(|_| 0));
            let writer = cx.open_as("f", "O_WRONLY | O_NONBLOCK", flags, 0);
            if cx.ok("with a reader", writer.map(|_| 0)) {
                let _ = cx.write(writer.unwrap_or(-1), b"through");
                let got =
                    cx.call(nr!(read), &[V::Fd(reader.unwrap_or(-1) as i32), V::W(sys::cells(&mut [0; 16])), V::N(16)]);
                cx.that(got == Ok(7), "bytes that come through", "7", &format!("{got:?}"));
            }
            Ok(())
        },
    ),
    linux("open.enxio-socket", "open(2)", "A socket cannot be opened: ENXIO.", |cx| {
        cx.needs_kind(Kind::Socket)?;
        cx.make(Kind::Socket, "f")?;
        for flags in [RDONLY, WRONLY, RDWR] {
            let result = cx.open("f", flags, 0);
            cx.answers("open of a socket", result, &[libc::ENXIO, libc::EOPNOTSUPP]);
        }
        Ok(())
    }),
    shall("open.trunc", "open()", "O_TRUNC sets the size to 0, and keeps inode, mode and owner.", |cx| {
        cx.file("f", b"content")?;
        cx.set_mode("f", 0o640)?;
        let before = cx.lstat("f");
        let fd = cx.open_as("f", "O_WRONLY | O_TRUNC", libc::O_WRONLY | libc::O_TRUNC, 0);
        cx.ok("open", fd.map(|_| 0));
        if let (Ok(before), Some(after)) = (before, cx.expect_exists("the file", "f")) {
            cx.equal("size", 0, after.size as i64);
            cx.equal("inode", before.ino as i64, after.ino as i64);
            cx.mode_is("mode", 0o640, after.mode);
        }
        Ok(())
    }),
    shall(
        "open.mode-of-new",
        "open()",
        "The mode of a new file does not limit the descriptor that creates it: a file of mode 0 can be written.",
        |cx| {
            let who = cx.actor();
            cx.set_mode(".", 0o777)?;
            let written = cx.as_user(who, |cx| {
                let fd = cx.open("f", crate::ctx::NEW, 0)?;
                let written = cx.write(fd, b"data")?;
                cx.close(fd);
                Ok::<_, i32>(written)
            });
            cx.that(written == Ok(4), "bytes written", "4", &format!("{written:?}"));
            if let Some(stat) = cx.expect_exists("the file", "f") {
                cx.mode_is("mode", 0, stat.mode);
                cx.equal("size", 4, stat.size as i64);
            }
            Ok(())
        },
    ),
    shall(
        "open.excl-symlink",
        "open()",
        "O_CREAT | O_EXCL does not follow a link, not even a dangling one: EEXIST, and no file is created.",
        |cx| {
            let made = cx.symlink("target", "s");
            cx.set_up("make.symlink", "symlink", made)?;
            let result = cx.open("s", crate::ctx::NEW, 0o644);
            cx.answers("open", result, &[libc::EEXIST]);
            cx.gone("the target", "target");
            Ok(())
        },
    ),
    shall("open.create-symlink", "open()", "O_CREAT creates the target of a dangling link.", |cx| {
        let made = cx.symlink("target", "s");
        cx.set_up("make.symlink", "symlink", made)?;
        let result = cx.open_as("s", "O_CREAT | O_WRONLY", libc::O_CREAT | libc::O_WRONLY, 0o644);
        cx.ok("open", result.map(|_| 0));
        cx.expect_exists("the target", "target");
        Ok(())
    }),
    linux(
        "open.access-mode-3",
        "open(2)",
        "An access mode of 3 gives a descriptor that can be neither read nor written.",
        |cx| {
            cx.file("f", b"data")?;
            let fd = cx.open_as("f", "3", 3, 0);
            if fd == Err(libc::EINVAL) {
                cx.answers("open", fd, &[libc::EINVAL]);
                return Ok(());
            }
            cx.ok("open", fd.map(|_| 0));
            let fd = fd.unwrap_or(-1);
            let read = cx.pread(fd, 4, 0).map(|_| 0);
            cx.answers("read", read, &[libc::EBADF]);
            let written = cx.pwrite(fd, b"x", 0);
            cx.answers("write", written, &[libc::EBADF]);
            Ok(())
        },
    ),
    shall(
        "open.fd-modes",
        "read(), write()",
        "A descriptor can be read only if opened for reading, and written only if opened for writing: EBADF.",
        |cx| {
            cx.file("f", b"data")?;
            let fd = cx.open("f", RDONLY, 0);
            let reader = cx.set_up("make.regular", "open", fd)?;
            let fd = cx.open("f", WRONLY, 0);
            let writer = cx.set_up("make.regular", "open", fd)?;
            let result = cx.write(reader, b"x");
            cx.answers("write to one for reading", result, &[libc::EBADF]);
            let result = cx.pread(writer, 1, 0).map(|_| 0);
            cx.answers("read from one for writing", result, &[libc::EBADF]);
            let result = cx.ftruncate(reader, 0);
            cx.answers("ftruncate of one for reading", result, &[libc::EINVAL, libc::EBADF]);
            Ok(())
        },
    ),
    linux("open.creat-slash", "open(2)", "A new file whose name ends in a slash is not created: EISDIR.", |cx| {
        let result = cx.open_as("f/", "O_CREAT | O_WRONLY", libc::O_CREAT | libc::O_WRONLY, 0o644);
        cx.answers("open", result, &[libc::EISDIR]);
        cx.gone("the file", "f");
        Ok(())
    }),
    shall(
        "open.rdwr-while-read-only-mode",
        "write()",
        "Permissions are checked when a file is opened: a later chmod 0 does not restrict the descriptor.",
        |cx| {
            let who = cx.actor();
            cx.file("f", b"data")?;
            cx.give("f", who.uid, who.gid)?;
            let ends = cx.as_user(who, |cx| {
                let fd = cx.open("f", RDWR, 0)?;
                cx.chmod("f", 0)?;
                cx.pwrite(fd, b"DATA", 0)?;
                cx.pread(fd, 4, 0)
            });
            cx.that(ends == Ok(b"DATA".to_vec()), "what is read after a write", "DATA", &format!("{ends:?}"));
            Ok(())
        },
    ),
    shall("open.etxtbsy", "open()", "A running program cannot be opened for writing or truncated: ETXTBSY.", text_busy),
    linux("exec.etxtbsy", "execve(2)", "A file that is open for writing cannot be executed: ETXTBSY.", |cx| {
        let path = program(cx)?;
        let fd = cx.open(path, WRONLY, 0);
        cx.set_up("make.regular", "open", fd)?;
        let result = cx.call(nr!(execve), &[V::P(path), V::Null, V::Null]);
        cx.answers("execve", result, &[libc::ETXTBSY]);
        Ok(())
    }),
    on(
        Place::Here,
        shall("exec.works", "execve()", "A program on the file system runs.", |cx| {
            let path = program(cx)?;
            let pid = execute(cx, path);
            let pid = cx.set_up("make.regular", "fork", pid)?;
            // It waits forever, unless it could not be started.
            let ended = sys::wait(pid, Duration::from_millis(20));
            cx.that(ended.is_none(), "the program", "runs", &format!("{ended:?}"));
            sys::kill(pid);
            Ok(())
        }),
    ),
    shall(
        "exec.eacces",
        "execve()",
        "A file without any execute bit cannot be executed, not even by root: EACCES.",
        |cx| {
            cx.file("f", b"#!/bin/sh\n")?;
            let result = cx.call(nr!(execve), &[V::P("f"), V::Null, V::Null]);
            cx.answers("execve", result, &[libc::EACCES]);
            Ok(())
        },
    ),
    linux("exec.noexec", "mount(2)", "On a file system mounted with noexec no file can be executed: EACCES.", |cx| {
        if !cx.facts.mounted_with(facts::ST_NOEXEC) {
            return Err(Stop::Skip(SkipKind::MountOption, "not mounted with noexec".to_owned()));
        }
        cx.file("f", b"#!/bin/sh\n")?;
        cx.set_mode("f", 0o755)?;
        let result = cx.call(nr!(execve), &[V::P("f"), V::Null, V::Null]);
        cx.answers("execve", result, &[libc::EACCES]);
        Ok(())
    }),
];

/// Builds an ELF file with a loop that waits forever, in machine code for each architecture. Source: elf(5).
fn elf() -> Vec<u8> {
    #[cfg(target_arch = "x86_64")]
    // push 34 (pause); pop rax; syscall; jmp back.
    let (machine, code): (u16, &[u8]) = (62, &[0x6a, 34, 0x58, 0x0f, 0x05, 0xeb, 0xf9, 0x90]);
    #[cfg(target_arch = "aarch64")]
    // mov x0..x4, 0; mov x8, 73 (ppoll); svc 0; b back.
    let (machine, code): (u16, &[u8]) = (
        183,
        &[
            0, 0, 0x80, 0xd2, 1, 0, 0x80, 0xd2, 2, 0, 0x80, 0xd2, 3, 0, 0x80, 0xd2, 4, 0, 0x80, 0xd2, 0x28, 0x09, 0x80,
            0xd2, 0x01, 0x00, 0x00, 0xd4, 0xf9, 0xff, 0xff, 0x17,
        ],
    );
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let (machine, code): (u16, &[u8]) = (0, &[]);
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [2u16, machine] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for word in [BASE + HEADERS, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    // One segment to load, readable and executable.
    file.extend(1u32.to_le_bytes());
    file.extend(5u32.to_le_bytes());
    let length = HEADERS + code.len() as u64;
    for word in [0, BASE, BASE, length, length, 4096] {
        file.extend(word.to_le_bytes());
    }
    file.extend(code);
    file
}

/// Writes the program to a file.
fn program(cx: &mut Ctx<'_>) -> Result<&'static str, Stop> {
    if cx.facts.mounted_with(facts::ST_NOEXEC) {
        return Err(Stop::Skip(SkipKind::MountOption, "mounted with noexec".to_owned()));
    }
    cx.needs(cfg!(any(target_arch = "x86_64", target_arch = "aarch64")), "no program for this architecture")?;
    let bytes = elf();
    cx.file("prog", &bytes)?;
    cx.set_mode("prog", 0o755)?;
    Ok("prog")
}

fn execute(cx: &mut Ctx<'_>, path: &str) -> sys::R {
    cx.remark("fork, and execve in the child: a program that waits");
    sys::spawn(&mut || {
        let _ = sys::call(nr!(execve), &[V::P(path), V::Null, V::Null]);
        1
    })
}

fn text_busy(cx: &mut Ctx<'_>) -> Run {
    let path = program(cx)?;
    let pid = execute(cx, path);
    let pid = cx.set_up("make.regular", "fork", pid)?;
    // Wait until the program has replaced the fork: then /proc/PID/exe refers to it.
    let is_there = (0..200).any(|_| {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let started = exe.ends_with(path);
        if !started {
            std::thread::sleep(Duration::from_micros(500));
        }
        started
    });
    let ended = sys::wait(pid, Duration::ZERO);
    if !is_there || ended.is_some() {
        sys::kill(pid);
        let why = format!("the program did not start: {:?}", ended.unwrap_or(Ended::Code(0)));
        return Err(Stop::Blocked("exec.works", why));
    }
    for (what, flags) in [("O_WRONLY", WRONLY), ("O_RDWR", RDWR)] {
        let result = cx.open(path, flags, 0);
        cx.answers(&format!("open with {what}"), result, &[libc::ETXTBSY]);
    }
    let result = cx.truncate(path, 0);
    cx.answers("truncate", result, &[libc::ETXTBSY]);
    let result = cx.open(path, RDONLY, 0);
    cx.ok("open with O_RDONLY", result.map(|_| 0));
    sys::kill(pid);
    Ok(())
}
