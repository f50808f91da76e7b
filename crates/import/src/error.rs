//! Why a file cannot be imported.

use plumb_result::published::Unread;

/// Why a file cannot be imported. Who prints it names the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it shows which tool made it.
    #[error("the results of no known tool; name the tool with --from TOOL: {tools}")]
    Unknown {
        /// Those that are known.
        tools: String,
    },
    /// There is no reader of this name.
    #[error("--from {name}: its results cannot be read; those of {tools} can")]
    Tool {
        /// What was asked for.
        name: String,
        /// Those that are known.
        tools: String,
    },
    /// The reader cannot read it.
    #[error("not read as results of {tool}: {source}; {}. If another tool made it, say which: --from TOOL", source.help)]
    Unread {
        /// The tool.
        tool: &'static str,
        /// What is there, and the way out.
        source: Unread,
    },
    /// It is longer than [`crate::FILE_BYTES_MAX`].
    #[error("{bytes} bytes are too many; the limit is {}. Split the file", crate::FILE_BYTES_MAX)]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It has more runs or numbers than are taken.
    #[error(
        "too many numbers; the limits are {} runs in a file and {} numbers in a run. Split the file",
        crate::RUNS_MAX,
        crate::NUMBERS_MAX
    )]
    TooMany,
}

/// That something does not fit, with its place and the way out.
pub(crate) fn unread(place: impl Into<String>, message: impl Into<String>, help: impl Into<String>) -> Unread {
    Unread { place: place.into(), message: crate::run::clean(&message.into()), help: help.into() }
}
