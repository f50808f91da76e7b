//! Scales of named workloads, and the building blocks that they share.

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

/// Size and duration of a named workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Scale {
    /// Size of the range for block I/O, in bytes; whole MiB, at least one.
    pub file_bytes: u64,
    /// Number of files in a file set, at least 4.
    pub files: u64,
    /// Maximum duration of each phase that does not end by its amount of work, in ns.
    pub time_ns: u64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Directory or simulated device to run on.
    pub place: RunPlace,
}

/// Place where a named workload runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RunPlace {
    /// In a directory; all paths are relative to it.
    Directory,
    /// On a simulated device.
    Sim(SimDevice),
}

/// A workload with a name.
#[derive(Debug, Clone, Copy)]
pub struct NamedWorkload {
    /// Name as typed on the command line.
    pub name: &'static str,
    /// Summary in one line.
    pub about: &'static str,
    /// Metrics that answer for the workload, most important first. Each occurs in only one phase.
    pub headline: &'static [&'static str],
    /// Benchmark of which the numbers are not official results, if the name or the work suggests one.
    pub banner: Option<&'static str>,
    pub(super) made: Made,
}

/// Source of a named workload.
#[derive(Debug, Clone, Copy)]
pub(super) enum Made {
    /// Code that builds it for any scale.
    Built(fn(&Scale, &NamedWorkload) -> Workload),
    /// A native file for [`Scale::moderate`].
    Written,
}

impl NamedWorkload {
    pub fn title(&self) -> WorkloadTitle {
        WorkloadTitle { name: self.name, about: self.about }
    }

    /// Returns the workload at this scale.
    pub fn workload(&self, scale: &Scale) -> Workload {
        match self.made {
            Made::Built(build) => build(scale, self),
            Made::Written => written(self, file(self.name), scale),
        }
    }

    /// Returns the source of each of its numbers.
    pub fn explanation(&self) -> Explanation {
        match self.made {
            Made::Written => explain(self, file(self.name)),
            Made::Built(build) => {
                let workload = build(&Scale::moderate(RunPlace::Directory), self);
                // Printing succeeds for every workload of the tables; a test prints all of them.
                explain(self, &native::to_toml(&workload).unwrap_or_default())
            }
        }
    }
}

pub(super) const MIB: u64 = 1 << 20;

/// Mean size of a small file or a message, as in Filebench's mail server.
pub(super) const SMALL_FILE: Bytes = Bytes(16 << 10);

impl Scale {
    /// Returns a moderate scale: 1 GiB, 4000 files, 4 s.
    pub fn moderate(place: RunPlace) -> Scale {
        Scale { file_bytes: 1 << 30, files: 4000, time_ns: 4_000_000_000, seed: Workload::DEFAULT_SEED, place }
    }

    /// Returns the range for block I/O: whole MiB, at least one.
    pub(super) fn range(&self) -> Bytes {
        Bytes((self.file_bytes / MIB).max(1) * MIB)
    }

    pub(super) fn files(&self) -> u64 {
        self.files.max(4)
    }

    pub(super) fn time(&self) -> Option<Nanos> {
        Some(Nanos(self.time_ns.max(1)))
    }

    /// Returns a range of offsets, as a file or a simulated device.
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

    /// Returns a set of small files, with about 100 per directory.
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

/// Returns a gamma distribution with shape 1.5, because measured file sizes are skewed.
/// Source: Filebench's `fileset` defaults.
pub(super) fn message_size() -> Distribution {
    Distribution::Gamma { mean: SMALL_FILE, shape: 1.5 }
}

pub(super) fn phase(name: &str, cache: CachePolicy, stop: Stop, workers: Vec<WorkerGroup>) -> Phase {
    Phase { cache, stop, ..Phase::new(name, workers) }
}

/// Returns one worker with block I/O.
pub(super) fn blocks(target: &str, depth: u32, work: Blocks) -> WorkerGroup {
    WorkerGroup { depth, ..WorkerGroup::new(target, work) }
}

/// Returns `count` workers that run a program.
pub(super) fn program(target: &str, count: u32, steps: Vec<Step>) -> WorkerGroup {
    WorkerGroup { count, ..WorkerGroup::new(target, Work::Program(Box::new(Program::new(steps)))) }
}

pub(super) fn passes(passes: u64) -> Limit {
    Limit { passes: Some(passes), ..Limit::default() }
}
