//! Connects a block I/O worker to its source, backend and pacer, once, before its loop starts.

use crate::backend::payload::Payload;
use crate::backend::record_locks::LockRule;
use crate::backend::{Begun, BlockFiles, FileAccess, NOT_OPEN, NotBegun, SyncBackend};
use crate::barrier::{Barrier, Body, Passed};
use crate::bound::{BackendRequest, BoundBackend, build_backend};
use crate::content::{BlockBytes, BufferRequest, Buffers, BytesRequest, Concluded, Headed, Stamper, Verifier, Writers};
use crate::files::donor;
use crate::files::epilogue::Epilogue;
use crate::files::failed::JobFault;
use crate::files::lock::Locked;
use crate::files::open::{DeviceHandle, JobOpener};
use crate::files::{JobTarget, Lengths, changes};
use crate::instances::{AnyBackend, AnyQueued, AnySource, AnySync, run_any_queued, run_any_sync};
use crate::op::BlockOp;
use crate::pacer::{AnyPacer, KindsDue, Pacer, PacerRequest, Pacing, Sharing};
use crate::process::cgroup::Joined;
use crate::process::{self, When};
use crate::replay::ReplayTally;
use crate::rng::{Purpose, Rng, StreamId};
use crate::source::Source;
use crate::source::accesses::AccessesSource;
use crate::source::fio::FioSource;
use crate::source::plumb::PlumbSource;
use crate::source::requests::RequestsSource;
use crate::source::sweep::SweepSource;
use crate::source::trace::{self, ReadingError, Recordings, Replay, ReplayFiles, ReplayOps, TracePlan};
use crate::stream_plan::StreamPlan;
use crate::terms::{Ended, Queue, Stamping};
use crate::worker::run_sync;
use crate::worker_error::WorkerError;
use plumb_result::measurement::Moved;
use plumb_workload::blocks::sweep::{AfterWrite, SweepOps};
use plumb_workload::files::{FileLock, JobFiles};
use plumb_workload::verify::StampLayout;
use plumb_workload::{Backend, BufferContent, Content, OnError, OpKind, WorkerGroup};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A planned worker of block I/O.
pub(crate) struct BlockWorker {
    pub(crate) name: String,
    pub(crate) group: WorkerGroup,
    pub(crate) plan: StreamPlan,
    pub(crate) files: WorkerFiles,
    pub(crate) backend: BoundBackend,
    pub(crate) queue: Queue,
    pub(crate) pacing: Pacing,
    /// Content of writes to its target.
    pub(crate) content: Content,
    /// Header rules of its target's blocks, if they have Plumb's own headers.
    pub(crate) stamping: Option<Stamping>,
    /// Whether other workers of the phase write to its files.
    pub(crate) writers: Writers,
    /// Base of relative paths, and directory for command output and wrong blocks.
    pub(crate) base: PathBuf,
    /// Random stream for choices outside of the op stream.
    pub(crate) stream: StreamId,
    /// Differs in every run, so that no two runs write the same bytes.
    pub(crate) content_stream: StreamId,
    /// Opens the recording of a replay.
    pub(crate) recordings: Option<&'static dyn Recordings>,
    /// Counts the replayed part of the recording, if a report needs it.
    pub(crate) tally: Option<Arc<ReplayTally>>,
}

/// The files of a worker's ops.
pub(crate) enum WorkerFiles {
    /// Files opened by the run, or no files but a length.
    Held(BlockFiles),
    /// Named files and devices, which the worker opens by the rules of its group.
    Named { target: Arc<JobTarget>, files: JobFiles },
    /// No files; ops go nowhere, with these file lengths.
    Nothing { lengths: Lengths },
}

impl WorkerFiles {
    /// Returns the total size of all files in bytes.
    pub(crate) fn total_bytes(&self) -> u64 {
        match self {
            WorkerFiles::Held(files) => files.lengths.iter().sum(),
            WorkerFiles::Named { target, .. } => target.lengths.total(),
            WorkerFiles::Nothing { lengths } => lengths.total(),
        }
    }

    fn names(&self) -> Option<&plumb_workload::files::Names> {
        match self {
            WorkerFiles::Named { files, .. } => Some(&files.names),
            WorkerFiles::Held(_) | WorkerFiles::Nothing { .. } => None,
        }
    }
}

impl BlockWorker {
    /// Returns the worker's body. Everything before the barrier happens before the clock starts.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(mut self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let rules = &self.group.process;
        // A simulation runs in the thread of its coordinator, whose properties must not change.
        let joined = match barrier.clock().is_virtual() {
            true => None,
            false => process::apply(rules)?,
        };
        let run_name = rules.run_name.clone().unwrap_or_else(|| self.name.clone());
        if let Some(line) = &rules.run_before {
            process::run_command(line, When::Before, &run_name, &self.base)?;
        }
        let run_after = rules.run_after.clone();
        let ended = self.run_ops(barrier);
        if let (Some(line), Ok(_)) = (&run_after, &ended)
            && let Err(failure) = process::run_command(line, When::After, &run_name, &self.base)
        {
            barrier.report().fallbacks.write(failure.to_string().as_bytes());
        }
        if let Some(Err(failure)) = joined.map(Joined::leave) {
            barrier.report().fallbacks.write(failure.to_string().as_bytes());
        }
        let removed = self.remove_files();
        ended.and_then(|ended| removed.map(|()| ended))
    }

    /// Removes the files, if the group asks for it.
    fn remove_files(&self) -> Result<(), WorkerError> {
        let WorkerFiles::Named { target, .. } = &self.files else { return Ok(()) };
        if !self.group.files.unlink {
            return Ok(());
        }
        let mut door = target.door();
        (0..target.paths.count())
            .try_for_each(|number| door.remove(&target.paths.path(number)))
            .map_err(|refusal| Box::new(refusal).into())
    }

    fn run_ops(&mut self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let rules = &self.group.files;
        if rules.create_only {
            return Ok(match barrier.pass() {
                Some(mut passed) => {
                    passed.stop_clock();
                    Ended::Done
                }
                None => Ended::Stopped,
            });
        }
        let access = if changes(&self.group) { FileAccess::ReadWrite } else { FileAccess::Read };
        let mut epilogue = Epilogue::default();
        let mut gives = None;
        let files = match &mut self.files {
            WorkerFiles::Held(files) => std::mem::take(files),
            WorkerFiles::Named { target, .. } => {
                let devices = DeviceHandle::for_group(&self.group);
                let opener = Arc::new(JobOpener::new(Arc::clone(target), rules.clone(), access, devices));
                let opened = donor::open(target, &self.base, &self.group).and_then(|found| {
                    gives = found;
                    opener.block_files(&self.group)
                });
                let files = match opened {
                    Ok(files) => files,
                    Err(error) if self.group.on_error == OnError::Leave => {
                        return Ok(JobFault::from_error(&error).fail(barrier));
                    }
                    Err(error) => return Err(Box::new(error).into()),
                };
                if rules.lock != FileLock::None && files._owned.is_empty() {
                    return Err(WorkerError::LockedInTurn);
                }
                epilogue = Epilogue::new(&self.group, opener, &files);
                files
            }
            WorkerFiles::Nothing { lengths } => {
                let in_memory = self.group.backend == Backend::PageFault;
                let known = if in_memory { lengths.to_vec() } else { Vec::new() };
                BlockFiles { fds: vec![NOT_OPEN; lengths.count()], lengths: known, ..BlockFiles::default() }
            }
        };
        let backend = std::mem::replace(&mut self.backend, BoundBackend::Null);
        let smallest = block_bytes(self.plan.smallest_block_bytes())?;
        let lock_files = files._owned.clone();
        let mut request = BackendRequest::new(backend, self.queue.depth, files, access, smallest, self.stream);
        request.drops_pages = rules.direct && self.group.backend == Backend::Mmap;
        request.atomic_writes = rules.atomic_writes;
        request.donor = gives;
        request.mapping_advice = rules.mapping_advice();
        request.record_lock = rules.record_lock.map(|lock| LockRule {
            lock,
            over_read_back: self
                .group
                .work
                .sweep()
                .is_some_and(|sweep| matches!(sweep.does, SweepOps::Write { then: AfterWrite::ReadBack })),
        });
        request.priorities = self.group.process.command_priorities.clone();
        let worker = &*self;
        let backend = build_backend(request, barrier, |slots| worker.payload(barrier, slots))?;
        Running { worker, barrier, epilogue, lock_files }.run(backend)
    }

    /// Opens the recording and starts to read it.
    fn replay(&self, plan: &TracePlan, barrier: &Barrier) -> Result<Replay, WorkerError> {
        let recording = &plan.recording;
        let Some(recordings) = self.recordings else {
            return Err(WorkerError::NoReader { path: recording.path.display().to_string() });
        };
        let files = match &self.files {
            WorkerFiles::Named { target, files } => Some(ReplayFiles {
                names: files.names.clone(),
                lengths: target.lengths.to_vec(),
                kind: target.kind,
                alignment_bytes: plan.alignment_bytes,
            }),
            WorkerFiles::Held(_) | WorkerFiles::Nothing { .. } => None,
        };
        let ops = ReplayOps::open(recordings, recording, files)?;
        let tally = self.tally.as_ref().map(ReplayTally::lane);
        Ok(trace::replay(ops, barrier.clock(), recording, self.queue.depth, tally))
    }

    /// Prepares the content of writes and the verification of reads.
    fn bytes(&self, in_flight_max: usize) -> Result<BlockBytes, WorkerError> {
        let moves = self.group.work.moves();
        let verify = self.group.verify.as_ref();
        let own = verify.is_none_or(|verify| verify.layout == StampLayout::Plumb);
        match &self.plan {
            StreamPlan::Plumb(plan) if own => {
                let buffers = match &self.group.content {
                    None => Buffers::for_target(self.content, self.content_stream),
                    Some(content) => Buffers::new(&BufferRequest {
                        content,
                        stream: self.content_stream,
                        smallest: plan.smallest_block_bytes(),
                        total_bytes: plan.working_set_bytes(),
                        base: &self.base,
                    })?,
                };
                let (Some(_), Some(stamping)) = (verify, self.stamping) else {
                    return Ok(BlockBytes::plain(buffers, moves.write, moves.read));
                };
                let Stamping { checksum, interval_bytes, seed, first_sequence } = stamping;
                let stamper = Stamper::new(checksum, interval_bytes, seed, first_sequence);
                let verifier = Verifier::new(interval_bytes, Some(seed));
                return Ok(BlockBytes::headed(Headed { stamper: stamper?, verifier: verifier?, buffers }));
            }
            _ => {}
        }
        let (worker_number, content_seed) = match &self.plan {
            StreamPlan::Plumb(_) => (self.stream.worker + 1, self.content_stream.rng(Purpose::Content).next_u64()),
            _ => (self.stream.worker, self.content_stream.seed),
        };
        Ok(BlockBytes::new(&BytesRequest {
            moves,
            ops: self.group.work.foreign_stream(),
            verify,
            content: self.group.content.as_ref().unwrap_or(&BufferContent::default()),
            name: &self.name,
            names: self.files.names(),
            smallest_block_bytes: block_bytes(self.plan.smallest_block_bytes())?,
            largest_block_bytes: block_bytes(self.plan.largest_block_bytes())?,
            in_flight_max,
            writers: self.writers,
            seed: self.stream.seed,
            worker_number,
            content_seed,
            base: &self.base,
        })?)
    }

    /// Allocates buffers for `slots` ops in flight, and reports the cost of their content.
    fn payload(&self, barrier: &Barrier, slots: usize) -> Result<Payload, WorkerError> {
        let largest = block_bytes(self.plan.largest_block_bytes())?;
        let make = |slots: usize| {
            Payload::new(slots, largest as usize, self.bytes(slots)?, &self.group.buffers)
                .map_err(|source| WorkerError::Buffers { slots, bytes: largest.into(), source })
        };
        let payload = make(slots)?;
        // A worker that reads its writes back keeps track of each op, so trial ops would confuse it.
        let reads_back = self.group.verify.is_some() && !matches!(self.plan, StreamPlan::Plumb(_));
        if payload.works_each_op() && !reads_back {
            // Measured with a separate payload, because the worker's own may keep track of each op.
            let costs = make(1)?.costs(largest);
            barrier.report().times.fill_cost_ns.store(costs.fill_ns, Relaxed);
            barrier.report().times.check_cost_ns.store(costs.check_ns, Relaxed);
        }
        Ok(payload)
    }
}

fn block_bytes(bytes: u64) -> Result<u32, WorkerError> {
    u32::try_from(bytes).map_err(|_| WorkerError::TooLong { bytes })
}

/// A worker's source with its pacer.
struct Bound<'a> {
    source: AnySource,
    pacer: AnyPacer<'a>,
    /// Receives errors from reading the ops, if they come from a file.
    reading: Option<ReadingError>,
}

/// A worker with its files, while it runs.
struct Running<'a> {
    worker: &'a BlockWorker,
    barrier: &'a Barrier,
    epilogue: Epilogue,
    lock_files: Arc<[std::fs::File]>,
}

impl<'a> Running<'a> {
    fn run(&self, backend: AnyBackend<'_>) -> Result<Ended, WorkerError> {
        let lock = self.worker.group.files.lock;
        match backend {
            AnyBackend::Sync(backend) if lock != FileLock::None => {
                let locked = Locked::new(backend.boxed(), lock, self.lock_files.clone());
                self.run_sync(AnySync::Other(Box::new(locked)))
            }
            AnyBackend::Sync(backend) => self.run_sync(backend),
            AnyBackend::Queued(_) if lock != FileLock::None => Err(WorkerError::LockedQueue),
            AnyBackend::Queued(backend) => self.run_queued(backend),
        }
    }

    /// Creates the source and the pacer.
    fn bind(&self) -> Result<Bound<'a>, WorkerError> {
        let BlockWorker { group, plan, pacing, stream, .. } = self.worker;
        let paced = |kinds| bind_pacer(pacing, self.barrier, stream.rng(Purpose::Arrival), kinds);
        // Set by the pacer and read by the source, if rates determine the mix.
        let kinds = || KindsDue::for_pace(group.work.moves(), &pacing.pace);
        let drawn = |source, kinds| Bound { source, pacer: paced(kinds), reading: None };
        Ok(match plan {
            StreamPlan::Plumb(plan) => drawn(AnySource::Plumb(PlumbSource::new(plan)), None),
            StreamPlan::Fio(plan) => {
                let kinds = kinds();
                drawn(AnySource::Fio(FioSource::new(plan, kinds.clone())), kinds)
            }
            StreamPlan::Sweep(plan) => drawn(AnySource::Other(Box::new(SweepSource::new(plan))), kinds()),
            StreamPlan::Requests(plan) => {
                drawn(AnySource::Other(Box::new(RequestsSource::new(plan, stream.rng(Purpose::Offset)))), None)
            }
            StreamPlan::Accesses(plan) => drawn(AnySource::Other(Box::new(AccessesSource::new(plan, *stream))), None),
            StreamPlan::Trace(plan) => {
                let Replay { source, pacer, error } = self.worker.replay(plan, self.barrier)?;
                let pacer = match pacer {
                    Some(recorded) => AnyPacer::Other(Box::new(recorded)),
                    None => paced(kinds()),
                };
                Bound { source: AnySource::Other(Box::new(source)), pacer, reading: Some(error) }
            }
        })
    }

    fn run_sync(&self, mut backend: AnySync<'_>) -> Result<Ended, WorkerError> {
        let Bound { mut source, mut pacer, reading } = self.bind()?;
        let Some(mut passed) = self.barrier.pass() else { return Ok(Ended::Stopped) };
        let ended = match begin(&mut passed, backend.table(), pacer.table()) {
            Ok(()) => run_any_sync(&mut passed.context, &mut source, &mut backend, &mut pacer),
            Err(ended) => ended,
        };
        let backend = backend.table();
        let ended = match backend.finish() {
            Ok(()) => ended,
            Err(unfinished) => passed.context.unfinished(&unfinished),
        };
        self.report_dry_ops(source.table());
        let ended = self.check_recording(&mut passed, ended, reading.as_ref());
        Ok(self.conclude(passed, ended, || backend.conclude()))
    }

    fn run_queued(&self, mut backend: AnyQueued) -> Result<Ended, WorkerError> {
        let Bound { mut source, mut pacer, reading } = self.bind()?;
        let Some(mut passed) = self.barrier.pass() else { return Ok(Ended::Stopped) };
        pacer.table().start(passed.started_at);
        let helped_before_ns = backend.table().helpers_cpu_ns();
        let queue = self.worker.queue;
        let ended = run_any_queued(&mut passed.context, &mut source, &mut backend, &mut pacer, queue);
        let backend = backend.table();
        let ended = ended.map_err(|source| WorkerError::Backend { backend: backend.name(), source })?;
        self.report_dry_ops(source.table());
        let ended = self.check_recording(&mut passed, ended, reading.as_ref());
        let ended = self.conclude(passed, ended, || backend.conclude());
        // Polling uses CPU time: charge the kernel's polling thread to the worker.
        let helped_ns = backend.helpers_cpu_ns().saturating_sub(helped_before_ns);
        self.barrier.report().usage.cpu_system_ns.fetch_add(helped_ns, Relaxed);
        Ok(ended)
    }

    /// Reports ops that count as done although nothing was executed.
    fn report_dry_ops(&self, source: &dyn Source<Op = BlockOp>) {
        for (kind, Moved { count, bytes }) in source.dry() {
            let cells = &self.barrier.report().dry[kind as usize];
            cells.count.store(count, Relaxed);
            cells.bytes.store(bytes, Relaxed);
        }
    }

    /// Fails a worker that ran to its end, if reading its recording failed.
    fn check_recording(&self, passed: &mut Passed<'_>, ended: Ended, reading: Option<&ReadingError>) -> Ended {
        let (Ended::Done, Some(text), Some(recording)) =
            (ended, reading.and_then(ReadingError::text), self.worker.group.work.trace())
        else {
            return ended;
        };
        passed.context.failed(OpKind::Read, &recording.path, None, &text)
    }

    /// Ends the worker: flushes inside its time, then waits for pending verification.
    fn conclude(&self, mut passed: Passed<'_>, ended: Ended, finish: impl FnOnce() -> Concluded) -> Ended {
        let ended = match ended {
            // Requests from one queue flush at their end, however they end.
            Ended::Done if self.worker.group.work.requests().is_some() => self.epilogue.run(&mut passed.context, ended),
            // The stream itself has yielded its last flushes.
            Ended::Failed | Ended::Done => ended,
            Ended::Stopped => self.epilogue.run(&mut passed.context, ended),
        };
        passed.stop_clock();
        let mut has_mismatches = false;
        let concluded = finish();
        if let Some(read_back_ns) = concluded.read_back_ns {
            let report = self.barrier.report();
            report.times.read_back_ns.store(read_back_ns, Relaxed);
            report.load_reads.store(u64::from(self.worker.group.work.moves().read), Relaxed);
        }
        for mismatch in concluded.mismatches {
            has_mismatches = true;
            passed.context.recorder.count_error();
            passed.context.faults.keep(OpKind::Read, 0, 0, None, Path::new(""), &mismatch.to_string());
        }
        if has_mismatches { Ended::Failed } else { ended }
    }
}

/// Creates the pacer of a worker. Through `kinds`, its source asks which kind of op is due.
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
    AnyPacer::new(&request)
}

/// Passes the barrier, runs the loop with one op at a time, and stops the clock.
pub(crate) fn run_to_end<S, B, P>(barrier: &Barrier, source: &mut S, backend: &mut B, pacer: &mut P) -> Ended
where
    S: Source + ?Sized,
    B: SyncBackend<Op = S::Op> + ?Sized,
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

/// Runs the backend's setup after the barrier, then starts the pacer at the beginning of the worker's time.
pub(crate) fn begin<B: SyncBackend + ?Sized, P: Pacer + ?Sized>(
    passed: &mut Passed<'_>,
    backend: &mut B,
    pacer: &mut P,
) -> Result<(), Ended> {
    match backend.begin() {
        Ok(Begun::AtOnce) => {}
        Ok(Begun::AfterOther) => passed.start_over(),
        Err(NotBegun::Stopped) => return Err(Ended::Stopped),
        Err(NotBegun::Failed { errno, reason }) => {
            return Err(passed.context.failed(OpKind::Open, Path::new(""), errno, &reason));
        }
    }
    pacer.start(passed.started_at);
    Ok(())
}
