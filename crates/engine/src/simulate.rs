//! Runs a phase on simulated devices, in virtual time.

use crate::clock::Clock;
use crate::observer::{Live, Observer, PhaseNow};
use crate::oplog::LoggedOp;
use crate::phase::{PhaseOutcome, PhaseRun, PhaseWatcher, run_phase as run_on};
use crate::phase_error::PhaseError;
use crate::signals::StopFlag;
use crate::sim::run::Simulation;
use plumb_result::measurement::Fault;
use plumb_workload::Phase;

/// Runs one phase on the devices of `simulation`, starting at the virtual time at which the last phase ended.
pub(crate) fn run_phase(
    phase: &Phase,
    run: PhaseRun,
    simulation: &mut Simulation,
    stop: StopFlag,
    observer: &mut dyn Observer,
) -> Result<PhaseOutcome, PhaseError> {
    simulation.begin_phase(phase.cache);
    let outcome = run_on(Clock::virtual_time(), run, stop, &mut SimWatcher { phase, simulation, observer })?;
    if let Some(observations) = simulation.end_phase(&phase.name) {
        observer.simulated(observations);
    }
    Ok(outcome)
}

/// Reads the devices where a probe would read the machine, and flushes them at the end.
struct SimWatcher<'a> {
    phase: &'a Phase,
    simulation: &'a mut Simulation,
    observer: &'a mut dyn Observer,
}

impl PhaseWatcher for SimWatcher<'_> {
    fn clock_starts(&mut self) {
        self.simulation.clock_starts();
        self.observer.clock_starts(&self.phase.name);
        self.observer.simulated_counters(0, &self.simulation.counters());
    }

    fn interval(&mut self, live: &Live) {
        self.observer.simulated_counters(live.elapsed_ns, &self.simulation.counters());
        self.observer.interval(live);
    }

    fn tick_ns(&self) -> Option<u64> {
        self.observer.tick_ns()
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        self.observer.tick(now);
    }

    fn op_log(&mut self, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        self.observer.op_log(&self.phase.name, worker, ops);
    }

    fn clock_stopped(&mut self, _processes: &[u32]) {
        self.simulation.clock_stopped();
    }

    fn flush(&mut self) -> Result<Option<u64>, Box<Fault>> {
        self.simulation.flush(self.phase.end.flush)
    }
}
