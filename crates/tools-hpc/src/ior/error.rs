//! Errors in IOR's command line and scripts.

use crate::aiori::OptionError;
use plumb_tools::FileError;

/// Error in a command line or its script.
#[derive(Debug, thiserror::Error)]
pub enum IorError {
    #[error(transparent)]
    Words(OptionError),
    #[error(transparent)]
    Test(OptionError),
    /// The script cannot be read.
    #[error("-f {path}: {error}")]
    Script {
        /// Path as typed.
        path: String,
        error: FileError,
    },
    /// A line of the script is invalid.
    #[error("{name}:{line}: {error}")]
    Line {
        name: String,
        /// Line number, from 1.
        line: usize,
        /// The problem in that line.
        error: OptionError,
    },
    /// The script has no tests.
    #[error("{name}: no line `IOR START`; a script's tests follow one")]
    NoStart { name: String },
    /// The script has too many tests.
    #[error("{name}: more than {most} tests; use several scripts")]
    TooMany { name: String, most: usize },
}
