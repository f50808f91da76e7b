//! Pauses between ops.

use super::due::Due;
use crate::clock::{Clock, Ticks};
use crate::virtual_time;
use plumb_workload::pace::{ThinkBasis, ThinkTime};

/// Being busy goes by slices of this, so that a stop is noticed between two.
const SLICE_NS: u64 = 1_000_000;

/// Pauses after every N ops, or so much time. A pause begins when what is in flight has come to its end, unless it
/// is to begin at once.
pub(super) struct Thinking {
    clock: Clock,
    /// A whole pause.
    pause: Ticks,
    /// The first part of it, which is spent busy.
    busy: Ticks,
    /// Cycles of the processor to be busy for before every op.
    busy_cycles: Ticks,
    /// Ops between two pauses; `None` where only time counts.
    every: Option<u64>,
    /// It does not wait for what is in flight.
    at_once: bool,
    counts: ThinkBasis,
    work: Option<Ticks>,
    /// Ops since the start of the last pause.
    ops: u64,
    /// When the last pause ended.
    resumed_at: Ticks,
    state: State,
    /// The next op has its busy cycles still before it.
    cycles_ahead: bool,
    /// A pause that is over, until someone asks.
    paused: Option<Ticks>,
}

#[derive(Clone, Copy)]
enum State {
    Working,
    /// A pause comes when nothing is in flight any more.
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

    /// An op was started.
    pub(super) fn started(&mut self) {
        self.cycles_ahead = self.busy_cycles > 0;
        if self.counts == ThinkBasis::Started {
            self.ops += 1;
        }
    }

    /// An op has come to its end.
    pub(super) fn completed(&mut self) {
        if self.counts == ThinkBasis::Completed {
            self.ops += 1;
        }
    }

    /// The length of the pause that has ended since this was asked last.
    pub(super) fn take_pause(&mut self) -> Option<Ticks> {
        self.paused.take()
    }

    /// What keeps the next op from starting at `now`.
    pub(super) fn due(&mut self, now: Ticks, in_flight: u32) -> Option<Due> {
        if self.cycles_ahead {
            self.cycles_ahead = false;
            self.be_busy_until(self.clock.now() + self.busy_cycles);
            // Asked again, with the time that it is then.
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
