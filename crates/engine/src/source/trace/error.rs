//! Why a recording cannot be replayed.

use plumb_workload::OpKind;
use std::error::Error;
use std::path::PathBuf;

/// Why a recording cannot be replayed, or goes no further.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read; in the words of who reads it, which name it.
    #[error(transparent)]
    Read(Box<dyn Error + Send + Sync>),
    /// More descriptors are open at once than can be.
    #[error("more than {most} of its files are open at once; replay a part of it (`below`)")]
    TooManyOpen {
        /// The most.
        most: u32,
    },
    /// Whoever reads recordings reads block I/O only.
    #[error("{}: recordings of calls cannot be read here", path.display())]
    NoCalls {
        /// The recording.
        path: PathBuf,
    },
    /// It has nothing to replay.
    #[error("{} has nothing to replay{}", path.display(), if *has_below { " below that directory; see `plumb trace show`" } else { "" })]
    Nothing {
        /// The recording.
        path: PathBuf,
        /// Whether only a part was asked for.
        has_below: bool,
    },
    /// Times that were asked for are not in it.
    #[error("{} does not say how long its calls took; `{timing}` needs that: use recorded times or `as-fast-as-possible`", path.display())]
    NoDurations {
        /// The recording.
        path: PathBuf,
        /// What was asked for.
        timing: &'static str,
    },
    /// Its threads cannot be shared by so many processes.
    #[error(
        "{} can be shared by {} at most, not {ranks}, because {why}; {instead}",
        path.display(),
        if *found <= 1 { "one rank".to_owned() } else { format!("{found} ranks") }
    )]
    TooFewParts {
        /// The recording.
        path: PathBuf,
        /// What stays together.
        why: &'static str,
        /// Into how many parts it can be taken apart.
        found: u32,
        /// How many there have to be.
        ranks: u32,
        /// The way out.
        instead: String,
    },
    /// Calls would wait for those of other processes, which say nothing while they run.
    #[error(
        "with `{order}`, calls wait for those of all threads, and ranks send nothing while they run; use --order resource or thread, or \
         a copy in each rank (--clones {ranks})"
    )]
    OrderOfRanks {
        /// The order.
        order: &'static str,
        /// How many processes there are.
        ranks: u32,
    },
    /// A read or write is larger than a replay's memory.
    #[error("{} has a {} of {bytes} bytes; a replay moves at most {most} at once", path.display(), kind.name())]
    TooLarge {
        /// The recording.
        path: PathBuf,
        /// What it is.
        kind: OpKind,
        /// Its length.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// An op is longer than one op can be.
    #[error("an op of {bytes} bytes is more than one op can move")]
    TooLong {
        /// Its length.
        bytes: u64,
    },
    /// A kind of op that was not foreseen.
    #[error(
        "{} has an unexpected {}; did the recording change? add the kind to `moves`",
        path.display(),
        kind.name()
    )]
    Unforeseen {
        /// The recording.
        path: PathBuf,
        /// What it has.
        kind: OpKind,
    },
    /// An op is larger than was said.
    #[error(
        "{} has an op of {bytes} bytes, but `largest` is {largest}; did the recording change? increase `largest`",
        path.display()
    )]
    Larger {
        /// The recording.
        path: PathBuf,
        /// The op's length.
        bytes: u32,
        /// What was said.
        largest: u64,
    },
    /// It goes to more files than there are.
    #[error(
        "{} uses at least {wanted} files, but the target has {count}; name as many, or redirect all ops to one (`one-file`, \
         fio's replay_redirect)",
        path.display()
    )]
    Files {
        /// The recording.
        path: PathBuf,
        /// How many it takes at least.
        wanted: u64,
        /// How many there are.
        count: usize,
    },
    /// An op goes beyond the end.
    #[error(
        "{} has a {} of {bytes} bytes at {offset} in {}, which ends at {end}; use a larger file or device, or divide the \
         offsets (`scale`, fio's replay_scale)",
        path.display(),
        kind.name(),
        file.display()
    )]
    Beyond {
        /// The recording.
        path: PathBuf,
        /// The op.
        kind: OpKind,
        /// Its length.
        bytes: u32,
        /// Where it begins.
        offset: u64,
        /// The file.
        file: PathBuf,
        /// Where that ends.
        end: u64,
    },
    /// Offset or length do not suit direct I/O.
    #[error(
        "{} has a {} of {bytes} bytes at {offset} in {}, but direct I/O needs multiples of {alignment}; use the page cache (`direct = false`, fio's direct=0), or round the offsets (`align`, fio's replay_align)",
        path.display(),
        kind.name(),
        file.display()
    )]
    Unaligned {
        /// The recording.
        path: PathBuf,
        /// The op.
        kind: OpKind,
        /// Its length.
        bytes: u32,
        /// Where it begins.
        offset: u64,
        /// The file.
        file: PathBuf,
        /// What both must be multiples of, bytes.
        alignment: u64,
    },
}
