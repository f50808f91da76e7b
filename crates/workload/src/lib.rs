//! The single intermediate form of everything that Plumb can run.
//!
//! A [`Workload`] is pure data: named [`Target`]s and [`Phase`]s of workers. Native TOML, named workloads (in the
//! crate `workload-text`) and every tool's language produce it, and the engine runs it. Nothing here touches the
//! system. The types *are* the native file format: field names are TOML keys.

pub mod backend;
pub mod blocks;
pub mod companion;
pub mod content;
pub mod copy;
pub mod files;
pub mod former;
pub mod keypath;
pub mod library_random;
pub mod limits;
pub mod merge;
pub mod named;
pub mod net;
pub mod op;
pub mod pace;
pub mod phase;
mod problem;
pub mod process;
pub mod program;
pub mod repeat;
pub mod replay;
pub mod sim;
pub mod suggest;
pub mod target;
pub mod units;
pub mod verify;
mod work;

pub use backend::{Backend, FileCall, SocketKind};
pub use blocks::{BlockSize, BlockStream, Blocks, Mix, Pattern};
pub use companion::{Activity, Busy, Companion, Exec};
pub use content::{BufferContent, Content};
pub use keypath::KeyPath;
pub use op::OpKind;
pub use pace::{Arrival, OpenLoad, Pace};
pub use phase::{
    Batch, CachePolicy, ClockScope, End, Flush, Limit, OnError, Phase, RunAs, Start, Steady, Stop, When, WhenDone,
    Work, WorkerGroup,
};
pub use problem::Problem;
pub use program::{Pick, Program, ScratchTarget, SharedTree, Step};
pub use repeat::{Cells, Figure, FullLoad, Ladder, Repeat, Rounds, TrackedFigure};
pub use replay::{RecordedTree, Replay, ReplayOrder, ReplayShare, Timing};
pub use sim::{SimDevice, SimModel, SimSessions};
pub use target::{
    DeviceTarget, Distribution, FileTarget, FilesTarget, HostTarget, NullDelays, NullFiles, NullTarget, Prepare,
    SimTarget, Target, TreeTarget,
};
pub use units::{Bytes, Nanos, PerSecond, Share, Size};
pub use verify::Verify;
pub use work::OwnFlush;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A workload: named targets, and phases that run over them one after another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Workload {
    /// Short name that labels the results.
    pub name: String,
    /// One sentence that describes the workload.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Seed of all random choices of the run. The same seed gives the same ops on any machine.
    #[serde(default = "Workload::default_seed")]
    pub seed: u64,
    /// Files, devices and hosts that ops go to, by name.
    pub target: BTreeMap<String, Target>,
    /// Phases to run, in this order.
    pub phase: Vec<Phase>,
    /// Rule for repeating the whole workload with `plumb run`; runs once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Repeat>,
}

impl Workload {
    /// Seed of workloads that set none. Fixed, so that runs without a seed are reproducible.
    pub const DEFAULT_SEED: u64 = 42;

    fn default_seed() -> u64 {
        Self::DEFAULT_SEED
    }

    /// Returns the targets that this phase only reads and of which each process has its own files. Each process reads
    /// another process's files, unless the phase [reads its own](Phase::reads_own).
    pub fn read_of_others<'a>(&'a self, phase: &'a Phase) -> impl Iterator<Item = &'a str> {
        let is_own = |target: &Target| match target {
            Target::File(file) => file.path.is_relative(),
            Target::Files(files) => files.path.is_relative(),
            Target::Tree(_) => true,
            _ => false,
        };
        let only_reads = |group: &WorkerGroup| match &group.work {
            Work::Blocks(stream) => stream.is_plumb() && !group.work.changes(),
            Work::Program(program) => program.is_over_file_set() && !program.changes(),
            Work::Copy(_) | Work::Replay(_) | Work::Net(_) => false,
        };
        let is_read = move |name: &str| {
            let mut users = phase.workers.iter().filter(|group| group.target == name).peekable();
            users.peek().is_some() && users.all(only_reads)
        };
        let own = self.target.iter().filter(move |(_, target)| !phase.reads_own && is_own(target));
        own.map(|(name, _)| name.as_str()).filter(move |name| is_read(name))
    }
}
