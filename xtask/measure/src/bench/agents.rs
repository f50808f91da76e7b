//! Cost of many hosts for the one that leads them: agents of the real program, each a process of its own on this machine,
//! with a light load on a target without storage. docs/scale.md has the numbers and a model.

use super::Options;
use super::plumb::Plumb;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Numbers of agents. The largest is the most hosts of a run, less some.
const COUNTS: [usize; 4] = [1, 10, 100, 1_000];

/// Ops per second of each agent: few, because all agents share the processors of this machine.
const RATE: u64 = 10;
const SECONDS: u64 = 10;

/// Seconds of silence after which an agent is given up: all of them share two or a few processors.
const PATIENCE_S: &str = "120";

/// Time in which agents have to listen.
const START_PATIENCE: Duration = Duration::from_secs(300);

/// Runs a load on each number of agents, and prints a row for each.
///
/// # Errors
///
/// An agent does not start, or the run fails.
pub(crate) fn agents(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    println!(
        "agents   started within   rate of all   joined and collected   leader PSS   agent PSS   its client's PSS"
    );
    for count in COUNTS.into_iter().filter(|count| options.wants(&count.to_string())) {
        for _ in 0..options.rounds_or(1) {
            let home = tempfile::tempdir()?;
            println!("{}", Agents::start(&plumb, home.path(), count)?.measure(&plumb)?);
        }
    }
    Ok(())
}

/// Agents on Unix sockets of one directory. They end when this is dropped.
struct Agents<'a> {
    home: &'a Path,
    running: Vec<Child>,
}

impl Drop for Agents<'_> {
    fn drop(&mut self) {
        for agent in &mut self.running {
            let _ = agent.kill();
            let _ = agent.wait();
        }
    }
}

impl Agents<'_> {
    fn start<'a>(plumb: &Plumb, home: &'a Path, count: usize) -> Result<Agents<'a>> {
        let mut agents = Agents { home, running: Vec::new() };
        let sockets: Vec<PathBuf> = (0..count).map(|number| home.join(format!("{number}.sock"))).collect();
        for socket in &sockets {
            let mut command = plumb.in_home(home);
            command.args(["agent", "--listen", &format!("unix:{}", socket.display()), "--allow"]).arg(home);
            agents.running.push(quiet(command).spawn()?);
        }
        let begun = Instant::now();
        while !sockets.iter().all(|socket| socket.exists()) {
            ensure!(begun.elapsed() < START_PATIENCE, "not all of {count} agents listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        let hosts: String = sockets.iter().fold(String::new(), |mut hosts, socket| {
            let _ = writeln!(hosts, "unix:{}", socket.display());
            hosts
        });
        std::fs::write(home.join("hosts"), hosts)?;
        std::fs::write(
            home.join("load.toml"),
            format!(
                "name = \"load\"\n[target.none.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"read\"\nstop.time = \"{SECONDS}s\"\n\
                 [[phase.workers]]\ntarget = \"none\"\npace.ops-per-second.read = \"{RATE}/s\"\nwork.blocks.mix.read = 1\n"
            ),
        )?;
        Ok(agents)
    }

    /// Makes the run, and returns its row.
    fn measure(&self, plumb: &Plumb) -> Result<String> {
        let mut command = plumb.in_home(self.home);
        command.args(["run", "load.toml", "--hosts-file", "hosts", "--json", "--no-store"]);
        command.env("PLUMB_HOSTS_PATIENCE", PATIENCE_S);
        let begun = Instant::now();
        let leader = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let pid = leader.id();
        let is_done = AtomicBool::new(false);
        let (output, of_leader, of_agents) = std::thread::scope(|scope| {
            let watched = scope.spawn(|| watch(pid, &is_done));
            // In the middle of the load: every client has its process, and none reports yet.
            let seen = scope.spawn(|| self.memory_in_the_middle(&is_done));
            let output = leader.wait_with_output();
            is_done.store(true, Ordering::Release);
            (output, watched.join().unwrap_or(0), seen.join().unwrap_or_default())
        });
        let (output, whole) = (output?, begun.elapsed());
        ensure!(matches!(output.status.code(), Some(0 | 3)), "plumb run: {}", output.status);
        let result: Value = serde_json::from_slice(&output.stdout).context("no result")?;
        let phase = &result["phases"][0];
        let number = |value: &Value| value.as_f64().context("a number is missing from the result");
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let count = self.running.len();
        Ok(format!(
            "{count:6}   {:10.3} ms   {:7.1} of {:5}   {:17.2} s   {:6.1} MiB   {:5.2} MiB   {:5.2} MiB",
            number(&phase["ranks"]["start_skew_ns"])? / 1e6,
            number(&phase["metrics"]["read.iops"]["value"])?,
            count as u64 * RATE,
            (whole.saturating_sub(Duration::from_secs(SECONDS))).as_secs_f64(),
            mib(of_leader),
            mib(of_agents.0) / count as f64,
            mib(of_agents.1) / count as f64,
        ))
    }

    /// Returns the memory of all agents, and of their clients' processes, once all clients have been there for a while.
    fn memory_in_the_middle(&self, is_done: &AtomicBool) -> (u64, u64) {
        let clients = || self.running.iter().flat_map(|agent| children(agent.id()));
        while !is_done.load(Ordering::Acquire) && clients().count() < self.running.len() {
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_secs(SECONDS / 3));
        let of_agents = self.running.iter().map(|agent| pss(agent.id())).sum();
        (of_agents, clients().map(pss).sum())
    }
}

fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Returns the most memory that a process has until the end.
fn watch(pid: u32, is_done: &AtomicBool) -> u64 {
    let mut most = 0;
    while !is_done.load(Ordering::Acquire) {
        most = most.max(pss(pid));
        std::thread::sleep(Duration::from_millis(250));
    }
    most
}

/// Returns the proportional set size of a process, in bytes; 0 if it has ended.
fn pss(pid: u32) -> u64 {
    let rollup = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().map_or(0, |kib: u64| kib * 1024)
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
    let all: String = tasks.map(of).collect();
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}
