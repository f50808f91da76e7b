//! Workers of a simulated phase.

use crate::rng::Rng;
use crate::source::Source;
use plumb_workload::{Limit, OnError, Pace, WorkerGroup};

/// A worker: a source, a depth and a pace, on one of the simulation's devices.
#[derive(Debug, Clone)]
pub struct SimWorker<S: Source> {
    /// Group and number, `workers.0/3`.
    pub name: String,
    /// Number of its group within the phase. The workers of a group whose pace is shared take turns at one rate.
    pub group: usize,
    /// Number of its device within the simulation.
    pub device: usize,
    /// Ops in flight at most.
    pub depth: u32,
    /// When the next op may start.
    pub pace: Pace,
    /// When it has done enough, counted from the phase's start, ramp included. Passes are the source's business.
    pub limit: Limit,
    /// What an op's error means.
    pub on_error: OnError,
    /// Draws of Poisson arrivals: the stream of [`Purpose::Arrival`](crate::rng::Purpose).
    pub arrivals: Rng,
    /// Number of the file that an op is on; where the target has files, they lie one after another on the device.
    pub file: fn(&S::Op) -> u64,
    /// Yields its ops.
    pub source: S,
}

impl<S: Source> SimWorker<S> {
    /// Worker `number` of a group.
    pub fn of_group(
        group: &WorkerGroup,
        place: WorkerPlace,
        device: usize,
        arrivals: Rng,
        file: fn(&S::Op) -> u64,
        source: S,
    ) -> SimWorker<S> {
        let group_name = group.name.clone().unwrap_or_else(|| format!("workers.{}", place.group));
        SimWorker {
            name: format!("{group_name}/{}", place.number),
            group: place.group,
            device,
            depth: group.depth,
            pace: group.pace,
            limit: group.limit,
            on_error: group.on_error,
            arrivals,
            file,
            source,
        }
    }
}

/// Which worker of which group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPlace {
    /// Number of the group within the phase.
    pub group: usize,
    /// Number of the worker within the group.
    pub number: u32,
}
