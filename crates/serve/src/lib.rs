//! Stored results in a browser, and over HTTP for programs: the program that `plumb serve` starts.
//!
//! A request is checked ([`protection`]), reads the store on a thread of its own ([`readers`]), and becomes a page of `pages` or
//! JSON of `api`. Nothing here judges: comparisons and reports come from the crates that the commands use.

#![cfg_attr(test, allow(clippy::disallowed_methods))] // tests write files

mod access;
mod admission;
mod api;
mod app;
mod assets;
mod connections;
mod database;
mod fault;
mod metrics;
mod pages;
mod parameters;
mod protection;
mod readers;
mod routes;
mod start;
mod tokens;

pub use admission::AllowedHosts;
pub use app::{App, AppOptions, Rates, Visitors};
pub use connections::{ConnectionLimits, serve_connections};
pub use database::ServedDatabase;
pub use routes::router;
pub use start::run;
