//! Settings of an agent.

use crate::policy::BuildPolicy;
use crate::step::Expendable;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Path of Plumb's own executable, which runs the work.
    pub program: PathBuf,
    /// Directory for undo journals and for files that runs need. Never on a device under test.
    pub state: PathBuf,
    /// Devices that may be destroyed in addition to those of a request: a virtual machine's own disks.
    pub expendable: Vec<Expendable>,
    /// Silence after which the link counts as broken. `None` waits for the link's end.
    pub silence: Option<Duration>,
    /// Permissions of the owner, for clients that may only build. `None` for hosts whose account the user has.
    pub policy: Option<BuildPolicy>,
}

impl AgentSettings {
    /// Returns the directory of the undo journals.
    pub fn journals(&self) -> PathBuf {
        self.state.join("journals")
    }
}
