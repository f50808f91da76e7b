//! State that all requests share.

use crate::admission::{AllowedHosts, RateLimiter};
use crate::database::ServedDatabase;
use crate::metrics::Counters;
use crate::readers::Readers;
use plumb_cli::output::error_line;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Interval at which the server takes in runs that wait next to the database.
const QUEUE_PERIOD: Duration = Duration::from_secs(5);

/// Browsers that follow a study at the same time.
const FOLLOWERS_MAX: usize = 32;

/// Uploads at the same time, each of which may hold a whole file in memory.
const UPLOADS_MAX: usize = 2;

/// Whether visitors are asked for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visitors {
    /// Everybody who reaches the server may read.
    Known,
    /// Reading needs a token.
    NeedToken,
}

/// Whether the server limits the rate of each sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    Limited,
    /// All requests come from one proxy, which limits them itself.
    ByProxy,
}

/// Choices that are made when the server starts.
#[derive(Debug, Clone)]
pub struct AppOptions {
    /// Names under which the server answers.
    pub hosts: AllowedHosts,
    pub visitors: Visitors,
    pub rates: Rates,
}

impl AppOptions {
    /// Serves this machine alone, at a port.
    pub fn loopback(port: u16) -> AppOptions {
        AppOptions { hosts: AllowedHosts::loopback(port), visitors: Visitors::Known, rates: Rates::Limited }
    }
}

/// State that all requests share.
#[derive(Debug)]
pub struct App {
    pub(crate) readers: Arc<Readers>,
    pub(crate) options: AppOptions,
    pub(crate) rates: RateLimiter,
    pub(crate) counters: Counters,
    pub(crate) followers: Arc<Semaphore>,
    pub(crate) uploads: Arc<Semaphore>,
    pub(crate) database: ServedDatabase,
}

impl App {
    /// Creates the server of a database that exists and has this version's schema.
    pub fn new(database: ServedDatabase, options: AppOptions) -> App {
        App {
            readers: Arc::new(Readers::new(database.clone())),
            options,
            rates: RateLimiter::default(),
            counters: Counters::default(),
            followers: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
            uploads: Arc::new(Semaphore::new(UPLOADS_MAX)),
            database,
        }
    }

    /// Takes short runs into the database that wait next to it, again and again, so that lists show them. Opens the database for
    /// writing only if there are any.
    pub async fn take_in_queued_runs(self: Arc<App>) {
        loop {
            let database = self.database.clone();
            let taken = tokio::task::spawn_blocking(move || database.take_in_queued_runs());
            if let Ok(Err(error)) = taken.await {
                error_line!("note: runs next to the database wait: {error}");
            }
            tokio::time::sleep(QUEUE_PERIOD).await;
        }
    }
}
