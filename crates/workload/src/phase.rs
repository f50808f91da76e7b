//! Phases: workers that start together behind a barrier and end by a stop rule.

use crate::blocks::Blocks;
use crate::content::Verify;
use crate::flow::Flow;
use crate::job::Job;
use crate::pace::Pace;
use crate::short_form::short_form;
use crate::units::{Bytes, Nanos, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Workers that start together behind a barrier and end by a stop rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Who does what.
    pub workers: Vec<WorkerGroup>,
}

/// What the page cache holds of the targets when the clock starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stop {
    /// After so long, the ramp not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
    /// After so many bytes, of all workers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// After so many ops, of all workers together.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// The last worker's.
    #[default]
    AllDone,
    /// The first worker's; the others stop after the op at hand.
    FirstDone,
}

/// The SNIA round rule: over the last `window` rounds, range and slope excursion within bounds. Source: SNIA SSS PTS.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Give up after so many rounds.
    pub max_rounds: u32,
}

impl Default for Steady {
    fn default() -> Steady {
        Steady { round: Nanos(1_000_000_000), window: 5, range: 0.20, slope: 0.10, max_rounds: 25 }
    }
}

/// What makes a phase's writes durable, and whether the clock waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockScope {
    /// It counts: rates are of durable bytes.
    #[default]
    Inside,
    /// It happens after the clock stopped.
    Outside,
}

/// Workers that do the same, each with its own stream of random numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Stamp what is written and verify what is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verify>,
    /// CPUs to run on: worker `i` on `cpus[i mod len]`; anywhere when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// What an op's error means.
    #[serde(default)]
    pub on_error: OnError,
    /// When its workers start, where that is not with the phase.
    #[serde(default, skip_serializing_if = "Start::is_with_phase")]
    pub start: Start,
    /// Ops in this time after its own start run but are not measured; added to the phase's.
    #[serde(default, skip_serializing_if = "Nanos::is_zero")]
    pub ramp: Nanos,
    /// Whom its end ends.
    #[serde(default, skip_serializing_if = "WhenDone::is_itself")]
    pub when_done: WhenDone,
    /// Keep what each of its workers did in every piece of time of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Nanos>,
}

/// When the workers of a group start.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// One thread with the default backend that does `work` on `target`.
    pub fn new(target: impl Into<String>, work: Work) -> WorkerGroup {
        WorkerGroup {
            name: None,
            target: target.into(),
            count: 1,
            run_as: RunAs::default(),
            backend: Backend::default(),
            depth: 1,
            batch: Batch::default(),
            work,
            pace: Pace::default(),
            limit: Limit::default(),
            verify: None,
            cpus: Vec::new(),
            on_error: OnError::default(),
            start: Start::default(),
            ramp: Nanos::default(),
            when_done: WhenDone::default(),
            sample: None,
        }
    }
}

/// What the ops of a worker are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(rename = "Work")]
pub enum Work {
    /// Block I/O by a pattern.
    Blocks(Blocks),
    /// A program over a file set.
    Flow(Flow),
    /// Block I/O as a job of fio does it. Its group has one worker.
    Job(Box<Job>),
    /// No I/O: processor time.
    Busy(Busy),
    /// No I/O: another program.
    Exec(Exec),
}

/// Processor time that is used up beside other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Busy {
    /// Per cent of one processor, 1 to 100.
    pub percent: u8,
    /// Length of a busy piece; between two it sleeps.
    pub piece: Nanos,
    /// By sorting numbers, which uses the caches, rather than by counting.
    #[serde(default)]
    pub sorts: bool,
    /// End with the last worker that does I/O.
    #[serde(default)]
    pub ends_with_others: bool,
}

/// Another program that runs beside the other work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Exec {
    /// The program.
    pub program: String,
    /// Its arguments, parted as a shell does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Between asking it to end and killing it.
    pub grace: Nanos,
    /// Its output goes to `NAME.stdout` and `NAME.stderr` in the working directory, rather than nowhere.
    #[serde(default)]
    pub keeps_output: bool,
}

short_form!(Work);

/// A worker is a thread or a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunAs {
    /// A thread.
    #[default]
    Thread,
    /// A process of its own, with its recorder in shared memory.
    Process,
}

/// What executes ops.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields, remote = "Self")]
#[schemars(rename = "Backend")]
pub enum Backend {
    /// `io-uring` for depth above 1 where the kernel has it, else `psync`; `null` and `sim` for those targets.
    #[default]
    Auto,
    /// `pread`/`pwrite`.
    Psync,
    /// `preadv2`/`pwritev2` with flags.
    Preadv2 {
        /// RWF_ flags.
        #[serde(default)]
        flags: Vec<RwFlag>,
        /// Per cent of ops that are polled for, where `hipri` is among the flags.
        #[serde(default = "all_ops", skip_serializing_if = "is_all_ops")]
        hipri_percent: u8,
    },
    /// `preadv`/`pwritev`.
    Preadv,
    /// `lseek`, then `read`/`write`.
    Seek,
    /// `lseek`, then `readv`/`writev` of neighbouring ops together, up to the depth.
    SeekVectored,
    /// The kernel's native asynchronous I/O, `io_submit`.
    Libaio {
        /// Look for completions in the ring that the kernel shares, without a system call.
        #[serde(default)]
        userspace_reap: bool,
        /// Vectored ops.
        #[serde(default)]
        vectored: bool,
        /// `RWF_NOWAIT`.
        #[serde(default)]
        nowait: bool,
    },
    /// `aio_read`/`aio_write` of the C library.
    PosixAio,
    /// `splice` through a pipe.
    Splice,
    /// Calls on whole files in place of reads: each op is one call on one file.
    Files(FileCall),
    /// `fallocate` in place of writes.
    Fallocate,
    /// `ftruncate` in place of writes.
    Truncate,
    /// A socket.
    Socket {
        /// How messages travel.
        kind: SocketKind,
        /// The other host's name, or the socket's path.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// The port; absent for a socket of the file system.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
        /// Wait for a connection rather than make one.
        #[serde(default)]
        listens: bool,
        /// Answer every message.
        #[serde(default)]
        ping_pong: bool,
        /// `TCP_NODELAY`.
        #[serde(default)]
        no_delay: bool,
        /// `SO_SNDBUF` and `SO_RCVBUF`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<Bytes>,
        /// `TCP_MAXSEG`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        segment: Option<Bytes>,
    },
    /// Loads and stores through a mapping.
    Mmap,
    /// `fread`/`fwrite` of the C library, with its buffer.
    Stdio,
    /// io_uring.
    IoUring {
        /// Busy-poll for completions (`IORING_SETUP_IOPOLL`; needs O_DIRECT and a polling driver).
        #[serde(default)]
        poll_completions: bool,
        /// A kernel thread submits (`IORING_SETUP_SQPOLL`); its CPU time is charged to the result.
        #[serde(default)]
        poll_submissions: bool,
        /// Use registered buffers.
        #[serde(default = "yes")]
        fixed_buffers: bool,
        /// Use registered files.
        #[serde(default = "yes")]
        fixed_files: bool,
        /// The CPU of the kernel thread that submits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_cpu: Option<u32>,
        /// Vectored ops.
        #[serde(default, skip_serializing_if = "is_off")]
        vectored: bool,
        /// Every so many-th op is done by a kernel thread (`IOSQE_ASYNC`).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        async_every: Option<u32>,
        /// RWF_ flags.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flags: Vec<RwFlag>,
    },
    /// Ops complete at once.
    Null,
    /// The simulated device.
    Sim,
    /// An engine of another tool that Plumb knows by name and cannot run. It says what a job would use; running it is
    /// refused.
    Foreign {
        /// Its name.
        engine: String,
        /// What was said of it, by that tool's names.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        options: BTreeMap<String, String>,
    },
}

short_form!(Backend);

fn yes() -> bool {
    true
}

fn is_off(switch: &bool) -> bool {
    !switch
}

fn all_ops() -> u8 {
    100
}

fn is_all_ops(percent: &u8) -> bool {
    *percent == all_ops()
}

/// A call on a whole file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileCall {
    /// `open` of a new file, and `close`.
    Create,
    /// `stat`.
    Stat,
    /// `lstat`.
    Lstat,
    /// `statx`.
    Statx,
    /// `unlink`.
    Unlink,
    /// `mkdir`.
    Mkdir,
    /// `stat` of a directory.
    StatDir,
    /// `rmdir`.
    Rmdir,
}

/// How messages travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SocketKind {
    /// TCP over IPv4.
    Tcp,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over IPv4.
    Udp,
    /// UDP over IPv6.
    Udp6,
    /// A socket of the file system.
    Unix,
    /// To or from a virtual machine.
    Vsock,
}

impl Backend {
    /// io_uring with registered buffers and files and no polling.
    pub const IO_URING: Backend = Backend::IoUring {
        poll_completions: false,
        poll_submissions: false,
        fixed_buffers: true,
        fixed_files: true,
        poll_cpu: None,
        vectored: false,
        async_every: None,
        flags: Vec::new(),
    };

    /// The name that users know it by.
    pub fn name(&self) -> &'static str {
        match self {
            Backend::Auto => "auto",
            Backend::Psync => "psync",
            Backend::Preadv2 { .. } => "preadv2",
            Backend::Preadv => "preadv",
            Backend::Seek => "seek",
            Backend::SeekVectored => "seek-vectored",
            Backend::Libaio { .. } => "libaio",
            Backend::PosixAio => "posix-aio",
            Backend::Splice => "splice",
            Backend::Files(_) => "files",
            Backend::Fallocate => "fallocate",
            Backend::Truncate => "truncate",
            Backend::Socket { .. } => "socket",
            Backend::Mmap => "mmap",
            Backend::Stdio => "stdio",
            Backend::IoUring { .. } => "io-uring",
            Backend::Null => "null",
            Backend::Sim => "sim",
            Backend::Foreign { .. } => "foreign",
        }
    }
}

/// A flag of `preadv2`/`pwritev2`. Source: preadv2(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RwFlag {
    /// `RWF_HIPRI`: poll for completion.
    Hipri,
    /// `RWF_DSYNC`: each write as if under `O_DSYNC`.
    Dsync,
    /// `RWF_SYNC`: each write as if under `O_SYNC`.
    Sync,
    /// `RWF_NOWAIT`: fail with `EAGAIN` rather than wait.
    Nowait,
    /// `RWF_UNCACHED` (`RWF_DONTCACHE`): drop pages after use.
    Uncached,
    /// `RWF_ATOMIC`: torn-write protection.
    Atomic,
}

/// How ops are gathered into one system call. 0 lets the engine adapt: submit all there is room for, wait for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Batch {
    /// Ops submitted together at most.
    #[serde(default)]
    pub submit: u32,
    /// Completions waited for together.
    #[serde(default)]
    pub complete: u32,
}

/// When a worker has done enough. Without one, it goes on until the phase stops; block work without a phase
/// time, bytes or ops limit stops after one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limit {
    /// Bytes moved by this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Ops of this worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    /// Times over its whole range, or through its flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u64>,
    /// Time from its own start, its ramp not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Nanos>,
}

/// What an op's error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
