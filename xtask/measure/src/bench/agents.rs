//! Cost of many hosts for the one that leads them: agents of the real program, each a process of its own on this machine,
//! with a short load on a target without storage. docs/scale.md has the numbers and a model.

use super::Options;
use super::plumb::Plumb;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Numbers of agents. The largest is the most hosts of a run, less some.
const COUNTS: [usize; 5] = [1, 10, 100, 300, 1_000];

/// Ops of each agent. They take less than a millisecond: a load that lasts would measure how many processes these processors
/// can serve.
const OPS: u64 = 1_000;

/// Port of the first agent.
const FIRST_PORT: u16 = 20_000;

/// Seconds of silence after which an agent is given up: all of them share two or a few processors.
const PATIENCE_S: &str = "120";

/// Time in which agents have to listen.
const START_PATIENCE: Duration = Duration::from_secs(300);

/// Runs a load on each number of agents, and prints a row for each. As root: each agent has a PID namespace of its own.
///
/// # Errors
///
/// An agent does not start, or the run fails.
pub(crate) fn agents(options: &Options) -> Result<()> {
    let plumb = Plumb::get(options)?;
    println!("agents   started within   whole command   leader PSS   agent PSS   its client's PSS");
    for count in COUNTS.into_iter().filter(|count| options.wants(&count.to_string())) {
        for _ in 0..options.rounds_or(1) {
            let home = tempfile::tempdir()?;
            println!("{}", Agents::start(&plumb, home.path(), count)?.measure(&plumb)?);
        }
    }
    Ok(())
}

/// Agents on loopback ports. They end when this is dropped.
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
        let keys = plumb.in_home(home).args(["agent", "--init", "keys"]).stdout(Stdio::null()).status()?;
        ensure!(keys.success(), "plumb agent --init: {keys}");
        let hosts: Vec<SocketAddr> =
            (0..count).map(|number| (Ipv4Addr::LOCALHOST, FIRST_PORT + number as u16).into()).collect();
        for host in &hosts {
            let mut plain = plumb.in_home(home);
            plain.args(["agent", "--listen", &host.to_string(), "--keys", "keys/server.keys", "--allow"]).arg(home);
            agents.running.push(apart(&plain).spawn().context("cannot start unshare")?);
        }
        let begun = Instant::now();
        while !hosts.iter().all(|host| TcpStream::connect(host).is_ok()) {
            ensure!(begun.elapsed() < START_PATIENCE, "not all of {count} agents listen");
            std::thread::sleep(Duration::from_millis(500));
        }
        let lines: Vec<String> = hosts.iter().map(SocketAddr::to_string).collect();
        std::fs::write(home.join("hosts"), lines.join("\n"))?;
        std::fs::write(
            home.join("load.toml"),
            format!(
                "name = \"load\"\n[target.none.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"read\"\nstop.ops = {OPS}\n\
                 [[phase.workers]]\ntarget = \"none\"\nwork.blocks.mix.read = 1\n"
            ),
        )?;
        Ok(agents)
    }

    /// Makes the run, and returns its row.
    fn measure(&self, plumb: &Plumb) -> Result<String> {
        let mut command = plumb.in_home(self.home);
        command.args([
            "run",
            "load.toml",
            "--hosts-file",
            "hosts",
            "--hosts-keys",
            "keys/client.keys",
            "--json",
            "--no-store",
        ]);
        command.env("PLUMB_HOSTS_PATIENCE", PATIENCE_S);
        let begun = Instant::now();
        let leader = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn()?;
        let pid = leader.id();
        let is_done = AtomicBool::new(false);
        let (output, of_leader, (of_agents, of_clients)) = std::thread::scope(|scope| {
            let watched = scope.spawn(|| watch(pid, &is_done));
            let seen = scope.spawn(|| self.memory_with_clients(&is_done));
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
        let done = phase["done"]["read"]["ops"].as_u64();
        ensure!(done == Some(count as u64 * OPS), "{done:?} ops of {count} agents, and not {OPS} of each");
        Ok(format!(
            "{count:6}   {:11.3} ms   {:11.2} s   {:6.1} MiB   {:5.2} MiB   {:11.2} MiB",
            number(&phase["ranks"]["start_skew_ns"])? / 1e6,
            whole.as_secs_f64(),
            mib(of_leader),
            mib(of_agents) / count as f64,
            mib(of_clients) / count as f64,
        ))
    }

    /// Returns the memory of all agents, and of their clients' processes once all of these are there.
    fn memory_with_clients(&self, is_done: &AtomicBool) -> (u64, u64) {
        let agents = || self.running.iter().flat_map(|apart| children(apart.id()));
        let clients = || agents().flat_map(children);
        while !is_done.load(Ordering::Acquire) && clients().count() < self.running.len() {
            std::thread::sleep(Duration::from_millis(200));
        }
        (agents().map(pss).sum(), clients().map(pss).sum())
    }
}

/// Returns a command that sees no processes but its own, as on a host of its own: each client looks for other programs that do
/// I/O, and would find those of all hosts.
fn apart(plain: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]).arg(plain.get_program()).args(plain.get_args());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let home = plain.get_current_dir().unwrap_or(Path::new("/"));
    command.current_dir(home).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
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
