//! The client: connects its streams, sends or receives, and requests the server's report on datagrams.

use super::running::Running;
use super::server::BackServer;
use super::{TestError, ahead_us, banner, met, now_us, options};
use plumb_cli::output::print;
use plumb_engine::net::{DatagramHeader, Flow, Flows, connect_tcp, datagram_socket, segment_bytes};
use plumb_engine::signals::StopFlag;
use plumb_tools_net::iperf2::{
    Ask, DASHES, Iperf2Settings, LAST_TRIES, Met, OutputStyle, REPORT_BYTES, Row, ServerReport, Stream, Test,
    blocks as blocks_of, bounces as bounces_of, flow, form, tcp_head,
};
use plumb_workload::net::{DatagramForm, NetOp};
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

const CONNECT_PATIENCE: Duration = Duration::from_secs(10);

/// Time after which an unanswered last datagram is sent again. Source: 2.1.8.
const ANSWER_PATIENCE: Duration = Duration::from_millis(250);

/// Time within which the other end's remaining data must arrive after this end has sent all.
const BACK_PATIENCE: Duration = Duration::from_secs(10);

/// Number of reads, and pauses between them, for data that a server still sends at the end of a test.
const DRAINS: u32 = 5;
const DRAIN_PAUSE: Duration = Duration::from_millis(10);

/// Poll interval for shutdown.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs a test, from its connections to the server's report.
pub(super) fn run(
    settings: &Iperf2Settings,
    host: &str,
    bind: Option<IpAddr>,
    stop: StopFlag,
) -> Result<(), TestError> {
    let test = &settings.test;
    let no_host = |why: String| TestError::Host { host: host.to_owned(), why };
    let all = (host, settings.port).to_socket_addrs().map_err(|error| no_host(error.to_string()))?;
    let is_v6 = bind.map_or(settings.is_v6, |bind| bind.is_ipv6());
    let to = all.into_iter().find(|to| to.is_ipv6() == is_v6 || host.contains(':'));
    let to = to.ok_or_else(|| no_host("it has no address of this kind; -V asks for IPv6".to_owned()))?;
    let from = bind.map(|bind| SocketAddr::new(bind, 0));
    // Listen before the server learns the port.
    let mut back = test.back.map(|back| BackServer::listen(settings, back, bind, to.ip(), stop)).transpose()?;
    let with_back = Test { back: back.as_ref().map(BackServer::back), ..test.clone() };
    let test = &with_back;
    let bounces = test.bounces.is_some();
    let (unit, enhanced, trips) = (settings.unit, settings.enhanced, test.trip_times);
    let look = OutputStyle { unit, enhanced, udp: test.udp, sends: !test.reverse, bounces, trips };
    let (ahead_us, now_us) = (ahead_us(), now_us());
    let form = match test.udp {
        true => form(test, settings.port, ahead_us, now_us),
        false => blocks_of(test, settings.port, ahead_us, now_us),
    };
    let head = tcp_head(test, settings.port, ahead_us + now_us);
    let (mut flows, mut streams, mut lines) = (Vec::new(), Vec::new(), String::new());
    let mut ports = Vec::new();
    let mut drains: Vec<TcpStream> = Vec::new();
    let connect = |source| TestError::Connect { what: "connect failed", source };
    for number in 1..=u64::from(test.streams) {
        let bounced = bounces.then_some([test.block, 0]);
        let (reverse, full_duplex) = (test.reverse, test.full_duplex);
        let ask = Ask { reverse, full_duplex, trip_times: trips, bounces: bounced, ..Ask::default() };
        let (here, known, socket) = if test.udp {
            let socket = datagram_socket(Some(to), from, &options(test)).map_err(connect)?;
            ports.push(socket.local_addr()?);
            (socket.local_addr()?, Met { ask, socket: socket.as_raw_fd(), ..Met::default() }, socket.into())
        } else {
            let began = Instant::now();
            let mut socket = connect_tcp(to, from, &options(test), CONNECT_PATIENCE).map_err(connect)?;
            let connect_ms = Some(began.elapsed().as_secs_f64() * 1e3);
            let known =
                Met { ask, connect_ms, socket: socket.as_raw_fd(), tcp: first_facts(socket.as_fd()), ..Met::default() };
            if !bounces {
                socket.write_all(&head)?;
            }
            drains.push(socket.try_clone()?);
            (socket.local_addr()?, known, OwnedFd::from(socket))
        };
        let (stream, known) = met(number, here, to, known);
        lines += &look.met(&stream, &known);
        let stream = Stream { sends: look.sends, is_back: reverse, ..stream };
        let work = match bounces {
            true => bounces_of(test, test.block, NetOp::Request, ahead_us),
            false => flow(test, look.sends, form),
        };
        let back = test.full_duplex.then(|| socket.try_clone()).transpose()?;
        streams.push(stream);
        flows.push(Flow { socket, other: None, file: None, work });
        if let (Some(socket), Some(stream)) = (back, streams.last()) {
            streams.push(Stream { sends: false, is_back: true, ..stream.clone() });
            flows.push(Flow { socket, other: None, file: None, work: flow(test, false, form) });
        }
    }
    if let Some(first) = flows.first().filter(|_| !settings.csv) {
        let first: &Flow = first;
        let verb = format!("Client connecting to {},", to.ip());
        let banner = banner(settings, &verb, Some(test.streams), first.socket.as_fd());
        print(&format!("{DASHES}{banner}{DASHES}{lines}{}", look.head()));
    }
    if let Some(back) = back.as_mut().filter(|_| test.back.is_some_and(|back| back.at_once)) {
        back.begin()?;
    }
    let flows = Flows::new(flows)?;
    if test.bytes > 0 {
        let blocks = test.bytes.div_ceil(test.block.into()) * u64::from(test.streams);
        flows.limit(blocks, u64::MAX);
    }
    // The server limits its own sending.
    let time = (test.bytes == 0 && look.sends).then(|| Duration::from_secs_f64(test.time_s));
    let before = if test.udp || test.reverse || bounces { 0 } else { head.len() as u64 };
    let mut running = Running::start(settings, look, &streams, flows, time, before);
    // Limits the wait for a server that should send and does not.
    let longest = test.time_s + 10.0;
    // In a bidirectional test, this end finishes first and then notifies the other end.
    let mut sent: Option<Instant> = None;
    while !running.is_over() && !stop.requested() && sent.is_none_or(|sent| sent.elapsed() < BACK_PATIENCE) {
        if sent.is_none() && running.has_sent() {
            sent = Some(Instant::now());
            drains.iter().for_each(|socket| _ = socket.shutdown(Shutdown::Write));
        }
        running.poll(POLL_INTERVAL);
        if let Some(failure) = running.flows.failure() {
            return Err(TestError::Flow(failure));
        }
        if test.bytes == 0 && running.seconds() > longest {
            break;
        }
    }
    let rows = running.finish();
    for socket in &drains {
        drain(socket);
    }
    // The sockets receive nothing more.
    drop(running);
    if let Some(back) = back {
        back.finish()?;
    }
    if test.udp {
        let sockets: Result<Vec<UdpSocket>, _> =
            ports.into_iter().map(|port| datagram_socket(Some(to), Some(port), &options(test))).collect();
        last(settings, look, form, &streams, &rows, &sockets.map_err(connect)?)?;
    }
    Ok(())
}

/// Drains a connection with unread data before it closes, because closing it would send a reset.
fn drain(mut socket: &TcpStream) {
    // Errors mean that the connection has ended already.
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.set_nonblocking(true);
    for _ in 0..DRAINS {
        while socket.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {}
        std::thread::sleep(DRAIN_PAUSE);
    }
}

/// Returns the first congestion window (KiB), the segment size and the round trip.
pub(crate) fn first_facts(socket: std::os::fd::BorrowedFd<'_>) -> Option<[u64; 3]> {
    let segment = u64::from(segment_bytes(socket)?);
    let facts = plumb_engine::net::TcpFacts::of_socket(socket)?;
    Some([facts.window / 1024, segment, facts.rtt_us])
}

/// Sends the last datagram until the server answers with its report.
fn last(
    settings: &Iperf2Settings,
    look: OutputStyle,
    form: DatagramForm,
    streams: &[Stream],
    rows: &[Row],
    sockets: &[UdpSocket],
) -> Result<(), TestError> {
    let mut text = String::new();
    let received = OutputStyle { sends: false, ..look };
    for ((stream, row), socket) in streams.iter().zip(rows).zip(sockets) {
        let mut datagram = vec![b'0'; settings.test.block as usize];
        socket.set_read_timeout(Some(ANSWER_PATIENCE))?;
        let mut report = None;
        for again in 0..u64::from(LAST_TRIES) {
            let number = (row.ops + 1 + again).wrapping_neg();
            DatagramHeader { sent_us: super::now_us(), number }.write(&mut datagram, form);
            // If the server is gone, the next read returns the error.
            let _ = socket.send(&datagram);
            let mut answer = [0; REPORT_BYTES * 2];
            report = socket.recv(&mut answer).ok().and_then(|length| ServerReport::read(&answer[..length]));
            if report.is_some() {
                break;
            }
        }
        if settings.csv {
            let at = jiff::Zoned::now().strftime("%Y%m%d%H%M%S").to_string();
            let [here, there] = stream.ends.clone();
            let other = Stream { ends: [there, here], ..stream.clone() };
            text += &report.map_or_else(String::new, |report| received.csv(&at, &other, &Row::from_report(&report)));
            continue;
        }
        text += &format!("[{:3}] Sent {} datagrams\n", stream.number, row.ops + 1);
        text += &match report {
            Some(report) => {
                let row = received.row(&stream.name(), &Row::from_report(&report));
                format!("[{:3}] Server Report:\n{}{row}", stream.number, received.head())
            }
            None => format!(
                "[{:3}] WARNING: did not receive ack of last datagram after {LAST_TRIES} tries.\n",
                stream.number
            ),
        };
    }
    print(&text);
    Ok(())
}
