//! The workers of programs.

use super::calls::{Calls, Files, LINK_BYTES, MpiCalls};
use super::compile::Compiled;
use super::content::RecordMemory;
use super::file_set::{SetPlace, SetState};
use super::file_table::FileTable;
use super::files::{NamedRun, ScratchFiles};
use super::kernel_aio::{AioLimits, KernelAio};
use super::named_places::NamedPlaces;
use super::null_calls::{NamesOnly, NullCalls};
use super::op::CallOp;
use super::postmark::{FileMemory, KeptDraws};
use super::rules::{Over, StepRules};
use super::simulated::{SimulatedCalls, SimulatedSet};
use super::source::{ProgramSource, Walls};
use super::stream::Streams;
use super::trees::{InStep, TreeCalls, TreeFiles, WallMark, WallMeeting};
use crate::backend::SyncBackend;
use crate::backend::libaio::KernelQueue;
use crate::barrier::{Barrier, Body};
use crate::bind::{bind_pacer, run_to_end};
use crate::clock::Clock;
use crate::fault::Yielded;
use crate::mpi_io::MpiIo;
use crate::op::Operation;
use crate::pacer::{AnyPacer, Closed, Pacing};
use crate::plan::{WorkerPlanError, WorkerSeat};
use crate::rng::{Purpose, StreamId};
use crate::sim::run::SimDevice;
use crate::source::Source;
use crate::terms::Ended;
use crate::tree::TreeShape;
use crate::unshare_fds;
use crate::worker_error::WorkerError;
use plumb_workload::program::{Postmark, ProgramMemory, Rest, Step, Transfer, TreeStep, Via};
use plumb_workload::{Content, OpKind, Program};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// A planned worker of a program over a file set.
pub(crate) struct SetWorker {
    pub(crate) program: Arc<Compiled>,
    pub(crate) state: SetState,
    pub(crate) shape: Arc<TreeShape>,
    pub(crate) root: SetRoot,
    pub(crate) content: Content,
    pub(crate) pacing: Pacing,
    /// Number of the worker in its group.
    pub(crate) number: u32,
    pub(crate) stream: StreamId,
    /// Like `stream`, but different in every run, so that no two runs write the same bytes.
    pub(crate) content_stream: StreamId,
    pub(crate) passes: Option<u64>,
    pub(crate) returned: ReturnedState,
}

/// Location of a set's files.
pub(crate) enum SetRoot {
    /// Below a directory, with its path for messages, and the destination of copied files.
    Directory { root: OwnedFd, place: PathBuf, copies: Option<(OwnedFd, PathBuf)> },
    /// On a simulated device, one after another, with the device that they are copied to.
    Sim(SimDevice, Option<SimDevice>),
}

/// Receives the state of a worker's files, if the worker is a thread.
pub(crate) type ReturnedState = Arc<Mutex<Option<SetState>>>;

impl SetWorker {
    /// Returns the function that the worker runs.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let mut source = ProgramSource::new(&self.program, self.number, Some(self.state), self.stream, self.passes);
        let mut pacer = bind_pacer(&self.pacing, barrier, self.stream.rng(Purpose::Arrival), None);
        let ended = match self.root {
            SetRoot::Sim(device, copies) => {
                barrier.report().backend.write(b"sim");
                let mut calls = SimulatedSet::new(device, copies);
                run_to_end(barrier, &mut source, &mut calls, pacer.table())
            }
            SetRoot::Directory { root, place, copies } => {
                barrier.report().backend.write(b"psync");
                let largest = (self.program.max_request as usize).max(LINK_BYTES);
                let memory =
                    || RecordMemory::with_content(ProgramMemory::default(), self.content, largest, self.content_stream);
                // Measured with separate memory, so that a run's bytes do not depend on the measurement.
                barrier.report().times.fill_cost_ns.store(memory()?.fill_cost_ns(), Relaxed);
                barrier.report().times.fill_cost_bytes.store(largest as u64, Relaxed);
                let memory = memory()?;
                let opened = SetPlace::new(root, place, copies, self.shape);
                let failed = |source| WorkerError::Backend { backend: "psync", source };
                let files = Files::Set(Box::new(opened.map_err(failed)?));
                let handles = self.program.handles;
                let mut calls = Calls::new(files, handles, Streams::none(), memory, false, *barrier.clock());
                calls.use_rules(&self.program.rules);
                match &mut pacer {
                    AnyPacer::Closed(closed) => run_to_end(barrier, &mut source, &mut calls, closed),
                    AnyPacer::Other(pacer) => run_to_end(barrier, &mut source, &mut calls, &mut **pacer),
                }
            }
        };
        barrier.report().set_yielded(source.yielded());
        if let Ok(mut returned) = self.returned.lock() {
            *returned = source.into_state();
        }
        Ok(ended)
    }
}

/// Recovers the state of a worker that was a process. Its memory is gone, but the same source yields the same ops, so
/// they are repeated without being made.
pub(crate) struct FileSetReplay {
    pub(crate) program: Arc<Compiled>,
    pub(crate) state: SetState,
    pub(crate) stream: StreamId,
    pub(crate) passes: Option<u64>,
}

impl FileSetReplay {
    /// Returns the state after these ops, some of which were not made.
    pub(crate) fn after(self, yielded: &Yielded) -> Option<SetState> {
        let mut source = ProgramSource::new(&self.program, 0, Some(self.state), self.stream, self.passes);
        let mut undone = yielded.undone.iter().peekable();
        for number in 1..=yielded.ops {
            let op = source.next();
            if undone.next_if_eq(&&number).is_some()
                && let Some(op) = op
            {
                source.failed(&op);
            }
        }
        source.into_state()
    }
}

/// Location of named files.
enum NamedFiles {
    /// Under their names.
    Names(Arc<FileTable>),
    /// In trees.
    Trees(Arc<TreeFiles>),
    /// Nowhere: only their names exist.
    Nothing(NamesOnly),
    /// On a simulated device, one after another by number.
    Sim(SimDevice),
}

/// Backend of a program over named files.
trait NamedCalls: SyncBackend<Op = CallOp> {
    /// Sets the rules of the following steps.
    fn use_rules(&mut self, _rules: &Arc<Vec<StepRules>>) {}

    /// Makes the part of an op that workers of other processes wait for, although this worker has ended.
    fn take_part(&mut self, _op: &CallOp) {}

    /// Returns `true` if a collective call with those workers failed.
    fn has_failed_together(&self) -> bool {
        false
    }

    /// Returns the longest time of all calls for one record, ns.
    fn longest_record_ns(&self) -> Option<u64> {
        None
    }

    /// Returns the time from the first to the end of the last step within the clock, ns. `None`
    /// if only the calls take time.
    fn steps_ns(&self) -> Option<u64> {
        None
    }
}

impl NamedCalls for Calls {
    fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        Calls::use_rules(self, rules);
    }

    fn take_part(&mut self, op: &CallOp) {
        Calls::take_part(self, op);
    }

    fn has_failed_together(&self) -> bool {
        Calls::has_failed_together(self)
    }

    fn longest_record_ns(&self) -> Option<u64> {
        Calls::longest_record_ns(self)
    }

    fn steps_ns(&self) -> Option<u64> {
        Some(self.steps_ns)
    }
}

impl NamedCalls for NullCalls {
    fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        NullCalls::use_rules(self, rules);
    }
}

impl NamedCalls for SimulatedCalls {
    fn use_rules(&mut self, rules: &Arc<Vec<StepRules>>) {
        SimulatedCalls::use_rules(self, rules);
    }
}

/// A planned worker of a program over named files.
pub(crate) struct NamedWorker {
    program: Arc<Program>,
    parts: [Arc<Compiled>; 3],
    files: NamedFiles,
    /// Number of the worker in its group.
    number: u32,
    stream: StreamId,
    content_stream: StreamId,
    passes: u64,
    /// Progress that earlier phases of the target reached at their last wall.
    mark: Arc<WallMark>,
    draws: Arc<KeptDraws>,
    mpi_io: Option<Arc<dyn MpiIo>>,
    pub(crate) working_set_bytes: u64,
    pub(crate) target_bytes: u64,
}

/// Target of a program over named files.
pub(crate) enum NamedTarget<'a> {
    Files(&'a ScratchFiles),
    /// Names without files.
    Nothing(&'a NamesOnly),
    /// A simulated device, divided into this many equal parts.
    Sim {
        device: &'a SimDevice,
        files: u64,
        bytes: u64,
        postmark: Option<&'a NamedRun>,
    },
}

/// Plans a program on its named files. Reports all errors here, before anything starts.
///
/// # Errors
/// A message that names the seat.
pub(crate) fn plan(
    seat: &WorkerSeat<'_>,
    program: &Program,
    target: NamedTarget<'_>,
    stream: StreamId,
    content_stream: StreamId,
) -> Result<NamedWorker, WorkerPlanError> {
    debug_assert!(seat.group.pace.is_closed(), "a program over named files cannot be paced");
    let compile = |steps| {
        let count_transactions = program.count_transactions;
        Compiled::new(steps, Over::Names, count_transactions).map(Arc::new).map_err(|error| seat.error(error))
    };
    let [before, steps, after] = program.parts();
    // Transfers within one clock usually use the same bytes, so the size of their files bounds them together.
    let reach = program.reach_bytes();
    let touched = program.transfers().map(Transfer::touched_bytes).max().unwrap_or(0);
    let mark = match &target {
        NamedTarget::Files(files) => Arc::clone(&files.mark),
        NamedTarget::Nothing(files) => Arc::clone(&files.mark),
        NamedTarget::Sim { .. } => Arc::default(),
    };
    let mpi_io = match &target {
        NamedTarget::Files(files) if program.opened_by_mpi().next().is_some() => Some(mpi_io(seat, program, files)?),
        _ => None,
    };
    let (files, count, named) = match target {
        NamedTarget::Files(ScratchFiles { trees: Some(trees), .. }) => (NamedFiles::Trees(Arc::clone(trees)), 0, None),
        NamedTarget::Files(files) => {
            (NamedFiles::Names(Arc::clone(&files.table)), files.count() as u64, files.postmark.as_ref())
        }
        NamedTarget::Nothing(files) => (NamedFiles::Nothing(files.clone()), files.count, None),
        NamedTarget::Sim { device, files, bytes, postmark } => {
            // Files that are not opened to move records may be small, and may be anywhere.
            let (reach, opened) = match postmark {
                Some(named) => (reach.max(named.run.high.0), files),
                None => (reach, program.opened_files(seat.group.count, files)),
            };
            let each = bytes / files.max(1);
            if each.saturating_mul(opened.saturating_sub(1)).saturating_add(reach) > bytes {
                return Err(seat.error(format!(
                    "it reaches byte {reach} of its files, but the simulated device has {files} of {} bytes; give it \
                     a larger `size`",
                    bytes / files.max(1)
                )));
            }
            if program.transfers().any(|transfer| transfer.waits() || transfer.repeats_for.is_some()) {
                return Err(seat.error("its transfers wait in real time; a simulated device has a virtual clock"));
            }
            if program.transfers().any(|transfer| matches!(transfer.via, Via::KernelAio { .. })) {
                return Err(seat.error(
                    "its transfers go `via.kernel-aio`, several at once; on a simulated device, programs have one op at a \
                     time: use `via = \"positioned\"`, or `work.blocks` with a `depth`",
                ));
            }
            if program.all_steps().any(|step| matches!(step, Step::Command { .. })) {
                return Err(seat.error("its commands take real time; a simulated device has a virtual clock"));
            }
            (NamedFiles::Sim(device.clone()), files, postmark)
        }
    };
    if program.all_steps().find_map(postmark).is_some_and(|run| named.is_none_or(|named| named.run != *run)) {
        return Err(seat.error(
            "its target's names differ from those of its run; set the target's `names.postmark` to the same values",
        ));
    }
    let (peak_bytes, threads) = named.map_or((0, 1), |named| (named.peak_bytes, u64::from(named.run.threads)));
    Ok(NamedWorker {
        parts: [compile(before)?, compile(steps)?, compile(after)?],
        program: Arc::new(program.clone()),
        files,
        number: seat.number,
        stream,
        content_stream,
        passes: seat.passes().unwrap_or(1),
        mark,
        draws: named.map(|named| Arc::clone(&named.draws)).unwrap_or_default(),
        mpi_io,
        working_set_bytes: touched.max(peak_bytes / threads.max(1)),
        target_bytes: reach.saturating_mul(count).max(peak_bytes),
    })
}

/// Returns the MPI-IO implementation for a program that needs it.
fn mpi_io(seat: &WorkerSeat<'_>, program: &Program, files: &ScratchFiles) -> Result<Arc<dyn MpiIo>, WorkerPlanError> {
    let Some(mpi_io) = &files.mpi_io else {
        return Err(
            seat.error("its files are opened by MPI-IO, but no MPI library was started; start it with `mpirun`")
        );
    };
    let ranks = program.opened_by_mpi().map(|open| open.ranks).max().unwrap_or(1);
    if ranks > mpi_io.ranks() {
        let there_are = mpi_io.ranks();
        return Err(seat.error(format!("{ranks} ranks open its files together, but there are {there_are}; start more")));
    }
    // MPI-IO takes the text before a colon for a kind of file system, and would open another
    // file than the guard has checked.
    let has_colon = |path: &PathBuf| path.as_os_str().as_encoded_bytes().contains(&b':');
    match (0..files.count()).map(|number| files.path(number)).find(has_colon) {
        Some(path) => Err(seat.error(format!(
            "{} contains a colon, and MPI-IO takes the text before it for a file system type; use a name without a colon",
            path.display()
        ))),
        None => Ok(Arc::clone(mpi_io)),
    }
}

impl NamedWorker {
    /// Returns the function that the worker runs. Steps before the clock run ahead of the barrier.
    pub(crate) fn body(self) -> Body {
        Box::new(move |barrier: &Barrier| self.run(barrier))
    }

    fn calls(&self, barrier: &Barrier, files: Files) -> Result<Calls, WorkerError> {
        let largest = self.program.all_steps().filter_map(|step| match step {
            Step::Transfer(transfer) => Some(transfer.largest_bytes()),
            Step::OfFile(file) => Some(file.record.0),
            Step::Trees(step) => Some(step.item_bytes()),
            _ => None,
        });
        let largest = largest.max().unwrap_or(0) as usize;
        let memory = RecordMemory::new(self.program.memory, &self.program.content, largest, self.content_stream)?;
        let whole = self.program.all_steps().find_map(postmark).map(|run| FileMemory::new(run, self.number));
        let reads = self.program.transfers().any(Transfer::reads) || self.program.trees().any(TreeStep::reads);
        let checks = self.program.checks && reads;
        let calls =
            Calls::new(files, self.handles(), Streams::for_program(&self.program), memory, checks, *barrier.clock());
        let calls = calls.with_whole(whole).with_mark(&self.mark).with_mpi(self.mpi_io.clone().map(MpiCalls::new));
        Ok(calls.with_kernel_aio(self.kernel_aio()?))
    }

    /// Returns a queue that is deep enough for every transfer by kernel AIO, if there are any.
    fn kernel_aio(&self) -> Result<Option<KernelAio>, WorkerError> {
        let transfers = || self.program.transfers().filter(|transfer| matches!(transfer.via, Via::KernelAio { .. }));
        let Some(depth) = transfers().filter_map(|transfer| AioLimits::from_via(transfer.via)).map(|of| of.depth).max()
        else {
            return Ok(None);
        };
        let largest = transfers().map(Transfer::largest_bytes).max().unwrap_or(0);
        // Create the queue before allocating memory, so that an exhausted system limit is reported as such.
        let queue = KernelQueue::new(depth as u32);
        let queue = queue.map_err(|source| WorkerError::Backend { backend: "libaio", source })?;
        KernelAio::new(queue, depth, largest).map(Some)
    }

    fn run(self, barrier: &Barrier) -> Result<Ended, WorkerError> {
        let mut files = match &self.files {
            NamedFiles::Names(files) => Files::Names(NamedPlaces::new(Arc::clone(files))),
            NamedFiles::Trees(files) => {
                let read_back = self.program.trees().map(TreeStep::read_back_bytes).max().unwrap_or(0);
                Files::Trees(Box::new(TreeCalls::new(Arc::clone(files), read_back)?))
            }
            NamedFiles::Nothing(files) => {
                barrier.report().backend.write(b"null");
                let calls = NullCalls::new(files.delays, *barrier.clock());
                return self.run_on(barrier, calls);
            }
            NamedFiles::Sim(device) => {
                barrier.report().backend.write(b"sim");
                let calls = SimulatedCalls::new(device.clone(), self.handles());
                return self.run_on(barrier, calls);
            }
        };
        barrier.report().backend.write(b"script");
        // The helper threads of asynchronous I/O outlive a worker, and use the descriptor table
        // of the thread that started them.
        let has_helpers = self
            .program
            .all_steps()
            .any(|step| matches!(step, Step::Transfer(transfer) if matches!(transfer.via, Via::PosixAio { .. })));
        // An MPI library also has threads, which use the files that it opens.
        if barrier.is_alone() && !has_helpers && self.mpi_io.is_none() {
            unshare_fds::take(&[]);
        }
        files.prepare();
        let calls = self.calls(barrier, files)?;
        self.run_on(barrier, calls)
    }

    /// Returns the number of files that are open at once.
    fn handles(&self) -> usize {
        // PostMark's files are opened as handle 0, which no step names.
        self.parts.iter().map(|part| part.handles).max().unwrap_or(0).max(1)
    }

    /// Returns the ranks with which the worker moves or flushes each record.
    fn in_step(&self) -> Option<InStep> {
        let mpi_io = self.mpi_io.clone().filter(|_| self.program.moves_together())?;
        let ranks = self.program.opened_by_mpi().map(|open| open.ranks).max().unwrap_or(1);
        Some(InStep { mpi_io, ranks })
    }

    fn run_on(self, barrier: &Barrier, mut calls: impl NamedCalls) -> Result<Ended, WorkerError> {
        let [before, steps, after] = &self.parts;
        let trees = match &self.files {
            NamedFiles::Trees(trees) => Some(trees),
            NamedFiles::Nothing(files) => files.trees.as_ref(),
            NamedFiles::Names(_) | NamedFiles::Sim(_) => None,
        };
        let source = |part: &Arc<Compiled>, passes, meeting: Option<WallMeeting>| {
            let walls = Walls { meeting, mark: Arc::clone(&self.mark), in_step: self.in_step() };
            let source = ProgramSource::new(part, self.number, None, self.stream, Some(passes));
            source.after_draws(&self.draws).over_trees(trees, walls)
        };
        let clock = barrier.clock();
        perform(&mut source(before, 1, None)?, &mut calls, before, clock)?;
        let mut timed = source(steps, self.passes, Some(barrier.wall()))?;
        barrier.expect(&self.program.kinds());
        calls.use_rules(&steps.rules);
        let ended = run_to_end(barrier, &mut timed, &mut calls, &mut Closed);
        if let Some(longest_ns) = calls.longest_record_ns() {
            barrier.report().times.longest_record_ns.store(longest_ns, Relaxed);
        }
        if let Some(steps_ns) = calls.steps_ns() {
            barrier.report().times.steps_ns.store(steps_ns, Relaxed);
        }
        if let Some(done) = timed.at_wall() {
            barrier.report().at_wall.store(done + 1, Relaxed);
        }
        if calls.has_failed_together() {
            barrier.give_up();
        } else if ended != Ended::Done && self.mpi_io.is_some() {
            // Do this before anything that waits: other ranks may wait for this one in an MPI call,
            // and their own ranks for them.
            timed.take_part_only(self.program.moves_together());
            while let Some(op) = timed.next() {
                calls.take_part(&op);
            }
        }
        // Unmeasured I/O must not be counted as measured, so wait for the coordinator's observation first.
        if self.program.changes_in_clock() && (ended == Ended::Stopped || !self.program.after.is_empty()) {
            barrier.await_snapshot();
        }
        if ended == Ended::Stopped && self.mpi_io.is_none() {
            if self.program.rest == Rest::Calls {
                timed.leave_out_transfers();
            }
            perform(&mut timed, &mut calls, steps, clock)?;
        }
        if ended != Ended::Failed {
            perform(&mut source(after, 1, None)?, &mut calls, after, clock)?;
        }
        Ok(ended)
    }
}

/// Returns the run of PostMark that a step belongs to.
fn postmark(step: &Step) -> Option<&Postmark> {
    match step {
        Step::Postmark(step) => Some(&step.run),
        _ => None,
    }
}

/// Makes the calls of unmeasured steps.
fn perform(
    source: &mut ProgramSource,
    calls: &mut impl NamedCalls,
    program: &Compiled,
    clock: &Clock,
) -> Result<(), WorkerError> {
    calls.use_rules(&program.rules);
    while let Some(op) = source.next() {
        if op.kind == OpKind::Delay {
            clock.sleep(op.length);
            continue;
        }
        calls.before(&op);
        let moved = calls.execute(&op).map_err(|errno| WorkerError::Call {
            op: op.kind.name(),
            path: calls.path_of(&op).display().to_string(),
            offset: op.kind.moves_bytes().then(|| op.offset()),
            errno,
        })?;
        calls
            .after(&op, moved)
            .map_err(|mismatch| WorkerError::Mismatch { path: calls.path_of(&op).display().to_string(), mismatch })?;
    }
    Ok(())
}
