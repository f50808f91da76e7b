//! Two hosts: network namespaces of this machine connected by a virtual cable. Unlike loopback, they have different
//! addresses and real link packets, and find each other over both families.

use crate::common::{CommandOutput, Home, needs};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Addresses of the two ends, from documentation ranges (RFC 5737, 3849), so that no real network is cut off.
const ADDRESSES: [[&str; 2]; 2] = [["198.51.100.1", "198.51.100.2"], ["2001:db8::1", "2001:db8::2"]];

struct Hosts([String; 2]);

impl Hosts {
    fn new() -> Hosts {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (number, test) = (std::process::id() % 100_000, COUNT.fetch_add(1, Relaxed));
        let hosts = Hosts(["a", "b"].map(|end| format!("pn{number}{end}{test}")));
        let [one, other] = &hosts.0;
        for name in &hosts.0 {
            ip(&format!("netns add {name}"));
        }
        ip(&format!("link add eth0 netns {one} type veth peer name eth0 netns {other}"));
        for (at, name) in hosts.0.iter().enumerate() {
            ip(&format!("-n {name} address add {}/24 dev eth0", ADDRESSES[0][at]));
            ip(&format!("-n {name} address add {}/64 dev eth0 nodad", ADDRESSES[1][at]));
            for device in ["lo", "eth0"] {
                ip(&format!("-n {name} link set {device} up"));
            }
        }
        hosts
    }

    /// Returns a command on one of them.
    fn on(&self, host: usize, plain: &Command) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[host]]).arg(plain.get_program()).args(plain.get_args());
        if let Some(dir) = plain.get_current_dir() {
            command.current_dir(dir);
        }
        for (name, value) in plain.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
    }

    fn plumb(&self, host: usize, home: &Home, line: &str) -> Command {
        self.on(host, &home.command(line.split_whitespace()))
    }

    fn real(&self, host: usize, line: &str) -> Command {
        let mut plain = Command::new("iperf3");
        plain.args(line.split_whitespace());
        self.on(host, &plain)
    }

    /// Whether a server listens there yet.
    fn listens(&self, host: usize, port: u16) -> bool {
        let mut ss = Command::new("ss");
        ss.args(["-Hltn", &format!("sport = :{port}")]);
        self.on(host, &ss).output().is_ok_and(|output| !output.stdout.is_empty())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "delete", name]).stderr(Stdio::null()).status();
        }
    }
}

#[track_caller]
fn ip(line: &str) {
    let output = Command::new("ip").args(line.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A server that ends with the test.
struct Serving(Child);

impl Serving {
    fn new(hosts: &Hosts, mut command: Command, port: u16) -> Serving {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let serving = Serving(child);
        for _ in 0..200 {
            if hosts.listens(1, port) {
                return serving;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nobody listens on port {port}");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every transport with every direction, parallel streams, and each way to end.
const TESTS: &[&str] = &[
    "-t 1 -P 2",
    "-t 1 -R -O 1",
    "-t 1 --bidir --get-server-output",
    "-u -b 10M -t 1 -P 2",
    "-u -b 10M -t 1 -R",
    "-u -b 10M -t 1 --bidir -O 1 --get-server-output",
    "-n 4M -P 2",
    "-u -n 500K -b 50M",
    "-k 40 -l 32K -R",
];

fn works(line: &str, output: &CommandOutput) {
    let document = output.json();
    let number = |at: &str| document.pointer(at).and_then(Value::as_f64).unwrap_or(0.0);
    assert!(document.get("error").is_none(), "{line}: {}", document["error"]);
    assert!(number("/end/sum_sent/bytes") > 0.0 && number("/end/sum_received/bytes") > 0.0, "{line}");
    assert!(number("/end/sum_received/lost_packets") >= 0.0, "{line}");
    if line.contains("-n 4M") {
        assert!(number("/end/sum_sent/bytes") >= f64::from(4 << 20), "{line}");
    }
    if line.contains("--get-server-output") {
        assert!(document["server_output_text"].is_string() || document["server_output_json"].is_object(), "{line}");
    }
}

// Protects users of real networks: stock ends in both roles over a link, over both families.
#[test]
fn stock_iperf3_over_a_link() {
    if !needs::root_and(&["iperf3", "ip", "ss"]) {
        return;
    }
    let (home, hosts) = (Home::new(), Hosts::new());
    for [_, address] in ADDRESSES {
        let ours = Serving::new(&hosts, hosts.plumb(1, &home, &format!("as iperf3 -s -p 5301 -B {address}")), 5301);
        let theirs = Serving::new(&hosts, hosts.real(1, &format!("-s -p 5302 -B {address}")), 5302);
        for line in TESTS {
            works(line, &CommandOutput::run(hosts.real(0, &format!("-c {address} -p 5301 {line} -J"))).expect(0));
            let mut tries = 0;
            let output = loop {
                let output =
                    CommandOutput::run(hosts.plumb(0, &home, &format!("as iperf3 -c {address} -p 5302 {line} -J")));
                tries += 1;
                // The server takes a moment to listen again after a test.
                if output.code == 0 || tries == 5 {
                    break output.expect(0);
                }
                std::thread::sleep(Duration::from_millis(200));
            };
            works(line, &output);
        }
        drop((ours, theirs));
    }
}

// Protects other hosts: a server listens only on loopback unless told otherwise, and serves only clients with keys.
#[test]
fn a_server_serves_only_admitted_clients() {
    if !needs::root_and(&["ip", "ss"]) {
        return;
    }
    let (home, hosts) = (Home::new(), Hosts::new());
    let address = ADDRESSES[0][1];
    let loopback = Serving::new(&hosts, hosts.plumb(1, &home, "net --serve --port 5303"), 5303);
    CommandOutput::run(hosts.plumb(0, &home, &format!("net {address} --port 5303")))
        .expect(4)
        .expect_stderr(&["cannot connect to"]);
    drop(loopback);
    home.plumb("net --init keys").expect(0);
    let serve = format!("net --serve --port 5304 --bind {address} --keys keys/server.keys");
    let _server = Serving::new(&hosts, hosts.plumb(1, &home, &serve), 5304);
    let line = format!("net {address} --port 5304 --time 1");
    let net =
        CommandOutput::run(hosts.plumb(0, &home, &format!("{line} --keys keys/client.keys --json"))).expect(0).json();
    assert_eq!(net["interface"], "eth0");
    assert_eq!(net["interface_mtu"], 1500);
    assert!(net["server_certificate"].is_string(), "{net}");
    CommandOutput::run(hosts.plumb(0, &home, &line)).expect(4).expect_stderr(&["serves only clients with its token"]);
}

// Protects users who expose a server by mistake: every server without authentication prints a warning. Before, only iperf3 did.
#[test]
fn open_servers_print_a_warning() {
    if !needs::root_and(&["ip"]) {
        return;
    }
    let (home, hosts) = (Home::new(), Hosts::new());
    for (number, line) in [
        "as iperf -s -p 5301 -B 0.0.0.0",
        "as iperf -s -u -p 5302 -B 198.51.100.1",
        "as netserver -D -p 5303 -L 0.0.0.0",
        "as iperf3 -s -p 5304 -B 0.0.0.0",
        "net --serve --port 5305 --bind 198.51.100.1",
    ]
    .into_iter()
    .enumerate()
    {
        let log = home.work().join(format!("log{number}"));
        let mut command = hosts.plumb(0, &home, line);
        let file = std::fs::File::create(&log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn().unwrap();
        let serving = Serving(child);
        crate::common::wait_until(line, || {
            std::fs::read_to_string(&log).unwrap().contains("warning: no authentication")
        });
        drop(serving);
    }
}
