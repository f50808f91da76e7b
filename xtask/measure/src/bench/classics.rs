//! Runs other tools, or Plumb in their place, and parses their rates.

use super::Options;
use super::child;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

/// Rates by the tool's names.
pub(super) type Rates = BTreeMap<String, f64>;

/// Reads the rates that a run printed.
pub(super) type Reader = fn(&ToolOutput) -> Result<Rates>;

/// A command line of a classic tool.
pub(super) struct Line {
    pub tool: &'static str,
    pub words: &'static [&'static str],
    /// Standard input.
    pub input: &'static str,
    pub reads: Reader,
    /// Whether a file of zeros, [`INPUT`], must exist.
    pub needs_file: bool,
}

/// The output of a run, with the times when it arrived.
pub(super) struct ToolOutput {
    pub output: Output,
    pub(super) input: &'static str,
    /// Seconds from the start until this many bytes of standard output had arrived.
    pub(super) arrivals: Arrivals,
}

/// Times and rates of a run.
pub(super) struct Run {
    /// Wall time from before its start until it was waited for.
    pub wall_seconds: f64,
    /// User and system time of it and its children.
    pub cpu_seconds: f64,
    pub rates: Rates,
}

/// Input file of lines with [`Line::needs_file`].
pub(super) const INPUT: &str = "plumb-bench-input";
/// Output file of tools without a name of their own.
pub(super) const OUTPUT: &str = "plumb-bench-output";
/// Files that one run of a tool leaves for others to read. Plumb may read them, although it did not make them.
pub(super) const SHARED: &str = "plumb-bench-shared";
const INPUT_BYTES: usize = 256 << 20;

impl ToolOutput {
    /// Returns the seconds from the start until this text was on standard output, which must not be buffered.
    pub(super) fn said_at(&self, what: &str) -> Option<f64> {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let end = text.find(what)? + what.len();
        self.arrivals.iter().find(|(length, _)| *length >= end).map(|(_, seconds)| *seconds)
    }
}

impl Line {
    /// Runs it once in `place`. `command` is the tool, or Plumb in its place, without the arguments. Plumb stores its
    /// results in `store`, so that `place` contains only the tool's files.
    ///
    /// # Errors
    ///
    /// It cannot be started, fails, or does not print the expected text.
    pub(super) fn run(&self, mut command: Command, place: &Path, store: &Path) -> Result<Run> {
        if self.needs_file {
            lay_out(&place.join(INPUT))?;
        }
        // Neither begins with files of the other.
        let _ = std::fs::remove_file(place.join(OUTPUT));
        if self.tool == "fio" {
            command.args(["--name=f", "--output-format=json"]);
        }
        command.args(self.words).current_dir(place).env("XDG_DATA_HOME", store);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(self.input.as_bytes())?;
        }
        let stderr = child.stderr.take().context("no standard error")?;
        let errors = std::thread::spawn(move || all_of(stderr));
        let (stdout, arrivals) = arriving(child.stdout.take().context("no standard output")?, start)?;
        let stderr = errors.join().ok().context("standard error was not read")??;
        let (status, cpu_seconds) = child::wait(child)?;
        let wall_seconds = start.elapsed().as_secs_f64();
        let printed = ToolOutput { output: Output { status, stdout, stderr }, input: self.input, arrivals };
        let shown = || {
            let [stdout, stderr] =
                [&printed.output.stdout, &printed.output.stderr].map(|text| String::from_utf8_lossy(text));
            // Some tools print errors to standard output.
            if stderr.trim().is_empty() { stdout.trim().to_owned() } else { stderr.trim().to_owned() }
        };
        if !status.success() {
            bail!("{command:?}: {status}\n{}", shown());
        }
        let rates = (self.reads)(&printed).with_context(|| format!("the output of {command:?}:\n{}", shown()))?;
        if rates.is_empty() {
            bail!("{command:?} printed no rate:\n{}", shown());
        }
        Ok(Run { wall_seconds, cpu_seconds, rates })
    }

    /// Returns the command that starts the tool with an unbuffered output, whose lines can be timed from outside.
    pub(super) fn speaking_tool(&self, options: &Options) -> Command {
        if self.tool != "postmark" {
            return self.tool(options);
        }
        // It prints only whole seconds.
        let mut command = Command::new("stdbuf");
        command.arg("--output=0").arg(options.peer(self.tool));
        command
    }

    /// Returns the command that starts the tool itself.
    pub(super) fn tool(&self, options: &Options) -> Command {
        Command::new(options.peer(self.tool))
    }
}

/// Returns how to install a missing tool.
pub(super) fn how_to_install(tool: &str) -> String {
    let package = match tool {
        "dd" => "coreutils",
        "fs_mark" => "fsmark",
        "iozone" => "iozone3",
        tool => tool,
    };
    let component = if package == "iozone3" { " (from non-free)" } else { "" };
    format!("{tool} is not here: apt-get install {package}{component}")
}

fn all_of(mut stream: impl Read) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    stream.read_to_end(&mut text).map(|_| text)
}

/// Lengths of an output, and the seconds since `start` when it reached them.
type Arrivals = Vec<(usize, f64)>;

/// Reads an output to its end.
fn arriving(mut stdout: impl Read, start: Instant) -> std::io::Result<(Vec<u8>, Arrivals)> {
    let (mut collected, mut arrivals, mut piece) = (Vec::new(), Vec::new(), [0; 4096]);
    loop {
        match stdout.read(&mut piece)? {
            0 => return Ok((collected, arrivals)),
            length => {
                collected.extend_from_slice(&piece[..length]);
                arrivals.push((collected.len(), start.elapsed().as_secs_f64()));
            }
        }
    }
}

/// Creates the file and flushes it.
fn lay_out(path: &Path) -> Result<()> {
    if path.metadata().is_ok_and(|metadata| metadata.len() == INPUT_BYTES as u64) {
        return Ok(());
    }
    let mut file = std::fs::File::create(path)?;
    file.write_all(&vec![0x5a; INPUT_BYTES])?;
    file.sync_all().with_context(|| format!("flushing {}", path.display()))
}
