//! Tests with both ends on this machine, over loopback.

use super::*;
use plumb_workload::PerSecond;
use plumb_workload::net::{DatagramForm, Iperf2Form, Passing};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

fn tcp_pair() -> (OwnedFd, OwnedFd) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = listener.local_addr().unwrap();
    let one = connect_tcp(to, None, &SocketOptions::default(), Duration::from_secs(5)).unwrap();
    (one.into(), listener.accept().unwrap().0.into())
}

fn udp_pair() -> (OwnedFd, OwnedFd) {
    let options = SocketOptions { large_receive_buffer: true, ..SocketOptions::default() };
    let bind = |to| datagram_socket(to, Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))), &options).unwrap();
    let other: UdpSocket = bind(None);
    let one = bind(Some(other.local_addr().unwrap()));
    other.connect(one.local_addr().unwrap()).unwrap();
    (one.into(), other.into())
}

/// Runs both ends of `work` for `time` or up to `limit`, and returns the flows of both.
fn run(work: NetWork, limit: Option<u64>, time: Duration) -> (Flows, Flows) {
    let (one, other) = if work.transport == Transport::Tcp { tcp_pair() } else { udp_pair() };
    let far = Flow { socket: other, other: None, file: None, work: NetWork { op: work.op.peer(), ..work } };
    let mut far = Flows::new(vec![far]).unwrap();
    let mut near = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).unwrap();
    near.limit(limit.unwrap_or(u64::MAX), u64::MAX);
    far.start(None);
    near.start(Some(time.as_nanos() as u64));
    while !near.is_done() {
        near.wait(&[], Duration::from_secs(10));
    }
    // Wait until everything sent has been received.
    let sent = near.counts(0).bytes;
    for _ in 0..100 {
        if far.counts(0).bytes >= sent {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    near.stop();
    far.stop();
    assert_eq!((near.failure(), far.failure()), (None, None));
    (near, far)
}

const LONG: Duration = Duration::from_secs(30);

// Protects exact ends: whole blocks, exactly as many as requested however a call groups them, and all of them arrive.
#[test]
fn a_stream_ends_with_its_last_block() {
    let all = [Passing::Copy, Passing::Lend, Passing::Drop, Passing::ZeroCopy, Passing::IoUring, Passing::SendFile];
    for passing in all {
        let work = NetWork { passing, ..NetWork::stream(NetOp::Send, Transport::Tcp, 10_000) };
        let (near, far) = run(work, Some(777), LONG);
        assert_eq!((near.counts(0).bytes, far.counts(0).bytes), (7_770_000, 7_770_000), "{passing:?}");
        assert!(near.tcp(0).is_none_or(|facts| facts.segment > 0 && facts.path_mtu > 0));
    }
}

// Protects receivers that share a limit. The run used to end only if every receiver had got some bytes, and never if
// one stream carried all of them.
#[test]
fn receivers_end_together_when_all_bytes_arrived() {
    let (pairs, work) = ([tcp_pair(), tcp_pair()], NetWork::stream(NetOp::Receive, Transport::Tcp, 1_000));
    let mut senders = Vec::new();
    let flow = |(socket, sender)| {
        senders.push(std::net::TcpStream::from(sender));
        Flow { socket, other: None, file: None, work }
    };
    let mut near = Flows::new(pairs.map(flow).into()).unwrap();
    near.limit(u64::MAX, 5_000);
    near.start(None);
    senders[0].write_all(&[1; 5_000]).unwrap();
    for _ in 0..100 {
        near.wait(&[], Duration::from_secs(1));
        if near.has_ended(0) && near.has_ended(1) {
            break;
        }
    }
    assert!(near.is_done() && near.has_ended(0) && near.has_ended(1));
    near.stop();
    assert_eq!([0, 1].map(|number| near.counts(number).bytes), [5_000, 0]);
}

// Protects file transfers: every byte arrives in order, including a partial last block, with and without copying.
#[test]
fn a_file_arrives_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let [from, into] = ["from", "into"].map(|name| dir.path().join(name));
    let bytes: Vec<u8> = (0..1_234_567u32).map(|number| (number * 7 % 251) as u8).collect();
    std::fs::write(&from, &bytes).unwrap();
    for passing in [Passing::Copy, Passing::Lend] {
        let (one, other) = tcp_pair();
        let work = NetWork { passing, ..NetWork::stream(NetOp::Send, Transport::Tcp, 100_000) };
        let receives = NetWork { op: NetOp::Receive, ..work };
        let far = Flow { socket: other, other: None, file: Some(File::create(&into).unwrap()), work: receives };
        let near = Flow { socket: one, other: None, file: Some(File::open(&from).unwrap()), work };
        let (mut far, mut near) = (Flows::new(vec![far]).unwrap(), Flows::new(vec![near]).unwrap());
        far.start(None);
        near.start(None);
        for (flows, name) in [(&mut near, "sends"), (&mut far, "receives")] {
            while !flows.is_done() {
                flows.wait(&[], Duration::from_secs(10));
            }
            flows.stop();
            flows.hang_up();
            assert_eq!((flows.counts(0).bytes, flows.failure()), (1_234_567, None), "{passing:?} {name}");
        }
        assert!(std::fs::read(&into).unwrap() == bytes, "{passing:?}");
    }
}

// Protects the payload: each block arrives whole and in order, with every way of passing
// bytes and wherever a call ends.
#[cfg(target_os = "linux")]
#[test]
fn blocks_arrive_unchanged_with_each_passing() {
    for passing in [Passing::Copy, Passing::Lend, Passing::ZeroCopy, Passing::IoUring, Passing::SendFile] {
        let (one, other) = tcp_pair();
        let work = NetWork { passing, repeats: true, ..NetWork::stream(NetOp::Send, Transport::Tcp, 100_010) };
        let near = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).unwrap();
        near.limit(50, u64::MAX);
        near.start(None);
        let mut came = vec![0; 5_000_500];
        let mut far = std::net::TcpStream::from(other);
        // The sender and its memory are gone before everything is read.
        far.read_exact(&mut came[..4_000_000]).unwrap();
        while !near.is_done() {
            near.wait(&[], Duration::from_secs(10));
        }
        drop(near);
        let reused = vec![b'x'; 1 << 20];
        far.read_exact(&mut came[4_000_000..]).unwrap();
        drop(reused);
        let mismatch = came.iter().zip((b'0'..=b'9').cycle()).position(|(came, digit)| *came != digit);
        if let Some(at) = mismatch {
            eprintln!("{:?}", &came[at - 3..at + 20]);
        }
        assert_eq!(mismatch, None, "{passing:?}");
    }
}

// Protects round trips that busy-poll: they work over streams, datagrams and a connection per trip.
#[test]
fn round_trips_poll() {
    for (op, transport) in [(NetOp::Request, Transport::Tcp), (NetOp::Request, Transport::Udp)] {
        let work = NetWork { poll_us: 50, response: 16, ..NetWork::stream(op, transport, 16) };
        let (near, far) = run(work, Some(500), LONG);
        assert_eq!((near.counts(0).ops, far.counts(0).ops), (500, 500), "{transport:?}");
    }
}

// Protects users who inspect the traffic: a payload of digits contains digits.
#[test]
fn only_a_repeating_payload_repeats() {
    for repeats in [true, false] {
        let (one, other) = tcp_pair();
        let work = NetWork { repeats, ..NetWork::stream(NetOp::Send, Transport::Tcp, 25) };
        let near = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).unwrap();
        near.limit(1, u64::MAX);
        near.start(None);
        let mut came = [0; 25];
        std::net::TcpStream::from(other).read_exact(&mut came).unwrap();
        assert_eq!(came == *b"0123456789012345678901234", repeats);
    }
}

// Protects users of options: the options take effect in the kernel, and errors name the refused option.
#[cfg(target_os = "linux")]
#[test]
fn options_take_effect_in_the_kernel() {
    let options = SocketOptions {
        pacing: Some(12_345_678),
        unacknowledged_ms: Some(4321),
        service: Some(0xb8),
        device: Some("lo".to_owned()),
        ..SocketOptions::default()
    };
    let listener = listen_tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &options).unwrap();
    let to = listener.local_addr().unwrap();
    let socket = connect_tcp(to, None, &options, Duration::from_secs(5)).unwrap();
    let read = |level, name| {
        let (mut value, mut length) = (0i64, 8);
        // SAFETY: writes at most 8 bytes.
        #[allow(unsafe_code)]
        let done =
            unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut length) };
        assert_eq!(done, 0);
        value
    };
    assert_eq!(read(libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE), 12_345_678);
    assert_eq!(read(libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT), 4321);
    assert_eq!(read(libc::IPPROTO_IP, libc::IP_TOS), 0xb8);
    let invalid = SocketOptions { device: Some("nonesuch".to_owned()), ..SocketOptions::default() };
    let error = connect_tcp(to, None, &invalid, Duration::from_secs(5)).unwrap_err().to_string();
    assert!(error.starts_with("cannot set the network interface: "), "{error}");
    let label = SocketOptions { flow_label: Some(5), ..SocketOptions::default() };
    let error = connect_tcp(to, None, &label, Duration::from_secs(5)).unwrap_err().to_string();
    assert_eq!(error, "cannot set the flow label: only IPv6 has flow labels; use -6");
}

// Protects pacing: each block has its own start time. A period sends as many blocks as the rate makes due
// in it, the first one immediately.
#[test]
fn a_rate_is_kept_block_by_block() {
    let rate = Some(PerSecond(1_000_000.0));
    let work = NetWork { rate, ..NetWork::stream(NetOp::Send, Transport::Udp, 1000) };
    let (near, far) = run(work, None, Duration::from_millis(200));
    let sent = near.counts(0).bytes / 1000;
    assert!((2..=201).contains(&sent), "{sent}: at most 200 are due");
    assert_eq!(far.counts(0).datagrams.highest, sent);
}

// Protects datagram trains: each datagram has its number, and none is lost or counted twice
// on its way through the kernel.
#[test]
fn trains_count_like_single_datagrams() {
    for trains in [false, true] {
        let work = NetWork { trains, ..NetWork::stream(NetOp::Send, Transport::Udp, 1000) };
        let (near, far) = run(work, Some(500), LONG);
        assert_eq!(near.counts(0).bytes, 500_000);
        let Counts { bytes, datagrams, .. } = far.counts(0);
        assert_eq!(
            (bytes, datagrams.highest, datagrams.lost, datagrams.out_of_order),
            (500_000, 500, 0, 0),
            "{trains}"
        );
    }
}

// Protects round trips: each is timed, and the response is complete.
#[test]
fn round_trips_are_timed_one_by_one() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let work = NetWork { op: NetOp::Request, response: 100, ..NetWork::stream(NetOp::Request, transport, 100) };
        let (near, far) = run(work, None, Duration::from_millis(50));
        let Counts { ops, bytes, .. } = near.counts(0);
        assert!(ops > 0 && bytes == ops * 100, "{ops} {bytes}");
        assert_eq!(near.times(0).count(), ops);
        assert!(far.counts(0).ops >= ops);
    }
}

// Protects connection rates: each op is one connection from start to end, and strangers are not served.
#[test]
fn connections_are_made_and_ended_one_by_one() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let to = listener.local_addr().unwrap();
    let work = NetWork { response: 64, ..NetWork::stream(NetOp::Connect, Transport::Tcp, 32) };
    let accepts = NetWork { op: NetOp::Accept, ..work };
    let mut far =
        Flows::new(vec![Flow { socket: listener.into(), other: Some(to), file: None, work: accepts }]).unwrap();
    far.start(None);
    let none = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().into();
    let near = Flows::new(vec![Flow { socket: none(), other: Some(to), file: None, work }]).unwrap();
    near.start(Some(50_000_000));
    // A connection from another address is closed without an answer.
    let stranger = SocketAddr::from(([127, 0, 0, 2], 0));
    let mut stranger = connect_tcp(to, Some(stranger), &SocketOptions::default(), LONG).unwrap();
    assert!(matches!(std::io::Read::read(&mut stranger, &mut [0]), Ok(0) | Err(_)));
    while !near.is_done() {
        near.wait(&[], LONG);
    }
    far.stop();
    assert_eq!((near.failure(), far.failure()), (None, None));
    let Counts { ops, bytes, .. } = near.counts(0);
    assert!(ops > 0 && bytes == ops * 64 && far.counts(0).ops >= ops, "{ops} {bytes} {:?}", far.counts(0));
    assert_eq!(near.times(0).count(), ops);
}

// Protects exact numbers of connections, with options for each of them.
#[test]
fn connections_end_after_the_requested_number() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let to = Some(address);
    let work = NetWork { response: 300, ..NetWork::stream(NetOp::Connect, Transport::Tcp, 200) };
    let accepts = NetWork { op: NetOp::Accept, ..work };
    let mut far = Flows::new(vec![Flow { socket: listener.into(), other: to, file: None, work: accepts }]).unwrap();
    let options = SocketOptions { no_delay: true, ..SocketOptions::default() };
    let new_sockets = NewSockets { options, buffers: [Some(65536), None], ..NewSockets::default() };
    let socket = new_sockets.make(&address, Transport::Tcp).unwrap();
    let mut near = Flows::with(vec![Flow { socket, other: to, file: None, work }], new_sockets).unwrap();
    far.start(None);
    near.limit(50, u64::MAX);
    near.start(Some(LONG.as_nanos() as u64));
    while !near.is_done() {
        near.wait(&[], Duration::from_secs(10));
    }
    near.stop();
    far.stop();
    assert_eq!((near.failure(), far.failure()), (None, None));
    assert_eq!([&near, &far].map(|end| (end.counts(0).ops, end.counts(0).bytes)), [(50, 15_000); 2]);
}

// Protects tools whose datagrams have no header: any size works, responses may be longer than requests, and
// an empty datagram ends the run.
#[test]
fn bare_datagrams_need_no_header() {
    let bare = NetWork { bare: true, response: 900, ..NetWork::stream(NetOp::Request, Transport::Udp, 1) };
    let (near, far) = run(bare, Some(20), LONG);
    assert_eq!((near.counts(0).ops, near.counts(0).bytes), (20, 18_000));
    assert_eq!(far.counts(0).ops, 20);

    let (one, other) = udp_pair();
    let work = NetWork { bare: true, ..NetWork::stream(NetOp::Receive, Transport::Udp, 1) };
    let far = Flows::new(vec![Flow { socket: other, other: None, file: None, work }]).unwrap();
    far.start(None);
    let one = UdpSocket::from(one);
    one.send(&[7]).unwrap();
    one.send(&[]).unwrap();
    let until = std::time::Instant::now() + LONG;
    while !far.is_done() && std::time::Instant::now() < until {
        far.wait(&[], Duration::from_secs(1));
    }
    assert!(far.is_done());
    assert_eq!((far.counts(0).bytes, far.counts(0).ops), (1, 1));
}

// Protects against hanging: a receiver stops on request even if its peer is silent.
#[test]
fn a_worker_stops_despite_a_silent_peer() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for op in [NetOp::Receive, NetOp::Request, NetOp::Respond] {
            let (one, _other) = if transport == Transport::Tcp { tcp_pair() } else { udp_pair() };
            let work = NetWork::stream(op, transport, 100);
            let mut flows = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).unwrap();
            flows.start(None);
            std::thread::sleep(Duration::from_millis(20));
            flows.stop();
            assert_eq!(flows.counts(0).bytes, 0, "{transport:?} {op:?}");
        }
    }
}

// Protects the setup: impossible work is refused before a worker exists.
#[test]
fn sizes_out_of_range_are_refused() {
    let (one, _other) = udp_pair();
    let work = NetWork::stream(NetOp::Send, Transport::Udp, 8);
    let error = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).err().unwrap();
    assert_eq!(error.to_string(), "block must be from 16 to 65507 bytes");
}

// Protects users who send a named file with sendfile(2): its first block is sent repeatedly, regardless
// of the rest of the file.
#[cfg(target_os = "linux")]
#[test]
fn the_first_block_of_a_file_is_sent_repeatedly() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sent");
    let bytes: Vec<u8> = (0..2_500u32).map(|number| (number * 7 % 251) as u8).collect();
    std::fs::write(&path, &bytes).unwrap();
    let (one, other) = tcp_pair();
    let work =
        NetWork { passing: Passing::SendFile, apart: true, ..NetWork::stream(NetOp::Send, Transport::Tcp, 1_000) };
    let file = Some(File::open(&path).unwrap());
    let near = Flows::new(vec![Flow { socket: one, other: None, file, work }]).unwrap();
    near.limit(3, u64::MAX);
    near.start(None);
    let mut came = [0; 3_000];
    std::net::TcpStream::from(other).read_exact(&mut came).unwrap();
    assert!(came.chunks(1_000).all(|block| block == &bytes[..1_000]));
}

// Protects both ends of iperf2's round trips. A request begins with the expected words and its send time. A response is
// the request plus the other end's times, by the wall clock.
#[test]
fn round_trip_messages_carry_the_times_of_both_ends() {
    let head = std::array::from_fn(|at| at as u32 + 100);
    let form = DatagramForm::Iperf2(Iperf2Form { ahead_us: 1 << 50, head, bin_us: 0 });
    let of = |op| NetWork { form, response: 80, repeats: true, ..NetWork::stream(op, Transport::Tcp, 80) };
    let word = |bytes: &[u8; 80], at: usize| u32::from_be_bytes(bytes[4 * at..4 * at + 4].try_into().unwrap());
    let least = ((1u64 << 50) / 1_000_000) as u32;
    let start = |work| {
        let (one, other) = tcp_pair();
        let flows = Flows::new(vec![Flow { socket: one, other: None, file: None, work }]).unwrap();
        flows.start(None);
        (flows, std::net::TcpStream::from(other))
    };
    let (_client, mut far) = start(of(NetOp::Request));
    let mut asked = [0; 80];
    far.read_exact(&mut asked).unwrap();
    assert_eq!([0, 1, 4, 7, 11].map(|at| word(&asked, at)), [100, 101, 104, 107, 111]);
    assert!(word(&asked, 5) >= least && word(&asked, 6) < 1_000_000);
    assert_eq!(&asked[48..52], b"8901");
    let (_server, mut far) = start(of(NetOp::Respond));
    far.write_all(&asked).unwrap();
    let mut answer = [0; 80];
    far.read_exact(&mut answer).unwrap();
    assert!([7, 9].into_iter().all(|at| word(&answer, at) >= least && word(&answer, at + 1) < 1_000_000));
    let is_same = |range: std::ops::Range<usize>| answer[range.clone()] == asked[range];
    assert!(is_same(0..28) && is_same(44..80));
}
