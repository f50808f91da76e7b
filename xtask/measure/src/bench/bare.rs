//! The system calls of a flow in a minimal loop.

use super::rounds::Speed;
use anyhow::Result;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::time::{ClockId, clock_gettime};
use std::ffi::CStr;
use std::path::Path;
use std::time::Instant;

/// The same tree as Plumb's: files in the directories of one level.
pub(super) const FILES: u32 = 200_000;
pub(super) const WIDTH: u32 = 100;

/// Source of the loop's file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamesFrom {
    /// Formatted before each system call, digit by digit: the minimum for any program with numbered names.
    Numbers,
    /// All formatted in advance, in order.
    Memory,
}

/// Rates of the three parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// `openat(O_CREAT|O_EXCL)` and `close`.
    pub create: Speed,
    /// `newfstatat`.
    pub stat: Speed,
    /// `unlinkat`.
    pub unlink: Speed,
}

const NAME_BYTES: usize = "d00/f00000000\0".len();
type Name = [u8; NAME_BYTES];

fn name(file: u32) -> Name {
    let mut name = *b"d00/f00000000\0";
    digits(&mut name[1..3], file / (FILES / WIDTH));
    digits(&mut name[5..13], file);
    name
}

fn digits(field: &mut [u8], number: u32) {
    let mut rest = number;
    for byte in field.iter_mut().rev() {
        *byte = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Creates the files below `folder`, stats each, removes them. This runs in a second thread like Plumb's workers: the
/// kernel counts references to descriptors that threads share, and does not in a single-threaded process.
pub(super) fn run(folder: &Path, names: NamesFrom) -> Result<Rates> {
    let worker = std::thread::scope(|scope| scope.spawn(|| run_here(folder, names)).join());
    worker.map_err(|_| anyhow::anyhow!("the bare loop panicked"))?
}

fn run_here(folder: &Path, names: NamesFrom) -> Result<Rates> {
    for directory in 0..WIDTH {
        std::fs::create_dir(folder.join(format!("d{directory:02}")))?;
    }
    let root = rustix::fs::open(folder, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let made: Vec<Name> = match names {
        NamesFrom::Numbers => Vec::new(),
        NamesFrom::Memory => (0..FILES).map(name).collect(),
    };
    let create = |path: &CStr| -> rustix::io::Result<()> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: OwnedFd = rustix::fs::openat(root.as_fd(), path, flags, Mode::from_raw_mode(0o644))?;
        drop(file);
        Ok(())
    };
    let stat = |path: &CStr| rustix::fs::statat(root.as_fd(), path, AtFlags::SYMLINK_NOFOLLOW).map(|_| ());
    let unlink = |path: &CStr| rustix::fs::unlinkat(root.as_fd(), path, AtFlags::empty());
    Ok(Rates { create: each(&made, create)?, stat: each(&made, stat)?, unlink: each(&made, unlink)? })
}

/// Times `call` over every name, formatted in advance or on the fly.
#[inline(always)]
fn each(made: &[Name], mut call: impl FnMut(&CStr) -> rustix::io::Result<()>) -> Result<Speed> {
    let cpu_ns = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    let (started, cpu_before) = (Instant::now(), cpu_ns());
    if made.is_empty() {
        for file in 0..FILES {
            call(CStr::from_bytes_with_nul(&name(file))?)?;
        }
    } else {
        for name in made {
            call(CStr::from_bytes_with_nul(name)?)?;
        }
    }
    let (seconds, cpu_ns) = (started.elapsed().as_secs_f64(), cpu_ns() - cpu_before);
    Ok(Speed { ops_per_second: f64::from(FILES) / seconds, cpu_ns: cpu_ns / f64::from(FILES) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_plumbs_tree() {
        assert_eq!(&name(0), b"d00/f00000000\0");
        assert_eq!(&name(FILES - 1), b"d99/f00199999\0");
    }
}
