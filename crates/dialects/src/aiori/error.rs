//! Errors in options of IOR and mdtest.

use crate::permission;

/// An error in a command line, a directive, or a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option `{word}`{}", hint(.nearest))]
    Unknown {
        /// As given.
        word: String,
        /// The closest name, as it is written.
        nearest: Option<String>,
    },
    /// No option at all.
    #[error("unexpected argument `{word}`; options begin with a dash")]
    NoOption {
        /// As given.
        word: String,
    },
    /// It needs a value.
    #[error("{option} needs a value: {option} {what}")]
    NoValue {
        /// As it is written.
        option: String,
        /// What it takes.
        what: &'static str,
    },
    /// The value is invalid.
    #[error("{option}: `{value}` {problem}")]
    Value {
        /// As it is written.
        option: String,
        /// As given.
        value: String,
        /// The problem, and the way out.
        problem: String,
    },
    /// Not supported.
    #[error("{option} is {when} supported: {why}")]
    Unsupported {
        /// As it is written.
        option: String,
        /// Not yet, or never.
        when: &'static str,
        /// Why, or what to do.
        why: &'static str,
    },
    /// In a script, or among directives.
    #[error("{option} works on the command line only; give it there")]
    OnCommandLine {
        /// As it is written.
        option: String,
    },
    /// Options that do not go together: which, and the way out.
    #[error("{0}")]
    Conflict(&'static str),
    /// A command that the user did not allow.
    #[error("{}; {}", permission::refused(.option, .line), permission::way_out())]
    Command {
        /// As it is written.
        option: &'static str,
        /// What it would run.
        line: String,
    },
    /// A tree that cannot be.
    #[error("{message}; {help}")]
    Tree {
        /// The problem.
        message: String,
        /// The way out.
        help: &'static str,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}
