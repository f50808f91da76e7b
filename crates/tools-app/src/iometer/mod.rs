//! IOMeter: its command line, its configuration files (`.icf`) and its results as CSV.
//!
//! A file says which workers go to which targets, which access specifications each of them is assigned, and what changes from
//! test to test. [`Config::parse`] reads it, [`Config::tests`] says which tests that makes, [`lower()`] makes a workload of each,
//! and [`print`](mod@print) writes what IOMeter writes.

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
pub use error::{Flaw, WrongFile};
pub use lower::{NoWorkload, Place, lower};
pub use series::Test;
pub use settings::{Action, IometerSettings, Misuse, help, read};

#[cfg(test)]
mod tests;
