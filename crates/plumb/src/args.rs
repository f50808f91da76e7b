//! What can be typed. Parsing touches nothing but the words.

pub use crate::common::Common;

use crate::stream::StreamArguments;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A storage benchmark that says what it measured: the device, the page cache, or memory.
///
/// It prints "faster" only where the difference is larger than the noise.
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
    /// Measure this storage in about a minute. Safe on a system in use.
    Try(TryArguments),
    /// Answer whether this storage is good enough for a use, such as etcd: yes, no or borderline, with the number and its limit.
    FitFor(FitForArguments),
    /// Compare two directories: which is faster, and is the difference larger than the noise?
    Compare(CompareArguments),
    /// Answer pass, regression or cannot tell, for continuous integration, with a stated error rate.
    Gate(GateArguments),
    /// Measure the noise floor (A/A): the smallest difference that can be seen here.
    Noise(NoiseArguments),
    /// Run one workload: a named one, or a file.
    Run(RunArguments),
    /// List the named workloads, one line each.
    Workloads,
    /// Sweep a parameter: queue depth, load, block size or working set.
    Sweep(SweepArguments),
    /// Run a whole comparison from one file: build each system, measure it, report the answer.
    Study {
        /// What to do with it.
        #[command(subcommand)]
        command: crate::commands::study::StudyCommand,
    },
    /// Record what a program does to files; show, compare and convert recordings: of fio, blktrace, strace, perf and others, and published traces. No load.
    Trace {
        /// What to do with them.
        #[command(subcommand)]
        command: crate::commands::trace::TraceCommand,
    },
    /// Check published numbers: rates, units, sizes against memory, claims. No load.
    Audit(AuditArguments),
    /// Run another tool's command line: fio, elbencho, Filebench, dd, IOzone, Bonnie++, PostMark, IOR, mdtest, md-workbench, IO500, pjdfstest, iostat or iperf3. Prints that tool's format; Plumb's checks still apply.
    As {
        /// The tool and its arguments, unchanged.
        #[command(subcommand)]
        tool: Tool,
    },
    /// Test how a file system conforms to POSIX and Linux's manual: 1,100 cases, in seconds. Needs only a directory.
    Posix(crate::commands::posix::PosixArguments),
    /// Look for problems that would spoil a result here. No load.
    Check {
        /// A path on the storage to check.
        #[arg(default_value = ".")]
        path: PathBuf,
    },
    /// Check that storage holds as many bytes as it claims: writes all of it, and reads it back. What a device holds is destroyed.
    VerifyCapacity(CapacityArguments),
    /// Measure the network to another host: round trips idle and loaded, throughput, jitter and loss. Or serve as the other end.
    Net(NetArguments),
    /// Watch devices live: rates, latency, queue, utilisation, and which processes do the I/O. No load.
    Watch(WatchArguments),
    /// Explain a check: what it means, why it matters, what to do.
    Explain {
        /// The check, such as A3 [default: list all].
        code: Option<String>,
    },
    /// List stored runs, newest first.
    List {
        /// Only runs with this tag.
        #[arg(long)]
        tag: Option<String>,
        /// Show at most this many runs.
        #[arg(long, short = 'n', default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
    },
    /// Show a stored run.
    Show {
        /// A run's id or a unique prefix of it, `last`, or `last~1` for the one before it.
        #[arg(default_value = "last")]
        run: String,
        /// Show only what differs from another run.
        #[arg(long, value_name = "RUN")]
        diff: Option<String>,
        /// Draw its rates over time and its latency by percentile, in block characters.
        #[arg(long, conflicts_with = "diff")]
        plot: bool,
    },
    /// Query stored results in SQL, read-only.
    Query {
        /// A SELECT statement [default: list the tables].
        sql: Option<String>,
    },
    /// Add a tag to a run, or remove it.
    Tag {
        /// A run's id or a unique prefix of it, `last`, or `last~1` for the one before it.
        run: String,
        /// The tag.
        tag: String,
        /// Remove the tag.
        #[arg(long, short)]
        delete: bool,
    },
    /// Write a report with charts of a run, a comparison, a study or any stored runs: HTML, a workbook, PNG, SVG, Markdown.
    Report(ReportArguments),
    /// Export stored runs as JSON, CSV or JSON Lines.
    Export {
        /// Runs: ids, unique prefixes of ids, `last`, or `last~1` for the one before it [default: all runs].
        runs: Vec<String>,
        /// Export the runs of this study, by its id, name or file.
        #[arg(long, value_name = "STUDY", conflicts_with = "runs")]
        study: Option<String>,
        /// Write CSV, one line per number; runs of studies with their plot and a column for each factor.
        #[arg(long)]
        csv: bool,
        /// Write the same numbers as JSON Lines, one object per number; what is missing is left out.
        #[arg(long, conflicts_with = "csv")]
        ndjson: bool,
        /// Write the same numbers to a Parquet file; needs a Plumb that was built with `--features parquet`.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["csv", "ndjson"])]
        parquet: Option<PathBuf>,
    },
    /// Add results from files to the database: Plumb's own and those of other tools.
    ///
    /// Plumb's own are those of `plumb export` and `--json`, and those saved while the database was locked or full. Other tools'
    /// files are recognised by their content. Their verdict is `unknown`, because no file says what else went on.
    Import {
        /// Files of results; `-` is standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The tool that made the files, where their content does not show it; `plumb` for Plumb's own.
        #[arg(long, value_name = "TOOL")]
        from: Option<String>,
    },
    /// Print the JSON Schema of a format that Plumb reads or writes.
    ///
    /// What stays the same between versions, what may be added, and how a break is announced: docs/json.md. In short: a
    /// field keeps its name, type, unit and meaning; fields and values may be added; anything else changes the number in
    /// `schema`, such as `plumb.result/1`.
    Schema {
        /// The format.
        #[arg(value_name = "FORMAT")]
        form: Form,
    },
    /// Remove the leftovers of killed runs.
    Clean {
        /// Also search for leftover test directories below these paths.
        paths: Vec<PathBuf>,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
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

/// Arguments of `plumb verify-capacity`.
#[derive(Debug, Args)]
pub struct CapacityArguments {
    /// A block device, which must be named with --destroy; or a directory, whose file system is filled as far as 5 % of it stay
    /// free.
    pub path: PathBuf,
    /// Ask only a few hundred blocks, which takes seconds: most counterfeits are found by that.
    #[arg(long)]
    pub quick: bool,
}

/// Arguments of `plumb net`.
#[derive(Debug, Args)]
pub struct NetArguments {
    /// The other end, where `plumb net --serve` runs.
    #[arg(required_unless_present = "serve")]
    pub host: Option<String>,
    /// Be the other end. Stock iperf3 clients are served, too.
    #[arg(long, conflicts_with = "host")]
    pub serve: bool,
    /// Port of the other end.
    #[arg(long, default_value_t = 5201)]
    pub port: u16,
    /// Address of this end [default with --serve: loopback only].
    #[arg(long, value_name = "ADDRESS")]
    pub bind: Option<std::net::IpAddr>,
    /// Seconds of each of the six parts. A percentile needs ten slower round trips: p99 about 5 s, p99.9 about 50 s.
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub time: u32,
    /// Streams of each direction.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub parallel: u32,
    /// Bits per second of datagrams, each way.
    #[arg(long, value_name = "R", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000_000))]
    pub datagram_rate: u64,
    /// Measure again and again, so long apart from start to start.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["serve", "stored"])]
    pub every: Option<plumb_workload::Nanos>,
    /// For so long [default: until Ctrl-C].
    #[arg(long = "for", value_name = "TIME", requires = "every")]
    pub span: Option<plumb_workload::Nanos>,
    /// Measure nothing: show what is stored of this host.
    #[arg(long, conflicts_with = "serve")]
    pub stored: bool,
    /// Write a report with charts over time as well.
    #[command(flatten)]
    pub report: ReportFile,
}

/// Arguments of `plumb try`.
#[derive(Debug, Args)]
pub struct TryArguments {
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
    /// Size of the test file [default: 1 GiB, 256 MiB with --quick; never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Repeats, and where the page goes.
    #[command(flatten)]
    pub report: PageArguments,
}

/// Arguments of `plumb fit-for`.
#[derive(Debug, Args)]
#[command(after_long_help = FIT_FOR_ANSWERS)]
pub struct FitForArguments {
    /// The use, such as `etcd`: see --list.
    #[arg(value_name = "USE", required_unless_present = "list")]
    pub use_name: Option<String>,
    /// A directory on the storage, or a simulated device such as `sim:ssd`.
    #[arg(value_name = "PATH", default_value = ".")]
    pub path: String,
    /// List the uses, with their limits.
    #[arg(long, conflicts_with_all = ["use_name", "limits", "live"])]
    pub list: bool,
    /// A limit of your own, such as `play/read.bw >= 400MB/s`; may be given several times.
    #[arg(long = "limit", value_name = "CONDITION")]
    pub limits: Vec<String>,
    /// How often to measure; fewer where they would take more than a minute, but at least 3.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(3..=100))]
    pub runs: u32,
    /// Seed of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// What is shown and sent while it goes on.
    #[command(flatten)]
    pub meanwhile: MeanwhileArguments,
}

/// What `plumb fit-for` answers.
const FIT_FOR_ANSWERS: &str = "\
Answers:
  yes             the 95 % interval of every number is on the good side of its limit
  no              that of one number is on the bad side of its limit
  borderline      an interval covers its limit
  cannot tell     too few operations for a number that has a limit
  no limit        nobody has published one: there are numbers only
  refused         a number with a limit is not the device's, or the checks rejected the runs

A limit is one that somebody else has published; its source is printed with it. The numbers are geometric means of the runs.";

/// How often to measure, and where the page goes.
#[derive(Debug, Args)]
pub struct PageArguments {
    /// Measure N times, and report the medians.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// The title of the page, and a tag of the stored runs, with dashes for blanks: `plumb list --tag NAME`.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write the page to a file as well; as JSON where its name ends in `.json`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a report with charts as well.
    #[command(flatten)]
    pub report_file: ReportFile,
    /// What is shown and sent while it goes on.
    #[command(flatten)]
    pub meanwhile: MeanwhileArguments,
}

/// What is shown and sent while a measurement goes on.
#[derive(Debug, Clone, Default, Args)]
pub struct MeanwhileArguments {
    /// Show a full screen while it goes on: rates, latency, devices, findings, steady state. The page is printed at the end.
    #[arg(long)]
    pub live: bool,
    /// Where seconds are sent.
    #[command(flatten)]
    pub stream: StreamArguments,
}

/// A report that is written at the end of a measurement.
#[derive(Debug, Clone, Default, Args)]
pub struct ReportFile {
    /// Write a report with charts as well: HTML, or a workbook or Markdown where the name ends in `.xlsx` or `.md`.
    #[arg(long = "report", value_name = "FILE")]
    pub path: Option<PathBuf>,
}

/// Arguments of `plumb report`.
#[derive(Debug, Args)]
#[command(after_long_help = REPORT_SUBJECTS)]
pub struct ReportArguments {
    /// What it is about (see below) [default: what was measured last].
    #[arg(value_name = "WHAT", default_value = "last")]
    pub subjects: Vec<String>,
    /// Write one HTML file, which needs no network and no script.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write a workbook for Excel and LibreOffice: charts with intervals as error bars, and all numbers.
    #[arg(long, value_name = "FILE")]
    pub xlsx: Option<PathBuf>,
    /// Write each chart as PNG into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub png: Option<PathBuf>,
    /// Write each chart as SVG into this directory.
    #[arg(long, value_name = "DIRECTORY")]
    pub svg: Option<PathBuf>,
    /// Write Markdown; with --svg, charts are images in it.
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
}

/// What a report may be about.
const REPORT_SUBJECTS: &str = "\
WHAT is one of
  last                 what was measured last: the study, comparison or sweep that the newest run belongs to, or the run itself
  an id                of a run, a comparison, a sweep or a study, or its unique beginning or end
  sweep-…              the sweep whose runs have this tag
  a study's name       or its file
  tag:NAME             all runs with this tag, the oldest first
  \"SELECT …\"         runs whose ids are the first column of a query (`plumb query`)
  several ids          those runs

Without a file, the report is printed as Markdown.";

/// Arguments of `plumb compare`.
#[derive(Debug, Args)]
#[command(after_long_help = COMPARE_PLACES)]
pub struct CompareArguments {
    /// Write a report with charts as well.
    #[command(flatten)]
    pub report_file: ReportFile,
    /// What is shown and sent while it goes on.
    #[command(flatten)]
    pub meanwhile: MeanwhileArguments,
    /// The baseline: a directory, several of them separated by commas (see below), or a simulated device such as `sim:hdd`. With
    /// --from-store: what selects its runs.
    pub a: String,
    /// The candidate, in the same form, such as `sim:hdd?slow=5%`.
    pub b: String,
    /// Compare stored runs, and measure nothing (see below).
    #[arg(long, conflicts_with_all = ["work", "budget", "plots", "size", "time", "live"])]
    pub from_store: bool,
    /// With --from-store: compare these metrics, by name or by their last parts, such as `read.bw` or `lat.p99` [default: those
    /// that a comparison of the workload has].
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', requires = "from_store")]
    pub metrics: Vec<String>,
    /// The work: a named workload, several separated by commas, or `all`.
    #[arg(long = "for", value_name = "NAME", default_value = "random-read")]
    pub work: String,
    /// Total time.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// The only factor that should differ; anything else that differs is reported as confounding. One of fs, mount,
    /// device, raid, scheduler, kernel, os, sysctl, host, limits, layout, fullness and sim.
    #[arg(long, value_name = "FACTOR")]
    pub varying: Option<String>,
    /// Provision each simulated device this many times; each provisioning is then one sample, as with several directories.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plots: u32,
    /// Run at least N blocks, each with one run per side. With 30 a slow mode that hits one run in ten shows up (95 %), with
    /// 60 one that hits one run in twenty.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=1000))]
    pub blocks: u32,
    /// Size of the test file of each run [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: 1 to 10 s, as the budget allows].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
}

/// Why a side may have several directories.
const COMPARE_PLACES: &str = "\
Several directories per side:
  One mkfs, one RAID build or one boot is one sample, however often it is measured. To claim that xfs is faster than \
ext4, and not only that this xfs is faster than this ext4, provision each side two or three times (on other partitions or \
loop devices) and list all directories, separated by commas:

    plumb compare /mnt/e1,/mnt/e2,/mnt/e3 /mnt/x1,/mnt/x2,/mnt/x3 --varying fs

  Each provisioning (plot) is then one sample, and each round of runs visits every one once. Both sides have one \
directory, or both have at least two. Directories on one file system are one provisioning. For simulated devices, --plots 3 \
provisions three. Without --varying, one directory per side is enough; the verdict is then about these two directories.

Stored runs (--from-store):
  Each side is a selection of stored runs. All conditions must hold; a word without a key is a tag, or the id of a run, and of \
several such words one must hold:

    tag:NAME  work:NAME  path:PATH  run:ID  study:NAME  FACTOR=LEVEL (with study:)  or  SELECT id FROM run WHERE …

  Runs that alternate in time are compared in pairs, like blocks; stretches of several runs that take turns are one sample each; \
and if one side was measured after the other, a difference may be one of time: it is shown, and not claimed (plumb explain D8). \
Where a side's runs are of several provisionings, each of them is one sample.";

/// Arguments of `plumb gate`.
#[derive(Debug, Args)]
#[command(after_long_help = GATE_REFERENCES)]
pub struct GateArguments {
    /// What the candidate is judged against (see below) [default: the file of --keep].
    #[arg(long, value_name = "REF")]
    pub baseline: Option<String>,
    /// What is judged (see below).
    #[arg(long, value_name = "REF")]
    pub candidate: String,
    /// The work: a named workload, several separated by commas, or `all` [default: random-read].
    #[arg(long = "for", value_name = "NAME")]
    pub work: Option<String>,
    /// Judge these numbers only, by name or by their last parts, such as `read.iops` or `lat.p99` [default: all that a
    /// comparison of the workload has].
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// A regression of at most this passes, such as `5%`: × or ÷ 1.05.
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub margin: plumb_workload::Share,
    /// Total time. It ends earlier where the answer is clear. Simulated devices count their own time [default: 60s].
    #[arg(long, value_name = "TIME", conflicts_with = "until_decided")]
    pub budget: Option<plumb_workload::Nanos>,
    /// Go on until the answer is clear, for at most an hour.
    #[arg(long)]
    pub until_decided: bool,
    /// Add the candidate's runs to this file, which can be a baseline, unless they are a regression. It is made where there is
    /// none, and keeps the newest 50 sessions.
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    /// Against a stored baseline: runs closer in time than this are of one session, and a session is one sample.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub session_gap: plumb_workload::Nanos,
    /// End with exit code 0 where the answer is `cannot tell`, instead of 6.
    #[arg(long)]
    pub allow_cannot_tell: bool,
    /// Write the answer as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the answer as Markdown, such as for a comment.
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Write the candidate's numbers in Bencher Metric Format (JSON).
    #[arg(long, value_name = "FILE")]
    pub bencher: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and append the Markdown to the file that GITHUB_STEP_SUMMARY names.
    #[arg(long)]
    pub github: bool,
    /// Size of the test file of each run [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: 1s, or less for a budget below half a minute].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
}

/// What a gate may be about.
const GATE_REFERENCES: &str = "\
A REF is one of
  a place         a directory, several of them separated by commas (plumb compare --help), or a simulated device
  a file          of results, as --keep and `plumb export` write it, or of another tool that `plumb import` reads
  stored runs     last, a run's id, tag:NAME, work:NAME, path:PATH, or SELECT id FROM run WHERE … (plumb compare --help)

Answers:
  pass            a regression beyond the margin is excluded
  regression      the candidate is worse, beyond chance, and a regression beyond the margin is not excluded
  cannot tell     neither; the page says which time would decide it

At most 5 % of gates of an unchanged system answer `regression`, whatever the number of metrics, and at most 5 % of those of a \
system that is worse by the margin answer `pass`.

Two places are measured in interleaved blocks, each with one run per side, until the answer is clear or the budget is spent. \
A place is judged against a file or stored runs by the work that these are of: it is measured in one more session, and what \
the baseline's sessions differ by is part of the error. That takes five sessions at different times, and finds less than \
interleaved blocks do: if both sides can be measured, name two places.";

/// Arguments of `plumb noise`.
#[derive(Debug, Args)]
pub struct NoiseArguments {
    /// What is shown and sent while it goes on.
    #[command(flatten)]
    pub meanwhile: MeanwhileArguments,
    /// A directory, several of them separated by commas, or a simulated device such as `sim:hdd`.
    #[arg(default_value = ".")]
    pub path: String,
    /// The work: a named workload, several separated by commas, or `all`.
    #[arg(long = "for", value_name = "NAME", default_value = "random-read")]
    pub work: String,
    /// Total time.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Size of the test file of each run [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: 1 to 10 s, as the budget allows].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Provision a simulated device this many times per side, to measure the noise floor of provisioning.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plots: u32,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
}

/// Arguments of `plumb run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A workload file, or the name of a named workload.
    pub workload: String,
    /// The directory in which test data is created.
    #[arg(long, default_value = ".", value_name = "DIR")]
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
    /// First bring the storage to a steady state, as SNIA does: write each file or device twice sequentially, then repeat
    /// the workload's own writes in rounds until they are steady.
    #[arg(long)]
    pub precondition: bool,
    /// A condition on the result, such as `read.lat.p99 < 5ms` or `PHASE/read.bw >= 1GB/s`. If one is false, the exit code
    /// is 1; if a check rejects the result, it is 3 in any case. May be given several times.
    #[arg(long = "assert", value_name = "CONDITION")]
    pub assertions: Vec<String>,
    /// Repeats, and where the page goes.
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
    #[arg(long, hide = true, value_name = "RUN,PLOT")]
    pub sim_run: Option<plumb_lab::protocol::SimPlace>,
}

/// Arguments of `plumb sweep`.
#[derive(Debug, Args)]
pub struct SweepArguments {
    /// Write a report with charts as well.
    #[command(flatten)]
    pub report_file: ReportFile,
    /// What is shown and sent while it goes on.
    #[command(flatten)]
    pub meanwhile: MeanwhileArguments,
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
    /// Open loop: ops arrive at random times (Poisson) at this rate, whatever else is swept; `auto`: 10 % to 120 % of the
    /// highest rate reached in a closed loop.
    #[arg(long, value_name = "RATE|auto")]
    pub rate: Option<plumb_study::sweep::plan::RateOption>,
    /// Find the highest rate with a p99 of at most this.
    #[arg(long, value_name = "TIME")]
    pub p99: Option<plumb_workload::Nanos>,
    /// Number of points in a range that does not give it.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=64))]
    pub points: Option<u32>,
    /// Runs per point; each repeat runs all points once, in random order.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Time for all of it; the first repeat always runs to its end.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Length of the timed phase of each run [default: 1 to 10 s, as the budget allows].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Size of the test file, if `size` is not swept [default: 256 MiB, never more than 10 % of free space].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Refuse to write anything, for devices and files that must not change.
    #[arg(long)]
    pub read_only: bool,
}

/// Arguments of `plumb audit`.
#[derive(Debug, Args)]
pub struct AuditArguments {
    /// Descriptions of published studies, in TOML (`plumb schema audit`); `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show notes too, and every number that a finding is based on.
    #[arg(long)]
    pub notes: bool,
}

/// Arguments of `plumb watch`.
#[derive(Debug, Args)]
#[command(after_long_help = WATCH_WORDS)]
pub struct WatchArguments {
    /// Devices (`sda`, `/dev/nvme0n1`), or paths on them [default: all whole devices in use since boot].
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,
    /// Time between updates, at least 100ms.
    #[arg(long, short, default_value = "1s", value_name = "TIME")]
    pub interval: plumb_workload::Nanos,
    /// Stop after this many intervals.
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Print lines instead of a full screen; the default where standard output is not a terminal.
    #[arg(long)]
    pub plain: bool,
}

/// What the live view shows.
const WATCH_WORDS: &str = "\
Keys: q, Escape or Ctrl-C quits; p or the space bar pauses.

  a read, a write  mean time of a request, including time queued in the kernel
  queue            mean number of requests in flight
  busy             time with a request in flight; a device that works in parallel may be
                   100 % busy and still have capacity
  written          written to the page cache or directly; it may reach a device later

The kernel counts the I/O of each process, but not per device; only root sees that of other users. With --json, each \
interval is one line with a JSON object (`plumb schema watch`).";

/// The tool whose command line is run; its arguments are not parsed here.
#[derive(Debug, Subcommand)]
pub enum Tool {
    /// The tool's name, then its arguments.
    #[command(external_subcommand)]
    Words(Vec<OsString>),
}

/// A format that Plumb reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A workload file.
    Workload,
    /// What a recording is like.
    TraceSheet,
    /// The result of a run.
    Result,
    /// The result of a comparison.
    Compare,
    /// The answer of a gate.
    Gate,
    /// The answer of `plumb fit-for`.
    FitFor,
    /// A noise floor.
    Noise,
    /// The result of a sweep.
    Sweep,
    /// A line of `--stream ndjson:FILE`.
    Stream,
    /// One interval of `plumb watch`.
    Watch,
    /// The report of `plumb posix`.
    Posix,
    /// What `plumb net` measured.
    Net,
    /// The description of a published study, for `plumb audit`.
    Audit,
    /// The result of an audit.
    AuditResult,
    /// A study file.
    Study,
    /// The problems of a study before its first run.
    StudyCheck,
    /// The report of a study.
    StudyReport,
}
