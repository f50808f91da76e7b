//! Recording of a simulated phase.

use crate::backend::Errno;
use crate::op::Operation;
use plumb_result::{Fault, Histogram, Interval, OpCounts, OpMeasurement};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::path::Path;

/// Length of an interval.
pub(super) const INTERVAL_NS: u64 = 1_000_000_000;

/// When an op was meant to start, did start, and was done; ns on the virtual clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timing {
    /// `None` in a closed loop.
    pub(super) intended_ns: Option<u64>,
    pub(super) started_ns: u64,
    pub(super) done_ns: u64,
}

/// One kind of op.
#[derive(Debug, Clone, Default)]
struct KindRecorder {
    /// In earlier intervals.
    total: OpMeasurement,
    /// Service times in this interval; joined to the total at its end, so that each op is recorded once.
    service: Histogram,
    bytes: u64,
    seen: bool,
}

/// Records all workers of a phase, who share the one virtual processor.
#[derive(Debug, Clone)]
pub(super) struct Recorder {
    /// End of the ramp.
    pub(super) start_ns: u64,
    interval_ns: u64,
    kinds: Vec<KindRecorder>,
    intervals: Vec<Interval>,
    pub(super) start_lag: Option<Histogram>,
    pub(super) faults: Vec<Fault>,
    pub(super) fault_count: u64,
    pub(super) short_count: u64,
}

impl Recorder {
    pub(super) fn new(start_ns: u64) -> Recorder {
        Recorder {
            start_ns,
            interval_ns: start_ns,
            kinds: vec![KindRecorder::default(); OpKind::COUNT],
            intervals: Vec::new(),
            start_lag: None,
            faults: Vec::new(),
            fault_count: 0,
            short_count: 0,
        }
    }

    /// An op that completed without error.
    #[inline]
    pub(super) fn done(&mut self, kind: OpKind, moved_bytes: u64, timing: Timing) {
        let recorder = &mut self.kinds[kind as usize];
        recorder.seen = true;
        recorder.bytes += moved_bytes;
        recorder.service.record(timing.done_ns - timing.started_ns);
        if let Some(intended_ns) = timing.intended_ns {
            let response = recorder.total.response.get_or_insert_default();
            response.record(timing.done_ns.saturating_sub(intended_ns));
            self.start_lag.get_or_insert_default().record(timing.started_ns.saturating_sub(intended_ns));
        }
    }

    /// An op that failed. `kept`: faults that its worker has already had.
    pub(super) fn failed(&mut self, op: &impl Operation, Errno(errno): Errno, target: &Path, kept: usize) {
        self.fault_count += 1;
        if kept < Fault::KEPT {
            self.faults.push(Fault {
                op: op.kind(),
                path: target.to_owned(),
                offset: op.offset(),
                length: op.length(),
                errno: Some(errno),
                message: std::io::Error::from_raw_os_error(errno).to_string(),
            });
        }
    }

    /// When the interval at hand ends.
    pub(super) fn interval_end_ns(&self) -> u64 {
        self.interval_ns.saturating_add(INTERVAL_NS)
    }

    /// Ends the interval at hand.
    pub(super) fn end_interval(&mut self, end_ns: u64) -> &Interval {
        let mut ops = BTreeMap::new();
        for (&kind, recorder) in OpKind::ALL.iter().zip(&mut self.kinds) {
            if !recorder.seen {
                continue;
            }
            let service = std::mem::take(&mut recorder.service);
            let bytes = std::mem::take(&mut recorder.bytes);
            let counts = OpCounts {
                count: service.count(),
                bytes,
                p50_ns: service.quantile(0.5),
                p99_ns: service.quantile(0.99),
                max_ns: service.max(),
            };
            ops.insert(kind, counts);
            recorder.total.count += counts.count;
            recorder.total.bytes += bytes;
            recorder.total.service.merge(&service);
        }
        let start_ns = std::mem::replace(&mut self.interval_ns, end_ns);
        self.intervals.push(Interval { start_ns: start_ns - self.start_ns, length_ns: end_ns - start_ns, ops });
        self.intervals.last().expect("it was pushed the line before")
    }

    /// True where time has passed since the last interval ended.
    pub(super) fn interval_open_at(&self, now_ns: u64) -> bool {
        now_ns > self.interval_ns
    }

    /// Bytes done so far, or ops where none moves bytes; for the steady-state rule.
    pub(super) fn progress(&self) -> Progress {
        let sum = |of: fn(&KindRecorder) -> u64| self.kinds.iter().map(of).sum();
        Progress { bytes: sum(|k| k.total.bytes + k.bytes), ops: sum(|k| k.total.count + k.service.count()) }
    }

    /// What was recorded; the last interval must have ended.
    pub(super) fn into_parts(self) -> (BTreeMap<OpKind, OpMeasurement>, Vec<Interval>) {
        let ops = OpKind::ALL.iter().copied().zip(self.kinds).filter(|(_, k)| k.seen).map(|(kind, k)| (kind, k.total));
        (ops.collect(), self.intervals)
    }
}

/// How far a phase has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) bytes: u64,
    pub(super) ops: u64,
}
