//! IO500: reads its configuration, turns each phase into a command line of IOR or mdtest, and prints its results and score.
//!
//! 1. [`read`]: reads a command line and its configuration, by the table of [`table`], into a [`Plan`].
//! 2. [`Plan::tasks`]: the phases in their order, each with the words that it runs, read by [`crate::ior`] and [`crate::mdtest`].
//! 3. [`print`]: the lines and files of results, from the [`Outcome`]s of phases; [`score`]: the score and the hash.
//!
//! What this gives is "io500-style": the phases, parameters and formula are IO500's, the program is not.

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

pub use command_line::{Asked, Given, help, read};
pub use error::{ConfigError, Io500Error, Problem};
pub use find::{Find, FindResult, FoundByThread};
pub use hash::Hash;
pub use ini::Config;
pub use phase::{Group, Outcome, Phase, Unit};
pub use plan::{Plan, Task, Work};

/// The name under which results of this kind are printed, stored and hashed. It is none that IO500 has.
pub const STYLE: &str = "io500-style";
/// The release whose phases and parameters are followed. Source: IO500 io500-isc26_v2.
pub(crate) const FOLLOWS: &str = "isc26";

#[cfg(test)]
mod tests;
