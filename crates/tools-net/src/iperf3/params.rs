//! What a client asks for, as it travels, and what a server allows.

use super::json::Json;
use super::wire::{AUTHORIZATION_FAILED, VERSION};
use plumb_workload::net::Passing;
use serde_json::Value;

/// Largest label of a flow of IPv6: 20 bits.
pub const FLOW_LABEL_MAX: u32 = (1 << 20) - 1;

/// What a test is to be, as the client says it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the keys of the JSON, whose meaning is that of the options")]
pub struct Params {
    pub udp: bool,
    pub sctp: bool,
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
    /// Bits a second of the kernel's pacing.
    pub kernel_rate: Option<u64>,
    pub whole: bool,
    pub repeats: bool,
    pub flow_label: Option<u32>,
    pub multipath: bool,
    /// Processor that a stock server is asked to use. Plumb's own does not let clients choose.
    pub server_processor: Option<u32>,
    /// Who the client is, encrypted.
    pub token: Option<String>,
    /// The client is Plumb.
    pub is_plumb: bool,
    /// Round trips instead of streams: bytes of the response.
    pub response: u32,
    /// Each of them has a connection of its own.
    pub connects: bool,
    /// Both ends ask the socket again and again for at most this long before they sleep, µs.
    pub poll_us: u32,
    /// How bytes pass at the sender and at the receiver, where `lend` and `drop` do not say it.
    pub tx: Passing,
    pub rx: Passing,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            udp: false,
            sctp: false,
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
            kernel_rate: None,
            whole: false,
            repeats: false,
            flow_label: None,
            multipath: false,
            server_processor: None,
            token: None,
            is_plumb: false,
            response: 0,
            connects: false,
            poll_us: 0,
            tx: Passing::Copy,
            rx: Passing::Copy,
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
    /// Nothing came for too long.
    #[error("idle timeout for receiving data")]
    Idle,
    /// The client did not end its test.
    #[error("server test duration expired")]
    Over,
    /// Not the token of a user.
    #[error("test authorization failed")]
    Denied,
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
            Refused::Denied => AUTHORIZATION_FAILED,
            Refused::Idle => 144,
            Refused::Over => 160,
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

/// A text.
pub(super) fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

/// How bytes pass, where Plumb's own client says it.
fn passing(value: &Value, key: &'static str, can: fn(Passing) -> bool) -> Result<Passing, Refused> {
    match text(value, key) {
        None => Ok(Passing::Copy),
        Some(name) => Passing::from_name(&name).filter(|passing| can(*passing)).ok_or(Refused::Range(key)),
    }
}

impl Params {
    /// What a client sends.
    ///
    /// # Errors
    /// What the server does not allow.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Params, Refused> {
        let value: Value = serde_json::from_slice(bytes).map_err(|_| Refused::NotJson)?;
        let json = value.is_object().then_some(&value).ok_or(Refused::NotJson)?;
        let udp = has(json, "udp");
        let some = |key, most| whole(json, key, most, 0).map(|number| Some(number as u32).filter(|&number| number > 0));
        let params = Params {
            udp,
            sctp: has(json, "sctp"),
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
            kernel_rate: Some(whole(json, "fqrate", 1 << 50, 0)?).filter(|&rate| rate > 0),
            whole: whole(json, "dont_fragment", 1, 0)? > 0,
            repeats: whole(json, "repeating_payload", 1, 0)? > 0,
            flow_label: some("flowlabel", FLOW_LABEL_MAX.into())?,
            multipath: has(json, "mptcp"),
            server_processor: None,
            token: text(json, "authtoken"),
            is_plumb: has(json, "plumb"),
            response: whole(json, "response", 65507, 0)? as u32,
            connects: whole(json, "connect", 1, 0)? > 0,
            poll_us: whole(json, "busy_poll", 10_000, 0)? as u32,
            tx: passing(json, "tx", Passing::sends)?,
            rx: passing(json, "rx", Passing::receives)?,
        };
        if params.sctp && (udp || params.multipath) {
            return Err(Refused::Range("sctp"));
        }
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

    /// What carries the data, of these three.
    pub fn protocol<T: Copy>(&self, [tcp, udp, sctp]: [T; 3]) -> T {
        match (self.udp, self.sctp) {
            (true, _) => udp,
            (false, true) => sctp,
            _ => tcp,
        }
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
            (self.protocol(["tcp", "udp", "sctp"]), flag(true)),
            ("omit", number(self.omit_s.into())),
            ("server_affinity", some(self.server_processor)),
            ("time", number(self.time_s.unwrap_or(0).into())),
            ("num", number(self.bytes)),
            ("blockcount", number(self.blocks)),
            ("MSS", some(self.segment)),
            ("nodelay", flag(self.no_delay)),
            ("parallel", number(self.streams.into())),
            ("reverse", flag(self.reverse)),
            ("bidirectional", flag(self.bidir)),
            ("mptcp", flag(self.multipath)),
            ("window", some(self.window)),
            ("len", number(self.block.into())),
            ("bandwidth", self.rate.map(|rate| Json::Int(rate as i64))),
            ("fqrate", self.kernel_rate.map(|rate| Json::Int(rate as i64))),
            ("pacing_timer", number(1000)),
            ("burst", (self.burst > 1).then_some(Json::Int(self.burst.into()))),
            ("gso", trains(self.trains.into())),
            ("gso_dg_size", trains(if self.trains { self.block.into() } else { 0 })),
            ("gso_bf_size", trains(i64::from(65507 / self.block.max(1) * self.block))),
            ("gro", trains(self.trains.into())),
            ("gro_bf_size", trains(65507)),
            ("TOS", (self.service > 0).then_some(Json::Int(self.service.into()))),
            ("flowlabel", some(self.flow_label)),
            ("title", text(&self.title)),
            ("extra_data", text(&self.extra_data)),
            ("congestion", text(&self.congestion)),
            ("get_server_output", one(self.get_output)),
            ("udp_counters_64bit", one(self.wide)),
            ("repeating_payload", one(self.repeats)),
            ("zerocopy", one(self.lend)),
            ("dont_fragment", one(self.whole)),
            ("authtoken", text(&self.token)),
            ("skip_rx_copy", one(self.drop)),
            ("client_version", Some(Json::text(VERSION))),
            ("plumb", Some(Json::Int(1))),
            ("connect", one(self.connects)),
            ("response", (self.response > 0).then_some(Json::Int(self.response.into()))),
            ("busy_poll", (self.poll_us > 0).then_some(Json::Int(self.poll_us.into()))),
            ("tx", (self.tx != Passing::Copy).then(|| Json::text(self.tx.name()))),
            ("rx", (self.rx != Passing::Copy).then(|| Json::text(self.rx.name()))),
        ];
        let there = entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        Json::Map(there.collect())
    }
}
