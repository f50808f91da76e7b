//! What a run tells while it goes on.

use plumb_engine::{FileSetStep, JobFilesError, Live, LoggedOp, PhaseNow};
use plumb_result::watch::DeviceUse;
use plumb_result::{Finding, PhaseMeasurement, Tier};
use plumb_workload::Workload;
use std::path::Path;
use std::time::Duration;

/// Shows people how far a run has got. Every method has an empty default.
pub trait Progress {
    /// A run begins.
    fn run_begins(&mut self, _run: &RunBegun<'_>) {}
    /// Something slow goes on that is not measured.
    fn preparing(&mut self, _what: &str) {}
    /// As [`plumb_engine::Observer::file_set`].
    fn file_set(&mut self, _name: &str, _step: FileSetStep<'_>) {}
    /// The guard or the system keeps a job from its files: it fails, and others run.
    fn job_failed(&mut self, _why: &JobFilesError) {}
    /// A phase is about to begin: its workers are not made yet.
    fn phase_begins(&mut self, _phase: &str) {}
    /// The clock of a phase starts.
    fn clock_starts(&mut self, _phase: &str) {}
    /// As [`plumb_engine::Observer::tick_ns`].
    fn tick_ns(&self) -> Option<u64> {
        None
    }
    /// As [`plumb_engine::Observer::tick`].
    fn tick(&mut self, _now: &dyn PhaseNow) {}
    /// As [`plumb_engine::Observer::op_log`].
    fn op_log(&mut self, _phase: &str, _worker: &str, _ops: &mut dyn Iterator<Item = LoggedOp>) {}
    /// What the block devices under the targets did in the phase that is over; [`Progress::phase_ended`] follows.
    fn phase_devices(&mut self, _devices: Vec<DeviceUse>) {}
    /// On one of several hosts: what whoever leads is told of the phase that is over, beside what this one measured.
    fn tells(&mut self, _measured: &PhaseMeasurement) -> String {
        String::new()
    }
    /// What hosts [tell](Progress::tells) of the phase that is over, where this process leads them; [`Progress::phase_ended`] follows.
    fn told(&mut self, _hosts: Vec<HostTold>) {}
    /// A phase is over.
    fn phase_ended(&mut self, _measured: &PhaseMeasurement) {}
    /// A second of a phase has passed.
    fn live(&mut self, _second: &Second<'_>) {}
    /// A finding above `note` has become true. Each is told once for each phase.
    fn found(&mut self, _finding: &Finding) {}
    /// A finding that was told while its phase ran is not true of the whole phase.
    fn withdrawn(&mut self, _finding: &Finding) {}
    /// A run of a comparison begins.
    fn block(&mut self, _what: &str) {}
    /// A part of several is about to begin.
    fn parts(&mut self, _parts: Parts) {}
    /// The run that began last is over, whichever way.
    fn run_ended(&mut self) {}
}

/// Progress of a command that makes several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Parts that are over: blocks of a comparison, points of a sweep, runs.
    pub done: u32,
    /// The most that there are.
    pub most: u32,
    /// Time for all of them; absent where their number alone ends them.
    pub budget: Option<Duration>,
}

impl Parts {
    /// The most time that is left: at the length of the parts so far, and within the budget. `elapsed` is since the first part began,
    /// `current` since this one did. `None` before the first part is over where there is no budget.
    pub fn left(&self, elapsed: Duration, current: Duration) -> Option<Duration> {
        let by_parts = (self.done > 0).then(|| {
            let each = elapsed.saturating_sub(current) / self.done;
            (each * self.most.saturating_sub(self.done)).saturating_sub(current)
        });
        let by_budget = self.budget.map(|budget| budget.saturating_sub(elapsed));
        match (by_parts, by_budget) {
            (Some(parts), Some(budget)) => Some(parts.min(budget)),
            (one, other) => one.or(other),
        }
    }
}

/// A run that begins.
#[derive(Debug, Clone, Copy)]
pub struct RunBegun<'a> {
    /// Its id.
    pub id: &'a str,
    /// What is run, with every size in bytes.
    pub workload: &'a Workload,
    /// Where test data is made.
    pub base: &'a Path,
}

/// What one host tells of a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTold {
    /// Which of those that measure, from 0.
    pub number: u32,
    /// Its words.
    pub text: String,
}

/// A second of a phase.
#[derive(Debug, Clone, Copy)]
pub struct Second<'a> {
    /// What was done.
    pub live: &'a Live,
    /// Where the bytes came from or went to.
    pub tier: Tier,
    /// What the block devices under the targets did; none where that is not known before the phase's end.
    pub devices: &'a [DeviceUse],
}

/// Two who watch the same runs. The first has the ticks.
pub struct Both<'a>(pub &'a mut dyn Progress, pub &'a mut dyn Progress);

impl Progress for Both<'_> {
    fn run_begins(&mut self, run: &RunBegun<'_>) {
        self.0.run_begins(run);
        self.1.run_begins(run);
    }
    fn preparing(&mut self, what: &str) {
        self.0.preparing(what);
        self.1.preparing(what);
    }
    fn file_set(&mut self, name: &str, step: FileSetStep<'_>) {
        self.0.file_set(name, step);
        self.1.file_set(name, step);
    }
    fn job_failed(&mut self, why: &JobFilesError) {
        self.0.job_failed(why);
        self.1.job_failed(why);
    }
    fn phase_begins(&mut self, phase: &str) {
        self.0.phase_begins(phase);
        self.1.phase_begins(phase);
    }
    fn clock_starts(&mut self, phase: &str) {
        self.0.clock_starts(phase);
        self.1.clock_starts(phase);
    }
    fn tick_ns(&self) -> Option<u64> {
        self.0.tick_ns()
    }
    fn tick(&mut self, now: &dyn PhaseNow) {
        self.0.tick(now);
    }
    // A log is read once.
    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.0.op_log(phase, worker, ops);
    }
    fn phase_devices(&mut self, devices: Vec<DeviceUse>) {
        self.0.phase_devices(devices.clone());
        self.1.phase_devices(devices);
    }
    // The second one streams what was measured, and knows no tool's words.
    fn told(&mut self, hosts: Vec<HostTold>) {
        self.0.told(hosts);
    }
    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        self.0.phase_ended(measured);
        self.1.phase_ended(measured);
    }
    fn live(&mut self, second: &Second<'_>) {
        self.0.live(second);
        self.1.live(second);
    }
    fn found(&mut self, finding: &Finding) {
        self.0.found(finding);
        self.1.found(finding);
    }
    fn withdrawn(&mut self, finding: &Finding) {
        self.0.withdrawn(finding);
        self.1.withdrawn(finding);
    }
    fn block(&mut self, what: &str) {
        self.0.block(what);
        self.1.block(what);
    }
    fn parts(&mut self, parts: Parts) {
        self.0.parts(parts);
        self.1.parts(parts);
    }
    fn run_ended(&mut self) {
        self.0.run_ended();
        self.1.run_ended();
    }
}

/// Shows nothing.
pub struct Silent;

impl Progress for Silent {}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: what is left shrinks within a part, ends at the budget, and is not made up before anything is known.
    #[test]
    fn what_is_left_comes_from_the_parts_so_far() {
        let seconds = Duration::from_secs;
        let left = |done, budget: Option<u64>, elapsed, current| {
            Parts { done, most: 10, budget: budget.map(seconds) }.left(seconds(elapsed), seconds(current))
        };
        assert_eq!(left(0, None, 3, 3), None);
        assert_eq!(left(0, Some(60), 3, 3), Some(seconds(57)));
        assert_eq!(left(2, None, 9, 1), Some(seconds(31)), "8 parts of 4 s, less the second that is over");
        assert_eq!(left(2, Some(20), 9, 1), Some(seconds(11)));
        assert_eq!(left(10, Some(20), 50, 9), Some(Duration::ZERO));
    }
}
