//! mdtest: turns its command line into workloads, and results into its report.
//!
//! - [`read`] parses a command line into [`MdtestSettings`], by the table of [`options`].
//! - [`lower::lower`] builds the workload of one iteration: its phases on trees of directories and items.
//! - [`print`] formats the report from the [`IterationResult`]s of all iterations; [`verbose`] and [`trace`] add the
//!   lines of `-v` and the paths of `-v -v -v`.

pub mod lower;
pub mod options;
pub mod print;
mod result;
mod settings;
pub mod trace;
pub mod verbose;

pub use crate::aiori::OptionError;
pub use lower::{Facts, Lowered, lower};
pub use result::{IterationResult, RankTime, Test, TestResult};
pub use settings::{MdtestSettings, Prints};

use crate::aiori::{self, Launched};

/// The request of a command line.
pub type Invocation = aiori::Invocation<MdtestSettings>;

/// Returns the page of `-h`.
pub fn help() -> String {
    aiori::help("mdtest", options::TABLE)
}

/// Parses a command line, without the name of the program. Ranks are the launched processes, or threads.
///
/// # Errors
/// The first error.
pub fn read(words: &[String], launched: Option<&Launched>) -> Result<Invocation, OptionError> {
    Invocation::read(words, options::TABLE, |given| settings::settings(given, launched))
}

#[cfg(test)]
mod tests;
