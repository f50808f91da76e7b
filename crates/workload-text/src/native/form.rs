//! Other files that users write by hand, with the same quality of errors as workloads.

use super::error::NativeError;
use super::locate::Document;
use crate::validate::Problem;
use plumb_document::toml;
use serde::de::DeserializeOwned;

/// Parses a form from TOML and validates it with `problems`. Errors of syntax, shape and meaning are reported alike,
/// each with its position. `source_name` is the name of the text in errors: its path, or `<stdin>`.
pub fn read_form<T: DeserializeOwned>(
    source_name: &str,
    text: &str,
    problems: impl FnOnce(&T) -> Vec<Problem>,
) -> Result<T, NativeError> {
    let document = Document::new(source_name, text, &[]);
    let tree = toml::parse(document.text()).map_err(|error| document.syntax_error(&error))?;
    let form = document.read_tree(&tree)?;
    let problems = problems(&form);
    if problems.is_empty() { Ok(form) } else { Err(document.problems(&tree, problems)) }
}
