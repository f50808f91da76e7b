//! The result of lowering a command line.

use super::geometry::Geometry;
use plumb_workload::Workload;

/// A phase of elbencho.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum PhaseKind {
    /// Directories are created.
    MkDirs,
    /// Files are written.
    Write,
    /// Files are statted.
    Stat,
    /// Files are read.
    Read,
    /// Files are removed.
    RmFiles,
    /// Directories are removed.
    RmDirs,
    /// `sync`. Never part of a workload.
    Sync,
    /// Caches are dropped. Never part of a workload.
    DropCache,
}

impl PhaseKind {
    /// As elbencho prints it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// What its entries are.
    pub const fn entries(self) -> &'static str {
        match self {
            PhaseKind::MkDirs | PhaseKind::RmDirs => "Dirs",
            _ => "Files",
        }
    }

    /// Whether it moves data.
    pub const fn moves_data(self) -> bool {
        matches!(self, PhaseKind::Write | PhaseKind::Read)
    }
}

/// What is done before and after each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Between {
    /// `syncfs` of the file systems under the paths.
    pub sync: bool,
    /// 3 into `/proc/sys/vm/drop_caches`.
    pub drop_caches: bool,
    /// A pause of this many seconds comes last.
    pub delay_s: u64,
}

/// A phase of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredPhase {
    /// Which of elbencho's.
    pub kind: PhaseKind,
    /// As elbencho prints it: `WRITE+s` also stats files; `RWMIX30` and `MIX-T2` also read.
    pub name: String,
    /// Some of its ops read and others write; results list them separately.
    pub mixes: bool,
    /// The latency of each entry is measured.
    pub times_entries: bool,
    /// Number of the iteration, from 0.
    pub iteration: u32,
    /// It is the first phase of its iteration.
    pub opens_iteration: bool,
    /// The rank of the first thread of this host.
    pub first_rank: u32,
    /// Only other hosts have work in it.
    pub is_idle: bool,
    /// Number of rank directories that each thread creates (before its own) or removes (after its own). They do not
    /// count as entries.
    pub rank_dirs: u32,
    /// Entries per thread.
    pub entries_per_thread: u64,
    /// Bytes that each thread moves.
    pub bytes_per_thread: u64,
    /// By thread: how many of its files, from the first one on, count as entries. It works on parts of the others only.
    /// Where this is empty, all count.
    pub whole_files: Vec<u32>,
    /// How many of the threads, from the first one on, read in the write phase.
    pub reading_threads: u32,
}

/// A command line as a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// What is to be done; as many phases as [`Lowered::phases`].
    pub workload: Workload,
    /// Each of its phases.
    pub phases: Vec<LoweredPhase>,
    /// What is done around each.
    pub between: Between,
    /// Sizes and kinds, resolved.
    pub geometry: Geometry,
    /// What was changed, for human readers.
    pub notes: Vec<String>,
}
