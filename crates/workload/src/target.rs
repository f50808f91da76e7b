//! Where operations go.

use crate::content::Content;
use crate::files::{JobFiles, Names};
use crate::program::{ScratchTarget, SharedTree};
use crate::replay::RecordedTree;
use crate::sim::SimDevice;
use crate::units::{Bytes, Nanos, Size};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Where operations go. A relative path lies in the test directory that Plumb makes and marks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Target {
    /// One file.
    File(FileTarget),
    /// Several files of one size, `NAME.0`, `NAME.1` …
    Files(FilesTarget),
    /// A file set: a tree of directories and files.
    Tree(TreeTarget),
    /// A block device.
    Device(DeviceTarget),
    /// Nothing: ops complete at once. It measures Plumb itself.
    Null(NullTarget),
    /// Files and devices under their own names, for jobs.
    JobFiles(JobFiles),
    /// A directory in which scripts use files under names of their own.
    Scratch(ScratchTarget),
    /// A file set that all workers share.
    SharedTree(SharedTree),
    /// The files that a recording uses.
    Recorded(RecordedTree),
    /// A simulated device on a virtual clock.
    Sim(SimTarget),
    /// Another host, for network work.
    Host(HostTarget),
}

impl Target {
    /// Its kind, as in a workload file: `shared-tree`.
    pub const fn kind(&self) -> &'static str {
        match self {
            Target::File(_) => "file",
            Target::Files(_) => "files",
            Target::Tree(_) => "tree",
            Target::Device(_) => "device",
            Target::Null(_) => "null",
            Target::JobFiles(_) => "job-files",
            Target::Scratch(_) => "scratch",
            Target::SharedTree(_) => "shared-tree",
            Target::Recorded(_) => "recorded",
            Target::Sim(_) => "sim",
            Target::Host(_) => "host",
        }
    }

    /// Its path, where it has one and not many names.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Target::File(file) => Some(&file.path),
            Target::Files(files) => Some(&files.path),
            Target::Tree(tree) => Some(&tree.path),
            Target::Device(device) => Some(&device.path),
            Target::SharedTree(tree) => Some(&tree.path),
            Target::Recorded(tree) => Some(&tree.path),
            Target::Null(_) | Target::JobFiles(_) | Target::Scratch(_) | Target::Sim(_) | Target::Host(_) => None,
        }
    }

    /// Returns `true` if its files are made in the test directory of the run.
    pub fn is_in_test_dir(&self) -> bool {
        match self {
            Target::File(file) => file.path.is_relative(),
            Target::Files(files) => files.path.is_relative(),
            Target::Tree(tree) => tree.path.is_relative(),
            Target::Recorded(_) => true,
            Target::Device(_)
            | Target::Null(_)
            | Target::JobFiles(_)
            | Target::Scratch(_)
            | Target::SharedTree(_)
            | Target::Sim(_)
            | Target::Host(_) => false,
        }
    }

    /// The way its files get their blocks; `None` for targets other than a file or files of one size.
    pub fn prepare(&self) -> Option<Prepare> {
        match self {
            Target::File(file) => Some(file.prepare),
            Target::Files(files) => Some(files.prepare),
            _ => None,
        }
    }

    /// Its size, where it has one that may depend on the machine.
    pub fn size_mut(&mut self) -> Option<&mut Size> {
        match self {
            Target::File(file) => file.size.as_mut(),
            Target::Files(files) => Some(&mut files.size),
            Target::Device(device) => device.size.as_mut(),
            Target::Tree(_)
            | Target::JobFiles(_)
            | Target::Scratch(_)
            | Target::SharedTree(_)
            | Target::Recorded(_)
            | Target::Host(_)
            | Target::Null(_)
            | Target::Sim(_) => None,
        }
    }

    /// The names of its files, where programs and jobs use names.
    pub fn names(&self) -> Option<&Names> {
        match self {
            Target::JobFiles(files) => Some(&files.names),
            Target::Scratch(scratch) => Some(&scratch.names),
            Target::Null(null) => null.files.as_ref().map(|files| &files.names),
            _ => None,
        }
    }
}

/// How a file gets its blocks before the first phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// Written in full with the target's content and flushed, outside the clock. Anything that reads wants this.
    #[default]
    Write,
    /// `fallocate`: blocks reserved but unwritten. Reading it is reading nothing (A4).
    Allocate,
    /// `ftruncate`: a hole of the right length.
    Sparse,
    /// Left as it is; created empty if absent.
    Nothing,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileTarget {
    /// Path, relative to the test directory unless absolute.
    pub path: PathBuf,
    /// Length of the file. For an existing absolute path that is only read, its own length when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// How it gets its blocks.
    #[serde(default)]
    pub prepare: Prepare,
    /// What is written into it.
    #[serde(default)]
    pub content: Content,
}

/// Several files of one size. Workers take them in turn: worker `i` starts with file `i mod count`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesTarget {
    /// Path of the files without their number.
    pub path: PathBuf,
    /// How many.
    pub count: u32,
    /// Length of each.
    pub size: Size,
    /// How they get their blocks.
    #[serde(default)]
    pub prepare: Prepare,
    /// What is written into them.
    #[serde(default)]
    pub content: Content,
}

/// A file set: `files` files in a tree of directories, each `width` wide and at most `depth` deep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeTarget {
    /// The root of the tree, relative to the test directory. An absolute path is in a test directory of its own, which is made in
    /// the directory above it: so a workload may have file sets on several file systems.
    pub path: PathBuf,
    /// How many files it may hold. Each worker of a group owns an equal, fixed share of them.
    pub files: u64,
    /// Sub-directories of each directory.
    #[serde(default = "one")]
    pub width: u32,
    /// Levels of directories below the root; 0 puts every file into the root.
    #[serde(default)]
    pub depth: u32,
    /// Size of each file as it is made.
    pub size: Distribution,
    /// Share of the files that exist before the first phase, in percent.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Further directories, without files, that exist before the first phase: what `rmdir` removes first.
    #[serde(default, skip_serializing_if = "none")]
    pub directories: u32,
    /// What is written into them.
    #[serde(default)]
    pub content: Content,
}

fn none(number: &u32) -> bool {
    *number == 0
}

fn one() -> u32 {
    1
}

/// A distribution of sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(remote = "Self", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(rename = "Distribution"))]
pub enum Distribution {
    /// Always the same.
    Fixed(Bytes),
    /// Uniform between two sizes, both included.
    Uniform {
        /// Smallest.
        min: Bytes,
        /// Largest.
        max: Bytes,
    },
    /// Gamma with this mean and shape (Filebench's default shape is 1.5), at least 1 byte.
    Gamma {
        /// Mean size.
        mean: Bytes,
        /// Shape parameter; larger is narrower.
        shape: f64,
    },
    /// A table of sizes with weights.
    Weighted(Vec<crate::blocks::WeightedSize>),
}

plumb_document::short_form!(Distribution, "fixed");

impl Distribution {
    /// Mean size; of weights that add up to nothing, 0.
    pub fn mean(&self) -> Bytes {
        match self {
            Distribution::Fixed(size) => *size,
            Distribution::Uniform { min, max } => Bytes(min.0 / 2 + max.0 / 2),
            Distribution::Gamma { mean, .. } => *mean,
            Distribution::Weighted(table) => {
                let weights: f64 = table.iter().map(|entry| entry.weight).sum();
                let sum: f64 = table.iter().map(|entry| entry.weight * entry.size.0 as f64).sum();
                Bytes((sum / weights) as u64)
            }
        }
    }

    /// The largest size it can yield, where that is bounded; buffers are made to fit it.
    pub fn max(&self) -> Bytes {
        match self {
            Distribution::Fixed(size) => *size,
            Distribution::Uniform { max, .. } => *max,
            // The engine clips a gamma draw here; beyond it lies less than 1 in 10^5 for shapes of 1 and more.
            Distribution::Gamma { mean, .. } => Bytes(mean.0.saturating_mul(12)),
            Distribution::Weighted(table) => table.iter().map(|entry| entry.size).max().unwrap_or_default(),
        }
    }
}

/// A block device. Writing to it needs the user's word: its serial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeviceTarget {
    /// Path of the device node; `/dev/disk/by-id/…` is safest.
    pub path: PathBuf,
    /// How much of it to use, from its start; all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Serial of the device that may be overwritten; nothing is written without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destroy_serial: Option<String>,
    /// What is written to it.
    #[serde(default)]
    pub content: Content,
}

/// Another host. `plumb net --serve` or, for streams, `iperf3 -s` runs there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostTarget {
    /// `HOST` or `HOST:PORT`; port 5201 when absent. An address of IPv6 with a port is in brackets.
    pub address: String,
}

/// Nothing at all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NullTarget {
    /// The range of offsets.
    pub size: Bytes,
    /// Files that programs name; block I/O needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<NullFiles>>,
}

impl NullTarget {
    /// A range of offsets without files.
    pub fn of(size: Bytes) -> NullTarget {
        NullTarget { size, files: None }
    }
}

/// Files that only their names exist of: every call on them succeeds and does nothing, and data is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NullFiles {
    /// What they are called.
    pub names: Names,
    /// How long calls take.
    #[serde(default, skip_serializing_if = "NullDelays::is_none")]
    pub delays: NullDelays,
}

/// How long calls on null files sleep, ns; 0 is not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NullDelays {
    /// Creating a file.
    pub create: Nanos,
    /// Closing one.
    pub close: Nanos,
    /// `sync`.
    pub sync: Nanos,
    /// Reading or writing a record.
    pub transfer: Nanos,
}

impl NullDelays {
    fn is_none(&self) -> bool {
        *self == NullDelays::default()
    }
}

/// A simulated device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SimTarget {
    /// The device and its faults, such as `sim:hdd?slow=5%`.
    pub device: SimDevice,
    /// The range of offsets.
    pub size: Bytes,
    /// As a file set of this many files instead of one range, for flows. Each file's size is `size / files`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Share of those files that exist before the first phase, in percent.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Another simulated target on whose device it lies, behind that one. Else it has a device of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<String>,
}
