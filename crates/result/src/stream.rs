//! What a run sends while it goes on, to whoever watches from outside: a line for each second and each event.

use crate::finding::{Finding, Tier};
use crate::histogram::Histogram;
use crate::measurement::{Interval, PhaseMeasurement};
use crate::watch::DeviceUse;
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name and version of this form.
pub const STREAM_SCHEMA: &str = "plumb.stream/1";

/// Whether a line of text is a [`Streamed`] among lines for people.
pub fn is_stream_line(text: &str) -> bool {
    text.starts_with("{\"schema\":\"plumb.stream/")
}

/// One line of a stream. Every line says which run it is about; `event` says which of the other parts it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Streamed {
    /// [`STREAM_SCHEMA`].
    pub schema: String,
    /// When it was sent, RFC 3339; within a run, later than the line before.
    pub at: String,
    /// What has happened.
    pub event: StreamEvent,
    /// The run's id, by which `plumb show` finds it once it is stored.
    pub run: String,
    /// Its workload's name.
    pub workload: String,
    /// Where it runs: a directory, a file, a device, or a simulated device.
    pub place: String,
    /// Which run of several this is, such as `block 3 (minimum 6)`; absent where one run is all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The phase; absent at the beginning and the end of a run, and for a finding about the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// What was done: in an interval, or in a whole phase.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<StreamMeasured>,
    /// The finding that became true, or that is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<Finding>,
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StreamEvent {
    /// A run begins.
    RunBegins,
    /// A phase begins.
    PhaseBegins,
    /// An interval of a phase has passed; `measured` is of it alone.
    Interval,
    /// A finding above `note` has become true.
    Finding,
    /// A finding that was sent while its phase ran is not true of the whole phase.
    Withdrawn,
    /// A phase is over; `measured` is of all of it.
    PhaseEnds,
    /// A run is over. Its result has all that was measured.
    RunEnds,
}

/// What was done in a piece of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamMeasured {
    /// Start, from the end of the phase's ramp, ns.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// By kind of op; a kind that has not been seen yet is absent.
    pub ops: BTreeMap<OpKind, StreamOps>,
    /// Mean ops in flight, by Little's law.
    pub in_flight: f64,
    /// Asked ops in flight, all workers together.
    pub depth_asked: u32,
    /// Errors of ops.
    pub errors: u64,
    /// Where the bytes came from or went to; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Block devices under the targets, each layer of their stacks; none where nothing is known of them.
    pub devices: Vec<DeviceUse>,
}

/// One kind of op in a piece of time. Times are service times: from the start of an op to its completion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamOps {
    /// Completed.
    pub count: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Completed per second, ops/s.
    pub ops_per_s: f64,
    /// Bytes moved per second.
    pub bytes_per_s: f64,
    /// Mean time, ns; this and the others are absent where nothing completed.
    pub mean_ns: Option<f64>,
    /// Median, ns.
    pub p50_ns: Option<u64>,
    /// 90 %, ns.
    pub p90_ns: Option<u64>,
    /// 99 %, ns.
    pub p99_ns: Option<u64>,
    /// 99.9 %, ns.
    pub p999_ns: Option<u64>,
    /// Largest, ns; of an interval to the histogram's bucket (0.8 %).
    pub max_ns: Option<u64>,
}

impl StreamOps {
    /// Of ops that moved `bytes` in `length_ns`, with their times.
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
    /// The ops of an interval, with the times of each kind.
    pub fn ops_of(interval: &Interval, times: &BTreeMap<OpKind, Histogram>) -> BTreeMap<OpKind, StreamOps> {
        let one = |(kind, ops): (&OpKind, &crate::OpCounts)| {
            (*kind, StreamOps::new(ops.count, ops.bytes, times.get(kind), interval.length_ns))
        };
        BTreeMap::from_iter(interval.ops.iter().map(one))
    }

    /// Of a phase that is over.
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

    // Protects: rates are per second of the interval's own length, and a time that nothing had is absent, not 0.
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

    // Protects: the line at a phase's end has the totals of the result, and an empty phase divides by nothing.
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
