//! Backends, decided and built: the one place where blocks and jobs get what executes their ops.
//!
//! Every backend type times every source times every pacer is a loop of its own in the program. So only the backends whose
//! calls are as short as the loop itself have a type each: psync, null, io_uring. All others are reached through a table
//! of functions ([`SyncBlocks`] and [`QueuedBlocks`] over a boxed trait), which adds a nanosecond to a system call.

use crate::backend::blocks::{BlockCalls, SyncBlocks};
use crate::backend::io_uring::{Ring, RingModes};
use crate::backend::mmap::Mmap;
use crate::backend::null::Null;
use crate::backend::payload::Payload;
use crate::backend::preadv2::Preadv2;
use crate::backend::psync::Psync;
use crate::backend::stdio::Stdio;
use crate::backend::{BlockFiles, FileAccess, QueuedBackend, SyncBackend};
use crate::gate::Gate;
use crate::op::BlockOp;
use crate::rng::StreamId;
use crate::worker::Ended;
use plumb_workload::Backend;
use plumb_workload::job::{AccessHint, CommandPriority};

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
    /// What a mapping is told about the pattern.
    pub(crate) hint: AccessHint,
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
            hint: AccessHint::None,
            priorities: Vec::new(),
            choices,
            notes: Vec::new(),
        }
    }
}

/// Something to do with a backend, whatever its type: a loop that runs it.
pub(crate) trait Rider: Sized {
    /// Runs ops one at a time.
    fn sync<B: SyncBackend<Op = BlockOp> + 'static>(self, backend: B) -> Result<Ended, String>;

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
    match request.backend.clone() {
        BoundBackend::Null => {
            say(&request.notes);
            rider.sync(Null)
        }
        BoundBackend::Psync => {
            say(&request.notes);
            rider.sync(SyncBlocks::new(request.files, payload(1)?, Psync))
        }
        BoundBackend::IoUring(modes) => {
            let ring = ring(&mut request, modes, &mut payload)?;
            request.notes.extend_from_slice(ring.fallbacks());
            say(&request.notes);
            rider.queued(ring)
        }
        BoundBackend::Other(backend) => {
            say(&request.notes);
            let calls = calls(&backend, &request).map_err(|error| format!("{name}: {error}"))?;
            rider.sync(SyncBlocks::new(request.files, payload(1)?, calls))
        }
    }
}

/// The calls of a backend with one op at a time.
fn calls(backend: &Backend, request: &BackendRequest) -> Result<Box<dyn BlockCalls>, std::io::Error> {
    let files = &request.files;
    Ok(match backend {
        Backend::Preadv2 { flags, .. } => Box::new(Preadv2::new(flags)),
        Backend::Mmap => Box::new(Mmap::new(files, request.access)?),
        Backend::Stdio => Box::new(Stdio::new(files, request.access)?),
        other => return Err(std::io::Error::other(format!("the backend `{}` goes with jobs", other.name()))),
    })
}

fn ring(
    request: &mut BackendRequest,
    modes: RingModes,
    payload: &mut impl FnMut(usize) -> Result<Payload, String>,
) -> Result<Ring, String> {
    let depth = request.depth;
    let mut build = |files: BlockFiles, modes: RingModes| {
        Ring::new(depth, modes, files, payload(depth as usize)?)
            .map_err(|error| format!("io_uring at depth {depth}: {error}; use another backend, or lower `depth`"))
    };
    let polls = modes.poll_completions;
    let mut ring = build(std::mem::take(&mut request.files), modes.clone())?;
    if polls && let Err(error) = ring.try_read(request.smallest_block_bytes) {
        request.notes.push(format!("io_uring: completions cannot be polled here: {error}; interrupts used"));
        let files = ring.take_files();
        drop(ring);
        ring = build(files, RingModes { poll_completions: false, ..modes })?;
    }
    Ok(ring)
}
