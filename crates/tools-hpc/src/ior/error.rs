//! Errors in what IOR is asked for.

use crate::aiori::OptionError;
use plumb_tools::FileError;

/// What is wrong with a command line or its script.
#[derive(Debug, thiserror::Error)]
pub enum IorError {
    /// A word of the command line.
    #[error(transparent)]
    Words(OptionError),
    /// A test that cannot be.
    #[error(transparent)]
    Test(OptionError),
    /// The script cannot be read.
    #[error("-f {path}: {error}")]
    Script {
        /// As given.
        path: String,
        /// Why not.
        error: FileError,
    },
    /// A line of the script.
    #[error("{name}:{line}: {error}")]
    Line {
        /// The script.
        name: String,
        /// From 1.
        line: usize,
        /// What is wrong with it.
        error: OptionError,
    },
    /// The script has no tests.
    #[error("{name}: no line `IOR START`; a script's tests stand behind one")]
    NoStart {
        /// The script.
        name: String,
    },
    /// The script has more tests than make sense.
    #[error("{name}: more than {most} tests; use several scripts")]
    TooMany {
        /// The script.
        name: String,
        /// How many may be.
        most: usize,
    },
}
