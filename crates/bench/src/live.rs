//! What is known of a phase while it runs, in the form that the checks read.

use plumb_engine::Live;
use plumb_probe::census::Census;
use plumb_probe::others::{IoWatch, OthersSeen};
use plumb_result::{PhaseMeasurement, Seen, WorkerMeasurement};

/// The measurement of a phase so far: counts, bytes, intervals and errors. Distributions and processor times are known
/// at its end.
pub(crate) struct SoFar {
    pub(crate) measured: PhaseMeasurement,
    /// Ops in flight times the length of each interval, summed.
    in_flight_ns: f64,
}

impl SoFar {
    pub(crate) fn new(phase: &str) -> SoFar {
        let measured = PhaseMeasurement { name: phase.to_owned(), ..PhaseMeasurement::default() };
        SoFar { measured, in_flight_ns: 0.0 }
    }

    /// A second has passed.
    pub(crate) fn add(&mut self, live: &Live) {
        let measured = &mut self.measured;
        measured.wall_ns = live.elapsed_ns;
        for (kind, ops) in &live.interval.ops {
            let so_far = measured.ops.entry(*kind).or_default();
            so_far.count += ops.count;
            so_far.bytes += ops.bytes;
        }
        measured.intervals.push(live.interval.clone());
        measured.fault_count = live.fault_count;
        measured.faults.clone_from(&live.faults);
        measured.short_count = live.short_count;
        measured.working_set_bytes = live.working_set_bytes;
        self.in_flight_ns += live.in_flight * live.interval.length_ns as f64;
        measured.in_flight_mean = self.in_flight_ns / live.elapsed_ns.max(1) as f64;
        // One that stands for all: who of them did what is known at the end.
        measured.workers = vec![WorkerMeasurement {
            name: "all workers".to_owned(),
            count: measured.count(),
            bytes: measured.bytes(),
            wall_ns: live.elapsed_ns,
            depth_asked: live.depth_asked,
            in_flight_mean: measured.in_flight_mean,
            ..WorkerMeasurement::default()
        }];
    }
}

/// Names who else does I/O, seldom: a look reads a file for each process of the machine.
pub(crate) struct SeldomOthers {
    looks: u32,
    last: OthersSeen,
}

/// Looks in a row, before it becomes one in [`SELDOM`] seconds.
const IN_A_ROW: u32 = 4;
/// Between two looks, seconds.
const SELDOM: u64 = 16;

impl SeldomOthers {
    pub(crate) fn new() -> SeldomOthers {
        let named = Seen::no("the devices did no more than was asked of them");
        SeldomOthers { looks: 0, last: OthersSeen { named, hidden: None } }
    }

    /// Who did I/O so far, looked up anew where that is due.
    pub(crate) fn look(&mut self, watch: &mut IoWatch, second: u64) -> &OthersSeen {
        if self.looks < IN_A_ROW || second.is_multiple_of(SELDOM) {
            self.looks += 1;
            self.last = watch.so_far(&[std::process::id()], &Census::new());
        }
        &self.last
    }

    /// What the last look gave.
    pub(crate) fn last(&self) -> &OthersSeen {
        &self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::{Interval, OpCounts};
    use plumb_workload::OpKind;

    fn live(second: u64, count: u64, in_flight: f64) -> Live {
        let ops = [(OpKind::Read, OpCounts { count, bytes: count * 10, ..OpCounts::default() })].into();
        Live {
            phase: "p".to_owned(),
            elapsed_ns: second * 1_000_000_000,
            time_ns: None,
            interval: Interval { start_ns: (second - 1) * 1_000_000_000, length_ns: 1_000_000_000, ops },
            service: std::collections::BTreeMap::new(),
            in_flight,
            interval_fault_count: 1,
            fault_count: second,
            faults: Vec::new(),
            short_count: 2 * second,
            working_set_bytes: Some(7),
            depth_asked: 8,
        }
    }

    // Protects: what the checks read part-way is the sum of the seconds, and errors are not summed twice.
    #[test]
    fn seconds_add_up() {
        let mut so_far = SoFar::new("p");
        so_far.add(&live(1, 100, 8.0));
        so_far.add(&live(2, 50, 4.0));
        let measured = &so_far.measured;
        assert_eq!((measured.count(), measured.bytes(), measured.wall_ns), (150, 1500, 2_000_000_000));
        assert_eq!((measured.fault_count, measured.short_count), (2, 4));
        assert_eq!((measured.in_flight_mean, measured.workers[0].depth_asked), (6.0, 8));
        assert_eq!(measured.intervals.len(), 2);
    }
}
