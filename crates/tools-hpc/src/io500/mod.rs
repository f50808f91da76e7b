//! IO500: reads its configuration, turns each phase into a command line of IOR or mdtest, and prints results and
//! score.
//!
//! - [`read`] parses a command line and its configuration into a [`Plan`], by the table of [`table`].
//! - [`Plan::tasks`] holds the phases in order, each with its arguments, which [`crate::ior`] and [`crate::mdtest`]
//!   parse.
//! - [`print`] formats the results from the [`Outcome`]s of phases; [`score`] computes score and hash.
//!
//! The results are "io500-style": the phases, parameters and formula are IO500's, but the program is not.

mod command_line;
mod error;
mod find;
mod hash;
mod ini;
mod phase;
mod plan;
pub mod print;
pub mod score;
pub mod table;

pub use command_line::{Given, Invocation, help, read};
pub use error::{ConfigError, Io500Error, Problem};
pub use find::{Find, FindResult, FoundByThread};
pub use hash::Hash;
pub use ini::Config;
pub use phase::{Group, Outcome, Phase, Unit};
pub use plan::{Plan, Task, Work};

/// Name under which these results are printed, stored and hashed. IO500 does not use it.
pub const STYLE: &str = "io500-style";
/// The release whose phases and parameters are used. Source: IO500 io500-isc26_v2.
pub(crate) const FOLLOWS: &str = "isc26";

#[cfg(test)]
mod tests;
