//! A parameter file as it is understood: the storage, and the runs in their order.

use super::file_systems::{FileStorage, FileWork};
use super::format::Format;
use super::storage::{Storage, Work};

/// How fast a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As fast as it goes.
    Max,
    /// The first run of a curve: as fast as it goes, controlled by skews.
    CurveMax,
    /// A point of a curve, per cent of what its first run did.
    CurvePercent(u64),
    /// I/Os a second.
    PerSecond(u64),
}

/// Limit of data that ends a run. Up to 100, it is a multiple of the storage that the run uses.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct DataLimit {
    pub(super) all: Option<f64>,
    pub(super) read: Option<f64>,
    pub(super) written: Option<f64>,
}

impl DataLimit {
    /// Bytes after which a run ends that uses storage of these bytes.
    pub(super) fn bytes(self, storage: u64) -> Option<u64> {
        let limits = [self.all, self.read, self.written].into_iter().flatten();
        // Up to 100 is a multiple, as the tool has it.
        limits.map(|limit| if limit > 100.0 { limit } else { limit * storage as f64 } as u64).min()
    }
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its name.
    pub name: String,
    pub(super) works: Vec<Work>,
    pub(super) file_works: Vec<FileWork>,
    /// The file systems that these use.
    pub(super) file_systems: Vec<FileStorage>,
    /// How fast.
    pub rate: Rate,
    /// Seconds that are measured.
    pub elapsed_s: u64,
    /// Seconds of an interval.
    pub interval_s: u64,
    /// Seconds before.
    pub warmup_s: u64,
    /// Seconds of waiting before it.
    pub pause_s: u64,
    pub(super) poisson: bool,
    pub(super) threads: Option<u64>,
    /// What is made, where that is all.
    pub(super) format: Option<Format>,
    /// Bytes that end the run.
    pub(super) data: DataLimit,
    /// What the loops of `forX` have at this run.
    pub loops: String,
}

/// A parameter file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    pub(super) storage: Vec<Storage>,
    /// Its runs, in order.
    pub runs: Vec<Run>,
    /// Whether anchors are made, with all that is above them.
    pub makes_anchors: bool,
    /// Messages about parameters without effect, each with its line.
    pub notes: Vec<String>,
}

impl Run {
    /// Whether gaps between operations are exponential.
    pub(super) fn is_poisson(&self) -> bool {
        self.poisson
    }

    /// Whether it works on files of file systems.
    pub fn has_files(&self) -> bool {
        !self.file_works.is_empty()
    }

    /// Returns the anchor directories, in the order of the file system definitions.
    pub fn anchors(&self) -> impl Iterator<Item = &str> {
        self.file_systems.iter().map(|one| one.anchor.as_str())
    }
}

impl Script {
    /// What its storage definitions name, in their order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.storage.iter().map(|one| one.path.as_str())
    }
}

/// The run as fast as it goes, then the points.
pub(super) fn curve(points: &[u64]) -> Vec<Rate> {
    std::iter::once(Rate::CurveMax).chain(points.iter().map(|&point| Rate::CurvePercent(point))).collect()
}
