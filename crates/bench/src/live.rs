//! A running phase, in the form that the checks read.

use plumb_engine::Live;
use plumb_probe::census::Census;
use plumb_probe::others::{IoWatch, OthersSeen};
use plumb_result::{PhaseMeasurement, Seen, WorkerMeasurement};

/// Measurement of a phase so far: counts, bytes, intervals and errors. Distributions and processor times are
/// only known at its end.
pub(crate) struct SoFar {
    pub(crate) measured: PhaseMeasurement,
    /// Sum of ops in flight times the length of each interval.
    in_flight_ns: f64,
}

impl SoFar {
    pub(crate) fn new(phase: &str) -> SoFar {
        let measured = PhaseMeasurement { name: phase.to_owned(), ..PhaseMeasurement::default() };
        SoFar { measured, in_flight_ns: 0.0 }
    }

    /// Adds one second.
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
        // One entry stands for all workers: counts of each worker are known at the end.
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

/// Finds other processes that do I/O. Searches rarely, because one search reads a file for each process of the machine.
pub(crate) struct SeldomOthers {
    looks: u32,
    last: OthersSeen,
}

/// Searches in consecutive seconds, before they drop to one in [`SELDOM`] seconds.
const IN_A_ROW: u32 = 4;
/// Seconds between two searches.
const SELDOM: u64 = 16;

impl SeldomOthers {
    pub(crate) fn new() -> SeldomOthers {
        let named = Seen::no("the devices did no more than was asked of them");
        SeldomOthers { looks: 0, last: OthersSeen { named, hidden: None } }
    }

    /// Returns the processes that did I/O so far, after a new search if one is due.
    pub(crate) fn search(&mut self, watch: &mut IoWatch, second: u64) -> &OthersSeen {
        if self.looks < IN_A_ROW || second.is_multiple_of(SELDOM) {
            self.looks += 1;
            self.last = watch.so_far(&[std::process::id()], &Census::new());
        }
        &self.last
    }

    /// Returns the result of the last search.
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

    // Protects: the sum of the seconds is what the checks read during a phase, and errors are not counted twice.
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
