//! Who looks on while a workload runs: the probe takes its readings here, the live line is drawn here, and every second
//! is stored here. Called by the coordinator, never by a worker.

use crate::phase::Live;
use plumb_result::{PhaseMeasurement, PhaseObservations};
use std::os::fd::BorrowedFd;
use std::path::Path;

/// The open files of one target, for looking at.
#[derive(Debug, Clone)]
pub struct TargetView<'a> {
    /// The target's name.
    pub name: &'a str,
    /// Where it lies: the file, the first of several files, the root of a tree, or the device.
    pub path: &'a Path,
    /// Its files; empty for a tree.
    pub files: Vec<BorrowedFd<'a>>,
}

/// Looks on while a workload runs. Every method has an empty default.
pub trait Observer {
    /// Something slow goes on that is not measured: laying out files, evicting, warming.
    fn preparing(&mut self, _what: &str) {}

    /// The targets exist; none of the phases has begun.
    fn targets_ready(&mut self, _targets: &[TargetView<'_>]) {}

    /// The cache is as the phase wants it; workers are about to be made.
    fn phase_begins(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// The clock starts as this returns; with a ramp, at its end.
    fn clock_starts(&mut self, _phase: &str) {}

    /// A second of the phase has passed.
    fn interval(&mut self, _live: &Live) {}

    /// The clock has stopped; what is flushed outside the clock is not flushed yet.
    fn clock_stopped(&mut self, _phase: &str, _targets: &[TargetView<'_>]) {}

    /// A simulated phase has run; this is what would have been seen around it.
    fn simulated(&mut self, _phase: PhaseObservations) {}

    /// The phase is over, and this is what was measured of it. Called after [`Observer::clock_stopped`] or
    /// [`Observer::simulated`].
    fn phase_ended(&mut self, _measured: &PhaseMeasurement) {}
}

/// Nobody looks on.
pub struct Nobody;

impl Observer for Nobody {}
