//! Arguments of `plumb posix`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_long_help = POSIX_WORDS)]
pub(crate) struct PosixArguments {
    #[command(subcommand)]
    pub command: Option<PosixCommand>,
    /// A directory on the file system to test.
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// Run these cases only: ids, their first parts, or patterns with `*`.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Leave these cases out.
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub without: Vec<String>,
    /// Failures of rules of this level, and of those that bind more, end with exit code 1.
    #[arg(long, value_enum, default_value_t = Level::Linux)]
    pub level: Level,
    /// Failures that are expected, in TOML, in addition to those that Plumb knows; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub expected: Vec<PathBuf>,
    /// Count the failures that Plumb knows of, such as that links of XFS hold 1023 bytes.
    #[arg(long)]
    pub no_known: bool,
    /// Write what fails now as a file for --expected.
    #[arg(long, value_name = "FILE")]
    pub write_expected: Option<PathBuf>,
    /// A report, as a file of --json or --output, or a stored one by its id or `last`: what failed there does not count.
    #[arg(long, value_name = "REPORT")]
    pub baseline: Option<PathBuf>,
    /// Processes that run cases [default: one per processor, at most 8].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub jobs: Option<u32>,
    /// A case that takes longer than this is ended and not judged.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub limit: plumb_workload::Nanos,
    /// Run in a user namespace of 65,536 ids, so that a plain user tests what needs other users.
    #[arg(long)]
    pub userns: bool,
    /// Print TAP 14 instead of the page.
    #[arg(long, conflicts_with = "json")]
    pub tap: bool,
    /// Write the report as JSON, for --baseline, `posix diff` and `posix matrix`.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write Markdown, such as for a comment.
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and append the Markdown to the file that GITHUB_STEP_SUMMARY names.
    #[arg(long)]
    pub github: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PosixCommand {
    /// Explain a case: its rule, where that is written, and a program in C that repeats its calls.
    Explain {
        /// The case [default: list all].
        id: Option<String>,
        /// Run it in this directory, to list its calls [default: the directory for temporary files].
        #[arg(long, value_name = "PATH")]
        at: Option<PathBuf>,
    },
    /// Compare two reports: new failures, and what was fixed. Exit code 1 where there are new failures.
    Diff {
        /// The earlier report: JSON of `plumb posix`, or a stored one by its id or `last`.
        before: PathBuf,
        /// The later report, in the same form.
        after: PathBuf,
    },
    /// Write a matrix of file systems and rules as HTML.
    Matrix {
        /// Reports, one for each file system: JSON of `plumb posix`, or stored ones by their ids.
        #[arg(required = true, value_name = "REPORT")]
        reports: Vec<PathBuf>,
        /// The file to write.
        #[arg(long, value_name = "FILE")]
        html: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    /// POSIX says that it shall be so.
    Shall,
    /// Linux's manual says so.
    Linux,
    /// Common file systems of Linux do it.
    Common,
}

const POSIX_WORDS: &str = "\
Cases run in a directory of their own below PATH, which is removed. The file system is never remounted, filled or exhausted: EROFS, \
ENOSPC and EMLINK are tested on a second file system of the same kind, on a loop device over memory in a private mount namespace. \
Without the rights for it, or where Plumb cannot make one, those cases are skipped, with the reason.

What can be tested is probed: types of files, flags of chattr, attributes, lists, users. Run as root, all is; as a plain user about \
two thirds; with --userns nearly all but devices.";
