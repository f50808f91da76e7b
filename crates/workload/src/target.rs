//! Targets of operations: files, devices and hosts.

use crate::content::Content;
use crate::files::{JobFiles, Names};
use crate::program::{ScratchTarget, SharedTree};
use crate::replay::RecordedTree;
use crate::sim::SimDevice;
use crate::units::{Bytes, Nanos, Size};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Target of operations. Relative paths are below the test directory, which Plumb creates and marks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Target {
    /// A single file.
    File(FileTarget),
    /// Several files of one size, named `NAME.0`, `NAME.1` …
    Files(FilesTarget),
    /// A file set: a tree of directories and files.
    Tree(TreeTarget),
    /// A block device, used as a whole or in part.
    Device(DeviceTarget),
    /// No storage: ops complete at once. Measures Plumb itself.
    Null(NullTarget),
    /// Files and devices with names of their own, for jobs.
    JobFiles(JobFiles),
    /// A directory in which programs use named files.
    Scratch(ScratchTarget),
    /// A file set that all workers share.
    SharedTree(SharedTree),
    /// Files that a recording uses.
    Recorded(RecordedTree),
    /// A simulated device on a virtual clock.
    Sim(SimTarget),
    /// Another host, for network work.
    Host(HostTarget),
}

impl Target {
    /// Returns the kind as in a workload file, such as `shared-tree`.
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

    /// Returns the path of a target that has a single one.
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

    /// Returns `true` if its files are created in the test directory of the run.
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

    /// Returns how its files are allocated; `None` for targets other than a file or files of one size.
    pub fn prepare(&self) -> Option<Prepare> {
        match self {
            Target::File(file) => Some(file.prepare),
            Target::Files(files) => Some(files.prepare),
            _ => None,
        }
    }

    /// Returns its size, if it has one that may depend on the machine.
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

    /// Returns the names of its files, if programs and jobs use names.
    pub fn names(&self) -> Option<&Names> {
        match self {
            Target::JobFiles(files) => Some(&files.names),
            Target::Scratch(scratch) => Some(&scratch.names),
            Target::Null(null) => null.files.as_ref().map(|files| &files.names),
            _ => None,
        }
    }
}

/// Allocation of a file before the first phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Prepare {
    /// Write it in full with the target's content and flush it, outside the clock. Use
    /// this for everything that reads.
    #[default]
    Write,
    /// Reserve blocks with `fallocate` without writing them. Reading them does not reach the device (A4).
    Allocate,
    /// Set the length with `ftruncate`, which leaves a hole.
    Sparse,
    /// Leave it unchanged, and create it empty if missing.
    Nothing,
}

/// A single file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FileTarget {
    /// Path of the file, relative to the test directory unless absolute.
    pub path: PathBuf,
    /// Length of the file. When absent, an existing file with an absolute path that is only read keeps its length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Method of allocating the file.
    #[serde(default)]
    pub prepare: Prepare,
    /// Data written when the file is laid out.
    #[serde(default)]
    pub content: Content,
}

/// Several files of one size. Worker `i` starts with file `i mod count`, then takes the files in turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesTarget {
    /// Path of the files without their number.
    pub path: PathBuf,
    /// Number of files, which are numbered from 0.
    pub count: u32,
    /// Length of each file.
    pub size: Size,
    /// Method of allocating the files.
    #[serde(default)]
    pub prepare: Prepare,
    /// Data written when the files are laid out.
    #[serde(default)]
    pub content: Content,
}

/// A file set: `files` files in a tree of directories, each `width` wide and at most `depth` deep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TreeTarget {
    /// Root of the tree, relative to the test directory. An absolute path gets its own test directory, created in its
    /// parent directory, so that a workload can have file sets on several file systems.
    pub path: PathBuf,
    /// Maximum number of files. Each worker of a group owns an equal, fixed share of them.
    pub files: u64,
    /// Number of subdirectories in each directory.
    #[serde(default = "one")]
    pub width: u32,
    /// Levels of directories below the root; 0 puts every file into the root.
    #[serde(default)]
    pub depth: u32,
    /// Size of new files.
    pub size: Distribution,
    /// Percentage of the files that exist before the first phase.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Number of additional empty directories before the first phase, which `rmdir` removes first.
    #[serde(default, skip_serializing_if = "none")]
    pub directories: u32,
    /// Data written when the files are laid out.
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
    /// The same size every time.
    Fixed(Bytes),
    /// Uniform between two sizes, both included.
    Uniform {
        /// Smallest size that can be drawn.
        min: Bytes,
        /// Largest size that can be drawn.
        max: Bytes,
    },
    /// Gamma with this mean and shape, at least 1 byte. Filebench's default shape is 1.5.
    Gamma {
        /// Mean size in bytes.
        mean: Bytes,
        /// Shape parameter; larger values are narrower.
        shape: f64,
    },
    /// Drawn from a table of sizes with weights.
    Weighted(Vec<crate::blocks::WeightedSize>),
}

plumb_document::short_form!(Distribution, "fixed");

impl Distribution {
    /// Returns the mean size; 0 if the weights add up to 0.
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

    /// Returns the largest size that can be drawn. Buffers are sized for it.
    pub fn max(&self) -> Bytes {
        match self {
            Distribution::Fixed(size) => *size,
            Distribution::Uniform { max, .. } => *max,
            // The engine clips gamma draws here. For shapes of 1 and more, fewer than 1 in 10^5 draws are larger.
            Distribution::Gamma { mean, .. } => Bytes(mean.0.saturating_mul(12)),
            Distribution::Weighted(table) => table.iter().map(|entry| entry.size).max().unwrap_or_default(),
        }
    }
}

/// A block device. Plumb writes to it only if the user confirms its serial number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct DeviceTarget {
    /// Path of the device node; `/dev/disk/by-id/…` is safest.
    pub path: PathBuf,
    /// Bytes to use from the start of the device; all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Size>,
    /// Serial number of the device that may be overwritten. Without it, nothing is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destroy_serial: Option<String>,
    /// Contents to write.
    #[serde(default)]
    pub content: Content,
}

/// Another host, which must run `plumb net --serve` or, for streams, `iperf3 -s`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HostTarget {
    /// Address as `HOST` or `HOST:PORT`, with default port 5201. Put an IPv6 address with a port in brackets.
    pub address: String,
}

/// A target without storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NullTarget {
    /// Size of the range of offsets.
    pub size: Bytes,
    /// Files for programs that use names. Block I/O needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<NullFiles>>,
}

impl NullTarget {
    /// Returns a range of offsets without files.
    pub fn with_size(size: Bytes) -> NullTarget {
        NullTarget { size, files: None }
    }
}

/// Files that exist only by name. Every call on them succeeds without doing anything, and data is not kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NullFiles {
    /// Names of the files.
    pub names: Names,
    /// Simulated duration of calls.
    #[serde(default, skip_serializing_if = "NullDelays::is_none")]
    pub delays: NullDelays,
}

/// Sleep time of calls on null files, ns; 0 means no sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct NullDelays {
    /// Time to create a file.
    pub create: Nanos,
    /// Time to close a file.
    pub close: Nanos,
    /// Time of a `sync` call.
    pub sync: Nanos,
    /// Time to read or write a record.
    pub transfer: Nanos,
}

impl NullDelays {
    fn is_none(&self) -> bool {
        *self == NullDelays::default()
    }
}

/// A simulated device on a virtual clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SimTarget {
    /// Model and faults, such as `sim:hdd?slow=5%`.
    pub device: SimDevice,
    /// Size of the range of offsets.
    pub size: Bytes,
    /// Provide a file set of this many files instead of one range, for programs. Each file has `size / files` bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Percentage of those files that exist before the first phase.
    #[serde(default)]
    pub preallocated_percent: u32,
    /// Simulated target to share a device with, placed after it. By default, the target has its own device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<String>,
}
