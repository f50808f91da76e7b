//! Files that tools write next to their printed report.

use crate::error::DialectError;
use crate::runner::Step;
use plumb_cli::exit::End;
use plumb_cli::output::error_line;
use plumb_engine::guard::OutputFile;

/// Local time, as ctime(3) prints it.
pub fn ctime() -> String {
    jiff::Zoned::now().strftime("%a %b %e %H:%M:%S %Y").to_string()
}

/// The value. An error is reported, and ends the tool with `end`.
pub fn or_report<T>(result: Result<T, DialectError>, tool: &str, end: End) -> Step<T> {
    result.map_err(|error| {
        error_line!("{tool}: {error}");
        end.into()
    })
}

/// Writes a file of its own.
///
/// # Errors
/// It cannot be written.
pub fn write(output: OutputFile<'_>, text: &str) -> Result<(), DialectError> {
    Ok(output.write(text.as_bytes())?)
}

/// Adds text to a file.
///
/// # Errors
/// It cannot be written.
pub fn add(output: OutputFile<'_>, text: &str) -> Result<(), DialectError> {
    Ok(output.append_all(text.as_bytes())?)
}
