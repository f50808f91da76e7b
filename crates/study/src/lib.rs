//! Work with several runs: interleaved comparisons, noise floors, sweeps, gates, and studies, conducted on hosts and answered.

pub mod answer;
pub mod check;
pub mod compare;
pub mod conduct;
pub mod earlier;
mod earlier_spread;
pub mod file;
pub mod fit_for;
mod floors;
pub mod gate;
pub mod noise;
pub mod placed;
pub mod plan;
pub mod precondition;
pub mod preflight;
pub mod repeat;
pub mod sweep;

pub use compare::{CompareRequest, CompareSide, compare};
pub use noise::{NoiseRequest, noise};
