//! elbencho's language: its command line in, a workload out; what was measured in, its tables and files out.
//!
//! 1. [`read`]: words become [`Settings`] by the table of [`options`].
//! 2. [`lower::lower`]: settings become a workload of elbencho's phases in their fixed order; a look at the paths comes in
//!    through [`lower::Places`].
//! 3. [`print`]: a phase as measured becomes the table, CSV, JSON and live rows that its readers expect.
//!
//! What object storage, GPUs, services and netbench need is refused by name.

pub mod help;
pub mod lower;
pub mod options;
mod paths;
pub mod print;
mod said;
mod settings;
pub mod tree;
mod wrong;

use crate::FileError;
use said::Said;
pub use settings::{Action, Live, LiveCsv, OutputSettings, Phases, Rwmix, Settings, TreeSettings};
pub use wrong::Wrong;

/// The version whose language this is.
pub const VERSION: &str = "3.1-10";

/// Reads a command line, without the name of the program. `file` gives the text of a file of options.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(words: &[String], file: &mut dyn FnMut(&str) -> Result<String, FileError>) -> Result<Settings, Vec<Wrong>> {
    let said = Said::read(words, file).map_err(|wrong| vec![wrong])?;
    settings::settings(&said)
}

#[cfg(test)]
mod tests;
