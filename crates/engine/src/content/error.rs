//! Why a job's content cannot be made, or not be verified.

use plumb_workload::verify::VerifyMethod;
use std::io;
use std::path::PathBuf;

/// Why a job's content cannot be made, or not be verified.
#[derive(Debug, thiserror::Error)]
pub enum ContentError {
    /// A pattern's file cannot be read.
    #[error("the pattern in {}: {source}", path.display())]
    PatternFile {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Digits of a pattern are none.
    #[error("`{digits}` in a pattern is not pairs of hexadecimal digits")]
    PatternDigits {
        /// What was written.
        digits: String,
    },
    /// A pattern is too long.
    #[error("the pattern has {bytes} bytes; the maximum is {most}")]
    PatternTooLong {
        /// Its length.
        bytes: usize,
        /// The longest.
        most: usize,
    },
    /// A pattern is nothing.
    #[error("the pattern is empty")]
    PatternEmpty,
    /// A pattern is to be verified, and there is none.
    #[error("verifying a pattern needs one: give verify_pattern")]
    NoPattern,
    /// Stamps do not fit into the blocks.
    #[error(
        "verify={} needs {stamp} bytes for its stamp, but blocks have only {grid} in common: use larger blocks, or a larger \
         verify_interval",
        super::stamp::name(super::stamp::code(*method))
    )]
    StampTooLarge {
        /// What stamps hold.
        method: VerifyMethod,
        /// Their length.
        stamp: usize,
        /// What blocks have in common, bytes.
        grid: usize,
    },
    /// Stamps cannot lie there.
    #[error(
        "a stamp of {stamp} bytes does not fit at verify_offset={at} of each {grid} bytes: use 0, or {stamp} to {}",
        grid - stamp
    )]
    StampPlace {
        /// Their length.
        stamp: usize,
        /// Where they should lie.
        at: usize,
        /// What blocks have in common, bytes.
        grid: usize,
    },
    /// What an earlier run has left cannot be read.
    #[error("the verify state in {}: {problem}", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: StateProblem,
    },
    /// What a later run needs cannot be kept.
    #[error("cannot save the verify state in {}: {source}", path.display())]
    SaveState {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No thread can be started.
    #[error("cannot start a verifying thread: {0}")]
    Thread(io::Error),
    /// A CPU is none.
    #[error("CPU {cpu} for verification does not exist")]
    NoCpu {
        /// Its number.
        cpu: u32,
    },
    /// The system does not let it run there.
    #[error(
        "cannot verify on CPUs {}: {source}; see verify_async_cpus",
        cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    )]
    Cpus {
        /// Their numbers.
        cpus: Vec<u32>,
        /// What the system said.
        source: io::Error,
    },
    /// The threads that verify are gone.
    #[error("the verifying threads ended: a check in them failed")]
    ThreadsGone,
    /// A thread that verifies did not come to its end.
    #[error("a verifying thread ended early; not all reads were verified")]
    ThreadEnded,
}

/// What is wrong with a saved state.
#[derive(Debug, thiserror::Error)]
pub enum StateProblem {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] io::Error),
    /// It ends early.
    #[error("it is cut off")]
    Cut,
    /// Somebody else's, or of another time.
    #[error(
        "it has version {version}, and only 7 can be read (fio 3.41 and later): write it again, or verify without it"
    )]
    Version {
        /// Its version.
        version: u64,
    },
    /// It is not what was written.
    #[error("its checksum does not match: it is damaged")]
    Checksum,
}
