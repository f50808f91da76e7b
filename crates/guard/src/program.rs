//! A running program, as named in a refusal.

use std::fmt;

/// A process that has a file or device open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Process id, from `/proc`.
    pub pid: u32,
    /// Name as shown by `ps`.
    pub name: String,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid == std::process::id() {
            true => f.write_str("this run itself"),
            false => write!(f, "process {} ({})", self.pid, self.name),
        }
    }
}
