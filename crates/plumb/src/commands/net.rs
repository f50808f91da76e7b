//! `plumb net`: what the network to another host can do, and the other end of it.
//!
//! It speaks iperf3's protocol, and round trips in addition where both ends are Plumb.

use super::dialect::iperf3::client::{Look, Place, Tested, test};
use super::dialect::iperf3::output::{Out, Paper};
use super::dialect::iperf3::{Local, TestError, server};
use crate::args::NetArguments;
use crate::common::Common;
use crate::exit::{End, Stopped};
use crate::output;
use crate::session;
use plumb_dialects::iperf3::{End as Role, Output, Params, Row, Server, Settings, Unit};
use plumb_engine::guard::Permissions;
use plumb_engine::signals::{self, StopFlag};
use plumb_report::net::{Datagrams, Net, Throughput, Trips};
use std::time::Duration;

/// Round trips per second while something else goes on: each has its own start, so a late one does not hide those after it.
const PROBES_PER_SECOND: u64 = 200;

/// Bytes of a request and of its response.
const TRIP_BYTES: u32 = 16;

/// Bytes of a datagram: whole on any link.
const DATAGRAM_BYTES: u32 = 1200;

/// The load runs for this long before the first round trip that counts.
const LOAD_FIRST: Duration = Duration::from_millis(300);

/// So often a test is tried at a server that is still busy, and that long apart.
const BUSY_TRIES: u32 = 15;
const BUSY_PAUSE: Duration = Duration::from_millis(200);

/// Serves, or measures.
pub fn run(arguments: &NetArguments, common: &Common) -> Result<End, Stopped> {
    let stop = signals::install().map_err(|error| Stopped::io(format!("cannot watch for signals: {error}")))?;
    if arguments.serve {
        let role = Role::Server(Server::default());
        let settings = Settings { port: arguments.port, interval_s: 0.0, ..Settings::new(role) };
        return server::serve(&settings, &Server::default(), arguments.bind, local(), &Paper::default(), stop);
    }
    let Some(host) = &arguments.host else {
        return Err(Stopped::usage("name a host, or use --serve for the other end"));
    };
    let place = Place {
        host: host.clone(),
        port: arguments.port,
        bind: arguments.bind,
        is_v6: None,
        client_port: None,
        timeout: Some(Duration::from_secs(10)),
        local: local(),
    };
    let bench = Bench { place, seconds: arguments.time, streams: arguments.parallel, stop };
    if !common.json {
        let seconds = arguments.time * 7;
        session::announce(&format!("{host}: about {seconds} s; the network is loaded as far as it goes"));
    }
    let net = match bench.measure(arguments.datagram_rate) {
        Ok(net) => net,
        Err(TestError::Interrupted(_)) => return Ok(End::Interrupted),
        Err(TestError::Connect(error)) => {
            let port = arguments.port;
            let way = format!("start `plumb net --serve --bind ADDRESS --port {port}` or `iperf3 -s -p {port}` there");
            return Err(Stopped::io(format!("cannot connect to {host} port {port}: {error}\n{way}")));
        }
        Err(error) => return Err(Stopped::io(format!("{host} port {}: {error}", arguments.port))),
    };
    if common.json {
        output::print(&format!("{:#}\n", net.json()));
    } else {
        output::print(&net.page(&session::style()));
    }
    Ok(End::Done)
}

/// Nothing of its own.
fn local() -> Local {
    Local::of(&Settings::new(Role::Server(Server::default())), &Permissions::none())
}

struct Bench {
    place: Place,
    /// Of each part.
    seconds: u32,
    streams: u32,
    stop: StopFlag,
}

impl Bench {
    fn test(&self, params: &Params) -> Result<Tested, TestError> {
        let look = Look { unit: Unit::Adaptive, verbose: false, interval_s: 0.0 };
        let mut left = BUSY_TRIES;
        loop {
            let mut out = Out::new(Output::Text, false, "", Box::new(|_| {}));
            match test(&self.place, params, look, &mut out, self.stop) {
                Ok(tested) if tested.interrupted => return Err(TestError::Interrupted("client")),
                // A server of iperf3 makes one test at a time, and takes a moment to forget the last.
                Err(TestError::Busy | TestError::Closed) if left > 0 => std::thread::sleep(BUSY_PAUSE),
                tested => return tested,
            }
            left -= 1;
        }
    }

    /// Round trips, at a rate or one behind the other.
    fn trips(&self, rate: Option<u64>, during: &'static str) -> Result<(Trips, f64), TestError> {
        self.rounds(Params { rate, ..Params::default() }, during)
    }

    /// The same of a kind: on one connection, or with one for each.
    fn rounds(&self, kind: Params, during: &'static str) -> Result<(Trips, f64), TestError> {
        let params = Params { time_s: Some(self.seconds), block: TRIP_BYTES, response: TRIP_BYTES, ..kind };
        let Tested { times, lost, seconds, .. } = self.test(&params)?;
        let per_second = times.count() as f64 / seconds.max(1e-9);
        Ok((Trips { during, times, lost }, per_second))
    }

    /// Streams at full speed, with round trips at the same time where the other end answers them.
    fn load(&self, reverse: bool, during: Option<&'static str>) -> Result<(Option<Trips>, Tested), TestError> {
        let params = Params { time_s: Some(self.seconds + 1), streams: self.streams, reverse, ..Params::default() };
        std::thread::scope(|scope| {
            let load = scope.spawn(|| self.test(&params));
            std::thread::sleep(LOAD_FIRST);
            let trips = during.map(|during| self.trips(Some(PROBES_PER_SECOND), during));
            // A thread that panics ends the program.
            let load = load.join().unwrap_or(Err(TestError::Closed));
            Ok((trips.transpose()?.map(|trips| trips.0), load?))
        })
    }

    fn measure(&self, datagram_rate: u64) -> Result<Net, TestError> {
        let idle = match self.trips(Some(PROBES_PER_SECOND), "idle") {
            Ok((trips, _)) => Some(trips),
            // A server of iperf3.
            Err(TestError::Unable(_)) => None,
            Err(error) => return Err(error),
        };
        let while_loaded = |during| idle.is_some().then_some(during);
        let trips_per_second = match idle {
            Some(_) => Some(self.trips(None, "back to back")?.1),
            None => None,
        };
        let connections = match idle {
            Some(_) => Some(self.rounds(Params { connects: true, ..Params::default() }, "connecting")?),
            None => None,
        };
        let (receiving, received) = self.load(true, while_loaded("receiving"))?;
        let (sending, sent) = self.load(false, while_loaded("sending"))?;
        let datagrams = self.test(&Params {
            udp: true,
            bidir: true,
            time_s: Some(self.seconds),
            block: DATAGRAM_BYTES,
            rate: Some(datagram_rate),
            ..Params::default()
        })?;
        let largest = sent.ending.streams.first().map(|whole| whole.largest).unwrap_or_default();
        let local = sent.report.streams.first().and_then(|stream| stream.local.0.parse().ok());
        Ok(Net {
            peer: (self.place.host.clone(), self.place.port),
            connect_ns: sent.connect_ns,
            trips: [idle, receiving, sending].into_iter().flatten().collect(),
            trips_per_second,
            connections,
            throughput: [("receive", &received), ("send", &sent)].map(|(name, test)| throughput(name, test)).into(),
            datagrams: [("receive", false), ("send", true)]
                .map(|(name, sends)| of_datagrams(name, sends, &datagrams))
                .into(),
            datagram_rate,
            streams: self.streams,
            congestion: sent.ending.congestion[0].clone(),
            path_mtu: largest.path_mtu,
            rtt_us: largest.rtt_us,
            link: local.and_then(plumb_probe::link::of_address),
        })
    }
}

fn throughput(direction: &'static str, test: &Tested) -> Throughput {
    let received = Row::sum(test.ending.streams.iter().map(|whole| &whole.received));
    let sent = Row::sum(test.ending.streams.iter().map(|whole| &whole.sent));
    let seconds = (received.end - received.start).max(1e-9);
    Throughput { direction, bytes_per_second: received.bytes as f64 / seconds, retransmits: sent.retransmits }
}

fn of_datagrams(direction: &'static str, sends: bool, test: &Tested) -> Datagrams {
    let both = test.report.streams.iter().zip(&test.ending.streams);
    let received = Row::sum(both.filter(|(stream, _)| stream.sends == sends).map(|(_, whole)| &whole.received));
    let Row { packets, lost, out_of_order, jitter_s, .. } = received;
    Datagrams { direction, packets, lost, out_of_order, jitter_s }
}
