//! Published numbers that others printed about their runs. They come without evidence, so none of them is a claim.

use crate::metric::{Better, Metric, Quantity, Stat, Subject, Unit};
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::fmt;
use strum::VariantArray;

/// The quantity that a published number gives.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CellMetric {
    /// Rate of writing sequentially.
    Write,
    /// Sequential read rate.
    Read,
    /// Rate of overwriting, or of reading and writing back.
    Rewrite,
    /// Rate of reading again.
    Reread,
    /// Random write rate.
    RandomWrite,
    /// Random read rate.
    RandomRead,
    /// Rate of reading from the end to the beginning.
    BackwardRead,
    /// Rate of writing the same record again and again.
    RecordRewrite,
    /// Rate of reading with gaps (strides).
    StrideRead,
    /// Write rate through the C library's buffer.
    Fwrite,
    /// Overwrite rate through the C library's buffer.
    Frewrite,
    /// Read rate through the C library's buffer.
    Fread,
    /// Rate of reading again through the C library's buffer.
    Freread,
    /// Write rate of `pwrite`, which passes the offset with each call.
    Pwrite,
    /// Overwrite rate of `pwrite`.
    Repwrite,
    /// Read rate of `pread`, which passes the offset with each call.
    Pread,
    /// Rate of reading again with `pread`.
    Repread,
    /// Rate of several processes that read and write at once.
    Mix,
    /// Rate of writing byte by byte.
    CharWrite,
    /// Rate of reading byte by byte.
    CharRead,
    /// Number of random seeks per second.
    Seeks,
    /// Files created per second, in order.
    Create,
    /// Files looked up or read per second, in order.
    Stat,
    /// Files removed per second, in order.
    Delete,
    /// Files created per second, in random order.
    RandomCreate,
    /// Files looked up or read per second, in random order.
    RandomStat,
    /// Files removed per second, in random order.
    RandomDelete,
    /// Transactions per second, such as those of a mail server.
    Transactions,
    /// Time that one operation takes.
    Latency,
    /// Time of the whole test.
    Elapsed,
}

impl CellMetric {
    /// All quantities, in the order of this list.
    pub const ALL: &[CellMetric] = CellMetric::VARIANTS;

    /// Returns the name used in audited files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the direction that is better.
    pub const fn better(self) -> Better {
        match self {
            CellMetric::Latency | CellMetric::Elapsed => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// Returns `true` for a rate of bytes read.
    pub const fn reads(self) -> bool {
        matches!(
            self,
            CellMetric::Read
                | CellMetric::Reread
                | CellMetric::RandomRead
                | CellMetric::BackwardRead
                | CellMetric::StrideRead
                | CellMetric::Fread
                | CellMetric::Freread
                | CellMetric::Pread
                | CellMetric::Repread
                | CellMetric::CharRead
        )
    }

    /// Returns `true` for a rate of bytes written.
    pub const fn writes(self) -> bool {
        matches!(
            self,
            CellMetric::Write
                | CellMetric::Rewrite
                | CellMetric::RandomWrite
                | CellMetric::RecordRewrite
                | CellMetric::Fwrite
                | CellMetric::Frewrite
                | CellMetric::Pwrite
                | CellMetric::Repwrite
                | CellMetric::CharWrite
        )
    }

    /// Returns `true` for a number of files per second.
    pub const fn files(self) -> bool {
        matches!(
            self,
            CellMetric::Create
                | CellMetric::Stat
                | CellMetric::Delete
                | CellMetric::RandomCreate
                | CellMetric::RandomStat
                | CellMetric::RandomDelete
        )
    }

    /// Returns Plumb's metric for the same op and quantity in this unit; `None` if there is none.
    pub fn metric(self, unit: Unit) -> Option<Metric> {
        let op = match self {
            CellMetric::Create | CellMetric::RandomCreate => OpKind::Create,
            CellMetric::Stat | CellMetric::RandomStat => OpKind::Stat,
            CellMetric::Delete | CellMetric::RandomDelete => OpKind::Unlink,
            CellMetric::Transactions if unit == Unit::OpsPerSecond => {
                return Some(Metric { subject: Subject::Transaction, quantity: Quantity::Rate });
            }
            // Each seek of Bonnie++ reads one chunk.
            CellMetric::Seeks => OpKind::Read,
            _ if self.writes() => OpKind::Write,
            _ if self.reads() => OpKind::Read,
            _ => return None,
        };
        match unit {
            Unit::BytesPerSecond => op.moves_bytes().then(|| Metric::bandwidth(op)),
            Unit::OpsPerSecond => Some(Metric::rate(op)),
            // IOzone's `-N` divides the time by the number of ops.
            Unit::Nanoseconds => Some(Metric::latency(op, Stat::Mean)),
            Unit::Cpus | Unit::Bytes | Unit::Ops | Unit::BytesPerOp | Unit::BytesPerByte => None,
        }
    }
}

/// A number that was published without evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedNumber {
    /// Quantity that the number gives.
    pub kind: CellMetric,
    /// The number as printed, with its unit: `69002 K/sec`.
    pub printed: String,
    /// The number in `unit`, rounded to a thousandth; the middle of a range.
    pub value: f64,
    /// Unit of the value: bytes per second, a number per second, or nanoseconds.
    pub unit: Unit,
    /// Whether the source says "about", or the number was read off a chart.
    #[serde(default)]
    pub about: bool,
    /// Conditions of the measurement, as far as they were printed: the test, its command, sizes.
    pub conditions: String,
}

/// Above this, a thousandth is no longer exact in a 64-bit float.
const VALUE_MAX: f64 = 1e12;

impl PublishedNumber {
    /// Creates a published number; `None` for 0 and non-finite values, because no run has such a rate or time.
    pub fn new(
        kind: CellMetric,
        printed: String,
        value: f64,
        unit: Unit,
        conditions: String,
    ) -> Option<PublishedNumber> {
        // Rounding makes the number identical in every JSON reader, and so the hash over it.
        let value = if value < VALUE_MAX { (value * 1e3).round() / 1e3 } else { value.round() };
        let is_valid = value.is_finite() && value > 0.0;
        is_valid.then_some(PublishedNumber { kind, printed, value, unit, about: false, conditions })
    }

    /// Returns Plumb's metric for the same quantity, if there is one.
    pub fn metric(&self) -> Option<Metric> {
        self.kind.metric(self.unit)
    }
}

/// Error from reading published numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Position such as `line 12`; empty if there is no single position.
    pub place: String,
    /// The problem that was found.
    pub message: String,
    /// Correction to suggest to the user.
    pub help: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.message),
            place => write!(f, "{place}: {}", self.message),
        }
    }
}

impl std::error::Error for Unread {}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a number is never compared with a metric of another unit.
    #[test]
    fn every_kind_maps_to_the_metric_of_its_op_and_unit() {
        for (kind, unit, metric) in [
            (CellMetric::Write, Unit::BytesPerSecond, Some("write.bw")),
            (CellMetric::Pread, Unit::BytesPerSecond, Some("read.bw")),
            (CellMetric::Write, Unit::OpsPerSecond, Some("write.iops")),
            (CellMetric::Read, Unit::Nanoseconds, Some("read.lat.mean")),
            (CellMetric::Seeks, Unit::OpsPerSecond, Some("read.iops")),
            (CellMetric::RandomDelete, Unit::OpsPerSecond, Some("unlink.ops")),
            (CellMetric::Create, Unit::BytesPerSecond, None),
            (CellMetric::Transactions, Unit::OpsPerSecond, Some("txn.ops")),
            (CellMetric::Transactions, Unit::BytesPerSecond, None),
            (CellMetric::Mix, Unit::BytesPerSecond, None),
            (CellMetric::Elapsed, Unit::Nanoseconds, None),
        ] {
            assert_eq!(kind.metric(unit).map(|metric| metric.to_string()).as_deref(), metric, "{kind:?}");
        }
        for kind in CellMetric::ALL {
            for unit in [Unit::BytesPerSecond, Unit::OpsPerSecond, Unit::Nanoseconds] {
                assert!(kind.metric(unit).is_none_or(|metric| metric.unit() == unit), "{kind:?}");
            }
        }
    }

    // Protects: a plan that contains numbers has the same hash after it was stored and read back.
    #[test]
    fn a_number_survives_json() {
        for value in [1_073_741_824.0 / 32.4498, 69_002.0 * 1024.0, 148.5, 1e15 / 3.0, 0.004] {
            let number =
                PublishedNumber::new(CellMetric::Write, String::new(), value, Unit::BytesPerSecond, String::new());
            let number = number.unwrap();
            let text = plumb_document::json::to_string(&number).unwrap();
            assert_eq!(plumb_document::json::from_str::<PublishedNumber>(&text).unwrap(), number);
        }
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let unit = Unit::OpsPerSecond;
            assert_eq!(PublishedNumber::new(CellMetric::Seeks, String::new(), value, unit, String::new()), None);
        }
    }
}
