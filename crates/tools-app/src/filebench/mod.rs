//! Filebench: turns a script of its workload model language into a workload, and results into its statistics.
//!
//! - The whole script is parsed before it runs.
//! - A [`Session`] executes the commands one after another, up to the run.
//! - The definitions up to there become a [`Plan`]: a workload over file sets that all workers share.
//! - [`statistics`] and [`summary`] format the results.
//!
//! Scripts may use the style of 1.5-alpha3 and the additional syntax of 1.4.

mod call;
mod lex;
mod lower;
mod parse;
mod personalities;
mod positions;
mod report;
mod script;
mod session;
mod table;
#[cfg(test)]
mod tests;
mod usage_error;
mod variables;

pub use call::{Action, Call, custom_variables, help, read};
pub use lex::Place;
pub use lower::{Line, PHASE, Plan, Started};
pub use personalities::{PERSONALITIES, Personality};
pub use report::{since, statistics, summary};
pub use script::QuitMode;
pub use session::{Answer, ReadScript, Session};
pub use usage_error::FilebenchUsageError;

/// The version whose language is supported.
pub const VERSION: &str = "1.5-alpha3";
