//! One run with its evidence: prepared, measured alone or with others, judged and stored.
//!
//! Tools, comparisons and studies make their runs here and nowhere else. It is a separate crate so that a change to
//! studies does not rebuild the tools.

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
