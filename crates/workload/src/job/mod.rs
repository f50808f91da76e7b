//! Block I/O as other tools do it: their generators, and rules of files, memory and processes.
//!
//! What is left of a fio job when all that depends on other jobs, files and the machine is decided is a group of one
//! worker: sizes are bytes, the seed is a number.

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
    AccessOrder, ByKind, Coverage, Curve, FileChoice, FileRange, JobSize, OffsetDistribution, RandomGenerator,
    Recording, Seeding, Sequencer, SizeShare, SkipOps, Stream, SyncRange, Syncs, TrimAmid, Waits, Zone, ZoneStride,
};
pub use sweep::{AfterWrite, FilePart, Sweep, SweepDraw, SweepOps, SweepOrder, SweepParts};
