//! `--profile=act`: the latencies of its jobs, hour by hour.

use plumb_result::{Histogram, PhaseMeasurement};
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::lower::{Lowered, LoweredJob};
use plumb_tools_fio::fio::print::{ActSlice, act_table};

/// Watches the jobs of the profile while they run.
#[derive(Debug)]
pub struct ActWatch {
    /// Number of slices in the test.
    count: u64,
    slices: Vec<ActSlice>,
    /// Latencies up to the end of the last slice.
    before: Histogram,
    groups: Vec<String>,
}

impl ActWatch {
    /// Returns `None` if no such test runs.
    pub fn new(fio: &Fio, lowered: &Lowered) -> Option<ActWatch> {
        let test = fio.act?;
        let of_profile = |job: &&LoweredJob| fio.is_of_profile(job.job);
        Some(ActWatch {
            count: test.duration.0.div_ceil(ActSlice::LENGTH_NS).max(1),
            slices: Vec::new(),
            before: Histogram::new(),
            groups: lowered.jobs.iter().filter(of_profile).map(|job| job.group_name.clone()).collect(),
        })
    }

    /// Whether a slice other than the last has ended, so that [`ActWatch::end_slice`] is due.
    pub fn is_due(&self, elapsed_ns: u64) -> bool {
        let ended = self.slices.len() as u64 + 1;
        ended < self.count && elapsed_ns / ActSlice::LENGTH_NS >= ended
    }

    /// Ends the current slice; `measured` is everything measured so far.
    pub fn end_slice(&mut self, measured: &PhaseMeasurement) {
        let so_far = self.latencies(measured);
        self.slices.push(ActSlice::from_latencies(&so_far.since(&self.before)));
        self.before = so_far;
    }

    /// Ends the last slice and returns the table, or `None` if the phase has no jobs of the profile.
    pub fn end(&mut self, measured: &PhaseMeasurement) -> Option<String> {
        if !measured.workers.iter().any(|worker| self.is_own(&worker.name)) {
            return None;
        }
        self.end_slice(measured);
        Some(act_table(&self.slices))
    }

    /// Whether too many ops of a whole hour were slow. As in fio, the last slice is printed but not judged.
    pub fn failed(&self) -> bool {
        self.slices.split_last().is_some_and(|(_, whole)| whole.iter().any(ActSlice::fails))
    }

    fn is_own(&self, worker: &str) -> bool {
        let group = worker.rsplit_once('/').map_or(worker, |(group, _)| group);
        self.groups.iter().any(|own| own == group)
    }

    fn latencies(&self, measured: &PhaseMeasurement) -> Histogram {
        let mut all = Histogram::new();
        for worker in &measured.workers {
            if self.is_own(&worker.name) {
                worker.ops.iter().filter(|(kind, _)| kind.moves_bytes()).for_each(|(_, ops)| all.merge(&ops.service));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_result::measurement::{OpMeasurement, WorkerMeasurement};
    use plumb_workload::OpKind;

    fn measured(slow: u64, fast: u64) -> PhaseMeasurement {
        let mut service = Histogram::new();
        service.record_n(2_000_000, slow);
        service.record_n(100_000, fast);
        let read = OpMeasurement { count: slow + fast, service, ..OpMeasurement::default() };
        let worker = |name: &str, read: OpMeasurement| WorkerMeasurement {
            name: name.to_owned(),
            ops: [(OpKind::Read, read)].into(),
            ..WorkerMeasurement::default()
        };
        let workers = vec![worker("act-read-d/0", read.clone()), worker("mine/0", read)];
        PhaseMeasurement { workers, ..PhaseMeasurement::default() }
    }

    // Protects: each hour is judged by its own ops, the last slice ends with the test, and other jobs do not count.
    #[test]
    fn hours_are_judged_apart() {
        const HOUR: u64 = ActSlice::LENGTH_NS;
        let mut watch =
            ActWatch { count: 2, slices: Vec::new(), before: Histogram::new(), groups: vec!["act-read-d".to_owned()] };
        assert!(!watch.is_due(HOUR - 1) && watch.is_due(HOUR));
        watch.end_slice(&measured(10, 90));
        assert!(!watch.is_due(2 * HOUR), "the last one ends with the test");
        let table = watch.end(&measured(11, 189)).expect("its own phase");
        assert!(table.contains("    1\t10.00\t") && table.contains("    2\t1.00\t"), "{table}");
        assert_eq!(watch.end(&PhaseMeasurement::default()), None);
        assert!(watch.failed() && table.ends_with("FAILED\n"));
    }
}
