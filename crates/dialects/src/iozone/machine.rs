//! What the words ask of the machine.

/// What the words ask of the machine.
pub trait Machine {
    /// The text of a telemetry file.
    ///
    /// # Errors
    /// In words.
    fn file(&mut self, path: &str) -> Result<String, String>;
    /// What `uname -a` says.
    fn uname(&mut self) -> String;
    /// How many processors are online.
    fn processors(&mut self) -> u32;
}
