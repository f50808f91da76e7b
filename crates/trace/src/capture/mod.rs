//! Records the file operations of processes, and the requests to block devices. Linux on x86-64.
//!
//! There are three methods. Programs in the kernel ([BPF](Method::Bpf)) stop no call and see most. The kernel's own
//! events ([tracefs](Method::Tracefs)) cost as little, but contain no paths. [ptrace](Method::Ptrace) works for every
//! user's own programs, but stops each recorded call twice. All pass the same events to one session, which tracks the
//! open files of each process, and writes records.
//!
//! Not recorded: I/O through memory maps, and descriptors that a process received over a socket.

mod bio;
mod by_bpf;
mod by_ptrace;
mod by_tracefs;
mod event;
mod kernel;
pub mod pages;
mod process;
mod records;
mod requests;
mod rings;
mod session;
mod slots;
mod submissions;
#[expect(clippy::disallowed_methods, reason = "writes settings of tracefs; this crate depends on no guard")]
mod tracefs;

pub use crate::own::Facts;

use crate::own::OwnWriter;
use by_bpf::Recorder;
use by_ptrace::{Follower, Sentinel};
use by_tracefs::TracefsRecorder;
use crossbeam_channel::unbounded;
use process::{Filter, Waiting};
use session::Session;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::process::ExitStatus;
use std::thread;
use std::time::Duration;
use strum::VariantArray;
use tracefs::Tracefs;

/// Sleep of a reader when there is nothing to read.
const NAP: Duration = Duration::from_millis(1);

/// Calls per calibration round, and number of rounds: about ten milliseconds in total.
const CALIBRATION_CALLS: u32 = 500;
const CALIBRATION_ROUNDS: u32 = 40;

/// Subject of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program with its arguments, and all its children.
    Command(Vec<OsString>),
    /// Processes that run already, and the children that they create from now on.
    Processes(Vec<u32>),
    /// All requests to these block devices, by device number. Ends with the program, if there is one.
    Devices(Vec<(u32, u32)>, Vec<OsString>),
}

impl Subject {
    /// Returns the program and its arguments; empty if there is none.
    fn words(&self) -> &[OsString] {
        match self {
            Subject::Command(words) | Subject::Devices(_, words) => words,
            Subject::Processes(_) => &[],
        }
    }
}

/// Method of recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Method {
    /// Programs in the kernel (BPF).
    Bpf,
    /// The kernel's own events (tracefs).
    Tracefs,
    /// Stops at each recorded call (ptrace).
    Ptrace,
}

impl Method {
    /// All methods, the best first.
    pub const ALL: &[Method] = Method::VARIANTS;

    /// Returns the name for options and reports.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Summary of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    pub records: u64,
    /// Calls that are missing because the reader did not keep up.
    pub drops: u64,
    /// Calls that are missing because their file is unknown.
    pub without_path: u64,
    /// Overhead of a recorded call in ns, as measured here before. `None` for block requests.
    pub ns_per_call: Option<f64>,
    /// The same overhead for calls with paths, if they are recorded by another method.
    pub ns_per_path: Option<f64>,
    /// Size of the recording in bytes.
    pub bytes: u64,
    /// Exit status of the program.
    pub status: Option<ExitStatus>,
    /// Whether ops of io_uring are missing.
    pub misses_io_uring: bool,
    /// Whether I/O through memory maps is missing.
    pub maps_files: bool,
}

/// Error from recording.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kernel refuses an action.
    #[error("cannot record: {what}: {source}")]
    Kernel {
        /// The attempted action, for `cannot record: …`.
        what: &'static str,
        source: io::Error,
    },
    /// All methods are refused.
    #[error("{0}")]
    Refused(String),
    /// The program cannot be started.
    #[error("{program}: {source}")]
    Start { program: String, source: io::Error },
    /// The recording cannot be written.
    #[error("the recording cannot be written: {0}")]
    Write(io::Error),
}

fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> CaptureError {
    move |source| CaptureError::Kernel { what, source }
}

/// Facts that a recorder knows at its end.
struct Ended {
    status: Option<ExitStatus>,
    drops: u64,
    without_path: u64,
    /// Whether it sees ops of io_uring.
    has_rings: bool,
    costs: Costs,
}

/// Overhead of a recorded call, ns.
#[derive(Debug, Clone, Copy, Default)]
struct Costs {
    call: Option<f64>,
    path: Option<f64>,
}

/// Creates a session whose file states the method and its overhead.
fn session<W: Write>(out: W, facts: &Facts, method: Method, costs: Costs) -> Result<Session<W>, CaptureError> {
    let mut facts = facts.clone();
    facts.set("method", method.name());
    for (key, cost) in [("ns-per-call", costs.call), ("ns-per-call-with-path", costs.path)] {
        if let Some(ns) = cost {
            facts.set(key, format!("{ns:.0}"));
        }
    }
    Ok(Session::new(OwnWriter::new(out, &facts).map_err(CaptureError::Write)?))
}

/// Writes the rest of a session, with the facts that are known only at the end.
fn finish<W: Write>(mut session: Session<W>, ended: Ended) -> Result<Captured, CaptureError> {
    session.close().map_err(CaptureError::Write)?;
    let Ended { status, drops, without_path, has_rings, costs } = ended;
    let mut found = Facts::default();
    found.set("drops", drops);
    if without_path > 0 {
        found.set("without-path", without_path);
    }
    let misses_io_uring = session.uses_io_uring && !has_rings;
    let of_rings = match (session.uses_io_uring, misses_io_uring) {
        (false, _) => "not used",
        (true, true) => "used, and not recorded",
        (true, false) => "used, and recorded",
    };
    found.set("io-uring", of_rings);
    let (records, maps_files) = (session.records, session.maps_files);
    if maps_files {
        found.set("maps", "used: what is read and written through them is not recorded");
    }
    let bytes = session.finish(&found).map_err(CaptureError::Write)?;
    let (ns_per_call, ns_per_path) = (costs.call, costs.path);
    Ok(Captured { records, drops, without_path, ns_per_call, ns_per_path, bytes, status, misses_io_uring, maps_files })
}

/// Registers the open files of running processes. Returns their threads.
fn seed<W: Write>(session: &mut Session<W>, processes: &[u32]) -> Vec<u32> {
    let mut threads = Vec::new();
    for process in processes {
        session.world.add_running(*process, &mut session.names);
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let thread = task.file_name().to_string_lossy().parse().unwrap_or(*process);
            let command = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
            session.world.set_process(thread, *process, command.trim_end());
            threads.push(thread);
        }
    }
    threads
}

/// Whether a recording without a program is over.
fn is_over(subject: &Subject, stop: &dyn Fn() -> bool) -> bool {
    let is_there = |process: &u32| fs::exists(format!("/proc/{process}")).unwrap_or(false);
    match subject {
        Subject::Processes(processes) => stop() || !processes.iter().any(is_there),
        _ => stop(),
    }
}

/// An event of the kernel, as tracefs describes it.
struct Event {
    number: u64,
    format: String,
}

impl Event {
    fn named(tracefs: &Tracefs, system: &str, name: &str) -> io::Result<Event> {
        let read = |what| tracefs.read(&format!("events/{system}/{name}/{what}"));
        let number = read("id")?.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Event { number, format: read("format")? })
    }

    /// Returns the offset of a field from the start of the event, in bytes.
    fn place(&self, field: &str) -> io::Result<i16> {
        // An array's length follows its name, and differs between kernels.
        let wanted = [format!(" {field};"), format!(" {field}[")];
        let is_it = |line: &&str| line.contains("field:") && wanted.iter().any(|name| line.contains(name));
        let line = self.format.lines().find(is_it);
        let place = line.and_then(|line| line.split("offset:").nth(1)?.split(';').next()?.parse().ok());
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("there is no field `{field}`"));
        place.ok_or_else(missing)
    }
}

/// Returns `true` in a PID namespace such as a container's. The kernel's events have the system's process numbers, so
/// a recording by them would have no ops there.
fn has_own_process_numbers() -> bool {
    // Inode of the system's namespace. Source: linux/proc_ns.h, PROC_PID_INIT_INO.
    const OF_SYSTEM: u64 = 0xeffffffc;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|found| found.ino() != OF_SYSTEM)
}

/// Records a subject into `out` until the program or all processes have ended, or `stop` returns `true`.
///
/// # Errors
/// Returns a [`CaptureError`] if recording or writing fails. After [`CaptureError::Kernel`] nothing was written and
/// nothing was started: the caller can try another method.
pub fn record<W: Write + Send>(
    method: Method,
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    if method != Method::Ptrace && !matches!(subject, Subject::Devices(..)) && has_own_process_numbers() {
        let error =
            io::Error::other("the kernel's events have the numbers of the system; record outside of the container");
        return Err(kernel("follow processes in a PID namespace")(error));
    }
    match method {
        Method::Bpf => record_by_bpf(subject, out, facts, stop),
        Method::Tracefs => record_by_tracefs(subject, out, facts, stop),
        Method::Ptrace => record_by_ptrace(subject, out, facts, stop),
    }
}

fn record_by_bpf<W: Write>(
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    let mut recorder = Recorder::new(subject)?;
    let costs = Costs { call: recorder.ns_per_call, path: None };
    let mut session = session(out, facts, Method::Bpf, costs)?;
    let (mut status, mut failure) = (None, None);
    if let Subject::Processes(processes) = subject {
        seed(&mut session, processes);
        processes.iter().for_each(|process| recorder.add(*process));
    }
    let words = subject.words();
    if words.is_empty() {
        recorder
            .run(&mut |bytes| failure = failure.take().or(session.take(bytes).err()), &mut || is_over(subject, stop));
    } else {
        let mut waiting = Waiting::new(words, None)?;
        if matches!(subject, Subject::Command(_)) {
            session.world.add_running(waiting.process, &mut session.names);
            recorder.add(waiting.process);
        }
        waiting.begin().map_err(kernel("start the program"))?;
        recorder.run(&mut |bytes| failure = failure.take().or(session.take(bytes).err()), &mut || {
            waiting.has_ended(&mut status, stop)
        });
        waiting.check()?;
    }
    if let Some(error) = failure {
        return Err(CaptureError::Write(error));
    }
    for unfinished in recorder.unfinished() {
        session.unfinished_bio(unfinished).map_err(CaptureError::Write)?;
    }
    let ended = Ended { status, drops: recorder.drops(), without_path: 0, has_rings: recorder.has_rings, costs };
    finish(session, ended)
}

fn record_by_ptrace<W: Write + Send>(
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    if matches!(subject, Subject::Devices(..)) {
        return Err(kernel("see block requests with ptrace")(io::ErrorKind::Unsupported.into()));
    }
    let is_command = matches!(subject, Subject::Command(_));
    let costs = Costs { call: Some(by_ptrace::calibrate(is_command)?), path: None };
    let mut session = session(out, facts, Method::Ptrace, costs)?;
    let numbers = event::all_numbers();
    let (waiting, processes) = match subject {
        Subject::Processes(processes) => (None, processes.clone()),
        _ => {
            let waiting = Waiting::new(subject.words(), Some(Filter::new(&numbers)))?;
            let process = waiting.process;
            (Some(waiting), vec![process])
        }
    };
    seed(&mut session, &processes);
    let mut failure = None;
    let mut take = |_, bytes: Vec<u8>| failure = failure.take().or(session.take(&bytes).err());
    let status = follow(waiting, &processes, &numbers, &mut take, &mut || Ok(()), stop)?;
    if let Some(error) = failure {
        return Err(CaptureError::Write(error));
    }
    finish(session, Ended { status, drops: 0, without_path: 0, has_rings: false, costs })
}

/// Traces processes, or a waiting program, on a separate thread: only the tracing thread may resume them.
fn follow(
    mut waiting: Option<Waiting>,
    processes: &[u32],
    numbers: &[u32],
    take: &mut (dyn FnMut(u64, Vec<u8>) + Send),
    meanwhile: &mut dyn FnMut() -> Result<(), CaptureError>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<ExitStatus>, CaptureError> {
    let mut sentinel = Sentinel::new().map_err(kernel("make a process"))?;
    let number = sentinel.process;
    thread::scope(|scope| {
        let follower = scope.spawn(move || {
            let mut follower = Follower::new(numbers, waiting.is_some());
            processes.iter().try_for_each(|process| follower.attach(*process)).map_err(kernel("attach with ptrace"))?;
            if let Some(waiting) = &mut waiting {
                waiting.begin().map_err(kernel("start the program"))?;
            }
            let root = waiting.as_ref().map_or(0, |waiting| waiting.process);
            let status = follower.follow(root, number, take).map_err(kernel("wait for the traced processes"))?;
            waiting.map_or(Ok(()), |mut waiting| waiting.check())?;
            Ok(status)
        });
        let mut outcome = Ok(());
        while !follower.is_finished() {
            outcome = outcome.and_then(|()| meanwhile());
            if stop() || outcome.is_err() {
                sentinel.end();
            }
            thread::sleep(NAP);
        }
        let status = follower.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        outcome.map(|()| status)
    })
}

fn record_by_tracefs<W: Write + Send>(
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    let is_command = matches!(subject, Subject::Command(_));
    // Events have no paths, so a program's calls with paths are stopped instead.
    let numbers = if is_command { event::numbers_with_paths() } else { Vec::new() };
    let mut recorder = TracefsRecorder::new(subject, &numbers)?;
    let path = if is_command { Some(by_ptrace::calibrate(true)?) } else { None };
    let costs = Costs { call: recorder.ns_per_call, path };
    let mut session = session(out, facts, Method::Tracefs, costs)?;
    let mut failure = None;
    let mut status = None;
    let words = subject.words();
    match subject {
        Subject::Command(_) => {
            let waiting = Waiting::new(words, Some(Filter::new(&numbers)))?;
            let processes = vec![waiting.process];
            recorder.only(&processes)?;
            seed(&mut session, &processes);
            let (send, seen) = unbounded();
            let mut pass_on = |recorder: &mut TracefsRecorder| {
                recorder.pass_on(
                    &mut |recorder| seen.try_iter().for_each(|(end_ns, bytes)| recorder.add_event(end_ns, bytes)),
                    &mut |bytes| failure = failure.take().or(session.take(bytes).err()),
                )
            };
            // Sent before the thread resumes, so that its next events are later both in time and in the channel.
            let mut take = move |end_ns, bytes| drop(send.send((end_ns, bytes)));
            let mut meanwhile = || pass_on(&mut recorder).map(drop);
            status = follow(Some(waiting), &processes, &numbers, &mut take, &mut meanwhile, stop)?;
            while pass_on(&mut recorder)? > 0 {}
        }
        _ => {
            if let Subject::Processes(processes) = subject {
                recorder.only(&seed(&mut session, processes))?;
            }
            let mut waiting = if words.is_empty() { None } else { Some(Waiting::new(words, None)?) };
            waiting.as_mut().map_or(Ok(()), Waiting::begin).map_err(kernel("start the program"))?;
            let mut over = false;
            loop {
                let taken = recorder.pass_on(&mut |_| (), &mut |bytes| {
                    failure = failure.take().or(session.take(bytes).err());
                })?;
                match (over, taken) {
                    (true, 0) => break,
                    (false, 0) => thread::sleep(NAP),
                    _ => {}
                }
                over = over
                    || match &mut waiting {
                        Some(waiting) => waiting.has_ended(&mut status, stop),
                        None => is_over(subject, stop),
                    };
            }
            waiting.map_or(Ok(()), |mut waiting| waiting.check())?;
        }
    }
    if let Some(error) = failure {
        return Err(CaptureError::Write(error));
    }
    let (drops, without_path) = (recorder.drops(), recorder.without_path);
    finish(session, Ended { status, drops, without_path, has_rings: false, costs })
}
