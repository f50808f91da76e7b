//! The event loop: jumps from one completion to the next and starts what may start.

use super::device::{NamedDevice, Served};
use super::observe::{self, AtStart};
use super::outcome::{IN_FLIGHT_MAX, PhaseEnd, SimPhaseOutcome, SimRunError};
use super::record::{Progress, Recorder, Timing};
use super::worker::SimWorker;
use crate::clock::Clock;
use crate::op::{BlockOp, Operation};
use crate::pacer::{AnyPacer, Due, FlowEntry, PacedOp, PacerRequest, SearchWords, Sharing};
use crate::rounds::{SteadyRounds, SteadyState};
use crate::source::Source;
use plumb_result::{EndMeasurement, Interval, PhaseMeasurement, WorkerMeasurement};
use plumb_workload::{ClockScope, Flush, OnError, OpKind, OpenLoad, Phase, When};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// A phase that gets so far without an end has none.
const LONGEST_NS: u64 = 7 * 24 * 3_600 * 1_000_000_000;
/// Something that will happen; the earliest first, and in order of making where times are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    sequence: u64,
    worker: u32,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The op in this slot is done.
    Done(u32),
    /// The worker may start its next op.
    Wake,
}

#[derive(Debug, Clone, Copy)]
struct InFlight<Op> {
    op: Op,
    served: Served,
    intended_ns: Option<u64>,
    started_ns: u64,
}

/// A worker at work.
struct Active<'a, S: Source> {
    spec: SimWorker<S>,
    target: PathBuf,
    pacer: AnyPacer<'a>,
    /// The next op while it may not start.
    early: Option<S::Op>,
    free_slots: Vec<u32>,
    /// How many there are: the depth, or 1 where the device takes one op at a time.
    slots: usize,
    not_before_ns: u64,
    waking: bool,
    exhausted: bool,
    ended_ns: Option<u64>,
    ended_by: Option<String>,
    issued: Progress,
    done: Progress,
    in_flight_ns: u128,
    faults: usize,
    transactions_before: u64,
}

impl<S: Source> Active<'_, S> {
    fn idle(&self) -> bool {
        self.free_slots.len() == self.slots
    }

    fn limit_reached(&self) -> bool {
        let limit = &self.spec.limit;
        limit.ops.is_some_and(|ops| self.issued.ops >= ops)
            || limit.bytes.is_some_and(|bytes| self.issued.bytes >= bytes.0)
    }
}

/// A phase that runs.
pub(super) struct Running<'a, S: Source> {
    devices: &'a mut [NamedDevice],
    phase: &'a Phase,
    on_interval: &'a mut dyn FnMut(&Interval) -> ControlFlow<()>,
    began_ns: u64,
    workers: Vec<Active<'a, S>>,
    slots: Vec<Option<InFlight<S::Op>>>,
    events: BinaryHeap<Reverse<Event>>,
    sequence: u64,
    /// The next time at which something other than an op is due.
    trigger_ns: u64,
    recorder: Recorder,
    /// There from the start of the clock on.
    before: Option<AtStart>,
    /// Started after the ramp.
    issued: Progress,
    steady: Option<SteadyRounds>,
    /// End of the round at hand, where there are any.
    round_end_ns: Option<u64>,
    /// What was done when it began.
    before_round: Progress,
    steady_met: bool,
    stopping: bool,
    interrupted: bool,
}

/// Searches for a depth need real devices, and the validator refuses them here.
static NO_SEARCH: SearchWords = SearchWords::none();

impl<'a, S: Source> Running<'a, S> {
    pub(super) fn new(
        devices: &'a mut [NamedDevice],
        began_ns: u64,
        phase: &'a Phase,
        workers: Vec<SimWorker<S>>,
        schedules: &'a [AtomicU64],
        on_interval: &'a mut dyn FnMut(&Interval) -> ControlFlow<()>,
    ) -> Result<Running<'a, S>, SimRunError> {
        if workers.is_empty() {
            return Err(SimRunError::NoWorkers { phase: phase.name.clone() });
        }
        let mut group_counts = vec![0; schedules.len()];
        workers.iter().for_each(|worker| group_counts[worker.group] += 1);
        // Virtual time is in nanoseconds.
        let clock = Clock::monotonic();
        let mut active = Vec::with_capacity(workers.len());
        let mut next_slot = 0u64;
        for spec in workers {
            let serial = devices.get(spec.device).is_some_and(|named| named.device.is_serial());
            let slots = if serial { spec.depth.min(1) } else { spec.depth };
            let last_slot = next_slot + u64::from(slots);
            if slots == 0 || last_slot > IN_FLIGHT_MAX {
                return Err(SimRunError::Depth { phase: phase.name.clone(), worker: spec.name, depth: spec.depth });
            }
            let Some(named) = devices.get(spec.device) else {
                return Err(SimRunError::Device { worker: spec.name, device: spec.device, devices: devices.len() });
            };
            if let Some(OpenLoad { rate, .. }) = spec.pace.open
                && !(rate.0 > 0.0 && rate.0.is_finite())
            {
                return Err(SimRunError::Rate { worker: spec.name, rate: rate.0 });
            }
            let sharing = match spec.pace.open.is_some_and(|load| load.shared) {
                true => Sharing::Group { workers: group_counts[spec.group], numbers: &schedules[spec.group] },
                false => Sharing::Own,
            };
            let request = PacerRequest {
                pace: spec.pace,
                clock,
                depth: spec.depth,
                arrivals: spec.arrivals.clone(),
                sharing,
                ramp: phase.ramp,
                paces_all: true,
                flow: None,
                flow_entry: FlowEntry::WithPhase,
                search: &NO_SEARCH,
                kinds: None,
            };
            let mut pacer = AnyPacer::of(&request);
            pacer.table().start(began_ns);
            active.push(Active {
                target: PathBuf::from(&named.target),
                pacer,
                early: None,
                slots: slots as usize,
                free_slots: (next_slot as u32..last_slot as u32).rev().collect(),
                not_before_ns: began_ns,
                waking: false,
                exhausted: false,
                ended_ns: None,
                ended_by: None,
                issued: Progress::default(),
                done: Progress::default(),
                in_flight_ns: 0,
                faults: 0,
                transactions_before: 0,
                spec,
            });
            next_slot = last_slot;
        }
        let events = BinaryHeap::with_capacity(next_slot as usize + active.len());
        let ramp_end_ns = began_ns.saturating_add(phase.ramp.0);
        Ok(Running {
            devices,
            phase,
            on_interval,
            began_ns,
            workers: active,
            slots: (0..next_slot).map(|_| None).collect(),
            events,
            sequence: 0,
            trigger_ns: ramp_end_ns.saturating_add(1),
            recorder: Recorder::new(ramp_end_ns),
            before: None,
            issued: Progress::default(),
            steady: phase.stop.steady.map(SteadyRounds::new),
            round_end_ns: None,
            before_round: Progress::default(),
            steady_met: false,
            stopping: false,
            interrupted: false,
        })
    }

    pub(super) fn run(&mut self) -> Result<(), SimRunError> {
        if self.phase.ramp.0 == 0 {
            self.start_clock(self.began_ns);
        }
        for worker in 0..self.workers.len() {
            self.issue(worker, self.began_ns);
        }
        while let Some(&Reverse(event)) = self.events.peek() {
            while event.at_ns >= self.trigger_ns {
                if self.trigger_ns - self.began_ns > LONGEST_NS {
                    return Err(SimRunError::Endless { phase: self.phase.name.clone() });
                }
                self.pass_trigger();
                if self.stopping && event.what == What::Wake {
                    break;
                }
            }
            self.events.pop();
            let worker = event.worker as usize;
            match event.what {
                What::Wake => {
                    self.workers[worker].waking = false;
                    if self.stopping {
                        continue;
                    }
                }
                What::Done(slot) => self.complete(worker, slot, event.at_ns),
            }
            self.issue(worker, event.at_ns);
        }
        Ok(())
    }

    fn measuring(&self) -> bool {
        self.before.is_some()
    }

    /// The ramp is over.
    fn start_clock(&mut self, now_ns: u64) {
        self.recorder.start_ns = now_ns;
        self.before = Some(observe::at_start(self.devices, now_ns));
        for named in &mut *self.devices {
            named.device.start_measuring();
        }
        for worker in &mut self.workers {
            worker.transactions_before = worker.spec.source.transactions().unwrap_or(0);
        }
        self.round_end_ns = self.phase.stop.steady.map(|steady| now_ns.saturating_add(steady.round.0.max(1)));
        self.set_trigger();
    }

    fn deadline_ns(&self) -> Option<u64> {
        self.phase.stop.time.filter(|_| !self.stopping).map(|time| self.recorder.start_ns.saturating_add(time.0))
    }

    /// What ends at an instant includes the ops done at that instant, so it is due 1 ns later; the stop rule's time is
    /// due at once, so that no op starts then.
    fn set_trigger(&mut self) {
        let round_end_ns = self.round_end_ns.filter(|_| !self.stopping);
        let due = [Some(self.recorder.interval_end_ns()), round_end_ns]
            .into_iter()
            .flatten()
            .map(|end| end.saturating_add(1));
        self.trigger_ns = due.chain(self.deadline_ns()).min().unwrap_or(u64::MAX);
    }

    fn pass_trigger(&mut self) {
        let due_ns = self.trigger_ns;
        if !self.measuring() {
            self.start_clock(due_ns - 1);
            return;
        }
        if self.recorder.interval_end_ns() < due_ns {
            self.end_interval(due_ns - 1);
        }
        if let Some(end_ns) = self.round_end_ns.filter(|&end_ns| end_ns < due_ns && !self.stopping) {
            self.end_round(end_ns);
        }
        if self.deadline_ns().is_some_and(|deadline_ns| deadline_ns <= due_ns) {
            self.stop(due_ns);
        }
        self.set_trigger();
    }

    fn end_round(&mut self, end_ns: u64) {
        let progress = self.recorder.progress();
        let before = std::mem::replace(&mut self.before_round, progress);
        // Bytes where there are any: op counts say little under mixed sizes.
        let amount = match progress.bytes {
            0 => progress.ops - before.ops,
            bytes => bytes - before.bytes,
        };
        let (Some(rounds), Some(rule)) = (&mut self.steady, self.phase.stop.steady) else { return };
        // All rounds are of one length, so that amounts stand for throughputs.
        let state = rounds.end_round(amount as f64);
        self.round_end_ns = Some(end_ns.saturating_add(rule.round.0.max(1)));
        self.steady_met = state == SteadyState::Reached;
        if state != SteadyState::Open {
            self.stop(end_ns);
        }
    }

    fn end_interval(&mut self, end_ns: u64) {
        let interval = self.recorder.end_interval(end_ns);
        if (self.on_interval)(interval).is_break() && !self.stopping {
            self.interrupted = true;
            self.stop(end_ns);
        }
    }

    /// No more ops start; those in flight come home.
    fn stop(&mut self, now_ns: u64) {
        self.stopping = true;
        for worker in &mut self.workers {
            if let Some(op) = worker.early.take() {
                worker.spec.source.failed(&op);
            }
            if worker.ended_ns.is_none() && self.interrupted {
                worker.ended_by = Some("interrupted".to_owned());
            }
            if worker.idle() {
                worker.ended_ns.get_or_insert(now_ns);
            }
        }
    }

    fn wake(&mut self, worker: usize, at_ns: u64) {
        if !std::mem::replace(&mut self.workers[worker].waking, true) {
            self.push(at_ns, worker, What::Wake);
        }
    }

    #[inline]
    fn push(&mut self, at_ns: u64, worker: usize, what: What) {
        self.sequence += 1;
        self.events.push(Reverse(Event { at_ns, sequence: self.sequence, worker: worker as u32, what }));
    }

    /// Starts as many ops of a worker as may start now.
    fn issue(&mut self, index: usize, now_ns: u64) {
        loop {
            let stop = &self.phase.stop;
            if !self.stopping
                && (stop.ops.is_some_and(|ops| self.issued.ops >= ops)
                    || stop.bytes.is_some_and(|bytes| self.issued.bytes >= bytes.0))
            {
                self.stop(now_ns);
            }
            let worker = &mut self.workers[index];
            worker.exhausted |= worker.limit_reached();
            if self.stopping || worker.exhausted {
                self.end_if_idle(index, now_ns);
                return;
            }
            if now_ns < worker.not_before_ns {
                let at_ns = worker.not_before_ns;
                self.wake(index, at_ns);
                return;
            }
            let Some(&slot) = worker.free_slots.last() else { return };
            let next = worker.early.take().or_else(|| worker.spec.source.next());
            let Some(op) = next else {
                worker.exhausted = true;
                continue;
            };
            if op.kind() == OpKind::Delay {
                worker.not_before_ns = now_ns.saturating_add(op.length().max(1));
                continue;
            }
            let pacer = worker.pacer.table();
            let intended_ns = match pacer.due(now_ns, PacedOp::of(&op)) {
                Due::Now { intended } => pacer.is_open().then_some(intended),
                Due::At(at_ns) => {
                    worker.early = Some(op);
                    self.wake(index, at_ns);
                    return;
                }
                // What is in flight asks again as it comes home.
                Due::AfterNext => {
                    worker.early = Some(op);
                    return;
                }
                Due::End(_) => {
                    worker.spec.source.failed(&op);
                    worker.exhausted = true;
                    continue;
                }
            };
            worker.free_slots.pop();
            let (ops, bytes) = (u64::from(op.counts()), op.moves());
            worker.issued.ops += ops;
            worker.issued.bytes += bytes;
            if self.before.is_some() {
                self.issued.ops += ops;
                self.issued.bytes += bytes;
            }
            let file = (worker.spec.file)(&op);
            let served = self.devices[worker.spec.device].device.submit(now_ns, &op, file);
            self.slots[slot as usize] = Some(InFlight { op, served, intended_ns, started_ns: now_ns });
            self.push(served.done_ns, index, What::Done(slot));
        }
    }

    fn end_if_idle(&mut self, index: usize, now_ns: u64) {
        let worker = &mut self.workers[index];
        if !worker.idle() || worker.ended_ns.is_some() {
            return;
        }
        worker.ended_ns = Some(now_ns);
        if !self.stopping && self.phase.stop.when == When::FirstDone {
            self.stop(now_ns);
        }
    }

    #[inline]
    fn complete(&mut self, index: usize, slot: u32, now_ns: u64) {
        let in_flight = self.slots[slot as usize].take().expect("a slot with an event holds an op");
        let InFlight { op, served, intended_ns, started_ns } = in_flight;
        let worker = &mut self.workers[index];
        worker.free_slots.push(slot);
        self.devices[worker.spec.device].device.finish(&served);
        let moved_bytes = served.completion.unwrap_or(0);
        worker.pacer.table().completed(op.kind(), moved_bytes, now_ns - started_ns, now_ns);
        let measuring = self.before.is_some();
        if measuring {
            worker.in_flight_ns += u128::from(now_ns - started_ns.max(self.recorder.start_ns));
        }
        match served.completion {
            Ok(moved_bytes) if measuring => {
                let timing = Timing { intended_ns, started_ns, done_ns: now_ns };
                self.recorder.done(op.kind(), moved_bytes, timing);
                worker.done.ops += 1;
                worker.done.bytes += moved_bytes;
                if matches!(op.kind(), OpKind::Read | OpKind::Write) && moved_bytes < op.length() {
                    self.recorder.short_count += 1;
                }
            }
            Ok(_) => {}
            Err(errno) => {
                // An error counts in the ramp too: it is news about the device, not a measurement.
                self.recorder.failed(&op, errno, &worker.target, worker.faults);
                worker.faults += 1;
                worker.spec.source.failed(&op);
                if worker.spec.on_error == OnError::Stop && !self.stopping {
                    worker.ended_by = Some(format!("error {} of a {}", errno.0, op.kind().name()));
                    self.stop(now_ns);
                }
            }
        }
    }

    /// The end policy, and everything that was recorded. Gives the time at which the next phase may begin.
    pub(super) fn finish(mut self) -> (SimPhaseOutcome, u64) {
        let last_ns = self.workers.iter().filter_map(|worker| worker.ended_ns).max().unwrap_or(self.began_ns);
        if !self.measuring() {
            self.start_clock(last_ns);
        }
        let start_ns = self.recorder.start_ns;
        let work_ns = last_ns.saturating_sub(start_ns);
        let inside_clock = self.phase.end.clock == ClockScope::Inside;
        let mut seen = None;
        if !inside_clock {
            seen = Some(observe::at_end(self.devices, last_ns));
        }
        let flushed_ns = self.flush(last_ns);
        let clock_end_ns = if inside_clock { flushed_ns.unwrap_or(last_ns) } else { last_ns };
        let seen = seen.unwrap_or_else(|| observe::at_end(self.devices, clock_end_ns));
        while self.recorder.interval_end_ns() < clock_end_ns {
            self.end_interval(self.recorder.interval_end_ns());
        }
        if self.recorder.interval_open_at(clock_end_ns) {
            self.end_interval(clock_end_ns);
        }
        let before = self.before.take().expect("the clock was started above");
        let observations = observe::phase(&self.phase.name, self.devices, before, seen);
        let since_start = |at_ns: u64| at_ns.saturating_sub(start_ns);
        let per_work = |ns: u128| if work_ns == 0 { 0.0 } else { ns as f64 / work_ns as f64 };
        let transactions: Option<u64> = self
            .workers
            .iter()
            .filter_map(|worker| Some(worker.spec.source.transactions()? - worker.transactions_before))
            .reduce(|a, b| a + b);
        let mut measurement = PhaseMeasurement {
            searched_ns: 0,
            name: self.phase.name.clone(),
            wall_ns: since_start(clock_end_ns),
            first_done_ns: self.workers.iter().filter_map(|worker| worker.ended_ns).min().map(since_start),
            transactions,
            end: EndMeasurement { flush_ns: flushed_ns.map(|flushed_ns| flushed_ns - last_ns), inside_clock },
            in_flight_mean: per_work(self.workers.iter().map(|worker| worker.in_flight_ns).sum()),
            start_lag: self.recorder.start_lag.take(),
            faults: std::mem::take(&mut self.recorder.faults),
            fault_count: self.recorder.fault_count,
            short_count: self.recorder.short_count,
            clock: "virtual".to_owned(),
            steady: self.phase.stop.steady.map(|_| self.steady_met),
            ..PhaseMeasurement::default()
        };
        measurement.workers = self
            .workers
            .into_iter()
            .map(|worker| WorkerMeasurement {
                name: worker.spec.name,
                backend: "sim".to_owned(),
                count: worker.done.ops,
                bytes: worker.done.bytes,
                wall_ns: since_start(worker.ended_ns.unwrap_or(last_ns)),
                depth_asked: worker.spec.depth,
                in_flight_mean: per_work(worker.in_flight_ns),
                ended_by: worker.ended_by,
                ..WorkerMeasurement::default()
            })
            .collect();
        (measurement.ops, measurement.intervals) = self.recorder.into_parts();
        let end = if self.interrupted { PhaseEnd::Interrupted } else { PhaseEnd::Done };
        let now_ns = flushed_ns.unwrap_or(last_ns).max(clock_end_ns);
        (SimPhaseOutcome { measurement, observations, end }, now_ns)
    }

    /// Flushes what was written; gives the time at which the last device has. `None` where there was nothing to flush.
    fn flush(&mut self, now_ns: u64) -> Option<u64> {
        let kind = match self.phase.end.flush {
            Flush::None | Flush::Close => return None,
            Flush::Fsync => OpKind::Fsync,
            Flush::Fdatasync => OpKind::Fdatasync,
        };
        let op = BlockOp::load(kind, 0, 0, 0);
        let mut done_ns = None;
        for named in self.devices.iter_mut().filter(|named| named.device.was_written_this_phase()) {
            let served = named.device.submit(now_ns, &op, 0);
            named.device.finish(&served);
            if let Err(errno) = served.completion {
                self.recorder.failed(&op, errno, &PathBuf::from(&named.target), 0);
            }
            done_ns = done_ns.max(Some(served.done_ns));
        }
        done_ns
    }
}
