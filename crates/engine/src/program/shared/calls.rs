//! Calls of steps over shared file sets: chooses their files, makes the calls, and updates the shared state.

use super::compile::{CompiledStep, Moving, PickFrom, StepAction, WHOLE_BYTES_MAX};
use super::draw::Drawn;
use super::memory::{ReadMemory, WriteMemory};
use super::set::{DIRECTORY_MODE, FILE_MODE, SharedSet};
use super::shape::{Entry, PathText};
use super::source::{SharedOp, WorkerContext};
use super::state::{Entries, From, indexed};
use crate::backend::{Completion, Errno, SyncBackend, Unfinished};
use crate::program::aio::{Aio, FailedWrite};
use crate::program::descriptor::{close, errno, system};
use crate::rng::Rng;
use plumb_workload::OpKind;
use rustix::fs::{Advice, AtFlags, Mode, OFlags, SeekFrom};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of files tried after `ENOENT` because another worker removed them.
const ATTEMPTS_MAX: u32 = 1000;

/// Buffer size of one `getdents64`.
const ENTRIES_BYTES: usize = 32 << 10;

/// Bytes that Filebench counts for a directory entry besides its name: `sizeof(struct dirent) - 1` of the
/// GNU C library on 64 bits.
const ENTRY_BYTES: u64 = 279;

/// Maximum number of writes in flight, and the bytes of their memory.
const STARTED_MAX: u64 = 256;
const STARTED_BYTES: u64 = 32 << 20;

/// A worker's asynchronous writes.
#[derive(Default)]
pub(super) struct Writes {
    aio: Option<Aio>,
    /// First error from waiting for half of them. The next asynchronous write, or the close of its file, returns it.
    failed: Option<FailedWrite>,
}

impl Writes {
    /// Waits for half of the writes in flight, at least one.
    pub(super) fn await_half(&mut self) {
        let failed = self.aio.as_mut().and_then(|aio| aio.drain_half().err());
        self.failed = self.failed.or(failed);
    }

    /// Waits for the writes to one file, which is about to be closed.
    fn await_file(&mut self, file: BorrowedFd<'_>) -> Result<(), Errno> {
        let earlier = self.failed.take_if(|failed| failed.fd == file.as_raw_fd());
        let drained = self.aio.as_mut().map_or(Ok(()), |aio| aio.drain_file(file));
        earlier.map_or(drained, |failed| Err(failed.errno))
    }
}

/// An open file of the worker.
struct Open {
    fd: OwnedFd,
    set: usize,
    file: u32,
}

/// Executes the steps of one worker.
pub(super) struct SharedCalls<'a> {
    context: WorkerContext<'a>,
    handles: Vec<Option<Open>>,
    /// Last set and file number of each handle: a step may remove the file after it was closed.
    last_files: Vec<Option<(usize, u32)>>,
    /// Handle that a step with `PickFrom::Turn` used last.
    turn: usize,
    /// Number of handles that such a step cycles through.
    turn_handles: usize,
    /// By set: position after the entry that such a step took last.
    own: Vec<Cell<u32>>,
    rng: Rng,
    path: PathText,
    /// Entry that the current op uses, for messages.
    last: Option<(usize, Entry)>,
    reads: ReadMemory,
    writes: WriteMemory,
    entries: Box<[MaybeUninit<u8>]>,
    /// Bytes written since the last check of free space.
    written: u64,
    /// Bytes of the current write or append, or of each of its calls; drawn before its clock starts.
    request_bytes: u64,
}

impl<'a> SharedCalls<'a> {
    pub(super) fn new(
        context: WorkerContext<'a>,
        rng: Rng,
        reads: ReadMemory,
        writes: WriteMemory,
        turn_handles: usize,
    ) -> SharedCalls<'a> {
        let program = context.program;
        SharedCalls {
            handles: (0..program.handles).map(|_| None).collect(),
            last_files: vec![None; program.handles],
            turn: 0,
            turn_handles,
            own: program.sets.iter().map(|_| Cell::new(0)).collect(),
            rng,
            path: PathText::new(),
            last: None,
            reads,
            writes,
            entries: vec![MaybeUninit::uninit(); ENTRIES_BYTES].into_boxed_slice(),
            written: 0,
            request_bytes: 0,
            context,
        }
    }

    fn set_of(&self, step: &CompiledStep) -> Result<usize, Errno> {
        step.set.ok_or(Errno(libc::EBADF))
    }

    fn set(&self, number: usize) -> &'a SharedSet {
        &self.context.program.sets[number]
    }

    /// Returns the handle of a step.
    fn handle(&mut self, step: &CompiledStep) -> usize {
        match step.pick {
            PickFrom::Turn => {
                self.turn = if self.turn == 0 { self.turn_handles - 1 } else { self.turn - 1 };
                self.turn
            }
            _ => step.handle,
        }
    }

    /// Counts a step that found no file, and returns the error that ends the worker.
    fn no_file(&self, step: u32) -> Errno {
        if let Some(cells) = self.context.row.get(step as usize) {
            cells.dry.fetch_add(1, Relaxed);
        }
        Errno::ENDED
    }

    /// Picks an entry of a set as the step says.
    fn pick(
        &mut self,
        step: &CompiledStep,
        set: usize,
        entries: &Entries,
        len: u32,
        pick: fn(&Entries, From<'_>) -> Option<u32>,
    ) -> Option<u32> {
        match &step.pick {
            PickFrom::Next => pick(entries, From::Shared),
            PickFrom::Turn => pick(entries, From::Own(&self.own[set])),
            PickFrom::Indexed(index) => pick(entries, From::At(indexed(index, len, &mut self.rng))),
        }
    }

    /// Tries a call on existing files, one after another, until one is found that was not removed in the meantime.
    fn on_existing<T>(
        &mut self,
        number: u32,
        set: usize,
        call: impl Fn(BorrowedFd<'_>, &std::ffi::CStr) -> rustix::io::Result<T>,
    ) -> Result<(u32, T), Errno> {
        let (step, of) = (&self.context.program.steps[number as usize], self.set(set));
        let mut attempts = 0;
        loop {
            let picked = self.pick(step, set, &of.state.files, of.shape.files(), Entries::existing);
            let file = picked.ok_or_else(|| self.no_file(number))?;
            let dir = of.shape.write_path(Entry::File(file), &mut self.path);
            self.last = Some((set, Entry::File(file)));
            match of.dir(dir).and_then(|dir| call(dir.as_fd(), self.path.name())) {
                Ok(done) => return Ok((file, done)),
                Err(rustix::io::Errno::NOENT) if attempts < ATTEMPTS_MAX => attempts += 1,
                Err(error) => return Err(errno(error)),
            }
        }
    }

    fn keep(&mut self, step: &CompiledStep, handle: usize, open: Open) -> Result<(), Errno> {
        if step.no_read_ahead {
            rustix::fs::fadvise(&open.fd, 0, None, Advice::Random).map_err(errno)?;
        }
        self.set(open.set).state.files.opened(open.file);
        self.handles[handle] = Some(open);
        Ok(())
    }

    fn open(&mut self, number: u32, handle: usize) -> Result<(), Errno> {
        let step = &self.context.program.steps[number as usize];
        let set = self.set_of(step)?;
        let (file, fd) =
            self.on_existing(number, set, |root, path| crate::raw_open::openat(root, path, step.flags, Mode::empty()))?;
        self.keep(step, handle, Open { fd, set, file })
    }

    fn create(&mut self, number: u32, handle: usize) -> Result<(), Errno> {
        let step = &self.context.program.steps[number as usize];
        let set = self.set_of(step)?;
        let of = self.set(set);
        let taken = self.pick(step, set, &of.state.files, of.shape.files(), Entries::take_missing);
        let file = taken.ok_or_else(|| self.no_file(number))?;
        let dir = of.shape.write_path(Entry::File(file), &mut self.path);
        self.last = Some((set, Entry::File(file)));
        let flags = step.flags | OFlags::CREATE;
        match of.dir(dir).and_then(|dir| crate::raw_open::openat(dir, self.path.name(), flags, FILE_MODE)) {
            Ok(fd) => {
                of.state.files.mark_existing(file);
                self.keep(step, handle, Open { fd, set, file })
            }
            Err(error) => {
                of.state.files.mark_missing(file);
                Err(errno(error))
            }
        }
    }

    /// Returns the handle of a step's open file, and opens the file if necessary.
    #[inline]
    fn opened(&mut self, number: u32) -> Result<usize, Errno> {
        let step = &self.context.program.steps[number as usize];
        let handle = self.handle(step);
        match &self.handles[handle] {
            Some(open) => self.last = Some((open.set, Entry::File(open.file))),
            None => self.open(number, handle)?,
        }
        Ok(handle)
    }

    #[inline]
    fn fd(&self, handle: usize) -> Result<&Open, Errno> {
        opened(&self.handles, handle)
    }

    fn close(&mut self, handle: usize) -> Completion {
        let open = self.handles[handle].take().ok_or(Errno(libc::EBADF))?;
        self.last = Some((open.set, Entry::File(open.file)));
        self.last_files[handle] = Some((open.set, open.file));
        self.set(open.set).state.files.closed(open.file);
        let written = self.context.writes.borrow_mut().await_file(open.fd.as_fd());
        let closed = close(open.fd);
        written.and(closed)
    }

    fn remove(&mut self, number: u32, step: &CompiledStep) -> Completion {
        let open = self.handles[step.handle].as_ref().map(|open| (open.set, open.file));
        let held = open.or_else(|| self.last_files[step.handle].take()).filter(|_| step.handle > 0);
        let own = held.filter(|(set, file)| self.set(*set).state.files.take(*file));
        let (set, file) = match own {
            Some(own) => own,
            None => {
                // Another worker has removed the file, or the handle held none, so pick another file of the set.
                let set = held.map_or_else(|| self.set_of(step), |(set, _)| Ok(set))?;
                let of = self.set(set);
                let taken = self.pick(step, set, &of.state.files, of.shape.files(), Entries::take_existing);
                (set, taken.ok_or_else(|| self.no_file(number))?)
            }
        };
        let of = self.set(set);
        let dir = of.shape.write_path(Entry::File(file), &mut self.path);
        self.last = Some((set, Entry::File(file)));
        match of.dir(dir).and_then(|dir| rustix::fs::unlinkat(dir, self.path.name(), AtFlags::empty())) {
            Ok(()) => {
                of.state.files.mark_missing(file);
                Ok(0)
            }
            Err(error) => {
                of.state.files.mark_existing(file);
                Err(errno(error))
            }
        }
    }

    fn stat(&mut self, number: u32, step: &CompiledStep) -> Completion {
        if step.handle > 0
            && let Ok(open) = self.fd(step.handle)
        {
            return rustix::fs::fstat(&open.fd).map(|_| 0).map_err(errno);
        }
        let set = self.set_of(step)?;
        self.on_existing(number, set, |root, path| rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(0)
    }

    /// Returns the offset of a transfer of this many bytes.
    #[inline]
    fn place(&mut self, moving: &Moving, handle: usize, bytes: u64) -> Result<u64, Errno> {
        let open = self.fd(handle)?;
        if !moving.places.is_empty() {
            return Ok(moving.places[self.rng.below(moving.places.len() as u64) as usize]);
        }
        let size = self.set(open.set).shape.size_of(open.file);
        let extent = if moving.within > 0 { moving.within.min(size.max(bytes)) } else { size };
        Ok(self.rng.below((extent / bytes.max(1)).max(1)) * bytes)
    }

    fn read(&mut self, number: u32, moving: &Moving) -> Completion {
        let handle = self.opened(number)?;
        let bytes = moving.size.bytes(&mut self.rng, self.context.program.largest_read);
        if bytes == 0 {
            return Err(Errno(libc::EINVAL));
        }
        if moving.random {
            let offset = self.place(moving, handle, bytes)?;
            let piece = self.reads.piece(bytes, &mut self.rng);
            let open = opened(&self.handles, handle)?;
            return rustix::io::pread(&open.fd, piece, offset).map(|moved| moved as u64).map_err(errno);
        }
        let piece = self.reads.piece(bytes, &mut self.rng);
        let open = opened(&self.handles, handle)?;
        let moved = rustix::io::read(&open.fd, piece).map_err(errno)?;
        if moved == 0 {
            rustix::fs::seek(&open.fd, SeekFrom::Start(0)).map_err(errno)?;
        }
        Ok(moved as u64)
    }

    fn write(&mut self, number: u32, moving: &Moving) -> Completion {
        let handle = self.opened(number)?;
        let bytes = self.request_bytes;
        if bytes == 0 {
            return Err(Errno(libc::EINVAL));
        }
        let moved = if moving.random {
            let offset = self.place(moving, handle, bytes)?;
            rustix::io::pwrite(&opened(&self.handles, handle)?.fd, self.writes.piece(bytes), offset)
        } else {
            rustix::io::write(&opened(&self.handles, handle)?.fd, self.writes.piece(bytes))
        };
        let moved = moved.map_err(errno)? as u64;
        self.has_room(handle, moved)?;
        Ok(moved)
    }

    fn read_whole(&mut self, number: u32, request: &Drawn) -> Completion {
        let handle = self.opened(number)?;
        let drawn = request.bytes(&mut self.rng, self.context.program.largest_read);
        let request = self.request(drawn, handle, self.context.program.largest_read)?;
        let piece = self.reads.piece(request, &mut self.rng);
        let open = opened(&self.handles, handle)?;
        rustix::fs::seek(&open.fd, SeekFrom::Start(0)).map_err(errno)?;
        let mut all = 0;
        loop {
            match rustix::io::read(&open.fd, &mut *piece).map_err(errno)? {
                0 => return Ok(all),
                moved => all += moved as u64,
            }
        }
    }

    /// Returns the bytes of one of several calls; 0 means the size of the file.
    fn request(&self, request: u64, handle: usize, most: u64) -> Result<u64, Errno> {
        let request = match request {
            0 => {
                let open = self.fd(handle)?;
                self.set(open.set).shape.size_of(open.file)
            }
            request => request,
        };
        Ok(request.clamp(1, most.max(1)))
    }

    fn write_whole(&mut self, number: u32, like: usize, bytes: u64) -> Completion {
        let handle = self.opened(number)?;
        let size_of = |open: &Open| self.set(open.set).shape.size_of(open.file);
        let end = match (&self.handles[like], bytes) {
            (Some(open), _) => size_of(open),
            (None, 0) => size_of(self.fd(handle)?),
            (None, bytes) => bytes,
        };
        let request = self.request(self.request_bytes, handle, self.context.program.largest_write)?;
        let mut all = 0;
        while all < end {
            let piece = self.writes.piece(request.min(end - all));
            let moved = rustix::io::write(&opened(&self.handles, handle)?.fd, piece).map_err(errno)? as u64;
            if moved == 0 {
                return Err(Errno(libc::EIO));
            }
            all += moved;
            self.has_room(handle, moved)?;
        }
        Ok(all)
    }

    fn append(&mut self, number: u32) -> Completion {
        let handle = self.opened(number)?;
        let bytes = self.request_bytes;
        if bytes == 0 {
            return Ok(0);
        }
        let open = opened(&self.handles, handle)?;
        rustix::fs::seek(&open.fd, SeekFrom::End(0)).map_err(errno)?;
        let moved = rustix::io::write(&open.fd, self.writes.piece(bytes)).map_err(errno)? as u64;
        self.has_room(handle, moved)?;
        Ok(moved)
    }

    /// Checks from time to time for enough free space, because files may grow as long as the run lasts.
    #[inline]
    fn has_room(&mut self, handle: usize, moved: u64) -> Result<(), Errno> {
        self.written += moved;
        let set = self.set(self.fd(handle)?.set);
        if set.room.is_checked_after(self.written, self.context.phase.workers) {
            self.written = 0;
            set.room.check(set.root())?;
        }
        Ok(())
    }

    fn fsync_set(&mut self, op: &SharedOp, step: &CompiledStep) -> Completion {
        let set = self.set_of(step)?;
        let mut flushed = 0;
        for open in self.handles.iter().flatten().filter(|open| open.set == set) {
            self.last = Some((set, Entry::File(open.file)));
            rustix::fs::fsync(&open.fd).map_err(errno)?;
            flushed += 1;
        }
        self.context.outcome.is(op.step, flushed);
        Ok(0)
    }

    fn make_directory(&mut self, number: u32, step: &CompiledStep) -> Completion {
        let set = self.set_of(step)?;
        let of = self.set(set);
        let taken = self.pick(step, set, &of.state.leaves, of.shape.leaves(), Entries::take_missing);
        let leaf = taken.ok_or_else(|| self.no_file(number))?;
        let dir = of.shape.write_path(Entry::Leaf(leaf), &mut self.path);
        self.last = Some((set, Entry::Leaf(leaf)));
        let made = of.dir(dir).and_then(|dir| rustix::fs::mkdirat(dir, self.path.name(), DIRECTORY_MODE));
        if made.is_ok() {
            of.state.leaves.mark_existing(leaf)
        } else {
            of.state.leaves.mark_missing(leaf)
        };
        made.map(|()| 0).map_err(errno)
    }

    fn remove_directory(&mut self, number: u32, step: &CompiledStep) -> Completion {
        let set = self.set_of(step)?;
        let of = self.set(set);
        let taken = self.pick(step, set, &of.state.leaves, of.shape.leaves(), Entries::take_existing);
        let leaf = taken.ok_or_else(|| self.no_file(number))?;
        let dir = of.shape.write_path(Entry::Leaf(leaf), &mut self.path);
        self.last = Some((set, Entry::Leaf(leaf)));
        let removed = of.dir(dir).and_then(|dir| rustix::fs::unlinkat(dir, self.path.name(), AtFlags::REMOVEDIR));
        if removed.is_ok() {
            of.state.leaves.mark_missing(leaf)
        } else {
            of.state.leaves.mark_existing(leaf)
        };
        removed.map(|()| 0).map_err(errno)
    }

    fn list(&mut self, step: &CompiledStep) -> Completion {
        let set = self.set_of(step)?;
        let of = self.set(set);
        let directory = of.state.directory(of.shape.directories());
        let parent = of.shape.write_directory(directory, &mut self.path);
        self.last = None;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            of.dir(parent).and_then(|dir| crate::raw_open::openat(dir, self.path.name(), flags, Mode::empty()));
        let fd = opened.map_err(errno)?;
        self.entries_bytes(fd)
    }

    #[cfg(target_os = "linux")]
    fn entries_bytes(&mut self, directory: OwnedFd) -> Completion {
        let mut bytes = 0;
        let mut entries = rustix::fs::RawDir::new(directory.as_fd(), &mut self.entries);
        while let Some(entry) = entries.next() {
            bytes += entry.map_err(errno)?.file_name().to_bytes().len() as u64 + ENTRY_BYTES;
        }
        close(directory)?;
        Ok(bytes)
    }

    #[cfg(not(target_os = "linux"))]
    fn entries_bytes(&mut self, directory: OwnedFd) -> Completion {
        let mut bytes = 0;
        for entry in rustix::fs::Dir::new(directory).map_err(errno)? {
            bytes += entry.map_err(errno)?.file_name().to_bytes().len() as u64 + ENTRY_BYTES;
        }
        Ok(bytes)
    }

    fn start_write(&mut self, number: u32, moving: &Moving) -> Completion {
        let handle = self.opened(number)?;
        let largest = self.context.program.largest_started;
        let bytes = self.request_bytes;
        if bytes == 0 {
            return Err(Errno(libc::EINVAL));
        }
        let offset = self.place(moving, handle, bytes)?;
        let mut writes = self.context.writes.borrow_mut();
        if let Some(failed) = writes.failed.take() {
            let of = self.handles.iter().flatten().find(|open| open.fd.as_raw_fd() == failed.fd);
            self.last = of.map(|open| (open.set, Entry::File(open.file)));
            return Err(failed.errno);
        }
        if writes.aio.is_none() {
            let depth = (STARTED_BYTES / largest.max(1)).clamp(4, STARTED_MAX) as u32;
            writes.aio = Some(Aio::new(depth, largest as usize, true).map_err(system)?);
        }
        let open = opened(&self.handles, handle)?;
        let aio = writes.aio.as_mut().ok_or(Errno(libc::ENOMEM))?;
        let started = aio.write(open.fd.as_fd(), offset, self.writes.piece(bytes))?;
        drop(writes);
        self.has_room(handle, started)?;
        Ok(started)
    }
}

impl Drop for SharedCalls<'_> {
    /// Waits for all writes before the descriptors are closed, however the worker ended.
    fn drop(&mut self) {
        self.context.writes.borrow_mut().aio = None;
    }
}

/// Returns the open file of a handle. A free function, so that it borrows nothing else of the worker.
#[inline]
fn opened(handles: &[Option<Open>], handle: usize) -> Result<&Open, Errno> {
    handles.get(handle).and_then(Option::as_ref).ok_or(Errno(libc::EBADF))
}

impl SyncBackend for SharedCalls<'_> {
    type Op = SharedOp;

    fn before(&mut self, op: &SharedOp) {
        let program = self.context.program;
        let (drawn, most) = match &program.steps[op.step as usize].does {
            _ if op.kind != OpKind::Write => return,
            StepAction::Write(moving) => (&moving.size, program.largest_write),
            StepAction::StartWrite(moving) => (&moving.size, program.largest_started),
            StepAction::WriteWhole { request, .. } => (request, program.largest_write),
            StepAction::Append { size, .. } => (size, program.largest_write),
            _ => return,
        };
        self.request_bytes = drawn.bytes(&mut self.rng, most);
        let ready = match &program.steps[op.step as usize].does {
            StepAction::Append { up_to: true, .. } => {
                self.request_bytes = self.rng.below(self.request_bytes);
                self.request_bytes
            }
            // The size of the file, which may not be known before it is opened.
            StepAction::WriteWhole { .. } if self.request_bytes == 0 => program.largest_write.min(WHOLE_BYTES_MAX),
            _ => self.request_bytes,
        };
        self.writes.renew(ready);
    }

    fn works_between_ops(&self) -> bool {
        true
    }

    fn execute(&mut self, op: &SharedOp) -> Completion {
        let number = op.step;
        let step = &self.context.program.steps[number as usize];
        let done = match &step.does {
            StepAction::Open | StepAction::Create
                if self.handles[step.handle].is_some() && !matches!(step.pick, PickFrom::Turn) =>
            {
                Err(Errno(libc::EBUSY))
            }
            StepAction::Open => {
                let handle = self.handle(step);
                // The next file takes the handle of the file opened one full turn earlier.
                if self.handles[handle].is_some() {
                    self.close(handle)?;
                }
                self.open(number, handle).map(|()| 0)
            }
            StepAction::Create => {
                let handle = self.handle(step);
                if self.handles[handle].is_some() {
                    self.close(handle)?;
                }
                self.create(number, handle).map(|()| 0)
            }
            StepAction::Close => self.close(if matches!(step.pick, PickFrom::Turn) { self.turn } else { step.handle }),
            StepAction::Remove => self.remove(number, step),
            StepAction::Stat => self.stat(number, step),
            StepAction::Read(moving) => self.read(number, moving),
            StepAction::Write(moving) => self.write(number, moving),
            StepAction::ReadWhole { request } => self.read_whole(number, request),
            StepAction::WriteWhole { like, bytes, .. } => self.write_whole(number, *like, *bytes),
            StepAction::Append { .. } => self.append(number),
            StepAction::Fsync => {
                let handle = self.opened(number)?;
                rustix::fs::fsync(&self.fd(handle)?.fd).map(|()| 0).map_err(errno)
            }
            StepAction::FsyncSet => return self.fsync_set(op, step),
            StepAction::MakeDirectory => self.make_directory(number, step),
            StepAction::RemoveDirectory => self.remove_directory(number, step),
            StepAction::List => self.list(step),
            StepAction::StartWrite(moving) => self.start_write(number, moving),
            // The source handles all others.
            _ => Err(Errno(libc::ENOSYS)),
        };
        if done.is_ok() {
            self.context.outcome.is(number, 1);
        }
        done
    }

    fn finish(&mut self) -> Result<(), Unfinished> {
        let mut first = Ok(());
        for handle in 0..self.handles.len() {
            if self.handles[handle].is_some() {
                // close(2) may report an error of an earlier write, or of an asynchronous one.
                let closed = self.close(handle);
                let path = self.last.map_or_else(PathBuf::new, |(set, entry)| self.set(set).path_of(entry));
                first = first.and(closed.map(drop).map_err(|errno| Unfinished { op: OpKind::Close, path, errno }));
            }
        }
        first
    }

    fn path_of(&self, op: &SharedOp) -> PathBuf {
        let step = &self.context.program.steps[op.step as usize];
        match (self.last, step.set) {
            (Some((set, entry)), _) => self.set(set).path_of(entry),
            (None, Some(set)) => self.set(set).path().join(self.path.as_path()),
            (None, None) => PathBuf::from(&step.name),
        }
    }
}
