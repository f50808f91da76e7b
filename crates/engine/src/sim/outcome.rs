//! What a simulated phase yields, or why it yields nothing.

use plumb_result::{PhaseMeasurement, PhaseObservations};

/// Ops in flight, all workers together.
pub(super) const IN_FLIGHT_MAX: u64 = 1 << 20;

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
