//! Plumb under Slurm: agents on the nodes of a job, which one `srun` starts, and tasks of a step that join without MPI.

mod door;
mod step;
mod tasks;

pub use door::dialed;
pub(crate) use step::start_agents;
pub(crate) use tasks::join;

/// Prefix of an address that names nodes of the Slurm job.
pub const SLURM: &str = "slurm:";
