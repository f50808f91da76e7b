//! md-workbench, the third tool of IOR's package: turns its command line into a workload, and measurements into its
//! report.
//!
//! - [`read`] parses a command line into [`MdWorkbenchSettings`], by the table of [`options`].
//! - [`lower`] builds the workload of a run: its phases over data sets of objects.
//! - [`print`] formats a line for each finished phase.

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

/// The request of a command line.
pub type Invocation = aiori::Invocation<MdWorkbenchSettings>;

/// Returns the page of `-h`.
pub fn help() -> String {
    aiori::help("md-workbench", options::TABLE)
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
