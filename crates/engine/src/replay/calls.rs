//! Makes recorded calls below the directory of a replay, and compares their results.

use super::call::{CallAct, DealtCall, NO_SLOT};
use super::deal::Deal;
use super::paths::{OpenDirectories, open_beneath, refuse_root};
use super::tally::Outcomes;
use crate::backend::region::Region;
use crate::backend::{Completion, Errno, SyncBackend};
use crate::content::Filler;
use crate::os::sync_file_system;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags, SeekFrom, Timespec, Timestamps, UTIME_NOW};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// `FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE` of fallocate(2). Not every system defines these names.
const PUNCH_HOLE: u32 = 3;

/// Target of created symbolic links: recordings do not contain it, and it must not exist.
const LINK_TARGET: &str = "not-recorded";

/// Buffer size for listing a directory, bytes.
const LIST_BYTES: usize = 32 << 10;

/// Longest symbolic link target that is read.
const LINK_BYTES: usize = 4096;

/// Flags of open(2) in recordings, which are those of Linux on x86, and their values on this system.
const OPEN_FLAGS: [(u64, OFlags); 9] = [
    (0o100, OFlags::CREATE),
    (0o200, OFlags::EXCL),
    (0o1000, OFlags::TRUNC),
    (0o2000, OFlags::APPEND),
    (0o4000, OFlags::NONBLOCK),
    (0o10000, OFlags::DSYNC),
    (0o200_000, OFlags::DIRECTORY),
    (0o40000, DIRECT),
    (0o4_010_000, OFlags::SYNC),
];

#[cfg(target_os = "linux")]
const DIRECT: OFlags = OFlags::DIRECT;
#[cfg(not(target_os = "linux"))]
const DIRECT: OFlags = OFlags::empty();

const TEMPORARY: u64 = 0o20_200_000;

/// Returns the flags and the mode of an open.
fn opening(recorded: u64, has_flags: bool) -> (OFlags, Mode) {
    if !has_flags {
        // The recording has no flags, so allow every kind of access.
        return (OFlags::RDWR | OFlags::CREATE, Mode::from_raw_mode(0o600));
    }
    let mut flags = match recorded & 3 {
        0 => OFlags::RDONLY,
        1 => OFlags::WRONLY,
        _ => OFlags::RDWR,
    };
    for (bits, flag) in OPEN_FLAGS {
        if recorded & bits == bits {
            flags |= flag;
        }
    }
    let mut mode = Mode::empty();
    #[cfg(target_os = "linux")]
    if recorded & TEMPORARY == TEMPORARY {
        flags |= OFlags::TMPFILE;
    }
    if flags.contains(OFlags::CREATE) || recorded & TEMPORARY == TEMPORARY {
        // The replay may run as another user.
        mode = Mode::from_raw_mode((recorded >> 32) as rustix::fs::RawMode & 0o777 | 0o600);
    }
    (flags, mode)
}

/// Makes the calls of one lane.
pub(super) struct RecordedCalls {
    deal: Arc<Deal>,
    /// Whether the recording contains the flags of opens.
    has_flags: bool,
    directories: OpenDirectories,
    memory: Region,
    filler: Filler,
    outcomes: Outcomes,
}

impl RecordedCalls {
    pub(super) fn new(
        deal: &Arc<Deal>,
        has_flags: bool,
        directories: OpenDirectories,
        memory: Region,
        filler: Filler,
        outcomes: Outcomes,
    ) -> RecordedCalls {
        RecordedCalls { deal: Arc::clone(deal), has_flags, directories, memory, filler, outcomes }
    }

    /// Calls `does` with an open file. A file that was open before the recording began is opened first.
    fn with_file(
        &mut self,
        dealt: &DealtCall,
        does: impl FnOnce(BorrowedFd<'_>, &mut [u8]) -> Completion,
    ) -> Completion {
        let RecordedCalls { deal, directories, memory, outcomes, .. } = self;
        let slot = deal.slots.get(dealt.slot as usize).ok_or(Errno(libc::EBADF))?;
        let mut held = slot.read().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            drop(held);
            outcomes.count_unrecorded_open();
            let opened = open_unrecorded(directories, dealt.call.file)?;
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
            held = slot.read().unwrap_or_else(PoisonError::into_inner);
        }
        match &*held {
            Some(file) => does(file.as_fd(), memory.as_mut_slice()),
            None => Err(Errno(libc::EBADF)),
        }
    }

    fn open(&mut self, dealt: &DealtCall) -> Completion {
        let call = &dealt.call;
        let (flags, mode) = opening(call.aux, self.has_flags);
        let opened = self.directories.at(call.file, |dir, name| open_beneath(dir, name, flags, mode))?;
        if let Some(slot) = self.deal.slots.get(dealt.slot as usize) {
            *slot.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
        }
        Ok(0)
    }

    fn close(&mut self, dealt: &DealtCall) -> Completion {
        let Some(slot) = self.deal.slots.get(dealt.slot as usize) else {
            self.outcomes.count_unmatched_close();
            return Ok(0);
        };
        let file = slot.write().unwrap_or_else(PoisonError::into_inner).take();
        match file {
            Some(file) => crate::program::close(file),
            None => Ok(0),
        }
    }

    fn data_call(&mut self, dealt: &DealtCall) -> Completion {
        let (offset, length) = (dealt.call.offset, dealt.call.length);
        let most = self.memory.bytes();
        let bytes = usize::try_from(length).unwrap_or(usize::MAX).min(most);
        match dealt.call.act {
            CallAct::Read => {
                self.with_file(dealt, |file, memory| Ok(rustix::io::pread(file, &mut memory[..bytes], offset)? as u64))
            }
            _ => self.with_file(dealt, |file, memory| Ok(rustix::io::pwrite(file, &memory[..bytes], offset)? as u64)),
        }
    }

    fn space_call(&mut self, dealt: &DealtCall) -> Completion {
        let call = dealt.call;
        let flags = match call.act {
            CallAct::Trim => FallocateFlags::from_bits_retain(PUNCH_HOLE),
            _ => FallocateFlags::from_bits_truncate(call.aux as u32),
        };
        self.with_file(dealt, |file, _| {
            rustix::fs::fallocate(file, flags, call.offset, call.length)?;
            Ok(0)
        })
    }

    /// Makes calls on names, including those that can use a descriptor instead.
    fn name_call(&mut self, dealt: &DealtCall) -> Completion {
        let call = dealt.call;
        let has_slot = dealt.slot != NO_SLOT;
        let link = AtFlags::SYMLINK_NOFOLLOW;
        match call.act {
            CallAct::Stat if has_slot => {
                self.with_file(dealt, |file, _| rustix::fs::fstat(file).map(|_| 0).map_err(Errno::from))
            }
            CallAct::Stat => self.directories.at(call.file, |dir, name| {
                let flags = if name.is_empty() { AtFlags::EMPTY_PATH } else { link };
                Ok(rustix::fs::statat(dir, name, flags).map(|_| 0)?)
            }),
            CallAct::Attribute => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                if has_slot {
                    return self.with_file(dealt, |file, _| {
                        rustix::fs::futimens(file, &times).map(|()| 0).map_err(Errno::from)
                    });
                }
                self.directories.at(call.file, |dir, name| {
                    let name = if name.is_empty() { "." } else { name };
                    Ok(rustix::fs::utimensat(dir, name, &times, link).map(|()| 0)?)
                })
            }
            CallAct::Truncate if has_slot => self
                .with_file(dealt, |file, _| rustix::fs::ftruncate(file, call.length).map(|()| 0).map_err(Errno::from)),
            CallAct::Truncate => self.directories.at(call.file, |dir, name| {
                let file = open_beneath(dir, name, OFlags::WRONLY, Mode::empty())?;
                Ok(rustix::fs::ftruncate(file, call.length).map(|()| 0)?)
            }),
            CallAct::Readlink => self.directories.at(call.file, |dir, name| {
                let mut buffer = [0; LINK_BYTES];
                rustix::fs::readlinkat_raw(dir, name, &mut buffer).map(|_| 0).map_err(Errno::from)
            }),
            _ => self.change_names(dealt),
        }
    }

    fn change_names(&mut self, dealt: &DealtCall) -> Completion {
        let call = dealt.call;
        let done = match call.act {
            CallAct::Unlink => self.directories.at(call.file, |dir, name| {
                refuse_root(name)?;
                Ok(rustix::fs::unlinkat(dir, name, AtFlags::empty()).map(|()| 0)?)
            }),
            CallAct::Rmdir => self.directories.at(call.file, |dir, name| {
                refuse_root(name)?;
                Ok(rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR).map(|()| 0)?)
            }),
            CallAct::Mkdir => self.directories.at(call.file, |dir, name| {
                if name.is_empty() {
                    return Err(Errno(libc::EEXIST));
                }
                Ok(rustix::fs::mkdirat(dir, name, Mode::from_raw_mode(0o755)).map(|()| 0)?)
            }),
            CallAct::Symlink => self.directories.at(call.file, |dir, name| {
                refuse_root(name)?;
                Ok(rustix::fs::symlinkat(LINK_TARGET, dir, name).map(|()| 0)?)
            }),
            _ => {
                let other = self.directories.at(call.aux as u32, |dir, name| {
                    refuse_root(name)?;
                    let dir = dir
                        .try_clone_to_owned()
                        .map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EMFILE)))?;
                    Ok((dir, name.to_owned()))
                })?;
                self.directories.at(call.file, |dir, name| {
                    refuse_root(name)?;
                    let (to, to_name) = (other.0.as_fd(), other.1.as_str());
                    Ok(match call.act {
                        CallAct::Rename => rustix::fs::renameat(dir, name, to, to_name),
                        _ => rustix::fs::linkat(dir, name, to, to_name, AtFlags::empty()),
                    }
                    .map(|()| 0)?)
                })
            }
        };
        if done.is_ok() && matches!(call.act, CallAct::Rename | CallAct::Rmdir) {
            self.directories.directory_changes(call.file);
        }
        done
    }

    fn make(&mut self, dealt: &DealtCall) -> Completion {
        match dealt.call.act {
            CallAct::Open => self.open(dealt),
            CallAct::Close => self.close(dealt),
            CallAct::Read | CallAct::Write => self.data_call(dealt),
            CallAct::Trim | CallAct::Allocate => self.space_call(dealt),
            CallAct::Fsync => self.with_file(dealt, |file, _| Ok(rustix::fs::fsync(file).map(|()| 0)?)),
            CallAct::Fdatasync => self.with_file(dealt, |file, _| Ok(rustix::fs::fdatasync(file).map(|()| 0)?)),
            CallAct::SyncRange => {
                let (offset, length) = (dealt.call.offset, dealt.call.length);
                self.with_file(dealt, |file, _| Ok(crate::os::write_out(file, offset, length).map(|()| 0)?))
            }
            CallAct::SyncAll => Ok(sync_file_system(self.directories.root()).map(|()| 0)?),
            CallAct::Seek => {
                let to = SeekFrom::Start(dealt.call.offset);
                self.with_file(dealt, |file, _| rustix::fs::seek(file, to).map(|_| 0).map_err(Errno::from))
            }
            // The position of the descriptor determines the next entries.
            CallAct::List => self.with_file(dealt, |file, _| list_some(file)),
            _ => self.name_call(dealt),
        }
    }
}

/// Opens a file that the recording uses without opening it.
#[cold]
fn open_unrecorded(directories: &mut OpenDirectories, file: u32) -> Result<OwnedFd, Errno> {
    let mode = Mode::empty();
    directories.at(file, |dir, name| match open_beneath(dir, name, OFlags::RDWR, mode) {
        Err(_) => open_beneath(dir, name, OFlags::RDONLY, mode),
        opened => opened,
    })
}

/// Compares a result with the recorded one. Returns the outcome for the replay's statistics, and
/// the replayed result if it differs.
fn compare(act: CallAct, recorded: i64, replayed: Completion) -> (Completion, Option<i64>) {
    match (recorded, replayed) {
        // The recorded error occurred again.
        (..0, Err(errno)) if i64::from(errno.0) == -recorded => (Ok(0), None),
        (..0, Err(errno)) => (Ok(0), Some(-i64::from(errno.0))),
        (..0, Ok(moved)) => {
            (Ok(moved), Some(if act == CallAct::Read || act == CallAct::Write { moved as i64 } else { 0 }))
        }
        (_, Err(errno)) => (Err(errno), Some(-i64::from(errno.0))),
        (recorded, Ok(moved)) => {
            let moves = matches!(act, CallAct::Read | CallAct::Write);
            (Ok(moved), (moves && moved != recorded as u64).then_some(moved as i64))
        }
    }
}

impl SyncBackend for RecordedCalls {
    type Op = DealtCall;

    fn execute(&mut self, dealt: &DealtCall) -> Completion {
        let replayed = self.make(dealt);
        let (outcome, other) = compare(dealt.call.act, dealt.call.result, replayed);
        if let Some(other) = other {
            let (kind, file) = (dealt.call.act.kind(), dealt.call.file);
            self.outcomes.count_difference(kind, dealt.call.result, other, || self.directories.name(file));
        }
        outcome
    }

    fn before(&mut self, dealt: &DealtCall) {
        if dealt.call.act == CallAct::Write {
            let bytes = usize::try_from(dealt.call.length).unwrap_or(usize::MAX).min(self.memory.bytes());
            self.filler.fill(&mut self.memory.as_mut_slice()[..bytes]);
        }
    }

    fn works_between_ops(&self) -> bool {
        true
    }

    fn path_of(&self, dealt: &DealtCall) -> PathBuf {
        self.directories.path(dealt.call.file)
    }
}

/// Lists a part of a directory with one call.
#[cfg(target_os = "linux")]
fn list_some(directory: BorrowedFd<'_>) -> Completion {
    let mut buffer = [const { MaybeUninit::uninit() }; LIST_BYTES];
    match rustix::fs::RawDir::new(directory, &mut buffer).next() {
        None => Ok(0),
        Some(entry) => Ok(entry.map(|_| 0)?),
    }
}

/// This system has no such call.
#[cfg(not(target_os = "linux"))]
fn list_some(_directory: BorrowedFd<'_>) -> Completion {
    Err(Errno(libc::ENOSYS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_outcome_is_not_a_difference() {
        let failed = |number| Err(Errno(number));
        assert_eq!(compare(CallAct::Stat, -2, failed(libc::ENOENT)), (Ok(0), None));
        assert_eq!(compare(CallAct::Stat, -2, failed(libc::ENOTDIR)), (Ok(0), Some(-20)));
        assert_eq!(compare(CallAct::Stat, -2, Ok(0)), (Ok(0), Some(0)));
        assert_eq!(compare(CallAct::Open, 7, Ok(0)), (Ok(0), None), "descriptor numbers may differ");
        assert_eq!(compare(CallAct::Open, 7, failed(libc::EACCES)), (failed(libc::EACCES), Some(-13)));
        assert_eq!(compare(CallAct::Read, 100, Ok(100)), (Ok(100), None));
        assert_eq!(compare(CallAct::Read, 100, Ok(4096)), (Ok(4096), Some(4096)));
    }

    #[test]
    fn opens_keep_their_flags_and_are_writable_by_the_replay() {
        let (flags, mode) = opening(0o101 | 0o444 << 32, true);
        assert_eq!((flags, mode.as_raw_mode()), (OFlags::WRONLY | OFlags::CREATE, 0o644));
        let (flags, mode) = opening(0o4777 << 32, true);
        assert_eq!((flags, mode), (OFlags::RDONLY, Mode::empty()));
        assert_eq!(opening(0, false).0, OFlags::RDWR | OFlags::CREATE);
        assert_eq!(opening(1 | 0o100 | 0o6777 << 32, true).1.as_raw_mode(), 0o777, "no set-user-ID");
    }
}
