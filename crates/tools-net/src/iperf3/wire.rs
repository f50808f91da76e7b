//! The protocol of a control connection: a cookie, states of one byte, and JSON preceded by its length. This module
//! is pure. The owner of the connection enforces these limits and its own deadlines.

use super::json::Json;
use super::params::text;
use serde_json::Value;

/// Version, as sent to the other end and printed in JSON.
pub const VERSION: &str = "3.21 (Plumb)";

/// Size of a cookie: letters and a NUL.
pub const COOKIE_BYTES: usize = 37;

pub const COOKIE_LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Limit of parameters as JSON, bytes. iperf3 accepts 8 KiB; extra data and titles may be longer.
pub const PARAMS_BYTES_MAX: usize = 64 << 10;

/// Limit of results as JSON, bytes. They may contain the other end's whole report.
pub const RESULTS_BYTES_MAX: usize = 8 << 20;

/// First datagram of a client.
pub const UDP_HELLO: [u8; 4] = *b"9876";

/// Replies to it: of 3.12 and later, and of earlier versions, in both byte orders.
pub const UDP_REPLIES: [[u8; 4]; 4] = [*b"6789", *b"9876", [0xb1, 0x68, 0xde, 0x3a], [0x3a, 0xde, 0x68, 0xb1]];

/// Returns the reply that the sender of this first datagram expects.
pub fn udp_reply(hello: &[u8]) -> [u8; 4] {
    match hello {
        b"6789" => UDP_REPLIES[1],
        [0x15, 0xcd, 0x5b, 0x07] => UDP_REPLIES[2],
        [0x07, 0x5b, 0xcd, 0x15] => UDP_REPLIES[3],
        _ => UDP_REPLIES[0],
    }
}

/// Returns the id of a stream by its index. For historical reasons, iperf3 skips 2.
pub fn stream_id(place: usize) -> i64 {
    if place == 0 { 1 } else { place as i64 + 2 }
}

/// State of a test, as sent on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::FromRepr)]
#[repr(i8)]
pub enum State {
    /// Both ends start to move data.
    TestStart = 1,
    TestRunning = 2,
    /// The client ends the test.
    TestEnd = 4,
    /// The cookie is accepted; the parameters follow.
    ParamExchange = 9,
    /// The client connects its streams.
    CreateStreams = 10,
    ServerTerminate = 11,
    ClientTerminate = 12,
    ExchangeResults = 13,
    /// Both ends have all results.
    DisplayResults = 14,
    Done = 16,
    /// Sent only to Plumb clients: the server is Plumb too, and supports round trips and trains.
    PlumbServer = 64,
    /// The client is refused, because the server is busy or the cookie is wrong.
    AccessDenied = -1,
    /// iperf3's error number and the system's follow, 4 bytes each.
    ServerError = -2,
}

impl State {
    /// Decodes a byte.
    pub fn from_byte(byte: u8) -> Option<State> {
        State::from_repr(byte as i8)
    }
}

/// Error number for a client that failed to authenticate.
pub const AUTHORIZATION_FAILED: i32 = 142;

/// Returns iperf3's text for an error number of a server.
pub fn error_text(number: i32) -> Option<&'static str> {
    Some(match number {
        27 => "total required bandwidth is larger than server limit",
        37 => "client's requested duration exceeds the server's maximum permitted limit",
        119 => "the client has terminated",
        121 => "the server is busy running a test. try again later",
        122 => "unable to set TCP/SCTP NODELAY",
        123 => "unable to set TCP/SCTP MSS",
        124 => "unable to set socket buffer size",
        125 => "unable to set IP TOS",
        127 => "unable to set IPv6 flow label",
        130 => "unable to set TCP window size",
        134 => {
            "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on this host (the server's: \
             its net.ipv4.tcp_available_congestion_control lists those that are)"
        }
        140 => "unable to set socket pacing",
        141 => {
            "socket buffer size not set correctly (by the server: -w is above its net.core.rmem_max or wmem_max; use a smaller -w, \
             or raise them there)"
        }
        AUTHORIZATION_FAILED => "test authorization failed",
        144 => "idle timeout for receiving data",
        160 => "server test duration expired",
        _ => return None,
    })
}

/// One end's results of a stream.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StreamResult {
    pub id: i64,
    pub bytes: u64,
    /// −1 if unknown.
    pub retransmits: i64,
    pub jitter_s: f64,
    pub errors: i64,
    /// Errors in the omitted start; `None` from ends before 3.14, which do not send them.
    pub omitted_errors: Option<i64>,
    pub packets: i64,
    /// Packets in the omitted start.
    pub omitted_packets: Option<i64>,
    pub seconds: f64,
}

/// One end's results of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Results {
    /// CPU time in percent of the test's duration: total, user, system.
    pub cpu: [f64; 3],
    /// 1: it sends and knows retransmits; 0: it sends and does not know them; −1: it receives.
    pub has_retransmits: i64,
    pub congestion: Option<String>,
    /// The server's report, if requested.
    pub output: Option<Json>,
    pub streams: Vec<StreamResult>,
}

/// Limit of streams in results: both directions of 128.
const STREAMS_MAX: usize = 256;

/// Versions before 3.14 send −1 as an unsigned number.
fn signed(value: Option<&Value>) -> i64 {
    let Some(value) = value else { return 0 };
    let wide = || value.as_u64().map(|number| number as i64);
    value.as_i64().or_else(wide).or_else(|| Some(value.as_f64()? as i64)).unwrap_or(0)
}

impl Results {
    /// Parses the results of the other end; `None` if they are malformed.
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
            output: json.get("server_output_json").or_else(|| json.get("server_output_text")).map(Json::from_value),
            streams: streams.collect(),
        })
    }

    /// Encodes the results.
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
