//! Time series of each worker, in intervals counted from its own measured start, for groups that ask for it. Only
//! counts and bytes are read, so short intervals are cheap.

use crate::barrier::PhaseMemory;
use crate::clock::{Clock, Ticks};
use plumb_result::measurement::{Moved, Sample};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Acquire;

/// An interval may close early by 1/EARLY of its length, so that workers that started
/// almost together are read together.
const EARLY: u64 = 64;

#[derive(Debug, Clone)]
struct WorkerSeries {
    length: Ticks,
    /// Start of the worker's measured time, once it has begun.
    zero: Option<Ticks>,
    /// End of the last closed interval, relative to `zero`.
    covered: Ticks,
    last: BTreeMap<OpKind, Moved>,
    samples: Vec<Sample>,
    over: bool,
}

/// The series of all workers of a phase that record one.
#[derive(Debug, Clone)]
pub(crate) struct SeriesSampler {
    clock: Clock,
    series: Vec<Option<WorkerSeries>>,
}

impl SeriesSampler {
    /// Creates series with these interval lengths, in ns; `None` for workers without a series.
    pub(crate) fn new(clock: Clock, lengths_ns: impl Iterator<Item = Option<u64>>) -> SeriesSampler {
        let series = lengths_ns.map(|length| {
            length.map(|ns| WorkerSeries {
                length: clock.ticks(ns).max(1),
                zero: None,
                covered: 0,
                last: BTreeMap::new(),
                samples: Vec::new(),
                over: false,
            })
        });
        SeriesSampler { clock, series: series.collect() }
    }

    /// Returns the time of the next update: when an interval ends, or when a waiting worker may have started.
    pub(crate) fn next_at(&self, now: Ticks) -> Option<Ticks> {
        let open = self.series.iter().flatten().filter(|series| !series.over);
        open.map(|series| series.zero.map_or(now + series.length, |zero| zero + series.due())).min()
    }

    /// Closes the intervals that have ended.
    pub(crate) fn update(&mut self, memory: &PhaseMemory, now: Ticks) {
        for (number, series) in self.series.iter_mut().enumerate() {
            let Some(series) = series.as_mut().filter(|series| !series.over) else { continue };
            let measured_at = memory.control.measured_at(number);
            if series.zero != measured_at {
                series.begin(measured_at);
            }
            let Some(zero) = series.zero else { continue };
            let ended_at = memory.reports.worker(number).ended_at.load(Acquire);
            if ended_at != 0 {
                series.over = true;
                series.close(&self.clock, ended_at.saturating_sub(zero), memory.cells.moved(number));
            } else if now + series.length / EARLY >= zero + series.due() {
                series.close(&self.clock, now - zero, memory.cells.moved(number));
            }
        }
    }

    /// Closes the open intervals at the end of the phase.
    pub(crate) fn finish(&mut self, memory: &PhaseMemory, now: Ticks) {
        self.update(memory, now);
        for (number, series) in self.series.iter_mut().enumerate() {
            // A worker that hangs in an op has not ended.
            if let Some(series) = series.as_mut().filter(|series| !series.over)
                && let Some(zero) = series.zero
            {
                series.close(&self.clock, now.saturating_sub(zero), memory.cells.moved(number));
            }
        }
    }

    /// Returns the series of one worker.
    pub(crate) fn samples(&self, number: usize) -> Vec<Sample> {
        self.series[number].as_ref().map_or_else(Vec::new, |series| series.samples.clone())
    }
}

impl WorkerSeries {
    /// Restarts the series at the beginning of the worker's measured time.
    fn begin(&mut self, zero: Option<Ticks>) {
        self.zero = zero;
        self.covered = 0;
        self.last.clear();
        self.samples.clear();
    }

    /// Returns the end of the current interval, relative to the worker's start. A delayed reader makes one longer
    /// interval instead of several empty ones.
    fn due(&self) -> Ticks {
        ((self.covered + self.length / EARLY) / self.length + 1) * self.length
    }

    fn close(&mut self, clock: &Clock, until: Ticks, moved: BTreeMap<OpKind, Moved>) {
        if until <= self.covered {
            return;
        }
        let before = |kind: &OpKind| self.last.get(kind).copied().unwrap_or_default();
        let ops = moved.iter().map(|(kind, now)| {
            let before = before(kind);
            // A lower value means that the worker is about to restart its series.
            let count = now.count.saturating_sub(before.count);
            (*kind, Moved { count, bytes: now.bytes.saturating_sub(before.bytes) })
        });
        let ops = BTreeMap::from_iter(ops.filter(|(_, moved)| moved.count > 0));
        let (start_ns, end_ns) = (clock.ns_between(0, self.covered), clock.ns_between(0, until));
        self.samples.push(Sample { start_ns, length_ns: end_ns - start_ns, ops });
        self.covered = until;
        self.last = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;

    const LENGTH: u64 = 1_000;

    fn sampler() -> (PhaseMemory, SeriesSampler) {
        let memory = PhaseMemory::for_tests(Clock::monotonic(), 2);
        (memory, SeriesSampler::new(Clock::monotonic(), [None, Some(LENGTH)].into_iter()))
    }

    // Protects the series: intervals without ops are included, and a late update makes one longer interval.
    #[test]
    fn intervals_are_contiguous() {
        let (memory, mut sampler) = sampler();
        sampler.update(&memory, 500);
        assert_eq!(sampler.next_at(500), Some(500 + LENGTH), "it has not started");
        memory.control.worker(1).measures_from(5_000);
        let mut recorder = Recorder::new(memory.cells.worker(1));
        recorder.record(OpKind::Read, 4096, 10);
        for now in [5_900, 6_000, 6_995, 9_500, 10_000] {
            sampler.update(&memory, now);
        }
        recorder.record(OpKind::Write, 512, 10);
        memory.reports.worker(1).ends_at(10_300);
        sampler.update(&memory, 12_000);
        sampler.finish(&memory, 13_000);
        let samples = sampler.samples(1);
        let spans: Vec<[u64; 2]> = samples.iter().map(|sample| [sample.start_ns, sample.length_ns]).collect();
        assert_eq!(spans, [[0, 1_000], [1_000, 995], [1_995, 2_505], [4_500, 500], [5_000, 300]]);
        assert_eq!(samples[0].ops, [(OpKind::Read, Moved { count: 1, bytes: 4096 })].into());
        assert!(samples[1..4].iter().all(|sample| sample.ops.is_empty()));
        assert_eq!(samples[4].ops, [(OpKind::Write, Moved { count: 1, bytes: 512 })].into());
        assert_eq!(sampler.next_at(13_000), None, "no further update is needed");
        assert!(sampler.samples(0).is_empty());
    }

    // Protects restarts: a restarted worker has a series of its ops from then on.
    #[test]
    fn a_series_restarts_with_the_measured_time() {
        let (memory, mut sampler) = sampler();
        memory.control.worker(1).measures_from(5_000);
        let mut recorder = Recorder::new(memory.cells.worker(1));
        recorder.record(OpKind::Read, 4096, 10);
        for now in [5_100, 6_000, 7_000] {
            sampler.update(&memory, now);
        }
        recorder.restart();
        memory.control.worker(1).measures_from(7_500);
        recorder.record(OpKind::Read, 512, 10);
        memory.reports.worker(1).ends_at(8_000);
        sampler.finish(&memory, 9_000);
        let samples = sampler.samples(1);
        assert_eq!(samples.len(), 1, "{samples:?}");
        assert_eq!((samples[0].start_ns, samples[0].length_ns), (0, 500));
        assert_eq!(samples[0].ops, [(OpKind::Read, Moved { count: 1, bytes: 512 })].into());
    }
}
