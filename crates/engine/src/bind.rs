//! Binds a worker's plan to its types: source × backend × pacer, chosen once, before the loop starts.

pub(crate) use crate::backend::bound::{BackendRequest, BoundBackend, Rider, with_backend};
use crate::backend::payload::{Checking, Payload, SlotUse};
use crate::backend::{Begun, BlockFiles, FileAccess, NotBegun, QueuedBackend, SyncBackend};
use crate::content::{Filler, Stamper, Verifier};
use crate::gate::{Body, Gate, Passed};
use crate::op::BlockOp;
use crate::pacer::{Closed, Open, Sharing, Think};
use crate::rng::{Purpose, StreamId};
use crate::source::Source;
use crate::source::blocks::{BlockPlan, BlockVisitor, with_source};
use crate::worker::{Ended, Queue, run_queued, run_sync};
use plumb_workload::{Checksum, Content, Mix, OpKind, Pace};
use std::path::Path;
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

    fn run(self, gate: &Gate) -> Result<Ended, String> {
        let access = if self.mix.write > 0 { FileAccess::ReadWrite } else { FileAccess::Read };
        let mut worker = self;
        let files = std::mem::take(&mut worker.files);
        let backend = std::mem::replace(&mut worker.backend, BoundBackend::Null);
        let smallest = worker.plan.smallest_block_bytes();
        let request = BackendRequest::new(backend, worker.queue.depth, files, access, smallest, worker.stream);
        with_backend(request, gate, |slots| worker.payload(gate, slots), BlockRider { worker: &worker, gate })
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

/// Binds a block worker's source and pacer to the backend that it is handed.
struct BlockRider<'a> {
    worker: &'a BlockWorker,
    gate: &'a Gate,
}

impl Rider for BlockRider<'_> {
    fn sync<B: SyncBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String> {
        with_source(&self.worker.plan, SyncVisitor { rider: self, backend })
    }

    fn queued<B: QueuedBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String> {
        with_source(&self.worker.plan, QueuedVisitor { rider: self, backend })
    }
}

struct SyncVisitor<'a, B> {
    rider: BlockRider<'a>,
    backend: B,
}

impl<B: SyncBackend<Op = BlockOp>> BlockVisitor for SyncVisitor<'_, B> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(mut self, mut source: S) -> Result<Ended, String> {
        let BlockRider { worker, gate } = self.rider;
        with_pacer!(worker.pace, gate.clock(), |shared| worker.sharing(gate, shared), worker.stream, |pacer| {
            run_to_end(gate, &mut source, &mut self.backend, &mut pacer)
        })
    }
}

struct QueuedVisitor<'a, B> {
    rider: BlockRider<'a>,
    backend: B,
}

impl<B: QueuedBackend<Op = BlockOp>> BlockVisitor for QueuedVisitor<'_, B> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(mut self, mut source: S) -> Result<Ended, String> {
        let BlockRider { worker, gate } = self.rider;
        with_pacer!(worker.pace, gate.clock(), |shared| worker.sharing(gate, shared), worker.stream, |pacer| {
            run_queued_to_end(gate, &mut source, &mut self.backend, &mut pacer, worker.queue)
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
    let ended = match begin(&mut passed, backend, pacer) {
        Ok(()) => run_sync(&mut passed.desk, source, backend, pacer),
        Err(ended) => ended,
    };
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

/// Behind the gate: begins with the backend, and starts the pacer where the worker's time begins.
pub(crate) fn begin<B: SyncBackend, P: crate::pacer::Pacer>(
    passed: &mut Passed<'_>,
    backend: &mut B,
    pacer: &mut P,
) -> Result<(), Ended> {
    match backend.begin() {
        Ok(Begun::AtOnce) => {}
        Ok(Begun::BehindOther) => passed.start_over(),
        Err(NotBegun::Stopped) => return Err(Ended::Stopped),
        Err(NotBegun::Failed { errno, reason }) => {
            return Err(passed.desk.failed(OpKind::Open, Path::new(""), errno, &reason));
        }
    }
    pacer.start(passed.started_at);
    Ok(())
}

/// Passes the gate, runs the loop of several ops in flight, and stops the clock.
pub(crate) fn run_queued_to_end<S, B, P>(
    gate: &Gate,
    source: &mut S,
    backend: &mut B,
    pacer: &mut P,
    queue: Queue,
) -> Result<Ended, String>
where
    S: Source,
    B: QueuedBackend<Op = S::Op>,
    P: crate::pacer::Pacer,
{
    let Some(mut passed) = gate.pass() else { return Ok(Ended::Stopped) };
    pacer.start(passed.started_at);
    let helped_before_ns = backend.helpers_cpu_ns();
    let ended = run_queued(&mut passed.desk, source, backend, pacer, queue);
    passed.stop_clock();
    // Polling is not free: a kernel thread that does it is charged to the worker.
    let helped_ns = backend.helpers_cpu_ns().saturating_sub(helped_before_ns);
    gate.report().cpu_system_ns.fetch_add(helped_ns, Relaxed);
    ended.map_err(|error| format!("{}: {error}", backend.name()))
}
