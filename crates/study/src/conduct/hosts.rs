//! The interface through which a study uses its hosts.

use crate::plan::HostPlan;
use crate::preflight::Inspected;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::Inspection;
use plumb_lab::{Host, HostError, LineError};
use std::time::Duration;

/// Time limit of a user command before or after a plot. It is killed with its process group: a machine that does not
/// come up must not block the whole study.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(600);

/// Opens hosts, and runs the user's commands around them.
pub trait Hosts {
    /// Opens a host of a study: boots the virtual machine, opens the link.
    fn open(&mut self, name: &str, host: &HostPlan, listener: Listener<'_>) -> Result<Box<dyn Host>, HostError>;

    /// Inspects a host, and reports obstacles to building a set-up there, without building anything. `of` names the
    /// set-up and the memory that it needs, in bytes.
    fn inspect(
        &mut self,
        name: &str,
        host: &HostPlan,
        of: &dyn Fn(u64) -> Inspection,
        listener: Listener<'_>,
    ) -> Result<Inspected, HostError>;

    /// Runs a user command on this machine, for at most [`COMMAND_LIMIT`], and only until a
    /// signal if `stop` is given.
    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError>;
}
