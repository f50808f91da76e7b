//! Errors from lowering jobs.

use crate::fio::error::WordLocation;
use crate::fio::job::FioJob;
use crate::fio::options::OptionName;

/// An error from lowering one job.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {name}: {fault}")]
pub struct LowerError {
    pub name: String,
    pub place: WordLocation,
    pub fault: JobFault,
}

/// A problem with a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobFault {
    #[error("wait_for={0}: a job cannot wait for itself; name an earlier job")]
    WaitsForItself(String),
    /// `wait_for` names a job that does not exist.
    #[error("wait_for={0}: no earlier job has this name; move this job below the one it waits for")]
    WaitsForUnknown(String),
    /// `wait_for` names several jobs.
    #[error("wait_for={0}: several earlier jobs have this name; give each a different name")]
    WaitsForSeveral(String),
    /// The size of the job's files is unknown.
    #[error("the size of its files is unknown; set `size` or `filesize`, or name existing files")]
    NoSize,
    /// `size` is less than one block.
    #[error("size={size} is smaller than one block of {block} bytes; increase `size` or reduce `bs`")]
    SizeBelowBlock { size: u64, block: u64 },
    /// The offset is beyond the end of the file.
    #[error("offset={offset} is beyond the end of `{path}` ({length} bytes); reduce the offset or enlarge the file")]
    OffsetBeyondEnd { offset: u64, path: String, length: u64 },
    /// Two options that contradict each other.
    #[error("`{first}` and `{second}` cannot be combined: {why}")]
    Contradiction {
        first: &'static str,
        second: &'static str,
        /// The reason, and how to resolve it.
        why: &'static str,
    },
    #[error("`{option}` needs `{needs}`: {why}")]
    Needs { option: &'static str, needs: &'static str, why: &'static str },
    /// An option that Plumb cannot honour.
    #[error("`{option}` is not possible: {why}")]
    Unsupported {
        option: String,
        /// The reason, and an alternative.
        why: String,
    },
    /// A count above the limit of a run.
    #[error("{option}: {count} {of} are too many; use at most {most}")]
    TooMany {
        /// The option that sets the count.
        option: OptionName,
        count: u64,
        of: &'static str,
        most: u64,
    },
    /// A count that leaves nothing to do. fio 3.42 fails for the first and measures nothing for the second.
    #[error("{option}=0: there are no {what}, so nothing would run; use at least 1, or remove the job")]
    None {
        /// The option that sets the count.
        option: OptionName,
        /// Plural noun for the counted things.
        what: &'static str,
    },
    #[error("the job writes or trims, which --readonly forbids")]
    ReadOnly,
    /// The resulting workload is invalid.
    #[error("invalid: {0}")]
    Invalid(String),
}

impl LowerError {
    /// Returns a job's error at the option that caused it, or at the start of the job if that is unknown.
    pub(super) fn from_fault(job: &FioJob, fault: JobFault) -> LowerError {
        let given = match fault {
            JobFault::TooMany { option, .. } | JobFault::None { option, .. } => {
                job.given_options().rfind(|given| given.option.name == option.as_str())
            }
            _ => None,
        };
        let place = given.map_or(&job.place, |given| &given.place).clone();
        LowerError { name: job.name.clone(), place, fault }
    }
}

/// All errors, in the order of the jobs.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct LowerErrors(pub Vec<LowerError>);
