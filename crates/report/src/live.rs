//! The full screen of a running run: rates, latency, devices, findings, steadiness.

mod screen;

pub use screen::RunScreen;

use crate::screen::DeviceHistory;
use plumb_result::stream::{StreamMeasured, StreamOps};
use plumb_result::{Finding, PhaseMeasurement};
use plumb_workload::OpKind;

/// Number of seconds that are kept for the bars.
const KEPT: usize = 120;

/// Progress of a study.
#[derive(Debug, Clone, Default)]
pub struct StudyProgress {
    pub name: String,
    /// Number of runs that have ended, successfully or not.
    pub ended: u32,
    /// Number of all runs.
    pub runs: u32,
    /// Number of runs that the checks rejected.
    pub rejected: u32,
    /// Number of runs that failed.
    pub failed: u32,
    /// Remaining time, such as `about 2 min left`; empty if unknown.
    pub left: String,
    /// The latest failure; empty if there was none.
    pub trouble: String,
}

/// State of the runs so far.
#[derive(Debug, Default)]
pub struct LivePicture {
    /// Progress of the study that the runs belong to, if there is one.
    pub study: Option<StudyProgress>,
    pub workload: String,
    /// Place of the run, such as a directory or device.
    pub place: String,
    /// Position among several runs, such as `run 2 of 3`.
    pub part: String,
    /// Position of the phase, such as `phase 3 of 11`; empty if there is only one.
    pub phase_place: String,
    /// Name of the current phase.
    pub phase: String,
    /// Current activity that is not measured; empty while a phase is measured.
    pub preparing: String,
    /// Duration after which the phase ends, ns, if it is limited by time.
    pub time_ns: Option<u64>,
    /// Longest remaining time of the run, ns.
    pub left_ns: Option<u64>,
    /// Measurements of the last second.
    second: Option<StreamMeasured>,
    history: Vec<Moment>,
    devices: DeviceHistory,
    findings: Vec<Finding>,
    done: Vec<DonePhase>,
}

/// One second of the bars.
#[derive(Debug, Clone, Copy)]
struct Moment {
    rate: f64,
    p99_ns: Option<u64>,
}

/// A completed phase.
#[derive(Debug)]
struct DonePhase {
    name: String,
    kind: OpKind,
    ops: StreamOps,
}

/// Returns the kind of op that took the most time, estimated from its median: of a write and its flush, the flush.
pub fn busiest(measured: &StreamMeasured) -> Option<(OpKind, &StreamOps)> {
    let time_ns = |ops: &StreamOps| ops.count.saturating_mul(ops.p50_ns.unwrap_or(0));
    let done = measured.ops.iter().filter(|(_, ops)| ops.count > 0);
    done.max_by_key(|(_, ops)| time_ns(ops)).map(|(kind, ops)| (*kind, ops))
}

/// Returns bytes per second, or ops per second if the ops move no bytes.
pub fn rate_of(ops: &StreamOps) -> f64 {
    if ops.bytes > 0 { ops.bytes_per_s } else { ops.ops_per_s }
}

impl LivePicture {
    /// Starts a run and clears the previous one. In a study, completed phases stay.
    pub fn run_begins(&mut self, workload: &str, place: &str) {
        let before = std::mem::take(self);
        let done = if before.study.is_some() { before.done } else { Vec::new() };
        *self = LivePicture {
            study: before.study,
            workload: workload.to_owned(),
            place: place.to_owned(),
            part: before.part,
            done,
            ..LivePicture::default()
        };
    }

    /// Shows that a plot or a run of a study is being prepared.
    pub fn study_stage(&mut self, part: &str, workload: &str, what: &str) {
        self.run_begins(workload, "");
        part.clone_into(&mut self.part);
        what.clone_into(&mut self.preparing);
    }

    /// Starts a phase.
    pub fn phase_begins(&mut self, phase: &str) {
        self.phase = phase.to_owned();
        self.preparing.clear();
        self.second = None;
        self.history.clear();
    }

    /// Records a second of measurements.
    pub fn second(&mut self, measured: StreamMeasured) {
        let busiest = busiest(&measured);
        let moment = busiest
            .map_or(Moment { rate: 0.0, p99_ns: None }, |(_, ops)| Moment { rate: rate_of(ops), p99_ns: ops.p99_ns });
        self.history.push(moment);
        if self.history.len() > KEPT {
            self.history.remove(0);
        }
        self.devices.push(&measured.devices);
        self.second = Some(measured);
    }

    /// Records the end of a phase from its measurement.
    pub fn phase_ended(&mut self, phase: &PhaseMeasurement) {
        self.phase_done(&phase.name, &StreamMeasured::of_phase(phase, Vec::new()));
    }

    /// Records the end of a phase with its totals.
    pub fn phase_done(&mut self, phase: &str, all: &StreamMeasured) {
        if let Some((kind, ops)) = busiest(all) {
            let name = match &self.study {
                // Other runs of the study have phases of the same name.
                Some(study) => format!("run {} {phase}", study.ended + 1),
                None => phase.to_owned(),
            };
            self.done.push(DonePhase { name, kind, ops: *ops });
            if self.done.len() > KEPT {
                self.done.remove(0);
            }
        }
        self.second = None;
        self.history.clear();
        self.time_ns = None;
        self.phase.clear();
    }

    /// Adds a finding that became true.
    pub fn found(&mut self, finding: &Finding) {
        self.findings.insert(0, finding.clone());
        // Worst first, and the latest first among equals, which a stable sort keeps.
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    }

    /// Removes a finding that was withdrawn.
    pub fn withdrawn(&mut self, finding: &Finding) {
        self.findings.retain(|known| known.code != finding.code || known.phase != finding.phase);
    }
}

#[cfg(test)]
mod tests;
