//! The closed vocabulary of metrics. A name determines unit and direction, so that no comparison can use the wrong ones.

use plumb_workload::OpKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use strum::VariantArray;

/// A metric: the subject, and one of its quantities. Written as `read.bw`, `fsync.lat.p99`, `txn.ops`, `cpu.user`,
/// `device.written-bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Metric {
    /// The subject that was counted or timed.
    pub subject: Subject,
    /// The quantity of the subject.
    pub quantity: Quantity,
}

/// The subject of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Ops of one kind, such as reads.
    Op(OpKind),
    /// Passes through a flow.
    Transaction,
    /// Processors, as used by Plumb's own processes.
    Cpu,
    /// Leaf devices under the workload, all together, over the whole run; counted in studies.
    Device,
}

/// A quantity of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Bytes moved per second, `B/s`.
    Bandwidth,
    /// Ops per second, written `iops` for reads, writes and trims, and `ops` for other kinds.
    Rate,
    /// Statistic of the service time, from start to completion.
    Latency(Stat),
    /// Statistic of the response time, from the intended start to completion (open load only).
    Response(Stat),
    /// Processor use in user mode; 1 is one processor.
    User,
    /// Processor use in the kernel; 1 is one processor.
    System,
    /// Count of device activity during a run.
    Count(DeviceCount),
}

/// Counts of device activity during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum DeviceCount {
    /// Number of reads completed.
    Reads,
    /// Bytes read by the devices.
    ReadBytes,
    /// Number of writes completed.
    Writes,
    /// Bytes written by the devices.
    WrittenBytes,
    /// Number of flushes completed.
    Flushes,
    /// Bytes read and written per transaction of the workload, or per op if it has no transactions.
    BytesPerTransaction,
    /// Bytes written by the devices per byte that the workload wrote.
    WrittenPerByte,
    /// Bytes read by the devices per byte that the workload wrote.
    ReadPerByteWritten,
    /// Bytes written by the device that wrote most, per byte that the workload wrote.
    BusiestWrittenPerByte,
    /// Bytes written by the device that wrote most, divided by the mean of all devices: 1 if writes are spread evenly.
    BusiestWrittenShare,
    /// Bytes read by the device that read most, divided by the mean of all devices.
    BusiestReadShare,
}

impl DeviceCount {
    /// All counts, in display order.
    pub const ALL: &[DeviceCount] = DeviceCount::VARIANTS;

    /// Returns the name as used in a metric's name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    const fn doc(self) -> &'static str {
        match self {
            DeviceCount::Reads => "reads completed",
            DeviceCount::ReadBytes => "bytes read",
            DeviceCount::Writes => "writes completed",
            DeviceCount::WrittenBytes => "bytes written",
            DeviceCount::Flushes => "flushes completed",
            DeviceCount::BytesPerTransaction => {
                "bytes read and written for each transaction of the work, or for each op where it has none"
            }
            DeviceCount::WrittenPerByte => "bytes written for each byte that the work wrote",
            DeviceCount::ReadPerByteWritten => "bytes read for each byte that the work wrote",
            DeviceCount::BusiestWrittenPerByte => {
                "bytes written by the device that wrote most, for each byte that the work wrote"
            }
            DeviceCount::BusiestWrittenShare => {
                "bytes written by the device that wrote most, over the mean of all devices"
            }
            DeviceCount::BusiestReadShare => "bytes read by the device that read most, over the mean of all devices",
        }
    }
}

/// A statistic of a distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Stat {
    /// Smallest time of any op.
    Min,
    /// Arithmetic mean.
    Mean,
    /// Median (50th percentile).
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile.
    #[strum(serialize = "p99.9")]
    P999,
    /// 99.99th percentile.
    #[strum(serialize = "p99.99")]
    P9999,
    /// Largest time of any op.
    Max,
}

impl Stat {
    /// All statistics, smallest first.
    pub const ALL: &[Stat] = Stat::VARIANTS;

    /// Returns the name as used in a metric's name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the share of values at or below it, if it is a quantile.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Stat::Min | Stat::Mean | Stat::Max => None,
            Stat::P50 => Some(0.5),
            Stat::P90 => Some(0.9),
            Stat::P99 => Some(0.99),
            Stat::P999 => Some(0.999),
            Stat::P9999 => Some(0.9999),
        }
    }
}

/// The unit of a metric's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Bytes moved per second, `B/s`.
    #[serde(rename = "B/s")]
    BytesPerSecond,
    /// Operations completed per second, `ops/s`.
    #[serde(rename = "ops/s")]
    OpsPerSecond,
    /// Time in nanoseconds, `ns`.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Processor use; 1 is one whole processor.
    #[serde(rename = "cpus")]
    Cpus,
    /// Amount of data in bytes.
    #[serde(rename = "B")]
    Bytes,
    /// Number of operations, without a time.
    #[serde(rename = "ops")]
    Ops,
    /// Bytes moved for each operation.
    #[serde(rename = "B/op")]
    BytesPerOp,
    /// Bytes per byte, such as write amplification.
    #[serde(rename = "B/B")]
    BytesPerByte,
}

impl Unit {
    /// Returns the symbol that JSON uses.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::BytesPerSecond => "B/s",
            Unit::OpsPerSecond => "ops/s",
            Unit::Nanoseconds => "ns",
            Unit::Cpus => "cpus",
            Unit::Bytes => "B",
            Unit::Ops => "ops",
            Unit::BytesPerOp => "B/op",
            Unit::BytesPerByte => "B/B",
        }
    }
}

/// The direction in which a metric improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Larger values are better.
    Higher,
    /// Smaller values are better.
    Lower,
}

impl Metric {
    /// Returns the metric for bytes per second of a kind of op.
    pub const fn bandwidth(kind: OpKind) -> Metric {
        Metric { subject: Subject::Op(kind), quantity: Quantity::Bandwidth }
    }

    /// Returns the metric for ops per second of a kind.
    pub const fn rate(kind: OpKind) -> Metric {
        Metric { subject: Subject::Op(kind), quantity: Quantity::Rate }
    }

    /// Returns a service-time metric of a kind of op.
    pub const fn latency(kind: OpKind, stat: Stat) -> Metric {
        Metric { subject: Subject::Op(kind), quantity: Quantity::Latency(stat) }
    }

    /// Returns a response-time metric of a kind of op.
    pub const fn response(kind: OpKind, stat: Stat) -> Metric {
        Metric { subject: Subject::Op(kind), quantity: Quantity::Response(stat) }
    }

    /// Returns the metric for a count of device activity.
    pub const fn device(count: DeviceCount) -> Metric {
        Metric { subject: Subject::Device, quantity: Quantity::Count(count) }
    }

    /// Returns the device count of this metric, if it is one. Counts do not depend on a clock, so
    /// they are exact under emulation.
    pub const fn device_count(self) -> Option<DeviceCount> {
        match self.quantity {
            Quantity::Count(count) => Some(count),
            _ => None,
        }
    }

    /// Returns the unit, which the quantity determines.
    pub const fn unit(self) -> Unit {
        match self.quantity {
            Quantity::Bandwidth => Unit::BytesPerSecond,
            Quantity::Rate => Unit::OpsPerSecond,
            Quantity::Latency(_) | Quantity::Response(_) => Unit::Nanoseconds,
            Quantity::User | Quantity::System => Unit::Cpus,
            Quantity::Count(DeviceCount::Reads | DeviceCount::Writes | DeviceCount::Flushes) => Unit::Ops,
            Quantity::Count(DeviceCount::ReadBytes | DeviceCount::WrittenBytes) => Unit::Bytes,
            Quantity::Count(DeviceCount::BytesPerTransaction) => Unit::BytesPerOp,
            Quantity::Count(
                DeviceCount::WrittenPerByte
                | DeviceCount::ReadPerByteWritten
                | DeviceCount::BusiestWrittenPerByte
                | DeviceCount::BusiestWrittenShare
                | DeviceCount::BusiestReadShare,
            ) => Unit::BytesPerByte,
        }
    }

    /// Returns the direction in which the metric improves.
    pub const fn better(self) -> Better {
        match self.quantity {
            Quantity::Bandwidth | Quantity::Rate => Better::Higher,
            Quantity::Latency(_) | Quantity::Response(_) | Quantity::User | Quantity::System | Quantity::Count(_) => {
                Better::Lower
            }
        }
    }

    /// Returns all metrics, in a stable order.
    pub fn all() -> Vec<Metric> {
        let mut all = Vec::new();
        for &kind in OpKind::ALL {
            if kind.moves_bytes() {
                all.push(Metric::bandwidth(kind));
            }
            all.push(Metric::rate(kind));
            all.extend(Stat::ALL.iter().map(|&stat| Metric::latency(kind, stat)));
            all.extend(Stat::ALL.iter().map(|&stat| Metric::response(kind, stat)));
        }
        all.push(Metric { subject: Subject::Transaction, quantity: Quantity::Rate });
        all.push(Metric { subject: Subject::Cpu, quantity: Quantity::User });
        all.push(Metric { subject: Subject::Cpu, quantity: Quantity::System });
        all.extend(DeviceCount::ALL.iter().copied().map(Metric::device));
        all
    }

    /// Describes the metric in one sentence.
    pub fn doc(self) -> String {
        let subject = match self.subject {
            Subject::Op(kind) => kind.name(),
            Subject::Transaction => "transactions (times through the flow)",
            Subject::Cpu => "Plumb's own processes",
            Subject::Device => "the leaf devices under the work",
        };
        match self.quantity {
            Quantity::Bandwidth => format!("{subject}: bytes per second"),
            Quantity::Rate => format!("{subject}: number per second"),
            Quantity::Latency(stat) => format!("{subject}: {} of the time from start to completion", stat.name()),
            Quantity::Response(stat) => {
                format!("{subject}: {} of the time from intended start to completion", stat.name())
            }
            Quantity::User => format!("{subject}: processors used in user mode"),
            Quantity::System => format!("{subject}: processors used in the kernel"),
            Quantity::Count(count) => format!("{subject}: {} in a run", count.doc()),
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.subject {
            Subject::Op(kind) => kind.name(),
            Subject::Transaction => "txn",
            Subject::Cpu => "cpu",
            Subject::Device => "device",
        };
        match self.quantity {
            Quantity::Bandwidth => write!(f, "{subject}.bw"),
            Quantity::Rate if matches!(self.subject, Subject::Op(kind) if kind.moves_bytes() && !kind.is_network()) => {
                write!(f, "{subject}.iops")
            }
            Quantity::Rate => write!(f, "{subject}.ops"),
            Quantity::Latency(stat) => write!(f, "{subject}.lat.{}", stat.name()),
            Quantity::Response(stat) => write!(f, "{subject}.resp.{}", stat.name()),
            Quantity::User => write!(f, "{subject}.user"),
            Quantity::System => write!(f, "{subject}.system"),
            Quantity::Count(count) => write!(f, "{subject}.{}", count.name()),
        }
    }
}

/// Error from parsing the name of a metric.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown metric `{0}`; examples are `read.bw`, `write.iops`, `fsync.lat.p99`, `create.ops`")]
pub struct UnknownMetric(pub String);

impl FromStr for Metric {
    type Err = UnknownMetric;
    fn from_str(text: &str) -> Result<Metric, UnknownMetric> {
        // A report of ten thousand runs parses half a million names.
        static BY_NAME: LazyLock<BTreeMap<String, Metric>> =
            LazyLock::new(|| BTreeMap::from_iter(Metric::all().into_iter().map(|metric| (metric.to_string(), metric))));
        BY_NAME.get(text).copied().ok_or_else(|| UnknownMetric(text.to_owned()))
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "a metric's name such as `read.bw`" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_reads_back_from_its_own_name() {
        for metric in Metric::all() {
            assert_eq!(metric.to_string().parse(), Ok(metric));
        }
    }

    #[test]
    fn names_of_the_design_exist_with_their_direction() {
        for (name, better) in [
            ("read.bw", Better::Higher),
            ("read.iops", Better::Higher),
            ("read.lat.p99", Better::Lower),
            ("fsync.lat.p99", Better::Lower),
            ("create.ops", Better::Higher),
            ("rr.ops", Better::Higher),
            ("send.bw", Better::Higher),
            ("txn.ops", Better::Higher),
            ("cpu.user", Better::Lower),
            ("device.bytes-per-transaction", Better::Lower),
            ("device.busiest-written-per-byte", Better::Lower),
        ] {
            assert_eq!(name.parse::<Metric>().unwrap().better(), better, "{name}");
        }
        assert!("seeks".parse::<Metric>().is_err());
    }
}
