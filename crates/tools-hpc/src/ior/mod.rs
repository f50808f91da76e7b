//! IOR: turns its command line and scripts into workloads, and results into its reports.
//!
//! - [`read`] parses a command line and its script into [`Test`]s, by the table of [`options`].
//! - [`lower::lower`] builds the workload of one repetition: a worker per rank, and phases of open, transfers and
//!   close.
//! - [`print`] formats the table, JSON and CSV from the [`Access`]es of all repetitions.

mod error;
pub mod hints;
mod json;
pub mod lower;
pub mod options;
pub mod print;
mod result;
mod rules;
mod script;
mod settings;
mod tables;

pub use crate::aiori::OptionError;
pub use error::IorError;
pub use lower::{Facts, Lowered, lower};
pub use result::{Access, AccessKind};
pub use settings::{AioOptions, Api, Form, Hog, MpiIoOptions, Random, Reorder, Test};

use crate::aiori::{GivenOptions, Launched, help as help_of};
use plumb_tools::FileError;

/// The request of a command line.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    Help,
    /// Run these tests; the second list holds options without effect.
    Run(Vec<Test>, Vec<(String, &'static str)>),
}

/// Options of a back end, which have no effect with other back ends.
struct BackEndOptions {
    back_end: &'static str,
    options: &'static [&'static str],
    why: &'static str,
}

static BACK_END_OPTIONS: [BackEndOptions; 2] = [
    BackEndOptions {
        back_end: "MPIIO",
        options: &["mpiio.preallocate", "mpiio.useFileView", "mpiio.hintsFileName"],
        why: "it belongs to -a MPIIO",
    },
    BackEndOptions { back_end: "AIO", options: &["aio.max-pending", "aio.granularity"], why: "it belongs to -a AIO" },
];

/// Returns the page of `-h`.
pub fn help() -> String {
    help_of("ior", options::TABLE)
}

/// Parses a command line, without the name of the program. Ranks are the launched processes, or threads. `file`
/// returns the text of a script.
///
/// # Errors
/// The first error.
pub fn read(
    words: &[String],
    launched: Option<&Launched>,
    file: &mut dyn FnMut(&str) -> Result<String, FileError>,
) -> Result<Invocation, IorError> {
    let given = GivenOptions::read(words, options::TABLE).map_err(IorError::Words)?;
    if given.help {
        return Ok(Invocation::Help);
    }
    let tests = match given.named("f") {
        Some(path) => {
            let text = file(&path).map_err(|error| IorError::Script { path: path.clone(), error })?;
            script::read(&given, &path, &text)?
        }
        None => vec![given],
    };
    let mut ignored: Vec<(String, &'static str)> = Vec::new();
    for given in &tests {
        for row in &given.ignored {
            if !ignored.contains(row) {
                ignored.push(row.clone());
            }
        }
    }
    for (given, of) in tests.iter().flat_map(|given| BACK_END_OPTIONS.iter().map(move |of| (given, of))) {
        if given.text("a").is_some_and(|api| api.eq_ignore_ascii_case(of.back_end)) {
            continue;
        }
        for option in of.options {
            let row = (format!("--{option}"), of.why);
            if given.is_given(option) && !ignored.contains(&row) {
                ignored.push(row);
            }
        }
    }
    let tests =
        (0..).zip(&tests).map(|(number, given)| settings::test(given, number, launched).map_err(IorError::Test));
    let tests = tests.collect::<Result<_, _>>()?;
    Ok(Invocation::Run(tests, ignored))
}

#[cfg(test)]
mod tests;
