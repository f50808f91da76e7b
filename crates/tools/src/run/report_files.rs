//! Files that tools write next to their printed report.

use crate::error::DialectError;
use crate::runner::Step;
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_engine::guard::OutputFile;

/// Returns the local time in the format of ctime(3).
pub fn ctime() -> String {
    jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// Returns the value, or prints the error and ends the tool with `end`.
pub fn or_report<T>(result: Result<T, DialectError>, tool: &str, end: End) -> Step<T> {
    result.map_err(|error| {
        error_line!("{tool}: {error}");
        end.into()
    })
}

/// Writes `text` to a new file.
///
/// # Errors
/// The file cannot be written.
pub fn write(output: OutputFile<'_>, text: &str) -> Result<(), DialectError> {
    Ok(output.write(text.as_bytes())?)
}

/// Appends text to a file.
///
/// # Errors
/// The file cannot be written.
pub fn add(output: OutputFile<'_>, text: &str) -> Result<(), DialectError> {
    Ok(output.append_all(text.as_bytes())?)
}
