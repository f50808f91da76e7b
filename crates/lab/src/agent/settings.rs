//! How an agent is set up.

use crate::step::Expendable;
use std::path::PathBuf;
use std::time::Duration;

/// How an agent is set up.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// Plumb's own executable, which runs the work.
    pub program: PathBuf,
    /// Where it keeps the journals of what it built, and what a run needs until it ends; never on what is measured.
    pub state: PathBuf,
    /// Devices that may be destroyed beside those that a request names: a virtual machine's own disks.
    pub expendable: Vec<Expendable>,
    /// The link counts as broken when nothing has come over it for so long; absent, only its end is the end.
    pub silence: Option<Duration>,
}

impl AgentSettings {
    /// Where the journals of what was built lie.
    pub fn journals(&self) -> PathBuf {
        self.state.join("journals")
    }
}
