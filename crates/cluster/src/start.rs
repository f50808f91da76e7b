//! Joins the processes that were started together with this one.

use crate::cluster::Cluster;
use crate::error::StartError;
use crate::launcher::{Launcher, SETTING, launched};
use crate::mpi::{self, Mpi};
use std::sync::Arc;

/// The cluster of processes that were started together.
pub struct Joined {
    /// Carries messages between the processes.
    pub cluster: Arc<dyn Cluster>,
    /// The MPI library, if it is the transport. It can also open files for MPI-IO.
    pub mpi: Option<Arc<Mpi>>,
    /// Name of this host, if it differs from the host's own name.
    pub host: Option<String>,
}

/// Joins the processes that were started with this one. Returns `None` if there are no others.
///
/// # Errors
/// Returns an error if there are others and they cannot be reached. Running alone instead would
/// start one run per process.
pub fn start() -> Result<Option<Joined>, StartError> {
    let Some(launched) = launched() else { return Ok(None) };
    if launched.launcher == Launcher::Slurm {
        return Err(StartError::NoInterface { size: launched.size.unwrap_or(0) });
    }
    let named = std::env::var(SETTING).ok().filter(|setting| !setting.is_empty());
    let mpi = mpi::join(launched, named.as_deref())?;
    let mpi = Arc::new(mpi);
    Ok((mpi.size() > 1).then(|| Joined { cluster: Arc::<Mpi>::clone(&mpi), mpi: Some(mpi), host: None }))
}
