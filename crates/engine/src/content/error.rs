//! Errors from preparing or verifying a job's content.

use plumb_workload::verify::VerifyMethod;
use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// The file of a pattern cannot be read.
    #[error("the pattern in {}: {source}", path.display())]
    PatternFile { path: PathBuf, source: io::Error },
    /// A pattern contains invalid hexadecimal digits.
    #[error("`{digits}` in a pattern is not pairs of hexadecimal digits")]
    PatternDigits { digits: String },
    #[error("the pattern has {bytes} bytes; the maximum is {most}")]
    PatternTooLong {
        bytes: usize,
        /// Maximum length in bytes.
        most: usize,
    },
    #[error("the pattern is empty")]
    PatternEmpty,
    /// A job verifies a pattern but has none.
    #[error("a pattern to verify is missing: set verify_pattern")]
    NoPattern,
    /// Stamps are larger than the blocks.
    #[error(
        "verify={} needs {stamp} bytes for its stamp, but blocks have only {grid} in common: use larger blocks, or a larger \
         verify_interval",
        super::stamp::name(super::stamp::code(*method))
    )]
    StampTooLarge {
        method: VerifyMethod,
        /// Length of a stamp in bytes.
        stamp: usize,
        /// Greatest common divisor of the block sizes in bytes.
        grid: usize,
    },
    /// The configured position of stamps does not fit.
    #[error(
        "a stamp of {stamp} bytes does not fit at verify_offset={at} of each {grid} bytes: use 0, or {stamp} to {}",
        grid - stamp
    )]
    StampPlace {
        /// Length of a stamp in bytes.
        stamp: usize,
        /// Configured position of the stamp in its block.
        at: usize,
        /// Greatest common divisor of the block sizes in bytes.
        grid: usize,
    },
    /// The state file of an earlier run cannot be read.
    #[error("the verify state in {}: {problem}", path.display())]
    State { path: PathBuf, problem: StateProblem },
    /// The state for a later run cannot be saved.
    #[error("cannot save the verify state in {}: {source}", path.display())]
    SaveState { path: PathBuf, source: io::Error },
    /// A verification thread cannot be started.
    #[error("cannot start a verifying thread: {0}")]
    Thread(io::Error),
    /// The configured CPU does not exist.
    #[error("CPU {cpu} for verification does not exist")]
    NoCpu { cpu: u32 },
    /// The system does not allow the thread on these CPUs.
    #[error(
        "cannot verify on CPUs {}: {source}; see verify_async_cpus",
        cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    )]
    Cpus { cpus: Vec<u32>, source: io::Error },
    /// All verification threads have ended.
    #[error("the verifying threads ended: a check failed in one of them")]
    ThreadsGone,
    #[error("a verifying thread ended early; not all reads were verified")]
    ThreadEnded,
}

/// A problem with a saved state file.
#[derive(Debug, thiserror::Error)]
pub enum StateProblem {
    #[error(transparent)]
    Read(#[from] io::Error),
    #[error("it is cut off")]
    Cut,
    /// The file has another version, or another program wrote it.
    #[error(
        "it has version {version}, but only version 7 is supported (fio 3.41 and later): save it again, or verify without it"
    )]
    Version { version: u64 },
    #[error("its checksum does not match: it is damaged")]
    Checksum,
}
