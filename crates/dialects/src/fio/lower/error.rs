//! Why jobs cannot be lowered.

use crate::fio::error::WordLocation;

/// Why one job cannot be lowered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {name}: {wrong}")]
pub struct LowerError {
    /// The job's name.
    pub name: String,
    /// Where it begins.
    pub place: WordLocation,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What is wrong with a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It waits for itself.
    #[error("wait_for={0}: a job cannot wait for itself; name an earlier job")]
    WaitsForItself(String),
    /// It waits for nobody.
    #[error("wait_for={0}: no earlier job has this name; put it below the job that it waits for")]
    WaitsForNobody(String),
    /// It waits for one of several.
    #[error("wait_for={0}: several earlier jobs have this name; give each its own")]
    WaitsForSeveral(String),
    /// There is nothing to work on.
    #[error("nothing says how large its files are; set `size` or `filesize`, or name files that exist")]
    NoSize,
    /// It is smaller than one op.
    #[error("size={size}: it is smaller than one op of {block} bytes; make it larger, or `bs` smaller")]
    SizeBelowBlock {
        /// The size.
        size: u64,
        /// The smallest block.
        block: u64,
    },
    /// It begins behind the end.
    #[error("offset={offset}: it lies behind the end of `{path}` at {length}; begin earlier, or make the file longer")]
    OffsetBehindEnd {
        /// Where it begins.
        offset: u64,
        /// The file.
        path: String,
        /// Its end.
        length: u64,
    },
    /// Two options contradict one another.
    #[error("`{first}` and `{second}` do not go together: {why}")]
    Contradiction {
        /// One.
        first: &'static str,
        /// The other.
        second: &'static str,
        /// Why, and what to do.
        why: &'static str,
    },
    /// An option needs another.
    #[error("`{option}` needs `{needs}`: {why}")]
    Needs {
        /// The option.
        option: &'static str,
        /// What it needs.
        needs: &'static str,
        /// Why.
        why: &'static str,
    },
    /// An option asks for what Plumb cannot do.
    #[error("`{option}` cannot be done: {why}")]
    Unsupported {
        /// The option.
        option: String,
        /// Why, and the way out.
        why: String,
    },
    /// The run is read-only.
    #[error("it writes or trims, and --readonly forbids both")]
    ReadOnly,
    /// What came out breaks a rule of workloads.
    #[error("it makes no sense: {0}")]
    Invalid(String),
}

/// Everything that is wrong, in the order of the jobs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct LowerErrors(pub Vec<LowerError>);
