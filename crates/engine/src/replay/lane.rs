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
pub(super) struct AtHand {
    call: Cell<Option<DealtCall>>,
    waits: RefCell<Vec<WaitFor>>,
}

/// The calls of a lane.
pub(super) struct LaneSource {
    deal: Arc<Deal>,
    lane: u32,
    batch: Batch,
    at_hand: Rc<AtHand>,
    has_ended: bool,
}

impl LaneSource {
    pub(super) fn new(deal: &Arc<Deal>, lane: u32) -> LaneSource {
        deal.progress.runs(lane);
        LaneSource { deal: Arc::clone(deal), lane, batch: Batch::default(), at_hand: Rc::default(), has_ended: false }
    }

    pub(super) fn at_hand(&self) -> Rc<AtHand> {
        Rc::clone(&self.at_hand)
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
        let mut waits = self.at_hand.waits.borrow_mut();
        waits.clear();
        waits.extend(self.batch.waits.drain(..call.waits as usize));
        self.at_hand.call.set(Some(call));
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
const LOOK_AGAIN_NS: u64 = 5_000;

/// Decides when the calls of a lane may begin.
pub(super) struct LanePacer {
    deal: Arc<Deal>,
    lane: u32,
    clock: Clock,
    timing: Timing,
    at_hand: Rc<AtHand>,
    ticks_per_ns: f64,
    started_at: Ticks,
    /// End of the last dependency of the current call, and of this lane's last call.
    behind: Ticks,
    lane_behind: Ticks,
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
            at_hand: source.at_hand(),
            ticks_per_ns: clock.fractional_ticks(1.0) / speed.max(1e-9),
            started_at: 0,
            behind: 0,
            lane_behind: 0,
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
        (self.started_at, self.behind, self.lane_behind) = (at, at, at);
    }

    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        let Some(dealt) = self.at_hand.call.get() else { return Due::Now { intended: now } };
        if let Timing::Recorded { .. } = self.timing {
            let intended = self.started_at + self.ticks(dealt.call.at_ns);
            if now < intended {
                return Due::At(intended);
            }
        }
        let mut waits = self.at_hand.waits.borrow_mut();
        while let Some(&wait) = waits.last() {
            if !self.deal.progress.has_come(wait) {
                self.was_held = true;
                drop(waits);
                self.deal.progress.wait_for(wait, self.lane);
                // The loop checks for shutdown and asks again.
                return Due::At(now);
            }
            if !wait.is_beginning() {
                self.behind = self.behind.max(self.deal.progress.ended_at(wait.number()).unwrap_or(0));
            }
            waits.pop();
        }
        drop(waits);
        let intended = match self.timing {
            Timing::Recorded { .. } => self.started_at + self.ticks(dealt.call.at_ns),
            Timing::AsFastAsPossible => now,
            Timing::ThinkTimes => {
                let intended = self.behind.max(self.lane_behind) + self.ticks(dealt.think_ns);
                if now < intended {
                    return Due::At(intended);
                }
                intended
            }
            Timing::InFlight => {
                if !self.deal.progress.takes_off(dealt.in_flight) {
                    return Due::At(now + self.clock.ticks(LOOK_AGAIN_NS).max(1));
                }
                now
            }
        };
        let overtaken = self.deal.progress.begin(dealt.number);
        let possible = intended.max(self.lane_behind).max(self.behind);
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
        let Some(dealt) = self.at_hand.call.get() else { return };
        if self.timing == Timing::InFlight {
            self.deal.progress.lands();
        }
        self.deal.progress.end(dealt.number, now);
        (self.behind, self.lane_behind) = (self.started_at, now);
    }
}
