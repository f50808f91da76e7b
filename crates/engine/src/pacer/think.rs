//! Pauses between ops.

use super::due::Due;
use crate::clock::{Clock, Ticks};
use crate::virtual_time;
use plumb_workload::pace::{ThinkBasis, ThinkTime};

/// Busy waiting is split into slices of this length, so that a stop is noticed between two of them.
const SLICE_NS: u64 = 1_000_000;

/// Pauses after every N ops, or after a time. A pause begins once no op is in
/// flight, unless it should begin immediately.
pub(super) struct Thinking {
    clock: Clock,
    /// Length of a pause.
    pause: Ticks,
    /// Length of the first part of a pause, spent busy.
    busy: Ticks,
    /// Processor cycles of busy work before every op.
    busy_cycles: Ticks,
    /// Ops between two pauses; `None` if only time counts.
    every: Option<u64>,
    /// Whether a pause begins without waiting for ops in flight.
    at_once: bool,
    counts: ThinkBasis,
    work: Option<Ticks>,
    /// Ops since the start of the last pause.
    ops: u64,
    /// End of the last pause.
    resumed_at: Ticks,
    state: State,
    /// Whether the busy cycles before the next op are still to be done.
    cycles_ahead: bool,
    /// Length of a finished pause that was not collected yet.
    paused: Option<Ticks>,
}

#[derive(Clone, Copy)]
enum State {
    Working,
    /// A pause begins when no op is in flight any more.
    Draining,
    Pausing {
        since: Ticks,
    },
}

impl Thinking {
    pub(super) fn new(think: &ThinkTime, clock: Clock) -> Thinking {
        let busy = clock.ticks(think.busy.0);
        Thinking {
            clock,
            pause: clock.ticks(think.pause.0).max(busy),
            busy,
            busy_cycles: Ticks::from(think.busy_cycles),
            every: (think.every > 0).then_some(think.every),
            at_once: think.at_once,
            counts: think.counts,
            work: think.work.map(|work| clock.ticks(work.0)),
            ops: 0,
            resumed_at: 0,
            state: State::Working,
            cycles_ahead: false,
            paused: None,
        }
    }

    pub(super) fn start(&mut self, at: Ticks) {
        self.resumed_at = at;
    }

    /// Counts a started op.
    pub(super) fn started(&mut self) {
        self.cycles_ahead = self.busy_cycles > 0;
        if self.counts == ThinkBasis::Started {
            self.ops += 1;
        }
    }

    /// Counts a completed op.
    pub(super) fn completed(&mut self) {
        if self.counts == ThinkBasis::Completed {
            self.ops += 1;
        }
    }

    /// Takes the length of a pause that has ended since the previous call.
    pub(super) fn take_pause(&mut self) -> Option<Ticks> {
        self.paused.take()
    }

    /// Returns the reason why the next op may not start at `now`; `None` if it may.
    pub(super) fn due(&mut self, now: Ticks, in_flight: u32) -> Option<Due> {
        if self.cycles_ahead {
            self.cycles_ahead = false;
            self.be_busy_until(self.clock.now() + self.busy_cycles);
            // Ask again, with the time of then.
            return Some(Due::At(now));
        }
        if let State::Working = self.state {
            let enough = self.every.is_some_and(|every| self.ops >= every);
            let worked = self.work.is_some_and(|work| now.saturating_sub(self.resumed_at) >= work);
            if self.pause == 0 || !(enough || worked) {
                return None;
            }
            self.ops = 0;
            self.state = State::Draining;
        }
        if let State::Draining = self.state {
            if in_flight > 0 && !self.at_once {
                return Some(Due::AfterNext);
            }
            self.state = State::Pausing { since: now };
        }
        let State::Pausing { since } = self.state else { return None };
        if now < since + self.busy {
            self.be_busy_until((since + self.busy).min(now + self.clock.ticks(SLICE_NS)));
            return Some(Due::At(now));
        }
        if now < since + self.pause {
            return Some(Due::At(since + self.pause));
        }
        self.state = State::Working;
        self.resumed_at = now;
        self.paused = Some(now - since);
        None
    }

    fn be_busy_until(&self, at: Ticks) {
        if self.clock.is_virtual() {
            return virtual_time::sleep_until(at);
        }
        while self.clock.now() < at {
            std::hint::spin_loop();
        }
    }
}
