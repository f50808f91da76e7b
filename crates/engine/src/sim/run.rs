//! One run on the virtual clock, phase by phase.

use super::device::{Device, NamedDevice, SimRun};
use super::events::Running;
use super::outcome::{SimPhaseOutcome, SimRunError};
use super::worker::SimWorker;
use crate::source::Source;
use plumb_result::Interval;
use plumb_workload::{Phase, SimTarget};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU64;

/// One run: its devices, in the order of their targets, and the time.
#[derive(Debug, Clone)]
pub struct Simulation {
    pub(super) devices: Vec<NamedDevice>,
    now_ns: u64,
}

impl Simulation {
    /// The devices of a run at virtual time 0. The kernel calls them `sim0`, `sim1` … in this order.
    pub fn new<'a>(targets: impl IntoIterator<Item = (&'a str, &'a SimTarget)>, run: SimRun) -> Simulation {
        let devices = (0..)
            .zip(targets)
            .map(|(number, (name, target))| NamedDevice {
                target: name.to_owned(),
                device: Device::new(target, number, run),
            })
            .collect();
        Simulation { devices, now_ns: 0 }
    }

    /// The number of a target's device.
    pub fn device_of(&self, target: &str) -> Option<usize> {
        self.devices.iter().position(|named| named.target == target)
    }

    /// Virtual time since the run began, ns.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Runs one phase to its end. From `phase` come name, cache policy, ramp, stop rule and end policy; its groups must
    /// have been made into `workers`. `on_interval` gets every interval as it ends, and may break the phase off.
    ///
    /// Ops and bytes of the stop rule are those started after the ramp; a worker's own limits count from its start.
    pub fn run_phase<S: Source>(
        &mut self,
        phase: &Phase,
        workers: Vec<SimWorker<S>>,
        working_set_bytes: Option<u64>,
        on_interval: &mut dyn FnMut(&Interval) -> ControlFlow<()>,
    ) -> Result<SimPhaseOutcome, SimRunError> {
        for named in &mut self.devices {
            named.device.begin_phase(phase.cache);
        }
        let groups = workers.iter().map(|worker| worker.group + 1).max().unwrap_or(0);
        let schedules: Vec<AtomicU64> = (0..groups).map(|_| AtomicU64::new(0)).collect();
        let mut running = Running::new(&mut self.devices, self.now_ns, phase, workers, &schedules, on_interval)?;
        running.run()?;
        let (mut outcome, now_ns) = running.finish();
        outcome.measurement.working_set_bytes = working_set_bytes;
        self.now_ns = now_ns;
        Ok(outcome)
    }
}
