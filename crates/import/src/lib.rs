//! Imports: other tools' results, read from the files that they left. Bytes in, results out; nothing here touches the
//! system.
//!
//! A file's tool is recognised by its content; the table [`TOOLS`] has a line for each. A reader makes a `Run` of each run
//! that the file tells of, with its numbers in base units, and `Run::result` makes a result of that: its verdict is
//! `unknown`, because no file says what else went on.
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
mod error;
mod input;
mod run;
#[cfg(test)]
mod tests;
mod tools;
mod xml;

pub use error::ImportError;
pub use tools::{TOOLS, Tool};

use input::Input;
use jiff::Timestamp;
use plumb_result::RunResult;

/// A file may be this long, in bytes.
pub const FILE_BYTES_MAX: usize = 256 << 20;

/// The limit of values in a file of JSON: each takes up to a hundred bytes of memory.
pub const VALUES_MAX: usize = 4_000_000;

/// The limit of runs in a file.
pub const RUNS_MAX: usize = 10_000;

/// The limit of numbers in a run.
pub const NUMBERS_MAX: usize = 100_000;

/// This much of a file is kept in a result, in bytes.
pub const RAW_BYTES_MAX: usize = 1 << 20;

/// A file of another tool's results.
#[derive(Debug, Clone, Copy)]
pub struct ForeignFile<'a> {
    /// Its name, as typed; only the last part is kept.
    pub name: &'a str,
    /// What it holds.
    pub bytes: &'a [u8],
    /// When it was last changed: the time of its runs where it does not say one.
    pub changed_at: Timestamp,
}

/// The tool whose results these seem to be.
pub fn recognise(file: &ForeignFile<'_>) -> Option<&'static Tool> {
    let input = Input::new(file);
    TOOLS.iter().find(|tool| (tool.is_its)(&input))
}

/// Reads the results in a file: of the tool that its content shows, or of the one that is named. A file has one run or
/// several; the same file always gives the same runs, with the same ids.
///
/// # Errors
/// A file of no known tool, one that is cut short or does not fit its tool's form, or one that is beyond the limits.
pub fn read(file: &ForeignFile<'_>, from: Option<&str>) -> Result<Vec<RunResult>, ImportError> {
    if file.bytes.len() > FILE_BYTES_MAX {
        return Err(ImportError::TooLong { bytes: file.bytes.len() });
    }
    let tool = match from {
        Some(name) => tool_named(name)?,
        None => recognise(file).ok_or_else(ImportError::unknown)?,
    };
    let input = Input::new(file);
    let failed = |source| ImportError::Unread { tool: tool.name, source };
    let runs = (tool.read)(&input).map_err(failed)?;
    if runs.len() > RUNS_MAX || runs.iter().any(|run| run.size() > NUMBERS_MAX) {
        return Err(ImportError::TooMany);
    }
    if runs.iter().all(|run| run.size() == 0) {
        return Err(failed(input.nothing(tool.what)));
    }
    Ok(runs.into_iter().enumerate().map(|(number, run)| run.result(tool.name, number, file)).collect())
}

/// The tool of this name.
///
/// # Errors
/// A name that is none of [`TOOLS`].
pub fn tool_named(name: &str) -> Result<&'static Tool, ImportError> {
    TOOLS.iter().find(|tool| tool.name.eq_ignore_ascii_case(name)).ok_or_else(|| ImportError::no_tool(name))
}
