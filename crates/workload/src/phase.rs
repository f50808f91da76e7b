//! Phases: workers that start together and run until a stop rule ends them.

use crate::backend::Backend;
use crate::blocks::fio::Stream;
use crate::blocks::sweep::Sweep;
use crate::blocks::{BlockStream, Blocks};
use crate::companion::Companion;
use crate::content::{BufferContent, Content};
use crate::files::{FileRules, Syncs};
use crate::net::{NetLoad, Probe};
use crate::pace::{Pace, SteadyRule};
use crate::process::{BufferRules, ProcessRules};
use crate::program::Program;
use crate::replay::Replay;
use crate::units::{Bytes, Nanos, Size};
use crate::verify::Verify;
use crate::work::OwnFlush;
use serde::{Deserialize, Serialize};

/// Workers that start together and run until a stop rule ends them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Phase {
    /// Name that labels the phase's metrics.
    pub name: String,
    /// State of the page cache, for the targets' data, when the clock starts.
    #[serde(default)]
    pub cache: CachePolicy,
    /// Memory to lock while the phase runs, so that the page cache cannot use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<Size>,
    /// Time after the start during which ops run but are not measured.
    #[serde(default)]
    pub ramp: Nanos,
    /// Rule that ends the phase.
    #[serde(default)]
    pub stop: Stop,
    /// Final flush of the written files, and whether it counts in the time.
    #[serde(default)]
    pub end: End,
    /// Let each MPI rank read the files that it wrote itself. By default, a phase that only reads takes another
    /// rank's files, which are not in the reader's own cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_own: bool,
    /// Groups of workers and their work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerGroup>,
    /// CPU load and external programs that run during the phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<Companion>,
    /// Small round trips to a host, before the phase and while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Box<Probe>>,
}

impl Phase {
    /// Returns `true` if all I/O bypasses the page cache, by the phase's policy or because all its
    /// work opens files that way.
    pub fn goes_around_cache(&self) -> bool {
        let own = !self.workers.is_empty() && self.workers.iter().all(|group| group.opens_direct() == Some(true));
        own || self.cache == CachePolicy::Direct
    }

    /// Returns how I/O reaches the storage, in fio's words: `direct`, `buffered`, `buffered, cold`.
    pub fn cache_mode(&self) -> &'static str {
        let by_phase = self.cache == CachePolicy::Direct;
        let mut direct = self.workers.iter().map(|group| group.opens_direct().unwrap_or(by_phase));
        let first = direct.next().unwrap_or(by_phase);
        match (direct.all(|other| other == first), first, self.cache) {
            (false, _, _) => "direct and buffered",
            (true, true, _) => "direct",
            (true, false, CachePolicy::Cold) => "buffered, cold",
            (true, false, CachePolicy::Warm) => "buffered, warm",
            (true, false, CachePolicy::AsIs | CachePolicy::Direct) => "buffered",
        }
    }

    /// Returns the size of every op of all workers; `None` if sizes differ or are unknown before the run.
    pub fn op_bytes(&self) -> Option<u64> {
        let mut sizes = self.workers.iter().map(|group| group.work.op_bytes());
        let first = sizes.next()??;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// Returns a phase of these workers that ends when each has reached its own limit.
    pub fn new(name: impl Into<String>, workers: Vec<WorkerGroup>) -> Phase {
        Phase {
            name: name.into(),
            cache: CachePolicy::default(),
            memory_pressure: None,
            ramp: Nanos::default(),
            stop: Stop::default(),
            end: End::default(),
            reads_own: false,
            workers,
            companions: Vec::new(),
            probe: None,
        }
    }

    /// Returns `true` if a group or companion has this name, so that others can wait for it or end it.
    pub fn has_member(&self, name: &str) -> bool {
        let number = name.strip_prefix("workers.").and_then(|number| number.parse::<usize>().ok());
        let mut groups = (0..).zip(&self.workers);
        groups.any(|(at, group)| group.name.as_deref().map_or(number == Some(at), |own| own == name))
            || self.companions.iter().any(|companion| companion.name == name)
    }
}

/// State of the page cache, for the targets' data, when the clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Leave the page cache as found.
    #[default]
    AsIs,
    /// Evict the targets' pages. The phase is refused unless they are proven to be gone.
    Cold,
    /// Read all data once before the clock starts, as far as it fits into memory.
    Warm,
    /// Bypass the page cache with `O_DIRECT`.
    Direct,
}

/// Rule that ends a phase. Without any limit, the phase ends when every worker has reached its own ([`Limit`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stop {
    /// Run time, not counting the ramp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// Total bytes of all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Total ops of all workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// Whether the first or the last worker to reach its limit ends the phase.
    #[serde(default)]
    pub when: When,
    /// End as soon as the throughput is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
}

/// Worker whose end is the end of the phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The last worker to finish.
    #[default]
    AllDone,
    /// The first worker to finish. The others stop after their current op.
    FirstDone,
}

/// SNIA's round rule: over the last `window` rounds, range and slope excursion are within
/// bounds. Source: SNIA SSS PTS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Steady {
    /// Length of one round.
    pub round: Nanos,
    /// Number of rounds to judge together.
    pub window: u32,
    /// Largest allowed (max − min) / mean.
    pub range: f64,
    /// Largest allowed rise or fall of the fitted line over the window, relative to the mean.
    pub slope: f64,
    /// Give up after this many rounds.
    pub max_rounds: u32,
}

impl Default for Steady {
    fn default() -> Steady {
        Steady { round: Nanos(1_000_000_000), window: 5, range: 0.20, slope: 0.10, max_rounds: 25 }
    }
}

/// Final flush of a phase's writes, and whether it counts in the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct End {
    /// Final action on each written file.
    #[serde(default)]
    pub flush: Flush,
    /// Whether the time of the flush counts.
    #[serde(default)]
    pub clock: ClockScope,
}

/// Final action on each file that a phase wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// Nothing: the phase measures writes into the cache.
    None,
    /// Call `fsync`, then `close`.
    #[default]
    Fsync,
    /// Call `fdatasync`, then `close`.
    Fdatasync,
    /// Call `close` without a flush.
    Close,
}

/// Whether the final flush counts in the time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockScope {
    /// It counts, so that rates are of durable bytes.
    #[default]
    Inside,
    /// It happens after the clock has stopped.
    Outside,
}

/// Amount of data to transfer before measuring starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RampUntil {
    /// Bytes to transfer before measuring starts.
    pub bytes: Bytes,
    /// Groups whose workers transfer these bytes together; this group alone when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// Workers that do the same work, each with its own stream of random numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkerGroup {
    /// Name that labels the group's workers; defaults to `workers.N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the target, a key of `target`.
    pub target: String,
    /// Number of workers in the group.
    #[serde(default = "one")]
    pub count: u32,
    /// Run workers as threads or as processes.
    #[serde(default)]
    pub run_as: RunAs,
    /// Backend that executes the ops.
    #[serde(default)]
    pub backend: Backend,
    /// Ops in flight per worker.
    #[serde(default = "one")]
    pub depth: u32,
    /// Batching of submissions and completions.
    #[serde(default)]
    pub batch: Batch,
    /// Kind of work that the ops come from.
    pub work: Work,
    /// Conditions for starting the next op.
    #[serde(default)]
    pub pace: Pace,
    /// Limit at which a worker has done enough.
    #[serde(default)]
    pub limit: Limit,
    /// End the group when a figure is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRule>,
    /// Contents of the write buffers. By default, Plumb's own generator writes its target's content and
    /// all others write random bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BufferContent>,
    /// Stamp written blocks and verify read ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// Rules for creating, opening and keeping files that are named one by one (`job-files`).
    #[serde(default, skip_serializing_if = "FileRules::is_default")]
    pub files: FileRules,
    /// Flushes between ops and at the end, for generators other than Plumb's own.
    #[serde(default, skip_serializing_if = "Syncs::is_none")]
    pub syncs: Syncs,
    /// Memory that the ops use.
    #[serde(default, skip_serializing_if = "BufferRules::is_default")]
    pub buffers: BufferRules,
    /// User, priority and CPUs of the workers.
    #[serde(default, skip_serializing_if = "ProcessRules::is_default")]
    pub process: ProcessRules,
    /// Record every op, for logs of single ops and for recordings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_ops: bool,
    /// Time the submission of ops separately from the wait for them, if the backend has a queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub time_submission: bool,
    /// CPUs to run on: worker `i` on `cpus[i mod len]`; any CPU when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Consequence of a failed op.
    #[serde(default)]
    pub on_error: OnError,
    /// Errors to tolerate regardless of `on-error`.
    #[serde(default, skip_serializing_if = "ErrorRules::is_none")]
    pub errors: ErrorRules,
    /// Start condition of the workers; with the phase by default.
    #[serde(default, skip_serializing_if = "Start::is_with_phase")]
    pub start: Start,
    /// Time after the group's start during which ops run but are not measured. It is added to the phase's ramp.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub ramp: Nanos,
    /// Amount of data during which ops are not measured. If `ramp` is set too, the first to be reached ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_until: Option<RampUntil>,
    /// Groups, or the phase, that end when a worker of this group ends.
    #[serde(default, skip_serializing_if = "WhenDone::is_itself")]
    pub when_done: WhenDone,
    /// Length of the intervals for which each worker's activity is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Nanos>,
}

/// Start condition of a group's workers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Start {
    /// Delay after the start of the phase, or after the end of the groups in `after`.
    #[serde(default)]
    pub delay: Nanos,
    /// Groups whose workers must all be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl Start {
    /// Returns `true` if the workers start with the phase.
    pub fn is_with_phase(&self) -> bool {
        *self == Start::default()
    }
}

/// Groups, or the phase, that end when a worker of the group ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WhenDone {
    /// No other group ends.
    #[default]
    Itself,
    /// All workers of these groups end.
    Groups(Vec<String>),
    /// The whole phase ends, with all its groups.
    Phase,
    /// The whole run ends: no later phase starts.
    Run,
    /// The whole run ends if the worker failed.
    RunIfFailed,
    /// All workers of these groups end if the worker failed.
    GroupsIfFailed(Vec<String>),
    /// The whole phase ends if the worker failed.
    PhaseIfFailed,
}

impl WhenDone {
    /// Returns `true` if no other group ends.
    pub fn is_itself(&self) -> bool {
        *self == WhenDone::Itself
    }
}

fn one() -> u32 {
    1
}

impl WorkerGroup {
    /// Returns the names of all targets that the group uses, its own first.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let ends = self.work.copy().into_iter().flat_map(|copy| copy.targets());
        let programs = || self.work.program().into_iter();
        let sets = programs().flat_map(|program| program.shared_sets());
        // All copies of a program go to the same file set.
        let copies = programs().filter_map(|program| program.copies().next()).map(|copy| copy.to.as_str());
        std::iter::once(self.target.as_str()).chain(ends.chain(sets).chain(copies).filter(|&end| end != self.target))
    }

    /// Returns `true` if the files are removed between loops and the group may have more than one.
    pub fn removes_files_between_loops(&self) -> bool {
        self.files.unlink_each_loop && self.work.fio().is_some_and(Stream::repeats)
    }

    /// Returns whether the group bypasses the page cache by its own rules; `None` if its phase decides.
    pub fn opens_direct(&self) -> Option<bool> {
        match &self.work {
            Work::Blocks(stream) if !stream.is_plumb() => Some(self.files.direct),
            Work::Program(program) if !program.is_over_file_set() => Some(program.is_direct()),
            _ => None,
        }
    }

    /// Returns how the group makes its own writes durable.
    pub fn own_flush(&self) -> OwnFlush {
        let own = |all: bool, some: bool| match (all, some) {
            (true, _) => OwnFlush::All,
            (false, true) => OwnFlush::Part,
            (false, false) => OwnFlush::Never,
        };
        match &self.work {
            Work::Blocks(stream) if stream.is_plumb() => OwnFlush::ByPhase,
            // A replay flushes where its recording did.
            Work::Blocks(stream) if matches!(&**stream, BlockStream::Trace(recording) if recording.sheet) => {
                OwnFlush::Part
            }
            Work::Blocks(stream) if stream.moves().write => {
                let syncs = &self.syncs;
                own(syncs.at_end || syncs.at_close || syncs.file_system_at_end, !syncs.is_none())
            }
            Work::Program(program) if program.is_over_file_set() => OwnFlush::ByPhase,
            Work::Program(program) if program.writes() => own(program.flushes(), program.flushes_some()),
            Work::Copy(copy) => own(copy.fsync || copy.fdatasync, copy.output.dsync || copy.output.sync),
            Work::Replay(_) => OwnFlush::Part,
            Work::Blocks(_) | Work::Program(_) | Work::Net(_) => OwnFlush::Nothing,
        }
    }

    /// Returns the group's write content as a compressing or deduplicating device sees it; `None` if the target
    /// decides, or if the group writes nothing.
    pub fn own_content(&self) -> Option<Content> {
        match &self.content {
            _ if !self.work.writes() => None,
            Some(content) => Some(content.reduced()),
            None => self.work.own_content(),
        }
    }

    /// Returns one thread with the default backend that does `work` on `target`.
    pub fn new(target: impl Into<String>, work: impl Into<Work>) -> WorkerGroup {
        WorkerGroup {
            name: None,
            target: target.into(),
            count: 1,
            run_as: RunAs::default(),
            backend: Backend::default(),
            depth: 1,
            batch: Batch::default(),
            work: work.into(),
            pace: Pace::default(),
            limit: Limit::default(),
            steady: None,
            content: None,
            verify: None,
            files: FileRules::default(),
            syncs: Syncs::default(),
            buffers: BufferRules::default(),
            process: ProcessRules::default(),
            log_ops: false,
            time_submission: false,
            cpus: Vec::new(),
            on_error: OnError::default(),
            errors: ErrorRules::default(),
            start: Start::default(),
            ramp: Nanos::default(),
            ramp_until: None,
            when_done: WhenDone::default(),
            sample: None,
        }
    }
}

/// Source of a worker's ops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// Block I/O by a generator.
    Blocks(Box<BlockStream>),
    /// A copy from one place to another, like dd. The group must have one worker.
    Copy(Box<crate::copy::CopySpec>),
    /// Steps over a file set or over named files.
    #[serde(alias = "flow", alias = "script")]
    Program(Box<Program>),
    /// Replay of a recording of calls on named files.
    Replay(Box<Replay>),
    /// Streams or round trips over the network, to a `host`.
    Net(Box<NetLoad>),
}

macro_rules! from_streams {
    ($($stream:ident)*) => {
        $(impl From<$stream> for Work {
            fn from(stream: $stream) -> Work {
                Work::Blocks(Box::new(stream.into()))
            }
        })*
    };
}

from_streams! { BlockStream Blocks Stream Sweep
}

impl From<NetLoad> for Work {
    fn from(load: NetLoad) -> Work {
        Work::Net(Box::new(load))
    }
}

impl From<Replay> for Work {
    fn from(replay: Replay) -> Work {
        Work::Replay(Box::new(replay))
    }
}

/// Run a worker as a thread or as a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunAs {
    /// A thread of Plumb's process.
    #[default]
    Thread,
    /// A separate process whose recorder is in shared memory.
    Process,
}

/// Batching of ops into one system call. 0 lets the engine adapt: submit as many as there is room for, wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Batch {
    /// Maximum number of ops to submit together.
    #[serde(default)]
    pub submit: u32,
    /// Number of completions to wait for together.
    #[serde(default)]
    pub complete: u32,
    /// Depth that a full queue drains to before it is refilled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_at: Option<u32>,
    /// Maximum number of completions to take at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_completions: Option<u32>,
}

/// Limit at which a worker has done enough. Without one, a worker goes on until the phase stops. Block I/O makes one
/// pass if the phase has no time, bytes or ops limit either.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limit {
    /// Bytes transferred by this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Ops done by this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// Passes over the whole range, or through the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Time from the worker's start, not counting its ramp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
}

/// Consequence of a failed op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// End the phase with an error.
    #[default]
    Stop,
    /// Count the error and continue.
    Continue,
    /// End this worker; the others go on.
    Leave,
}

/// Errors to tolerate regardless of [`OnError`]. They are counted nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ErrorRules {
    /// Continue after errors of reads.
    pub go_on_after_read: bool,
    /// Continue after errors of writes and trims.
    pub go_on_after_write: bool,
    /// Continue after blocks that fail verification.
    pub go_on_after_verify: bool,
    /// Error numbers that do not count as errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<IgnoredError>,
}

/// An error number that does not count as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IgnoredError {
    /// Operation in which the number is ignored.
    pub at: ErrorOrigin,
    /// Error number, errno(3).
    pub errno: i32,
}

/// Operation in which an error occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorOrigin {
    /// During an op that reads.
    Read,
    /// During an op that writes.
    Write,
    /// During verification of a block.
    Verify,
}

impl ErrorRules {
    /// Returns `true` if no error is tolerated.
    pub fn is_none(&self) -> bool {
        *self == ErrorRules::default()
    }
}
