//! Tests of the worker loops with mock backends.

use super::*;
use crate::backend::{Done, QueuedBackend, Slot, Wait};
use crate::barrier::PhaseMemory;
use crate::op::BlockOp;
use crate::pacer::Closed;
use crate::queue_cells::QueueCells;
use crate::terms::{Handover, InFlight, Queue};
use plumb_workload::phase::IgnoredError;
use std::collections::VecDeque;
use std::io;

/// Yields the given ops.
struct FixedOps<I> {
    ops: I,
    ramps_ended: u32,
}

impl<I: Iterator<Item = BlockOp>> Source for FixedOps<I> {
    type Op = BlockOp;

    fn next(&mut self) -> Option<BlockOp> {
        self.ops.next()
    }

    fn restarts(&mut self, _at_hand: Option<&BlockOp>) {
        self.ramps_ended += 1;
    }
}

/// Completes as many ops as the loop waits for, oldest first, and logs the calls.
#[derive(Default)]
struct MockBackend {
    in_flight: VecDeque<(Slot, BlockOp)>,
    /// Offsets in flight after each submission.
    seen: Vec<Vec<u64>>,
    waits: Vec<Wait>,
    ready: usize,
    /// Whether to complete everything on each call, regardless of the wait.
    eager: bool,
    errno: Option<i32>,
}

impl QueuedBackend for MockBackend {
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        self.in_flight.push_back((slot, *op));
        self.seen.push(self.in_flight.iter().map(|(_, op)| op.offset).collect());
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        self.waits.push(wait);
        self.ready = match wait {
            _ if self.eager => self.in_flight.len(),
            Wait::For(count) => count as usize,
            Wait::Timeout(_) => 1,
        };
        Ok(())
    }

    fn completed(&mut self) -> Option<Done> {
        self.ready = self.ready.checked_sub(1)?;
        let (slot, op) = self.in_flight.pop_front()?;
        let completion = self.errno.map_or(Ok(u64::from(op.length)), |errno| Err(crate::backend::Errno(errno)));
        Some(Done { slot, completion })
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        PathBuf::from("pretended")
    }

    fn name(&self) -> &'static str {
        "pretended"
    }
}

struct Fixture {
    memory: PhaseMemory,
    queues: QueueCells,
    errors: ErrorRules,
}

impl Fixture {
    fn new() -> Fixture {
        let memory = PhaseMemory::for_tests(Clock::best(), 2);
        memory.control.control().set_limit(Default::default());
        Fixture { memory, queues: QueueCells::new(&[Some(8)]).unwrap(), errors: ErrorRules::default() }
    }

    fn context(&self, on_error: OnError) -> WorkerContext<'_> {
        WorkerContext {
            clock: self.memory.clock,
            control: self.memory.control.worker(0),
            recorder: Recorder::new(self.memory.cells.worker(0)),
            faults: FaultLog::new(self.memory.reports.worker(0)),
            budget: Budget::UNLIMITED,
            on_error,
            errors: &self.errors,
            fills: false,
            log: None,
            tally: self.queues.tally(0),
            priorities: None,
            ramp: None,
            run_as: RunAs::Thread,
            usage: Usage::default(),
        }
    }
}

fn reads(count: u64) -> Vec<BlockOp> {
    (0..count).map(|number| BlockOp::load(OpKind::Read, 0, number * 4096, 4096)).collect()
}

fn run(context: &mut WorkerContext<'_>, ops: Vec<BlockOp>, backend: &mut MockBackend, queue: Queue) -> Ended {
    let mut source = FixedOps { ops: ops.into_iter(), ramps_ended: 0 };
    run_queued(context, &mut source, backend, &mut Closed, queue).unwrap()
}

// Protects: order between ops that depend on one another.
#[test]
fn an_op_that_waits_for_all_starts_alone() {
    let fixture = Fixture::new();
    let mut ops = reads(6);
    ops[3].after_all = true;
    let mut backend = MockBackend::default();
    assert_eq!(run(&mut fixture.context(OnError::Stop), ops, &mut backend, Queue::with_depth(4)), Ended::Done);
    assert_eq!(backend.seen[3], [3 * 4096], "nothing else is in flight");
    assert_eq!(backend.seen.len(), 6, "the other ops follow");
    assert_eq!(fixture.memory.cells.read()[0].count(), 6);
}

#[test]
fn overlapping_ops_are_kept_apart_on_request() {
    let fixture = Fixture::new();
    let op = |file: u32, offset: u64| BlockOp::load(OpKind::Write, file, offset, 4096);
    let ops = vec![op(0, 0), op(0, 4096), op(1, 0), op(0, 2048), op(0, 8192)];
    let queue = Queue { in_flight: InFlight::Apart, ..Queue::with_depth(8) };
    let mut backend = MockBackend::default();
    run(&mut fixture.context(OnError::Stop), ops.clone(), &mut backend, queue);
    // The same offset in another file does not overlap.
    assert_eq!(backend.seen[2], [0, 4096, 0]);
    assert_eq!(backend.seen[3], [0, 2048], "only after both overlapping ops completed");
    let mut backend = MockBackend::default();
    run(&mut fixture.context(OnError::Stop), ops, &mut backend, Queue::with_depth(8));
    assert_eq!(backend.seen[4].len(), 5, "otherwise all are in flight together");
}

#[test]
fn a_full_queue_drains_before_it_is_filled_again() {
    let fixture = Fixture::new();
    let queue = Queue { refill_at: 1, ..Queue::with_depth(4) };
    let mut backend = MockBackend::default();
    run(&mut fixture.context(OnError::Stop), reads(10), &mut backend, queue);
    let depths: Vec<usize> = backend.seen.iter().map(Vec::len).collect();
    assert_eq!(depths, [1, 2, 3, 4, 2, 3, 4, 2, 3, 4]);
}

#[test]
fn completions_are_taken_up_to_the_requested_number() {
    let fixture = Fixture::new();
    let queue = Queue { most_completions: 3, ..Queue::with_depth(8) };
    let mut backend = MockBackend { eager: true, ..MockBackend::default() };
    run(&mut fixture.context(OnError::Stop), reads(20), &mut backend, queue);
    assert_eq!(fixture.memory.cells.read()[0].count(), 20);
    let counts = fixture.queues.read(0).unwrap();
    assert_eq!(counts.completed.len(), 4, "{counts:?}");
    assert_eq!(counts.submitted.iter().zip(0..).map(|(count, ops)| count * ops).sum::<u64>(), 20);
    assert_eq!((counts.depth.iter().sum::<u64>(), counts.depth[8] > 0), (20, true), "{counts:?}");
}

// Protects: submission is a separate, timed call, and the loop only waits if that call completed nothing.
#[test]
fn submission_is_timed_separately_from_waiting() {
    let fixture = Fixture::new();
    let queue = Queue { handover: Handover::Timed, submit: 2, ..Queue::with_depth(2) };
    let mut backend = MockBackend::default();
    run(&mut fixture.context(OnError::Stop), reads(3), &mut backend, queue);
    assert_eq!(backend.waits[..2], [Wait::For(0), Wait::For(1)]);
    let ops = fixture.memory.cells.read()[0].measured();
    let read = &ops[&OpKind::Read];
    let submission = read.submission.as_ref().unwrap();
    assert_eq!((read.count, submission.count()), (3, 3));
    assert!(submission.max() <= read.service.max(), "submission is a part of the service time");

    let mut backend = MockBackend { eager: true, ..MockBackend::default() };
    run(&mut fixture.context(OnError::Stop), reads(2), &mut backend, queue);
    assert_eq!(backend.waits, [Wait::For(0)], "completed ops need no wait");
    let mut backend = MockBackend::default();
    run(&mut fixture.context(OnError::Stop), reads(1), &mut backend, Queue::with_depth(1));
    assert_eq!(backend.waits, [Wait::For(1)], "without timing, one call submits and waits");
}

#[test]
fn the_worker_decides_how_to_handle_an_error() {
    let go_on = ErrorRules { go_on_after_read: true, ..ErrorRules::default() };
    let of =
        |at: ErrorOrigin, errno: i32| ErrorRules { ignore: vec![IgnoredError { at, errno }], ..ErrorRules::default() };
    for (on_error, errors, ended, stops_others, done) in [
        (OnError::Stop, ErrorRules::default(), Ended::Failed, true, 1),
        (OnError::Leave, ErrorRules::default(), Ended::Failed, false, 1),
        (OnError::Continue, ErrorRules::default(), Ended::Done, false, 3),
        (OnError::Leave, go_on, Ended::Done, false, 3),
        (OnError::Stop, of(ErrorOrigin::Read, libc::EIO), Ended::Done, false, 3),
        (OnError::Leave, of(ErrorOrigin::Read, libc::ENOSPC), Ended::Failed, false, 1),
        (OnError::Leave, of(ErrorOrigin::Write, libc::EIO), Ended::Failed, false, 1),
    ] {
        let fixture = Fixture { errors, ..Fixture::new() };
        let mut backend = MockBackend { errno: Some(libc::EIO), ..MockBackend::default() };
        let found = run(&mut fixture.context(on_error), reads(3), &mut backend, Queue::with_depth(1));
        let others = fixture.memory.control.worker(1).stop_requested();
        let case = format!("{on_error:?} {:?}", fixture.errors);
        assert_eq!((found, others), (ended, stops_others), "{case}");
        assert_eq!(fixture.memory.cells.read()[0].errors, done, "{case}: all errors are counted");
        let report = fixture.memory.reports.worker(0);
        assert_eq!(report.has_failed(), ended == Ended::Failed, "{case}");
        if report.has_failed() {
            let reason = String::from_utf8(report.failure.read()).unwrap();
            assert!(reason.starts_with("read of pretended at byte 0: "), "{reason}");
        }
    }
}

// Protects: the ramp uses up no limits, and the limits after it count from its end.
#[test]
fn limits_restart_at_the_end_of_the_ramp() {
    let fixture = Fixture::new();
    let mut context = fixture.context(OnError::Stop);
    let ends_at = context.clock.now() + context.clock.ticks(2_000_000);
    assert!(context.control.move_deadline(Ticks::MAX, ends_at));
    fixture.memory.control.set_times(crate::control::PhaseTimes { begins_at: 1, ramp_ends_at: 1, deadline: None });
    let budget = Budget { ops: 5, ..Budget::UNLIMITED };
    context.ramp = Some(Ramp { ends_at, budget: Some(budget), shares_limit: false, time: None });
    let mut source = FixedOps { ops: std::iter::repeat(reads(1)[0]), ramps_ended: 0 };
    let mut backend = MockBackend::default();
    let ended = run_queued(&mut context, &mut source, &mut backend, &mut Closed, Queue::with_depth(1)).unwrap();
    assert_eq!((ended, source.ramps_ended), (Ended::Done, 1));
    assert_eq!(context.budget.ops, 0);
    assert!(fixture.memory.control.measured_at(0).is_some_and(|at| at >= ends_at));
}
