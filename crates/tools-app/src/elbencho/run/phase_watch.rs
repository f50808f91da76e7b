//! Data collected while a phase runs, for its report: entries and CPU utilization.

use super::outputs::{MachineTicks, date, uuid};
use jiff::Timestamp;
use plumb_engine::LoggedOp;
use plumb_result::PhaseMeasurement;
use plumb_tools_app::elbencho::lower::LoweredPhase;
use plumb_tools_app::elbencho::print::{Both, EntryCounts, EntryOp, PhaseContext, PhaseReport, report};

/// Sampling interval of the CPUs, ns.
pub const LOOK_NS: u64 = 100_000_000;

pub(crate) struct PhaseWatch {
    /// Time at which the phase's clock started.
    pub began: Timestamp,
    entries: EntryCounts,
    start: MachineTicks,
    /// Samples of the CPUs, each with the time since the phase began, ns.
    samples: Vec<(u64, MachineTicks)>,
}

impl PhaseWatch {
    pub(super) fn start(ticks: MachineTicks) -> PhaseWatch {
        let (began, entries, samples) = (Timestamp::now(), EntryCounts::default(), Vec::new());
        PhaseWatch { began, entries, start: ticks, samples }
    }

    /// Records a sample of the CPUs.
    pub(super) fn sample(&mut self, at_ns: u64, ticks: MachineTicks) {
        self.samples.push((at_ns, ticks));
    }

    /// Adds the ops of a thread.
    pub(super) fn take(&mut self, phase: &LoweredPhase, worker: &str, logged: impl Iterator<Item = LoggedOp>) {
        let thread = rank(worker).saturating_sub(phase.first_rank);
        self.entries.take(
            phase,
            thread,
            logged.map(|op| EntryOp {
                kind: op.kind,
                file: op.file,
                submit_ns: op.submit_ns,
                complete_ns: op.complete_ns,
                ok: op.result.is_ok(),
            }),
        );
    }

    /// Builds the report of the finished phase.
    pub(super) fn report(
        &mut self,
        phase: &LoweredPhase,
        measured: &PhaseMeasurement,
        ticks: MachineTicks,
    ) -> PhaseReport {
        let entries = std::mem::take(&mut self.entries);
        let cpu = self.over(measured.first_done_ns.unwrap_or(u64::MAX), ticks);
        report(phase, measured, &entries, PhaseContext { cpu, ..self.seen() })
    }

    /// Returns the start time and a new UUID.
    pub(super) fn seen(&self) -> PhaseContext {
        PhaseContext { date: date(self.began), id: uuid(), ..PhaseContext::default() }
    }

    /// Returns the CPU utilization until the first thread finished, and over the whole phase.
    fn over(&self, first_done_ns: u64, now: MachineTicks) -> Both<u32> {
        let last = now.percent_since(self.start);
        let by_first = self.samples.iter().take_while(|(at_ns, _)| *at_ns <= first_done_ns).last();
        Both { first: by_first.map_or(last, |(_, times)| times.percent_since(self.start)), last }
    }
}

/// Parses the rank from a worker's name.
pub(super) fn rank(worker: &str) -> u32 {
    let digits: String = worker.trim_start_matches('r').chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

/// Returns the errors of a phase, one line each.
pub(super) fn faults(measured: &PhaseMeasurement) -> impl Iterator<Item = String> + '_ {
    measured.faults.iter().map(|fault| {
        let place = if fault.op.moves_bytes() { format!(" at byte {}", fault.offset) } else { String::new() };
        format!("{} of {}{place}: {}", fault.op.name(), fault.path.display(), fault.message)
    })
}
