//! Named workloads: the work that people ask about by name, for `plumb compare --for NAME`, `plumb run NAME` and
//! `plumb try`.
//!
//! One table, [`NAMED`]; each builds a [`Workload`] at a [`Scale`]. What is durable in real life is durable here: writes
//! are flushed with the clock running. What the page cache may answer is said by each phase's cache policy.

mod block;
mod file;
mod survey;
#[cfg(test)]
mod tests;

pub use survey::try_workload;

use crate::blocks::Blocks;
use crate::content::Content;
use crate::phase::{CachePolicy, Limit, Phase, Stop, Work, WorkerGroup};
use crate::sim::SimDevice;
use crate::suggest::did_you_mean;
use crate::target::{Distribution, FileTarget, Prepare, SimTarget, Target, TreeTarget};
use crate::units::{Bytes, Nanos};
use crate::{Program, Step, Workload};

/// How large and how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Bytes of the range that block I/O works on, in whole MiB, at least one.
    pub file_bytes: u64,
    /// Files of a file set, at least 4.
    pub files: u64,
    /// Longest time of each phase that is not ended by its amount of work, in nanoseconds.
    pub time_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Where.
    pub place: Place,
}

/// Where a named workload runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In a directory: all paths are relative to it.
    Directory,
    /// On a simulated device.
    Sim(SimDevice),
}

/// A workload that has a name.
#[derive(Debug, Clone, Copy)]
pub struct Named {
    /// What users type.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// Names of the metrics that answer for it, the most telling one first. Each occurs in one phase only.
    pub headline: &'static [&'static str],
    build: fn(&Scale, &Named) -> Workload,
}

impl Named {
    /// The workload at this scale.
    pub fn workload(&self, scale: &Scale) -> Workload {
        (self.build)(scale, self)
    }
}

/// Every named workload, in the order of help and of `all`.
pub const NAMED: &[Named] = &[
    Named {
        name: "stream-read",
        about: "one program reads a large file from end to end, with nothing of it cached",
        headline: &["read.bw"],
        build: block::stream_read,
    },
    Named {
        name: "stream-write",
        about: "one program writes a large new file from end to end and makes it durable",
        headline: &["write.bw"],
        build: block::stream_write,
    },
    Named {
        name: "random-read",
        about: "4 KiB reads all over a file, 32 at a time, past the page cache",
        headline: &["read.iops", "read.lat.p99"],
        build: block::random_read,
    },
    Named {
        name: "random-write",
        about: "4 KiB overwrites all over a file, 32 at a time, past the page cache",
        headline: &["write.iops", "write.lat.p99"],
        build: block::random_write,
    },
    Named {
        name: "fsync-log",
        about: "a growing log: append 4 KiB, make it durable, again",
        headline: &["fdatasync.lat.p99", "fdatasync.ops"],
        build: block::fsync_log,
    },
    Named {
        name: "small-files",
        about: "create, stat, read and delete many files of about 16 KiB",
        headline: &["create.ops", "stat.ops", "read.iops", "unlink.ops"],
        build: file::small_files,
    },
    Named {
        name: "mail",
        about: "a mail server: deliver, read, flag and delete messages, each delivery durable",
        headline: &["txn.ops", "fsync.lat.p99"],
        build: file::mail,
    },
    Named {
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
pub fn select(name: &str) -> Result<Vec<&'static Named>, UnknownName> {
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

const MIB: u64 = 1 << 20;

/// Mean size of a small file or a message. Filebench's mail server has the same.
const SMALL_FILE: Bytes = Bytes(16 << 10);

impl Scale {
    /// A moderate one: 1 GiB, 4000 files, 4 s.
    pub fn moderate(place: Place) -> Scale {
        Scale { file_bytes: 1 << 30, files: 4000, time_ns: 4_000_000_000, seed: Workload::DEFAULT_SEED, place }
    }

    /// The range for block I/O: whole MiB, and at least one.
    fn range(&self) -> Bytes {
        Bytes((self.file_bytes / MIB).max(1) * MIB)
    }

    fn files(&self) -> u64 {
        self.files.max(4)
    }

    fn time(&self) -> Option<Nanos> {
        Some(Nanos(self.time_ns.max(1)))
    }

    /// One range of offsets, as a file or as a simulated device.
    fn range_target(&self, name: &str, size: Bytes, prepare: Prepare) -> Target {
        match &self.place {
            Place::Directory => Target::File(FileTarget {
                path: name.into(),
                size: Some(size.into()),
                prepare,
                content: Content::Random,
            }),
            Place::Sim(device) => {
                Target::Sim(SimTarget { device: device.clone(), size, files: None, preallocated_percent: 0 })
            }
        }
    }

    /// A file set of small files, about 100 to a directory.
    fn tree_target(&self, name: &str, preallocated_percent: u32) -> Target {
        const FILES_PER_DIRECTORY: u64 = 100;
        let files = self.files();
        match &self.place {
            Place::Directory => Target::Tree(TreeTarget {
                path: name.into(),
                files,
                width: files.div_ceil(FILES_PER_DIRECTORY).clamp(1, 10_000) as u32,
                depth: 1,
                size: message_size(),
                preallocated_percent,
                content: Content::Random,
            }),
            Place::Sim(device) => Target::Sim(SimTarget {
                device: device.clone(),
                size: Bytes(files.saturating_mul(SMALL_FILE.0).min(i64::MAX as u64)),
                files: Some(files),
                preallocated_percent,
            }),
        }
    }

    fn workload<const N: usize>(&self, name: &str, about: &str, targets: [(&str, Target); N]) -> Workload {
        Workload {
            name: name.to_owned(),
            description: about.to_owned(),
            seed: self.seed,
            target: targets.into_iter().map(|(name, target)| (name.to_owned(), target)).collect(),
            phase: Vec::new(),
        }
    }
}

/// Gamma with shape 1.5, as measured file sizes are skewed. Source: Filebench's `fileset` defaults.
fn message_size() -> Distribution {
    Distribution::Gamma { mean: SMALL_FILE, shape: 1.5 }
}

fn phase(name: &str, cache: CachePolicy, stop: Stop, workers: Vec<WorkerGroup>) -> Phase {
    Phase { cache, stop, ..Phase::new(name, workers) }
}

/// One worker with block I/O.
fn blocks(target: &str, depth: u32, work: Blocks) -> WorkerGroup {
    WorkerGroup { depth, ..WorkerGroup::new(target, Work::Blocks(work)) }
}

/// `count` workers with a program.
fn program(target: &str, count: u32, steps: Vec<Step>) -> WorkerGroup {
    WorkerGroup { count, ..WorkerGroup::new(target, Work::Program(Box::new(Program::new(steps)))) }
}

fn passes(passes: u64) -> Limit {
    Limit { passes: Some(passes), ..Limit::default() }
}
