//! One lane of a replay: the source of a worker's calls, and the pacer that decides when each may begin.

use super::call::DealtCall;
use super::deal::{Batch, Deal};
use super::order::WaitFor;
use super::tally::LaneTally;
use crate::clock::{Clock, Ticks};
use crate::pacer::{Due, PacedOp, Pacer};
use crate::source::Source;
use plumb_workload::{OpKind, Timing};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The current call, shared by the source and the pacer of a lane.
#[derive(Default)]
pub(super) struct CurrentCall {
    call: Cell<Option<DealtCall>>,
    waits: RefCell<Vec<WaitFor>>,
}

/// The calls of a lane.
pub(super) struct LaneSource {
    deal: Arc<Deal>,
    lane: u32,
    batch: Batch,
    current: Rc<CurrentCall>,
    has_ended: bool,
}

impl LaneSource {
    pub(super) fn new(deal: &Arc<Deal>, lane: u32) -> LaneSource {
        deal.progress.register(lane);
        LaneSource { deal: Arc::clone(deal), lane, batch: Batch::default(), current: Rc::default(), has_ended: false }
    }

    pub(super) fn current(&self) -> Rc<CurrentCall> {
        Rc::clone(&self.current)
    }
}

impl Source for LaneSource {
    type Op = DealtCall;

    fn next(&mut self) -> Option<DealtCall> {
        if self.batch.calls.is_empty() {
            match self.deal.take(self.lane) {
                Some(batch) => self.batch = batch,
                None => {
                    self.has_ended = true;
                    return None;
                }
            }
        }
        let call = self.batch.calls.pop_front()?;
        let mut waits = self.current.waits.borrow_mut();
        waits.clear();
        waits.extend(self.batch.waits.drain(..call.waits as usize));
        self.current.call.set(Some(call));
        Some(call)
    }

    fn waits_for_all(&self) -> bool {
        false
    }
}

impl Drop for LaneSource {
    /// Abandons the replay if the lane ends early, so that nothing waits for calls that will never be made.
    fn drop(&mut self) {
        if !self.has_ended {
            self.deal.progress.abandon();
        }
    }
}

/// Poll interval if no event announces the right time, ns.
const POLL_NS: u64 = 5_000;

/// Decides when the calls of a lane may begin.
pub(super) struct LanePacer {
    deal: Arc<Deal>,
    lane: u32,
    clock: Clock,
    timing: Timing,
    current: Rc<CurrentCall>,
    ticks_per_ns: f64,
    started_at: Ticks,
    /// End of the last dependency of the current call, and of this lane's last call.
    dependencies_end: Ticks,
    lane_end: Ticks,
    /// Whether the current call had to wait for others when it was due.
    was_held: bool,
    tally: LaneTally,
}

impl LanePacer {
    pub(super) fn new(
        deal: &Arc<Deal>,
        source: &LaneSource,
        timing: Timing,
        clock: Clock,
        tally: LaneTally,
    ) -> LanePacer {
        let speed = match timing {
            Timing::Recorded { speed_percent } => speed_percent / 100.0,
            _ => 1.0,
        };
        LanePacer {
            deal: Arc::clone(deal),
            lane: source.lane,
            clock,
            timing,
            current: source.current(),
            ticks_per_ns: clock.fractional_ticks(1.0) / speed.max(1e-9),
            started_at: 0,
            dependencies_end: 0,
            lane_end: 0,
            was_held: false,
            tally,
        }
    }

    fn ticks(&self, ns: u64) -> Ticks {
        (ns as f64 * self.ticks_per_ns) as Ticks
    }
}

impl Pacer for LanePacer {
    fn is_open(&self) -> bool {
        matches!(self.timing, Timing::Recorded { .. } | Timing::ThinkTimes)
    }

    fn start(&mut self, at: Ticks) {
        (self.started_at, self.dependencies_end, self.lane_end) = (at, at, at);
    }

    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        let Some(dealt) = self.current.call.get() else { return Due::Now { intended: now } };
        if let Timing::Recorded { .. } = self.timing {
            let intended = self.started_at + self.ticks(dealt.call.at_ns);
            if now < intended {
                return Due::At(intended);
            }
        }
        let mut waits = self.current.waits.borrow_mut();
        while let Some(&wait) = waits.last() {
            if !self.deal.progress.is_met(wait) {
                self.was_held = true;
                drop(waits);
                self.deal.progress.wait_for(wait, self.lane);
                // The loop checks for shutdown and asks again.
                return Due::At(now);
            }
            if !wait.is_beginning() {
                self.dependencies_end =
                    self.dependencies_end.max(self.deal.progress.ended_at(wait.number()).unwrap_or(0));
            }
            waits.pop();
        }
        drop(waits);
        let intended = match self.timing {
            Timing::Recorded { .. } => self.started_at + self.ticks(dealt.call.at_ns),
            Timing::AsFastAsPossible => now,
            Timing::ThinkTimes => {
                let intended = self.dependencies_end.max(self.lane_end) + self.ticks(dealt.think_ns);
                if now < intended {
                    return Due::At(intended);
                }
                intended
            }
            Timing::InFlight => {
                if !self.deal.progress.try_begin(dealt.in_flight) {
                    return Due::At(now + self.clock.ticks(POLL_NS).max(1));
                }
                now
            }
        };
        let overtaken = self.deal.progress.begin(dealt.number);
        let possible = intended.max(self.lane_end).max(self.dependencies_end);
        let own_lag_ns = self.clock.ns_between(possible.min(now), now);
        self.tally.begins(
            dealt.call.at_ns,
            self.clock.ns_between(self.started_at, now),
            own_lag_ns,
            overtaken,
            self.was_held,
        );
        self.was_held = false;
        Due::Now { intended }
    }

    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, now: Ticks) {
        let Some(dealt) = self.current.call.get() else { return };
        if self.timing == Timing::InFlight {
            self.deal.progress.end_one();
        }
        self.deal.progress.end(dealt.number, now);
        (self.dependencies_end, self.lane_end) = (self.started_at, now);
    }
}
