//! Pacers decide when the next op may start: rates of all ops or of each kind, pauses, goals of latency, flows.
//!
//! [`AnyPacer::new`] chooses a worker's pacer once: [`Closed`] without any settings, [`Rated`] for rates
//! alone, and [`FullPacer`] for everything else.

mod consumer;
mod due;
mod flow;
mod full;
mod kinds;
mod minimum;
mod rates;
mod request;
mod search;
pub(crate) mod steady;
#[cfg(test)]
mod tests;
mod think;

pub(crate) use due::{Due, PaceFailure, PacedOp, Pacer};
pub(crate) use flow::{FlowEntry, flow_home};
pub(crate) use kinds::KindsDue;
pub(crate) use request::{PacerRequest, Pacing, Sharing};
pub(crate) use search::SearchWords;

use crate::clock::{Clock, Ticks};
use crate::control::WorkerControl;
use crate::virtual_time;
use full::{FullPacer, Rated};
use plumb_workload::blocks::ByKind;
use rates::Rates;
use std::time::Duration;

/// Starts ops as soon as there is room.
pub(crate) struct Closed;

impl Pacer for Closed {
    #[inline(always)]
    fn is_open(&self) -> bool {
        false
    }

    #[inline(always)]
    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        Due::Now { intended: now }
    }
}

/// The pacer of a worker. The loops have a specialized type for the closed one.
pub(crate) enum AnyPacer<'a> {
    Closed(Closed),
    Other(Box<dyn Pacer + 'a>),
}

impl<'a> AnyPacer<'a> {
    /// Creates the pacer for a pace.
    pub(crate) fn new(request: &PacerRequest<'a>) -> AnyPacer<'a> {
        let pace = &request.pace;
        let rated = pace.open.is_some() || pace.has_rates();
        let watched = pace.minimum.is_some()
            || pace.think.is_some()
            || pace.longest_op != ByKind::all(None)
            || pace.latency_goal.is_some()
            || pace.flow.is_some()
            || pace.consumer.is_some();
        match (rated, watched) {
            (false, false) => AnyPacer::Closed(Closed),
            (true, false) => {
                AnyPacer::Other(Box::new(Rated { rates: Rates::new(request), paces_all: request.paces_all }))
            }
            (rated, true) => AnyPacer::Other(Box::new(FullPacer::new(request, rated))),
        }
    }

    /// Returns the pacer as a trait object.
    pub(crate) fn table(&mut self) -> &mut (dyn Pacer + 'a) {
        match self {
            AnyPacer::Closed(pacer) => pacer,
            AnyPacer::Other(pacer) => &mut **pacer,
        }
    }
}

/// Waits shorter than this spin, because a sleep would take too long.
const SPIN_NS: u64 = 80_000;

/// Maximum length of a sleep, so that a stop is noticed.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

/// Reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The time was reached; holds the current time.
    Until(Ticks),
    /// A stop was requested, or the phase has ended.
    Stopped,
}

/// Waits for `ns` like [`wait_until`], but ignores stop requests.
pub(crate) fn wait_out(clock: &Clock, ns: u64) {
    if clock.is_virtual() {
        return clock.sleep(ns);
    }
    let until = clock.now().saturating_add(clock.ticks(ns));
    if ns > SPIN_NS {
        clock.sleep(ns - SPIN_NS);
    }
    while clock.now() < until {
        std::hint::spin_loop();
    }
}

/// Waits until `at`: sleeps while it is far away, spins when it is near.
pub(crate) fn wait_until(clock: &Clock, control: WorkerControl<'_>, at: Ticks) -> Waited {
    loop {
        let now = clock.now();
        // Check this first, so that nothing starts at the instant at which the phase ends.
        if control.stops_at(now) {
            return Waited::Stopped;
        }
        if now >= at {
            return Waited::Until(now);
        }
        let left_ns = clock.ns_between(now, at);
        if clock.is_virtual() {
            virtual_time::wait_until(at.min(control.own_deadline()));
        } else if left_ns > SPIN_NS {
            std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS).min(LONGEST_SLEEP_NS)));
        } else {
            std::hint::spin_loop();
        }
    }
}
