//! Recorded processes: their start and end, and the system calls of ptrace(2) and seccomp(2). `unsafe` because these
//! calls take addresses, and because little may be done between fork and exec.
#![allow(unsafe_code)]

use super::CaptureError;
use std::ffi::{CString, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Next stop of a resumed thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoOn {
    /// At calls that the filter selects.
    Freely,
    /// Also at the start or end of the next call.
    UntilCall,
    /// Stays stopped by its signal until it is continued.
    Listening,
}

/// Reason why a thread has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has exited, with this status of wait(2).
    Ended(i32),
    /// Start or end of a call.
    Call,
    /// It has created this process or thread.
    Born(u32),
    /// It executes another program; its number before that.
    Execs(u32),
    /// A stop signal has stopped it, together with its process.
    Group,
    /// It was attached or interrupted.
    Attached,
    /// A signal is about to be delivered.
    Signal(i32),
}

/// State of a call, from ptrace. Source: ptrace(2), PTRACE_GET_SYSCALL_INFO; Linux 5.3 or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    /// The call starts, with this number and these arguments.
    Begins(u64, [u64; 6]),
    /// The call has returned this.
    Returned(i64),
    /// Neither, or a call of another architecture.
    Neither,
}

/// Constants without names in the libc crate on some targets. Source: linux/ptrace.h.
const GET_SYSCALL_INFO: Request = 0x420e;
const EVENT_STOP: i32 = 128;
const ARCH_X86_64: u32 = 0xc000_003e;

/// Type of the request in this C library.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
#[cfg(not(target_env = "gnu"))]
type Request = libc::c_int;

fn ptrace(request: Request, task: u32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: of the requests used here, only those with a buffer contain an address. Their
    // callers keep the buffer alive.
    let result = unsafe { libc::ptrace(request, task as i32, address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Attaches to a thread without stopping it. With `tied`, the thread dies with this process: its filter
/// would make its calls fail.
pub(super) fn seize(task: u32, tied: bool) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | if tied { libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL } else { 0 };
    ptrace(libc::PTRACE_SEIZE, task, 0, options as usize).map(drop)
}

/// Stops a traced thread at any point.
pub(super) fn interrupt(task: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, task, 0, 0).map(drop)
}

/// Detaches from a stopped thread, with a signal or 0.
pub(super) fn detach_task(task: u32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_DETACH, task, 0, signal as usize).map(drop)
}

/// Resumes a stopped thread, with a signal or 0. If it is gone, the next [`wait`] reports that.
pub(super) fn resume_task(task: u32, how: GoOn, signal: i32) {
    let request = match how {
        GoOn::Freely => libc::PTRACE_CONT,
        GoOn::UntilCall => libc::PTRACE_SYSCALL,
        GoOn::Listening => libc::PTRACE_LISTEN,
    };
    let _ = ptrace(request, task, 0, signal as usize);
}

/// Waits until a child or a traced thread stops or exits; `None` if there are none.
pub(super) fn wait() -> io::Result<Option<(u32, Stop)>> {
    let mut status = 0;
    // SAFETY: the kernel writes only to `status`.
    let task = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL) };
    if task < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD) => Ok(None),
            Some(libc::EINTR) => wait(),
            _ => Err(error),
        };
    }
    let task = task as u32;
    if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
        return Ok(Some((task, Stop::Ended(status))));
    }
    let signal = libc::WSTOPSIG(status);
    let stop = match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Call,
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_SECCOMP => Stop::Call,
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Stop::Born(message(task)),
        libc::PTRACE_EVENT_EXEC => Stop::Execs(message(task)),
        EVENT_STOP if signal != libc::SIGTRAP => Stop::Group,
        _ => Stop::Attached,
    };
    Ok(Some((task, stop)))
}

fn message(task: u32) -> u32 {
    let mut message: libc::c_ulong = 0;
    let _ = ptrace(libc::PTRACE_GETEVENTMSG, task, 0, (&raw mut message) as usize);
    message as u32
}

/// Returns the call that a stopped thread starts or ends.
pub(super) fn call_of(task: u32) -> io::Result<CallState> {
    let mut words = [0_u64; 11];
    ptrace(GET_SYSCALL_INFO, task, size_of_val(&words), (&raw mut words) as usize)?;
    // A byte with the kind, and the architecture in the upper half of the word. Then instruction and stack pointer,
    // then data of the kind.
    let (kind, machine) = (words[0] as u8, (words[0] >> 32) as u32);
    Ok(match kind {
        1 | 3 if machine == ARCH_X86_64 => {
            CallState::Begins(words[3], [words[4], words[5], words[6], words[7], words[8], words[9]])
        }
        2 => CallState::Returned(words[3] as i64),
        _ => CallState::Neither,
    })
}

/// Reads memory of a process. Returns the number of bytes up to the first missing page.
pub(super) fn read_memory(task: u32, address: u64, bytes: &mut [u8]) -> usize {
    // One piece for each page, because a piece is read completely or not at all.
    const PAGE: u64 = 4096;
    let mut read = 0;
    while read < bytes.len() {
        let Some(from) = address.checked_add(read as u64) else { break };
        let length = (bytes.len() - read).min((PAGE - from % PAGE) as usize);
        let local = libc::iovec { iov_base: bytes[read..].as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: length };
        // SAFETY: the local piece is within `bytes`; the other is in the memory of another process.
        let moved = unsafe { libc::process_vm_readv(task as i32, &raw const local, 1, &raw const remote, 1, 0) };
        if moved <= 0 {
            break;
        }
        read += moved as usize;
        // The text has ended: no further page is needed.
        if bytes[read - moved as usize..read].contains(&0) {
            break;
        }
    }
    read
}

/// Reads the clock of the kernel's events.
pub(super) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a time of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A seccomp(2) program that notifies a tracer of some calls, and allows all others.
#[derive(Clone)]
pub(super) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// Creates a filter for these calls; fewer than 250, because jumps are short.
    pub(super) fn new(numbers: &[u32]) -> Filter {
        // Source: linux/bpf_common.h and linux/seccomp.h. `struct seccomp_data` starts with the
        // call number and the architecture.
        let (load, jump_if_equal, give_back) = (0x20, 0x15, 0x06);
        let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
        let count = numbers.len() as u8;
        let mut code = vec![step(load, 0, 0, 4), step(jump_if_equal, 0, count + 1, ARCH_X86_64), step(load, 0, 0, 0)];
        code.extend(
            numbers.iter().enumerate().map(|(place, number)| step(jump_if_equal, count - place as u8, 0, *number)),
        );
        code.extend([step(give_back, 0, 0, libc::SECCOMP_RET_ALLOW), step(give_back, 0, 0, libc::SECCOMP_RET_TRACE)]);
        Filter(code)
    }

    /// Installs the filter in this process permanently. Allocates nothing: it is called between fork and exec.
    pub(super) fn install(&mut self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_mut_ptr() };
        let attempt = || {
            // SAFETY: the kernel reads as many steps as the program specifies.
            let result =
                unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
            if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        attempt().or_else(|_| {
            // Unprivileged processes must first give up privileges gained by exec. SAFETY:
            // this request has no addresses.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            attempt()
        })
    }
}

/// Creates a process that runs `act` and exits. It is a copy of the calling thread only, so `act`
/// must neither allocate nor lock.
pub(super) fn child(act: impl FnOnce()) -> io::Result<u32> {
    // SAFETY: `act` is safe to run there, as the caller guarantees, and the child exits without running any
    // other code of this program.
    match unsafe { libc::fork() } {
        0 => {
            act();
            // SAFETY: exits the process.
            unsafe { libc::_exit(127) }
        }
        child if child < 0 => Err(io::Error::last_os_error()),
        child => Ok(child as u32),
    }
}

/// Closes a descriptor in a child. Its owner remains in the parent.
pub(super) fn close_in_child(descriptor: &impl AsRawFd) {
    // SAFETY: the child exits without running the owner's destructor.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// Returns the exit status of a child; `None` while it runs.
pub(super) fn ended(child: u32) -> Option<ExitStatus> {
    let mut status = 0;
    // SAFETY: the kernel writes only to `status`.
    let found = unsafe { libc::waitpid(child as i32, &raw mut status, libc::WNOHANG) };
    (found != 0).then(|| ExitStatus::from_raw(if found < 0 { 0 } else { status }))
}

/// Waits for the end of a child, unless it was reaped already.
pub(super) fn reap(child: u32) {
    // SAFETY: no status is requested.
    unsafe { libc::waitpid(child as i32, std::ptr::null_mut(), 0) };
}

/// Sends SIGTERM to a process.
pub(super) fn terminate(process: u32) {
    // SAFETY: kill(2) has no pointers.
    unsafe { libc::kill(process as i32, libc::SIGTERM) };
}

/// A program that waits before it starts.
pub(super) struct Waiting {
    pub(super) process: u32,
    program: String,
    /// A byte lets the program start.
    go: PipeWriter,
    /// Receives the error number if the program could not start.
    trouble: PipeReader,
}

impl Waiting {
    /// Creates the process, which installs the filter as its last act.
    pub(super) fn new(words: &[OsString], mut filter: Option<Filter>) -> Result<Waiting, CaptureError> {
        let program = words.first().map_or(String::new(), |word| word.to_string_lossy().into_owned());
        let start = |source| CaptureError::Start { program: program.clone(), source };
        let words: Vec<CString> = words
            .iter()
            .map(|word| CString::new(word.as_bytes()))
            .collect::<Result<_, _>>()
            .map_err(|error| start(error.into()))?;
        let pointers: Vec<_> = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        let (mut wait, go) = io::pipe().map_err(start)?;
        let (trouble, mut say) = io::pipe().map_err(start)?;
        let process = child(|| {
            close_in_child(&go);
            // If recording could not begin, the pipe is closed without a byte.
            if !matches!(wait.read(&mut [0]), Ok(1)) {
                return;
            }
            let installed = filter.as_mut().map_or(Ok(()), Filter::install);
            if installed.is_ok() {
                // SAFETY: the signal set is local; the arguments and their array are in the parent's memory, of
                // which this is a copy.
                unsafe {
                    let mut none: libc::sigset_t = std::mem::zeroed();
                    libc::sigemptyset(&raw mut none);
                    libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                    libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                    libc::execvp(pointers[0], pointers.as_ptr());
                }
            }
            let error = installed.err().unwrap_or_else(io::Error::last_os_error);
            let _ = say.write(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
        })
        .map_err(start)?;
        Ok(Waiting { process, program, go, trouble })
    }

    /// Lets the program start.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.go.write_all(&[1])
    }

    /// Returns `true` and sets the status if it has exited. Terminates it if `stop` returns `true`.
    pub(super) fn has_ended(&mut self, status: &mut Option<ExitStatus>, stop: &dyn Fn() -> bool) -> bool {
        if stop() {
            terminate(self.process);
        }
        *status = ended(self.process);
        status.is_some()
    }

    /// After the exit, checks that the program was executed at all.
    pub(super) fn check(&mut self) -> Result<(), CaptureError> {
        let mut number = [0; 4];
        match self.trouble.read_exact(&mut number) {
            Ok(()) => {
                let source = io::Error::from_raw_os_error(i32::from_ne_bytes(number));
                Err(CaptureError::Start { program: self.program.clone(), source })
            }
            Err(_) => Ok(()),
        }
    }
}
