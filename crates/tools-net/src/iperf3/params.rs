//! A client's parameters, their wire format, and a server's limits.

use super::json::Json;
use super::wire::{AUTHORIZATION_FAILED, VERSION};
use plumb_workload::net::Passing;
use serde_json::Value;

/// Largest IPv6 flow label: 20 bits.
pub(crate) const FLOW_LABEL_MAX: u32 = (1 << 20) - 1;

/// Parameters of a test, as the client sends them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    pub transport: Transport,
    pub end: TestEnd,
    pub socket: SocketParams,
    pub flow: FlowParams,
    pub pace: PaceParams,
    pub report: ReportParams,
    pub passing: PassingParams,
    /// CPU that a stock server is asked to use. Plumb's server does not let clients choose.
    pub server_processor: Option<u32>,
    /// User name, password and time, encrypted.
    pub token: Option<String>,
    /// Whether the client is Plumb.
    pub is_plumb: bool,
    pub trips: TripParams,
}

/// Transport protocol of the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Transport {
    /// `-u`: whether datagrams carry the data.
    pub udp: bool,
    /// `--sctp`: whether SCTP carries the data.
    pub sctp: bool,
    /// `-m`: whether TCP may use several paths.
    pub multipath: bool,
}

/// End of the test, and its uncounted start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestEnd {
    /// `-O`: seconds at the start that do not count.
    pub omit_s: u32,
    /// `-t`: duration, seconds. `None` means 10 s, or no time limit.
    pub time_s: Option<u32>,
    /// `-n`: bytes after which the test ends; 0 for none.
    pub bytes: u64,
    /// `-k`: blocks after which the test ends; 0 for none.
    pub blocks: u64,
}

/// Streams: number, direction, and block size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowParams {
    /// `-P`: number of streams.
    pub streams: u32,
    /// `-R`: whether the server sends.
    pub reverse: bool,
    /// `--bidir`: whether both ends send.
    pub bidir: bool,
    /// `-l`: bytes per block; 0 for the default.
    pub block: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaceParams {
    /// `-b`: bits per second of a stream.
    pub rate: Option<u64>,
    /// `-b`: number of blocks sent together.
    pub burst: u32,
    /// `--fq-rate`: bits per second of the kernel's pacing.
    pub kernel_rate: Option<u64>,
}

/// Options of the data sockets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketParams {
    /// `-M`: maximum segment size, bytes.
    pub segment: Option<u32>,
    /// `-N`: whether `TCP_NODELAY` is set.
    pub no_delay: bool,
    /// `-w`: size of the socket buffers, bytes.
    pub window: Option<u32>,
    /// `-S`, `--dscp`: type of service.
    pub service: u8,
    /// `-C`: congestion control algorithm.
    pub congestion: Option<String>,
    /// `-L`: IPv6 flow label.
    pub flow_label: Option<u32>,
    /// `--dont-fragment`: whether datagrams must not be fragmented.
    pub whole: bool,
}

/// How bytes pass between program and kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassingParams {
    /// `-Z`: whether the sender lends its memory to the kernel.
    pub lend: bool,
    /// `--skip-rx-copy`: whether the receiver drops the data unread.
    pub drop: bool,
    /// `--gsro`: whether several datagrams pass in one call.
    pub trains: bool,
    /// `--udp-counters-64bit`: whether datagrams have 64-bit counters.
    pub wide: bool,
    /// `--repeating-payload`: whether the payload repeats a pattern.
    pub repeats: bool,
    /// Calls that move bytes at the sender, unless `lend` is set.
    pub tx: Passing,
    /// Calls that move bytes at the receiver, unless `drop` is set.
    pub rx: Passing,
}

/// Round trips, measured instead of streams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TripParams {
    /// Size of a response, bytes; 0 for streams.
    pub response: u32,
    /// Whether each round trip opens its own connection.
    pub connects: bool,
    /// Time for which both ends poll the socket before they sleep, µs.
    pub poll_us: u32,
}

/// Optional contents of the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportParams {
    /// `-T`: text that starts each line of the output.
    pub title: Option<String>,
    /// `--extra-data`: text in the JSON of both ends.
    pub extra_data: Option<String>,
    /// `--get-server-output`: whether the client receives the server's output.
    pub get_output: bool,
}

impl Default for FlowParams {
    fn default() -> FlowParams {
        FlowParams { streams: 1, reverse: false, bidir: false, block: 0 }
    }
}

impl Default for PaceParams {
    fn default() -> PaceParams {
        PaceParams { rate: None, burst: 1, kernel_rate: None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bits per second of all streams of a test.
    pub rate: Option<u64>,
    pub time_s: u32,
}

/// Reason for which a server refuses a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The parameters are not a JSON object.
    #[error("unable to receive parameters from client: not a JSON object")]
    NotJson,
    /// A number is out of range, or has another type.
    #[error("parameter `{0}` of the client is out of range")]
    Range(&'static str),
    /// The requested rate exceeds the server's limit.
    #[error("total required bandwidth is larger than server limit")]
    Rate,
    /// The requested time exceeds the server's limit.
    #[error("client's requested duration exceeds the server's maximum permitted limit")]
    Time,
    /// The client sent nothing for too long.
    #[error("idle timeout for receiving data")]
    Idle,
    /// The client did not end its test in time.
    #[error("server test duration expired")]
    Over,
    /// The token does not belong to a user.
    #[error("test authorization failed")]
    Denied,
    /// The client requests something unsupported.
    #[error("{0} is not supported")]
    Not(&'static str),
}

impl Refused {
    pub fn number(&self) -> i32 {
        match self {
            Refused::Rate => 27,
            Refused::Time => 37,
            Refused::Denied => AUTHORIZATION_FAILED,
            Refused::Idle => 144,
            Refused::Over => 160,
            // "unable to receive parameters".
            _ => 112,
        }
    }
}

/// Returns `true` if a parameter is present. As in iperf3, `false` counts as present.
fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some()
}

/// Reads a whole number within a range; the default if the key is missing.
fn whole(value: &Value, key: &'static str, most: u64, default: u64) -> Result<u64, Refused> {
    let Some(number) = value.get(key) else { return Ok(default) };
    let wide = number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 1e19).then_some(number as u64)
    });
    wide.filter(|&number| number <= most).ok_or(Refused::Range(key))
}

pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// Reads how bytes pass, which only Plumb's client sends.
fn passing(value: &Value, key: &'static str, can: fn(Passing) -> bool) -> Result<Passing, Refused> {
    match text(value, key) {
        None => Ok(Passing::Copy),
        Some(name) => Passing::from_name(&name).filter(|passing| can(*passing)).ok_or(Refused::Range(key)),
    }
}

impl Params {
    /// Parses a client's parameters.
    ///
    /// # Errors
    /// The server does not allow the test.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Params, Refused> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| Refused::NotJson)?;
        let json = value.is_object().then_some(&value).ok_or(Refused::NotJson)?;
        let udp = has(json, "udp");
        let some = |key, most| whole(json, key, most, 0).map(|number| Some(number as u32).filter(|&number| number > 0));
        let params = Params {
            transport: Transport { udp, sctp: has(json, "sctp"), multipath: has(json, "mptcp") },
            end: TestEnd {
                omit_s: whole(json, "omit", 600, 0)? as u32,
                time_s: Some(whole(json, "time", 86400, 10)? as u32),
                bytes: whole(json, "num", u64::MAX >> 1, 0)?,
                blocks: whole(json, "blockcount", u64::MAX >> 1, 0)?,
            },
            socket: SocketParams {
                segment: some("MSS", 32767)?,
                no_delay: has(json, "nodelay"),
                window: some("window", 512 << 20)?,
                service: whole(json, "TOS", 255, 0)? as u8,
                congestion: text(json, "congestion"),
                whole: whole(json, "dont_fragment", 1, 0)? > 0,
                flow_label: some("flowlabel", FLOW_LABEL_MAX.into())?,
            },
            flow: FlowParams {
                streams: whole(json, "parallel", 128, 1)? as u32,
                reverse: has(json, "reverse"),
                bidir: has(json, "bidirectional"),
                block: whole(json, "len", 1 << 20, 0)? as u32,
            },
            pace: PaceParams {
                rate: Some(whole(json, "bandwidth", 1 << 50, 0)?).filter(|&rate| rate > 0),
                burst: whole(json, "burst", 1000, 1)?.max(1) as u32,
                kernel_rate: Some(whole(json, "fqrate", 1 << 50, 0)?).filter(|&rate| rate > 0),
            },
            report: ReportParams {
                title: text(json, "title"),
                extra_data: text(json, "extra_data"),
                get_output: whole(json, "get_server_output", 1, 0)? > 0,
            },
            passing: PassingParams {
                wide: whole(json, "udp_counters_64bit", 1, 0)? > 0,
                lend: whole(json, "zerocopy", 1, 0)? > 0,
                drop: whole(json, "skip_rx_copy", 1, 0)? > 0,
                trains: whole(json, "gso", 1, 0)? > 0 || whole(json, "gro", 1, 0)? > 0,
                repeats: whole(json, "repeating_payload", 1, 0)? > 0,
                tx: passing(json, "tx", Passing::sends)?,
                rx: passing(json, "rx", Passing::receives)?,
            },
            server_processor: None,
            token: text(json, "authtoken"),
            is_plumb: has(json, "plumb"),
            trips: TripParams {
                response: whole(json, "response", 65507, 0)? as u32,
                connects: whole(json, "connect", 1, 0)? > 0,
                poll_us: whole(json, "busy_poll", 10_000, 0)? as u32,
            },
        };
        if params.transport.sctp && (udp || params.transport.multipath) {
            return Err(Refused::Range("sctp"));
        }
        if params.flow.streams == 0 {
            return Err(Refused::Range("parallel"));
        }
        if params.flow.block == 0 || (udp && !(16..=65507).contains(&params.flow.block)) {
            return Err(Refused::Range("len"));
        }
        if params.trips.connects && (udp || params.trips.response == 0 || !params.is_plumb) {
            return Err(Refused::Range("connect"));
        }
        params.check(limits)?;
        Ok(params)
    }

    /// Returns the item for the transport protocol.
    pub fn protocol<T: Copy>(&self, [tcp, udp, sctp]: [T; 3]) -> T {
        match (self.transport.udp, self.transport.sctp) {
            (true, _) => udp,
            (false, true) => sctp,
            _ => tcp,
        }
    }

    fn check(&self, limits: &Limits) -> Result<(), Refused> {
        let directions = if self.flow.bidir { 2 } else { 1 };
        if let Some(limit) = limits.rate {
            // Without a rate, the test is unlimited.
            let asked = self.pace.rate.map(|rate| rate.saturating_mul(u64::from(self.flow.streams) * directions));
            if asked.is_none_or(|asked| asked > limit) {
                return Err(Refused::Rate);
            }
        }
        let seconds = self.end.time_s.unwrap_or(0);
        let is_endless = seconds == 0 && self.end.bytes == 0 && self.end.blocks == 0;
        if limits.time_s < 86400 && (is_endless || seconds > limits.time_s) {
            return Err(Refused::Time);
        }
        Ok(())
    }

    /// Encodes the parameters.
    pub fn json(&self) -> Json {
        let flag = |is: bool| is.then_some(Json::Bool(true));
        let number = |number: u64| Some(Json::Int(number as i64));
        let some = |number: Option<u32>| number.map(|number| Json::Int(number.into()));
        let one = |is: bool| is.then_some(Json::Int(1));
        let text = |text: &Option<String>| text.as_deref().map(Json::text);
        let trains = |value: i64| self.transport.udp.then_some(Json::Int(value));
        let entries = [
            (self.protocol(["tcp", "udp", "sctp"]), flag(true)),
            ("omit", number(self.end.omit_s.into())),
            ("server_affinity", some(self.server_processor)),
            ("time", number(self.end.time_s.unwrap_or(0).into())),
            ("num", number(self.end.bytes)),
            ("blockcount", number(self.end.blocks)),
            ("MSS", some(self.socket.segment)),
            ("nodelay", flag(self.socket.no_delay)),
            ("parallel", number(self.flow.streams.into())),
            ("reverse", flag(self.flow.reverse)),
            ("bidirectional", flag(self.flow.bidir)),
            ("mptcp", flag(self.transport.multipath)),
            ("window", some(self.socket.window)),
            ("len", number(self.flow.block.into())),
            ("bandwidth", self.pace.rate.map(|rate| Json::Int(rate as i64))),
            ("fqrate", self.pace.kernel_rate.map(|rate| Json::Int(rate as i64))),
            ("pacing_timer", number(1000)),
            ("burst", (self.pace.burst > 1).then_some(Json::Int(self.pace.burst.into()))),
            ("gso", trains(self.passing.trains.into())),
            ("gso_dg_size", trains(if self.passing.trains { self.flow.block.into() } else { 0 })),
            ("gso_bf_size", trains(i64::from(65507 / self.flow.block.max(1) * self.flow.block))),
            ("gro", trains(self.passing.trains.into())),
            ("gro_bf_size", trains(65507)),
            ("TOS", (self.socket.service > 0).then_some(Json::Int(self.socket.service.into()))),
            ("flowlabel", some(self.socket.flow_label)),
            ("title", text(&self.report.title)),
            ("extra_data", text(&self.report.extra_data)),
            ("congestion", text(&self.socket.congestion)),
            ("get_server_output", one(self.report.get_output)),
            ("udp_counters_64bit", one(self.passing.wide)),
            ("repeating_payload", one(self.passing.repeats)),
            ("zerocopy", one(self.passing.lend)),
            ("dont_fragment", one(self.socket.whole)),
            ("authtoken", text(&self.token)),
            ("skip_rx_copy", one(self.passing.drop)),
            ("client_version", Some(Json::text(VERSION))),
            ("plumb", Some(Json::Int(1))),
            ("connect", one(self.trips.connects)),
            ("response", (self.trips.response > 0).then_some(Json::Int(self.trips.response.into()))),
            ("busy_poll", (self.trips.poll_us > 0).then_some(Json::Int(self.trips.poll_us.into()))),
            ("tx", (self.passing.tx != Passing::Copy).then(|| Json::text(self.passing.tx.name()))),
            ("rx", (self.passing.rx != Passing::Copy).then(|| Json::text(self.passing.rx.name()))),
        ];
        let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Json::Map(there.collect())
    }
}
