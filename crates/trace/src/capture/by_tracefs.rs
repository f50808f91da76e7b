//! Records with the kernel's own events (tracefs), in a separate buffer that is removed afterwards. An event costs a
//! quarter of a microsecond. Events contain no paths, so ptrace stops the calls with paths. For processes that run
//! already, paths are looked up from their open files, which works only while a file is open.

use super::by_ptrace::process_of;
use super::event::{self, CallEvent};
use super::process::now_ns;
use super::records::CALLS_MAX;
use super::session::{IO_URING_SETUP, NUMBERS};
use super::tracefs::Tracefs;
use super::{CALIBRATION_CALLS, CALIBRATION_ROUNDS, CaptureError, Event, Subject, kernel, pages};
use crate::calls::Call;
use crate::record::RecordedAct;
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Directory of the buffers, and our name prefix, which the process ID follows.
const INSTANCES: &str = "instances";
const PREFIX: &str = "plumb-";

/// Total size of all buffers, and minimum size per processor, in kilobytes.
const BUFFERS_KB: usize = 128 << 10;
const BUFFER_KB_MIN: usize = 1 << 10;

/// Largest page size to support, in bytes.
const PAGE_BYTES: usize = 1 << 16;

/// A buffer with its files.
struct Instance {
    tracefs: Tracefs,
    /// Path relative to the root of tracefs.
    path: String,
    /// One pipe for each processor.
    pipes: Vec<File>,
}

impl Instance {
    fn new() -> io::Result<Instance> {
        let tracefs = Tracefs::open()?;
        // Remove buffers of killed processes.
        for name in tracefs.names(INSTANCES)? {
            let owner = name.strip_prefix(PREFIX).and_then(|pid| pid.parse::<u32>().ok());
            if owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                let _ = tracefs.remove_directory(&format!("{INSTANCES}/{name}"));
            }
        }
        let path = format!("{INSTANCES}/{PREFIX}{}", std::process::id());
        tracefs.make_directory(&path)?;
        let mut instance = Instance { tracefs, path, pipes: Vec::new() };
        let processors = instance.tracefs.names(&format!("{}/per_cpu", instance.path))?;
        let each = (BUFFERS_KB / processors.len().max(1)).max(BUFFER_KB_MIN);
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &each.to_string())?;
        for processor in processors {
            let pipe = format!("{}/per_cpu/{processor}/trace_pipe_raw", instance.path);
            instance.pipes.push(instance.tracefs.file(&pipe, OFlags::RDONLY | OFlags::NONBLOCK)?);
        }
        Ok(instance)
    }

    fn set(&self, file: &str, text: &str) -> io::Result<()> {
        self.tracefs.write(&format!("{}/{file}", self.path), text)
    }

    /// Enables an event, subject to a filter.
    fn enable(&self, system: &str, name: &str, filter: &str) -> io::Result<Event> {
        if !filter.is_empty() {
            self.set(&format!("events/{system}/{name}/filter"), filter)?;
        }
        let event = Event::named(&self.tracefs, system, name)?;
        self.set(&format!("events/{system}/{name}/enable"), "1")?;
        Ok(event)
    }

    /// Limits events to these threads and their children.
    fn only(&self, tasks: &[u32]) -> io::Result<()> {
        let text: Vec<String> = tasks.iter().map(u32::to_string).collect();
        self.set("options/event-fork", "1")?;
        self.set("set_event_pid", &text.join(" "))
    }

    /// Passes on the events written since the last call.
    fn drain(&mut self, take: &mut dyn FnMut(u64, &[u8])) -> io::Result<()> {
        let mut page = vec![0; PAGE_BYTES];
        for pipe in &mut self.pipes {
            loop {
                match pipe.read(&mut page) {
                    Ok(0) => break,
                    Ok(length) => pages::events(&page[..length], take),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Returns the number of events lost to a full buffer.
    fn lost(&self) -> u64 {
        let of_processor = |processor: &String| {
            let text = self.tracefs.read(&format!("{}/per_cpu/{processor}/stats", self.path)).unwrap_or_default();
            let count = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
            count("overrun:").unwrap_or(0) + count("dropped events:").unwrap_or(0)
        };
        let processors = self.tracefs.names(&format!("{}/per_cpu", self.path)).unwrap_or_default();
        processors.iter().map(of_processor).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("tracing_on", "0");
        let _ = self.set("set_event", "");
        self.pipes.clear();
        let _ = self.tracefs.remove_directory(&self.path);
    }
}

/// A parsed event.
enum ParsedEvent {
    Begins(u32, u32, [u64; 6]),
    Returned(u32, i64),
    Forks(u32, u32),
    /// An event that the session takes unchanged.
    Whole(Vec<u8>),
}

/// Field offsets in the events of calls.
struct CallFields {
    enter: (u16, usize, usize),
    exit: (u16, usize),
    fork: (u16, usize),
}

/// Field offsets in the events of block requests.
struct RequestFields {
    event: u16,
    device: usize,
    sector: usize,
    sectors: usize,
    letters: Option<usize>,
    error: Option<usize>,
}

/// The recorder: a buffer and the events read from it.
pub(super) struct TracefsRecorder {
    instance: Instance,
    calls: Option<CallFields>,
    requests: Vec<RequestFields>,
    /// Calls to record here instead of by ptrace, by number.
    numbers: Vec<bool>,
    /// Calls that open files, by number. Their files are looked up when they return.
    opens: Vec<bool>,
    /// Events read so far, only partly in time order.
    events: Vec<(u64, ParsedEvent)>,
    begun: HashMap<u32, (u64, u32, [u64; 6])>,
    processes: HashMap<u32, u32>,
    /// Calls with paths whose path is unknown.
    pub(super) without_path: u64,
    pub(super) ns_per_call: Option<f64>,
}

impl TracefsRecorder {
    /// Enables the events: of calls, for no process yet, or of all block requests.
    pub(super) fn new(subject: &Subject, stopped: &[u32]) -> Result<TracefsRecorder, CaptureError> {
        let failed = kernel;
        let instance = Instance::new().map_err(failed("make a buffer of events in tracefs"))?;
        let mut numbers = vec![false; CALLS_MAX];
        let mut opens = numbers.clone();
        for (number, name) in NUMBERS.iter().copied().chain([(IO_URING_SETUP, "")]) {
            numbers[number as usize] = !stopped.contains(&(number as u32));
            let call = Call::named(name);
            opens[number as usize] =
                call.is_some_and(|call| call.effect == crate::calls::Effect::Act(RecordedAct::Open));
        }
        let mut recorder = TracefsRecorder {
            instance,
            calls: None,
            requests: Vec::new(),
            numbers,
            opens,
            events: Vec::new(),
            begun: HashMap::new(),
            processes: HashMap::new(),
            without_path: 0,
            ns_per_call: None,
        };
        match subject {
            Subject::Devices(devices, _) => recorder.see_devices(devices).map_err(failed("enable block events"))?,
            _ => recorder.see_calls().map_err(failed("enable events of calls"))?,
        }
        Ok(recorder)
    }

    fn see_devices(&mut self, devices: &[(u32, u32)]) -> io::Result<()> {
        let is_one: Vec<String> =
            devices.iter().map(|(major, minor)| format!("dev == {}", major << 20 | minor)).collect();
        let filter = is_one.join(" || ");
        for name in ["block_bio_queue", "block_rq_complete", "block_bio_complete"] {
            let event = self.instance.enable("block", name, &filter)?;
            let is_queue = name == "block_bio_queue";
            self.requests.push(RequestFields {
                event: event.number as u16,
                device: event.place("dev")? as usize,
                sector: event.place("sector")? as usize,
                sectors: event.place("nr_sector")? as usize,
                letters: is_queue.then(|| event.place("rwbs")).transpose()?.map(|place| place as usize),
                error: (!is_queue).then(|| event.place("error")).transpose()?.map(|place| place as usize),
            });
        }
        Ok(())
    }

    fn see_calls(&mut self) -> io::Result<()> {
        let null = File::open("/dev/null")?;
        let alone_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        // Of this thread, to measure the overhead.
        let own = fs::read_link("/proc/thread-self")?;
        let own = own.file_name().and_then(|name| name.to_string_lossy().parse().ok()).unwrap_or(std::process::id());
        self.instance.only(&[own])?;
        let enter = self.instance.enable("raw_syscalls", "sys_enter", "")?;
        let exit = self.instance.enable("raw_syscalls", "sys_exit", "")?;
        let fork = self.instance.enable("sched", "sched_process_fork", "")?;
        self.calls = Some(CallFields {
            enter: (enter.number as u16, enter.place("id")? as usize, enter.place("args")? as usize),
            exit: (exit.number as u16, exit.place("ret")? as usize),
            fork: (fork.number as u16, fork.place("child_pid")? as usize),
        });
        let recorded_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        self.ns_per_call = Some((recorded_ns - alone_ns).max(0.0));
        // No thread has this number, so nothing is recorded yet.
        self.instance.only(&[1 << 22])?;
        self.instance.drain(&mut |_, _| ())
    }

    /// Limits recording to these threads and their children.
    pub(super) fn only(&self, tasks: &[u32]) -> Result<(), CaptureError> {
        self.instance.only(tasks).map_err(kernel("choose threads in tracefs"))
    }

    /// Adds an event of another recorder.
    pub(super) fn add_event(&mut self, end_ns: u64, bytes: Vec<u8>) {
        self.events.push((end_ns, ParsedEvent::Whole(bytes)));
    }

    /// Reads the events written since the last call.
    fn read(&mut self) -> io::Result<()> {
        let (calls, requests, events) = (&self.calls, &self.requests, &mut self.events);
        let processes = &mut self.processes;
        self.instance.drain(&mut |time, event| {
            let word = |at: usize| event.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
            let long = |at: usize| event.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes));
            let (Some(head), Some(thread)) = (word(0), word(4)) else { return };
            let number = head as u16;
            let new = calls.as_ref().and_then(|calls| match number {
                number if number == calls.enter.0 => {
                    let arguments: Option<Vec<u64>> = (0..6).map(|place| long(calls.enter.2 + 8 * place)).collect();
                    let arguments = arguments?.try_into().ok()?;
                    Some(ParsedEvent::Begins(thread, long(calls.enter.1)? as u32, arguments))
                }
                number if number == calls.exit.0 => Some(ParsedEvent::Returned(thread, long(calls.exit.1)? as i64)),
                number if number == calls.fork.0 => Some(ParsedEvent::Forks(thread, word(calls.fork.1)?)),
                _ => None,
            });
            let request = || {
                let fields = requests.iter().find(|fields| fields.event == number)?;
                let step = match (fields.letters, fields.error) {
                    (Some(letters), _) => Ok(*event.get(letters..)?.first_chunk()?),
                    (_, error) => Err(word(error?)? as i32),
                };
                let process = *processes.entry(thread).or_insert_with(|| process_of(thread));
                let range = (long(fields.sector)?, word(fields.sectors)?);
                Some(ParsedEvent::Whole(event::request(time, word(fields.device)?, (process, thread), range, step)))
            };
            if let Some(new) = new.or_else(request) {
                events.push((time, new));
            }
        })
    }

    /// Passes on all events up to now, in time order. Events read from the buffers after this are later.
    pub(super) fn pass_on(
        &mut self,
        others: &mut dyn FnMut(&mut TracefsRecorder),
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, CaptureError> {
        let until = now_ns();
        self.read().map_err(kernel("read events of tracefs"))?;
        others(self);
        let mut all = std::mem::take(&mut self.events);
        all.sort_by_key(|(time, _)| *time);
        let now = all.partition_point(|(time, _)| *time <= until);
        self.events = all.split_off(now);
        for (time, event) in all {
            self.pass_event_on(time, event, take);
        }
        Ok(now)
    }

    fn pass_event_on(&mut self, time: u64, parsed: ParsedEvent, take: &mut dyn FnMut(&[u8])) {
        match parsed {
            ParsedEvent::Whole(bytes) => take(&bytes),
            ParsedEvent::Begins(thread, number, arguments) => {
                if self.numbers.get(number as usize).is_some_and(|is_recorded| *is_recorded) {
                    self.begun.insert(thread, (time, number, arguments));
                }
            }
            ParsedEvent::Forks(thread, child) => {
                let process = self.process(thread);
                self.processes.remove(&child);
                take(&event::fork(time, (process, thread), child));
            }
            ParsedEvent::Returned(thread, result) => {
                let Some((begin_ns, number, arguments)) = self.begun.remove(&thread) else { return };
                let process = self.process(thread);
                let mut paths = Vec::new();
                if self.opens[number as usize] && result >= 0 {
                    let link = fs::read_link(format!("/proc/{process}/fd/{result}"));
                    let path = link.map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default();
                    let path = path.strip_suffix(b" (deleted)").unwrap_or(&path).to_vec();
                    paths.extend(Some(path).filter(|path| !path.is_empty()));
                }
                let name = NUMBERS.iter().find(|(known, _)| *known == i64::from(number)).map_or("", |(_, name)| name);
                let needs_path = Call::named(name).is_some_and(|call| !event::path_places(call).is_empty());
                self.without_path += u64::from(needs_path && paths.is_empty());
                if needs_path && paths.is_empty() {
                    return;
                }
                let event = CallEvent {
                    number,
                    begin_ns,
                    took_ns: time.saturating_sub(begin_ns),
                    task: (process, thread),
                    result,
                    arguments,
                    paths: &paths,
                };
                take(&event::call(&event));
            }
        }
    }

    fn process(&mut self, thread: u32) -> u32 {
        *self.processes.entry(thread).or_insert_with(|| process_of(thread))
    }

    /// Returns the number of lost events.
    pub(super) fn drops(&self) -> u64 {
        self.instance.lost()
    }
}
