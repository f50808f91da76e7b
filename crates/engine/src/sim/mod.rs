//! The simulated device, on virtual time.
//!
//! A simulated phase uses the same coordinator, workers, loops, pacers and recorders as one on real storage. Only
//! its clock is [virtual](crate::virtual_time), and its backend is a model. A run takes as long as computing its
//! ops, however slow the device is. Everything follows from the seed and the numbers in [`SimRun`]: the same run
//! gives the same measurement, to the bit.
//!
//! `device` is the device with its faults, based on the queueing models of `media`; `backend` passes ops to it, and
//! `run` holds the devices of a run; `observe` returns what a probe would have seen. Every fault shows in the
//! observations as on a real machine, because the checks are tested on them.

pub(crate) mod backend;
mod carry;
mod device;
pub mod estimate;
mod media;
mod noise;
mod observe;
pub(crate) mod run;
mod sessions;

pub use carry::{CarriedDebt, left_behind};
pub use device::SimRun;
pub use observe::target_facts;

#[cfg(test)]
mod tests;
