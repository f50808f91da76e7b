//! Backends, decided and built: the one place where blocks and jobs get what executes their ops.
//!
//! Every backend type times every source times every pacer is a loop of its own in the program. So only the backends whose
//! calls are as short as the loop itself have a type each: psync, null, io_uring. All others are reached through a table
//! of functions ([`SyncBlocks`] and [`QueuedBlocks`] over a boxed trait), which adds a nanosecond to a system call.

use crate::backend::blocks::{BlockCalls, SyncBlocks};
use crate::backend::gathered::Gathered;
use crate::backend::io_uring::{Ring, RingModes};
use crate::backend::libaio::{Libaio, LibaioModes};
use crate::backend::mmap::{MapRules, Mmap};
use crate::backend::null::{Null, NullQueue};
use crate::backend::payload::Payload;
use crate::backend::posix_aio::PosixAio;
use crate::backend::preadv2::{Preadv, Preadv2};
use crate::backend::priorities::Priorities;
use crate::backend::psync::Psync;
use crate::backend::queued::{QueueCalls, QueuedBlocks};
use crate::backend::record_locks::{LockRule, LockedCalls, LockedQueue};
use crate::backend::seek::Seek;
use crate::backend::socket::{LinkError, LinkRequest, Socket, StopChecks};
use crate::backend::space::{Fallocate, Truncate};
use crate::backend::splice::Splice;
use crate::backend::stdio::Stdio;
use crate::backend::whole::WholeFiles;
use crate::backend::{BlockFiles, FileAccess, QueuedBackend, SyncBackend};
use crate::fault::FaultLog;
use crate::gate::Gate;
use crate::op::BlockOp;
use crate::rng::{Purpose, Rng, StreamId};
use crate::worker::Ended;
use plumb_workload::backend::RwFlag;
use plumb_workload::job::{CommandPriority, MappingAdvice};
use plumb_workload::{Backend, OpKind};
use std::io;
use std::path::Path;

/// A backend, decided: `auto` is resolved before this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoundBackend {
    Psync,
    IoUring(RingModes),
    Null,
    /// Any other, as the workload has it.
    Other(Backend),
}

impl BoundBackend {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            BoundBackend::Psync => "psync",
            BoundBackend::IoUring(_) => "io-uring",
            BoundBackend::Null => "null",
            BoundBackend::Other(backend) => backend.name(),
        }
    }

    /// What a workload's backend means for a worker of this depth; `auto` where the kernel may lack io_uring says so.
    pub(crate) fn of(backend: &Backend, depth: u32) -> Result<(BoundBackend, Option<String>), String> {
        Ok(match backend {
            Backend::Auto if depth > 1 => match io_uring_refusal() {
                None => (BoundBackend::IoUring(RingModes::BEST), None),
                Some(reason) => (BoundBackend::Psync, Some(format!("io_uring: {reason}; psync at depth 1 used"))),
            },
            Backend::Auto | Backend::Psync => (BoundBackend::Psync, None),
            Backend::IoUring { .. } => (BoundBackend::IoUring(RingModes::of(backend)), None),
            Backend::Null => (BoundBackend::Null, None),
            Backend::Sim => return Err("the sim backend goes with a `sim` target".to_owned()),
            Backend::Foreign { engine, .. } => {
                return Err(format!("Plumb does not have the engine `{engine}`; use one of its own backends"));
            }
            other => (BoundBackend::Other(other.clone()), None),
        })
    }
}

/// Why this kernel gives no ring; `None` where it does.
fn io_uring_refusal() -> Option<String> {
    io_uring::IoUring::new(2).err().map(|error| match error.raw_os_error() {
        Some(libc::EPERM) => format!("{error} (kernel.io_uring_disabled, or a sandbox)"),
        _ => error.to_string(),
    })
}

/// What a backend needs to know of its worker.
pub(crate) struct BackendRequest {
    pub(crate) backend: BoundBackend,
    /// Ops in flight at most.
    pub(crate) depth: u32,
    pub(crate) files: BlockFiles,
    /// Whether anything is written.
    pub(crate) access: FileAccess,
    /// The smallest op, bytes: what a trial reads.
    pub(crate) smallest_block_bytes: u32,
    /// Pages are dropped as soon as they were used, where the backend goes through the page cache against the user's wish
    /// (a mapping of a file that was to be used directly).
    pub(crate) drops_pages: bool,
    /// What the kernel is told about mappings, in this order.
    pub(crate) mapping_advice: Vec<MappingAdvice>,
    /// Writes that no crash tears (`RWF_ATOMIC`), where the backend's own flags do not say so.
    pub(crate) atomic_writes: bool,
    /// Locks that reads and writes hold.
    pub(crate) record_lock: Option<LockRule>,
    /// Priorities of some ops.
    pub(crate) priorities: Vec<CommandPriority>,
    /// Where the backend's own choices come from: which ops are polled for, which get a priority.
    pub(crate) choices: StreamId,
    /// What was asked for and is not had, as far as that is known before there is a backend.
    pub(crate) notes: Vec<String>,
}

impl BackendRequest {
    /// A request with everything that only jobs ask for left out.
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
            record_lock: None,
            priorities: Vec::new(),
            choices,
            notes: Vec::new(),
        }
    }

    fn rng(&self) -> Rng {
        self.choices.rng(Purpose::Backend)
    }

    fn draws_priorities(&self) -> Option<Box<Priorities>> {
        Priorities::new(&self.priorities, self.rng())
    }

    /// The backend's flags, with what the job asks for beside them.
    fn with_atomic(&self, flags: &[RwFlag]) -> Vec<RwFlag> {
        let asked = self.atomic_writes.then_some(RwFlag::Atomic);
        flags.iter().copied().filter(|&flag| Some(flag) != asked).chain(asked).collect()
    }
}

/// Something to do with a backend, whatever its type: a loop that runs it.
pub(crate) trait Rider: Sized {
    /// Runs ops one at a time.
    fn sync<B: SyncBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String>;

    /// Keeps several ops in flight.
    fn queued<B: QueuedBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String>;
}

/// Builds the backend in the calling thread, says in the gate's report which one really runs, and hands it to `rider`.
/// `payload` makes buffers for so many ops in flight; it is called again where a backend has to be built again.
pub(crate) fn with_backend<R: Rider>(
    mut request: BackendRequest,
    gate: &Gate,
    mut payload: impl FnMut(usize) -> Result<Payload, String>,
    rider: R,
) -> Result<Ended, String> {
    let name = request.backend.name();
    gate.report().backend.write(name.as_bytes());
    let say = |notes: &[String]| gate.report().fallbacks.write(notes.join("\n").as_bytes());
    let record_lock = request.record_lock;
    match request.backend.clone() {
        BoundBackend::Null | BoundBackend::IoUring(_) if record_lock.is_some() => {
            Err(format!("{name} takes no record locks; use psync, libaio or mmap, or leave `record-lock` out"))
        }
        BoundBackend::Null => {
            say(&request.notes);
            if request.depth > 1 { rider.queued(NullQueue::new(request.depth)) } else { rider.sync(Null) }
        }
        BoundBackend::Psync => {
            say(&request.notes);
            match record_lock {
                None => rider.sync(SyncBlocks::new(request.files, payload(1)?, Psync)),
                Some(rule) => rider.sync(SyncBlocks::new(request.files, payload(1)?, locked(rule, Psync))),
            }
        }
        BoundBackend::IoUring(modes) => {
            let ring = ring(&mut request, modes, &mut payload)?;
            request.notes.extend_from_slice(ring.fallbacks());
            say(&request.notes);
            rider.queued(ring)
        }
        BoundBackend::Other(backend) => {
            say(&request.notes);
            let (alone, together) = (|| gate.phase_stops(), || gate.stops());
            let stops = StopChecks { alone: &alone, together: &together };
            let named = |reason: String| format!("{name}: {reason}");
            if let Some(calls) = queue_calls(&backend, &request).map_err(|error| named(error.to_string()))? {
                let slots = request.depth as usize;
                let calls = match record_lock {
                    None => calls,
                    Some(rule) => Box::new(LockedQueue::new(rule, request.depth, calls)),
                };
                rider.queued(QueuedBlocks::new(request.files, payload(slots)?, calls))
            } else {
                let calls = calls(&backend, &request, stops).map_err(|Unbuilt { errno, reason }| {
                    if errno.is_some() {
                        FaultLog::new(gate.report()).keep(OpKind::Open, 0, 0, errno, Path::new(""), &reason);
                    }
                    named(reason)
                })?;
                let calls = match record_lock {
                    None => calls,
                    Some(rule) => locked(rule, calls),
                };
                rider.sync(SyncBlocks::new(request.files, payload(1)?, calls))
            }
        }
    }
}

/// Calls under locks. All of them through one table of functions: a lock costs two system calls.
fn locked<'a>(rule: LockRule, calls: impl BlockCalls + 'a) -> Box<dyn BlockCalls + 'a> {
    Box::new(LockedCalls::new(rule, calls))
}

/// The calls of a backend with several ops in flight; `None` for one that has none.
fn queue_calls(backend: &Backend, request: &BackendRequest) -> io::Result<Option<Box<dyn QueueCalls>>> {
    Ok(Some(match *backend {
        Backend::Libaio { userspace_reap, vectored, nowait } => {
            let modes = LibaioModes { userspace_reap, vectored, nowait, atomic: request.atomic_writes };
            Box::new(Libaio::new(request.depth, modes, request.draws_priorities())?)
        }
        Backend::PosixAio => Box::new(PosixAio::new(request.depth)),
        Backend::SeekVectored => Box::new(Gathered::new(request.depth)),
        _ => return Ok(None),
    }))
}

/// Why there is no backend: in words, and the system's number where it has one.
struct Unbuilt {
    errno: Option<i32>,
    reason: String,
}

/// The calls of a backend with one op at a time.
fn calls<'a>(
    backend: &Backend,
    request: &BackendRequest,
    stops: StopChecks<'a>,
) -> Result<Box<dyn BlockCalls + 'a>, Unbuilt> {
    let files = &request.files;
    let words = |error: io::Error| Unbuilt { errno: error.raw_os_error(), reason: error.to_string() };
    Ok(match backend {
        Backend::Preadv2 { flags, hipri_percent } => {
            Box::new(Preadv2::new(&request.with_atomic(flags), *hipri_percent, request.rng()))
        }
        Backend::Preadv => Box::new(Preadv),
        Backend::Seek => Box::new(Seek::new(files)),
        Backend::Splice => Box::new(Splice::new().map_err(words)?),
        &Backend::Files(call) => Box::new(WholeFiles::new(call, files).map_err(words)?),
        Backend::Fallocate => Box::new(Fallocate),
        Backend::Truncate => Box::new(Truncate),
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
            let unbuilt = |error: LinkError| Unbuilt { errno: error.errno(), reason: error.to_string() };
            Box::new(Socket::new(&link, stops).map_err(unbuilt)?)
        }
        Backend::Mmap => {
            let rules = MapRules {
                access: request.access,
                advice: request.mapping_advice.clone(),
                drops_pages: request.drops_pages,
            };
            Box::new(Mmap::new(files, rules).map_err(words)?)
        }
        Backend::Stdio => Box::new(Stdio::new(files, request.access).map_err(words)?),
        // Those that are resolved before, or have several ops in flight.
        Backend::Auto
        | Backend::Psync
        | Backend::IoUring { .. }
        | Backend::Libaio { .. }
        | Backend::PosixAio
        | Backend::SeekVectored
        | Backend::Null
        | Backend::Foreign { .. }
        | Backend::Sim => {
            let reason = "it does not do one op at a time; this is a defect of Plumb".to_owned();
            return Err(Unbuilt { errno: None, reason });
        }
    })
}

fn ring(
    request: &mut BackendRequest,
    modes: RingModes,
    payload: &mut impl FnMut(usize) -> Result<Payload, String>,
) -> Result<Ring, String> {
    let depth = request.depth;
    let mut modes = RingModes { flags: request.with_atomic(&modes.flags), ..modes };
    let files = std::mem::take(&mut request.files);
    let mut build = |files: BlockFiles, modes: &RingModes| {
        Ring::new(depth, modes, files, payload(depth as usize)?, request.draws_priorities())
            .map_err(|error| format!("io_uring at depth {depth}: {error}; use another backend, or lower `depth`"))
    };
    let mut ring = build(files, &modes)?;
    if modes.poll_completions
        && let Err(error) = ring.try_read(request.smallest_block_bytes)
    {
        modes.poll_completions = false;
        let files = ring.take_files();
        drop(ring);
        ring = build(files, &modes)?;
        request.notes.push(format!("io_uring: completions cannot be polled here: {error}; interrupts used"));
    }
    Ok(ring)
}
