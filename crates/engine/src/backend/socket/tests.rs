//! Two sockets on this machine: Plumb to Plumb, and Plumb to and from fio's net engine.

use super::*;
use crate::backend::BlockFiles;
use crate::backend::tests::{barrier, marked_payload, op, request, run_at, skip};
use plumb_workload::Backend;
use plumb_workload::backend::SocketKind;
use std::process::{Command, Stdio};

/// Returns a port that was free a moment ago.
fn free_port(kind: SocketKind) -> u16 {
    match kind {
        SocketKind::Udp | SocketKind::Udp6 => {
            std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
        }
        _ => std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port(),
    }
}

struct Ends {
    kind: SocketKind,
    host: Option<String>,
    port: Option<u16>,
    ping_pong: bool,
}

impl Ends {
    fn backend(&self, listens: bool) -> Backend {
        let is_group = self.host.as_ref().and_then(|host| host.parse::<std::net::IpAddr>().ok());
        let by_name = matches!(self.kind, SocketKind::Unix) || is_group.is_some_and(|host| host.is_multicast());
        Backend::Socket {
            kind: self.kind,
            host: if listens && !by_name { None } else { self.host.clone() },
            port: self.port,
            listens,
            ping_pong: self.ping_pong,
            no_delay: true,
            window: Some(plumb_workload::Bytes(128 << 10)),
            segment: None,
        }
    }

    fn run(&self, listens: bool, kind: OpKind, ops: u32, length: u32) -> Result<Vec<Completion>, String> {
        let ops: Vec<BlockOp> =
            (0..ops).map(|number| op(kind, u64::from(number) * u64::from(length), length)).collect();
        let mut asked = request(self.backend(listens), 1, BlockFiles::default());
        asked.access = if kind == OpKind::Write { FileAccess::ReadWrite } else { FileAccess::Read };
        let outcomes = run_at(&barrier(), asked, &ops)?;
        for outcome in &outcomes {
            if outcome.completion.is_ok_and(|moved| moved > 0) && kind == OpKind::Read {
                assert!(outcome.memory.iter().all(|&byte| byte == 1), "received bytes equal sent bytes");
            }
        }
        Ok(outcomes.into_iter().map(|outcome| outcome.completion).collect())
    }

    /// Number of messages that fits every receive buffer: datagrams that find no room are lost.
    fn messages(&self) -> u32 {
        if matches!(self.kind, SocketKind::Udp | SocketKind::Udp6) { 8 } else { 32 }
    }

    /// Runs both sides at once and returns the reader's completions. It reads twice more than the writer writes.
    fn meet(&self) -> Result<Vec<Completion>, String> {
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| self.run(true, OpKind::Read, self.messages() + 2, 4096));
            match self.kind {
                SocketKind::Udp | SocketKind::Udp6 => self.await_reader(),
                // A stream's peer may be late.
                _ => std::thread::sleep(std::time::Duration::from_millis(200)),
            }
            let written = self.run(false, OpKind::Write, self.messages(), 4096)?;
            assert_eq!(written, vec![Ok(4096); self.messages() as usize]);
            reader.join().unwrap()
        })
    }

    /// Waits until the reader's socket exists, because datagrams without a receiver are lost. On a busy machine the
    /// reader's thread may take seconds to begin. Source: proc_pid_net(5), "/proc/net/udp".
    fn await_reader(&self) {
        let Some(port) = self.port else { return };
        let suffix = format!(":{port:04X}");
        let is_there = || {
            let tables = ["/proc/net/udp", "/proc/net/udp6"];
            let tables = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
            let own = |line: &str| line.split_whitespace().nth(1).is_some_and(|address| address.ends_with(&suffix));
            tables.iter().any(|table| table.lines().any(own))
        };
        for _ in 0..2000 {
            if is_there() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

fn internet(kind: SocketKind, ping_pong: bool) -> Ends {
    let host = if matches!(kind, SocketKind::Tcp6 | SocketKind::Udp6) { "::1" } else { "127.0.0.1" };
    Ends { kind, host: Some(host.to_owned()), port: Some(free_port(kind)), ping_pong }
}

fn all_and_the_end(messages: u32) -> Vec<Completion> {
    let mut reads = vec![Ok(4096); messages as usize];
    reads.extend([Err(Errno::ENDED); 2]);
    reads
}

/// Protects streams: all data arrives, and the reader notices that the writer has ended.
#[test]
fn streams_arrive_whole_and_end() {
    assert_eq!(internet(SocketKind::Tcp, false).meet().unwrap(), all_and_the_end(32));
    assert_eq!(internet(SocketKind::Tcp, true).meet().unwrap(), all_and_the_end(32));
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        assert_eq!(internet(SocketKind::Tcp6, false).meet().unwrap(), all_and_the_end(32));
    } else {
        skip("no IPv6 here");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let host = Some(path.to_str().unwrap().to_owned());
    let unix = Ends { kind: SocketKind::Unix, host, port: None, ping_pong: false };
    assert_eq!(unix.meet().unwrap(), all_and_the_end(32));
    assert!(!path.exists(), "the listener removes its socket");
}

/// Protects datagrams: they are announced, each is one op, and a message ends them.
#[test]
fn datagrams_arrive_one_by_one_and_end() {
    let Ok(reads) = internet(SocketKind::Udp, false).meet() else { panic!("no datagrams on the loopback") };
    assert_eq!(reads, all_and_the_end(8));
}

/// Protects multicast: datagrams to a group reach its members.
#[test]
fn datagrams_to_a_group_reach_its_members() {
    let port = Some(free_port(SocketKind::Udp));
    let group = Ends { kind: SocketKind::Udp, host: Some("239.255.77.77".to_owned()), port, ping_pong: false };
    let probe = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let member = "239.255.77.77".parse().unwrap();
    if probe.join_multicast_v4(&member, &std::net::Ipv4Addr::UNSPECIFIED).is_err() {
        return skip("no interface with multicast here");
    }
    assert_eq!(group.meet().unwrap(), all_and_the_end(8));
}

/// Protects vsock: sockets to and from a virtual machine work. The loopback device stands in for the machine.
#[test]
fn virtual_sockets_reach_the_other_side() {
    let ends = Ends { kind: SocketKind::Vsock, host: Some("1".to_owned()), port: Some(5201), ping_pong: false };
    // Check for the loopback module first: without it, binding to its CID fails at once.
    let loopback = |listens| match ends.backend(listens) {
        Backend::Socket { .. } if std::path::Path::new("/sys/module/vsock_loopback").exists() => Some(()),
        _ => None,
    };
    if loopback(true).is_none() {
        return eprintln!("SKIPPED: the kernel has no vsock loopback (vsock_loopback)");
    }
    assert_eq!(ends.meet().unwrap(), all_and_the_end(32));
}

/// Protects a phase from a peer that never comes: waiting for it ends with the phase.
#[test]
fn waiting_ends_with_the_phase() {
    let asked = LinkRequest {
        kind: SocketKind::Tcp,
        host: None,
        port: Some(free_port(SocketKind::Tcp)),
        listens: true,
        ping_pong: false,
        no_delay: false,
        window_bytes: None,
        segment_bytes: None,
        access: FileAccess::Read,
    };
    let met = |request: &LinkRequest| {
        let stops = StopChecks { alone: Box::new(|| true), together: Box::new(|| true) };
        let context = BlockContext { files: BlockFiles::default(), payload: marked_payload(1) };
        Socket::new(context, request, stops).and_then(|mut socket| socket.meet())
    };
    assert!(matches!(met(&asked), Err(LinkError::Stopped)));
    let nobody = LinkRequest { listens: false, ..asked };
    assert!(matches!(met(&nobody), Err(LinkError::NoHost)));
    let refused = LinkRequest { host: Some("127.0.0.1".to_owned()), ..nobody };
    assert!(matches!(met(&refused), Err(LinkError::Stopped)));
    let portless = LinkRequest { port: None, ..refused };
    assert!(matches!(met(&portless), Err(LinkError::NoPort)));
}

fn has_fio() -> bool {
    Command::new("fio").arg("--version").output().is_ok_and(|output| output.status.success())
}

fn fio(words: &[String]) -> std::process::Child {
    Command::new("timeout")
        .arg("30")
        .arg("fio")
        .args(["--name=a", "--ioengine=net", "--bs=4k", "--thread", "--zero_buffers"])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Protects compatibility with fio's net engine: each reads the other's messages and ends without an error.
#[test]
fn both_directions_work_with_fio() {
    if !has_fio() {
        return skip("fio is missing");
    }
    for (kind, protocol) in [(SocketKind::Tcp, "tcp"), (SocketKind::Udp, "udp")] {
        let ends = internet(kind, false);
        let size = format!("--size={}", ends.messages() * 4096);
        let common = [size.clone(), format!("--protocol={protocol}"), format!("--port={}", ends.port.unwrap())];
        let listens = |words: &mut Vec<String>| {
            if kind == SocketKind::Tcp {
                words.push("--listen".to_owned());
            }
        };
        // fio reads.
        let mut words = common.to_vec();
        words.push("--rw=read".to_owned());
        listens(&mut words);
        let reader = fio(&words);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        let messages = ends.messages();
        let written = ends.run(false, OpKind::Write, messages, 4096).unwrap();
        assert_eq!(written, vec![Ok(4096); messages as usize]);
        let output = reader.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{protocol}: {text}");
        assert!(text.contains("err= 0") && text.contains(&format!("total={messages},")), "{protocol}: {text}");
        // fio writes.
        let ends = internet(kind, false);
        let reads = std::thread::scope(|scope| {
            let reader = scope.spawn(|| ends.run_unmarked(ends.messages() + 2));
            std::thread::sleep(std::time::Duration::from_millis(300));
            let mut words =
                vec![size.clone(), format!("--protocol={protocol}"), format!("--port={}", ends.port.unwrap())];
            words.extend(["--rw=write".to_owned(), "--hostname=127.0.0.1".to_owned()]);
            let output = fio(&words).wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            reader.join().unwrap()
        });
        assert_eq!(reads, all_and_the_end(messages), "{protocol}");
    }
}

impl Ends {
    /// Reads data that fio sent.
    fn run_unmarked(&self, ops: u32) -> Vec<Completion> {
        let ops: Vec<BlockOp> = (0..ops).map(|number| op(OpKind::Read, u64::from(number) * 4096, 4096)).collect();
        let mut asked = request(self.backend(true), 1, BlockFiles::default());
        asked.access = FileAccess::Read;
        run_at(&barrier(), asked, &ops).unwrap().into_iter().map(|outcome| outcome.completion).collect()
    }
}
