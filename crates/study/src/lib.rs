//! One run with its evidence, and interleaved comparisons of runs. Studies from files will be built on both.

pub mod check;
pub mod compare;
mod evidence;
mod fit;
mod floors;
mod live;
pub mod noise;
pub mod place;
pub mod precondition;
pub mod run;
pub mod sweep;

pub use compare::{CompareRequest, CompareSide, compare};
pub use fit::Policies;
pub use noise::{NoiseRequest, noise};
pub use place::{Place, PlaceError};
pub use run::{Bench, Progress, RunError, RunOutcome, RunRequest, Silent};
