//! Errors from importing a file.

use plumb_result::published::Unread;

/// Reason why a file cannot be imported. The caller adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No known tool wrote the content.
    #[error("not the results of a known tool; name the tool with --from TOOL: {tools}")]
    Unknown {
        /// Names of the known tools.
        tools: String,
    },
    /// No reader has this name.
    #[error("--from {name}: unknown tool; Plumb reads results of {tools}")]
    Tool {
        /// Name as given with `--from`.
        name: String,
        /// Names of the known tools.
        tools: String,
    },
    /// The reader found something unexpected.
    #[error("not read as results of {tool}: {source}; {}. If another tool wrote it, name it with --from TOOL", source.help)]
    Unread {
        tool: &'static str,
        /// Place, problem and remedy.
        source: Unread,
    },
    /// The file is longer than [`crate::FILE_BYTES_MAX`].
    #[error("{bytes} bytes are too many; the limit is {}. Split the file", crate::FILE_BYTES_MAX)]
    TooLong {
        /// Length of the file.
        bytes: usize,
    },
    /// The file exceeds the limit of runs or of numbers.
    #[error(
        "too many numbers; the limits are {} runs in a file and {} numbers in a run. Split the file",
        crate::RUNS_MAX,
        crate::NUMBERS_MAX
    )]
    TooMany,
}

/// Creates an error with a place, a problem and a remedy.
pub(crate) fn unread(place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Unread {
    Unread { place: place.into(), message: crate::run::clean(&message.into()), help: help.into() }
}
