//! Published numbers: what others printed of their runs. They come without evidence, so that nothing here is a claim.

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
    /// Writing in sequence.
    Write,
    /// Reading in sequence.
    Read,
    /// Writing over, or reading and writing back.
    Rewrite,
    /// Reading again.
    Reread,
    /// Writing at random.
    RandomWrite,
    /// Reading at random.
    RandomRead,
    /// Reading from the end to the beginning.
    BackwardRead,
    /// Writing one record again and again.
    RecordRewrite,
    /// Reading with gaps.
    StrideRead,
    /// Writing through the C library's buffer.
    Fwrite,
    /// Writing over through the C library's buffer.
    Frewrite,
    /// Reading through the C library's buffer.
    Fread,
    /// Reading again through the C library's buffer.
    Freread,
    /// Writing with its place in each call.
    Pwrite,
    /// Writing over with its place in each call.
    Repwrite,
    /// Reading with its place in each call.
    Pread,
    /// Reading again with its place in each call.
    Repread,
    /// Reading and writing at once, in several processes.
    Mix,
    /// Writing byte by byte.
    CharWrite,
    /// Reading byte by byte.
    CharRead,
    /// Random seeks, a number per second.
    Seeks,
    /// Files created, in order.
    Create,
    /// Files looked up or read, in order.
    Stat,
    /// Files removed, in order.
    Delete,
    /// Files created, in random order.
    RandomCreate,
    /// Files looked up or read, in random order.
    RandomStat,
    /// Files removed, in random order.
    RandomDelete,
    /// Transactions of a mail server or the like.
    Transactions,
    /// Time of one operation.
    Latency,
    /// Time of the whole.
    Elapsed,
}

impl CellMetric {
    /// All of them.
    pub const ALL: &[CellMetric] = CellMetric::VARIANTS;

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Which direction is better.
    pub const fn better(self) -> Better {
        match self {
            CellMetric::Latency | CellMetric::Elapsed => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// Whether it is a rate of bytes that were read.
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

    /// Whether it is a rate of bytes that were written.
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

    /// Whether it is a number of files per second.
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

    /// The metric of ours that is of its kind: of the same op, and the same quantity in this unit. None where there is none.
    pub fn metric(self, unit: Unit) -> Option<Metric> {
        let op = match self {
            CellMetric::Create | CellMetric::RandomCreate => OpKind::Create,
            CellMetric::Stat | CellMetric::RandomStat => OpKind::Stat,
            CellMetric::Delete | CellMetric::RandomDelete => OpKind::Unlink,
            CellMetric::Transactions if unit == Unit::OpsPerSecond => {
                return Some(Metric { subject: Subject::Transaction, quantity: Quantity::Rate });
            }
            // Each seek of Bonnie++'s reads one chunk.
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

/// A published number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PublishedNumber {
    /// What it is a number of.
    pub kind: CellMetric,
    /// As printed, with the unit that was printed: `69002 K/sec`.
    pub printed: String,
    /// What that comes to in `unit`, to a thousandth; of a range, its middle.
    pub value: f64,
    /// Bytes per second, a number per second, or nanoseconds.
    pub unit: Unit,
    /// Whether the text says "about", or the number was read off a chart.
    #[serde(default)]
    pub about: bool,
    /// What it was had under, as far as that was printed: the test, its command, sizes.
    pub conditions: String,
}

/// Beyond that a thousandth is no longer exact in a 64-bit number.
const VALUE_MAX: f64 = 1e12;

impl PublishedNumber {
    /// A number that was printed; none where it is 0 or none at all, since no run has such a rate or time.
    pub fn new(
        kind: CellMetric,
        printed: String,
        value: f64,
        unit: Unit,
        conditions: String,
    ) -> Option<PublishedNumber> {
        // Few digits: the number is the same behind every reader of JSON, and so is the hash over it.
        let value = if value < VALUE_MAX { (value * 1e3).round() / 1e3 } else { value.round() };
        let is_told = value.is_finite() && value > 0.0;
        is_told.then_some(PublishedNumber { kind, printed, value, unit, about: false, conditions })
    }

    /// The metric of ours that is of its kind.
    pub fn metric(&self) -> Option<Metric> {
        self.kind.metric(self.unit)
    }
}

/// Why published numbers cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// Where: `line 12`; empty where it is no one place.
    pub place: String,
    /// What is there.
    pub message: String,
    /// The way out.
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

    // Protects: a number of one kind is never put beside a metric of another unit.
    #[test]
    fn every_kind_has_the_metric_of_its_op_and_unit() {
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

    // Protects: a plan that holds numbers has the same hash after it was stored and read.
    #[test]
    fn a_number_is_the_same_after_json() {
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
