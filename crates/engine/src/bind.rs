//! Binds a worker's plan to its types: source × backend × pacer, chosen once, before the loop starts.

use crate::backend::blocks::{BlockCalls, SyncBlocks};
use crate::backend::io_uring::{Ring, RingModes, poller_cpu_ns};
use crate::backend::mmap::{MapAccess, Mmap};
use crate::backend::null::Null;
use crate::backend::payload::{Checking, Payload, SlotUse};
use crate::backend::preadv2::Preadv2;
use crate::backend::psync::Psync;
use crate::backend::stdio::{Stdio, StreamMode};
use crate::backend::{BlockFiles, SyncBackend};
use crate::content::{Filler, Stamper, Verifier};
use crate::gate::{Body, Gate};
use crate::op::BlockOp;
use crate::pacer::{Closed, Open, Sharing, Think};
use crate::rng::{Purpose, StreamId};
use crate::source::Source;
use crate::source::blocks::{BlockPlan, BlockVisitor, with_source};
use crate::worker::{Ended, Queue, run_queued, run_sync};
use plumb_workload::phase::RwFlag;
use plumb_workload::{Backend, Checksum, Content, Mix, Pace};
use std::sync::atomic::Ordering::Relaxed;

/// A worker of block I/O, planned.
pub(crate) struct BlockWorker {
    pub(crate) plan: BlockPlan,
    pub(crate) files: BlockFiles,
    pub(crate) backend: BoundBackend,
    pub(crate) queue: Queue,
    pub(crate) pace: Pace,
    /// How many workers its group has, for a shared rate.
    pub(crate) group_count: u32,
    pub(crate) mix: Mix,
    pub(crate) content: Content,
    pub(crate) verify: Option<Stamping>,
    pub(crate) stream: StreamId,
    /// As `stream`, but different in every run, so that no two runs write the same bytes.
    pub(crate) content_stream: StreamId,
}

/// How blocks are stamped and verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamping {
    pub(crate) checksum: Checksum,
    /// Distance between stamps: common to everything that writes or verifies the target.
    pub(crate) interval_bytes: u64,
    /// Tells this run's blocks from those of other runs.
    pub(crate) seed: u64,
    pub(crate) first_sequence: u64,
}

/// A backend, decided: `auto` is resolved before this.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BoundBackend {
    Psync,
    Preadv2(Vec<RwFlag>),
    Mmap,
    Stdio,
    IoUring(RingModes),
    Null,
}

impl BoundBackend {
    fn name(&self) -> &'static str {
        match self {
            BoundBackend::Psync => "psync",
            BoundBackend::Preadv2(_) => "preadv2",
            BoundBackend::Mmap => "mmap",
            BoundBackend::Stdio => "stdio",
            BoundBackend::IoUring(_) => "io-uring",
            BoundBackend::Null => "null",
        }
    }

    /// What a workload's backend means for a worker of this depth; `auto` where the kernel may lack io_uring says so.
    pub(crate) fn of(backend: &Backend, depth: u32) -> Result<(BoundBackend, Option<String>), String> {
        let best =
            RingModes { poll_completions: false, poll_submissions: false, fixed_buffers: true, fixed_files: true };
        Ok(match backend {
            Backend::Auto if depth > 1 => match io_uring_refusal() {
                None => (BoundBackend::IoUring(best), None),
                Some(reason) => (BoundBackend::Psync, Some(format!("io_uring: {reason}; psync at depth 1 used"))),
            },
            Backend::Auto | Backend::Psync => (BoundBackend::Psync, None),
            Backend::Preadv2 { flags, .. } => (BoundBackend::Preadv2(flags.clone()), None),
            Backend::Mmap => (BoundBackend::Mmap, None),
            Backend::Stdio => (BoundBackend::Stdio, None),
            &Backend::IoUring { poll_completions, poll_submissions, fixed_buffers, fixed_files, .. } => {
                let modes = RingModes { poll_completions, poll_submissions, fixed_buffers, fixed_files };
                (BoundBackend::IoUring(modes), None)
            }
            Backend::Null => (BoundBackend::Null, None),
            Backend::Preadv
            | Backend::Seek
            | Backend::SeekVectored
            | Backend::Libaio { .. }
            | Backend::PosixAio
            | Backend::Splice
            | Backend::Files(_)
            | Backend::Fallocate
            | Backend::Truncate
            | Backend::Socket { .. } => return Err(format!("the backend `{}` goes with jobs", backend.name())),
            Backend::Foreign { engine, .. } => return Err(format!("the engine `{engine}` is another tool's")),
            Backend::Sim => return Err("the sim backend goes with a `sim` target".to_owned()),
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

impl BlockWorker {
    /// The worker's body: everything up to the gate happens before the clock starts.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    /// Buffers for so many ops in flight; what their content costs goes into the report.
    fn payload(&self, gate: &Gate, slots: usize) -> Result<Payload, String> {
        let checking = match self.verify {
            None => None,
            Some(Stamping { checksum, interval_bytes, seed, first_sequence }) => Some(Checking {
                stamper: Stamper::new(checksum, interval_bytes, seed, first_sequence)
                    .map_err(|error| error.to_string())?,
                verifier: Verifier::new(interval_bytes, Some(seed)).map_err(|error| error.to_string())?,
            }),
        };
        let sharing =
            if self.mix.read > 0 && self.mix.write > 0 { SlotUse::ReadsAndWrites } else { SlotUse::OneDirection };
        let block_bytes = self.plan.largest_block_bytes();
        let filler = Filler::new(self.content, self.content_stream);
        let mut payload = Payload::new(slots, block_bytes as usize, filler, checking, sharing)
            .map_err(|error| format!("cannot have {slots} buffers of {block_bytes} bytes: {error}"))?;
        if payload.works_each_op() {
            let costs = payload.costs(block_bytes);
            gate.report().fill_cost_ns.store(costs.fill_ns, Relaxed);
            gate.report().check_cost_ns.store(costs.check_ns, Relaxed);
        }
        Ok(payload)
    }

    fn writes(&self) -> bool {
        self.mix.write > 0
    }

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        gate.report().backend.write(self.backend.name().as_bytes());
        let files = self.files.clone();
        let named = |error: std::io::Error| format!("{}: {error}", self.backend.name());
        match &self.backend {
            BoundBackend::Null => self.run_sync(gate, Null),
            BoundBackend::IoUring(modes) => self.run_ring(gate, *modes),
            backend => {
                let payload = self.payload(gate, 1)?;
                match backend {
                    BoundBackend::Preadv2(flags) => self.run_calls(gate, files, payload, Preadv2::new(flags)),
                    BoundBackend::Mmap => {
                        let access = if self.writes() { MapAccess::ReadWrite } else { MapAccess::Read };
                        let calls = Mmap::new(&files, access).map_err(named)?;
                        self.run_calls(gate, files, payload, calls)
                    }
                    BoundBackend::Stdio => {
                        let mode = if self.writes() { StreamMode::ReadWrite } else { StreamMode::Read };
                        let calls = Stdio::new(&files, mode).map_err(named)?;
                        self.run_calls(gate, files, payload, calls)
                    }
                    _ => self.run_calls(gate, files, payload, Psync),
                }
            }
        }
    }

    fn run_calls<C: BlockCalls>(
        &self,
        gate: &Gate,
        files: BlockFiles,
        payload: Payload,
        calls: C,
    ) -> Result<Ended, String> {
        self.run_sync(gate, SyncBlocks::new(files, payload, calls))
    }

    fn run_sync<B: SyncBackend<Op = BlockOp>>(&self, gate: &Gate, backend: B) -> Result<Ended, String> {
        with_source(&self.plan, SyncVisitor { worker: self, gate, backend })
    }

    fn ring(&self, gate: &Gate, modes: RingModes) -> Result<Ring, String> {
        let payload = self.payload(gate, self.queue.depth as usize)?;
        Ring::new(self.queue.depth, modes, self.files.clone(), payload).map_err(|error| {
            format!("io_uring at depth {}: {error}; use another backend, or lower `depth`", self.queue.depth)
        })
    }

    fn run_ring(&self, gate: &Gate, modes: RingModes) -> Result<Ended, String> {
        let mut ring = self.ring(gate, modes)?;
        let mut notes = Vec::new();
        if modes.poll_completions
            && let Err(error) = ring.try_read(self.plan.smallest_block_bytes())
        {
            notes.push(format!("io_uring: completions cannot be polled here: {error}; interrupts used"));
            ring = self.ring(gate, RingModes { poll_completions: false, ..modes })?;
        }
        notes.extend_from_slice(ring.fallbacks());
        gate.report().fallbacks.write(notes.join("\n").as_bytes());
        with_source(&self.plan, RingVisitor { worker: self, gate, ring, polls: modes.poll_submissions })
    }

    fn sharing<'a>(&self, gate: &'a Gate, shared: bool) -> Sharing<'a> {
        if shared { gate.sharing(self.group_count) } else { Sharing::Own }
    }
}

/// Runs `$run` with a pacer of the type that `$pace` asks for.
macro_rules! with_pacer {
    ($pace:expr, $clock:expr, $sharing:expr, $stream:expr, |$pacer:ident| $run:expr) => {
        match $pace {
            Pace::Closed => {
                let mut $pacer = Closed;
                $run
            }
            Pace::Think { time, every } => {
                let mut $pacer = Think::new($clock, time.0, every);
                $run
            }
            Pace::Open { rate, arrival, shared } => {
                let sharing = $sharing(shared);
                let mut $pacer = Open::new($clock, rate.0, arrival, &sharing, $stream.rng(Purpose::Arrival));
                $run
            }
        }
    };
}
pub(crate) use with_pacer;

struct SyncVisitor<'a, B> {
    worker: &'a BlockWorker,
    gate: &'a Gate,
    backend: B,
}

impl<B: SyncBackend<Op = BlockOp>> BlockVisitor for SyncVisitor<'_, B> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(mut self, mut source: S) -> Result<Ended, String> {
        let (worker, gate) = (self.worker, self.gate);
        with_pacer!(worker.pace, gate.clock(), |shared| worker.sharing(gate, shared), worker.stream, |pacer| {
            run_to_end(gate, &mut source, &mut self.backend, &mut pacer)
        })
    }
}

/// Passes the gate, runs the loop of one op at a time, and stops the clock.
pub(crate) fn run_to_end<S, B, P>(gate: &Gate, source: &mut S, backend: &mut B, pacer: &mut P) -> Result<Ended, String>
where
    S: Source,
    B: SyncBackend<Op = S::Op>,
    P: crate::pacer::Pacer,
{
    let Some(mut passed) = gate.pass() else { return Ok(Ended::Stopped) };
    pacer.start(passed.started_at);
    let ended = run_sync(&mut passed.desk, source, backend, pacer);
    let finished = backend.finish();
    if let Some(transactions) = source.transactions() {
        passed.desk.recorder.set_transactions(transactions);
    }
    passed.stop_clock();
    match finished {
        Ok(()) => Ok(ended),
        Err(unfinished) => Ok(passed.desk.unfinished(&unfinished)),
    }
}

struct RingVisitor<'a> {
    worker: &'a BlockWorker,
    gate: &'a Gate,
    ring: Ring,
    /// A kernel thread submits.
    polls: bool,
}

impl BlockVisitor for RingVisitor<'_> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(mut self, mut source: S) -> Result<Ended, String> {
        let (worker, gate) = (self.worker, self.gate);
        with_pacer!(worker.pace, gate.clock(), |shared| worker.sharing(gate, shared), worker.stream, |pacer| {
            let Some(mut passed) = gate.pass() else { return Ok(Ended::Stopped) };
            crate::pacer::Pacer::start(&mut pacer, passed.started_at);
            let poller_before_ns = if self.polls { poller_cpu_ns() } else { 0 };
            let ended = run_queued(&mut passed.desk, &mut source, &mut self.ring, &mut pacer, worker.queue);
            passed.stop_clock();
            if self.polls {
                // Polling is not free: the kernel thread that does it is charged to the worker.
                let polled_ns = poller_cpu_ns().saturating_sub(poller_before_ns);
                gate.report().cpu_system_ns.fetch_add(polled_ns, Relaxed);
            }
            ended.map_err(|error| format!("io_uring_enter: {error}"))
        })
    }
}
