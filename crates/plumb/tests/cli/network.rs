//! Network work in workloads: streams, round trips, connections, and the probe next to any phase.

use crate::agents::{Agent, socket};
use crate::common::ports::free_port;
use crate::common::{Home, flat, metric, needs};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// The other end, which ends with the test.
struct Other(Child);

impl Other {
    fn from_child(mut child: Child) -> Other {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("Server listening") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it listened");
        }
        // Its further output is read, so that it never blocks.
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Other(child)
    }

    fn serve(home: &Home, options: &str) -> Other {
        Other::from_child(home.start(&format!("net --serve {options}")))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a workload with one phase per kind of work, against one host.
fn workload(address: &str, phases: &[(&str, &str)]) -> String {
    let mut text = format!("name = \"network\"\n[target.peer.host]\naddress = \"{address}\"\n");
    for (name, lines) in phases {
        text += &format!(
            "[[phase]]\nname = \"{name}\"\nstop.time = \"500ms\"\n[[phase.workers]]\ntarget = \"peer\"\n{lines}\n"
        );
    }
    text
}

fn phase<'a>(result: &'a Value, name: &str) -> &'a Value {
    result["phases"].as_array().unwrap().iter().find(|phase| phase["name"] == name).unwrap()
}

fn network<'a>(result: &'a Value, name: &str) -> &'a Value {
    &phase(result, name)["network"][0]
}

// Protects the language: each kind of network work is a phase like any other, with measurements of both ends.
#[test]
fn streams_and_round_trips_are_phases_like_any_others() {
    let home = Home::new();
    let port = free_port();
    let _other = Other::serve(&home, &format!("--port {port}"));
    let phases = [
        ("send", "count = 2\nwork.net.stream = { congestion = \"reno\" }"),
        ("receive", "work.net.stream = { direction = \"receive\", rate = \"4M/s\" }"),
        ("paced", "pace.bytes-per-second = { write = \"4M/s\" }\nwork.net.stream = {}"),
        ("datagrams", "pace.bytes-per-second = { write = \"1M/s\" }\nwork.net.stream = { protocol = \"udp\" }"),
        ("rr", "work.net.rr = { request = 1, response = 100, busy-poll = \"20us\" }"),
        ("open", "pace.open = { rate = \"500/s\" }\nwork.net.rr = { protocol = \"udp\" }"),
        ("crr", "work.net.crr = {}"),
        ("exact", "limit.bytes = \"4MiB\"\nwork.net.stream = { direction = \"receive\" }"),
    ];
    home.file("net.toml", &workload(&format!("127.0.0.1:{port}"), &phases));
    let result = home.plumb("run net.toml --json").expect_measured().json();
    crate::commands::fits(&home, "result", &result);
    let value = |phase, name| metric(&result, phase, name)["value"].as_f64().unwrap();
    assert!(value("send", "send.bw") > 0.0 && value("crr", "crr.ops") > 0.0);
    // The bytes of a rate are exact, but time is not: half and twice the rate are far outside normal variation.
    for (phase, name, rate) in [("receive", "receive.bw", 4e6), ("paced", "send.bw", 4e6), ("open", "rr.ops", 500.0)] {
        let value = value(phase, name);
        assert!((rate / 2.0..rate * 2.0).contains(&value), "{phase} {value}");
    }
    assert_eq!(network(&result, "send")["congestion"], "reno");
    assert_eq!(network(&result, "send")["congestion_there"], "reno");
    assert_eq!(network(&result, "send")["interface"], "lo");
    assert!(network(&result, "send")["throughput"][0]["bytes_per_second"].as_f64() > Some(0.0));
    assert_eq!(network(&result, "rr")["busy_poll_us"], 20);
    assert_eq!(
        phase(&result, "rr")["done"]["rr"]["bytes"],
        phase(&result, "rr")["done"]["rr"]["ops"].as_u64().unwrap() * 100
    );
    assert!(network(&result, "datagrams")["datagrams"][0]["packets"].as_i64() > Some(0));
    // The op that reaches the limit is the last one.
    let bytes = phase(&result, "exact")["done"]["receive"]["bytes"].as_u64().unwrap();
    assert!((4 << 20..6 << 20).contains(&bytes), "{bytes}");
    let page = flat(&home.plumb("show last").expect(0).out);
    for part in ["TCP reno", "processors", "busy poll", "datagrams lost", "received"] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

// Protects runs with agents: an agent's process can do network work like the program itself.
#[test]
fn an_agent_makes_network_work() {
    let home = Home::new();
    let (port, number) = (free_port(), free_port());
    let _other = Other::serve(&home, &format!("--port {port}"));
    let _agent = Agent::local(&home, number, "--allow-exec");
    home.file("net.toml", &workload(&format!("127.0.0.1:{port}"), &[("send", "work.net.stream = {}")]));
    let result = home.plumb(&format!("run net.toml --hosts {} --json", socket(&home, number))).expect_measured().json();
    assert!(metric(&result, "send", "send.bw")["value"].as_f64().unwrap() > 0.0);
}

// Protects latency under load: the same round trips, idle and during a phase without network work.
#[test]
fn a_probe_runs_next_to_any_workload() {
    let home = Home::new();
    let port = free_port();
    let _other = Other::serve(&home, &format!("--port {port}"));
    let text = format!(
        "name = \"storage\"\n[target.data.file]\npath = \"data\"\nsize = \"1MiB\"\n[[phase]]\nname = \"reads\"\nstop.time = \"500ms\"\n\
         [phase.probe]\nto = \"127.0.0.1:{port}\"\nidle = \"300ms\"\n[[phase.workers]]\ntarget = \"data\"\nwork.blocks.block = \"4KiB\"\n"
    );
    home.file("storage.toml", &text);
    let result = home.plumb("run storage.toml --json").expect_measured().json();
    crate::commands::fits(&home, "result", &result);
    let probe = network(&result, "reads");
    assert_eq!(probe["group"], "probe");
    let trips = probe["round_trips"].as_array().unwrap();
    assert_eq!([&trips[0]["during"], &trips[1]["during"]], ["idle", "reads"]);
    for trips in trips {
        assert!(trips["count"].as_u64() > Some(20) && trips["p50_ns"].is_u64(), "{trips}");
    }
    home.plumb("show last").expect(0).expect_stdout(&["probe: 127.0.0.1", "idle", "reads"]);
    // The same from the command line, and for a port without a server.
    home.file(
        "plain.toml",
        &text.replace(&format!("[phase.probe]\nto = \"127.0.0.1:{port}\"\nidle = \"300ms\"\n"), ""),
    );
    let output = home.plumb(&format!("run plain.toml --probe 127.0.0.1:{port} --translate")).expect(0);
    output.expect_stdout(&[&format!("probe.to = \"127.0.0.1:{port}\"")]);
    home.plumb(&format!("run plain.toml --probe 127.0.0.1:{}", free_port()))
        .expect(4)
        .expect_stderr(&["probe", "plumb net --serve"]);
}

// Protects comparisons: the result names zero-copy transfers, and whether the kernel copied anyway.
#[test]
fn how_bytes_pass_is_in_the_result() {
    let home = Home::new();
    let port = free_port();
    let _other = Other::serve(&home, &format!("--port {port}"));
    let ways = ["splice", "sendfile", "zerocopy", "io-uring"];
    let lines = ways.map(|tx| format!("work.net.stream = {{ tx = \"{tx}\", rx = \"truncate\" }}"));
    let mut phases: Vec<(&str, &str)> = ways.into_iter().zip(lines.iter().map(String::as_str)).collect();
    phases.push(("back", "work.net.stream = { direction = \"receive\", tx = \"splice\", rx = \"io-uring\" }"));
    home.file("net.toml", &workload(&format!("127.0.0.1:{port}"), &phases));
    let result = home.plumb("run net.toml --json").expect_measured().json();
    for way in ways {
        let passing = network(&result, way)["passing"].as_str().unwrap();
        assert!(passing.starts_with(&format!("tx {way}, rx truncate")), "{passing}");
        // On loopback, the kernel copies even zero-copy sends.
        assert_eq!(passing.contains("the kernel copied"), way == "zerocopy", "{passing}");
        assert!(phase(&result, way)["done"]["send"]["bytes"].as_u64() > Some(1 << 20), "{result}");
    }
    assert!(phase(&result, "back")["done"]["receive"]["bytes"].as_u64() > Some(1 << 20));
}

// Protects machines without a network: Unix sockets carry the same work, and their file is removed afterwards.
#[test]
fn sockets_of_this_machine_carry_it_too() {
    let home = Home::new();
    let path = home.work().join("plumb.sock");
    let address = format!("unix:{}", path.display());
    let mut other = Other::serve(&home, &format!("--bind {address}"));
    let phases = [
        ("send", "work.net.stream = { protocol = \"unix\" }"),
        ("rr", "work.net.rr = { protocol = \"unix\", request = 1 }"),
    ];
    home.file("net.toml", &workload(&address, &phases));
    let result = home.plumb("run net.toml --json").expect_measured().json();
    assert_eq!(network(&result, "send")["protocol"], "unix");
    assert!(metric(&result, "rr", "rr.ops")["value"].as_f64() > Some(0.0));
    let net = home.plumb(&format!("net {address} --time 1 --json")).expect(0).json();
    assert_eq!((&net["protocol"], net["datagrams"].as_array().map(Vec::len)), (&Value::from("unix"), Some(0)));
    assert!(net["round_trips"][0]["count"].as_u64() > Some(0));
    crate::commands::fits(&home, "net", &net);
    let pid = rustix::process::Pid::from_child(&other.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    other.0.wait().unwrap();
    assert!(!path.exists(), "its socket stays behind");
}

// Protects users from misleading numbers: work that an end or this kernel does not support is refused with a
// suggestion.
#[test]
fn what_cannot_be_is_refused() {
    let home = Home::new();
    let refused = |lines: &str, words: &[&str]| {
        home.file("net.toml", &workload("127.0.0.1:1", &[("x", lines)]));
        let output = home.plumb("run net.toml");
        assert_ne!(output.code, 0, "{lines}");
        output.expect_stderr(words);
    };
    refused("work.net.stream = { tx = \"truncate\" }", &["a sender", "splice"]);
    refused("work.net.stream = { protocol = \"udp\", tx = \"splice\" }", &["datagrams are always copied"]);
    refused("work.net.stream = { protocol = \"udp\", block = 15 }", &["15 bytes", "16 to 65507"]);
    refused("work.net.rr = { request = 0 }", &["0 bytes", "1 to 1048576"]);
    refused("work.net.rr = { protocol = \"udp\", response = \"1KiB\" }", &["never answered by a longer one"]);
    refused("work.net.crr = { protocol = \"udp\" }", &["over new connections"]);
    refused("work.net.rr = { protocol = \"unix\" }", &["is not an address of unix", "unix:PATH"]);
    refused("work.net.stream = { protocol = \"sctp\" }", &["SCTP", "use tcp"]);
    refused("work.blocks.block = \"4KiB\"", &["is a host, and has no files"]);
    refused("work.net.rr = {}", &["cannot connect to 127.0.0.1 port 1", "plumb net --serve"]);
    home.file(
        "net.toml",
        &workload("127.0.0.1:1", &[("x", "work.net.rr = {}")]).replace("stop.time = \"500ms\"\n", ""),
    );
    home.plumb("run net.toml").expect_stderr(&["never ends"]);
}

// Protects users of stock servers: streams work with them, and round trips report their requirement.
#[test]
fn streams_go_to_a_stock_iperf3() {
    if !needs::tools(&["iperf3"]) {
        return;
    }
    let home = Home::new();
    let port = free_port();
    let mut command = Command::new("iperf3");
    command.args(["-s", "--forceflush", "-p", &port.to_string()]).stdout(Stdio::piped());
    let _other = Other::from_child(command.spawn().unwrap());
    let address = format!("127.0.0.1:{port}");
    home.file("net.toml", &workload(&address, &[("send", "count = 2\nwork.net.stream = {}")]));
    let result = home.plumb("run net.toml --json").expect_measured().json();
    assert!(network(&result, "send")["throughput"][0]["bytes_per_second"].as_f64() > Some(0.0));
    home.file("rr.toml", &workload(&address, &[("rr", "work.net.rr = {}")]));
    // A stock server takes a moment to listen again.
    let mut output = home.plumb("run rr.toml");
    for _ in 0..20 {
        if output.err.contains("round trips") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
        output = home.plumb("run rr.toml");
    }
    output.expect_stderr(&["round trips", "plumb net --serve"]);
}
