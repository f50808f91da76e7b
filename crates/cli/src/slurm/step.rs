//! Agents on nodes of the job, which one `srun` step starts and ends.

use super::door::Door;
use crate::exit::Stopped;
use crate::hosts::Alive;
use plumb_cluster::star::Link;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for all agents to connect.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// An `srun` whose agents have ended exits within this time.
const FAREWELL: Duration = Duration::from_secs(10);
/// Lines of srun's standard error that are kept.
const TAIL_LINES: usize = 20;

/// Variables of the job that would change the step.
const NOT_INHERITED: [&str; 8] = [
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
    "SLURM_LABELIO",
    "SLURM_UNBUFFEREDIO",
];

/// Starts an agent on each node, and returns their connections.
///
/// # Errors
/// `srun` fails, or an agent does not connect.
pub(crate) fn start_agents(nodes: &[String]) -> Result<BTreeMap<String, Link>, Stopped> {
    let program = std::env::current_exe()
        .map_err(|error| Stopped::io(format!("cannot find this program's own file: {error}")))?;
    let door = Door::open()?;
    let step = Arc::new(Mutex::new(Step::start(nodes, &program)?));
    let lock = || step.lock().unwrap_or_else(PoisonError::into_inner);
    lock().send(&format!("{}\n", door.invitation().line().as_str()))?;
    let begun = Instant::now();
    let channels = door.admit(nodes, |absent| {
        if let Some(why) = lock().failure() {
            return Err(Stopped::io(format!("srun cannot start the agents: {why}")));
        }
        match begun.elapsed() < START_PATIENCE {
            true => Ok(()),
            false => Err(Stopped::io(format!(
                "host {}: its agent did not connect within {} s{}",
                absent[0],
                START_PATIENCE.as_secs(),
                lock().last_words().map_or(String::new(), |words| format!("; srun said: {words}"))
            ))),
        }
    })?;
    let linked = channels.into_iter().map(|(node, channel)| {
        let writer = Alive { writer: channel.clone(), _life: Arc::clone(&step) };
        (node, Link { reader: Box::new(channel), writer: Box::new(writer) })
    });
    Ok(linked.collect())
}

/// A running `srun`. Its step ends with the value.
struct Step {
    srun: Child,
    input: Option<ChildStdin>,
    stderr_lines: Arc<Mutex<VecDeque<String>>>,
}

impl Step {
    fn start(nodes: &[String], program: &Path) -> Result<Step, Stopped> {
        let failed = |error: std::io::Error| Stopped::io(format!("cannot start srun: {error}"));
        let mut command = Command::new(program);
        // The kernel ends srun with this process, and so the agents.
        command.args(["agent", "--with-parent", &std::process::id().to_string(), "--gently", "--"]);
        command.arg("srun").args(options(nodes)).arg(program);
        command.args(["agent", "--rank", "--dial", "--allow", "/", "--allow-exec"]);
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A Ctrl-C is for this process, which ends the run first.
        let mut srun = command.process_group(0).spawn().map_err(failed)?;
        let stderr_lines = Arc::new(Mutex::new(VecDeque::new()));
        if let Some(pipe) = srun.stderr.take() {
            let stderr_lines = Arc::clone(&stderr_lines);
            std::thread::spawn(move || keep_tail(BufReader::new(pipe), &stderr_lines));
        }
        Ok(Step { input: srun.stdin.take(), srun, stderr_lines })
    }

    /// Sends a line to all agents.
    fn send(&mut self, line: &str) -> Result<(), Stopped> {
        let sent =
            self.input.as_mut().map_or(Ok(()), |input| input.write_all(line.as_bytes()).and_then(|()| input.flush()));
        // An srun that has ended already says why.
        match sent {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Stopped::io(format!("srun: {error}"))),
            _ => Ok(()),
        }
    }

    /// Returns the reason if not all agents can come any more.
    fn failure(&mut self) -> Option<String> {
        /// srun prints its reason as it exits.
        const LAST_WORDS: Duration = Duration::from_millis(200);
        let lost = || lines(&self.stderr_lines).iter().find(|line| is_of_lost_task(line)).cloned();
        if let Some(line) = lost() {
            std::thread::sleep(LAST_WORDS);
            return Some(self.last_words().unwrap_or(line));
        }
        let status = self.srun.try_wait().ok().flatten()?;
        std::thread::sleep(LAST_WORDS);
        Some(self.last_words().unwrap_or_else(|| format!("it ended with {status}")))
    }

    /// Returns the lines of srun and the agents that say why, the latest last.
    fn last_words(&self) -> Option<String> {
        let lines = lines(&self.stderr_lines);
        let told: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        (!told.is_empty()).then(|| told[told.len().saturating_sub(3)..].join("; "))
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let begun = Instant::now();
        loop {
            if !matches!(self.srun.try_wait(), Ok(None)) {
                return true;
            }
            if begun.elapsed() > limit {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        drop(self.input.take());
        if !self.has_ended_within(FAREWELL) {
            // srun ends its step on SIGTERM.
            let _ = kill_process(Pid::from_child(&self.srun), Signal::TERM);
            if !self.has_ended_within(FAREWELL) {
                let _ = self.srun.kill();
            }
        }
        let _ = self.srun.wait();
    }
}

/// Returns the options of the step: one agent on each node, next to other steps of the job, with all processors of the
/// job. A lost agent does not end the others, whose run is to be stored.
fn options(nodes: &[String]) -> Vec<String> {
    let count = nodes.len();
    let own = [format!("--nodes={count}"), format!("--ntasks={count}"), format!("--nodelist={}", nodes.join(","))];
    let same = [
        "--ntasks-per-node=1",
        "--overlap",
        "--mpi=none",
        "--cpu-bind=none",
        "--kill-on-bad-exit=0",
        "--no-kill",
        "--wait=0",
        "--export=ALL",
        "--input=all",
        "--job-name=plumb-agents",
    ];
    own.into_iter().chain(same.map(str::to_owned)).collect()
}

/// Returns `true` for srun's report of a task that ended. Agents do not end before their coordinator lets them.
fn is_of_lost_task(line: &str) -> bool {
    line.starts_with("srun: error:") && line.contains(" task") && (line.contains("Exited") || line.contains("Killed"))
}

fn lines(stderr_lines: &Mutex<VecDeque<String>>) -> MutexGuard<'_, VecDeque<String>> {
    stderr_lines.lock().unwrap_or_else(PoisonError::into_inner)
}

fn keep_tail(stderr: impl BufRead, stderr_lines: &Mutex<VecDeque<String>>) {
    for line in stderr.split(b'\n').map_while(Result::ok) {
        let mut kept = lines(stderr_lines);
        if kept.len() == TAIL_LINES {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim().chars().take(500).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a failed start is known from srun's own words, and other lines end nothing.
    #[test]
    fn a_lost_task_is_known_by_sruns_words() {
        assert!(is_of_lost_task("srun: error: n3: task 2: Exited with exit code 2"));
        assert!(is_of_lost_task("srun: error: n1: tasks 0-3: Killed"));
        assert!(!is_of_lost_task("srun: error: Unable to confirm allocation for job 3"));
        assert!(!is_of_lost_task("srun: Job step creation temporarily disabled, retrying"));
    }
}
