//! Groups that end once one of their metrics is steady. Checked at intervals while they run, with counts and sums only.

use crate::barrier::PhaseMemory;
use crate::clock::{Clock, Ticks};
use crate::pacer::steady::SteadyJudge;
use crate::plan::GroupRun;
use crate::recorder::DataTotals;
use plumb_result::{SteadyOutcome, SteadySample};
use std::sync::atomic::Ordering::Acquire;

/// Groups that are judged together.
struct SteadyWatch {
    judge: SteadyJudge,
    /// Length of an interval.
    length: Ticks,
    workers: Vec<usize>,
    /// Start of measured time of the first of their workers.
    zero: Option<Ticks>,
    /// End of the last closed interval, relative to `zero`.
    covered: Ticks,
    last: DataTotals,
    over: bool,
}

/// All steady-state rules of a phase.
pub(crate) struct SteadyGroups {
    clock: Clock,
    watches: Vec<SteadyWatch>,
}

impl SteadyGroups {
    /// Creates the rules of these groups. `group_of` maps workers to groups.
    pub(crate) fn new(clock: Clock, groups: &[GroupRun], group_of: &[usize]) -> SteadyGroups {
        let mut covered = vec![false; groups.len()];
        let mut watches = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let Some(steady) = group.steady.as_ref().filter(|_| !covered[number]) else { continue };
            steady.together.iter().for_each(|&other| covered[other] = true);
            let belongs = |worker: &usize| steady.together.contains(&group_of[*worker]);
            watches.push(SteadyWatch {
                judge: SteadyJudge::new(&steady.rule),
                length: clock.ticks(steady.rule.check_every.0).max(1),
                workers: (0..group_of.len()).filter(belongs).collect(),
                zero: None,
                covered: 0,
                last: DataTotals::default(),
                over: false,
            });
        }
        SteadyGroups { clock, watches }
    }

    /// Returns the time of the next update: when an interval ends, or when waiting workers may have started.
    pub(crate) fn next_at(&self, now: Ticks) -> Option<Ticks> {
        let open = self.watches.iter().filter(|watch| !watch.over);
        open.map(|watch| watch.zero.map_or(now + watch.length, |zero| zero + watch.covered + watch.length)).min()
    }

    /// Judges the intervals that have ended, and stops steady groups.
    pub(crate) fn update(&mut self, memory: &PhaseMemory, now: Ticks) {
        for watch in self.watches.iter_mut().filter(|watch| !watch.over) {
            if watch.zero.is_none() {
                watch.zero = watch.workers.iter().filter_map(|&worker| memory.control.measured_at(worker)).min();
            }
            let Some(zero) = watch.zero else { continue };
            let ended = |worker: &usize| memory.reports.worker(*worker).ended_at.load(Acquire) != 0;
            watch.over = watch.workers.iter().all(ended);
            let passed = now.saturating_sub(zero);
            if watch.over || passed < watch.covered + watch.length {
                continue;
            }
            let totals: DataTotals = watch.workers.iter().map(|&worker| memory.cells.data_totals(worker)).sum();
            let began_ns = self.clock.ns_between(0, watch.covered);
            let length_ns = self.clock.ns_between(watch.covered, passed);
            let piece = totals.since(&watch.last);
            let per_second = |amount: u64| amount as f64 * 1e9 / length_ns.max(1) as f64;
            let sample = SteadySample {
                ops_per_second: per_second(piece.count),
                bytes_per_second: per_second(piece.bytes),
                latency_ns: if piece.count == 0 { 0.0 } else { piece.service_sum_ns as f64 / piece.count as f64 },
            };
            (watch.covered, watch.last) = (passed, totals);
            if watch.judge.push(began_ns, sample) {
                watch.over = true;
                watch.workers.iter().for_each(|&worker| memory.control.stop_worker(worker));
            }
        }
    }

    /// Returns the result of a worker's rule; `None` if it has none.
    pub(crate) fn outcome(&self, worker: usize) -> Option<SteadyOutcome> {
        self.watches.iter().find(|watch| watch.workers.contains(&worker)).map(|watch| watch.judge.outcome())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::SteadyTogether;
    use crate::recorder::Recorder;
    use plumb_workload::pace::{SteadyFigure, SteadyJudged, SteadyRule};
    use plumb_workload::{Nanos, OpKind};

    // Protects joint rules: groups that are judged together are summed and end together, and the others are left alone.
    #[test]
    fn groups_are_judged_together() {
        let clock = Clock::monotonic();
        let memory = PhaseMemory::for_tests(clock, 3);
        let rule = SteadyRule {
            figure: SteadyFigure::Ops,
            judged: SteadyJudged::Deviation,
            limit: 1.0,
            limit_is_percent: true,
            window: Nanos(3_000),
            check_every: Nanos(1_000),
            ramp: Nanos(0),
            together: Vec::new(),
        };
        let group = GroupRun { steady: Some(SteadyTogether { rule, together: vec![0, 1] }), ..GroupRun::default() };
        let mut steady = SteadyGroups::new(clock, &[group.clone(), group, GroupRun::default()], &[0, 1, 2]);
        assert_eq!(steady.watches.len(), 1);
        memory.control.worker(1).measures_from(10_000);
        let mut recorders = [0, 1].map(|worker| Recorder::new(memory.cells.worker(worker)));
        // Together they execute eight ops in every interval, but neither of them does.
        for (piece, first) in [5, 2, 7].into_iter().enumerate() {
            (0..first).for_each(|_| recorders[0].record(OpKind::Read, 512, 100));
            (first..8).for_each(|_| recorders[1].record(OpKind::Read, 512, 100));
            assert!(!memory.control.worker(0).stop_requested(), "piece {piece}");
            steady.update(&memory, 11_000 + piece as u64 * 1_000);
        }
        let stopped = [0, 1, 2].map(|worker| memory.control.worker(worker).stop_requested());
        assert_eq!(stopped, [true, true, false]);
        let outcome = steady.outcome(1).unwrap();
        assert_eq!((outcome.attained, outcome.criterion), (true, Some(0.0)));
        assert_eq!((outcome.samples.len(), outcome.samples[0].latency_ns), (3, 100.0));
        assert!(steady.outcome(2).is_none() && steady.next_at(1).is_none());
    }
}
