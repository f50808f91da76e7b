//! What travels on a control connection: a cookie, states of a byte each, and JSON behind its length. Pure: whoever has the
//! connection reads no more than the limits here, within deadlines of its own.

use super::json::Json;
use serde_json::Value;

/// The version, as sent to the other end and printed in JSON.
pub const VERSION: &str = "3.21 (Plumb)";

/// A cookie: letters and a NUL.
pub const COOKIE_BYTES: usize = 37;

/// What cookies are made of.
pub const COOKIE_LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Longest JSON of parameters, bytes. iperf3 takes 8 KiB; extra data and titles may be longer.
pub const PARAMS_BYTES_MAX: usize = 64 << 10;

/// Longest JSON of results, bytes: they may hold the other end's whole report.
pub const RESULTS_BYTES_MAX: usize = 8 << 20;

/// First datagram of a client.
pub const UDP_HELLO: [u8; 4] = *b"9876";

/// Replies to it: of 3.12 and later, and of those before, in both byte orders.
pub const UDP_REPLIES: [[u8; 4]; 4] = [*b"6789", *b"9876", [0xb1, 0x68, 0xde, 0x3a], [0x3a, 0xde, 0x68, 0xb1]];

/// The reply that the sender of this first datagram expects.
pub fn udp_reply(hello: &[u8]) -> [u8; 4] {
    match hello {
        b"6789" => UDP_REPLIES[1],
        [0x15, 0xcd, 0x5b, 0x07] => UDP_REPLIES[2],
        [0x07, 0x5b, 0xcd, 0x15] => UDP_REPLIES[3],
        _ => UDP_REPLIES[0],
    }
}

/// The number of a stream on the wire, from its place: 2 is left out for ever.
pub fn stream_id(place: usize) -> i64 {
    if place == 0 { 1 } else { place as i64 + 2 }
}

/// A step of a test, as it travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// Move data: both.
    TestStart = 1,
    /// Data moves.
    TestRunning = 2,
    /// The client ends it.
    TestEnd = 4,
    /// The cookie is accepted; parameters come next.
    ParamExchange = 9,
    /// The client connects its streams.
    CreateStreams = 10,
    /// The server ends.
    ServerTerminate = 11,
    /// The client ends at once.
    ClientTerminate = 12,
    /// Results come next.
    ExchangeResults = 13,
    /// Both have all results.
    DisplayResults = 14,
    /// The client is done.
    Done = 16,
    /// Only to a client that said that it is Plumb: so is the server, and it answers round trips and takes trains.
    PlumbServer = 64,
    /// Refused: busy, or a wrong cookie.
    AccessDenied = -1,
    /// An error number of iperf3 and one of the system follow, of 4 bytes each.
    ServerError = -2,
}

impl State {
    /// Of its byte.
    pub fn of(byte: u8) -> Option<State> {
        use State::*;
        const ALL: [State; 13] = [
            TestStart,
            TestRunning,
            TestEnd,
            ParamExchange,
            CreateStreams,
            ServerTerminate,
            ClientTerminate,
            ExchangeResults,
            DisplayResults,
            Done,
            PlumbServer,
            AccessDenied,
            ServerError,
        ];
        ALL.into_iter().find(|state| *state as i8 == byte as i8)
    }
}

/// What iperf3 says of an error number that a server sends.
pub fn error_text(number: i32) -> Option<&'static str> {
    Some(match number {
        27 => "total required bandwidth is larger than server limit",
        37 => "client's requested duration exceeds the server's maximum permitted limit",
        119 => "the client has terminated",
        121 => "the server is busy running a test. try again later",
        142 => "test authorization failed",
        144 => "idle timeout for receiving data",
        160 => "server test duration expired",
        _ => return None,
    })
}

/// What a test is to be, as the client says it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the keys of the JSON, whose meaning is that of the options")]
pub struct Params {
    pub udp: bool,
    pub omit_s: u32,
    /// `None`: 10 s, or no end by time.
    pub time_s: Option<u32>,
    pub bytes: u64,
    pub blocks: u64,
    pub segment: Option<u32>,
    pub no_delay: bool,
    pub streams: u32,
    pub reverse: bool,
    pub bidir: bool,
    pub window: Option<u32>,
    /// 0: the default.
    pub block: u32,
    /// Bits a second.
    pub rate: Option<u64>,
    pub burst: u32,
    pub service: u8,
    pub title: Option<String>,
    pub extra_data: Option<String>,
    pub congestion: Option<String>,
    pub get_output: bool,
    pub wide: bool,
    pub lend: bool,
    pub drop: bool,
    pub trains: bool,
    /// The client is Plumb.
    pub is_plumb: bool,
    /// Round trips instead of streams: bytes of the response.
    pub response: u32,
    /// Each of them has a connection of its own.
    pub connects: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            udp: false,
            omit_s: 0,
            time_s: None,
            bytes: 0,
            blocks: 0,
            segment: None,
            no_delay: false,
            streams: 1,
            reverse: false,
            bidir: false,
            window: None,
            block: 0,
            rate: None,
            burst: 1,
            service: 0,
            title: None,
            extra_data: None,
            congestion: None,
            get_output: false,
            wide: false,
            lend: false,
            drop: false,
            trains: false,
            is_plumb: false,
            response: 0,
            connects: false,
        }
    }
}

/// What a server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bits a second of all streams of a test together.
    pub rate: Option<u64>,
    /// Seconds of a test.
    pub time_s: u32,
}

/// Why a server refuses a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Not JSON, or not an object.
    #[error("unable to receive parameters from client: not a JSON object")]
    NotJson,
    /// A number out of range, or of another type.
    #[error("parameter `{0}` of the client is out of range")]
    Range(&'static str),
    /// More than the server gives.
    #[error("total required bandwidth is larger than server limit")]
    Rate,
    /// Longer than the server allows.
    #[error("client's requested duration exceeds the server's maximum permitted limit")]
    Time,
    /// What is not supported.
    #[error("{0} is not supported")]
    Not(&'static str),
}

impl Refused {
    /// The number that iperf3 has for it.
    pub fn number(&self) -> i32 {
        match self {
            Refused::Rate => 27,
            Refused::Time => 37,
            // "unable to receive parameters".
            _ => 112,
        }
    }
}

/// Keys of the parameters that are there or not; `false` counts as there, as it does for iperf3.
fn has(value: &Value, key: &str) -> bool {
    value.get(key).is_some()
}

/// A whole number in a range; the default where the key is missing.
fn whole(value: &Value, key: &'static str, most: u64, default: u64) -> Result<u64, Refused> {
    let Some(number) = value.get(key) else { return Ok(default) };
    let wide = number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        (number >= 0.0 && number.fract() == 0.0 && number < 1e19).then_some(number as u64)
    });
    wide.filter(|&number| number <= most).ok_or(Refused::Range(key))
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

impl Params {
    /// What a client sends.
    ///
    /// # Errors
    /// What the server does not allow.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Params, Refused> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| Refused::NotJson)?;
        let json = value.is_object().then_some(&value).ok_or(Refused::NotJson)?;
        for (key, name) in [("sctp", "SCTP"), ("mptcp", "MPTCP"), ("authtoken", "authentication")] {
            if has(json, key) {
                return Err(Refused::Not(name));
            }
        }
        let udp = has(json, "udp");
        let some = |key, most| whole(json, key, most, 0).map(|number| Some(number as u32).filter(|&number| number > 0));
        let params = Params {
            udp,
            omit_s: whole(json, "omit", 600, 0)? as u32,
            time_s: Some(whole(json, "time", 86400, 10)? as u32),
            bytes: whole(json, "num", u64::MAX >> 1, 0)?,
            blocks: whole(json, "blockcount", u64::MAX >> 1, 0)?,
            segment: some("MSS", 32767)?,
            no_delay: has(json, "nodelay"),
            streams: whole(json, "parallel", 128, 1)? as u32,
            reverse: has(json, "reverse"),
            bidir: has(json, "bidirectional"),
            window: some("window", 512 << 20)?,
            block: whole(json, "len", 1 << 20, 0)? as u32,
            rate: Some(whole(json, "bandwidth", 1 << 50, 0)?).filter(|&rate| rate > 0),
            burst: whole(json, "burst", 1000, 1)?.max(1) as u32,
            service: whole(json, "TOS", 255, 0)? as u8,
            title: text(json, "title"),
            extra_data: text(json, "extra_data"),
            congestion: text(json, "congestion"),
            get_output: whole(json, "get_server_output", 1, 0)? > 0,
            wide: whole(json, "udp_counters_64bit", 1, 0)? > 0,
            lend: whole(json, "zerocopy", 1, 0)? > 0,
            drop: whole(json, "skip_rx_copy", 1, 0)? > 0,
            trains: whole(json, "gso", 1, 0)? > 0 || whole(json, "gro", 1, 0)? > 0,
            is_plumb: has(json, "plumb"),
            response: whole(json, "response", 65507, 0)? as u32,
            connects: whole(json, "connect", 1, 0)? > 0,
        };
        if params.streams == 0 {
            return Err(Refused::Range("parallel"));
        }
        if params.block == 0 || (udp && !(16..=65507).contains(&params.block)) {
            return Err(Refused::Range("len"));
        }
        if params.connects && (udp || params.response == 0 || !params.is_plumb) {
            return Err(Refused::Range("connect"));
        }
        params.check(limits)?;
        Ok(params)
    }

    fn check(&self, limits: &Limits) -> Result<(), Refused> {
        let directions = if self.bidir { 2 } else { 1 };
        if let Some(limit) = limits.rate {
            // Without a rate, it is as much as there is.
            let asked = self.rate.map(|rate| rate.saturating_mul(u64::from(self.streams) * directions));
            if asked.is_none_or(|asked| asked > limit) {
                return Err(Refused::Rate);
            }
        }
        let seconds = self.time_s.unwrap_or(0);
        let is_endless = seconds == 0 && self.bytes == 0 && self.blocks == 0;
        if limits.time_s < 86400 && (is_endless || seconds > limits.time_s) {
            return Err(Refused::Time);
        }
        Ok(())
    }

    /// As it is sent.
    pub fn json(&self) -> Json {
        let flag = |is: bool| is.then_some(Json::Bool(true));
        let number = |number: u64| Some(Json::Int(number as i64));
        let some = |number: Option<u32>| number.map(|number| Json::Int(number.into()));
        let one = |is: bool| is.then_some(Json::Int(1));
        let text = |text: &Option<String>| text.as_deref().map(Json::text);
        let trains = |value: i64| self.udp.then_some(Json::Int(value));
        let entries = [
            (if self.udp { "udp" } else { "tcp" }, flag(true)),
            ("omit", number(self.omit_s.into())),
            ("time", number(self.time_s.unwrap_or(0).into())),
            ("num", number(self.bytes)),
            ("blockcount", number(self.blocks)),
            ("MSS", some(self.segment)),
            ("nodelay", flag(self.no_delay)),
            ("parallel", number(self.streams.into())),
            ("reverse", flag(self.reverse)),
            ("bidirectional", flag(self.bidir)),
            ("window", some(self.window)),
            ("len", number(self.block.into())),
            ("bandwidth", self.rate.map(|rate| Json::Int(rate as i64))),
            ("pacing_timer", number(1000)),
            ("burst", (self.burst > 1).then_some(Json::Int(self.burst.into()))),
            ("gso", trains(self.trains.into())),
            ("gso_dg_size", trains(if self.trains { self.block.into() } else { 0 })),
            ("gso_bf_size", trains(i64::from(65507 / self.block.max(1) * self.block))),
            ("gro", trains(self.trains.into())),
            ("gro_bf_size", trains(65507)),
            ("TOS", (self.service > 0).then_some(Json::Int(self.service.into()))),
            ("title", text(&self.title)),
            ("extra_data", text(&self.extra_data)),
            ("congestion", text(&self.congestion)),
            ("get_server_output", one(self.get_output)),
            ("udp_counters_64bit", one(self.wide)),
            ("zerocopy", one(self.lend)),
            ("skip_rx_copy", one(self.drop)),
            ("client_version", Some(Json::text(VERSION))),
            ("plumb", Some(Json::Int(1))),
            ("connect", one(self.connects)),
            ("response", (self.response > 0).then_some(Json::Int(self.response.into()))),
        ];
        let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Json::Map(there.collect())
    }
}

/// What one end has to say of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "the keys of the JSON")]
pub struct StreamResult {
    pub id: i64,
    pub bytes: u64,
    /// −1 where it is not known.
    pub retransmits: i64,
    pub jitter_s: f64,
    pub errors: i64,
    /// Of the errors, those of the part that does not count; `None` of ends before 3.14, which do not say.
    pub omitted_errors: Option<i64>,
    pub packets: i64,
    /// The same of the packets.
    pub omitted_packets: Option<i64>,
    pub seconds: f64,
}

/// What one end has to say of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// Processor time in per cent of the test's: all, user, system.
    pub cpu: [f64; 3],
    /// 1: it sends and knows of retransmits; 0: it sends and does not; −1: it receives.
    pub has_retransmits: i64,
    /// Algorithm of congestion control.
    pub congestion: Option<String>,
    /// The server's report.
    pub output: Option<Json>,
    /// By stream.
    pub streams: Vec<StreamResult>,
}

/// Streams of results at most: both directions of 128.
const STREAMS_MAX: usize = 256;

/// Before 3.14, −1 travels as a number without sign.
fn signed(value: Option<&Value>) -> i64 {
    let Some(value) = value else { return 0 };
    let wide = || value.as_u64().map(|number| number as i64);
    value.as_i64().or_else(wide).or_else(|| Some(value.as_f64()? as i64)).unwrap_or(0)
}

impl Results {
    /// What the other end sends; `None` where it is nothing of the kind.
    pub fn read(bytes: &[u8]) -> Option<Results> {
        let json: Value = serde_json::from_slice(bytes).ok()?;
        let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_f64).unwrap_or(0.0);
        let streams = json.get("streams")?.as_array()?.iter().take(STREAMS_MAX).map(|stream| StreamResult {
            id: signed(stream.get("id")),
            bytes: u64::try_from(signed(stream.get("bytes"))).unwrap_or(0),
            retransmits: signed(stream.get("retransmits")),
            jitter_s: number(stream, "jitter"),
            errors: signed(stream.get("errors")),
            omitted_errors: stream.get("omitted_errors").map(|number| signed(Some(number))),
            packets: signed(stream.get("packets")),
            omitted_packets: stream.get("omitted_packets").map(|number| signed(Some(number))),
            seconds: number(stream, "end_time"),
        });
        Some(Results {
            cpu: ["cpu_util_total", "cpu_util_user", "cpu_util_system"].map(|key| number(&json, key)),
            has_retransmits: signed(json.get("sender_has_retransmits")),
            congestion: text(&json, "congestion_used"),
            output: json.get("server_output_json").or_else(|| json.get("server_output_text")).map(Json::of),
            streams: streams.collect(),
        })
    }

    /// As it is sent.
    pub fn json(&self) -> Json {
        let keys = ["cpu_util_total", "cpu_util_user", "cpu_util_system"];
        let mut json = Json::Map(Vec::new());
        for (key, value) in keys.into_iter().zip(self.cpu) {
            json.push(key, Json::Number(value));
        }
        json.push("sender_has_retransmits", Json::Int(self.has_retransmits));
        if let Some(name) = &self.congestion {
            json.push("congestion_used", Json::text(name));
        }
        if let Some(output) = &self.output {
            let is_text = matches!(output, Json::Text(_));
            json.push(if is_text { "server_output_text" } else { "server_output_json" }, output.clone());
        }
        let stream = |stream: &StreamResult| {
            Json::map([
                ("id", Json::Int(stream.id)),
                ("bytes", Json::Int(stream.bytes as i64)),
                ("retransmits", Json::Int(stream.retransmits)),
                ("jitter", Json::Number(stream.jitter_s)),
                ("errors", Json::Int(stream.errors)),
                ("omitted_errors", Json::Int(stream.omitted_errors.unwrap_or(0))),
                ("packets", Json::Int(stream.packets)),
                ("omitted_packets", Json::Int(stream.omitted_packets.unwrap_or(0))),
                ("start_time", Json::Int(0)),
                ("end_time", Json::Number(stream.seconds)),
            ])
        };
        json.push("streams", Json::List(self.streams.iter().map(stream).collect()));
        json
    }
}
