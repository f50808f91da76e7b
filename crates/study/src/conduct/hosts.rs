//! The hosts of a study, as whoever conducts it sees them.

use crate::plan::HostPlan;
use crate::preflight::Inspected;
use plumb_engine::signals::StopFlag;
use plumb_lab::host::Listener;
use plumb_lab::preflight::Inspection;
use plumb_lab::{Host, HostError, LineError};
use std::time::Duration;

/// A command around a plot that takes longer is killed, with its process group: a machine that does not come up must not hold
/// the whole study.
pub const COMMAND_LIMIT: Duration = Duration::from_secs(600);

/// Opens hosts, and runs what the user wants run around them.
pub trait Hosts {
    /// Opens a host of a study: boots the virtual machine, opens the link.
    fn open(&mut self, name: &str, host: &HostPlan, listener: Listener<'_>) -> Result<Box<dyn Host>, HostError>;

    /// Inspects a host, and reports what prevents a set-up from being built there. Builds nothing. `of` names the set-up and
    /// the memory that it needs, in bytes.
    fn inspect(
        &mut self,
        name: &str,
        host: &HostPlan,
        of: &dyn Fn(u64) -> Inspection,
        listener: Listener<'_>,
    ) -> Result<Inspected, HostError>;

    /// Runs a command of the user's on this machine, for [`COMMAND_LIMIT`] at most, and until a signal comes where `stop` is
    /// given.
    fn command(&mut self, line: &str, stop: Option<StopFlag>, listener: Listener<'_>) -> Result<(), LineError>;
}
