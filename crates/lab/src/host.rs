//! Where systems under test are built and run.

use crate::protocol::{Facts, RunAnswer, RunJob};
use crate::step::{Made, Safety, Step};

/// Hears what goes on, a line each.
pub type Listener<'a> = &'a mut dyn FnMut(&str);

/// A machine on which systems are built and run: this one, one reached by ssh, or a virtual one. Dropped, it takes down what
/// it built as well as it can.
pub trait Host {
    /// What it is.
    fn facts(&self) -> &Facts;

    /// Builds steps, in order. After an error, nothing is left of them.
    fn build(&mut self, tag: &str, steps: &[Step], safety: &Safety, listener: Listener<'_>) -> Result<Made, HostError>;

    /// Runs one job on what was built.
    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError>;

    /// Takes down all that was built, in reverse order.
    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError>;

    /// Ends it: the virtual machine stops, the link is closed, what was copied is removed.
    fn close(self: Box<Self>) -> Result<(), HostError>;
}

/// Why a host did not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// It answered that it cannot.
    #[error("{reason}")]
    Failed {
        /// Why, with the way out.
        reason: String,
        /// Whether the write guard refused it.
        refused: bool,
    },
    /// It does not answer any more: a broken link, a machine that died.
    #[error("lost: {0}")]
    Lost(String),
}
