//! Binds a worker's plan to its source, backend and pacer, once, before the loop starts.

use crate::backend::payload::Payload;
use crate::backend::{Begun, BlockFiles, FileAccess, NotBegun, SyncBackend};
use crate::barrier::{Barrier, Body, Passed};
use crate::bound::{BackendRequest, BoundBackend, build_backend};
use crate::content::{BlockBytes, BufferRequest, Buffers, BytesRequest, Headed, Stamper, Verifier, Writers};
use crate::instances::{AnyBackend, AnySource, run_any_queued, run_any_sync};
use crate::pacer::{AnyPacer, KindsDue, Pacer, PacerRequest, Pacing, Sharing};
use crate::rng::{Purpose, Rng, StreamId};
use crate::source::Source;
use crate::source::blocks::{BlockPlan, BlockSource};
use crate::terms::{Ended, Queue, Stamping};
use crate::worker::run_sync;
use crate::worker_error::WorkerError;
use plumb_workload::job::{BufferRules, ByKind};
use plumb_workload::verify::StampLayout;
use plumb_workload::{BufferContent, Content, Mix, OpKind, Verify};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// A worker of block I/O, planned.
pub(crate) struct BlockWorker {
    pub(crate) plan: BlockPlan,
    pub(crate) files: BlockFiles,
    pub(crate) backend: BoundBackend,
    pub(crate) queue: Queue,
    pub(crate) pacing: Pacing,
    pub(crate) mix: Mix,
    /// What its target's writes hold.
    pub(crate) content: Content,
    /// How it fills its buffers, in place of that.
    pub(crate) buffers: Option<BufferContent>,
    /// Where relative paths of patterns begin.
    pub(crate) base: PathBuf,
    /// How its blocks are stamped and verified.
    pub(crate) verify: Option<Verify>,
    /// The headers of its target's blocks, where they are Plumb's own.
    pub(crate) stamping: Option<Stamping>,
    pub(crate) stream: StreamId,
    /// As `stream`, but different in every run, so that no two runs write the same bytes.
    pub(crate) content_stream: StreamId,
}

impl BlockWorker {
    /// The worker's body: everything up to the barrier happens before the clock starts.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    /// What its writes hold where nobody looks.
    fn filled(&self) -> Result<Buffers, WorkerError> {
        let Some(content) = &self.buffers else { return Ok(Buffers::of(self.content, self.content_stream)) };
        let request = BufferRequest {
            content,
            stream: self.content_stream,
            smallest: self.plan.smallest_block_bytes(),
            total_bytes: self.plan.working_set_bytes(),
            base: &self.base,
        };
        Ok(Buffers::new(&request)?)
    }

    /// What its writes hold, and what its reads should.
    fn bytes(&self, slots: usize) -> Result<BlockBytes, WorkerError> {
        let moves = ByKind { read: self.mix.read > 0, write: self.mix.write > 0, trim: self.mix.trim > 0 };
        if let Some(verify) = self.verify.as_ref().filter(|verify| verify.layout != StampLayout::Plumb) {
            let bytes = BlockBytes::new(&BytesRequest {
                moves,
                ops: None,
                verify: Some(verify),
                content: self.buffers.as_ref().unwrap_or(&BufferContent::default()),
                name: "",
                names: None,
                smallest_block_bytes: self.plan.smallest_block_bytes(),
                largest_block_bytes: self.plan.largest_block_bytes(),
                in_flight_max: slots,
                writers: Writers::Several,
                seed: self.stream.seed,
                worker_number: self.stream.worker + 1,
                content_seed: self.content_stream.rng(Purpose::Content).next_u64(),
                base: &self.base,
            });
            return Ok(bytes?);
        }
        let buffers = self.filled()?;
        let (Some(_), Some(stamping)) = (&self.verify, self.stamping) else {
            return Ok(BlockBytes::plain(buffers, moves.write, moves.read));
        };
        let Stamping { checksum, interval_bytes, seed, first_sequence } = stamping;
        Ok(BlockBytes::headed(Headed {
            stamper: Stamper::new(checksum, interval_bytes, seed, first_sequence)?,
            verifier: Verifier::new(interval_bytes, Some(seed))?,
            buffers,
        }))
    }

    /// Buffers for so many ops in flight; what their content costs goes into the report.
    fn payload(&self, barrier: &Barrier, slots: usize) -> Result<Payload, WorkerError> {
        let block_bytes = self.plan.largest_block_bytes();
        let make = |slots: usize| {
            Payload::new(slots, block_bytes as usize, self.bytes(slots)?, &BufferRules::default())
                .map_err(|source| WorkerError::Buffers { slots, bytes: block_bytes.into(), source })
        };
        let payload = make(slots)?;
        if payload.works_each_op() {
            // Not with the worker's own, which keep account of each op.
            let costs = make(1)?.costs(block_bytes);
            barrier.report().fill_cost_ns.store(costs.fill_ns, Relaxed);
            barrier.report().check_cost_ns.store(costs.check_ns, Relaxed);
        }
        Ok(payload)
    }

    fn run(mut self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let access = if self.mix.write > 0 { FileAccess::ReadWrite } else { FileAccess::Read };
        let files = std::mem::take(&mut self.files);
        let backend = std::mem::replace(&mut self.backend, BoundBackend::Null);
        let smallest = self.plan.smallest_block_bytes();
        let request = BackendRequest::new(backend, self.queue.depth, files, access, smallest, self.stream);
        let backend = build_backend(request, barrier, |slots| self.payload(barrier, slots))?;
        let mut source = AnySource::Blocks(BlockSource::new(&self.plan));
        let arrivals = self.stream.rng(Purpose::Arrival);
        let mut pacer = bind_pacer(&self.pacing, barrier, arrivals, None);
        match backend {
            AnyBackend::Sync(mut backend) => {
                let Some(mut passed) = barrier.pass() else { return Ok(Ended::Stopped) };
                let ended = match begin(&mut passed, backend.table(), pacer.table()) {
                    Ok(()) => run_any_sync(&mut passed.context, &mut source, &mut backend, &mut pacer),
                    Err(ended) => ended,
                };
                let finished = backend.table().finish();
                passed.stop_clock();
                Ok(finished.map_or_else(|unfinished| passed.context.unfinished(&unfinished), |()| ended))
            }
            AnyBackend::Queued(mut backend) => {
                let Some(mut passed) = barrier.pass() else { return Ok(Ended::Stopped) };
                pacer.table().start(passed.started_at);
                let helped_before_ns = backend.table().helpers_cpu_ns();
                let ended = run_any_queued(&mut passed.context, &mut source, &mut backend, &mut pacer, self.queue);
                passed.stop_clock();
                let backend = backend.table();
                // Polling is not free: a kernel thread that does it is charged to the worker.
                let helped_ns = backend.helpers_cpu_ns().saturating_sub(helped_before_ns);
                barrier.report().cpu_system_ns.fetch_add(helped_ns, Relaxed);
                ended.map_err(|source| WorkerError::Backend { backend: backend.name(), source })
            }
        }
    }
}

/// The pacer of a worker. `kinds` is what its source asks which kind of op is due.
pub(crate) fn bind_pacer<'a>(
    pacing: &Pacing,
    barrier: &'a Barrier,
    arrivals: Rng,
    kinds: Option<KindsDue>,
) -> AnyPacer<'a> {
    let shares = pacing.pace.open.is_some_and(|load| load.shared);
    let request = PacerRequest {
        pace: pacing.pace,
        clock: *barrier.clock(),
        depth: pacing.depth,
        arrivals,
        sharing: if shares { barrier.sharing(pacing.group_count) } else { Sharing::Own },
        ramp: pacing.ramp,
        paces_all: pacing.paces_all,
        flow: pacing.flow_home.map(|home| barrier.flow(home)),
        flow_entry: pacing.flow_entry,
        search: &barrier.report().search,
        kinds,
    };
    AnyPacer::of(&request)
}

/// Passes the barrier, runs the loop of one op at a time, and stops the clock.
pub(crate) fn run_to_end<S, B, P>(barrier: &Barrier, source: &mut S, backend: &mut B, pacer: &mut P) -> Ended
where
    S: Source + ?Sized,
    B: SyncBackend<Op = S::Op>,
    P: Pacer + ?Sized,
{
    let Some(mut passed) = barrier.pass() else { return Ended::Stopped };
    let ended = match begin(&mut passed, backend, pacer) {
        Ok(()) => run_sync(&mut passed.context, source, backend, pacer),
        Err(ended) => ended,
    };
    let finished = backend.finish();
    if let Some(transactions) = source.transactions() {
        passed.context.recorder.set_transactions(transactions);
    }
    passed.stop_clock();
    match finished {
        Ok(()) => ended,
        Err(unfinished) => passed.context.unfinished(&unfinished),
    }
}

/// Behind the barrier: begins with the backend, and starts the pacer where the worker's time begins.
pub(crate) fn begin<B: SyncBackend + ?Sized, P: Pacer + ?Sized>(
    passed: &mut Passed<'_>,
    backend: &mut B,
    pacer: &mut P,
) -> Result<(), Ended> {
    match backend.begin() {
        Ok(Begun::AtOnce) => {}
        Ok(Begun::BehindOther) => passed.start_over(),
        Err(NotBegun::Stopped) => return Err(Ended::Stopped),
        Err(NotBegun::Failed { errno, reason }) => {
            return Err(passed.context.failed(OpKind::Open, Path::new(""), errno, &reason));
        }
    }
    pacer.start(passed.started_at);
    Ok(())
}
