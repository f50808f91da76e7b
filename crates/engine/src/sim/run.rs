//! One run on the virtual clock, phase by phase.

use super::device::{Device, SimRun};
use super::events::{IN_FLIGHT_MAX, Running};
use super::worker::SimWorker;
use crate::source::Source;
use plumb_result::{Interval, PhaseMeasurement, PhaseObservations};
use plumb_workload::{Phase, SimTarget};
use std::ops::ControlFlow;

/// Why a phase could not be simulated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SimRunError {
    /// Nobody to do anything.
    #[error("phase `{phase}` has no workers; give it at least one group with `count` 1 or more")]
    NoWorkers {
        /// The phase.
        phase: String,
    },
    /// A depth of 0, or too many ops in flight.
    #[error(
        "worker `{worker}` of phase `{phase}` asks for depth {depth}; the simulated device takes 1 or more, and \
         {IN_FLIGHT_MAX} at most for all workers together"
    )]
    Depth {
        /// The phase.
        phase: String,
        /// The worker.
        worker: String,
        /// What it asked for.
        depth: u32,
    },
    /// A worker on a device that the simulation does not have.
    #[error(
        "worker `{worker}` uses simulated device {device}, and the run has {devices}; name a target of the workload"
    )]
    Device {
        /// The worker.
        worker: String,
        /// What it asked for.
        device: usize,
        /// How many there are.
        devices: usize,
    },
    /// A rate that no op can follow.
    #[error("worker `{worker}` asks for {rate} ops/s; an open load needs a rate above 0")]
    Rate {
        /// The worker.
        worker: String,
        /// What it asked for.
        rate: f64,
    },
    /// No end in sight.
    #[error(
        "phase `{phase}` has reached seven days of virtual time; give it a `stop` or its workers a `limit`, or \
             soften the device's faults"
    )]
    Endless {
        /// The phase.
        phase: String,
    },
}

/// Why a phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseEnd {
    /// By its stop rule, its workers' limits, or an error that stops.
    Done,
    /// The caller broke it off; what is here was measured before.
    Interrupted,
}

/// What one simulated phase yields.
#[derive(Debug, Clone, PartialEq)]
pub struct SimPhaseOutcome {
    /// What the engine measured.
    pub measurement: PhaseMeasurement,
    /// What a probe would have seen.
    pub observations: PhaseObservations,
    /// Why it ended.
    pub end: PhaseEnd,
}

/// One run: its devices, in the order of their targets, and the time.
#[derive(Debug, Clone)]
pub struct Simulation {
    pub(super) devices: Vec<NamedDevice>,
    now_ns: u64,
}

/// A device and the target that it is.
#[derive(Debug, Clone)]
pub(super) struct NamedDevice {
    pub(super) target: String,
    pub(super) device: Device,
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
        let mut running = Running::new(&mut self.devices, self.now_ns, phase, workers, on_interval)?;
        running.run()?;
        let (mut outcome, now_ns) = running.finish();
        outcome.measurement.working_set_bytes = working_set_bytes;
        self.now_ns = now_ns;
        Ok(outcome)
    }
}
