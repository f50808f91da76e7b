//! One run with its evidence; interleaved comparisons of runs; studies, conducted on hosts and answered.

pub mod answer;
pub mod check;
pub mod compare;
pub mod conduct;
pub mod earlier;
mod evidence;
pub mod file;
mod fit;
pub mod fit_for;
mod floors;
pub mod gate;
mod kept;
mod live;
pub mod noise;
pub mod not_stored;
pub mod place;
pub mod placed;
pub mod plan;
pub mod precondition;
pub mod preflight;
mod progress;
mod ranks;
pub mod repeat;
pub mod run;
pub mod settle;
pub mod sweep;
mod target_files;

pub use compare::{CompareRequest, CompareSide, compare};
pub use fit::Policies;
pub use noise::{NoiseRequest, noise};
pub use place::{Place, PlaceError};
pub use progress::{Both, HostTold, Parts, Progress, RunBegun, Second, Silent};
pub use ranks::{AgentPolicy, Division, Follower, JoinedRanks, Task, follow, mpi_io_of};
pub use run::{Bench, RunError, RunOutcome, RunRequest};
