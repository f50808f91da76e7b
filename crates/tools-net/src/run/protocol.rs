//! Network work of workloads. Its connections use iperf3's protocol, as in `plumb net`.

use crate::iperf3::client::{Begun, Place, begin};
use crate::iperf3::output::Out;
use crate::iperf3::{Local, TestError};
use plumb_engine::guard::Permissions;
use plumb_engine::net::{
    Counts, Flow, FlowEnd, LocalAddress, LocalAddressError, NetEnd, NetProtocol, NetRequest, NetSession, congestion,
};
use plumb_result::{Datagrams, NET_SCHEMA, Network, Throughput};
use plumb_tls::ChannelError;
use plumb_tools_net::iperf3::{AUTHORIZATION_FAILED, End as Role, Iperf3Settings, Server, error_text};
use plumb_tools_net::iperf3::{Output, Params, Results, StreamResult, TripParams, stream_id};
use plumb_workload::Nanos;
use plumb_workload::net::{Direction, NetLoad, Passing, Protocol, StreamLoad, TripLoad};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Duration;

/// Default port of the server.
pub const PORT: u16 = 5201;

/// Sizes of a block and of a datagram, bytes. Such datagrams are not fragmented on any link.
const BLOCK_BYTES: u32 = 128 << 10;
const DATAGRAM_BYTES: u32 = 1200;

pub struct Iperf3;

impl NetProtocol for Iperf3 {
    fn connect(&self, request: &NetRequest<'_>) -> Result<Box<dyn NetSession>, String> {
        let protocol = request.load.protocol();
        if protocol == Protocol::Sctp {
            return Err(without_sctp());
        }
        let place = place_of(request.address).map_err(|error| error.to_string())?;
        let params = params(request);
        let mut out = Out::new(Output::Text, false, "", Box::new(|_| {}));
        let begun = begin(&place, &params, &mut out).map_err(|error| words(&error, &place))?;
        let known = known(request, &place, &begun);
        Ok(Box::new(Session { place, begun, known }))
    }
}

/// Returns the reason why SCTP is unavailable: the kernel lacks it, or Plumb does not use it.
fn without_sctp() -> String {
    use rustix::net::{AddressFamily, SocketType, ipproto, socket};
    match socket(AddressFamily::INET, SocketType::STREAM, Some(ipproto::SCTP)) {
        Err(_) => "this kernel has no SCTP; use tcp".to_owned(),
        Ok(_) => "SCTP is not supported by Plumb's own servers and clients; use tcp".to_owned(),
    }
}

/// Error from parsing the address of a server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// An address outside of the Internet is invalid.
    #[error(transparent)]
    Local(#[from] LocalAddressError),
    /// The port is not a number from 0 to 65535.
    #[error("`{port}` in `{address}` is not a port; use a number up to 65535")]
    Port {
        address: String,
        /// The part after the colon.
        port: String,
    },
    /// The address and the option name different ports.
    #[error("{address} and --port {port} name two ports; leave one out")]
    TwoPorts {
        /// The address, with its port.
        address: String,
        /// The port of the option.
        port: u16,
    },
}

/// Returns the server at an address, `HOST` or `HOST:PORT`.
///
/// # Errors
/// As for [`place_with`].
pub(crate) fn place_of(address: &str) -> Result<Place, AddressError> {
    place_with(address, None)
}

/// Returns the server at an address whose port may come from another option.
///
/// # Errors
/// The text is not an address, or has another port than the option.
pub fn place_with(address: &str, port: Option<u16>) -> Result<Place, AddressError> {
    if let Some(local) = LocalAddress::parse(address) {
        let place = place_at(address.to_owned(), 0);
        return Ok(Place { local_address: Some(local?), ..place });
    }
    let plain = |host: &str| host.trim_start_matches('[').trim_end_matches(']').to_owned();
    match address.rsplit_once(':') {
        // In an IPv6 address without brackets, colons are part of the address.
        Some((host, text)) if !host.contains(':') || host.ends_with(']') => {
            let own: u16 =
                text.parse().map_err(|_| AddressError::Port { address: address.to_owned(), port: text.to_owned() })?;
            match port.filter(|port| *port != own) {
                Some(port) => Err(AddressError::TwoPorts { address: address.to_owned(), port }),
                None => Ok(place_at(plain(host), own)),
            }
        }
        _ => Ok(place_at(plain(address), port.unwrap_or(PORT))),
    }
}

/// Returns the server at a host and port.
pub(crate) fn place_at(host: String, port: u16) -> Place {
    Place {
        host,
        port,
        local_address: None,
        bind: None,
        is_v6: None,
        client_port: None,
        timeout: Some(Duration::from_secs(10)),
        trust: None,
        local: local(),
    }
}

/// Returns the parameters for the other end.
fn params(request: &NetRequest<'_>) -> Params {
    let NetRequest { load, connections, time, rate, .. } = *request;
    let seconds = |time: Nanos| u32::try_from(time.0.div_ceil(1_000_000_000)).unwrap_or(u32::MAX).min(86_400);
    let protocol = load.protocol();
    let mut params = Params::default();
    params.transport.udp = protocol == Protocol::Udp;
    params.transport.multipath = protocol == Protocol::Mptcp;
    // Without a time, the test lasts until this end stops.
    params.end.time_s = Some(time.map_or(0, seconds));
    params.flow.streams = connections;
    params.socket.congestion = load.congestion().map(str::to_owned);
    params.pace.rate = rate.map(|rate| rate as u64);
    match load {
        NetLoad::Stream(StreamLoad { direction, block, rate, tx, rx, .. }) => {
            let usual = if params.transport.udp { DATAGRAM_BYTES } else { BLOCK_BYTES };
            params.flow.reverse = *direction == Direction::Receive;
            params.flow.block = block.map_or(usual, |block| block.0 as u32);
            params.pace.rate = rate.map(|rate| (rate.0 * 8.0) as u64);
            passing(params, *tx, *rx)
        }
        NetLoad::Rr(trips) | NetLoad::Crr(trips) => {
            let TripLoad { request, response, busy_poll, .. } = trips;
            params.flow.block = request.0 as u32;
            params.trips = TripParams {
                response: response.0 as u32,
                connects: matches!(load, NetLoad::Crr(_)),
                poll_us: busy_poll.0.div_ceil(1000) as u32,
            };
            params
        }
    }
}

/// Sets how bytes pass. Stock servers know only two of the ways.
pub fn passing(mut params: Params, tx: Passing, rx: Passing) -> Params {
    params.passing.lend = tx == Passing::Lend;
    params.passing.drop = rx == Passing::Drop;
    params.passing.tx = if tx == Passing::Lend { Passing::Copy } else { tx };
    params.passing.rx = if rx == Passing::Drop { Passing::Copy } else { rx };
    params
}

/// Describes how bytes pass; `None` if both ends copy them.
pub fn passing_words(tx: Passing, rx: Passing) -> Option<String> {
    ([tx, rx] != [Passing::Copy; 2]).then(|| format!("tx {}, rx {}", tx.name(), rx.name()))
}

/// Adds the share of zero-copy calls that the kernel copied anyway.
pub fn with_copied(passing: Option<String>, [copied, all]: [u64; 2]) -> Option<String> {
    let share = copied as f64 * 100.0 / all.max(1) as f64;
    let words = |passing: String| match copied {
        0 => passing,
        _ => format!("{passing} (the kernel copied {share:.0} % of the calls anyway)"),
    };
    passing.map(words)
}

/// Returns the facts known after the connections are made.
fn known(request: &NetRequest<'_>, place: &Place, begun: &Begun) -> Network {
    let params = &begun.params;
    let tx = if params.passing.lend { Passing::Lend } else { params.passing.tx };
    let rx = if params.passing.drop { Passing::Drop } else { params.passing.rx };
    let local = begun.streams.first().and_then(|stream| stream.local.0.parse().ok());
    with_link(
        local,
        Network {
            schema: NET_SCHEMA.to_owned(),
            tool: plumb_bench::run::tool(),
            started_at: jiff::Timestamp::now().to_string(),
            host: place.host.clone(),
            port: place.port,
            connect_ns: Some(begun.connect_ns),
            streams: request.connections,
            protocol: Some(request.load.protocol())
                .filter(|which| *which != Protocol::Tcp)
                .map(|which| which.name().to_owned()),
            passing: passing_words(tx, rx),
            busy_poll_us: params.trips.poll_us,
            congestion: begun
                .flows
                .first()
                .filter(|_| !params.transport.udp && !params.trips.connects)
                .and_then(|flow| congestion(flow.socket.as_fd())),
            processors: plumb_probe::link::allowed_processors(),
            ..Network::default()
        },
    )
}

/// Adds the network interface that has a local address.
pub fn with_link(local: Option<IpAddr>, network: Network) -> Network {
    let link = local.and_then(plumb_probe::link::of_address).unwrap_or_default();
    Network {
        interface: Some(link.name).filter(|name| !name.is_empty()),
        interface_bits_per_second: link.bits_per_second,
        interface_mtu: link.mtu,
        interface_driver: link.driver,
        interface_node: link.node,
        offloads: link.offloads.into_iter().map(|(name, is)| (name.to_owned(), is)).collect::<BTreeMap<_, _>>(),
        ..network
    }
}

struct Session {
    place: Place,
    begun: Begun,
    known: Network,
}

impl NetSession for Session {
    fn flows(&mut self) -> Vec<Flow> {
        std::mem::take(&mut self.begun.flows)
    }

    fn finish(mut self: Box<Self>, ended: &NetEnd) -> Result<Network, String> {
        let results = results(ended, &self.begun.params, self.known.congestion.clone());
        let other = self.begun.exchange(&results).map_err(|error: TestError| words(&error, &self.place))?;
        let Session { begun, known, .. } = *self;
        Ok(found(ended, &begun.params, &other, known))
    }
}

fn percent(ns: u64, seconds: f64) -> f64 {
    ns as f64 / 1e7 / seconds.max(1e-9)
}

/// Returns the results for the other end.
fn results(ended: &NetEnd, params: &Params, congestion: Option<String>) -> Results {
    let stream = |(number, end): (usize, &FlowEnd)| {
        let Counts { bytes, datagrams, .. } = end.counts;
        let sent = params.transport.udp && !params.flow.reverse;
        StreamResult {
            id: stream_id(number),
            bytes,
            retransmits: end.tcp.filter(|_| !params.flow.reverse).map_or(-1, |tcp| tcp.retransmits as i64),
            jitter_s: datagrams.jitter_us / 1e6,
            errors: datagrams.lost as i64,
            omitted_errors: Some(0),
            packets: if sent { (bytes / u64::from(params.flow.block.max(1))) as i64 } else { datagrams.highest as i64 },
            omitted_packets: Some(0),
            seconds: ended.seconds,
        }
    };
    let (user, system) = ended.cpu_ns;
    Results {
        cpu: [user + system, user, system].map(|ns| percent(ns, ended.seconds)),
        has_retransmits: if params.flow.reverse { -1 } else { i64::from(!params.transport.udp) },
        congestion,
        output: None,
        streams: ended.flows.iter().enumerate().map(stream).collect(),
    }
}

/// Returns the combined results of both ends.
fn found(ended: &NetEnd, params: &Params, other: &Results, known: Network) -> Network {
    let tcp = ended.flows.first().and_then(|end| end.tcp).unwrap_or_default();
    let positive = |number: u64| Some(number).filter(|&number| number > 0);
    let direction = if params.flow.reverse { "receive" } else { "send" };
    let is_stream = params.trips.response == 0;
    let own_bytes: u64 = ended.flows.iter().map(|end| end.counts.bytes).sum();
    let far_bytes: u64 = other.streams.iter().map(|stream| stream.bytes).sum();
    let far_seconds = other.streams.first().map_or(0.0, |stream| stream.seconds);
    let (bytes, seconds) = match (params.flow.reverse, far_seconds > 0.0) {
        (true, _) => (own_bytes, ended.seconds),
        (false, true) => (far_bytes, far_seconds),
        (false, false) => (far_bytes, ended.seconds),
    };
    let retransmits = match params.flow.reverse {
        false => Some(ended.flows.iter().filter_map(|end| end.tcp).map(|tcp| tcp.retransmits as i64).sum()),
        true => Some(other.streams.iter().map(|stream| stream.retransmits).sum::<i64>()).filter(|&again| again >= 0),
    };
    let bytes_per_second = bytes as f64 / seconds.max(1e-9);
    let throughput = Throughput {
        direction: direction.to_owned(),
        bytes_per_second,
        link_share: known.interface_bits_per_second.map(|bits| bytes_per_second * 8.0 / bits),
        retransmits: retransmits.filter(|_| !params.transport.udp),
        processors: percent(ended.cpu_ns.0 + ended.cpu_ns.1, ended.seconds) / 100.0,
        processors_there: other.cpu[0] / 100.0,
    };
    let datagrams = || {
        let own = ended.flows.iter().fold((0, 0, 0, 0.0f64), |sum, end| {
            let arrived = end.counts.datagrams;
            let jitter = sum.3.max(arrived.jitter_us * 1e3);
            (sum.0 + arrived.highest as i64, sum.1 + arrived.lost as i64, sum.2 + arrived.out_of_order as i64, jitter)
        });
        let far = other.streams.iter().fold((0, 0, 0, 0.0f64), |sum, stream| {
            (sum.0 + stream.packets, sum.1 + stream.errors, 0, sum.3.max(stream.jitter_s * 1e9))
        });
        let (packets, lost, out_of_order, jitter_ns) = if params.flow.reverse { own } else { far };
        Datagrams { direction: direction.to_owned(), packets, lost, out_of_order, jitter_ns }
    };
    Network {
        seconds: ended.seconds as u32,
        congestion_there: other.congestion.clone().filter(|_| known.congestion.is_some()),
        path_mtu: positive(tcp.path_mtu),
        tcp_rtt_ns: positive(tcp.rtt_us * 1000),
        throughput: if is_stream { vec![throughput] } else { Vec::new() },
        datagrams: if is_stream && params.transport.udp { vec![datagrams()] } else { Vec::new() },
        passing: with_copied(known.passing.clone(), ended.copied),
        ..known
    }
}

/// Formats a failure, with a hint.
pub fn words(error: &TestError, place: &Place) -> String {
    let Place { host, port, .. } = place;
    match error {
        TestError::Connect(error) if place.local_address.is_some() => {
            format!("cannot connect to {host}: {error}\nstart `plumb net --serve --bind {host}` there")
        }
        TestError::Connect(error) => format!(
            "cannot connect to {host} port {port}: {error}\nstart `plumb net --serve --bind ADDRESS --port {port}` or \
             `iperf3 -s -p {port}` there"
        ),
        TestError::Channel(error @ (ChannelError::NotTls | ChannelError::Closed)) => {
            format!(
                "{host} port {port}: {error}\nstart `plumb net --serve --keys FILE` there, or leave --keys out here"
            )
        }
        TestError::Server(message) if error_text(AUTHORIZATION_FAILED).is_some_and(|text| text == message) => {
            format!(
                "{host} port {port} serves only clients with its token: use --keys FILE, which `plumb net --init` made"
            )
        }
        error => format!("{host} port {port}: {error}"),
    }
}

/// Returns the settings of an end without any options.
pub fn local() -> Local {
    Local::from_settings(&Iperf3Settings::new(Role::Server(Server::default())), &Permissions::none())
}
