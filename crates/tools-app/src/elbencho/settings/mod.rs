//! The settings of a command line.

pub(super) mod read;

use super::hosts::{DataSetPart, HostsSettings};
use plumb_workload::files::{FileAdvice, MappingAdvice, RecordLock};

/// The action that a command line requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Run,
    /// Print how much each phase would do.
    DryRun,
    /// Print the most important options.
    Help,
    HelpAll,
    /// Print the options for services.
    HelpDist,
    Version,
    /// Serve coordinators, in the background.
    Service,
    /// Serve coordinators, in the foreground.
    ServiceInForeground,
    /// Interrupt the benchmarks of services.
    Interrupt,
    Quit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    pub mkdirs: bool,
    pub write: bool,
    pub stat: bool,
    pub read: bool,
    pub delfiles: bool,
    pub deldirs: bool,
    /// Call `sync` before and after each phase.
    pub sync: bool,
    /// Drop caches before and after each phase.
    pub dropcache: bool,
}

impl Phases {
    /// Returns `true` if a phase reads or writes.
    pub fn moves_data(self) -> bool {
        self.write || self.read
    }
}

/// A custom tree of files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeSettings {
    /// Path of the tree file: read it, or write it after a scan.
    pub file: Option<String>,
    /// Directory to scan for the tree.
    pub scan: Option<String>,
    /// Size from which threads share a file, bytes. `None`: elbencho's default number of blocks.
    pub share_from: Option<u64>,
    /// Process the files in random order.
    pub random: bool,
    /// Threads take the blocks of shared files in turn.
    pub round_robin: bool,
    /// Round sizes up to a multiple of this many bytes; 0 leaves them unchanged.
    pub round_up: u64,
}

/// Reads during the write phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rwmix {
    #[default]
    None,
    /// Percentage of every thread's ops that are reads.
    Percent(u8),
    /// Number of the first threads, which only read.
    Threads(u32),
}

/// Progress printed while a phase runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Live {
    /// One line, rewritten, if standard output is a terminal.
    #[default]
    Auto,
    /// One line, rewritten.
    OneLine,
    /// A new line for each update.
    Lines,
    Off,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCsv {
    /// Path of the file; `None` for standard output.
    pub path: Option<String>,
    /// Whether rows for each thread are included.
    pub each_thread: bool,
}

/// The contents of reports, and their files.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputSettings {
    /// Print the elapsed time of each thread.
    pub all_elapsed: bool,
    /// Print the elapsed time of each service.
    pub services_elapsed: bool,
    pub cpu: bool,
    /// Print the smallest, mean and largest latency.
    pub latency: bool,
    pub histogram: bool,
    /// Print latency percentiles, with this many nines after 99.
    pub percentiles: Option<u8>,
    /// Print directory statistics as well.
    pub dir_stats: bool,
    /// Print MB rather than MiB.
    pub base10: bool,
    /// Print numbers of I/Os.
    pub verbose: bool,
    /// Do not warn about phases that took no measurable time.
    pub no_zero_warning: bool,
    pub label: Option<String>,
    /// Path of the CSV file.
    pub csv: Option<String>,
    /// Omit the header row of CSV files.
    pub no_csv_labels: bool,
    /// Path of the JSON file.
    pub json: Option<String>,
    /// Path of the text file.
    pub text: Option<String>,
    /// Path of the op log.
    pub ops_log: Option<String>,
    /// Progress as CSV; `None` without it.
    pub live_csv: Option<LiveCsv>,
    /// `--nolive`, `--live1`, `--live1n`: progress on standard output.
    pub live: Live,
    /// `--liveint`: interval between progress updates, in milliseconds.
    pub live_interval_ms: u64,
}

/// Settings of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElbenchoSettings {
    pub action: Action,
    /// The phases, which run in elbencho's order.
    pub phases: Phases,
    /// Directories, files or block devices to work on.
    pub paths: Vec<String>,
    /// `--threads`: number of threads.
    pub threads: u32,
    pub dataset: DataSet,
    pub ops: OpOptions,
    /// Custom tree, used instead of `dataset`.
    pub tree: Option<TreeSettings>,
    pub order: OpOrder,
    pub mix: ReadWriteMix,
    pub content: ContentOptions,
    pub calls: FileCalls,
    pub schedule: ScheduleOptions,
    pub placement: ThreadPlacement,
    /// Hosts that run the phases.
    pub hosts: HostsSettings,
    /// This host's part of the data set.
    pub part: DataSetPart,
    pub output: OutputSettings,
}

/// The directories and files of each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSet {
    /// `--dirs`: directories per thread; 0 for none.
    pub dirs: u32,
    /// `--files`: files per directory and thread.
    pub files: u32,
    /// `--size`: bytes per file; 0 keeps the size of an existing one.
    pub size: u64,
    /// Whether `--size` was given, even if it is 0.
    pub size_given: bool,
    /// `--dirsharing`: whether all threads use the directories of the first one.
    pub dirsharing: bool,
}

/// Reads and writes: size, queue depth and system calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpOptions {
    /// `--block`: bytes per op.
    pub block: u64,
    /// `--iodepth`: queue depth.
    pub iodepth: u32,
    /// `--direct`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `--mmap`: whether files are mapped.
    pub mmap: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpOrder {
    /// `--rand`: whether offsets are random.
    pub rand: bool,
    /// Whether `--randalgo` was given. It also draws the offsets of writes independently.
    pub rand_algo_given: bool,
    /// `--randamount`: bytes at random offsets; 0 for the size of the files.
    pub rand_amount: u64,
    /// `--norandalign`: whether random offsets may be unaligned to the block size.
    pub rand_unaligned: bool,
    /// `--strided`: whether threads take the blocks of a file in turn.
    pub strided: bool,
    /// `--backward`: whether ops run from the end to the start.
    pub backward: bool,
}

/// Reads in the write phase, and rate limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadWriteMix {
    /// `--rwmixpct`, `--rwmixthr`: reads in the write phase.
    pub rwmix: Rwmix,
    /// `--rwmixthrpct`: share of the reading threads in all ops, percent. `None`: each thread has its own pace.
    pub balance: Option<u8>,
    /// `--limitread`: limit of bytes read per second; 0 for no limit.
    pub limit_read: u64,
    /// `--limitwrite`: limit of bytes written per second; 0 for no limit.
    pub limit_write: u64,
}

/// Contents of blocks, and their verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentOptions {
    /// `--blockvarpct`: percentage of each block that is new in every write; 0 repeats the same block.
    pub new_percent: u8,
    /// `--verify`: salt that is added to offsets to make the data; 0 for no verification.
    pub verify: u64,
    /// `--verifydirect`: whether each block is verified right after its write.
    pub verify_direct: bool,
    /// `--readinline`: whether each block is read right after its write.
    pub read_inline: bool,
}

/// System calls on a file other than reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCalls {
    /// `--statinline`: whether each file is statted when it is opened.
    pub stat_inline: bool,
    /// `--trunc`: whether files are truncated to 0 when they are opened.
    pub trunc: bool,
    /// `--trunctosize`: whether files are extended to full size when they are opened.
    pub trunc_to_size: bool,
    /// `--preallocfile`: whether space is allocated for files.
    pub preallocate: bool,
    /// `--fadv`: `posix_fadvise` hints for each open file, in the order of the calls.
    pub file_advice: Vec<FileAdvice>,
    /// `--madv`: `madvise` hints for each mapping, in the order of the calls.
    pub mapping_advice: Vec<MappingAdvice>,
    /// `--flock`: range that is locked during each op.
    pub lock: Option<RecordLock>,
    /// `--nodelerr`: whether removing a missing file or directory succeeds.
    pub no_delete_errors: bool,
}

/// Start, end and repetition of phases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// `--timelimit`: seconds per phase; 0 for no limit.
    pub time_limit_s: u64,
    /// `--infloop`: whether threads repeat their work until the phase is stopped.
    pub infinite: bool,
    /// `--iterations`: number of times that all phases run.
    pub iterations: u32,
    /// `--phasedelay`: seconds between phases.
    pub phase_delay_s: u64,
    /// `--start`: start time, in seconds since 1970; 0 for now.
    pub start_s: u64,
}

/// Ranks of the threads, and the CPUs that they run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// `--rankoffset`: the rank of the first thread.
    pub rank_offset: u32,
    /// `--zones`: NUMA nodes, used in turn; `all` for each.
    pub zones: Option<String>,
    /// `--cores`: CPUs, used in turn; `all` for each.
    pub cores: Option<String>,
}
