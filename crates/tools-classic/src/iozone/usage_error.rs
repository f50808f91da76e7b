//! An error in the command line, in IOzone's format.

/// An error in the command line, in IOzone's format.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IozoneUsageError {
    /// The output before the error, and the message.
    pub out: String,
    pub err: String,
    pub code: u8,
}

impl IozoneUsageError {
    /// Creates an error with a message on standard output.
    pub fn say(code: u8, text: impl Into<String>) -> IozoneUsageError {
        IozoneUsageError { out: text.into(), err: String::new(), code }
    }

    /// Creates an error from Plumb itself, on standard error.
    pub fn refuse(code: u8, text: impl std::fmt::Display) -> IozoneUsageError {
        IozoneUsageError { out: String::new(), err: format!("iozone: {text}\n"), code }
    }
}
