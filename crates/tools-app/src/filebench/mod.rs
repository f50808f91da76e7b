//! Filebench: turns a script of its workload model language into a workload, and results into its statistics.
//!
//! 1. The whole script is parsed before it runs.
//! 2. A [`Session`] obeys them one after another, up to the run.
//! 3. What was defined until then becomes a [`Plan`]: a workload over file sets that all workers share.
//! 4. [`statistics`] and [`summary`] are what is printed of it.
//!
//! Both the style of 1.5-alpha3 and what scripts for 1.4 use besides are read.

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

/// The version whose language this is.
pub const VERSION: &str = "1.5-alpha3";
