//! Binds a tool to the CPUs that its options name.

use rustix::thread::{CpuSet, sched_setaffinity};

/// A failure to run on the CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    /// The number is larger than a set of CPUs has room for.
    #[error("there is no CPU {0}")]
    Missing(u32),
    /// The system refused the set: none of the CPUs is there, or a control group excludes them.
    #[error("cannot run there: {0}")]
    Refused(#[from] rustix::io::Errno),
}

/// Runs this thread, and those that it starts, on some CPUs only; without numbers, wherever it runs now.
///
/// # Errors
/// See [`CpuError`].
pub fn run_on(cpus: &[u32]) -> Result<(), CpuError> {
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        let number = usize::try_from(cpu).ok().filter(|number| *number < CpuSet::MAX_CPU);
        set.set(number.ok_or(CpuError::Missing(cpu))?);
    }
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects a server from a peer's number: a set of CPUs panics at one that it has no room for.
    #[test]
    fn a_cpu_that_cannot_be_is_an_error() {
        for cpu in [1024, u32::MAX] {
            assert_eq!(run_on(&[0, cpu]), Err(CpuError::Missing(cpu)));
        }
        assert!(matches!(run_on(&[1023]), Err(CpuError::Refused(_))));
        assert_eq!(run_on(&[]), Ok(()));
    }
}
