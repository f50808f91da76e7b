//! md-workbench, the third tool of IOR's package: turns its command line into a workload, and what was measured into its report.
//!
//! 1. [`read`]: reads a command line into [`MdWorkbenchSettings`], by the table of [`options`].
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
pub use settings::MdWorkbenchSettings;

use crate::aiori::{self, Launched};

/// What a command line asks for.
pub type Asked = aiori::Asked<MdWorkbenchSettings>;

/// What `-h` prints.
pub fn help() -> String {
    aiori::help("md-workbench", options::TABLE)
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
