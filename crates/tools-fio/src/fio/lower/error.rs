//! Why jobs cannot be lowered.

use crate::fio::error::WordLocation;
use crate::fio::job::FioJob;
use crate::fio::options::OptionName;

/// Why one job cannot be lowered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {name}: {wrong}")]
pub struct LowerError {
    /// The job's name.
    pub name: String,
    /// Where it begins.
    pub place: WordLocation,
    /// The problem.
    pub wrong: JobFault,
}

/// A problem with a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFault {
    /// It waits for itself.
    #[error("wait_for={0}: a job cannot wait for itself; name an earlier job")]
    WaitsForItself(String),
    /// It waits for a job that does not exist.
    #[error("wait_for={0}: no earlier job has this name; move this job below the one it waits for")]
    WaitsForNobody(String),
    /// It waits for one of several.
    #[error("wait_for={0}: several earlier jobs have this name; give each a different name")]
    WaitsForSeveral(String),
    /// Its files have no known size.
    #[error("the size of its files is unknown; set `size` or `filesize`, or name existing files")]
    NoSize,
    /// It is smaller than one op.
    #[error("size={size} is smaller than one block of {block} bytes; increase `size` or reduce `bs`")]
    SizeBelowBlock {
        /// The size.
        size: u64,
        /// The smallest block.
        block: u64,
    },
    /// It begins beyond the end.
    #[error("offset={offset} is beyond the end of `{path}` ({length} bytes); reduce the offset or enlarge the file")]
    OffsetBehindEnd {
        /// Where it begins.
        offset: u64,
        /// The file.
        path: String,
        /// Its end.
        length: u64,
    },
    /// Two options contradict each other.
    #[error("`{first}` and `{second}` cannot be combined: {why}")]
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
    /// An option asks for something Plumb cannot do.
    #[error("`{option}` is not possible: {why}")]
    Unsupported {
        /// The option.
        option: String,
        /// Why, and the way out.
        why: String,
    },
    /// A count is larger than a run can hold.
    #[error("{option}: {count} {of} are too many; use at most {most}")]
    TooMany {
        /// The option that says it.
        option: OptionName,
        /// How many.
        count: u64,
        /// Of what.
        of: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// A count leaves nothing to do. fio 3.42 fails for the first and measures nothing for the second.
    #[error("{option}=0: there are no {what}, so nothing would run; use at least 1, or remove the job")]
    None {
        /// The option that says it.
        option: OptionName,
        /// The things of which there are none, in the plural.
        what: &'static str,
    },
    /// The run is read-only.
    #[error("the job writes or trims, which --readonly forbids")]
    ReadOnly,
    /// The resulting workload is invalid.
    #[error("invalid: {0}")]
    Invalid(String),
}

impl LowerError {
    /// A job's error, at the option that it is about where that is known, else where the job begins.
    pub(super) fn of(job: &FioJob, wrong: JobFault) -> LowerError {
        let said = match wrong {
            JobFault::TooMany { option, .. } | JobFault::None { option, .. } => {
                job.all_said().rfind(|said| said.option.name == option.as_str())
            }
            _ => None,
        };
        let place = said.map_or(&job.place, |said| &said.place).clone();
        LowerError { name: job.name.clone(), place, wrong }
    }
}

/// All errors, in the order of the jobs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct LowerErrors(pub Vec<LowerError>);
