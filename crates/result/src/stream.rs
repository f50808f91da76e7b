//! Lines that a run sends to an outside observer while it is in progress: one for each second and each event.

use crate::finding::{Finding, Tier};
use crate::histogram::Histogram;
use crate::measurement::{Interval, PhaseMeasurement};
use crate::watch::DeviceUse;
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this form.
pub const STREAM_SCHEMA: &str = "plumb.stream/1";

/// Returns `true` if a line is a [`Streamed`] and not text for people.
pub fn is_stream_line(text: &str) -> bool {
    text.starts_with("{\"schema\":\"plumb.stream/")
}

/// One line of a stream. Every line names its run; `event` determines which of the other fields are present.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Streamed {
    /// Name and version of this form: `plumb.stream/1`.
    pub schema: String,
    /// Time when the line was sent, RFC 3339; later than the previous line of the run.
    pub at: String,
    /// The event that this line reports.
    pub event: StreamEvent,
    /// Id of the run, which `plumb show` accepts once the run is stored.
    pub run: String,
    /// Name of the running workload.
    pub workload: String,
    /// Place of the run: a directory, a file, a device, or a simulated device.
    pub place: String,
    /// Position among several runs, such as `block 3 (minimum 6)`; absent for a single run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Name of the phase; absent at the start and end of a run, and for findings about the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Work done in an interval, or in a whole phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<StreamMeasured>,
    /// The finding that became true or was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

/// The event that a line reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamEvent {
    /// The run started; no phase has started yet.
    RunBegins,
    /// A phase of the run started.
    PhaseBegins,
    /// An interval of a phase has passed; `measured` covers that interval alone.
    Interval,
    /// A finding above `note` became true.
    Finding,
    /// A finding that was sent during its phase does not hold for the whole phase.
    Withdrawn,
    /// The phase ended; `measured` covers the whole phase.
    PhaseEnds,
    /// The run ended. Its result contains all measurements.
    RunEnds,
}

/// Work done in an interval or a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamMeasured {
    /// Start, from the end of the phase's ramp, ns.
    pub start_ns: u64,
    /// Length of the interval or phase, ns.
    pub length_ns: u64,
    /// Completed work by kind of op; a kind that has not occurred yet is absent.
    pub ops: BTreeMap<OpKind, StreamOps>,
    /// Mean number of ops in flight, by Little's law.
    pub in_flight: f64,
    /// Requested number of ops in flight, over all workers.
    pub depth_asked: u32,
    /// Number of ops that failed.
    pub errors: u64,
    /// Origin of the bytes; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Block devices under the targets, in every layer of their stacks; empty if none are known.
    pub devices: Vec<DeviceUse>,
}

/// One kind of op in an interval or a phase. Times are service times: from the start of an op to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamOps {
    /// Number of ops that completed.
    pub count: u64,
    /// Bytes moved by these ops.
    pub bytes: u64,
    /// Number of ops completed per second.
    pub ops_per_s: f64,
    /// Bytes moved per second.
    pub bytes_per_s: f64,
    /// Mean service time, ns. The times are absent if nothing completed.
    pub mean_ns: Option<f64>,
    /// Median service time, ns.
    pub p50_ns: Option<u64>,
    /// 90th percentile of the service time, ns.
    pub p90_ns: Option<u64>,
    /// 99th percentile of the service time, ns.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile of the service time, ns.
    pub p999_ns: Option<u64>,
    /// Largest service time, ns; for an interval with the histogram's resolution (0.8 %).
    pub max_ns: Option<u64>,
}

impl StreamOps {
    /// Summarizes `count` ops that moved `bytes` in `length_ns`.
    pub fn new(count: u64, bytes: u64, times: Option<&Histogram>, length_ns: u64) -> StreamOps {
        let per_s = |amount: u64| if length_ns > 0 { amount as f64 * 1e9 / length_ns as f64 } else { 0.0 };
        let quantile = |share: f64| times.and_then(|times| times.quantile(share));
        StreamOps {
            count,
            bytes,
            ops_per_s: per_s(count),
            bytes_per_s: per_s(bytes),
            mean_ns: times.and_then(Histogram::mean),
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: times.and_then(Histogram::max),
        }
    }
}

impl StreamMeasured {
    /// Returns the ops of an interval, with the service times of each kind.
    pub fn ops_of(interval: &Interval, times: &BTreeMap<OpKind, Histogram>) -> BTreeMap<OpKind, StreamOps> {
        let one = |(kind, ops): (&OpKind, &crate::OpCounts)| {
            (*kind, StreamOps::new(ops.count, ops.bytes, times.get(kind), interval.length_ns))
        };
        BTreeMap::from_iter(interval.ops.iter().map(one))
    }

    /// Summarizes a completed phase.
    pub fn of_phase(phase: &PhaseMeasurement, devices: Vec<DeviceUse>) -> StreamMeasured {
        let ops = phase.ops.iter().map(|(kind, ops)| {
            (*kind, StreamOps::new(ops.count, ops.bytes, Some(&ops.service), phase.time_of_ns(*kind)))
        });
        StreamMeasured {
            start_ns: 0,
            length_ns: phase.wall_ns,
            ops: BTreeMap::from_iter(ops),
            in_flight: phase.in_flight_mean,
            depth_asked: phase.workers.iter().map(|worker| worker.depth_asked).sum(),
            errors: phase.fault_count,
            tier: None,
            devices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpCounts, OpMeasurement};

    // Protects: rates use the interval's own length, and the times are absent, not 0, if nothing completed.
    #[test]
    fn an_interval_of_two_seconds() {
        let mut times = Histogram::new();
        (1..=1000).for_each(|ns| times.record(ns));
        let counts = OpCounts { count: 1000, bytes: 8000, ..OpCounts::default() };
        let ops = [(OpKind::Read, counts), (OpKind::Write, OpCounts::default())].into();
        let interval = Interval { start_ns: 0, length_ns: 2_000_000_000, ops };
        let ops = StreamMeasured::ops_of(&interval, &[(OpKind::Read, times)].into());
        let read = ops[&OpKind::Read];
        assert_eq!((read.count, read.ops_per_s, read.bytes_per_s), (1000, 500.0, 4000.0));
        assert_eq!((read.mean_ns, read.max_ns), (Some(500.5), Some(1000)));
        assert!(read.p50_ns < read.p90_ns && read.p90_ns < read.p99_ns && read.p99_ns <= read.p999_ns, "{read:?}");
        let write = ops[&OpKind::Write];
        assert_eq!((write.ops_per_s, write.p50_ns, write.mean_ns), (0.0, None, None));
    }

    // Protects: the line at a phase's end has the totals of the result, and an empty phase does not divide by 0.
    #[test]
    fn a_whole_phase() {
        let mut times = Histogram::new();
        times.record_n(100, 4);
        let read = OpMeasurement { count: 4, bytes: 400, service: times, ..OpMeasurement::default() };
        let phase = PhaseMeasurement {
            wall_ns: 500_000_000,
            ops: [(OpKind::Read, read)].into(),
            fault_count: 2,
            ..PhaseMeasurement::default()
        };
        let all = StreamMeasured::of_phase(&phase, Vec::new());
        assert_eq!((all.length_ns, all.errors, all.ops[&OpKind::Read].count), (500_000_000, 2, 4));
        let empty = StreamOps::new(0, 0, None, 0);
        assert_eq!((empty.ops_per_s, empty.bytes_per_s), (0.0, 0.0));
    }
}
