//! mdtest: turns its command line into workloads, and results into its report.
//!
//! 1. [`read`]: reads a command line into [`MdtestSettings`], by the table of [`options`].
//! 2. [`lower::lower`]: the workload of one iteration: its phases over trees of directories and items.
//! 3. [`print`]: the report, from the [`IterationResult`]s of all iterations; [`verbose`] and
//!    [`trace`]: more lines, for `-v` and the paths for `-v -v -v`.

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

/// What a command line asks for.
pub type Asked = aiori::Asked<MdtestSettings>;

/// What `-h` prints.
pub fn help() -> String {
    aiori::help("mdtest", options::TABLE)
}

/// Reads a command line, without the name of the program; its ranks are those that were launched, or threads.
///
/// # Errors
/// The first error in it.
pub fn read(words: &[String], launched: Option<&Launched>) -> Result<Asked, OptionError> {
    Asked::read(words, options::TABLE, |said| settings::settings(said, launched))
}

#[cfg(test)]
mod tests;
