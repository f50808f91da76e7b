//! IOR: turns its command line and scripts into workloads, and results into its reports.
//!
//! 1. [`read`]: reads a command line, with its script, into the [`Test`]s to run, by the table of [`options`].
//! 2. [`lower::lower`]: the workload of one repetition: a worker for each rank, and phases of open, transfers and close.
//! 3. [`print`]: the table, JSON and CSV, from the [`Access`]es of all repetitions.

pub mod help;
pub mod lower;
pub mod options;
pub mod print;
mod result;
mod script;
mod settings;

pub use crate::aiori::Wrong;
pub use lower::{Facts, Lowered, lower};
pub use result::{Access, AccessKind};
pub use settings::{Api, Form, Random, Reorder, Test};

use crate::FileError;
use crate::aiori::{BACKENDS, Said};

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// The options.
    Help,
    /// These tests, and what was said and has no effect.
    Run(Vec<Test>, Vec<(String, &'static str)>),
}

/// Reads a command line, without the name of the program. `file` gives the text of a script.
///
/// # Errors
/// The first error in it.
pub fn read(words: &[String], file: &mut dyn FnMut(&str) -> Result<String, FileError>) -> Result<Asked, Wrong> {
    let mut said = Said::read(words, &[options::OPTIONS, BACKENDS])?;
    if said.help {
        return Ok(Asked::Help);
    }
    for text in std::mem::take(&mut said.directives) {
        for directive in text.split(',').filter(|text| !text.trim().is_empty()) {
            script::directive(&mut said, directive)?;
        }
    }
    let tests = match said.text("f").map(str::to_owned) {
        Some(path) => {
            let text = file(&path).map_err(|error| Wrong::Conflict(format!("-f {path}: {error}")))?;
            script::read(&said, &path, &text)?
        }
        None => vec![said],
    };
    let mut ignored: Vec<(String, &'static str)> = Vec::new();
    for said in &tests {
        for row in &said.ignored {
            if !ignored.contains(row) {
                ignored.push(row.clone());
            }
        }
    }
    let tests = (0..).zip(&tests).map(|(number, said)| settings::test(said, number)).collect::<Result<_, _>>()?;
    Ok(Asked::Run(tests, ignored))
}

#[cfg(test)]
mod tests;
