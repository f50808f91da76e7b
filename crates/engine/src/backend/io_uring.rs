//! io_uring: one registered region of buffers, registered files and ring, a single issuer with deferred task run.
//!
//! Each feature that the kernel refuses is left out and said in [`Ring::fallbacks`]; a result never claims a mode that
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

/// How long a polling kernel thread stays awake without work, ms.
const SUBMISSION_POLL_IDLE_MS: u32 = 1000;

/// `IORING_ENTER_GETEVENTS`. Source: io_uring_enter(2).
const GET_EVENTS: u32 = 1;

/// How the kernel is entered: where it looks the ring up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// The number of its descriptor, which is looked up and held in every call.
    Descriptor(RawFd),
    /// Its place among the rings that this thread registered.
    Registered(u32),
}

impl Door {
    /// Registers a ring for the calling thread, at a place of the kernel's choice. The crate's own registration holds for
    /// one `Submitter`, which is made anew for every call. Source: io_uring_register(2), `IORING_REGISTER_RING_FDS`.
    fn register(ring: RawFd) -> io::Result<Door> {
        let mut update = RingUpdate { place: u32::MAX, reserved: 0, ring: ring as u64 };
        // SAFETY: reads and writes one such structure, which lives through the call.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_uring_register, ring, REGISTER_RING_FDS, &raw mut update, 1u32) };
        if taken == 1 { Ok(Door::Registered(update.place)) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives the place back: else the ring would live as long as the thread.
    fn unregister(self, ring: RawFd) {
        let Door::Registered(place) = self else { return };
        let mut update = RingUpdate { place, reserved: 0, ring: 0 };
        // SAFETY: as above. A refusal leaves it to the end of the thread.
        unsafe { libc::syscall(libc::SYS_io_uring_register, ring, UNREGISTER_RING_FDS, &raw mut update, 1u32) };
    }

    /// Submits and waits: io_uring_enter(2).
    #[inline(always)]
    fn enter(self, submitted: u32, completions: u32, flags: u32) -> io::Result<usize> {
        let (number, flags) = match self {
            Door::Descriptor(fd) => (fd as u32, flags),
            Door::Registered(place) => (place, flags | REGISTERED_RING),
        };
        let nothing = std::ptr::null::<libc::sigset_t>();
        // SAFETY: no memory is passed; what the ring's entries point to is its own affair.
        let taken =
            unsafe { libc::syscall(libc::SYS_io_uring_enter, number, submitted, completions, flags, nothing, 0usize) };
        if taken < 0 { Err(io::Error::last_os_error()) } else { Ok(taken as usize) }
    }
}

/// `struct io_uring_rsrc_update`. Source: linux/io_uring.h.
#[repr(C)]
struct RingUpdate {
    place: u32,
    reserved: u32,
    ring: u64,
}

/// `IORING_REGISTER_RING_FDS` and `IORING_UNREGISTER_RING_FDS`. Source: linux/io_uring.h.
const REGISTER_RING_FDS: u32 = 20;
const UNREGISTER_RING_FDS: u32 = 21;

/// `IORING_ENTER_REGISTERED_RING`. Source: io_uring_enter(2).
const REGISTERED_RING: u32 = 16;

pub(crate) struct Ring {
    door: Door,
    ring: IoUring,
    context: BlockContext,
    fixed_files: bool,
    fixed_buffers: bool,
    polls_completions: bool,
    polls_submissions: bool,
    /// Ops that were submitted since the last enter.
    submitted: u32,
    /// What only some rings do; nothing is checked where there is none of it.
    extras: Option<Box<Extras>>,
    inline: Inline,
    fallbacks: Vec<String>,
}

/// What reads and writes may carry beside their range.
struct Extras {
    words: RwWords,
    /// By slot, where ops are vectored.
    vectors: Option<Box<[libc::iovec]>>,
    async_every: Option<NonZeroU32>,
    /// Ops since the last that went to a kernel thread.
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
            words: RwWords::of(&modes.flags),
            vectors: modes.vectored.then(|| vec![vector; depth as usize].into()),
            async_every,
            since_async: 0,
            priorities,
        }))
    }

    /// Whether this op goes to a kernel thread: every Nth.
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

/// One step down the ladder of set-up flags: what is given up where the kernel refuses it.
struct Rung {
    lost: &'static str,
    build: fn(u32, &RingModes) -> io::Result<IoUring>,
}

fn builder(entries: u32, modes: &RingModes) -> (io_uring::Builder, u32) {
    // A polling kernel thread frees entries late; with twice the depth there is always room.
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

/// From the newest kernel's best to the oldest ring there is.
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
            // EINVAL is the kernel's word for a flag that it does not know; anything else will not get better.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => refusal = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(refusal.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL)))
}

/// A file as the ring knows it.
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
    /// The kernel takes a ring down later and elsewhere, and until then the registered files hold their file system: whoever
    /// unmounts it after the run would find it busy. A refusal leaves it at that.
    fn drop(&mut self) {
        self.door.unregister(self.ring.as_raw_fd());
        if self.fixed_files {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl Ring {
    /// A ring for `depth` ops in flight. Must be made by the thread that will use it.
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
        let mut door = Door::Descriptor(fd);
        // With a polling kernel thread there is next to nothing to enter for.
        if !modes.poll_submissions {
            match Door::register(fd) {
                Ok(registered) => door = registered,
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
            // SAFETY: the region stays mapped for as long as `context`, which the ring is dropped with, and fields drop
            // in order of declaration: the ring first.
            if let Err(error) = unsafe { ring.submitter().register_buffers(&[vector]) } {
                refused("registered buffers (raise RLIMIT_MEMLOCK?)", error);
                fixed_buffers = false;
            }
        }
        if modes.vectored && fixed_buffers {
            fallbacks.push("io_uring: vectored ops: registered buffers used, which have no vectors".to_owned());
        }
        Ok(Ring {
            door,
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

    /// Reads one block, to see whether files of this kind can be read in this ring's modes at all: that a device or a file
    /// system cannot be polled shows only in the completion.
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

    /// Its files, for another ring in its place.
    pub(crate) fn take_files(&mut self) -> crate::backend::BlockFiles {
        std::mem::take(&mut self.context.files)
    }

    /// What was asked for and could not be used.
    pub(crate) fn fallbacks(&self) -> &[String] {
        &self.fallbacks
    }

    #[inline(always)]
    fn target(&self, op: &BlockOp) -> RingFile {
        if self.fixed_files { RingFile::Fixed(Fixed(op.file)) } else { RingFile::Open(Fd(self.context.files.fd(op))) }
    }

    /// Hands over a read or a write without anything particular. Each kind of entry is built where it is pushed: the choice of
    /// one among several to push goes through memory, in pieces that the copy into the ring has to wait for.
    #[inline(always)]
    fn submit_plain(&mut self, op: &BlockOp, slot: Slot) {
        let memory = self.context.payload.pointer(slot);
        let target = self.target(op);
        macro_rules! push {
            ($build:expr) => {
                self.push(&$build.offset(op.offset).build().user_data(u64::from(slot)))
            };
        }
        // The region is registered as one buffer, number 0.
        match (op.kind, self.fixed_buffers) {
            (OpKind::Read, true) => {
                with_target!(target, |fd| push!(opcode::ReadFixed::new(fd, memory, op.length, 0)))
            }
            (OpKind::Read, false) => with_target!(target, |fd| push!(opcode::Read::new(fd, memory, op.length))),
            (_, true) => with_target!(target, |fd| push!(opcode::WriteFixed::new(fd, memory, op.length, 0))),
            (_, false) => with_target!(target, |fd| push!(opcode::Write::new(fd, memory, op.length))),
        }
    }

    /// The entry of a read or a write with flags, a priority, a vector, or all of them; `None` where the ring has none of it.
    #[inline(never)]
    fn particular_entry(&mut self, op: &BlockOp, slot: Slot) -> Option<squeue::Entry> {
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

    /// The entry of anything that is neither read nor write; `None` for what this ring has none for.
    fn other_entry(&mut self, op: &BlockOp) -> Option<squeue::Entry> {
        // Nothing else can be polled for.
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
        // SAFETY: the entry's memory is a slot of the payload, and its vector one of the extras; both outlive the op:
        // slots are not reused before completion.
        while unsafe { self.ring.submission().push(entry) }.is_err() {
            // There are never more ops in flight than `depth`, the size of the ring; but a polling kernel thread gives
            // entries back later than it completes them. An error here comes again in `enter`, where it is reported.
            let _ = self.ring.submitter().squeue_wait();
        }
        self.submitted += 1;
    }

    #[inline(never)]
    fn submit_other(&mut self, op: &BlockOp, slot: Slot) {
        match self.other_entry(op) {
            Some(entry) => {
                // The kernel says 0 to a trim that went well; what it moved comes back with the slot.
                let trimmed = if op.kind == OpKind::Trim { op.length } else { 0 };
                self.push(&entry.user_data(u64::from(trimmed) << 32 | u64::from(slot)));
            }
            None => self.inline.push(slot, op),
        }
    }

    /// Does in this thread what the ring has no entry for. Registered files follow those that are opened and closed.
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
                // Else the ring would hold the file open.
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
            && let Some(entry) = self.particular_entry(op, slot)
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
            // Who hands nothing over only looks; and deferred completions come to light only where somebody asks.
            Wait::For(0) if self.submitted == 0 => self.door.enter(0, 0, GET_EVENTS),
            // It knows when the polling thread has to be woken.
            Wait::For(completions) if self.polls_submissions => submitter.submit_and_wait(completions as usize),
            // Nothing but waiting brings deferred completions in; there is room for all that can be in flight.
            Wait::For(completions) => {
                let looks = completions > 0 || self.polls_completions;
                self.door.enter(self.submitted, completions, if looks { GET_EVENTS } else { 0 })
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
        // With a polling thread only: nothing else works for a ring that is not charged to its thread.
        if self.polls_submissions { poller_cpu_ns() } else { 0 }
    }
}

/// Processor time of the kernel thread that polls for this thread's submissions, ns, to the scheduler's tick; 0 where
/// there is none. The kernel names it after the thread that made the ring, and counts it to nobody. Source:
/// io_uring/sqpoll.c, proc_pid_stat(5).
fn poller_cpu_ns() -> u64 {
    let name = format!("iou-sqp-{}\n", rustix::thread::gettid().as_raw_nonzero());
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    tasks
        .flatten()
        .filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm == name))
        .filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok())
        .filter_map(|stat| {
            // Behind the name in parentheses: utime and stime are the 12th and 13th fields.
            let (_, fields) = stat.rsplit_once(") ")?;
            let mut times = fields.split(' ').skip(11).map(|field| field.parse::<u64>().ok());
            Some(times.next()?? + times.next()??)
        })
        .sum::<u64>()
        * (1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// Why this kernel gives no ring; `None` where it does.
pub(crate) fn refusal() -> Option<io::Error> {
    IoUring::new(2).err()
}

/// A discard of a block device goes through `ioctl`, which a ring has no op for before Linux 6.12.
pub(crate) fn can_trim(kind: FileKind) -> bool {
    kind == FileKind::Regular
}
