//! `plumb as iperf` at either end of the real iperf2 and of itself, over loopback.

use super::netperf::Background;
use crate::common::ports::free_port;
use crate::common::{CommandOutput, Home, needs};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server that ends with the test.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn ours(home: &Home, more: &str) -> Server {
        let port = free_port();
        Server::wait(home.start(&format!("as iperf -s -p {port} {more}")), port)
    }

    fn real(more: &str) -> Server {
        let port = free_port();
        let mut command = real(&format!("-s -p {port} {more}"));
        Server::wait(command.stdout(Stdio::piped()).spawn().unwrap(), port)
    }

    /// Waits until it reports that it listens.
    fn wait(mut child: Child, port: u16) -> Server {
        let out = child.stdout.as_mut().unwrap();
        let mut text = Vec::new();
        while !String::from_utf8_lossy(&text).contains("listening on") {
            let mut byte = [0];
            assert!(out.read(&mut byte).unwrap() > 0, "it ended before it listened");
            text.extend_from_slice(&byte);
        }
        Server { child, port }
    }

    /// Ends it at once, and returns the rest of its output.
    fn terminate(mut self) -> String {
        // The results of a stream are printed shortly after the client has ended.
        std::thread::sleep(Duration::from_millis(300));
        self.child.kill().unwrap();
        let mut text = String::new();
        self.child.stdout.as_mut().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Ends it like Ctrl-C, and returns the rest of its output.
    fn interrupt(mut self) -> String {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let mut text = String::new();
        self.child.stdout.as_mut().unwrap().read_to_string(&mut text).unwrap();
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
    let mut command = Command::new("iperf");
    command.args(line.split_whitespace());
    command
}

/// Returns the last row of a stream: bytes with their unit, and the text after the rate.
fn last_row(text: &str) -> &str {
    // Values sent by a server are marked with a star.
    let is_row =
        |line: &&str| (line.starts_with("[  1] 0.0") || line.starts_with("[ *1] 0.0")) && line.contains("bits/sec");
    text.lines().rfind(is_row).unwrap_or_else(|| panic!("{text}"))
}

/// Tests of every kind, for servers of TCP and of UDP.
const TCP: &[&str] = &[
    "-t 1 -b 20m -i 0.5",
    "-t 1 -b 20m -e -P 2",
    "-n 4M",
    "-t 1 -R -b 8m",
    "-t 1 -b 8m -y C",
    "-t 1 -b 8m -e --trip-times",
    "-t 1 -b 8m -e -R --trip-times",
    "-t 1 -b 3m -e -i 0.5 --full-duplex",
    "-t 1 -b 3m -e --full-duplex --trip-times -P 2",
    "-t 1 --bounceback -e -i 0.5",
    "-t 0.5 --bounceback=9 --bounceback-period 0.5 -l 200",
];
const UDP: &[&str] = &["-u -t 1 -b 2m -e -i 0.5", "-u -t 1 -b 200pps -P 2", "-u -t 1 -b 2m -e --trip-times"];

// Protects scripts that start a server and continue: one line on standard error as in the real one, a server that
// outlives its starter and serves the real client, and an error before the server closes its standard error.
#[test]
fn a_daemon_serves_after_its_starter_has_ended() {
    let (home, port) = (Home::new(), free_port());
    let output = home.plumb(&format!("as iperf -s -D -p {port} -B 127.0.0.1")).expect(0);
    assert_eq!((&*output.out, &*output.err), ("", "Running Iperf Server as a daemon\n"));
    let server = Background::on(port);
    for _ in 0..2 {
        let line = format!("-c 127.0.0.1 -p {port} -n 1M");
        let output = match needs::tools(&["iperf"]) {
            true => CommandOutput::run(real(&line)),
            false => home.plumb(&format!("as iperf {line}")),
        };
        assert!(last_row(&output.expect(0).out).contains("1.00 MBytes"), "a client is served, and then another one");
    }
    drop(server);

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    home.plumb(&format!("as iperf -s -D -p {port}")).expect(1).expect_stderr(&["listener bind failed"]);
}

// Protects users of both: our server serves the real client, and the real server ours.
#[test]
fn the_real_one_at_the_other_end() {
    if !needs::tools(&["iperf"]) {
        return;
    }
    let home = Home::new();
    for (kind, lines) in [("-e --histograms", TCP), ("-u -e -i 1", UDP)] {
        let ours = Server::ours(&home, kind);
        for line in lines {
            // One server per test: the real UDP server crashes if a client comes soon after another, even if both are
            // real.
            let theirs = Server::real(kind);
            let bursts = line.contains("--trip-times") && !line.contains("-u");
            let output = CommandOutput::run(real(&format!("-c 127.0.0.1 -p {} {line}", ours.port))).expect(0);
            let text = output.out;
            let output = home.plumb(&format!("as iperf -c 127.0.0.1 -p {} {line}", theirs.port)).expect(0);
            for (whose, text) in [("real", &text), ("ours", &output.out)] {
                assert!(line.contains("-y C") || last_row(text).contains("sec"), "{whose}, {line}: {text}");
                assert!(!text.contains("did not receive ack"), "{whose}, {line}: {text}");
                assert_eq!(text.contains("Server Report:"), line.contains("-u"), "{whose}, {line}: {text}");
                assert_eq!(text.contains("[FD1]"), line.contains("--full-duplex"), "{whose}, {line}: {text}");
                let is_received = line.contains("-R") || line.contains("--full-duplex");
                assert_eq!(text.contains("Burst Latency"), bursts && is_received, "{whose}, {line}: {text}");
                assert!(!text.contains("Barrier timeout"), "{whose}, {line}: {text}");
                if line.contains("-u") && line.contains("-t 1 -b 2m") {
                    // 170 datagrams of 1470 bytes, including the last one; a busy machine sends a few less within the
                    // second.
                    let mut counts = text.split(" 0/").skip(1).filter_map(|rest| rest.split(' ').next()?.parse().ok());
                    assert!(counts.any(|sent: u32| (150..180).contains(&sent)), "{whose}, {line}: {text}");
                }
            }
            let text = theirs.terminate();
            if bursts && !line.contains("-R") {
                // It recognised our bursts: 131072 bytes each, and the header before.
                assert!(text.contains("F8(f)-PDF: bin(w=100us):cnt("), "{line}: {text}");
                assert!(text.contains("(trip-times)") && !text.contains("cnt(0)"), "{line}: {text}");
            }
        }
        let text = ours.interrupt();
        if kind.contains("--histograms") {
            assert!(text.contains("F8(f)-PDF: bin(w=100us):cnt(") && text.contains("/1310"), "{text}");
        }
        assert!(text.contains("connected with 127.0.0.1") && text.contains("bits/sec"), "{text}");
        assert!(text.contains("(peer 2.1.8)"), "{text}");
    }
}

// Protects users without iperf2: both ends are ours, and everything sent is received, over both families.
#[test]
fn both_ends_are_ours() {
    let home = Home::new();
    let server = Server::ours(&home, "-e");
    let text = home.plumb(&format!("as iperf -c 127.0.0.1 -p {} -n 1M -e", server.port)).expect(0).out;
    assert!(text.contains("1.00 MBytes") && text.contains("Write/Err") && text.contains("icwnd/mss/irtt="), "{text}");
    let text = server.interrupt();
    assert!(last_row(&text).contains("1.00 MBytes"), "{text}");
    let server = Server::ours(&home, "-e");
    let line = "--bounceback=20 --bounceback-period 0 -l 200 -n 2000 -e";
    let text = home.plumb(&format!("as iperf -c 127.0.0.1 -p {} {line}", server.port)).expect(0).out;
    assert!(text.contains("Bounce-back test (size= 200 Byte)") && text.contains("    10="), "{text}");
    let output = server.interrupt();
    assert!(output.contains("(bb len/hold=200/0)"), "{output}");
    for text in [&text, &output] {
        assert!(last_row(text).contains("  3.91 KBytes"), "both ways: {text}");
    }
    let server = Server::ours(&home, "--histograms=10u,1000");
    let line = "--full-duplex --trip-times -n 1M -l 8K -e";
    let text = home.plumb(&format!("as iperf -c 127.0.0.1 -p {} {line}", server.port)).expect(0).out;
    let output = server.interrupt();
    for text in [&text, &output] {
        // Both ways: 128 blocks of 8 KiB out, and 8 of 128 KiB back.
        assert!(text.contains("[FD1]") && text.contains("2.00 MBytes") && text.contains("Burst Latency"), "{text}");
    }
    assert!(text.contains(" ms (8/131082) "), "{text}");
    assert!(output.contains(" ms (128/8192) ") && output.contains("bin(w=10us):cnt(128)="), "{output}");
    let server = Server::ours(&home, "-u -V");
    let text = home.plumb(&format!("as iperf -c ::1 -p {} -u -t 1 -b 1m -e", server.port)).expect(0).out;
    assert!(
        text.contains("Server Report:") && text.contains("Latency avg/min/max/stdev") && text.contains(" 0/8"),
        "{text}"
    );
    let port = free_port();
    home.plumb(&format!("as iperf -c 127.0.0.1 -p {port}")).expect(1).expect_stderr(&["connect failed", "refused"]);
    home.plumb(&format!("as iperf -c 127.0.0.1 -p {port} -u -t 0.5")).expect(1).expect_stderr(&["data stream"]);
}

// Protects old instructions: the server connects back, at once or afterwards, and both directions are printed at both
// ends.
#[test]
fn servers_connect_back() {
    let home = Home::new();
    for word in ["-d", "-r"] {
        let server = Server::ours(&home, "");
        let text = home.plumb(&format!("as iperf -c 127.0.0.1 -p {} {word} -t 1", server.port)).expect(0).out;
        let output = server.terminate();
        for text in [&text, &output] {
            assert_eq!(text.lines().filter(|line| line.contains("bits/sec")).count(), 2, "{word}: {text}");
        }
    }
    // If the server does not connect, the client ends after ten seconds.
    let port = free_port();
    let sink = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    std::thread::spawn(move || {
        sink.accept().map(|(mut socket, _)| _ = std::io::copy(&mut socket, &mut std::io::sink()))
    });
    let line = format!("as iperf -c 127.0.0.1 -p {port} -r -n 1M");
    home.plumb(&line).expect(1).expect_stderr(&["did not connect back", "use -R or --full-duplex"]);
}

// Protects third parties, and the server: it sends at most as much as it received, and invalid input counts as a plain
// stream of bytes.
#[test]
fn hostile_clients_get_nothing_and_end_only_themselves() {
    let home = Home::new();
    let server = Server::ours(&home, "-u");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    // Too short, the end of a stream that never began, and the first of a stream.
    let end = [[0xff; 16].as_slice(), &[0; 1454]].concat();
    let first = [1u32.to_be_bytes().as_slice(), &[0; 1466]].concat();
    for datagram in [b"".as_slice(), b"x", &[0; 7], &end, &first] {
        socket.send(datagram).unwrap();
        assert!(socket.recv(&mut [0; 2000]).is_err(), "{} bytes are answered", datagram.len());
    }
    // Short streams from a possibly forged address: before, 24 bytes returned 256.
    for length in [12, 16, 24, 60, 100] {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
        let sent = socket.send(&first[..length]).unwrap() + socket.send(&end[..length]).unwrap();
        let mut came = 0;
        while let Ok(length) = socket.recv(&mut [0; 2000]) {
            came += length;
        }
        assert!(came <= sent, "{sent} bytes bring {came}");
    }
    // The sender of a stream gets an answer at its end, which is smaller than the stream.
    socket.send(&end).unwrap();
    let mut came = 0;
    while let Ok(length) = socket.recv(&mut [0; 2000]) {
        came += length;
    }
    assert!(came > 0 && came < first.len(), "{came} bytes");
    drop(server);
    let server = Server::ours(&home, "");
    for bytes in [b"GET / HTTP/1.1\r\n\r\n".as_slice(), &[0xff; 60], &[0x40; 3], &[0x44, 1, 0, 0x78]] {
        let mut socket = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(700))).unwrap();
        socket.write_all(bytes).unwrap();
        let got = socket.read(&mut [0; 100]);
        assert!(got.is_err() || got.is_ok_and(|length| length == 0), "{bytes:?}");
    }
    home.plumb(&format!("as iperf -c 127.0.0.1 -p {} -n 1M", server.port)).expect(0);
}
