//! The workers of a phase as threads, processes, or coroutines on virtual time: starts them and waits for their end.
#![allow(unsafe_code)]

use crate::barrier::{Barrier, PhaseMemory, WorkerSpec, end_by_panic, worker_main};
use crate::group_scheduler::WorkerStatus;
use crate::panics;
use crate::phase_error::PhaseError;
use crate::plan::GroupRun;
use crate::signals::StopFlag;
use crate::virtual_time::Workers;
use plumb_workload::RunAs;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, waitpid};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Interval between checks of processes while waiting for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Interval between checks of processes that are done and only have to exit.
const EXIT_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// Maximum time for processes that are done to exit.
const EXIT_PATIENCE: Duration = Duration::from_secs(1);

/// A worker process that has not been reaped.
struct Process {
    pid: Pid,
    /// Number of the worker within the phase.
    number: usize,
}

struct Thread {
    handle: JoinHandle<()>,
    /// Number of the worker within the phase.
    number: usize,
}

/// All workers of a phase. Dropping it kills the remaining processes, and waits for the threads to release their
/// resources, except those that hang in an op. On virtual time nothing hangs.
pub(crate) struct WorkerPool {
    memory: Arc<PhaseMemory>,
    started: u64,
    threads: Vec<Thread>,
    processes: Vec<Process>,
    /// All workers, on virtual time.
    simulated: Option<Workers>,
    /// Workers that died without reporting their end.
    dead: Vec<usize>,
}

impl WorkerPool {
    pub(crate) fn new(memory: Arc<PhaseMemory>) -> WorkerPool {
        let simulated = memory.clock.is_virtual().then(Workers::new);
        WorkerPool { memory, started: 0, threads: Vec::new(), processes: Vec::new(), simulated, dead: Vec::new() }
    }

    /// Starts all workers. After an error, the ones before it are running.
    pub(crate) fn start(
        &mut self,
        run_as: &[RunAs],
        groups: &[GroupRun],
        workers: Vec<WorkerSpec>,
    ) -> Result<(), PhaseError> {
        // Start processes first: a fork copies only the calling thread, so other threads should not hold locks yet.
        let mut order: Vec<(usize, WorkerSpec)> = workers.into_iter().enumerate().collect();
        if self.simulated.is_none() {
            order.sort_by_key(|(number, _)| run_as[*number] == RunAs::Thread);
        }
        // Threads of this pool start after its processes.
        let is_only_thread = run_as.contains(&RunAs::Process) && is_only_thread();
        for (number, spec) in order {
            let name = spec.name.clone();
            let group = &groups[spec.group];
            let barrier = Arc::new(Barrier::new(Arc::clone(&self.memory), number, &spec, group, run_as[number]));
            match (&mut self.simulated, run_as[number]) {
                (Some(workers), _) => workers.start(move || worker_main(&barrier, spec.cpu, spec.body)),
                (None, RunAs::Thread) => {
                    start_thread(number, barrier, spec).map(|handle| self.threads.push(Thread { handle, number }))
                }
                (None, RunAs::Process) => start_process(&barrier, spec, is_only_thread)
                    .map(|pid| self.processes.push(Process { pid, number })),
            }
            .map_err(|source| PhaseError::Start { what: name, source })?;
            self.started += 1;
        }
        Ok(())
    }

    /// Returns the workers that died without reporting their end.
    pub(crate) fn dead(&self) -> &[usize] {
        &self.dead
    }

    /// Returns the number of workers that have ended, or wait for the snapshot after their clock has stopped.
    pub(crate) fn over(&self) -> u64 {
        self.memory.control.control().awaiting_snapshot() + self.ended()
    }

    /// Returns the number of workers that have ended.
    fn ended(&self) -> u64 {
        self.memory.control.control().done() + self.dead.len() as u64
    }

    /// Returns the status of a worker.
    pub(crate) fn status(&self, number: usize) -> WorkerStatus {
        let report = self.memory.reports.worker(number);
        let waits = report.awaits_snapshot.load(Acquire) != 0;
        if !waits && report.reported_done.load(Acquire) == 0 && !self.dead.contains(&number) {
            WorkerStatus::Active
        } else if report.has_failed() {
            WorkerStatus::Failed
        } else {
            WorkerStatus::Ended
        }
    }

    /// Returns `true` if every worker is ready for the barrier, or has ended.
    pub(crate) fn all_ready(&self) -> bool {
        let control = self.memory.control.control();
        control.ready() + self.over() >= self.started
    }

    /// Returns `true` if the clock of every worker has stopped.
    pub(crate) fn all_done(&self) -> bool {
        self.over() >= self.started
    }

    /// Returns `true` if every worker has ended.
    fn all_ended(&self) -> bool {
        self.ended() >= self.started
    }

    /// Lets workers continue that waited for the snapshot, and waits for their end, which may take as long as a flush.
    /// Returns `false` if a signal came first and a worker did not end soon after.
    pub(crate) fn finish(&mut self, stop: StopFlag, patience: Duration) -> bool {
        let control = self.memory.control.control();
        if control.awaiting_snapshot() == 0 {
            return true;
        }
        control.snapshot_taken();
        if let Some(workers) = &mut self.simulated {
            workers.run_to_end();
            return self.all_ended();
        }
        let mut give_up = None;
        while !self.all_ended() && give_up.is_none_or(|at| Instant::now() < at) {
            self.wait(POLL_INTERVAL);
            if stop.requested() && give_up.is_none() {
                give_up = Some(Instant::now() + patience);
            }
        }
        self.wait_for_exits();
        self.all_ended()
    }

    /// Returns the processes of workers that wait for the snapshot. Their I/O is not yet included in
    /// the counters of this process.
    pub(crate) fn awaiting_snapshot(&self) -> Vec<u32> {
        let waits = |process: &&Process| self.memory.reports.worker(process.number).awaits_snapshot.load(Acquire) != 0;
        let pid = |process: &Process| u32::try_from(process.pid.as_raw_nonzero().get()).ok();
        self.processes.iter().filter(waits).filter_map(pid).collect()
    }

    /// Waits until a worker rings the bell, for at most `longest`, and reaps processes that have ended.
    pub(crate) fn wait(&mut self, longest: Duration) {
        match &mut self.simulated {
            Some(workers) => {
                let ns = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
                workers.run_until(self.memory.clock.now().saturating_add(ns));
            }
            None => {
                self.memory.bell.wait(longest);
                self.reap();
            }
        }
    }

    /// Waits until the clocks of all workers have stopped, for at most `patience`.
    pub(crate) fn wait_done(&mut self, patience: Duration) {
        if let Some(workers) = &mut self.simulated {
            return workers.run_to_end();
        }
        let give_up = Instant::now() + patience;
        while !self.all_done() && Instant::now() < give_up {
            self.wait(POLL_INTERVAL);
        }
    }

    /// Waits until the processes have exited, once their workers are done. The I/O of a process is included in the
    /// counters of this one (`/proc/self/io`) only after it is reaped.
    pub(crate) fn wait_for_exits(&mut self) {
        let give_up = Instant::now() + EXIT_PATIENCE;
        self.reap();
        let others = |pool: &WorkerPool| pool.processes.len() > pool.awaiting_snapshot().len();
        while self.all_done() && others(self) && Instant::now() < give_up {
            std::thread::sleep(EXIT_POLL_INTERVAL);
            self.reap();
        }
    }

    fn reap(&mut self) {
        let (memory, dead) = (&self.memory, &mut self.dead);
        self.processes.retain(|process| {
            let Ok(Some((_, status))) = waitpid(Some(process.pid), WaitOptions::NOHANG) else { return true };
            let report = memory.reports.worker(process.number);
            if report.reported_done.load(Acquire) == 0 {
                dead.push(process.number);
                report.fail(&describe_death(status));
                report.ends_at(memory.clock.now());
            }
            false
        });
    }

    /// Kills the remaining processes and reaps them.
    fn kill(&mut self) {
        for process in self.processes.drain(..) {
            // The child is not reaped yet, so its PID cannot belong to another process.
            let _ = kill_process(process.pid, Signal::KILL);
            let _ = waitpid(Some(process.pid), WaitOptions::empty());
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.kill();
        for Thread { handle, number } in self.threads.drain(..) {
            if self.memory.reports.worker(number).reported_done.load(Acquire) != 0 {
                let _ = handle.join();
            }
        }
    }
}

fn start_thread(number: usize, barrier: Arc<Barrier>, spec: WorkerSpec) -> io::Result<JoinHandle<()>> {
    let (cpu, body) = (spec.cpu, spec.body);
    std::thread::Builder::new().name(format!("plumb-{number}")).spawn(move || {
        worker_main(&barrier, cpu, body);
    })
}

fn start_process(barrier: &Arc<Barrier>, spec: WorkerSpec, is_only_thread: bool) -> io::Result<Pid> {
    panics::prepare_for_forks();
    // SAFETY: the child runs only `worker_main` and `_exit`. It touches its own copy of this process's memory and
    // the shared phase memory. glibc and musl keep malloc usable after fork. The panic hook takes no lock that
    // another thread may have held.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // If the coordinator is killed, its workers must die too.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            let ends = Arc::clone(barrier);
            panics::become_worker_process(is_only_thread, move |panic| {
                end_by_panic(&ends, panic);
                leave_process();
            });
            worker_main(barrier, spec.cpu, spec.body);
            leave_process()
        }
        child => Pid::from_raw(child).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound)),
    }
}

/// Exits the calling worker process.
fn leave_process() -> ! {
    // SAFETY: ends the child without running the parent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// Returns `true` if the calling thread is the only one of this process; `false` if unknown.
fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.take(2).count() == 1)
}

/// Describes the end of a process that did not report it. Source: waitpid(2).
fn describe_death(status: WaitStatus) -> String {
    let Some(signal) = status.terminating_signal() else {
        return format!("its process ended with status {}", status.exit_status().unwrap_or_default());
    };
    let cause = match signal {
        libc::SIGKILL => ": by a user, or by the kernel because memory ran out",
        libc::SIGBUS => ": an I/O error, or no space, under a mapping",
        _ => "",
    };
    format!("its process was killed by signal {signal}{cause}")
}
