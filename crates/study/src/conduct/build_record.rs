//! The commands and versions of a build, from its output.

use plumb_lab::transcript::BuildLine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The commands of a build, and the programs that they ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Command lines, in order.
    pub commands: Vec<String>,
    /// Version output of each program.
    pub versions: BTreeMap<String, String>,
}

impl BuildRecord {
    /// Processes a line of the build's output.
    pub(super) fn add_line(&mut self, line: &str) {
        match BuildLine::read(line) {
            Some(BuildLine::Command(command)) => self.commands.push(command),
            Some(BuildLine::Version { program, version }) => drop(self.versions.insert(program, version)),
            None => {}
        }
    }
}
