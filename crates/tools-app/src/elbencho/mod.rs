//! elbencho: turns its command line into a workload, and results into its tables and files.
//!
//! - [`read`] parses a command line into [`ElbenchoSettings`], by the table of [`options`].
//! - [`lower::lower`] builds a workload of elbencho's phases in their fixed order. [`lower::Places`] supplies facts
//!   about paths.
//! - [`print`] prints the table, CSV, JSON and live rows of a measured phase.
//!
//! With several [`hosts`], each lowers its own part, and their reports are merged. Real elbencho services are led over
//! their own [`protocol`]. Options for object storage, GPUs
//! and netbench are refused by name.

mod given;
pub mod help;
pub mod hosts;
pub mod lower;
pub mod options;
mod paths;
pub mod print;
pub mod protocol;
mod rules;
mod settings;
pub mod tree;
mod usage_error;

use given::GivenOptions;
use plumb_tools::FileError;
pub use settings::{Action, ElbenchoSettings, Live, LiveCsv, OutputSettings, Phases, Rwmix, TreeSettings};
pub use usage_error::ElbenchoUsageError;

/// The emulated version of elbencho.
pub const VERSION: &str = "3.1-10";

/// Parses a command line, without the name of the program. `file` returns the text of an options file.
///
/// # Errors
/// All errors in the command line.
pub fn read(
    words: &[String],
    file: &mut dyn FnMut(&str) -> Result<String, FileError>,
) -> Result<ElbenchoSettings, Vec<ElbenchoUsageError>> {
    let options = GivenOptions::read(words, file).map_err(|error| vec![error])?;
    let (settings, mut errors) = settings::read::settings(&options);
    rules::check(&settings, &mut errors);
    if errors.is_empty() { Ok(settings) } else { Err(errors) }
}

#[cfg(test)]
mod tests;
