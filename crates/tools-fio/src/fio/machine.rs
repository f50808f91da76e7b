//! What comes from outside: the environment, the machine, and files.

use std::collections::BTreeMap;

/// What job files may ask of the environment and the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Environment variables, for `${NAME}`.
    pub environment: BTreeMap<String, String>,
    /// `$ncpus`: CPUs configured.
    pub cpus: u32,
    /// `$pagesize`: bytes of a page.
    pub page_bytes: u64,
    /// `$mb_memory`: mebibytes of memory.
    pub memory_mib: u64,
}

impl Default for Machine {
    /// A plain machine without an environment, for tests and examples.
    fn default() -> Machine {
        Machine { environment: BTreeMap::new(), cpus: 4, page_bytes: 4_096, memory_mib: 8_192 }
    }
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MissingFile {
    /// The system's error.
    pub reason: String,
}

/// Reads files by their path; `-` is standard input.
pub trait Files {
    /// The whole text of a file.
    fn read(&mut self, path: &str) -> Result<String, MissingFile>;
}
