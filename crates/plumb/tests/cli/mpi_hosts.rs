//! Ranks on several hosts: network namespaces of this machine with host names of their own,
//! which a launcher reaches through an agent.

use crate::common::{CommandOutput, Home, needs};
use crate::mpi::{Reached, launchers};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// From the documentation range (RFC 5737), so that no real network is cut off.
pub(crate) const NETWORK: &str = "198.51.100";

/// Hosts that reach each other and this machine.
pub(crate) struct Hosts {
    pub names: Vec<String>,
    bridge: String,
    /// Other tests use the same addresses.
    _only: MutexGuard<'static, ()>,
}

static ONLY: Mutex<()> = Mutex::new(());

impl Hosts {
    pub(crate) fn new(count: usize) -> Hosts {
        // A namespace disappears shortly after its last process.
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = format!("{}{}", std::process::id() % 100_000, COUNT.fetch_add(1, Relaxed));
        let hosts = Hosts {
            names: (0..count).map(|host| format!("pl{number}h{host}")).collect(),
            bridge: format!("pl{number}"),
            _only: ONLY.lock().unwrap_or_else(PoisonError::into_inner),
        };
        let bridge = &hosts.bridge;
        ip(&format!("link add {bridge} type bridge"));
        ip(&format!("address add {NETWORK}.1/24 dev {bridge}"));
        ip(&format!("link set {bridge} up"));
        for (host, name) in hosts.names.iter().enumerate() {
            let cable = format!("{bridge}c{host}");
            ip(&format!("netns add {name}"));
            ip(&format!("link add {cable} type veth peer name eth0 netns {name}"));
            ip(&format!("link set {cable} master {bridge} up"));
            ip(&format!("-n {name} address add {NETWORK}.{}/24 dev eth0", 11 + host));
            ip(&format!("-n {name} link set eth0 up"));
            ip(&format!("-n {name} link set lo up"));
        }
        hosts
    }

    /// Builds a command of this home on a host.
    pub(crate) fn on(&self, host: usize, home: &Home, words: &[&str]) -> Command {
        let plain = home.command(words);
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host]]).arg(plain.get_program()).args(plain.get_args());
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.current_dir(home.work());
        command
    }

    /// Returns the launcher's replacement for ssh, a script that runs a command line on a host.
    pub(crate) fn agent(&self, home: &Home) -> PathBuf {
        let text = "#!/bin/sh\n[ \"$1\" != -x ] || shift\nhost=$1\nshift\n\
                    exec ip netns exec \"$host\" unshare --uts sh -c 'hostname \"$0\" && exec sh -c \"$1\"' \"$host\" \"$*\"\n";
        let agent = home.file("agent", text);
        std::fs::set_permissions(&agent, Permissions::from_mode(0o755)).unwrap();
        agent
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "delete", name]).stderr(Stdio::null()).status();
        }
        let _ = Command::new("ip").args(["link", "delete", &self.bridge]).stderr(Stdio::null()).status();
    }
}

#[track_caller]
fn ip(line: &str) {
    let output = Command::new("ip").args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
}

const CONFIG: &str = "[global]\ndatadir = data\nresultdir = results\ntimestamp-datadir = FALSE\ntimestamp-resultdir = FALSE\n\
                      [debug]\nstonewall-time = 4\n[ior-easy]\ntransferSize = 64k\nblockSize = 256k\n[ior-hard]\n\
                      segmentCount = 10\n[mdtest-easy]\nn = 120\n[mdtest-hard]\nn = 120\n";

// Protects: all phases of IO500 run on the ranks of two hosts, which read and stat each other's files; every stored run
// has both hosts with their ranks, and its page says so.
#[test]
fn io500_runs_on_two_hosts() {
    if !needs::root_and(&["ip", "unshare"]) {
        return;
    }
    for launcher in launchers() {
        let hosts = Hosts::new(2);
        let home = Home::new();
        home.file("c.ini", CONFIG);
        let (agent, own_address) = (hosts.agent(&home), format!("{NETWORK}.1"));
        let reached = Reached { names: &hosts.names, agent: &agent, own_address: &own_address };
        let command = launcher.command_on(&reached, 2, &home, "as io500 c.ini");
        let output = CommandOutput::run(command).expect(0);
        let phases: Vec<&str> = output.out.lines().filter(|line| line.contains(" : time ")).collect();
        assert_eq!(phases.len(), 14, "{}", output.out);
        for phase in phases {
            // Writing phases are too short, which is the only problem.
            assert_eq!(phase.ends_with("[INVALID]"), phase.contains("-write "), "{phase}: {}", output.out);
        }
        let result = std::fs::read_to_string(home.work().join("results/result.txt")).unwrap();
        for line in ["procs           = 4", "total-files     = 965", "nproc           = 4"] {
            assert!(result.lines().any(|other| other == line), "{line}: {result}");
        }
        let runs = home.query("select id from run where dialect = 'io500'");
        assert_eq!(runs.len(), 12);
        for run in runs {
            let id = run[0].as_str().unwrap();
            let shown = home.plumb(&format!("show {id} --json")).expect(0).json();
            let of_host = |host: &Value| (host["name"].as_str().unwrap().to_owned(), host["ranks"].as_u64().unwrap());
            let mut found: Vec<_> = shown["ranks"]["hosts"].as_array().unwrap().iter().map(of_host).collect();
            found.sort();
            assert_eq!(found, hosts.names.iter().map(|name| (name.clone(), 2)).collect::<Vec<_>>(), "{shown}");
            home.plumb(&format!("show {id}")).expect(0).expect_stdout(&["4 ranks on 2 hosts"]);
        }
        assert!(!home.work().join("data").exists());
    }
}
