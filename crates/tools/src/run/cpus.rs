//! Binds a tool to the CPUs that its options name, and reads the kernel's CPU lists.

use rustix::thread::{CpuSet, sched_setaffinity};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CpuError {
    /// The number exceeds the capacity of a CPU set.
    #[error("there is no CPU {0}")]
    Missing(u32),
    /// The kernel refused the set: none of the CPUs exists, or a control group excludes them.
    #[error("cannot run there: {0}")]
    Refused(#[from] rustix::io::Errno),
}

/// Restricts this thread, and those that it starts, to some CPUs. An empty list changes nothing.
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

/// Reads a kernel file that holds a list of numbers such as `0-3,8`. Source: "List format" in cpuset(7). Returns
/// `None` if it cannot be read or parsed.
pub fn read_list(path: &str) -> Option<Vec<u32>> {
    parse_list(std::fs::read_to_string(path).ok()?.trim())
}

fn parse_list(text: &str) -> Option<Vec<u32>> {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| (*number as usize) < CpuSet::MAX_CPU);
    let mut numbers = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        numbers.extend(number(first)?..=number(last)?);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_lists_have_numbers_and_ranges() {
        assert_eq!(parse_list("0-3,8"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(parse_list(""), Some(vec![]), "a node without processors");
        assert_eq!(parse_list("0-4294967295"), None, "more than a set can hold");
        assert_eq!(parse_list("0-x"), None);
    }

    // Protects a server from a peer's number: `CpuSet` panics at a number beyond its capacity.
    #[test]
    fn a_cpu_beyond_the_capacity_is_an_error() {
        for cpu in [1024, u32::MAX] {
            assert_eq!(run_on(&[0, cpu]), Err(CpuError::Missing(cpu)));
        }
        assert!(matches!(run_on(&[1023]), Err(CpuError::Refused(_))));
        assert_eq!(run_on(&[]), Ok(()));
    }
}
