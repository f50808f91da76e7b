//! Binds a job to its types: its stream × a backend × its pacer, chosen once, before the loop starts.

use super::cgroup::Joined;
use super::content::{Concluded, JobBytes, JobBytesRequest, Writers};
use super::failed::JobFault;
use super::files::lock::Locked;
use super::files::open::{DeviceHandle, JobOpener};
use super::files::{JobTarget, Lengths, changes};
use super::pace::{FlowEntry, JobPacerRequest, KindsDue, PacerVisitor, with_job_pacer};
use super::plan::OpsPlan;
use super::process::{self, When};
use super::replay::{self, ReadingError, RecordedPlan, Recordings, Replay, ReplayFiles, ReplayOps};
use super::stream::with_job_source;
use super::sweep::SweepSource;
use super::tail::Tail;
use crate::backend::payload::Payload;
use crate::backend::record_locks::LockRule;
use crate::backend::{BlockFiles, FileAccess, NOT_OPEN, QueuedBackend, SyncBackend};
use crate::bind::{BackendRequest, BoundBackend, Rider, begin, with_backend};
use crate::gate::{Body, Gate, Passed};
use crate::op::BlockOp;
use crate::pacer::Pacer;
use crate::rng::StreamId;
use crate::source::Source;
use crate::source::blocks::BlockVisitor;
use crate::worker::{Ended, Queue, run_queued, run_sync};
use plumb_workload::job::{AfterWrite, FileLock, JobFiles, JobOps, SweepOps};
use plumb_workload::{Backend, Job, Nanos, OnError, OpKind, WorkerGroup};
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
    /// The ramps of its phase and its group together.
    pub(crate) ramp: Nanos,
    /// The group that names its flow, where it has one.
    pub(crate) flow_home: Option<usize>,
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

    /// The worker's body: everything up to the gate happens before the clock starts.
    pub(crate) fn body(self) -> Body {
        Box::new(move |gate: &Gate| self.run(gate))
    }

    fn run(mut self, gate: &Gate) -> Result<Ended, String> {
        let rules = &self.job.process;
        let joined = process::apply(rules)?;
        if let Some(line) = &rules.run_before {
            process::run_command(line, When::Before, &self.name, &self.base)?;
        }
        let run_after = rules.run_after.clone();
        let ended = self.run_job(gate);
        if let (Some(line), Ok(_)) = (&run_after, &ended)
            && let Err(failure) = process::run_command(line, When::After, &self.name, &self.base)
        {
            gate.report().fallbacks.write(failure.as_bytes());
        }
        if let Some(Err(failure)) = joined.map(Joined::leave) {
            gate.report().fallbacks.write(failure.as_bytes());
        }
        let removed = self.remove_files();
        ended.and_then(|ended| removed.map(|()| ended))
    }

    /// Removes the files, where the job is to leave none.
    fn remove_files(&mut self) -> Result<(), String> {
        let WorkerFiles::Of { target, .. } = &self.files else { return Ok(()) };
        if !self.job.files.unlink {
            return Ok(());
        }
        let mut door = target.door();
        (0..target.paths.count())
            .try_for_each(|number| door.remove(&target.paths.path(number)))
            .map_err(|refusal| refusal.to_string())
    }

    fn run_job(&mut self, gate: &Gate) -> Result<Ended, String> {
        let access = if changes(&self.group, &self.job) { FileAccess::ReadWrite } else { FileAccess::Read };
        if self.job.files.create_only {
            return Ok(match gate.pass() {
                Some(mut passed) => {
                    passed.stop_clock();
                    Ended::Done
                }
                None => Ended::Stopped,
            });
        }
        let (files, tail) = match &self.files {
            WorkerFiles::Of { target, .. } => {
                let devices = DeviceHandle::of(&self.job, &self.group.backend);
                let opener = Arc::new(JobOpener::new(Arc::clone(target), self.job.files.clone(), access, devices));
                let files = match opener.block_files(&self.job, &self.group.backend) {
                    Ok(files) => files,
                    Err(error) if self.group.on_error == OnError::Leave => return Ok(JobFault::of(&error).fail(gate)),
                    Err(error) => return Err(error.to_string()),
                };
                if self.job.files.lock != FileLock::None && files._owned.is_empty() {
                    return Err(
                        "files that are opened in turn cannot be locked; let all be open (fio's openfiles and \
                                create_on_open left out), or no `lock` (fio's lockfile)"
                            .to_owned(),
                    );
                }
                let tail = Tail::new(&self.job, opener, &files);
                (files, tail)
            }
            WorkerFiles::Nothing { lengths } => {
                (BlockFiles { fds: vec![NOT_OPEN; lengths.count()], ..BlockFiles::default() }, Tail::default())
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
        let kinds = KindsDue::of(&worker.job);
        with_backend(
            request,
            gate,
            |slots| worker.payload(gate, slots),
            JobRider { worker, gate, tail, lock_files, kinds },
        )
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
    fn replay(&self, plan: &RecordedPlan, gate: &Gate) -> Result<Replay, String> {
        let recording = &plan.recording;
        let Some(recordings) = self.recordings else {
            return Err(format!("{}: nobody here reads recordings", recording.path.display()));
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
        Ok(replay::replay(ops, gate.clock(), recording.speed_percent))
    }

    fn bytes(&self, in_flight_max: usize) -> Result<JobBytes, String> {
        let stream = self.stream();
        JobBytes::new(&JobBytesRequest {
            job: &self.job,
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
        })
    }

    /// Buffers for so many ops in flight; what their content costs goes into the report.
    fn payload(&self, gate: &Gate, slots: usize) -> Result<Payload, String> {
        let largest = block_bytes(self.plan.largest_block_bytes())?;
        let make = |slots: usize| {
            Payload::for_job(slots, largest as usize, self.bytes(slots)?, &self.job.buffers)
                .map_err(|error| format!("cannot have {slots} buffers of {largest} bytes: {error}"))
        };
        let payload = make(slots)?;
        // What verifies keeps account of each op, and is not asked for ops that are none.
        if payload.works_each_op() && self.job.verify.is_none() {
            gate.report().fill_cost_ns.store(make(1)?.costs(largest).fill_ns, Relaxed);
        }
        Ok(payload)
    }
}

fn block_bytes(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| format!("an op of {bytes} bytes is longer than an op can be; use less than 4 GiB"))
}

/// Binds a job's stream and pacer to the backend that it is handed.
struct JobRider<'a> {
    worker: &'a JobWorker,
    gate: &'a Gate,
    tail: Tail,
    lock_files: Arc<[std::fs::File]>,
    /// Said by the pacer and asked by the source, where rates decide over a mix.
    kinds: Option<KindsDue>,
}

impl Rider for JobRider<'_> {
    fn sync<B: SyncBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String> {
        let worker = self.worker;
        match &worker.plan {
            OpsPlan::Drawn(plan) => {
                let kinds = self.kinds.clone();
                with_job_source(plan, kinds, SyncVisitor { rider: self, backend })
            }
            OpsPlan::Swept(plan) => SyncVisitor { rider: self, backend }.visit(SweepSource::new(plan)),
            OpsPlan::Recorded(plan) => {
                let Replay { source, pacer, error } = worker.replay(plan, self.gate)?;
                let run = RunSync { rider: &self, source, backend, reading: Some(error) };
                match pacer {
                    Some(pacer) => run.visit(pacer),
                    None => with_job_pacer(self.pacer_request(), run)?,
                }
            }
        }
    }

    fn queued<B: QueuedBackend<Op = BlockOp>>(self, backend: B) -> Result<Ended, String> {
        let worker = self.worker;
        if worker.job.files.lock != FileLock::None {
            return Err(
                "files are locked around one op at a time; use a backend without a queue (fio's psync), or no \
                        `lock` (fio's lockfile)"
                    .to_owned(),
            );
        }
        match &worker.plan {
            OpsPlan::Drawn(plan) => {
                let kinds = self.kinds.clone();
                with_job_source(plan, kinds, QueuedVisitor { rider: self, backend })
            }
            OpsPlan::Swept(plan) => QueuedVisitor { rider: self, backend }.visit(SweepSource::new(plan)),
            OpsPlan::Recorded(plan) => {
                let Replay { source, pacer, error } = worker.replay(plan, self.gate)?;
                let run = RunQueued { rider: &self, source, backend, reading: Some(error) };
                match pacer {
                    Some(pacer) => run.visit(pacer),
                    None => with_job_pacer(self.pacer_request(), run)?,
                }
            }
        }
    }
}

impl JobRider<'_> {
    fn pacer_request(&self) -> JobPacerRequest<'_> {
        let worker = self.worker;
        JobPacerRequest {
            pace: &worker.job.pace,
            group_pace: worker.group.pace,
            clock: *self.gate.clock(),
            depth: worker.group.depth,
            stream: worker.stream(),
            ramp: worker.ramp,
            flow: worker.flow_home.map(|home| self.gate.flow(home)),
            flow_entry: FlowEntry::of(&worker.group),
            search: &self.gate.report().search,
            kinds: self.kinds.clone(),
        }
    }

    /// How the ops ended where they were read: what was wrong with the recording fails the job that came so far.
    fn read_through(&self, passed: &mut Passed<'_>, ended: Ended, reading: Option<&ReadingError>) -> Ended {
        let (Ended::Done, Some(text), JobOps::Recording(recording)) =
            (ended, reading.and_then(ReadingError::text), &self.worker.job.ops)
        else {
            return ended;
        };
        passed.desk.failed(OpKind::Read, &recording.path, None, &text)
    }

    /// What comes behind the last op: flushes inside the worker's time, then what was still being verified.
    fn conclude(&self, mut passed: Passed<'_>, ended: Ended, finish: impl FnOnce() -> Concluded) -> Ended {
        let ended = match ended {
            // The stream has yielded its last flushes by itself.
            Ended::Failed | Ended::Done => ended,
            Ended::Stopped => self.tail.run(&mut passed.desk, ended),
        };
        passed.stop_clock();
        let mut wrong = false;
        let concluded = finish();
        if let Some(read_back_ns) = concluded.read_back_ns {
            let report = self.gate.report();
            report.read_back_ns.store(read_back_ns, Relaxed);
            report.load_reads.store(u64::from(self.worker.job.moves().read), Relaxed);
        }
        for mismatch in concluded.wrong {
            wrong = true;
            passed.desk.recorder.count_error();
            passed.desk.faults.keep(OpKind::Read, 0, 0, None, std::path::Path::new(""), &mismatch);
        }
        if wrong { Ended::Failed } else { ended }
    }
}

struct SyncVisitor<'a, B> {
    rider: JobRider<'a>,
    backend: B,
}

impl<B: SyncBackend<Op = BlockOp>> BlockVisitor for SyncVisitor<'_, B> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(self, source: S) -> Result<Ended, String> {
        let rider = &self.rider;
        let job = &rider.worker.job;
        if job.files.lock != FileLock::None {
            let mut inner = self.backend;
            let backend = Locked::new(&mut inner, job.files.lock, rider.lock_files.clone());
            return with_job_pacer(rider.pacer_request(), RunSync { rider, source, backend, reading: None })?;
        }
        with_job_pacer(rider.pacer_request(), RunSync { rider, source, backend: self.backend, reading: None })?
    }
}

struct RunSync<'a, S, B> {
    rider: &'a JobRider<'a>,
    source: S,
    backend: B,
    /// Where errors of reading the ops go, where they are read.
    reading: Option<ReadingError>,
}

impl<S: Source<Op = BlockOp>, B: SyncBackend<Op = BlockOp>> PacerVisitor for RunSync<'_, S, B> {
    type Out = Result<Ended, String>;

    fn visit<P: Pacer>(mut self, mut pacer: P) -> Result<Ended, String> {
        let Some(mut passed) = self.rider.gate.pass() else { return Ok(Ended::Stopped) };
        let ended = match begin(&mut passed, &mut self.backend, &mut pacer) {
            Ok(()) => run_sync(&mut passed.desk, &mut self.source, &mut self.backend, &mut pacer),
            Err(ended) => ended,
        };
        let ended = match self.backend.finish() {
            Ok(()) => ended,
            Err(unfinished) => passed.desk.unfinished(&unfinished),
        };
        let ended = self.rider.read_through(&mut passed, ended, self.reading.as_ref());
        Ok(self.rider.conclude(passed, ended, || self.backend.conclude()))
    }
}

struct QueuedVisitor<'a, B> {
    rider: JobRider<'a>,
    backend: B,
}

impl<B: QueuedBackend<Op = BlockOp>> BlockVisitor for QueuedVisitor<'_, B> {
    type Out = Result<Ended, String>;

    fn visit<S: Source<Op = BlockOp> + 'static>(self, source: S) -> Result<Ended, String> {
        let rider = &self.rider;
        with_job_pacer(rider.pacer_request(), RunQueued { rider, source, backend: self.backend, reading: None })?
    }
}

struct RunQueued<'a, S, B> {
    rider: &'a JobRider<'a>,
    source: S,
    backend: B,
    /// Where errors of reading the ops go, where they are read.
    reading: Option<ReadingError>,
}

impl<S: Source<Op = BlockOp>, B: QueuedBackend<Op = BlockOp>> PacerVisitor for RunQueued<'_, S, B> {
    type Out = Result<Ended, String>;

    fn visit<P: Pacer>(mut self, mut pacer: P) -> Result<Ended, String> {
        let Some(mut passed) = self.rider.gate.pass() else { return Ok(Ended::Stopped) };
        pacer.start(passed.started_at);
        let helped_before_ns = self.backend.helpers_cpu_ns();
        let queue = self.rider.worker.queue;
        let ended = run_queued(&mut passed.desk, &mut self.source, &mut self.backend, &mut pacer, queue)
            .map_err(|error| format!("{}: {error}", self.backend.name()))?;
        let ended = self.rider.read_through(&mut passed, ended, self.reading.as_ref());
        let ended = self.rider.conclude(passed, ended, || self.backend.conclude());
        // Polling is not free: a kernel thread that does it is charged to the worker.
        let helped_ns = self.backend.helpers_cpu_ns().saturating_sub(helped_before_ns);
        self.rider.gate.report().cpu_system_ns.fetch_add(helped_ns, Relaxed);
        Ok(ended)
    }
}
