//! Minimum rates: a job that falls below one of them fails.

use super::due::PaceFailure;
use super::kinds::{KIND, KINDS, in_places};
use crate::clock::{Clock, Ticks};
use plumb_workload::pace::MinimumRate;
use plumb_workload::{Nanos, OpKind};

/// Time after the start in which nothing is judged, because a job may need it to get going. fio uses the same time.
const SETTLING_NS: u64 = 2_000_000_000;

/// Checks that rates do not fall below their minimum.
///
/// A window ends with the first op that completes after its time, and its rate uses the time that it really took. So a
/// stall makes one long window with a low rate, and is detected at its end.
pub(super) struct MinimumWatch {
    clock: Clock,
    minimum: [Minimum; KINDS],
    settling: Ticks,
    window: Ticks,
    /// Work done since the window began.
    done: [Done; KINDS],
    window_began: Ticks,
    judge_at: Ticks,
    /// Whether the first window has begun.
    settled: bool,
}

#[derive(Clone, Copy)]
struct Minimum {
    bytes_per_second: Option<f64>,
    ops_per_second: Option<f64>,
}

#[derive(Clone, Copy, Default)]
struct Done {
    bytes: u64,
    ops: u64,
    /// Whether the job has ever done an op of this kind. Without one, the kind does not count as too slow.
    seen: bool,
}

impl MinimumWatch {
    pub(super) fn new(minimum: &MinimumRate, ramp: Nanos, clock: Clock) -> MinimumWatch {
        let (bytes, ops) = (in_places(&minimum.bytes_per_second), in_places(&minimum.ops_per_second));
        MinimumWatch {
            clock,
            minimum: std::array::from_fn(|kind| Minimum {
                bytes_per_second: bytes[kind].map(|rate| rate.0),
                ops_per_second: ops[kind].map(|rate| rate.0),
            }),
            settling: clock.ticks(ramp.0.max(SETTLING_NS)),
            window: clock.ticks(minimum.window.0),
            done: [Done::default(); KINDS],
            window_began: 0,
            judge_at: 0,
            settled: false,
        }
    }

    pub(super) fn start(&mut self, at: Ticks) {
        self.judge_at = at + self.settling;
    }

    /// Counts a completed op. Returns a failure if the op ends a window whose rate was too low.
    #[inline]
    pub(super) fn completed(&mut self, place: usize, moved: u64, now: Ticks) -> Option<PaceFailure> {
        let done = &mut self.done[place];
        done.bytes += moved;
        done.ops += 1;
        done.seen = true;
        if now < self.judge_at { None } else { self.judge(now) }
    }

    #[cold]
    fn judge(&mut self, now: Ticks) -> Option<PaceFailure> {
        let seconds = self.clock.ns_between(self.window_began, now) as f64 / 1e9;
        let failure = if self.settled {
            (0..KINDS).find_map(|kind| self.minimum[kind].judge(KIND[kind], self.done[kind], seconds))
        } else {
            None
        };
        self.settled = true;
        self.window_began = now;
        self.judge_at = now + self.window;
        for done in &mut self.done {
            *done = Done { seen: done.seen, ..Done::default() };
        }
        failure
    }
}

impl Minimum {
    fn judge(self, kind: OpKind, done: Done, seconds: f64) -> Option<PaceFailure> {
        if !done.seen || seconds <= 0.0 {
            return None;
        }
        let below = |minimum: Option<f64>, amount: u64, unit: &str| {
            let (minimum, rate) = (minimum?, amount as f64 / seconds);
            (rate < minimum).then(|| PaceFailure {
                kind,
                errno: libc::EIO,
                message: format!(
                    "{rate:.0} {unit} by {} ops in {seconds:.3} s are below the minimum of {minimum:.0} {unit}",
                    kind.name()
                ),
            })
        };
        below(self.bytes_per_second, done.bytes, "B/s").or_else(|| below(self.ops_per_second, done.ops, "ops/s"))
    }
}
