//! The loop of a worker with several ops in flight.

use super::WorkerContext;
use crate::backend::{Done, QueuedBackend, Slot, Wait};
use crate::clock::Ticks;
use crate::op::{BlockOp, Operation, Role};
use crate::oplog::OpOutcome;
use crate::pacer::{Due, PacedOp, Pacer, wait_until};
use crate::source::Source;
use crate::terms::{Ended, Handover, InFlight, Queue};
use std::collections::VecDeque;
use std::io;

/// A start that is due within this time, ns, is busy-polled while other ops are in flight. It is shorter than with an
/// empty queue, because the ops in flight may need the processor.
const NEAR_NS: u64 = 20_000;

#[derive(Clone, Copy)]
struct Flight {
    op: BlockOp,
    intended: Ticks,
    start: Ticks,
}

/// The slots of all ops in flight.
struct Flights {
    flights: Vec<Option<Flight>>,
    /// Stack of free slots: the first `free` entries. The entries directly above were taken last.
    slots: Vec<Slot>,
    free: usize,
    /// End of the submission, by slot; empty if submissions are not timed.
    handed_at: Vec<Ticks>,
    ended: Option<Ended>,
    /// Whether single ops are logged.
    logs: bool,
    /// Sequence numbers of logged ops, by slot; empty if ops are not logged.
    sequences: Vec<u64>,
    /// Whether times are recorded by the priority of ops.
    by_priority: bool,
    /// Whether overlapping ops are kept apart, which requires empty slots to be `None`.
    apart: bool,
}

impl Flights {
    fn overlaps(&self, op: &BlockOp) -> bool {
        let moves = |op: &BlockOp| op.kind().moves_bytes();
        let (start, end) = (op.offset(), op.offset() + op.length());
        moves(op)
            && self.flights.iter().flatten().any(|flight| {
                let other = &flight.op;
                let (other_start, other_end) = (other.offset(), other.offset() + other.length());
                moves(other) && other.file() == op.file() && start < other_end && other_start < end
            })
    }

    /// Removes a completed op from its slot and records it.
    #[inline(always)]
    fn complete<B, P>(
        &mut self,
        context: &mut WorkerContext<'_>,
        backend: &mut B,
        pacer: &mut P,
        done: Done,
        end: Ticks,
    ) where
        B: QueuedBackend + ?Sized,
        P: Pacer + ?Sized,
    {
        let Done { slot, completion: done } = done;
        let Some(flight) = self.flights[slot as usize] else { return };
        let clock = context.clock;
        if self.logs {
            let handed_at = self.handed_at.get(slot as usize).copied();
            let sequence = self.sequences[slot as usize];
            context.log(&flight.op, OpOutcome { start: flight.start, end, result: done, handed_at, sequence });
        }
        let service_ns = clock.ns_between(flight.start, end);
        match done {
            Ok(moved) => {
                context.settle(&flight.op, moved, service_ns);
                // Empty if submissions are not timed.
                if let Some(&handed_at) = self.handed_at.get(slot as usize) {
                    let submission_ns = clock.ns_between(flight.start, handed_at);
                    let completion_ns = service_ns.saturating_sub(submission_ns);
                    context.recorder.record_parts(flight.op.kind(), submission_ns, completion_ns);
                }
                if self.by_priority
                    && let (Some(priorities), Some(class)) = (&context.priorities, backend.priority_class(slot))
                {
                    let handed_at = self.handed_at.get(slot as usize);
                    let submission_ns = handed_at.map(|&handed_at| clock.ns_between(flight.start, handed_at));
                    let completion_ns = submission_ns.map(|submission_ns| service_ns.saturating_sub(submission_ns));
                    priorities.record(flight.op.kind(), class, service_ns, completion_ns);
                }
                pacer.completed(flight.op.kind(), moved, service_ns, end);
                if pacer.is_open() {
                    context.recorder.record_response(
                        flight.op.kind(),
                        clock.ns_between(flight.intended, end),
                        clock.ns_between(flight.intended, flight.start),
                    );
                }
                if let Err(mismatch) = backend.after(&flight.op, slot, moved)
                    && context.mismatched(&flight.op, backend.path_of(&flight.op), mismatch)
                {
                    self.ended = Some(Ended::Failed);
                }
            }
            Err(errno) => {
                pacer.completed(flight.op.kind(), 0, service_ns, end);
                if context.is_end(&flight.op, errno) {
                    self.ended.get_or_insert(Ended::Done);
                } else if context.fault(&flight.op, backend.path_of(&flight.op), Some(errno.0), errno.text()) {
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

/// Runs a worker with several ops in flight.
///
/// Ops submitted by one system call share its start time, and ops reaped together share the time of reaping. That is
/// when the application could have known, and it costs two clock readings per batch.
pub(crate) fn run_queued<S, B, P>(
    context: &mut WorkerContext<'_>,
    source: &mut S,
    backend: &mut B,
    pacer: &mut P,
    queue: Queue,
) -> io::Result<Ended>
where
    S: Source<Op = BlockOp> + ?Sized,
    B: QueuedBackend + ?Sized,
    P: Pacer + ?Sized,
{
    let clock = context.clock;
    let opens = pacer.is_open();
    let depth = queue.depth as usize;
    let times_handover = queue.handover == Handover::Timed;
    let orders = source.waits_for_all();
    let apart = queue.in_flight == InFlight::Apart;
    let drains = queue.refill_at < queue.depth;
    let most = queue.most_completions as usize;
    let tally = context.tally;
    let mut flying = Flights {
        flights: vec![None; depth],
        slots: (0..queue.depth as Slot).collect(),
        free: depth,
        handed_at: vec![0; if times_handover { depth } else { 0 }],
        ended: None,
        logs: context.log.is_some(),
        sequences: vec![0; if context.log.is_some() { depth } else { 0 }],
        by_priority: context.priorities.is_some(),
        apart,
    };
    // The next op while it may not start yet. It is drawn before waiting, so that the loop never waits for
    // an op that does not exist.
    let mut early: Option<BlockOp> = None;
    // Completions beyond the number that may be taken at once. They count as still in flight.
    let mut held: VecDeque<Done> = VecDeque::with_capacity(if most < depth { depth } else { 0 });
    let mut draining = false;
    // Read after reaping, and again only if starts follow a schedule: usually, only bookkeeping happens in between.
    let mut now = clock.now();
    if opens && !clock.is_virtual() {
        crate::os::wake_in_time();
    }
    let ended = loop {
        if opens {
            now = clock.now();
        }
        if flying.ended.is_none() && context.control.stops_at(now) {
            if !context.goes_on(source, early.as_ref(), now) {
                flying.ended = Some(Ended::Stopped);
            } else if early.is_some_and(|op| !context.budget.take(&context.control, &op)) {
                // The op was drawn during the ramp but starts after it.
                flying.ended = Some(Ended::Done);
            }
        }
        let mut wake_at = None;
        // Whether the next op must wait for a completion.
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
            let next = early.take().or_else(|| source.next().filter(|op| context.budget.take(&context.control, op)));
            let Some(op) = next else {
                flying.ended = Some(Ended::Done);
                break;
            };
            if op.role() == Role::Note {
                context.note(&op, now);
                continue;
            }
            if (orders && op.after_all() && flying.free < depth) || (apart && flying.overlaps(&op)) {
                early = Some(op);
                after_next = true;
                break;
            }
            let intended = match pacer.due(now, PacedOp::from_op(&op)) {
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
            if pacer.restarts() {
                context.restart(source, &op, now);
            }
            flying.free -= 1;
            let slot = flying.slots[flying.free];
            if flying.logs {
                flying.sequences[slot as usize] = context.number();
            }
            backend.before(&op, slot);
            backend.submit(&op, slot);
            flying.flights[slot as usize] = Some(Flight { op, intended, start: now });
        }
        draining |= drains && flying.free == 0;
        if flying.free == depth {
            match (flying.ended, wake_at) {
                (Some(ended), _) => break ended,
                (None, Some(at)) => {
                    wait_until(&clock, context.control, at);
                    now = clock.now();
                    continue;
                }
                (None, None) if after_next => {
                    now = clock.now();
                    continue;
                }
                // Nothing is in flight and nothing is waiting: only a depth of 0 gets here.
                (None, None) => break Ended::Done,
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
            // With room in the queue, wait no longer than until the next op is due.
            Some(at) if flying.ended.is_none() => {
                let left_ns = clock.ns_between(start, at);
                match left_ns.saturating_sub(NEAR_NS) {
                    _ if clock.is_virtual() => Wait::Timeout(left_ns),
                    // The kernel's timers may be this late, so busy-poll.
                    0 => Wait::For(0),
                    far_ns => Wait::Timeout(far_ns),
                }
            }
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
            // Take existing completions first; wait only if there were none.
            reap(context, backend, pacer, &mut flying, &mut held, Reaping { most, end: handed_at });
            now = handed_at;
        }
        if flying.free == free_before {
            backend.enter(wait)?;
            now = clock.now();
            reap(context, backend, pacer, &mut flying, &mut held, Reaping { most, end: now });
        }
        let taken = flying.free - free_before;
        if taken > 0
            && let Some(tally) = tally
        {
            tally.completed(taken);
        }
    };
    Ok(pacer.failure().map_or(ended, |failure| context.pacer_failed(&failure)))
}

/// Parameters for taking completions.
#[derive(Clone, Copy)]
struct Reaping {
    /// Maximum number of completions taken at once.
    most: usize,
    end: Ticks,
}

/// Takes the available completions and frees their slots.
#[inline(always)]
fn reap<B, P>(
    context: &mut WorkerContext<'_>,
    backend: &mut B,
    pacer: &mut P,
    flying: &mut Flights,
    held: &mut VecDeque<Done>,
    reaping: Reaping,
) where
    B: QueuedBackend + ?Sized,
    P: Pacer + ?Sized,
{
    let Reaping { most, end } = reaping;
    if most >= flying.slots.len() {
        while let Some(done) = backend.completed() {
            flying.complete(context, backend, pacer, done, end);
        }
        return;
    }
    let full = flying.free + most;
    while flying.free < full
        && let Some(done) = held.pop_front()
    {
        flying.complete(context, backend, pacer, done, end);
    }
    while let Some(done) = backend.completed() {
        if flying.free < full {
            flying.complete(context, backend, pacer, done, end);
        } else {
            held.push_back(done);
        }
    }
}
