//! Intended starts by kind of op.

use super::kinds::{KIND, KINDS, KindsDue, in_places, place};
use super::request::JobPacerRequest;
use crate::clock::{Clock, Ticks};
use crate::pacer::Due;
use crate::rng::{Purpose, Rng};
use plumb_workload::job::RateProcess;
use plumb_workload::{OpKind, PerSecond};

/// The schedules of all kinds.
pub(super) struct Rates {
    /// `None` where the kind is not limited.
    schedules: [Option<Schedule>; KINDS],
    /// Reads keep to the schedule of the writes.
    reads_as_writes: bool,
    kinds: Option<KindsDue>,
}

/// The intended starts of one kind.
///
/// Even ones are computed from what was started so far and random ones from the exact sum of their gaps, in fractions
/// of a tick; neither from the time at which the loop came round. So nothing drifts, at any rate, and what came late
/// is made up for.
struct Schedule {
    /// Ticks that a byte takes; 0 where bytes are not limited.
    per_byte: f64,
    /// Ticks that an op takes; 0 where ops are not limited.
    per_op: f64,
    spread: Spread,
    /// Counted from here.
    origin: Ticks,
    /// The next intended start, in ticks from the origin.
    next: f64,
}

enum Spread {
    Even { bytes: u64, ops: u64 },
    Random(Rng),
}

impl Schedule {
    fn new(
        clock: &Clock,
        bytes_per_second: Option<PerSecond>,
        ops_per_second: Option<PerSecond>,
        spread: Spread,
    ) -> Option<Schedule> {
        if bytes_per_second.is_none() && ops_per_second.is_none() {
            return None;
        }
        let ticks = |rate: Option<PerSecond>| rate.map_or(0.0, |rate| clock.fractional_ticks(1e9 / rate.0));
        let (per_byte, per_op) = (ticks(bytes_per_second), ticks(ops_per_second));
        Some(Schedule { per_byte, per_op, spread, origin: 0, next: 0.0 })
    }

    /// The next intended start.
    #[inline(always)]
    fn next_at(&self) -> Ticks {
        self.origin + self.next as Ticks
    }

    /// An op of so many bytes starts.
    #[inline]
    fn advance(&mut self, length: u64) {
        match &mut self.spread {
            Spread::Even { bytes, ops } => {
                *bytes += length;
                *ops += 1;
                self.next = (*bytes as f64 * self.per_byte).max(*ops as f64 * self.per_op);
            }
            // The mean gap behind an op is what it may take, so that byte rates hold for ops of any sizes.
            Spread::Random(rng) => {
                self.next += rng.exponential() * (length as f64 * self.per_byte).max(self.per_op);
            }
        }
    }
}

impl Rates {
    pub(super) fn new(request: &JobPacerRequest<'_>) -> Rates {
        let (bytes, ops) = (in_places(&request.pace.bytes_per_second), in_places(&request.pace.ops_per_second));
        let mut rng = request.stream.rng(Purpose::Arrival);
        let schedules = std::array::from_fn(|kind| {
            // Drawn for each kind, so that a limit of one does not change the gaps of another.
            let own = Rng::new(rng.next_u64());
            let spread = match request.pace.process {
                RateProcess::Linear => Spread::Even { bytes: 0, ops: 0 },
                RateProcess::Poisson => Spread::Random(own),
            };
            Schedule::new(&request.clock, bytes[kind], ops[kind], spread)
        });
        Rates { schedules, reads_as_writes: request.pace.reads_count_as_writes, kinds: request.kinds.clone() }
    }

    /// The place of the schedule that an op of this kind keeps to.
    #[inline(always)]
    fn place(&self, kind: OpKind) -> Option<usize> {
        place(if self.reads_as_writes && kind == OpKind::Read { OpKind::Write } else { kind })
    }

    /// The first op of each kind is due at once.
    pub(super) fn start(&mut self, at: Ticks) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.origin = at;
        }
        if let Some(kinds) = &self.kinds {
            kinds.saw(at);
        }
        self.tell();
    }

    /// Tells the source when each kind is due.
    fn tell(&self) {
        let Some(kinds) = &self.kinds else { return };
        for (number, kind) in KIND.into_iter().enumerate() {
            let schedule = self.place(kind).and_then(|place| self.schedules[place].as_ref());
            kinds.set(number, schedule.map_or(0, Schedule::next_at));
        }
    }

    /// It is `now`: the source may ask which kind is due.
    #[inline]
    pub(super) fn saw(&self, now: Ticks) {
        if let Some(kinds) = &self.kinds {
            kinds.saw(now);
        }
    }

    /// When the next op of a kind is due, from the origin, in ticks and their fractions.
    #[cfg(test)]
    pub(super) fn next_of(&self, kind: OpKind) -> f64 {
        self.place(kind).and_then(|place| self.schedules[place].as_ref()).map_or(0.0, |schedule| schedule.next)
    }

    /// Whether an op of this kind may start at `now`; it does not.
    #[inline]
    pub(super) fn is_due(&self, now: Ticks, kind: OpKind) -> bool {
        let schedule = self.place(kind).and_then(|place| self.schedules[place].as_ref());
        schedule.is_none_or(|schedule| now >= schedule.next_at())
    }

    /// Whether an op of this kind may start at `now`; if so, it does.
    #[inline]
    pub(super) fn due(&mut self, now: Ticks, kind: OpKind, length: u64) -> Due {
        self.saw(now);
        let Some(place) = self.place(kind) else { return Due::Now { intended: now } };
        let Some(schedule) = &mut self.schedules[place] else { return Due::Now { intended: now } };
        let intended = schedule.next_at();
        if now < intended {
            return Due::At(intended);
        }
        schedule.advance(length);
        if self.kinds.is_some() {
            self.tell();
        }
        Due::Now { intended }
    }

    /// A pause of this length is over: what should have started during it is not made up for. What was late before it
    /// still is.
    pub(super) fn forgive(&mut self, pause: Ticks, now: Ticks) {
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.origin += now.saturating_sub(schedule.next_at()).min(pause);
        }
        self.tell();
    }
}
