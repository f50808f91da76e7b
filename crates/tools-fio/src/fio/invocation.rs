//! Program options, as opposed to job options.

use super::debug::Debug;
use super::value::Compat;
use plumb_workload::Nanos;

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Action {
    /// Run the jobs.
    #[default]
    Run,
    /// Read the jobs and do nothing (`--parse-only`).
    ParseOnly,
    /// Print the jobs of files as command lines (`--showcmd`).
    ShowCommand,
    /// Print the jobs as a workload in Plumb's native form (`--translate`).
    Translate,
    /// Print what would be done, for human readers (`--plan`).
    Plan,
    /// Print the version.
    Version,
    /// Print the help.
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
    /// Measure checksums, all or these (`--crctest`).
    ChecksumTest(Option<String>),
    /// Only the piece of work of `--idle-prof` is measured (`--idle-prof=calibrate`).
    IdleCalibration,
}

impl Action {
    /// Whether it is all that is done: what comes behind it on the command line is not read.
    pub fn ends(&self) -> bool {
        match self {
            Action::Version | Action::Help | Action::CommandHelp(_) | Action::EngineHelp(_) | Action::DebugHelp => true,
            Action::InflateLog(_) | Action::ClockTest | Action::ChecksumTest(_) | Action::IdleCalibration => true,
            Action::Run | Action::ParseOnly | Action::ShowCommand | Action::Translate | Action::Plan => false,
        }
    }
}

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputFormat {
    /// For human readers.
    Normal,
    /// A line of fields.
    Terse,
    /// JSON.
    Json,
    /// JSON with the buckets of all histograms.
    JsonPlus,
}

/// For which processors idle time is reported (`--idle-prof`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleOf {
    /// All together.
    System,
    /// Each as well.
    Each,
}

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eta {
    /// Always.
    Always,
    /// Never.
    Never,
    /// On a terminal.
    #[default]
    Auto,
}

/// What fires a trigger, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trigger {
    /// This file appears.
    pub file: Option<String>,
    /// This much time has elapsed.
    pub timeout: Option<Nanos>,
    /// Run this command line, here.
    pub command: Option<String>,
    /// Run this command line on each host that runs the jobs in the place of this one.
    pub remote: Option<String>,
}

/// A host that runs jobs in the place of this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AskedClient {
    /// As typed: a name or an address, or a file that lists some.
    pub host: String,
    /// Job files of its own.
    pub files: Vec<String>,
    /// Job files that lie there (`--remote-config`).
    pub remote_files: Vec<String>,
}

/// Reports during the run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgressOptions {
    /// Whether progress is shown.
    pub eta: Eta,
    /// Interval between updates of the progress, 250 ms or more.
    pub eta_interval: Option<Nanos>,
    /// Interval between new lines of the progress.
    pub eta_newline: Option<Nanos>,
    /// Interval between prints of the results so far.
    pub status_interval: Option<Nanos>,
}

/// Which hosts run the jobs: this one, unless the command line names a server or clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostOptions {
    /// Run the jobs of another host (`--server`), and where to listen; an empty text stands for fio's own place.
    pub server: Option<String>,
    /// A server goes on in the background, and its process is in this file.
    pub daemonize: Option<String>,
    /// The hosts that run the jobs.
    pub clients: Vec<AskedClient>,
    /// Job files of all hosts, where there are such.
    pub files: Vec<String>,
}

/// The program options of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// What to do.
    pub action: Action,
    /// How ambiguous values are read.
    pub compat: Compat,
    /// Write results into this file instead of standard output.
    pub output: Option<String>,
    /// How results are printed, each form once, in the order of [`OutputFormat`].
    pub formats: Vec<OutputFormat>,
    /// The form of terse lines, 2 to 5.
    pub terse_version: u8,
    /// Refuse to write.
    pub read_only: bool,
    /// Reports during the run.
    pub progress: ProgressOptions,
    /// Only these sections are read; all if there are none.
    pub sections: Vec<String>,
    /// Log the bandwidth of all jobs together into files that begin with this.
    pub bandwidth_log: Option<String>,
    /// A warning stops the run.
    pub warnings_fatal: bool,
    /// Where files of state go.
    pub aux_path: Option<String>,
    /// Stop after recordings are merged.
    pub merge_blktrace_only: bool,
    /// The trigger.
    pub trigger: Trigger,
    /// Which hosts run the jobs.
    pub hosts: HostOptions,
    /// What may be overwritten, as `PLUMB_ALLOW` says it.
    pub allow: Option<String>,
    /// Which idle times of processors are reported.
    pub idle: Option<IdleOf>,
    /// Which debug lines are printed.
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
