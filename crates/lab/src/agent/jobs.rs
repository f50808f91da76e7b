//! One run: a child process of Plumb's own executable, as a user would start it by hand, and its results.

use super::AgentSettings;
use super::device_counters::{DeviceCounters, DeviceReadings, DeviceRoles, LOOKS_VARIABLE};
use super::expand::expand;
use crate::claim::DirectoryClaim;
use crate::error::failed;
use crate::host::{HostError, Listener};
use crate::protocol::{HostFacts, HostWork, LedHosts, RunAnswer, RunJob};
use crate::step::MadeNames;
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_engine::testdir::TestDirs;
use plumb_result::stream::is_stream_line;
use plumb_result::{Conformance, RunResult};
use rustix::process::{Pid, Signal, kill_process_group};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Lines of standard error that an answer keeps.
const TAIL_LINES: usize = 40;

/// Maximum bytes kept of a line: endless output must not fill memory. One interval of a run on a hundred devices is a
/// line of some 60 KiB.
const LINE_BYTES: u64 = 128 << 10;

/// Variable that tells a run where to stream its intervals.
const STREAM_VARIABLE: &str = "PLUMB_STREAM";

/// Time limit for a stopped run to remove its test data.
const GRACE: Duration = Duration::from_secs(10);

/// Interval between checks for the child's exit while it prints nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Context of a run.
pub(super) struct RunSurroundings<'a> {
    pub(super) settings: &'a AgentSettings,
    pub(super) facts: &'a HostFacts,
    /// Devices and mount points that the steps made: these devices may be written.
    pub(super) made: &'a MadeNames,
    /// Disks that the steps were given.
    pub(super) disks: &'a [PathBuf],
    /// Puts a process under the limits of the standing system.
    pub(super) confine: &'a mut dyn FnMut(u32) -> Result<(), HostError>,
    pub(super) stop: StopFlag,
}

/// Directory and texts of one run.
struct RunFiles {
    /// Removed with its contents after the run.
    dir: DirectoryClaim,
    db: PathBuf,
}

/// Reason why a run was cut short.
enum RunCut {
    TimedOut,
    Stopped,
}

impl RunSurroundings<'_> {
    /// Runs one job to its end.
    pub(super) fn run(&mut self, job: &RunJob, listener: Listener<'_>) -> Result<RunAnswer, HostError> {
        let dir = PathBuf::from(self.text(&job.dir)?);
        let is_here = job.led.is_none();
        if is_here {
            std::fs::create_dir_all(&dir).map_err(|error| failed(format!("cannot make {}: {error}", dir.display())))?;
        }
        let look = || is_here.then(|| DeviceCounters::after_sync(&dir)).transpose().map_err(failed);
        let files = RunFiles::new(&self.settings.state)?;
        let (mut command, stdin) = self.command(job, &dir, &files)?;
        let before = look()?;
        let mut child = command
            .spawn()
            .map_err(|error| failed(format!("cannot start {}: {error}", self.settings.program.display())))?;
        let mut group = ProcessGroup::from_child(&child);
        if let Err(error) = (self.confine)(child.id()) {
            group.end(&mut child);
            return Err(error);
        }
        feed(&mut child, stdin);
        let mut output = ChildOutput::by(&mut child);
        let ended = self.attend(&mut child, job.timeout_s, &mut output, listener);
        let status = match ended {
            Ok(status) => status,
            Err(cut) => {
                group.end(&mut child);
                output.rest(listener);
                self.clean(&files);
                let tail = output.tail();
                let printed = if tail.is_empty() { String::new() } else { format!("; its output:\n{tail}") };
                return Err(match cut {
                    RunCut::TimedOut => {
                        failed(format!("not finished within {} s, so it was stopped{printed}", job.timeout_s))
                    }
                    RunCut::Stopped => failed("stopped before it was done"),
                });
            }
        };
        // Processes that the run left behind would keep writing.
        group.kill();
        output.rest(listener);
        let after = look()?;
        if !status.success() {
            self.clean(&files);
        }
        if let Some(signal) = status.signal() {
            output.keep(format!("killed by signal {signal}"));
        }
        let result = self.result(&files)?;
        let conformance = match &job.work {
            HostWork::Conformance(_) => files.conformance(),
            HostWork::Native { .. } | HostWork::Dialect { .. } => None,
        };
        // The run knows best when its work began and ended.
        let looks = DeviceReadings::new(files.dir.path());
        let looks = (looks.taken_before().or(before), looks.taken_after().or(after));
        let devices = match looks {
            (Some(before), Some(after)) => after.since(&before, &DeviceRoles::new(self.made, self.disks)),
            _ => BTreeMap::new(),
        };
        Ok(RunAnswer { exit_code: code(status), result, conformance, devices, stderr: output.tail() })
    }

    fn text(&self, text: &str) -> Result<String, HostError> {
        expand(text, self.facts.ram_bytes, self.made).map_err(failed)
    }

    /// Returns the devices that the steps made, in the form of
    /// [`Permissions::parse`](plumb_engine::guard::Permissions::parse). Each belongs to the lab and is identified by
    /// its serial. Devices that the user allowed by hand stay allowed.
    fn may_be_written(&self) -> String {
        let allowed = std::env::var("PLUMB_ALLOW").ok().filter(|allowed| !allowed.is_empty());
        let paths = self.made.values().flatten().map(Path::new);
        let serials = paths.filter_map(|path| plumb_engine::guard::serials(path).ok()?.into_iter().next());
        let escaped = serials.map(|serial| serial.replace('\\', "\\\\").replace(',', "\\,"));
        allowed.into_iter().chain(escaped).collect::<Vec<_>>().join(",")
    }

    /// Returns the command as a user would type it, and its standard input.
    fn command(&self, job: &RunJob, dir: &Path, files: &RunFiles) -> Result<(Command, String), HostError> {
        let mut command = self.plumb(files);
        command.env("PLUMB_ALLOW", self.may_be_written());
        if job.led.is_none() {
            command.env(LOOKS_VARIABLE, files.dir.path());
        }
        // The study's conductor receives the streams; runs report to it on standard error.
        match job.stream {
            true => command.env(STREAM_VARIABLE, "ndjson:/dev/stderr"),
            false => command.env_remove(STREAM_VARIABLE),
        };
        // If the agent is killed, the run is asked to end.
        command.args(["agent", "--gently", "--with-parent", &std::process::id().to_string(), "--"]);
        command.arg(&self.settings.program);
        let stdin = match &job.work {
            HostWork::Native { toml } => {
                let file = files.dir.path().join("workload.toml");
                let workload = OutputFile::made_up("the workload", &file).private();
                workload.replace(self.text(toml)?.as_bytes()).map_err(failed)?;
                command.arg("run").arg(file).arg("--at").arg(dir).arg("--seed").arg(job.seed.to_string());
                command.arg("--json");
                if let Some(LedHosts { hosts, keys }) = &job.led {
                    command.arg("--hosts").arg(hosts.join(","));
                    if let Some(keys) = keys {
                        command.arg("--hosts-keys").arg(keys);
                    }
                }
                if let Some(place) = job.sim {
                    command.arg("--sim-run").arg(place.to_string());
                }
                String::new()
            }
            HostWork::Dialect { tool, args, stdin } => {
                command.arg("as").arg(tool);
                for word in args {
                    command.arg(self.text(word)?);
                }
                self.text(stdin)?
            }
            HostWork::Conformance(work) => {
                command.arg("posix").arg(dir).args(work.words()).arg("--no-store").arg("--output").arg(files.report());
                String::new()
            }
        };
        // The directory exists only on the other hosts, so any will do here.
        command.current_dir(if job.led.is_none() { dir } else { files.dir.path() });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Ok((command, stdin))
    }

    fn plumb(&self, files: &RunFiles) -> Command {
        plumb(&self.settings.program, files.dir.path())
    }

    /// Waits for the run's end and passes its output on.
    fn attend(
        &self,
        child: &mut Child,
        timeout_s: u64,
        output: &mut ChildOutput,
        listener: Listener<'_>,
    ) -> Result<ExitStatus, RunCut> {
        let start = Instant::now();
        loop {
            output.receive_lines(POLL_INTERVAL, listener);
            if let Ok(Some(status)) = child.try_wait() {
                return Ok(status);
            }
            if self.stop.requested() {
                return Err(RunCut::Stopped);
            }
            if start.elapsed() >= Duration::from_secs(timeout_s) {
                return Err(RunCut::TimedOut);
            }
        }
    }

    /// Removes the test data that a killed run left.
    fn clean(&self, files: &RunFiles) {
        clean(&self.settings.program, files.dir.path());
    }

    /// Returns the last stored result; `None` if there is none.
    fn result(&self, files: &RunFiles) -> Result<Option<RunResult>, HostError> {
        if !files.db.exists() {
            return Ok(None);
        }
        let output = self
            .plumb(files)
            .args(["show", "last", "--json"])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| failed(format!("cannot start {}: {error}", self.settings.program.display())))?;
        // A run that failed early stored no result, and `show` fails then.
        if !output.status.success() {
            return Ok(None);
        }
        let value: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("`plumb show last --json` did not print JSON: {error}")))?;
        // For a killed run, `show` prints the series instead.
        if value.get("schema").is_none() {
            return Ok(None);
        }
        let result = plumb_document::json::from_value(value)
            .map_err(|error| failed(format!("`plumb show last --json` did not print a result: {error}")))?;
        Ok(Some(result))
    }
}

impl RunFiles {
    fn new(state: &Path) -> Result<RunFiles, HostError> {
        let dir = DirectoryClaim::new(state, RUN_DIR_PREFIX)
            .map_err(|error| failed(format!("cannot make a directory in {}: {error}", state.display())))?;
        Ok(RunFiles { db: dir.path().join(DB), dir })
    }

    /// Path of the report that `plumb posix` writes.
    fn report(&self) -> PathBuf {
        self.dir.path().join("conformance.json")
    }

    /// Reads that report; `None` if it is missing or incomplete.
    fn conformance(&self) -> Option<Conformance> {
        let text = plumb_text::bounded::read_to_string(self.report()).ok()?;
        plumb_document::json::from_str(&text).ok()
    }
}

const RUN_DIR_PREFIX: &str = "run-";
/// Plumb's data directory for a run, which registers test directories.
const DATA: &str = "data";
const DB: &str = "plumb.db";

/// Returns a Plumb command that uses the files of one run.
fn plumb(program: &Path, files: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("PLUMB_DB", files.join(DB)).env("XDG_DATA_HOME", files.join(DATA));
    command
}

fn clean(program: &Path, files: &Path) {
    // `clean` itself reports on the agent's standard error what it cannot remove.
    let _ = plumb(program, files).arg("clean").stdin(Stdio::null()).stdout(Stdio::null()).status();
}

/// Removes the files and test data of runs whose agent was killed. The files name the test data, so they stay until
/// all of it is removed.
pub(crate) fn remove_left(state: &Path) -> Vec<PathBuf> {
    DirectoryClaim::remove_left(state, RUN_DIR_PREFIX, |files| {
        let test_dirs = TestDirs::new(files.join(DATA).join("plumb/testdirs"));
        test_dirs.clean(None).is_ok_and(|report| report.living.is_empty() && report.kept.is_empty())
    })
}

/// Returns the exit code in the shell's convention.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Writes the child's standard input on a separate thread: the child may read it late, or never.
fn feed(child: &mut Child, text: String) {
    if let Some(mut stdin) = child.stdin.take() {
        std::thread::spawn(move || {
            // A child that does not read its input has ended.
            let _ = stdin.write_all(text.as_bytes());
        });
    }
}

/// The process group of a child.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn from_child(child: &Child) -> ProcessGroup {
        ProcessGroup(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
    }

    /// Asks the group to end and remove its test data, and kills it after a grace period.
    fn end(&mut self, child: &mut Child) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::TERM);
            let start = Instant::now();
            while start.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        self.kill();
        let _ = child.wait();
    }

    /// Kills the rest of the group.
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// A child's standard error, and the end of its standard output.
struct ChildOutput {
    lines: Receiver<ChildLine>,
    error: VecDeque<String>,
    out: VecDeque<String>,
}

enum ChildLine {
    Out(String),
    Error(String),
}

impl ChildOutput {
    fn by(child: &mut Child) -> ChildOutput {
        let (sender, lines) = unbounded();
        if let Some(pipe) = child.stderr.take() {
            listen(pipe, sender.clone(), ChildLine::Error);
        }
        if let Some(pipe) = child.stdout.take() {
            listen(pipe, sender, ChildLine::Out);
        }
        ChildOutput { lines, error: VecDeque::new(), out: VecDeque::new() }
    }

    /// Waits up to `time` for a line, then takes all pending lines.
    fn receive_lines(&mut self, time: Duration, listener: Listener<'_>) -> bool {
        let first = match self.lines.recv_timeout(time) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => return true,
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(time);
                return false;
            }
        };
        let mut next = Some(first);
        while let Some(line) = next {
            match line {
                ChildLine::Error(text) => {
                    listener(&text);
                    // Intervals do not help to explain a failed run.
                    if !is_stream_line(&text) {
                        self.keep(text);
                    }
                }
                ChildLine::Out(text) => push(&mut self.out, text),
            }
            next = self.lines.try_recv().ok();
        }
        true
    }

    /// Reads the remaining output. Processes outside the group may hold the pipes open forever, so this has a limit.
    fn rest(&mut self, listener: Listener<'_>) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) && self.receive_lines(POLL_INTERVAL, listener) {}
    }

    fn keep(&mut self, line: String) {
        push(&mut self.error, line);
    }

    /// Returns the last lines of standard error, or of standard output if standard error is
    /// empty, as with some tools.
    fn tail(&self) -> String {
        let lines = if self.error.is_empty() { &self.out } else { &self.error };
        lines.iter().cloned().collect::<Vec<_>>().join("\n")
    }
}

fn push(lines: &mut VecDeque<String>, line: String) {
    if lines.len() == TAIL_LINES {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// Reads lines to the end on a separate thread.
fn listen(pipe: impl Read + Send + 'static, sender: Sender<ChildLine>, kind: fn(String) -> ChildLine) {
    std::thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(pipe.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if sender.send(kind(text)).is_err() {
                return;
            }
        }
    });
}
