//! One run with its evidence: prepared, measured by one process or by several ranks, judged and stored.
//!
//! All runs of tools, comparisons and studies go through this crate. The crate is separate so that a change to studies
//! does not rebuild the tools.

mod evidence;
mod fit;
pub mod kept;
mod live;
pub mod not_stored;
mod outcome;
pub mod place;
mod progress;
mod ranks;
pub mod run;
pub mod settle;
mod target_files;
mod work;

pub use fit::Policies;
pub use place::{Place, PlaceError};
pub use progress::{Both, HostReport, Parts, Progress, RunBegun, Second, Silent};
pub use ranks::{AgentPolicy, Division, Follower, JoinedRanks, Task, follow, mpi_io_of};
pub use run::{Bench, RunError, RunOutcome, RunRequest};
