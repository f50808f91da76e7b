//! Chooses and builds backends. This is the only place where blocks and jobs get a backend for their ops.
//!
//! Only backends with calls as short as the loop itself (psync, null, io_uring) have their own compiled loops: see
//! [`instances`](crate::instances). All others are called through a vtable, which adds a nanosecond to a system call.

use crate::backend::gathered::Gathered;
use crate::backend::io_uring::{self, Ring};
use crate::backend::libaio::{KernelQueue, Libaio};
use crate::backend::mmap::{MapRules, Mmap};
use crate::backend::move_extents::{Donor, MoveExtents};
use crate::backend::null::{Null, NullQueue};
use crate::backend::page_fault::PageFault;
use crate::backend::payload::Payload;
use crate::backend::posix_aio::PosixAio;
use crate::backend::preadv2::{Preadv, Preadv2};
use crate::backend::priorities::Priorities;
use crate::backend::psync::Psync;
use crate::backend::queue_modes::{LibaioModes, RingModes};
use crate::backend::record_locks::{LockRule, LockedCalls, LockedQueue};
use crate::backend::seek::Seek;
use crate::backend::socket::{LinkRequest, Socket, StopChecks};
use crate::backend::space::{Fallocate, Truncate};
use crate::backend::splice::Splice;
use crate::backend::stdio::Stdio;
use crate::backend::whole::WholeFiles;
use crate::backend::{BlockContext, BlockFiles, FileAccess, QueuedBackend, SyncBackend};
use crate::barrier::Barrier;
use crate::fault::FaultLog;
use crate::instances::{AnyBackend, AnyQueued, AnySync};
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng, StreamId};
use crate::sim::backend::{SimCalls, SimQueue};
use crate::sim::run::SimDevice;
use crate::worker_error::WorkerError;
use plumb_workload::backend::RwFlag;
use plumb_workload::files::MappingAdvice;
use plumb_workload::process::CommandPriority;
use plumb_workload::{Backend, OpKind};
use std::io;
use std::path::Path;

/// The backend chosen for a worker: `auto` is already resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoundBackend {
    Psync,
    IoUring(RingModes),
    Null,
    Sim(SimDevice),
    /// Any other backend, as in the workload.
    Other(Backend),
}

impl BoundBackend {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            BoundBackend::Psync => "psync",
            BoundBackend::IoUring(_) => "io-uring",
            BoundBackend::Null => "null",
            BoundBackend::Sim(_) => "sim",
            BoundBackend::Other(backend) => backend.name(),
        }
    }

    /// Resolves a workload's backend for a worker of this depth. If `auto` finds no io_uring, the second value
    /// is a note about it.
    pub(crate) fn resolve(backend: &Backend, depth: u32) -> Result<(BoundBackend, Option<String>), WorkerError> {
        Ok(match backend {
            Backend::Auto if depth > 1 => match io_uring_refusal() {
                None => (BoundBackend::IoUring(RingModes::BEST), None),
                Some(reason) => (BoundBackend::Psync, Some(format!("io_uring: {reason}; psync at depth 1 used"))),
            },
            Backend::Auto | Backend::Psync => (BoundBackend::Psync, None),
            Backend::IoUring { .. } => (BoundBackend::IoUring(RingModes::for_backend(backend)), None),
            Backend::Null => (BoundBackend::Null, None),
            Backend::Sim => return Err(WorkerError::NotSimulated),
            Backend::Foreign { engine, .. } => return Err(WorkerError::Foreign { engine: engine.clone() }),
            other => (BoundBackend::Other(other.clone()), None),
        })
    }
}

/// Returns the reason why this kernel rejects io_uring; `None` if it supports it.
fn io_uring_refusal() -> Option<String> {
    io_uring::refusal().map(|error| match error.raw_os_error() {
        Some(libc::EPERM) => format!("{error} (kernel.io_uring_disabled, or a sandbox)"),
        _ => error.to_string(),
    })
}

/// Properties of a worker that its backend depends on.
pub(crate) struct BackendRequest {
    pub(crate) backend: BoundBackend,
    /// Maximum number of ops in flight.
    pub(crate) depth: u32,
    pub(crate) files: BlockFiles,
    /// Whether the worker writes.
    pub(crate) access: FileAccess,
    /// Size of the smallest op in bytes, used for a trial read.
    pub(crate) smallest_block_bytes: u32,
    /// Drop pages right after use, if the user wanted to bypass the page cache but the backend cannot (a mapping).
    pub(crate) drops_pages: bool,
    /// Advice to the kernel about mappings, in this order.
    pub(crate) mapping_advice: Vec<MappingAdvice>,
    /// Use writes that a crash cannot tear (`RWF_ATOMIC`), even if the backend's own flags do not include them.
    pub(crate) atomic_writes: bool,
    /// The file that donates its blocks, if blocks are exchanged.
    pub(crate) donor: Option<Donor>,
    /// Locks held during reads and writes.
    pub(crate) record_lock: Option<LockRule>,
    /// Priorities of some of the ops.
    pub(crate) priorities: Vec<CommandPriority>,
    /// Random stream of the backend's own choices: which ops are polled, and which get a priority.
    pub(crate) choices: StreamId,
    /// Requested features that are known to be unavailable before the backend is built.
    pub(crate) notes: Vec<String>,
}

impl BackendRequest {
    /// Creates a request without the options that only jobs have.
    pub(crate) fn new(
        backend: BoundBackend,
        depth: u32,
        files: BlockFiles,
        access: FileAccess,
        smallest_block_bytes: u32,
        choices: StreamId,
    ) -> BackendRequest {
        BackendRequest {
            backend,
            depth,
            files,
            access,
            smallest_block_bytes,
            drops_pages: false,
            atomic_writes: false,
            mapping_advice: Vec::new(),
            donor: None,
            record_lock: None,
            priorities: Vec::new(),
            choices,
            notes: Vec::new(),
        }
    }

    /// Combines the request's files with this memory.
    fn context(&mut self, payload: Payload) -> BlockContext {
        BlockContext { files: std::mem::take(&mut self.files), payload }
    }

    fn rng(&self) -> Rng {
        self.choices.rng(Purpose::Backend)
    }

    fn draws_priorities(&self) -> Option<Box<Priorities>> {
        Priorities::new(&self.priorities, self.depth, self.rng())
    }

    /// Returns the backend's flags, plus `RWF_ATOMIC` if the job asks for atomic writes.
    fn with_atomic(&self, flags: &[RwFlag]) -> Vec<RwFlag> {
        let asked = self.atomic_writes.then_some(RwFlag::Atomic);
        flags.iter().copied().filter(|&flag| Some(flag) != asked).chain(asked).collect()
    }
}

/// Builds the backend in the calling thread, and reports the name of the one that really runs. `payload` allocates
/// buffers for a number of ops in flight. It is called again if the backend must be built again.
pub(crate) fn build_backend<'a>(
    mut request: BackendRequest,
    barrier: &'a Barrier,
    mut payload: impl FnMut(usize) -> Result<Payload, WorkerError>,
) -> Result<AnyBackend<'a>, WorkerError> {
    let name = request.backend.name();
    barrier.report().backend.write(name.as_bytes());
    let report_notes = |notes: &[String]| barrier.report().fallbacks.write(notes.join("\n").as_bytes());
    let record_lock = request.record_lock;
    match request.backend.clone() {
        BoundBackend::Null | BoundBackend::IoUring(_) if record_lock.is_some() => {
            Err(WorkerError::NoRecordLocks { backend: name })
        }
        BoundBackend::Null => {
            report_notes(&request.notes);
            Ok(match request.depth {
                0 | 1 => AnyBackend::Sync(AnySync::Null(Null)),
                depth => AnyBackend::Queued(AnyQueued::Null(NullQueue::new(depth))),
            })
        }
        BoundBackend::Sim(device) => {
            report_notes(&request.notes);
            Ok(match request.depth {
                depth if depth > 1 && !device.is_serial() => {
                    AnyBackend::Queued(AnyQueued::Other(Box::new(SimQueue::new(device, depth))))
                }
                _ => AnyBackend::Sync(AnySync::Other(Box::new(SimCalls::new(device, |op: &BlockOp| op.file.into())))),
            })
        }
        BoundBackend::Psync => {
            report_notes(&request.notes);
            let psync = Psync { context: request.context(payload(1)?) };
            Ok(AnyBackend::Sync(match record_lock {
                None => AnySync::Psync(psync),
                Some(rule) => AnySync::Other(locked(rule, Box::new(psync))),
            }))
        }
        BoundBackend::IoUring(modes) => {
            let ring = ring(&mut request, modes, &mut payload)?;
            request.notes.extend_from_slice(ring.fallbacks());
            report_notes(&request.notes);
            Ok(AnyBackend::Queued(AnyQueued::Ring(ring)))
        }
        BoundBackend::Other(backend) => {
            report_notes(&request.notes);
            if let Some(queue) = queue(&backend, &mut request, &mut payload)? {
                return Ok(AnyBackend::Queued(AnyQueued::Other(match record_lock {
                    None => queue,
                    Some(rule) => Box::new(LockedQueue::new(rule, request.depth, queue)),
                })));
            }
            let stops =
                StopChecks { alone: Box::new(|| barrier.phase_stops()), together: Box::new(|| barrier.stops()) };
            let built = one_at_a_time(&backend, &mut request, &mut payload, stops);
            let built = built.inspect_err(|error| {
                if let (WorkerError::Backend { .. } | WorkerError::Link { .. }, Some(_)) = (error, error.errno()) {
                    let mut faults = FaultLog::new(barrier.report());
                    faults.keep(OpKind::Open, 0, 0, error.errno(), Path::new(""), &reason(error));
                }
            })?;
            Ok(AnyBackend::Sync(AnySync::Other(match record_lock {
                None => built,
                Some(rule) => locked(rule, built),
            })))
        }
    }
}

/// Returns the reason without the name of the backend.
fn reason(error: &WorkerError) -> String {
    match error {
        WorkerError::Backend { source, .. } => source.to_string(),
        WorkerError::Link { source, .. } => source.to_string(),
        other => other.to_string(),
    }
}

type BoxedSync<'a> = Box<dyn SyncBackend<Op = BlockOp> + 'a>;

/// Wraps a backend with record locks. One vtable serves all of them, because a lock costs two system calls anyway.
fn locked(rule: LockRule, calls: BoxedSync<'_>) -> BoxedSync<'_> {
    Box::new(LockedCalls::new(rule, calls))
}

/// Builds a queued backend other than io_uring; `None` for a backend that is not queued.
fn queue(
    backend: &Backend,
    request: &mut BackendRequest,
    payload: &mut impl FnMut(usize) -> Result<Payload, WorkerError>,
) -> Result<Option<Box<dyn QueuedBackend>>, WorkerError> {
    let depth = request.depth;
    let slots = depth as usize;
    Ok(Some(match *backend {
        Backend::Libaio { userspace_reap, vectored, nowait } => {
            let modes = LibaioModes { userspace_reap, vectored, nowait, atomic: request.atomic_writes };
            // Before the memory: a depth above the system's limit must be refused for that reason.
            let kernel =
                KernelQueue::new(depth).map_err(|source| WorkerError::Backend { backend: backend.name(), source })?;
            let priorities = request.draws_priorities();
            Box::new(Libaio::new(kernel, depth, modes, priorities, request.context(payload(slots)?)))
        }
        Backend::PosixAio => Box::new(PosixAio::new(depth, request.context(payload(slots)?))),
        Backend::SeekVectored => Box::new(Gathered::new(depth, request.context(payload(slots)?))),
        _ => return Ok(None),
    }))
}

/// Builds a sync backend other than psync.
fn one_at_a_time<'a>(
    backend: &Backend,
    request: &mut BackendRequest,
    payload: &mut impl FnMut(usize) -> Result<Payload, WorkerError>,
    stops: StopChecks<'a>,
) -> Result<BoxedSync<'a>, WorkerError> {
    let name = backend.name();
    let system = |source: io::Error| WorkerError::Backend { backend: name, source };
    let context = request.context(payload(1)?);
    Ok(match backend {
        Backend::Preadv2 { flags, hipri_percent } => {
            Box::new(Preadv2::new(context, &request.with_atomic(flags), *hipri_percent, request.rng()))
        }
        Backend::Preadv => Box::new(Preadv { context }),
        Backend::Seek => Box::new(Seek::new(context)),
        Backend::Splice => Box::new(Splice::new(context).map_err(system)?),
        &Backend::Files(call) => Box::new(WholeFiles::new(call, context).map_err(system)?),
        Backend::Fallocate => Box::new(Fallocate { context }),
        Backend::Truncate => Box::new(Truncate { context }),
        Backend::PageFault => Box::new(PageFault::new(context).map_err(system)?),
        Backend::MoveExtents { donor, .. } => {
            let missing =
                || system(io::Error::other(format!("the donor {donor} needs named files (a `job-files` target)")));
            let donor = request.donor.take().ok_or_else(missing)?;
            Box::new(MoveExtents::new(context, donor).map_err(system)?)
        }
        &Backend::Socket { kind, ref host, port, listens, ping_pong, no_delay, window, segment } => {
            let link = LinkRequest {
                kind,
                host: host.clone(),
                port,
                listens,
                ping_pong,
                no_delay,
                window_bytes: window.map(|window| window.0),
                segment_bytes: segment.map(|segment| segment.0),
                access: request.access,
            };
            let unbuilt = |source| WorkerError::Link { backend: name, source };
            Box::new(Socket::new(context, &link, stops).map_err(unbuilt)?)
        }
        Backend::Mmap => {
            let rules = MapRules {
                access: request.access,
                advice: request.mapping_advice.clone(),
                drops_pages: request.drops_pages,
            };
            Box::new(Mmap::new(context, rules).map_err(system)?)
        }
        Backend::Stdio => Box::new(Stdio::new(context, request.access).map_err(system)?),
        // Resolved before, or queued.
        Backend::Auto
        | Backend::Psync
        | Backend::IoUring { .. }
        | Backend::Libaio { .. }
        | Backend::PosixAio
        | Backend::SeekVectored
        | Backend::Null
        | Backend::Foreign { .. }
        | Backend::Sim => return Err(WorkerError::OnlyQueued { backend: name }),
    })
}

fn ring(
    request: &mut BackendRequest,
    modes: RingModes,
    payload: &mut impl FnMut(usize) -> Result<Payload, WorkerError>,
) -> Result<Ring, WorkerError> {
    let depth = request.depth;
    let mut modes = RingModes { flags: request.with_atomic(&modes.flags), ..modes };
    let files = std::mem::take(&mut request.files);
    let mut build = |files: BlockFiles, modes: &RingModes| {
        let context = BlockContext { files, payload: payload(depth as usize)? };
        Ring::new(depth, modes, context, request.draws_priorities())
            .map_err(|source| WorkerError::Ring { depth, source })
    };
    let mut ring = build(files, &modes)?;
    if modes.poll_completions
        && let Err(error) = ring.try_read(request.smallest_block_bytes)
    {
        modes.poll_completions = false;
        let files = ring.take_files();
        drop(ring);
        ring = build(files, &modes)?;
        request.notes.push(format!("io_uring: completions cannot be polled: {error}; interrupts used"));
    }
    Ok(ring)
}
