//! Resolves sizes that depend on the machine to bytes.

use super::Bench;
use crate::outcome::RunError;
use crate::place::free_bytes;
use crate::ranks::is_named;
use plumb_workload::{Size, Workload};
use std::path::Path;

/// Numbers of ranks that share memory, and space for their own files.
#[derive(Clone, Copy)]
struct Sharers {
    of_memory: u64,
    of_space: u64,
}

impl Sharers {
    const ONE: Sharers = Sharers { of_memory: 1, of_space: 1 };
}

impl Bench {
    /// Returns the workload with every size in bytes, as [`Bench::run`] takes it.
    ///
    /// # Errors
    /// [`RunError::Size`].
    pub fn resolve(&self, workload: &Workload, base: &Path) -> Result<Workload, RunError> {
        match self.partners.led() {
            None => self.resolve_here(workload, base),
            Some(ranks) => {
                let resolved = ranks.resolve(self.stop, workload, base, false)?;
                Ok(resolved.workload.unwrap_or_else(|| workload.clone()))
            }
        }
    }

    /// Returns the workload with sizes from the memory and the free space of this host.
    pub(crate) fn resolve_here(&self, workload: &Workload, base: &Path) -> Result<Workload, RunError> {
        // Ranks have their own files, so memory and free space are divided among them.
        let (on_host, all) = self.partners.ranks.as_ref().map_or((1, 1), |ranks| (ranks.on_this_host(), ranks.size()));
        let sharers = Sharers { of_memory: u64::from(on_host.max(1)), of_space: u64::from(all.max(1)) };
        resolved(workload, || self.ram_bytes(), base, sharers)
    }
}

fn resolved(
    workload: &Workload,
    ram_bytes: impl Fn() -> u64,
    base: &Path,
    sharers: Sharers,
) -> Result<Workload, RunError> {
    let mut workload = workload.clone();
    // The environment may still be being read, and most workloads do not need it.
    let memory = |size: Size, sharers: u64| if size.fixed().is_some() { 0 } else { ram_bytes() / sharers };
    for (name, target) in &mut workload.target {
        let Sharers { of_memory, of_space } = if is_named(target) { Sharers::ONE } else { sharers };
        if let Some(size) = target.size_mut() {
            let free = match size {
                Size::Free(_) => {
                    let free = free_bytes(base);
                    free.map_err(|error| RunError::Size { target: name.clone(), reason: error.reason })? / of_space
                }
                Size::Bytes(_) | Size::Ram(_) => 0,
            };
            *size = Size::Bytes(size.resolve(memory(*size, of_memory), free));
        }
    }
    for phase in &mut workload.phase {
        if let Some(pressure) = &mut phase.memory_pressure {
            *pressure = Size::Bytes(pressure.resolve(memory(*pressure, sharers.of_memory), 0));
        }
    }
    Ok(workload)
}
