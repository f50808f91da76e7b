//! A parsed parameter file: the storage, and the runs in order.

use super::file_systems::{FileStorage, FileWork};
use super::format::Format;
use super::storage::{Storage, Work};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    Max,
    /// No limit, in the first run of a curve; skews control the workloads.
    CurveMax,
    /// A point of a curve, in percent of the rate of its first run.
    CurvePercent(u64),
    /// I/Os per second.
    PerSecond(u64),
}

/// Amounts of data that end a run. Values up to 100 are multiples of the storage that the run uses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct DataLimit {
    pub(super) all: Option<f64>,
    pub(super) read: Option<f64>,
    pub(super) written: Option<f64>,
}

impl DataLimit {
    /// Returns the bytes after which a run ends. `storage` is the size of the storage that it uses, bytes.
    pub(super) fn bytes(self, storage: u64) -> Option<u64> {
        let limits = [self.all, self.read, self.written].into_iter().flatten();
        // As in vdbench, values up to 100 are multiples.
        limits.map(|limit| if limit > 100.0 { limit } else { limit * storage as f64 } as u64).min()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub name: String,
    pub(super) works: Vec<Work>,
    pub(super) file_works: Vec<FileWork>,
    /// The file systems that `file_works` use.
    pub(super) file_systems: Vec<FileStorage>,
    pub rate: Rate,
    /// Measured time, seconds.
    pub elapsed_s: u64,
    /// Length of an interval, seconds.
    pub interval_s: u64,
    /// Warm-up before the measurement, seconds.
    pub warmup_s: u64,
    /// Pause before the run, seconds.
    pub pause_s: u64,
    pub(super) poisson: bool,
    pub(super) threads: Option<u64>,
    /// The format, if the run only creates files.
    pub(super) format: Option<Format>,
    /// Data limit that ends the run.
    pub(super) data: DataLimit,
    /// Values of the `forX` loops in this run, as printed.
    pub loops: String,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    pub(super) storage: Vec<Storage>,
    pub runs: Vec<Run>,
    /// Whether anchors are created, with all parent directories.
    pub makes_anchors: bool,
    /// Messages about parameters without effect, each with its line.
    pub notes: Vec<String>,
}

impl Run {
    /// Returns `true` if gaps between operations are exponentially distributed.
    pub(super) fn is_poisson(&self) -> bool {
        self.poisson
    }

    /// Returns `true` if the run works on files of file systems.
    pub fn has_files(&self) -> bool {
        !self.file_works.is_empty()
    }

    /// Returns the anchor directories, in the order of the file system definitions.
    pub fn anchors(&self) -> impl Iterator<Item = &str> {
        self.file_systems.iter().map(|one| one.anchor.as_str())
    }
}

impl Script {
    /// Returns the paths of the storage definitions, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.storage.iter().map(|one| one.path.as_str())
    }
}

/// Returns the unlimited run, then the points of the curve.
pub(super) fn curve(points: &[u64]) -> Vec<Rate> {
    std::iter::once(Rate::CurveMax).chain(points.iter().map(|&point| Rate::CurvePercent(point))).collect()
}
