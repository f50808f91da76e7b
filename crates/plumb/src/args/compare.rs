//! Arguments of the commands that compare places: `plumb compare`, `plumb gate`, `plumb noise`.

use super::{LiveArguments, LoadArguments, ReportFile};
use clap::Args;
use plumb_cli::hosts::HostsArguments;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_long_help = COMPARE_PLACES)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub report_file: ReportFile,
    #[command(flatten)]
    pub live_output: LiveArguments,
    /// The baseline: a directory, several of them separated by commas (see below), or a simulated device such as
    /// `sim:hdd`. With --from-store: a selection of runs.
    pub a: String,
    /// The candidate, in the same form, such as `sim:hdd?slow=5%`.
    pub b: String,
    /// Compare stored runs, and measure nothing (see below).
    #[arg(long, conflicts_with_all = ["work", "budget", "plots", "size", "time", "settle", "live", "phase", "under_load"])]
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
    /// Provision each simulated device this many times; each plot is then one sample, as with several directories.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub plots: u32,
    /// Run at least N blocks, each with one run per side. With 30 a slow mode that hits one run in ten shows up (95 %), with
    /// 60 one that hits one run in twenty.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(6..=1000))]
    pub blocks: u32,
    /// Size of the test file of each run [default: 256 MiB, at most 10 % of the free space; 50 % if less than 160 MiB is free].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: 1 to 10 s, as the budget allows].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Pause this long before each run but the first, once the storage is idle. It is the way out where the next run pays for
    /// unfinished work of the run before (plumb explain E15).
    #[arg(long, value_name = "TIME")]
    pub settle: Option<plumb_workload::Nanos>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    /// Compare the numbers of these phases only; the others run all the same, for they may prepare what these read. Fewer numbers
    /// need fewer blocks.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub phase: Vec<String>,
    #[command(flatten)]
    pub load: LoadArguments,
}

const COMPARE_PLACES: &str = "\
Several directories per side:
  One mkfs, one RAID build or one boot is one sample, however often it is measured. To claim that xfs is faster than \
ext4, and not only that this xfs is faster than this ext4, provision each side two or three times (on other partitions or \
loop devices) and list all directories, separated by commas:

    plumb compare /mnt/e1,/mnt/e2,/mnt/e3 /mnt/x1,/mnt/x2,/mnt/x3 --varying fs

  Each plot is then one sample, and each round of runs visits every one once. Both sides have one \
directory, or both have at least two. Directories on one file system are one plot. For simulated devices, --plots 3 \
provisions three. Without --varying, one directory per side is enough; the verdict is then about these two directories.

Stored runs (--from-store):
  Each side is a selection of stored runs. All conditions must hold; a word without a key is a tag, or the id of a run, and of \
several such words one must hold:

    tag:NAME  work:NAME  path:PATH  run:ID  study:NAME  FACTOR=LEVEL (with study:)  or  SELECT id FROM run WHERE …

  Runs that alternate in time are compared in pairs, like blocks; stretches of several runs that take turns are one sample each; \
and if one side was measured after the other, a difference may be one of time: it is shown, and not claimed (plumb explain D8). \
Where a side's runs are of several plots, each of them is one sample.";

#[derive(Debug, Args)]
#[command(after_long_help = GATE_REFERENCES)]
pub(crate) struct GateArguments {
    #[command(flatten)]
    pub hosts: HostsArguments,
    /// The baseline (see below) [default: the file of --keep].
    #[arg(long, value_name = "REF")]
    pub baseline: Option<String>,
    /// The candidate (see below).
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
    /// Add the candidate's runs to this file with the gate's answer. The file can be a baseline. It is made where there is none, and
    /// keeps the newest 50 sessions.
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,
    /// Against a stored baseline: runs closer in time than this are of one session, and a session is one sample.
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub session_gap: plumb_workload::Nanos,
    /// Number of gates that share the error rate: those that a repository runs side by side, such as one for each of several
    /// histories. At most 5 % of such sets, without any change, have a `regression`.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub gates: u32,
    /// End with exit code 0 where the answer is `cannot tell` or `suspected`, instead of 6 or 7.
    #[arg(long)]
    pub allow_cannot_tell: bool,
    #[command(flatten)]
    pub outputs: GateOutputArguments,
    /// Size of the test file of each run [default: 256 MiB, at most 10 % of the free space; 50 % if less than 160 MiB is free].
    #[arg(long, value_name = "SIZE", allow_negative_numbers = true)]
    pub size: Option<plumb_workload::Bytes>,
    /// Length of each timed phase of a run [default: 1s, or less for a budget below half a minute].
    #[arg(long, value_name = "TIME")]
    pub time: Option<plumb_workload::Nanos>,
    /// Pause this long before each run but the first, once the storage is idle. It is the way out where the next run pays for
    /// unfinished work of the run before (plumb explain E15).
    #[arg(long, value_name = "TIME")]
    pub settle: Option<plumb_workload::Nanos>,
    /// Seed of the order of runs and of all random choices.
    #[arg(long, default_value_t = plumb_workload::Workload::DEFAULT_SEED)]
    pub seed: u64,
    #[command(flatten)]
    pub load: LoadArguments,
}

/// Files that receive the answer of a gate, in addition to the page.
#[derive(Debug, Args)]
pub(crate) struct GateOutputArguments {
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
}

const GATE_REFERENCES: &str = "\
A REF is one of
  a place         a directory, several of them separated by commas (plumb compare --help), or a simulated device
  a file          of results, as --keep and `plumb export` write it, or of another tool that `plumb import` reads
  stored runs     last, a run's id, tag:NAME, work:NAME, path:PATH, or SELECT id FROM run WHERE … (plumb compare --help)

Answers:
  pass            a regression beyond the margin is excluded
  regression      the candidate is worse, beyond chance, and a regression beyond the margin is not excluded
  suspected       against a history: one session looks worse, and a second one decides
  cannot tell     neither; the page says which time would decide it

At most 5 % of gates of an unchanged system answer `regression`, whatever the number of metrics, and at most 5 % of those of a \
system that is worse by the margin answer `pass`; docs/gate.md has the conditions.

Two places are measured in interleaved blocks, each with one run per side, until the answer is clear or the budget is spent. \
A place is judged against a file or stored runs by the work that these are of: it is measured in one more session, and what \
the baseline's sessions differ by is part of the error. That takes five sessions at different times, and finds less than \
interleaved blocks do: if both sides can be measured, name two places. A session that looks worse is `suspected`; run the same \
command again at another time with the same --keep, and it becomes `regression` if that session agrees.";

#[derive(Debug, Args)]
pub(crate) struct NoiseArguments {
    #[command(flatten)]
    pub hosts: HostsArguments,
    #[command(flatten)]
    pub live_output: LiveArguments,
    /// A directory, several of them separated by commas, or a simulated device such as `sim:hdd`.
    #[arg(default_value = ".")]
    pub path: String,
    /// The work: a named workload, several separated by commas, or `all`.
    #[arg(long = "for", value_name = "NAME", default_value = "random-read")]
    pub work: String,
    /// Total time.
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: plumb_workload::Nanos,
    /// Size of the test file of each run [default: 256 MiB, at most 10 % of the free space; 50 % if less than 160 MiB is free].
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
    #[command(flatten)]
    pub load: LoadArguments,
}
