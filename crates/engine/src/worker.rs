//! The hot loops: next op, when, start, complete, record. Everything clever is in the types that were chosen before.

use crate::backend::{Completion, Errno, QueuedBackend, Slot, SyncBackend, Unfinished, Wait};
use crate::clock::{Clock, Ticks};
use crate::control::{Control, WorkerControl};
use crate::fault::FaultLog;
use crate::gate::Usage;
use crate::op::Operation;
use crate::oplog::{OpLog, Outcome};
use crate::pacer::{Due, PaceFailure, Pacer, Waited, wait_until};
use crate::queue_cells::QueueTally;
use crate::recorder::Recorder;
use crate::source::Source;
use plumb_workload::job::{ErrorOrigin, ErrorRules};
use plumb_workload::{OnError, OpKind, RunAs};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

/// Why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It reached its own limit or the end of its source.
    Done,
    /// Its time is over, or it was stopped.
    Stopped,
    /// An op failed, and errors end the worker.
    Failed,
}

/// What a worker may still do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
    /// Whether the phase has a limit that all workers share.
    pub(crate) shares_limit: bool,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::UNLIMITED
    }
}

impl Budget {
    /// Whatever it likes.
    pub(crate) const UNLIMITED: Budget = Budget { ops: u64::MAX, bytes: u64::MAX, shares_limit: false };

    /// Takes one op; false when it is used up. A flush behind the last write that fits still fits.
    #[inline(always)]
    fn take<O: Operation>(&mut self, control: &Control, op: &O) -> bool {
        if !op.counts() {
            return true;
        }
        if self.ops == 0 || self.bytes == 0 {
            return false;
        }
        let bytes = op.moves();
        if self.shares_limit && !control.claim(bytes) {
            return false;
        }
        self.ops -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        true
    }
}

/// What comes at the end of a worker's ramp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    /// The worker's deadline while the ramp lasts.
    pub(crate) ends_at: Ticks,
    /// What it may do from then on, where the ramp uses nothing of that up.
    pub(crate) budget: Option<Budget>,
    /// Whether it uses up what all workers share from then on.
    pub(crate) shares_limit: bool,
    /// How long it goes on.
    pub(crate) time: Option<Ticks>,
}

/// Everything around a worker's loop.
pub(crate) struct Desk<'a> {
    pub(crate) clock: Clock,
    pub(crate) control: WorkerControl<'a>,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) faults: FaultLog<'a>,
    pub(crate) budget: Budget,
    pub(crate) on_error: OnError,
    pub(crate) errors: &'a ErrorRules,
    /// It writes until no space is left.
    pub(crate) fills: bool,
    /// Where single ops are recorded.
    pub(crate) log: Option<OpLog<'a>>,
    pub(crate) tally: Option<QueueTally<'a>>,
    /// While it lasts.
    pub(crate) ramp: Option<Ramp>,
    pub(crate) run_as: RunAs,
    /// What was charged to the worker before its measured time.
    pub(crate) usage: Usage,
}

impl Desk<'_> {
    /// Records what an op came to.
    #[inline(always)]
    fn settle<O: Operation>(&mut self, op: &O, moved: u64, service_ns: u64) {
        self.recorder.record(op.kind(), moved, service_ns);
        if op.kind().moves_bytes() && moved < op.length() {
            self.recorder.count_short(op.kind());
        }
    }

    /// Whether the worker passes over an error, whatever errors mean to it otherwise.
    fn passes_over(&self, kind: OpKind, errno: Option<i32>) -> bool {
        // What is wrong with a read and is no error of the system was found by verifying.
        let (origin, goes_on) = match (errno, kind) {
            (None, _) => (ErrorOrigin::Verify, self.errors.go_on_after_verify),
            (Some(_), OpKind::Read) => (ErrorOrigin::Read, self.errors.go_on_after_read),
            (Some(_), _) => (ErrorOrigin::Write, self.errors.go_on_after_write),
        };
        let number = errno.unwrap_or(libc::EILSEQ);
        goes_on || self.errors.ignore.iter().any(|ignored| ignored.at == origin && ignored.errno == number)
    }

    /// Whether an error is the worker's natural end and no failure.
    #[cold]
    fn is_end<O: Operation>(&self, op: &O, errno: Errno) -> bool {
        errno == Errno::ENDED || (self.fills && op.kind() == OpKind::Write && errno.0 == libc::ENOSPC)
    }

    /// Keeps a failure with its address. True when it ends the worker.
    #[cold]
    fn fault<O: Operation>(&mut self, op: &O, path: PathBuf, errno: Option<i32>, message: String) -> bool {
        self.recorder.count_error();
        self.faults.keep(op.kind(), op.offset(), op.length(), errno, &path, &message);
        if self.on_error == OnError::Continue || self.passes_over(op.kind(), errno) {
            return false;
        }
        self.faults.fail(&format!("{} of {} at byte {}: {message}", op.kind().name(), path.display(), op.offset()));
        if self.on_error == OnError::Stop {
            self.control.request_stop();
        }
        true
    }

    /// The worker's deadline has come. True where that was only the end of its ramp.
    #[cold]
    #[inline(never)]
    fn goes_on<S: Source>(&mut self, source: &mut S, now: Ticks) -> bool {
        let goes_on = self.ramp_ends(now);
        if goes_on {
            source.ramp_ended();
        }
        goes_on
    }

    /// Whether a worker without a source shall end.
    pub(crate) fn stops_at(&mut self, now: Ticks) -> bool {
        self.control.stops_at(now) && !self.ramp_ends(now)
    }

    /// True where the ramp ends with the worker's deadline: what is measured begins now.
    fn ramp_ends(&mut self, now: Ticks) -> bool {
        let Some(ramp) = self.ramp.take() else { return false };
        let deadline = ramp.time.map_or(Ticks::MAX, |time| now.saturating_add(time)).min(self.control.deadline());
        if now >= self.control.deadline() || !self.control.move_deadline(ramp.ends_at, deadline) {
            return false;
        }
        self.budget = ramp.budget.unwrap_or(self.budget);
        self.budget.shares_limit = ramp.shares_limit;
        if let Some(log) = &mut self.log {
            log.set_in_ramp(false);
        }
        if let Some(tally) = &self.tally {
            tally.forget();
        }
        self.recorder.end_ramp();
        self.usage = Usage::now(self.run_as);
        self.control.measures_from(now);
        true
    }

    /// Waits until `at`, over the end of the ramp.
    fn wait<S: Source>(&mut self, source: &mut S, at: Ticks) -> Waited {
        loop {
            match wait_until(&self.clock, self.control, at) {
                Waited::Stopped if self.goes_on(source, self.clock.now()) => {}
                waited => return waited,
            }
        }
    }

    /// Records a single op.
    fn log<O: Operation>(&mut self, op: &O, outcome: Outcome) {
        if let Some(log) = &mut self.log {
            log.keep(op, outcome);
        }
    }

    /// Keeps that the end of the backend failed.
    #[cold]
    pub(crate) fn unfinished(&mut self, unfinished: &Unfinished) -> Ended {
        let Unfinished { op, path, errno } = unfinished;
        self.recorder.count_error();
        let message = format!("writing out what was held back: {}", errno.text());
        self.faults.keep(*op, 0, 0, Some(errno.0), path, &message);
        self.faults.fail(&message);
        Ended::Failed
    }

    /// Keeps why the worker fails, where it was no op of its own that failed.
    #[cold]
    pub(crate) fn failed(&mut self, kind: OpKind, path: &Path, errno: Option<i32>, message: &str) -> Ended {
        self.recorder.count_error();
        self.faults.keep(kind, 0, 0, errno, path, message);
        self.faults.fail(message);
        if self.on_error == OnError::Stop {
            self.control.request_stop();
        }
        Ended::Failed
    }

    /// Keeps why the pacer made the worker fail.
    #[cold]
    fn paced_out(&mut self, failure: &PaceFailure) -> Ended {
        self.failed(failure.kind, Path::new(""), Some(failure.errno), &failure.message)
    }
}

/// The loop of a worker with one op at a time.
///
/// Reading the clock costs as much as the rest of the loop together. Where nothing but the loop's own bookkeeping (some
/// 5 ns) lies between two ops, the end of one is the start of the next and the clock is read once an op: the times are
/// longer by the bookkeeping, and the load is less disturbed than by a second reading.
pub(crate) fn run_sync<S, B, P>(desk: &mut Desk<'_>, source: &mut S, backend: &mut B, pacer: &mut P) -> Ended
where
    S: Source,
    B: SyncBackend<Op = S::Op>,
    P: Pacer,
{
    let ended = sync_loop(desk, source, backend, pacer);
    pacer.failure().map_or(ended, |failure| desk.paced_out(&failure))
}

fn sync_loop<S, B, P>(desk: &mut Desk<'_>, source: &mut S, backend: &mut B, pacer: &mut P) -> Ended
where
    S: Source,
    B: SyncBackend<Op = S::Op>,
    P: Pacer,
{
    let clock = desk.clock;
    let logs = desk.log.is_some();
    let reads_start = P::OPEN || logs || backend.works_between_ops();
    let mut now = clock.now();
    loop {
        if desk.control.stops_at(now) && !desk.goes_on(source, now) {
            return Ended::Stopped;
        }
        // Borrowed, not moved: an op of a flow is half a cache line, written in parts, and copying it at once would wait
        // for the writes.
        let next = source.next();
        let Some(op) = &next else { return Ended::Done };
        if let Some(transactions) = source.transactions() {
            desk.recorder.set_transactions(transactions);
        }
        if op.kind() == OpKind::Delay {
            match desk.wait(source, now + clock.ticks(op.length())) {
                Waited::Until(at) => now = at,
                Waited::Stopped => return Ended::Stopped,
            }
            continue;
        }
        if !desk.budget.take(&desk.control, op) {
            source.failed(op);
            return Ended::Done;
        }
        backend.before(op);
        let intended = loop {
            let at = match pacer.due(now, op) {
                Due::Now { intended } => break intended,
                Due::At(at) => at,
                // Nothing is in flight here.
                Due::AfterNext => now,
                Due::End(ended) => {
                    source.failed(op);
                    return ended;
                }
            };
            let in_ramp = desk.ramp.is_some();
            match desk.wait(source, at) {
                Waited::Until(at) => now = at,
                Waited::Stopped => {
                    source.failed(op);
                    return Ended::Stopped;
                }
            }
            // An op that was drawn in the ramp and starts after it is one of those that count.
            if in_ramp && desk.ramp.is_none() && !desk.budget.take(&desk.control, op) {
                source.failed(op);
                return Ended::Done;
            }
        };
        let start = if reads_start { clock.now() } else { now };
        let done = backend.execute(op);
        now = clock.now();
        if logs {
            desk.log(op, Outcome { start, end: now, result: done, handed_at: None });
        }
        match done {
            Ok(moved) => {
                let service_ns = clock.ns_between(start, now);
                desk.settle(op, moved, service_ns);
                pacer.completed(op.kind(), moved, service_ns, now);
                if P::OPEN {
                    let (response_ns, lag_ns) = (clock.ns_between(intended, now), clock.ns_between(intended, start));
                    desk.recorder.record_response(op.kind(), response_ns, lag_ns);
                }
                if let Err(mismatch) = backend.after(op, moved)
                    && desk.fault(op, backend.path_of(op), None, mismatch)
                {
                    return Ended::Failed;
                }
            }
            Err(errno) => {
                source.failed(op);
                pacer.completed(op.kind(), 0, clock.ns_between(start, now), now);
                if errno == Errno::ENDED || desk.is_end(op, errno) {
                    return Ended::Done;
                }
                if desk.fault(op, backend.path_of(op), Some(errno.0), errno.text()) {
                    return Ended::Failed;
                }
            }
        }
    }
}

/// How a queued worker gathers ops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) depth: u32,
    /// Most ops of one submission.
    pub(crate) submit: u32,
    /// Completions waited for when the queue is full.
    pub(crate) complete: u32,
    /// A full queue drains to this depth before it is filled again; at the depth, it is filled whenever there is room.
    pub(crate) refill_at: u32,
    /// Completions taken at once at most.
    pub(crate) most_completions: u32,
    pub(crate) in_flight: InFlight,
    pub(crate) handover: Handover,
}

impl Queue {
    /// A queue that is filled whenever there is room and waits for one completion when there is none.
    pub(crate) const fn of(depth: u32) -> Queue {
        Queue {
            depth,
            submit: depth,
            complete: 1,
            refill_at: depth,
            most_completions: depth,
            in_flight: InFlight::Anything,
            handover: Handover::Plain,
        }
    }
}

/// Which ops may be in flight together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InFlight {
    /// Any.
    Anything,
    /// None that overlaps another.
    Apart,
}

/// How ops are handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    /// In one call with waiting for completions.
    Plain,
    /// In a call of its own, which is timed.
    Timed,
}

/// An op in flight.
#[derive(Clone, Copy)]
struct Flight<O> {
    op: O,
    intended: Ticks,
    start: Ticks,
}

/// A completion that was reaped.
#[derive(Clone, Copy)]
struct Reaped {
    slot: Slot,
    done: Completion,
}

/// What is in flight.
struct Flights<O> {
    flights: Vec<Option<Flight<O>>>,
    /// A stack of free slots: the last `depth - free` entries above the top are those taken last.
    slots: Vec<Slot>,
    free: usize,
    /// When handing over was done, by slot; empty where that is not timed.
    handed_at: Vec<Ticks>,
    ended: Option<Ended>,
    /// Whether single ops are recorded.
    logs: bool,
    /// Whether slots must be known to be empty.
    apart: bool,
}

impl<O: Operation> Flights<O> {
    fn overlaps(&self, op: &O) -> bool {
        let moves = |op: &O| op.kind().moves_bytes();
        let (start, end) = (op.offset(), op.offset() + op.length());
        moves(op)
            && self.flights.iter().flatten().any(|flight| {
                let other = &flight.op;
                let (other_start, other_end) = (other.offset(), other.offset() + other.length());
                moves(other) && other.file() == op.file() && start < other_end && other_start < end
            })
    }

    /// Takes an op out of flight.
    #[inline(always)]
    fn complete<B, P>(&mut self, desk: &mut Desk<'_>, backend: &mut B, pacer: &mut P, reaped: Reaped, end: Ticks)
    where
        B: QueuedBackend<Op = O>,
        P: Pacer,
    {
        let Reaped { slot, done } = reaped;
        let Some(flight) = self.flights[slot as usize] else { return };
        let clock = desk.clock;
        if self.logs {
            let handed_at = self.handed_at.get(slot as usize).copied();
            desk.log(&flight.op, Outcome { start: flight.start, end, result: done, handed_at });
        }
        let service_ns = clock.ns_between(flight.start, end);
        match done {
            Ok(moved) => {
                desk.settle(&flight.op, moved, service_ns);
                // Empty where handing over is not timed.
                if let Some(&handed_at) = self.handed_at.get(slot as usize) {
                    let submission_ns = clock.ns_between(flight.start, handed_at);
                    let completion_ns = service_ns.saturating_sub(submission_ns);
                    desk.recorder.record_parts(flight.op.kind(), submission_ns, completion_ns);
                }
                pacer.completed(flight.op.kind(), moved, service_ns, end);
                if P::OPEN {
                    desk.recorder.record_response(
                        flight.op.kind(),
                        clock.ns_between(flight.intended, end),
                        clock.ns_between(flight.intended, flight.start),
                    );
                }
                if let Err(mismatch) = backend.after(&flight.op, slot, moved)
                    && desk.fault(&flight.op, backend.path_of(&flight.op), None, mismatch)
                {
                    self.ended = Some(Ended::Failed);
                }
            }
            Err(errno) => {
                pacer.completed(flight.op.kind(), 0, service_ns, end);
                if desk.is_end(&flight.op, errno) {
                    self.ended.get_or_insert(Ended::Done);
                } else if desk.fault(&flight.op, backend.path_of(&flight.op), Some(errno.0), errno.text()) {
                    self.ended = Some(Ended::Failed);
                }
            }
        }
        if self.apart {
            self.flights[slot as usize] = None;
        }
        self.slots[self.free] = slot;
        self.free += 1;
    }
}

/// The loop of a worker with several ops in flight.
///
/// Ops that are started by one system call share its starting time, and ops that are reaped together share the time
/// of reaping: that is when the application could have known, and it costs two clock readings a batch.
pub(crate) fn run_queued<S, B, P>(
    desk: &mut Desk<'_>,
    source: &mut S,
    backend: &mut B,
    pacer: &mut P,
    queue: Queue,
) -> io::Result<Ended>
where
    S: Source,
    B: QueuedBackend<Op = S::Op>,
    P: Pacer,
{
    let ended = queued_loop(desk, source, backend, pacer, queue)?;
    Ok(pacer.failure().map_or(ended, |failure| desk.paced_out(&failure)))
}

fn queued_loop<S, B, P>(
    desk: &mut Desk<'_>,
    source: &mut S,
    backend: &mut B,
    pacer: &mut P,
    queue: Queue,
) -> io::Result<Ended>
where
    S: Source,
    B: QueuedBackend<Op = S::Op>,
    P: Pacer,
{
    let clock = desk.clock;
    let depth = queue.depth as usize;
    let times_handover = queue.handover == Handover::Timed;
    let orders = source.waits_for_all();
    let apart = queue.in_flight == InFlight::Apart;
    let drains = queue.refill_at < queue.depth;
    let most = queue.most_completions as usize;
    let tally = desk.tally;
    let mut flying = Flights {
        flights: vec![None; depth],
        slots: (0..queue.depth as Slot).collect(),
        free: depth,
        handed_at: vec![0; if times_handover { depth } else { 0 }],
        ended: None,
        logs: desk.log.is_some(),
        apart,
    };
    // The next op while it may not start: drawn before it is waited for, so that nobody waits for an op that is not there.
    let mut early: Option<S::Op> = None;
    // What was reaped beyond what may be taken at once: as if it were still with the backend.
    let mut held: VecDeque<Reaped> = VecDeque::with_capacity(if most < depth { depth } else { 0 });
    let mut draining = false;
    loop {
        let now = clock.now();
        if flying.ended.is_none() && desk.control.stops_at(now) {
            if !desk.goes_on(source, now) {
                flying.ended = Some(Ended::Stopped);
            } else if early.is_some_and(|op| !desk.budget.take(&desk.control, &op)) {
                // It was drawn in the ramp, and starts after it.
                flying.ended = Some(Ended::Done);
            }
        }
        let mut wake_at = None;
        // Whether the next op waits for one in flight.
        let mut after_next = false;
        let free_before = flying.free;
        if draining && depth - free_before <= queue.refill_at as usize {
            draining = false;
        }
        while flying.ended.is_none()
            && !draining
            && flying.free > 0
            && free_before - flying.free < queue.submit as usize
        {
            let next = early.take().or_else(|| source.next().filter(|op| desk.budget.take(&desk.control, op)));
            let Some(op) = next else {
                flying.ended = Some(Ended::Done);
                break;
            };
            if (orders && op.after_all() && flying.free < depth) || (apart && flying.overlaps(&op)) {
                early = Some(op);
                after_next = true;
                break;
            }
            let intended = match pacer.due(now, &op) {
                Due::Now { intended } => intended,
                Due::At(at) => {
                    early = Some(op);
                    wake_at = Some(at);
                    break;
                }
                Due::AfterNext => {
                    early = Some(op);
                    after_next = true;
                    break;
                }
                Due::End(end) => {
                    flying.ended = Some(end);
                    break;
                }
            };
            flying.free -= 1;
            let slot = flying.slots[flying.free];
            backend.before(&op, slot);
            backend.submit(&op, slot);
            flying.flights[slot as usize] = Some(Flight { op, intended, start: now });
        }
        draining |= drains && flying.free == 0;
        if flying.free == depth {
            match (flying.ended, wake_at) {
                (Some(ended), _) => return Ok(ended),
                (None, Some(at)) => {
                    wait_until(&clock, desk.control, at);
                    continue;
                }
                (None, None) if after_next => continue,
                // Nothing is in flight and nothing was wanted: only a depth of 0 could come here.
                (None, None) => return Ok(Ended::Done),
            }
        }
        let start = clock.now();
        for &slot in &flying.slots[flying.free..free_before] {
            if let Some(flight) = &mut flying.flights[slot as usize] {
                flight.start = start;
            }
        }
        let submitted = free_before - flying.free;
        if submitted > 0
            && let Some(tally) = tally
        {
            tally.submitted(depth - free_before, submitted);
        }
        let in_flight = (depth - flying.free - held.len()) as u32;
        let wait = match wake_at {
            _ if !held.is_empty() => Wait::For(0),
            // With room in the queue, wait only for as long as nothing is due.
            Some(at) if flying.ended.is_none() => Wait::Timeout(clock.ns_between(start, at)),
            _ if flying.free == 0 || draining => Wait::For(queue.complete.min(in_flight)),
            _ if flying.ended.is_some() || after_next => Wait::For(1),
            // There is room, and more to start: a batch is smaller than the queue.
            _ => Wait::For(0),
        };
        let free_before = flying.free;
        if times_handover && submitted > 0 {
            backend.enter(Wait::For(0))?;
            let handed_at = clock.now();
            for &slot in &flying.slots[flying.free..flying.free + submitted] {
                flying.handed_at[slot as usize] = handed_at;
            }
            // What is done by now is taken at once; only where nothing is, there is something to wait for.
            reap(desk, backend, pacer, &mut flying, &mut held, Reaping { most, end: handed_at });
        }
        if flying.free == free_before {
            backend.enter(wait)?;
            let end = clock.now();
            reap(desk, backend, pacer, &mut flying, &mut held, Reaping { most, end });
        }
        let taken = flying.free - free_before;
        if taken > 0
            && let Some(tally) = tally
        {
            tally.completed(taken);
        }
    }
}

/// How completions are taken.
#[derive(Clone, Copy)]
struct Reaping {
    /// So many at once at most.
    most: usize,
    end: Ticks,
}

/// Takes what has completed out of flight.
#[inline(always)]
fn reap<B, P>(
    desk: &mut Desk<'_>,
    backend: &mut B,
    pacer: &mut P,
    flying: &mut Flights<B::Op>,
    held: &mut VecDeque<Reaped>,
    reaping: Reaping,
) where
    B: QueuedBackend,
    P: Pacer,
{
    let Reaping { most, end } = reaping;
    if most >= flying.slots.len() {
        backend.reap(&mut |backend, slot, done| flying.complete(desk, backend, pacer, Reaped { slot, done }, end));
        return;
    }
    let full = flying.free + most;
    while flying.free < full
        && let Some(reaped) = held.pop_front()
    {
        flying.complete(desk, backend, pacer, reaped, end);
    }
    backend.reap(&mut |backend, slot, done| {
        let reaped = Reaped { slot, done };
        if flying.free < full {
            flying.complete(desk, backend, pacer, reaped, end);
        } else {
            held.push_back(reaped);
        }
    });
}

#[cfg(test)]
mod tests;
