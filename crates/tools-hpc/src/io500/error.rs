//! Errors in a command line, a configuration, or what it asks for.

use plumb_tools::FileError;

/// What is wrong with a command line or its configuration.
#[derive(Debug, thiserror::Error)]
pub enum Io500Error {
    /// A word of the command line.
    #[error("{0}")]
    Words(String),
    /// The configuration cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line of it.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A phase that cannot be, as the tool that runs it says.
    #[error("{name}: [{phase}]: {message}")]
    Phase {
        /// The configuration.
        name: String,
        /// The phase.
        phase: &'static str,
        /// The tool's words.
        message: String,
    },
}

/// An error in a configuration, at its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}:{line}: {problem}")]
pub struct ConfigError {
    /// The file.
    pub name: String,
    /// From 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line, and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No such section.
    #[error("unknown section [{section}]{}; `--list` prints all", hint(.nearest))]
    Section {
        /// As given.
        section: String,
        /// The closest name.
        nearest: Option<&'static str>,
    },
    /// No such key in the section.
    #[error("unknown key `{key}` in [{section}]{}; `--list` prints all", hint(.nearest))]
    Key {
        /// As given.
        key: String,
        /// Of the table.
        section: &'static str,
        /// The closest name.
        nearest: Option<&'static str>,
    },
    /// A key before the first section.
    #[error("`{key}` stands before the first section; put it below one, such as [global]")]
    Outside {
        /// As given.
        key: String,
    },
    /// Neither a section nor a key.
    #[error("`{text}` is neither [section] nor key = value; a comment begins with # or ;")]
    Text {
        /// The line, or its beginning.
        text: String,
    },
    /// The value is invalid.
    #[error("{key}: `{value}` {problem}")]
    Value {
        /// The key.
        key: &'static str,
        /// As given.
        value: String,
        /// The problem, and the way out.
        problem: String,
    },
    /// The value is too long.
    #[error("{key} is longer than {most} bytes; use a shorter value")]
    Long {
        /// The key.
        key: &'static str,
        /// The most.
        most: usize,
    },
    /// Not supported.
    #[error("{key} = {value} is not supported{when}: {why}")]
    Unsupported {
        /// The key.
        key: &'static str,
        /// As given.
        value: String,
        /// " yet", or nothing.
        when: &'static str,
        /// Why, or what to do.
        why: &'static str,
    },
}

fn hint(nearest: &Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
