//! md-workbench, the third tool of IOR's package: turns its command line into a workload, and what was measured into its report.
//!
//! 1. [`read`]: reads a command line into [`Settings`], by the table of [`options`].
//! 2. [`lower`]: the workload of a run: its phases over data sets of objects.
//! 3. [`print`]: its lines, each of a phase when that has ended.

mod lower;
pub mod options;
mod part;
pub mod print;
mod settings;

pub use crate::aiori::OptionError;
pub use lower::{Facts, lower};
pub use part::{Part, PartKind, Sums};
pub use settings::Settings;

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
    help_of("md-workbench", options::ROWS)
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
