//! Hosts without MPI: agents on loopback, access to them, and their reaction to misuse.

use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, assert_no_test_data, metric, needs, wait_until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An agent that ends with the test.
pub(crate) struct Agent {
    pub child: Child,
    log: std::path::PathBuf,
}

impl Agent {
    /// Starts an agent and waits until it reports that it listens.
    pub(crate) fn start(mut command: Command, log: &Path) -> Agent {
        let file = std::fs::File::create(log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let agent = Agent { child, log: log.to_owned() };
        wait_until("the agent listens", || agent.read_log().contains("listening on"));
        agent
    }

    /// Starts an agent without keys, at [`socket`].
    pub(crate) fn local(home: &Home, number: u16, more: &str) -> Agent {
        Agent::listening(home, &socket(home, number), number, more)
    }

    /// Starts an agent with keys on a loopback port.
    pub(crate) fn with_keys(home: &Home, port: u16, more: &str) -> Agent {
        Agent::listening(home, &format!("127.0.0.1:{port}"), port, &format!("--keys keys/server.keys {more}"))
    }

    fn listening(home: &Home, at: &str, number: u16, more: &str) -> Agent {
        let line = format!("agent --listen {at} {more}");
        Agent::start(home.command(line.split_whitespace()), &home.work().join(format!("agent{number}.log")))
    }

    /// Returns its standard error so far.
    pub(crate) fn read_log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Returns the PIDs of its clients' processes.
    pub(crate) fn sessions(&self) -> Vec<u32> {
        let all = format!("/proc/{0}/task", self.child.id());
        let children =
            |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        let all = std::fs::read_dir(all).into_iter().flatten().flatten().map(children).collect::<String>();
        all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

/// Returns the `--hosts` value for [`Agent::local`].
pub(crate) fn socket(home: &Home, number: u16) -> String {
    format!("unix:{}/agent{number}.sock", home.work().display())
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A short workload that writes its files itself and reads them back.
pub(crate) const WORKLOAD: &str = "name = \"w\"\n[target.data.file]\npath = \"data\"\nsize = \"8MiB\"\n[[phase]]\nname = \"read\"\n\
                        stop.time = \"1s\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.mix.read = 1\n";

// Protects the path from `--hosts` to one result: both hosts are measured, named and added up, the client's host is not
// one of them, and nothing is left behind.
#[test]
fn a_run_is_made_by_its_hosts() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    let ports = [free_port(), free_port()];
    let agents = ports.map(|port| Agent::local(&home, port, ""));
    let names = ports.map(|port| socket(&home, port));
    home.file("hosts", &format!("{}  # one\n\n# none\n{}\n", names[0], names[1]));
    let result = home.plumb("run w.toml --hosts-file hosts --json").expect_measured().json();
    let ranks = &result["ranks"];
    assert_eq!((&ranks["transport"], &ranks["count"]), (&"agents".into(), &2.into()));
    let found: Vec<&str> =
        ranks["hosts"].as_array().unwrap().iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(found, names);
    let done = &result["phases"][0]["ranks"];
    assert_eq!(done["ranks"], 2, "{done}");
    assert!(metric(&result, "read", "read.iops")["value"].as_f64().unwrap() > 0.0);
    assert!(result["environment"]["kernel"].is_string());
    assert_no_test_data(&home.work());
    wait_until("no process is left", || agents.iter().all(|agent| agent.sessions().is_empty()));
    // Several runs over the same connections.
    let compared = home.plumb(&format!("run w.toml --hosts {} --runs 2", names.join(","))).expect_measured();
    assert!(compared.out.contains("2 ranks on 2 hosts"), "{}", compared.out);
}

// Protects a host from its clients: they use only what the agent was started with, and start no programs.
#[test]
fn an_agent_has_rules_of_its_own() {
    let home = Home::new();
    let port = free_port();
    std::fs::create_dir(home.work().join("in")).unwrap();
    std::fs::create_dir(home.work().join("out")).unwrap();
    std::os::unix::fs::symlink(home.work().join("out"), home.work().join("in/link")).unwrap();
    let _agent = Agent::local(&home, port, "--allow in");
    let run = |more: &str| home.plumb(&format!("run w.toml --hosts {} {more}", socket(&home, port)));
    home.file("w.toml", WORKLOAD);
    run("--at in").expect_measured();
    for out in ["out", "in/../out", "in/link", "/", "in/link/none"] {
        run(&format!("--at {out}")).expect(4).expect_stderr(&["the agent does not allow `", "--allow PATH"]);
    }
    let outside = WORKLOAD.replace("\"data\"\nsize", &format!("\"{}\"\nsize", home.work().join("out/data").display()));
    home.file("w.toml", &outside);
    run("--at in").expect(4).expect_stderr(&["the agent does not allow `", "out/data"]);
    assert!(!home.work().join("out/data").exists());
    // Permission to overwrite on the client is not permission on the agent's host.
    home.file("in/kept", &"x".repeat(9 << 20));
    let over = WORKLOAD.replace("\"data\"\nsize", &format!("\"{}\"\nsize", home.work().join("in/kept").display()));
    home.file("w.toml", &over.replace("mix.read", "mix.write"));
    let refused = run(&format!("--at in --plumb-allow {}", home.work().join("in/kept").display()));
    assert!(refused.code == 4 || refused.code == 5, "{refused:?}");
    assert!(std::fs::read(home.work().join("in/kept")).unwrap().iter().all(|byte| *byte == b'x'));
    let program = "[[phase.companions]]\nname = \"p\"\ndoes.exec = { program = \"touch ran\", arguments = \"\", grace = \"1s\" }\n";
    home.file("w.toml", &format!("{WORKLOAD}{program}"));
    run("--at in").expect(4).expect_stderr(&["the agent runs no programs (`touch ran`)", "--allow-exec"]);
    let shell = WORKLOAD.replace("work.blocks", "process.run-before = \"touch ran\"\nwork.blocks");
    home.file("w.toml", &shell);
    run("--at in").expect(4).expect_stderr(&["the agent runs no programs (`touch ran`)"]);
    // The control group hierarchy is subject to the same rules as any directory.
    let group = WORKLOAD.replace("work.blocks", "process.cgroup = { name = \"plumb-test\" }\nwork.blocks");
    home.file("w.toml", &group);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    if mounts.lines().any(|line| line.split(' ').nth(2).is_some_and(|kind| kind.starts_with("cgroup"))) {
        run("--at in").expect(4).expect_stderr(&["the agent does not allow `", "/plumb-test`"]);
    } else {
        needs::not_shown("no control groups are mounted");
    }
    home.file("w.toml", WORKLOAD);
    run("--at in --probe 127.0.0.1").expect(4).expect_stderr(&["the agent makes no connections (`127.0.0.1`)"]);
    assert!(!home.work().join("ran").exists() && !home.work().join("in/ran").exists());
}

// Protects other hosts from being served by mistake, and agents from unknown clients.
#[test]
fn beyond_this_host_keys_are_needed() {
    let home = Home::new();
    home.plumb("agent --listen 0.0.0.0:0").expect(2).expect_stderr(&["is reached by other hosts", "agent --init"]);
    home.plumb("agent --init keys").expect(0).expect_stdout(&["server.keys", "client.keys", "sha256:"]);
    home.plumb("agent --init other").expect(0);
    home.plumb("agent --init keys").expect(2).expect_stderr(&["exists already"]);
    home.file("w.toml", WORKLOAD);
    let port = free_port();
    let agent = Agent::with_keys(&home, port, "");
    let run = |more: &str| home.plumb(&format!("run w.toml --hosts 127.0.0.1:{port} {more}"));
    run("--hosts-keys keys/client.keys").expect_measured();
    run("").expect(2).expect_stderr(&["admits only clients that have its keys"]);
    run("--hosts-keys other/client.keys").expect(4).expect_stderr(&["its certificate has the fingerprint"]);
    // The right certificate, but a different token.
    let read = |path: &str| std::fs::read_to_string(home.work().join(path)).unwrap();
    let line = |text: &str, key: &str| text.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    let mixed =
        format!("{}\n{}\n", line(&read("keys/client.keys"), "fingerprint"), line(&read("other/client.keys"), "token"));
    let path = home.file("mixed.keys", &mixed);
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    run("--hosts-keys mixed.keys").expect(4).expect_stderr(&["refused the token"]);
    // Secrets are never printed.
    for key in ["keys/server.keys", "keys/client.keys"] {
        let token = line(&read(key), "token");
        assert!(!agent.read_log().contains(token.trim_start_matches("token = ")), "{}", agent.read_log());
    }
    let without_keys = free_port();
    let _plain = fio_server(&home, without_keys, &home.work());
    let run = format!("run w.toml --hosts 127.0.0.1:{without_keys} --hosts-keys keys/client.keys");
    home.plumb(&run).expect(4).expect_stderr(&["does not speak TLS"]);
}

/// Returns a frame with a message for rank 0.
fn message(text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 0];
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(text);
    bytes
}

/// Sends bytes to an agent's socket and returns the first line of its answer.
fn answer_to(at: &Path, bytes: &[u8]) -> String {
    let mut stream = UnixStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(bytes);
    let mut output = String::new();
    let _ = BufReader::new(&stream).read_line(&mut output);
    output
}

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

// Protects an agent from hostile clients: after any input it serves others, and leaks neither memory nor processes.
#[test]
fn a_hostile_client_does_no_harm() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    let port = free_port();
    let agent = Agent::local(&home, port, "");
    let at = home.work().join(format!("agent{port}.sock"));
    assert!(answer_to(&at, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 501 "));
    wait_until("it reports the client", || agent.read_log().contains("speaks HTTP, as a real elbencho does"));
    assert!(answer_to(&at, &[98, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0]).contains("fio's own protocol (version 98)"));
    assert!(answer_to(&at, b"plumb-agent 98-99 9.0.0 1 2 10 x\n").contains("plumb 9.0.0"));
    assert!(answer_to(&at, &[b'p'; 4096]).contains("does not answer as an agent"));
    assert!(answer_to(&at, format!("plumb-agent 1 {VERSION} 0 9999999 10 x\n").as_bytes()).contains("does not answer"));
    assert!(answer_to(&at, &[0x16, 3, 1]).contains("does not answer as an agent"));
    // An admitted client that then promises 4 GiB, sends an invalid order, or asks for outside paths.
    let greeting = format!("plumb-agent 1 {VERSION} 1 2 10 x\n");
    let too_long = [1, 0, 0, 0, 0, 255, 255, 255, 255].to_vec();
    let unfinished = [1, 0, 0, 0, 0, 0, 0, 0, 3].to_vec();
    for bytes in [too_long, unfinished, message(b"{\"run\":"), message(&[255; 100]), vec![9; 64]] {
        let mut stream = UnixStream::connect(&at).unwrap();
        stream.write_all(greeting.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer).unwrap();
        assert_eq!(answer, format!("plumb-agent 1 {VERSION} ok\n"));
        stream.write_all(&bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // The session ends and sends nothing more than a rank's first message.
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut rest = Vec::new();
        match stream.read_to_end(&mut rest) {
            Ok(_) => {}
            // Unread data is discarded when the session ends.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
        }
        assert!(rest.len() < 4096, "{} bytes", rest.len());
    }
    // A silent client occupies a slot for a limited time, and the number of slots is limited.
    let silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(&at).unwrap()).collect();
    wait_until("places are free again", || answer_to(&at, b"x").contains("does not answer as an agent"));
    drop(silent);
    wait_until("no process is left", || agent.sessions().is_empty());
    home.plumb(&format!("run w.toml --hosts {}", socket(&home, port))).expect_measured();
}

/// Starts a server that is not an agent of this version: it answers each client with these bytes.
fn impostor(answer: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let _ = stream.write_all(&answer);
            // Reads until the other end closes.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    port
}

// Protects a client from hostile and from foreign agents: each is named, and the client does not hang.
#[test]
fn a_hostile_agent_does_no_harm() {
    let home = Home::new();
    home.file("w.toml", WORKLOAD);
    let port = free_port();
    let agent = Agent::local(&home, port, "");
    let ok = format!("plumb-agent 1 {VERSION} ok\n").into_bytes();
    let cases: [(Vec<u8>, &str); 6] = [
        (b"plumb-agent 98 9.0.0 ok\n".to_vec(), "plumb 9.0.0"),
        (b"HTTP/1.1 400 Bad Request\r\n".to_vec(), "speaks HTTP, as a real elbencho does"),
        (vec![97, 0, 2, 0, 0, 0, 0, 0], "fio's own protocol (version 97)"),
        (format!("plumb-agent 1 {VERSION} the disk is on fire\n").into_bytes(), "the disk is on fire"),
        ([ok.clone(), vec![1, 0, 0, 0, 0, 255, 255, 255, 255]].concat(), "not all ranks reported"),
        ([ok, message(b"\xff\xfe no roster")].concat(), "not all ranks reported"),
    ];
    for (answer, expected) in cases {
        let impostor = impostor(answer);
        let output = home.plumb(&format!("run w.toml --hosts {},127.0.0.1:{impostor}", socket(&home, port)));
        assert!([2, 4].contains(&output.code), "{output:?}");
        assert!(output.err.contains(expected), "{expected}: {}", output.err);
    }
    wait_until("no process is left", || agent.sessions().is_empty());
    assert_no_test_data(&home.work());
    let nobody = format!("run w.toml --hosts 127.0.0.1:{}", free_port());
    home.plumb(&nobody).expect(4).expect_stderr(&["plumb agent --listen"]);
    home.plumb(&format!("run w.toml --hosts {0},{0}", socket(&home, port))).expect(2).expect_stderr(&["named twice"]);
}

/// Starts `as fio --server` in a directory that its jobs may use.
pub(crate) fn fio_server(home: &Home, port: u16, directory: &Path) -> Agent {
    let mut command = home.command(["as", "fio", &format!("--server=ip:127.0.0.1,{port}")]);
    command.current_dir(directory).env("PLUMB_AGENT_ALLOW", directory);
    Agent::start(command, &home.work().join(format!("fio{port}.log")))
}

// Protects the drop-in: fio's client and server, with fio's syntax, and job files on each host.
#[test]
fn fio_jobs_run_on_servers() {
    let home = Home::new();
    let ports = [free_port(), free_port()];
    let dirs = ["one", "two"].map(|name| home.work().join(name));
    let servers: Vec<Agent> = ports
        .iter()
        .zip(&dirs)
        .map(|(port, dir)| {
            std::fs::create_dir(dir).unwrap();
            fio_server(&home, *port, dir)
        })
        .collect();
    home.file("a.fio", "[global]\nsize=${SIZE}\nrw=write\n[j1]\n[j2]\nrw=read\n");
    home.file("b.fio", "[k]\nsize=2m\nrw=randwrite\n");
    let (one, two) = (format!("127.0.0.1,{}", ports[0]), format!(":{}", ports[1]));
    let mut command = home.command([
        "as",
        "fio",
        "--output-format=json",
        "--client",
        &one,
        "a.fio",
        &format!("--client={two}"),
        "b.fio",
    ]);
    command.env("SIZE", "1m");
    let report = CommandOutput::run(command).expect(0).json();
    let stats: Vec<(&str, &str, u64, u64)> = report["client_stats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let bytes = one["read"]["io_bytes"].as_u64().unwrap() + one["write"]["io_bytes"].as_u64().unwrap();
            (one["jobname"].as_str().unwrap(), one["hostname"].as_str().unwrap(), one["port"].as_u64().unwrap(), bytes)
        })
        .collect();
    let [p1, p2] = ports.map(u64::from);
    const M: u64 = 1 << 20;
    let expected =
        [("j1", "127.0.0.1", p1, M), ("j2", "127.0.0.1", p1, M), ("k", "", p2, 2 * M), ("All clients", "", p2, 4 * M)];
    assert_eq!(stats, expected);
    // With several hosts, a list of those with global options.
    assert_eq!(report["global options"][0]["rw"], "write");
    assert_eq!(report["global options"].as_array().unwrap().len(), 1);
    assert_eq!(std::fs::metadata(dirs[0].join("j1.0.0")).unwrap().len(), M);
    assert_eq!(std::fs::metadata(dirs[1].join("k.0.0")).unwrap().len(), 2 * M);
    // One job file for all hosts, and one that is on the host.
    std::fs::write(dirs[0].join("there.fio"), "[far]\nsize=1m\nrw=write\n").unwrap();
    let text = home.plumb(&format!("as fio --client={one} --client={two} b.fio")).expect(0).out;
    assert_eq!(text.matches("\nk: (groupid=0, jobs=1)").count(), 2, "{text}");
    assert!(text.contains("All clients: (groupid=0, jobs=2)"), "{text}");
    home.plumb(&format!("as fio --client={one} --remote-config=there.fio"))
        .expect(0)
        .expect_stdout(&["far: (groupid=0"]);
    home.plumb(&format!("as fio --client={one} --remote-config=/etc/passwd")).expect(1).expect_stderr(&["--allow"]);
    home.plumb(&format!("as fio --client={one} none.fio")).expect(1).expect_stderr(&["none.fio"]);
    home.file("out.fio", &format!("[o]\nsize=1m\nrw=write\nfilename={}\n", home.work().join("o").display()));
    home.plumb(&format!("as fio --client={one} out.fio")).expect(1).expect_stderr(&["does not allow"]);
    home.file("x.fio", "[x]\nioengine=exec\nprogram=touch\narguments=ran\n");
    home.plumb(&format!("as fio --client={one} x.fio")).expect(1).expect_stderr(&["runs no programs"]);
    home.file("y.fio", "[y]\nsize=64k\nrw=write\nexec_prerun=touch ran\n");
    home.plumb(&format!("as fio --client={one} y.fio")).expect(1).expect_stderr(&["runs no programs"]);
    assert!(!dirs[0].join("ran").exists());
    wait_until("no process is left", || servers.iter().all(|server| server.sessions().is_empty()));
}

// Protects scripts that plot logs, and tests that shut hosts down. Hosts' logs arrive at the client under fio's names.
// A trigger ends the jobs and runs its command on each host that allows programs.
#[test]
fn logs_and_triggers_of_fio_reach_all_hosts() {
    let home = Home::new();
    let ports = [free_port(), free_port()];
    let _servers: Vec<Agent> = ["one", "two"]
        .iter()
        .zip(ports)
        .map(|(name, port)| {
            let directory = home.work().join(name);
            std::fs::create_dir(&directory).unwrap();
            let mut command = home.command(["as", "fio", &format!("--server=,{port}")]);
            command.env("PLUMB_AGENT_ALLOW", &directory).current_dir(directory);
            if *name == "one" {
                command.env("PLUMB_AGENT_ALLOW_EXEC", "1");
            }
            Agent::start(command, &home.work().join(format!("fio{port}.log")))
        })
        .collect();
    let [one, two] = ports.map(|port| format!("127.0.0.1,{port}"));
    let asked = "size=64k\nbs=4k\nrw=write\nwrite_bw_log=rates\nwrite_iolog=ops\n";
    home.file("logs.fio", &format!("[global]\n{asked}[j]\n[k]\nstonewall\n"));
    home.plumb(&format!("as fio --client={one} --client={two} logs.fio")).expect(0);
    for host in [&one, &two] {
        for (log, lines) in [("rates_bw.1.log", 16), ("rates_bw.2.log", 16)] {
            let text = std::fs::read_to_string(home.work().join(format!("{log}.{host}"))).unwrap();
            assert_eq!(text.lines().count(), lines, "{log}.{host}: {text}");
            assert!(text.lines().all(|line| line.contains(", 1, 4096, ")), "{text}");
        }
        let recorded = std::fs::read_to_string(home.work().join(format!("ops.{host}"))).unwrap();
        assert!(recorded.starts_with("fio version 3 iolog\n"), "{recorded}");
        assert_eq!(recorded.matches(" write ").count(), 32, "of both phases: {recorded}");
    }
    // A job file of the host does not decide where this machine writes.
    std::fs::write(home.work().join("one/there.fio"), "[t]\nsize=4k\nrw=write\nwrite_bw_log=../far\n").unwrap();
    home.plumb(&format!("as fio --client={one} --remote-config=there.fio")).expect(0);
    assert!(home.work().join(format!("far_bw.1.log.{one}")).exists());

    home.file("long.fio", "[j]\nsize=1m\nrw=write\ntime_based\nruntime=120s\n");
    home.file("pull", "");
    let pulled = "--trigger-file=pull --trigger-remote";
    let mut command = home.command(["as", "fio", &format!("--client={one}"), "--trigger-file=pull"]);
    command.args(["--trigger-remote=touch pulled", "long.fio"]);
    let output = CommandOutput::run(command).expect(0);
    let of_job = output.out.lines().find(|line| line.contains("WRITE: bw=")).unwrap();
    let ran_ms: u64 = of_job.split("run=").nth(1).unwrap().split('-').next().unwrap().parse().unwrap();
    assert!(output.out.contains("err= 0") && ran_ms < 100_000, "the trigger ended the job: {}", output.out);
    assert!(home.work().join("one/pulled").exists() && !home.work().join("pull").exists());
    home.plumb(&format!("as fio --client={two} {pulled}=true long.fio"))
        .expect(1)
        .expect_stderr(&["PLUMB_AGENT_ALLOW_EXEC"]);
}

// Protects users with a real fio at the other end: each end reports what it met.
#[test]
fn a_real_fio_gets_a_clear_refusal() {
    if !needs::tools(&["fio"]) {
        return;
    }
    let home = Home::new();
    home.file("a.fio", "[a]\nsize=64k\nrw=write\n");
    let ports = [free_port(), free_port()];
    let mut command = home.command(["as", "fio", &format!("--server=,{}", ports[0])]);
    command.current_dir(home.work()).env("PLUMB_AGENT_ALLOW", home.work());
    let ours = Agent::start(command, &home.work().join("server.log"));
    let client = format!("--client=127.0.0.1,{}", ports[0]);
    let theirs = Command::new("fio").args([&client, "a.fio"]).current_dir(home.work()).output().unwrap();
    assert!(!theirs.status.success());
    wait_until("the server reports it", || ours.read_log().contains("fio's own protocol"));
    let real = format!("--server=ip:127.0.0.1,{}", ports[1]);
    let mut server = Command::new("fio")
        .arg(&real)
        .current_dir(home.work())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("fio listens", || TcpStream::connect(("127.0.0.1", ports[1])).is_ok());
    let output = home.plumb(&format!("as fio --client=127.0.0.1,{} a.fio", ports[1]));
    let _ = server.kill();
    let _ = server.wait();
    output.expect(1).expect_stderr(&["fio's own protocol", "both ends must be `plumb as fio`"]);
}

// Protects scripts that start servers in the background and end them by their PID.
#[test]
fn a_server_goes_on_in_the_background() {
    let home = Home::new();
    home.file("a.fio", "[a]\nsize=64k\nrw=write\n");
    let port = free_port();
    let serve = |pid: &str| {
        let mut command = home.command(["as", "fio", &format!("--server=,{port}"), &format!("--daemonize={pid}")]);
        command.env("PLUMB_AGENT_ALLOW", home.work());
        CommandOutput::run(command)
    };
    serve("pid").expect(0).expect_stderr(&["no authentication"]);
    let pid = std::fs::read_to_string(home.work().join("pid")).unwrap().trim().to_owned();
    serve("pid2").expect(4).expect_stderr(&["cannot listen"]);
    home.plumb(&format!("as fio --client=,{port} a.fio")).expect(0).expect_stdout(&["a: (groupid=0"]);
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
    wait_until("it has ended", || TcpStream::connect(("127.0.0.1", port)).is_err());
}

// Protects commands that inspect their target before measuring: with hosts, the hosts inspect it.
#[test]
fn other_commands_measure_on_hosts_too() {
    let home = Home::new();
    let port = free_port();
    let _agent = Agent::local(&home, port, "--allow here");
    std::fs::create_dir(home.work().join("here")).unwrap();
    let hosts = format!("--hosts {}", socket(&home, port));
    let tried = home.plumb(&format!("try sim:ssd --quick {hosts}")).expect_measured();
    assert!(tried.out.contains("1 rank on unix:/") && tried.out.contains(", agents"), "{}", tried.out);
    home.plumb(&format!("try there --quick {hosts}")).expect(4).expect_stderr(&["the agent does not allow `there`"]);
    home.plumb(&format!("try here/none --quick {hosts}")).expect(4).expect_stderr(&["none"]);
    let compared = home
        .plumb(&format!("compare sim:ssd sim:ssd?slow=50% --for random-read --json {hosts}"))
        .expect_measured()
        .json();
    assert!(compared["contrasts"].as_array().is_some_and(|all| !all.is_empty()), "{compared}");
}
