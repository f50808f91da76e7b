//! Joins the ranks that this process was started with.

use crate::cluster::Cluster;
use crate::error::StartError;
use crate::launcher::{Launcher, SETTING, launched};
use crate::mpi::{self, Mpi};
use std::sync::Arc;

/// The processes that were started with this one.
pub struct Joined {
    /// What carries messages between them.
    pub cluster: Arc<dyn Cluster>,
    /// The MPI library, where it carries them: it may open their files too.
    pub mpi: Option<Arc<Mpi>>,
    /// What this host is called, where not by its own name.
    pub host: Option<String>,
}

/// Joins the processes that were started with this one; `None` where there are no others.
///
/// # Errors
/// There are others, and they cannot be reached: to run alone then would give as many runs as there are processes.
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
