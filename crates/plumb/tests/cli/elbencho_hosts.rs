//! `plumb as elbencho --hosts`: services on loopback ports, coordinated from here.

use crate::agents::Agent;
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, wait_until};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

/// Two services in the working directory of a home.
struct Services {
    agents: Vec<Agent>,
    ports: [u16; 2],
    home: Home,
}

impl Services {
    fn start() -> Services {
        let home = Home::new();
        let ports = [free_port(), free_port()];
        let agents = ports.map(|port| {
            let line = format!("as elbencho --service --foreground --port {port}");
            let mut command = home.command(line.split(' '));
            command.env("PLUMB_AGENT_ALLOW", home.work());
            Agent::start(command, &home.work().join(format!("{port}.log")))
        });
        Services { agents: agents.into(), ports, home }
    }

    fn hosts(&self) -> String {
        self.ports.map(|port| format!("127.0.0.1:{port}")).join(",")
    }

    fn command(&self, words: &str) -> Command {
        self.home.command(format!("as elbencho --nolive --hosts {} {words}", self.hosts()).split_whitespace())
    }

    fn lead(&self, words: &str) -> CommandOutput {
        CommandOutput::run(self.command(words))
    }

    /// Starts a long command and waits until both services work on it.
    fn begin(&self, words: &str) -> Child {
        let child = self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("both services work", || self.agents.iter().all(|agent| !agent.sessions().is_empty()));
        std::thread::sleep(std::time::Duration::from_secs(2));
        child
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.home.work().join(name)
    }

    /// Returns the phases in a file of `--jsonfile`.
    fn json(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.file(name)).unwrap();
        text.lines().map(|line| plumb_document::json::from_str(line).unwrap()).collect()
    }
}

fn ended(child: Child) -> CommandOutput {
    CommandOutput::from_output("elbencho".to_owned(), child.wait_with_output().unwrap())
}

// Protects shared files: each service writes and verifies its own half of one file, and no block is left out.
#[test]
fn a_file_is_divided_among_services() {
    let services = Services::start();
    let words =
        "-w -r -t 2 -s 1m -b 16k --verify 7 --log 1 --svcelapsed --allelapsed --csvfile r.csv --jsonfile r.json f";
    let out = services.lead(words).expect(0).out;
    for name in ["WRITE", "READ"] {
        assert!(out.contains(&format!("\n{name} ")), "{out}");
    }
    assert_eq!(out.matches("Svc compl. time").count(), 2, "{out}");
    let each: Vec<&str> = out.lines().filter(|line| line.contains("Time ms each")).collect();
    assert!(each.iter().all(|line| line.split(['[', ']']).nth(1).unwrap().split_whitespace().count() == 4), "{out}");
    let reported = services.json("r.json");
    assert_eq!(reported.len(), 2);
    for phase in &reported {
        let config = &phase["config"];
        assert_eq!((&config["hosts"], &config["threads"]), (&"2".into(), &"2".into()), "{config}");
        assert_eq!(config["shared_service_paths"], "true");
        assert_eq!(phase["last_done"]["bytes"], "1048576");
        let first: u64 = phase["first_done"]["bytes"].as_str().unwrap().parse().unwrap();
        assert!(first > 0 && first <= 1 << 20, "{phase}");
    }
    let csv = std::fs::read_to_string(services.file("r.csv")).unwrap();
    let row: Vec<&str> = csv.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((row.len(), row[4], row[5], row[14]), (55, "2", "2", "1"), "{csv}");
    let written = std::fs::read(services.file("f")).unwrap();
    assert_eq!(written.len(), 1 << 20);
    for (word, at) in written.as_chunks::<8>().0.iter().zip((0u64..).step_by(8)) {
        assert_eq!(u64::from_ne_bytes(*word), at + 7, "byte {at}");
    }
    // Files that both create at the same time are created once.
    for _ in 0..3 {
        services.lead("-w -s 8k -b 4k new[1-100]").expect(0);
        (1..=100).for_each(|number| std::fs::remove_file(services.file(&format!("new{number}"))).unwrap());
    }
    services.lead("-r -s 1m -b 16k f").expect(0);
    // A single result for both, under the names as typed.
    let last = services.home.plumb("show last --json").expect_measured().json();
    let hosts: Vec<&str> =
        last["ranks"]["hosts"].as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(hosts.join(","), services.hosts());
}

// Protects data sets of directories: rank numbers continue from service to service, unless each has the whole set.
#[test]
fn directories_are_numbered_across_services() {
    let services = Services::start();
    std::fs::create_dir(services.file("d")).unwrap();
    let all = "-t 2 -n 2 -N 3 -s 8k -b 4k --lat --jsonfile r.json d";
    services.lead(&format!("-d -w --stat -r {all}")).expect(0);
    for rank in 0..4 {
        for place in ["d0", "d1"] {
            let found = std::fs::read_dir(services.file(&format!("d/r{rank}/{place}"))).unwrap();
            let files: Vec<_> = found.flatten().map(|entry| entry.metadata().unwrap().len()).collect();
            assert_eq!(files, [8192; 3], "r{rank}/{place}");
        }
    }
    assert!(!services.file("d/r4").exists());
    services.lead(&format!("-F -D {all}")).expect(0);
    assert_eq!(std::fs::read_dir(services.file("d")).unwrap().count(), 0);
    let reported = services.json("r.json");
    let entries: Vec<&str> = reported.iter().map(|phase| phase["last_done"]["entries"].as_str().unwrap()).collect();
    // Rank directories do not count as entries.
    assert_eq!(entries, ["8", "24", "24", "24", "24", "8"]);
    assert_eq!(reported[1]["last_done"]["bytes"], (24 * 8192).to_string());
    assert!(reported[0]["last_done"]["latency"]["entries"]["max_us"].is_string(), "{}", reported[0]);
    // Without sharing, both do the same, and only the first finds an empty directory.
    services.lead("--nosvcshare -d -w -n 1 -N 2 -s 8k -b 4k --jsonfile own.json d").expect(0);
    let own = services.json("own.json");
    assert_eq!(
        (&own[1]["last_done"]["entries"], &own[1]["config"]["shared_service_paths"]),
        (&"4".into(), &"false".into())
    );
    assert!(services.file("d/r0/d0/r0-f1").exists() && !services.file("d/r1").exists());
}

// Protects measurements of files that others wrote: hosts are rotated, and so are their ranks.
#[test]
fn hosts_are_rotated_between_phases() {
    let services = Services::start();
    services
        .lead("--rotatehosts 1 --sync -w -r -s 1m -b 64k --verify 1 f")
        .expect(0)
        .expect_stdout(&["SYNC", "WRITE", "READ"]);
    let last = services.home.plumb("show last --json").expect_measured().json();
    let names = |phase: usize| -> Vec<String> {
        let workers = last["workload"]["phase"][phase]["workers"].as_array().unwrap();
        workers.iter().map(|group| group["name"].as_str().unwrap().to_owned()).collect()
    };
    let [one, two] = services.ports;
    assert_eq!(names(0), [format!("r0@127.0.0.1:{one}"), format!("r1@127.0.0.1:{two}")]);
    assert_eq!(names(1), [format!("r1@127.0.0.1:{one}"), format!("r0@127.0.0.1:{two}")]);
    // A list, a file, and a subset of them.
    services.home.file("hosts", &format!("#none\n127.0.0.1:{one}\n127.0.0.1:{two}\n"));
    let few = services.home.plumb("as elbencho --hostsfile hosts --numhosts 1 -r -s 1m -b 64k --jsonfile one.json f");
    few.expect(0);
    assert_eq!(services.json("one.json")[0]["config"]["hosts"], "1");
    services.home.plumb("as elbencho --hostsfile none -r -s 1m f").expect(1).expect_stderr(&["--hostsfile"]);
    let range = format!("as elbencho --hosts 127.0.0.1:[{one},{two}] --dryrun -w -d -n 2 -N 3 -s 1k -b 1k .");
    services.home.plumb(&range).expect(0).expect_stdout(&[
        "Entries per service: 6",
        "Entries total: 12",
        "Bytes total: 12288",
    ]);
}

// Protects users who stop a benchmark: the phase ends with its numbers, and the services run until they are ended.
#[test]
fn services_are_interrupted_and_ended() {
    let mut services = Services::start();
    services.lead("-w -s 1m -b 64k f").expect(0);
    let running = services.begin("-r -F --infloop --timelimit 120 -s 1m -b 64k f");
    let reported = services.lead("--interrupt").expect(0);
    assert_eq!(reported.out.matches(": OK\n").count(), 2, "{}", reported.out);
    ended(running).expect(1).expect_stdout(&["READ", "Total MiB"]).expect_stderr(&["interrupted"]);
    assert!(services.file("f").exists(), "the phase behind it was begun");
    services.lead("-r -s 1m -b 64k f").expect(0);
    // An agent that is not a service obeys nobody.
    let port = free_port();
    services.home.plumb("agent --init keys").expect(0);
    let mut other = Agent::with_keys(&services.home, port, "");
    let mut quit = services.home.command(format!("as elbencho --hosts 127.0.0.1:{port} --quit").split(' '));
    quit.env("PLUMB_HOSTS_KEYS", "keys/client.keys");
    CommandOutput::run(quit).expect(1).expect_stderr(&["was not started as a service"]);
    assert!(other.child.try_wait().unwrap().is_none());
    services.lead("--quit").expect(0);
    for agent in &mut services.agents {
        wait_until("it has ended", || agent.child.try_wait().unwrap().is_some());
    }
    services.lead("--quit").expect(1).expect_stderr(&["no service answers there"]);
    services.lead("--svcwait 0 -r -s 1m f").expect(1).expect_stderr(&["host 127.0.0.1:"]);
    services.lead("--svcwait 1 -r -s 1m f").expect(1).expect_stderr(&["no service answers at 127.0.0.1:", "--svcwait"]);
}

// Protects measurements when a service dies: it is named, the others' numbers are
// printed and stored, and no phase follows.
#[test]
fn a_lost_service_is_named_and_the_others_numbers_are_kept() {
    let services = Services::start();
    services.lead("-w -s 1m -b 64k f").expect(0);
    let running = services.begin("-r -F --infloop --timelimit 6 -s 1m -b 64k --csvfile r.csv f");
    let pids = services.agents[1].sessions();
    assert!(Command::new("kill").arg("-KILL").args(pids.iter().map(u32::to_string)).status().unwrap().success());
    let lost = format!("host 127.0.0.1:{} is lost: its connection ended", services.ports[1]);
    let output = ended(running).expect(1).expect_stderr(&[&lost]).expect_stdout(&["READ"]);
    assert!(!output.out.contains("RMFILES"), "{}", output.out);
    assert!(services.file("f").exists(), "the phase behind it was begun");
    let csv = std::fs::read_to_string(services.file("r.csv")).unwrap();
    assert_eq!(csv.lines().nth(1).unwrap().split(',').nth(4), Some("1"), "{csv}");
    let last = services.home.plumb("show last --json").expect_measured().json();
    assert!(last["partial"].as_bool().unwrap() && last["error"].as_str().unwrap().contains(&lost), "{}", last["error"]);
    wait_until("no process is left", || services.agents.iter().all(|agent| agent.sessions().is_empty()));
}

// Protects phases after one that reached its time limit: none begins on any service, and the run is complete.
#[test]
fn a_time_limit_ends_the_benchmark_on_all_services() {
    let services = Services::start();
    services.lead("-w -s 1m -b 64k f").expect(0);
    let output = services.lead("-r -F --infloop --timelimit 1 -s 1m -b 64k --plumb-quiet f").expect(0);
    assert!(!output.out.contains("RMFILES"), "{}", output.out);
    assert_eq!(output.expect_stdout(&["Terminating due to phase time limit."]).err, "");
    assert!(services.file("f").exists());
    let last = services.home.plumb("show last --json").expect_measured().json();
    assert!(last["error"].is_null(), "{}", last["error"]);
}

// Protects services from their coordinator, and the coordinator from errors without a host name.
#[test]
fn a_service_has_rules_of_its_own() {
    let services = Services::start();
    services
        .lead("-w -s 1m /tmp/plumb-elbencho-none")
        .expect(1)
        .expect_stderr(&["the service does not allow", "PLUMB_AGENT_ALLOW"]);
    services.lead("-w -s 1m --dropcache f").expect(1).expect_stderr(&["--dropcache: a service does not drop caches"]);
    services.lead("-w -s 1k -b 1k -t 5000 .").expect(1).expect_stderr(&["more than a service runs"]);
    services.lead("-w -s 1m sim:ssd").expect(1).expect_stderr(&["no simulated devices"]);
    services.lead("-r -s 1m none/f").expect(1).expect_stderr(&["none/f does not exist"]);
    assert!(!services.file("f").exists());
    // An error names its service, and the paths of all hosts must be alike.
    std::fs::create_dir_all(services.file("d/r0/d0")).unwrap();
    let fault = services.lead("-w -n 1 -N 1 -s 4k -b 4k d").expect(1);
    fault.expect_stderr(&[&format!("127.0.0.1:{}: open of ", services.ports[1]), "d/r1/d0/r1-f0"]);
    // The coordinator provides the tree; a service without a share of it waits.
    services.home.file("tree", "d a\nf 1000 a/x\n");
    std::fs::create_dir(services.file("t")).unwrap();
    services.lead("-d -w --treefile tree --jsonfile t.json t").expect(0);
    let reported = services.json("t.json");
    assert_eq!(
        (&reported[1]["last_done"]["entries"], &reported[1]["last_done"]["bytes"]),
        (&"1".into(), &"1000".into())
    );
    assert_eq!(std::fs::metadata(services.file("t/a/x")).unwrap().len(), 1000);
}

// Protects users of a real client, and of a host with another program: each end reports what it met.
#[test]
fn a_real_client_and_other_programs_get_a_clear_refusal() {
    let services = Services::start();
    // The real one first asks whether the service is ready, and prints the answer to the phase that it prepares.
    for (request, status) in [("GET /status", "200"), ("POST /preparephase?ProtocolVersion=3.1.3&PwHash=", "501")] {
        let mut master = TcpStream::connect(("127.0.0.1", services.ports[0])).unwrap();
        master.write_all(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = master.read_to_string(&mut answer);
        let is_reported = answer.contains("both ends must be `plumb as elbencho`");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && is_reported, "{answer}");
    }
    let real = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = real.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = real.accept().unwrap();
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let output = services.home.plumb(&format!("as elbencho --svcwait 0 --hosts 127.0.0.1:{port} -w -s 1m f"));
    output
        .expect(1)
        .expect_stderr(&["speaks HTTP, and answers /protocolversion with", "no elbencho service listens there"]);
    serving.join().unwrap();
    // A real service answers, unless it prepares for another client.
    let silent = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = silent.local_addr().unwrap().port();
    let output = services.home.plumb(&format!("as elbencho --svcwait 0 --hosts 127.0.0.1:{port} -w -s 1m f"));
    output.expect(1).expect_stderr(&["does not answer", "both ends must be Plumb"]);
}

// Protects services that run in the background, and services for other hosts, with keys.
#[test]
fn a_service_with_keys_serves_those_who_have_them() {
    let home = Home::new();
    home.plumb("agent --init keys").expect(0);
    let port = free_port();
    let with = |name: &str, keys: &str, words: &str| {
        let line = format!("as elbencho --port {port} {words}");
        let mut command = home.command(line.split_whitespace());
        CommandOutput::run({
            command.env(name, keys);
            command
        })
    };
    with("PLUMB_AGENT_KEYS", "keys/server.keys", "--service")
        .expect(0)
        .expect_stdout(&["Running in background. PID: ", "0.0.0.0"]);
    with("PLUMB_AGENT_KEYS", "keys/server.keys", "--service").expect(4).expect_stderr(&["cannot listen"]);
    let lead = |words: &str| with("PLUMB_HOSTS_KEYS", "keys/client.keys", &format!("--hosts 127.0.0.1 {words}"));
    lead("--nolive -w -s 1m -b 64k f").expect(0).expect_stdout(&["WRITE"]);
    home.plumb(&format!("as elbencho --port {port} --hosts 127.0.0.1 --quit"))
        .expect(1)
        .expect_stderr(&["that have its keys"]);
    lead("--quit").expect(0).expect_stdout(&[&format!("127.0.0.1:{port}: OK")]);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
