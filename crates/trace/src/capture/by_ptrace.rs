//! Records calls by stopping them with ptrace(2), which every user may do to own programs. A seccomp filter stops
//! only calls on files. Processes that run already cannot get a filter, and stop at every call.

use super::event::{self, CallEvent};
use super::process::{
    CallState, Filter, GoOn, Stop, call_of, child, close_in_child, detach_task, interrupt, resume_task,
};
use super::process::{now_ns, read_memory, reap, seize, terminate, wait};
use super::records::{CALLS_MAX, PATH_BYTES};
use super::session::{NUMBERS, REAPS, SUBMITS};
use super::{CaptureError, kernel};
use crate::calls::{Call, Effect};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, PipeWriter, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Calls per calibration round, and number of rounds: about a tenth of a second in total.
const CALIBRATION_CALLS: u32 = 250;
const CALIBRATION_ROUNDS: u32 = 20;

/// Maximum number of ops read from one libaio call.
const BATCH_MAX: u64 = 4096;

/// Callback for events of a recording, each with the time of its end.
pub(super) type Take<'a> = dyn FnMut(u64, Vec<u8>) + 'a;

/// A call that has begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    number: u32,
    arguments: [u64; 6],
    at_ns: u64,
}

/// A traced thread.
#[derive(Debug, Clone, Copy)]
struct Followed {
    process: u32,
    begun: Option<Begun>,
}

/// Traces processes and their children.
pub(super) struct Follower {
    /// Action at the end of each call, by call number.
    calls: Vec<Option<AtEnd>>,
    tasks: HashMap<u32, Followed>,
    /// New tasks that stopped before their parent's fork event. They wait for it, since
    /// they inherit the parent's descriptors.
    early: HashSet<u32>,
    /// Whether a filter selects the calls that stop.
    filtered: bool,
}

/// Data to read from memory when a call returns.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AtEnd {
    Paths(Vec<usize>),
    /// Name of the program that starts.
    Command,
    Submitted,
    Reaped,
}

impl Follower {
    /// Creates a tracer for these calls. Other calls either do not stop or are ignored.
    pub(super) fn new(numbers: &[u32], filtered: bool) -> Follower {
        let mut calls = vec![None; CALLS_MAX];
        for number in numbers {
            let is_it = |numbers: &[i64]| numbers.contains(&i64::from(*number));
            let name = NUMBERS.iter().find(|(known, _)| *known == i64::from(*number)).map_or("", |(_, name)| name);
            let call = Call::named(name);
            let paths = || call.map_or(Vec::new(), event::path_places);
            calls[*number as usize] = Some(match (is_it(&SUBMITS), is_it(&REAPS)) {
                (true, _) => AtEnd::Submitted,
                (_, true) => AtEnd::Reaped,
                _ if call.is_some_and(|call| call.effect == Effect::Execs) => AtEnd::Command,
                _ => AtEnd::Paths(paths()),
            });
        }
        Follower { calls, tasks: HashMap::new(), early: HashSet::new(), filtered }
    }

    /// Attaches to a waiting or running process, with all of its threads.
    pub(super) fn attach(&mut self, process: u32) -> io::Result<()> {
        loop {
            let before = self.tasks.len();
            for task in fs::read_dir(format!("/proc/{process}/task"))?.flatten() {
                let Ok(task) = task.file_name().to_string_lossy().parse::<u32>() else { continue };
                if self.tasks.contains_key(&task) {
                    continue;
                }
                seize(task, self.filtered)?;
                self.tasks.insert(task, Followed { process, begun: None });
                if !self.filtered {
                    interrupt(task)?;
                }
            }
            // Repeat for threads created in the meantime.
            if self.tasks.len() == before {
                return Ok(());
            }
        }
    }

    /// Traces until all processes or the sentinel have exited. Then terminates filtered processes, whose calls would
    /// fail without a tracer, and detaches from all others. Returns the exit status of `root`.
    pub(super) fn follow(&mut self, root: u32, sentinel: u32, take: &mut Take<'_>) -> io::Result<Option<ExitStatus>> {
        let (mut status, mut leaves) = (None, false);
        while !self.tasks.is_empty() {
            let Some((task, stop)) = wait()? else { break };
            if task == sentinel {
                for (task, followed) in &self.tasks {
                    match self.filtered {
                        true if *task == followed.process => terminate(*task),
                        true => {}
                        false => drop(interrupt(*task)),
                    }
                }
                leaves = !self.filtered;
                continue;
            }
            if let Stop::Ended(raw) = stop {
                self.tasks.remove(&task);
                self.early.remove(&task);
                if task == root {
                    status = Some(ExitStatus::from_raw(raw));
                }
                continue;
            }
            if leaves {
                let signal = if let Stop::Signal(signal) = stop { signal } else { 0 };
                let _ = detach_task(task, signal);
                self.tasks.remove(&task);
                continue;
            }
            self.stopped(task, stop, take);
        }
        Ok(status)
    }

    /// Handles a stopped thread and resumes it.
    fn stopped(&mut self, task: u32, stop: Stop, take: &mut Take<'_>) {
        let now = now_ns();
        let Some(mut followed) = self.tasks.get(&task).copied() else {
            self.early.insert(task);
            return;
        };
        let (mut how, mut signal) = (GoOn::Freely, 0);
        match stop {
            Stop::Call => match call_of(task) {
                Ok(CallState::Begins(number, arguments)) => {
                    let is_known = self.calls.get(number as usize).is_some_and(Option::is_some);
                    // Start time of the call; the thread may continue from here.
                    followed.begun = is_known.then(|| Begun { number: number as u32, arguments, at_ns: now_ns() });
                }
                Ok(CallState::Returned(result)) => {
                    if let Some(begun) = followed.begun.take() {
                        self.returned(task, followed.process, begun, result, now, take);
                    }
                }
                _ => followed.begun = None,
            },
            Stop::Born(child) => {
                take(now, event::fork(now, (followed.process, task), child));
                let process = process_of(child);
                self.tasks.insert(child, Followed { process, begun: None });
                if self.early.remove(&child) {
                    self.resume(child, GoOn::Freely, 0);
                }
            }
            Stop::Execs(before) if before != task => {
                // The thread that executes the program takes the process's ID; the other threads are gone.
                followed = Followed { process: task, ..self.tasks.remove(&before).unwrap_or(followed) };
            }
            Stop::Group => how = GoOn::Listening,
            Stop::Signal(number) => signal = number,
            Stop::Execs(_) | Stop::Attached | Stop::Ended(_) => {}
        }
        self.tasks.insert(task, followed);
        self.resume(task, how, signal);
    }

    /// Resumes a thread until its next event.
    fn resume(&self, task: u32, how: GoOn, signal: i32) {
        let is_in_call = self.tasks.get(&task).is_some_and(|followed| followed.begun.is_some());
        let how = if how == GoOn::Freely && (!self.filtered || is_in_call) { GoOn::UntilCall } else { how };
        resume_task(task, how, signal);
    }

    fn returned(&self, task: u32, process: u32, begun: Begun, result: i64, now: u64, take: &mut Take<'_>) {
        let Begun { number, arguments, at_ns } = begun;
        let Some(at_end) = &self.calls[number as usize] else { return };
        let ids = (process, task);
        match at_end {
            AtEnd::Paths(_) | AtEnd::Command => {
                let read = |place: &usize| {
                    let mut text = vec![0; PATH_BYTES];
                    let length = read_memory(task, arguments[*place], &mut text);
                    let end = text[..length].iter().position(|byte| *byte == 0).unwrap_or(length);
                    text.truncate(end);
                    text
                };
                let paths: Vec<Vec<u8>> = match at_end {
                    AtEnd::Paths(places) => places.iter().map(read).collect(),
                    _ => vec![fs::read(format!("/proc/{task}/comm")).unwrap_or_default()],
                };
                let took_ns = now.saturating_sub(at_ns);
                let event = CallEvent { number, begin_ns: at_ns, took_ns, task: ids, result, arguments, paths: &paths };
                take(now, event::call(&event));
            }
            AtEnd::Submitted => {
                // An array of pointers to `struct iocb`.
                for place in 0..u64::try_from(result).unwrap_or(0).min(BATCH_MAX) {
                    let (mut pointer, mut block) = ([0; 8], [0; 64]);
                    read_all(task, arguments[2].wrapping_add(8 * place), &mut pointer);
                    let pointer = u64::from_ne_bytes(pointer);
                    read_all(task, pointer, &mut block);
                    take(now, event::submitted(at_ns, ids, pointer, &block));
                }
            }
            AtEnd::Reaped => {
                // An array of `struct io_event`.
                for place in 0..u64::try_from(result).unwrap_or(0).min(BATCH_MAX) {
                    let mut ended = [0; 32];
                    read_all(task, arguments[3].wrapping_add(32 * place), &mut ended);
                    let long = |at: usize| ended[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
                    take(now, event::ended(now, ids, long(8), long(16)));
                }
            }
        }
    }
}

/// Reads memory that may contain zeros.
fn read_all(task: u32, address: u64, bytes: &mut [u8]) {
    let mut read = 0;
    while read < bytes.len() {
        match read_memory(task, address.wrapping_add(read as u64), &mut bytes[read..]) {
            0 => return,
            more => read += more,
        }
    }
}

/// Returns the process of a thread; the thread itself if it is gone.
pub(super) fn process_of(task: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|number| number.trim().parse().ok()).unwrap_or(task)
}

/// A child process that only waits to exit. Its exit wakes the wait for traced processes.
pub(super) struct Sentinel {
    pub(super) process: u32,
    go: Option<PipeWriter>,
}

impl Sentinel {
    pub(super) fn new() -> io::Result<Sentinel> {
        let (mut wait, go) = io::pipe()?;
        let process = child(|| {
            close_in_child(&go);
            let _ = wait.read(&mut [0]);
        })?;
        Ok(Sentinel { process, go: Some(go) })
    }

    /// Makes it exit.
    pub(super) fn end(&mut self) {
        self.go = None;
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.end();
        reap(self.process);
    }
}

/// Measures how much longer a call takes when it is stopped, in ns: a child makes calls untraced, and then traced.
pub(super) fn calibrate(filtered: bool) -> Result<f64, CaptureError> {
    let failed = kernel;
    let null = File::open("/dev/null").map_err(failed("/dev/null"))?;
    let (mut wait, mut go) = io::pipe().map_err(failed("make a pipe"))?;
    let (mut hear, mut say) = io::pipe().map_err(failed("make a pipe"))?;
    let numbers = [libc::SYS_pread64 as u32];
    let mut filter = Filter::new(&numbers);
    let process = child(|| {
        close_in_child(&go);
        let alone_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        let _ = say.write(&[0]);
        if !matches!(wait.read(&mut [0]), Ok(1)) || filtered && filter.install().is_err() {
            return;
        }
        let followed_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        let _ = say.write(&(followed_ns - alone_ns).to_ne_bytes());
    })
    .map_err(failed("make a process"))?;
    drop((say, wait));
    let mut number = [0; 8];
    hear.read_exact(&mut number[..1]).map_err(failed("measure a child process"))?;
    let mut follower = Follower::new(&numbers, filtered);
    follower.attach(process).map_err(failed("trace a child process"))?;
    go.write_all(&[1]).map_err(failed("start a child process"))?;
    follower.follow(process, 0, &mut |_, _| ()).map_err(failed("trace a child process"))?;
    hear.read_exact(&mut number).map_err(failed("install a filter in a child process"))?;
    Ok(f64::from_ne_bytes(number).max(0.0))
}
