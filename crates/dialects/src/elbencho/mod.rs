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

pub use settings::{Action, Live, LiveCsv, Output, Phases, Rwmix, Settings, TreeSettings};

use said::Said;

/// The version whose language this is.
pub const VERSION: &str = "3.1-10";

/// What is wrong with a command line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// No such option.
    #[error("there is no option `{given}`{}", hint(.nearest))]
    Unknown {
        /// As given.
        given: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
    },
    /// It may stand for several.
    #[error("`{given}` may stand for {candidates}; write it out")]
    Ambiguous {
        /// As given.
        given: String,
        /// Names.
        candidates: String,
    },
    /// It needs a value.
    #[error("--{name} needs a value: --{name} VALUE")]
    NoValue {
        /// The option.
        name: &'static str,
    },
    /// It takes none.
    #[error("--{name} takes no value but true and false; `{value}` is neither")]
    NoSuchSwitch {
        /// The option.
        name: &'static str,
        /// As given.
        value: String,
    },
    /// Twice.
    #[error("--{name} is given twice; give it once")]
    Twice {
        /// The option.
        name: &'static str,
    },
    /// The value is no such value.
    #[error("--{name}: `{value}` is {found}; {way_out}")]
    Value {
        /// The option.
        name: &'static str,
        /// As given.
        value: String,
        /// What is wrong.
        found: &'static str,
        /// What is right.
        way_out: &'static str,
    },
    /// Not there yet.
    #[error("--{name}: not yet: {why}")]
    NotYet {
        /// The option.
        name: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// Never.
    #[error("--{name}: never, because {why}")]
    Never {
        /// The option.
        name: &'static str,
        /// Why.
        why: &'static str,
    },
    /// A file of options.
    #[error("--configfile: {0}")]
    ConfigFile(String),
    /// Options that exclude one another, or one that needs another.
    #[error("{0}")]
    Together(String),
}

fn hint(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `--{name}`?"),
        None => "; --help-all tells all of them".to_owned(),
    }
}

/// Reads a command line, without the name of the program. `file` gives the text of a file of options.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(words: &[String], file: &mut dyn FnMut(&str) -> Result<String, String>) -> Result<Settings, Vec<Wrong>> {
    let said = Said::read(words, file).map_err(|wrong| vec![wrong])?;
    settings::settings(&said)
}

#[cfg(test)]
mod tests;
