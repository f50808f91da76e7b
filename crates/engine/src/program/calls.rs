//! Makes the calls of a program.

mod files;
mod handle;
mod mpi;
mod records;

use super::aio::Aio;
use super::command::run_command;
use super::content::RecordMemory;
use super::descriptor::{close, lock, system, zero_bytes};
use super::directory::Directories;
use super::kernel_aio::KernelAio;
use super::mapping;
use super::op::{Call, CallOp, RecordPart};
use super::postmark::FileMemory;
use super::rules::StepRules;
use super::stream::Streams;
use super::trees::WallMark;
use super::wait::WaitAfterOp;
use crate::backend::{Begun, Completion, Errno, NotBegun, SyncBackend, Unfinished};
use crate::clock::{Clock, Ticks};
use crate::content::Mismatch;
use crate::op::Seek;
pub(super) use files::Files;
use handle::{Handle, find_handle};
pub(super) use mpi::MpiCalls;
use plumb_workload::OpKind;
use plumb_workload::program::Transfer;
use rustix::fs::{Access, AtFlags, FallocateFlags, Mode, OFlags, RawMode, Timespec, Timestamps, UTIME_NOW};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest symbolic link target that is read.
pub(super) const LINK_BYTES: usize = 4096;

/// A worker's open files and the memory that it moves.
pub(super) struct Calls {
    /// Declared first, so that it is dropped first: it waits for requests that use the fields below.
    kernel_aio: Option<KernelAio>,
    files: Files,
    rules: Arc<Vec<StepRules>>,
    handles: Vec<Handle>,
    streams: Streams,
    memory: RecordMemory,
    checks: bool,
    directories: Directories,
    /// Start of the first call for the current record, if it takes several calls.
    record_began: Option<Instant>,
    longest_record: Duration,
    clock: Clock,
    begun_at: Ticks,
    /// Time from the first to the end of the last step within the clock, ns.
    pub(super) steps_ns: u64,
    /// Memory for whole files of PostMark.
    whole: Option<FileMemory>,
    mpi: Option<MpiCalls>,
    /// Stores whether data was read that was not written.
    mark: Arc<WallMark>,
    /// Whether the program has tried to open a file.
    has_opened: bool,
    /// Wait after the current op.
    wait: WaitAfterOp,
    /// Bytes read from the file being copied that are not written yet.
    to_copy: u64,
}

impl Calls {
    pub(super) fn new(
        files: Files,
        handles: usize,
        streams: Streams,
        memory: RecordMemory,
        checks: bool,
        clock: Clock,
    ) -> Calls {
        let handles = (0..handles).map(|_| Handle::default()).collect();
        let directories = Directories::default();
        let longest_record = Duration::ZERO;
        let rules = Arc::default();
        let (begun_at, steps_ns, record_began, whole, mpi, has_opened) = (0, 0, None, None, None, false);
        Calls {
            kernel_aio: None,
            files,
            rules,
            handles,
            streams,
            memory,
            checks,
            whole,
            mpi,
            mark: Arc::default(),
            has_opened,
            wait: WaitAfterOp::default(),
            to_copy: 0,
            directories,
            record_began,
            longest_record,
            clock,
            begun_at,
            steps_ns,
        }
    }

    /// Uses the mark that the phases of its target share.
    pub(super) fn with_mark(self, mark: &Arc<WallMark>) -> Calls {
        Calls { mark: Arc::clone(mark), ..self }
    }

    /// Uses this memory for PostMark's files.
    pub(super) fn with_whole(self, whole: Option<FileMemory>) -> Calls {
        Calls { whole, ..self }
    }

    /// Uses this queue for kernel AIO.
    pub(super) fn with_kernel_aio(self, kernel_aio: Option<KernelAio>) -> Calls {
        Calls { kernel_aio, ..self }
    }

    /// Sets the rules of the following steps.
    pub(super) fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        self.rules = Arc::clone(rules);
    }

    #[inline(always)]
    fn handle(&mut self, op: &CallOp) -> Result<&mut Handle, Errno> {
        find_handle(&mut self.handles, op)
    }

    fn transfer(&self, op: &CallOp) -> Result<&Transfer, Errno> {
        match self.rules.get(usize::from(op.rules)) {
            Some(StepRules::Transfer(transfer)) => Ok(transfer),
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    fn open(&mut self, op: &CallOp) -> Completion {
        let Some(StepRules::Open(opening)) = self.rules.get(usize::from(op.rules)) else {
            return Err(Errno(libc::EINVAL));
        };
        if opening.step.mpi.is_some() {
            self.has_opened = true;
            return self.open_by_mpi(op);
        }
        let open = |directory: BorrowedFd<'_>, path: &CStr| {
            crate::raw_open::openat(directory, path, opening.flags, opening.mode)
        };
        let file = self.files.call(op.file, open)?;
        let mut handle = Handle { number: op.file, ..Handle::default() };
        match opening.step.stream {
            None => handle.file = Some(file),
            Some(_) => handle.stream = Some(self.streams.open(file, &opening.step)?),
        }
        *self.handle(op)? = handle;
        Ok(0)
    }

    fn close(&mut self, op: &CallOp) -> Completion {
        let handle = std::mem::take(self.handle(op)?);
        self.close_handle(handle)
    }

    fn close_handle(&mut self, handle: Handle) -> Completion {
        let Handle { file, stream, mapping, mut aio, by_mpi, .. } = handle;
        if let Some(opened) = by_mpi {
            return self.close_by_mpi(opened);
        }
        drop(mapping);
        let drained = aio.as_mut().map_or(Ok(()), Aio::drain).and(self.complete_requests());
        let closed = match (file, stream) {
            (Some(file), _) => close(file),
            (None, Some(stream)) => self.streams.close(stream),
            (None, None) => Err(Errno(libc::EBADF)),
        };
        drained.and(closed)
    }

    fn fsync(&mut self, op: &CallOp, data_only: bool) -> Completion {
        self.complete_requests()?;
        let handle = self.handle(op)?;
        if handle.by_mpi.is_some() {
            return self.sync_by_mpi(op);
        }
        if let Some(stream) = &mut handle.stream {
            stream.flush()?;
        }
        let fd = handle.fd()?;
        let done = if data_only { rustix::fs::fdatasync(fd) } else { rustix::fs::fsync(fd) };
        zero_bytes(done)
    }

    /// Makes the calls that move no data.
    fn without_data(&mut self, op: &CallOp) -> Completion {
        match op.call {
            Call::Open => self.open(op),
            Call::Close => self.close(op),
            Call::Msync => self.handle(op)?.mapping()?.sync_all(),
            Call::Fsync => self.fsync(op, false),
            Call::Fdatasync => self.fsync(op, true),
            Call::Flush => self.handle(op)?.stream()?.flush(),
            Call::Sync => {
                self.complete_requests()?;
                rustix::fs::sync();
                Ok(0)
            }
            Call::Command => run_command(self.rules.get(usize::from(op.rules))),
            Call::Seek => self.handle(op)?.seek(Seek::To(op.offset)).map(|()| 0),
            Call::Tell => self.handle(op)?.seek(Seek::By(0)).map(|()| 0),
            Call::Truncate => zero_bytes(rustix::fs::ftruncate(self.handle(op)?.fd()?, op.length)),
            Call::Fallocate => {
                zero_bytes(rustix::fs::fallocate(self.handle(op)?.fd()?, FallocateFlags::empty(), op.offset, op.length))
            }
            Call::Map => {
                let Some(StepRules::Map(map)) = self.rules.get(usize::from(op.rules)) else {
                    return Err(Errno(libc::EINVAL));
                };
                let handle = find_handle(&mut self.handles, op)?;
                let file = handle.file.as_ref().ok_or(Errno(libc::EBADF))?;
                handle.mapping = Some(mapping::map(file, map).map_err(system)?);
                Ok(0)
            }
            Call::Unmap => match self.handle(op)?.mapping.take() {
                Some(_) => Ok(0),
                None => Err(Errno(libc::EINVAL)),
            },
            Call::Lock => {
                let Some(StepRules::Lock(kind)) = self.rules.get(usize::from(op.rules)).cloned() else {
                    return Err(Errno(libc::EINVAL));
                };
                lock(self.handle(op)?.fd()?, kind, 0, 0)
            }
            Call::Unlink
            | Call::UnlinkIfThere
            | Call::Stat
            | Call::Access
            | Call::Utimens
            | Call::Chmod
            | Call::Rename
            | Call::Link
            | Call::Symlink
            | Call::Readlink
            | Call::Mkdir
            | Call::MkdirIfMissing
            | Call::Rmdir => self.on_names(op),
            // The loop waits; no call is made.
            Call::Pause => Ok(0),
            Call::Readdir => self.files.set()?.read_directory(),
            Call::List => self.directories.list(self.files.named()?, op.file as u32),
            Call::EndList => self.directories.end_list(),
            Call::HoldDirectories => {
                let Some(StepRules::Hold(held)) = self.rules.get(usize::from(op.rules)) else {
                    return Err(Errno(libc::EINVAL));
                };
                self.directories.hold(self.files.named()?, held)
            }
            Call::OfFile => {
                let Some(StepRules::OfFile(step)) = self.rules.get(usize::from(op.rules)) else {
                    return Err(Errno(libc::EINVAL));
                };
                let piece = self.memory.piece(step.record.0);
                self.directories.of_file(self.files.named()?, step, op, piece)
            }
            Call::Tree => match (&mut self.files, self.rules.get(usize::from(op.rules))) {
                (Files::Trees(trees), Some(StepRules::Tree(step))) => {
                    let piece = self.memory.piece(step.item_bytes());
                    match step.waits_ppm {
                        0 => trees.make(step, op.kind, piece),
                        ppm => self.wait.timed(ppm, &self.clock, || trees.make(step, op.kind, piece)),
                    }
                }
                _ => Err(Errno(libc::EINVAL)),
            },
            _ => Err(Errno(libc::ENOSYS)),
        }
    }

    fn on_names(&mut self, op: &CallOp) -> Completion {
        let passes = |passed: rustix::io::Errno, done: Result<(), Errno>| match done {
            Err(error) if error.0 == passed.raw_os_error() => Ok(()),
            done => done,
        };
        let follow = self.files.follow();
        let mode = Mode::from_raw_mode(op.other as RawMode);
        let files = &mut self.files;
        let unlink = |dir: BorrowedFd<'_>, name: &CStr| rustix::fs::unlinkat(dir, name, AtFlags::empty());
        let mkdir = |dir: BorrowedFd<'_>, name: &CStr| rustix::fs::mkdirat(dir, name, mode);
        let done = match op.call {
            Call::Unlink => files.call(op.file, unlink),
            Call::UnlinkIfThere => passes(rustix::io::Errno::NOENT, files.call(op.file, unlink)),
            Call::Stat => files.call(op.file, |dir, name| rustix::fs::statat(dir, name, follow).map(drop)),
            Call::Access => {
                let access = if matches!(files, Files::Set(_)) { Access::READ_OK } else { Access::EXISTS };
                files.call(op.file, |dir, name| rustix::fs::accessat(dir, name, access, AtFlags::empty()))
            }
            Call::Utimens => {
                let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
                let times = Timestamps { last_access: now, last_modification: now };
                files.call(op.file, |dir, name| rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW))
            }
            // Only the run writes to a file set's directories, so no link can replace the file.
            Call::Chmod if matches!(files, Files::Set(_)) => {
                files.call(op.file, |dir, name| rustix::fs::chmodat(dir, name, mode, AtFlags::empty()))
            }
            Call::Chmod => files.call(op.file, |dir, name| change_mode(dir, name, mode)),
            Call::Rename => files.set()?.renamed().map(drop),
            Call::Link => files.call_two((op.file, op.other), |(from, old), (to, new)| {
                rustix::fs::linkat(from, old, to, new, AtFlags::empty())
            }),
            Call::Symlink => files.symlink(op.file, op.other),
            Call::Readlink => {
                let content = self.memory.piece(LINK_BYTES as u64);
                files.call(op.file, |dir, name| rustix::fs::readlinkat_raw(dir, name, &mut *content).map(drop))
            }
            Call::Mkdir => files.call(op.file, mkdir),
            Call::MkdirIfMissing => passes(rustix::io::Errno::EXIST, files.call(op.file, mkdir)),
            Call::Rmdir => files.call(op.file, |dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)),
            _ => Err(Errno(libc::ENOSYS)),
        };
        done.map(|()| 0)
    }

    /// Returns the longest time of all calls for one record, ns; `None` if each record takes one call.
    pub(super) fn longest_record_ns(&self) -> Option<u64> {
        (!self.longest_record.is_zero()).then_some(self.longest_record.as_nanos() as u64)
    }

    #[inline]
    fn make(&mut self, op: &CallOp) -> Completion {
        if !op.kind.moves_bytes() {
            return self.without_data(op);
        }
        self.seek_before(op)?;
        let moved = if self.locks(op) { self.move_locked(op)? } else { self.move_record(op)? };
        self.seek_after(op)?;
        Ok(moved)
    }

    #[inline(always)]
    fn seek_before(&mut self, op: &CallOp) -> Result<(), Errno> {
        if op.seek_before == Seek::None { Ok(()) } else { self.handle(op)?.seek(op.seek_before) }
    }

    #[inline(always)]
    fn seek_after(&mut self, op: &CallOp) -> Result<(), Errno> {
        if op.seek_after == Seek::None {
            return Ok(());
        }
        let sought = self.handle(op)?.seek(op.seek_after);
        if matches!(op.seek_after, Seek::By(_)) { Ok(()) } else { sought }
    }

    fn make_part(&mut self, op: &CallOp) -> Completion {
        match op.part {
            RecordPart::Whole | RecordPart::Inner => self.make(op),
            RecordPart::First => {
                self.record_began = Some(Instant::now());
                self.make(op)
            }
            RecordPart::Last => {
                let made = self.make(op);
                if let Some(began) = self.record_began.take() {
                    self.longest_record = self.longest_record.max(began.elapsed());
                }
                made
            }
        }
    }

    fn after_any(&mut self, op: &CallOp, moved: u64) -> Result<(), Box<Mismatch>> {
        if op.call == Call::Open && self.mpi.is_some() {
            self.after_open(op);
        } else if op.kind == OpKind::Create && op.call == Call::Open {
            let handle = &self.handles[usize::from(op.handle)];
            if let (Ok(fd), Files::Names(names)) = (handle.fd(), &self.files) {
                names.table.mark_created(op.file as u32, fd);
            }
        }
        let wait = std::mem::take(&mut self.wait);
        let checked = self.check_read(op, moved);
        wait.wait(&self.clock);
        checked
    }

    fn check_read(&mut self, op: &CallOp, moved: u64) -> Result<(), Box<Mismatch>> {
        if !self.checks || op.kind != OpKind::Read {
            return Ok(());
        }
        if let (Files::Trees(trees), Call::Tree) = (&self.files, op.call) {
            return self.memory.check_packet(trees.packet_of(op), moved);
        }
        let Calls { handles, memory, .. } = self;
        if op.call == Call::AioRead
            && let Some(aio) = &mut handles[usize::from(op.handle)].aio
            && let Some(read) = aio.last(moved as usize)
        {
            return memory.check(read, op.offset);
        }
        // Strided calls move a record several times, but memory holds it once.
        memory.check_piece(moved.min(op.length), op.offset)
    }

    fn locks(&self, op: &CallOp) -> bool {
        self.transfer(op).is_ok_and(|transfer| transfer.locks)
    }
}

/// Changes the mode of a file, but not through a symbolic link. fchmodat(2) follows links, so the file is opened with
/// `O_PATH` and changed through its descriptor.
fn change_mode(dir: BorrowedFd<'_>, name: &CStr, mode: Mode) -> rustix::io::Result<()> {
    let file = crate::raw_open::openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", file.as_raw_fd()), mode)
}

impl SyncBackend for Calls {
    type Op = CallOp;

    #[inline(always)]
    fn samples(&self) -> bool {
        // With kernel AIO, the last request of a batch takes the time of the whole batch.
        matches!(self.files, Files::Names(_)) && self.mpi.is_none() && self.kernel_aio.is_none()
    }

    #[inline]
    fn before(&mut self, op: &CallOp) {
        match &mut self.files {
            Files::Names(_) => {
                if op.call == Call::Open && self.mpi.is_some() {
                    self.before_open(op);
                }
            }
            Files::Trees(trees) => {
                if op.call == Call::Tree {
                    return trees.before(op, &self.rules, &mut self.memory);
                }
            }
            Files::Set(set) => {
                set.write_paths(op);
                if op.call == Call::Open {
                    // Close a handle that is still open here, outside the clock.
                    let open = self.handles.get_mut(usize::from(op.handle)).map(std::mem::take);
                    drop(open);
                }
            }
        }
        if matches!(op.call, Call::CopyWrite | Call::KernelAioWrite) {
            // The memory holds the data just read, or is filled during the op's time.
            return;
        }
        if self.memory.changes() && op.kind != OpKind::Write {
            self.memory.rest();
        }
        if op.kind.moves_bytes() && self.memory.changes() {
            if op.seek_before == Seek::None || op.kind == OpKind::Read {
                self.memory.turn(op.length);
            }
            if op.kind == OpKind::Write {
                self.memory.fill(op.offset, op.length);
            }
        }
    }

    fn begin(&mut self) -> Result<Begun, NotBegun> {
        self.begun_at = self.clock.now();
        Ok(Begun::AtOnce)
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        self.steps_ns = self.clock.ns_between(self.begun_at, self.clock.now()).max(1);
        let Files::Set(set) = &self.files else { return Ok(()) };
        let place = set.place.clone();
        let mut closed = Ok(0);
        for number in 0..self.handles.len() {
            let handle = std::mem::take(&mut self.handles[number]);
            if handle.file.is_some() {
                closed = closed.and(self.close_handle(handle));
            }
        }
        closed.map(drop).map_err(|errno| Unfinished { op: OpKind::Close, path: place, errno })
    }

    fn works_between_ops(&self) -> bool {
        // Paths of a set are written between its ops.
        (self.checks && !self.memory.checks_few_words()) || self.memory.changes() || !self.samples()
    }

    #[inline(always)]
    fn execute(&mut self, op: &CallOp) -> Completion {
        if op.is_bare {
            self.seek_before(op)?;
            let moved = self.plain(op)?;
            self.seek_after(op)?;
            return Ok(moved);
        }
        // Copy the op only here. On the path above, it then stays in registers.
        let op = *op;
        self.make_part(&op)
    }

    #[inline(always)]
    fn after(&mut self, op: &CallOp, moved: u64) -> Result<(), Box<Mismatch>> {
        let checked = if !op.is_bare {
            let op = *op;
            self.after_any(&op, moved)
        } else if self.checks && op.kind == OpKind::Read {
            self.memory.check_piece(moved, op.offset)
        } else {
            return Ok(());
        };
        checked.inspect_err(|_| self.mark.set_mismatch())
    }

    fn explain(&mut self, errno: Errno) -> String {
        match self.kernel_aio.as_mut().and_then(KernelAio::take_failure) {
            Some(words) => words,
            None => self.error_message(errno),
        }
    }

    fn path_of(&self, op: &CallOp) -> PathBuf {
        let table = match &self.files {
            Files::Set(set) => return set.path_of(op),
            Files::Trees(trees) => return trees.paths.path_buf(op.file),
            Files::Names(names) => &names.table,
        };
        let number = match op.kind {
            _ if matches!(op.call, Call::Open | Call::OfFile) => op.file,
            OpKind::Link | OpKind::Symlink => op.other,
            OpKind::Unlink | OpKind::Stat | OpKind::Access | OpKind::Mkdir | OpKind::Rmdir | OpKind::Readdir => op.file,
            _ => self.handles.get(usize::from(op.handle)).map_or(op.file, |handle| handle.number),
        };
        table.path_buf(number)
    }
}
