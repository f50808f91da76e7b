//! A host whose listening agent builds systems.

use crate::host::HostError;
use crate::link::{FarHost, Link};
use crate::protocol::HostFacts;
use plumb_engine::signals::StopFlag;
use std::io::{Read, Write};
use std::time::Duration;

/// Time limit for the first answer: the agent first takes down what killed processes left.
const HELLO_TIMEOUT: Duration = Duration::from_secs(60);

/// Time limit for the agent to take down what it built.
const BYE_TIMEOUT: Duration = Duration::from_secs(60);

/// A host whose agent was started with `--allow-build`. It builds and takes down; the runs have connections of their own.
pub struct FarAgent {
    name: String,
    link: Link,
    facts: HostFacts,
}

impl FarAgent {
    /// Sends the first request over a connection that the agent accepted for building. The connection must end when
    /// the writer is dropped: the agent then takes down what it built.
    ///
    /// # Errors
    /// Returns an error if the agent does not answer, or has another version of the protocol.
    pub fn over(
        name: &str,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
        interrupted: Option<StopFlag>,
    ) -> Result<FarAgent, HostError> {
        let mut link = Link::new(reader, writer, interrupted);
        let facts = link.hello(HELLO_TIMEOUT)?;
        Ok(FarAgent { name: name.to_owned(), link, facts })
    }
}

impl FarHost for FarAgent {
    fn facts(&self) -> &HostFacts {
        &self.facts
    }

    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn explain_loss(&mut self, reason: &str) -> HostError {
        HostError::Lost(format!("{}: its agent no longer builds: {reason}", self.name))
    }

    fn end(&mut self) -> Result<(), HostError> {
        match self.link.wait_for_end(BYE_TIMEOUT) {
            true => Ok(()),
            false => Err(self.explain_loss(&format!("it did not finish within {} s", BYE_TIMEOUT.as_secs()))),
        }
    }
}
