//! Storage of results.

use crate::not_stored::NotStored;
use crate::outcome::RunError;
use plumb_result::{Measurement, RunResult};
use plumb_store::{BUSY_TIMEOUT, Queue, ResultStore, RunLog, Store};
use std::time::Duration;

/// Longest wait for a locked database after an earlier run has waited in vain.
const BUSY_AGAIN: Duration = Duration::from_secs(1);

/// Destination of results: the store, the queue in front of it, or none.
#[derive(Default)]
pub struct ResultLog {
    /// `None` if nothing is stored.
    pub store: Option<Store>,
    /// Receives runs instead of the store, which is not opened then: for commands that only run.
    pub queue: Option<Queue>,
    /// Results of all runs so far that the store refused.
    pub not_stored: Option<NotStored>,
}

impl ResultLog {
    /// Returns the store for reading; `None` if nothing is stored.
    pub fn stored(&self) -> Option<&dyn ResultStore> {
        self.store.as_ref().map(|store| store as &dyn ResultStore)
    }

    /// Returns the log of the next run.
    pub(super) fn run_log(&mut self) -> Option<&mut dyn RunLog> {
        match (&mut self.store, &mut self.queue) {
            (Some(store), _) => Some(store),
            (None, Some(queue)) => Some(queue),
            (None, None) => None,
        }
    }

    /// Marks a run that has no result.
    pub(super) fn fail(&mut self, id: &str, error: RunError) -> RunError {
        if let Some(log) = self.run_log() {
            // Fails if the run had not begun; then there is nothing to mark.
            let _ = log.fail_run(id, &error.to_string());
        }
        error
    }

    /// Stores a result, or saves it to a file. A stored result is complete, even after failed heartbeats.
    pub(super) fn finish(&mut self, result: &RunResult, measurement: &Measurement) -> Option<NotStored> {
        let log = self.run_log()?;
        let finished = log.finish_run(result, measurement);
        // Another program that has locked the database for so long may keep it locked. Later runs of this process ask
        // again, and wait for less time. If the timeout cannot be set, they wait as long as before.
        let _ = log.wait_at_most(if finished.is_ok() { BUSY_TIMEOUT } else { BUSY_AGAIN });
        let not_stored = finished.err().map(|error| NotStored::result(log.path(), error.to_string(), result));
        NotStored::add(&mut self.not_stored, not_stored.clone());
        not_stored
    }
}
