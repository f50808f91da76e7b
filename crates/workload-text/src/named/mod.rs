//! Named workloads, for `plumb compare --for NAME`, `plumb run NAME` and `plumb try`.
//!
//! The table [`NAMED`] has Plumb's own, each of which builds a [`Workload`] for a [`Scale`]. Writes that are
//! durable in practice are durable here: they are flushed with the clock running. Each phase's cache policy states
//! what the page cache may answer.
//!
//! The table [`LOADS`] has models of real applications and benchmarks: native files that give the source of each
//! number. [`USES`] lists uses of storage, with published limits for them.

mod block;
mod explain;
mod file;
mod loads;
mod on_device;
mod placed;
mod scale;
mod survey;
#[cfg(test)]
mod tests;
mod uses;

pub use loads::LOADS;
pub use on_device::{NotOnDevice, on_device};
use plumb_workload::named::WorkloadTitle;
use plumb_workload::suggest::{did_you_mean, nearest};
use scale::Made;
use scale::{MIB, blocks, message_size, passes, phase, program};
pub use scale::{NamedWorkload, RunPlace, Scale};
pub use survey::{try_read_only, try_workload};
pub use uses::{USES, UnknownUse, load_of, use_named};

/// Plumb's own named workloads, in the order of help and of `all`.
pub const NAMED: &[NamedWorkload] = &[
    NamedWorkload {
        name: "stream-read",
        about: "sequential 1 MiB reads of a large uncached file, through the page cache",
        headline: &["read.bw"],
        banner: None,
        made: Made::Built(block::stream_read),
    },
    NamedWorkload {
        name: "stream-write",
        about: "sequential 1 MiB writes of a large new file, through the page cache, flushed at the end",
        headline: &["write.bw"],
        banner: None,
        made: Made::Built(block::stream_write),
    },
    NamedWorkload {
        name: "random-read",
        about: "random 4 KiB reads at queue depth 32, direct I/O",
        headline: &["read.iops", "read.lat.p99"],
        banner: None,
        made: Made::Built(block::random_read),
    },
    NamedWorkload {
        name: "random-write",
        about: "random 4 KiB overwrites at queue depth 32, direct I/O",
        headline: &["write.iops", "write.lat.p99"],
        banner: None,
        made: Made::Built(block::random_write),
    },
    NamedWorkload {
        name: "fsync-log",
        about: "append 4 KiB and fdatasync, again and again",
        headline: &["fdatasync.lat.p99", "fdatasync.ops"],
        banner: None,
        made: Made::Built(block::fsync_log),
    },
    NamedWorkload {
        name: "small-files",
        about: "create, stat, read and delete many files of about 16 KiB",
        headline: &["create.ops", "stat.ops", "read.iops", "unlink.ops"],
        banner: None,
        made: Made::Built(file::small_files),
    },
    NamedWorkload {
        name: "mail",
        about: "a mail server: deliver, read, flag and delete messages; fsync after each delivery",
        headline: &["txn.ops", "fsync.lat.p99"],
        banner: None,
        made: Made::Built(file::mail),
    },
    NamedWorkload {
        name: "database",
        about: "8 KiB random reads and writes (70:30) at depth 16, next to a log with an fdatasync per commit",
        headline: &["read.iops", "read.lat.p99", "fdatasync.lat.p99"],
        banner: None,
        made: Made::Built(block::database),
    },
];

/// The name that selects all of [`NAMED`].
pub const ALL: &str = "all";

/// Error for an unknown workload name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload `{name}`; {help}")]
pub struct UnknownName {
    pub name: String,
    /// The nearest name, or a list of Plumb's own.
    pub help: String,
}

/// Returns all named workloads, Plumb's own first.
pub fn every() -> impl Iterator<Item = &'static NamedWorkload> {
    NAMED.iter().chain(LOADS)
}

/// Returns the names and descriptions of all named workloads.
pub fn titles() -> Vec<WorkloadTitle> {
    every().map(NamedWorkload::title).collect()
}

/// Returns the workload with this name.
pub fn find(name: &str) -> Option<&'static NamedWorkload> {
    every().find(|named| named.name == name)
}

/// Returns the workload with this name, or all of Plumb's own for [`ALL`].
pub fn select(name: &str) -> Result<Vec<&'static NamedWorkload>, UnknownName> {
    if name == ALL {
        return Ok(NAMED.iter().collect());
    }
    match find(name) {
        Some(named) => Ok(vec![named]),
        None => {
            let loads: Vec<&str> = LOADS.iter().map(|load| load.name).collect();
            let names: Vec<&str> = NAMED.iter().map(|named| named.name).chain([ALL]).collect();
            let near = nearest(name, names.iter().chain(&loads).copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let own = did_you_mean(name, &names).unwrap_or_default();
                    format!("{own}; `plumb workloads` lists {} more", loads.len())
                }
            };
            Err(UnknownName { name: name.to_owned(), help })
        }
    }
}
