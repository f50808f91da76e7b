//! What `plumb net` measured (`plumb.net/1`).

use crate::histogram::Histogram;
use crate::run::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the JSON form.
pub const NET_SCHEMA: &str = "plumb.net/1";

/// What the network to another host can do. Times are in ns, rates in bytes or events per second; what is not known is null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Network {
    /// [`NET_SCHEMA`].
    pub schema: String,
    /// UUIDv7.
    pub id: String,
    /// When, RFC 3339.
    pub started_at: String,
    /// What measured it.
    pub tool: Tool,
    /// The group of workers that it is of, or `probe`, where it is of a phase of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The other end, as it was named.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Fingerprint of the certificate by which the other end was known, in TLS; null: anybody, in plain text.
    pub server_certificate: Option<String>,
    /// Why nothing was measured, where that is so: the lists are then empty.
    pub error: Option<String>,
    /// Seconds of each part.
    pub seconds: u32,
    /// Time to connect.
    pub connect_ns: Option<u64>,
    /// Round trips, idle first. Empty where the other end answers none.
    pub round_trips: Vec<RoundTrips>,
    /// Round trips per second, one behind the other.
    pub round_trips_per_second: Option<f64>,
    /// Requests with a connection of their own, one behind the other.
    pub connections: Option<RoundTrips>,
    /// As many a second.
    pub connections_per_second: Option<f64>,
    /// Streams at full speed, in both directions.
    pub throughput: Vec<Throughput>,
    /// Several streams in each direction, both at the same time: what the path carries at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<Throughput>,
    /// Streams of each direction while that was measured.
    #[serde(default)]
    pub capacity_streams: u32,
    /// Connections to the other end that were tried for this measurement, and those that it answered.
    #[serde(default)]
    pub tried: u32,
    /// See above.
    #[serde(default)]
    pub answered: u32,
    /// Datagrams at a fixed rate, in both directions at the same time.
    pub datagrams: Vec<Datagrams>,
    /// Their rate in each direction.
    pub datagram_bits_per_second: u64,
    /// What carried it, where that was not TCP: `udp`, `mptcp`, `unix`, `vsock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// How bytes passed at the ends, where that was not by copying: what is not copied measures something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passing: Option<String>,
    /// Both ends asked for data again and again for at most this long before they slept, µs; 0: they slept at once.
    #[serde(default)]
    pub busy_poll_us: u32,
    /// Streams of each direction.
    pub streams: u32,
    /// Congestion control of this end.
    pub congestion: Option<String>,
    /// And of the other end.
    pub congestion_there: Option<String>,
    /// TCP's own smoothed round trip while it sent.
    pub tcp_rtt_ns: Option<u64>,
    /// Largest packet of the path, bytes.
    pub path_mtu: Option<u64>,
    /// The network interface of this end.
    pub interface: Option<String>,
    /// The speed that it states.
    pub interface_bits_per_second: Option<f64>,
    /// Its largest packet, bytes.
    pub interface_mtu: Option<u64>,
    /// Its driver.
    pub interface_driver: Option<String>,
    /// The NUMA node that its device is at.
    pub interface_node: Option<u32>,
    /// What it does in place of the processor, such as `tso` and `gro`, and whether it does.
    pub offloads: BTreeMap<String, bool>,
    /// The processors of this end that the measurement could run on, as a list.
    pub processors: Option<String>,
}

/// Round trips while something went on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTrips {
    /// What went on: `idle`, `receiving`, `sending`; of connections `connecting`.
    pub during: String,
    /// Responses.
    pub count: u64,
    /// Requests without one.
    pub lost: u64,
    /// From the intended start, in the mean.
    pub mean_ns: Option<f64>,
    /// The slowest.
    pub max_ns: Option<u64>,
    /// Half are faster. A percentile that fewer than ten slower ones carry is null.
    pub p50_ns: Option<u64>,
    /// The same of 90 %.
    pub p90_ns: Option<u64>,
    /// The same of 99 %.
    pub p99_ns: Option<u64>,
    /// The same of 99.9 %.
    #[serde(rename = "p99.9_ns")]
    pub p999_ns: Option<u64>,
}

impl RoundTrips {
    /// Times, with the requests that got no response.
    pub fn of(during: &str, times: &Histogram, lost: u64) -> RoundTrips {
        let quantile = |share| times.carried_quantile(share);
        RoundTrips {
            during: during.to_owned(),
            count: times.count(),
            lost,
            mean_ns: times.mean(),
            max_ns: times.max(),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
        }
    }
}

/// Streams in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// `receive` or `send`.
    pub direction: String,
    /// As the receiver counted them.
    pub bytes_per_second: f64,
    /// Share of the speed that the interface states.
    pub link_share: Option<f64>,
    /// Segments that were sent again.
    pub retransmits: Option<i64>,
    /// Processor time of this end: 1 is one processor.
    pub processors: f64,
    /// And of the other end.
    pub processors_there: f64,
}

/// Datagrams in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// `receive` or `send`.
    pub direction: String,
    /// Sent.
    pub packets: i64,
    /// Not received.
    pub lost: i64,
    /// Received behind a later one.
    pub out_of_order: i64,
    /// RFC 1889.
    pub jitter_ns: f64,
}
