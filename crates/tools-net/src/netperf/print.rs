//! Text output: tables of the tests, interim results, and the values of selectors.

use super::exchange::{Cpu, Direction};
use super::selectors::{BLOCKS, SELECTORS};
use super::settings::{Form, NetperfSettings, Pair, TestOptions, Unit};
use crate::iperf3::general;
use plumb_result::Histogram;
use std::fmt::Write as _;

/// One end of a finished test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct End {
    /// Buffer sizes, bytes: requested, at the start, at the end; each for send and receive.
    pub buffers: [[Option<u32>; 2]; 3],
    /// Bytes per call: send, receive; -1 if unknown.
    pub sizes: [i64; 2],
    /// Bytes sent, and number of calls.
    pub sent: (u64, u64),
    /// Bytes received, and number of calls.
    pub received: (u64, u64),
    /// CPU utilization, if it was measured.
    pub cpu: Option<Cpu>,
    pub retransmits: Option<u64>,
    pub congestion: String,
    pub no_delay: bool,
    /// Type of service.
    pub service: Option<u8>,
    /// Whether it is a service without a netserver, which reports nothing.
    pub is_silent: bool,
}

impl End {
    /// Returns the far end of a test without a control connection.
    pub fn silent() -> End {
        End { buffers: [[None; 2], [Some(0); 2], [None; 2]], sizes: [-1; 2], is_silent: true, ..End::default() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// Requested level and width, percent.
    pub asked: (u32, f64),
    /// Number of times that the test ran.
    pub times: u32,
    /// Widths that were reached, in percent of the mean: throughput, local CPU, remote CPU.
    pub widths: [f64; 3],
}

#[derive(Debug)]
pub struct Report<'a> {
    pub settings: &'a NetperfSettings,
    pub local: End,
    /// The server.
    pub remote: End,
    /// Duration, s.
    pub seconds: f64,
    pub trips: u64,
    /// Throughput in its unit; the mean if the test ran several times.
    pub throughput: f64,
    /// Latencies of round trips or calls, ns.
    pub times: Histogram,
    /// Maximum segment size, bytes.
    pub segment: Option<u32>,
    /// Address and port of this end.
    pub source: (String, u16),
    /// Address and port of the server.
    pub target: (String, u16),
    /// Whether the test uses IPv6.
    pub is_v6: bool,
    /// Name of the test.
    pub uuid: String,
    /// Confidence of the result, if requested.
    pub confidence: Option<Confidence>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interim {
    /// Index, from 0.
    pub number: u32,
    /// Throughput in its unit.
    pub rate: f64,
    /// Length of the interval, s.
    pub seconds: f64,
    /// End of the interval, seconds since 1970.
    pub ending: f64,
}

/// Returns the bytes per second of a unit, and the unit's name without `/s`.
fn scale(letter: char) -> (f64, &'static str) {
    match letter {
        'G' => (f64::from(1 << 30), "GBytes"),
        'M' => (f64::from(1 << 20), "MBytes"),
        'K' => (1024.0, "KBytes"),
        'B' => (1.0, "Bytes"),
        'g' => (1e9 / 8.0, "10^9bits"),
        'k' => (1e3 / 8.0, "10^3bits"),
        'b' => (1.0 / 8.0, "bits"),
        _ => (1e6 / 8.0, "10^6bits"),
    }
}

impl NetperfSettings {
    pub(super) fn is_trips(&self) -> bool {
        self.test.direction == Direction::RoundTrips
    }

    fn scale(&self) -> (f64, &'static str) {
        scale(if let Unit::Letter(letter) = self.output.unit { letter } else { 'm' })
    }

    /// Converts bytes or round trips per second to the unit of the test.
    pub fn throughput(&self, bytes: f64, trips: f64) -> f64 {
        if self.in_trips() { trips } else { bytes / self.scale().0 }
    }

    fn in_trips(&self) -> bool {
        self.is_trips() && (self.output.unit == Unit::OfTest || self.test.only_connects)
    }

    /// Returns the unit as printed.
    pub(crate) fn unit_text(&self) -> String {
        if self.in_trips() { "Trans/s".to_owned() } else { format!("{}/s", self.scale().1) }
    }

    pub fn interim(&self, Interim { number, rate, seconds, ending }: Interim) -> String {
        let unit = self.unit_text();
        match self.output.form {
            Form::Keys(_) => format!(
                "NETPERF_INTERIM_RESULT[{number}]={rate:.2}\nNETPERF_UNITS[{number}]={unit}\n\
                 NETPERF_INTERVAL[{number}]={seconds:.3}\nNETPERF_ENDING[{number}]={ending:.3}\n"
            ),
            Form::Csv(_) => format!("{rate:.2},{unit},{seconds:.3},{ending:.3}\n"),
            _ => format!("Interim result: {rate:7.2} {unit} over {seconds:.3} seconds ending at {ending:.3}\n"),
        }
    }
}

/// Formats the line that names the test, its ends and the address family.
pub fn title(settings: &NetperfSettings, source: Option<(&str, u16)>, target: (&str, u16), is_v6: bool) -> String {
    let TestOptions { direction, udp, connects, is_omni, sendfile, .. } = settings.test;
    let family = if is_v6 { "AF_INET6" } else { "AF_INET" };
    let name = match (is_omni, direction) {
        (true, Direction::ToServer) => "OMNI Send",
        (true, Direction::ToClient) => "OMNI Receive",
        (true, Direction::RoundTrips) => "OMNI Send|Recv",
        (false, Direction::ToServer) if sendfile => "TCP SENDFILE",
        (false, Direction::ToServer) if udp => "MIGRATED UDP STREAM",
        (false, Direction::ToServer) => "MIGRATED TCP STREAM",
        (false, Direction::ToClient) => "MIGRATED TCP MAERTS",
        (false, Direction::RoundTrips) if udp => "MIGRATED UDP REQUEST/RESPONSE",
        (false, Direction::RoundTrips) if settings.test.only_connects => "TCP Connect/Close",
        (false, Direction::RoundTrips) if connects => "MIGRATED TCP Connect/Request/Response",
        (false, Direction::RoundTrips) => "MIGRATED TCP REQUEST/RESPONSE",
    };
    let any = if is_v6 { ":: (::)" } else { "0.0.0.0 (0.0.0.0)" };
    let source = source.map_or_else(|| format!("{any} port 0"), |(host, port)| format!("{host} () port {port}"));
    let mut text = format!("{name} TEST from {source} {family} to {} () port {} {family}", target.0, target.1);
    if let Some((level, width)) = settings.repetition.confidence {
        let _ = write!(text, " : +/-{:.3}% @ {level:2}% conf. ", width / 2.0);
    }
    if settings.socket.no_delay.local || settings.socket.no_delay.remote {
        text += " : nodelay";
    }
    if settings.control.direct.is_some() {
        text += " : no control";
    }
    text += " : demo";
    if settings.is_trips() && !connects && !is_omni {
        let _ = write!(text, " : first burst {}", settings.test.burst);
    }
    if settings.processor != Pair::default() {
        text += " : cpu bind";
    }
    text + "\n"
}

/// Formats the warning for a result that is less certain than requested.
pub fn not_confident([throughput, local, remote]: [f64; 3]) -> String {
    format!(
        "!!! WARNING\n!!! Desired confidence was not achieved within the specified iterations.\n\
         !!! This implies that there was variability in the test environment that\n\
         !!! must be investigated before going further.\n\
         !!! Confidence intervals: Throughput      : {throughput:4.3}%\n\
         !!!                       Local CPU util  : {local:4.3}%\n\
         !!!                       Remote CPU util : {remote:4.3}%\n\n"
    )
}

/// Returns the mean, and the width of its confidence interval in percent of the mean. `t` is Student's
/// quantile for the two-sided interval.
pub fn half_width(values: &[f64], t: f64) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    if values.len() < 2 || mean == 0.0 {
        return (mean, 0.0);
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, 100.0 * 2.0 * t * (variance / (count - 1.0)).sqrt() / mean.abs())
}

/// Returns the CPU time per KiB or per round trip, µs.
pub fn demand(cpu: Option<Cpu>, seconds: f64, units: f64) -> f64 {
    let Some(cpu) = cpu else { return -1.0 };
    if units > 0.0 { cpu.busy / 100.0 * f64::from(cpu.count) * seconds * 1e6 / units } else { 0.0 }
}

impl Report<'_> {
    pub fn text(&self) -> String {
        match &self.settings.output.form {
            Form::Table => self.table(),
            Form::Keys(names) => {
                names.iter().filter_map(|name| Some(format!("{name}={}\n", self.value(name)?))).collect()
            }
            Form::Csv(names) => {
                let title = |name: &&str| title_of(name).split('|').filter(|line| !line.is_empty()).collect::<Vec<_>>();
                let head: Vec<String> = names.iter().map(|name| title(name).join(" ")).collect();
                let row: Vec<String> = names.iter().map(|name| self.value(name).unwrap_or_default()).collect();
                let head = if self.settings.output.headers { head.join(",") + "\n" } else { String::new() };
                head + &row.join(",") + "\n"
            }
            Form::Columns(names) => self.columns(names),
        }
    }

    fn columns(&self, names: &[&'static str]) -> String {
        let mut text = String::new();
        let mut rows = [const { String::new() }; 5];
        for (number, name) in names.iter().enumerate() {
            // `ALL` has too many columns for one row.
            if number > 0 && names.len() == SELECTORS.len() && BLOCKS.contains(name) {
                text += &(std::mem::take(&mut rows).join("\n") + "\n\n");
            }
            let value = self.value(name).unwrap_or_default();
            let mut lines = [""; 4];
            for (line, part) in lines.iter_mut().zip(title_of(name).split('|')) {
                *line = part;
            }
            // Text has room for its terminator.
            let is_text = value.parse::<f64>().is_err();
            let width = lines.iter().map(|line| line.len()).max().unwrap_or(0).max(value.len() + usize::from(is_text));
            for (row, cell) in rows.iter_mut().zip(lines.into_iter().chain([value.as_str()])) {
                let _ = write!(row, "{cell:<width$} ");
            }
        }
        let rows = if self.settings.output.headers { &rows[..] } else { &rows[4..] };
        text + &rows.join("\n") + "\n"
    }

    fn units_done(&self) -> f64 {
        match self.settings.test.direction {
            Direction::RoundTrips if self.settings.in_trips() => self.trips as f64,
            // KiB in both directions, if the throughput is one of bytes.
            Direction::RoundTrips => {
                self.trips as f64 * f64::from(self.settings.data.trip.iter().sum::<u32>()) / 1024.0
            }
            Direction::ToServer => self.far_bytes().unwrap_or(self.remote.received.0) as f64 / 1024.0,
            Direction::ToClient => self.local.received.0 as f64 / 1024.0,
        }
    }

    /// Returns the bytes that a silent far end moved: all that was sent to it.
    pub(super) fn far_bytes(&self) -> Option<u64> {
        self.remote.is_silent.then_some(self.local.sent.0)
    }

    pub(super) fn demands(&self) -> [f64; 2] {
        [&self.local, &self.remote].map(|end| demand(end.cpu, self.seconds, self.units_done()))
    }

    pub(super) fn rate(&self, bytes: u64) -> f64 {
        if self.seconds > 0.0 { bytes as f64 / self.seconds / self.settings.scale().0 } else { 0.0 }
    }

    /// Returns the brand (`-B`), which is printed only without headers.
    fn brand(&self) -> &str {
        if self.settings.output.headers { "" } else { &self.settings.output.brand }
    }

    fn table(&self) -> String {
        let settings = self.settings;
        let brand = self.brand();
        if settings.output.verbosity == 0 {
            let [demand, far_demand] = self.demands();
            let [(_, how), (_, far_how)] = [Self::busy(&self.local), Self::busy(&self.remote)];
            let datagrams = settings.test.udp && !settings.is_trips();
            // Tests that connect print neither the letter nor the brand.
            if settings.test.connects {
                return match (settings.output.cpu.local, settings.output.cpu.remote) {
                    (true, _) => format!("{demand:6.3}\n"),
                    (_, true) => format!("{far_demand:6.3}\n"),
                    _ => format!("{:7.2}\n", self.throughput),
                };
            }
            return match (settings.output.cpu.local, settings.output.cpu.remote, datagrams) {
                // The letter of the local end, whichever end was measured.
                (true, _, true) => format!("{demand:6.2} {how}\n"),
                (_, true, true) => format!("{far_demand:6.2} {how}\n"),
                (_, _, true) => format!("{:7.2}\n", self.rate(self.local.sent.0)),
                (true, ..) => format!("{demand:6.3} {how} {brand}\n"),
                (_, true, _) => format!("{far_demand:6.3} {far_how} {brand}\n"),
                _ => format!("{:7.2} {brand}\n", self.throughput),
            };
        }
        let with_cpu = settings.output.cpu.local || settings.output.cpu.remote;
        match (settings.test.direction, settings.test.udp) {
            (Direction::RoundTrips, _) => self.trip_table(with_cpu),
            (_, true) => self.datagram_table(with_cpu),
            (_, false) => self.stream_table(with_cpu),
        }
    }

    /// Returns the time of a round trip, computed from the rate and the number in flight, µs.
    pub(super) fn round_trip_us(&self) -> f64 {
        let rate = self.trips as f64 / self.seconds.max(1e-9);
        1e6 * f64::from(1 + self.settings.test.burst) / rate.max(1e-9)
    }

    /// Returns the utilization, or -1, and the letter of the measurement method.
    pub(super) fn busy(end: &End) -> (f64, &'static str) {
        let unknown = if end.is_silent { "" } else { "U" };
        end.cpu.map_or((-1.0, unknown), |cpu| (cpu.busy, "S"))
    }

    /// Returns alignment and offset of the far end's buffers.
    fn far_alignment(&self) -> [i32; 2] {
        if self.remote.is_silent { [-1; 2] } else { [8, 0] }
    }

    fn stream_table(&self, with_cpu: bool) -> String {
        let Report { settings, local, remote, seconds, throughput, .. } = self;
        let to_server = settings.test.direction == Direction::ToServer;
        let (sender, receiver) = if to_server { (local, remote) } else { (remote, local) };
        let [[_, _], [send_buffer, _], _] = sender.buffers;
        let receive_buffer = receiver.buffers[1][1];
        let unit = settings.scale().1;
        let (brand, size) = (self.brand(), sender.sizes[0]);
        let mut text = String::new();
        let (receive_buffer, send_buffer) = (receive_buffer.unwrap_or(0), send_buffer.unwrap_or(0));
        let ([(busy, how), (far_busy, far_how)], [demand, far_demand]) =
            ([Self::busy(local), Self::busy(remote)], self.demands());
        let ends = if to_server { ("Send", "Recv") } else { ("Recv", "Send") };
        if settings.output.headers && with_cpu {
            let (one, other) = ends;
            let _ = write!(
                text,
                "Recv   Send    Send                          Utilization       Service Demand\n\
                 Socket Socket  Message  Elapsed              {one}     {other}     {one}    {other}\n\
                 Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
                 bytes  bytes   bytes    secs.    {unit:<8}/s  % {how}      % {far_how}      us/KB   us/KB\n\n"
            );
        } else if settings.output.headers {
            let _ = write!(
                text,
                "Recv   Send    Send                          \nSocket Socket  Message  Elapsed              \n\
                 Size   Size    Size     Time     Throughput  \nbytes  bytes   bytes    secs.    {unit}/sec  \n\n"
            );
        }
        let _ = write!(text, "{receive_buffer:6} {send_buffer:6} {size:6}    {seconds:<6.2}   ");
        if with_cpu {
            let _ = writeln!(
                text,
                "  {throughput:7.2}   {busy:<6.2}   {far_busy:<6.2}   {demand:<6.3}  {far_demand:<6.3} {brand}"
            );
        } else {
            let _ = writeln!(text, "{throughput:7.2}   {brand}");
        }
        if settings.output.verbosity > 1 {
            let per = |(bytes, calls): (u64, u64)| bytes as f64 / calls.max(1) as f64;
            let (near, far) = if to_server { (local.sent, remote.received) } else { (local.received, remote.sent) };
            let (one, other) = ends;
            let [align, offset] = self.far_alignment();
            let moved = if settings.test.sendfile { general(near.0 as f64, 4) } else { near.0.to_string() };
            let _ = write!(
                text,
                "\nAlignment      Offset         Bytes    Bytes       {one}s   Bytes    {other}s\n\
                 Local  Remote  Local  Remote  Xfered   Per                 Per\n\
                 {one}   {other}    {one}   {other}             {one} (avg)          {other} (avg)\n\
                 {:5}   {:5}  {:5}   {:5} {moved:>6}  {:6.2}    {:6}   {:6.2} {:6}\n\n\
                 Maximum\nSegment\nSize (bytes)\n{:6}\n",
                8,
                align,
                0,
                offset,
                per(near),
                near.1,
                per(far),
                far.1,
                self.segment.map_or(-1, i64::from)
            );
        }
        text
    }

    fn datagram_table(&self, with_cpu: bool) -> String {
        let Report { settings, local, remote, seconds, .. } = self;
        let unit = settings.scale().1;
        let (head, ends) = if with_cpu {
            let (how, far_how) = (Self::busy(local).1, Self::busy(remote).1);
            let head = format!(
                "Socket  Message  Elapsed      Messages                   CPU      Service\n\
                 Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
                 bytes   bytes    secs            #      #   {unit}/sec % {how}{far_how}     us/KB\n\n"
            );
            let [near, far] = self.demands();
            let end = |rate: f64, end: &End, demand: f64| {
                format!("{rate:7.1}     {:<6.2}   {demand:<6.3}", Self::busy(end).0)
            };
            let rates = (self.rate(local.sent.0), self.rate(remote.received.0));
            (head, [end(rates.0, local, near), end(rates.1, remote, far)])
        } else {
            let head = format!(
                "Socket  Message  Elapsed      Messages                \n\
                 Size    Size     Time         Okay Errors   Throughput\n\
                 bytes   bytes    secs            #      #   {unit}/sec\n\n"
            );
            (head, [self.rate(local.sent.0), self.rate(remote.received.0)].map(|rate| format!("{rate:7.2}")))
        };
        let head = if settings.output.headers { head } else { String::new() };
        let [near, far] = ends;
        format!(
            "{head}{:6}  {:6}   {seconds:<6.2}     {:6} {:6}    {near}\n{:6}           {seconds:<6.2}     {:6}           {far}\n\n",
            local.buffers[1][0].unwrap_or(0),
            local.sizes[0],
            local.sent.1,
            0,
            remote.buffers[1][1].unwrap_or(0),
            remote.received.1
        )
    }

    fn trip_table(&self, with_cpu: bool) -> String {
        let Report { settings, local, remote, seconds, throughput, .. } = self;
        // netperf prints no brand if each round trip has its own connection.
        let brand = if settings.test.connects { "" } else { self.brand() };
        let [ask, answer] = settings.data.trip;
        let buffer = |end: &End, which: usize| end.buffers[1][which].unwrap_or(0);
        let (near, far) = ((buffer(local, 0), buffer(local, 1)), (buffer(remote, 0), buffer(remote, 1)));
        // netperf's headers for connections do not depend on the unit.
        let (wide, unit) = (settings.in_trips() || settings.test.connects, settings.scale().1);
        let mut text = String::new();
        if settings.output.headers && with_cpu {
            // netperf prints no method letters if each round trip has its own connection.
            let method = |end: &End| if settings.test.connects { " " } else { Self::busy(end).1 };
            let (title, rate, per) = if wide { ("Trans.", "Rate", "us/Tr") } else { ("Tput", unit, "us/KB") };
            let _ = write!(
                text,
                "Local /Remote\nSocket Size   Request Resp.  Elapsed {title:<8} CPU    CPU    S.dem   S.dem\n\
                 Send   Recv   Size    Size   Time    {rate:<8} local  remote local   remote\n\
                 bytes  bytes  bytes   bytes  secs.   per sec  % {}    % {}    {per}   {per}\n\n",
                method(local),
                method(remote)
            );
        } else if settings.output.headers && wide {
            text += "Local /Remote\nSocket Size   Request  Resp.   Elapsed  Trans.\n\
                     Send   Recv   Size     Size    Time     Rate         \n\
                     bytes  Bytes  bytes    bytes   secs.    per sec   \n\n";
        } else if settings.output.headers {
            let _ = write!(
                text,
                "Local /Remote\nSocket Size   Request  Resp.   Elapsed  \n\
                 Send   Recv   Size     Size    Time     Throughput \n\
                 bytes  Bytes  bytes    bytes   secs.    {unit}/sec   \n\n"
            );
        }
        let _ = if with_cpu {
            let [demand, far_demand] = self.demands();
            writeln!(
                text,
                "{:<6} {:<6} {ask:<6}  {answer:<6} {seconds:<6.2}  {throughput:<6.2}  {:<6.2} {:<6.2} {demand:<6.3}  {far_demand:<6.3} {brand}",
                near.0,
                near.1,
                Self::busy(local).0,
                Self::busy(remote).0
            )
        } else {
            writeln!(
                text,
                "{:<6} {:<6} {ask:<6}   {answer:<6}  {seconds:<6.2}   {throughput:7.2}   {brand}",
                near.0, near.1
            )
        };
        let _ = writeln!(text, "{:<6} {:<6}", far.0, far.1);
        if settings.output.verbosity > 1 && settings.test.connects {
            let [align, offset] = self.far_alignment();
            let _ = write!(
                text,
                "\nAlignment      Offset\nLocal  Remote  Local  Remote\nSend   Recv    Send   Recv\n{:5}  {align:5}   {:5}  {offset:5}\n",
                8, 0
            );
        } else if settings.output.verbosity > 1 && !settings.test.udp {
            let rate = self.trips as f64 / self.seconds.max(1e-9);
            let far = if remote.is_silent { [-1; 2] } else { [0; 2] };
            let out = |bytes: u32| f64::from(bytes) * rate / settings.scale().0;
            let _ = write!(
                text,
                "Alignment      Offset         RoundTrip  Trans    Throughput\n\
                 Local  Remote  Local  Remote  Latency    Rate     {unit}/s\n\
                 Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n\
                 {:5}  {:5}   {:5}  {:5}   {:<6.3}   {rate:<6.3} {:<6.3}    {:<6.3}\n",
                8,
                far[0],
                0,
                far[1],
                self.round_trip_us(),
                out(ask),
                out(answer)
            );
        }
        text
    }
}

fn title_of(name: &str) -> &'static str {
    SELECTORS.iter().find(|row| row.0 == name).map_or("", |row| row.1)
}
