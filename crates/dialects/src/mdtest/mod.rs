//! mdtest: turns its command line into workloads, and results into its report.
//!
//! 1. [`read`]: reads a command line into [`Settings`], by the table of [`options`].
//! 2. [`lower::lower`]: the workload of one iteration: its phases over trees of directories and items.
//! 3. [`print`]: the report, from the [`IterationResult`]s of all iterations; [`trace`]: the paths, for `-v -v -v`.

pub mod lower;
pub mod options;
pub mod print;
mod result;
mod settings;
pub mod trace;

pub use crate::aiori::OptionError;
pub use lower::{Facts, Lowered, lower};
pub use result::{IterationResult, RankTime, Test, TestResult};
pub use settings::{Prints, Settings};

use crate::aiori::{Launched, Said, help as help_of};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The options.
    Help,
    /// A run, with what was said and has no effect.
    Run(Box<Settings>, Vec<(String, &'static str)>),
}

/// What `-h` prints.
pub fn help() -> String {
    help_of("mdtest", options::ROWS)
}

/// Reads a command line, without the name of the program; its ranks are those that were launched, or threads.
///
/// # Errors
/// The first error in it.
pub fn read(words: &[String], launched: Option<&Launched>) -> Result<Asked, OptionError> {
    let said = Said::read(words, options::ROWS)?;
    if said.help {
        return Ok(Asked::Help);
    }
    let settings = settings::settings(&said, launched)?;
    Ok(Asked::Run(Box::new(settings), said.ignored))
}

#[cfg(test)]
mod tests;
