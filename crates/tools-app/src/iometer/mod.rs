//! IOMeter: its command line, its configuration files (`.icf`) and its results as CSV.
//!
//! A file assigns targets and access specifications to workers, and states what changes from test to test.
//! [`Config::parse`] parses it, [`Config::tests`] lists its tests, [`lower()`] lowers each to a workload, and
//! [`print`](mod@print) formats the results.

mod builtin;
mod config;
mod error;
pub mod lower;
mod parse;
pub mod print;
mod series;
mod settings;

pub use builtin::{built_in, section};
pub use config::{Config, Setup, Spec, Worker};
pub use error::{IometerFileError, IometerFlaw};
pub use lower::{NoWorkload, Place, lower};
pub use series::Test;
pub use settings::{Action, IometerSettings, Misuse, help, read};

#[cfg(test)]
mod tests;
