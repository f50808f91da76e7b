//! The workers of a phase as the threads and processes that they are, or as coroutines on virtual time: started, waited
//! for, and gone in the end.
#![allow(unsafe_code)]

use crate::barrier::{Barrier, PhaseMemory, WorkerSpec, end_by_panic, worker_main};
use crate::group_scheduler::Standing;
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

/// Between two looks at processes while the end is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// Between two looks at processes that have said that they are done, and are taking down what was theirs.
const GONE_LOOK: Duration = Duration::from_micros(200);

/// Processes that are done may take so long to go away.
const GONE_PATIENCE: Duration = Duration::from_secs(1);

/// A worker process that has not been reaped.
struct Process {
    pid: Pid,
    /// Number of the worker within the phase.
    number: usize,
}

/// A worker thread.
struct Thread {
    handle: JoinHandle<()>,
    /// Number of the worker within the phase.
    number: usize,
}

/// All workers of a phase. Dropping it kills the processes that are left, and waits for the threads to take down what
/// was theirs, but for those that hang in an op. On virtual time nothing hangs.
pub(crate) struct WorkerPool {
    memory: Arc<PhaseMemory>,
    started: u64,
    threads: Vec<Thread>,
    processes: Vec<Process>,
    /// On virtual time, all of them.
    simulated: Option<Workers>,
    /// Workers that died without saying so.
    dead: Vec<usize>,
}

impl WorkerPool {
    /// Nobody yet.
    pub(crate) fn new(memory: Arc<PhaseMemory>) -> WorkerPool {
        let simulated = memory.clock.is_virtual().then(Workers::new);
        WorkerPool { memory, started: 0, threads: Vec::new(), processes: Vec::new(), simulated, dead: Vec::new() }
    }

    /// Starts all workers. After an error, those before are running.
    pub(crate) fn start(
        &mut self,
        run_as: &[RunAs],
        groups: &[GroupRun],
        workers: Vec<WorkerSpec>,
    ) -> Result<(), PhaseError> {
        // Processes first: a fork copies only the calling thread, so the fewer threads hold locks the better.
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

    /// Workers that died without saying so.
    pub(crate) fn dead(&self) -> &[usize] {
        &self.dead
    }

    /// How many workers are over, or wait for the look behind their clocks.
    pub(crate) fn over(&self) -> u64 {
        self.memory.control.control().awaiting_look() + self.ended()
    }

    /// How many workers have done all that they do.
    fn ended(&self) -> u64 {
        self.memory.control.control().done() + self.dead.len() as u64
    }

    /// How a worker stands.
    pub(crate) fn standing(&self, number: usize) -> Standing {
        let report = self.memory.reports.worker(number);
        let waits = report.awaits_look.load(Acquire) != 0;
        if !waits && report.said_done.load(Acquire) == 0 && !self.dead.contains(&number) {
            Standing::Present
        } else if report.has_failed() {
            Standing::Failed
        } else {
            Standing::Over
        }
    }

    /// Whether every worker is ready for the barrier, or over.
    pub(crate) fn all_ready(&self) -> bool {
        let control = self.memory.control.control();
        control.ready() + self.over() >= self.started
    }

    /// Whether the clock of every worker has stopped.
    pub(crate) fn all_done(&self) -> bool {
        self.over() >= self.started
    }

    /// Whether every worker has done all that it does.
    fn all_ended(&self) -> bool {
        self.ended() >= self.started
    }

    /// The machine has been seen: lets the workers that waited for it end, which may take as long as a flush. False where
    /// a signal came first and one of them did not end soon after.
    pub(crate) fn finish(&mut self, stop: StopFlag, patience: Duration) -> bool {
        let control = self.memory.control.control();
        if control.awaiting_look() == 0 {
            return true;
        }
        control.looked();
        if let Some(workers) = &mut self.simulated {
            workers.run_to_end();
            return self.all_ended();
        }
        let mut give_up = None;
        while !self.all_ended() && give_up.is_none_or(|at| Instant::now() < at) {
            self.wait(LOOK);
            if stop.requested() && give_up.is_none() {
                give_up = Some(Instant::now() + patience);
            }
        }
        self.wait_gone();
        self.all_ended()
    }

    /// Processes of workers that wait for the look: what they read and wrote is not yet counted with ours.
    pub(crate) fn awaiting_look(&self) -> Vec<u32> {
        let waits = |process: &&Process| self.memory.reports.worker(process.number).awaits_look.load(Acquire) != 0;
        let pid = |process: &Process| u32::try_from(process.pid.as_raw_nonzero().get()).ok();
        self.processes.iter().filter(waits).filter_map(pid).collect()
    }

    /// Waits until something happens, but no longer than that, and reaps processes that have ended.
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

    /// Waits for all to be over, but no longer than that.
    pub(crate) fn wait_done(&mut self, patience: Duration) {
        if let Some(workers) = &mut self.simulated {
            return workers.run_to_end();
        }
        let give_up = Instant::now() + patience;
        while !self.all_done() && Instant::now() < give_up {
            self.wait(LOOK);
        }
    }

    /// Once all are over: waits until their processes are gone. What a process read and wrote is counted with ours
    /// (`/proc/self/io`) from the moment at which it is reaped, and not before.
    pub(crate) fn wait_gone(&mut self) {
        let give_up = Instant::now() + GONE_PATIENCE;
        self.reap();
        let others = |pool: &WorkerPool| pool.processes.len() > pool.awaiting_look().len();
        while self.all_done() && others(self) && Instant::now() < give_up {
            std::thread::sleep(GONE_LOOK);
            self.reap();
        }
    }

    fn reap(&mut self) {
        let (memory, dead) = (&self.memory, &mut self.dead);
        self.processes.retain(|process| {
            let Ok(Some((_, status))) = waitpid(Some(process.pid), WaitOptions::NOHANG) else { return true };
            let report = memory.reports.worker(process.number);
            if report.said_done.load(Acquire) == 0 {
                dead.push(process.number);
                report.fail(&way_of_death(status));
                report.ends_at(memory.clock.now());
            }
            false
        });
    }

    /// Kills the processes that are left, and waits until they are gone.
    fn kill(&mut self) {
        for process in self.processes.drain(..) {
            // The child is ours and not yet reaped, so its number is not anybody else's.
            let _ = kill_process(process.pid, Signal::KILL);
            let _ = waitpid(Some(process.pid), WaitOptions::empty());
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.kill();
        for Thread { handle, number } in self.threads.drain(..) {
            if self.memory.reports.worker(number).said_done.load(Acquire) != 0 {
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
    // SAFETY: the child runs only `worker_main` and `_exit`: it touches its own copy of this process's memory and the
    // shared phase memory. glibc and musl keep malloc usable after fork. The hook of panics takes no lock that another
    // thread may have held.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // A killed coordinator takes its workers with it.
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

/// Ends the worker process that calls it.
fn leave_process() -> ! {
    // SAFETY: ends the child without running the parent's exit handlers.
    unsafe { libc::_exit(0) }
}

/// Returns `true` if the calling thread is the only one of this process; `false` where that is unknown.
fn is_only_thread() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.take(2).count() == 1)
}

/// How a process ended that did not say so itself. Source: waitpid(2).
fn way_of_death(status: WaitStatus) -> String {
    let Some(signal) = status.terminating_signal() else {
        return format!("its process ended with status {}", status.exit_status().unwrap_or_default());
    };
    let cause = match signal {
        libc::SIGKILL => ": by hand, or by the kernel, out of memory",
        libc::SIGBUS => ": an I/O error, or no space, under a mapping",
        _ => "",
    };
    format!("its process was killed by signal {signal}{cause}")
}
