//! The simulated device on its virtual clock.
//!
//! A [`Simulation`] is one run: its devices and the time, in virtual nanoseconds. Nobody sleeps: [`run_phase`] jumps
//! from one completion to the next, so that a run takes as long as its ops take to compute (about 0.1 µs each), however
//! slow the device is. Everything follows from the seed and the numbers in [`SimRun`]; the same run gives the same
//! measurement, to the bit.
//!
//! `device` is the device with its faults, over the queueing models of `media`; `worker`, `run` and `events` are the
//! load, with the pacers and the steady-state rule of real time; `record` makes the measurement, `observe` what a probe would have seen.
//! Every fault shows in the observations as it would on a real machine, because the checks are tested on them.
//!
//! [`run_phase`]: Simulation::run_phase

pub mod device;
pub mod either;
mod events;
mod media;
mod noise;
pub mod observe;
mod outcome;
mod record;
pub mod run;
pub mod worker;

pub use device::{Device, Served, SimRun};
pub use either::{Either, EitherOp};
pub use observe::target_facts;
pub use outcome::{PhaseEnd, SimPhaseOutcome, SimRunError};
pub use run::Simulation;
pub use worker::{SimWorker, WorkerPlace};

#[cfg(test)]
mod tests;
