//! A client's session, from its parameters to its end.

use super::super::control::{Control, TestError};
use super::super::output::Out;
use super::super::running::{Running, blocks_of};
use super::super::{named, now_ms, start_of, system};
use super::{Arrival, POLL_INTERVAL, SETUP_PATIENCE, Shared, Waiting};
use crossbeam_channel::RecvTimeoutError;
use crossbeam_channel::{Receiver, Sender, unbounded};
use plumb_engine::net::{Flow, Flows};
use plumb_tls::same;
use plumb_tools_net::iperf3::{
    COOKIE_BYTES, Json, Output, PARAMS_BYTES_MAX, Params, RESULTS_BYTES_MAX, Refused, Report, Results, State,
    answer_at, flow,
};
use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Limit of streams in all tests, each with a thread and buffers.
const STREAMS_MAX: usize = 1024;

/// Time that a test may exceed its client's duration.
const GRACE: Duration = Duration::from_secs(40);

/// Time after which undelivered data is given up if none of it arrives.
const DRAIN_PATIENCE: Duration = Duration::from_secs(2);
const LAST_PATIENCE: Duration = Duration::from_millis(50);

/// Serves a client, from its parameters to its end.
pub(super) fn client(
    shared: &Arc<Shared>,
    mut control: Control,
    cookie: &[u8; COOKIE_BYTES],
    peer: SocketAddr,
    number: u64,
) {
    let host = (peer.ip().to_canonical().to_string(), peer.port());
    // Text held back until other tests do not print.
    let held = Arc::new(Mutex::new(String::new()));
    let (prints, keeps) = (Arc::clone(shared), Arc::clone(&held));
    let sink = Box::new(move |text: &str| {
        prints.show(number, &mut keeps.lock().unwrap_or_else(PoisonError::into_inner), text);
    });
    let mut out = Out::new(shared.settings.output, true, &system(), sink);
    out.begin_lines(None, &shared.paper.stamp);
    out.text(&format!("Accepted connection from {}, port {}\n", host.0, host.1));
    let outcome = test(shared, &mut control, cookie, peer, &host, &mut out);
    if let Err(error) = &outcome {
        out.end(None, None, Some(&error.to_string()));
    }
    let mut held = std::mem::take(&mut *held.lock().unwrap_or_else(PoisonError::into_inner));
    if let Err(error) = &outcome
        && shared.settings.output == Output::Text
    {
        held += &shared.paper.stamp.before(None, &format!("iperf3: error - {error}\n"));
    }
    shared.paper.write(&held);
    let next = {
        let mut registry = shared.registry();
        registry.foreground.take_if(|test| *test == number);
        registry.count + 1
    };
    // A refused client had no test.
    if shared.one_off && !matches!(outcome, Err(TestError::Denied(_))) {
        shared.over.store(true, Release);
    } else if !shared.stop.requested() {
        shared.banner(next);
    }
}

fn test(
    shared: &Shared,
    control: &mut Control,
    cookie: &[u8; COOKIE_BYTES],
    peer: SocketAddr,
    host: &(String, u16),
    out: &mut Out,
) -> Result<(), TestError> {
    control.say(State::ParamExchange)?;
    let bytes = control.read_json(PARAMS_BYTES_MAX, "parameters")?;
    let params = Params::read(&bytes, &shared.limits).map_err(|refused| refuse(control, &refused))?;
    if let Some(gate) = &shared.gate {
        let began = Instant::now();
        match gate.admit(params.token.as_deref(), now_ms() / 1000) {
            Ok(user) => out.text(&format!("Authentication succeeded for user '{user}'\n")),
            Err(denied) => {
                // Every refusal gets the same answer after the same time, so that timing does not reveal the fault.
                let elapsed = began.elapsed();
                std::thread::sleep(answer_at(elapsed) - elapsed);
                refuse(control, &Refused::Denied);
                return Err(denied.into());
            }
        }
    }
    if params.transport.sctp && !shared.has_sctp {
        return Err(refuse(control, &Refused::Not("SCTP, which the server's kernel lacks,")));
    }
    let count = params.flow.streams as usize * if params.flow.bidir { 2 } else { 1 };
    let _room = Room::take(shared, count).ok_or_else(|| {
        let _ = control.say(State::AccessDenied);
        TestError::Busy
    })?;
    let arrivals = match params.trips.connects {
        true => listen(control, peer, &params)?,
        false => gather(shared, control, cookie, peer, &params, count)?,
    };
    let mut flows = Vec::new();
    let mut streams = Vec::new();
    for (number, arrival) in arrivals.into_iter().enumerate() {
        // The client's own direction comes first.
        let sends = if params.flow.bidir { number >= params.flow.streams as usize } else { params.flow.reverse };
        streams.push(named(arrival.local, Ok(arrival.remote), arrival.socket.as_raw_fd(), sends));
        // In round trips, the client sends the requests.
        let file = shared.local.open_file(&params, sends)?;
        let work = flow(&params, sends, params.is_plumb);
        flows.push(Flow { socket: arrival.socket, other: Some(peer), file, work });
    }
    let start = start_of(cookie, host.clone(), Some(0), flows.first());
    let report = Report {
        streams,
        is_server: true,
        unit: shared.settings.unit,
        verbose: shared.settings.verbose,
        interval_s: shared.settings.interval_s,
        params,
    };
    let flows = Flows::new(flows).map_err(|error| TestError::Stream(error.to_string()))?;
    out.opened(&report, &start);
    control.say(State::TestStart)?;
    control.say(State::TestRunning)?;
    let mut running = Running::start(&report, flows);
    let ended = wait(shared, &mut running, control, out);
    if ended.is_ok() {
        drain(&running);
    }
    running.stop(out);
    // Notifies a client that still waits for data.
    running.flows.hang_up();
    let mut own = running.ending(None);
    own.file = shared.local.file_facts(&report.params);
    out.text(&report.ending(&own));
    ended?;
    control.say(State::ExchangeResults)?;
    let bytes = control.read_json(RESULTS_BYTES_MAX, "results")?;
    let other = Results::read(&bytes).ok_or_else(|| TestError::Message("results that cannot be read".to_owned()))?;
    let mut results = running.results();
    if report.params.report.get_output {
        results.output = Some(match shared.settings.output {
            form if form.has_document() => out.document(report.end_json(&own)),
            _ => Json::text(&out.kept),
        });
    }
    control.send_json(&results.json())?;
    control.say(State::DisplayResults)?;
    let mut ending = own;
    ending.cpu[1] = other.cpu;
    out.end(Some(&report), Some(&ending), None);
    // A client that is gone has all it needs.
    let _ = control.expect(State::Done, "the end");
    Ok(())
}

/// Sends the client the reason for a refusal.
fn refuse(control: &mut Control, refused: &Refused) -> TestError {
    let numbers = [refused.number().to_be_bytes(), [0; 4]].concat();
    let _ = control.say(State::ServerError).and_then(|()| control.send(&numbers));
    TestError::Server(refused.to_string())
}

/// Streams of a test, counted in the limit of all tests.
struct Room<'a> {
    shared: &'a Shared,
    streams: usize,
}

impl<'a> Room<'a> {
    fn take(shared: &'a Shared, streams: usize) -> Option<Room<'a>> {
        let mut registry = shared.registry();
        if registry.streams + streams > STREAMS_MAX {
            return None;
        }
        registry.streams += streams;
        drop(registry);
        Some(Room { shared, streams })
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        self.shared.registry().streams -= self.streams;
    }
}

/// Opens a separate port for a test of connections, with a listener for each worker.
fn listen(control: &mut Control, peer: SocketAddr, params: &Params) -> Result<Vec<Arrival>, TestError> {
    let at = SocketAddr::new(control.socket().local_addr()?.ip(), 0);
    let failed = |error: std::io::Error| TestError::Stream(error.to_string());
    let listener = TcpListener::bind(at).map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    control.say(State::PlumbServer)?;
    control.send(&local.port().to_be_bytes())?;
    control.say(State::CreateStreams)?;
    let one = |order| {
        let socket = listener.try_clone().map_err(failed)?.into();
        Ok(Arrival { order, socket, local: Ok(local), remote: peer })
    };
    (0..params.flow.streams.into()).map(one).collect()
}

/// Requests the streams and waits for all of them.
fn gather(
    shared: &Shared,
    control: &mut Control,
    cookie: &[u8; COOKIE_BYTES],
    peer: SocketAddr,
    params: &Params,
    count: usize,
) -> Result<Vec<Arrival>, TestError> {
    let (streams, arrivals): (Sender<Arrival>, Receiver<Arrival>) = unbounded();
    let address = peer.ip().to_canonical();
    let until = Instant::now() + SETUP_PATIENCE;
    let options = shared.local.accepted(params);
    let waiting = Waiting { cookie: *cookie, peer: address, udp: params.transport.udp, options, streams };
    let mut waiting = Some(waiting);
    // Datagrams have no cookie, so only one test per address may wait for them.
    while let Some(mine) = waiting.take() {
        let mut registry = shared.registry();
        if params.transport.udp && registry.waiting.iter().any(|test| test.udp && test.peer == address) {
            drop(registry);
            waiting = Some(mine);
            if Instant::now() > until || shared.ends() {
                return Err(TestError::Silent("the streams of another test"));
            }
            std::thread::sleep(Duration::from_millis(2));
        } else {
            registry.waiting.push(mine);
        }
    }
    let gathered = (|| {
        if params.is_plumb {
            control.say(State::PlumbServer)?;
        }
        control.say(State::CreateStreams)?;
        let until = Instant::now() + SETUP_PATIENCE;
        let mut found: Vec<Arrival> = Vec::new();
        while found.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            match arrivals.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(arrival) => found.push(arrival),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() && !shared.stop.requested() => {
                    control.has_state()?;
                }
                Err(_) => return Err(TestError::Silent("a stream")),
            }
        }
        Ok(found)
    })();
    shared.registry().waiting.retain(|test| !(same(&test.cookie, cookie) && test.peer == address));
    let mut found = gathered?;
    found.sort_by_key(|arrival| arrival.order);
    if !params.transport.udp {
        for arrival in &found {
            // Options that cannot be set here were only the client's wish.
            let _ = shared.local.accepted(params).set_connected(&arrival.socket, arrival.remote.is_ipv6());
        }
    }
    Ok(found)
}

/// Waits until the client ends the test.
fn wait(shared: &Shared, running: &mut Running<'_>, control: &mut Control, out: &mut Out) -> Result<(), TestError> {
    let params = &running.report().params;
    let seconds = Some(params.end.time_s.unwrap_or(0)).filter(|&seconds| seconds > 0);
    let longest = Duration::from_secs(seconds.unwrap_or(shared.limits.time_s).into());
    let until = Instant::now() + longest + Duration::from_secs(params.end.omit_s.into()) + GRACE;
    let mut meter = shared.limits.rate.map(|rate| Meter::new(rate, shared.rate_seconds, params));
    loop {
        let left =
            running.next().map_or(POLL_INTERVAL, |at| at.saturating_duration_since(Instant::now()).min(POLL_INTERVAL));
        if !left.is_zero() {
            running.flows.wait(&[control.socket().as_fd()], left);
        }
        if shared.stop.requested() {
            // Sent before the streams end, because their end does not show the reason.
            let _ = control.say(State::ServerTerminate);
            return Err(TestError::Interrupted("server"));
        }
        match control.has_state()? {
            Some(State::TestEnd) => return Ok(()),
            Some(state) => return Err(TestError::Message(format!("{state:?} during the transfer"))),
            None => {}
        }
        if Instant::now() > until {
            return Err(refuse(control, &Refused::Over));
        }
        if running.is_idle(shared.local.receive) {
            return Err(refuse(control, &Refused::Idle));
        }
        if meter.as_mut().is_some_and(|meter| meter.is_over(running.moved(), Instant::now())) {
            return Err(refuse(control, &Refused::Rate));
        }
        running.poll(out);
    }
}

/// Measures the rate of a test, which must not exceed the server's limit, whatever the client requested.
struct Meter {
    /// Limit in bytes per second, and the bytes that blocks may be early.
    most: f64,
    early: f64,
    window: Duration,
    /// Byte counts at times about a second apart.
    marks: VecDeque<(Instant, u64)>,
}

impl Meter {
    fn new(bits: u64, seconds: u32, params: &Params) -> Meter {
        let directions = if params.flow.bidir { 2.0 } else { 1.0 };
        Meter {
            most: bits as f64 / 8.0,
            early: f64::from(params.flow.block)
                * f64::from(params.pace.burst)
                * f64::from(params.flow.streams)
                * directions,
            window: Duration::from_secs(seconds.into()),
            marks: VecDeque::from([(Instant::now(), 0)]),
        }
    }

    /// Returns `true` if the mean over the last seconds exceeds the limit.
    fn is_over(&mut self, bytes: u64, now: Instant) -> bool {
        let since = |at: Instant| now.saturating_duration_since(at);
        // Compare with the newest mark that is old enough.
        while self.marks.get(1).is_some_and(|mark| since(mark.0) >= self.window) {
            self.marks.pop_front();
        }
        let is_over = self.marks.front().is_some_and(|(at, before)| {
            let (seconds, moved) = (since(*at).as_secs_f64(), bytes - before);
            since(*at) >= self.window && moved as f64 > self.most * seconds + self.early
        });
        if self.marks.back().is_none_or(|mark| since(mark.0) >= Duration::from_secs(1)) {
            self.marks.push_back((now, bytes));
        }
        is_over
    }
}

/// Waits for the client's last blocks. The client has sent all of them, but some may still be in flight.
fn drain(running: &Running<'_>) {
    let params = &running.report().params;
    let Some(blocks) =
        blocks_of(params).filter(|_| !params.transport.udp && !params.flow.reverse && params.end.omit_s == 0)
    else {
        return;
    };
    let bytes = blocks.saturating_mul(params.flow.block.into());
    let (mut before, mut until) = (0, Instant::now() + DRAIN_PATIENCE);
    while Instant::now() < until {
        let now = running.received();
        if now >= bytes || running.flows.is_done() {
            return;
        }
        if now != before {
            // The end of a file is not a whole block. Once all requested bytes have arrived, the rest arrives soon or
            // never.
            let is_all = params.end.bytes > 0 && now >= params.end.bytes;
            let patience = if is_all { LAST_PATIENCE } else { DRAIN_PATIENCE };
            (before, until) = (now, Instant::now() + patience);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
