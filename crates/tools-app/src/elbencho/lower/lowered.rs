//! The result of lowering a command line.

use super::geometry::Geometry;
use crate::elbencho::settings::Phases;
use plumb_workload::Workload;

#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "UPPERCASE")]
pub enum PhaseKind {
    MkDirs,
    Write,
    Stat,
    Read,
    RmFiles,
    RmDirs,
    /// Calls `sync`. Never part of a workload.
    Sync,
    /// Drops caches. Never part of a workload.
    DropCache,
}

impl PhaseKind {
    /// Returns the given phases in elbencho's order, without actions between them.
    pub fn of(asked: Phases) -> Vec<PhaseKind> {
        let order = [
            (PhaseKind::MkDirs, asked.mkdirs),
            (PhaseKind::Write, asked.write),
            (PhaseKind::Stat, asked.stat),
            (PhaseKind::Read, asked.read),
            (PhaseKind::RmFiles, asked.delfiles),
            (PhaseKind::RmDirs, asked.deldirs),
        ];
        order.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind).collect()
    }

    /// Returns the name that elbencho prints.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the name of the phase's entries.
    pub const fn entries(self) -> &'static str {
        match self {
            PhaseKind::MkDirs | PhaseKind::RmDirs => "Dirs",
            _ => "Files",
        }
    }

    /// Returns `true` if the phase moves data.
    pub const fn moves_data(self) -> bool {
        matches!(self, PhaseKind::Write | PhaseKind::Read)
    }
}

/// Actions before and after each phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Between {
    /// Call `syncfs` on the file systems of the paths.
    pub sync: bool,
    /// Write 3 into `/proc/sys/vm/drop_caches`.
    pub drop_caches: bool,
    /// Pause after the other actions, seconds.
    pub delay_s: u64,
}

/// A phase of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredPhase {
    pub kind: PhaseKind,
    /// Name that elbencho prints: `WRITE+s` also calls stat on files; `RWMIX30` and `MIX-T2` also read.
    pub name: String,
    /// Whether the phase both reads and writes; results list these ops separately.
    pub mixes: bool,
    /// Whether the latency of each entry is measured.
    pub times_entries: bool,
    /// Iteration of the phase, from 0.
    pub iteration: u32,
    /// Whether it is the first phase of its iteration.
    pub opens_iteration: bool,
    /// Rank of the first thread of this host.
    pub first_rank: u32,
    /// Whether only other hosts have work in this phase.
    pub is_idle: bool,
    /// Rank directories that each thread creates (before its own) or removes (after its own). They
    /// do not count as entries.
    pub rank_dirs: u32,
    pub entries_per_thread: u64,
    pub bytes_per_thread: u64,
    /// For each thread, the number of its first files that count as entries; it works only on parts of the others.
    /// Empty if all files count.
    pub whole_files: Vec<u32>,
    /// Number of the first threads that read in the write phase.
    pub reading_threads: u32,
}

/// A command line lowered to a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// The workload. It has as many phases as [`Lowered::phases`].
    pub workload: Workload,
    pub phases: Vec<LoweredPhase>,
    pub between: Between,
    pub geometry: Geometry,
    /// Adjustments of the options, as text for the user.
    pub notes: Vec<String>,
}
