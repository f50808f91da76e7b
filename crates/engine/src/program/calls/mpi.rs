//! Files opened by MPI-IO. The library opens them by name, so the opened file is compared with the one that the
//! guard admitted before anything is written.
//!
//! Every rank must make each collective call. A worker that has failed or was stopped therefore continues to
//! participate, without moving data ([`Calls::take_part`]). Otherwise the other ranks would wait for it forever, within
//! the library. If a collective call itself fails, MPI does not define the state of the file, and the run ends.

use super::{Calls, Files, Handle, find_handle};
use crate::backend::{Completion, Errno};
use crate::mpi_io::{MpiFile, MpiIo, MpiIoError};
use crate::program::named_places::NamedPlaces;
use crate::program::op::{Call, CallOp};
use crate::program::rules::{OpenRules, StepRules};
use plumb_workload::OpKind;
use plumb_workload::program::{MpiView, RecordOrder, Transfer, Via};
use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use std::ffi::{CStr, OsStr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Directory in which a process finds its own open files.
const DESCRIPTORS: &str = "/proc/self/fd";

/// A worker's calls of MPI-IO.
pub(in crate::program) struct MpiCalls {
    io: Arc<dyn MpiIo>,
    /// Descriptors that were open before a file was opened.
    before: Vec<Descriptor>,
    /// Message of the last failed call.
    message: Option<String>,
    /// Number of ranks that opened the current file.
    ranks: u32,
    /// Whether a collective call of several ranks failed.
    failed_together: bool,
    /// Reason why this rank cannot open the file that it is about to open with others.
    unopened: Option<Errno>,
}

impl MpiCalls {
    pub(in crate::program) fn new(io: Arc<dyn MpiIo>) -> MpiCalls {
        MpiCalls { io, before: Vec::new(), message: None, ranks: 1, failed_together: false, unopened: None }
    }

    fn failed(&mut self, MpiIoError { message, errno }: MpiIoError, together: bool) -> Errno {
        self.message = Some(message);
        self.failed_together |= together && self.ranks > 1;
        Errno(errno)
    }
}

/// A descriptor of this process with its file, because descriptor numbers are reused.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Descriptor {
    number: u32,
    file: (u64, u64),
}

/// A file that MPI-IO opened.
pub(super) struct OpenedByMpi {
    file: Box<dyn MpiFile>,
    view: Option<MpiView>,
    /// Whether the opened file is not the admitted one.
    is_refused: bool,
}

/// Parameters of the MPI-IO call that moves a record.
struct Moved {
    together: bool,
    strided: Option<Strided>,
}

/// Parameters of a strided call.
#[derive(Clone, Copy)]
struct Strided {
    records: u64,
    /// Distance between the starts of two records, bytes.
    stride: u64,
}

impl Moved {
    fn from_transfer(transfer: &Transfer) -> Moved {
        let strided = match (transfer.via, &transfer.order) {
            (Via::Mpi { strided: true, .. }, RecordOrder::Segments(segments)) => {
                Some(Strided { records: transfer.records_a_call(), stride: segments.stride.0 })
            }
            _ => None,
        };
        Moved { together: matches!(transfer.via, Via::Mpi { together: true, .. }), strided }
    }
}

impl Calls {
    /// Uses MPI-IO, for programs that need it.
    pub(in crate::program) fn with_mpi(self, mpi: Option<MpiCalls>) -> Calls {
        Calls { mpi, ..self }
    }

    fn open_rules(&self, op: &CallOp) -> Option<&OpenRules> {
        match self.rules.get(usize::from(op.rules)) {
            Some(StepRules::Open(rules)) => Some(rules),
            _ => None,
        }
    }

    /// Prepares for opening a file, outside of any op's time.
    #[cold]
    pub(super) fn before_open(&mut self, op: &CallOp) {
        let Some(rules) = self.open_rules(op) else { return };
        let (Some(ranks), changes) = (rules.step.mpi.as_ref().map(|mpi| mpi.ranks), rules.step.changes()) else {
            return;
        };
        let unopened = match &self.files {
            Files::Names(names) if ranks > 1 => {
                names.table.path(op.file as u32).and_then(|path| open_error(path, changes))
            }
            _ => None,
        };
        let Some(mpi) = &mut self.mpi else { return };
        mpi.unopened = unopened;
        // If preparing fails, opening reports the error.
        let _ = mpi.io.prepare(ranks);
        mpi.before = descriptors();
    }

    #[cold]
    pub(super) fn open_by_mpi(&mut self, op: &CallOp) -> Completion {
        let rules = Arc::clone(&self.rules);
        let (Some(StepRules::Open(rules)), Some(mpi)) = (rules.get(usize::from(op.rules)), &mut self.mpi) else {
            return Err(Errno(libc::EINVAL));
        };
        let Files::Names(NamedPlaces { table, .. }) = &self.files else { return Err(Errno(libc::EINVAL)) };
        let path = table.path(op.file as u32).ok_or(Errno(libc::ENOENT))?;
        let view = rules.step.mpi.as_ref().and_then(|mpi| mpi.view);
        mpi.ranks = rules.step.mpi.as_ref().map_or(1, |mpi| mpi.ranks);
        if let Some(errno) = mpi.unopened.take() {
            let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
            let message =
                format!("MPI_File_open was not called: a rank on {host} cannot open the file: {}", errno.text());
            return Err(mpi.failed(MpiIoError { message, errno: errno.0 }, true));
        }
        let mut file = mpi.io.open(path, &rules.step).map_err(|error| mpi.failed(error, true))?;
        let preallocate = rules.step.mpi.as_ref().map_or(0, |mpi| mpi.preallocate.0);
        if preallocate > 0 {
            // `preallocate` may write to the file, within the time of the open. So compare the opened file first.
            if opened_again(path, &mpi.before).is_none() {
                return Err(mpi.failed(not_admitted(), true));
            }
            file.preallocate(preallocate).map_err(|error| mpi.failed(error, true))?;
        }
        let opened = Some(OpenedByMpi { file, view, is_refused: false });
        *self.handle(op)? = Handle { number: op.file, by_mpi: opened, ..Handle::default() };
        Ok(0)
    }

    /// Compares the opened file with the admitted one, outside of any op's time. Nothing may be written to a file
    /// that the guard has not admitted.
    #[cold]
    pub(super) fn after_open(&mut self, op: &CallOp) {
        let Some(step) = self.open_rules(op).map(|rules| &rules.step) else { return };
        let (changes, Some(mpi), Files::Names(NamedPlaces { table, .. })) = (step.changes(), &self.mpi, &self.files)
        else {
            return;
        };
        let Some(path) = table.path(op.file as u32).filter(|_| changes) else { return };
        match opened_again(path, &mpi.before) {
            Some(file) => {
                if op.kind == OpKind::Create {
                    table.mark_created(op.file as u32, std::os::fd::AsFd::as_fd(&file));
                }
            }
            None => {
                if let Ok(Handle { by_mpi: Some(opened), .. }) = find_handle(&mut self.handles, op) {
                    opened.is_refused = true;
                }
            }
        }
    }

    #[cold]
    pub(super) fn close_by_mpi(&mut self, opened: OpenedByMpi) -> Completion {
        let closed = opened.file.close();
        match (closed, &mut self.mpi) {
            (Ok(()), _) => Ok(0),
            (Err(error), Some(mpi)) => Err(mpi.failed(error, true)),
            (Err(error), None) => Err(Errno(error.errno)),
        }
    }

    /// Flushes the file of a handle that MPI-IO opened.
    #[cold]
    pub(super) fn sync_by_mpi(&mut self, op: &CallOp) -> Completion {
        let Calls { handles, mpi: Some(mpi), .. } = self else { return Err(Errno(libc::EINVAL)) };
        let opened = find_handle(handles, op)?.by_mpi.as_mut().ok_or(Errno(libc::EBADF))?;
        opened.file.sync().map(|()| 0).map_err(|error| mpi.failed(error, true))
    }

    pub(super) fn move_by_mpi(&mut self, op: &CallOp) -> Completion {
        let Moved { together, strided } = Moved::from_transfer(self.transfer(op)?);
        let Calls { handles, memory, mpi: Some(mpi), .. } = self else { return Err(Errno(libc::EINVAL)) };
        let opened = find_handle(handles, op)?.by_mpi.as_mut().ok_or(Errno(libc::EBADF))?;
        let offset = opened.view.map_or(op.offset, |view| view.place_of(op.offset));
        let piece = memory.piece(op.length);
        if let Some(Strided { stride, .. }) = strided {
            opened.file.show_strided(op.offset, op.length, stride).map_err(|error| mpi.failed(error, true))?;
        }
        let records = strided.map_or(1, |strided| strided.records);
        let wanted = op.length.saturating_mul(records);
        // ROMIO (MPICH 4.0.2) keeps its lock of the file when a strided write fails, and other ranks wait for the lock.
        let ends_all = together || strided.is_some();
        if op.call == Call::MpiRead {
            let moved = match strided {
                None => opened.file.read(offset, piece, together),
                Some(_) => opened.file.read_strided(records, piece, together),
            };
            let moved = moved.map_err(|error| mpi.failed(error, ends_all))?;
            // It is unknown which of the records are in memory.
            return if records > 1 && moved < wanted {
                let message = format!("MPI-IO read {moved} of {wanted} bytes; is the file long enough?");
                Err(mpi.failed(MpiIoError { message, errno: libc::EIO }, together))
            } else {
                Ok(moved)
            };
        }
        if opened.is_refused {
            return Err(mpi.failed(not_admitted(), false));
        }
        let moved = match strided {
            None => opened.file.write(offset, piece, together),
            Some(_) => opened.file.write_strided(records, piece, together),
        };
        let moved = moved.map_err(|error| mpi.failed(error, ends_all))?;
        if moved < wanted {
            // Open MPI only reports a short count when the disk is full.
            let message = format!("MPI-IO wrote {moved} of {wanted} bytes; is the file system full?");
            return Err(mpi.failed(MpiIoError { message, errno: libc::EIO }, together));
        }
        Ok(moved)
    }

    /// Returns `true` if a collective call of several ranks failed.
    pub(in crate::program) fn has_failed_together(&self) -> bool {
        self.mpi.as_ref().is_some_and(|mpi| mpi.failed_together)
    }

    /// Makes the part of an op that other ranks wait for, on behalf of a worker that has ended early.
    pub(in crate::program) fn take_part(&mut self, op: &CallOp) {
        let is_open = matches!(find_handle(&mut self.handles, op), Ok(Handle { by_mpi: Some(_), .. }));
        let _ = match op.call {
            // A worker that never started opens nothing: the others do not either, or are terminated.
            Call::Open if self.begun_at > 0 && !self.has_opened => self.open_by_mpi(op),
            Call::Fsync if is_open => self.sync_by_mpi(op),
            Call::Close if is_open => self.close(op),
            Call::MpiRead | Call::MpiWrite if is_open => self.move_nothing(op),
            _ => Ok(0),
        };
    }

    fn move_nothing(&mut self, op: &CallOp) -> Completion {
        let Moved { together, strided } = Moved::from_transfer(self.transfer(op)?);
        let Some(opened) = &mut find_handle(&mut self.handles, op)?.by_mpi else { return Ok(0) };
        let failed = |error: MpiIoError| Errno(error.errno);
        if let Some(Strided { stride, .. }) = strided {
            opened.file.show_strided(op.offset, op.length, stride).map_err(failed)?;
        }
        match (together, op.call) {
            (false, _) => Ok(0),
            (true, Call::MpiRead) => opened.file.read(0, &mut [], true).map_err(failed),
            (true, _) => opened.file.write(0, &[], true).map_err(failed),
        }
    }

    /// Returns the message of a call that has just failed.
    #[cold]
    pub(super) fn error_message(&mut self, errno: Errno) -> String {
        match self.mpi.as_mut().and_then(|mpi| mpi.message.take()) {
            Some(message) => message,
            None => errno.text(),
        }
    }
}

/// Returns the reason why this process alone could not open a file, so that no rank opens it. In Open MPI's OMPIO
/// (4.1.4), a rank whose open fails waits for the others in its clean-up, and they wait for it in theirs, forever. If
/// rank 0 has yet to create the file, only its directory is checked.
fn open_error(path: &CStr, changes: bool) -> Option<Errno> {
    use rustix::fs::Access;
    let wanted = if changes { Access::READ_OK | Access::WRITE_OK } else { Access::READ_OK };
    let errno = |error: rustix::io::Errno| Errno(error.raw_os_error());
    match rustix::fs::access(path, wanted) {
        Ok(()) => None,
        Err(rustix::io::Errno::NOENT) if changes => {
            let path = Path::new(OsStr::from_bytes(path.to_bytes()));
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK).err().map(errno)
        }
        Err(error) => Some(errno(error)),
    }
}

fn not_admitted() -> MpiIoError {
    let what = "MPI-IO did not open the file that the write guard admitted, or not by a descriptor of this process";
    MpiIoError { message: what.to_owned(), errno: libc::EPERM }
}

fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Returns the open descriptors of this process.
fn descriptors() -> Vec<Descriptor> {
    let Ok(entries) = std::fs::read_dir(DESCRIPTORS) else { return Vec::new() };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let described = numbers.filter_map(|number| {
        let stat = rustix::fs::stat(format!("{DESCRIPTORS}/{number}")).ok()?;
        Some(Descriptor { number, file: identity(&stat) })
    });
    described.collect()
}

/// Reopens the file at a path so that it can be marked. Returns it only if it is a regular file, not a symbolic
/// link, and a descriptor opened since `before` refers to the same file. `None` means that MPI-IO has no descriptor
/// in this process, or opened another file.
fn opened_again(path: &CStr, before: &[Descriptor]) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let now = descriptors();
    let file = crate::raw_open::openat(CWD, path, flags, Mode::empty()).ok()?;
    let named = rustix::fs::fstat(&file).ok()?;
    let is_open = now.iter().any(|open| open.file == identity(&named) && !before.contains(open));
    (is_open && FileType::from_raw_mode(named.st_mode) == FileType::RegularFile).then_some(file)
}
