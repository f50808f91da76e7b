//! Phases: workers that start together behind a barrier and end by a stop rule.

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

/// Workers that start together behind a barrier and end by a stop rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Phase {
    /// Labels the phase's metrics.
    pub name: String,
    /// What the page cache holds of the targets when the clock starts.
    #[serde(default)]
    pub cache: CachePolicy,
    /// Memory to lock while the phase runs, so that the cache cannot use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<Size>,
    /// Ops in this time after the start run but are not measured.
    #[serde(default)]
    pub ramp: Nanos,
    /// When the phase ends.
    #[serde(default)]
    pub stop: Stop,
    /// What makes its writes durable, and whether the clock waits for it.
    #[serde(default)]
    pub end: End,
    /// Of several MPI ranks: each reads the files that it wrote itself. By default, a phase that only reads takes those of another
    /// rank, which are not in the reader's own cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reads_own: bool,
    /// Who does what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerGroup>,
    /// What runs meanwhile and makes no I/O.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub companions: Vec<Companion>,
    /// Small round trips to a host, before the phase and while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Box<Probe>>,
}

impl Phase {
    /// Whether all its I/O goes around the page cache: by its own policy, or because all its work opens its files so.
    pub fn goes_around_cache(&self) -> bool {
        let own = !self.workers.is_empty() && self.workers.iter().all(|group| group.opens_direct() == Some(true));
        own || self.cache == CachePolicy::Direct
    }

    /// How its I/O reaches the storage, in the words of fio: `direct`, `buffered`, `buffered, cold`.
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

    /// Bytes of each op of all its workers; `None` where they differ, or that is not known before it runs.
    pub fn op_bytes(&self) -> Option<u64> {
        let mut sizes = self.workers.iter().map(|group| group.work.op_bytes());
        let first = sizes.next()??;
        sizes.all(|size| size == Some(first)).then_some(first)
    }

    /// These workers, until each has reached its own limit.
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

    /// Whether a group of its workers or a companion has this name, so that others can wait for it or end it.
    pub fn has_member(&self, name: &str) -> bool {
        let number = name.strip_prefix("workers.").and_then(|number| number.parse::<usize>().ok());
        let mut groups = (0..).zip(&self.workers);
        groups.any(|(at, group)| group.name.as_deref().map_or(number == Some(at), |own| own == name))
            || self.companions.iter().any(|companion| companion.name == name)
    }
}

/// What the page cache holds of the targets when the clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CachePolicy {
    /// Whatever it happens to hold.
    #[default]
    AsIs,
    /// Nothing: evicted, and proven gone, or the phase is refused.
    Cold,
    /// All of it, as far as it fits: read once before the clock starts.
    Warm,
    /// Bypassed: opened with `O_DIRECT`.
    Direct,
}

/// When a phase ends. Without any limit it ends when every worker has reached its own ([`Limit`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stop {
    /// After so long, the ramp not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// After this many bytes, of all workers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// After this many ops, of all workers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// When the workers' own limits end the phase.
    #[serde(default)]
    pub when: When,
    /// As soon as the throughput is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
}

/// Whose end is the phase's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The last worker's.
    #[default]
    AllDone,
    /// The first worker's; the others stop after the op at hand.
    FirstDone,
}

/// The SNIA round rule: over the last `window` rounds, range and slope excursion within bounds. Source: SNIA SSS PTS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Steady {
    /// Length of a round.
    pub round: Nanos,
    /// Rounds looked at together.
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

/// What makes a phase's writes durable, and whether the clock waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct End {
    /// What happens to each file that was written.
    #[serde(default)]
    pub flush: Flush,
    /// Whether its time counts.
    #[serde(default)]
    pub clock: ClockScope,
}

/// The last thing done to each file that a phase wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Flush {
    /// Nothing: what was measured is writing into the cache.
    None,
    /// `fsync`, then `close`.
    #[default]
    Fsync,
    /// `fdatasync`, then `close`.
    Fdatasync,
    /// Only `close`.
    Close,
}

/// Whether the end of a phase counts in its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockScope {
    /// It counts: rates are of durable bytes.
    #[default]
    Inside,
    /// It happens after the clock stopped.
    Outside,
}

/// How much is moved before anything is measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RampUntil {
    /// This many bytes.
    pub bytes: Bytes,
    /// By the workers of all these groups together; by those of its own where empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// Workers that do the same, each with its own stream of random numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkerGroup {
    /// Labels the group's workers; `workers.N` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Name of the target.
    pub target: String,
    /// How many workers.
    #[serde(default = "one")]
    pub count: u32,
    /// As threads or as processes.
    #[serde(default)]
    pub run_as: RunAs,
    /// What executes the ops.
    #[serde(default)]
    pub backend: Backend,
    /// Ops in flight, per worker.
    #[serde(default = "one")]
    pub depth: u32,
    /// How ops are gathered.
    #[serde(default)]
    pub batch: Batch,
    /// What the ops are.
    pub work: Work,
    /// When the next op may start.
    #[serde(default)]
    pub pace: Pace,
    /// When a worker has done enough.
    #[serde(default)]
    pub limit: Limit,
    /// End it when a figure is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyRule>,
    /// How it fills the buffers of its writes. Where nothing is said, Plumb's own generator writes what its target says, and all
    /// others random bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<BufferContent>,
    /// Stamp what is written and verify what is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// How its files are made, opened and left, where they are named one by one (`job-files`).
    #[serde(default, skip_serializing_if = "FileRules::is_default")]
    pub files: FileRules,
    /// Flushes between its ops and at its end, where the generator is not Plumb's own.
    #[serde(default, skip_serializing_if = "Syncs::is_none")]
    pub syncs: Syncs,
    /// Where the memory of its ops comes from.
    #[serde(default, skip_serializing_if = "BufferRules::is_default")]
    pub buffers: BufferRules,
    /// Whom its workers run as, and where.
    #[serde(default, skip_serializing_if = "ProcessRules::is_default")]
    pub process: ProcessRules,
    /// Keep a record of every op, for logs of single ops and recordings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub log_ops: bool,
    /// Time handing ops over apart from waiting for them, where the backend has a queue.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub time_submission: bool,
    /// CPUs to run on: worker `i` on `cpus[i mod len]`; anywhere when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// What an op's error means.
    #[serde(default)]
    pub on_error: OnError,
    /// Errors that are passed over, whatever `on-error` says.
    #[serde(default, skip_serializing_if = "ErrorRules::is_none")]
    pub errors: ErrorRules,
    /// When its workers start, where that is not with the phase.
    #[serde(default, skip_serializing_if = "Start::is_with_phase")]
    pub start: Start,
    /// Ops in this time after its own start run but are not measured; added to the phase's.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub ramp: Nanos,
    /// The same for ops until so much is moved; with `ramp` as well, what comes first ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp_until: Option<RampUntil>,
    /// Whom its end ends.
    #[serde(default, skip_serializing_if = "WhenDone::is_itself")]
    pub when_done: WhenDone,
    /// Keep what each of its workers did in every piece of time of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Nanos>,
}

/// When the workers of a group start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Start {
    /// So long after the phase, or after the groups that it waits for.
    #[serde(default)]
    pub delay: Nanos,
    /// Not before all workers of these groups are done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl Start {
    /// Whether they start with the phase.
    pub fn is_with_phase(&self) -> bool {
        *self == Start::default()
    }
}

/// Whom the end of a group's worker ends.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WhenDone {
    /// Nobody else.
    #[default]
    Itself,
    /// All workers of these groups.
    Groups(Vec<String>),
    /// The whole phase.
    Phase,
    /// The whole run: no later phase starts.
    Run,
    /// The whole run, where it failed.
    RunIfFailed,
    /// All workers of these groups, where it failed.
    GroupsIfFailed(Vec<String>),
    /// The whole phase, where it failed.
    PhaseIfFailed,
}

impl WhenDone {
    /// Whether nobody else ends.
    pub fn is_itself(&self) -> bool {
        *self == WhenDone::Itself
    }
}

fn one() -> u32 {
    1
}

impl WorkerGroup {
    /// Names of all targets that it uses, its own first.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let ends = self.work.copy().into_iter().flat_map(|copy| copy.targets());
        let programs = || self.work.program().into_iter();
        let sets = programs().flat_map(|program| program.shared_sets());
        // All copies of a program go to one set.
        let copies = programs().filter_map(|program| program.copies().next()).map(|copy| copy.to.as_str());
        std::iter::once(self.target.as_str()).chain(ends.chain(sets).chain(copies).filter(|&end| end != self.target))
    }

    /// Whether its files are removed between its loops: it has several, or may come to have.
    pub fn removes_files_between_loops(&self) -> bool {
        self.files.unlink_each_loop && self.work.fio().is_some_and(Stream::repeats)
    }

    /// Whether it goes around the page cache by rules of its own; `None` where its phase decides.
    pub fn opens_direct(&self) -> Option<bool> {
        match &self.work {
            Work::Blocks(stream) if !stream.is_plumb() => Some(self.files.direct),
            Work::Program(program) if !program.is_over_file_set() => Some(program.is_direct()),
            _ => None,
        }
    }

    /// What makes its writes durable.
    pub fn own_flush(&self) -> OwnFlush {
        let own = |all: bool, some: bool| match (all, some) {
            (true, _) => OwnFlush::All,
            (false, true) => OwnFlush::Part,
            (false, false) => OwnFlush::Never,
        };
        match &self.work {
            Work::Blocks(stream) if stream.is_plumb() => OwnFlush::ByPhase,
            // It flushes what its recording flushes.
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

    /// What it writes, to something that makes bytes smaller; `None` where its target decides, or it writes nothing.
    pub fn own_content(&self) -> Option<Content> {
        match &self.content {
            _ if !self.work.writes() => None,
            Some(content) => Some(content.reduced()),
            None => self.work.own_content(),
        }
    }

    /// One thread with the default backend that does `work` on `target`.
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

/// What the ops of a worker are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum Work {
    /// Block I/O.
    Blocks(Box<BlockStream>),
    /// Bytes from one place to another, as dd moves them. Its group has one worker.
    Copy(Box<crate::copy::CopySpec>),
    /// Steps over a file set, or over named files.
    #[serde(alias = "flow", alias = "script")]
    Program(Box<Program>),
    /// What a recording says was done to files, by name.
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

/// A worker is a thread or a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunAs {
    /// A thread.
    #[default]
    Thread,
    /// A process of its own, with its recorder in shared memory.
    Process,
}

/// How ops are gathered into one system call. 0 lets the engine adapt: submit all there is room for, wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Batch {
    /// Ops submitted together at most.
    #[serde(default)]
    pub submit: u32,
    /// Completions waited for together.
    #[serde(default)]
    pub complete: u32,
    /// A full queue drains to this depth before it is filled again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refill_at: Option<u32>,
    /// Completions taken at once at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_completions: Option<u32>,
}

/// When a worker has done enough. Without one, it goes on until the phase stops; block work without a phase
/// time, bytes or ops limit stops after one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limit {
    /// Bytes moved by this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Ops of this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// Times over its whole range, or through its program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Time from its own start, its ramp not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
}

/// What an op's error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The phase ends.
    #[default]
    Stop,
    /// It is counted, and the worker goes on.
    Continue,
    /// The worker ends; the others go on.
    Leave,
}

/// Errors that are passed over, whatever [`OnError`] says. They are counted all the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ErrorRules {
    /// Errors of reads.
    pub go_on_after_read: bool,
    /// Errors of writes and trims.
    pub go_on_after_write: bool,
    /// Blocks that are not what was written.
    pub go_on_after_verify: bool,
    /// Error numbers that are no errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<IgnoredError>,
}

/// An error number that is no error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IgnoredError {
    /// Where it is none.
    pub at: ErrorOrigin,
    /// The number, errno(3).
    pub errno: i32,
}

/// Where an error arises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorOrigin {
    /// In a read.
    Read,
    /// In a write.
    Write,
    /// In verifying.
    Verify,
}

impl ErrorRules {
    /// Whether none is passed over.
    pub fn is_none(&self) -> bool {
        *self == ErrorRules::default()
    }
}
