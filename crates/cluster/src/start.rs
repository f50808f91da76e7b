//! Joins the ranks that this process was started with.

use crate::cluster::Cluster;
use crate::error::StartError;
use crate::launcher::{Launcher, SETTING, launched};
use crate::mpi;

/// Joins the processes that were started with this one; `None` where there are no others.
///
/// # Errors
/// There are others, and they cannot be reached: to run alone then would give as many runs as there are processes.
pub fn start() -> Result<Option<Box<dyn Cluster>>, StartError> {
    let Some(launched) = launched() else { return Ok(None) };
    if launched.launcher == Launcher::Slurm {
        return Err(StartError::NoInterface { size: launched.size.unwrap_or(0) });
    }
    let named = std::env::var(SETTING).ok().filter(|setting| !setting.is_empty());
    let mpi = mpi::join(launched, named.as_deref())?;
    Ok((mpi.size() > 1).then(|| Box::new(mpi) as Box<dyn Cluster>))
}
