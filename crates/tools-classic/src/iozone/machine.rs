//! Facts about the machine that parsing a command line needs.

use plumb_tools::FileError;

/// Facts about the machine that parsing a command line needs.
pub trait Machine {
    /// Returns the text of a telemetry file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    fn file(&mut self, path: &str) -> Result<String, FileError>;
    fn uname(&mut self) -> String;
    /// Returns the number of online processors.
    fn processors(&mut self) -> u32;
}
