//! Processes that are recorded: how they begin and end, and the system calls of ptrace(2) and seccomp(2). `unsafe` because these calls
//! take addresses, and because little may be done between fork and exec.
#![allow(unsafe_code)]

use super::CaptureError;
use std::ffi::{CString, OsString};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What a followed thread is told when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoOn {
    /// To stop at what the filter says.
    Freely,
    /// To stop at the begin or end of the next call as well.
    UntilCall,
    /// To stay stopped, as a signal wants it, until it is continued.
    Listening,
}

/// Why a thread has stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// It has ended, with this status of wait(2).
    Ended(i32),
    /// The begin or end of a call.
    Call,
    /// It has made a process or thread; its number.
    Born(u32),
    /// It runs another program; the number that the thread had before.
    Execs(u32),
    /// It was stopped by a signal that stops, together with its process.
    Group,
    /// It is followed from now on, or was interrupted.
    Attached,
    /// A signal is about to be delivered.
    Signal(i32),
}

/// What ptrace says of a call. Source: ptrace(2), PTRACE_GET_SYSCALL_INFO; Linux 5.3 or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallState {
    /// It begins: number and arguments.
    Begins(u64, [u64; 6]),
    /// It has returned this.
    Returned(i64),
    /// Neither, or a call of another kind of machine.
    Neither,
}

/// Bits and numbers that the C library's crate has no names for on every target. Source: linux/ptrace.h.
const GET_SYSCALL_INFO: Request = 0x420e;
const EVENT_STOP: i32 = 128;
const ARCH_X86_64: u32 = 0xc000_003e;

/// As the C library has it.
#[cfg(target_env = "gnu")]
type Request = libc::c_uint;
#[cfg(not(target_env = "gnu"))]
type Request = libc::c_int;

fn ptrace(request: Request, task: u32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: of all requests that are made here, only those with a buffer have an address in them, which their callers keep alive.
    let result = unsafe { libc::ptrace(request, task as i32, address, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Follows a thread without stopping it. If this process dies, so does that, if `tied`: its filter would make its calls fail.
pub(super) fn seize(task: u32, tied: bool) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEEXEC
        | if tied { libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_EXITKILL } else { 0 };
    ptrace(libc::PTRACE_SEIZE, task, 0, options as usize).map(drop)
}

/// Stops a followed thread, wherever it is.
pub(super) fn interrupt(task: u32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, task, 0, 0).map(drop)
}

/// Lets a stopped thread go for good, with a signal or 0.
pub(super) fn let_go(task: u32, signal: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_DETACH, task, 0, signal as usize).map(drop)
}

/// Lets a stopped thread go on, with a signal or 0. That it is gone meanwhile is said by the next [`wait`].
pub(super) fn go_on(task: u32, how: GoOn, signal: i32) {
    let request = match how {
        GoOn::Freely => libc::PTRACE_CONT,
        GoOn::UntilCall => libc::PTRACE_SYSCALL,
        GoOn::Listening => libc::PTRACE_LISTEN,
    };
    let _ = ptrace(request, task, 0, signal as usize);
}

/// Waits until a child or a followed thread stops or ends; `None` where there is none any more.
pub(super) fn wait() -> io::Result<Option<(u32, Stop)>> {
    let mut status = 0;
    // SAFETY: `status` is a number that the kernel writes to.
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

/// What call a stopped thread begins or ends.
pub(super) fn call_of(task: u32) -> io::Result<CallState> {
    let mut words = [0_u64; 11];
    ptrace(GET_SYSCALL_INFO, task, size_of_val(&words), (&raw mut words) as usize)?;
    // A byte with the kind and, in the upper half of the word, the machine; the places of code and stack; then what belongs to the kind.
    let (kind, machine) = (words[0] as u8, (words[0] >> 32) as u32);
    Ok(match kind {
        1 | 3 if machine == ARCH_X86_64 => {
            CallState::Begins(words[3], [words[4], words[5], words[6], words[7], words[8], words[9]])
        }
        2 => CallState::Returned(words[3] as i64),
        _ => CallState::Neither,
    })
}

/// Reads memory of a process; how many bytes, up to the first page that is not there.
pub(super) fn read_memory(task: u32, address: u64, bytes: &mut [u8]) -> usize {
    // A piece for each page, because a piece is read whole or not at all.
    const PAGE: u64 = 4096;
    let mut read = 0;
    while read < bytes.len() {
        let Some(from) = address.checked_add(read as u64) else { break };
        let length = (bytes.len() - read).min((PAGE - from % PAGE) as usize);
        let local = libc::iovec { iov_base: bytes[read..].as_mut_ptr().cast(), iov_len: length };
        let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: length };
        // SAFETY: the local piece lies within `bytes`; the other is in the memory of another process.
        let moved = unsafe { libc::process_vm_readv(task as i32, &raw const local, 1, &raw const remote, 1, 0) };
        if moved <= 0 {
            break;
        }
        read += moved as usize;
        // A text that has ended needs no further page.
        if bytes[read - moved as usize..read].contains(&0) {
            break;
        }
    }
    read
}

/// The clock that the kernel's events have, too.
pub(super) fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to a time of our own.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A program of seccomp(2) that has a tracer told of some calls, and lets all others pass.
#[derive(Clone)]
pub(super) struct Filter(Vec<libc::sock_filter>);

impl Filter {
    /// For these calls; fewer than 250, because jumps are short.
    pub(super) fn new(numbers: &[u32]) -> Filter {
        // Source: linux/bpf_common.h and linux/seccomp.h. `struct seccomp_data` has the number first, then the machine.
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

    /// Puts it on this process for good. Allocates nothing: it is called between fork and exec.
    pub(super) fn put_on(&mut self) -> io::Result<()> {
        let program = libc::sock_fprog { len: self.0.len() as u16, filter: self.0.as_mut_ptr() };
        let attempt = || {
            // SAFETY: the kernel reads as many steps as the program says.
            let result =
                unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
            if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        };
        attempt().or_else(|_| {
            // Without the right to do it as it is, one must give up what programs with other rights would get.
            // SAFETY: this request has no addresses.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
            attempt()
        })
    }
}

/// Makes a process that does this and ends. It is a copy of the thread that makes it, of no other, so that it must neither allocate nor
/// lock.
pub(super) fn child(act: impl FnOnce()) -> io::Result<u32> {
    // SAFETY: the child calls what the caller promises to be harmless there, and leaves without running anything of this program.
    match unsafe { libc::fork() } {
        0 => {
            act();
            // SAFETY: ends the process.
            unsafe { libc::_exit(127) }
        }
        child if child < 0 => Err(io::Error::last_os_error()),
        child => Ok(child as u32),
    }
}

/// Closes a descriptor in a child, whose owner lives on in the parent.
pub(super) fn close_here(descriptor: &impl AsRawFd) {
    // SAFETY: the child leaves without running the owner's destructor.
    unsafe { libc::close(descriptor.as_raw_fd()) };
}

/// How a child has ended; `None` while it runs.
pub(super) fn ended(child: u32) -> Option<ExitStatus> {
    let mut status = 0;
    // SAFETY: `status` is a number that the kernel writes to.
    let found = unsafe { libc::waitpid(child as i32, &raw mut status, libc::WNOHANG) };
    (found != 0).then(|| ExitStatus::from_raw(if found < 0 { 0 } else { status }))
}

/// Waits for the end of a child, unless somebody else has seen it.
pub(super) fn reap(child: u32) {
    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(child as i32, std::ptr::null_mut(), 0) };
}

/// Sends a process a signal that ends it.
pub(super) fn terminate(process: u32) {
    // SAFETY: kill(2) has no pointers.
    unsafe { libc::kill(process as i32, libc::SIGTERM) };
}

/// A program that waits before it begins.
pub(super) struct Waiting {
    pub(super) process: u32,
    program: String,
    /// A byte lets the program begin.
    go: PipeWriter,
    /// The number of the error, where it could not begin.
    trouble: PipeReader,
}

impl Waiting {
    /// Makes its process, which puts a filter on itself as its last act.
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
            close_here(&go);
            // Nothing comes if recording could not begin.
            if !matches!(wait.read(&mut [0]), Ok(1)) {
                return;
            }
            let put_on = filter.as_mut().map_or(Ok(()), Filter::put_on);
            if put_on.is_ok() {
                // SAFETY: a set of signals that lives here; the words and their list live in the parent's memory, of which this is a copy.
                unsafe {
                    let mut none: libc::sigset_t = std::mem::zeroed();
                    libc::sigemptyset(&raw mut none);
                    libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
                    libc::signal(libc::SIGPIPE, libc::SIG_DFL);
                    libc::execvp(pointers[0], pointers.as_ptr());
                }
            }
            let error = put_on.err().unwrap_or_else(io::Error::last_os_error);
            let _ = say.write(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
        })
        .map_err(start)?;
        Ok(Waiting { process, program, go, trouble })
    }

    /// Lets it begin.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.go.write_all(&[1])
    }

    /// Whether it has ended, and how; it is told to where `stop` says so.
    pub(super) fn has_ended(&mut self, status: &mut Option<ExitStatus>, stop: &dyn Fn() -> bool) -> bool {
        if stop() {
            terminate(self.process);
        }
        *status = ended(self.process);
        status.is_some()
    }

    /// Once it has ended: whether it was the program at all.
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
