//! Detects from the environment whether a launcher started this process as one of several.

use std::fmt;

/// Launcher that started the processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// The PMI interface: `mpiexec` of MPICH and its derivatives, or `srun --mpi=pmi2`.
    Pmi,
    /// The PMIx interface: `srun --mpi=pmix` and other launchers.
    Pmix,
    /// `srun` without an interface for MPI.
    Slurm,
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Launcher::OpenMpi => "Open MPI's mpirun",
            Launcher::Pmi => "mpiexec (PMI)",
            Launcher::Pmix => "a launcher with PMIx",
            Launcher::Slurm => "srun",
        })
    }
}

/// Launch of this process, as read from its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launched {
    pub(crate) launcher: Launcher,
    /// Number of processes. `None` if the variables do not give it.
    pub(crate) size: Option<u32>,
    pub(crate) rank: u32,
}

/// Variable that names the library to open, or is `off`.
pub(crate) const SETTING: &str = "PLUMB_MPI";

/// Reads this process's variables. Returns `None` if PLUMB_MPI is `off`.
pub(crate) fn launched() -> Option<Launched> {
    if std::env::var_os(SETTING).is_some_and(|setting| setting == "off") {
        return None;
    }
    launched_by(|name| std::env::var(name).ok())
}

/// Reads the variables. Returns `None` for a process that was started alone, by any launcher.
fn launched_by(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    started_as(variable).filter(|launched| launched.size != Some(1))
}

/// Returns the launcher whose variables this process has, even if it was started alone.
pub(crate) fn started_by() -> Option<Launcher> {
    started_as(|name| std::env::var(name).ok()).map(|launched| launched.launcher)
}

fn started_as(variable: impl Fn(&str) -> Option<String>) -> Option<Launched> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    let found = |launcher, rank: &str, size: Option<u32>| Some(Launched { launcher, size, rank: number(rank)? });
    let tasks = || number("SLURM_STEP_NUM_TASKS");
    found(Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", number("OMPI_COMM_WORLD_SIZE"))
        .or_else(|| found(Launcher::Pmix, "PMIX_RANK", tasks()))
        .or_else(|| found(Launcher::Pmi, "PMI_RANK", number("PMI_SIZE")))
        // Batch scripts have `SLURM_PROCID` too; only steps also have their own number of tasks.
        .or_else(|| found(Launcher::Slurm, "SLURM_PROCID", Some(tasks().unwrap_or(1))))
}

/// Returns launcher and rank of a process that was started as one of several. Works before any library is opened, so
/// that ranks other than 0 can stay quiet.
pub fn launcher() -> Option<(Launcher, u32)> {
    launched().map(|launched| (launched.launcher, launched.rank))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launched_with(variables: &[(&str, &str)]) -> Option<Launched> {
        launched_by(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
    }

    // Protects: variables identify each launcher, and a process that was started alone never opens a library.
    #[test]
    fn launchers_are_known_by_their_variables() {
        let some = |launcher, size, rank| Some(Launched { launcher, size, rank });
        assert_eq!(
            launched_with(&[("OMPI_COMM_WORLD_SIZE", "4"), ("OMPI_COMM_WORLD_RANK", "3"), ("PMIX_RANK", "3")]),
            some(Launcher::OpenMpi, Some(4), 3)
        );
        assert_eq!(launched_with(&[("PMI_SIZE", "4"), ("PMI_RANK", "0")]), some(Launcher::Pmi, Some(4), 0));
        let pmix = [("PMIX_RANK", "1"), ("SLURM_STEP_NUM_TASKS", "8"), ("SLURM_PROCID", "1")];
        assert_eq!(launched_with(&pmix), some(Launcher::Pmix, Some(8), 1));
        assert_eq!(launched_with(&pmix[..1]), some(Launcher::Pmix, None, 1));
        assert_eq!(launched_with(&pmix[1..]), some(Launcher::Slurm, Some(8), 1));
        assert_eq!(launched_with(&[]), None);
        assert_eq!(launched_with(&[("OMPI_COMM_WORLD_SIZE", "1"), ("OMPI_COMM_WORLD_RANK", "0")]), None);
        // As in a batch script, and in the shell of an allocation.
        assert_eq!(launched_with(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
        assert_eq!(launched_with(&[("PMI_RANK", "none"), ("PMI_SIZE", "4")]), None);
    }
}
