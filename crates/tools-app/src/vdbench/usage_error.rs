//! Errors in a parameter file.

use super::operation::OPERATIONS;

/// Error in a parameter file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct VdbenchUsageError {
    pub file: String,
    /// Line number of the parameter or definition, from 1.
    pub line: usize,
    pub reason: Reason,
}

/// Problem in a parameter file, with the keyword, the value and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The text is not a parameter.
    #[error("`{text}` is not a parameter; write KEY=VALUE")]
    NotAParameter { text: String },
    /// A list has no closing parenthesis.
    #[error("`{key}`: the list has no `)`; close it")]
    NotClosed { key: String },
    /// Text follows a value.
    #[error("`{text}` after the value of `{key}`: put a comma between them")]
    NoComma {
        key: String,
        /// The text after the value.
        text: String,
    },
    /// A keyword has no value.
    #[error("`{key}` has no value; write {key}=VALUE")]
    NoValue { key: String },
    #[error("`{key}={value}`: {expected} expected")]
    Value { key: String, value: String, expected: &'static str },
    /// The number is too small or too large.
    #[error("`{key}={value}`: a number from {least} to {most} expected")]
    Limits { key: String, value: u64, least: u64, most: u64 },
    /// The keyword is unknown or unsupported in this definition.
    #[error("`{key}` of a {definition} is not supported; {way_out}")]
    Key { key: String, definition: &'static str, way_out: &'static str },
    /// The keyword is unknown or unsupported before all definitions.
    #[error("`{key}` is not supported; {way_out}")]
    General { key: String, way_out: &'static str },
    /// A definition names another host.
    #[error("host `{host}` is not this one; use `plumb run --hosts` for other hosts, or `hd=localhost`")]
    OtherHost {
        /// Name of the host, as typed.
        host: String,
    },
    /// The value is valid in vdbench, but not supported.
    #[error("`{key}={value}` is not supported; {way_out}")]
    NotSupported { key: String, value: String, way_out: &'static str },
    #[error("unknown operation `{value}`; use one of {}", OPERATIONS.map(|(word, _)| word).join(", "))]
    UnknownOperation { value: String },
    /// Percentages do not add up to 100.
    #[error("the shares of `{key}` add up to {sum} %; they must be 100")]
    Shares { key: String, sum: u32 },
    /// Skews do not add up to 100 %.
    #[error("{definition}: the skews of its workloads add up to {sum} %; they must be 100")]
    Skews {
        /// Name of the run definition.
        definition: String,
        /// Sum of the skews, formatted.
        sum: String,
    },
    /// A definition lacks a required parameter.
    #[error("{definition} has no `{key}=`; add it")]
    Missing { definition: String, key: &'static str },
    /// A definition uses none of another kind.
    #[error("{definition} uses no {what}; name one by `{key}=`")]
    UsesNone {
        definition: String,
        /// Kind of the missing definition.
        what: &'static str,
        key: &'static str,
    },
    /// Parameters of a definition exclude each other.
    #[error("{definition}: {found}; {way_out}")]
    Together {
        definition: String,
        /// The conflict.
        found: &'static str,
        way_out: &'static str,
    },
    /// A file system has too many files or directories.
    #[error("{definition} has too many files or directories; make it smaller")]
    TooManyFiles { definition: String },
    /// The file has too many runs.
    #[error("{definition}: more than {most} runs; use shorter lists")]
    TooManyRuns {
        /// Name of the run definition.
        definition: String,
        most: usize,
    },
    /// A kind of definition is missing.
    #[error("an `sd=`, a `wd=` and an `rd=` expected, or an `fsd=`, an `fwd=` and an `rd=`; add what is missing")]
    Incomplete,
    /// The file defines both storage and file systems.
    #[error("storage (SD, WD) and file systems (FSD, FWD) in one file; use a file for each")]
    Both,
}

impl Reason {
    /// Creates an error for an invalid value.
    pub(super) fn value(key: &str, value: &str, expected: &'static str) -> Reason {
        Reason::Value { key: key.to_owned(), value: value.to_owned(), expected }
    }

    /// Creates an error for an unsupported value.
    pub(super) fn not_supported(key: &str, value: &str, way_out: &'static str) -> Reason {
        Reason::NotSupported { key: key.to_owned(), value: value.to_owned(), way_out }
    }

    /// Creates an error for parameters that exclude each other.
    pub(super) fn together(definition: String, found: &'static str, way_out: &'static str) -> Reason {
        Reason::Together { definition, found, way_out }
    }
}

/// A line number and the problem there.
pub(super) type Placed = (usize, Reason);
