//! What reading a command line needs to know about the machine.

use plumb_tools::FileError;

/// What reading a command line needs to know about the machine.
pub trait Machine {
    /// The text of a telemetry file.
    ///
    /// # Errors
    /// It cannot be read.
    fn file(&mut self, path: &str) -> Result<String, FileError>;
    /// What `uname -a` says.
    fn uname(&mut self) -> String;
    /// How many processors are online.
    fn processors(&mut self) -> u32;
}
