//! Errors in a command line, in a configuration, or in its phases.

use plumb_tools::FileError;

/// Error in a command line or its configuration.
#[derive(Debug, thiserror::Error)]
pub enum Io500Error {
    #[error("{0}")]
    Words(String),
    /// The configuration cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line of the configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A phase is impossible. The message comes from the tool that runs it.
    #[error("{name}: [{phase}]: {message}")]
    Phase { name: String, phase: &'static str, message: String },
}

/// Error in a line of a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {problem}")]
pub struct ConfigError {
    pub name: String,
    /// Line number, from 1.
    pub line: usize,
    /// The problem in that line.
    pub problem: Problem,
}

/// Problem in a line of a configuration, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The section does not exist.
    #[error("unknown section [{section}]{}; `--list` prints all", hint(.nearest))]
    Section { section: String, nearest: Option<&'static str> },
    /// The key does not exist in the section.
    #[error("unknown key `{key}` in [{section}]{}; `--list` prints all", hint(.nearest))]
    Key { key: String, section: &'static str, nearest: Option<&'static str> },
    /// A key precedes the first section.
    #[error("`{key}` is before the first section; put it below one, such as [global]")]
    Outside { key: String },
    /// The line is neither a section nor a key.
    #[error("`{text}` is neither [section] nor key = value; a comment begins with # or ;")]
    Text {
        /// The line, or its beginning.
        text: String,
    },
    #[error("{key}: `{value}` {problem}")]
    Value {
        key: &'static str,
        value: String,
        /// Problem with the value, and a hint.
        problem: String,
    },
    /// The value is too long.
    #[error("{key} is longer than {most} bytes; use a shorter value")]
    Long {
        key: &'static str,
        /// Limit of the length, bytes.
        most: usize,
    },
    /// The value is not supported.
    #[error("{key} = {value} is not supported{when}: {why}")]
    Unsupported {
        key: &'static str,
        value: String,
        /// ` yet`, or empty.
        when: &'static str,
        /// Reason, or a hint.
        why: &'static str,
    },
}

fn hint(nearest: &Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
