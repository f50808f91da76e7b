//! Where systems under test are built and run.

pub use crate::error::HostError;

use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, HostRequest, Reply, RunAnswer, RunJob, VERSION};
use crate::step::{MadeNames, Safety, Step};

/// Hears what goes on, a line each.
pub type Listener<'a> = &'a mut dyn FnMut(&str);

/// A machine on which systems are built and run: this one, one reached by ssh, or a virtual one. Dropped, it takes down what
/// it built as well as it can.
pub trait Host {
    /// What it is.
    fn facts(&self) -> &HostFacts;

    /// What would go wrong with builds and with what runs on them. Nothing is built.
    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError>;

    /// What does not fit on what was built.
    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError>;

    /// Builds steps, in order. After an error, nothing is left of them.
    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError>;

    /// Runs one job on what was built.
    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError>;

    /// Takes down all that was built, in reverse order.
    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError>;

    /// Ends it: the virtual machine stops, the link is closed, what was copied is removed.
    fn close(self: Box<Self>) -> Result<(), HostError>;
}

/// What a host answers to a request; nothing to [`HostRequest::Bye`].
pub fn answer(host: &mut dyn Host, request: HostRequest, listener: Listener<'_>) -> Option<Reply> {
    let answered = match request {
        HostRequest::Hello { version: VERSION } => Ok(Reply::Hello(host.facts().clone())),
        HostRequest::Hello { version } => Err(HostError::Failed {
            reason: format!("this agent speaks version {VERSION} of the protocol, and not {version}"),
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
