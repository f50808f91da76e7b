//! io_uring: one registered region of buffers, registered files and ring, a single issuer with deferred task run.
//!
//! Each feature that the kernel refuses is left out and said in [`Ring::fallbacks`]; a result never claims a mode that
//! did not run. Sources: io_uring_setup(2), io_uring_register(2), io_uring_enter(2).
#![allow(unsafe_code)]

use crate::backend::payload::Payload;
use crate::backend::{BlockFiles, Completion, Errno, FileKind, QueuedBackend, Slot, Wait};
use crate::job::content::JobEnd;
use crate::op::BlockOp;
use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use plumb_workload::phase::RwFlag;
use plumb_workload::{Backend, OpKind};
use std::io;
use std::path::PathBuf;

/// The modes that a workload may ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RingModes {
    pub(crate) poll_completions: bool,
    pub(crate) poll_submissions: bool,
    /// The CPU of the kernel thread that submits.
    pub(crate) poll_cpu: Option<u32>,
    pub(crate) fixed_buffers: bool,
    pub(crate) fixed_files: bool,
    pub(crate) vectored: bool,
    /// Every so many-th op is done by a kernel thread.
    pub(crate) async_every: Option<u32>,
    pub(crate) flags: Vec<RwFlag>,
}

impl RingModes {
    /// What is fastest almost everywhere.
    pub(crate) const BEST: RingModes = RingModes {
        poll_completions: false,
        poll_submissions: false,
        poll_cpu: None,
        fixed_buffers: true,
        fixed_files: true,
        vectored: false,
        async_every: None,
        flags: Vec::new(),
    };

    /// The modes of a workload's backend; the best ones for a backend without any.
    pub(crate) fn of(backend: &Backend) -> RingModes {
        match backend {
            &Backend::IoUring {
                poll_completions,
                poll_submissions,
                fixed_buffers,
                fixed_files,
                poll_cpu,
                vectored,
                async_every,
                ref flags,
            } => RingModes {
                poll_completions,
                poll_submissions,
                poll_cpu,
                fixed_buffers,
                fixed_files,
                vectored,
                async_every,
                flags: flags.clone(),
            },
            _ => RingModes::BEST,
        }
    }
}

/// How long a polling kernel thread stays awake without work, ms.
const SUBMISSION_POLL_IDLE_MS: u32 = 1000;

pub(crate) struct Ring {
    ring: IoUring,
    files: BlockFiles,
    payload: Payload,
    fixed_files: bool,
    fixed_buffers: bool,
    polls_submissions: bool,
    fallbacks: Vec<String>,
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
enum Target {
    Fixed(Fixed),
    Open(Fd),
}

macro_rules! with_target {
    ($target:expr, |$fd:ident| $build:expr) => {
        match $target {
            Target::Fixed($fd) => $build,
            Target::Open($fd) => $build,
        }
    };
}

impl Drop for Ring {
    /// The kernel takes a ring down later and elsewhere, and until then the registered files hold their file system: whoever
    /// unmounts it after the run would find it busy. A refusal leaves it at that.
    fn drop(&mut self) {
        if self.fixed_files {
            let _ = self.ring.submitter().unregister_files();
        }
    }
}

impl Ring {
    /// A ring for `depth` ops in flight. Must be made by the thread that will use it.
    pub(crate) fn new(depth: u32, modes: RingModes, files: BlockFiles, payload: Payload) -> io::Result<Ring> {
        let mut fallbacks = Vec::new();
        let ring = build(depth.next_power_of_two(), &modes, &mut fallbacks)?;
        let mut refused = |what: &str, error: io::Error| fallbacks.push(format!("io_uring: {what} refused: {error}"));
        // With a polling kernel thread there is next to nothing to enter for.
        if !modes.poll_submissions
            && let Err(error) = ring.submitter().register_ring_fd()
        {
            refused("registered ring", error);
        }
        let mut fixed_files = modes.fixed_files;
        if fixed_files && let Err(error) = ring.submitter().register_files(&files.fds) {
            refused("registered files", error);
            fixed_files = false;
        }
        let mut fixed_buffers = modes.fixed_buffers;
        if fixed_buffers {
            let region = payload.region();
            let vector = libc::iovec { iov_base: region.pointer().cast(), iov_len: region.bytes() };
            // SAFETY: the region stays mapped for as long as `payload`, which the ring is dropped with, and fields drop
            // in order of declaration: the ring first.
            if let Err(error) = unsafe { ring.submitter().register_buffers(&[vector]) } {
                refused("registered buffers (raise RLIMIT_MEMLOCK?)", error);
                fixed_buffers = false;
            }
        }
        Ok(Ring {
            ring,
            files,
            payload,
            fixed_files,
            fixed_buffers,
            polls_submissions: modes.poll_submissions,
            fallbacks,
        })
    }

    /// Reads one block, to see whether files of this kind can be read in this ring's modes at all: that a device or a file
    /// system cannot be polled shows only in the completion.
    pub(crate) fn try_read(&mut self, length: u32) -> io::Result<()> {
        self.submit(&BlockOp::load(OpKind::Read, 0, 0, length), 0);
        let mut outcome = None;
        while outcome.is_none() {
            self.enter(Wait::For(1))?;
            self.reap(&mut |_, _, done| outcome = Some(done));
        }
        match outcome {
            Some(Err(errno)) => Err(io::Error::from_raw_os_error(errno.0)),
            _ => Ok(()),
        }
    }

    /// Its files, for another ring in its place.
    pub(crate) fn take_files(&mut self) -> BlockFiles {
        std::mem::take(&mut self.files)
    }

    /// What was asked for and not had.
    pub(crate) fn fallbacks(&self) -> &[String] {
        &self.fallbacks
    }

    #[inline(always)]
    fn entry(&self, op: &BlockOp, slot: Slot) -> squeue::Entry {
        let target = if self.fixed_files { Target::Fixed(Fixed(op.file)) } else { Target::Open(Fd(self.files.fd(op))) };
        let memory = self.payload.pointer(slot);
        // The region is registered as one buffer, number 0.
        match op.kind {
            OpKind::Read if self.fixed_buffers => {
                with_target!(target, |fd| opcode::ReadFixed::new(fd, memory, op.length, 0).offset(op.offset).build())
            }
            OpKind::Read => {
                with_target!(target, |fd| opcode::Read::new(fd, memory, op.length).offset(op.offset).build())
            }
            OpKind::Write if self.fixed_buffers => {
                with_target!(target, |fd| opcode::WriteFixed::new(fd, memory, op.length, 0).offset(op.offset).build())
            }
            OpKind::Write => {
                with_target!(target, |fd| opcode::Write::new(fd, memory, op.length).offset(op.offset).build())
            }
            OpKind::Fdatasync => {
                with_target!(target, |fd| opcode::Fsync::new(fd).flags(FsyncFlags::DATASYNC).build())
            }
            OpKind::Trim => {
                let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
                with_target!(target, |fd| opcode::Fallocate::new(fd, u64::from(op.length))
                    .offset(op.offset)
                    .mode(mode)
                    .build())
            }
            // Block sources yield nothing else.
            _ => with_target!(target, |fd| opcode::Fsync::new(fd).build()),
        }
    }
}

impl QueuedBackend for Ring {
    type Op = BlockOp;

    #[inline(always)]
    fn before(&mut self, op: &BlockOp, slot: Slot) {
        self.payload.before(op, slot);
    }

    #[inline(always)]
    fn after(&mut self, op: &BlockOp, slot: Slot, moved: u64) -> Result<(), String> {
        self.payload.after(op, slot, moved)
    }

    #[inline(always)]
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        // The kernel says 0 to a trim that went well; what it moved comes back with the slot.
        let trimmed = if op.kind == OpKind::Trim { op.length } else { 0 };
        let entry = self.entry(op, slot).user_data(u64::from(trimmed) << 32 | u64::from(slot));
        // SAFETY: the entry's memory is slot `slot` of the payload, which outlives the op: slots are not reused before
        // completion.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            // There are never more ops in flight than `depth`, the size of the ring; but a polling kernel thread gives
            // entries back later than it completes them. An error here comes again in `enter`, where it is reported.
            let _ = self.ring.submitter().squeue_wait();
        }
    }

    #[inline(always)]
    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let submitter = self.ring.submitter();
        let entered = match wait {
            Wait::For(completions) => submitter.submit_and_wait(completions as usize),
            Wait::Timeout(ns) => {
                let timeout = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                submitter.submit_with_args(1, &SubmitArgs::new().timespec(&timeout))
            }
        };
        match entered {
            Ok(_) => Ok(()),
            Err(error)
                if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN)) =>
            {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    #[inline(always)]
    fn reap(&mut self, done: &mut impl FnMut(&mut Ring, Slot, Completion)) {
        loop {
            let Some(entry) = self.ring.completion().next() else { break };
            let moved = entry.result();
            let trimmed = entry.user_data() >> 32;
            let completion = if moved < 0 { Err(Errno(-moved)) } else { Ok(moved as u64 + trimmed) };
            done(self, entry.user_data() as Slot, completion);
        }
    }

    fn conclude(&mut self, end: JobEnd) -> Vec<String> {
        self.payload.finish(end)
    }

    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.files.path_of(op)
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

/// A discard of a block device goes through `ioctl`, which a ring has no op for before Linux 6.12.
pub(crate) fn can_trim(kind: FileKind) -> bool {
    kind == FileKind::Regular
}
