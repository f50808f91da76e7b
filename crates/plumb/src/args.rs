//! What can be typed. Parsing touches nothing but the words.

pub use crate::common::Common;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A storage benchmark that tells the truth.
///
/// Plumb never prints a number without what it measured, and never prints "faster" without the right to say so.
#[derive(Debug, Parser)]
#[command(name = "plumb", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: PlumbCommand,

    /// What holds for every command.
    #[command(flatten)]
    pub common: Common,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum PlumbCommand {
    /// What can this storage do? Safe on a system in use, about a minute.
    Try(TryArguments),
    /// Which of two is faster for this work? Interleaved blocks, an honest verdict.
    Compare(CompareArguments),
    /// How small a difference can this set-up show? Measures the noise floor (A/A).
    Noise(NoiseArguments),
    /// Run one workload: a file, or one of the named ones.
    Run(RunArguments),
    /// Sweep a parameter: curves of load, block size and working set, and what they mean.
    Sweep(SweepArguments),
    /// A whole comparison from one file: build each system, measure it in a sound order, answer in words.
    Study {
        /// What to do with it.
        #[command(subcommand)]
        command: crate::commands::study::StudyCommand,
    },
    /// Recompute published numbers: rates, units, directions, sizes against memory, claims. No load.
    Audit(AuditArguments),
    /// Run another tool's command line: fio, elbencho, dd, IOzone, Bonnie++, PostMark or iostat. Prints that tool's format; Plumb's checks still apply.
    As {
        /// The tool, and its words as they are.
        #[command(subcommand)]
        tool: Tool,
    },
    /// What would make a result wrong here? No load.
    Check {
        /// A path on the storage in question.
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// What the devices do now, live: rates, latency, queue, use, and who makes them. No load.
    Watch(WatchArguments),
    /// What a check means, why it matters, and what to do about it.
    Explain {
        /// The check, such as A3; all of them when absent.
        code: Option<String>,
    },
    /// Stored runs, newest first.
    List {
        /// Only runs with this tag.
        #[arg(long)]
        tag: Option<String>,
        /// Show at most this many runs.
        #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
    },
    /// A stored run.
    Show {
        /// A run's id, any unique beginning of it, or `last`.
        #[arg(default_value = "last")]
        run: String,
        /// Only what differs from another run.
        #[arg(long, value_name = "RUN")]
        diff: Option<String>,
    },
    /// Ask the store in SQL, read-only.
    Query {
        /// A SELECT. Without one: the tables.
        sql: Option<String>,
    },
    /// Put a tag on a run, or take it off.
    Tag {
        /// A run's id, any unique beginning of it, or `last`.
        run: String,
        /// The tag.
        tag: String,
        /// Take it off.
        #[arg(long, short)]
        delete: bool,
    },
    /// Write stored runs out, as JSON or CSV.
    Export {
        /// Runs: ids, unique beginnings, or `last`; all runs when absent.
        runs: Vec<String>,
        /// CSV, a line a number.
        #[arg(long)]
        csv: bool,
    },
    /// Add results from files to the store: those that a locked or full database did not take, or another one's.
    Import {
        /// Files of Plumb's own results, as `plumb export` and `--json` write them; `-` is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// The JSON Schema of a form that Plumb reads or writes.
    Schema {
        /// Which form.
        form: Form,
    },
    /// Remove what a killed run left behind.
    Clean {
        /// Also look for left test directories here.
        paths: Vec<PathBuf>,
    },
    /// Completions for a shell.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the manual, in roff.
    Man {
        /// The command whose page to print, such as `try` or `study run` [default: the page of Plumb itself].
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
        /// Write the pages of all commands into this directory instead.
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        all: Option<PathBuf>,
    },
}

/// Arguments of `plumb agent`: the far end of a host, which answers a study's requests. Studies start it; it is not a command
/// that people type, and is parsed apart so that it appears in no help, completion or suggestion.
#[derive(Debug, Parser)]
#[command(name = "plumb agent")]
pub struct AgentArguments {
    /// The device over which it is asked [default: standard input and output].
    #[arg(long, value_name = "DEVICE")]
    pub port: Option<PathBuf>,
    /// Where it keeps what it needs, with the journal of what it built [default: the user's state directory].
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// The link counts as broken after this many seconds of silence.
    #[arg(long, value_name = "SECONDS")]
    pub silence: Option<u64>,
    /// Boot this virtual machine (a table of a study's `hosts`, in TOML) and pass on to it what is asked.
    #[arg(long, value_name = "FILE", conflicts_with = "port")]
    pub vm: Option<PathBuf>,
    /// Become the program behind `--`, and end with this process, which must be the parent.
    #[arg(long, value_name = "PID", requires = "program")]
    pub with_parent: Option<u32>,
    /// With --with-parent: it is asked to end, and not killed.
    #[arg(long, requires = "with_parent")]
    pub gently: bool,
    /// The program, and its words.
    #[arg(last = true)]
    pub program: Vec<OsString>,
}

/// Arguments of `plumb try`.
#[derive(Debug, Args)]
pub struct TryArguments {
    /// A directory; or a block device or a file, which is only read; or a simulated device such as `sim:ssd`. Several are
    /// measured one after the other.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// A first look in about 10 seconds: phases of 1 s, a test file of 256 MiB.
    #[arg(long)]
    pub quick: bool,
    /// Length of each timed phase [default: 4s; 1s with --quick].
    #[arg(long)]
    pub time: Option<plumb_workload::Nanos>,
    /// Size of the test file [default: 1 GiB, 256 MiB with --quick; never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of every random choice.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Repeats, and where the page goes.
    #[command(flatten)]
    pub report: ReportArguments,
}

/// How often to measure, and where the page goes.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// Measure N times, and report the medians.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// The title of the page, and a tag of the stored runs, with dashes for blanks: `plumb list --tag NAME`.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write the page to a file as well; as JSON where its name ends in `.json`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `plumb compare`.
#[derive(Debug, Args)]
#[command(after_long_help = COMPARE_PLACES)]
pub struct CompareArguments {
    /// The baseline: a directory, several provisioned alike with commas, or a simulated device such as `sim:hdd`.
    pub a: String,
    /// The candidate: in the same way, such as `sim:hdd?slow=5%`.
    pub b: String,
    /// For which work: a named workload, several with commas, or `all`.
    #[arg(long = "for", value_name = "NAME", default_value = "random-read")]
    pub work: String,
    /// How long it may take altogether.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// The only factor that is meant to differ; anything else that differs is then said to confound. One of fs, mount,
    /// device, raid, scheduler, kernel, os, sysctl, host, limits, layout, fullness and sim.
    #[arg(long, value_name = "FACTOR")]
    pub varying: Option<String>,
    /// Provision each simulated device this many times; the provisioning is then the sample, as with several places a side.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plots: u32,
    /// Size of the test file of each run [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: what the budget allows, 1 to 10 s].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Seed of the order of runs and of every random choice.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
}

/// Why a side may have several places.
const COMPARE_PLACES: &str = "\
Several places a side:
  One mkfs, one RAID build or one boot is one sample, however often it is measured: what it does cannot be told from \
what its kind does. To claim that xfs is faster than ext4, and not only that this xfs is faster than this ext4, provision \
each side anew two or three times (on other partitions or loop devices), and name all places with commas:

    plumb compare /mnt/e1,/mnt/e2,/mnt/e3 /mnt/x1,/mnt/x2,/mnt/x3 --varying fs

  The provisioning (the plot) is then what is counted, and every round of runs visits each once. Both sides have one \
place, or both have at least two. Directories of one file system are one provisioning. Of a simulated device --plots 3 \
makes as many by itself. Without --varying, one place a side is enough: the verdict is then about these two places.";

/// Arguments of `plumb noise`.
#[derive(Debug, Args)]
pub struct NoiseArguments {
    /// A directory, several provisioned alike with commas, or a simulated device such as `sim:hdd`.
    #[arg(default_value = ".")]
    pub path: String,
    /// For which work: a named workload, several with commas, or `all`.
    #[arg(long = "for", value_name = "NAME", default_value = "random-read")]
    pub work: String,
    /// How long it may take altogether.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Size of the test file of each run [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: what the budget allows, 1 to 10 s].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Provision a simulated device this many times a side: the noise floor of provisioning.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plots: u32,
    /// Seed of the order of runs and of every random choice.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
}

/// Arguments of `plumb run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A workload file, or the name of a named workload.
    pub workload: String,
    /// Where test data is made.
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub at: PathBuf,
    /// Change a value: a path such as `phase.0.workers.0.depth=32`, or a short name such as `depth=32`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of every random choice; the workload's own when absent.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Let every timed phase go on until it is steady by SNIA's rule (over 5 rounds, range within 20 % and slope within
    /// 10 %), or for 25 rounds; `steady:10s` for rounds of ten seconds instead of one.
    #[arg(long, value_name = "steady[:ROUND]")]
    pub until: Option<plumb_study::precondition::Until>,
    /// First bring the storage to a steady state, as SNIA does: write twice the size of each file or device in sequence,
    /// then the workload's own writes in rounds until they are steady.
    #[arg(long)]
    pub precondition: bool,
    /// A condition on the result, such as `read.lat.p99 < 5ms` or `PHASE/read.bw >= 1GB/s`; exit code 1 where it is
    /// false. A result that the checks reject ends with 3 all the same: its numbers are not to be believed. May be given
    /// several times.
    #[arg(long = "assert", value_name = "CONDITION")]
    pub assertions: Vec<String>,
    /// Repeats, and where the page goes.
    #[command(flatten)]
    pub report: ReportArguments,
    /// Print the workload, resolved, instead of running it.
    #[arg(long)]
    pub translate: bool,
    /// Allow dropping the whole page cache of the machine where files cannot be made cold otherwise (root only).
    #[arg(long)]
    pub drop_caches: bool,
    /// Which run of a study this is, for simulated devices; studies give it.
    #[arg(long, hide = true, value_name = "RUN,PLOT")]
    pub sim_run: Option<plumb_lab::protocol::SimPlace>,
}

/// Arguments of `plumb sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// What to sweep, and where: one key or two with their levels, such as `depth=1..256`, `size=64M..4G:7`,
    /// `block=4k,64k,1M` or `rate=auto` (keys: depth, rate, block, size, threads, read); and a directory, a file or block
    /// device to read, or a simulated device such as `sim:ssd` [default: the working directory].
    #[arg(required = true, value_name = "KEY=A..B | PATH")]
    pub what: Vec<String>,
    /// The work: a named workload or a workload file [default: random-read; reads through the page cache for `size`].
    #[arg(long = "for", value_name = "NAME|FILE")]
    pub work: Option<String>,
    /// Which phase is swept and measured, where the work has several.
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Change a value of the work, as in `plumb run`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Ops arrive at random times (Poisson) at this rate, whatever else is swept; `auto`: at 10 % to 120 % of the
    /// largest rate that was had without.
    #[arg(long, value_name = "RATE|auto")]
    pub rate: Option<plumb_study::sweep::plan::RateOption>,
    /// Find the highest rate whose p99 is within this.
    #[arg(long, value_name = "TIME")]
    pub p99: Option<plumb_workload::Nanos>,
    /// Points of a range that names no number of its own.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub points: Option<u32>,
    /// Runs of every point; each repeat is a block that holds every point once, in random order.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// How long it may take altogether; the first repeat always runs.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Length of the timed phase of each run [default: what the budget allows, 1 to 10 s].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Size of the test file, where `size` is not swept [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of the order of runs and of every random choice.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Refuse whatever would write: for devices and files that must stay as they are.
    #[arg(long)]
    pub read_only: bool,
}

/// Arguments of `plumb audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Files of published studies, in TOML (`plumb schema audit`); `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show notes as well, and name every number that a finding rests on.
    #[arg(long)]
    pub notes: bool,
}

/// Arguments of `plumb watch`.
#[derive(Debug, Args)]
#[command(after_long_help = WATCH_WORDS)]
pub struct WatchArguments {
    /// Devices (`sda`, `/dev/nvme0n1`), or paths whose devices are meant [default: all whole devices that were ever used].
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,
    /// Time between pictures, 100ms at least.
    #[arg(long, short, default_value = "1s", value_name = "TIME")]
    pub interval: plumb_workload::Nanos,
    /// So many intervals, then end.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Lines instead of a screen, as where standard output is no terminal.
    #[arg(long)]
    pub plain: bool,
}

/// What the words and numbers of the live view are.
const WATCH_WORDS: &str = "\
Keys: q, Escape or Ctrl-C ends it, p or the space bar holds the picture.

  a read, a write  mean time of a request, waiting in the kernel included
  queue            mean number of requests in flight
  busy             time with a request in flight; a device that works in parallel may be
                   100 % busy and have room
  written          dirtied in memory or written directly; it may reach a device later

The kernel counts each process's I/O, but not on which device; that of other users is open to root only. With --json each \
interval is a JSON object on a line of its own (`plumb schema watch`).";

/// The tool whose language is spoken; its words are not looked at here.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// The tool's name, then its words.
    #[command(external_subcommand)]
    Words(Vec<OsString>),
}

/// A form that Plumb reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A workload file.
    Workload,
    /// The result of a run.
    Result,
    /// The result of a comparison.
    Compare,
    /// A noise floor.
    Noise,
    /// The result of a sweep.
    Sweep,
    /// An interval of `plumb watch`.
    Watch,
    /// A published study, for `plumb audit`.
    Audit,
    /// What an audit says.
    AuditResult,
    /// A study file.
    Study,
    /// The report of a study.
    StudyReport,
}
