//! Companions of a phase: CPU load and other programs. They start after the same barrier as the workers. They do no
//! ops, so only the CPU time that the kernel charges is recorded for them.

mod busy;
mod context;
mod exec;
#[cfg(test)]
mod tests;

use crate::barrier::{Body, WorkerSpec};
use crate::plan::{WorkerPlanError, WorkerRules};
use busy::BusyCompanion;
use context::{Context, LONGEST_SLEEP, run_companion};
use exec::ExecCompanion;
use plumb_workload::{Activity, Companion, Phase, RunAs};

/// A companion that is ready to start.
pub(crate) struct BuiltCompanion {
    pub(crate) spec: WorkerSpec,
    pub(crate) run_as: RunAs,
}

/// Returns all companions of a phase. They are numbered after its workers, and their groups after its groups.
pub(crate) fn companions(phase: &Phase) -> impl Iterator<Item = BuiltCompanion> {
    let workers = phase.workers.iter().map(|group| u64::from(group.count)).sum();
    let numbered = (phase.workers.len()..).zip(&phase.companions);
    numbered.flat_map(move |(group, companion)| {
        (0..companion.count).map(move |number| built(companion, group, number, workers))
    })
}

fn built(companion: &Companion, group: usize, number: u32, workers: u64) -> BuiltCompanion {
    let cpus = &companion.cpus;
    let spec = WorkerSpec {
        name: format!("{}/{number}", companion.name),
        group,
        // A companion has no ops in flight.
        depth: 0,
        cpu: (!cpus.is_empty()).then(|| cpus[number as usize % cpus.len()]),
        rules: WorkerRules { on_error: companion.on_error, ..WorkerRules::default() },
        body: body(companion, workers),
    };
    BuiltCompanion { spec, run_as: companion.run_as }
}

fn body(companion: &Companion, workers: u64) -> Body {
    match &companion.does {
        Activity::Busy(busy) => BusyCompanion { busy: *busy, workers }.body(),
        Activity::Exec(exec) => ExecCompanion { exec: exec.clone(), name: companion.name.clone() }.body(),
    }
}

/// Rejects companions in a phase on virtual time, because they take real time.
pub(crate) fn refuse_on_virtual_time(phase: &Phase) -> Result<(), WorkerPlanError> {
    match phase.companions.first() {
        None => Ok(()),
        Some(companion) => Err(WorkerPlanError {
            phase: phase.name.clone(),
            group: companion.name.clone(),
            reason: "programs and CPU load need real time; a simulated device has a virtual clock".to_owned(),
        }),
    }
}
