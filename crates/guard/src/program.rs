//! A running program, as a refusal names it.

use std::fmt;

/// A running program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// Its number.
    pub pid: u32,
    /// Its name, as `ps` shows it.
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
