//! The barrier between making a worker ready and letting it run, and the worker's main function, for threads and
//! processes alike.
#![allow(unsafe_code)]

use crate::clock::{Clock, Ticks};
use crate::control::{Control, ControlBlock, FlowWords};
use crate::fault::{FaultLog, ReportCells, Reports};
use crate::pacer::{Sharing, Waited, wait_until};
use crate::recorder::{Cells, Recorder};
use crate::worker::{Budget, Desk, Ended};
use plumb_workload::OnError;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

/// How often a ready worker looks whether the clock has started.
const READY_POLL: Duration = Duration::from_micros(50);

/// Wakes the coordinator from any worker, thread or process: an eventfd.
pub(crate) struct Bell {
    fd: OwnedFd,
}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a fresh descriptor that nothing else owns.
        Ok(Bell { fd: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    fn ring(&self) {
        let one = 1u64;
        // SAFETY: writes 8 bytes from a live u64. It can only fail when the counter is full, and then it has rung.
        unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
    }

    /// Waits for a ring, a signal, or the time-out.
    pub(crate) fn wait(&self, timeout: Duration) {
        let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let timeout_ms = timeout.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
        // SAFETY: one pollfd, live for the call.
        if unsafe { libc::poll(&raw mut poll, 1, timeout_ms) } > 0 {
            let mut count = 0u64;
            // SAFETY: reads 8 bytes into a live u64.
            unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) };
        }
    }
}

/// Everything of a phase that coordinator and workers share.
pub(crate) struct PhaseMemory {
    pub(crate) clock: Clock,
    pub(crate) control: ControlBlock,
    pub(crate) cells: Cells,
    pub(crate) reports: Reports,
    pub(crate) bell: Bell,
}

impl PhaseMemory {
    pub(crate) fn new(clock: Clock, workers: usize, groups: usize) -> io::Result<PhaseMemory> {
        Ok(PhaseMemory {
            clock,
            control: ControlBlock::new(groups)?,
            cells: Cells::new(workers)?,
            reports: Reports::new(workers)?,
            bell: Bell::new()?,
        })
    }
}

/// What a worker's body gets: the way through the barrier.
pub(crate) struct Gate {
    memory: Arc<PhaseMemory>,
    number: usize,
    pub(crate) group: usize,
    budget: Budget,
    on_error: OnError,
}

/// What a worker does: makes its backend ready, passes the gate, runs its loop.
pub(crate) type Body = Box<dyn FnOnce(&Gate) -> Result<Ended, String> + Send>;

/// A worker before it starts.
pub(crate) struct WorkerSpec {
    pub(crate) name: String,
    pub(crate) group: usize,
    pub(crate) depth: u32,
    pub(crate) cpu: Option<u32>,
    pub(crate) budget: Budget,
    pub(crate) on_error: OnError,
    pub(crate) body: Body,
}

/// What the kernel charged to a thread. Source: getrusage(2).
#[derive(Debug, Clone, Copy, Default)]
struct CpuTime {
    user_ns: u64,
    system_ns: u64,
    /// Voluntary context switches.
    sleeps: u64,
}

fn thread_cpu_time() -> CpuTime {
    // SAFETY: rusage is plain data, valid when zeroed.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    #[cfg(target_os = "linux")]
    let who = libc::RUSAGE_THREAD;
    #[cfg(not(target_os = "linux"))]
    let who = libc::RUSAGE_SELF;
    // SAFETY: writes into a live rusage.
    unsafe { libc::getrusage(who, &raw mut usage) };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    CpuTime {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        sleeps: u64::try_from(usage.ru_nvcsw).unwrap_or(0),
    }
}

impl Gate {
    pub(crate) fn new(memory: Arc<PhaseMemory>, number: usize, spec: &WorkerSpec) -> Gate {
        Gate { memory, number, group: spec.group, budget: spec.budget, on_error: spec.on_error }
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.memory.clock
    }

    pub(crate) fn report(&self) -> &ReportCells {
        self.memory.reports.worker(self.number)
    }

    fn control(&self) -> &Control {
        self.memory.control.control()
    }

    /// Whether the phase is to end. For backends that wait for somebody else.
    pub(crate) fn stops(&self) -> bool {
        // Before the clock starts there is no deadline yet.
        match self.control().started_at() {
            Some(_) => self.control().stops_at(self.memory.clock.now()),
            None => self.control().stop_requested(),
        }
    }

    /// How this worker shares a rate with its group of so many.
    pub(crate) fn sharing(&self, workers: u32) -> Sharing<'_> {
        Sharing::Group { workers, numbers: self.memory.control.schedule(self.group) }
    }

    /// What the jobs of a flow share; the flow is named by the first group that belongs to it.
    pub(crate) fn flow(&self, first_group: usize) -> &FlowWords {
        self.memory.control.flow(first_group)
    }

    /// Says that the worker is ready and waits for the clock to start. `None` when the phase was stopped before that.
    pub(crate) fn pass(&self) -> Option<Passed<'_>> {
        self.control().worker_ready();
        self.memory.bell.ring();
        let started_at = loop {
            if self.control().stop_requested() {
                return None;
            }
            match self.control().started_at() {
                Some(at) => break at,
                None => std::thread::sleep(READY_POLL),
            }
        };
        if wait_until(&self.memory.clock, self.control(), started_at) == Waited::Stopped {
            return None;
        }
        let desk = Desk {
            clock: self.memory.clock,
            control: self.control(),
            recorder: Recorder::new(self.memory.cells.worker(self.number)),
            faults: FaultLog::new(self.report()),
            budget: self.budget,
            on_error: self.on_error,
        };
        Some(Passed { desk, started_at, cpu: thread_cpu_time(), gate: self })
    }
}

/// A worker behind the barrier.
pub(crate) struct Passed<'a> {
    pub(crate) desk: Desk<'a>,
    pub(crate) started_at: Ticks,
    cpu: CpuTime,
    gate: &'a Gate,
}

impl Passed<'_> {
    /// Stops the worker's clock. Called as soon as the loop and the backend's own finish are over, before anything is
    /// taken down.
    pub(crate) fn stop_clock(&self) {
        let report = self.gate.report();
        report.ended_at.store(self.gate.memory.clock.now(), Release);
        let cpu = thread_cpu_time();
        report.cpu_user_ns.store(cpu.user_ns - self.cpu.user_ns, Relaxed);
        report.cpu_system_ns.store(cpu.system_ns - self.cpu.system_ns, Relaxed);
        report.sleeps.store(cpu.sleeps.saturating_sub(self.cpu.sleeps), Relaxed);
    }
}

fn prepare_thread(cpu: Option<u32>) -> Result<(), String> {
    // SAFETY: sigset_t is plain data that sigfillset initialises; the mask of this thread only.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        // An I/O error under a mapping must still end the worker, or it would fault for ever.
        for signal in [libc::SIGBUS, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, libc::SIGABRT] {
            libc::sigdelset(&raw mut all, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
    #[cfg(target_os = "linux")]
    {
        // SAFETY: no memory is passed. The default slack of 50 µs would make paced ops late.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
        if let Some(cpu) = cpu {
            // SAFETY: cpu_set_t is plain data, valid when zeroed; CPU_SET checks its range.
            let set = unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(cpu as usize, &mut set);
                set
            };
            // SAFETY: a live set of the size given, for the calling thread.
            if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) } != 0 {
                return Err(format!("cannot run on CPU {cpu}: {}", io::Error::last_os_error()));
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    if cpu.is_some() {
        return Err("CPU affinity is not available on this platform".to_owned());
    }
    Ok(())
}

/// A worker's whole life, in its own thread or process.
pub(crate) fn worker_main(gate: &Gate, cpu: Option<u32>, body: Body) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        prepare_thread(cpu)?;
        body(gate)
    }));
    let failure = match outcome {
        Ok(Ok(_ended)) => None,
        Ok(Err(reason)) => Some(reason),
        Err(_panic) => Some("the worker panicked; this is a defect of Plumb".to_owned()),
    };
    if let Some(reason) = failure {
        gate.report().failure.write(reason.as_bytes());
        gate.control().request_stop();
    }
    gate.report().ends_at(gate.memory.clock.now());
    gate.control().worker_done();
    gate.report().said_done.store(1, Release);
    gate.memory.bell.ring();
}
