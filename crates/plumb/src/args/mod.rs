//! The command line. Parsing looks at the words only, never at the system.

mod compare;
mod export;
mod k8s;
mod measure;
mod net;
mod publish;

pub(crate) use compare::{CompareArguments, GateArguments, NoiseArguments};
pub(crate) use export::ExportArguments;
pub(crate) use k8s::{K8sCommand, RenderArguments};
pub(crate) use measure::{FitForArguments, RunArguments, SweepArguments, TryArguments, WatchArguments};
pub(crate) use net::NetArguments;
pub(crate) use plumb_cli::agent::AgentArguments;
pub(crate) use plumb_cli::common::Common;
pub(crate) use plumb_cli::live_output::LiveArguments;
pub(crate) use plumb_cli::serve::ServeArguments;
pub(crate) use publish::{KeyArguments, SiteArguments, VerifyArguments};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

/// A storage benchmark that says what it measured: the device, the page cache, or memory.
///
/// It prints "faster" only where the difference is larger than the noise.
#[derive(Debug, Parser)]
#[command(name = "plumb", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: PlumbCommand,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlumbCommand {
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
        #[command(subcommand)]
        command: crate::commands::study::StudyCommand,
    },
    /// Record what a program does to files; show, compare and convert recordings: of fio, blktrace, strace, perf and others, and published traces. Only `replay` makes load.
    Trace {
        #[command(subcommand)]
        command: crate::commands::trace::TraceCommand,
    },
    /// Check published numbers: rates, units, sizes against memory, claims. No load.
    Audit(AuditArguments),
    /// Run another tool's command line, such as fio's, dd's, IOzone's or iperf3's: `plumb as` lists the tools. Prints that tool's format; Plumb's checks still apply.
    As {
        /// The tool and its arguments, unchanged [default: list the tools].
        #[command(subcommand)]
        tool: Option<Tool>,
    },
    /// Test how a file system conforms to POSIX and Linux's manual: 1,128 cases. Needs only a directory.
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
    /// Let clients on other hosts measure here: `plumb run --hosts`, `plumb as fio --client`.
    Agent(AgentArguments),
    /// Measure in Kubernetes: print manifests, or write a Helm chart.
    K8s {
        #[command(subcommand)]
        command: K8sCommand,
    },
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
        /// A run's id or a unique prefix of it, `last`, or `last~1` for the one before it; or the tag of rounds or of a ladder.
        #[arg(default_value = "last")]
        run: String,
        /// Show only what differs from another run.
        #[arg(long, value_name = "RUN")]
        diff: Option<String>,
        /// Draw its rates over time and its latency by percentile, in block characters.
        #[arg(long, conflicts_with = "diff")]
        plot: bool,
        /// Replace the names of hosts, users, paths, serials, addresses and UUIDs; standard error says how many.
        #[arg(long)]
        anonymise: bool,
    },
    /// Query stored results in SQL, read-only.
    Query {
        /// A SELECT statement [default: list the tables].
        sql: Option<String>,
        /// End the query after this time.
        #[arg(long, value_name = "TIME", default_value = "30s")]
        timeout: plumb_workload::Nanos,
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
    /// Mark a run as wrong: comparisons, gates and studies leave it out.
    ///
    /// The run stays as it is, with the reason, the time and your name. The next push takes the mark to the team, and a pull
    /// brings those of others.
    Retract {
        /// A run's id or a unique prefix of it, `last`, or `last~1` for the one before it.
        run: String,
        /// The problem, on one line.
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Take a retraction back.
        #[arg(long)]
        undo: bool,
    },
    /// Add a note to a run.
    ///
    /// `plumb show` prints it, and the next push takes it to the team. It changes nothing else.
    Annotate {
        /// A run's id or a unique prefix of it, `last`, or `last~1` for the one before it.
        run: String,
        /// The note, on one line.
        #[arg(long, value_name = "TEXT")]
        note: String,
    },
    /// Write a report with charts of a run, a comparison, a study or any stored runs: HTML, a workbook, PNG, SVG, Markdown.
    Report(ReportArguments),
    /// Export stored runs as JSON, CSV, JSON Lines or Parquet, for OpenSearch, Bencher and Horreum, or as a signed bundle.
    Export(ExportArguments),
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
    /// Copy results to the PostgreSQL database that a team shares.
    ///
    /// Every run with a result that is not there yet goes, each in one transaction. Runs that the database does not take stay in
    /// the local store, and go with the next push. A result is never overwritten.
    Push {
        /// The database: postgres://USER@HOST/DATABASE. The password comes from PGPASSWORD or ~/.pgpass.
        #[arg(long, value_name = "URL", env = "PLUMB_PUSH_TO", hide_env_values = true)]
        to: String,
    },
    /// Copy results of a team from its PostgreSQL database.
    ///
    /// Adds the runs that the local store lacks.
    Pull {
        /// The database: postgres://USER@HOST/DATABASE. The password comes from PGPASSWORD or ~/.pgpass.
        #[arg(long, value_name = "URL", env = "PLUMB_PUSH_TO", hide_env_values = true)]
        from: String,
        /// Only runs that this host measured.
        #[arg(long, value_name = "NAME")]
        host: Option<String>,
        /// Only runs that started at this time or later: a date (UTC), or a time such as 2026-11-30T08:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = crate::commands::share::since)]
        since: Option<jiff::Timestamp>,
        /// Only runs with this tag.
        #[arg(long)]
        tag: Option<String>,
    },
    /// Delete old runs from the database of a team.
    ///
    /// Prints what would be deleted, and deletes it with --yes. Only the owner of the database may. Local stores keep their runs,
    /// and do not push them again.
    Expire {
        /// The database: postgres://USER@HOST/DATABASE. The password comes from PGPASSWORD or ~/.pgpass.
        #[arg(long, value_name = "URL", env = "PLUMB_PUSH_TO", hide_env_values = true)]
        from: String,
        /// Runs that started before this time: a date (UTC), or a time such as 2026-11-30T08:00:00Z.
        #[arg(long, value_name = "TIME", value_parser = crate::commands::share::since)]
        before: jiff::Timestamp,
        /// Keep the runs with this tag; may be given several times.
        #[arg(long, value_name = "TAG")]
        keep: Vec<String>,
        /// Delete them.
        #[arg(long)]
        yes: bool,
    },
    /// Write chosen results as static pages with downloads, for GitHub Pages or any web server.
    Site(SiteArguments),
    /// Make the key that signs your bundles, or print its public key.
    Key(KeyArguments),
    /// Check a signed bundle offline: hashes, signature, and what follows from its evidence.
    ///
    /// It names the signer by the fingerprint of the key. Known are your own key, those of ~/.config/plumb/trusted-keys and that of
    /// --key.
    Verify(VerifyArguments),
    /// Show stored results in a browser: runs, comparisons, histories. Starts the program `plumb-serve`.
    Serve(ServeArguments),
    /// Print the JSON Schema of a format that Plumb reads or writes.
    ///
    /// docs/json.md says what stays the same between versions, and how a break is announced. In short: a
    /// field keeps its name, type, unit and meaning; fields and values may be added; anything else changes the number in
    /// `schema`, such as `plumb.result/1`.
    Schema {
        /// The format.
        #[arg(value_name = "FORMAT")]
        form: Form,
    },
    /// Show the settings: the configuration file, each value, and where it came from.
    Config,
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

/// Hidden arguments with which Plumb starts its own far end on a host. Parsed separately, so that they appear
/// in no help, completion or suggestion.
#[derive(Debug, Parser)]
#[command(name = "plumb agent")]
pub(crate) struct FarEndArguments {
    /// Run as one of several hosts that measure together, for the client at standard input and output.
    #[arg(long)]
    pub rank: bool,
    /// With --rank, in a task of Slurm: connect to the coordinator whose invitation is on standard input.
    #[arg(long)]
    pub dial: bool,
    /// Serve clients at this address, in the background.
    #[arg(long, value_name = "ADDRESS")]
    pub detached: Option<String>,
    /// With --detached: path of server.keys.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// With --detached: serve clients without keys on loopback, as other tools' services do.
    #[arg(long)]
    pub keyless: bool,
    /// With --rank and --detached: paths that clients may use.
    #[arg(long, value_name = "PATH")]
    pub allow: Vec<PathBuf>,
    /// With --rank and --detached: allow workloads to start programs and to connect to other hosts.
    #[arg(long)]
    pub allow_exec: bool,
    /// With --rank and --detached: let clients build systems.
    #[arg(long)]
    pub allow_build: bool,
    /// With --allow-build: a device, by path or serial, that clients may destroy.
    #[arg(long, value_name = "DEVICE")]
    pub build_device: Vec<String>,
    /// With --rank and --detached: let clients interrupt each other and stop the agent.
    #[arg(long)]
    pub obeys: bool,
    /// Device that carries the requests [default: standard input and output].
    #[arg(long, value_name = "DEVICE")]
    pub port: Option<PathBuf>,
    /// Directory for the agent's state and the journal of what it built [default: the user's state directory].
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// The link counts as broken after this many seconds of silence.
    #[arg(long, value_name = "SECONDS")]
    pub silence: Option<u64>,
    /// Boot this virtual machine (a table of a study's `hosts`, in TOML) and forward requests to it.
    #[arg(long, value_name = "FILE", conflicts_with = "port")]
    pub vm: Option<PathBuf>,
    /// Exec the program after `--`, and end when this process, which must be the parent, ends.
    #[arg(long, value_name = "PID", requires = "program")]
    pub with_parent: Option<u32>,
    /// With --with-parent: send SIGTERM instead of SIGKILL.
    #[arg(long, requires = "with_parent")]
    pub gently: bool,
    #[arg(last = true)]
    pub program: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct CapacityArguments {
    /// A block device, which must be named with --destroy unless it is a blank loop device; or a directory, whose file
    /// system is filled until 5 % of it is free.
    pub path: PathBuf,
    /// Ask only a few hundred blocks, which takes seconds: most counterfeits are found by that.
    #[arg(long)]
    pub quick: bool,
}

/// Repeats, and files that receive the page.
#[derive(Debug, Args)]
pub(crate) struct PageArguments {
    /// Measure N times, and report the medians.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// The title of the page, and a tag of the stored runs, with dashes for blanks: `plumb list --tag NAME`.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Write the page to a file as well; as JSON where its name ends in `.json`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub report_file: ReportFile,
    #[command(flatten)]
    pub live_output: LiveArguments,
}

#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct LoadArguments {
    /// Declare the load of other programs, on the devices and the processors, a part of the set-up: runs under it count, the
    /// result records it, and both sides of a comparison must have it alike.
    #[arg(long)]
    pub under_load: bool,
}

#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ReportFile {
    /// Write a report with charts as well: HTML, or a workbook or Markdown where the name ends in `.xlsx` or `.md`.
    #[arg(long = "report", value_name = "FILE")]
    pub path: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_long_help = REPORT_SUBJECTS)]
pub(crate) struct ReportArguments {
    /// The subjects of the report (see below) [default: the latest measurement].
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
    /// Replace the names of hosts, users, paths, serials, addresses and UUIDs; standard error says how many.
    #[arg(long)]
    pub anonymise: bool,
}

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

#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// Descriptions of published studies, in TOML (`plumb schema audit`); `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Show notes too, and every number that a finding is based on.
    #[arg(long)]
    pub notes: bool,
}

/// A tool's command line; its arguments are not parsed here.
#[derive(Debug, Subcommand)]
pub(crate) enum Tool {
    /// The tool's name, then its arguments.
    #[command(external_subcommand)]
    Words(Vec<OsString>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// A workload file.
    Workload,
    /// The description of a recording.
    TraceSheet,
    /// The comparison of two recordings.
    TraceCompare,
    /// The similarity of a model to its recording.
    TraceFit,
    /// The named workloads.
    Workloads,
    /// A named workload, and where its numbers come from.
    WorkloadExplained,
    /// The uses that `plumb fit-for` knows.
    Uses,
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
    /// Rounds until figures were steady, as `plumb run` prints them.
    Rounds,
    /// The loads of a ladder, as `plumb run` prints them.
    Ladder,
    /// A line of `--stream ndjson:FILE`.
    Stream,
    /// One interval of `plumb watch`.
    Watch,
    /// The report of `plumb posix`.
    Posix,
    /// The result of `plumb net`.
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
