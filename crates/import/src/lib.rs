//! Imports other tools' results from their files. Bytes in, results out; nothing here touches the system.
//!
//! A file's tool is recognised by its content; the table [`TOOLS`] has a row per tool. A reader makes a `Run` of each
//! run in the file, with numbers in base units, and `Run::result` converts it to a result. Its verdict is `unknown`,
//! because no file says what else ran at the same time.
//!
//! ```
//! use plumb_import::{ForeignFile, read};
//!
//! let text = "1073741824 bytes (1,1 GB, 1,0 GiB) copied, 2,5 s, 429 MB/s\n";
//! let file = ForeignFile { name: "dd.txt", bytes: text.as_bytes(), changed_at: Default::default() };
//! let runs = read(&file, None).unwrap();
//! assert_eq!(runs[0].tool.name, "dd");
//! assert_eq!(runs[0].imported.as_ref().unwrap().numbers[0].value, Some(1073741824.0 / 2.5));
//! ```

mod amount;
mod either;
mod error;
mod input;
mod json;
mod run;
mod stamps;
#[cfg(test)]
mod tests;
mod tools;
mod xml;

pub use either::{ResultsError, read_results};
pub use error::ImportError;
pub use tools::{TOOLS, Tool};

use input::Input;
use jiff::Timestamp;
use plumb_result::RunResult;

/// Longest file, bytes.
pub const FILE_BYTES_MAX: usize = 256 << 20;

/// Most values in a JSON file: each takes up to a hundred bytes of memory.
pub(crate) const VALUES_MAX: usize = 4_000_000;

/// Most runs in a file.
pub const RUNS_MAX: usize = 10_000;

/// Most numbers in a run.
pub const NUMBERS_MAX: usize = 100_000;

/// Bytes of a file that a result keeps.
pub(crate) const RAW_BYTES_MAX: usize = 1 << 20;

/// A file with another tool's results.
#[derive(Debug, Clone, Copy)]
pub struct ForeignFile<'a> {
    /// File name as typed; only its last component is kept.
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// Time of the last change. Used for runs without a time of their own.
    pub changed_at: Timestamp,
}

/// Returns the tool that seems to have written the file.
pub fn recognise(file: &ForeignFile<'_>) -> Option<&'static Tool> {
    inputs(file).iter().find_map(tool_of)
}

/// Reads the results in a file, of the recognised tool or of the named one. The same file always gives the
/// same runs with the same ids.
///
/// # Errors
/// The tool is unknown, the file is cut short or not in its tool's format, or it exceeds a limit.
pub fn read(file: &ForeignFile<'_>, from: Option<&str>) -> Result<Vec<RunResult>, ImportError> {
    if file.bytes.len() > FILE_BYTES_MAX {
        return Err(ImportError::TooLong { bytes: file.bytes.len() });
    }
    let named = from.map(tool_named).transpose()?;
    let inputs = inputs(file);
    let mut first_error = None;
    for input in &inputs {
        let Some(tool) = named.or_else(|| tool_of(input)) else { continue };
        match read_as(tool, input, file) {
            Ok(runs) => return Ok(runs),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| ImportError::Unknown { tools: known_tools() }))
}

/// Returns the variants of the file in the order in which they are tried: without dates and times before its lines,
/// unchanged, and without times of day, which some tools write themselves.
fn inputs<'a>(file: &ForeignFile<'a>) -> Vec<Input<'a>> {
    let whole = Input::new(file);
    let dated = whole.without_stamps(stamps::Kinds::Dated);
    let timed = whole.without_stamps(stamps::Kinds::Any);
    dated.into_iter().chain([whole]).chain(timed).collect()
}

fn tool_of(input: &Input<'_>) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| (tool.recognises)(input))
}

fn read_as(tool: &Tool, input: &Input<'_>, file: &ForeignFile<'_>) -> Result<Vec<RunResult>, ImportError> {
    let failed = |source| ImportError::Unread { tool: tool.name, source };
    let mut runs = (tool.read)(input).map_err(failed)?;
    for (path, count) in input.repeated().iter().filter(|(path, _)| !tools::reads_repeated(tool.name, path)) {
        let note = format!("`{path}` occurs {count} times in the file; the first one is used");
        runs.iter_mut().for_each(|run| run.note(note.clone()));
    }
    if runs.len() > RUNS_MAX || runs.iter().any(|run| run.size() > NUMBERS_MAX) {
        return Err(ImportError::TooMany);
    }
    if runs.iter().all(|run| run.size() == 0) {
        return Err(failed(input.nothing(tool.what)));
    }
    Ok(runs.into_iter().enumerate().map(|(number, run)| run.result(tool.name, number, file)).collect())
}

/// Returns the tool with this name.
///
/// # Errors
/// No tool has this name.
pub(crate) fn tool_named(name: &str) -> Result<&'static Tool, ImportError> {
    let tool = TOOLS.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
    tool.ok_or_else(|| ImportError::Tool { name: run::clean(name), tools: known_tools() })
}

fn known_tools() -> String {
    TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ")
}
