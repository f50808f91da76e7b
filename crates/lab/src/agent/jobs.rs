//! One run: a child process of Plumb's own executable, as a user would start it by hand, and what it left.

use super::AgentSettings;
use super::device_counters::{DeviceCounters, DeviceRoles, LOOKS_VARIABLE, RunLooks};
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

/// Bytes of a line that are kept of it: what prints without end must not fill memory. A second of a run on a hundred devices
/// is a line of some 60 KiB.
const LINE_BYTES: u64 = 128 << 10;

/// What a run reads where its seconds go.
const STREAM_VARIABLE: &str = "PLUMB_STREAM";

/// How long a run that is told to end may take to remove its test data.
const GRACE: Duration = Duration::from_secs(10);

/// How often it is looked whether the child has ended, when it says nothing.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a run has around it.
pub(super) struct RunSurroundings<'a> {
    pub(super) settings: &'a AgentSettings,
    pub(super) facts: &'a HostFacts,
    /// What the steps made: its devices may be written.
    pub(super) made: &'a MadeNames,
    /// The disks that the steps were given.
    pub(super) disks: &'a [PathBuf],
    /// Puts a process under the limits of what was built.
    pub(super) confine: &'a mut dyn FnMut(u32) -> Result<(), HostError>,
    pub(super) stop: StopFlag,
}

/// A run's words and files.
struct RunFiles {
    /// Removed with what is in it when the run has ended.
    dir: DirectoryClaim,
    db: PathBuf,
}

/// Why a run did not come to its own end.
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
        let mut group = ProcessGroup::of(&child);
        if let Err(error) = (self.confine)(child.id()) {
            group.end(&mut child);
            return Err(error);
        }
        feed(&mut child, stdin);
        let mut said = ChildOutput::by(&mut child);
        let ended = self.attend(&mut child, job.timeout_s, &mut said, listener);
        let status = match ended {
            Ok(status) => status,
            Err(cut) => {
                group.end(&mut child);
                said.rest(listener);
                self.clean(&files);
                let tail = said.tail();
                let said = if tail.is_empty() { String::new() } else { format!("; it said:\n{tail}") };
                return Err(match cut {
                    RunCut::TimedOut => {
                        failed(format!("not finished within {} s, so it was stopped{said}", job.timeout_s))
                    }
                    RunCut::Stopped => failed("stopped before it was done"),
                });
            }
        };
        // What it left running would go on to write.
        group.kill();
        said.rest(listener);
        let after = look()?;
        if !status.success() {
            self.clean(&files);
        }
        if let Some(signal) = status.signal() {
            said.keep(format!("it was killed by signal {signal}"));
        }
        let result = self.result(&files)?;
        let conformance = match &job.work {
            HostWork::Conformance(_) => files.conformance(),
            HostWork::Native { .. } | HostWork::Dialect { .. } => None,
        };
        // The run knows better when its work began and ended.
        let looks = RunLooks::of(files.dir.path());
        let looks = (looks.taken_before().or(before), looks.taken_after().or(after));
        let devices = match looks {
            (Some(before), Some(after)) => after.since(&before, &DeviceRoles::new(self.made, self.disks)),
            _ => BTreeMap::new(),
        };
        Ok(RunAnswer { exit_code: code(status), result, conformance, devices, stderr: said.tail() })
    }

    fn text(&self, text: &str) -> Result<String, HostError> {
        expand(text, self.facts.ram_bytes, self.made).map_err(failed)
    }

    /// The devices that the steps made, in the form of [`Permissions::parse`](plumb_engine::guard::Permissions::parse): each is
    /// the lab's own, and known by its serial. What the user allowed by hand stays allowed.
    fn may_be_written(&self) -> String {
        let allowed = std::env::var("PLUMB_ALLOW").ok().filter(|allowed| !allowed.is_empty());
        let paths = self.made.values().flatten().map(Path::new);
        let serials = paths.filter_map(|path| plumb_engine::guard::serials(path).ok()?.into_iter().next());
        let escaped = serials.map(|serial| serial.replace('\\', "\\\\").replace(',', "\\,"));
        allowed.into_iter().chain(escaped).collect::<Vec<_>>().join(",")
    }

    /// The command as a user would type it, and what it reads.
    fn command(&self, job: &RunJob, dir: &Path, files: &RunFiles) -> Result<(Command, String), HostError> {
        let mut command = self.plumb(files);
        command.env("PLUMB_ALLOW", self.may_be_written());
        if job.led.is_none() {
            command.env(LOOKS_VARIABLE, files.dir.path());
        }
        // Who conducts the study has the streams; runs report to it, on standard error.
        match job.stream {
            true => command.env(STREAM_VARIABLE, "ndjson:/dev/stderr"),
            false => command.env_remove(STREAM_VARIABLE),
        };
        // Should the agent be killed, the run is told to end.
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
        // Where there is no such directory here, any will do.
        command.current_dir(if job.led.is_none() { dir } else { files.dir.path() });
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Ok((command, stdin))
    }

    fn plumb(&self, files: &RunFiles) -> Command {
        plumb(&self.settings.program, files.dir.path())
    }

    /// Waits for the end, passing on what is said.
    fn attend(
        &self,
        child: &mut Child,
        timeout_s: u64,
        said: &mut ChildOutput,
        listener: Listener<'_>,
    ) -> Result<ExitStatus, RunCut> {
        let start = Instant::now();
        loop {
            said.hear(LOOK_EVERY, listener);
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

    /// Removes the test data that a run which was killed has left.
    fn clean(&self, files: &RunFiles) {
        clean(&self.settings.program, files.dir.path());
    }

    /// The last result that was stored; `None` where there is none.
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
        // A run that failed early has stored no result, and `show` tells so.
        if !output.status.success() {
            return Ok(None);
        }
        let value: serde_json::Value = serde_json::from_slice(&output.stdout)
            .map_err(|error| failed(format!("what `plumb show last --json` says is no JSON: {error}")))?;
        // A run that was killed is shown as its series.
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
        let dir = DirectoryClaim::new(state, ROOM_PREFIX)
            .map_err(|error| failed(format!("cannot make a directory in {}: {error}", state.display())))?;
        Ok(RunFiles { db: dir.path().join(DB), dir })
    }

    /// Where `plumb posix` writes its report.
    fn report(&self) -> PathBuf {
        self.dir.path().join("conformance.json")
    }

    /// That report; `None` where it was not written, or not wholly.
    fn conformance(&self) -> Option<Conformance> {
        let text = plumb_text::bounded::read_to_string(self.report()).ok()?;
        plumb_document::json::from_str(&text).ok()
    }
}

const ROOM_PREFIX: &str = "run-";
/// Plumb's data directory for a run: test directories are registered there.
const DATA: &str = "data";
const DB: &str = "plumb.db";

/// Plumb with the files of one run.
fn plumb(program: &Path, files: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("PLUMB_DB", files.join(DB)).env("XDG_DATA_HOME", files.join(DATA));
    command
}

fn clean(program: &Path, files: &Path) {
    // What it cannot remove it says itself, on the agent's standard error.
    let _ = plumb(program, files).arg("clean").stdin(Stdio::null()).stdout(Stdio::null()).status();
}

/// Removes the files and test data of runs whose agent was killed. The files name the test data, so they
/// stay until all of it is removed.
pub(crate) fn remove_left(state: &Path) -> Vec<PathBuf> {
    DirectoryClaim::remove_left(state, ROOM_PREFIX, |files| {
        let test_dirs = TestDirs::new(files.join(DATA).join("plumb/testdirs"));
        test_dirs.clean(None).is_ok_and(|report| report.living.is_empty() && report.kept.is_empty())
    })
}

/// The exit code as a shell tells it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

/// Gives the child its standard input, beside everything else: it may read late, or never.
fn feed(child: &mut Child, text: String) {
    if let Some(mut stdin) = child.stdin.take() {
        std::thread::spawn(move || {
            // Who does not read it has ended.
            let _ = stdin.write_all(text.as_bytes());
        });
    }
}

/// A child's process group.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> ProcessGroup {
        ProcessGroup(i32::try_from(child.id()).ok().and_then(Pid::from_raw))
    }

    /// Asks it to end and to remove its test data; after some time, ends it.
    fn end(&mut self, child: &mut Child) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::TERM);
            let start = Instant::now();
            while start.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        self.kill();
        let _ = child.wait();
    }

    /// Ends what is left of it.
    fn kill(&mut self) {
        if let Some(group) = self.0.take() {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// What a child says on standard error, and the end of what it says on standard output.
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

    /// Waits so long for a line, and takes all that are there.
    fn hear(&mut self, time: Duration, listener: Listener<'_>) -> bool {
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
                    // Whoever reads why a run failed has no use for its seconds.
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

    /// Takes what was said until the end. Who was not in the process group may hold the pipes open for ever.
    fn rest(&mut self, listener: Listener<'_>) {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(1) && self.hear(LOOK_EVERY, listener) {}
    }

    fn keep(&mut self, line: String) {
        push(&mut self.error, line);
    }

    /// The last lines of standard error; of standard output where nothing was said there, as some tools do.
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

/// Reads lines to the end in a thread of its own.
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
