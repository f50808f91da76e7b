//! Program options, as opposed to job options.

use super::debug::Debug;
use super::value::Compat;
use plumb_workload::Nanos;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Action {
    #[default]
    Run,
    /// Parse the jobs and exit (`--parse-only`).
    ParseOnly,
    /// Print the jobs of job files as command lines (`--showcmd`).
    ShowCommand,
    /// Print the jobs as a workload in Plumb's native form (`--translate`).
    Translate,
    /// Print a readable plan of the run (`--plan`).
    Plan,
    Version,
    Help,
    /// Explain an option, or list them all (`--cmdhelp`).
    CommandHelp(Option<String>),
    /// Explain an engine, or one of its options, or list all engines (`--enghelp`).
    EngineHelp(Option<String>),
    /// List the areas of `--debug` (`--debug=help`).
    DebugHelp,
    /// Print the lines of a log that was stored compressed (`--inflate-log`).
    InflateLog(String),
    /// Compare the clocks of all processors (`--cpuclock-test`).
    ClockTest,
    /// Measure the speed of all checksums, or of the named ones (`--crctest`).
    ChecksumTest(Option<String>),
    /// Measure only the unit of work of `--idle-prof` (`--idle-prof=calibrate`).
    IdleCalibration,
}

impl Action {
    /// Whether this action ends parsing, so that the words after it are ignored.
    pub fn ends(&self) -> bool {
        match self {
            Action::Version | Action::Help | Action::CommandHelp(_) | Action::EngineHelp(_) | Action::DebugHelp => true,
            Action::InflateLog(_) | Action::ClockTest | Action::ChecksumTest(_) | Action::IdleCalibration => true,
            Action::Run | Action::ParseOnly | Action::ShowCommand | Action::Translate | Action::Plan => false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    Normal,
    Terse,
    Json,
    /// JSON with all histogram buckets.
    JsonPlus,
}

/// Processors whose idle time is reported (`--idle-prof`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleOf {
    System,
    Each,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eta {
    Always,
    Never,
    #[default]
    Auto,
}

/// Conditions of a trigger, and the commands that it runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trigger {
    pub file: Option<String>,
    /// Fires after this time.
    pub timeout: Option<Nanos>,
    /// Command line to run on this host.
    pub command: Option<String>,
    /// Command line to run on each host that runs the jobs for this one.
    pub remote: Option<String>,
}

/// A host that runs jobs for this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskedClient {
    /// A name, an address, or a file that lists hosts, as typed.
    pub host: String,
    /// Job files for this host only.
    pub files: Vec<String>,
    /// Job files that are already on that host (`--remote-config`).
    pub remote_files: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgressOptions {
    pub eta: Eta,
    /// Interval between updates of the progress line, at least 250 ms.
    pub eta_interval: Option<Nanos>,
    /// Interval between new lines of the progress.
    pub eta_newline: Option<Nanos>,
    pub status_interval: Option<Nanos>,
}

/// Hosts that run the jobs: this one, unless the command line names a server or clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostOptions {
    /// Address to listen on when serving jobs of other hosts (`--server`). Empty for fio's default address.
    pub server: Option<String>,
    /// PID file of a server that runs in the background.
    pub daemonize: Option<String>,
    /// The hosts that run the jobs.
    pub clients: Vec<AskedClient>,
    /// Job files for all hosts.
    pub files: Vec<String>,
}

/// The program options of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub action: Action,
    /// Rules for values that fio reads in two ways.
    pub compat: Compat,
    /// File for the results, instead of standard output.
    pub output: Option<String>,
    /// Formats of the results, each at most once, in the order of [`OutputFormat`].
    pub formats: Vec<OutputFormat>,
    /// Version of the terse format, 2 to 5.
    pub terse_version: u8,
    pub read_only: bool,
    pub progress: ProgressOptions,
    /// Sections to run; empty for all.
    pub sections: Vec<String>,
    /// Prefix of log files for the total bandwidth of all jobs.
    pub bandwidth_log: Option<String>,
    pub warnings_fatal: bool,
    pub aux_path: Option<String>,
    /// Stop after recordings are merged.
    pub merge_blktrace_only: bool,
    pub trigger: Trigger,
    pub hosts: HostOptions,
    /// Targets that may be overwritten, in the syntax of `PLUMB_ALLOW`.
    pub allow: Option<String>,
    /// Processors whose idle time is reported.
    pub idle: Option<IdleOf>,
    pub debug: Debug,
}

impl Default for Invocation {
    fn default() -> Invocation {
        Invocation {
            action: Action::Run,
            compat: Compat::Meant,
            output: None,
            formats: vec![OutputFormat::Normal],
            terse_version: 3,
            read_only: false,
            progress: ProgressOptions::default(),
            sections: Vec::new(),
            bandwidth_log: None,
            warnings_fatal: false,
            aux_path: None,
            merge_blktrace_only: false,
            trigger: Trigger::default(),
            hosts: HostOptions::default(),
            allow: None,
            idle: None,
            debug: Debug::default(),
        }
    }
}
