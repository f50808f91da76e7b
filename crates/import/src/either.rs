//! Reads a file of Plumb or of another tool.

use crate::{ForeignFile, ImportError, TOOLS, read, recognise};
use plumb_result::RunResult;
use plumb_result::reader::{self, ResultFileError};

/// Reason why no results can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// It is a result file of Plumb with a fault.
    #[error(transparent)]
    Own(ResultFileError),
    /// It is a file of a tool that `plumb import` knows, with a fault.
    #[error(transparent)]
    Foreign(ImportError),
    /// Neither Plumb nor a known tool wrote it, as far as its content shows.
    #[error("{0}; no tool is recognised either. If one of these wrote it, use --from TOOL: {tools}", tools = tool_names())]
    Unknown(ResultFileError),
}

fn tool_names() -> String {
    TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}

/// Reads Plumb's own results, or those of the recognised or named tool.
///
/// # Errors
/// The file is of neither, or is damaged.
pub fn read_results(file: &ForeignFile<'_>, from: Option<&str>) -> Result<Vec<RunResult>, ResultsError> {
    /// A Plumb result names its schema within its first bytes.
    const HEAD_BYTES: usize = 4096;
    let head = &file.bytes[..file.bytes.len().min(HEAD_BYTES)];
    let is_own = from.map_or_else(
        || head.windows(7).any(|part| part == b"\"plumb.") || recognise(file).is_none(),
        |name| name.eq_ignore_ascii_case("plumb"),
    );
    if !is_own {
        return read(file, from).map_err(ResultsError::Foreign);
    }
    reader::read(file.bytes).map_err(|error| match error {
        ResultFileError::Syntax(_) | ResultFileError::Foreign if from.is_none() => ResultsError::Unknown(error),
        other => ResultsError::Own(other),
    })
}
