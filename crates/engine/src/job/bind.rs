//! Binds a job to its stream, its backend and its pacer, once, before the loop starts.

use super::cgroup::Joined;
use super::epilogue::Epilogue;
use super::failed::JobFault;
use super::files::lock::Locked;
use super::files::open::{DeviceHandle, JobOpener};
use super::files::{JobTarget, Lengths, changes};
use super::plan::OpsPlan;
use super::process::{self, When};
use super::replay::{self, ReadingError, RecordedPlan, Recordings, Replay, ReplayFiles, ReplayOps};
use super::stream::JobSource;
use super::sweep::SweepSource;
use crate::backend::payload::Payload;
use crate::backend::record_locks::LockRule;
use crate::backend::{BlockFiles, FileAccess, NOT_OPEN};
use crate::barrier::{Barrier, Body, Passed};
use crate::bind::{begin, bind_pacer};
use crate::bound::{BackendRequest, BoundBackend, build_backend};
use crate::content::{BlockBytes, BytesRequest, Concluded, Writers};
use crate::instances::{AnyBackend, AnyQueued, AnySource, AnySync, run_any_queued, run_any_sync};
use crate::pacer::{AnyPacer, KindsDue, Pacing};
use crate::rng::{Purpose, StreamId};
use crate::terms::{Ended, Queue};
use crate::worker_error::WorkerError;
use plumb_workload::job::{AfterWrite, FileLock, JobFiles, JobOps, SweepOps};
use plumb_workload::{Backend, BufferContent, Job, OnError, OpKind, WorkerGroup};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A worker of a job, planned.
pub(crate) struct JobWorker {
    /// The name of its group, which is the job's.
    pub(crate) name: String,
    pub(crate) group: WorkerGroup,
    pub(crate) job: Box<Job>,
    pub(crate) plan: OpsPlan,
    pub(crate) files: WorkerFiles,
    pub(crate) backend: BoundBackend,
    pub(crate) queue: Queue,
    /// Where output of commands and blocks that differ go, and relative paths begin.
    pub(crate) base: PathBuf,
    pub(crate) content_seed: u64,
    pub(crate) pacing: Pacing,
    /// Whether other workers of the phase write to its files.
    pub(crate) writers: Writers,
    /// Opens its recording, where it replays one.
    pub(crate) recordings: Option<&'static dyn Recordings>,
}

/// What a job works on.
pub(crate) enum WorkerFiles {
    /// Files and devices.
    Of { target: Arc<JobTarget>, files: JobFiles },
    /// Nothing, in files of these lengths.
    Nothing { lengths: Lengths },
}

impl JobWorker {
    /// Bytes of all its files together.
    pub(crate) fn target_bytes(&self) -> u64 {
        match &self.files {
            WorkerFiles::Of { target, .. } => target.lengths.total(),
            WorkerFiles::Nothing { lengths } => lengths.total(),
        }
    }

    /// The worker's body: everything up to the barrier happens before the clock starts.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(mut self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let rules = &self.job.process;
        // The thread of a simulation is its coordinator's.
        let joined = match barrier.clock().is_virtual() {
            true => None,
            false => process::apply(rules)?,
        };
        if let Some(line) = &rules.run_before {
            process::run_command(line, When::Before, &self.name, &self.base)?;
        }
        let run_after = rules.run_after.clone();
        let ended = self.run_job(barrier);
        if let (Some(line), Ok(_)) = (&run_after, &ended)
            && let Err(failure) = process::run_command(line, When::After, &self.name, &self.base)
        {
            barrier.report().fallbacks.write(failure.to_string().as_bytes());
        }
        if let Some(Err(failure)) = joined.map(Joined::leave) {
            barrier.report().fallbacks.write(failure.to_string().as_bytes());
        }
        let removed = self.remove_files();
        ended.and_then(|ended| removed.map(|()| ended))
    }

    /// Removes the files, where the job is to leave none.
    fn remove_files(&mut self) -> Result<(), WorkerError> {
        let WorkerFiles::Of { target, .. } = &self.files else { return Ok(()) };
        if !self.job.files.unlink {
            return Ok(());
        }
        let mut door = target.door();
        (0..target.paths.count())
            .try_for_each(|number| door.remove(&target.paths.path(number)))
            .map_err(|refusal| Box::new(refusal).into())
    }

    fn run_job(&mut self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let access = if changes(&self.group, &self.job) { FileAccess::ReadWrite } else { FileAccess::Read };
        if self.job.files.create_only {
            return Ok(match barrier.pass() {
                Some(mut passed) => {
                    passed.stop_clock();
                    Ended::Done
                }
                None => Ended::Stopped,
            });
        }
        let (files, epilogue) = match &self.files {
            WorkerFiles::Of { target, .. } => {
                let devices = DeviceHandle::of(&self.job, &self.group.backend);
                let opener = Arc::new(JobOpener::new(Arc::clone(target), self.job.files.clone(), access, devices));
                let files = match opener.block_files(&self.job, &self.group.backend) {
                    Ok(files) => files,
                    Err(error) if self.group.on_error == OnError::Leave => {
                        return Ok(JobFault::of(&error).fail(barrier));
                    }
                    Err(error) => return Err(Box::new(error).into()),
                };
                if self.job.files.lock != FileLock::None && files._owned.is_empty() {
                    return Err(WorkerError::LockedInTurn);
                }
                let epilogue = Epilogue::new(&self.job, opener, &files);
                (files, epilogue)
            }
            WorkerFiles::Nothing { lengths } => {
                (BlockFiles { fds: vec![NOT_OPEN; lengths.count()], ..BlockFiles::default() }, Epilogue::default())
            }
        };
        let backend = std::mem::replace(&mut self.backend, BoundBackend::Null);
        let smallest = block_bytes(self.plan.smallest_block_bytes())?;
        let lock_files = files._owned.clone();
        let mut request = BackendRequest::new(backend, self.group.depth, files, access, smallest, self.stream());
        request.drops_pages = self.job.files.direct && self.group.backend == Backend::Mmap;
        request.atomic_writes = self.job.files.atomic_writes;
        request.mapping_advice = self.job.files.mapping_advice();
        request.record_lock = self.job.files.record_lock.map(|lock| LockRule {
            lock,
            over_read_back: matches!(&self.job.ops, JobOps::Sweep(sweep)
                if matches!(sweep.does, SweepOps::Write { then: AfterWrite::ReadBack })),
        });
        request.priorities = self.job.process.command_priorities.clone();
        let worker = &*self;
        let backend = build_backend(request, barrier, |slots| worker.payload(barrier, slots))?;
        Running { worker, barrier, epilogue, lock_files }.run(backend)
    }

    /// Where draws come from that are not the stream's own.
    fn stream(&self) -> StreamId {
        match &self.job.ops {
            JobOps::Stream(stream) => StreamId { seed: stream.seed, phase: 0, worker: stream.worker_number },
            JobOps::Recording(_) => StreamId { seed: self.content_seed, phase: 0, worker: 0 },
            JobOps::Sweep(sweep) => StreamId { seed: sweep.seed, phase: 0, worker: sweep.worker_number },
        }
    }

    /// Opens the recording, and begins to read it.
    fn replay(&self, plan: &RecordedPlan, barrier: &Barrier) -> Result<Replay, WorkerError> {
        let recording = &plan.recording;
        let Some(recordings) = self.recordings else {
            return Err(WorkerError::NoReader { path: recording.path.display().to_string() });
        };
        let files = match &self.files {
            WorkerFiles::Of { target, files } => Some(ReplayFiles {
                names: files.names.clone(),
                lengths: target.lengths.to_vec(),
                kind: target.kind,
                alignment_bytes: plan.alignment_bytes,
            }),
            WorkerFiles::Nothing { .. } => None,
        };
        let ops = ReplayOps::open(recordings, recording, files)?;
        Ok(replay::replay(ops, barrier.clock(), recording.speed_percent))
    }

    fn bytes(&self, in_flight_max: usize) -> Result<BlockBytes, WorkerError> {
        let stream = self.stream();
        Ok(BlockBytes::new(&BytesRequest {
            moves: self.job.moves(),
            ops: Some(&self.job.ops),
            verify: self.group.verify.as_ref(),
            content: self.group.content.as_ref().unwrap_or(&BufferContent::default()),
            name: &self.name,
            names: match &self.files {
                WorkerFiles::Of { files, .. } => Some(&files.names),
                WorkerFiles::Nothing { .. } => None,
            },
            smallest_block_bytes: block_bytes(self.plan.smallest_block_bytes())?,
            largest_block_bytes: block_bytes(self.plan.largest_block_bytes())?,
            in_flight_max,
            writers: self.writers,
            seed: stream.seed,
            worker_number: stream.worker,
            content_seed: self.content_seed,
            base: &self.base,
        })?)
    }

    /// Buffers for so many ops in flight; what their content costs goes into the report.
    fn payload(&self, barrier: &Barrier, slots: usize) -> Result<Payload, WorkerError> {
        let largest = block_bytes(self.plan.largest_block_bytes())?;
        let make = |slots: usize| {
            Payload::new(slots, largest as usize, self.bytes(slots)?, &self.job.buffers)
                .map_err(|source| WorkerError::Buffers { slots, bytes: largest.into(), source })
        };
        let payload = make(slots)?;
        // What verifies keeps account of each op, and is not asked for ops that are none.
        if payload.works_each_op() && self.group.verify.is_none() {
            barrier.report().fill_cost_ns.store(make(1)?.costs(largest).fill_ns, Relaxed);
        }
        Ok(payload)
    }
}

fn block_bytes(bytes: u64) -> Result<u32, WorkerError> {
    u32::try_from(bytes).map_err(|_| WorkerError::TooLong { bytes })
}

/// A job's source and pacer, bound to each other.
struct Bound<'a> {
    source: AnySource,
    pacer: AnyPacer<'a>,
    /// Where errors of reading the ops go, where they are read.
    reading: Option<ReadingError>,
}

/// A job at work.
struct Running<'a> {
    worker: &'a JobWorker,
    barrier: &'a Barrier,
    epilogue: Epilogue,
    lock_files: Arc<[std::fs::File]>,
}

impl<'a> Running<'a> {
    /// Runs the job on its backend.
    fn run(&self, backend: AnyBackend<'_>) -> Result<Ended, WorkerError> {
        let lock = self.worker.job.files.lock;
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

    /// Makes the source and the pacer.
    fn bind(&self) -> Result<Bound<'a>, WorkerError> {
        // Said by the pacer and asked by the source, where rates decide over a mix.
        let kinds = KindsDue::of(self.worker.job.moves(), &self.worker.pacing.pace);
        let paced = || {
            let arrivals = self.worker.stream().rng(Purpose::Arrival);
            bind_pacer(&self.worker.pacing, self.barrier, arrivals, kinds.clone())
        };
        Ok(match &self.worker.plan {
            OpsPlan::Drawn(plan) => {
                let source = AnySource::Job(JobSource::new(plan, kinds.clone()));
                Bound { source, pacer: paced(), reading: None }
            }
            OpsPlan::Swept(plan) => {
                let source = AnySource::Other(Box::new(SweepSource::new(plan)));
                Bound { source, pacer: paced(), reading: None }
            }
            OpsPlan::Recorded(plan) => {
                let Replay { source, pacer, error } = self.worker.replay(plan, self.barrier)?;
                let pacer = match pacer {
                    Some(recorded) => AnyPacer::Other(Box::new(recorded)),
                    None => paced(),
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
        let ended = self.read_through(&mut passed, ended, reading.as_ref());
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
        let ended = self.read_through(&mut passed, ended, reading.as_ref());
        let ended = self.conclude(passed, ended, || backend.conclude());
        // Polling is not free: a kernel thread that does it is charged to the worker.
        let helped_ns = backend.helpers_cpu_ns().saturating_sub(helped_before_ns);
        self.barrier.report().cpu_system_ns.fetch_add(helped_ns, Relaxed);
        Ok(ended)
    }

    /// How the ops ended where they were read: what was wrong with the recording fails the job that came so far.
    fn read_through(&self, passed: &mut Passed<'_>, ended: Ended, reading: Option<&ReadingError>) -> Ended {
        let (Ended::Done, Some(text), JobOps::Recording(recording)) =
            (ended, reading.and_then(ReadingError::text), &self.worker.job.ops)
        else {
            return ended;
        };
        passed.context.failed(OpKind::Read, &recording.path, None, &text)
    }

    /// What comes behind the last op: flushes inside the worker's time, then what was still being verified.
    fn conclude(&self, mut passed: Passed<'_>, ended: Ended, finish: impl FnOnce() -> Concluded) -> Ended {
        let ended = match ended {
            // The stream has yielded its last flushes by itself.
            Ended::Failed | Ended::Done => ended,
            Ended::Stopped => self.epilogue.run(&mut passed.context, ended),
        };
        passed.stop_clock();
        let mut wrong = false;
        let concluded = finish();
        if let Some(read_back_ns) = concluded.read_back_ns {
            let report = self.barrier.report();
            report.read_back_ns.store(read_back_ns, Relaxed);
            report.load_reads.store(u64::from(self.worker.job.moves().read), Relaxed);
        }
        for mismatch in concluded.wrong {
            wrong = true;
            passed.context.recorder.count_error();
            passed.context.faults.keep(OpKind::Read, 0, 0, None, std::path::Path::new(""), &mismatch.to_string());
        }
        if wrong { Ended::Failed } else { ended }
    }
}
