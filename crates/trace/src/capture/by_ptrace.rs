//! Records calls by stopping them, with ptrace(2): what everybody may do to programs of their own. A filter (seccomp) has only calls on
//! files stop; processes that run already get none, and stop at every call.

use super::event::{self, CallEvent};
use super::process::{CallState, Filter, GoOn, Stop, call_of, child, close_here, go_on, interrupt, let_go};
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

/// Calls of a round of a calibration, and rounds: together about a tenth of a second.
const CALIBRATION_CALLS: u32 = 250;
const CALIBRATION_ROUNDS: u32 = 20;

/// Ops of one call of libaio that are looked at.
const BATCH_MAX: u64 = 4096;

/// What ptrace is told to do with a recording: it gets events with the time of their ends.
pub(super) type Take<'a> = dyn FnMut(u64, Vec<u8>) + 'a;

/// A call that has begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    number: u32,
    arguments: [u64; 6],
    at_ns: u64,
}

/// A thread that is followed.
#[derive(Debug, Clone, Copy)]
struct Followed {
    process: u32,
    begun: Option<Begun>,
}

/// Follows processes and what they start.
pub(super) struct Follower {
    /// What is done at the end of each call, by number.
    calls: Vec<Option<AtEnd>>,
    tasks: HashMap<u32, Followed>,
    /// New ones that have stopped before their parents, whose descriptors they have: they stay until these have.
    early: HashSet<u32>,
    /// Only calls of the filter stop.
    filtered: bool,
}

/// What is read from memory when a call has returned.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AtEnd {
    Paths(Vec<usize>),
    /// The name of the program that begins.
    Command,
    Submitted,
    Reaped,
}

impl Follower {
    /// Of these calls; all others must not have stopped, or do not matter.
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

    /// Follows a process that waits, or one that runs already, with all of its threads.
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
            // Threads that others have made meanwhile are there the next time.
            if self.tasks.len() == before {
                return Ok(());
            }
        }
    }

    /// Follows until all have ended, or the sentinel has: then what has a filter is told to end, for its calls would fail without this
    /// process, and all others are let go. Returns how `root` ended.
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
                let _ = let_go(task, signal);
                self.tasks.remove(&task);
                continue;
            }
            self.stopped(task, stop, take);
        }
        Ok(status)
    }

    /// A thread has stopped: takes what there is to be seen, and lets it go on.
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
                    // From when it may go on.
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
                    self.go(child, GoOn::Freely, 0);
                }
            }
            Stop::Execs(before) if before != task => {
                // The thread that does it gets the number of its process; the others are gone.
                followed = Followed { process: task, ..self.tasks.remove(&before).unwrap_or(followed) };
            }
            Stop::Group => how = GoOn::Listening,
            Stop::Signal(number) => signal = number,
            Stop::Execs(_) | Stop::Attached | Stop::Ended(_) => {}
        }
        self.tasks.insert(task, followed);
        self.go(task, how, signal);
    }

    /// Lets it go on until there is something to see.
    fn go(&self, task: u32, how: GoOn, signal: i32) {
        let is_in_call = self.tasks.get(&task).is_some_and(|followed| followed.begun.is_some());
        let how = if how == GoOn::Freely && (!self.filtered || is_in_call) { GoOn::UntilCall } else { how };
        go_on(task, how, signal);
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
                // A list of places of `struct iocb`.
                for place in 0..u64::try_from(result).unwrap_or(0).min(BATCH_MAX) {
                    let (mut pointer, mut block) = ([0; 8], [0; 64]);
                    read_all(task, arguments[2].wrapping_add(8 * place), &mut pointer);
                    let pointer = u64::from_ne_bytes(pointer);
                    read_all(task, pointer, &mut block);
                    take(now, event::submitted(at_ns, ids, pointer, &block));
                }
            }
            AtEnd::Reaped => {
                // A list of `struct io_event`.
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

/// Reads memory that has zeros in it.
fn read_all(task: u32, address: u64, bytes: &mut [u8]) {
    let mut read = 0;
    while read < bytes.len() {
        match read_memory(task, address.wrapping_add(read as u64), &mut bytes[read..]) {
            0 => return,
            more => read += more,
        }
    }
}

/// The process of a thread; the thread itself if it is gone.
pub(super) fn process_of(task: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|number| number.trim().parse().ok()).unwrap_or(task)
}

/// A child that does nothing but end when it is told to, which whoever waits for followed processes sees.
pub(super) struct Sentinel {
    pub(super) process: u32,
    go: Option<PipeWriter>,
}

impl Sentinel {
    pub(super) fn new() -> io::Result<Sentinel> {
        let (mut wait, go) = io::pipe()?;
        let process = child(|| {
            close_here(&go);
            let _ = wait.read(&mut [0]);
        })?;
        Ok(Sentinel { process, go: Some(go) })
    }

    /// Tells it to end.
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

/// What stopping makes a call take longer here, ns: a child calls alone, and then followed.
pub(super) fn calibrate(filtered: bool) -> Result<f64, CaptureError> {
    let failed = kernel;
    let null = File::open("/dev/null").map_err(failed("/dev/null"))?;
    let (mut wait, mut go) = io::pipe().map_err(failed("make a pipe"))?;
    let (mut hear, mut say) = io::pipe().map_err(failed("make a pipe"))?;
    let numbers = [libc::SYS_pread64 as u32];
    let mut filter = Filter::new(&numbers);
    let process = child(|| {
        close_here(&go);
        let alone_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        let _ = say.write(&[0]);
        if !matches!(wait.read(&mut [0]), Ok(1)) || filtered && filter.put_on().is_err() {
            return;
        }
        let followed_ns = super::kernel::idle_calls_ns(&null, CALIBRATION_CALLS, CALIBRATION_ROUNDS);
        let _ = say.write(&(followed_ns - alone_ns).to_ne_bytes());
    })
    .map_err(failed("make a process"))?;
    drop((say, wait));
    let mut number = [0; 8];
    hear.read_exact(&mut number[..1]).map_err(failed("measure a process of its own"))?;
    let mut follower = Follower::new(&numbers, filtered);
    follower.attach(process).map_err(failed("follow a process of its own"))?;
    go.write_all(&[1]).map_err(failed("let a process of its own begin"))?;
    follower.follow(process, 0, &mut |_, _| ()).map_err(failed("follow a process of its own"))?;
    hear.read_exact(&mut number).map_err(failed("put a filter on a process of its own"))?;
    Ok(f64::from_ne_bytes(number).max(0.0))
}
