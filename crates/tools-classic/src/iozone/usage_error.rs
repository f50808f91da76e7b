//! An error in the command line, as IOzone reports it.

/// An error in the command line, as IOzone reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IozoneUsageError {
    /// What was printed before, and the message.
    pub out: String,
    /// On standard error.
    pub err: String,
    /// The exit code.
    pub code: u8,
}

impl IozoneUsageError {
    /// A message on standard output.
    pub fn say(code: u8, text: impl Into<String>) -> IozoneUsageError {
        IozoneUsageError { out: text.into(), err: String::new(), code }
    }

    /// A refusal of Plumb's own, on standard error.
    pub fn refuse(code: u8, text: impl std::fmt::Display) -> IozoneUsageError {
        IozoneUsageError { out: String::new(), err: format!("iozone: {text}\n"), code }
    }
}
