//! Other files that people write by hand, with errors as good as a workload's.

use super::error::NativeError;
use super::locate::Document;
use crate::validate::Problem;
use plumb_document::toml;
use serde::de::DeserializeOwned;

/// Reads a form from TOML, then asks `problems` what in it makes no sense. Errors of syntax, of shape and of meaning
/// come back alike, each with its place. `source_name` is what errors call the text: its path, or `<stdin>`.
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
