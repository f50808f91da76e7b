//! Records what processes do to files, and what block devices are asked for, by programs in the kernel (BPF): no call is stopped for it,
//! and each takes a fraction of a microsecond longer. Linux on x86-64, and only with the right to load such programs.
//!
//! Not recorded: what is read and written through maps, ops of io_uring that are neither reads, writes nor flushes, and descriptors that
//! a process got from another by a socket. Where the kernel does not describe its types (BTF), ops of io_uring are not recorded at all.

mod asm;
mod btf;
mod by_strace;
mod kernel;
mod programs;
mod session;

pub use crate::own::Facts;
pub use by_strace::record_by_strace;

use crate::calls::Argument;
use crate::own::OwnWriter;
use kernel::{Map, MapKind, ProgramKind, Ring, attach, attach_raw, idle_calls_ns, load, wait_before_exec};
use programs::{BlockFields, COMPLETED, Maps, Paths, QUEUED, RingFields};
use session::{CALLS_MAX, IO_URING_SETUP, NUMBERS, REAPS, SUBMITS, Session};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Bytes of the ring between the kernel and this process: a quarter of a million records.
const RING_BYTES: u32 = 32 << 20;

/// How long the reader sleeps when there is nothing to read.
const NAP: Duration = Duration::from_millis(1);

/// Calls of a round of a calibration, and rounds: together about ten milliseconds.
const CALIBRATION_CALLS: u32 = 500;
const CALIBRATION_ROUNDS: u32 = 40;

/// Where the kernel describes its events.
const EVENTS: &str = "/sys/kernel/tracing/events";

/// What is recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A program with its arguments, and all that it starts.
    Command(Vec<OsString>),
    /// Processes that run already, and all that they start from now on.
    Processes(Vec<u32>),
    /// Requests of anybody to these block devices, by their numbers, for as long as a program runs, if there is one.
    Devices(Vec<(u32, u32)>, Vec<OsString>),
}

/// What was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// Ops on files.
    pub records: u64,
    /// Calls that are missing, because the reader did not keep up.
    pub drops: u64,
    /// What a recorded call takes more, ns, as it was measured here before; nothing for requests to devices.
    pub ns_per_call: Option<f64>,
    /// Bytes of the recording.
    pub bytes: u64,
    /// How the program ended.
    pub status: Option<ExitStatus>,
    /// Ops of io_uring are missing.
    pub misses_io_uring: bool,
    /// What went through maps is missing.
    pub maps_files: bool,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The kernel refuses.
    #[error(
        "cannot record: {what}: {source}\nRecording needs root, or CAP_BPF and CAP_PERFMON, and tracefs; programs and processes can also be \
         recorded with --method strace."
    )]
    Kernel {
        /// What was tried.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// The program cannot be started.
    #[error("{program}: {source}")]
    Start {
        /// Which.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// What strace said is not understood.
    #[error("strace: {0}")]
    Strace(#[from] crate::error::TraceError),
    /// The recording cannot be written.
    #[error("the recording cannot be written: {0}")]
    Write(io::Error),
}

fn kernel(what: &'static str) -> impl FnOnce(io::Error) -> CaptureError {
    move |source| CaptureError::Kernel { what, source }
}

/// The recorder: programs at their tracepoints, which are removed with it.
struct Recorder {
    ring: Ring,
    maps: Maps,
    /// What a recorded call takes more, ns.
    ns_per_call: Option<f64>,
    /// Ops of io_uring are recorded.
    has_rings: bool,
    attached: Vec<OwnedFd>,
}

impl Recorder {
    /// Has the kernel's programs run from now on.
    fn new(subject: &Subject) -> Result<Recorder, CaptureError> {
        let map = |kind, key, value, entries| Map::new(kind, key, value, entries).map_err(kernel("make a map"));
        let ring = map(MapKind::Ring, 0, 0, RING_BYTES)?;
        let maps = Maps {
            ring: ring.number(),
            processes: map(MapKind::Hash, 4, 4, 1 << 16)?,
            calls: map(MapKind::Array, 4, 4, CALLS_MAX as u32)?,
            drops: map(MapKind::Array, 4, 8, 1)?,
            begun: map(MapKind::Array, 4, 16, programs::BEGUN_MAX)?,
            requests: map(MapKind::LeastRecentlyUsed, 8, 8, 1 << 16)?,
        };
        let ring = Ring::new(ring, RING_BYTES as usize).map_err(kernel("map the ring"))?;
        let mut recorder = Recorder { ring, maps, ns_per_call: None, has_rings: false, attached: Vec::new() };
        match subject {
            Subject::Devices(devices, _) => recorder.attach_to_devices(devices)?,
            _ => recorder.attach_to_calls()?,
        }
        Ok(recorder)
    }

    fn attach_to_devices(&mut self, devices: &[(u32, u32)]) -> Result<(), CaptureError> {
        let devices: Vec<u32> = devices.iter().map(|(major, minor)| major << 20 | minor).collect();
        // Of devices with request queues, bios have no length any more when they are complete; of others, there are no requests.
        let events = [("block_bio_queue", QUEUED), ("block_rq_complete", COMPLETED), ("block_bio_complete", COMPLETED)];
        for (name, kind) in events {
            let event = Event::named("block", name).map_err(kernel("read the descriptions of block events"))?;
            let field = |name| event.place(name).map_err(kernel("read the descriptions of block events"));
            let (letters, error) = match kind {
                QUEUED => (Some(field("rwbs")?), None),
                _ => (None, Some(field("error")?)),
            };
            let (device, sector, sectors) = (field("dev")?, field("sector")?, field("nr_sector")?);
            let program =
                programs::block(&self.maps, &devices, kind, BlockFields { device, sector, sectors, letters, error });
            let program = load(ProgramKind::Tracepoint, &program).map_err(kernel("load a program"))?;
            self.attached.push(attach(event.number, &program).map_err(kernel("attach a program"))?);
        }
        Ok(())
    }

    fn attach_to_calls(&mut self) -> Result<(), CaptureError> {
        let maps = &self.maps;
        for (number, name) in NUMBERS.iter().copied().chain([(IO_URING_SETUP, "")]) {
            let paths = crate::calls::Call::named(name).map_or(Paths::None, paths_of);
            maps.calls.set(number as u32, paths as u32).map_err(kernel("fill a map"))?;
        }
        for (numbers, paths) in [(&SUBMITS[..], Paths::Submits), (&REAPS[..], Paths::Reaps)] {
            for number in numbers {
                maps.calls.set(*number as u32, paths as u32).map_err(kernel("fill a map"))?;
            }
        }
        let loaded = |kind, program: &[u8]| load(kind, program).map_err(kernel("load a program"));
        let (enter, exit) = (programs::enter(maps), programs::exit(maps));
        let enter = loaded(ProgramKind::RawTracepoint, &enter)?;
        let exit = loaded(ProgramKind::RawTracepoint, &exit)?;
        let event = Event::named("sched", "sched_process_fork").map_err(kernel("read the description of forks"))?;
        let child_at = event.place("child_pid").map_err(kernel("read the description of forks"))?;
        let fork = loaded(ProgramKind::Tracepoint, &programs::fork(maps, child_at))?;

        let null = File::open("/dev/null").map_err(kernel("/dev/null"))?;
        let alone_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        for (name, program) in [("sys_enter", &enter), ("sys_exit", &exit)] {
            self.attached.push(attach_raw(name, program).map_err(kernel("attach a program"))?);
        }
        self.attached.push(attach(event.number, &fork).map_err(kernel("attach a program"))?);
        // Older kernels have other events, or do not describe their types.
        if let Ok(attached) = attach_to_rings(maps) {
            self.attached.extend(attached);
            self.has_rings = true;
        }
        let maps = &self.maps;
        let own = std::process::id();
        maps.processes.set(own, 1).map_err(kernel("fill a map"))?;
        let recorded_ns = idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        // From now on this process is not recorded.
        maps.processes.set(own, 0).map_err(kernel("fill a map"))?;
        self.ns_per_call = Some((recorded_ns - alone_ns).max(0.0));
        self.ring.drain(&mut |_| ());
        Ok(())
    }

    /// Hands on what there is until the end, which `is_over` announces; what was written until then is handed on as well.
    fn run(&mut self, take: &mut dyn FnMut(&[u8]), is_over: &mut dyn FnMut() -> bool) {
        loop {
            let over = is_over();
            let taken = self.ring.drain(take);
            match (over, taken) {
                (true, 0) => return,
                (false, 0) => thread::sleep(NAP),
                _ => {}
            }
        }
    }
}

/// Has the kernel's programs run at each op of io_uring.
fn attach_to_rings(maps: &Maps) -> io::Result<[OwnedFd; 2]> {
    let begins = Event::named("io_uring", "io_uring_submit_req")?;
    let ends = Event::named("io_uring", "io_uring_complete")?;
    let types = btf::Types::of_kernel()?;
    let fields = RingFields {
        request: begins.place("req")?,
        opcode: begins.place("opcode")?,
        flags: begins.place("flags")?,
        descriptor: types.place("io_kiocb", &["cqe", "fd"])?,
        length: types.place("io_rw", &["len"])?,
        offset: types.place("io_rw", &["kiocb", "ki_pos"])?,
        sync_flags: types.place("io_sync", &["flags"])?,
    };
    let begin = load(ProgramKind::Tracepoint, &programs::ring_begins(maps, fields))?;
    let end = load(ProgramKind::Tracepoint, &programs::ring_ends(maps, ends.place("req")?, ends.place("res")?))?;
    Ok([attach(begins.number, &begin)?, attach(ends.number, &end)?])
}

/// Which arguments of a call are paths.
fn paths_of(call: &crate::calls::Call) -> Paths {
    let is_path = |argument| matches!(argument, Argument::Path | Argument::OtherPath);
    let places: Vec<usize> =
        call.arguments().enumerate().filter(|(_, argument)| is_path(*argument)).map(|(place, _)| place).collect();
    match places.as_slice() {
        [] => Paths::None,
        [0] => Paths::First,
        [1] => Paths::Second,
        [0, _] => Paths::FirstAndSecond,
        [_, _] => Paths::SecondAndFourth,
        _ => Paths::Third,
    }
}

/// An event of the kernel, as tracefs describes it.
struct Event {
    number: u64,
    format: String,
}

impl Event {
    fn named(system: &str, name: &str) -> io::Result<Event> {
        let read = |what| fs::read_to_string(format!("{EVENTS}/{system}/{name}/{what}"));
        let number = read("id")?.trim().parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(Event { number, format: read("format")? })
    }

    /// Where a field is, bytes from the event's start.
    fn place(&self, field: &str) -> io::Result<i16> {
        // An array has its length behind its name, which differs between kernels.
        let wanted = [format!(" {field};"), format!(" {field}[")];
        let is_it = |line: &&str| line.contains("field:") && wanted.iter().any(|name| line.contains(name));
        let line = self.format.lines().find(is_it);
        let place = line.and_then(|line| line.split("offset:").nth(1)?.split(';').next()?.parse().ok());
        let missing = || io::Error::new(io::ErrorKind::InvalidData, format!("there is no field `{field}`"));
        place.ok_or_else(missing)
    }
}

/// A program that waits before it begins.
struct Waiting {
    process: u32,
    /// A byte lets the program begin. Closing it would not: the waiting process has a copy of this end.
    go: io::PipeWriter,
    /// The program, once it has begun, or why it could not.
    started: Receiver<io::Result<Child>>,
}

impl Waiting {
    fn new(words: &[OsString]) -> Result<Waiting, CaptureError> {
        let (program, arguments) =
            words.split_first().map_or((OsString::new(), [].as_slice()), |(program, rest)| (program.clone(), rest));
        let shown = program.to_string_lossy().into_owned();
        let start = |source| CaptureError::Start { program: shown.clone(), source };
        let (mut hear, say) = io::pipe().map_err(start)?;
        let (wait, go) = io::pipe().map_err(start)?;
        let mut command = Command::new(program);
        command.args(arguments);
        wait_before_exec(&mut command, say.into(), wait.into());
        let (send, started) = channel();
        // Starting returns once the program has begun, and that waits for us.
        thread::spawn(move || {
            let child = command.spawn();
            drop(command);
            let _ = send.send(child);
        });
        let mut number = [0; 4];
        hear.read_exact(&mut number).map_err(start)?;
        Ok(Waiting { process: u32::from_ne_bytes(number), go, started })
    }
}

/// Records a subject into `out`, until the program or all processes have ended, or `stop` says so.
///
/// # Errors
/// [`CaptureError`] where nothing can be recorded, or not be written.
pub fn record<W: Write>(
    subject: &Subject,
    out: W,
    facts: &Facts,
    stop: &dyn Fn() -> bool,
) -> Result<Captured, CaptureError> {
    let mut recorder = Recorder::new(subject)?;
    let mut facts = facts.clone();
    facts.set("method", "bpf");
    if let Some(ns_per_call) = recorder.ns_per_call {
        facts.set("ns-per-call", format!("{ns_per_call:.0}"));
    }
    let mut session = Session::new(OwnWriter::new(out, &facts).map_err(CaptureError::Write)?);
    let (mut status, mut failure) = (None, None);
    let words: &[OsString] = match subject {
        Subject::Command(words) | Subject::Devices(_, words) => words,
        Subject::Processes(_) => &[],
    };
    if let Subject::Processes(processes) = subject {
        for process in processes {
            session.world.is_there(*process, &mut session.names);
            recorder.maps.processes.set(*process, 1).map_err(kernel("fill a map"))?;
            for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
                let thread = task.file_name().to_string_lossy().parse().unwrap_or(*process);
                let command = fs::read_to_string(task.path().join("comm")).unwrap_or_default();
                session.world.belongs(thread, *process, command.trim_end());
            }
        }
    }
    if words.is_empty() {
        let is_there = |process: &u32| fs::exists(format!("/proc/{process}")).unwrap_or(false);
        recorder.run(&mut |bytes| failure = failure.take().or(session.take(bytes).err()), &mut || match subject {
            Subject::Processes(processes) => stop() || !processes.iter().any(is_there),
            _ => stop(),
        });
    } else {
        let mut waiting = Waiting::new(words)?;
        if matches!(subject, Subject::Command(_)) {
            session.world.is_there(waiting.process, &mut session.names);
            recorder.maps.processes.set(waiting.process, 1).map_err(kernel("fill a map"))?;
        }
        waiting.go.write_all(&[1]).map_err(kernel("let the program begin"))?;
        let mut child: Option<Child> = None;
        let mut problem = None;
        recorder.run(&mut |bytes| failure = failure.take().or(session.take(bytes).err()), &mut || {
            if child.is_none() {
                match waiting.started.try_recv() {
                    Ok(Ok(started)) => child = Some(started),
                    Ok(Err(source)) => problem = Some(source),
                    Err(_) => {}
                }
            }
            if let Some(child) = &mut child {
                if stop() {
                    kernel::terminate(child.id());
                }
                status = child.try_wait().ok().flatten();
            }
            status.is_some() || problem.is_some()
        });
        if let Some(source) = problem {
            let program = words.first().map_or(String::new(), |word| word.to_string_lossy().into_owned());
            return Err(CaptureError::Start { program, source });
        }
    }
    session.close().map_err(CaptureError::Write)?;
    if let Some(error) = failure {
        return Err(CaptureError::Write(error));
    }
    let drops = recorder.maps.drops.long(0);
    let mut found = Facts::default();
    found.set("drops", drops);
    let misses_io_uring = session.uses_io_uring && !recorder.has_rings;
    let of_rings = match (session.uses_io_uring, misses_io_uring) {
        (false, _) => "not used",
        (true, true) => "used, and not recorded",
        (true, false) => "used: reads, writes and flushes are recorded",
    };
    found.set("io-uring", of_rings);
    let (records, maps_files) = (session.records, session.maps_files);
    let bytes = session.finish(&found).map_err(CaptureError::Write)?;
    let ns_per_call = recorder.ns_per_call;
    Ok(Captured { records, drops, ns_per_call, bytes, status, misses_io_uring, maps_files })
}
