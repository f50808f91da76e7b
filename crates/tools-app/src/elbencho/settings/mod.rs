//! The settings of a command line.

pub(super) mod read;

use super::hosts::{DataSetPart, HostsSettings};
use plumb_workload::files::{FileAdvice, MappingAdvice, RecordLock};

/// The task of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The benchmark.
    Run,
    /// Only print how much it would do.
    DryRun,
    /// Print the most important options.
    Help,
    /// Print all options.
    HelpAll,
    /// Print the options for services.
    HelpDist,
    /// Print the version.
    Version,
    /// Serve masters, in the background.
    Service,
    /// Serve masters.
    ServiceInForeground,
    /// Interrupt what services run.
    Interrupt,
    /// End services.
    Quit,
}

/// Which phases are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Phases {
    /// Directories are created.
    pub mkdirs: bool,
    /// Files are written.
    pub write: bool,
    /// Files are statted.
    pub stat: bool,
    /// Files are read.
    pub read: bool,
    /// Files are removed.
    pub delfiles: bool,
    /// Directories are removed.
    pub deldirs: bool,
    /// `sync` before and after each phase.
    pub sync: bool,
    /// Caches are dropped before and after each phase.
    pub dropcache: bool,
}

impl Phases {
    /// Whether any of them reads or writes.
    pub fn moves_data(self) -> bool {
        self.write || self.read
    }
}

/// A tree of files from a list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TreeSettings {
    /// Where the list is, or is to be.
    pub file: Option<String>,
    /// A directory to make the list of.
    pub scan: Option<String>,
    /// Files from this size on are shared by threads, bytes; `None` for elbencho's default number of blocks.
    pub share_from: Option<u64>,
    /// In random order.
    pub random: bool,
    /// Threads take the blocks of shared files in turn.
    pub round_robin: bool,
    /// Sizes become multiples of this, bytes; 0 leaves them.
    pub round_up: u64,
}

/// Reads in the write phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rwmix {
    /// None.
    #[default]
    None,
    /// Percentage of the ops of every thread.
    Percent(u8),
    /// The first N threads.
    Threads(u32),
}

/// Progress that is printed while a phase runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Live {
    /// One line, rewritten, on a terminal.
    #[default]
    Auto,
    /// One line, rewritten.
    OneLine,
    /// A line each time.
    Lines,
    /// Nothing.
    Off,
}

/// Progress as CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCsv {
    /// Its file; `None` for standard output.
    pub path: Option<String>,
    /// Each thread as well.
    pub each_thread: bool,
}

/// The report of each phase, and the files that it goes to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputSettings {
    /// When each thread was done.
    pub all_elapsed: bool,
    /// When each service was done.
    pub services_elapsed: bool,
    /// CPU utilization.
    pub cpu: bool,
    /// Smallest, mean and largest latency.
    pub latency: bool,
    /// Histograms of latency.
    pub histogram: bool,
    /// Percentiles of latency, with N nines after 99.
    pub percentiles: Option<u8>,
    /// Directories as well as files.
    pub dir_stats: bool,
    /// MB rather than MiB.
    pub base10: bool,
    /// Numbers of I/Os.
    pub verbose: bool,
    /// No warning of phases that took no time.
    pub no_zero_warning: bool,
    /// A label for the results.
    pub label: Option<String>,
    /// Results as CSV.
    pub csv: Option<String>,
    /// Without a line of labels.
    pub no_csv_labels: bool,
    /// Results as JSON.
    pub json: Option<String>,
    /// Results as text.
    pub text: Option<String>,
    /// Each op as JSON.
    pub ops_log: Option<String>,
    /// Progress as CSV.
    pub live_csv: Option<LiveCsv>,
    /// `--nolive`, `--live1`, `--live1n`: progress on standard output.
    pub live: Live,
    /// `--liveint`: time between two lines of progress, in milliseconds.
    pub live_interval_ms: u64,
}

/// The settings of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElbenchoSettings {
    /// The task: a run, a page or a service.
    pub action: Action,
    /// The phases to run, in elbencho's own order.
    pub phases: Phases,
    /// Directories, files or block devices to work on.
    pub paths: Vec<String>,
    /// `--threads`: number of threads.
    pub threads: u32,
    pub dataset: DataSet,
    pub ops: OpOptions,
    /// A tree of files instead.
    pub tree: Option<TreeSettings>,
    pub order: OpOrder,
    pub mix: ReadWriteMix,
    pub content: ContentOptions,
    pub calls: FileCalls,
    pub schedule: ScheduleOptions,
    pub placement: ThreadPlacement,
    /// The hosts that run the phases.
    pub hosts: HostsSettings,
    /// The part of the data set that belongs to this host.
    pub part: DataSetPart,
    /// The report of each phase.
    pub output: OutputSettings,
}

/// The directories and files of each thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataSet {
    /// `--dirs`: directories of each thread; 0 for none.
    pub dirs: u32,
    /// `--files`: files of each directory and thread.
    pub files: u32,
    /// `--size`: bytes of a file; 0 keeps the size of an existing one.
    pub size: u64,
    /// Whether `--size` was given, which may be 0.
    pub size_said: bool,
    /// `--dirsharing`: whether all threads use the directories of the first one.
    pub dirsharing: bool,
}

/// The reads and writes: their size, their number in flight and their calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpOptions {
    /// `--block`: bytes of an op.
    pub block: u64,
    /// `--iodepth`: ops in flight.
    pub iodepth: u32,
    /// `--direct`: whether files are opened with `O_DIRECT`.
    pub direct: bool,
    /// `--mmap`: whether files are mapped.
    pub mmap: bool,
}

/// The offsets of ops, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpOrder {
    /// `--rand`: whether offsets are random.
    pub rand: bool,
    /// Whether `--randalgo` was given, which makes the offsets of writes independent draws as well.
    pub rand_algo_said: bool,
    /// `--randamount`: bytes at random offsets; 0 for the size of the files.
    pub rand_amount: u64,
    /// `--norandalign`: whether random offsets need not be multiples of the block size.
    pub rand_unaligned: bool,
    /// `--strided`: whether threads take the blocks of a file in turn.
    pub strided: bool,
    /// `--backward`: whether ops go from the end to the beginning.
    pub backward: bool,
}

/// Reads in the write phase, and limits on both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadWriteMix {
    /// `--rwmixpct`, `--rwmixthr`: reads in the write phase.
    pub rwmix: Rwmix,
    /// `--rwmixthrpct`: share of the reading threads in all ops, in percent; `None` if each has its own pace.
    pub balance: Option<u8>,
    /// `--limitread`: most bytes read per second; 0 for no limit.
    pub limit_read: u64,
    /// `--limitwrite`: most bytes written per second; 0 for no limit.
    pub limit_write: u64,
}

/// The contents of blocks, and checks of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentOptions {
    /// `--blockvarpct`: percentage of each block that is new in every write; 0 for the same block again and again.
    pub new_percent: u8,
    /// `--verify`: the number that is added to offsets to make the data; 0 for none.
    pub verify: u64,
    /// `--verifydirect`: whether each block is verified right after its write.
    pub verify_direct: bool,
    /// `--readinline`: whether each block is read right after its write.
    pub read_inline: bool,
}

/// System calls on a file, other than reads and writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCalls {
    /// `--statinline`: whether each file is statted when it is opened.
    pub stat_inline: bool,
    /// `--trunc`: whether files are emptied when they are opened.
    pub trunc: bool,
    /// `--trunctosize`: whether files get their size when they are opened.
    pub trunc_to_size: bool,
    /// `--preallocfile`: whether the space of files is reserved.
    pub preallocate: bool,
    /// `--fadv`: advice to the kernel about each open file, in the order of the calls.
    pub file_advice: Vec<FileAdvice>,
    /// `--madv`: advice to the kernel about each mapping, in the order of the calls.
    pub mapping_advice: Vec<MappingAdvice>,
    /// `--flock`: range that is locked around each op.
    pub lock: Option<RecordLock>,
    /// `--nodelerr`: whether removing a missing file or directory succeeds.
    pub no_delete_errors: bool,
}

/// When phases begin and end, and how often they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// `--timelimit`: seconds of a phase; 0 for no limit.
    pub time_limit_s: u64,
    /// `--infloop`: whether threads start again at their end.
    pub infinite: bool,
    /// `--iterations`: how often all phases run.
    pub iterations: u32,
    /// `--phasedelay`: seconds between phases.
    pub phase_delay_s: u64,
    /// `--start`: time of the start, in seconds since 1970; 0 for now.
    pub start_s: u64,
}

/// Ranks of the threads, and the processors that they run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPlacement {
    /// `--rankoffset`: the rank of the first thread.
    pub rank_offset: u32,
    /// `--zones`: memory nodes, in turn; `all` for each.
    pub zones: Option<String>,
    /// `--cores`: processors, in turn; `all` for each.
    pub cores: Option<String>,
}
