//! The routes, and the state that all requests share.

use crate::fault::Fault;
use crate::metrics::{self, Counters};
use crate::protection::{self, AllowedHosts, RateLimiter};
use crate::readers::Readers;
use crate::{api, assets, pages};
use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::get;
use plumb_cli::output::error_line;
use plumb_store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tower_http::compression::CompressionLayer;
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

/// Longest time between a request's head and the head of its answer.
const DEADLINE: Duration = Duration::from_secs(60);

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
    pub(crate) path: PathBuf,
}

impl App {
    /// Creates the server of a database that exists and has this version's schema.
    pub fn new(database: &Path, options: AppOptions) -> App {
        App {
            readers: Arc::new(Readers::new(database)),
            options,
            rates: RateLimiter::default(),
            counters: Counters::default(),
            followers: Arc::new(Semaphore::new(FOLLOWERS_MAX)),
            uploads: Arc::new(Semaphore::new(UPLOADS_MAX)),
            path: database.to_owned(),
        }
    }

    /// Takes short runs into the database that wait next to it, again and again, so that lists show them. Opens the database for
    /// writing only if there are any.
    pub async fn take_in_queued_runs(self: Arc<App>) {
        loop {
            let path = self.path.clone();
            let taken = tokio::task::spawn_blocking(move || match Store::has_queued_runs(&path) {
                true => Store::open(&path).map(drop),
                false => Ok(()),
            });
            if let Ok(Err(error)) = taken.await {
                error_line!("note: runs next to the database wait: {error}");
            }
            tokio::time::sleep(QUEUE_PERIOD).await;
        }
    }
}

/// Returns the routes with all protection around them.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(pages::runs::page))
        .route("/runs", get(pages::runs::page))
        .route("/runs/{id}", get(pages::run::page))
        .route("/compare", get(pages::compare::page))
        .route("/comparisons/{id}", get(pages::compare::stored))
        .route("/history", get(pages::history::page))
        .route("/machines", get(pages::machines::page))
        .route("/changes", get(pages::machines::changes))
        .route("/studies", get(pages::studies::list))
        .route("/studies/{id}", get(pages::studies::page))
        .route("/studies/{id}/events", get(pages::studies::events))
        .route("/conformance", get(pages::conformance::list))
        .route("/conformance/{id}", get(pages::conformance::page))
        .route("/assets/{name}", get(assets::asset))
        .route("/metrics", get(metrics::metrics))
        .nest("/api/v1", api::routes())
        .fallback(async || Fault::NotFound("no page has this address".to_owned()))
        .method_not_allowed_fallback(async || {
            (StatusCode::METHOD_NOT_ALLOWED, "this address does not take this method\n")
        })
        .layer(RequestBodyLimitLayer::new(api::UPLOAD_BYTES_MAX))
        .layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, DEADLINE))
        .layer(middleware::from_fn_with_state(Arc::clone(&app), protection::protect))
        .layer(CompressionLayer::new())
        .with_state(app)
}
