//! Moves records, by each kind of call.

use super::{Calls, find_handle};
use crate::backend::{Completion, Errno};
use crate::program::aio::{Ahead, Aio};
use crate::program::descriptor::{errno, lock, moved, system};
use crate::program::kernel_aio::{AioLimits, KernelAio};
use crate::program::op::{Call, CallOp};
use crate::program::rules::StepRules;
use plumb_workload::OpKind;
use plumb_workload::program::{LockKind, RecordOrder, Via};
use std::os::fd::AsFd;

impl Calls {
    #[inline(always)]
    pub(super) fn plain(&mut self, op: &CallOp) -> Completion {
        let Calls { handles, memory, .. } = self;
        let fd = find_handle(handles, op)?.fd()?;
        let piece = memory.piece(op.length);
        match op.call {
            Call::Read => moved(rustix::io::read(fd, piece)),
            Call::Write => moved(rustix::io::write(fd, piece)),
            Call::ReadAt => moved(rustix::io::pread(fd, piece, op.offset)),
            _ => moved(rustix::io::pwrite(fd, piece, op.offset)),
        }
    }

    /// Copies a part of a file.
    fn copied(&mut self, op: &CallOp) -> Completion {
        if op.call == Call::CopyRead {
            self.to_copy = self.plain(&CallOp { call: Call::ReadAt, ..*op })?;
            return Ok(self.to_copy);
        }
        self.plain(&CallOp { call: Call::WriteAt, length: self.to_copy.min(op.length), ..*op })
    }

    fn single_bytes(&mut self, op: &CallOp) -> Completion {
        let Calls { handles, memory, .. } = self;
        let fd = find_handle(handles, op)?.fd()?;
        let piece = memory.piece(op.length);
        for (number, byte) in piece.chunks_mut(1).enumerate() {
            let done = match op.call {
                Call::ReadBytes => rustix::io::read(fd, byte),
                _ => rustix::io::write(fd, byte),
            };
            if done.map_err(errno)? == 0 {
                return Ok(number as u64);
            }
        }
        Ok(op.length)
    }

    fn streamed(&mut self, op: &CallOp) -> Completion {
        let Calls { handles, memory, .. } = self;
        let stream = find_handle(handles, op)?.stream()?;
        let piece = memory.piece(op.length);
        match op.call {
            Call::StreamRead => stream.read(piece),
            Call::StreamWrite => stream.write(piece),
            Call::GetCharacters => stream.library()?.get_characters(piece),
            Call::GetCharactersUnlocked => stream.library()?.get_characters_unlocked(piece),
            Call::PutCharactersUnlocked => stream.library()?.put_characters_unlocked(piece),
            _ => stream.library()?.put_characters(piece),
        }
    }

    fn moved_whole(&mut self, op: &CallOp) -> Completion {
        let Calls { handles, rules, whole: Some(whole), .. } = self else { return Err(Errno(libc::EINVAL)) };
        let Some(StepRules::Whole(blocks)) = rules.get(usize::from(op.rules)) else { return Err(Errno(libc::EINVAL)) };
        let handle = find_handle(handles, op)?;
        match (&mut handle.stream, op.call) {
            (Some(stream), Call::ReadWhole) => whole.read_stream(stream, op.length),
            (Some(stream), _) => whole.write_stream(stream, op.length, blocks.write_bytes),
            (None, Call::ReadWhole) => whole.read_file(handle.fd()?, op.length),
            (None, _) => whole.write_file(handle.fd()?, op.length, blocks.write_bytes),
        }
    }

    fn mapped(&mut self, op: &CallOp) -> Completion {
        let sync = match self.transfer(op)?.via {
            Via::Mapped { sync } => sync,
            _ => None,
        };
        let Calls { handles, memory, .. } = self;
        let mapping = find_handle(handles, op)?.mapping()?;
        let piece = memory.piece(op.length);
        if op.call == Call::Load {
            return mapping.load(op.offset, piece);
        }
        let moved = mapping.store(op.offset, piece)?;
        if let Some(waits) = sync {
            mapping.sync(op.offset, op.length, if waits { libc::MS_SYNC } else { libc::MS_ASYNC })?;
        }
        Ok(moved)
    }

    fn asynchronous(&mut self, op: &CallOp) -> Completion {
        let transfer = self.transfer(op)?;
        let Via::PosixAio { depth, copies } = transfer.via else { return Err(Errno(libc::EINVAL)) };
        let record = transfer.record.0 as i64;
        let step = match &transfer.order {
            RecordOrder::Forward => record,
            RecordOrder::Backward => -record,
            RecordOrder::Strided { records } => record.saturating_mul(*records as i64),
            RecordOrder::Shuffled(_) | RecordOrder::Same | RecordOrder::Listed(_) | RecordOrder::Segments(_) => 0,
        };
        let ahead = Ahead { step, end: transfer.end() };
        let largest = transfer.largest_bytes() as usize;
        let Calls { handles, memory, .. } = self;
        let handle = find_handle(handles, op)?;
        if handle.aio.is_none() {
            handle.aio = Some(Aio::new(depth, largest, copies || !memory.is_constant()).map_err(system)?);
        }
        let (Some(file), Some(aio)) = (&handle.file, &mut handle.aio) else { return Err(Errno(libc::EBADF)) };
        let piece = memory.piece(op.length);
        let moved = match op.call {
            Call::AioRead => aio.read(file.as_fd(), op.offset, piece, ahead)?,
            _ => aio.write(file.as_fd(), op.offset, piece)?,
        };
        if op.is_last && op.call == Call::AioWrite {
            aio.drain()?;
        }
        Ok(moved)
    }

    /// Submits a request to the kernel. Its data is generated within its time, while earlier requests are in flight.
    fn requested(&mut self, op: &CallOp) -> Completion {
        let limits = AioLimits::from_via(self.transfer(op)?.via).ok_or(Errno(libc::EINVAL))?;
        let Calls { handles, memory, kernel_aio: Some(aio), checks, .. } = self else {
            return Err(Errno(libc::EINVAL));
        };
        let fd = find_handle(handles, op)?.fd()?;
        match op.call {
            Call::KernelAioWrite => {
                if memory.changes() {
                    memory.turn(op.length);
                    memory.fill(op.offset, op.length);
                }
                aio.write(fd, op.offset, memory.piece(op.length), limits)
            }
            _ if *checks => aio.read_now(fd, op.offset, memory.piece(op.length)),
            _ => aio.read(fd, op.offset, op.length, limits),
        }
    }

    /// Waits for all requests to the kernel.
    pub(super) fn complete_requests(&mut self) -> Result<(), Errno> {
        self.kernel_aio.as_mut().map_or(Ok(()), KernelAio::drain)
    }

    /// Locks or unlocks a record.
    fn record_lock(&mut self, op: &CallOp, kind: LockKind) -> Result<(), Errno> {
        lock(self.handle(op)?.fd()?, kind, op.offset, op.length).map(drop)
    }

    #[inline]
    pub(super) fn move_record(&mut self, op: &CallOp) -> Completion {
        match op.call {
            Call::Read | Call::Write | Call::ReadAt | Call::WriteAt => self.plain(op),
            Call::CopyRead | Call::CopyWrite => self.copied(op),
            Call::ReadBytes | Call::WriteBytes => self.single_bytes(op),
            Call::StreamRead
            | Call::StreamWrite
            | Call::GetCharacters
            | Call::PutCharacters
            | Call::GetCharactersUnlocked
            | Call::PutCharactersUnlocked => self.streamed(op),
            Call::ReadWhole | Call::WriteWhole => self.moved_whole(op),
            Call::Load | Call::Store => self.mapped(op),
            Call::MpiRead | Call::MpiWrite => self.move_by_mpi(op),
            Call::KernelAioRead | Call::KernelAioWrite => self.requested(op),
            Call::Tree => self.without_data(op),
            _ => self.asynchronous(op),
        }
    }

    #[cold]
    pub(super) fn move_locked(&mut self, op: &CallOp) -> Completion {
        let kind = if op.kind == OpKind::Read { LockKind::Read } else { LockKind::Write };
        self.record_lock(op, kind)?;
        let moved = self.move_record(op);
        self.record_lock(op, LockKind::None)?;
        moved
    }
}
