//! How large a named workload is, and what named workloads are built of.

use super::explain::explain;
use super::loads::file;
use super::placed::written;
use crate::native;
use plumb_workload::blocks::Blocks;
use plumb_workload::content::Content;
use plumb_workload::named::{Explanation, WorkloadTitle};
use plumb_workload::phase::{CachePolicy, Limit, Phase, Stop, Work, WorkerGroup};
use plumb_workload::sim::SimDevice;
use plumb_workload::target::{Distribution, FileTarget, Prepare, SimTarget, Target, TreeTarget};
use plumb_workload::units::{Bytes, Nanos};
use plumb_workload::{Program, Step, Workload};

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
    pub place: RunPlace,
}

/// Where a named workload runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunPlace {
    /// In a directory: all paths are relative to it.
    Directory,
    /// On a simulated device.
    Sim(SimDevice),
}

/// A workload that has a name.
#[derive(Debug, Clone, Copy)]
pub struct NamedWorkload {
    /// What users type.
    pub name: &'static str,
    /// One line for users.
    pub about: &'static str,
    /// Names of the metrics that answer for it, the most telling one first. Each occurs in one phase only.
    pub headline: &'static [&'static str],
    /// Of what its numbers are no official result, where its name or work could be taken for one.
    pub banner: Option<&'static str>,
    pub(super) made: Made,
}

/// What a named workload is made from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    /// Code, for any scale.
    Built(fn(&Scale, &NamedWorkload) -> Workload),
    /// A native file, at the scale of [`Scale::moderate`].
    Written,
}

impl NamedWorkload {
    /// Its name and description.
    pub fn title(&self) -> WorkloadTitle {
        WorkloadTitle { name: self.name, about: self.about }
    }

    /// The workload at this scale.
    pub fn workload(&self, scale: &Scale) -> Workload {
        match self.made {
            Made::Built(build) => build(scale, self),
            Made::Written => written(self, file(self.name), scale),
        }
    }

    /// Where each of its numbers comes from.
    pub fn explanation(&self) -> Explanation {
        match self.made {
            Made::Written => explain(self, file(self.name)),
            Made::Built(build) => {
                let workload = build(&Scale::moderate(RunPlace::Directory), self);
                // Printing a workload fails for none that a table has: a test prints all.
                explain(self, &native::to_toml(&workload).unwrap_or_default())
            }
        }
    }
}

pub(super) const MIB: u64 = 1 << 20;

/// Mean size of a small file or a message. Filebench's mail server has the same.
pub(super) const SMALL_FILE: Bytes = Bytes(16 << 10);

impl Scale {
    /// A moderate one: 1 GiB, 4000 files, 4 s.
    pub fn moderate(place: RunPlace) -> Scale {
        Scale { file_bytes: 1 << 30, files: 4000, time_ns: 4_000_000_000, seed: Workload::DEFAULT_SEED, place }
    }

    /// The range for block I/O: whole MiB, and at least one.
    pub(super) fn range(&self) -> Bytes {
        Bytes((self.file_bytes / MIB).max(1) * MIB)
    }

    pub(super) fn files(&self) -> u64 {
        self.files.max(4)
    }

    pub(super) fn time(&self) -> Option<Nanos> {
        Some(Nanos(self.time_ns.max(1)))
    }

    /// One range of offsets, as a file or as a simulated device.
    pub(super) fn range_target(&self, name: &str, size: Bytes, prepare: Prepare) -> Target {
        match &self.place {
            RunPlace::Directory => Target::File(FileTarget {
                path: name.into(),
                size: Some(size.into()),
                prepare,
                content: Content::Random,
            }),
            RunPlace::Sim(device) => Target::Sim(SimTarget {
                device: device.clone(),
                size,
                files: None,
                preallocated_percent: 0,
                shares: None,
            }),
        }
    }

    /// A file set of small files, about 100 to a directory.
    pub(super) fn tree_target(&self, name: &str, preallocated_percent: u32) -> Target {
        const FILES_PER_DIRECTORY: u64 = 100;
        let files = self.files();
        match &self.place {
            RunPlace::Directory => Target::Tree(TreeTarget {
                path: name.into(),
                files,
                width: files.div_ceil(FILES_PER_DIRECTORY).clamp(1, 10_000) as u32,
                depth: 1,
                size: message_size(),
                preallocated_percent,
                directories: 0,
                content: Content::Random,
            }),
            RunPlace::Sim(device) => Target::Sim(SimTarget {
                device: device.clone(),
                size: Bytes(files.saturating_mul(SMALL_FILE.0).min(i64::MAX as u64)),
                files: Some(files),
                preallocated_percent,
                shares: None,
            }),
        }
    }

    pub(super) fn workload<const N: usize>(&self, name: &str, about: &str, targets: [(&str, Target); N]) -> Workload {
        Workload {
            name: name.to_owned(),
            description: about.to_owned(),
            seed: self.seed,
            target: targets.into_iter().map(|(name, target)| (name.to_owned(), target)).collect(),
            phase: Vec::new(),
            repeat: None,
        }
    }
}

/// Gamma with shape 1.5, as measured file sizes are skewed. Source: Filebench's `fileset` defaults.
pub(super) fn message_size() -> Distribution {
    Distribution::Gamma { mean: SMALL_FILE, shape: 1.5 }
}

pub(super) fn phase(name: &str, cache: CachePolicy, stop: Stop, workers: Vec<WorkerGroup>) -> Phase {
    Phase { cache, stop, ..Phase::new(name, workers) }
}

/// One worker with block I/O.
pub(super) fn blocks(target: &str, depth: u32, work: Blocks) -> WorkerGroup {
    WorkerGroup { depth, ..WorkerGroup::new(target, work) }
}

/// `count` workers with a program.
pub(super) fn program(target: &str, count: u32, steps: Vec<Step>) -> WorkerGroup {
    WorkerGroup { count, ..WorkerGroup::new(target, Work::Program(Box::new(Program::new(steps)))) }
}

pub(super) fn passes(passes: u64) -> Limit {
    Limit { passes: Some(passes), ..Limit::default() }
}
