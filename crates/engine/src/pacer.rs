//! Pacers decide when the next op may start.

use crate::clock::{Clock, Ticks};
use crate::control::WorkerControl;
use crate::op::Operation;
use crate::rng::Rng;
use crate::terms::Ended;
use crate::virtual_time;
use plumb_workload::{Arrival, OpKind, Pace};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// When the next op may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// Now; it was meant to start at this time.
    Now { intended: Ticks },
    /// Not before this time.
    At(Ticks),
    /// Not before another op of the worker has come to its end. Only said while there is one in flight.
    AfterNext,
    /// Never: the worker ends like this when what is in flight has come to its end. Where it failed,
    /// [`Pacer::failure`] says why.
    End(Ended),
}

/// Why a pacer made its worker fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PaceFailure {
    /// Of which kind the ops were.
    pub(crate) kind: OpKind,
    /// The error number that goes with it, errno(3).
    pub(crate) errno: i32,
    /// What was asked for and what was found.
    pub(crate) message: String,
}

/// What a pacer needs to know of an op.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacedOp {
    pub(crate) kind: OpKind,
    /// Whether rates and pauses hold for it.
    pub(crate) is_paced: bool,
    /// Bytes.
    pub(crate) length: u64,
}

impl PacedOp {
    #[inline(always)]
    pub(crate) fn of<O: Operation>(op: &O) -> PacedOp {
        PacedOp { kind: op.kind(), is_paced: op.paced(), length: op.length() }
    }
}

/// Decides when the next op may start.
pub(crate) trait Pacer {
    /// Whether ops have an intended start of their own, so that response time and start lag mean something. Always the
    /// same.
    fn is_open(&self) -> bool;

    /// Whether this op may start at `now`. Answering [`Due::Now`] uses up that start.
    fn due(&mut self, now: Ticks, op: PacedOp) -> Due;

    /// An op has come to its end: called once for each that was due now, also where it failed and moved nothing. Only
    /// pacers that look at results do anything.
    #[inline(always)]
    fn completed(&mut self, _kind: OpKind, _moved: u64, _service_ns: u64, _now: Ticks) {}

    /// Whether what is measured begins anew with the op that is due now. Asked after each [`Due::Now`], and true once.
    #[inline(always)]
    fn begins_anew(&mut self) -> bool {
        false
    }

    /// Why the worker has failed, where the pacer found it so. Asked when its loop is over, however it ended.
    fn failure(&self) -> Option<PaceFailure> {
        None
    }

    /// The clock starts.
    fn start(&mut self, _at: Ticks) {}
}

/// As soon as there is room.
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

/// A pacer, bound: the loops have a type for the closed one.
pub(crate) enum AnyPacer<'a> {
    Closed(Closed),
    Other(Box<dyn Pacer + 'a>),
}

impl<'a> AnyPacer<'a> {
    /// The pacer that a group's pace asks for, on real time or on virtual time. `sharing` says with whom a rate is shared
    /// or not, and random gaps are drawn from `arrivals`.
    pub(crate) fn of(
        pace: Pace,
        clock: &Clock,
        sharing: impl FnOnce(bool) -> Sharing<'a>,
        arrivals: Rng,
    ) -> AnyPacer<'a> {
        match pace {
            Pace::Closed => AnyPacer::Closed(Closed),
            Pace::Think { time, every } => AnyPacer::Other(Box::new(Think::new(clock, time.0, every.max(1)))),
            Pace::Open { rate, arrival, shared } => {
                AnyPacer::Other(Box::new(Open::new(clock, rate.0, arrival, &sharing(shared), arrivals)))
            }
        }
    }

    /// Through a table of functions.
    pub(crate) fn table(&mut self) -> &mut (dyn Pacer + 'a) {
        match self {
            AnyPacer::Closed(pacer) => pacer,
            AnyPacer::Other(pacer) => &mut **pacer,
        }
    }
}

/// A pause after every so many ops.
pub(crate) struct Think {
    pause: Ticks,
    every: u64,
    left: u64,
    resume_at: Ticks,
}

impl Think {
    pub(crate) fn new(clock: &Clock, pause_ns: u64, every: u64) -> Think {
        Think { pause: clock.ticks(pause_ns), every, left: every, resume_at: 0 }
    }
}

impl Pacer for Think {
    #[inline(always)]
    fn is_open(&self) -> bool {
        false
    }

    #[inline]
    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        if self.left == 0 {
            self.left = self.every;
            self.resume_at = now + self.pause;
        }
        if now < self.resume_at {
            return Due::At(self.resume_at);
        }
        self.left -= 1;
        Due::Now { intended: now }
    }
}

/// Intended starts at a fixed rate or as a Poisson process, kept whether or not earlier ops are late.
///
/// Starts are computed from the number of the op (fixed) or from the exact sum of the gaps (Poisson), never from the
/// time at which the loop came round, so the schedule does not drift at any rate.
pub(crate) struct Open<'a> {
    gap: f64,
    arrivals: Arrivals<'a>,
    started_at: Ticks,
    /// The next intended start, in ticks from `started_at`.
    next: f64,
}

enum Arrivals<'a> {
    Fixed {
        number: u64,
    },
    /// Workers take the starts of one schedule in turn.
    SharedFixed {
        numbers: &'a AtomicU64,
    },
    Poisson(Rng),
}

/// How the workers of a group share a rate.
pub(crate) enum Sharing<'a> {
    /// Each has the rate for itself.
    Own,
    /// So many workers share one rate.
    Group {
        /// How many.
        workers: u32,
        /// Number of the next start of the shared schedule.
        numbers: &'a AtomicU64,
    },
}

impl<'a> Open<'a> {
    pub(crate) fn new(clock: &Clock, per_second: f64, arrival: Arrival, sharing: &Sharing<'a>, rng: Rng) -> Open<'a> {
        let gap = clock.fractional_ticks(1e9 / per_second);
        let (gap, arrivals) = match (arrival, sharing) {
            (Arrival::Fixed, Sharing::Own) => (gap, Arrivals::Fixed { number: 0 }),
            (Arrival::Fixed, Sharing::Group { numbers, .. }) => (gap, Arrivals::SharedFixed { numbers }),
            (Arrival::Poisson, Sharing::Own) => (gap, Arrivals::Poisson(rng)),
            // n independent Poisson processes of a rate/n each are one of that rate.
            (Arrival::Poisson, Sharing::Group { workers, .. }) => (gap * f64::from(*workers), Arrivals::Poisson(rng)),
        };
        Open { gap, arrivals, started_at: 0, next: 0.0 }
    }

    #[inline]
    fn advance(&mut self) {
        match &mut self.arrivals {
            Arrivals::Fixed { number } => {
                *number += 1;
                self.next = *number as f64 * self.gap;
            }
            Arrivals::SharedFixed { numbers } => self.next = numbers.fetch_add(1, Relaxed) as f64 * self.gap,
            Arrivals::Poisson(rng) => self.next += rng.exponential() * self.gap,
        }
    }
}

impl Pacer for Open<'_> {
    fn is_open(&self) -> bool {
        true
    }

    fn start(&mut self, at: Ticks) {
        self.started_at = at;
        match &self.arrivals {
            Arrivals::Fixed { .. } => self.next = 0.0,
            Arrivals::SharedFixed { .. } | Arrivals::Poisson(_) => self.advance(),
        }
    }

    #[inline]
    fn due(&mut self, now: Ticks, _op: PacedOp) -> Due {
        let intended = self.started_at + self.next as u64;
        if now < intended {
            return Due::At(intended);
        }
        self.advance();
        Due::Now { intended }
    }
}

/// Below this, a wait spins: a sleep would oversleep it.
const SPIN_NS: u64 = 80_000;

/// No sleep is longer than this, so that a stop is noticed.
const LONGEST_SLEEP_NS: u64 = 10_000_000;

/// What a wait ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    /// The time has come.
    Until(Ticks),
    /// The phase stops.
    Stopped,
}

/// Waits until `at`: sleeps while it is far, spins when it is near.
pub(crate) fn wait_until(clock: &Clock, control: WorkerControl<'_>, at: Ticks) -> Waited {
    loop {
        let now = clock.now();
        // First, so that nothing starts at the instant at which the phase ends.
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

#[cfg(test)]
mod tests {
    use super::*;
    const ANY: PacedOp = PacedOp { kind: OpKind::Read, is_paced: true, length: 4096 };

    fn starts(pacer: &mut impl Pacer, count: usize) -> Vec<Ticks> {
        pacer.start(0);
        (0..count)
            .map(|_| match pacer.due(Ticks::MAX / 2, ANY) {
                Due::Now { intended } => intended,
                other => panic!("not due at the end of time but {other:?}"),
            })
            .collect()
    }

    #[test]
    fn a_fixed_rate_does_not_drift() {
        let clock = Clock::monotonic();
        let mut pacer = Open::new(&clock, 300_000.0, Arrival::Fixed, &Sharing::Own, Rng::new(1));
        let starts = starts(&mut pacer, 3_000_001);
        assert_eq!(starts[0], 0);
        assert_eq!(starts[3_000_000], 10_000_000_000, "3,000,000 gaps at 300,000/s are 10 s to the nanosecond");
    }

    #[test]
    fn poisson_gaps_are_exponential_with_the_asked_mean() {
        let clock = Clock::monotonic();
        let mut pacer = Open::new(&clock, 300_000.0, Arrival::Poisson, &Sharing::Own, Rng::new(7));
        let starts = starts(&mut pacer, 600_000);
        let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let cv = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt() / mean;
        assert!((mean * 300_000.0 / 1e9 - 1.0).abs() < 0.005, "mean gap {mean} ns");
        assert!((cv - 1.0).abs() < 0.01, "an exponential has a coefficient of variation of 1, not {cv}");
    }

    #[test]
    fn workers_that_share_a_fixed_rate_take_its_starts_in_turn() {
        let clock = Clock::monotonic();
        let numbers = AtomicU64::new(0);
        let sharing = Sharing::Group { workers: 2, numbers: &numbers };
        let mut first = Open::new(&clock, 1e6, Arrival::Fixed, &sharing, Rng::new(1));
        let mut second = Open::new(&clock, 1e6, Arrival::Fixed, &sharing, Rng::new(2));
        first.start(0);
        second.start(0);
        let mut all = Vec::new();
        for _ in 0..50 {
            for pacer in [&mut first, &mut second] {
                if let Due::Now { intended } = pacer.due(Ticks::MAX / 2, ANY) {
                    all.push(intended);
                }
            }
        }
        assert_eq!(all, (0..100).map(|number| number * 1000).collect::<Vec<u64>>());
    }

    #[test]
    fn think_time_comes_after_every_so_many_ops() {
        let clock = Clock::monotonic();
        let mut pacer = Think::new(&clock, 100, 2);
        assert_eq!(pacer.due(10, ANY), Due::Now { intended: 10 });
        assert_eq!(pacer.due(20, ANY), Due::Now { intended: 20 });
        assert_eq!(pacer.due(30, ANY), Due::At(130));
        assert_eq!(pacer.due(129, ANY), Due::At(130));
        assert_eq!(pacer.due(131, ANY), Due::Now { intended: 131 });
    }
}
