//! netperf: requests a test, runs its half, and prints both halves.

use super::control::{Control, PATIENCE, until_end};
use super::{TestError, Ticks, any, buffers, host_of, resolve, unexpected};
use plumb_cli::output::print;
use plumb_engine::net::{
    Counts, Flow, Flows, NewSockets, SocketOptions, connect_socket, connect_tcp, keep_off_routers, segment_bytes,
};
use plumb_engine::rng::Rng;
use plumb_result::Histogram;
use plumb_stats::estimate::t_quantile;
use plumb_tools_net::netperf::{
    Confidence, Cpu, Direction, End, Form, Interim, Length, Message, NetperfSettings, Report, Request, Response,
    Results, flow, half_width, length_ops, not_confident, title, trip_bytes,
};
use plumb_tools_run::cpus::run_on;
use plumb_workload::net::{BLOCK_BYTES_MAX, DATAGRAM_BYTES_MAX, NetWork, Transport};
use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Longest wait without a pending event.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Time that a server may exceed its test.
const GRACE: Duration = Duration::from_secs(60);

/// Number of empty datagrams that end a stream of datagrams, and the pause between them. A receiver may
/// have no space for one.
const ENDS: u32 = 3;
const END_PAUSE: Duration = Duration::from_millis(2);

/// The far end of a test.
enum FarEnd {
    /// A netserver, reached by its control connection.
    Netserver(Control),
    /// A plain service at this port, which does not know about the test.
    Service { port: u16 },
}

impl FarEnd {
    /// Requests the far end's half of a test. A service needs no request.
    fn ask(&mut self, request: &Request) -> Result<Response, TestError> {
        let control = match self {
            FarEnd::Netserver(control) => control,
            FarEnd::Service { port } => return Ok(Response { port: *port, ..Response::default() }),
        };
        control.send(&request.message())?;
        let message = control.read(Instant::now() + PATIENCE, "the response to the request")?;
        if message.kind() != Some(request.reply()) {
            return Err(unexpected(&message));
        }
        if message.error() != 0 {
            return Err(TestError::Remote(message.error()));
        }
        Ok(Response::read(&message)?)
    }

    /// Returns `true` if the far end has closed the control connection.
    fn is_closed(&self) -> bool {
        matches!(self, FarEnd::Netserver(control) if control.is_closed())
    }

    /// Returns the time that the far end may take to read the remaining data.
    fn patience(&self) -> Duration {
        match self {
            FarEnd::Netserver(_) => GRACE,
            FarEnd::Service { .. } => PATIENCE,
        }
    }
}

struct Made {
    local: End,
    remote: End,
    seconds: f64,
    trips: u64,
    throughput: f64,
    times: Histogram,
    segment: Option<u32>,
}

/// Runs the test as often as necessary, and prints it.
pub(super) fn run(settings: &NetperfSettings) -> Result<(), TestError> {
    if let Some(processor) = settings.processor.local {
        run_on(&[processor]).map_err(|source| TestError::Processor { processor, source })?;
    }
    let mut far_end = match settings.control.direct {
        Some(_) => FarEnd::Service { port: settings.data.ports.remote },
        None => FarEnd::Netserver(connect(settings)?),
    };
    let target = match (&settings.data.hosts.remote, &far_end) {
        (None, FarEnd::Netserver(control)) => control.socket.peer_addr()?.ip(),
        _ => resolve(host_of(settings), 0, settings.data.is_v6.or(settings.control.is_v6))?[0].ip(),
    };
    let is_v6 = target.is_ipv6();
    let local = settings.data.hosts.local.as_ref().or(settings.control.local.as_ref());
    let source = local.map(|host| Ok::<_, TestError>(resolve(host, 0, Some(is_v6))?[0].ip())).transpose()?;
    if settings.output.headers {
        let from = local.map(|host| (host.as_str(), settings.data.ports.local));
        print(&title(settings, from, (host_of(settings), settings.data.ports.remote), is_v6));
    }
    if let (Some(phrase), FarEnd::Netserver(control)) = (&settings.control.passphrase, &mut far_end) {
        control.send(&Message::of_passphrase(phrase))?;
    }
    std::thread::sleep(Duration::from_secs(settings.control.wait_s.into()));
    // Addresses are sent only if they differ from the control connection's.
    let named = settings.data.hosts.remote.as_ref().map(|_| target);
    let bind = (source.is_some() || settings.data.ports.local > 0)
        .then(|| SocketAddr::new(source.unwrap_or(any(is_v6)), settings.data.ports.local));
    let request = settings.request((source.filter(|_| named.is_some()), settings.data.ports.local), named, is_v6);
    let (least, most) = settings.repetition.times;
    let mut all: Vec<Made> = Vec::new();
    let mut confidence = None;
    for times in 1..=most {
        all.push(once(settings, &mut far_end, &request, target, bind)?);
        let Some(asked) = settings.repetition.confidence else { break };
        let (means, widths) = means(&all, asked.0);
        confidence = Some((Confidence { asked, times, widths }, means));
        let counted = if settings.output.result_only { &widths[..1] } else { &widths[..] };
        if times >= least && counted.iter().all(|width| *width <= asked.1) {
            break;
        }
    }
    if let FarEnd::Netserver(control) = &far_end {
        let _ = control.socket.shutdown(std::net::Shutdown::Write);
        until_end(control.socket.as_fd(), PATIENCE);
    }
    let Some(mut made) = all.pop() else { return Err(TestError::Closed) };
    if let Some((Confidence { asked, widths, .. }, means)) = confidence {
        if widths.iter().any(|width| *width > asked.1)
            && matches!(settings.output.form, Form::Table)
            && settings.output.headers
        {
            print(&not_confident(widths));
        }
        (made.throughput, made.seconds) = (means[0], means[3]);
        for (end, busy) in [(&mut made.local, means[1]), (&mut made.remote, means[2])] {
            if let Some(cpu) = &mut end.cpu {
                cpu.busy = busy;
            }
        }
    }
    let name = |host: Option<&String>| host.cloned().unwrap_or_else(|| any(is_v6).to_string());
    let report = Report {
        settings,
        source: (name(local), settings.data.ports.local),
        target: (host_of(settings).to_owned(), settings.data.ports.remote),
        is_v6,
        uuid: settings.output.uuid.clone().unwrap_or_else(uuid),
        confidence: confidence.map(|(confidence, _)| confidence),
        local: made.local,
        remote: made.remote,
        seconds: made.seconds,
        trips: made.trips,
        throughput: made.throughput,
        times: made.times,
        segment: made.segment,
    };
    print(&report.text());
    Ok(())
}

/// Returns the means of throughput, of both ends' CPU utilization, and of seconds; and the widths of the first three.
fn means(all: &[Made], level: u32) -> ([f64; 4], [f64; 3]) {
    let t = t_quantile(0.5 + f64::from(level) / 200.0, (all.len() - 1).max(1) as f64);
    let busy = |end: &End| end.cpu.map_or(0.0, |cpu| cpu.busy);
    let of = |pick: &dyn Fn(&Made) -> f64| half_width(&all.iter().map(pick).collect::<Vec<_>>(), t);
    let [throughput, local, remote, seconds] = [
        of(&|made| made.throughput),
        of(&|made| busy(&made.local)),
        of(&|made| busy(&made.remote)),
        of(&|made| made.seconds),
    ];
    ([throughput.0, local.0, remote.0, seconds.0], [throughput.1, local.1, remote.1])
}

fn uuid() -> String {
    let mut rng = Rng::new(plumb_engine::clock::monotonic_ns() ^ (u64::from(std::process::id()) << 40));
    let (one, other) = (rng.next_u64(), rng.next_u64());
    // Version 4: random.
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        one >> 32,
        (one >> 16) & 0xffff,
        one & 0xfff,
        0x8000 | (other >> 48) & 0x3fff,
        other & 0xffff_ffff_ffff
    )
}

fn connect(settings: &NetperfSettings) -> Result<Control, TestError> {
    let (host, port) = (&settings.control.host, &settings.control.port);
    let mut last = None;
    for to in resolve(host, *port, settings.control.is_v6)? {
        let local = settings.control.local.as_ref();
        let bind = local.map(|local| resolve(local, settings.control.local_port, Some(to.is_ipv6()))).transpose()?;
        let bind = bind.map(|found| found[0]);
        let any =
            (settings.control.local_port > 0).then(|| SocketAddr::new(any(to.is_ipv6()), settings.control.local_port));
        match connect_tcp(to, bind.or(any), &SocketOptions::default(), PATIENCE) {
            Ok(socket) => return Ok(Control::new(socket)?),
            Err(source) => last = Some(TestError::Control { host: host.clone(), port: *port, source }),
        }
    }
    Err(last.unwrap_or_else(|| TestError::Resolve(host.clone())))
}

/// Runs one test, from the request to the far end's results.
fn once(
    settings: &NetperfSettings,
    far_end: &mut FarEnd,
    request: &Request,
    target: IpAddr,
    bind: Option<SocketAddr>,
) -> Result<Made, TestError> {
    let new_sockets = new_sockets(settings, bind);
    // The buffers, and the sizes that follow from them, are known before the test.
    let transport = if settings.test.udp { Transport::Udp } else { Transport::Tcp };
    let socket = new_sockets.make(&SocketAddr::new(target, 0), transport)?;
    if !settings.socket.routed {
        keep_off_routers(&socket)?;
    }
    let at_first = buffers(&socket);
    let sizes = call_sizes(settings, at_first)?;
    let (poll_us, ahead, hangs_up) = (settings.socket.poll_us, settings.test.burst, settings.control.direct.is_some());
    let work = NetWork { poll_us, ahead, hangs_up, ..flow(request, false, sizes) };
    let file = settings.test.file.as_deref().filter(|_| settings.test.sendfile);
    let file = file.map(|path| open(path, work.block)).transpose()?;
    let response = far_end.ask(request)?;
    let to = SocketAddr::new(target, response.port);
    let socket = if settings.test.udp {
        let socket = UdpSocket::from(socket);
        socket.connect(to)?;
        socket.into()
    } else if request.connects {
        socket
    } else {
        connect_socket(socket, to, PATIENCE)?.into()
    };
    let mut flows = Flows::with(vec![Flow { socket, other: Some(to), file, work }], new_sockets)?;
    match (request.length, request.direction) {
        // A service sends without an end.
        (Length::Count(bytes), Direction::ToClient) if settings.control.direct.is_some() => {
            flows.limit(u64::MAX, bytes.into())
        }
        (length, _) => flows.limit(length_ops(length, &work), u64::MAX),
    }
    let moved = move_data(settings, far_end, request, &mut flows)?;
    let own_sizes = match request.direction {
        Direction::ToServer => [sizes[0].into(), 0],
        Direction::ToClient => [0, sizes[1].into()],
        Direction::RoundTrips => [0, 0],
    };
    let remote = match far_end {
        FarEnd::Netserver(control) => {
            let longest = if request.connects { GRACE } else { PATIENCE };
            let results = Results::read(&control.read(Instant::now() + longest, "results")?, request.reply());
            netserver_end(settings, &response, results)
        }
        FarEnd::Service { .. } => End::silent(),
    };
    Ok(made(settings, request.direction, moved, (at_first, own_sizes), remote))
}

fn new_sockets(settings: &NetperfSettings, bind: Option<SocketAddr>) -> NewSockets {
    NewSockets {
        bind,
        options: SocketOptions {
            no_delay: settings.socket.no_delay.local,
            segment: settings.socket.segment,
            service: settings.socket.service.local,
            congestion: settings.socket.congestion.local.clone(),
            ..SocketOptions::default()
        },
        buffers: settings.socket.buffers.local,
    }
}

/// Returns this end's bytes per send and per receive, with these buffers.
fn call_sizes(settings: &NetperfSettings, buffers: [u32; 2]) -> Result<[u32; 2], TestError> {
    let most = if settings.test.udp { DATAGRAM_BYTES_MAX } else { BLOCK_BYTES_MAX };
    let sizes = [
        settings.data.send.local.unwrap_or(buffers[0].min(most)),
        settings.data.receive.local.unwrap_or(buffers[1].min(most)),
    ];
    for (name, size) in [("-m", sizes[0]), ("-r", settings.data.trip[0]), ("-r", settings.data.trip[1])] {
        if size > most {
            return Err(TestError::Size(name, most));
        }
    }
    Ok([sizes[0], sizes[1].min(most)])
}

struct Moved {
    seconds: f64,
    counts: Counts,
    times: Histogram,
    cpu: Option<Cpu>,
    buffers: [u32; 2],
    segment: Option<u32>,
    retransmits: Option<u64>,
    congestion: String,
}

/// Moves the data of a test, from its start until all data has arrived.
fn move_data(
    settings: &NetperfSettings,
    far_end: &FarEnd,
    request: &Request,
    flows: &mut Flows,
) -> Result<Moved, TestError> {
    let before = Ticks::now();
    let is_direct = settings.control.direct.is_some();
    let time = match request.length {
        Length::Seconds(seconds) => Some(Duration::from_secs(seconds.into())),
        Length::Count(_) => None,
    };
    flows.start(time.map(|time| time.as_nanos() as u64));
    let began = Instant::now();
    wait(settings, far_end, flows, began, time)?;
    let mut seconds = began.elapsed().as_secs_f64();
    if settings.test.udp {
        say_end(flows);
    } else if !request.connects {
        let _ = rustix::net::shutdown(flows.socket(0), rustix::net::Shutdown::Write);
        // Data in flight belongs to the test. A service that keeps its side open adds no time.
        if request.direction == Direction::ToServer && until_end(flows.socket(0), far_end.patience()) || !is_direct {
            seconds = began.elapsed().as_secs_f64();
        }
    }
    let cpu = settings.output.cpu.local.then(|| Ticks::now().since(&before));
    let moved = Moved {
        seconds,
        counts: flows.counts(0),
        times: flows.times(0),
        cpu,
        buffers: buffers(flows.socket(0)),
        // The segment size grows as the path's limit becomes known.
        segment: (!settings.test.udp).then(|| segment_bytes(flows.socket(0))).flatten(),
        retransmits: flows.tcp(0).map(|tcp| tcp.retransmits),
        congestion: plumb_engine::net::congestion(flows.socket(0)).unwrap_or_default(),
    };
    flows.stop();
    Ok(moved)
}

/// Converts the report of a netserver.
fn netserver_end(settings: &NetperfSettings, response: &Response, results: Results) -> End {
    let far = |size: Option<u32>| size.map_or(-1, i64::from);
    End {
        buffers: [settings.socket.buffers.remote, response.buffers.map(Some), results.buffers.map(Some)],
        sizes: [far(response.sizes[0]), far(response.sizes[1])],
        sent: results.sent,
        received: results.received,
        cpu: results.cpu.filter(|_| settings.output.cpu.remote),
        retransmits: results.retransmits,
        congestion: results.congestion,
        no_delay: settings.socket.no_delay.remote,
        service: settings.socket.service.remote.and(response.service.or(settings.socket.service.remote)),
        is_silent: false,
    }
}

/// Builds the result of a test. The first buffers and the sizes of calls are this end's.
fn made(
    settings: &NetperfSettings,
    direction: Direction,
    moved: Moved,
    (at_first, sizes): ([u32; 2], [i64; 2]),
    remote: End,
) -> Made {
    let Moved { seconds, counts, times, .. } = moved;
    let (sent, received, trips) = match direction {
        Direction::ToServer => ((counts.bytes, counts.ops), (0, 0), 0),
        Direction::ToClient => ((0, 0), (counts.bytes, counts.ops), 0),
        Direction::RoundTrips => {
            let [ask, answer] =
                trip_bytes(settings.data.trip, settings.test.only_connects).map(|size| u64::from(size) * counts.ops);
            ((ask, counts.ops), (answer, counts.ops), counts.ops)
        }
    };
    let bytes = match direction {
        Direction::ToServer if remote.is_silent => counts.bytes,
        Direction::ToServer => remote.received.0,
        Direction::ToClient => counts.bytes,
        Direction::RoundTrips => sent.0 + received.0,
    };
    let local = End {
        buffers: [settings.socket.buffers.local, at_first.map(Some), moved.buffers.map(Some)],
        sizes,
        sent,
        received,
        cpu: moved.cpu,
        retransmits: moved.retransmits,
        congestion: moved.congestion,
        no_delay: settings.socket.no_delay.local,
        service: settings.socket.service.local,
        is_silent: false,
    };
    let each_second = |number: f64| if seconds > 0.0 { number / seconds } else { 0.0 };
    let throughput = settings.throughput(each_second(bytes as f64), each_second(trips as f64));
    Made { local, remote, seconds, trips, throughput, times, segment: moved.segment }
}

/// Opens the file to send, which must have at least one block.
fn open(path: &str, block: u32) -> Result<File, TestError> {
    let failed = |source| TestError::File { path: path.to_owned(), source };
    // Opening a special file might block.
    let facts = std::fs::metadata(path).map_err(failed)?;
    if !facts.is_file() || facts.len() < block.into() {
        return Err(TestError::FileSize(path.to_owned(), block));
    }
    File::open(path).map_err(failed)
}

/// Tells the server that no more datagrams follow.
fn say_end(flows: &Flows) {
    for _ in 0..ENDS {
        // If all of them are lost, the server's timer ends the test.
        let _ = rustix::net::send(flows.socket(0), &[], rustix::net::SendFlags::empty());
        std::thread::sleep(END_PAUSE);
    }
}

/// Waits until the data has moved, and prints interim results.
fn wait(
    settings: &NetperfSettings,
    far_end: &FarEnd,
    flows: &Flows,
    began: Instant,
    time: Option<Duration>,
) -> Result<(), TestError> {
    let interim = settings.repetition.interim_s.map(Duration::from_secs_f64);
    let until = time.map(|time| began + time + GRACE);
    // A service sends without an end.
    let stops_at = time.filter(|_| settings.control.direct.is_some()).map(|time| began + time);
    let (mut last, mut last_at, mut number) = (flows.counts(0), began, 0);
    let mut due = interim.map(|every| began + every);
    loop {
        let to = |at: Option<Instant>| at.map_or(POLL_INTERVAL, |at| at.saturating_duration_since(Instant::now()));
        let left = POLL_INTERVAL.min(to(due)).min(to(stops_at));
        if !left.is_zero() {
            flows.wait(&[], left);
        }
        let now = Instant::now();
        let is_done =
            flows.is_done() || settings.test.direction == Direction::ToClient && stops_at.is_some_and(|at| now >= at);
        let is_late = |every: Duration| due.is_some_and(|due| now >= due) || is_done && now > last_at + every / 10;
        if let Some(every) = interim.filter(|every| is_late(*every)) {
            let counts = flows.counts(0);
            let seconds = now.duration_since(last_at).as_secs_f64();
            let (bytes, ops) = ((counts.bytes - last.bytes) as f64, (counts.ops - last.ops) as f64);
            // Both directions.
            let bytes = match settings.test.direction {
                Direction::RoundTrips => {
                    let trip = trip_bytes(settings.data.trip, settings.test.only_connects);
                    ops * trip.map(f64::from).iter().sum::<f64>()
                }
                _ => bytes,
            };
            let rate = settings.throughput(bytes / seconds, ops / seconds);
            let ending = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
            print(&settings.interim(Interim { number, rate, seconds, ending }));
            (last, last_at, number) = (counts, now, number + 1);
            due = due.map(|due| (due + every).max(now));
        }
        if let Some(failure) = flows.failure() {
            return Err(TestError::Flow(failure));
        }
        if is_done {
            return Ok(());
        }
        if until.is_some_and(|at| now > at) {
            return Err(TestError::Silent("the end of the test"));
        }
        if far_end.is_closed() {
            return Err(TestError::Closed);
        }
    }
}
