//! Hosts, on which systems under test are built and run.

pub use crate::error::HostError;

use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, HostRequest, Reply, RunAnswer, RunJob, VERSION};
use crate::step::{MadeNames, Safety, Step};

/// Receives progress, one line per call.
pub type Listener<'a> = &'a mut dyn FnMut(&str);

/// A machine on which systems are built and run: this one, one reached by ssh, or a virtual machine. Dropping it
/// takes down what it built, ignoring errors.
pub trait Host {
    /// Returns the facts about the machine.
    fn facts(&self) -> &HostFacts;

    /// Returns problems that the builds, and the work on them, would run into. Builds nothing.
    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError>;

    /// Returns an objection for all work that does not fit on the standing system.
    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError>;

    /// Builds steps in order. After an error, nothing of them is left.
    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError>;

    /// Runs one job on the standing system.
    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError>;

    /// Takes down everything that was built, in reverse order.
    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError>;

    /// Closes the host: stops the virtual machine or closes the link, and removes copied files.
    fn close(self: Box<Self>) -> Result<(), HostError>;
}

/// Answers a request to a host; [`HostRequest::Bye`] has no answer.
pub fn answer(host: &mut dyn Host, request: HostRequest, listener: Listener<'_>) -> Option<Reply> {
    let answered = match request {
        HostRequest::Hello { version: VERSION } => Ok(Reply::Hello(host.facts().clone())),
        HostRequest::Hello { version } => Err(HostError::Failed {
            reason: format!("this agent speaks protocol version {VERSION}, not {version}"),
            refused: false,
        }),
        HostRequest::Inspect(inspection) => host.inspect(&inspection).map(|objections| Reply::Inspected { objections }),
        HostRequest::Fits { work } => host.fits(&work).map(|objections| Reply::Inspected { objections }),
        HostRequest::Build { tag, steps, safety } => {
            host.build(&tag, &steps, &safety, listener).map(|made| Reply::Built { made })
        }
        HostRequest::Run(job) => host.run(&job, listener).map(|answer| Reply::Ran(Box::new(answer))),
        HostRequest::Undo => host.undo(listener).map(|()| Reply::Undone),
        HostRequest::Bye => return None,
    };
    Some(answered.unwrap_or_else(|error| match error {
        HostError::Failed { reason, refused } => Reply::Failed { reason, refused },
        HostError::Lost(reason) => Reply::Failed { reason, refused: false },
    }))
}
