//! io_uring with one registered buffer region, registered files, a registered ring, and a single
//! issuer with deferred task run.
//!
//! Features that the kernel rejects are left out and listed in [`Ring::fallbacks`]. A result never claims a mode that
//! did not run. Sources: io_uring_setup(2), io_uring_register(2), io_uring_enter(2).
#![allow(unsafe_code)]

use crate::backend::preadv2::RwWords;
use crate::backend::priorities::Priorities;
use crate::backend::psync::execute_common;
use crate::backend::queue_modes::RingModes;
use crate::backend::queued::{Inline, still_to_wait};
use crate::backend::{BlockContext, Done, Errno, FileKind, NOT_OPEN, QueuedBackend, Slot, Wait, has_context};
use crate::op::BlockOp;
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use plumb_workload::OpKind;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsRawFd, RawFd};

/// Idle time after which the polling kernel thread sleeps, ms.
const SUBMISSION_POLL_IDLE_MS: u32 = 1000;

/// `IORING_ENTER_GETEVENTS`. Source: io_uring_enter(2).
const GET_EVENTS: u32 = 1;

/// How system calls refer to the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RingHandle {
    /// By file descriptor, which the kernel looks up in every call.
    Descriptor(RawFd),
    /// By index among the rings that this thread registered.
    Registered(u32),
}

impl RingHandle {
    /// Registers a ring for the calling thread, at an index that the kernel chooses. The
    /// registration of the io-uring crate lasts only for one `Submitter`, which is created for
    /// every call. Source: io_uring_register(2), `IORING_REGISTER_RING_FDS`.
    fn register(ring: RawFd) -> io::Result<RingHandle> {
        let mut update = RingUpdate { index: u32::MAX, reserved: 0, ring: ring as u64 };
        // SAFETY: reads and writes one such struct, which outlives the call.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring, REGISTER_RING_FDS, &raw mut update, 1u32) };
        if taken == 1 { Ok(RingHandle::Registered(update.index)) } else { Err(io::Error::last_os_error()) }
    }

    /// Frees the index. Otherwise the ring would live as long as the thread.
    fn unregister(self, ring: RawFd) {
        let RingHandle::Registered(index) = self else { return };
        let mut update = RingUpdate { index, reserved: 0, ring: 0 };
        // SAFETY: as above. If the kernel rejects it, the index is freed when the thread ends.
        unsafe { libc::syscall(libc::SYS_io_uring_register, ring, UNREGISTER_RING_FDS, &raw mut update, 1u32) };
    }

    /// Submits and waits: io_uring_enter(2).
    #[inline(always)]
    fn enter(self, submitted: u32, completions: u32, flags: u32) -> io::Result<usize> {
        let (number, flags) = match self {
            RingHandle::Descriptor(fd) => (fd as u32, flags),
            RingHandle::Registered(index) => (index, flags | REGISTERED_RING),
        };
        let nothing = std::ptr::null::<libc::sigset_t>();
        // SAFETY: passes no memory; `push` keeps the memory of the ring's entries alive.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_uring_enter, number, submitted, completions, flags, nothing, 0usize) };
        if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
    }
}

/// `struct io_uring_rsrc_update`. Source: linux/io_uring.h.
#[repr(C)]
struct RingUpdate {
    index: u32,
    reserved: u32,
    ring: u64,
}

/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS`. Source: linux/io_uring.h.
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// `IORING_ENTER_REGISTERED_RING`. Source: io_uring_enter(2).
const REGISTERED_RING: u32 = 16;

pub(crate) struct Ring {
    handle: RingHandle,
    ring: IoUring,
    context: BlockContext,
    fixed_files: bool,
    fixed_buffers: bool,
    polls_completions: bool,
    polls_submissions: bool,
    /// Number of ops submitted since the last `enter`.
    submitted: u32,
    /// Options of some rings. `None` if there are none, so that the usual ring checks nothing.
    extras: Option<Box<Extras>>,
    inline: Inline,
    fallbacks: Vec<String>,
}

/// Optional properties of reads and writes, besides their range.
struct Extras {
    words: RwWords,
    /// By slot; `None` unless ops are vectored.
    vectors: Option<Box<[libc::iovec]>>,
    async_every: Option<NonZeroU32>,
    /// Ops since the last one that went to a kernel thread.
    since_async: u32,
    priorities: Option<Box<Priorities>>,
}

impl Extras {
    fn new(depth: u32, modes: &RingModes, priorities: Option<Box<Priorities>>) -> Option<Box<Extras>> {
        let async_every = modes.async_every.and_then(NonZeroU32::new);
        if modes.flags.is_empty() && !modes.vectored && async_every.is_none() && priorities.is_none() {
            return None;
        }
        let vector = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Some(Box::new(Extras {
            words: RwWords::from_flags(&modes.flags),
            vectors: modes.vectored.then(|| vec![vector; depth as usize].into()),
            async_every,
            since_async: 0,
            priorities,
        }))
    }

    /// Returns `true` for every Nth op, which goes to a kernel thread.
    fn goes_async(&mut self) -> bool {
        let Some(every) = self.async_every else { return false };
        self.since_async += 1;
        let goes = self.since_async >= every.get();
        if goes {
            self.since_async = 0;
        }
        goes
    }
}

/// A set of setup flags to try, and the feature that it lacks compared with newer kernels.
struct Rung {
    lost: &'static str,
    build: fn(u32, &RingModes) -> io::Result<IoUring>,
}

fn builder(entries: u32, modes: &RingModes) -> (io_uring::Builder, u32) {
    // A polling kernel thread frees entries late. With twice the depth there is always room.
    let entries = if modes.poll_submissions { entries * 2 } else { entries };
    let mut builder = IoUring::builder();
    builder.dontfork().setup_clamp().setup_cqsize(entries * 2);
    if modes.poll_completions {
        builder.setup_iopoll();
    }
    if modes.poll_submissions {
        builder.setup_sqpoll(SUBMISSION_POLL_IDLE_MS);
        if let Some(cpu) = modes.poll_cpu {
            builder.setup_sqpoll_cpu(cpu);
        }
    }
    (builder, entries)
}

/// From the best flags of the newest kernel down to the oldest io_uring.
const LADDER: &[Rung] = &[
    Rung {
        lost: "",
        build: |entries, modes| {
            let (mut builder, entries) = builder(entries, modes);
            builder.setup_single_issuer();
            if !modes.poll_submissions {
                builder.setup_defer_taskrun();
            }
            builder.setup_no_sqarray().build(entries)
        },
    },
    Rung {
        lost: "no NO_SQARRAY (before Linux 6.6)",
        build: |entries, modes| {
            let (mut builder, entries) = builder(entries, modes);
            builder.setup_single_issuer();
            if !modes.poll_submissions {
                builder.setup_defer_taskrun();
            }
            builder.build(entries)
        },
    },
    Rung {
        lost: "no deferred task run (before Linux 6.1)",
        build: |entries, modes| {
            let (mut builder, entries) = builder(entries, modes);
            if !modes.poll_submissions {
                builder.setup_coop_taskrun();
            }
            builder.build(entries)
        },
    },
    Rung {
        lost: "no cooperative task run (before Linux 5.19)",
        build: |entries, modes| {
            let (builder, entries) = builder(entries, modes);
            builder.build(entries)
        },
    },
];

fn build(entries: u32, modes: &RingModes, fallbacks: &mut Vec<String>) -> io::Result<IoUring> {
    let mut refusal = None;
    for rung in LADDER {
        match (rung.build)(entries, modes) {
            Ok(ring) => {
                if !rung.lost.is_empty() {
                    fallbacks.push(format!("io_uring: {}", rung.lost));
                }
                return Ok(ring);
            }
            // `EINVAL` means that the kernel does not know a flag. After any other error, fewer flags will not help.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// A file as ring entries refer to it.
enum RingFile {
    Fixed(Fixed),
    Open(Fd),
}

macro_rules! with_target {
    ($target:expr, |$fd:ident| $build:expr) => {
        match $target {
            RingFile::Fixed($fd) => $build,
            RingFile::Open($fd) => $build,
        }
    };
}

impl Drop for Ring {
    /// Unregisters the files, because the kernel tears a ring down asynchronously. Until then, registered files keep
    /// their file system busy, and unmounting it right after the run would fail. Errors are ignored.
    fn drop(&mut self) {
        self.handle.unregister(self.ring.as_raw_fd());
        if self.fixed_files {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl Ring {
    /// Creates a ring for `depth` ops in flight. Call it from the thread that will use the ring.
    pub(crate) fn new(
        depth: u32,
        modes: &RingModes,
        context: BlockContext,
        priorities: Option<Box<Priorities>>,
    ) -> io::Result<Ring> {
        let mut fallbacks = Vec::new();
        let ring = build(depth.next_power_of_two(), modes, &mut fallbacks)?;
        let mut refused = |what: &str, error: io::Error| fallbacks.push(format!("io_uring: {what} refused: {error}"));
        let fd = ring.as_raw_fd();
        let mut handle = RingHandle::Descriptor(fd);
        // With a polling kernel thread there are hardly any `enter` calls.
        if !modes.poll_submissions {
            match RingHandle::register(fd) {
                Ok(registered) => handle = registered,
                Err(error) => refused("registered ring", error),
            }
        }
        let mut fixed_files = modes.fixed_files;
        if fixed_files && let Err(error) = ring.submitter().register_files(&context.files.fds) {
            refused("registered files", error);
            fixed_files = false;
        }
        let mut fixed_buffers = modes.fixed_buffers;
        if fixed_buffers {
            let region = context.payload.region();
            let vector = libc::iovec { iov_base: region.pointer().cast(), iov_len: region.bytes() };
            // SAFETY: the region stays mapped as long as `context`. Fields drop in order
            // of declaration: the ring first.
            if let Err(error) = unsafe { ring.submitter().register_buffers(&[vector]) } {
                refused("registered buffers (raise RLIMIT_MEMLOCK?)", error);
                fixed_buffers = false;
            }
        }
        if modes.vectored && fixed_buffers {
            fallbacks.push("io_uring: vectored ops: registered buffers used, which have no vectors".to_owned());
        }
        Ok(Ring {
            handle,
            ring,
            context,
            fixed_files,
            fixed_buffers,
            polls_completions: modes.poll_completions,
            polls_submissions: modes.poll_submissions,
            submitted: 0,
            extras: Extras::new(depth, modes, priorities),
            inline: Inline::new(depth as usize),
            fallbacks,
        })
    }

    /// Reads one block, to check whether these files can be read in this ring's modes. Only the completion shows that a
    /// device or file system does not support polling.
    pub(crate) fn try_read(&mut self, length: u32) -> io::Result<()> {
        if self.context.files.fds.first() == Some(&NOT_OPEN) {
            return Ok(());
        }
        self.submit(&BlockOp::load(OpKind::Read, 0, 0, length), 0);
        let mut outcome = None;
        while outcome.is_none() {
            self.enter(Wait::For(1))?;
            outcome = self.completed().map(|done| done.completion);
        }
        match outcome {
            Some(Err(errno)) => Err(io::Error::from_raw_os_error(errno.0)),
            _ => Ok(()),
        }
    }

    /// Takes the files, to build another ring with them.
    pub(crate) fn take_files(&mut self) -> crate::backend::BlockFiles {
        std::mem::take(&mut self.context.files)
    }

    /// Returns the requested features that could not be used.
    pub(crate) fn fallbacks(&self) -> &[String] {
        &self.fallbacks
    }

    #[inline(always)]
    fn target(&self, op: &BlockOp) -> RingFile {
        if self.fixed_files { RingFile::Fixed(Fixed(op.file)) } else { RingFile::Open(Fd(self.context.files.fd(op))) }
    }

    /// Submits a read or write without extras. Each kind of entry is built where it is pushed: choosing one of several
    /// would move it through memory in pieces, and the copy into the ring would stall on them.
    #[inline(always)]
    fn submit_plain(&mut self, op: &BlockOp, slot: Slot) {
        let memory = self.context.payload.pointer(slot);
        let target = self.target(op);
        macro_rules! push {
            ($build:expr) => {
                self.push(&$build.offset(op.offset).build().user_data(u64::from(slot)))
            };
        }
        // The region is registered as buffer 0.
        match (op.kind, self.fixed_buffers) {
            (OpKind::Read, true) => {
                with_target!(target, |fd| push!(opcode::ReadFixed::new(fd, memory, op.length, 0)))
            }
            (OpKind::Read, false) => with_target!(target, |fd| push!(opcode::Read::new(fd, memory, op.length))),
            (_, true) => with_target!(target, |fd| push!(opcode::WriteFixed::new(fd, memory, op.length, 0))),
            (_, false) => with_target!(target, |fd| push!(opcode::Write::new(fd, memory, op.length))),
        }
    }

    /// Builds the entry of a read or write with flags, priority or vector; `None` if the ring has no extras.
    #[inline(never)]
    fn entry_with_extras(&mut self, op: &BlockOp, slot: Slot) -> Option<squeue::Entry> {
        let target = self.target(op);
        let memory = self.context.payload.pointer(slot);
        let extras = self.extras.as_mut()?;
        let flags = if op.kind == OpKind::Read { extras.words.read } else { extras.words.write };
        let priority = extras.priorities.as_mut().and_then(|priorities| priorities.draw(op, slot)).unwrap_or(0);
        macro_rules! finish {
            ($build:expr) => {
                $build.offset(op.offset).rw_flags(flags as _).ioprio(priority).build()
            };
        }
        let entry = match (op.kind, self.fixed_buffers, &mut extras.vectors) {
            (OpKind::Read, true, _) => {
                with_target!(target, |fd| finish!(opcode::ReadFixed::new(fd, memory, op.length, 0)))
            }
            (_, true, _) => with_target!(target, |fd| finish!(opcode::WriteFixed::new(fd, memory, op.length, 0))),
            (kind, false, Some(vectors)) => {
                let vector = &mut vectors[usize::from(slot)];
                *vector = libc::iovec { iov_base: memory.cast(), iov_len: op.length as usize };
                let vector = std::ptr::from_ref(vector);
                if kind == OpKind::Read {
                    with_target!(target, |fd| finish!(opcode::Readv::new(fd, vector, 1)))
                } else {
                    with_target!(target, |fd| finish!(opcode::Writev::new(fd, vector, 1)))
                }
            }
            (OpKind::Read, false, None) => {
                with_target!(target, |fd| finish!(opcode::Read::new(fd, memory, op.length)))
            }
            (_, false, None) => with_target!(target, |fd| finish!(opcode::Write::new(fd, memory, op.length))),
        };
        Some(if extras.goes_async() { entry.flags(squeue::Flags::ASYNC) } else { entry })
    }

    /// Builds the entry of an op other than read and write; `None` if this ring has no such entry.
    fn other_entry(&mut self, op: &BlockOp) -> Option<squeue::Entry> {
        // A ring that polls for completions supports only reads and writes.
        if self.polls_completions {
            return None;
        }
        let target = self.target(op);
        let entry = match op.kind {
            OpKind::Fsync | OpKind::EndFsync => with_target!(target, |fd| opcode::Fsync::new(fd).build()),
            OpKind::Fdatasync => {
                with_target!(target, |fd| opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build())
            }
            OpKind::SyncRange => {
                let flags = self.context.files.sync_range.0;
                with_target!(target, |fd| opcode::SyncFileRange::new(fd, op.length)
                    .offset(op.offset)
                    .flags(flags)
                    .build())
            }
            OpKind::Trim if can_trim(self.context.files.kind) => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                with_target!(target, |fd| opcode::Fallocate::new(fd, u64::from(op.length))
                    .offset(op.offset)
                    .mode(mode)
                    .build())
            }
            _ => return None,
        };
        let goes_async = self.extras.as_mut().is_some_and(|extras| extras.goes_async());
        Some(if goes_async { entry.flags(squeue::Flags::ASYNC) } else { entry })
    }

    #[inline(always)]
    fn push(&mut self, entry: &squeue::Entry) {
        // SAFETY: the entry's memory is a slot of the payload, and its vector one of the extras. Both outlive the op,
        // because slots are not reused before completion.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // There are never more ops in flight than `depth`, the size of the ring. But a polling kernel thread frees
            // entries later than it completes them. An error here occurs again in `enter`, which reports it.
            let _ = self.ring.submitter().squeue_wait();
        }
        self.submitted += 1;
    }

    #[inline(never)]
    fn submit_other(&mut self, op: &BlockOp, slot: Slot) {
        match self.other_entry(op) {
            Some(entry) => {
                // The kernel returns 0 for a successful trim, so the user data carries its length along with the slot.
                let trimmed = if op.kind == OpKind::Trim { op.length } else { 0 };
                self.push(&entry.user_data(u64::from(trimmed) << 32 | u64::from(slot)));
            }
            None => self.inline.push(slot, op),
        }
    }

    /// Executes ops that the ring has no entry for, in this thread. Updates the registered
    /// files after opens and closes.
    #[cold]
    fn run_inline(&mut self) {
        let Ring { inline, context: BlockContext { files, .. }, ring, fixed_files, .. } = self;
        let register = |file: u32, fd: RawFd| {
            let updated = if *fixed_files { ring.submitter().register_files_update(file, &[fd]) } else { Ok(0) };
            updated.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EIO)))
        };
        inline.run_by(|op| match op.kind {
            OpKind::Open => {
                files.open(op.file)?;
                register(op.file, files.fd(op))?;
                Ok(0)
            }
            OpKind::Close => {
                // Otherwise the ring would keep the file open.
                register(op.file, NOT_OPEN)?;
                files.close(op.file)
            }
            _ => execute_common(files, op),
        });
    }
}

impl QueuedBackend for Ring {
    has_context!();

    #[inline(always)]
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return self.submit_other(op, slot);
        }
        if self.extras.is_some()
            && let Some(entry) = self.entry_with_extras(op, slot)
        {
            return self.push(&entry.user_data(u64::from(slot)));
        }
        self.submit_plain(op, slot);
    }

    #[inline(always)]
    fn priority_class(&self, slot: Slot) -> Option<usize> {
        self.extras.as_ref()?.priorities.as_ref()?.class_in(slot)
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let mut wait = wait;
        if !self.inline.is_idle() {
            self.run_inline();
            wait = match still_to_wait(wait, self.inline.ready()) {
                (wanted, None) => Wait::For(wanted),
                (_, Some(ns)) => Wait::Timeout(ns),
            };
        }
        let submitter = self.ring.submitter();
        let entered = match wait {
            // With nothing to submit, this only polls. The kernel posts deferred completions
            // only when asked for events.
            Wait::For(0) if self.submitted == 0 => self.handle.enter(0, 0, GET_EVENTS),
            // The crate knows when to wake the polling thread.
            Wait::For(completions) if self.polls_submissions => submitter.submit_and_wait(completions as usize),
            // Only waiting posts deferred completions; the completion queue has room for all ops in flight.
            Wait::For(completions) => {
                let gets_events = completions > 0 || self.polls_completions;
                self.handle.enter(self.submitted, completions, if gets_events { GET_EVENTS } else { 0 })
            }
            Wait::Timeout(ns) => {
                let timeout = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
            }
        };
        match entered {
            Ok(taken) => {
                self.submitted = self.submitted.saturating_sub(taken as u32);
                Ok(())
            }
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    #[inline(always)]
    fn completed(&mut self) -> Option<Done> {
        let Some(entry) = self.ring.completion().next() else { return self.inline.next() };
        let moved = entry.result();
        let trimmed = entry.user_data() >> 32;
        let completion = if moved < 0 { Err(Errno(-moved)) } else { Ok(moved as u64 + trimmed) };
        Some(Done { slot: entry.user_data() as Slot, completion })
    }

    fn name(&self) -> &'static str {
        "io_uring_enter"
    }

    fn helpers_cpu_ns(&self) -> u64 {
        // Only a polling thread works for the ring without being charged to this thread.
        if self.polls_submissions { poller_cpu_ns() } else { 0 }
    }
}

/// Returns the CPU time, in ns, of the kernel thread that polls for this thread's submissions; 0 if there is none. The
/// resolution is the scheduler's tick. The kernel names the polling thread after the thread that created the ring, and
/// charges its time to no process. Source: io_uring/sqpoll.c, proc_pid_stat(5).
fn poller_cpu_ns() -> u64 {
    let name = format!("iou-sqp-{}\n", rustix::thread::gettid().as_raw_nonzero());
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    tasks
        .flatten()
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm == name))
        .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
        .filter_map(|stat| {
            // After the name in parentheses, utime and stime are the 12th and 13th fields.
            let (_, fields) = stat.rsplit_once(") ")?;
            let mut times = fields.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
            Some(times.next()?? + times.next()??)
        })
        .sum::<u64>()
        * (1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// Returns the error with which this kernel rejects io_uring; `None` if it supports it.
pub(crate) fn refusal() -> Option<io::Error> {
    IoUring::new(2).err()
}

/// Returns `true` if the ring can trim these files. Before Linux 6.12, a block device needs `ioctl` to discard.
pub(crate) fn can_trim(kind: FileKind) -> bool {
    kind == FileKind::Regular
}
