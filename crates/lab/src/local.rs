//! This machine as a host.

use crate::agent::{Agent, AgentSettings};
use crate::host::{Host, HostError, Listener};
use crate::preflight::{Inspection, Objection, PlannedWork};
use crate::protocol::{HostFacts, RunAnswer, RunJob};
use crate::step::{MadeNames, Safety, Step};
use crate::surroundings::Surroundings;
use plumb_engine::signals::StopFlag;

/// This machine. Runs work in separate processes, as a user would start them.
#[derive(Debug)]
pub struct Local {
    agent: Agent,
    /// Whether a system may be standing.
    built: bool,
}

impl Local {
    /// Creates a host that has built nothing.
    ///
    /// # Errors
    /// Returns an error if the state directory cannot be created.
    pub fn new(surroundings: &Surroundings) -> Result<Local, HostError> {
        let settings = AgentSettings {
            program: surroundings.program.clone(),
            state: surroundings.state.clone(),
            expendable: Vec::new(),
            silence: None,
            policy: None,
        };
        let stop = surroundings.interrupted.unwrap_or_else(StopFlag::detached);
        Ok(Local { agent: Agent::new(settings, stop)?, built: false })
    }
}

impl Host for Local {
    fn facts(&self) -> &HostFacts {
        self.agent.facts()
    }

    fn inspect(&mut self, inspection: &Inspection) -> Result<Vec<Objection>, HostError> {
        Ok(self.agent.inspect(inspection))
    }

    fn fits(&mut self, work: &[PlannedWork]) -> Result<Vec<Objection>, HostError> {
        Ok(self.agent.fits(work))
    }

    fn build(
        &mut self,
        tag: &str,
        steps: &[Step],
        safety: &Safety,
        listener: Listener<'_>,
    ) -> Result<MadeNames, HostError> {
        self.built = true;
        self.agent.build(tag, steps, safety, listener)
    }

    fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        self.agent.run(job, listener)
    }

    fn undo(&mut self, listener: Listener<'_>) -> Result<(), HostError> {
        self.agent.undo(listener)?;
        self.built = false;
        Ok(())
    }

    fn close(mut self: Box<Self>) -> Result<(), HostError> {
        self.undo(&mut |_| ())
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        if self.built {
            // The journal keeps what cannot be undone now.
            let _ = self.agent.undo(&mut |_| ());
        }
    }
}
