//! External inputs: the environment, the machine, and files.

use std::collections::BTreeMap;

/// Facts about the environment and the machine that job files can refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Environment variables, for `${NAME}`.
    pub environment: BTreeMap<String, String>,
    /// `$ncpus`: number of configured CPUs.
    pub cpus: u32,
    /// `$pagesize`: page size in bytes.
    pub page_bytes: u64,
    /// `$mb_memory`: memory size in MiB.
    pub memory_mib: u64,
}

impl Default for Machine {
    /// Returns a plain machine without an environment, for tests and examples.
    fn default() -> Machine {
        Machine { environment: BTreeMap::new(), cpus: 4, page_bytes: 4_096, memory_mib: 8_192 }
    }
}

/// Error from reading a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MissingFile {
    pub reason: String,
}

/// Reads files by their path; `-` is standard input.
pub trait Files {
    /// Returns the whole text of a file.
    fn read(&mut self, path: &str) -> Result<String, MissingFile>;
}
