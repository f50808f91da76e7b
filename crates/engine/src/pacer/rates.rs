//! Intended starts of all ops, or by kind of op.

use super::due::{Due, PacedOp};
use super::kinds::{KIND, KINDS, KindsDue, in_places, place};
use super::request::{PacerRequest, Sharing};
use crate::clock::{Clock, Ticks};
use crate::rng::Rng;
use plumb_workload::{Arrival, OpKind, OpenLoad, PerSecond};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The schedules of a worker.
pub(super) struct Rates<'a> {
    /// Schedule of all ops of an open load.
    all: Option<Schedule<'a>>,
    /// Schedules of single kinds; `None` if the kind is not limited.
    schedules: [Option<Schedule<'a>>; KINDS],
    /// Whether reads share the schedule of the writes.
    reads_as_writes: bool,
    kinds: Option<KindsDue>,
}

/// A schedule of intended starts.
///
/// Even starts are computed from the number of earlier starts, and random ones from the exact sum of
/// their gaps, in fractions of a tick. Neither depends on when the loop asks. So nothing drifts at any
/// rate, and late starts are caught up.
struct Schedule<'a> {
    /// Ticks per byte; 0 if bytes are not limited.
    per_byte: f64,
    /// Ticks per op; 0 if ops are not limited.
    per_op: f64,
    spread: Spread<'a>,
    /// Time 0 of the schedule.
    origin: Ticks,
    /// The next intended start, in ticks from the origin.
    next: f64,
}

enum Spread<'a> {
    Even {
        bytes: u64,
        ops: u64,
    },
    /// Workers take turns with the starts of one schedule.
    Shared(&'a AtomicU64),
    Random(Rng),
}

impl<'a> Schedule<'a> {
    fn new(
        clock: &Clock,
        bytes_per_second: Option<PerSecond>,
        ops_per_second: Option<PerSecond>,
        spread: Spread<'a>,
    ) -> Option<Schedule<'a>> {
        if bytes_per_second.is_none() && ops_per_second.is_none() {
            return None;
        }
        let ticks = |rate: Option<PerSecond>| rate.map_or(0.0, |rate| clock.fractional_ticks(1e9 / rate.0));
        let (per_byte, per_op) = (ticks(bytes_per_second), ticks(ops_per_second));
        Some(Schedule { per_byte, per_op, spread, origin: 0, next: 0.0 })
    }

    /// Creates the single schedule of an open load.
    fn open(clock: &Clock, load: OpenLoad, sharing: Sharing<'a>, rng: Rng) -> Schedule<'a> {
        let per_op = clock.fractional_ticks(1e9 / load.rate.0);
        let (per_op, spread) = match (load.arrival, sharing) {
            (Arrival::Fixed, Sharing::Own) => (per_op, Spread::Even { bytes: 0, ops: 0 }),
            (Arrival::Fixed, Sharing::Group { numbers, .. }) => (per_op, Spread::Shared(numbers)),
            (Arrival::Poisson, Sharing::Own) => (per_op, Spread::Random(rng)),
            // n independent Poisson processes of a rate/n each are one of that rate.
            (Arrival::Poisson, Sharing::Group { workers, .. }) => (per_op * f64::from(workers), Spread::Random(rng)),
        };
        Schedule { per_byte: 0.0, per_op, spread, origin: 0, next: 0.0 }
    }

    /// Returns whether an op may start at `now`; if so, it uses up that start.
    #[inline]
    fn due(&mut self, now: Ticks, length: u64) -> Due {
        let intended = self.next_at();
        if now < intended {
            return Due::At(intended);
        }
        self.advance(length);
        Due::Now { intended }
    }

    /// Returns the next intended start.
    #[inline(always)]
    fn next_at(&self) -> Ticks {
        self.origin + self.next as Ticks
    }

    /// Moves the schedule past an op of this many bytes.
    #[inline]
    fn advance(&mut self, length: u64) {
        match &mut self.spread {
            Spread::Even { bytes, ops } => {
                *bytes += length;
                *ops += 1;
                self.next = (*bytes as f64 * self.per_byte).max(*ops as f64 * self.per_op);
            }
            Spread::Shared(numbers) => self.next = numbers.fetch_add(1, Relaxed) as f64 * self.per_op,
            // The mean gap after an op is the time that it may take, so that byte rates hold for ops of any size.
            Spread::Random(rng) => {
                self.next += rng.exponential() * (length as f64 * self.per_byte).max(self.per_op);
            }
        }
    }
}

impl<'a> Rates<'a> {
    pub(super) fn new(request: &PacerRequest<'a>) -> Rates<'a> {
        let (pace, clock) = (&request.pace, &request.clock);
        let mut rng = request.arrivals.clone();
        let all = pace.open.map(|load| Schedule::open(clock, load, request.sharing, rng.clone()));
        let (bytes, ops) = (in_places(&pace.bytes_per_second), in_places(&pace.ops_per_second));
        let schedules = std::array::from_fn(|kind| {
            // Draw for each kind, so that a limit of one does not change the gaps of another.
            let own = Rng::new(rng.next_u64());
            let spread = match pace.arrival {
                Arrival::Fixed => Spread::Even { bytes: 0, ops: 0 },
                Arrival::Poisson => Spread::Random(own),
            };
            Schedule::new(clock, bytes[kind], ops[kind], spread)
        });
        Rates { all, schedules, reads_as_writes: pace.reads_count_as_writes, kinds: request.kinds.clone() }
    }

    /// Returns the index of the schedule for an op of this kind.
    #[inline(always)]
    fn place(&self, kind: OpKind) -> Option<usize> {
        place(if self.reads_as_writes && kind == OpKind::Read { OpKind::Write } else { kind })
    }

    /// Returns the schedule for an op of this kind.
    #[inline(always)]
    fn schedule(&self, kind: OpKind) -> Option<&Schedule<'a>> {
        self.all.as_ref().or_else(|| self.schedules[self.place(kind)?].as_ref())
    }

    /// Starts the schedules. The first op of each kind is due immediately; an open load behaves as
    /// if it had always been running.
    pub(super) fn start(&mut self, at: Ticks) {
        if let Some(all) = &mut self.all {
            all.origin = at;
            if !matches!(all.spread, Spread::Even { .. }) {
                all.advance(0);
            }
        }
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.origin = at;
        }
        if let Some(kinds) = &self.kinds {
            kinds.set_now(at);
        }
        self.publish_due_times();
    }

    /// Publishes to the source when each kind is due.
    fn publish_due_times(&self) {
        let Some(kinds) = &self.kinds else { return };
        for (number, kind) in KIND.into_iter().enumerate() {
            kinds.set(number, self.schedule(kind).map_or(0, Schedule::next_at));
        }
    }

    /// Sets the current time, so that the source can ask which kind is due.
    #[inline]
    pub(super) fn set_now(&self, now: Ticks) {
        if let Some(kinds) = &self.kinds {
            kinds.set_now(now);
        }
    }

    /// Returns when the next op of a kind is due, in fractional ticks from the origin.
    #[cfg(test)]
    pub(super) fn next_of(&self, kind: OpKind) -> f64 {
        self.schedule(kind).map_or(0.0, |schedule| schedule.next)
    }

    /// Returns whether an op may start at `now`, without using up that start.
    #[inline]
    pub(super) fn is_due(&self, now: Ticks, op: PacedOp) -> bool {
        self.schedule(op.kind).is_none_or(|schedule| now >= schedule.next_at())
    }

    /// Returns whether an op may start at `now`; if so, it uses up that start.
    #[inline]
    pub(super) fn due(&mut self, now: Ticks, op: PacedOp) -> Due {
        self.set_now(now);
        if !op.is_paced {
            return Due::Now { intended: now };
        }
        if let Some(all) = &mut self.all {
            return all.due(now, op.length);
        }
        let Some(schedule) = self.place(op.kind).and_then(|place| self.schedules[place].as_mut()) else {
            return Due::Now { intended: now };
        };
        let due = schedule.due(now, op.length);
        if self.kinds.is_some() && matches!(due, Due::Now { .. }) {
            self.publish_due_times();
        }
        due
    }

    /// Shifts the schedules after a pause, so that starts missed during it are not caught up. Earlier delays still are.
    pub(super) fn skip_missed_starts(&mut self, pause: Ticks, now: Ticks) {
        for schedule in self.all.iter_mut().chain(self.schedules.iter_mut().flatten()) {
            schedule.origin += now.saturating_sub(schedule.next_at()).min(pause);
        }
        self.publish_due_times();
    }
}
