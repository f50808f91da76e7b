//! Reading results from files (`plumb.result/1`), which anybody may have written.

use crate::run::{RESULT_SCHEMA, RunResult};
use plumb_document::{Node, ReadError, Value, json};
use plumb_workload::former;

/// A file of results may be this long, in bytes. A result of a hundred phases takes less than 1 MiB.
pub const FILE_BYTES_MAX: u64 = 256 << 20;

/// Error from reading a file as Plumb results. Results in a file are numbered from 1.
#[derive(Debug, thiserror::Error)]
pub enum ResultFileError {
    /// The file is not JSON; the message names line and column.
    #[error("not JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    /// The file ends before the JSON is complete.
    #[error("the file is cut off: {0}")]
    CutOff(#[source] serde_json::Error),
    /// The JSON was written by another program.
    #[error("not a Plumb result: it has no `schema`")]
    Foreign,
    /// The document is of another kind, or of a later version.
    #[error(
        "result {number}: schema `{found}` cannot be imported; only {RESULT_SCHEMA} can (`plumb export` writes it)"
    )]
    Schema {
        /// Number of the result in the file.
        number: usize,
        /// Value of the document's `schema` key.
        found: String,
    },
    /// The result does not match the schema; the message names the key.
    #[error("result {number}: {source}; `plumb schema result` describes the format")]
    Shape {
        /// Number of the result in the file.
        number: usize,
        /// The mismatch and its position.
        source: ReadError,
    },
    /// The id is not a valid run id.
    #[error("result {number}: `id` is {found:?}, which is not a UUID in lower case")]
    Id {
        /// Number of the result in the file.
        number: usize,
        /// The id that was found.
        found: String,
    },
    /// A text contains a control character, which could affect a terminal.
    #[error("result {number}: {path} contains the control character {character:?}")]
    Control {
        /// Number of the result in the file.
        number: usize,
        /// Path of the text within the result.
        path: String,
        /// First control character in the text.
        character: char,
    },
}

/// Reads a file with one result, or with a list of them as `plumb export` writes it.
///
/// # Errors
/// Returns a [`ResultFileError`] for the first problem. No result of a faulty file is returned.
pub fn read(text: &[u8]) -> Result<Vec<RunResult>, ResultFileError> {
    let node = json::parse(text).map_err(|error| match error.is_eof() {
        true => ResultFileError::CutOff(error),
        false => ResultFileError::Syntax(error),
    })?;
    match node.get_ref() {
        Value::List(list) => list.iter().enumerate().map(|(index, one)| read_one(one, index + 1)).collect(),
        _ => Ok(vec![read_one(&node, 1)?]),
    }
}

fn read_one(node: &Node, number: usize) -> Result<RunResult, ResultFileError> {
    let schema = node.get_ref().as_table().and_then(|table| table.get("schema"));
    let schema = schema.and_then(|schema| schema.get_ref().as_str()).ok_or(ResultFileError::Foreign)?;
    if schema != RESULT_SCHEMA {
        return Err(ResultFileError::Schema { number, found: schema.escape_debug().take(80).collect() });
    }
    if let Some((path, character)) = control(node, "") {
        return Err(ResultFileError::Control { number, path, character });
    }
    let mut node = node.clone();
    former::upgrade(&mut node);
    let result: RunResult = plumb_document::read(&node).map_err(|source| ResultFileError::Shape { number, source })?;
    if !is_uuid(&result.id) {
        return Err(ResultFileError::Id { number, found: result.id.chars().take(80).collect() });
    }
    Ok(result)
}

/// Returns the first control character in a key or text, with its path. Line feeds and tabs are allowed.
fn control(node: &Node, path: &str) -> Option<(String, char)> {
    let bad = |text: &str| text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    match node.get_ref() {
        Value::Text(text) => bad(text).map(|c| (path.to_owned(), c)),
        Value::List(list) => list.iter().enumerate().find_map(|(index, one)| control(one, &format!("{path}[{index}]"))),
        Value::Table(table) => table.iter().find_map(|(key, one)| match bad(key.get_ref()) {
            Some(c) => Some((format!("a key of `{path}`"), c)),
            None => {
                let dot = if path.is_empty() { "" } else { "." };
                control(one, &format!("{path}{dot}{}", key.get_ref()))
            }
        }),
        _ => None,
    }
}

/// Returns `true` for an id such as `018f0000-0000-7000-8000-00000000000a`.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}
