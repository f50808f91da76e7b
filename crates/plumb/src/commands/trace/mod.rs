//! `plumb trace`: records, shows, converts and replays I/O.

mod convert;
mod fit;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod record;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod recording_file;
mod replay;
mod show;

use crate::args::{PageArguments, ReportFile};
use clap::{Args, Subcommand};
use plumb_cli::common::Common;
use plumb_cli::exit::{End, Stopped};
use plumb_engine::guard::{OutputError, OutputFile};
use plumb_trace::iolog::Waits;
use plumb_trace::{Extensions, Format, TraceError};
use plumb_workload::Bytes;
use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

fn new_file(output: OutputFile<'_>) -> Result<File, Stopped> {
    output.create_new().map_err(|error| match error {
        OutputError::Exists { .. } => Stopped::usage(error),
        error => error.into(),
    })
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Record what a program, or processes that run, do to files, or what block devices are asked for.
    Record(RecordArguments),
    /// Show what a recording is like: mix, sizes, arrivals, bursts, sequentiality, working set, miss ratios, busiest files.
    Show {
        /// The recording.
        file: PathBuf,
        #[command(flatten)]
        input: InputArguments,
        #[command(flatten)]
        report: ReportFile,
    },
    /// Compare two recordings, number by number and distribution by distribution.
    Compare {
        /// The first of the two recordings.
        a: PathBuf,
        /// The second of the two recordings.
        b: PathBuf,
        #[command(flatten)]
        input: InputArguments,
        #[command(flatten)]
        report: ReportFile,
    },
    /// Replay a recording on files or devices, and say what was kept of it.
    Replay(Box<ReplayArguments>),
    /// Make a workload that is like the reads and writes of a recording, and say how like it is.
    Fit(FitArguments),
    /// Write a recording in another format.
    Convert {
        /// The recording.
        file: PathBuf,
        /// The file to write, which must not exist yet.
        output: PathBuf,
        /// The format to write: plumb, iolog, iolog2, blktrace or csv [default: what the name ends with; plumb otherwise].
        #[arg(long, value_name = "FORMAT")]
        to: Option<String>,
        /// Hide names of files and programs and numbers of processes: words for the parts of paths, the same wherever they come again.
        #[arg(long)]
        anonymise: bool,
        /// With --anonymise: keep file name extensions of up to four letters.
        #[arg(long, requires = "anonymise")]
        keep_extensions: bool,
        #[command(flatten)]
        input: InputArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RecordArguments {
    /// The file to write, which must not exist yet [default: the program's name with `.trace`].
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Method: bpf (least cost, sees most), tracefs (no io_uring), or ptrace, which needs no rights and makes each
    /// recorded call about 10 µs longer [default: the first of them that the kernel allows].
    #[arg(long, value_name = "METHOD", value_parser = ["bpf", "tracefs", "ptrace"])]
    by: Option<String>,
    /// Record a process that runs already, with all that it starts, until it ends or Ctrl-C; may be given several times.
    #[arg(long, value_name = "PID", conflicts_with = "command")]
    pid: Vec<u32>,
    /// Record all requests to this whole block device instead, until the program ends or Ctrl-C; may be given several times.
    #[arg(long, value_name = "DEVICE", conflicts_with = "pid")]
    dev: Vec<PathBuf>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The recording.
    pub file: PathBuf,
    /// Where: a directory, in which a new test directory gets the recording's files and is removed afterwards; a simulated device
    /// such as `sim:ssd`; for a recording of reads and writes alone, also a file or a block device that may be overwritten
    /// (--plumb-allow, --destroy).
    #[arg(long, value_name = "PLACE")]
    pub at: PathBuf,
    /// Start of each op: recorded (at its recorded time), as-fast-as-possible, think-times (that long after the ops
    /// that it waits for), or in-flight (while no more are in flight than were recorded).
    #[arg(long, default_value = "recorded", value_name = "TIMING")]
    pub timing: String,
    /// The share of the recorded speed, in percent: 200 is twice as fast.
    #[arg(long, value_name = "PERCENT")]
    pub speed: Option<f64>,
    /// Ops that each op waits for: none, thread (the one before it in its thread), resource (also all earlier ones
    /// on the same resource), inferred (thread, and the last one of each other thread that had ended), or total
    /// (all that had ended) [default: resource].
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// Only ops on files below this recorded directory, which becomes the root.
    #[arg(long, value_name = "PATH")]
    pub below: Option<String>,
    /// Threads of the replay [default: as many as were alive at once, at most 64].
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// Preparation of files that are read: write, allocate or sparse.
    #[arg(long, default_value = "write", value_name = "HOW")]
    pub prepare: String,
    #[command(flatten)]
    pub data: DataReplayArguments,
    /// Replay N copies at the same time: reads and writes alone in N consecutive ranges, calls on separate
    /// files. Several ranks share the copies.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub clones: Option<u32>,
    /// Replay it N times, one after the other; calls on names use new files each time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub loops: Option<u32>,
    /// Replay this recording at the same time; equal names are the same file. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub with: Vec<PathBuf>,
    /// The page cache of the files before the clock starts: as-is, cold or warm.
    #[arg(long, default_value = "as-is", value_name = "STATE")]
    pub cache: String,
    /// Refuse a recording that has gaps, and exit with 1 if the outcome of an op differs from the recorded one.
    #[arg(long)]
    pub strict: bool,
    /// The waits of fio's version 2 are milliseconds since the start, as fio reads them.
    #[arg(long)]
    pub waits_as_fio: bool,
    #[command(flatten)]
    pub report: PageArguments,
    /// Print the workload that replays it, and do not run it.
    #[arg(long)]
    pub translate: bool,
}

#[derive(Debug, Default, Args)]
pub(crate) struct DataReplayArguments {
    /// Of reads and writes alone: most ops in flight; others wait, and are counted [default: 256].
    #[arg(long, value_name = "N")]
    pub depth: Option<u32>,
    /// Of reads and writes alone: bypass the page cache.
    #[arg(long)]
    pub direct: bool,
    /// Of reads and writes alone: divide offsets by this.
    #[arg(long, value_name = "N")]
    pub scale: Option<u32>,
    /// Of reads and writes alone: add this to offsets.
    #[arg(long, value_name = "SIZE")]
    pub shift: Option<Bytes>,
    /// Of reads and writes alone: fold offsets into this many bytes.
    #[arg(long, value_name = "SIZE")]
    pub fold: Option<Bytes>,
    /// Of reads and writes alone: round offsets down to a multiple of this.
    #[arg(long, value_name = "SIZE")]
    pub align: Option<Bytes>,
}

impl ReplayArguments {
    /// Returns a replay of a file with default options.
    fn plain(file: PathBuf, at: PathBuf) -> ReplayArguments {
        let report_file = ReportFile { path: None };
        let report = PageArguments { runs: 1, name: None, output: None, report_file, live_output: Default::default() };
        ReplayArguments {
            file,
            at,
            timing: "recorded".to_owned(),
            speed: None,
            order: None,
            below: None,
            threads: None,
            prepare: "write".to_owned(),
            data: DataReplayArguments::default(),
            clones: None,
            loops: None,
            with: Vec::new(),
            cache: "as-is".to_owned(),
            strict: false,
            waits_as_fio: false,
            report,
            translate: false,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct FitArguments {
    /// The recording.
    pub file: PathBuf,
    /// Detail of the model: 0 is one stream with the mean rate, sizes and mix; 1 has phases, with gaps, sizes and seeks
    /// as they occurred together; 2 adds which op follows which; 3 adds when places are used again.
    #[arg(long, default_value_t = 3, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: u8,
    /// The workload file to write, which must not exist yet [default: it is printed].
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the model alone as well, which every other command of `trace` reads like a recording; the file must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Write a job file of fio as well, which must not exist yet.
    #[arg(long, value_name = "FILE")]
    pub fio: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InputArguments {
    /// The format, by name or as a description of a table's columns, such as `, time:us,op,offset:512,length`
    /// [default: recognised by its content].
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// The waits of fio's version 2 are milliseconds since the start, as fio reads them, and not microseconds since the last wait, as its
    /// manual says.
    #[arg(long)]
    waits_as_fio: bool,
}

impl InputArguments {
    fn format(&self) -> Result<Option<Format>, Stopped> {
        self.from.as_deref().map(Format::named).transpose().map_err(Stopped::usage)
    }

    fn waits(&self) -> Waits {
        if self.waits_as_fio { Waits::Fio } else { Waits::Manual }
    }
}

/// Maps an unreadable recording to the caller's error, and a failed device to an I/O error.
fn stopped(error: TraceError) -> Stopped {
    match &error {
        TraceError::Io { source, .. } if source.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
            Stopped::io(error)
        }
        _ => Stopped::usage(error),
    }
}

pub(crate) fn run(command: &TraceCommand, common: &Common) -> Result<End, Stopped> {
    match command {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        TraceCommand::Record(arguments) => record::run(arguments),
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        TraceCommand::Record(_) => Err(Stopped::usage("recording works on Linux on x86-64 only")),
        TraceCommand::Replay(arguments) => replay::run(arguments, common),
        TraceCommand::Fit(arguments) => fit::run(arguments, common),
        TraceCommand::Show { file, input, report } => show::show(file, input, report, common),
        TraceCommand::Compare { a, b, input, report } => show::compare([a, b], input, report, common),
        TraceCommand::Convert { file, output, to, anonymise, keep_extensions, input } => {
            let kept = if *keep_extensions { Extensions::Kept } else { Extensions::Hidden };
            convert::run(file, output, to.as_deref(), anonymise.then_some(kept), input)
        }
    }
}
