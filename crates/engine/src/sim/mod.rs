//! The simulated device, on virtual time.
//!
//! A simulated phase goes the same way as one on real storage, by the same coordinator, workers, loops, pacers and
//! recorders; what differs is that its clock is [virtual](crate::virtual_time) and its backend is a model. So a run takes
//! as long as its ops take to compute, however slow the device is, and everything follows from the seed and the numbers in
//! [`SimRun`]: the same run gives the same measurement, to the bit.
//!
//! `device` is the device with its faults, over the queueing models of `media`; `backend` gives it ops, and `run` holds the
//! devices of a run; `observe` is what a probe would have seen. Every fault shows in the observations as it would on a real
//! machine, because the checks are tested on them.

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
