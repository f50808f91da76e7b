//! Hosts that differ: one whose clock is far off, one on a slow link, and one that is late.

use crate::agents::Agent;
use crate::agents_lost::address;
use crate::common::{CommandOutput, Home, needs, wait_until};
use crate::mpi_hosts::Hosts;
use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;

const PORT: u16 = 8765;

/// Monotonic clock of the host that is ahead, in seconds.
const AHEAD_S: i64 = 100_000;

/// Three hundred ops of each host at a fixed rate, without storage.
const WORKLOAD: &str = "name = \"w\"\n[target.none.null]\nsize = \"1MiB\"\n[[phase]]\nname = \"read\"\nstop.ops = 300\n\
    [[phase.workers]]\ntarget = \"none\"\npace.ops-per-second.read = \"100/s\"\nwork.blocks.mix.read = 1\n";

/// Three hosts with an agent each, and the keys of their clients.
struct Apart {
    agents: Vec<Agent>,
    hosts: Hosts,
    home: Home,
}

impl Apart {
    fn start() -> Apart {
        let (home, hosts) = (Home::new(), Hosts::new(3));
        home.plumb("agent --init keys").expect(0);
        home.file("w.toml", WORKLOAD);
        let agents = (0..3)
            .map(|host| {
                let listen = format!("{}:{PORT}", address(host));
                let words = ["agent", "--listen", &listen, "--keys", "keys/server.keys", "--allow", "/"];
                let mut command = hosts.on(host, &home, &words);
                if host == 1 {
                    command = on_clock_ahead(&command);
                }
                Agent::start(command, &home.work().join(format!("log{host}")))
            })
            .collect();
        Apart { agents, hosts, home }
    }

    fn command(&self) -> Command {
        let hosts = [0, 1, 2].map(|host| format!("{}:{PORT}", address(host))).join(",");
        let line = format!("run w.toml --hosts {hosts} --hosts-keys keys/client.keys --json");
        self.home.command(line.split_whitespace())
    }
}

/// Returns a command whose monotonic clock is [`AHEAD_S`] ahead of this machine's.
fn on_clock_ahead(plain: &Command) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--time", "--monotonic", &AHEAD_S.to_string(), "--fork", "--kill-child"]);
    command.arg(plain.get_program()).args(plain.get_args()).current_dir(plain.get_current_dir().unwrap());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn host(result: &Value, number: usize) -> Value {
    let hosts = result["ranks"]["hosts"].as_array().unwrap();
    hosts.iter().find(|host| host["name"].as_str().unwrap().starts_with(&address(number))).unwrap().clone()
}

// Protects runs on hosts whose clocks differ and whose links are slow: the load starts at one moment on all of them, and
// nothing of their reports is lost on the way.
#[test]
fn a_wrong_clock_and_a_slow_link_change_no_number() {
    if !needs::root_and(&["ip", "tc", "unshare"]) {
        return;
    }
    let apart = Apart::start();
    // Some ten seconds' worth of reports would fit through it in a minute.
    let name = &apart.hosts.names[2];
    let shaped = format!("netns exec {name} tc qdisc add dev eth0 root tbf rate 256kbit burst 16k latency 2s");
    assert!(Command::new("ip").args(shaped.split(' ')).status().unwrap().success());
    let result = CommandOutput::run(apart.command()).expect_measured().json();
    let phase = &result["phases"][0];
    assert_eq!(phase["done"]["read"]["ops"], 900);
    let offset = |number| host(&result, number)["clock_offset_ns"].as_i64().unwrap();
    assert_eq!((offset(0), offset(2)), (0, 0));
    let within = host(&result, 1)["clock_within_ns"].as_i64().unwrap();
    assert!((offset(1) + AHEAD_S * 1_000_000_000).abs() <= within, "{} within {within}", offset(1));
    // Without the comparison of clocks, the host would seem to have started and ended a day later.
    let spread = &phase["ranks"];
    let times = [&spread["start_skew_ns"], &spread["slowest"][0]["done_ns"]].map(|time| time.as_i64().unwrap());
    assert!(times.iter().all(|&time_ns| time_ns < AHEAD_S * 1_000_000), "{spread}");
}

// Protects the search for the slow host among many: the page names the one that was last, and by how much.
#[test]
fn a_straggler_is_named() {
    if !needs::root_and(&["ip", "kill", "unshare"]) {
        return;
    }
    let apart = Apart::start();
    let mut command = apart.command();
    let running = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the hosts run", || apart.agents.iter().all(|agent| !agent.sessions().is_empty()));
    std::thread::sleep(Duration::from_secs(1));
    let signal = |name: &str| {
        let pids: Vec<String> = apart.agents[2].sessions().iter().map(u32::to_string).collect();
        assert!(Command::new("kill").arg(name).args(&pids).status().unwrap().success());
    };
    signal("-STOP");
    std::thread::sleep(Duration::from_secs(4));
    signal("-CONT");
    let result = CommandOutput::from_output("run".to_owned(), running.wait_with_output().unwrap());
    let result = result.expect_measured().json();
    let slowest = &result["phases"][0]["ranks"]["slowest"][0];
    assert!(slowest["host"].as_str().unwrap().starts_with(&address(2)), "{slowest}");
    let page = apart.home.plumb("show last").expect_measured().out;
    assert!(page.contains("last after") && page.contains(&address(2)), "{page}");
}
