//! The full screen of a run that goes on: rates, latency, devices, findings, steady state.

mod screen;

pub use screen::RunScreen;

use crate::screen::DeviceHistory;
use plumb_result::stream::{StreamMeasured, StreamOps};
use plumb_result::{Finding, PhaseMeasurement};
use plumb_workload::OpKind;

/// Seconds that are kept for the bars.
const KEPT: usize = 120;

/// How far a study is.
#[derive(Debug, Clone, Default)]
pub struct StudyProgress {
    /// Its name.
    pub name: String,
    /// Runs that have ended, well or not.
    pub ended: u32,
    /// Runs in all.
    pub runs: u32,
    /// Runs that were rejected, by their checks.
    pub rejected: u32,
    /// Runs that failed.
    pub failed: u32,
    /// `about 2 min left`; empty where it is not known.
    pub left: String,
    /// What went wrong last; empty where nothing did.
    pub trouble: String,
}

/// What is known of the runs so far.
#[derive(Debug, Default)]
pub struct LivePicture {
    /// The study that the runs belong to.
    pub study: Option<StudyProgress>,
    /// The workload's name.
    pub workload: String,
    /// Where it runs.
    pub place: String,
    /// Which run of several this is, `run 2 of 3`.
    pub part: String,
    /// `phase 3 of 11`; empty where there is only one.
    pub phase_place: String,
    /// The phase that goes on.
    pub phase: String,
    /// What goes on that is not measured; empty while a phase is measured.
    pub preparing: String,
    /// When the phase ends by time, ns.
    pub time_ns: Option<u64>,
    /// The most that is left of the run, ns.
    pub left_ns: Option<u64>,
    /// The last second.
    second: Option<StreamMeasured>,
    history: Vec<Moment>,
    devices: DeviceHistory,
    findings: Vec<Finding>,
    done: Vec<DonePhase>,
}

/// A second of the bars.
#[derive(Debug, Clone, Copy)]
struct Moment {
    rate: f64,
    p99_ns: Option<u64>,
}

/// A phase that is over.
#[derive(Debug)]
struct DonePhase {
    name: String,
    kind: OpKind,
    ops: StreamOps,
}

/// The kind of op that took the most time, estimated from its median: of a write and its flush, the flush.
pub fn busiest(measured: &StreamMeasured) -> Option<(OpKind, &StreamOps)> {
    let time_ns = |ops: &StreamOps| ops.count.saturating_mul(ops.p50_ns.unwrap_or(0));
    let done = measured.ops.iter().filter(|(_, ops)| ops.count > 0);
    done.max_by_key(|(_, ops)| time_ns(ops)).map(|(kind, ops)| (*kind, ops))
}

/// Its bytes per second, or its ops where it moves none.
pub fn rate_of(ops: &StreamOps) -> f64 {
    if ops.bytes > 0 { ops.bytes_per_s } else { ops.ops_per_s }
}

impl LivePicture {
    /// A run begins: what was shown of the one before goes. Of a study, the phases that are over stay.
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

    /// A plot or a run of a study is prepared.
    pub fn study_stage(&mut self, part: &str, workload: &str, what: &str) {
        self.run_begins(workload, "");
        part.clone_into(&mut self.part);
        what.clone_into(&mut self.preparing);
    }

    /// A phase begins.
    pub fn phase_begins(&mut self, phase: &str) {
        self.phase = phase.to_owned();
        self.preparing.clear();
        self.second = None;
        self.history.clear();
    }

    /// A second has passed.
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

    /// A phase is over.
    pub fn phase_ended(&mut self, phase: &PhaseMeasurement) {
        self.phase_done(&phase.name, &StreamMeasured::of_phase(phase, Vec::new()));
    }

    /// A phase is over, of which this is what was done in all of it.
    pub fn phase_done(&mut self, phase: &str, all: &StreamMeasured) {
        if let Some((kind, ops)) = busiest(all) {
            let name = match &self.study {
                // Its other runs have phases of the same name.
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

    /// A finding has become true.
    pub fn found(&mut self, finding: &Finding) {
        self.findings.insert(0, finding.clone());
        // Worst first, and of equals the latest: the order of what is equal stays.
        self.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    }

    /// A finding is taken back.
    pub fn withdrawn(&mut self, finding: &Finding) {
        self.findings.retain(|known| known.code != finding.code || known.phase != finding.phase);
    }
}

#[cfg(test)]
mod tests;
