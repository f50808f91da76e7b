//! Jobs: block I/O with the meaning that fio's job language gives it, resolved down to one worker.
//!
//! A [`Job`] is what is left of a fio job when all that depends on other jobs, files and the machine is decided: each
//! copy is a group of one worker of its own, sizes are bytes, the seed is a number. Its ops are drawn as fio draws them,
//! so that the same seed gives the same ops; [`Blocks`](crate::Blocks) is Plumb's own form of block I/O and draws its own.

mod files;
mod rules;
mod stream;
mod sweep;

pub use files::{
    AccessHint, Advices, Allocation, AtOpen, FileAdvice, FileLock, FileRules, JobFiles, MappingAdvice, Names, OpenMode,
    PrepareFiles, RecordLock, WriteLife,
};
pub use rules::{
    BufferMemory, BufferRules, CommandPriority, ControlGroup, IoPriority, NodeMemory, OpPriority, ProcessRules,
};
pub use stream::{
    AccessOrder, ByKind, Coverage, Curve, FileChoice, FileRange, JobOps, JobSize, OffsetDistribution, RandomGenerator,
    Recording, Seeding, Sequencer, SizeShare, SkipOps, Stream, SyncRange, Syncs, TrimAmid, Waits, Zone, ZoneStride,
};
pub use sweep::{AfterWrite, FilePart, Sweep, SweepDraw, SweepOps, SweepOrder, SweepParts};

use serde::{Deserialize, Serialize};

/// Block I/O as one worker of a fio job does it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Job {
    /// Where its ops come from: drawn, or recorded.
    pub ops: JobOps,
    /// How files are made, opened and left.
    #[serde(default)]
    pub files: FileRules,
    /// Flushes between the ops and at the end.
    #[serde(default)]
    pub syncs: Syncs,
    /// Where the memory of the ops comes from.
    #[serde(default)]
    pub buffers: BufferRules,
    /// Whom it runs as, and where.
    #[serde(default)]
    pub process: ProcessRules,
    /// Keep a record of every op, for logs of single ops and recordings.
    #[serde(default)]
    pub log_ops: bool,
    /// Time handing ops over apart from waiting for them, where the backend has a queue.
    #[serde(default)]
    pub time_submission: bool,
}

impl Job {
    /// A job of these ops with everything else at its default.
    pub fn new(ops: JobOps) -> Job {
        Job {
            ops,
            files: FileRules::default(),
            syncs: Syncs::default(),
            buffers: BufferRules::default(),
            process: ProcessRules::default(),
            log_ops: false,
            time_submission: false,
        }
    }

    /// Whether its files are removed between its loops: it has several, or may come to have.
    pub fn removes_files_between_loops(&self) -> bool {
        match &self.ops {
            JobOps::Stream(stream) => self.files.unlink_each_loop && (stream.loops > 1 || stream.repeat_until_time),
            JobOps::Recording(_) | JobOps::Sweep(_) => false,
        }
    }

    /// The kinds of op among its own: reads, writes and trims; those of verifying are not counted. None for calls on names.
    pub fn moves(&self) -> ByKind<bool> {
        match &self.ops {
            JobOps::Stream(stream) => stream.moves(),
            JobOps::Recording(recording) => recording.moves,
            JobOps::Sweep(sweep) => match sweep.does {
                SweepOps::Read => ByKind { read: true, write: false, trim: false },
                SweepOps::Write { .. } => ByKind { read: false, write: true, trim: false },
                SweepOps::Mix { read_percent, .. } => {
                    ByKind { read: read_percent > 0, write: read_percent < 100, trim: false }
                }
                SweepOps::Call { .. } => ByKind::all(false),
            },
        }
    }
}
