//! Arguments of the commands that measure one place: `plumb try`, `plumb fit-for`, `plumb run`, `plumb sweep`, `plumb watch`.

use super::{LiveArguments, LoadArguments, PageArguments, ReportFile};
use clap::Args;
use plumb_cli::hosts::HostsArguments;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct TryArguments {
    /// A directory on the storage to measure; a block device or a file, which is only read; or a simulated device such as
    /// `sim:ssd`. Several are measured one after the other.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Take about 10 seconds: phases of 1 s, a test file of 256 MiB.
    #[arg(long)]
    pub quick: bool,
    /// Length of each timed phase [default: 4s; 1s with --quick].
    #[arg(long)]
    pub time: Option<plumb_workload::Nanos>,
    /// Size of the test file [default: 1 GiB, 256 MiB with --quick; at most 10 % of the free space; 50 % if less than 160 MiB is free].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub report: PageArguments,
    #[command(flatten)]
    pub load: LoadArguments,
}

#[derive(Debug, Args)]
#[command(after_long_help = FIT_FOR_ANSWERS)]
pub(crate) struct FitForArguments {
    /// The use, such as `etcd` [default: list the uses].
    #[arg(value_name = "USE")]
    pub use_name: Option<String>,
    /// A directory on the storage, a device (its data is lost, and PLUMB_ALLOW must name it), or a simulated one such as `sim:ssd`.
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: String,
    /// List the uses, with their limits.
    #[arg(long, conflicts_with_all = ["use_name", "limits", "live"])]
    pub list: bool,
    /// A limit of your own, such as `play/read.bw >= 400MB/s`; may be given several times.
    #[arg(long = "limit", value_name = "CONDITION")]
    pub limits: Vec<String>,
    /// Number of runs; fewer if they would take more than a minute, but at least 3.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=100))]
    pub runs: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    #[command(flatten)]
    pub live_output: LiveArguments,
    /// Length of each timed phase of a run; the whole may then take longer than a minute.
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    #[command(flatten)]
    pub load: LoadArguments,
}

const FIT_FOR_ANSWERS: &str = "\
Answers:
  yes             the 95 % interval of every number is on the good side of its limit
  no              that of one number is on the bad side of its limit
  borderline      an interval covers its limit
  cannot tell     too few operations for a number that has a limit
  no limit        nobody has published one: there are numbers only
  refused         a number with a limit is not the device's, or the checks rejected the runs

A limit is one that somebody else has published; its source is printed with it. The numbers are geometric means of the runs.";

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// A workload file, or the name of a named workload.
    pub workload: String,
    /// The directory in which test data is created.
    #[arg(long, aliases = ["dir", "directory"], default_value = ".", value_name = "DIR")]
    pub at: PathBuf,
    /// Change a setting, by its path such as `phase.0.workers.0.depth=32` or by a short name such as `depth=32`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Seed of all random choices [default: the workload's].
    #[arg(long)]
    pub seed: Option<u64>,
    /// Run each timed phase until it is steady by SNIA's rule (over 5 rounds, range within 20 % and slope within 10 %), for
    /// at most 25 rounds; `steady:10s` makes each round ten seconds instead of one.
    #[arg(long, value_name = "steady[:ROUND]")]
    pub until: Option<plumb_study::precondition::Until>,
    /// Make small round trips to a host during each phase, where `plumb net --serve` runs, and before it.
    #[arg(long, value_name = "HOST[:PORT]")]
    pub probe: Option<String>,
    /// Run the phases once, where the workload says that they are repeated in rounds or at the loads of a ladder.
    #[arg(long)]
    pub once: bool,
    /// First bring the storage to a steady state, as SNIA does: write each file or device twice sequentially, then repeat
    /// the workload's own writes in rounds until they are steady.
    #[arg(long)]
    pub precondition: bool,
    /// A condition on the result, such as `read.lat.p99 < 5ms` or `PHASE/read.bw >= 1GB/s`. If one is false, the exit code
    /// is 1; if a check rejects the result, it is 3 in any case. May be given several times.
    #[arg(long = "assert", value_name = "CONDITION")]
    pub assertions: Vec<String>,
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub report: PageArguments,
    /// Print the workload with all its settings, and do not run it.
    #[arg(long)]
    pub translate: bool,
    /// Print where each number of a named workload comes from, and do not run it.
    #[arg(long, conflicts_with_all = ["set", "translate", "precondition", "until", "assertions"])]
    pub explain: bool,
    /// Allow dropping the machine's whole page cache where files cannot be evicted otherwise (root only).
    #[arg(long)]
    pub drop_caches: bool,
    /// Which run of a study this is, for simulated devices; studies give it.
    #[arg(long, hide = true, value_name = "RUN,PLOT[,DEBT]")]
    pub sim_run: Option<plumb_lab::protocol::SimPlace>,
    /// Length of each timed phase [default: the workload's].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    #[command(flatten)]
    pub load: LoadArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub report_file: ReportFile,
    #[command(flatten)]
    pub live_output: LiveArguments,
    /// One or two parameters with their levels, such as `depth=1..256`, `size=64M..4G:7`, `block=4k,64k,1M` or `rate=auto`
    /// (known: depth, rate, block, size, threads, read); and where: a directory, a file or block device to read, or a
    /// simulated device such as `sim:ssd` [default: the working directory].
    #[arg(required = true, value_name = "KEY=A..B | PATH")]
    pub what: Vec<String>,
    /// The work: a named workload or a workload file [default: random-read; reads through the page cache for `size`].
    #[arg(long = "for", value_name = "NAME|FILE")]
    pub work: Option<String>,
    /// The phase to sweep and measure, if the work has several.
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Change a setting of the work, as in `plumb run`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Open loop: ops arrive at random times (Poisson) at this rate, also while another parameter is swept; `auto`: 10
    /// % to 120 % of the highest rate of a closed loop.
    #[arg(long, value_name = "RATE|auto")]
    pub rate: Option<plumb_study::sweep::plan::RateOption>,
    /// Find the highest rate with a p99 of at most this.
    #[arg(long, value_name = "TIME")]
    pub p99: Option<plumb_workload::Nanos>,
    /// Number of points in a range that does not give it.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub points: Option<u32>,
    /// Runs per point; each repeat runs all points once, in balanced random order. One more runs where that makes each point run
    /// after each other one equally often.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Time for all of it; the first repeat always runs to its end.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Length of the timed phase of each run [default: 1 to 10 s, as the budget allows].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Pause this long before each run but the first, once the storage is idle. It is the way out where the next run pays for
    /// unfinished work of the run before (plumb explain E15).
    #[arg(long, value_name = "TIME")]
    pub settle: Option<plumb_workload::Nanos>,
    /// Size of the test file, if `size` is not swept [default: 256 MiB, at most 10 % of the free space; 50 % if less than 160 MiB is free].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Refuse to write anything, for devices and files that must not change.
    #[arg(long)]
    pub read_only: bool,
    #[command(flatten)]
    pub load: LoadArguments,
}

#[derive(Debug, Args)]
#[command(after_long_help = WATCH_WORDS)]
pub(crate) struct WatchArguments {
    /// Devices (`sda`, `/dev/nvme0n1`), or paths on them [default: all whole devices in use since boot].
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,
    /// Time between updates, at least 100ms.
    #[arg(long, short, default_value = "1s", value_name = "TIME")]
    pub interval: plumb_workload::Nanos,
    /// Stop after this many intervals.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print lines instead of a full screen; the default where standard output is not a terminal, or TERM is dumb.
    #[arg(long)]
    pub plain: bool,
}

const WATCH_WORDS: &str = "\
Keys: q, Escape or Ctrl-C quits; p or the space bar pauses; Ctrl-L redraws.

  a read, a write  mean time of a request, including time queued in the kernel
  queue            mean number of requests in flight
  busy             time with a request in flight; a device that works in parallel may be
                   100 % busy and still have capacity
  written          written to the page cache or directly; it may reach a device later

The kernel counts the I/O of each process, but not per device; only root sees that of other users. With --json, each \
interval is one line with a JSON object (`plumb schema watch`).";
