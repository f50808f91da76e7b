//! Timing of ops that take hardly longer than reading the clock.
//!
//! The classic tools read the clock twice per pass. Copying a record from the page cache takes half a microsecond;
//! reading the clock for each op would add a tenth of the tool's own time outside the kernel. So only one op in
//! [`PERIOD`] is timed by itself. The ops after it count with its time, and their sum is exact. A stall among them is
//! still visible: it makes the group longer than the earlier ops predict, and the excess is attributed to one op.

use crate::clock::{Clock, Ticks};
use crate::recorder::Recorder;
use plumb_workload::OpKind;

/// One op in this many is timed by itself. Odd, so that the timed op cycles through the positions within a
/// page, a folio or an extent.
const PERIOD: u32 = 15;
/// Ops that usually take no more than this are short.
const SHORT_NS: u64 = 2_000;
/// Time beyond the usual that counts as a stall, for one op. A group gets a share of its usual time in addition.
const STALL_NS: u64 = 4_000;
/// Fraction of a group's usual time by which groups vary without a stall, as a divisor.
const SPREAD: u64 = 4;
/// Number of consecutive timed ops without a stall before any op goes untimed.
const CALM: u32 = 64;
/// Weight of a new value in the usual time, as a power of two.
const WEIGHT_BITS: u32 = 3;

/// Decides which ops share a clock reading.
pub(crate) struct Sampler {
    clock: Clock,
    samples: bool,
    short_ticks: Ticks,
    stall_ticks: Ticks,
    /// Kind of the last timed op.
    kind: OpKind,
    length: u64,
    /// Number of consecutive timed ops without a stall.
    calm: u32,
    /// Usual duration of one op.
    usual_ticks: Ticks,
}

/// Untimed ops that follow a timed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpGroup {
    pub(crate) kind: OpKind,
    /// Length of each op.
    pub(crate) length: u64,
    /// Maximum number of ops in the group.
    pub(crate) most: u32,
    begun_at: Ticks,
    /// Duration of the timed op, recorded for the others too.
    like_ns: u64,
}

impl Sampler {
    /// Creates a sampler. It times every op unless `samples` is set.
    pub(crate) fn new(clock: Clock, samples: bool) -> Sampler {
        let [short_ticks, stall_ticks] = [SHORT_NS, STALL_NS].map(|ns| clock.ticks(ns));
        Sampler { clock, samples, short_ticks, stall_ticks, kind: OpKind::Read, length: 0, calm: 0, usual_ticks: 0 }
    }

    /// Notes a timed op; `is_whole` says whether it moved all its bytes. Returns the group of untimed ops
    /// that may follow, if any may.
    #[inline(always)]
    pub(crate) fn timed(
        &mut self,
        kind: OpKind,
        length: u64,
        is_whole: bool,
        from: Ticks,
        to: Ticks,
    ) -> Option<OpGroup> {
        if !self.samples {
            return None;
        }
        let took = to.saturating_sub(from);
        if (kind, length) != (self.kind, self.length) {
            (self.kind, self.length) = (kind, length);
            self.calm = 0;
            self.usual_ticks = took;
            return None;
        }
        if !is_whole || took > self.usual_ticks + self.stall_ticks {
            self.calm = 0;
            self.update_usual(self.usual_ticks + self.stall_ticks);
            return None;
        }
        self.update_usual(took);
        self.calm += 1;
        (self.calm >= CALM && self.usual_ticks <= self.short_ticks).then(|| OpGroup {
            kind,
            length,
            most: PERIOD - 1,
            begun_at: to,
            like_ns: self.clock.ns_between(from, to),
        })
    }

    /// Records the time of the first `ops` ops of a group, which ended at `now`.
    pub(crate) fn made(&mut self, recorder: &mut Recorder<'_>, group: OpGroup, ops: u32, now: Ticks) {
        let OpGroup { kind, length, begun_at, like_ns, .. } = group;
        if ops == 0 {
            return;
        }
        let took = now.saturating_sub(begun_at);
        let usual = self.usual_ticks * Ticks::from(ops - 1);
        let took_ns = self.clock.ns_between(begun_at, now);
        if took > usual + self.usual_ticks + usual / SPREAD + self.stall_ticks {
            self.calm = 0;
            let stalled_ns = self.clock.ns_between(begun_at + usual, now);
            recorder.record(kind, length, stalled_ns);
            recorder.record_like(kind, u64::from(ops - 1), length, like_ns, took_ns - stalled_ns.min(took_ns));
        } else {
            self.update_usual(took / Ticks::from(ops));
            recorder.record_like(kind, u64::from(ops), length, like_ns, took_ns);
        }
    }

    /// Ends a group early, after `ops` ops, because the following op needs its own time. Returns the start of that op,
    /// which has just ended, estimated from the usual time of the ops before it.
    #[cold]
    pub(crate) fn made_before(&mut self, recorder: &mut Recorder<'_>, group: OpGroup, ops: u32, now: Ticks) -> Ticks {
        let began = (group.begun_at + self.usual_ticks * Ticks::from(ops)).min(now);
        self.made(recorder, group, ops, began);
        self.calm = 0;
        began
    }

    #[inline(always)]
    fn update_usual(&mut self, took: Ticks) {
        self.usual_ticks = (self.usual_ticks * ((1 << WEIGHT_BITS) - 1) + took) >> WEIGHT_BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{PhaseCells, Ramps};
    use plumb_result::measurement::OpMeasurement;
    use std::collections::BTreeMap;

    const LENGTH: u64 = 4096;

    /// Returns the records of ops with these kinds and durations (ns), timed the way the loop does.
    fn recorded(ops: impl IntoIterator<Item = (OpKind, Ticks)>) -> BTreeMap<OpKind, OpMeasurement> {
        let cells = PhaseCells::new(1, Ramps::None).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        let mut sampler = Sampler::new(Clock::monotonic(), true);
        let mut ops = ops.into_iter().peekable();
        let mut now = 1_000;
        while let Some((kind, took)) = ops.next() {
            let begun = now;
            now += took;
            if kind == OpKind::Delay {
                continue;
            }
            recorder.record(kind, LENGTH, took);
            if let Some(group) = sampler.timed(kind, LENGTH, true, begun, now) {
                let mut made = 0;
                while made < group.most
                    && let Some((_, took)) = ops.next_if(|op| op.0 == kind)
                {
                    now += took;
                    made += 1;
                }
                sampler.made(&mut recorder, group, made, now);
            }
        }
        cells.read_worker(0).measured()
    }

    // Protects: all ops, all bytes and all time are recorded, although most ops are not timed.
    #[test]
    fn short_ops_are_sampled_with_an_exact_sum() {
        let times = (0..100_000).map(|number| 500 + number * 7_919 % 400);
        let total: u64 = times.clone().sum();
        let ops = recorded(times.map(|took| (OpKind::Read, took)));
        let read = &ops[&OpKind::Read];
        assert_eq!((read.count, read.bytes, read.service.count()), (100_000, 100_000 * LENGTH, 100_000));
        assert_eq!(read.service.sum(), u128::from(total));
        assert!(read.untimed_count > 90_000, "{}", read.untimed_count);
        // The times are spread evenly from 500 to 899.
        for (quantile, ns) in [(0.1, 540.0), (0.5, 700.0), (0.9, 860.0)] {
            let found = read.service.quantile(quantile).unwrap() as f64;
            assert!((found / ns - 1.0).abs() < 0.03, "{quantile}: {found}");
        }
    }

    // Protects: a stalled op is recorded as one stalled op, at any position in its group.
    #[test]
    fn a_stall_within_a_group_is_one_slow_op() {
        for place in 1_000..1_000 + u64::from(PERIOD) {
            let took = |number: u64| if number == place { 1_000_000 } else { 600 };
            let ops = recorded((0..20_000).map(|number| (OpKind::Write, took(number))));
            let write = &ops[&OpKind::Write];
            assert_eq!((write.count, write.service.max()), (20_000, Some(1_000_000)), "{place}");
            assert_eq!(write.service.sum(), 19_999 * 600 + 1_000_000, "{place}");
            assert!(write.service.quantile(0.9999).unwrap() < 1_000, "{place}");
        }
    }

    // Protects: ops that take longer than a few clock readings are timed one by one, and so are the ops after them.
    #[test]
    fn longer_ops_are_timed_one_by_one() {
        let ops = recorded((0..10_000).map(|_| (OpKind::Read, SHORT_NS + 8)));
        assert_eq!(ops[&OpKind::Read].untimed_count, 0);
        let turns = |number: u64| if number.is_multiple_of(50) { 10_000 } else { 600 };
        let ops = recorded((0..10_000).map(|number| (OpKind::Read, turns(number))));
        assert_eq!(ops[&OpKind::Read].untimed_count, 0);
    }

    // Protects: an op of another kind ends the group and gets a time of its own.
    #[test]
    fn an_op_of_another_kind_is_timed_by_itself() {
        let kind = |number: u64| if number % 1_000 == 999 { OpKind::Fsync } else { OpKind::Write };
        let took = |number: u64| if kind(number) == OpKind::Fsync { 5_000_000 } else { 700 };
        let ops = recorded((0..10_000).map(|number| (kind(number), took(number))));
        let fsync = &ops[&OpKind::Fsync];
        assert_eq!((fsync.count, fsync.untimed_count), (10, 0));
        assert_eq!((fsync.service.min(), fsync.service.max()), (Some(5_000_000), Some(5_000_000)));
        let write = &ops[&OpKind::Write];
        assert_eq!((write.count, write.service.max()), (9_990, Some(700)));
        assert!(write.untimed_count > 8_000, "{}", write.untimed_count);
    }

    // Protects: a pause between two ops counts for neither, at any position.
    #[test]
    fn pauses_count_for_no_op() {
        for every in [97, 98, 99, 100, 101] {
            let kind = |number: u64| if number.is_multiple_of(every) { OpKind::Delay } else { OpKind::Read };
            let took = |number: u64| if kind(number) == OpKind::Delay { 1_000_000 } else { 600 };
            let ops = recorded((1..20_000).map(|number| (kind(number), took(number))));
            let read = &ops[&OpKind::Read];
            assert_eq!((read.service.min(), read.service.max()), (Some(600), Some(600)), "{every}");
            assert_eq!(read.service.sum(), u128::from(read.count) * 600, "{every}");
            assert!(read.untimed_count > 0, "{every}");
        }
    }

    // Protects: an op that fails after a long time does not make an earlier op slow.
    #[test]
    fn a_failed_op_in_a_group_keeps_its_own_time() {
        let cells = PhaseCells::new(1, Ramps::None).unwrap();
        let mut recorder = Recorder::new(cells.worker(0));
        let mut sampler = Sampler::new(Clock::monotonic(), true);
        let mut time = 0;
        let group = loop {
            recorder.record(OpKind::Read, LENGTH, 600);
            time += 600;
            if let Some(group) = sampler.timed(OpKind::Read, LENGTH, true, time - 600, time) {
                break group;
            }
        };
        let began = sampler.made_before(&mut recorder, group, 1, time + 600 + 9_000_000);
        assert_eq!(began, time + 600);
        assert_eq!(cells.read_worker(0).measured()[&OpKind::Read].service.max(), Some(600));
        assert_eq!(sampler.timed(OpKind::Read, LENGTH, true, began, began + 600), None, "the next ops are timed");
    }
}
