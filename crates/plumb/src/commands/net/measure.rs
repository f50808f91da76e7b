//! A measurement of a network: round trips idle and loaded, connections, streams, datagrams.

use plumb_cli::progress::StatusLine;
use plumb_engine::net::LocalAddress;
use plumb_engine::signals::StopFlag;
use plumb_report::format;
use plumb_result::{Datagrams, NET_SCHEMA, Network, RoundTrips, Throughput};
use plumb_tools_net::iperf3::{Output, Params, Row, TripParams, Unit};
use plumb_tools_net_run::iperf3::TestError;
use plumb_tools_net_run::iperf3::client::{OutputStyle, Place, Tested, test};
use plumb_tools_net_run::iperf3::output::Out;
use plumb_tools_net_run::protocol::{passing, passing_words, with_copied, with_link};
use plumb_workload::net::{Passing, Protocol};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::time::Duration;

/// Round trips per second under load. Each has its own start time, so that a late one does not hide the next ones.
const PROBES_PER_SECOND: u64 = 200;

/// Bytes of a request, and of its response.
const TRIP_BYTES: u32 = 16;

/// Bytes of a datagram; small enough to pass any link unfragmented.
const DATAGRAM_BYTES: u32 = 1200;

/// Streams per direction that measure the capacity of a path: one stream is often limited by a processor.
const CAPACITY_STREAMS: u32 = 4;

/// Time that the load runs before the first counted round trip.
const LOAD_FIRST: Duration = Duration::from_millis(300);

/// Number of attempts at a busy server. The pause between them is `BUSY_PAUSE`.
const BUSY_TRIES: u32 = 15;
const BUSY_PAUSE: Duration = Duration::from_millis(200);

pub(super) struct Bench {
    pub place: Place,
    /// Length of each part.
    pub seconds: u32,
    pub streams: u32,
    /// Bits per second of datagrams.
    pub datagram_rate: u64,
    /// Longest time that round trips poll before they sleep, µs.
    pub busy_poll_us: u32,
    /// Method by which streams pass bytes to and from the kernel.
    pub tx: Passing,
    pub rx: Passing,
    pub multipath: bool,
    pub stop: StopFlag,
    /// Whether the other end has answered in this measurement.
    pub was_there: AtomicBool,
    /// Connection attempts in this measurement, and those that were answered.
    pub tried: AtomicU32,
    pub answered: AtomicU32,
}

impl Bench {
    fn test(&self, params: &Params) -> Result<Tested, TestError> {
        let look = OutputStyle { unit: Unit::Adaptive, verbose: false, interval_s: 0.0 };
        let mut left = BUSY_TRIES;
        loop {
            let mut out = Out::new(Output::Text, false, "", Box::new(|_| {}));
            let tested = test(&self.place, params, look, &mut out, self.stop);
            self.tried.fetch_add(1, Relaxed);
            self.answered.fetch_add(u32::from(!matches!(tested, Err(TestError::Connect(_)))), Relaxed);
            match tested {
                Ok(tested) if tested.interrupted => return Err(TestError::Interrupted("client")),
                // An iperf3 server runs one test at a time, and needs a moment after each before it listens again.
                Err(TestError::Busy | TestError::Closed) if left > 0 => std::thread::sleep(BUSY_PAUSE),
                Err(TestError::Connect(_)) if left > 0 && self.was_there.load(Relaxed) => {
                    std::thread::sleep(BUSY_PAUSE);
                }
                tested => {
                    self.was_there.fetch_or(!matches!(tested, Err(TestError::Connect(_))), Relaxed);
                    return tested;
                }
            }
            left -= 1;
        }
    }

    /// Measures round trips, at a rate or back to back.
    fn trips(&self, rate: Option<u64>, during: &'static str) -> Result<(RoundTrips, f64), TestError> {
        let mut params = Params::default();
        params.pace.rate = rate;
        self.rounds(params, during)
    }

    /// Measures round trips of one kind: on one connection, or with a new connection for each.
    fn rounds(&self, mut params: Params, during: &'static str) -> Result<(RoundTrips, f64), TestError> {
        params.transport.multipath = self.multipath;
        params.end.time_s = Some(self.seconds);
        (params.flow.block, params.trips.response) = (TRIP_BYTES, TRIP_BYTES);
        params.trips.poll_us = self.busy_poll_us;
        let Tested { times, lost, seconds, .. } = self.test(&params)?;
        let per_second = times.count() as f64 / seconds.max(1e-9);
        Ok((RoundTrips::from_times(during, &times, lost), per_second))
    }

    /// Runs streams at full speed. Measures round trips at the same time if the other end answers them.
    fn load(&self, reverse: bool, during: Option<&'static str>) -> Result<(Option<RoundTrips>, Tested), TestError> {
        let mut params = Params::default();
        params.transport.multipath = self.multipath;
        params.end.time_s = Some(self.seconds + 1);
        (params.flow.streams, params.flow.reverse) = (self.streams, reverse);
        let params = passing(params, self.tx, self.rx);
        std::thread::scope(|scope| {
            let load = scope.spawn(|| self.test(&params));
            std::thread::sleep(LOAD_FIRST);
            let trips = during.map(|during| self.trips(Some(PROBES_PER_SECOND), during));
            let load = load.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((trips.transpose()?.map(|trips| trips.0), load?))
        })
    }

    pub(super) fn begun(&self) -> Network {
        Network {
            schema: NET_SCHEMA.to_owned(),
            id: plumb_bench::run::new_id(),
            started_at: jiff::Timestamp::now().to_string(),
            tool: plumb_bench::run::tool(),
            host: self.place.host.clone(),
            port: self.place.port,
            server_certificate: self.place.trust.as_ref().map(|trust| trust.fingerprint.to_string()),
            seconds: self.seconds,
            datagram_bits_per_second: self.datagram_rate,
            streams: self.streams,
            protocol: self.protocol().filter(|which| *which != Protocol::Tcp).map(|which| which.name().to_owned()),
            passing: passing_words(self.tx, self.rx),
            busy_poll_us: self.busy_poll_us,
            processors: plumb_probe::link::allowed_processors(),
            ..Network::default()
        }
    }

    fn protocol(&self) -> Option<Protocol> {
        Some(match &self.place.local_address {
            Some(LocalAddress::Unix(_)) => Protocol::Unix,
            Some(LocalAddress::Vsock { .. }) => Protocol::Vsock,
            None if self.multipath => Protocol::Mptcp,
            None => return None,
        })
    }

    /// Number of parts of `seconds` each in [`Bench::measure`]. Parts with load take one second more.
    const PARTS: u32 = 7;

    /// Length of a whole measurement, seconds.
    pub(super) fn whole_s(&self) -> u32 {
        Bench::PARTS * self.seconds + 2
    }

    fn datagrams(&self) -> Result<Tested, TestError> {
        let mut params = Params::default();
        params.transport.udp = true;
        params.end.time_s = Some(self.seconds);
        (params.flow.bidir, params.flow.block) = (true, DATAGRAM_BYTES);
        params.pace.rate = Some(self.datagram_rate);
        self.test(&params)
    }

    fn begins(&self, line: &StatusLine, what: &str, parts_done: u32) {
        let left = self.whole_s().saturating_sub(parts_done * self.seconds);
        line.say(format!("{what} · about {} left", format::time_brief(f64::from(left) * 1e9)));
    }

    pub(super) fn measure(&self) -> Result<Network, TestError> {
        let line = StatusLine::on_standard_error();
        let begun = self.begun();
        self.was_there.store(false, Relaxed);
        self.tried.store(0, Relaxed);
        self.answered.store(0, Relaxed);
        self.begins(&line, "round trips, idle", 0);
        let idle = match self.trips(Some(PROBES_PER_SECOND), "idle") {
            Ok((trips, _)) => Some(trips),
            // The other end is an iperf3 server, which answers no round trips.
            Err(TestError::Unable(_)) => None,
            Err(error) => return Err(error),
        };
        let while_loaded = |during| idle.is_some().then_some(during);
        self.begins(&line, "round trips, back to back", 1);
        let trips_per_second = match idle {
            Some(_) => Some(self.trips(None, "back to back")?.1),
            None => None,
        };
        self.begins(&line, "connections", 2);
        // A Unix or vsock socket is always the same connection.
        let connections = match idle.is_some() && self.place.local_address.is_none() {
            true => {
                let trips = TripParams { connects: true, ..TripParams::default() };
                Some(self.rounds(Params { trips, ..Params::default() }, "connecting")?)
            }
            false => None,
        };
        self.begins(&line, "receiving", 3);
        let (receiving, received) = self.load(true, while_loaded("receiving"))?;
        self.begins(&line, "sending", 4);
        let (sending, sent) = self.load(false, while_loaded("sending"))?;
        self.begins(&line, "streams both ways", 5);
        let capacity_streams = self.streams.max(CAPACITY_STREAMS);
        let mut params = Params::default();
        params.transport.multipath = self.multipath;
        params.end.time_s = Some(self.seconds);
        (params.flow.streams, params.flow.bidir) = (capacity_streams, true);
        let capacity = self.test(&passing(params, self.tx, self.rx))?;
        self.begins(&line, "datagrams", 6);
        let datagrams = if self.place.local_address.is_none() { Some(self.datagrams()?) } else { None };
        let largest = sent.ending.streams.first().map(|whole| whole.largest).unwrap_or_default();
        let local = sent.report.streams.first().and_then(|stream| stream.local.0.parse().ok());
        let begun = with_link(local, begun);
        let link_speed = begun.interface_bits_per_second;
        let known = |number: u64| Some(number).filter(|&number| number > 0);
        let [congestion, congestion_there] = sent.ending.congestion.clone();
        let streams = [("receive", &received), ("send", &sent)];
        Ok(Network {
            connect_ns: Some(sent.connect_ns),
            round_trips: [idle, receiving, sending].into_iter().flatten().collect(),
            round_trips_per_second: trips_per_second,
            connections_per_second: connections.as_ref().map(|connections| connections.1),
            connections: connections.map(|connections| connections.0),
            throughput: streams.map(|(name, test)| throughput(name, test, None, link_speed)).into(),
            capacity: DIRECTIONS.map(|(name, sends)| throughput(name, &capacity, Some(sends), link_speed)).into(),
            capacity_streams,
            tried: self.tried.load(Relaxed),
            answered: self.answered.load(Relaxed),
            datagrams: datagrams
                .iter()
                .flat_map(|test| DIRECTIONS.map(|(name, sends)| count_datagrams(name, sends, test)))
                .collect(),
            congestion,
            congestion_there,
            passing: with_copied(begun.passing.clone(), sent.copied),
            path_mtu: known(largest.path_mtu),
            tcp_rtt_ns: known(largest.rtt_us * 1000),
            ..begun
        })
    }
}

/// The directions, and whether this end sends.
const DIRECTIONS: [(&str, bool); 2] = [("receive", false), ("send", true)];

/// Sums the throughput of all streams, or of those that this end sends or receives.
fn throughput(direction: &str, test: &Tested, sends: Option<bool>, link: Option<f64>) -> Throughput {
    let both = test.report.streams.iter().zip(&test.ending.streams);
    let of = both.filter(|(stream, _)| sends.is_none_or(|sends| stream.sends == sends)).map(|(_, whole)| whole);
    let received = Row::sum(of.clone().map(|whole| &whole.received));
    let sent = Row::sum(of.map(|whole| &whole.sent));
    let bytes_per_second = received.bytes as f64 / (received.end - received.start).max(1e-9);
    let [here, there] = test.ending.cpu;
    Throughput {
        direction: direction.to_owned(),
        bytes_per_second,
        link_share: link.map(|bits| bytes_per_second * 8.0 / bits),
        retransmits: sent.retransmits,
        processors: here[0] / 100.0,
        processors_there: there[0] / 100.0,
    }
}

fn count_datagrams(direction: &str, sends: bool, test: &Tested) -> Datagrams {
    let both = test.report.streams.iter().zip(&test.ending.streams);
    let received = Row::sum(both.filter(|(stream, _)| stream.sends == sends).map(|(_, whole)| &whole.received));
    let Row { packets, lost, out_of_order, jitter_s, .. } = received;
    let direction = direction.to_owned();
    Datagrams { direction, packets, lost, out_of_order, jitter_ns: jitter_s * 1e9 }
}
