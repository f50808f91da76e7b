//! Ctrl-C and `kill`: a run ends early, keeps what was measured, and cleans up.
//!
//! [`install`] makes SIGINT, SIGTERM and SIGHUP raise a flag, and nothing else; who works looks at the flag. A second
//! Ctrl-C changes nothing: cleaning up is what one waits for, and it is short. Who wants no cleaning sends SIGKILL, and
//! `plumb clean` afterwards. A signal that was ignored when the program started stays ignored (`nohup`, background jobs).
//!
//! By `sigaction(2)` itself rather than a crate: three handlers that store a number need no dependency, and worker
//! processes must see the flag, which therefore lies in shared memory.
//!
//! # What a run owes the user: an end within two seconds
//! - Hot loops look at [`StopFlag::requested`] once an op (one relaxed load). Waits go through [`StopFlag::sleep`].
//! - A handler runs in one thread only, and only that thread's system call ends with `EINTR` (SA_RESTART is not set).
//!   The engine therefore calls [`Waker::wake`] for every worker, again and again (every 50 ms, say) until it has ended:
//!   a single wake-up could fall between its look at the flag and its system call. For worker processes:
//!   `kill(pid, SIGTERM)`.
//! - Backends treat `EINTR` as "look at the flag, then try again", never as an error of the op.
//! - What cannot be ended is a thread in an uninterruptible system call (`fsync`, a read from a dead disk). After about
//!   1.5 seconds the engine gives up waiting for it: it takes the recorders' last published state, marks the run
//!   partial, removes the test directory (unlinking an open file does not wait for its flush), stores, and leaves by
//!   `std::process::exit`, which does not join threads. Destructors of what a stuck thread owns do not run.
#![allow(unsafe_code)]

use crate::shared::SharedSlice;
use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Why to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: `kill`.
    Terminate,
    /// SIGHUP: the terminal went away.
    Hangup,
    /// SIGPIPE: whoever read the output went away. Nothing raises it but [`die_by`].
    BrokenPipe,
    /// The program itself asks, by [`StopFlag::request`].
    Program,
}

impl StopSignal {
    const PROGRAM: i32 = -1;

    /// The system's number of one that can be sent from outside.
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

/// Whether to stop. Copies are the same flag.
#[derive(Debug, Clone, Copy)]
pub struct StopFlag(&'static AtomicI32);

/// How a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slept {
    /// After the whole time.
    Whole,
    /// Early, since the run is to stop.
    Cut,
}

impl StopFlag {
    /// A flag that no signal raises, only [`StopFlag::request`]. It is never freed (4 bytes): make one a run at most.
    pub fn detached() -> StopFlag {
        StopFlag(Box::leak(Box::new(AtomicI32::new(0))))
    }

    /// Whether to stop.
    #[inline(always)]
    pub fn requested(self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// 0 until it is raised.
    pub(crate) fn cell(self) -> &'static AtomicI32 {
        self.0
    }

    /// Why to stop: the first reason there was.
    pub fn signal(self) -> Option<StopSignal> {
        StopSignal::from_raw(self.0.load(Ordering::Relaxed))
    }

    /// Raises the flag from within the program.
    pub fn request(self) {
        raise(self.0, StopSignal::PROGRAM);
    }

    /// Sleeps, but not on when the run is to stop: it looks at the flag at least every 50 ms.
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

/// The process that sent the first signal; 0 before, and where it was the kernel, as with Ctrl-C.
static SENDER: AtomicI32 = AtomicI32::new(0);

/// Whether the first signal was sent to this process by itself, as by `kill PID`: neither its parent sent it nor the terminal, which
/// send one to all that they started.
pub fn signalled_alone() -> bool {
    let sender = SENDER.load(Ordering::Relaxed);
    sender != 0 && rustix::process::getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != sender)
}

/// Async-signal-safe: loads, compare-and-exchanges, and a system call that leaves errno as it was.
extern "C" fn on_stop(signal: libc::c_int, info: *const libc::siginfo_t, _context: *const libc::c_void) {
    if let Some(StopFlag(flag)) = FLAG.get() {
        // SAFETY: the system passes a valid siginfo_t to a handler with SA_SIGINFO, for as long as it runs.
        let sender = unsafe { info.as_ref().map_or(0, |info| info.si_pid()) };
        if flag.load(Ordering::Relaxed) == 0 {
            let _ = SENDER.compare_exchange(0, sender, Ordering::Relaxed, Ordering::Relaxed);
        }
        raise(flag, signal);
    }
    wake_waiting();
}

extern "C" fn on_wake(_: libc::c_int) {}

/// How often somebody asked how far it is.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// The thread that a signal is to wake; 0 while there is none.
static WOKEN: AtomicI32 = AtomicI32::new(0);

/// Async-signal-safe: one addition and one system call that passes numbers only.
extern "C" fn on_ask(_: libc::c_int) {
    ASKED.fetch_add(1, Ordering::Relaxed);
    wake_waiting();
}

/// Async-signal-safe; errno is as it was before.
fn wake_waiting() {
    let thread = WOKEN.load(Ordering::Relaxed);
    if thread != 0 {
        // SAFETY: errno is this thread's own; the calls pass numbers only.
        unsafe {
            let errno = *errno_place();
            crate::os::signal_thread(libc::getpid(), thread, WAKE_SIGNAL);
            *errno_place() = errno;
        }
    }
}

/// Where this thread keeps errno.
///
/// # Safety
/// The pointer is this thread's only.
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

/// Who asks a running program how far it is sends SIGUSR1, and on the BSDs SIGINFO (Ctrl-T) as well.
///
/// # Errors
/// The system's, from `sigaction`.
pub fn hear_questions() -> io::Result<()> {
    let handler = on_ask as extern "C" fn(libc::c_int) as libc::sighandler_t;
    #[cfg(not(target_os = "linux"))]
    handle(libc::SIGINFO, handler)?;
    handle(libc::SIGUSR1, handler)
}

/// How often somebody has asked.
#[inline(always)]
pub(crate) fn questions() -> u32 {
    ASKED.load(Ordering::Relaxed)
}

/// Ends the program at once. The memory of a program that ends need not be given back block by block, as an allocator does from the C
/// library's `exit`.
pub fn leave(code: u8) -> ! {
    // What cannot be printed any more was noticed before.
    let _ = io::stdout().flush();
    // SAFETY: a number only. Plumb registers nothing with `atexit` and has no stream of the C library open; an MPI library was left before.
    unsafe { libc::_exit(code.into()) }
}

/// Ends the program as a signal ends it, so that whoever waits for it sees that.
pub fn die_by(signal: StopSignal) -> ! {
    let number = match signal {
        StopSignal::Interrupt => libc::SIGINT,
        StopSignal::Terminate => libc::SIGTERM,
        StopSignal::Hangup => libc::SIGHUP,
        StopSignal::BrokenPipe => libc::SIGPIPE,
        StopSignal::Program => libc::SIGABRT,
    };
    // SAFETY: numbers only; the default action of these signals ends the process.
    unsafe {
        libc::signal(number, libc::SIG_DFL);
        libc::raise(number);
    }
    // Only where the signal is blocked.
    std::process::exit(128 + number)
}

/// While it lives, signals that the program hears also end blocking system calls of the thread that made it.
pub(crate) struct WokenBySignals(());

impl WokenBySignals {
    /// For the calling thread.
    pub(crate) fn this_thread() -> WokenBySignals {
        // SAFETY: sigset_t is plain data that sigemptyset initialises; the mask of this thread only.
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

/// Installs the handlers, once for the process, before any thread or worker process starts: the flag lies in memory that
/// forked processes share. Further calls give the same flag.
///
/// # Errors
/// The system's, from `mmap` or `sigaction`; as good as never.
pub fn install() -> io::Result<StopFlag> {
    static INSTALLED: OnceLock<Result<StopFlag, i32>> = OnceLock::new();
    let installed =
        INSTALLED.get_or_init(|| try_install().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL)));
    installed.map_err(io::Error::from_raw_os_error)
}

/// Handles a signal even if this program was started with the signal ignored, as a shell does with SIGINT for
/// background jobs (`&`). For tools that set their handlers unconditionally.
///
/// # Errors
/// As of [`install`].
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
/// The system's, from `sigaction`; practically never.
pub fn survive_file_size_limits() -> io::Result<()> {
    if is_ignored(libc::SIGXFSZ)? {
        return Ok(());
    }
    handle(libc::SIGXFSZ, on_file_size_limit as extern "C" fn(libc::c_int) as libc::sighandler_t)
}

/// The write that raised the signal fails with `EFBIG`.
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
    // SAFETY: a zeroed sigaction is a valid one to be written over; no new action is given.
    let (code, action) = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        (libc::sigaction(signal, std::ptr::null(), &raw mut action), action)
    };
    if code == 0 { Ok(action.sa_sigaction == libc::SIG_IGN) } else { Err(io::Error::last_os_error()) }
}

fn handle(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    act(signal, handler, 0)
}

/// [`on_stop`] has the form with three arguments.
fn handle_stop(signal: libc::c_int) -> io::Result<()> {
    let handler = on_stop as extern "C" fn(libc::c_int, *const libc::siginfo_t, *const libc::c_void);
    act(signal, handler as libc::sighandler_t, libc::SA_SIGINFO)
}

fn act(signal: libc::c_int, handler: libc::sighandler_t, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: the action is fully initialised; all handlers are async-signal-safe and have the form that the flags say. Without
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

/// By default this signal is ignored, so that a stray one before [`install`] does no harm.
pub(crate) const WAKE_SIGNAL: libc::c_int = libc::SIGURG;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_raises_the_flag_and_a_second_one_does_not_change_the_reason() {
        // The flag is the process's own: this is the only test that sends signals to itself.
        let flag = install().unwrap();
        assert!(!flag.requested());
        let me = rustix::process::getpid();
        assert!(!signalled_alone());
        rustix::process::kill_process(me, rustix::process::Signal::TERM).unwrap();
        assert_eq!(flag.sleep(Duration::from_secs(60)), Slept::Cut);
        rustix::process::kill_process(me, rustix::process::Signal::INT).unwrap();
        rustix::process::kill_process(me, rustix::process::Signal::HUP).unwrap();
        assert_eq!(flag.sleep(Duration::from_millis(1)), Slept::Cut);
        assert_eq!(install().unwrap().signal(), Some(StopSignal::Terminate));
        // From this process itself, which is not its parent.
        assert!(signalled_alone());
    }

    #[test]
    fn a_detached_flag_is_its_own_and_whole_sleeps_are_whole() {
        let (one, other) = (StopFlag::detached(), StopFlag::detached());
        one.request();
        assert_eq!(one.signal(), Some(StopSignal::Program));
        assert!(!other.requested());
        assert_eq!(other.signal(), None);
        assert_eq!(other.sleep(Duration::from_millis(1)), Slept::Whole);
        assert_eq!(one.sleep(Duration::from_secs(60)), Slept::Cut);
    }
}
