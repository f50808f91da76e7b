//! Events of a run in progress.

use plumb_engine::{FileSetStep, JobFilesError, Live, LoggedOp, PhaseNow};
use plumb_result::watch::DeviceUse;
use plumb_result::{Finding, PhaseMeasurement, Tier};
use plumb_workload::Workload;
use std::path::Path;
use std::time::Duration;

/// Shows users how far a run has got. Every method has an empty default.
pub trait Progress {
    /// A run begins.
    fn run_begins(&mut self, _run: &RunBegun<'_>) {}
    /// Something slow is under way that is not measured.
    fn preparing(&mut self, _what: &str) {}
    /// See [`plumb_engine::Observer::file_set`].
    fn file_set(&mut self, _name: &str, _step: FileSetStep<'_>) {}
    /// The guard or the system refuses a job its files: the job fails, and others run.
    fn job_failed(&mut self, _why: &JobFilesError) {}
    /// A phase is about to begin; its workers do not exist yet.
    fn phase_begins(&mut self, _phase: &str) {}
    /// The clock of a phase starts.
    fn clock_starts(&mut self, _phase: &str) {}
    /// See [`plumb_engine::Observer::tick_ns`].
    fn tick_ns(&self) -> Option<u64> {
        None
    }
    /// See [`plumb_engine::Observer::tick`].
    fn tick(&mut self, _now: &dyn PhaseNow) {}
    /// See [`plumb_engine::Observer::op_log`].
    fn op_log(&mut self, _phase: &str, _worker: &str, _ops: &mut dyn Iterator<Item = LoggedOp>) {}
    /// Receives the use of the block devices under the targets in the phase
    /// that just ended. [`Progress::phase_ended`] follows.
    fn phase_devices(&mut self, _devices: Vec<DeviceUse>) {}
    /// On one of several hosts: returns a text for the coordinator about the phase that just
    /// ended, sent with the measurement.
    fn report_phase(&mut self, _measured: &PhaseMeasurement) -> String {
        String::new()
    }
    /// On the coordinator: receives the [texts](Progress::report_phase) of the hosts about the phase
    /// that just ended. [`Progress::phase_ended`] follows.
    fn receive_reports(&mut self, _hosts: Vec<HostReport>) {}
    /// A phase has ended.
    fn phase_ended(&mut self, _measured: &PhaseMeasurement) {}
    /// A second of a phase has passed.
    fn live(&mut self, _second: &Second<'_>) {}
    /// A finding above `note` has become true. Each is reported once per phase.
    fn found(&mut self, _finding: &Finding) {}
    /// A finding that was reported during its phase does not hold for the whole phase.
    fn withdrawn(&mut self, _finding: &Finding) {}
    /// A run of a comparison begins.
    fn block(&mut self, _what: &str) {}
    /// One of several parts is about to begin.
    fn parts(&mut self, _parts: Parts) {}
    /// The last run has ended, with or without a result.
    fn run_ended(&mut self) {}
}

/// Progress of a command that makes several runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Completed parts: blocks of a comparison, points of a sweep, or runs.
    pub done: u32,
    /// Largest possible number of parts.
    pub most: u32,
    /// Time for all parts; `None` if only their number is limited.
    pub budget: Option<Duration>,
}

impl Parts {
    /// Returns the longest time left, from the length of the parts so far and the budget. `elapsed` counts from
    /// the start of the first part, `current` from the start of this one. Without a budget, it is `None` until
    /// the first part is over.
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
    pub id: &'a str,
    /// The workload, with every size in bytes.
    pub workload: &'a Workload,
    /// Directory that test data is made in.
    pub base: &'a Path,
}

/// Text of one host about a phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostReport {
    /// Number of the host among those that measure, from 0.
    pub number: u32,
    pub text: String,
}

/// A second of a phase.
#[derive(Debug, Clone, Copy)]
pub struct Second<'a> {
    pub live: &'a Live,
    /// The storage tier that the bytes came from or went to.
    pub tier: Tier,
    /// Use of the block devices under the targets; empty where it is only known after the phase.
    pub devices: &'a [DeviceUse],
}

/// Passes events to two receivers. Only the first gets the ticks.
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
    // A log can be read only once.
    fn op_log(&mut self, phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.0.op_log(phase, worker, ops);
    }
    fn phase_devices(&mut self, devices: Vec<DeviceUse>) {
        self.0.phase_devices(devices.clone());
        self.1.phase_devices(devices);
    }
    // The second receiver streams measurements, and prints no tool's format.
    fn receive_reports(&mut self, hosts: Vec<HostReport>) {
        self.0.receive_reports(hosts);
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

    // Protects: the time left shrinks within a part, is limited by the budget, and is `None` until there is data.
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
