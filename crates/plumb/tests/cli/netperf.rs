//! `plumb as netperf` and `plumb as netserver`, at either end of the real ones and of themselves, over loopback.

use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that ends with the test.
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Waits until it listens.
    fn wait(mut child: Child, port: u16) -> Server {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended before it listened");
        assert!(line.starts_with("Starting netserver with host '"), "{line}");
        Server { child, port }
    }

    fn ours(home: &Home, more: &str) -> Server {
        let port = free_port();
        Server::wait(home.start(&format!("as netserver -D -p {port} {more}")), port)
    }

    pub(super) fn real() -> Server {
        let port = free_port();
        let mut command = Command::new("netserver");
        command.args(["-D", "-4", "-L", "127.0.0.1", "-p", &port.to_string()]).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        // It reports its start before it listens, and prints this late if its output is not a terminal.
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Server { child, port }
    }

    pub(super) fn at(&self) -> String {
        format!("-H 127.0.0.1 -p {}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the output of the real netperf.
pub(super) fn real(line: &str) -> CommandOutput {
    let mut command = Command::new("netperf");
    command.args(line.split_whitespace()).env("LC_ALL", "C");
    CommandOutput::run(command)
}

/// The tests, each as short as it can be.
const TESTS: [&str; 13] = [
    "-t TCP_STREAM -l 1",
    "-t TCP_STREAM -l -5000000",
    "-t TCP_MAERTS -l 1",
    "-t TCP_SENDFILE -l 1 -v 2 -- -m 3000",
    "-t TCP_SENDFILE -l -5000000",
    "-t TCP_RR -l -500 -- -r 10,20",
    "-t TCP_CRR -l -100",
    "-t TCP_CC -l -100",
    "-t TCP_RR -l 1 -v 2 -- -b 16 -r 20,10",
    "-t UDP_RR -l 1 -- -b 2",
    "-t UDP_STREAM -l 1 -- -m 1000 -R 1",
    "-t UDP_RR -l -500 -- -r 1,300",
    "-t UDP_RR -l 1",
];

/// Returns the words of a text, without its numbers.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| word.parse::<f64>().is_err()).collect()
}

/// Returns the numbers of a text.
fn numbers(text: &str) -> Vec<f64> {
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

// Protects the protocol in both roles, and the text: each test between ours and the real one, in either role, prints
// the same words and as many numbers as the real one with itself.
#[test]
fn tests_run_with_the_real_one_at_either_end() {
    if !needs::tools(&["netperf", "netserver"]) {
        return;
    }
    let home = Home::new();
    let (ours, theirs) = (Server::ours(&home, "-4"), Server::real());
    for test in TESTS {
        let wanted = real(&format!("{} {test}", theirs.at())).expect(0).out;
        let all = [
            home.plumb(&format!("as netperf {} {test}", theirs.at())),
            real(&format!("{} {test}", ours.at())),
            home.plumb(&format!("as netperf {} {test}", ours.at())),
        ];
        for output in all {
            let output = output.expect(0);
            assert_eq!(words(&output.out), words(&wanted), "{}", output.command);
            let (own, real) = (numbers(&output.out), numbers(&wanted));
            assert_eq!(own.len(), real.len(), "{}\n{}", output.command, output.out);
            assert!(own.last().is_some_and(|last| *last > 0.0), "{}\n{}", output.command, output.out);
        }
    }
}

// Protects scripts and flent: the same names in the same order in both roles; and
// both ends agree on the amount transferred.
#[test]
fn selectors_are_those_of_the_real_one() {
    if !needs::tools(&["netperf", "netserver"]) {
        return;
    }
    let home = Home::new();
    let (ours, theirs) = (Server::ours(&home, "-4"), Server::real());
    let names = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
    };
    let line = "-P 0 -t TCP_RR -l -200 -j -- -r 7,9 -k ALL";
    let wanted = real(&format!("{} {line}", theirs.at())).expect(0).out;
    for output in [
        home.plumb(&format!("as netperf {} {line}", theirs.at())),
        real(&format!("{} {line}", ours.at())),
        home.plumb(&format!("as netperf {} {line}", ours.at())),
    ] {
        let output = output.expect(0);
        assert_eq!(names(&output.out), names(&wanted), "{}", output.command);
        for pair in
            ["LOCAL_BYTES_SENT=1400", "REMOTE_BYTES_RECVD=1400", "REMOTE_BYTES_SENT=1800", "DIRECTION=Send|Recv"]
        {
            assert!(output.out.contains(pair), "{pair}: {}", output.out);
        }
    }
}

// Protects users without netperf: both ends are ours, over both families, and
// everything that a stream sends is received.
#[test]
fn both_ends_are_ours() {
    let home = Home::new();
    let server = Server::ours(&home, "");
    let six = UdpSocket::bind(("::1", 0)).is_ok();
    for at in ["127.0.0.1", "::1"].iter().take(if six { 2 } else { 1 }) {
        let line = format!(
            "as netperf -H {at} -p {} -P 0 -l -3000000 -- -k LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD -m 1000",
            server.port
        );
        let output = home.plumb(&line).expect(0);
        assert_eq!(output.out, "LOCAL_BYTES_SENT=3000000\nREMOTE_BYTES_RECVD=3000000\n", "{at}");
    }
    let line = format!(
        "as netperf {} -P 0 -D 0.2 -l 1 -t TCP_RR -c -C -- -k THROUGHPUT,LOCAL_CPU_UTIL,P99_LATENCY",
        server.at()
    );
    let output = home.plumb(&line).expect(0);
    let value = |name: &str| -> f64 {
        let found = output.out.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_else(|| panic!("{name}: {}", output.out)).parse().unwrap()
    };
    assert!(value("NETPERF_INTERIM_RESULT[0]") > 0.0 && value("THROUGHPUT") > 0.0 && value("P99_LATENCY") >= 0.0);
    assert!((0.0..=100.0).contains(&value("LOCAL_CPU_UTIL")));
    let output = home.plumb(&format!(
        "as netperf {} -P 0 -l -10 -t TCP_RR -I 99,0.001 -i 3,3 -- -k CONFIDENCE_ITERATION",
        server.at()
    ));
    assert_eq!(output.expect(0).out, "CONFIDENCE_ITERATION=3\n");
}

/// Services of an ordinary host, each at its own port: discard, echo and chargen, and the first two for datagrams.
struct Services {
    discard: u16,
    echo: u16,
    chargen: u16,
    discard_udp: u16,
    echo_udp: u16,
}

impl Services {
    fn start() -> Services {
        Services {
            discard: serve(|mut peer| std::io::copy(&mut peer, &mut std::io::sink()).map(drop)),
            echo: serve(|peer| std::io::copy(&mut &peer, &mut &peer).map(drop)),
            chargen: serve(|mut peer| {
                loop {
                    peer.write_all(&[b'x'; 4096])?;
                }
            }),
            discard_udp: datagrams(false),
            echo_udp: datagrams(true),
        }
    }

    /// Returns the port for a test.
    fn port(&self, test: &str) -> u16 {
        match test.split_whitespace().find(|word| word.contains('_')).unwrap_or_default() {
            "UDP_STREAM" => self.discard_udp,
            "UDP_RR" => self.echo_udp,
            "TCP_MAERTS" => self.chargen,
            "TCP_RR" | "TCP_CRR" => self.echo,
            _ => self.discard,
        }
    }
}

/// Serves connections until the tests end.
fn serve(run: fn(TcpStream) -> std::io::Result<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for peer in listener.incoming().flatten() {
            // A test closes its connection at its end.
            std::thread::spawn(move || run(peer));
        }
    });
    port
}

fn datagrams(echoes: bool) -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut bytes = [0; 65536];
        while let Ok((length, from)) = socket.recv_from(&mut bytes) {
            if echoes {
                let _ = socket.send_to(&bytes[..length], from);
            }
        }
    });
    port
}

// Protects tests of hosts without a netserver: the same words and as many numbers as the real netperf prints with the
// same service, and the same values for the far end, which reports none.
#[test]
fn without_netserver_a_service_is_enough() {
    if !needs::tools(&["netperf"]) {
        return;
    }
    let (home, services) = (Home::new(), Services::start());
    let line = |test: &str, more: &str| format!("-H 127.0.0.1 -N {test} -- -P ,{} {more}", services.port(test));
    for (test, more) in [
        ("-t TCP_STREAM -l 1", ""),
        ("-t TCP_STREAM -l -5000000 -c -C", ""),
        ("-t TCP_MAERTS -l 1", ""),
        ("-t TCP_MAERTS -l -5000000", ""),
        ("-t TCP_RR -l -500 -v 2", "-r 10,10"),
        ("-t TCP_RR -l 1 -c", "-r 20,20"),
        ("-t TCP_CRR -l -100 -v 2", ""),
        ("-t UDP_STREAM -l 1", "-m 1000 -R 1"),
        ("-t UDP_RR -l -500", ""),
        ("-t OMNI -l 1", ""),
    ] {
        let line = line(test, more);
        let wanted = real(&line).expect(0).out.replace('\0', "");
        let output = home.plumb(&format!("as netperf {line}")).expect(0);
        assert_eq!(words(&output.out), words(&wanted), "{}", output.command);
        assert_eq!(numbers(&output.out).len(), numbers(&wanted).len(), "{}\n{}", output.command, output.out);
        let keys = line.replace(" -- ", " -P 0 -- -k THROUGHPUT ");
        let output = home.plumb(&format!("as netperf {keys}")).expect(0);
        let rate: f64 = output.out.trim().strip_prefix("THROUGHPUT=").unwrap().parse().unwrap();
        assert!(rate > 0.0, "{}\n{}", output.command, output.out);
    }
    for test in ["-t TCP_STREAM -l -1000000", "-t TCP_RR -l -100"] {
        let line = line(test, "-m 1000 -k ALL");
        let far = |text: &str| -> Vec<String> {
            let is_far = |line: &&str| line.starts_with("REMOTE_") || line.starts_with("RS");
            text.replace('\0', "").lines().filter(is_far).map(str::to_owned).collect()
        };
        let output = home.plumb(&format!("as netperf {line}")).expect(0);
        assert_eq!(far(&output.out), far(&real(&line).expect(0).out), "{}", output.command);
    }
}

// Protects users without netperf: connections are made and closed to a service that closes only after its peer.
#[test]
fn connections_to_a_service_are_made_and_closed() {
    let (home, services) = (Home::new(), Services::start());
    let line = format!("as netperf -H 127.0.0.1 -N -P 0 -t TCP_CC -l -50 -- -P ,{}", services.discard);
    let output = home.plumb(&line).expect(0);
    assert!(numbers(&output.out)[5] > 0.0, "{}", output.out);
}

// Protects scripts for builds with intervals: the test runs after the lines that Debian's netperf prints.
#[test]
fn intervals_are_reported_as_not_compiled_in() {
    let home = Home::new();
    let server = Server::ours(&home, "-4");
    let line = format!("{} -w 10 -b 4 -t TCP_RR -l -5", server.at());
    let output = home.plumb(&format!("as netperf {line}")).expect(0);
    let wanted = "Packet rate control is not compiled in.\nPacket burst size is not compiled in. \nMIGRATED TCP";
    assert!(output.out.starts_with(wanted), "{}", output.out);
    if needs::tools(&["netperf"]) {
        let real = real(&line).expect(0).out;
        assert!(real.starts_with(wanted), "{real}");
    }
}

#[test]
fn failures_name_the_reason() {
    let home = Home::new();
    let port = free_port();
    home.plumb(&format!("as netperf -H 127.0.0.1 -p {port} -l 1"))
        .expect(255)
        .expect_stderr(&["are you sure there is a netserver listening on 127.0.0.1", "Connection refused"]);
    home.plumb("as netperf -H no-such-host.invalid")
        .expect(255)
        .expect_stderr(&["could not resolve no-such-host.invalid"]);
    let output = home.plumb("as netperf -t FOO").expect(1);
    assert!(output.out.starts_with("The test you requested (FOO) is unknown to this netperf.\n"), "{}", output.out);
    home.plumb("as netperf -y 3").expect(1).expect_stderr(&["option -y is not supported yet"]);
    let output = home.plumb("as netperf -N -t TCP_CC").expect(255);
    assert_eq!(output.out, "No default port known for the TCP_CC test, please set one yourself\n");
    home.plumb(&format!("as netperf -H 127.0.0.1 -N -l 1 -- -P ,{port}"))
        .expect(1)
        .expect_stderr(&["Connection refused"]);
    home.plumb("as netserver -D -L 192.0.2.77").expect(255).expect_stderr(&["cannot listen"]);
    let server = Server::ours(&home, "-Z sesame");
    let line = format!("as netperf {} -P 0 -t TCP_RR -l -5", server.at());
    home.plumb(&line).expect(255).expect_stderr(&["closed before the test was over"]);
    home.plumb(&format!("{line} -Z wrong")).expect(255);
    home.plumb(&format!("{line} -Z sesame")).expect(0);
    let output = home.plumb(&format!("as netperf {} -l -5 -- -m 2M", server.at())).expect(255);
    output.expect_stderr(&["-m must be from 1 to 1048576 bytes"]);
}

/// Returns a request for a test, as netperf sends it: 5 s of round trips with datagrams of 1 byte.
fn request() -> [u8; 656] {
    let mut message = [0; 656];
    let words: [(usize, i32); 14] = [
        (0, 97),
        (4, -1),
        (8, -1),
        (12, -1),
        (28, 1),
        (32, -1),
        (36, -1),
        (52, 1),
        (64, 5),
        (92, 4),
        (96, 2),
        (100, 17),
        (104, 6),
        (156, -1),
    ];
    for (at, value) in words {
        message[at..at + 4].copy_from_slice(&value.to_be_bytes());
    }
    message
}

/// Returns the second word of the answer to a message, and the port for data.
fn ask(server: &Server, message: &[u8]) -> (TcpStream, i32, u16) {
    let mut control = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    control.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    control.write_all(message).unwrap();
    let mut answer = [0; 656];
    control.read_exact(&mut answer).unwrap();
    let word = |at: usize| i32::from_be_bytes(answer[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 98);
    (control, word(4), u16::try_from(word(52)).unwrap())
}

// Protects third parties from reflection by netserver: datagrams go only to the client of the control connection, and
// never to an address that the client names.
#[test]
fn datagrams_go_to_nobody_else() {
    let home = Home::new();
    let server = Server::ours(&home, "-4");
    let mut elsewhere = request();
    elsewhere[120..124].copy_from_slice(&[192, 0, 2, 9]);
    assert_eq!(ask(&server, &elsewhere).1, 1, "EPERM");
    let mut sends = request();
    sends[107] = 2;
    assert_eq!(ask(&server, &sends).1, 95, "it sends no streams of datagrams");

    let (_control, error, port) = ask(&server, &request());
    assert_eq!(error, 0);
    let to = SocketAddr::from(([127, 0, 0, 1], port));
    let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
    stranger.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    stranger.send_to(&[1], to).unwrap();
    assert!(stranger.recv(&mut [0; 16]).is_err(), "a stranger is answered");
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client.send_to(&[1], to).unwrap();
    assert_eq!(client.recv(&mut [0; 16]).unwrap(), 1, "the client is");
    stranger.send_to(&[1], to).unwrap();
    assert!(stranger.recv(&mut [0; 16]).is_err(), "nor later");
}

// Protects users who send a file: `-F` sends the named file, which must have at least a block. An invalid file is
// named, without contacting the server.
#[test]
fn the_file_that_is_sent_is_the_users() {
    let home = Home::new();
    let server = Server::ours(&home, "-4");
    home.file("sent", &"7".repeat(5000));
    let ask = |file: &str| {
        home.plumb(&format!("as netperf {} -P 0 -t TCP_SENDFILE -l -50000 -F {file} -- -m 5000", server.at()))
    };
    let output = ask("sent").expect(0);
    assert_eq!(numbers(&output.out)[2], 5000.0, "{}", output.out);
    home.file("sent", &"7".repeat(4999));
    ask("sent").expect(255).expect_stderr(&["-F sent", "5000 bytes"]);
    ask("missing").expect(255).expect_stderr(&["-F missing", "No such file"]);
    ask("/dev/zero").expect(255).expect_stderr(&["-F /dev/zero", "5000 bytes"]);
}

// Protects files (netserver opens what `fill_file` names and sends it): the request is refused, and so is sendfile.
#[test]
fn no_file_that_a_client_names_is_read() {
    let home = Home::new();
    let server = Server::ours(&home, "-4");
    let mut message = request();
    message[96..108].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0, 2]);
    assert_eq!(ask(&server, &message).1, 0);
    message[176..187].copy_from_slice(b"/etc/passwd");
    assert_eq!(ask(&server, &message).1, 1, "EPERM");
    let mut message = request();
    message[59] |= 2;
    assert_eq!(ask(&server, &message).1, 1, "EPERM");
}

// Protects against a silent or invalid client: others are served in the meantime, and it is closed in the end.
#[test]
fn a_silent_client_keeps_nobody() {
    let home = Home::new();
    let server = Server::ours(&home, "-4");
    let mut silent = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    silent.write_all(&[0, 0, 0]).unwrap();
    let mut nonsense = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    nonsense.write_all(&[0xff; 656]).unwrap();
    home.plumb(&format!("as netperf {} -P 0 -t TCP_RR -l -5", server.at())).expect(0);
    for mut socket in [silent, nonsense] {
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let end = socket.read_to_end(&mut Vec::new()).map_err(|error| error.kind());
        assert!(matches!(end, Ok(0) | Err(std::io::ErrorKind::ConnectionReset)), "{end:?}");
    }
}

// Protects the machine: outside clients are served only on request.
#[test]
fn it_listens_on_loopback_only() {
    let home = Home::new();
    let mut server = Server::ours(&home, "-4");
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let own = format!(":{:04X}", server.port);
    let listening: Vec<&str> = sockets
        .lines()
        .filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            (words.get(3) == Some(&"0A")).then(|| words[1])
        })
        .filter(|local| local.ends_with(&own))
        .collect();
    assert_eq!(listening, [format!("0100007F{own}")]);
    // It prints this once it listens.
    let mut output = String::new();
    BufReader::new(server.child.stderr.take().unwrap()).read_line(&mut output).unwrap();
    assert!(output.contains("listening on loopback only; use -L 0.0.0.0"), "{output}");
}

/// A server in the background, which the test ends.
pub(super) struct Background(rustix::process::Pid);

impl Background {
    /// Returns the process that was given this port, once it serves.
    pub(super) fn on(port: u16) -> Background {
        let word = format!("\0{port}\0");
        for _ in 0..500 {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            let named = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            let found = named.into_iter().find(|number: &i32| {
                std::fs::read_to_string(format!("/proc/{number}/cmdline")).is_ok_and(|line| line.contains(&word))
            });
            if let Some(number) = found.filter(|_| TcpStream::connect(("127.0.0.1", port)).is_ok()) {
                return Background(rustix::process::Pid::from_raw(number).unwrap());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("nothing serves port {port}");
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = rustix::process::kill_process(self.0, rustix::process::Signal::KILL);
    }
}

// Protects: a server in the background outlives its terminal, and the scheduler, which shares processors between
// sessions, puts it in its own session.
#[test]
fn a_server_in_the_background_has_a_session_of_its_own() {
    let home = Home::new();
    for line in ["netserver -4 -p", "iperf3 -s -D -p", "iperf -s -D -t 1 -p"] {
        let port = free_port();
        home.plumb(&format!("as {line} {port}")).expect(0);
        let server = Background::on(port);
        assert_eq!(rustix::process::getsid(Some(server.0)).unwrap(), server.0, "{line}");
    }
}
