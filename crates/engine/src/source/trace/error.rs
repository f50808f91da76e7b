//! Errors from replaying a recording.

use plumb_workload::OpKind;
use std::error::Error;
use std::path::PathBuf;

/// Error that prevents or ends the replay of a recording.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read. The reader's message names it.
    #[error(transparent)]
    Read(Box<dyn Error + Send + Sync>),
    /// More descriptors are open at once than a replay supports.
    #[error("more than {most} of its files are open at once; replay a part of it (`below`)")]
    TooManyOpen { most: u32 },
    /// The given reader of recordings only supports block I/O.
    #[error("{}: recordings of calls cannot be read here", path.display())]
    NoCalls { path: PathBuf },
    #[error("{} has nothing to replay{}", path.display(), if *has_below { " below that directory; see `plumb trace show`" } else { "" })]
    Nothing {
        path: PathBuf,
        /// Whether only the calls below a directory were requested.
        has_below: bool,
    },
    /// The recording lacks the durations that the timing needs.
    #[error("{} does not contain the durations of its calls, which `{timing}` needs: use recorded times or `as-fast-as-possible`", path.display())]
    NoDurations {
        path: PathBuf,
        /// Name of the requested timing.
        timing: &'static str,
    },
    /// The recording's threads cannot be divided among this many processes.
    #[error(
        "{} can be shared by {} at most, not {ranks}, because {why}; {instead}",
        path.display(),
        if *found <= 1 { "one rank".to_owned() } else { format!("{found} ranks") }
    )]
    TooFewParts {
        path: PathBuf,
        /// The unit that must stay together, for the message.
        why: &'static str,
        /// Number of parts that the recording can be divided into.
        found: u32,
        /// Number of processes.
        ranks: u32,
        /// Suggested alternative.
        instead: String,
    },
    /// Calls would wait for those of other processes, which send nothing while they run.
    #[error(
        "with `{order}`, calls wait for those of all threads, and ranks send nothing while they run; use --order resource or thread, or \
         a copy in each rank (--clones {ranks})"
    )]
    OrderOfRanks {
        order: &'static str,
        /// Number of processes.
        ranks: u32,
    },
    /// A read or write exceeds a replay's memory.
    #[error("{} has a {} of {bytes} bytes; a replay moves at most {most} at once", path.display(), kind.name())]
    TooLarge { path: PathBuf, kind: OpKind, bytes: u64, most: u64 },
    #[error("an op of {bytes} bytes is more than one op can move")]
    TooLong { bytes: u64 },
    /// The recording contains a kind of op that `moves` does not list.
    #[error(
        "{} has an unexpected {}; did the recording change? add the kind to `moves`",
        path.display(),
        kind.name()
    )]
    UnexpectedKind { path: PathBuf, kind: OpKind },
    /// An op exceeds the recording's `largest` setting.
    #[error(
        "{} has an op of {bytes} bytes, but `largest` is {largest}; did the recording change? increase `largest`",
        path.display()
    )]
    Larger {
        path: PathBuf,
        bytes: u32,
        /// The `largest` setting.
        largest: u64,
    },
    /// The recording uses more files than the target has.
    #[error(
        "{} uses at least {wanted} files, but the target has {count}; name as many, or redirect all ops to one (`one-file`, \
         fio's replay_redirect)",
        path.display()
    )]
    Files {
        path: PathBuf,
        /// Minimum number of files needed.
        wanted: u64,
        /// Number of the target's files.
        count: usize,
    },
    /// An op exceeds the end of its file.
    #[error(
        "{} has a {} of {bytes} bytes at {offset} in {}, which ends at {end}; use a larger file or device, or divide the \
         offsets (`scale`, fio's replay_scale)",
        path.display(),
        kind.name(),
        file.display()
    )]
    Beyond {
        path: PathBuf,
        kind: OpKind,
        bytes: u32,
        offset: u64,
        file: PathBuf,
        /// Length of the file.
        end: u64,
    },
    /// Direct I/O does not support this offset or length.
    #[error(
        "{} has a {} of {bytes} bytes at {offset} in {}, but direct I/O needs multiples of {alignment}; use the page cache (`direct = false`, fio's direct=0), or round the offsets (`align`, fio's replay_align)",
        path.display(),
        kind.name(),
        file.display()
    )]
    Unaligned { path: PathBuf, kind: OpKind, bytes: u32, offset: u64, file: PathBuf, alignment: u64 },
}
