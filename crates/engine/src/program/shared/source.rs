//! The steps of one worker, one after another. Steps that only wait, count or compute run here, timed;
//! steps that make calls are yielded.

use super::calls::Writes;
use super::compile::{Instruction, Party, SharedPhase, SharedProgram, StepAction};
use super::steps::StepCells;
use crate::clock::Clock;
use crate::control::WorkerControl;
use crate::op::Operation;
use crate::pacer::{Due, PacedOp, Pacer, Waited, wait_until};
use crate::rng::Rng;
use crate::source::Source;
use plumb_workload::OpKind;
use plumb_workload::program::{EventUnit, FinishUnit};
use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// A call of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedOp {
    pub(super) kind: OpKind,
    pub(super) step: u32,
    /// Length of a pause, ns.
    length: u64,
}

impl SharedOp {
    fn pause(ns: u64) -> SharedOp {
        SharedOp { kind: OpKind::Delay, step: 0, length: ns }
    }
}

impl Operation for SharedOp {
    #[inline(always)]
    fn kind(&self) -> OpKind {
        self.kind
    }
    #[inline(always)]
    fn offset(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn length(&self) -> u64 {
        self.length
    }
}

/// Result of the current op, on its way from the calls to the statistics.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    step: Cell<u32>,
    ops: Cell<u64>,
}

impl Outcome {
    #[inline]
    pub(super) fn is(&self, step: u32, ops: u64) {
        self.step.set(step);
        self.ops.set(ops);
    }
}

/// State shared by the parts of one worker.
#[derive(Clone, Copy)]
pub(super) struct WorkerContext<'a> {
    pub(super) program: &'a SharedProgram,
    pub(super) phase: &'a SharedPhase,
    pub(super) row: &'a [StepCells],
    pub(super) party: &'a Party,
    pub(super) outcome: &'a Outcome,
    pub(super) writes: &'a RefCell<Writes>,
}

/// Records the statistics of each step on completion; no pacing.
pub(super) struct Bookkeeper<'a> {
    pub(super) context: WorkerContext<'a>,
}

impl Pacer for Bookkeeper<'_> {
    #[inline(always)]
    fn is_open(&self) -> bool {
        false
    }

    #[inline(always)]
    fn due(&mut self, now: u64, _op: PacedOp) -> Due {
        Due::Now { intended: now }
    }

    #[inline]
    fn completed(&mut self, kind: OpKind, moved: u64, service_ns: u64, _now: u64) {
        let WorkerContext { outcome, row, party, phase, .. } = self.context;
        let ops = outcome.ops.replace(0);
        if ops == 0 {
            return;
        }
        if let Some(cells) = row.get(outcome.step.get() as usize) {
            cells.record(ops, moved, service_ns);
        }
        if phase.counts_parties {
            party.ops.fetch_add(ops, Relaxed);
            if kind.moves_bytes() {
                party.transfers.fetch_add(ops, Relaxed);
                party.bytes.fetch_add(moved, Relaxed);
            }
        }
    }
}

/// Stores of a `Spin` between two polls for its end.
const SPIN_STORES: u64 = 1 << 20;

/// The source of one worker.
pub(super) struct SharedSource<'a> {
    context: WorkerContext<'a>,
    clock: Clock,
    control: WorkerControl<'a>,
    /// Number of the worker in its group.
    worker: usize,
    rng: Rng,
    at: usize,
    counters: Vec<u64>,
    /// By step: the number of wake-ups, or the work done plus one, when the step last ran. For [`StepAction::Finish`], the
    /// drawn amount plus one.
    seen: Vec<u64>,
    spun: AtomicU8,
    /// Number of instructions since the last yielded op or step.
    idle: usize,
}

/// Outcome of a step that yields nothing.
enum Done {
    /// The step is finished.
    Over,
    /// The worker should end.
    Stopped,
    /// The worker has done enough.
    Enough,
}

impl From<Waited> for Done {
    fn from(waited: Waited) -> Done {
        match waited {
            Waited::Until(_) => Done::Over,
            Waited::Stopped => Done::Stopped,
        }
    }
}

impl<'a> SharedSource<'a> {
    pub(super) fn new(
        context: WorkerContext<'a>,
        clock: Clock,
        control: WorkerControl<'a>,
        worker: usize,
        rng: Rng,
    ) -> SharedSource<'a> {
        let program = context.program;
        SharedSource {
            clock,
            control,
            worker,
            rng,
            at: 0,
            counters: vec![0; program.times.len()],
            seen: vec![0; program.steps.len()],
            spun: AtomicU8::new(0),
            idle: 0,
            context,
        }
    }

    /// Returns the work done by a step of this worker, or by all of its party.
    fn done(&self, step: Option<usize>, unit: EventUnit) -> u64 {
        let WorkerContext { row, party, program, .. } = self.context;
        let mebibytes = |bytes: u64| bytes >> 20;
        match step {
            Some(step) => {
                let (Some(cells), Some(compiled)) = (row.get(step), program.steps.get(step)) else { return 0 };
                let moves = compiled.kind.is_some_and(OpKind::moves_bytes);
                match unit {
                    EventUnit::Ops => cells.count.load(Relaxed),
                    EventUnit::Transfers if moves => cells.count.load(Relaxed),
                    EventUnit::Transfers => 0,
                    EventUnit::Mebibytes => mebibytes(cells.bytes.load(Relaxed)),
                }
            }
            None => match unit {
                EventUnit::Ops => party.ops.load(Relaxed),
                EventUnit::Transfers => party.transfers.load(Relaxed),
                EventUnit::Mebibytes => mebibytes(party.bytes.load(Relaxed)),
            },
        }
    }

    /// Runs a step that makes no calls.
    fn perform(&mut self, number: usize) -> Done {
        let WorkerContext { program, phase, row, writes, .. } = self.context;
        let (clock, control) = (self.clock, self.control);
        match &program.steps[number].does {
            StepAction::Sleep(place) => {
                phase.places[*place].woken.sleep(&mut self.seen[number], &clock, control).into()
            }
            StepAction::Wake(place) => {
                phase.places[*place].woken.wake();
                Done::Over
            }
            StepAction::Take { place, first, credit } => {
                let credit = credit.draw(&mut self.rng);
                match phase.places[*place].credits.get(first + self.worker) {
                    Some(own) => own.take(credit, &clock, control).into(),
                    None => Done::Over,
                }
            }
            StepAction::Give { place, credit, waits } => {
                let credit = credit.draw(&mut self.rng);
                for other in &phase.places[*place].credits {
                    other.give(credit);
                    if *waits && other.await_room(credit, &clock, control) == Waited::Stopped {
                        return Done::Stopped;
                    }
                }
                Done::Over
            }
            StepAction::Spin(times) => {
                let mut left = times.draw(&mut self.rng);
                while left > 0 {
                    let stores = left.min(SPIN_STORES);
                    // Atomic stores, which the compiler does not remove. Filebench's `hog`
                    // also makes one store per iteration.
                    for _ in 0..stores {
                        self.spun.store(1, Relaxed);
                    }
                    left -= stores;
                    if left > 0 && control.stops_at(clock.now()) {
                        return Done::Stopped;
                    }
                }
                Done::Over
            }
            StepAction::Delay(seconds) => {
                let ns = seconds.draw(&mut self.rng).saturating_mul(1_000_000_000);
                wait_until(&clock, control, clock.now().saturating_add(clock.ticks(ns))).into()
            }
            StepAction::TakeEvent => phase.events.take(1, &clock, control).into(),
            StepAction::TakeEvents { unit, step } => {
                // Stored plus one, so that 0 means that the step has not run yet.
                let done = self.done(*step, *unit) + 1;
                let before = std::mem::replace(&mut self.seen[number], done);
                let events = match (before, unit) {
                    (0, _) => 0,
                    (before, EventUnit::Mebibytes) => done.saturating_sub(before) + 1,
                    (before, _) => done.saturating_sub(before),
                };
                phase.events.take(events, &clock, control).into()
            }
            StepAction::Finish { after, unit, step } => {
                let after = after.fixed().unwrap_or_else(|| {
                    // Drawn once for each worker.
                    let seen = &mut self.seen[number];
                    if *seen == 0 {
                        *seen = after.draw(&mut self.rng) + 1;
                    }
                    *seen - 1
                });
                let enough = match (unit, step) {
                    (FinishUnit::Ops, step) => self.done(*step, EventUnit::Ops) >= after,
                    (FinishUnit::Bytes, Some(step)) => {
                        row.get(*step).is_some_and(|cells| cells.bytes.load(Relaxed) > after)
                    }
                    (FinishUnit::Bytes, None) => self.context.party.bytes.load(Relaxed) > after,
                };
                if enough { Done::Enough } else { Done::Over }
            }
            StepAction::Sample(value) => {
                std::hint::black_box(value.draw(&mut self.rng));
                Done::Over
            }
            StepAction::AwaitWrites => {
                writes.borrow_mut().await_half();
                Done::Over
            }
            // All other steps make calls.
            _ => Done::Over,
        }
    }
}

impl Source for SharedSource<'_> {
    type Op = SharedOp;

    #[inline]
    fn next(&mut self) -> Option<SharedOp> {
        let program = self.context.program;
        loop {
            self.idle += 1;
            if self.idle > 2 * program.code.len() + 2 {
                // There is nothing to do: every loop repeats zero times.
                self.idle = 0;
                return Some(SharedOp::pause(1_000_000));
            }
            match program.code.get(self.at) {
                None => self.at = 0,
                Some(Instruction::Repeat { counter, after }) => {
                    let count = program.times[usize::from(*counter)].draw(&mut self.rng);
                    self.counters[usize::from(*counter)] = count;
                    self.at = if count == 0 { *after as usize } else { self.at + 1 };
                }
                Some(Instruction::Again { counter, first }) => {
                    let left = &mut self.counters[usize::from(*counter)];
                    *left -= 1;
                    self.at = if *left > 0 { *first as usize } else { self.at + 1 };
                }
                Some(Instruction::Step(step)) => {
                    self.at += 1;
                    self.idle = 0;
                    let number = *step as usize;
                    if let Some(kind) = program.steps[number].kind {
                        return Some(SharedOp { kind, step: *step, length: 0 });
                    }
                    let begun = self.clock.now();
                    let done = self.perform(number);
                    if !matches!(done, Done::Stopped) {
                        let ns = self.clock.ns_between(begun, self.clock.now());
                        self.context.row[number].record(1, 0, ns);
                    }
                    if matches!(done, Done::Enough) {
                        return None;
                    }
                    // Lets the loop check for shutdown.
                    return Some(SharedOp::pause(0));
                }
            }
        }
    }
}
