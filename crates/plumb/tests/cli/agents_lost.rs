//! Agents on separate hosts, which are network namespaces of this machine: a whole run, and hosts that die, hang or are
//! cut off.

use crate::agents::Agent;
use crate::common::{CommandOutput, Home, needs, wait_until};
use crate::mpi_hosts::{Hosts, NETWORK};
use rustix::fs::Advice;
use serde_json::Value;
use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Two hosts, each with a server for fio jobs that admits clients with the keys.
struct Servers {
    agents: Vec<Agent>,
    hosts: Hosts,
    home: Home,
}

impl Servers {
    fn start() -> Servers {
        let (home, hosts) = (Home::new(), Hosts::new(2));
        home.plumb("agent --init keys").expect(0);
        let agents = (0..2)
            .map(|host| {
                let directory = home.work().join(&hosts.names[host]);
                std::fs::create_dir(&directory).unwrap();
                let mut command = hosts.on(host, &home, &["as", "fio", &format!("--server={}", address(host))]);
                command.env("PLUMB_AGENT_KEYS", home.work().join("keys/server.keys")).current_dir(directory);
                Agent::start(command, &home.work().join(format!("log{host}")))
            })
            .collect();
        Servers { agents, hosts, home }
    }

    fn client(&self, line: &str) -> Command {
        let mut command = self.home.command(line.split_whitespace());
        command.env("PLUMB_HOSTS_KEYS", "keys/client.keys").env("PLUMB_HOSTS_PATIENCE", "2");
        command
    }

    fn fio(&self, more: &str) -> Command {
        self.client(&format!("as fio {more} --client={} --client={} job.fio", address(0), address(1)))
    }

    fn file(&self, host: usize, name: &str) -> PathBuf {
        self.home.work().join(&self.hosts.names[host]).join(name)
    }

    /// Returns the stored result of the last run.
    fn last(&self) -> Value {
        self.home.plumb("show last --json").expect_measured().json()
    }
}

pub(crate) fn address(host: usize) -> String {
    format!("{NETWORK}.{}", 11 + host)
}

// Protects the main purpose: jobs on two hosts print fio's output for each host and for all, and the result says which
// host's numbers came from its page cache.
#[test]
fn two_hosts_print_what_fio_prints_and_the_cached_one_is_named() {
    if !needs::root_and(&["ip"]) {
        return;
    }
    let servers = Servers::start();
    servers.home.file("job.fio", "[r]\nrw=read\nbs=64k\nsize=64m\ninvalidate=0\n");
    // Lay out the files, then cache only the second host's.
    CommandOutput::run(servers.fio("")).expect(0);
    let files = [0, 1].map(|host| servers.file(host, "r.0.0"));
    let cold = File::open(&files[0]).unwrap();
    cold.sync_all().unwrap();
    rustix::fs::fadvise(&cold, 0, None, Advice::DontNeed).unwrap();
    assert_eq!(std::fs::read(&files[1]).unwrap().len(), 64 << 20);

    let text = CommandOutput::run(servers.fio("")).expect(0).out;
    assert_eq!(text.matches("hostname=").count(), 2, "{text}");
    assert_eq!(text.matches("> r: (g=0): rw=read, bs=(R) 64.0KiB-64.0KiB").count(), 2, "{text}");
    assert_eq!(text.matches("> Starting 1 process\n").count(), 2, "{text}");
    assert_eq!(text.matches("\nr: (groupid=0, jobs=1): err= 0: pid=").count(), 2, "{text}");
    assert_eq!(text.matches("\nRun status group 0 (all jobs):\n   READ: bw=").count(), 2, "{text}");
    let all = text.split("\nAll clients: (groupid=0, jobs=2): err= 0: pid=0:").nth(1).unwrap_or_default();
    assert!(all.contains("(128MiB/") && all.contains("issued rwts: total=2048,0,0,0"), "{text}");

    let last = servers.last();
    let spread = last["phases"][0]["ranks"]["start_skew_ns"].as_u64().unwrap();
    assert!(spread < 1_000_000_000, "{spread}");
    let cached = last["checks"].as_array().unwrap().iter().find(|check| check["code"] == "A1");
    let cached = cached.unwrap_or_else(|| panic!("{}", last["checks"]))["message"].as_str().unwrap();
    if std::fs::metadata(&files[0]).is_ok() && !cached.contains(&address(0)) {
        assert!(cached.contains(&address(1)), "{cached}");
    } else {
        // A file system in memory cannot drop its cache.
        needs::not_shown(&format!("both hosts read from memory here: {cached}"));
    }
    servers.home.plumb("show last").expect_measured().expect_stdout(&["2 ranks on 2 hosts", "started within"]);
}

/// Long enough to lose a host in the middle.
const JOB: &str = "[r]\nrw=randread\nsize=4m\ntime_based\nruntime=6\n";

// Protects the numbers of other hosts if one dies: they are printed and stored completely, the lost host is named, and
// nothing is left behind.
#[test]
fn a_killed_host_takes_nothing_from_the_others() {
    if !needs::root_and(&["ip"]) {
        return;
    }
    let mut servers = Servers::start();
    servers.home.file("job.fio", JOB);
    let mut command = servers.fio("--output-format=json --output=report");
    let running = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("both hosts run", || servers.agents.iter().all(|agent| !agent.sessions().is_empty()));
    std::thread::sleep(Duration::from_secs(3));
    let lost = servers.agents.remove(1);
    drop(lost);
    let output = running.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(printed.contains(&format!("host {} is lost: its connection ended", address(1))), "{printed}");
    let report: Value = serde_json::from_slice(&std::fs::read(servers.home.work().join("report")).unwrap()).unwrap();
    let stats = report["client_stats"].as_array().unwrap();
    assert_eq!((stats.len(), &stats[0]["hostname"]), (1, &Value::from(address(0))), "{stats:?}");
    // It ran to its regular end.
    assert!(stats[0]["read"]["runtime"].as_u64().unwrap() >= 5_900, "{}", stats[0]["read"]["runtime"]);
    let last = servers.last();
    assert!(
        last["partial"].as_bool().unwrap() && last["error"].as_str().unwrap().contains(&address(1)),
        "{}",
        last["error"]
    );
    wait_until("no process is left", || servers.agents[0].sessions().is_empty());
}

// Protects waiting clients: a host that hangs and one that is cut off are given up after the configured time, and
// named.
#[test]
fn a_host_that_hangs_or_is_cut_off_is_given_up() {
    if !needs::root_and(&["ip", "kill"]) {
        return;
    }
    let servers = Servers::start();
    servers.home.file("job.fio", JOB);
    let agent = &servers.agents[1];
    let signal = |name: &str| {
        let pids: Vec<String> =
            agent.sessions().into_iter().chain([agent.child.id()]).map(|pid| pid.to_string()).collect();
        assert!(Command::new("kill").arg(name).args(&pids).status().unwrap().success());
    };
    let cable = |state: &str| {
        let line = format!("-n {} link set eth0 {state}", servers.hosts.names[1]);
        assert!(Command::new("ip").args(line.split_whitespace()).status().unwrap().success());
    };
    for hangs in [true, false] {
        let running = servers.fio("").stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
        let running = running.unwrap();
        wait_until("both hosts run", || servers.agents.iter().all(|agent| !agent.sessions().is_empty()));
        std::thread::sleep(Duration::from_secs(2));
        if hangs {
            signal("-STOP")
        } else {
            cable("down")
        }
        let output = CommandOutput::from_output("fio".to_owned(), running.wait_with_output().unwrap());
        if hangs {
            signal("-CONT")
        } else {
            cable("up")
        }
        let lost = format!("host {} gave no sign of life for 2 s", address(1));
        output.expect(1).expect_stderr(&[&lost]).expect_stdout(&["r: (groupid=0, jobs=1): err= 0", "READ: bw="]);
        // The other end gives up as well.
        wait_until("no process is left", || servers.agents.iter().all(|agent| agent.sessions().is_empty()));
    }
    // A native run ends on all hosts, because its rate is the total.
    servers.home.file(
        "w.toml",
        "name = \"w\"\n[target.data.file]\npath = \"data\"\nsize = \"8MiB\"\n[[phase]]\nname = \"read\"\nstop.time = \"30s\"\n\
         [[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix.read = 1\n",
    );
    let hosts = [0, 1].map(|host| format!("{}:8765", address(host))).join(",");
    let running = servers.client(&format!("run w.toml --hosts {hosts}"));
    let running =
        { running }.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_until("both hosts run", || servers.agents.iter().all(|agent| !agent.sessions().is_empty()));
    std::thread::sleep(Duration::from_secs(4));
    cable("down");
    let output = CommandOutput::from_output("run".to_owned(), running.wait_with_output().unwrap());
    cable("up");
    output.expect(4).expect_stderr(&["gave no sign of life for 2 s"]);
    assert!(servers.last()["partial"].as_bool().unwrap());
    wait_until("no process is left", || servers.agents.iter().all(|agent| agent.sessions().is_empty()));
    for host in [0, 1] {
        let left = std::fs::read_dir(servers.file(host, "")).unwrap().flatten().map(|entry| entry.file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().contains("plumb")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
