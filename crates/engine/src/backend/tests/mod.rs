//! Every block I/O backend on real files, built through `build_backend`.
#![allow(unsafe_code)]

mod calls;
mod queues;
mod traced;

use super::payload::Payload;
use super::{BlockFiles, Completion, Done, FileAccess, FileKind, QueuedBackend, SyncBackend, Wait};
use crate::barrier::{Barrier, PhaseMemory, WorkerSpec};
use crate::bound::{BackendRequest, BoundBackend, build_backend};
use crate::clock::Clock;
use crate::content::{BlockBytes, Buffers};
use crate::instances::{AnyBackend, AnyQueued};
use crate::op::BlockOp;
use crate::plan::{GroupRun, WorkerRules};
use crate::rng::StreamId;
use crate::terms::Ended;
use plumb_workload::process::BufferRules;
use plumb_workload::{Backend, Content, OpKind, RunAs};
use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

pub(crate) const STREAM: StreamId = StreamId { seed: 11, phase: 0, worker: 0 };
/// Bytes of memory per op.
pub(crate) const SLOT_BYTES: usize = 256 << 10;

/// A barrier that never stops its workers.
pub(crate) fn barrier() -> Barrier {
    let spec = WorkerSpec {
        name: "test".to_owned(),
        group: 0,
        depth: 1,
        cpu: None,
        rules: WorkerRules::default(),
        body: Box::new(|_| Ok(Ended::Done)),
    };
    let group = GroupRun::default();
    let memory = PhaseMemory::new(Clock::best(), std::slice::from_ref(&spec), std::slice::from_ref(&group), 0).unwrap();
    Barrier::new(Arc::new(memory), 0, &spec, &group, RunAs::Thread)
}

/// Describes the open file of a test, as a worker sees it.
pub(crate) fn block_files(file: &File, path: &Path) -> BlockFiles {
    BlockFiles {
        fds: vec![file.as_raw_fd()],
        paths: vec![path.to_owned()],
        lengths: vec![file.metadata().unwrap().len()],
        kind: FileKind::Regular,
        ..BlockFiles::default()
    }
}

pub(crate) fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

pub(crate) fn request(backend: Backend, depth: u32, files: BlockFiles) -> BackendRequest {
    let (bound, _) = BoundBackend::resolve(&backend, depth).unwrap();
    BackendRequest::new(bound, depth, files, FileAccess::ReadWrite, 4096, STREAM)
}

/// Completion of an op, and the content of its memory afterwards.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) op: BlockOp,
    pub(crate) completion: Completion,
    pub(crate) memory: Vec<u8>,
}

/// Executes ops and keeps their outcomes: one at a time, or in batches of `depth`.
struct Script<'a> {
    ops: &'a [BlockOp],
    depth: usize,
    memory: &'a Cell<*mut u8>,
    outcomes: &'a RefCell<Vec<Outcome>>,
}

impl Script<'_> {
    fn keep(&self, op: BlockOp, slot: usize, completion: Completion) {
        // Path-based and space calls may be longer than a slot.
        let length = if op.kind.moves_bytes() { (op.length as usize).min(SLOT_BYTES) } else { 0 };
        // SAFETY: the payload's slot, which nothing else uses now.
        let memory = unsafe { std::slice::from_raw_parts(self.memory.get().add(slot * SLOT_BYTES), length) }.to_vec();
        self.outcomes.borrow_mut().push(Outcome { op, completion, memory });
    }
}

impl Script<'_> {
    fn run(&self, backend: &mut AnyBackend<'_>) -> Result<(), String> {
        match backend {
            AnyBackend::Sync(backend) => self.sync(backend.table()),
            AnyBackend::Queued(backend) => self.queued(backend.table()),
        }
    }

    fn sync(&self, backend: &mut dyn SyncBackend<Op = BlockOp>) -> Result<(), String> {
        backend.begin().map_err(|reason| format!("{reason:?}"))?;
        for op in self.ops {
            backend.before(op);
            let completion = backend.execute(op);
            let _ = backend.after(op, completion.unwrap_or(0));
            self.keep(*op, 0, completion);
        }
        backend.finish().map_err(|unfinished| format!("{unfinished:?}"))
    }

    fn queued(&self, backend: &mut dyn QueuedBackend) -> Result<(), String> {
        for batch in self.ops.chunks(self.depth) {
            for (slot, op) in batch.iter().enumerate() {
                backend.before(op, slot as u16);
                backend.submit(op, slot as u16);
            }
            let mut left = batch.len();
            while left > 0 {
                backend.enter(Wait::For(left as u32)).map_err(|error| error.to_string())?;
                while let Some(Done { slot, completion }) = backend.completed() {
                    self.keep(batch[usize::from(slot)], usize::from(slot), completion);
                    left -= 1;
                }
            }
        }
        Ok(())
    }
}

/// Builds the queued backend of a request, with marked memory.
fn build_queue(request: BackendRequest, barrier: &Barrier) -> AnyQueued {
    match build_backend(request, barrier, |slots| Ok(marked_payload(slots))).unwrap() {
        AnyBackend::Queued(queue) => queue,
        AnyBackend::Sync(_) => unreachable!("queued backends only"),
    }
}

/// Runs ops on a backend, with every byte of slot `n` set to `n + 1` before.
pub(crate) fn run(request: BackendRequest, ops: &[BlockOp]) -> Result<Vec<Outcome>, String> {
    run_at(&barrier(), request, ops)
}

/// Like [`run`], with the caller's barrier.
pub(crate) fn run_at(barrier: &Barrier, request: BackendRequest, ops: &[BlockOp]) -> Result<Vec<Outcome>, String> {
    let memory = Cell::new(std::ptr::null_mut());
    let outcomes = RefCell::new(Vec::new());
    let depth = request.depth as usize;
    let payload = |slots: usize| {
        let payload = marked_payload(slots);
        memory.set(payload.pointer(0));
        Ok(payload)
    };
    let script = Script { ops, depth, memory: &memory, outcomes: &outcomes };
    // The null backends have no memory.
    memory.set(Box::leak(vec![0u8; SLOT_BYTES * depth].into_boxed_slice()).as_mut_ptr());
    let mut backend = build_backend(request, barrier, payload).map_err(|error| error.to_string())?;
    script.run(&mut backend)?;
    drop(backend);
    Ok(outcomes.into_inner())
}

/// Allocates memory with every byte of slot `n` set to `n + 1`.
pub(crate) fn marked_payload(slots: usize) -> Payload {
    let bytes = BlockBytes::plain(Buffers::for_target(Content::Zero, STREAM), true, false);
    let payload = Payload::new(slots, SLOT_BYTES, bytes, &BufferRules::default()).unwrap();
    for slot in 0..slots {
        // SAFETY: the slot has this length.
        unsafe { payload.pointer(slot as u16).write_bytes(slot as u8 + 1, SLOT_BYTES) };
    }
    payload
}

pub(crate) fn op(kind: OpKind, offset: u64, length: u32) -> BlockOp {
    BlockOp::load(kind, 0, offset, length)
}

/// Reports that a test did not run, and why. In CI that is a failure.
pub(crate) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "not to be skipped in CI: {why}");
    eprintln!("SKIPPED: {why}");
}

/// Returns every variant of every backend that reads and writes files.
pub(crate) fn file_backends() -> Vec<(&'static str, Backend, u32)> {
    let libaio = |userspace_reap, vectored| Backend::Libaio { userspace_reap, vectored, nowait: false };
    let ring = |fixed_buffers, fixed_files, vectored, async_every| Backend::IoUring {
        poll_completions: false,
        poll_submissions: false,
        fixed_buffers,
        fixed_files,
        poll_cpu: None,
        vectored,
        async_every,
        flags: Vec::new(),
    };
    vec![
        ("psync", Backend::Psync, 1),
        ("preadv2", Backend::Preadv2 { flags: Vec::new(), hipri_percent: 100 }, 1),
        ("preadv", Backend::Preadv, 1),
        ("seek", Backend::Seek, 1),
        ("gathered", Backend::SeekVectored, 4),
        ("libaio", libaio(false, false), 4),
        ("libaio, vectored", libaio(false, true), 4),
        ("libaio, userspace", libaio(true, false), 4),
        ("posix-aio", Backend::PosixAio, 4),
        ("splice", Backend::Splice, 1),
        ("mmap", Backend::Mmap, 1),
        ("stdio", Backend::Stdio, 1),
        ("io-uring", ring(true, true, false, None), 4),
        ("io-uring, vectored", ring(false, true, true, None), 4),
        ("io-uring, async", ring(false, false, false, Some(2)), 4),
    ]
}
