//! The database that the server shows: a local file, or a team's PostgreSQL.

use plumb_cli::common::Common;
use plumb_cli::exit::Stopped;
use plumb_cli::session;
use plumb_postgres::{Address, Pushed, ShareError, SharedStore};
use plumb_result::RunResult;
use plumb_store::{Imported, ServedStore, Store, StoreError};
use std::path::PathBuf;
use std::time::Duration;

/// Longest time that a team's server works on a statement: less than a request may take.
const STATEMENT_TIME: Duration = Duration::from_secs(50);

/// The database that the server shows.
#[derive(Debug, Clone)]
pub enum ServedDatabase {
    /// A local file, which has this version's schema.
    Local(PathBuf),
    /// A team's PostgreSQL. Each connection uses the rights of the user in the address.
    Team(Address),
}

impl ServedDatabase {
    /// Finds the database that `--db` or PLUMB_DB names, else the user's own. Creates a local one that is missing, and brings an
    /// older one to this version's schema.
    ///
    /// # Errors
    /// The address is wrong, or the file cannot be opened.
    pub(crate) fn find(common: &Common) -> Result<ServedDatabase, Stopped> {
        if let Some(text) = session::shared_address(common) {
            let address = Address::from_env(text);
            return Ok(ServedDatabase::Team(
                address.map_err(|error| Stopped::usage(format!("--db or PLUMB_DB: {error}")))?,
            ));
        }
        let store = match &common.db {
            Some(_) => session::store_to_change(common)?,
            None => session::store(common)?,
        };
        Ok(ServedDatabase::Local(store.path().to_owned()))
    }

    /// Opens a connection that only reads.
    pub(crate) fn open_reader(&self) -> Result<Box<dyn ServedStore>, StoreError> {
        Ok(match self {
            ServedDatabase::Local(path) => Box::new(Store::open_reader(path)?),
            ServedDatabase::Team(address) => {
                let mut store = SharedStore::open_to_read(address)?;
                store.limit_statements(STATEMENT_TIME)?;
                Box::new(store)
            }
        })
    }

    /// Opens the database to start the server, or to make and revoke tokens. Creates or migrates its schema if this user may.
    pub(crate) fn open_to_administer(&self) -> Result<Box<dyn ServedStore>, StoreError> {
        Ok(match self {
            ServedDatabase::Local(path) => Box::new(Store::open(path)?),
            ServedDatabase::Team(address) => Box::new(SharedStore::open_to_push(address)?),
        })
    }

    /// Stores results, and returns what became of each. Those before one that is refused stay stored.
    pub(crate) fn import(&self, results: &[RunResult]) -> Result<Vec<Imported>, StoreError> {
        match self {
            ServedDatabase::Local(path) => {
                let mut store = Store::open(path)?;
                results.iter().map(|result| store.import(result)).collect()
            }
            ServedDatabase::Team(address) => {
                let mut shared = SharedStore::open_to_push(address)?;
                results.iter().map(|result| import_shared(&mut shared, result)).collect()
            }
        }
    }

    /// Takes short runs into the database that wait next to a local file.
    pub(crate) fn take_in_queued_runs(&self) -> Result<(), StoreError> {
        match self {
            ServedDatabase::Local(path) if Store::has_queued_runs(path) => Store::open(path).map(drop),
            ServedDatabase::Local(_) | ServedDatabase::Team(_) => Ok(()),
        }
    }
}

/// Pushes a result as `plumb push` does: through the rows of a local store, here one in memory.
fn import_shared(shared: &mut SharedStore, result: &RunResult) -> Result<Imported, StoreError> {
    let mut local = Store::open_in_memory()?;
    local.import(result)?;
    match shared.push(&local.local_run(&result.id)?) {
        Ok(Pushed::Added) => Ok(Imported::Added),
        Ok(Pushed::Present) => Ok(Imported::Unchanged),
        Err(ShareError::OtherResult { id, .. }) => Err(StoreError::OtherResult { id }),
        Err(error) => Err(error.into()),
    }
}
