//! The start barrier of a phase's workers, and a worker's main function. Both work for threads and processes.
#![allow(unsafe_code)]

use crate::bell::Bell;
use crate::clock::{Clock, Ticks};
use crate::control::{ControlBlock, FlowWords, WorkerControl};
use crate::fault::{FaultLog, ReportCells, Reports};
use crate::first_finisher::FirstDone;
use crate::oplog::OpLog;
use crate::others::OtherProcesses;
use crate::pacer::{Sharing, Waited, wait_until};
use crate::panics::{self, CaughtPanic};
use crate::plan::{GroupRun, WorkerRules};
use crate::priority_cells::PriorityCells;
use crate::program::WallMeeting;
use crate::queue_cells::QueueCells;
use crate::recorder::{PhaseCells, Ramps, Recorder};
use crate::terms::{Budget, Ended, Usage};
use crate::worker::{Ramp, WorkerContext};
use crate::worker_error::WorkerError;
use plumb_result::RunQueue;
use plumb_workload::{OnError, OpKind, RunAs};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Shared memory of a phase's coordinator and workers.
pub(crate) struct PhaseMemory {
    pub(crate) clock: Clock,
    pub(crate) control: ControlBlock,
    pub(crate) cells: PhaseCells,
    pub(crate) reports: Reports,
    pub(crate) queues: QueueCells,
    pub(crate) priorities: PriorityCells,
    /// Files for records of single ops, by worker.
    pub(crate) logs: Vec<Option<File>>,
    pub(crate) first_finisher: FirstDone,
    pub(crate) bell: Bell,
    workers: usize,
    /// Number of workers that do I/O.
    io_workers: usize,
    /// No group starts after another, so workers can wait for the snapshot.
    waits_for_snapshot: bool,
    /// The processes that run the other workers of the phase.
    pub(crate) others: Option<Arc<dyn OtherProcesses>>,
}

impl PhaseMemory {
    /// Allocates the memory for these workers and groups, in a phase with this ramp.
    pub(crate) fn new(
        clock: Clock,
        workers: &[WorkerSpec],
        groups: &[GroupRun],
        phase_ramp_ns: u64,
    ) -> io::Result<PhaseMemory> {
        let ramps = phase_ramp_ns > 0 || groups.iter().any(|group| group.ramp_ns > 0 || group.ramp_until.is_some());
        let logs = workers.iter().map(|spec| spec.rules.keeps.ops.then(crate::oplog::log_file).transpose());
        let depths: Vec<Option<u32>> = workers.iter().map(|spec| spec.rules.keeps.queue).collect();
        Ok(PhaseMemory {
            clock,
            control: ControlBlock::new(groups.len(), workers.len())?,
            cells: PhaseCells::new(workers.len(), if ramps { Ramps::Some } else { Ramps::None })?,
            reports: Reports::new(workers.len())?,
            queues: QueueCells::new(&depths)?,
            priorities: PriorityCells::new(workers.iter().map(|spec| spec.rules.keeps.priorities.as_slice()))?,
            logs: logs.collect::<io::Result<_>>()?,
            first_finisher: FirstDone::new(workers.len())?,
            bell: Bell::new()?,
            workers: workers.len(),
            io_workers: workers.iter().filter(|spec| spec.does_io()).count(),
            waits_for_snapshot: groups.iter().all(|group| group.after.is_empty()),
            others: None,
        })
    }

    /// Lets the workers meet those of other processes too.
    pub(crate) fn with_others(self, others: Option<Arc<dyn OtherProcesses>>) -> PhaseMemory {
        PhaseMemory { others, ..self }
    }
}

impl PhaseMemory {
    /// Returns the number of workers that do I/O: companions do not.
    pub(crate) fn io_worker_count(&self) -> u64 {
        self.io_workers as u64
    }
}

#[cfg(test)]
impl PhaseMemory {
    /// Allocates memory for `workers` workers that a test simulates.
    pub(crate) fn for_tests(clock: Clock, workers: usize) -> PhaseMemory {
        PhaseMemory {
            clock,
            control: ControlBlock::new(1, workers).unwrap(),
            cells: PhaseCells::new(workers, Ramps::None).unwrap(),
            reports: Reports::new(workers).unwrap(),
            queues: QueueCells::new(&[]).unwrap(),
            priorities: PriorityCells::new([]).unwrap(),
            logs: Vec::new(),
            first_finisher: FirstDone::new(workers).unwrap(),
            bell: Bell::new().unwrap(),
            workers,
            io_workers: workers,
            waits_for_snapshot: true,
            others: None,
        }
    }
}

/// A worker's access to the barrier. Passed to its body.
pub(crate) struct Barrier {
    memory: Arc<PhaseMemory>,
    number: usize,
    pub(crate) group: usize,
    /// `false` for companions.
    does_io: bool,
    run_as: RunAs,
    ramp_ns: u64,
    /// The coordinator ends the ramp.
    coordinator_ends_ramp: bool,
    time_ns: Option<u64>,
    rules: WorkerRules,
    /// Panic after the barrier, for a test of the clean-up.
    panics_for_test: bool,
}

/// Main function of a worker: prepares its backend, passes the barrier, and runs its loop.
pub(crate) type Body = Box<dyn FnOnce(&Barrier) -> Result<Ended, WorkerError> + Send>;

/// A worker that has not started.
pub(crate) struct WorkerSpec {
    pub(crate) name: String,
    pub(crate) group: usize,
    pub(crate) depth: u32,
    pub(crate) cpu: Option<u32>,
    pub(crate) rules: WorkerRules,
    pub(crate) body: Body,
}

impl WorkerSpec {
    fn does_io(&self) -> bool {
        self.depth > 0
    }
}

/// Returns the ID of the calling thread, or of its process on systems without thread IDs.
fn thread_number() -> u64 {
    #[cfg(target_os = "linux")]
    {
        rustix::thread::gettid().as_raw_nonzero().get() as u64
    }
    #[cfg(not(target_os = "linux"))]
    {
        u64::from(std::process::id())
    }
}

impl Barrier {
    /// Creates the barrier of a worker.
    pub(crate) fn new(
        memory: Arc<PhaseMemory>,
        number: usize,
        spec: &WorkerSpec,
        group: &GroupRun,
        run_as: RunAs,
    ) -> Barrier {
        Barrier {
            memory,
            number,
            group: spec.group,
            does_io: spec.does_io(),
            run_as,
            ramp_ns: group.ramp_ns,
            coordinator_ends_ramp: group.ramp_until.is_some(),
            time_ns: group.time_ns,
            rules: spec.rules.clone(),
            panics_for_test: panics::is_requested_by_test(&spec.name),
        }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.memory.clock
    }

    /// Returns `true` if the worker is the only one of its phase.
    pub(crate) fn is_alone(&self) -> bool {
        self.memory.workers == 1
    }

    pub(crate) fn report(&self) -> &ReportCells {
        self.memory.reports.worker(self.number)
    }

    /// Returns the worker's access to the stonewall of its phase.
    pub(crate) fn wall(&self) -> WallMeeting {
        WallMeeting::new(&self.memory, self.number)
    }

    /// Prepares to record ops of these kinds.
    pub(crate) fn expect(&self, kinds: &BTreeSet<OpKind>) {
        self.memory.cells.worker(self.number).expect(kinds);
    }

    /// Counts an error of a worker that never passed the barrier.
    pub(crate) fn count_error(&self) {
        Recorder::new(self.memory.cells.worker(self.number)).count_error();
    }

    /// Returns the worker's view of its phase.
    pub(crate) fn control(&self) -> WorkerControl<'_> {
        self.memory.control.worker(self.number)
    }

    /// Returns `true` if the worker must stop, and not only its ramp is over. For backends that wait for a peer.
    pub(crate) fn stops(&self) -> bool {
        let (control, now) = (self.control(), self.memory.clock.now());
        control.stop_requested() || (control.stops_at(now) && now >= self.ends_at(&control))
    }

    /// Returns `true` if the phase is over or the worker was stopped. For backends that wait
    /// before the worker's time begins.
    pub(crate) fn phase_stops(&self) -> bool {
        let (control, now) = (self.control(), self.memory.clock.now());
        control.stop_requested() || (control.stops_at(now) && now >= control.deadline())
    }

    /// Returns the start of the worker's measured time, if the worker starts at `started_at`.
    fn measured_at(&self, control: &WorkerControl<'_>, started_at: Ticks) -> Ticks {
        started_at.max(control.ramp_ends_at()).saturating_add(self.memory.clock.ticks(self.ramp_ns))
    }

    /// Returns the end of the worker's time, as far as it is known at its start.
    fn ends_at(&self, control: &WorkerControl<'_>) -> Ticks {
        let (Some(time_ns), Some(started_at)) = (self.time_ns, control.go_at()) else { return control.deadline() };
        let measured_at = match self.coordinator_ends_ramp {
            false => self.measured_at(control, started_at),
            true => self.memory.control.measured_at(self.number).unwrap_or(Ticks::MAX),
        };
        measured_at.saturating_add(self.memory.clock.ticks(time_ns)).min(control.deadline())
    }

    /// Returns how this worker shares a rate with the `workers` workers of its group.
    pub(crate) fn sharing(&self, workers: u32) -> Sharing<'_> {
        Sharing::Group { workers, numbers: self.memory.control.schedule(self.group) }
    }

    /// Returns the shared state of a flow. The first group of the flow identifies it.
    pub(crate) fn flow(&self, first_group: usize) -> &FlowWords {
        self.memory.control.flow(first_group)
    }

    /// Fails the worker, and its phase unless errors leave the phase alone.
    fn fail(&self, reason: &str) {
        self.report().fail(reason);
        if self.rules.on_error != OnError::Leave {
            self.control().request_stop();
        }
    }

    /// Waits, after the clock has stopped, until the coordinator has taken its snapshot of the machine. Later steps
    /// would change the page cache and the device's counters. Does not wait if another group starts after this one.
    pub(crate) fn await_snapshot(&self) {
        if self.memory.waits_for_snapshot {
            self.report().awaits_snapshot.store(1, Release);
            self.control().await_snapshot(|| self.memory.bell.ring());
            self.report().awaits_snapshot.store(0, Release);
        }
    }

    /// Stops the workers of other processes: see [`OtherProcesses::give_up`].
    pub(crate) fn give_up(&self) {
        if let Some(others) = &self.memory.others {
            others.give_up();
        }
    }

    /// Reports the end of the worker. Its last action.
    fn leave(&self) {
        self.report().ends_at(self.memory.clock.now());
        self.control().worker_done();
        self.report().reported_done.store(1, Release);
        self.memory.bell.ring();
    }

    /// Reports that the worker is ready and waits for its start. Returns `None` if it was stopped before.
    pub(crate) fn pass(&self) -> Option<Passed<'_>> {
        let (clock, control) = (self.memory.clock, self.control());
        control.worker_ready();
        self.memory.bell.ring();
        let started_at = control.wait_for_go()?;
        let measured_at = self.measured_at(&control, started_at);
        let ramps = measured_at > started_at || self.coordinator_ends_ramp;
        // A finite deadline tells the coordinator that the worker has begun.
        let ends_at = if self.coordinator_ends_ramp { Ticks::MAX - 1 } else { measured_at };
        let ramp = ramps.then_some(Ramp {
            ends_at: ends_at.min(control.deadline()),
            // The phase's ramp uses up a worker's budget; its group's ramp does not.
            budget: (self.ramp_ns > 0 || self.coordinator_ends_ramp).then_some(self.rules.budget),
            shares_limit: self.rules.budget.shares_limit,
            time: self.time_ns.map(|ns| clock.ticks(ns)),
        });
        let time_ends_at = self.time_ns.map_or(Ticks::MAX, |ns| measured_at.saturating_add(clock.ticks(ns)));
        let deadline = ramp.map_or(time_ends_at, |ramp| ramp.ends_at).min(control.deadline());
        if !control.move_deadline(Ticks::MAX, deadline) || wait_until(&clock, control, started_at) == Waited::Stopped {
            return None;
        }
        if self.panics_for_test {
            panics::panic_on_purpose();
        }
        let measured = self.memory.cells.worker(self.number);
        let recorder = match (ramp, self.memory.cells.ramp(self.number)) {
            (Some(_), Some(cells)) => Recorder::with_ramp(cells, measured),
            _ => Recorder::new(measured),
        };
        if ramp.is_none() {
            control.measures_from(started_at);
        }
        let report = self.report();
        let log = self.memory.logs[self.number].as_ref().map(|file| {
            let mut log = OpLog::new(file, report, clock, control.began_at());
            log.set_in_ramp(ramp.is_some());
            log
        });
        let context = WorkerContext {
            clock,
            control,
            recorder,
            faults: FaultLog::new(report),
            budget: match ramp {
                None => self.rules.budget,
                Some(Ramp { budget: Some(_), .. }) => Budget::UNLIMITED,
                Some(_) => Budget { shares_limit: false, ..self.rules.budget },
            },
            on_error: self.rules.on_error,
            errors: &self.rules.errors,
            fills: self.rules.fills,
            log,
            tally: self.memory.queues.tally(self.number),
            priorities: self.memory.priorities.tally(self.number),
            ramp,
            run_as: self.run_as,
            usage: Usage::now(&clock, self.run_as),
        };
        Some(Passed { context, started_at, barrier: self })
    }
}

/// A worker that has passed the barrier.
pub(crate) struct Passed<'a> {
    pub(crate) context: WorkerContext<'a>,
    pub(crate) started_at: Ticks,
    barrier: &'a Barrier,
}

impl Passed<'_> {
    /// Starts the worker's time now, because it has only waited for a peer so far. With a ramp, time counts from the
    /// start: the ramp itself excludes the wait.
    pub(crate) fn start_over(&mut self) {
        if self.context.ramp.is_some() {
            return;
        }
        let (now, control) = (self.context.clock.now(), self.context.control);
        if let Some(time_ns) = self.barrier.time_ns {
            let ends_at =
                |start: Ticks| start.saturating_add(self.context.clock.ticks(time_ns)).min(control.deadline());
            let (from, to) = (ends_at(self.started_at), ends_at(now));
            // This fails if the worker was stopped in the meantime.
            control.move_deadline(from, to);
        }
        self.started_at = now;
        self.context.measure_from(now);
    }

    /// Stops the worker's clock. Call it right after the loop and the backend's `finish`, before anything is torn down.
    pub(crate) fn stop_clock(&mut self) {
        let report = self.barrier.report();
        report.ended_at.store(self.barrier.memory.clock.now(), Release);
        if self.barrier.does_io {
            self.barrier.memory.first_finisher.take(&self.barrier.memory.cells);
        }
        let (before, now) = (self.context.usage, Usage::now(&self.context.clock, self.barrier.run_as));
        report.usage.cpu_user_ns.store(now.user_ns - before.user_ns, Relaxed);
        report.usage.cpu_system_ns.store(now.system_ns - before.system_ns, Relaxed);
        report.usage.sleeps.store(now.sleeps.saturating_sub(before.sleeps), Relaxed);
        report.usage.preemptions.store(now.preemptions.saturating_sub(before.preemptions), Relaxed);
        report.usage.major_faults.store(now.major_faults.saturating_sub(before.major_faults), Relaxed);
        report.usage.minor_faults.store(now.minor_faults.saturating_sub(before.minor_faults), Relaxed);
        if let Some(RunQueue { waited_ns, turns }) = now.waited_since(&before) {
            report.usage.queue_wait_ns.store(waited_ns, Relaxed);
            report.usage.queue_turns.store(turns.saturating_add(1), Relaxed);
        }
        if let Some(log) = &mut self.context.log {
            log.write_out();
        }
    }
}

fn prepare_thread(cpu: Option<u32>) -> Result<(), WorkerError> {
    // SAFETY: sigset_t is plain data that sigfillset initialises; only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        // An I/O error under a mapping must still kill the worker. If SIGBUS were blocked,
        // the access would fault endlessly.
        for signal in [libc::SIGBUS, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, libc::SIGABRT] {
            libc::sigdelset(&raw mut all, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    #[cfg(target_os = "linux")]
    {
        // The default slack of 50 µs would delay paced ops.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        if let Some(cpu) = cpu {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu as usize);
            rustix::thread::sched_setaffinity(None, &set)
                .map_err(|errno| WorkerError::Cpu { cpu, source: errno.into() })?;
        }
    }
    #[cfg(not(target_os = "linux"))]
    if cpu.is_some() {
        return Err(WorkerError::NoAffinity);
    }
    Ok(())
}

/// Runs a worker in its own thread or process, or on virtual time. Catches its panic, which ends the phase even if the
/// worker may fail alone. In a separate process, the panic hook has already done that.
pub(crate) fn worker_main(barrier: &Barrier, cpu: Option<u32>, body: Body) {
    let ended = panics::catch(|| {
        if !barrier.memory.clock.is_virtual() {
            barrier.report().pid.store(thread_number(), Relaxed);
            prepare_thread(cpu)?;
        }
        body(barrier)
    });
    match ended {
        Ok(Ok(Ended::Failed)) => barrier.report().fail("an op failed"),
        Ok(Ok(Ended::Done | Ended::Stopped)) => {}
        Ok(Err(error)) => barrier.fail(&error.to_string()),
        Err(panic) => return end_by_panic(barrier, &panic),
    }
    barrier.leave();
}

/// Ends a worker that panicked, and its phase.
pub(crate) fn end_by_panic(barrier: &Barrier, panic: &CaughtPanic) {
    barrier.report().panic(&panic.to_string());
    barrier.control().request_stop();
    barrier.leave();
}
