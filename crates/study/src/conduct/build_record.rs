//! What a build ran, taken from what it said.

use plumb_lab::transcript::BuildLine;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The commands of a build, and the programs that they ran.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildRecord {
    /// Command lines, in order.
    pub commands: Vec<String>,
    /// What each program said of its version.
    pub versions: BTreeMap<String, String>,
}

impl BuildRecord {
    /// Takes a line of the build in.
    pub(super) fn hear(&mut self, line: &str) {
        match BuildLine::read(line) {
            Some(BuildLine::Command(command)) => self.commands.push(command),
            Some(BuildLine::Version { program, version }) => drop(self.versions.insert(program, version)),
            None => {}
        }
    }
}
