//! The kernel's native asynchronous I/O: `io_setup`, `io_submit`, `io_getevents`. Sources: io_submit(2),
//! io_getevents(2), linux/aio_abi.h.
//!
//! Buffered reads and writes run inside `io_submit`. Only with `O_DIRECT` are they in flight afterwards.
#![allow(unsafe_code)]

use crate::backend::priorities::Priorities;
use crate::backend::queue_modes::LibaioModes;
use crate::backend::queued::{Inline, still_to_wait};
use crate::backend::{BlockContext, Done, Errno, QueuedBackend, Slot, Wait, has_context};
use crate::op::BlockOp;
use crate::syscall::aio::AioRange;
use plumb_workload::OpKind;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// `struct iocb`; the order of `key` and `rw_flags` depends on the byte order. Source: linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct IoControlBlock {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    result_fd: u32,
}

/// `struct io_event`. Source: linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct IoEvent {
    /// The `data` of its control block.
    pub(crate) data: u64,
    control_block: u64,
    /// Bytes moved, or the negative error number.
    pub(crate) result: i64,
    result2: i64,
}

impl IoControlBlock {
    /// Prepares a read of a range. Its event will carry `data`.
    pub(crate) fn reading(range: AioRange, data: u64) -> IoControlBlock {
        IoControlBlock::moving(PREAD, range, data)
    }

    /// Prepares a write of a range. Its event will carry `data`.
    pub(crate) fn writing(range: AioRange, data: u64) -> IoControlBlock {
        IoControlBlock::moving(PWRITE, range, data)
    }

    fn moving(opcode: u16, range: AioRange, data: u64) -> IoControlBlock {
        IoControlBlock {
            data,
            opcode,
            fd: range.fd as u32,
            buffer: range.memory as u64,
            bytes: range.bytes as u64,
            offset: range.offset as i64,
            ..IoControlBlock::default()
        }
    }
}

/// Header of the event ring that the kernel maps into the process. Source: fs/aio.c, `struct aio_ring`.
#[repr(C)]
struct SharedRing {
    id: u32,
    events: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_bytes: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
const PREADV: u16 = 7;
const PWRITEV: u16 = 8;
const FLAG_PRIORITY: u32 = 1 << 1;
const RWF_NOWAIT: i32 = 0x08;
const RWF_ATOMIC: i32 = 0x40;

/// An AIO context, from `io_setup` to `io_destroy`.
pub(crate) struct KernelQueue(u64);

/// A kernel queue with all memory that the kernel reads or writes.
pub(crate) struct Libaio {
    // Dropped first: this waits for the ops in flight, which use the memory.
    kernel: KernelQueue,
    modes: LibaioModes,
    /// By slot. The kernel gets their addresses.
    blocks: Box<[IoControlBlock]>,
    vectors: Box<[libc::iovec]>,
    /// Addresses of prepared control blocks, in the order of submission.
    ready: Vec<*mut IoControlBlock>,
    /// Number of blocks, from the front of `ready`, that the kernel has already taken.
    handed: usize,
    in_flight: usize,
    events: Box<[IoEvent]>,
    /// Reaped events from `next_event` to `last_event` were not returned yet.
    next_event: usize,
    last_event: usize,
    inline: Inline,
    priorities: Option<Box<Priorities>>,
    context: BlockContext,
}

impl Drop for KernelQueue {
    fn drop(&mut self) {
        // SAFETY: the context is from `io_setup`. The call waits for the ops in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

impl KernelQueue {
    /// Creates a queue for `depth` ops in flight.
    pub(crate) fn new(depth: u32) -> io::Result<KernelQueue> {
        let mut context = 0u64;
        // SAFETY: writes the context number into a live u64 that is 0, as the kernel requires.
        if unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth as i32), &raw mut context) } < 0 {
            let error = io::Error::last_os_error();
            return Err(match error.raw_os_error() {
                Some(libc::EAGAIN) => io::Error::other(format!(
                    "io_setup for {depth} ops: {error}; raise /proc/sys/fs/aio-max-nr, or lower `depth`"
                )),
                _ => io::Error::other(format!("io_setup for {depth} ops: {error}")),
            });
        }
        Ok(KernelQueue(context))
    }

    /// Submits control blocks in one call and returns how many the kernel took: at least one.
    ///
    /// # Errors
    /// The kernel rejected the first control block.
    ///
    /// # Safety
    /// The control blocks and their memory must live until their events were reaped, or until this queue is dropped.
    pub(crate) unsafe fn submit(&mut self, blocks: &mut [*mut IoControlBlock]) -> io::Result<usize> {
        // SAFETY: the caller keeps the memory that the kernel uses.
        let taken = unsafe { libc::syscall(libc::SYS_io_submit, self.0, blocks.len(), blocks.as_mut_ptr()) };
        match taken {
            1.. => Ok(taken as usize),
            0 => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Reaps events into `events` in one call and returns their number: at least `wanted`, unless a
    /// signal interrupts or `timeout_ns` passes.
    pub(crate) fn take(&mut self, wanted: usize, events: &mut [IoEvent], timeout_ns: Option<u64>) -> io::Result<usize> {
        let timeout = timeout_ns
            .map(|ns| libc::timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ });
        // SAFETY: the count is the length of `events`; the timeout outlives the call or is null.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                wanted,
                events.len(),
                events.as_mut_ptr(),
                timeout.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
            )
        };
        if taken >= 0 {
            return Ok(taken as usize);
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(libc::EINTR) { Ok(0) } else { Err(error) }
    }
}

impl Libaio {
    /// Wraps a kernel queue that was created for `depth` ops.
    pub(crate) fn new(
        kernel: KernelQueue,
        depth: u32,
        modes: LibaioModes,
        priorities: Option<Box<Priorities>>,
        context: BlockContext,
    ) -> Libaio {
        let slots = depth as usize;
        Libaio {
            kernel,
            modes,
            blocks: vec![IoControlBlock::default(); slots].into(),
            vectors: vec![libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; slots].into(),
            ready: Vec::with_capacity(slots),
            handed: 0,
            in_flight: 0,
            events: vec![IoEvent::default(); slots].into(),
            next_event: 0,
            last_event: 0,
            inline: Inline::new(slots),
            priorities,
            context,
        }
    }

    /// Submits the prepared control blocks, as many as the kernel takes.
    fn hand_over(&mut self) -> io::Result<()> {
        while self.handed < self.ready.len() {
            let waiting = &mut self.ready[self.handed..];
            // SAFETY: pointers to control blocks that live until completion, as do their vectors and buffers.
            let error = match unsafe { self.kernel.submit(waiting) } {
                Ok(taken) => {
                    self.handed += taken;
                    self.in_flight += taken;
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // The kernel's queue is full. Ops in flight will make room.
                Some(libc::EAGAIN | libc::ENOMEM) if self.in_flight > 0 => break,
                Some(libc::EAGAIN) => std::thread::sleep(std::time::Duration::from_micros(1)),
                // The error is about the first block left: that op has failed, the others have not.
                Some(errno) => {
                    // SAFETY: one of our own control blocks, which the kernel did not take.
                    let slot = unsafe { (*self.ready[self.handed]).data } as Slot;
                    self.ready.remove(self.handed);
                    self.inline.finish(slot, Err(Errno(errno)));
                }
                None => return Err(error),
            }
        }
        self.ready.drain(..self.handed);
        self.handed = 0;
        Ok(())
    }

    /// Reaps events from the ring shared with the kernel. Returns 0 if this kernel's ring has another format.
    fn take_from_ring(&mut self) -> usize {
        // SAFETY: the context number is the address of the ring, which is mapped until `io_destroy`.
        let ring = unsafe { &*(self.kernel.0 as *const SharedRing) };
        if ring.magic != RING_MAGIC || ring.incompatible_features != 0 {
            return 0;
        }
        let first = (self.kernel.0 + u64::from(ring.header_bytes)) as *const IoEvent;
        let free = &mut self.events[self.last_event..];
        let mut taken = 0;
        let mut head = ring.head.load(Ordering::Relaxed);
        // Acquire: the kernel writes events before it moves the tail past them.
        let tail = ring.tail.load(Ordering::Acquire);
        while head != tail && taken < free.len() {
            // SAFETY: between head and tail, the ring holds complete events.
            free[taken] = unsafe { first.add(head as usize).read() };
            head = (head + 1) % ring.events;
            taken += 1;
        }
        ring.head.store(head, Ordering::Release);
        taken
    }

    /// Reaps events. Waits for `wanted` of them, up to `timeout_ns`.
    fn take(&mut self, wanted: u32, timeout_ns: Option<u64>) -> io::Result<()> {
        // Keep events that were not returned yet at the front.
        self.events.copy_within(self.next_event..self.last_event, 0);
        self.last_event -= self.next_event;
        self.next_event = 0;
        let mut wanted = wanted as usize;
        if self.modes.userspace_reap {
            let taken = self.take_from_ring();
            self.last_event += taken;
            self.in_flight -= taken;
            wanted = wanted.saturating_sub(taken);
        }
        let wanted = wanted.min(self.in_flight);
        if wanted == 0 && (self.modes.userspace_reap || self.in_flight == 0) {
            return Ok(());
        }
        let taken = self.kernel.take(wanted, &mut self.events[self.last_event..], timeout_ns)?;
        self.last_event += taken;
        self.in_flight -= taken;
        Ok(())
    }
}

impl QueuedBackend for Libaio {
    has_context!();

    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let (files, memory) = self.context.parts(slot);
        let number = usize::from(slot);
        let (opcode, buffer, bytes) = match op.kind {
            OpKind::Read | OpKind::Write if self.modes.vectored => {
                let vector = &mut self.vectors[number];
                *vector = libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize };
                let opcode = if op.kind == OpKind::Read { PREADV } else { PWRITEV };
                (opcode, std::ptr::from_ref(vector) as u64, 1)
            }
            OpKind::Read => (PREAD, memory as u64, u64::from(op.length)),
            OpKind::Write => (PWRITE, memory as u64, u64::from(op.length)),
            OpKind::Fsync | OpKind::EndFsync => (FSYNC, 0, 0),
            OpKind::Fdatasync => (FDSYNC, 0, 0),
            _ => return self.inline.push(slot, op),
        };
        let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
        let nowait = if self.modes.nowait && moves { RWF_NOWAIT } else { 0 };
        let atomic = if self.modes.atomic && op.kind == OpKind::Write { RWF_ATOMIC } else { 0 };
        let block = &mut self.blocks[number];
        *block = IoControlBlock {
            data: u64::from(slot),
            rw_flags: nowait | atomic,
            opcode,
            fd: files.fd(op) as u32,
            buffer,
            bytes,
            offset: if moves { op.offset as i64 } else { 0 },
            ..IoControlBlock::default()
        };
        if let Some(priority) = self.priorities.as_mut().and_then(|priorities| priorities.draw(op, slot)) {
            block.priority = priority as i16;
            block.flags = FLAG_PRIORITY;
        }
        self.ready.push(std::ptr::from_mut(block));
    }

    fn priority_class(&self, slot: Slot) -> Option<usize> {
        self.priorities.as_ref()?.class_in(slot)
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let hands_over = !self.ready.is_empty();
        self.hand_over()?;
        self.inline.run(&mut self.context.files);
        let (wanted, timeout_ns) = still_to_wait(wait, self.inline.ready() + self.last_event - self.next_event);
        // Submitting alone takes one system call. Without a submission, poll for events.
        if wanted == 0 && hands_over && !self.modes.userspace_reap {
            return Ok(());
        }
        // Blocks that the kernel did not take cannot complete: wait for a completion to make room.
        let wanted = if self.ready.is_empty() { wanted } else { 1 };
        self.take(wanted, timeout_ns)
    }

    fn completed(&mut self) -> Option<Done> {
        if self.next_event < self.last_event {
            let event = self.events[self.next_event];
            self.next_event += 1;
            let completion = if event.result < 0 { Err(Errno(-event.result as i32)) } else { Ok(event.result as u64) };
            return Some(Done { slot: event.data as Slot, completion });
        }
        self.inline.next()
    }

    fn name(&self) -> &'static str {
        "io_submit"
    }
}
