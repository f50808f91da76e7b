//! The hot loops: next op, when, start, complete, record. All decisions were made before, in the choice of types.

mod queued;
mod sampled;

pub(crate) use queued::run_queued;

use crate::backend::{Completion, Errno, SyncBackend, Unfinished};
use crate::clock::{Clock, Ticks};
use crate::content::Mismatch;
use crate::control::WorkerControl;
use crate::fault::FaultLog;
use crate::op::{Operation, Role};
use crate::oplog::{OpLog, OpOutcome};
use crate::pacer::{Due, PaceFailure, PacedOp, Pacer, Waited, wait_until};
use crate::priority_cells::PriorityTally;
use crate::queue_cells::QueueTally;
use crate::recorder::Recorder;
use crate::source::Source;
use crate::terms::{Budget, Ended, Usage};
use plumb_workload::phase::{ErrorOrigin, ErrorRules};
use plumb_workload::{OnError, OpKind, RunAs};
pub(crate) use sampled::{OpGroup, Sampler};
use std::hint::black_box;
use std::path::{Path, PathBuf};

/// The end of a worker's ramp.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ramp {
    /// The worker's deadline until then.
    pub(crate) ends_at: Ticks,
    /// Its budget from then on; `None` if the ramp uses up the same budget.
    pub(crate) budget: Option<Budget>,
    /// Whether it uses up the phase's common limit from then on.
    pub(crate) shares_limit: bool,
    /// Its time from then on; `None` for no limit.
    pub(crate) time: Option<Ticks>,
}

/// State of a worker's loop.
pub(crate) struct WorkerContext<'a> {
    pub(crate) clock: Clock,
    pub(crate) control: WorkerControl<'a>,
    pub(crate) recorder: Recorder<'a>,
    pub(crate) faults: FaultLog<'a>,
    pub(crate) budget: Budget,
    pub(crate) on_error: OnError,
    pub(crate) errors: &'a ErrorRules,
    /// Whether it writes until no space is left.
    pub(crate) fills: bool,
    pub(crate) log: Option<OpLog<'a>>,
    pub(crate) tally: Option<QueueTally<'a>>,
    /// Records times by the priority of ops.
    pub(crate) priorities: Option<PriorityTally<'a>>,
    /// The ramp; `None` once it is over.
    pub(crate) ramp: Option<Ramp>,
    pub(crate) run_as: RunAs,
    /// Resources charged to the worker before its measured time.
    pub(crate) usage: Usage,
}

impl WorkerContext<'_> {
    /// Records the result of an op.
    #[inline(always)]
    fn settle<O: Operation>(&mut self, op: &O, moved: u64, service_ns: u64) {
        self.recorder.record(op.kind(), moved, service_ns);
        if moved < op.length() {
            self.count_short(op.kind());
        }
    }

    /// Called for an op that moved less than its length. Counts it if its kind moves data; most other ops have
    /// no length.
    #[cold]
    #[inline(never)]
    fn count_short(&mut self, kind: OpKind) {
        if kind.moves_bytes() {
            self.recorder.count_short(kind);
        }
    }

    /// Returns `true` if the worker ignores an error regardless of its other rules.
    fn ignores_error(&self, kind: OpKind, errno: Option<i32>) -> bool {
        // An error without a system error number comes from verification.
        let (origin, goes_on) = match (errno, kind) {
            (None, _) => (ErrorOrigin::Verify, self.errors.go_on_after_verify),
            (Some(_), OpKind::Read) => (ErrorOrigin::Read, self.errors.go_on_after_read),
            (Some(_), _) => (ErrorOrigin::Write, self.errors.go_on_after_write),
        };
        let number = errno.unwrap_or(libc::EILSEQ);
        goes_on || self.errors.ignore.iter().any(|ignored| ignored.at == origin && ignored.errno == number)
    }

    /// Returns `true` if an error is the worker's natural end and not a failure.
    #[cold]
    fn is_end<O: Operation>(&self, op: &O, errno: Errno) -> bool {
        errno == Errno::ENDED || (self.fills && op.kind() == OpKind::Write && errno.0 == libc::ENOSPC)
    }

    /// Stores a failure with its location. Returns `true` if it ends the worker.
    #[cold]
    fn fault<O: Operation>(&mut self, op: &O, path: PathBuf, errno: Option<i32>, message: String) -> bool {
        self.recorder.count_error();
        self.faults.keep(op.kind(), op.offset(), op.length(), errno, &path, &message);
        if self.on_error == OnError::Continue || self.ignores_error(op.kind(), errno) {
            return false;
        }
        self.faults.fail(&format!("{} of {} at byte {}: {message}", op.kind().name(), path.display(), op.offset()));
        if self.on_error == OnError::Stop {
            self.control.request_stop();
        }
        true
    }

    /// Stores a mismatch. Returns `true` if it ends the worker.
    #[cold]
    #[inline(never)]
    fn mismatched<O: Operation>(&mut self, op: &O, path: PathBuf, mismatch: Box<Mismatch>) -> bool {
        self.fault(op, path, None, mismatch.to_string())
    }

    /// Handles the worker's deadline. Returns `true` if only its ramp is over.
    #[cold]
    #[inline(never)]
    fn goes_on<S: Source + ?Sized>(&mut self, source: &mut S, at_hand: Option<&S::Op>, now: Ticks) -> bool {
        let goes_on = self.ramp_ends(now);
        if goes_on {
            source.restarts(at_hand);
        }
        goes_on
    }

    /// Restarts the measurement at the current op, because all ops before it were a search. None of them is in flight.
    #[cold]
    #[inline(never)]
    fn restart<S: Source + ?Sized>(&mut self, source: &mut S, at_hand: &S::Op, now: Ticks) {
        // During a ramp, the end of the ramp will do this.
        if self.ramp.is_some() {
            return;
        }
        self.recorder.restart();
        self.measure_from(now);
        source.restarts(Some(at_hand));
    }

    /// Returns `true` if a worker without a source must stop.
    pub(crate) fn stops_at(&mut self, now: Ticks) -> bool {
        self.control.stops_at(now) && !self.ramp_ends(now)
    }

    /// Returns `true` if the deadline is only the end of the ramp, and starts the measured time.
    fn ramp_ends(&mut self, now: Ticks) -> bool {
        let Some(ramp) = self.ramp.take() else { return false };
        let deadline = ramp.time.map_or(Ticks::MAX, |time| now.saturating_add(time)).min(self.control.deadline());
        let from = self.control.own_deadline();
        let is_over = now >= self.control.deadline() || self.control.stop_requested();
        if is_over || !self.control.move_deadline(from, deadline) {
            return false;
        }
        self.budget = ramp.budget.unwrap_or(self.budget);
        self.budget.shares_limit = ramp.shares_limit;
        if let Some(log) = &mut self.log {
            log.set_in_ramp(false);
        }
        self.recorder.end_ramp();
        self.measure_from(now);
        true
    }

    pub(crate) fn measure_from(&mut self, now: Ticks) {
        if let Some(tally) = &self.tally {
            tally.forget();
        }
        if let Some(priorities) = &self.priorities {
            priorities.forget();
        }
        self.usage = Usage::now(&self.clock, self.run_as);
        self.control.measures_from(now);
    }

    /// Waits until `at`, also across the end of the ramp.
    fn wait<S: Source + ?Sized>(&mut self, source: &mut S, at_hand: &S::Op, at: Ticks) -> Waited {
        loop {
            match wait_until(&self.clock, self.control, at) {
                Waited::Stopped if self.goes_on(source, Some(at_hand), self.clock.now()) => {}
                waited => return waited,
            }
        }
    }

    /// Logs an op, if the worker logs ops.
    fn log<O: Operation>(&mut self, op: &O, outcome: OpOutcome) {
        if let Some(log) = &mut self.log {
            log.keep(op, outcome);
        }
    }

    /// Returns the log sequence number of a submitted op.
    fn number(&mut self) -> u64 {
        self.log.as_mut().map_or(0, OpLog::number)
    }

    /// Logs an op that was not executed.
    #[cold]
    #[inline(never)]
    fn note<O: Operation>(&mut self, op: &O, now: Ticks) {
        let sequence = self.number();
        self.log(op, OpOutcome { start: now, end: now, result: Ok(0), handed_at: None, sequence });
    }

    /// Stores a failure to flush the backend's data at the end.
    #[cold]
    pub(crate) fn unfinished(&mut self, unfinished: &Unfinished) -> Ended {
        let Unfinished { op, path, errno } = unfinished;
        self.recorder.count_error();
        let message = format!("writing out buffered data: {}", errno.text());
        self.faults.keep(*op, 0, 0, Some(errno.0), path, &message);
        self.faults.fail(&message);
        Ended::Failed
    }

    /// Stores a failure that is not from one of the worker's ops.
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

    /// Stores a failure of the pacer.
    #[cold]
    fn pacer_failed(&mut self, failure: &PaceFailure) -> Ended {
        self.failed(failure.kind, Path::new(""), Some(failure.errno), &failure.message)
    }
}

/// Runs a worker with one op at a time.
///
/// Reading the clock costs as much as the rest of the loop. If only the loop's own bookkeeping (some 5 ns) is between
/// two ops, the end of one op is the start of the next, and the clock is read once per op. The times then include the
/// bookkeeping, but the load is disturbed less than by a second reading. If a backend [samples](SyncBackend::samples),
/// short ops share a reading.
pub(crate) fn run_sync<S, B, P>(
    context: &mut WorkerContext<'_>,
    source: &mut S,
    backend: &mut B,
    pacer: &mut P,
) -> Ended
where
    S: Source + ?Sized,
    B: SyncBackend<Op = S::Op> + ?Sized,
    P: Pacer + ?Sized,
{
    let samples = backend.samples() && !pacer.is_open() && context.log.is_none() && !backend.works_between_ops();
    let sampler = Sampler::new(context.clock, samples);
    let mut worker = SyncWorker { context, source, backend, pacer, sampler };
    let ended = worker.run();
    worker.pacer.failure().map_or(ended, |failure| worker.context.pacer_failed(&failure))
}

struct SyncWorker<'a, 'd, S: ?Sized, B: ?Sized, P: ?Sized> {
    context: &'a mut WorkerContext<'d>,
    source: &'a mut S,
    backend: &'a mut B,
    pacer: &'a mut P,
    sampler: Sampler,
}

/// Intended start, real start and end of an op.
struct Times {
    intended: Ticks,
    start: Ticks,
    end: Ticks,
}

/// Result of a group of untimed ops.
struct GroupResult<O> {
    /// Number of ops that moved all their bytes.
    ops: u32,
    /// Reason for an early end of the group.
    interruption: Option<Interruption<O>>,
}

/// Reason for an early end of a group.
enum Interruption<O> {
    /// The data of its last op failed verification.
    Mismatched { op: O, mismatch: Box<Mismatch> },
    /// The next op failed or moved fewer bytes.
    Incomplete { op: O, done: Completion },
}

impl<S, B, P> SyncWorker<'_, '_, S, B, P>
where
    S: Source + ?Sized,
    B: SyncBackend<Op = S::Op> + ?Sized,
    P: Pacer + ?Sized,
{
    #[inline(always)]
    fn run(&mut self) -> Ended {
        let clock = self.context.clock;
        // Black boxes: otherwise the compiler recomputes these conditions in the loop, which
        // takes longer than reading them.
        let logs = black_box(self.context.log.is_some());
        let reads_start = black_box(self.pacer.is_open() || logs || self.backend.works_between_ops());
        let has_transactions = self.source.transactions().is_some();
        let mut now = clock.now();
        let mut group = None;
        loop {
            if self.context.control.stops_at(now) && !self.context.goes_on(self.source, None, now) {
                return Ended::Stopped;
            }
            if let Some(group) = group.take()
                && let Some(made) = self.make_group(group)
            {
                now = clock.now();
                if let Some(ended) = self.settle_group(group, made, now) {
                    return ended;
                }
                continue;
            }
            // Borrowed, not moved: an op of a flow takes half a cache line and is written in parts. Copying it right
            // away would stall on those writes.
            let next = self.source.next();
            let Some(op) = &next else { return Ended::Done };
            if has_transactions && let Some(transactions) = self.source.transactions() {
                self.context.recorder.set_transactions(transactions);
            }
            if op.kind() == OpKind::Delay {
                match self.context.wait(self.source, op, now + clock.ticks(op.length())) {
                    Waited::Until(at) => now = at,
                    Waited::Stopped => return Ended::Stopped,
                }
                continue;
            }
            if op.role() == Role::Note {
                self.context.note(op, now);
                continue;
            }
            if !self.context.budget.take(&self.context.control, op) {
                self.source.failed(op);
                return Ended::Done;
            }
            self.backend.before(op);
            let intended = loop {
                let at = match self.pacer.due(now, PacedOp::from_op(op)) {
                    Due::Now { intended } => break intended,
                    Due::At(at) => at,
                    // Nothing is in flight here.
                    Due::AfterNext => now,
                    Due::End(ended) => {
                        self.source.failed(op);
                        return ended;
                    }
                };
                let in_ramp = self.context.ramp.is_some();
                match self.context.wait(self.source, op, at) {
                    Waited::Until(at) => now = at,
                    Waited::Stopped => {
                        self.source.failed(op);
                        return Ended::Stopped;
                    }
                }
                // An op drawn in the ramp that starts after it counts toward the limits.
                if in_ramp && self.context.ramp.is_none() && !self.context.budget.take(&self.context.control, op) {
                    self.source.failed(op);
                    return Ended::Done;
                }
            };
            if self.pacer.restarts() {
                self.context.restart(self.source, op, now);
            }
            let start = if reads_start { clock.now() } else { now };
            let done = self.backend.execute(op);
            now = clock.now();
            if logs {
                let sequence = self.context.number();
                self.context.log(op, OpOutcome { start, end: now, result: done, handed_at: None, sequence });
            }
            if self.backend.samples() {
                group = self.sampler.timed(op.kind(), op.length(), done == Ok(op.length()), start, now);
            }
            if let Some(ended) = self.settle(op, done, Times { intended, start, end: now }) {
                return ended;
            }
        }
    }

    /// Records and verifies a completed op. Returns how the worker ends, if it does.
    #[inline(always)]
    fn settle(&mut self, op: &S::Op, done: Completion, times: Times) -> Option<Ended> {
        let clock = self.context.clock;
        let Times { intended, start, end } = times;
        let service_ns = clock.ns_between(start, end);
        match done {
            Ok(moved) => {
                self.context.settle(op, moved, service_ns);
                self.pacer.completed(op.kind(), moved, service_ns, end);
                if self.pacer.is_open() {
                    let (response_ns, lag_ns) = (clock.ns_between(intended, end), clock.ns_between(intended, start));
                    self.context.recorder.record_response(op.kind(), response_ns, lag_ns);
                }
                self.backend.after(op, moved).err().and_then(|mismatch| self.mismatched(op, mismatch))
            }
            Err(errno) => {
                self.source.failed(op);
                self.pacer.completed(op.kind(), 0, service_ns, end);
                if errno == Errno::ENDED || self.context.is_end(op, errno) {
                    return Some(Ended::Done);
                }
                let message = self.backend.explain(errno);
                let fails = self.context.fault(op, self.backend.path_of(op), Some(errno.0), message);
                fails.then_some(Ended::Failed)
            }
        }
    }

    // Inlined: a call would force the whole worker into memory, in the loops of all backends.
    #[inline(always)]
    fn mismatched(&mut self, op: &S::Op, mismatch: Box<Mismatch>) -> Option<Ended> {
        self.context.mismatched(op, self.backend.path_of(op), mismatch).then_some(Ended::Failed)
    }

    /// Executes ops that are not timed one by one, with only the work that cannot be done for all of them together.
    /// Returns `None` if there are none.
    #[inline(never)]
    fn make_group(&mut self, group: OpGroup) -> Option<GroupResult<S::Op>> {
        let most = group.most.min(self.context.budget.room(group.length));
        let mut made = GroupResult { ops: 0, interruption: None };
        while made.ops < most
            && let Some(op) = self.source.next_alike()
        {
            debug_assert_eq!((op.kind(), op.length()), (group.kind, group.length));
            let done = self.backend.execute(&op);
            if done != Ok(group.length) {
                self.context.budget.spend(1, group.length);
                made.interruption = Some(Interruption::Incomplete { op, done });
                break;
            }
            made.ops += 1;
            if let Err(mismatch) = self.backend.after(&op, group.length) {
                made.interruption = Some(Interruption::Mismatched { op, mismatch });
                break;
            }
        }
        self.context.budget.spend(made.ops, u64::from(made.ops) * group.length);
        (made.ops > 0 || made.interruption.is_some()).then_some(made)
    }

    /// Records the result of a group. Returns how the worker ends, if it does.
    #[inline(always)]
    fn settle_group(&mut self, group: OpGroup, made: GroupResult<S::Op>, now: Ticks) -> Option<Ended> {
        let GroupResult { ops, interruption } = made;
        if let Some(Interruption::Incomplete { op, done }) = interruption {
            let start = self.sampler.made_before(&mut self.context.recorder, group, ops, now);
            return self.settle(&op, done, Times { intended: start, start, end: now });
        }
        self.sampler.made(&mut self.context.recorder, group, ops, now);
        match interruption {
            Some(Interruption::Mismatched { op, mismatch }) => self.mismatched(&op, mismatch),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
