//! `plumb as iperf3` and `plumb net`, at either end of the real one and of themselves, over loopback.

use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// A server that ends with the test.
pub(super) struct Server {
    child: Child,
    port: u16,
    out: BufReader<ChildStdout>,
}

impl Server {
    /// Waits until it listens.
    fn wait(mut child: Child, port: u16) -> Server {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("Server listening") {
            line.clear();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it listened");
        }
        Server { child, port, out }
    }

    pub(super) fn ours(home: &Home, more: &str) -> Server {
        let port = free_port();
        Server::wait(home.start(&format!("as iperf3 -s -p {port} {more}")), port)
    }

    fn real() -> Server {
        let port = free_port();
        let mut command = Command::new("iperf3");
        command.args(["-s", "--forceflush", "-p", &port.to_string()]).stdout(Stdio::piped());
        Server::wait(command.spawn().unwrap(), port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Ends it like Ctrl-C, and returns the rest of its output.
    fn interrupt(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        assert!(self.child.wait().unwrap().success(), "{text}");
        text
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn real(line: &str) -> Command {
    run("iperf3", line)
}

pub(super) fn run(program: &str, line: &str) -> Command {
    let mut command = Command::new(program);
    command.args(line.split_whitespace());
    command
}

/// Tests of every kind, with the exact number of bytes if it is fixed.
const TESTS: &[(&str, Option<f64>)] = &[
    ("-t 1", None),
    ("-t 1 -R", None),
    ("-t 1 --bidir -P 2", None),
    ("-t 1 -b 20M -l 16K -w 256K -N -S 0x10", None),
    ("-u -t 1 -b 2M -l 1400", None),
    ("-u -t 1 -b 2M -l 1400 -R", None),
    ("-u -t 1 -b 2M -l 1400 --bidir -P 2 --udp-counters-64bit", None),
    ("-t 1 -b 8M --fq-rate 16M --dscp ef --repeating-payload --snd-timeout 5000 -A 0", None),
    ("-u -t 1 -b 2M -l 1200 --dont-fragment --rcv-timeout 5000 -R", None),
    ("-n 8M", Some(8388608.0)),
    ("-n 8M -R", None),
    ("-k 33 -l 10000", Some(330000.0)),
    ("-t 1 -O 1 -b 20M --get-server-output", None),
    ("-u -t 1 -O 1 -b 2M -l 1400", None),
    ("-u -t 1 -O 1 -b 2M -l 1400 -R", None),
];

/// Whether the document of a test is complete.
fn is_whole(line: &str, document: &Value, bytes: Option<f64>) {
    let number = |at: &str| document.pointer(at).and_then(Value::as_f64).unwrap_or_else(|| panic!("{line}: {at}"));
    assert!(document.get("error").is_none(), "{line}: {}", document["error"]);
    assert!(number("/end/sum_sent/bytes") > 0.0, "{line}");
    assert!(number("/end/sum_received/bytes") > 0.0, "{line}");
    assert!(!document["intervals"].as_array().unwrap().is_empty(), "{line}");
    if let Some(bytes) = bytes {
        assert_eq!(number("/end/sum_sent/bytes"), bytes, "{line}");
    }
    if line.contains("-u") {
        assert!(number("/end/sum_received/packets") > 0.0, "{line}");
        // The other end does not count the omitted seconds.
        let (sent, received) = (number("/end/sum_sent/packets"), number("/end/sum_received/packets"));
        assert!(received < 1.5 * sent && sent < 1.5 * received, "{line}: {sent} {received}");
    }
    if line.contains("--get-server-output") {
        let text = document["server_output_text"].as_str().unwrap_or_default();
        assert!(text.contains("Accepted connection from 127.0.0.1") && text.contains("receiver"), "{line}: {text}");
    }
}

// Protects users of both: our server serves the real client, and the real server ours, in every direction.
#[test]
fn the_real_one_at_the_other_end() {
    if !needs::tools(&["iperf3"]) {
        return;
    }
    let home = Home::new();
    let (ours, theirs) = (Server::ours(&home, ""), Server::real());
    for (line, bytes) in TESTS {
        let output = CommandOutput::run(real(&format!("-c 127.0.0.1 -p {} {line} -J", ours.port))).expect(0);
        is_whole(&format!("real client, {line}"), &output.json(), *bytes);
        let output = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {} {line} -J", theirs.port)).expect(0);
        is_whole(&format!("real server, {line}"), &output.json(), *bytes);
    }
    let text = ours.interrupt();
    assert!(text.contains("Server listening on") && text.contains("(omitted)"), "{text}");
}

// Protects two of our own ends: the server receives the last byte that is sent.
#[test]
fn ours_at_both_ends() {
    let home = Home::new();
    let server = Server::ours(&home, "");
    for (line, bytes) in TESTS.iter().chain(&[("-Z -n 8M", Some(8388608.0)), ("-n 1M --skip-rx-copy", Some(1048576.0))])
    {
        let document = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {} {line} -J", server.port)).expect(0).json();
        is_whole(line, &document, *bytes);
        if let Some(bytes) = bytes {
            assert_eq!(document.pointer("/end/sum_received/bytes").and_then(Value::as_f64), Some(*bytes), "{line}");
        }
    }
    let port = server.port;
    let stream = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -n 1M --json-stream")).expect(0).out;
    let events: Vec<String> = stream
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(events, ["start", "interval", "end"]);
    let line = format!("as iperf3 -c 127.0.0.1 -p {port} -n 1M --json-stream-full-output");
    let out = home.plumb(&line).expect(0).out;
    let (events, document) = out.split_once("\n{\n").unwrap();
    assert_eq!(events.lines().count(), 3);
    is_whole(&line, &serde_json::from_str(&format!("{{{document}")).unwrap(), Some(1048576.0));
    if std::fs::read_to_string("/proc/sys/net/mptcp/enabled").is_ok_and(|is| is.trim() == "1") {
        home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -n 1M -m")).expect(0);
    }
    let output = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -n 1M --timestamps=%Y: -T x")).expect(0);
    assert!(output.out.lines().all(|line| line.starts_with("20") && line[4..].starts_with(":x:  ")), "{}", output.out);
    let text = home.plumb(&format!("as iperf3 -c localhost -p {port} -n 1M -V -T x --logfile log")).expect(0);
    assert_eq!(text.out, "");
    let log = std::fs::read_to_string(home.work().join("log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("x:  ")), "{log}");
    assert!(log.contains("CPU Utilization: local/sender") && log.contains("iperf Done."), "{log}");
}

// Protects file transfers: files arrive complete, at either end of the real one and of ours; no existing file is
// overwritten.
#[test]
fn files_arrive_as_they_were() {
    if !needs::tools(&["iperf3"]) {
        return;
    }
    let home = Home::new();
    let at = |name: &str| home.work().join(name).display().to_string();
    let bytes: Vec<u8> = (0..3_000_001u32).map(|number| (number * 7 % 251) as u8).collect();
    std::fs::write(at("from"), &bytes).unwrap();
    let arrived = |name: &str| assert!(std::fs::read(at(name)).unwrap() == bytes, "{name}");
    let ours = Server::ours(&home, &format!("-F {}", at("ours")));
    for _ in 0..2 {
        CommandOutput::run(real(&format!("-c 127.0.0.1 -p {} -F {}", ours.port, at("from")))).expect(0);
        arrived("ours");
    }
    for line in ["", "-Z"] {
        let line = format!("as iperf3 -c 127.0.0.1 -p {} -F {} {line}", ours.port, at("from"));
        let output = home.plumb(&line).expect(0);
        assert!(output.out.contains("Sent 2.86 MByte / 2.86 MByte (100%) of "), "{}", output.out);
        arrived("ours");
    }
    let port = free_port();
    let mut command = real(&format!("-s --forceflush -p {port} -F {}", at("from")));
    let theirs = Server::wait(command.stdout(Stdio::piped()).spawn().unwrap(), port);
    let line = format!("as iperf3 -c 127.0.0.1 -p {} -R -t 1 -J -F {}", theirs.port, at("got"));
    let document = home.plumb(&line).expect(0).json();
    assert_eq!(document.pointer("/end/streams/0/diskfile/received").and_then(Value::as_u64), Some(3_000_001));
    arrived("got");
    std::fs::write(at("mine"), "mine").unwrap();
    let line = format!("as iperf3 -c 127.0.0.1 -p {} -R -t 1 -F {}", ours.port, at("mine"));
    home.plumb(&line).expect(1).expect_stderr(&["Plumb did not make it", "PLUMB_ALLOW"]);
    assert_eq!(std::fs::read_to_string(at("mine")).unwrap(), "mine");
}

// Protects many users of one port: stock clients at the same time, of both protocols, and a client that connects and
// stays silent.
#[test]
fn many_clients_at_once() {
    if !needs::tools(&["iperf3"]) {
        return;
    }
    let home = Home::new();
    let server = Server::ours(&home, "");
    let _silent = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let lines = ["-b 10M", "-b 10M -R", "-u -b 1M -l 1400", "-u -b 1M -l 1400 -R", "-u -b 1M -l 1400 --bidir"];
    let start = |line: &&str| {
        let mut command = real(&format!("-c 127.0.0.1 -p {} -t 2 -J {line}", server.port));
        command.stdout(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = lines.iter().map(start).collect();
    for (line, child) in lines.iter().zip(children) {
        let output = CommandOutput::from_output((*line).to_owned(), child.wait_with_output().unwrap()).expect(0);
        is_whole(line, &output.json(), None);
    }
}

/// Opens a control connection up to the request for streams.
fn begun(port: u16, cookie: u8, params: &str) -> TcpStream {
    let mut control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    control.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    control.write_all(&[[cookie; 36].as_slice(), &[0]].concat()).unwrap();
    assert_eq!(byte(&mut control), Some(9), "parameters are asked for");
    control.write_all(&(params.len() as u32).to_be_bytes()).unwrap();
    control.write_all(params.as_bytes()).unwrap();
    control
}

/// Reads the next byte; `None` if the other end has closed.
fn byte(control: &mut TcpStream) -> Option<u8> {
    let mut byte = [0];
    control.read_exact(&mut byte).ok().map(|()| byte[0])
}

// Protects third parties: datagrams go only to the address that has a control connection. iperf3 sends them to anyone.
#[test]
fn a_stranger_is_sent_nothing() {
    let home = Home::new();
    let server = Server::ours(&home, "");
    let at: SocketAddr = ([127, 0, 0, 1], server.port).into();
    let hello = |from: &str| {
        let socket = UdpSocket::bind((from, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        socket.send_to(b"9876", at).unwrap();
        let mut reply = [0; 64];
        socket.recv_from(&mut reply).ok().map(|(length, _)| reply[..length].to_vec())
    };
    assert_eq!(hello("127.0.0.1"), None, "nobody waits for datagrams");
    let params = r#"{"udp":true,"omit":0,"time":1,"parallel":1,"reverse":true,"len":1400,"bandwidth":1000000}"#;
    let mut control = begun(server.port, b'u', params);
    assert_eq!(byte(&mut control), Some(10), "streams are asked for");
    assert_eq!(hello("127.0.0.2"), None, "another address than that of the control connection");
    assert_eq!(hello("127.0.0.1").as_deref(), Some(b"6789".as_slice()));
    assert_eq!([byte(&mut control), byte(&mut control)], [Some(1), Some(2)]);
}

// Protects the server: a message that is too long, invalid or missing ends only its own test, and the next client is
// served.
#[test]
fn hostile_clients_end_only_their_own_test() {
    let home = Home::new();
    let server = Server::ours(&home, "--server-bitrate-limit 10M --server-max-duration 60");
    let port = server.port;
    let mut huge = TcpStream::connect(("127.0.0.1", port)).unwrap();
    huge.write_all(&[[b'h'; 36].as_slice(), &[0]].concat()).unwrap();
    assert_eq!(byte(&mut huge), Some(9));
    huge.write_all(&u32::MAX.to_be_bytes()).unwrap();
    assert_eq!(byte(&mut huge), None, "closed without memory for 4 GiB");
    for (params, number) in [
        ("nonsense", 112),
        (r#"{"tcp":true,"len":1,"parallel":1000,"time":1}"#, 112),
        (r#"{"tcp":true,"len":131072,"time":1,"bandwidth":20000000}"#, 27),
        (r#"{"tcp":true,"len":131072,"time":61,"bandwidth":1}"#, 37),
    ] {
        let mut control = begun(port, b'b', params);
        let mut error = [0; 9];
        control.read_exact(&mut error).unwrap();
        assert_eq!(error, [0xfe, 0, 0, 0, number, 0, 0, 0, 0], "{params}");
    }
    // A stream without its test counts as a client; a test without its streams ends.
    let mut control = begun(port, b'c', r#"{"tcp":true,"len":131072,"time":1,"bandwidth":1000}"#);
    assert_eq!(byte(&mut control), Some(10));
    drop(control);
    home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -t 1 -b 1M")).expect(0);
    let output = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -t 1 -b 20M")).expect(1);
    output.expect_stderr(&["iperf3: error - total required bandwidth is larger than server limit"]);
}

// Protects the server's network: a client that sends more than announced, or nothing, is refused with iperf3's error
// numbers.
#[test]
fn a_server_keeps_to_the_parameters_of_its_client() {
    let home = Home::new();
    let server = Server::ours(&home, "--server-bitrate-limit 10M/1 --rcv-timeout 500");
    for (sends, number) in [(true, 27), (false, 144)] {
        let params = r#"{"tcp":true,"len":131072,"time":60,"parallel":1,"bandwidth":1000}"#;
        let mut control = begun(server.port, b'm', params);
        assert_eq!(byte(&mut control), Some(10));
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.write_all(&[[b'm'; 36].as_slice(), &[0]].concat()).unwrap();
        assert_eq!([byte(&mut control), byte(&mut control)], [Some(1), Some(2)]);
        // Until the server closes.
        while sends && stream.write_all(&[0; 1 << 16]).is_ok() {}
        let mut error = [0; 9];
        control.read_exact(&mut error).unwrap();
        assert_eq!(error, [0xfe, 0, 0, 0, number, 0, 0, 0, 0]);
    }
    home.plumb(&format!("as iperf3 -s -1 --idle-timeout 1 -p {}", free_port())).expect(0);
}

// Protects scripts: a failure has a reason and an exit code, in JSON as well.
#[test]
fn failures_are_reported() {
    let home = Home::new();
    let port = free_port();
    if !std::fs::read_to_string("/proc/net/protocols").unwrap().contains("SCTP") {
        home.plumb("as iperf3 -c 127.0.0.1 --sctp")
            .expect(1)
            .expect_stderr(&["this kernel has no SCTP", "modprobe sctp"]);
    }
    home.plumb("as iperf3 -c 127.0.0.1 --sctp -u").expect(1).expect_stderr(&["--sctp cannot be combined with -u"]);
    home.plumb("as iperf3 -c 127.0.0.1 -s").expect(1).expect_stderr(&["cannot be both server and client"]);
    let output = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -t 1")).expect(1);
    output.expect_stderr(&["unable to connect to server", "Connection refused"]);
    let document = home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {port} -t 1 -J")).expect(1).json();
    assert!(document["error"].as_str().unwrap().contains("Connection refused"), "{document}");
    let output = home.plumb(&format!("net 127.0.0.1 --port {port}")).expect(4);
    output.expect_stderr(&["Connection refused", "plumb net --serve"]);
    let one = Server::ours(&home, "-1 -I pid");
    assert!(std::fs::read_to_string(home.work().join("pid")).unwrap().starts_with(&one.child.id().to_string()));
    home.plumb(&format!("as iperf3 -c 127.0.0.1 -p {} -n 1M", one.port)).expect(0);
    let mut one = one;
    assert!(one.child.wait().unwrap().success(), "it ends after one test");
}

// Protects `plumb net`: idle and loaded percentiles, both directions, at both kinds of server.
#[test]
fn the_network_in_one_command() {
    let home = Home::new();
    let port = free_port();
    let server = Server::wait(home.start(&format!("net --serve --port {port}")), port);
    let net = home.plumb(&format!("net 127.0.0.1 --port {port} --time 1 --json")).expect(0).json();
    let trips: Vec<&str> =
        net["round_trips"].as_array().unwrap().iter().map(|trips| trips["during"].as_str().unwrap()).collect();
    assert_eq!(trips, ["idle", "receiving", "sending"]);
    for trips in net["round_trips"].as_array().unwrap() {
        assert!(trips["p50_ns"].as_u64() <= trips["max_ns"].as_u64(), "{trips}");
        // 200 in a second: only two are slower than p99, too few to report it.
        assert!(trips["p50_ns"].is_u64() && trips["p99_ns"].is_null(), "{trips}");
    }
    assert!(net["round_trips_per_second"].as_f64() > Some(0.0));
    assert!(net["connections"]["count"].as_u64() > Some(0) && net["connections_per_second"].as_f64() > Some(0.0));
    for at in 0..2 {
        assert!(net["throughput"][at]["bytes_per_second"].as_f64() > Some(0.0), "{net}");
        assert!(net["datagrams"][at]["packets"].as_i64() > Some(0), "{net}");
    }
    crate::commands::fits(&home, "net", &net);
    assert_eq!(net["interface"], "lo");
    assert!(net["offloads"].as_object().is_some_and(|all| !all.is_empty()) && net["processors"].is_string(), "{net}");
    assert!(net["throughput"][0]["processors"].as_f64() > Some(0.0), "{net}");
    drop(server);
    if needs::tools(&["iperf3"]) {
        let server = Server::real();
        let page = home.plumb(&format!("net 127.0.0.1 --port {} --time 1", server.port)).expect(0).out;
        assert!(page.contains("The other end is iperf3") && page.contains("bit/s"), "{page}");
    }
}

// Protects long series: each measurement is kept, including failed ones, and all of them are charted.
#[test]
fn measurements_of_the_network_are_kept_and_charted() {
    let home = Home::new();
    let port = free_port();
    let server = Server::wait(home.start(&format!("net --serve --port {port}")), port);
    let line = format!("net 127.0.0.1 --port {port} --time 1");
    let output = home.plumb(&format!("{line} --every 1s --for 8s --report net.html --json")).expect(0);
    let first: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!first.is_empty());
    drop(server);
    // No server listens any more, which is kept as well.
    home.plumb(&format!("{line} --every 100ms --for 250ms"))
        .expect(0)
        .expect_stdout(&["not measured: cannot connect to"]);
    let output = home.plumb(&format!("{line} --stored --report all.html")).expect(0);
    output.expect_stdout(&["available", "receive", "of the time"]);
    let all = home.plumb(&format!("{line} --stored --json")).expect(0).out;
    let all: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(all[..first.len()], first);
    for net in &all {
        crate::commands::fits(&home, "net", net);
    }
    assert!(all.last().unwrap()["error"].as_str().unwrap().contains("Connection refused"));
    for name in ["net.html", "all.html"] {
        let page = std::fs::read_to_string(home.work().join(name)).unwrap();
        assert!(page.contains("The network to 127.0.0.1") && page.contains("Measurements"), "{name}");
    }
    let rows = home.plumb_args(["query", "SELECT count(*) FROM network WHERE error IS NULL"]).expect(0);
    assert!(rows.out.contains(&first.len().to_string()), "{}", rows.out);
    home.plumb("net 192.0.2.9 --stored").expect(2).expect_stderr(&["no measurement of 192.0.2.9 port 5201 is stored"]);
    home.plumb("net 127.0.0.1 --every 0s").expect(2).expect_stderr(&["--every must be longer than 0"]);
}

// Protects open networks: only users with a name and password are admitted, with stock ends in both roles and both
// paddings.
#[test]
fn only_users_are_served() {
    if !needs::tools(&["iperf3", "openssl"]) {
        return;
    }
    let home = Home::new();
    let at = |name: &str| home.work().join(name).display().to_string();
    let openssl = |line: &str| CommandOutput::run(run("openssl", line)).expect(0);
    openssl(&format!("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out {}", at("key")));
    openssl(&format!("pkey -in {} -pubout -out {}", at("key"), at("public")));
    // printf '{alice}secret' | sha256sum
    let hash = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
    std::fs::write(at("users"), format!("# who may\nalice,{hash}\n")).unwrap();
    let serves = format!("--rsa-private-key-path {} --authorized-users-path {}", at("key"), at("users"));
    let ours = [Server::ours(&home, &serves), Server::ours(&home, &format!("{serves} --use-pkcs1-padding"))];
    let theirs = {
        let port = free_port();
        let mut command = real(&format!("-s --forceflush -p {port} {serves}"));
        Server::wait(command.stdout(Stdio::piped()).spawn().unwrap(), port)
    };
    let asks = |user: &str, server: &Server| {
        format!("-c 127.0.0.1 -p {} -n 1M --username {user} --rsa-public-key-path {}", server.port, at("public"))
    };
    let as_user = |mut command: Command, password: &str| {
        command.env("IPERF3_PASSWORD", password);
        CommandOutput::run(command)
    };
    let plumb =
        |line: &str, password: &str| as_user(home.command(format!("as iperf3 {line}").split_whitespace()), password);
    // Ours with ours, in both paddings; 3.12 pads like all versions before 3.17.
    plumb(&asks("alice", &ours[0]), "secret").expect(0);
    plumb(&format!("{} --use-pkcs1-padding", asks("alice", &ours[1])), "secret").expect(0);
    as_user(real(&asks("alice", &ours[1])), "secret").expect(0);
    plumb(&format!("{} --use-pkcs1-padding", asks("alice", &theirs)), "secret").expect(0);
    for output in [
        plumb(&asks("alice", &ours[0]), "wrong"),
        plumb(&asks("eve", &ours[0]), "secret"),
        plumb(&asks("alice", &ours[1]), "secret"),
        plumb(&format!("-c 127.0.0.1 -p {} -n 1M", ours[0].port), ""),
        as_user(real(&asks("alice", &ours[1])), "wrong"),
        as_user(real(&format!("-c 127.0.0.1 -p {} -n 1M", ours[0].port)), ""),
    ] {
        output.expect(1).expect_stderr(&["test authorization failed"]);
    }
    // An intercepted token is useless: it is valid only once.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    std::fs::write(at("claim"), format!("user: alice\npwd:  secret\nts:   {now}")).unwrap();
    let (claim, public, sealed) = (at("claim"), at("public"), at("sealed"));
    let encrypt = "pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep";
    openssl(&format!("{encrypt} -pubin -inkey {public} -in {claim} -out {sealed}"));
    let token = openssl(&format!("base64 -A -in {sealed}")).out;
    let params = format!(r#"{{"tcp":true,"len":1000,"time":1,"parallel":1,"authtoken":"{}"}}"#, token.trim());
    assert_eq!(byte(&mut begun(ours[0].port, b'a', &params)), Some(10), "streams are asked for");
    let mut again = begun(ours[0].port, b'b', &params);
    let mut error = [0; 9];
    again.read_exact(&mut error).unwrap();
    assert_eq!(error, [0xfe, 0, 0, 0, 142, 0, 0, 0, 0]);
    plumb("-c 127.0.0.1 --username alice", "").expect(1).expect_stderr(&["--rsa-public-key-path"]);
    plumb(&format!("-s --rsa-private-key-path {0} --authorized-users-path {0}", at("key")), "")
        .expect(1)
        .expect_stderr(&["line 1 is not NAME,SHA-256"]);
}

// Protects the server's key: every invalid token gets the same answer, after a delay. Before, the server answered as
// soon as it found the fault.
#[test]
fn refusals_are_all_the_same() {
    if !needs::tools(&["openssl"]) {
        return;
    }
    let home = Home::new();
    let at = |name: &str| home.work().join(name).display().to_string();
    let openssl = |line: &str| CommandOutput::run(run("openssl", line)).expect(0);
    openssl(&format!("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out {}", at("key")));
    openssl(&format!("pkey -in {} -pubout -out {}", at("key"), at("public")));
    // printf '{alice}secret' | sha256sum
    let hash = "27b307f21eb6137ab56a3c80a93a5db840e79a697f80f3381c87edaa79a83f6f";
    std::fs::write(at("users"), format!("alice,{hash}\n")).unwrap();
    let serves = format!("--rsa-private-key-path {} --authorized-users-path {}", at("key"), at("users"));
    let server = Server::ours(&home, &serves);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let sealed = |text: &str| {
        std::fs::write(at("claim"), text).unwrap();
        let (public, claim, out) = (at("public"), at("claim"), at("sealed"));
        openssl(&format!(
            "pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep -pubin -inkey {public} -in {claim} -out {out}"
        ));
        openssl(&format!("base64 -A -in {out}")).out.trim().to_owned()
    };
    let claim = |user: &str, password: &str, at: u64| sealed(&format!("user: {user}\npwd:  {password}\nts:   {at}"));
    let tokens = [
        ("another block", "A".repeat(342) + "=="),
        ("too short", "QUJD".to_owned()),
        ("not base64", "!".to_owned()),
        ("not a claim", sealed("nothing")),
        ("unknown user", claim("mallory", "secret", now)),
        ("wrong password", claim("alice", "Secret", now)),
        ("old", claim("alice", "secret", now - 1000)),
    ];
    for (name, token) in tokens {
        let began = std::time::Instant::now();
        let params = format!(r#"{{"tcp":true,"len":1000,"time":1,"parallel":1,"authtoken":"{token}"}}"#);
        let mut control = begun(server.port, b'a', &params);
        let mut answer = Vec::new();
        let _ = control.read_to_end(&mut answer);
        assert_eq!(answer, [0xfe, 0, 0, 0, 142, 0, 0, 0, 0], "{name}");
        assert!(began.elapsed() >= Duration::from_millis(240), "{name}: {:?}", began.elapsed());
    }
}

// Protects the native protocol: only clients with the token are served, and only by the server that they know.
#[test]
fn ends_of_plumb_prove_themselves() {
    let home = Home::new();
    let made = home.plumb("net --init keys").expect(0);
    let made = made.expect_stdout(&["sha256:", "plumb net --serve --bind ADDRESS --keys"]).out;
    home.plumb("net --init keys").expect(2).expect_stderr(&["server.keys exists already"]);
    home.plumb("net --init other").expect(0);
    let at = |name: &str| home.work().join(name);
    let client = std::fs::read_to_string(at("keys/client.keys")).unwrap();
    let (known, token) = client.split_once("\ntoken").unwrap();
    let other = std::fs::read_to_string(at("other/client.keys")).unwrap();
    // The right certificate, but the token of another server.
    std::fs::write(at("keys/mixed.keys"), format!("{known}\ntoken{}", other.split_once("\ntoken").unwrap().1)).unwrap();
    std::fs::set_permissions(at("keys/mixed.keys"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let port = free_port();
    let _server = Server::wait(home.start(&format!("net --serve --port {port} --keys keys/server.keys")), port);
    let line = format!("net 127.0.0.1 --port {port} --time 1");
    let net = home.plumb(&format!("{line} --keys keys/client.keys --json")).expect(0).json();
    let print = net["server_certificate"].as_str().unwrap();
    assert!(made.contains(print) && known.contains(print), "{print}");
    crate::commands::fits(&home, "net", &net);
    home.plumb(&line).expect(4).expect_stderr(&["serves only clients with its token", "--keys FILE"]);
    home.plumb(&format!("{line} --keys other/client.keys")).expect(4).expect_stderr(&[print, "its keys changed"]);
    home.plumb(&format!("{line} --keys keys/mixed.keys")).expect(4).expect_stderr(&["refused the token"]);
    home.plumb(&format!("{line} --keys keys/server.keys")).expect(2).expect_stderr(&["fingerprint = …", "is missing"]);
    std::fs::set_permissions(at("keys/client.keys"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    home.plumb(&format!("{line} --keys keys/client.keys")).expect(2).expect_stderr(&["chmod 600"]);
    assert!(!token.is_empty());
    // Plain text, and bytes that only begin like TLS: the connection is closed, and the next client is served.
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &[0x16; 300], &[b'c'; 37]] {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = socket.write_all(bytes);
        let mut came = Vec::new();
        let _ = socket.read_to_end(&mut came);
        assert!(!came.contains(&9), "no parameters are asked for: {came:?}");
    }
    // A server without keys does not understand this.
    let port = free_port();
    let _plain = Server::wait(home.start(&format!("net --serve --port {port}")), port);
    let line = format!("net 127.0.0.1 --port {port} --keys other/client.keys");
    home.plumb(&line).expect(4).expect_stderr(&["closed the connection", "net --serve --keys FILE"]);
}
