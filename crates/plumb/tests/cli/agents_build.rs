//! Studies whose systems agents build: within the permissions of the agent's owner, on several hosts, and taken down
//! however they end.

use crate::agents::{Agent, socket};
use crate::common::disks::{Loop, system};
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs, wait_until};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;

/// Agents in mount namespaces of their own, as on separate hosts. Each has its own state.
struct Fleet {
    home: Home,
    agents: Vec<Agent>,
}

/// Numbers of the agents' sockets.
const NUMBERS: [u16; 2] = [1, 2];

impl Fleet {
    fn start(more: &str) -> Fleet {
        let home = Home::new();
        let agents = NUMBERS.iter().map(|number| host(&home, *number, more)).collect();
        Fleet { home, agents }
    }

    fn names(&self) -> String {
        NUMBERS.map(|number| socket(&self.home, number)).join(",")
    }

    /// Returns mounts of the agents' hosts, and loop devices, below the directory of the test.
    fn left(&self) -> Vec<String> {
        let pids = self.agents.iter().map(|agent| agent.child.id());
        let mounts = pids.map(|pid| std::fs::read_to_string(format!("/proc/{pid}/mounts")).unwrap_or_default());
        below(&self.home, mounts.collect::<String>() + &loops())
    }
}

fn loops() -> String {
    system("losetup", &["--list", "--noheadings", "--output", "NAME,BACK-FILE"])
}

fn below(home: &Home, lines: String) -> Vec<String> {
    let dir = home.work().display().to_string();
    lines.lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect()
}

fn host(home: &Home, number: u16, more: &str) -> Agent {
    let plain = home.command(format!("agent --listen {} {more}", socket(home, number)).split_whitespace());
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(plain.get_program()).args(plain.get_args());
    command.current_dir(home.work());
    for (name, value) in plain.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("XDG_STATE_HOME", home.work().parent().unwrap().join(format!("state{number}")));
    Agent::start(command, &home.work().join(format!("agent{number}.log")))
}

/// Two file systems on a loop device, on which a small file is read.
fn study(home: &Home, time: &str) -> String {
    let dir = home.work();
    let dir = dir.display();
    format!(
        "[experiment]\nname = \"built\"\nquestion = \"Which?\"\n\
         [[factor]]\nname = \"fs\"\nlevels = [\"ext4\", \"xfs\"]\nchange = \"hard\"\n\
         [[provision]]\nkind = \"loop\"\nname = \"disk\"\ndirectory = \"{dir}\"\nsize = \"400MiB\"\n\
         [[provision]]\nkind = \"mkfs\"\nfs = \"${{fs}}\"\ndevice = \"@disk\"\nmount = \"{dir}/mnt\"\nmount-options = [\"noatime\"]\n\
         [workload]\nrandom-read = {{ size = \"1MiB\", cache = \"warm\", time = \"{time}\" }}\n\
         [design]\nplots = 2\nrepeat = 2\nunder-load = true\n[compare]\nby = \"fs\"\nmetrics = [\"read.iops\"]\n"
    )
}

fn here() -> bool {
    needs::root_and(&["losetup", "mkfs.ext4", "mkfs.xfs", "mount", "unshare"])
}

fn statuses(home: &Home) -> Vec<String> {
    let rows = home.query("SELECT status FROM study_run ORDER BY study_id, seq");
    rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
}

fn has_value(status: &str) -> bool {
    ["done", "rejected"].contains(&status)
}

// Protects studies that build on agents: both hosts build each system, both measure in it, and nothing is left.
#[test]
fn root_both_hosts_build_and_measure() {
    if !here() {
        return;
    }
    let fleet = Fleet::start("--allow-build");
    let home = &fleet.home;
    home.file("s.toml", &study(home, "100ms"));
    let hosts = format!("--hosts {}", fleet.names());
    home.plumb(&format!("study plan s.toml {hosts} --check"))
        .expect(0)
        .expect_stdout(&["2 hosts by their agents: 2 plots built and taken down", "No problem found"]);
    assert_eq!(fleet.left(), [""; 0]);
    let output = home.plumb(&format!("study run s.toml {hosts} --json --under-load"));
    assert!([0, 3].contains(&output.code), "{output:?}");
    let report = output.json();
    if report["counts"]["cells_with_value"] == 2 {
        assert_eq!(report["contrasts"].as_array().unwrap().len(), 1, "{report}");
    } else {
        needs::not_shown("the load of this machine left no two file systems to compare");
    }
    assert!(statuses(home).iter().all(|status| has_value(status)), "{:?}", statuses(home));
    let (mut systems, mount) = (BTreeSet::new(), home.work().join("mnt").display().to_string());
    for row in home.query("SELECT run_id FROM study_run WHERE run_id IS NOT NULL ORDER BY seq") {
        let run = home.plumb(&format!("show {} --json", row[0].as_str().unwrap())).expect_measured().json();
        assert_eq!(run["ranks"]["count"], 2);
        for target in run["target"].as_object().unwrap().values() {
            let found = &target["filesystem"]["yes"];
            assert_eq!(found["mount_point"], mount, "{found}");
            let options: Vec<&str> = found["options"].as_array().unwrap().iter().map(|o| o.as_str().unwrap()).collect();
            assert!(["noatime", "nosuid", "nodev"].iter().all(|option| options.contains(option)), "{options:?}");
            systems.insert(found["kind"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(systems, BTreeSet::from(["ext4", "xfs"].map(str::to_owned)));
    assert_eq!(fleet.left(), [""; 0]);
    assert!(!home.work().join("mnt").exists());
    wait_until("no process is left", || fleet.agents.iter().all(|agent| agent.sessions().is_empty()));
}

// Protects hosts that a network reaches: a client with keys builds over its encrypted connection, and an agent that loses
// the client takes the system down.
#[test]
fn root_a_client_with_keys_builds() {
    if !here() {
        return;
    }
    let home = Home::new();
    home.plumb("agent --init keys").expect(0);
    let port = free_port();
    let agent = Agent::with_keys(&home, port, "--allow-build");
    home.file("s.toml", &study(&home, "100ms"));
    let hosts = format!("--hosts 127.0.0.1:{port} --hosts-keys keys/client.keys");
    home.plumb(&format!("study plan s.toml {hosts} --check"))
        .expect(0)
        .expect_stdout(&["1 host by their agents: 2 plots built and taken down", "No problem found"]);
    home.file("long.toml", &study(&home, "60s"));
    let mut child = home.start(&format!("study run long.toml {hosts}"));
    let is_mounted = || !below(&home, std::fs::read_to_string("/proc/mounts").unwrap()).is_empty();
    wait_until("a host measures", || is_mounted() && agent.sessions().len() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("nothing is mounted or attached", || !is_mounted() && below(&home, loops()).is_empty());
    wait_until("no process is left", || agent.sessions().is_empty());
}

// Protects a host whose agent is killed under a study, and the study: the system is taken down at once, the study ends
// and names the host, and it is resumed once the agent is back.
#[test]
fn root_a_killed_agent_leaves_nothing_and_the_study_is_resumed() {
    if !here() {
        return;
    }
    let mut fleet = Fleet::start("--allow-build");
    let names = fleet.names();
    fleet.home.file("s.toml", &study(&fleet.home, "2s"));
    let child = fleet.home.start(&format!("study run s.toml --hosts {names}"));
    let is_measuring = |fleet: &Fleet| fleet.agents.iter().all(|agent| agent.sessions().len() >= 2);
    wait_until("both hosts measure", || is_measuring(&fleet));
    assert_eq!(fleet.left().len(), 4, "each host has a loop device and a mount: {:?}", fleet.left());
    // SIGKILL.
    drop(fleet.agents.pop());
    let output = CommandOutput::from_output("study run".to_owned(), child.wait_with_output().unwrap()).expect(4);
    output.expect_stderr(&["agent2.sock", "resume --failed"]);
    wait_until("nothing is attached", || fleet.left().is_empty());
    assert!(statuses(&fleet.home).iter().any(|status| status == "failed"));
    fleet.agents.push(host(&fleet.home, NUMBERS[1], "--allow-build"));
    let output = fleet.home.plumb("study resume --failed");
    assert!([0, 3].contains(&output.code), "{output:?}");
    let runs = fleet.home.query("SELECT status, attempts, reason FROM study_run");
    assert!(statuses(&fleet.home).iter().all(|status| has_value(status)), "{runs:?}\n{output:?}");
    assert_eq!(fleet.left(), [""; 0]);
}

// Protects a host on which everything of the agent is killed at once: the next agent takes down what is left.
#[test]
fn root_the_next_agent_takes_down_what_a_killed_one_left() {
    if !here() {
        return;
    }
    let home = Home::new();
    let mut agent = host(&home, 1, "--allow-build");
    let mut client = Client::connect(&home, 1);
    let steps = json!([{ "kind": "loop", "name": "disk", "directory": home.work(), "size": "16MiB" },
                       { "kind": "mkfs", "fs": "ext4", "device": "@disk", "mount": home.work().join("mnt") }]);
    assert_eq!(client.build(steps, json!({}))["reply"], "built");
    assert_eq!(below(&home, loops()).len(), 1);
    for pid in agent.sessions() {
        system("kill", &["-KILL", &pid.to_string()]);
    }
    agent.child.kill().unwrap();
    agent.child.wait().unwrap();
    assert_eq!(below(&home, loops()).len(), 1, "the test must leave something");
    let again = host(&home, 1, "--allow-build");
    assert!(again.read_log().contains("took down what process"), "{}", again.read_log());
    assert_eq!(below(&home, loops()), [""; 0]);
    assert!(
        !std::fs::read_dir(home.work())
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("plumb-lab-") })
    );
}

/// A client of an agent that builds, which sends what it wants.
struct Client {
    stream: UnixStream,
    replies: BufReader<UnixStream>,
}

impl Client {
    fn connect(home: &Home, number: u16) -> Client {
        let path = socket(home, number);
        let mut stream = UnixStream::connect(path.strip_prefix("unix:").unwrap()).unwrap();
        stream.write_all(b"plumb-agent-build 1 0.0.0\n").unwrap();
        let mut replies = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        replies.read_line(&mut line).unwrap();
        assert!(line.starts_with("plumb-agent-build 1-1 ") && line.ends_with(" ok\n"), "{line}");
        Client { stream, replies }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.write_all(b"\n").unwrap();
    }

    /// Returns the next reply that is not progress.
    fn reply(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.replies.read_line(&mut line).unwrap() > 0, "the agent closed the connection");
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["reply"] != "progress" {
                return reply;
            }
        }
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.send(request.to_string().as_bytes());
        self.reply()
    }

    fn build(&mut self, steps: Value, safety: Value) -> Value {
        self.ask(&json!({ "ask": "build", "tag": "test/0", "steps": steps, "safety": safety }))
    }

    #[track_caller]
    fn is_refused(&mut self, steps: Value, safety: Value, part: &str) {
        let reply = self.build(steps.clone(), safety);
        assert_eq!((&reply["reply"], &reply["refused"]), (&"failed".into(), &true.into()), "{steps}: {reply}");
        assert!(reply["reason"].as_str().unwrap().contains(part), "{steps}: {reply}");
    }
}

// Protects a host from clients that send what no study sends: nothing is built, mounted or written, and the agent goes on.
#[test]
fn hostile_requests_build_nothing() {
    let home = Home::new();
    for name in ["in", "out"] {
        std::fs::create_dir(home.work().join(name)).unwrap();
    }
    std::os::unix::fs::symlink(home.work().join("out"), home.work().join("in/link")).unwrap();
    let _agent = Agent::local(&home, 1, "--allow in --allow-build");
    let mut client = Client::connect(&home, 1);
    let at = |name: &str| home.work().join(name).display().to_string();
    for path in ["out", "in/../out", "in/link", "in/link/x", "in/new/../../out/x"] {
        let tmpfs = json!([{ "kind": "tmpfs", "size": "1MiB", "mount": at(path) }]);
        client.is_refused(tmpfs, json!({}), "the agent builds only below");
        let image = json!([{ "kind": "loop", "directory": at(path), "size": "1MiB" }]);
        client.is_refused(image, json!({}), "the agent builds only below");
        let work = json!([{ "name": "w", "place": { "directory": at(path) }, "bytes": 1 }]);
        let inspected =
            client.ask(&json!({ "ask": "inspect", "builds": [{ "steps": [], "work": work }], "safety": {} }));
        assert!(inspected["objections"][0]["text"].as_str().unwrap().contains("builds only below"), "{inspected}");
        // Free space is not told, either.
        let fits = client.ask(
            &json!({ "ask": "fits", "work": [{ "name": "w", "place": { "directory": at(path) }, "bytes": u64::MAX }] }),
        );
        assert_eq!(fits["objections"], json!([]), "{path}");
    }
    let program = home.file("in/program", "#!/bin/sh\ntouch ran\n");
    system("chmod", &["755", program.to_str().unwrap()]);
    let needs_exec = "`--allow-exec` next to `--allow-build`";
    client.is_refused(json!([{ "kind": "cmd", "run": at("in/program") }]), json!({}), needs_exec);
    client.is_refused(json!([{ "kind": "cmd", "run": "true", "undo": at("in/program") }]), json!({}), needs_exec);
    for fs in [at("in/program"), "../../in/program".to_owned(), "ext4 -d /etc".to_owned()] {
        let mkfs = json!([{ "kind": "mkfs", "fs": fs, "device": "@disk", "mount": at("in/m") }]);
        let reply = client.build(mkfs, json!({}));
        assert_eq!(reply["reply"], "failed", "{fs}: {reply}");
        let mount = json!([{ "kind": "mount", "fs": fs, "device": "@disk", "mount": at("in/m") }]);
        client.is_refused(mount, json!({}), needs_exec);
    }
    let safety = json!({ "expendable": [{ "path": "/dev/null" }], "typed": "/" });
    for device in ["/dev/null", "/dev/mem", "/dev/no-such"] {
        let mkfs = json!([{ "kind": "mkfs", "fs": "ext4", "device": device }]);
        client.is_refused(mkfs, safety.clone(), &format!("its owner names it with `--allow-build {device}`"));
    }
    for device in [at("in/link"), "/dev/../etc/passwd".to_owned(), "/dev/a\nb".to_owned()] {
        client.is_refused(json!([{ "kind": "mkfs", "fs": "ext4", "device": device }]), safety.clone(), "write");
    }
    let job = json!({ "ask": "run", "work": { "native": { "toml": "" } }, "dir": at("in"), "seed": 1, "timeout_s": 1 });
    assert!(client.ask(&job)["reason"].as_str().unwrap().contains("only builds"));
    for text in ["", "{}", "[", "{\"ask\":\"destroy\"}", "{\"ask\":\"build\",\"steps\":[{\"kind\":\"x\"}]}", "null"] {
        if !text.is_empty() {
            client.send(text.as_bytes());
            assert_eq!(client.reply()["reply"], "failed", "{text}");
        }
    }
    assert_eq!(client.ask(&json!({ "ask": "undo" }))["reply"], "undone");
    // Bytes other than text end the connection, and only that.
    client.send(b"\xff\xfe");
    let mut rest = String::new();
    client.replies.read_line(&mut rest).unwrap();
    assert_eq!(rest, "");
    Client::connect(&home, 1);
    assert!(!home.work().join("ran").exists() && !home.work().join("in/ran").exists());
    assert_eq!(std::fs::read_dir(home.work().join("out")).unwrap().count(), 0);
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    assert_eq!(below(&home, mounts), [""; 0]);
}

// Protects the devices of a host: a study's own list opens none that the owner did not name, and one that is mounted, or
// has a file system that was not named, stays as it is even if the owner did.
#[test]
fn root_only_named_devices_are_destroyed() {
    if !here() {
        return;
    }
    let home = Home::new();
    let (named, other, used) = (Loop::new(64 << 20), Loop::new(64 << 20), Loop::new(64 << 20));
    system("mkfs.ext4", &["-q", used.device()]);
    let _agent = Agent::local(&home, 1, &format!("--allow-build {},{}", named.device(), used.device()));
    let mut client = Client::connect(&home, 1);
    let mkfs =
        |device: &str| json!([{ "kind": "mkfs", "fs": "ext4", "device": device, "mount": home.work().join("mnt") }]);
    let listed = |device: &str| json!({ "expendable": [{ "path": device }] });
    let before = std::fs::read(other.device()).unwrap();
    client.is_refused(mkfs(other.device()), listed(other.device()), "does not let clients destroy");
    client.is_refused(mkfs("@expendable"), listed(other.device()), "does not let clients destroy");
    // The study must list it as well.
    let reply = client.build(mkfs(named.device()), json!({}));
    assert_eq!(reply["reply"], "failed", "{reply}");
    let reply = client.build(mkfs(used.device()), listed(used.device()));
    assert!(reply["reason"].as_str().unwrap().contains("ext4"), "{reply}");
    let busy = home.work().join("busy");
    std::fs::create_dir(&busy).unwrap();
    system("mount", &[used.device(), busy.to_str().unwrap()]);
    let serial = format!("loop:{}", used.image().display());
    let typed = json!({ "expendable": [{ "path": used.device() }], "typed": format!("{serial},{}", used.device()) });
    let reply = client.build(mkfs(used.device()), typed);
    system("umount", &[busy.to_str().unwrap()]);
    assert!(reply["reason"].as_str().unwrap().contains("mounted"), "{reply}");
    let built = client.build(mkfs("@expendable"), listed(named.device()));
    assert_eq!(built["reply"], "built", "{built}");
    // The end of the connection takes it down.
    drop(client);
    let is_mounted = || !below(&home, std::fs::read_to_string("/proc/mounts").unwrap()).is_empty();
    wait_until("nothing is mounted", || !is_mounted());
    assert!(std::fs::read(other.device()).unwrap() == before);
}

// Protects the owner from a wrong option, and from clients that could write the journals of what is to be undone.
#[test]
fn an_agent_that_builds_is_started_carefully() {
    let home = Home::new();
    let start = |more: &str| home.plumb(&format!("agent --listen {} {more}", socket(&home, 1)));
    start("--allow-build /dev/no-such-device")
        .expect(2)
        .expect_stderr(&["--allow-build /dev/no-such-device", "block devices"]);
    start("--allow-build /dev/null").expect(2).expect_stderr(&["not a block device"]);
    home.file("disk", "");
    start("--allow-build disk").expect(2).expect_stderr(&["the path is relative"]);
    start("--allow / --allow-build").expect(2).expect_stderr(&["hold commands that this user runs", "XDG_STATE_HOME"]);
    home.plumb("agent --init keys --allow-build").expect(2);
    assert!(!Path::new(socket(&home, 1).strip_prefix("unix:").unwrap()).exists());
}
