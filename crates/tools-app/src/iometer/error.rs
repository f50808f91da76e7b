//! Errors in a configuration file.

/// Error in a configuration file, with its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {flaw}")]
pub struct IometerFileError {
    pub file: String,
    /// Line number, from 1.
    pub line: usize,
    /// The problem in that line.
    pub flaw: IometerFlaw,
}

/// Problem in a configuration file, with a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IometerFlaw {
    /// The first line is not a version.
    #[error("the first line must be a version, such as `Version 1.1.0`")]
    NoVersion,
    /// The file is older than May 1998. Such files have another form.
    #[error("version {0} has a form that is not supported; save the file with a later IOMeter")]
    TooOld(u64),
    /// A line is outside of all sections.
    #[error("`{0}` is not in a section")]
    NoSection(String),
    /// The file ends within a section.
    #[error("the section that begins here has no `{0}`")]
    NoEnd(&'static str),
    /// The section has no such heading.
    #[error("unknown heading `{heading}` in {section}")]
    Unknown { heading: String, section: &'static str },
    /// Another heading or line is expected.
    #[error("`{found}`: {expected} expected")]
    Expected {
        found: String,
        /// The expected heading or line.
        expected: &'static str,
    },
    /// A number is missing or invalid.
    #[error("`{found}`: {what} must be a number from {least} to {most}")]
    Number {
        found: String,
        /// Meaning of the number.
        what: &'static str,
        least: u64,
        most: u64,
    },
    /// A word is not one of the allowed ones.
    #[error("`{found}`: one of {words} expected")]
    Word { found: String, words: String },
    /// Shares do not add up to 100 %.
    #[error("the lines of `{name}` add up to {sum} % of size; they must be 100")]
    NotAll {
        /// Name of the access specification.
        name: String,
        sum: u64,
    },
    /// An access specification has too many lines.
    #[error("`{0}` has more than 100 lines")]
    TooManyLines(String),
    /// There are more entities than Plumb supports.
    #[error("more than {most} {what}")]
    TooMany {
        /// Kind of the entities.
        what: &'static str,
        most: usize,
    },
    /// An access specification does not exist.
    #[error("worker `{worker}`: there is no access specification `{spec}`")]
    NoSpec { worker: String, spec: String },
    /// A feature that Plumb does not support.
    #[error("{what} is not supported; {instead}")]
    NotSupported {
        /// The feature.
        what: &'static str,
        instead: &'static str,
    },
    /// No worker has any work.
    #[error("no worker has both a target and an access specification; assign some in IOMeter, or write them")]
    NothingToDo,
}
