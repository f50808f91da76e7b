//! What can be wrong with a configuration file.

/// A configuration file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {flaw}")]
pub struct WrongFile {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub flaw: Flaw,
}

/// What is wrong, with the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// The first line.
    #[error("the first line must be a version, such as `Version 1.1.0`")]
    NoVersion,
    /// Files before May 1998 have another form.
    #[error("version {0} has a form that is not supported; save the file with a later IOMeter")]
    TooOld(u64),
    /// A line between sections.
    #[error("`{0}` is in no section")]
    NoSection(String),
    /// The file ends within a section.
    #[error("the section that begins here lacks its `{0}`")]
    NoEnd(&'static str),
    /// A heading that a section does not have.
    #[error("unknown heading `{heading}` in {section}")]
    Unknown {
        /// The heading.
        heading: String,
        /// The section.
        section: &'static str,
    },
    /// Another heading or line is needed.
    #[error("`{found}`: {expected} expected")]
    Expected {
        /// What is there.
        found: String,
        /// What should be.
        expected: &'static str,
    },
    /// A number is missing or none.
    #[error("`{found}`: {what} must be a number from {least} to {most}")]
    Number {
        /// What is there.
        found: String,
        /// What it says.
        what: &'static str,
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// A word that is none of those that are possible.
    #[error("`{found}`: one of {words} expected")]
    Word {
        /// What is there.
        found: String,
        /// Those that are possible.
        words: String,
    },
    /// Shares do not add up.
    #[error("the lines of `{name}` add up to {sum} % of size; they must be 100")]
    NotAll {
        /// The access specification.
        name: String,
        /// Their sum.
        sum: u64,
    },
    /// An access specification is too long.
    #[error("`{0}` has more than 100 lines")]
    TooManyLines(String),
    /// More than anybody writes.
    #[error("more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: usize,
    },
    /// A spec that is not there.
    #[error("worker `{worker}`: there is no access specification `{spec}`")]
    NoSpec {
        /// The worker.
        worker: String,
        /// The name.
        spec: String,
    },
    /// What Plumb does not do.
    #[error("{what} is not supported; {instead}")]
    NotSupported {
        /// What it is.
        what: &'static str,
        /// The way out.
        instead: &'static str,
    },
    /// There is nothing to do.
    #[error("no worker has both a target and an access specification; assign some in IOMeter, or write them")]
    NothingToDo,
}
