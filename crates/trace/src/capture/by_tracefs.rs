//! Records by the kernel's own events (tracefs), in a buffer of their own that is removed afterwards: calls without paths for a quarter of
//! a microsecond each. The events have no paths, so that calls with paths are stopped by ptrace; of processes that run already, only what
//! they open is known, and only while it is open.

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

/// Where buffers are made, and what ours are called, with the number of this process.
const INSTANCES: &str = "instances";
const PREFIX: &str = "plumb-";

/// Kilobytes of all buffers together, and of each processor's at least.
const BUFFERS_KB: usize = 128 << 10;
const BUFFER_KB_MIN: usize = 1 << 10;

/// Bytes of the largest page that a kernel may be asked for.
const PAGE_BYTES: usize = 1 << 16;

/// A buffer with its files.
struct Instance {
    tracefs: Tracefs,
    /// Path relative to the root of tracefs.
    path: String,
    /// One of each processor.
    pipes: Vec<File>,
}

impl Instance {
    fn new() -> io::Result<Instance> {
        let tracefs = Tracefs::open()?;
        // Buffers left by killed processes.
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

    /// Has an event written from now on, where a filter lets it.
    fn enable(&self, system: &str, name: &str, filter: &str) -> io::Result<Event> {
        if !filter.is_empty() {
            self.set(&format!("events/{system}/{name}/filter"), filter)?;
        }
        let event = Event::named(&self.tracefs, system, name)?;
        self.set(&format!("events/{system}/{name}/enable"), "1")?;
        Ok(event)
    }

    /// Only events of these threads, and of those that they make.
    fn only(&self, tasks: &[u32]) -> io::Result<()> {
        let text: Vec<String> = tasks.iter().map(u32::to_string).collect();
        self.set("options/event-fork", "1")?;
        self.set("set_event_pid", &text.join(" "))
    }

    /// Hands on what was written since.
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

    /// Events that were lost, because the buffer was full.
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

/// What an event says.
enum Said {
    Begins(u32, u32, [u64; 6]),
    Returned(u32, i64),
    Forks(u32, u32),
    /// What is for the session as it is.
    Whole(Vec<u8>),
}

/// Places of fields in the events of calls.
struct CallFields {
    enter: (u16, usize, usize),
    exit: (u16, usize),
    fork: (u16, usize),
}

/// In those of requests.
struct RequestFields {
    event: u16,
    device: usize,
    sector: usize,
    sectors: usize,
    letters: Option<usize>,
    error: Option<usize>,
}

/// The recorder.
pub(super) struct TracefsRecorder {
    instance: Instance,
    calls: Option<CallFields>,
    requests: Vec<RequestFields>,
    /// By number: whether it is recorded, and not by ptrace.
    numbers: Vec<bool>,
    /// Opens among them, whose files are asked for when they have returned.
    opens: Vec<bool>,
    /// What was read, in the order of its times only in part.
    said: Vec<(u64, Said)>,
    begun: HashMap<u32, (u64, u32, [u64; 6])>,
    processes: HashMap<u32, u32>,
    /// Calls with paths that nobody saw.
    pub(super) without_path: u64,
    pub(super) ns_per_call: Option<f64>,
}

impl TracefsRecorder {
    /// Has the kernel write events from now on: of calls of no process yet, or of all requests to devices.
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
            said: Vec::new(),
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
        // Of this thread, to measure what it costs.
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
        // Nobody, for now: no thread has this number.
        self.instance.only(&[1 << 22])?;
        self.instance.drain(&mut |_, _| ())
    }

    /// Only these threads, and what they make.
    pub(super) fn only(&self, tasks: &[u32]) -> Result<(), CaptureError> {
        self.instance.only(tasks).map_err(kernel("choose threads in tracefs"))
    }

    /// Takes what another recorder has seen.
    pub(super) fn also(&mut self, end_ns: u64, bytes: Vec<u8>) {
        self.said.push((end_ns, Said::Whole(bytes)));
    }

    /// Reads what was written since.
    fn read(&mut self) -> io::Result<()> {
        let (calls, requests, said) = (&self.calls, &self.requests, &mut self.said);
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
                    Some(Said::Begins(thread, long(calls.enter.1)? as u32, arguments))
                }
                number if number == calls.exit.0 => Some(Said::Returned(thread, long(calls.exit.1)? as i64)),
                number if number == calls.fork.0 => Some(Said::Forks(thread, word(calls.fork.1)?)),
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
                Some(Said::Whole(event::request(time, word(fields.device)?, (process, thread), range, step)))
            };
            if let Some(new) = new.or_else(request) {
                said.push((time, new));
            }
        })
    }

    /// Hands on, in order, what happened until now. Events of the processors' buffers that are read later are later as well.
    pub(super) fn pass_on(
        &mut self,
        others: &mut dyn FnMut(&mut TracefsRecorder),
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, CaptureError> {
        let until = now_ns();
        self.read().map_err(kernel("read events of tracefs"))?;
        others(self);
        let mut all = std::mem::take(&mut self.said);
        all.sort_by_key(|(time, _)| *time);
        let now = all.partition_point(|(time, _)| *time <= until);
        self.said = all.split_off(now);
        for (time, said) in all {
            self.hand_on(time, said, take);
        }
        Ok(now)
    }

    fn hand_on(&mut self, time: u64, said: Said, take: &mut dyn FnMut(&[u8])) {
        match said {
            Said::Whole(bytes) => take(&bytes),
            Said::Begins(thread, number, arguments) => {
                if self.numbers.get(number as usize).is_some_and(|is_recorded| *is_recorded) {
                    self.begun.insert(thread, (time, number, arguments));
                }
            }
            Said::Forks(thread, child) => {
                let process = self.process(thread);
                self.processes.remove(&child);
                take(&event::fork(time, (process, thread), child));
            }
            Said::Returned(thread, result) => {
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

    /// Events that were lost.
    pub(super) fn drops(&self) -> u64 {
        self.instance.lost()
    }
}
