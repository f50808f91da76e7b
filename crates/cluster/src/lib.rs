//! Processes that measure together, on one host or many.
//!
//! The rest of Plumb sees only [`Cluster`]: ranks that send bytes to each other. A transport implements six methods.
//! Broadcast, barrier, reduction, the [`Roster`] and [`clock_offset`] are built on these once, along a [tree](tree).
//! [`start`] detects how this process was started and uses [`mpi`] under `mpirun`, `mpiexec` or `srun`.
//! [`in_process`] joins threads, for tests.
//!
//! Every rank calls the same collective methods in the same order. Each call takes a [`Patience`] that decides how
//! long to wait for another rank. Only the caller knows whether a rank may still be busy.

mod clock;
mod cluster;
mod error;
pub mod in_process;
pub mod k8s;
mod launcher;
pub mod mpi;
mod offset;
mod roster;
pub mod slurm;
pub mod star;
mod start;
pub mod tree;

pub use clock::{ClockOffset, monotonic_ns, wait_until_ns};
pub use cluster::{
    Arrival, Cluster, EndCause, Ending, EndingKind, Leave, Patience, REASONS_MAX, Reduction, Release, wait_forever,
};
pub use error::{ClusterError, JoinError, StartError};
pub use launcher::{Launcher, launcher};
pub use offset::clock_offset;
pub use roster::{Exchange, Host, Member, Roster};
pub use start::{Joined, start};
