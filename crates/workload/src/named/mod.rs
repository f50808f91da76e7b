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
        about: "one program reads a large file from end to end, with nothing of it cached",
        headline: &["read.bw"],
        build: block::stream_read,
    },
    NamedWorkload {
        name: "stream-write",
        about: "one program writes a large new file from end to end and makes it durable",
        headline: &["write.bw"],
        build: block::stream_write,
    },
    NamedWorkload {
        name: "random-read",
        about: "4 KiB reads all over a file, 32 at a time, past the page cache",
        headline: &["read.iops", "read.lat.p99"],
        build: block::random_read,
    },
    NamedWorkload {
        name: "random-write",
        about: "4 KiB overwrites all over a file, 32 at a time, past the page cache",
        headline: &["write.iops", "write.lat.p99"],
        build: block::random_write,
    },
    NamedWorkload {
        name: "fsync-log",
        about: "a growing log: append 4 KiB, make it durable, again",
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
        about: "a mail server: deliver, read, flag and delete messages, each delivery durable",
        headline: &["txn.ops", "fsync.lat.p99"],
        build: file::mail,
    },
    NamedWorkload {
        name: "database",
        about: "8 KiB random reads and writes, 70 to 30, beside a log that is made durable at each commit",
        headline: &["read.iops", "read.lat.p99", "fdatasync.lat.p99"],
        build: block::database,
    },
];

/// The word for every named workload.
pub const ALL: &str = "all";

/// There is no named workload of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload named `{name}`; {help}")]
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
