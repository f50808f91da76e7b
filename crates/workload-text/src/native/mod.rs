//! The native form: workloads as TOML.
//!
//! [`parse`] reads text, [`to_toml`] writes it, and [`parse_with`] reads it with [`Override`]s (`--set key=value`).
//! `schemas/workload.json` describes the form for editors. Errors in the text or its meaning are returned as one
//! [`NativeError`] whose [`Diagnostic`]s have positions.

mod error;
mod form;
mod given;
mod locate;
pub(crate) mod overrides;
mod print;
#[cfg(feature = "schema")]
mod schema;
#[cfg(test)]
mod tests;
mod wording;

pub use error::{Diagnostic, NativeError, TextOrigin};
pub use form::read_form;
pub use given::{Override, OverrideError};
pub use locate::{Document, LocatedFailure, SpannedTable, place_of};
pub use overrides::{Reach, SHORTHANDS, Shorthand, over};
pub use print::{PrintError, to_toml};
#[cfg(feature = "schema")]
pub use schema::schema;

use crate::validate::validate;
use plumb_document::toml;
use plumb_workload::Workload;
use plumb_workload::former;

/// Parses and validates a workload. `source_name` is the name of the text in errors: its path, or `<stdin>`.
pub fn parse(source_name: &str, text: &str) -> Result<Workload, NativeError> {
    parse_with(source_name, text, &[])
}

/// Parses a workload, applies the overrides in order, and validates the result.
pub fn parse_with(source_name: &str, text: &str, overrides: &[Override]) -> Result<Workload, NativeError> {
    let document = Document::new(source_name, text, overrides);
    let mut tree = toml::parse(document.text()).map_err(|error| document.syntax_error(&error))?;
    former::upgrade_table(tree.get_mut());
    overrides::apply(&document, &mut tree)?;
    former::upgrade_table(tree.get_mut());
    let workload: Workload = document.read_tree(&tree)?;
    let problems = validate(&workload);
    if problems.is_empty() { Ok(workload) } else { Err(document.problems(&tree, problems)) }
}

/// Applies overrides to a workload from elsewhere, such as a named one or a dialect's, and validates it.
///
/// Errors name the override. Errors in the workload itself show it in its native form.
pub fn with_overrides(workload: &Workload, overrides: &[Override]) -> Result<Workload, NativeError> {
    let source_name = format!("<{}>", workload.name);
    match to_toml(workload) {
        Ok(text) => parse_with(&source_name, &text, overrides),
        Err(error) => Err(Document::new(&source_name, "", &[]).whole(error.to_string())),
    }
}
