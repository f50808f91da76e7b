//! elbencho: turns its command line into a workload, and results into its tables and files.
//!
//! 1. [`read`]: reads a command line into [`ElbenchoSettings`], by the table of [`options`].
//! 2. [`lower::lower`]: a workload of elbencho's phases in their fixed order; facts about the paths come from [`lower::Places`].
//! 3. [`print`]: the table, CSV, JSON and live rows of a measured phase.
//!
//! Over the hosts of [`hosts`], each lowers its own part, and their reports become one. Options for object storage, GPUs and netbench are
//! refused by name.

mod given;
pub mod help;
pub mod hosts;
pub mod lower;
pub mod options;
mod paths;
pub mod print;
mod rules;
mod settings;
pub mod tree;
mod usage_error;

use given::GivenOptions;
use plumb_tools::FileError;
pub use settings::{Action, ElbenchoSettings, Live, LiveCsv, OutputSettings, Phases, Rwmix, TreeSettings};
pub use usage_error::ElbenchoUsageError;

/// The version that is followed.
pub const VERSION: &str = "3.1-10";

/// Reads a command line, without the name of the program. `file` gives the text of a file of options.
///
/// # Errors
/// All errors in it.
pub fn read(
    words: &[String],
    file: &mut dyn FnMut(&str) -> Result<String, FileError>,
) -> Result<ElbenchoSettings, Vec<ElbenchoUsageError>> {
    let said = GivenOptions::read(words, file).map_err(|wrong| vec![wrong])?;
    let (settings, mut wrong) = settings::read::settings(&said);
    rules::check(&settings, &mut wrong);
    if wrong.is_empty() { Ok(settings) } else { Err(wrong) }
}

#[cfg(test)]
mod tests;
