//! What may be wrong with a parameter file.

use super::operation::OPERATIONS;

/// Why a parameter file cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub struct VdbenchUsageError {
    /// The file.
    pub file: String,
    /// From 1: where the parameter or the definition stands.
    pub line: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What is wrong, with the keyword, the value and the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Text that is no parameter.
    #[error("`{text}` is not a parameter; write KEY=VALUE")]
    NotAParameter {
        /// It.
        text: String,
    },
    /// A list without an end.
    #[error("`{key}`: the list has no `)`; close it")]
    NotClosed {
        /// The keyword.
        key: String,
    },
    /// Something behind a value.
    #[error("`{text}` behind the value of `{key}`: put a comma between them")]
    NoComma {
        /// The keyword.
        key: String,
        /// What stands there.
        text: String,
    },
    /// A keyword alone.
    #[error("`{key}` has no value; write {key}=VALUE")]
    NoValue {
        /// The keyword.
        key: String,
    },
    /// A value that means nothing.
    #[error("`{key}={value}`: {expected} expected")]
    Value {
        /// The keyword.
        key: String,
        /// The value.
        value: String,
        /// What is taken.
        expected: &'static str,
    },
    /// A number that is too small or too large.
    #[error("`{key}={value}`: a number from {least} to {most} expected")]
    Limits {
        /// The keyword.
        key: String,
        /// The value.
        value: u64,
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A keyword that does nothing here.
    #[error("`{key}` of a {definition} is not supported; {way_out}")]
    Key {
        /// The keyword.
        key: String,
        /// Where it stands.
        definition: &'static str,
        /// What to do instead.
        way_out: &'static str,
    },
    /// A keyword that does nothing ahead of all definitions.
    #[error("`{key}` is not supported; {way_out}")]
    General {
        /// The keyword.
        key: String,
        /// What to do instead.
        way_out: &'static str,
    },
    /// A host that is not this one.
    #[error("host `{host}` is not this one; use `plumb run --hosts` for other hosts, or `hd=localhost`")]
    OtherHost {
        /// Name of the host as it was typed.
        host: String,
    },
    /// A value that is vdbench's, and does nothing here.
    #[error("`{key}={value}` is not supported; {way_out}")]
    NotSupported {
        /// The keyword.
        key: String,
        /// The value.
        value: String,
        /// What to do instead.
        way_out: &'static str,
    },
    /// An unknown operation.
    #[error("unknown operation `{value}`; use one of {}", OPERATIONS.map(|(word, _)| word).join(", "))]
    UnknownOperation {
        /// It.
        value: String,
    },
    /// Shares that are not all.
    #[error("the shares of `{key}` add up to {sum} %; they must be 100")]
    Shares {
        /// The keyword.
        key: String,
        /// Per cent.
        sum: u32,
    },
    /// Skews that are not all.
    #[error("{definition}: the skews of its workloads add up to {sum} %; they must be 100")]
    Skews {
        /// The run definition.
        definition: String,
        /// Per cent.
        sum: String,
    },
    /// A definition without what it needs.
    #[error("{definition} lacks its `{key}=`; add it")]
    Missing {
        /// The definition.
        definition: String,
        /// The keyword.
        key: &'static str,
    },
    /// A definition that uses none of another kind.
    #[error("{definition} uses no {what}; name one by `{key}=`")]
    UsesNone {
        /// The definition.
        definition: String,
        /// Of which kind.
        what: &'static str,
        /// The keyword.
        key: &'static str,
    },
    /// What a definition says does not go together.
    #[error("{definition}: {found}; {way_out}")]
    Together {
        /// The definition.
        definition: String,
        /// What it says.
        found: &'static str,
        /// What to do instead.
        way_out: &'static str,
    },
    /// More files or directories than there can be.
    #[error("{definition} has too many files or directories; make it smaller")]
    TooManyFiles {
        /// The definition.
        definition: String,
    },
    /// More runs than anybody wants.
    #[error("{definition}: more than {most} runs; use shorter lists")]
    TooManyRuns {
        /// The run definition.
        definition: String,
        /// How many there may be.
        most: usize,
    },
    /// A file that defines too little.
    #[error("an `sd=`, a `wd=` and an `rd=` expected, or an `fsd=`, an `fwd=` and an `rd=`; add what is missing")]
    Incomplete,
    /// Storage and file systems.
    #[error("storage (SD, WD) and file systems (FSD, FWD) in one file; use a file for each")]
    Both,
}

impl Reason {
    /// A value of a parameter that means nothing.
    pub(super) fn value(key: &str, value: &str, expected: &'static str) -> Reason {
        Reason::Value { key: key.to_owned(), value: value.to_owned(), expected }
    }

    /// A value of a parameter that does nothing here.
    pub(super) fn not_supported(key: &str, value: &str, way_out: &'static str) -> Reason {
        Reason::NotSupported { key: key.to_owned(), value: value.to_owned(), way_out }
    }

    /// What a definition says does not go together.
    pub(super) fn together(definition: String, found: &'static str, way_out: &'static str) -> Reason {
        Reason::Together { definition, found, way_out }
    }
}

/// A reason, and the line that it is about.
pub(super) type Placed = (usize, Reason);
