//! Compares units and directions as stated by others with the metric's own (E11).

use plumb_result::{Better, Metric, Unit};

/// The reason why a stated unit or direction cannot be the metric's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatedError {
    /// Plumb does not know the unit.
    #[error("unknown unit `{unit}` for {metric}; known: {known}")]
    Unknown {
        metric: Metric,
        /// As stated by the publisher.
        unit: String,
        /// Units that would fit.
        known: &'static str,
    },
    /// The unit measures something else.
    #[error("{metric} is in {expected}, which `{unit}` does not measure")]
    Dimension {
        metric: Metric,
        /// As stated by the publisher.
        unit: String,
        /// The metric's own unit.
        expected: &'static str,
    },
    /// The direction is reversed.
    #[error("{metric} is better when {}, not the other way round", direction(metric.better()))]
    Direction { metric: Metric },
}

const fn direction(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

/// A unit with its value in the metric's own unit.
struct Known {
    names: &'static [&'static str],
    unit: Unit,
    factor: f64,
}

/// Units as tools and papers write them, in lower case; the two whose case separates bits from bytes are below.
/// Decimal and binary prefixes by IEC 80000-13.
const KNOWN: &[Known] = &[
    Known { names: &["b/s", "bytes/s", "byte/s", "bytes/sec"], unit: Unit::BytesPerSecond, factor: 1.0 },
    Known { names: &["kb/s", "kb/sec"], unit: Unit::BytesPerSecond, factor: 1e3 },
    Known { names: &["mb/s", "mb/sec"], unit: Unit::BytesPerSecond, factor: 1e6 },
    Known { names: &["gb/s", "gb/sec"], unit: Unit::BytesPerSecond, factor: 1e9 },
    Known { names: &["kib/s", "kib/sec"], unit: Unit::BytesPerSecond, factor: 1024.0 },
    Known { names: &["mib/s", "mib/sec"], unit: Unit::BytesPerSecond, factor: 1_048_576.0 },
    Known { names: &["gib/s", "gib/sec"], unit: Unit::BytesPerSecond, factor: 1_073_741_824.0 },
    Known {
        names: &["ops/s", "ops/sec", "op/s", "iops", "io/s", "tps", "/s", "1/s", "files/s", "files/sec", "txn/s"],
        unit: Unit::OpsPerSecond,
        factor: 1.0,
    },
    Known { names: &["kiops", "kops/s"], unit: Unit::OpsPerSecond, factor: 1e3 },
    Known { names: &["ns", "nsec"], unit: Unit::Nanoseconds, factor: 1.0 },
    Known { names: &["us", "µs", "μs", "usec"], unit: Unit::Nanoseconds, factor: 1e3 },
    Known { names: &["ms", "msec"], unit: Unit::Nanoseconds, factor: 1e6 },
    Known { names: &["s", "sec", "seconds"], unit: Unit::Nanoseconds, factor: 1e9 },
    Known { names: &["cpus", "cores"], unit: Unit::Cpus, factor: 1.0 },
    Known { names: &["%", "percent"], unit: Unit::Cpus, factor: 0.01 },
];

/// Units of a link's speed; `Mb/s` is bits where the case was kept, and files and disks are never measured in bits.
const BITS: &[&str] = &["b/s", "Kb/s", "kb/s", "Mb/s", "Gb/s", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "bps", "Mbps"];

/// Returns the factor that converts a stated value to the metric's own unit. A unit or direction that is not stated
/// is assumed to be the metric's own.
///
/// `MB/s` is taken literally, 10⁶ bytes; only the bytes and seconds printed with it can show whether 2²⁰ was meant.
pub fn conversion(metric: Metric, unit: Option<&str>, better: Option<Better>) -> Result<f64, StatedError> {
    if better.is_some_and(|better| better != metric.better()) {
        return Err(StatedError::Direction { metric });
    }
    let Some(stated) = unit.map(str::trim) else { return Ok(1.0) };
    let own = metric.unit();
    if own.symbol() == stated {
        return Ok(1.0);
    }
    let dimension = || StatedError::Dimension { metric, unit: stated.to_owned(), expected: of_unit(own) };
    if BITS.contains(&stated) {
        return Err(dimension());
    }
    let lower = stated.to_lowercase();
    match KNOWN.iter().find(|known| known.names.contains(&lower.as_str())) {
        Some(known) if known.unit == own => Ok(known.factor),
        Some(_) => Err(dimension()),
        None => Err(StatedError::Unknown { metric, unit: stated.to_owned(), known: of_unit(own) }),
    }
}

const fn of_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::BytesPerSecond => "bytes a second (B/s, MB/s, MiB/s …)",
        Unit::OpsPerSecond => "ops a second (ops/s, IOPS …)",
        Unit::Nanoseconds => "time (ns, µs, ms, s)",
        Unit::Cpus => "processors (cpus, %)",
        Unit::Bytes => "bytes (B)",
        Unit::Ops => "a number of ops (ops)",
        Unit::BytesPerOp => "bytes an op (B/op)",
        Unit::BytesPerByte => "bytes a byte (B/B)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::metric::Stat;
    use plumb_workload::OpKind;

    const BW: Metric = Metric::bandwidth(OpKind::Read);
    const LAT: Metric = Metric::latency(OpKind::Read, Stat::P99);

    #[test]
    fn a_metrics_own_unit_is_always_right() {
        for metric in Metric::all() {
            assert_eq!(conversion(metric, Some(metric.unit().symbol()), Some(metric.better())), Ok(1.0), "{metric}");
            assert_eq!(conversion(metric, None, None), Ok(1.0));
        }
    }

    /// 5 % between them: enough to name the wrong winner.
    #[test]
    fn decimal_and_binary_prefixes_are_not_the_same() {
        assert_eq!(conversion(BW, Some("MB/s"), None), Ok(1e6));
        assert_eq!(conversion(BW, Some("MiB/s"), None), Ok(1_048_576.0));
        assert_eq!(conversion(LAT, Some("us"), None), Ok(1e3));
    }

    #[test]
    fn another_dimension_and_another_direction_are_refused() {
        for unit in ["IOPS", "ms", "Mb/s", "Mbit/s"] {
            assert!(matches!(conversion(BW, Some(unit), None), Err(StatedError::Dimension { .. })), "{unit}");
        }
        assert!(matches!(conversion(BW, Some("furlongs"), None), Err(StatedError::Unknown { .. })));
        let error = conversion(LAT, Some("ms"), Some(Better::Higher)).unwrap_err();
        assert_eq!(error.to_string(), "read.lat.p99 is better when lower, not the other way round");
    }
}
