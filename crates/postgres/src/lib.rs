//! Results that a team shares in PostgreSQL: the address, the connection, the schema, push, pull, and all reads of
//! [`plumb_store::ServedStore`].
//!
//! A measuring process never links or calls this crate: runs go to the local store, and `plumb push` copies them
//! afterwards. `docs/team.md` describes what users see. A push is idempotent: a run is one transaction, addressed by its id
//! and compared by the hash of its result.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod address;
mod error;
mod overview;
mod password;
mod pull;
mod push;
mod query;
mod read;
mod retention;
mod schema;
mod search;
mod tls;
mod token;

pub use address::{Address, AddressError};
pub use error::ShareError;
pub use push::Pushed;
pub use retention::{OldRows, Retention};
pub use schema::SCHEMA_VERSION;

use postgres::{Client, Config, Statement};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

/// Time until a connection attempt is given up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Time without an answer to sent data after which the server counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// A connection to the team's database.
pub struct SharedStore {
    /// Reads need a client that changes, and the interface of all databases reads through `&self`.
    client: RefCell<Client>,
    destination: String,
    /// The destination, for errors of the local store.
    location: PathBuf,
    /// Months whose partitions this connection has seen.
    months: HashSet<String>,
    /// Rows of tables that runs share, by table, which this connection has seen there.
    present: HashSet<(&'static str, String)>,
    /// Prepared inserts by their SQL: the server parses each once, and not for each run.
    inserts: HashMap<String, Statement>,
}

impl std::fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedStore").field("destination", &self.destination).finish_non_exhaustive()
    }
}

impl SharedStore {
    /// Connects, and creates or migrates the schema if this user may.
    ///
    /// # Errors
    /// Fails if the server does not answer or refuses the user, and if the schema does not fit this program.
    pub fn open_to_push(address: &Address) -> Result<SharedStore, ShareError> {
        let mut store = SharedStore::connect(address)?;
        schema::prepare(&mut store)?;
        Ok(store)
    }

    /// Connects without changing anything: the server refuses every write of this connection.
    ///
    /// # Errors
    /// Fails like [`SharedStore::open_to_push`], and if nothing was pushed there yet.
    pub fn open_to_read(address: &Address) -> Result<SharedStore, ShareError> {
        let mut store = SharedStore::connect(address)?;
        schema::require(&mut store)?;
        let failed = store.failed("making its connection read-only");
        store.client.get_mut().batch_execute("SET default_transaction_read_only = on").map_err(failed)?;
        Ok(store)
    }

    /// Limits how long the server works on a statement of this connection, below the usual five minutes.
    ///
    /// # Errors
    /// Fails if the server does.
    pub fn limit_statements(&mut self, limit: Duration) -> Result<(), ShareError> {
        let failed = self.failed("setting its timeouts");
        let sql = format!("SET statement_timeout = {}", limit.as_millis());
        self.client.get_mut().batch_execute(&sql).map_err(failed)
    }

    fn connect(address: &Address) -> Result<SharedStore, ShareError> {
        let destination = address.destination();
        let mut config = Config::new();
        config.host(&address.host).port(address.port).user(&address.user).dbname(&address.database);
        config.application_name("plumb").connect_timeout(CONNECT_TIMEOUT).tcp_user_timeout(SILENCE_MAX);
        if let Some(password) = password::find(address)? {
            config.password(password);
        }
        let connected = match address.tls {
            address::Tls::Off => config.ssl_mode(postgres::config::SslMode::Disable).connect(postgres::NoTls),
            address::Tls::Verified => {
                let connector = tls::Connector::new(address.root_certificates.as_deref())?;
                config.ssl_mode(postgres::config::SslMode::Require).connect(connector)
            }
        };
        let mut client = connected.map_err(|error| ShareError::connect(&destination, &error))?;
        // A lost network or a forgotten lock must not block a push without end.
        client
            .batch_execute(
                "SET statement_timeout = '5min'; SET lock_timeout = '1min'; SET search_path = pg_catalog, plumb",
            )
            .map_err(|error| ShareError::server(&destination, "setting its timeouts", &error))?;
        let location = PathBuf::from(&destination);
        Ok(SharedStore {
            client: RefCell::new(client),
            destination,
            location,
            months: HashSet::new(),
            present: HashSet::new(),
            inserts: HashMap::new(),
        })
    }

    /// Returns host, port and database, without user and password.
    pub fn destination(&self) -> &str {
        &self.destination
    }

    fn failed(&self, doing: &'static str) -> impl Fn(postgres::Error) -> ShareError + use<> {
        let destination = self.destination.clone();
        move |error| ShareError::server(&destination, doing, &error)
    }
}
