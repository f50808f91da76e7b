//! The native form: workloads as TOML.
//!
//! [`parse`] reads text, [`to_toml`] writes it, [`parse_with`] reads it with [`Override`]s (`--set key=value`) put in,
//! and `schemas/workload.json` describes it for editors. Whatever is wrong, in the text or in what it means, comes back as one
//! [`NativeError`] whose [`Diagnostic`]s know their place.

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

/// Reads and validates a workload. `source_name` is what errors call the text: its path, or `<stdin>`.
pub fn parse(source_name: &str, text: &str) -> Result<Workload, NativeError> {
    parse_with(source_name, text, &[])
}

/// Reads a workload, puts the overrides in, in their order, and validates the outcome.
pub fn parse_with(source_name: &str, text: &str, overrides: &[Override]) -> Result<Workload, NativeError> {
    let document = Document::new(source_name, text, overrides);
    let mut tree = toml::parse(document.text()).map_err(|error| document.syntax_error(&error))?;
    former::bring_up_table(tree.get_mut());
    overrides::apply(&document, &mut tree)?;
    former::bring_up_table(tree.get_mut());
    let workload: Workload = document.read_tree(&tree)?;
    let problems = validate(&workload);
    if problems.is_empty() { Ok(workload) } else { Err(document.problems(&tree, problems)) }
}

/// A workload from elsewhere (a named one, a dialect's), with overrides put in, validated.
///
/// Errors name the override; those that lie in the workload itself show it in its native form.
pub fn with_overrides(workload: &Workload, overrides: &[Override]) -> Result<Workload, NativeError> {
    let source_name = format!("<{}>", workload.name);
    match to_toml(workload) {
        Ok(text) => parse_with(&source_name, &text, overrides),
        Err(error) => Err(Document::new(&source_name, "", &[]).whole(error.to_string())),
    }
}
