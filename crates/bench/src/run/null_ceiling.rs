//! The rate of the null backend on this machine, which is a limit of Plumb itself.

use plumb_result::{Measurement, PhaseMeasurement, Seen};
use plumb_workload::Workload;
use std::collections::BTreeMap;

/// The null ceilings measured so far, in ops per second, by number of workers.
#[derive(Default)]
pub(super) struct NullCeilings(BTreeMap<u32, Seen<f64>>);

impl NullCeilings {
    /// Measures the rate of the null backend with this workload's workers, once per process and number of workers. It
    /// runs after the run, and only if the run could have come near the ceiling: scripts call other tools' commands a
    /// thousand times, and wait for it.
    pub(super) fn measure(&mut self, workload: &Workload, measurement: &Measurement, cpus: u32) -> Seen<f64> {
        let near = measurement.phases.iter().filter(|phase| may_be_near(phase));
        let Some(longest_ns) = near.map(|phase| phase.wall_ns).max() else {
            return Seen::no("so few ops per second, or so short a phase, that it says nothing");
        };
        let most = |phase: &plumb_workload::Phase| phase.workers.iter().map(|group| group.count).sum::<u32>();
        let workers = workload.phase.iter().map(most).max().unwrap_or(1).clamp(1, cpus.max(1));
        self.0
            .entry(workers)
            .or_insert_with(|| {
                let ceiling = plumb_engine::null_ceiling_ops(workers, measuring_time_ns(longest_ns));
                ceiling.map_err(|error| error.to_string()).into()
            })
            .clone()
    }
}

/// Returns the time for measuring the null ceiling after a phase of this length: too short for a user to notice, and
/// long enough for a few percent of accuracy. Checks compare the ceiling with results of half its size and less.
fn measuring_time_ns(phase_ns: u64) -> u64 {
    (phase_ns / 50).clamp(2_000_000, 50_000_000)
}

/// Returns `true` if a phase could have come near the ceiling. A worker reaches some ten million ops per second
/// against the null backend, and some hundred thousand on an emulated processor. A phase far below that, or a very
/// short one, learns nothing from the ceiling.
fn may_be_near(phase: &PhaseMeasurement) -> bool {
    const OPS_PER_SECOND: f64 = 20_000.0;
    const SHORTEST_NS: u64 = 50_000_000;
    let ops: u64 = phase.ops.values().map(|moved| moved.count).sum();
    phase.wall_ns >= SHORTEST_NS && ops as f64 >= OPS_PER_SECOND * (phase.wall_ns as f64 / 1e9)
}
