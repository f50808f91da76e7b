//! The system calls of the tests.

use super::{Given, IozoneSettings, Seen};
use crate::iozone::IozoneUsageError;
use plumb_workload::program::{Advice, OpenPromise};

/// The system calls that move a record.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOptions {
    /// `-o`, `-+D`, `-+r`: whether writes are synchronous.
    pub promise: OpenPromise,
    /// `-+r`: whether reads are synchronous as well.
    pub read_promise: bool,
    /// `-I`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `-B`, `-D`, `-G`: file mappings, with this sync per record.
    pub mapped: Option<Option<bool>>,
    /// `-H`, `-k`: depth of POSIX async I/O, and whether it copies.
    pub aio: Option<(u32, bool)>,
    /// `-+A`: advice to the kernel about mappings.
    pub advice: Advice,
    /// `-Z`: whether a page is written by a system call before the file is written, with or without mappings.
    pub mixes_io: bool,
    /// `-W`: whether files are locked.
    pub locks: bool,
    /// `-+l`, `-+L`: whether records are locked.
    pub record_locks: bool,
}

#[derive(Default)]
pub(super) struct CallsSeen {
    pub(super) mapped: bool,
    pub(super) mapped_sync: Option<bool>,
    pub(super) copies: bool,
    pub(super) no_copies: bool,
}

/// Handles an option about system calls; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let CallOptions { promise, read_promise, direct, aio, advice, mixes_io, locks, record_locks, .. } =
        &mut settings.calls;
    let messages = &mut settings.messages;
    match given.name {
        "B" => {
            messages.line("Using mmap files");
            seen.calls.mapped = true;
        }
        "D" => {
            messages.line("Using msync(MS_ASYNC) on mmap files");
            seen.calls.mapped = true;
            seen.calls.mapped_sync = Some(false);
        }
        "G" => {
            messages.line("Using msync(MS_SYNC) on mmap files");
            seen.calls.mapped_sync = Some(true);
        }
        "H" | "k" => {
            let depth = given.number().max(0) as u32;
            if given.name == "H" {
                messages.line(format!("POSIX async I/O (with bcopy). Depth {depth}"));
                seen.calls.copies = true;
            } else {
                messages.line(format!("POSIX Async I/O (no bcopy). Depth {depth} "));
                seen.calls.no_copies = true;
            }
            *aio = Some((depth.max(1), given.name == "H"));
        }
        "I" => {
            messages.line("O_DIRECT feature enabled");
            *direct = true;
        }
        "o" => {
            messages.line("SYNC Mode. ");
            *promise = OpenPromise::Sync;
        }
        "W" => {
            *locks = true;
            messages.line("Lock file when reading/writing.");
        }
        "Z" => {
            messages.line("Enable mmap & file I/O mixing.");
            *mixes_io = true;
        }
        "+A" => {
            *advice = match given.number() {
                1 => Advice::Random,
                2 => Advice::Sequential,
                3 => Advice::DontNeed,
                4 => Advice::WillNeed,
                _ => Advice::Normal,
            };
            messages.line(format!("Madvise enabled: {}", given.number()));
        }
        "+D" => {
            messages.line(">>> O_DSYNC mode enabled. <<<");
            *promise = OpenPromise::Dsync;
        }
        "+l" => {
            messages.line(">>> Record locking mode enabled. <<<");
            *record_locks = true;
        }
        "+L" => {
            messages.line(">>> Record locking, shared file mode enabled. <<<");
            *record_locks = true;
            settings.files.shared = true;
        }
        "+r" => {
            messages.line("Read & Write sync mode active.");
            *promise = OpenPromise::Rsync;
            *read_promise = true;
        }
        _ => return Ok(false),
    }
    Ok(true)
}
