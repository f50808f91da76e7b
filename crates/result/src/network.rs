//! Results of `plumb net` (`plumb.net/1`).

use crate::histogram::Histogram;
use crate::run::Tool;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of the JSON form.
pub const NET_SCHEMA: &str = "plumb.net/1";

/// Performance of the network path to another host. Times are in ns, rates in bytes or events per
/// second; unknown values are null.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Network {
    /// Name and version of this form: `plumb.net/1`.
    pub schema: String,
    /// Id of the measurement, a UUIDv7.
    pub id: String,
    /// Start of the measurement, RFC 3339.
    pub started_at: String,
    /// Name and version of the program that measured it.
    pub tool: Tool,
    /// Within a phase of a run: the group of workers measured, or `probe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Name of the other end, as typed.
    pub host: String,
    /// Port on the other end.
    pub port: u16,
    /// Fingerprint of the certificate that authenticated the other end in TLS; null for unauthenticated plain text.
    pub server_certificate: Option<String>,
    /// Reason why nothing was measured; the lists are then empty. Null if the measurement succeeded.
    pub error: Option<String>,
    /// Duration of each part of the measurement, s.
    pub seconds: u32,
    /// Time to establish a connection.
    pub connect_ns: Option<u64>,
    /// Round trips, idle first; empty if the other end does not answer any.
    pub round_trips: Vec<RoundTrips>,
    /// Sequential round trips per second.
    pub round_trips_per_second: Option<f64>,
    /// Sequential requests that each open a new connection.
    pub connections: Option<RoundTrips>,
    /// Sequential requests with new connections, per second.
    pub connections_per_second: Option<f64>,
    /// Throughput of streams at full speed, in both directions.
    pub throughput: Vec<Throughput>,
    /// Throughput with several streams in both directions at once: the most that the path carries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacity: Vec<Throughput>,
    /// Number of streams in each direction during the capacity measurement.
    #[serde(default)]
    pub capacity_streams: u32,
    /// Number of connections to the other end that were attempted for this measurement.
    #[serde(default)]
    pub tried: u32,
    /// Number of attempted connections that the other end answered.
    #[serde(default)]
    pub answered: u32,
    /// Datagrams at a fixed rate, in both directions at the same time.
    pub datagrams: Vec<Datagrams>,
    /// Rate of the datagrams in each direction.
    pub datagram_bits_per_second: u64,
    /// Transport protocol, if not TCP: `udp`, `mptcp`, `unix`, `vsock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Method by which the ends passed bytes, if not by copying; a transfer without copying measures something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passing: Option<String>,
    /// Longest time that both ends polled for data before they slept, µs; 0 if they slept at once.
    #[serde(default)]
    pub busy_poll_us: u32,
    /// Number of streams in each direction.
    pub streams: u32,
    /// TCP congestion control of this end.
    pub congestion: Option<String>,
    /// TCP congestion control of the other end.
    pub congestion_there: Option<String>,
    /// TCP's own smoothed round-trip time during the transfer.
    pub tcp_rtt_ns: Option<u64>,
    /// MTU of the path, bytes.
    pub path_mtu: Option<u64>,
    /// Network interface of this end.
    pub interface: Option<String>,
    /// Link speed that the interface reports.
    pub interface_bits_per_second: Option<f64>,
    /// MTU of the interface, bytes.
    pub interface_mtu: Option<u64>,
    /// Kernel driver of the interface.
    pub interface_driver: Option<String>,
    /// NUMA node of the interface's device.
    pub interface_node: Option<u32>,
    /// Offloads of the interface, such as `tso` and `gro`, and whether each is enabled.
    pub offloads: BTreeMap<String, bool>,
    /// Processors of this end that the measurement could use, as a list.
    pub processors: Option<String>,
}

/// Round-trip times under one condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoundTrips {
    /// Condition of the path: `idle`, `receiving`, `sending`; for new connections `connecting`.
    pub during: String,
    /// Number of responses that arrived.
    pub count: u64,
    /// Number of requests without a response.
    pub lost: u64,
    /// Mean time from the intended start.
    pub mean_ns: Option<f64>,
    /// Time of the slowest round trip.
    pub max_ns: Option<u64>,
    /// Median. A percentile with fewer than ten slower round trips is null.
    pub p50_ns: Option<u64>,
    /// 90th percentile; null as described for the median.
    pub p90_ns: Option<u64>,
    /// 99th percentile; null as described for the median.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile; null as described for the median.
    #[serde(rename = "p99.9_ns")]
    pub p999_ns: Option<u64>,
}

impl RoundTrips {
    /// Creates the summary from response times and the number of requests without a response.
    pub fn from_times(during: &str, times: &Histogram, lost: u64) -> RoundTrips {
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

/// Throughput of streams in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throughput {
    /// Direction as seen from this end: `receive` or `send`.
    pub direction: String,
    /// Rate that the receiver counted.
    pub bytes_per_second: f64,
    /// Rate as a share of the interface's link speed, 0–1.
    pub link_share: Option<f64>,
    /// Number of segments sent again.
    pub retransmits: Option<i64>,
    /// Processor use of this end: 1 is one whole processor.
    pub processors: f64,
    /// Processor use of the other end: 1 is one whole processor.
    pub processors_there: f64,
}

/// Datagrams that were sent in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Datagrams {
    /// Direction as seen from this end: `receive` or `send`.
    pub direction: String,
    /// Number of datagrams that were sent.
    pub packets: i64,
    /// Number of datagrams that never arrived.
    pub lost: i64,
    /// Number of datagrams that arrived after a later one.
    pub out_of_order: i64,
    /// Interarrival jitter as defined in RFC 1889.
    pub jitter_ns: f64,
}
