//! Named workloads: the work that people ask about by name, for `plumb compare --for NAME`, `plumb run NAME` and
//! `plumb try`.
//!
//! One table, [`NAMED`]; each builds a [`Workload`] at a [`Scale`]. What is durable in real life is durable here: writes
//! are flushed with the clock running. What the page cache may answer is said by each phase's cache policy.

mod block;
mod file;
mod scale;
mod survey;
#[cfg(test)]
mod tests;

use crate::suggest::did_you_mean;
use scale::{MIB, blocks, message_size, passes, phase, program};
pub use scale::{NamedWorkload, RunPlace, Scale};
pub use survey::{SURVEY, try_read_only, try_workload};

/// Every named workload, in the order of help and of `all`.
pub const NAMED: &[NamedWorkload] = &[
    NamedWorkload {
        name: "stream-read",
        about: "sequential 1 MiB reads of a large uncached file, through the page cache",
        headline: &["read.bw"],
        build: block::stream_read,
    },
    NamedWorkload {
        name: "stream-write",
        about: "sequential 1 MiB writes of a large new file, through the page cache, flushed at the end",
        headline: &["write.bw"],
        build: block::stream_write,
    },
    NamedWorkload {
        name: "random-read",
        about: "random 4 KiB reads at queue depth 32, direct I/O",
        headline: &["read.iops", "read.lat.p99"],
        build: block::random_read,
    },
    NamedWorkload {
        name: "random-write",
        about: "random 4 KiB overwrites at queue depth 32, direct I/O",
        headline: &["write.iops", "write.lat.p99"],
        build: block::random_write,
    },
    NamedWorkload {
        name: "fsync-log",
        about: "append 4 KiB and fdatasync, again and again",
        headline: &["fdatasync.lat.p99", "fdatasync.ops"],
        build: block::fsync_log,
    },
    NamedWorkload {
        name: "small-files",
        about: "create, stat, read and delete many files of about 16 KiB",
        headline: &["create.ops", "stat.ops", "read.iops", "unlink.ops"],
        build: file::small_files,
    },
    NamedWorkload {
        name: "mail",
        about: "a mail server: deliver, read, flag and delete messages; fsync after each delivery",
        headline: &["txn.ops", "fsync.lat.p99"],
        build: file::mail,
    },
    NamedWorkload {
        name: "database",
        about: "8 KiB random reads and writes (70:30) at depth 16, next to a log with an fdatasync per commit",
        headline: &["read.iops", "read.lat.p99", "fdatasync.lat.p99"],
        build: block::database,
    },
];

/// The word for every named workload.
pub const ALL: &str = "all";

/// There is no named workload of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload `{name}`; {help}")]
pub struct UnknownName {
    /// What was asked for.
    pub name: String,
    /// The nearest name, or all of them.
    pub help: String,
}

/// The named workload of this name, or every one for [`ALL`].
pub fn select(name: &str) -> Result<Vec<&'static NamedWorkload>, UnknownName> {
    if name == ALL {
        return Ok(NAMED.iter().collect());
    }
    match NAMED.iter().find(|named| named.name == name) {
        Some(named) => Ok(vec![named]),
        None => {
            let names: Vec<&str> = NAMED.iter().map(|named| named.name).chain([ALL]).collect();
            let help = did_you_mean(name, &names).unwrap_or_default();
            Err(UnknownName { name: name.to_owned(), help })
        }
    }
}
