//! Ctrl-C and `kill`: a run ends early, keeps its measurements, and cleans up.
//!
//! [`install`] makes SIGINT, SIGTERM and SIGHUP raise a flag and do nothing else; working threads check the
//! flag. A second Ctrl-C changes nothing: the run is already cleaning up, which is short. To skip the
//! clean-up, send SIGKILL and run `plumb clean` afterwards. Signals that were ignored when the program started
//! stay ignored (`nohup`, background jobs).
//!
//! This uses `sigaction(2)` directly instead of a crate. Three handlers that store a number need no dependency, and the
//! flag must be in shared memory, because worker processes have to see it.
//!
//! # A run must end within two seconds
//! - Hot loops check [`StopFlag::requested`] once per op (one relaxed load). Waits use [`StopFlag::sleep`].
//! - A handler runs in one thread only, and only that thread's system call ends with `EINTR` (SA_RESTART is
//!   not set). The engine therefore has to wake every worker repeatedly (for example every 50 ms) until it
//!   has ended. A single wake-up could arrive between the worker's check of the flag and its system call.
//!   For worker processes: `kill(pid, SIGTERM)`.
//! - Backends treat `EINTR` as "check the flag, then retry", never as an error of the op.
//! - A thread in an uninterruptible system call (`fsync`, a read from a dead disk) cannot be stopped. After
//!   about 1.5 seconds, the engine stops waiting for it. It takes the last published state of the recorders,
//!   marks the run partial, removes the test directory (unlinking an open file does not wait for its flush), and
//!   stores the result. It exits through `std::process::exit`, which does not join threads. Destructors of a
//!   stuck thread's data do not run.
#![allow(unsafe_code)]

use crate::shared::SharedSlice;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: `kill`.
    Terminate,
    /// SIGHUP: the terminal was closed.
    Hangup,
    /// SIGPIPE: the reader of the output exited. Only [`kill_self`] raises it.
    BrokenPipe,
    /// The program's own request, through [`StopFlag::request`].
    Program,
}

impl StopSignal {
    const PROGRAM: i32 = -1;

    /// Returns the system's signal number; `None` for signals that are not handled.
    fn number(self) -> Option<libc::c_int> {
        match self {
            StopSignal::Interrupt => Some(libc::SIGINT),
            StopSignal::Terminate => Some(libc::SIGTERM),
            StopSignal::Hangup => Some(libc::SIGHUP),
            StopSignal::BrokenPipe | StopSignal::Program => None,
        }
    }

    fn from_raw(raw: i32) -> Option<StopSignal> {
        match raw {
            libc::SIGINT => Some(StopSignal::Interrupt),
            libc::SIGTERM => Some(StopSignal::Terminate),
            libc::SIGHUP => Some(StopSignal::Hangup),
            Self::PROGRAM => Some(StopSignal::Program),
            _ => None,
        }
    }
}

/// Whether to stop. Copies share one flag.
#[derive(Debug, Clone, Copy)]
pub struct StopFlag(&'static AtomicI32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// The whole time has passed.
    Whole,
    /// Ended early, because the run must stop.
    Cut,
}

impl StopFlag {
    /// Creates a flag that no signal raises, only [`StopFlag::request`]. It is never freed (4 bytes), so create
    /// at most one per run.
    pub fn detached() -> StopFlag {
        StopFlag(Box::leak(Box::new(AtomicI32::new(0))))
    }

    /// Returns `true` if the run must stop.
    #[inline(always)]
    pub fn requested(self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Returns the cell with the reason; 0 until the flag is raised.
    pub(crate) fn cell(self) -> &'static AtomicI32 {
        self.0
    }

    /// Returns the first reason to stop, if any.
    pub fn signal(self) -> Option<StopSignal> {
        StopSignal::from_raw(self.0.load(Ordering::Relaxed))
    }

    /// Raises the flag from within the program.
    pub fn request(self) {
        raise(self.0, StopSignal::PROGRAM);
    }

    /// Waits at most this long for a signal to this process, also one that came after the program's own request, and makes it
    /// the reason to stop. Returns `true` if one came.
    pub fn await_signal(self, at_most: Duration) -> bool {
        const POLL_INTERVAL: Duration = Duration::from_millis(10);
        let start = Instant::now();
        let is_installed = FLAG.get().is_some_and(|flag| std::ptr::eq(flag.0, self.0));
        loop {
            let newest = if is_installed { NEWEST.load(Ordering::Relaxed) } else { 0 };
            if newest != 0 {
                let _ = self.0.compare_exchange(StopSignal::PROGRAM, newest, Ordering::Relaxed, Ordering::Relaxed);
            }
            let is_signalled = self.signal().is_some_and(|signal| signal != StopSignal::Program);
            if is_signalled || start.elapsed() >= at_most {
                return is_signalled;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Sleeps, but ends early if the run must stop: checks the flag at least every 50 ms.
    pub fn sleep(self, time: Duration) -> Slept {
        const SLICE: Duration = Duration::from_millis(50);
        let start = Instant::now();
        loop {
            if self.requested() {
                return Slept::Cut;
            }
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Slept::Whole;
            }
            std::thread::sleep(left.min(SLICE));
        }
    }
}

/// The flag that signals raise; empty until [`install`] has run.
static FLAG: OnceLock<StopFlag> = OnceLock::new();

fn raise(flag: &AtomicI32, reason: i32) {
    let _ = flag.compare_exchange(0, reason, Ordering::Relaxed, Ordering::Relaxed);
}

/// PID of the sender of the first signal; 0 before that, and for signals from the kernel, such as Ctrl-C.
static SENDER: AtomicI32 = AtomicI32::new(0);

/// Number of the newest stop signal; 0 before the first.
static NEWEST: AtomicI32 = AtomicI32::new(0);

/// Returns `true` if the first signal was sent to this process alone, as with `kill PID`. Parents and terminals instead
/// signal all processes that they started.
pub fn signalled_alone() -> bool {
    let sender = SENDER.load(Ordering::Relaxed);
    sender != 0 && rustix::process::getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != sender)
}

/// Handles a stop signal. Async-signal-safe: atomic operations, and a system call that preserves errno.
extern "C" fn on_stop(signal: libc::c_int, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    if let Some(StopFlag(flag)) = FLAG.get() {
        // SAFETY: the system passes a valid siginfo_t to a handler with SA_SIGINFO, which stays valid while it runs.
        let sender = unsafe { info.as_ref().map_or(0, |info| info.si_pid()) };
        if flag.load(Ordering::Relaxed) == 0 {
            let _ = SENDER.compare_exchange(0, sender, Ordering::Relaxed, Ordering::Relaxed);
        }
        raise(flag, signal);
        NEWEST.store(signal, Ordering::Relaxed);
    }
    wake_waiting();
}

extern "C" fn on_wake(_: libc::c_int) {}

/// Number of progress requests so far.
static PROGRESS_REQUESTS: AtomicU32 = AtomicU32::new(0);

/// Thread to wake on a signal; 0 for none.
static WOKEN: AtomicI32 = AtomicI32::new(0);

/// Handles a progress request. Async-signal-safe: one addition and one system call that passes only numbers.
extern "C" fn on_progress_request(_: libc::c_int) {
    PROGRESS_REQUESTS.fetch_add(1, Ordering::Relaxed);
    wake_waiting();
}

/// Wakes the registered thread. Async-signal-safe; preserves errno.
fn wake_waiting() {
    let thread = WOKEN.load(Ordering::Relaxed);
    if thread != 0 {
        // SAFETY: errno belongs to this thread; the calls pass only numbers.
        unsafe {
            let errno = *errno_place();
            crate::os::signal_thread(libc::getpid(), thread, WAKE_SIGNAL);
            *errno_place() = errno;
        }
    }
}

/// Returns the location of this thread's errno.
///
/// # Safety
/// Only this thread may use the pointer.
unsafe fn errno_place() -> *mut libc::c_int {
    #[cfg(target_os = "linux")]
    // SAFETY: always a valid pointer for the calling thread.
    unsafe {
        libc::__errno_location()
    }
    #[cfg(not(target_os = "linux"))]
    // SAFETY: as above.
    unsafe {
        libc::__error()
    }
}

/// Handles SIGUSR1 as a progress request, and on the BSDs also SIGINFO (Ctrl-T).
///
/// # Errors
/// Those of `sigaction`.
pub fn handle_progress_requests() -> io::Result<()> {
    let handler = on_progress_request as extern "C" fn(libc::c_int) as libc::sighandler_t;
    #[cfg(not(target_os = "linux"))]
    handle(libc::SIGINFO, handler)?;
    handle(libc::SIGUSR1, handler)
}

/// Returns the number of progress requests so far.
#[inline(always)]
pub(crate) fn progress_requests() -> u32 {
    PROGRESS_REQUESTS.load(Ordering::Relaxed)
}

/// Exits the program at once. Skips the C library's `exit`, in which the allocator would free memory block by block.
pub fn leave(code: u8) -> ! {
    // An output error was already noticed before.
    let _ = io::stdout().flush();
    // SAFETY: passes only a number. Plumb registers nothing with `atexit` and has no open C stream; an
    // MPI library was finalized before.
    unsafe { libc::_exit(code.into()) }
}

/// Ends the program with the default action of a signal, so that its parent sees the signal.
pub fn kill_self(signal: StopSignal) -> ! {
    let number = match signal {
        StopSignal::Interrupt => libc::SIGINT,
        StopSignal::Terminate => libc::SIGTERM,
        StopSignal::Hangup => libc::SIGHUP,
        StopSignal::BrokenPipe => libc::SIGPIPE,
        StopSignal::Program => libc::SIGABRT,
    };
    // SAFETY: passes only numbers; the default action of these signals ends the process.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        libc::raise(number);
    }
    // Reached only if the signal is blocked.
    std::process::exit(128 + number)
}

/// Lets handled signals interrupt blocking system calls of the thread that created it, until it is dropped.
pub(crate) struct WokenBySignals(());

impl WokenBySignals {
    /// Registers the calling thread.
    pub(crate) fn this_thread() -> WokenBySignals {
        // SAFETY: sigset_t is plain data that sigemptyset initialises; only this thread's mask changes.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, WAKE_SIGNAL);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        }
        WOKEN.store(crate::os::thread_number(), Ordering::Relaxed);
        WokenBySignals(())
    }
}

impl Drop for WokenBySignals {
    fn drop(&mut self) {
        WOKEN.store(0, Ordering::Relaxed);
    }
}

/// Installs the handlers once per process. Call it before any thread or worker process starts: the flag is in memory
/// that forked processes share. Further calls return the same flag.
///
/// # Errors
/// Those of `mmap` and `sigaction`; practically never.
pub fn install() -> io::Result<StopFlag> {
    static INSTALLED: OnceLock<Result<StopFlag, i32>> = OnceLock::new();
    let installed =
        INSTALLED.get_or_init(|| try_install().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)));
    installed.map_err(io::Error::from_raw_os_error)
}

/// Handles a signal even if this program was started with the signal ignored, as a shell does with SIGINT for
/// background jobs (`&`). For emulated tools that set their handlers unconditionally.
///
/// # Errors
/// Those of [`install`].
pub fn hear(signal: StopSignal) -> io::Result<()> {
    install()?;
    match signal.number() {
        Some(number) => handle_stop(number),
        None => Ok(()),
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with `EFBIG` instead of killing the
/// program. Call this before the first write.
///
/// Installs an empty handler instead of ignoring the signal: exec resets handlers but not ignored signals, so child
/// processes start with the default action.
///
/// # Errors
/// Those of `sigaction`; practically never.
pub fn survive_file_size_limits() -> io::Result<()> {
    if is_ignored(libc::SIGXFSZ)? {
        return Ok(());
    }
    handle(libc::SIGXFSZ, on_file_size_limit as extern "C" fn(libc::c_int) as libc::sighandler_t)
}

/// Does nothing: the write that raised the signal fails with `EFBIG`.
extern "C" fn on_file_size_limit(_: libc::c_int) {}

fn try_install() -> io::Result<StopFlag> {
    // Never unmapped: a handler may run at any time.
    let page: &'static SharedSlice<AtomicI32> = Box::leak(Box::new(SharedSlice::new(1)?));
    let flag = *FLAG.get_or_init(|| StopFlag(&page[0]));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        if !is_ignored(signal)? {
            handle_stop(signal)?;
        }
    }
    handle(WAKE_SIGNAL, on_wake as extern "C" fn(libc::c_int) as libc::sighandler_t)?;
    Ok(flag)
}

fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: a zeroed sigaction is valid to be overwritten; no new action is passed.
    let (code, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    if code == 0 { Ok(action.sa_sigaction == libc::SIG_IGN) } else { Err(io::Error::last_os_error()) }
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    act(signal, handler, 0)
}

/// Installs [`on_stop`], which takes three arguments.
fn handle_stop(signal: libc::c_int) -> io::Result<()> {
    let handler = on_stop as extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void);
    act(signal, handler as libc::sighandler_t, libc::SA_SIGINFO)
}

fn act(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the action is fully initialised. All handlers are async-signal-safe and match the flags. Without
    // SA_RESTART, blocking calls end with EINTR.
    let code = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        action.sa_flags = flags;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(signal, &raw const action, std::ptr::null_mut())
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Ignored by default, so that a stray one before [`install`] does no harm.
pub(crate) const WAKE_SIGNAL: libc::c_int = libc::SIGURG;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_raises_the_flag_and_a_second_one_does_not_change_the_reason() {
        // The flag is process-wide: this is the only test that sends signals to its own process.
        let flag = install().unwrap();
        assert!(!flag.requested() && !flag.await_signal(Duration::ZERO));
        let me = rustix::process::getpid();
        assert!(!signalled_alone());
        rustix::process::kill_process(me, rustix::process::Signal::TERM).unwrap();
        assert_eq!(flag.sleep(Duration::from_secs(60)), Slept::Cut);
        rustix::process::kill_process(me, rustix::process::Signal::INT).unwrap();
        rustix::process::kill_process(me, rustix::process::Signal::HUP).unwrap();
        assert_eq!(flag.sleep(Duration::from_millis(1)), Slept::Cut);
        assert_eq!(install().unwrap().signal(), Some(StopSignal::Terminate));
        // The sender was this process itself, which is not its parent.
        assert!(signalled_alone());
        // The program's own request gives way to a signal, and a flag of no signal waits in vain. Which of the three is the
        // newest depends on the threads that handle them.
        flag.0.store(StopSignal::PROGRAM, Ordering::Relaxed);
        assert!(flag.await_signal(Duration::ZERO));
        assert_ne!(flag.signal(), Some(StopSignal::Program));
        let detached = StopFlag::detached();
        detached.request();
        assert!(!detached.await_signal(Duration::from_millis(1)));
    }

    #[test]
    fn detached_flags_are_independent_and_sleeps_are_complete() {
        let (one, other) = (StopFlag::detached(), StopFlag::detached());
        one.request();
        assert_eq!(one.signal(), Some(StopSignal::Program));
        assert!(!other.requested());
        assert_eq!(other.signal(), None);
        assert_eq!(other.sleep(Duration::from_millis(1)), Slept::Whole);
        assert_eq!(one.sleep(Duration::from_secs(60)), Slept::Cut);
    }
}
