//! The hot loops: next op, when, start, complete, record. Everything clever is in the types that were chosen before.

use crate::backend::{Completion, Errno, QueuedBackend, Slot, SyncBackend, Unfinished, Wait};
use crate::clock::{Clock, Ticks};
use crate::control::Control;
use crate::fault::FaultLog;
use crate::op::Operation;
use crate::pacer::{Due, PaceFailure, Pacer, Waited, wait_until};
use crate::recorder::Recorder;
use crate::source::Source;
use plumb_workload::{OnError, OpKind};
use std::io;
use std::path::Path;

/// Why a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It reached its own limit or the end of its source.
    Done,
    /// The phase stopped it.
    Stopped,
    /// An op failed, and errors end the phase.
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

impl Budget {
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

/// Everything around a worker's loop.
pub(crate) struct Desk<'a> {
    pub(crate) clock: Clock,
    pub(crate) control: &'a Control,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) faults: FaultLog<'a>,
    pub(crate) budget: Budget,
    pub(crate) on_error: OnError,
}

impl Desk<'_> {
    /// Records what an op came to.
    #[inline(always)]
    fn settle<O: Operation>(&mut self, op: &O, moved: u64, service_ns: u64) {
        self.recorder.record(op.kind(), moved, service_ns);
        if op.kind().moves_bytes() && moved < op.length() {
            self.recorder.count_short();
        }
    }

    /// Keeps a failure with its address. True when errors end the phase.
    #[cold]
    fn fault<O: Operation>(&mut self, op: &O, path: std::path::PathBuf, errno: Option<i32>, message: String) -> bool {
        self.recorder.count_error();
        self.faults.keep(op.kind(), op.offset(), op.length(), errno, &path, &message);
        if self.on_error == OnError::Stop {
            self.control.request_stop();
        }
        self.on_error == OnError::Stop
    }
}

impl Desk<'_> {
    /// Keeps that the end of the backend failed.
    #[cold]
    pub(crate) fn unfinished(&mut self, unfinished: &Unfinished) -> Ended {
        let Unfinished { op, path, errno } = unfinished;
        self.recorder.count_error();
        let message = format!("writing out what was held back: {}", errno.text());
        self.faults.keep(*op, 0, 0, Some(errno.0), path, &message);
        Ended::Failed
    }

    /// Keeps why the worker fails, where it was no op of its own that failed.
    #[cold]
    pub(crate) fn failed(&mut self, kind: OpKind, path: &Path, errno: Option<i32>, message: &str) -> Ended {
        self.recorder.count_error();
        self.faults.keep(kind, 0, 0, errno, path, message);
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
    let reads_start = P::OPEN || backend.works_between_ops();
    let mut now = clock.now();
    loop {
        if desk.control.stops_at(now) {
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
            match wait_until(&clock, desk.control, now + clock.ticks(op.length())) {
                Waited::Until(at) => now = at,
                Waited::Stopped => return Ended::Stopped,
            }
            continue;
        }
        if !desk.budget.take(desk.control, op) {
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
            match wait_until(&clock, desk.control, at) {
                Waited::Until(at) => now = at,
                Waited::Stopped => {
                    source.failed(op);
                    return Ended::Stopped;
                }
            }
        };
        let start = if reads_start { clock.now() } else { now };
        let done = backend.execute(op);
        now = clock.now();
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
                if errno == Errno::ENDED {
                    return Ended::Done;
                }
                if desk.fault(op, backend.path_of(op), Some(errno.0), errno.text()) {
                    return Ended::Failed;
                }
            }
        }
    }
}

/// An op in flight.
#[derive(Clone, Copy)]
struct Flight<O> {
    op: O,
    intended: Ticks,
    start: Ticks,
}

/// How a queued worker gathers ops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) depth: u32,
    /// Most ops of one submission.
    pub(crate) submit: u32,
    /// Completions waited for when the queue is full.
    pub(crate) complete: u32,
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
    let mut flights: Vec<Option<Flight<S::Op>>> = vec![None; depth];
    // A stack of free slots: the last `depth - free` entries above the top are those taken last.
    let mut slots: Vec<Slot> = (0..queue.depth as Slot).collect();
    let mut free = depth;
    let mut ended: Option<Ended> = None;
    // The next op while it is not due: drawn before it is waited for, so that nobody waits for an op that is not there.
    let mut early: Option<S::Op> = None;
    loop {
        let now = clock.now();
        if ended.is_none() && desk.control.stops_at(now) {
            ended = Some(Ended::Stopped);
        }
        let mut wake_at = None;
        let mut after_next = false;
        let free_before = free;
        while ended.is_none() && free > 0 && free_before - free < queue.submit as usize {
            let next = early.take().or_else(|| source.next().filter(|op| desk.budget.take(desk.control, op)));
            let Some(op) = next else {
                ended = Some(Ended::Done);
                break;
            };
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
                    ended = Some(end);
                    break;
                }
            };
            free -= 1;
            let slot = slots[free];
            backend.before(&op, slot);
            backend.submit(&op, slot);
            flights[slot as usize] = Some(Flight { op, intended, start: now });
        }
        if free == depth {
            match (ended, wake_at) {
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
        for &slot in &slots[free..free_before] {
            if let Some(flight) = &mut flights[slot as usize] {
                flight.start = start;
            }
        }
        let in_flight = (depth - free) as u32;
        backend.enter(match wake_at {
            // With room in the queue, wait only for as long as nothing is due.
            Some(at) if ended.is_none() => Wait::Timeout(clock.ns_between(start, at)),
            _ if free == 0 => Wait::For(queue.complete.min(in_flight)),
            _ if ended.is_some() || after_next => Wait::For(1),
            // There is room, and more to start: a batch is smaller than the queue.
            _ => Wait::For(0),
        })?;
        let end = clock.now();
        backend.reap(&mut |backend, slot: Slot, done: Completion| {
            let Some(flight) = flights[slot as usize] else { return };
            match done {
                Ok(moved) => {
                    let service_ns = clock.ns_between(flight.start, end);
                    desk.settle(&flight.op, moved, service_ns);
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
                        ended = Some(Ended::Failed);
                    }
                }
                Err(errno) => {
                    pacer.completed(flight.op.kind(), 0, clock.ns_between(flight.start, end), end);
                    if desk.fault(&flight.op, backend.path_of(&flight.op), Some(errno.0), errno.text()) {
                        ended = Some(Ended::Failed);
                    }
                }
            }
            slots[free] = slot;
            free += 1;
        });
    }
}
