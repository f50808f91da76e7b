//! The Ansible collection `plumb.storage`, run over ssh on three hosts that are namespaces, each with an sshd of its own.

use crate::common::{CommandOutput, Home, needs, test_directories, wait_until};
use crate::mpi_hosts::{Hosts, NETWORK};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const NAMES: [&str; 3] = ["node1", "node2", "node3"];

/// The servers of the hosts. They end with the value, also after a panic.
struct Servers(Vec<Child>);

impl Servers {
    fn start(hosts: &Hosts, home: &Home) -> Servers {
        for key in ["host", "user"] {
            let file = home.work().join(key);
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file);
            assert!(command.status().unwrap().success());
        }
        // The directory of sshd's privilege separation; its package creates it at boot.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let path = |name: &str| home.work().join(name).display().to_string();
        let config = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
             PasswordAuthentication no\nSubsystem sftp internal-sftp\n",
            path("host"),
            path("user.pub")
        );
        let config = home.file("sshd", &config);
        let start = |name: &String| {
            let log = home.work().join(format!("sshd-{name}"));
            let mut command = Command::new("ip");
            command.args(["netns", "exec", name, "/usr/sbin/sshd", "-D", "-e", "-f"]).arg(&config);
            let server = command.stdin(Stdio::null()).stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
            (server, log)
        };
        let (servers, logs): (Vec<Child>, Vec<PathBuf>) = hosts.names.iter().map(start).unzip();
        let servers = Servers(servers);
        for log in logs {
            wait_until("sshd listens", || std::fs::read_to_string(&log).unwrap().contains("Server listening"));
        }
        servers
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.0 {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Packs the collection and installs it below a directory, as its README says.
fn install_collection(home: &Home) {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/ansible");
    let galaxy = |words: &[&str]| {
        let mut command = Command::new("ansible-galaxy");
        command.arg("collection").args(words).current_dir(home.work()).env("HOME", home.work());
        CommandOutput::run(command).expect(0);
    };
    galaxy(&["build", tree.to_str().unwrap(), "--output-path", "."]);
    galaxy(&["install", "plumb-storage-0.1.0.tar.gz", "-p", "collections", "--offline"]);
}

/// Writes the inventory. The hosts share this machine's files, so that each has its own places for what it would install.
fn inventory(home: &Home) -> PathBuf {
    let path = |name: &str| home.work().join(name).display().to_string();
    let ssh =
        format!("-F /dev/null -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile={}", path("user"), path("known"));
    let mut text = format!(
        "storage:\n  vars:\n    ansible_user: root\n    ansible_python_interpreter: {}\n    ansible_ssh_common_args: {ssh}\n  hosts:\n",
        needs::PYTHON
    );
    for (number, name) in NAMES.iter().enumerate() {
        let place = path(name);
        text.push_str(&format!(
            "    {name}:\n      ansible_host: {NETWORK}.{}\n      plumb_path: {place}/plumb\n      plumb_home: {place}/agent\n",
            11 + number
        ));
        std::fs::create_dir(&place).unwrap();
    }
    home.file("inventory.yml", &text)
}

/// Returns the playbook's command, with variables of the test.
fn playbook(home: &Home, inventory: &Path, more: &[&str]) -> Command {
    let plain = home.command([""; 0]);
    let program = plain.get_program().to_str().unwrap();
    let path = |name: &str| home.work().join(name).display().to_string();
    // A build for tests has hundreds of megabytes, which the playbook would copy to each host.
    let small = home.file("program", &format!("#!/bin/sh\nexec {program} \"$@\"\n"));
    let mut command = Command::new("ansible-playbook");
    command.arg("-i").arg(inventory).arg("plumb.storage.compare").current_dir(home.work());
    for (name, value) in [
        ("plumb_program", small.display().to_string()),
        ("plumb_local", program.to_owned()),
        ("plumb_directory", path("data")),
        ("plumb_keys", path("keys")),
        ("plumb_results", path("results")),
        ("plumb_repeat", "2".to_owned()),
        ("plumb_workload_keys", "{\"size\": \"4MiB\", \"time\": \"200ms\"}".to_owned()),
    ] {
        command.args([
            "-e",
            &format!("{{\"{name}\": {}}}", if value.starts_with('{') { value } else { format!("{value:?}") }),
        ]);
    }
    command.args(more).envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("HOME", home.work()).env("ANSIBLE_COLLECTIONS_PATH", home.work().join("collections"));
    command.env("ANSIBLE_HOST_KEY_CHECKING", "False").env("ANSIBLE_NOCOLOR", "1");
    command
}

// Protects a site that has Ansible: from hosts without Plumb, one command leads to an answer about them, and leaves no agent and no
// key there, also after a failure.
#[test]
#[ignore = "lab tier: takes minutes"]
fn root_a_playbook_leads_from_nothing_to_an_answer() {
    if !needs::root_and(&["ip", "ansible-playbook", "ssh", "ssh-keygen", "/usr/sbin/sshd"]) {
        return;
    }
    let (home, hosts) = (Home::new(), Hosts::new(NAMES.len()));
    let _servers = Servers::start(&hosts, &home);
    install_collection(&home);
    let inventory = inventory(&home);
    std::fs::create_dir(home.work().join("data")).unwrap();
    let is_clean = || {
        NAMES.iter().all(|name| !home.work().join(name).join("agent").exists())
            && test_directories(&home.work().join("data")).is_empty()
    };
    let failed = CommandOutput::run(playbook(&home, &inventory, &["-e", "plumb_workload=no-such-workload"]));
    assert!(failed.code != 0 && failed.out.contains("no-such-workload"), "{}", failed.out);
    wait_until("the agents are gone after a failure", is_clean);
    CommandOutput::run(playbook(&home, &inventory, &[])).expect(0);
    wait_until("the agents are gone", is_clean);
    let read = |name: &str| std::fs::read_to_string(home.work().join("results").join(name)).unwrap();
    let (answer, report) = (read("answer.md"), read("report.html"));
    for name in NAMES {
        assert!(answer.contains(name) && report.contains(name), "{name} is missing: {answer}");
    }
    let results: serde_json::Value = serde_json::from_str(&read("results.json")).unwrap();
    let results = results.as_array().unwrap();
    assert!(results.len() >= 3 * 2, "{} results", results.len());
    let used: std::collections::BTreeSet<&str> =
        results.iter().filter_map(|result| result["ranks"]["hosts"][0]["name"].as_str()).collect();
    assert_eq!(used.len(), 3, "{used:?}");
}
