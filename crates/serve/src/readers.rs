//! Connections to the database. They block, so each request reads on a thread for blocking work.

use crate::database::ServedDatabase;
use crate::fault::Fault;
use plumb_store::ServedStore;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Number of requests that read at the same time.
const READERS: usize = 6;

/// Number of requests that read and compute for long, such as comparisons, at the same time. The others stay for lists.
const LONG_READERS: usize = 2;

/// Longest time that a request waits for its turn.
const TURN: Duration = Duration::from_secs(10);

/// Amount of data that a request reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A list, or a single row.
    Brief,
    /// The results of whole runs.
    Long,
}

type Connection = Box<dyn ServedStore>;

/// Read-only connections, which requests share in turn.
pub(crate) struct Readers {
    database: ServedDatabase,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
    long_turns: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(database: ServedDatabase) -> Readers {
        Readers {
            database,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(READERS)),
            long_turns: Arc::new(Semaphore::new(LONG_READERS)),
        }
    }

    /// Calls `work` with a connection, on a thread for blocking work.
    pub(crate) async fn read<T: Send + 'static>(
        self: &Arc<Readers>,
        effort: Effort,
        work: impl FnOnce(&dyn ServedStore) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let mut held = Vec::with_capacity(2);
        if effort == Effort::Long {
            held.push(turn(&self.long_turns).await?);
        }
        held.push(turn(&self.turns).await?);
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            // A request that is given up goes on here, so it keeps its turn until it ends.
            let _held = held;
            let store = readers.take()?;
            let found = work(&*store);
            let mut idle = readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
            match found {
                // After an error, later requests start with new connections: a server that restarted ended all of them.
                Err(Fault::Database(_)) => idle.clear(),
                _ => idle.push(store),
            }
            found
        });
        reading.await.unwrap_or_else(|panic| Err(Fault::Database(panic.to_string())))
    }

    fn take(&self) -> Result<Connection, Fault> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(match idle {
            Some(store) => store,
            None => self.database.open_reader()?,
        })
    }
}

impl Drop for Readers {
    /// Closes the connections on a thread of its own: those of PostgreSQL must not end on a thread that runs async tasks.
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = std::thread::spawn(move || drop(idle)).join();
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("database", &self.database).finish_non_exhaustive()
    }
}

async fn turn(turns: &Arc<Semaphore>) -> Result<tokio::sync::OwnedSemaphorePermit, Fault> {
    match tokio::time::timeout(TURN, Arc::clone(turns).acquire_owned()).await {
        Ok(Ok(permit)) => Ok(permit),
        _ => Err(Fault::Busy),
    }
}
