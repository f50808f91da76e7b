//! Merges the measurements of several processes for one phase. Counters and histograms are added. The time is the
//! interval from the first start to the last end.

use crate::histogram::Histogram;
use crate::measurement::{
    Fault, Interval, Moved, OpMeasurement, PhaseMeasurement, QueueCounts, Sample, StepMeasurement, WorkerMeasurement,
};
use crate::observe::{Counters, Extents, OwnIo, PhaseObservations, Residency, Seen};
use crate::processors::RunQueue;
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A phase measured by one or more processes, on a clock that all of them share.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseShare {
    /// Start of its measured time on the common clock, ns.
    pub start_ns: u64,
    /// The measurements of the phase.
    pub measured: PhaseMeasurement,
}

/// Rule for merging the workers of two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workers {
    /// Workers at the same index become one: every process runs the same workers, and pages have one line for each.
    Together,
    /// Workers stay separate, for checks that compare a worker's processor time with its own wall time.
    SideBySide,
}

/// Overlap of the working sets of two processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingSets {
    /// Each process has files of its own.
    Apart,
    /// Both processes use the same files.
    Same,
    /// Some files are shared and some are not, in unknown proportions.
    Mixed,
}

/// Largest number of faults kept for all workers together.
const FAULTS_MAX: usize = 4 * Fault::KEPT;

impl PhaseShare {
    /// Adds another process's measurements of the same phase.
    pub fn merge(&mut self, mut other: PhaseShare, workers: Workers, working_sets: WorkingSets) {
        let start_ns = self.start_ns.min(other.start_ns);
        delay(&mut self.measured, self.start_ns - start_ns);
        delay(&mut other.measured, other.start_ns - start_ns);
        self.start_ns = start_ns;
        merge(&mut self.measured, other.measured, workers, working_sets);
    }

    /// Drops the latency of single workers, which is most of the data. The checks need only the phase's latency.
    pub fn thin(mut self) -> PhaseShare {
        for worker in &mut self.measured.workers {
            for op in worker.ops.values_mut() {
                *op = OpMeasurement { count: op.count, bytes: op.bytes, ..OpMeasurement::default() };
            }
            worker.samples.clear();
            worker.queue = None;
        }
        self
    }
}

/// Moves the origin of times to a start that is earlier by `ns`.
fn delay(measured: &mut PhaseMeasurement, ns: u64) {
    if ns == 0 {
        return;
    }
    let in_flight_ns = measured.in_flight_mean * measured.wall_ns as f64;
    measured.wall_ns += ns;
    measured.in_flight_mean = in_flight_ns / measured.wall_ns.max(1) as f64;
    measured.first_done_ns = measured.first_done_ns.map(|at| at + ns);
    for worker in &mut measured.workers {
        worker.started_ns += ns;
        worker.began_ns += ns;
    }
}

fn sum<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

/// Adds two counts; the sum is unknown if either is.
fn sum_if_known(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

fn merge(mine: &mut PhaseMeasurement, other: PhaseMeasurement, workers: Workers, working_sets: WorkingSets) {
    // Name every field, so that the compiler rejects a new field that is not handled here.
    let PhaseMeasurement {
        name: _,
        wall_ns,
        searched_ns,
        first_done_ns: _,
        until_first_done: _,
        ops,
        steps,
        replay,
        // Each rank has its own connections.
        network,
        transactions,
        intervals,
        latency_map,
        // The first rank reads them for the whole machine.
        lanes: _,
        workers: their_workers,
        end,
        in_flight_mean,
        start_lag,
        working_set_bytes,
        faults,
        fault_count,
        short_count,
        fallbacks,
        caches,
        clock: _,
        clock_cost_ns,
        cpu_user_ns,
        cpu_system_ns,
        steady,
    } = other;
    let in_flight_ns = mine.in_flight_mean * mine.wall_ns as f64 + in_flight_mean * wall_ns as f64;
    mine.wall_ns = mine.wall_ns.max(wall_ns);
    mine.in_flight_mean = in_flight_ns / mine.wall_ns.max(1) as f64;
    mine.searched_ns = mine.searched_ns.max(searched_ns);
    // No process knows what the others had done when its first worker finished.
    mine.first_done_ns = None;
    mine.until_first_done.clear();
    for (kind, op) in ops {
        add_op(mine.ops.entry(kind).or_default(), op);
    }
    for step in steps {
        match mine.steps.iter_mut().find(|known| known.name == step.name && known.group == step.group) {
            Some(known) => add_step(known, step),
            None => mine.steps.push(step),
        }
    }
    match (&mut mine.replay, replay) {
        (Some(mine), Some(other)) => mine.add(*other),
        (mine, other) => *mine = mine.take().or(other),
    }
    mine.network.extend(network);
    mine.transactions = sum(mine.transactions, transactions);
    mine.latency_map.merge(latency_map);
    add_intervals(mine, intervals);
    mine.end.flush_ns = mine.end.flush_ns.max(end.flush_ns);
    add_histogram(&mut mine.start_lag, start_lag);
    mine.working_set_bytes = match working_sets {
        WorkingSets::Apart => sum_if_known(mine.working_set_bytes, working_set_bytes),
        WorkingSets::Same => mine.working_set_bytes.zip(working_set_bytes).map(|(mine, other)| mine.max(other)),
        WorkingSets::Mixed => None,
    };
    mine.faults.extend(faults);
    mine.faults.truncate(FAULTS_MAX);
    mine.fault_count += fault_count;
    mine.short_count += short_count;
    for fallback in fallbacks {
        if !mine.fallbacks.contains(&fallback) {
            mine.fallbacks.push(fallback);
        }
    }
    if let Some(caches) = caches {
        mine.caches.get_or_insert_default().add(*caches);
    }
    mine.clock_cost_ns = mine.clock_cost_ns.max(clock_cost_ns);
    mine.cpu_user_ns += cpu_user_ns;
    mine.cpu_system_ns += cpu_system_ns;
    mine.steady = match (mine.steady, steady) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    };
    match workers {
        Workers::SideBySide => mine.workers.extend(their_workers),
        Workers::Together => {
            for (place, worker) in their_workers.into_iter().enumerate() {
                match mine.workers.get_mut(place) {
                    Some(mine) => add_worker(mine, worker),
                    None => mine.workers.push(worker),
                }
            }
        }
    }
}

fn add_step(mine: &mut StepMeasurement, other: StepMeasurement) {
    let StepMeasurement { name: _, group: _, kind: _, count, bytes, total_ns, min_ns, max_ns, dry, buckets } = other;
    mine.min_ns = match (mine.count, count) {
        (_, 0) => mine.min_ns,
        (0, _) => min_ns,
        _ => mine.min_ns.min(min_ns),
    };
    mine.max_ns = mine.max_ns.max(max_ns);
    mine.count += count;
    mine.bytes += bytes;
    mine.total_ns += total_ns;
    mine.dry += dry;
    add_counts(&mut mine.buckets, buckets);
}

fn add_counts(mine: &mut Vec<u64>, other: Vec<u64>) {
    mine.resize(mine.len().max(other.len()), 0);
    mine.iter_mut().zip(other).for_each(|(mine, other)| *mine += other);
}

fn add_histogram(mine: &mut Option<Histogram>, other: Option<Histogram>) {
    match (mine.as_mut(), other) {
        (Some(mine), Some(other)) => mine.merge(&other),
        (None, other) => *mine = other,
        (Some(_), None) => {}
    }
}

fn add_op(mine: &mut OpMeasurement, other: OpMeasurement) {
    let OpMeasurement {
        count,
        bytes,
        service,
        response,
        submission,
        completion,
        short_count,
        untimed_count,
        priorities,
    } = other;
    mine.count += count;
    mine.bytes += bytes;
    mine.service.merge(&service);
    add_histogram(&mut mine.response, response);
    add_histogram(&mut mine.submission, submission);
    add_histogram(&mut mine.completion, completion);
    mine.short_count += short_count;
    mine.untimed_count += untimed_count;
    for priority in priorities {
        match mine.priorities.iter_mut().find(|known| known.priority == priority.priority) {
            Some(known) => {
                known.service.merge(&priority.service);
                add_histogram(&mut known.completion, priority.completion);
            }
            None => mine.priorities.push(priority),
        }
    }
}

/// Adds the intervals second by second. Percentiles cannot be added; they are read from the latency map with its
/// bucket resolution, if it has a column for each second.
fn add_intervals(mine: &mut PhaseMeasurement, other: Vec<Interval>) {
    for (place, interval) in other.into_iter().enumerate() {
        let Some(known) = mine.intervals.get_mut(place) else {
            mine.intervals.push(interval);
            continue;
        };
        known.length_ns = known.length_ns.max(interval.length_ns);
        for (kind, ops) in interval.ops {
            let sum = known.ops.entry(kind).or_default();
            sum.count += ops.count;
            sum.bytes += ops.bytes;
            sum.max_ns = sum.max_ns.max(ops.max_ns);
        }
    }
    let columns = &mine.latency_map.columns;
    let has_each = columns.len() == mine.intervals.len();
    for (place, interval) in mine.intervals.iter_mut().enumerate() {
        for (kind, ops) in &mut interval.ops {
            let at_most = |time: u64| ops.max_ns.map_or(time, |max| time.min(max));
            let quantile = |share| columns.get(place).filter(|_| has_each)?.quantile(*kind, share).map(at_most);
            (ops.p50_ns, ops.p99_ns) = (quantile(0.5), quantile(0.99));
        }
    }
}

fn add_moved(mine: &mut BTreeMap<OpKind, Moved>, other: BTreeMap<OpKind, Moved>) {
    for (kind, moved) in other {
        let sum = mine.entry(kind).or_default();
        sum.count += moved.count;
        sum.bytes += moved.bytes;
    }
}

fn add_worker(mine: &mut WorkerMeasurement, other: WorkerMeasurement) {
    let WorkerMeasurement {
        name: _,
        backend: _,
        count,
        bytes,
        wall_ns,
        cpu_user_ns,
        cpu_system_ns,
        sleeps,
        depth_asked,
        in_flight_mean,
        fill_ns,
        ended_by,
        began_ns,
        started_ns,
        ops,
        samples,
        queue,
        fault_count,
        faults,
        longest_record_ns,
        preemptions,
        run_queue,
        major_faults,
        minor_faults,
        pid: _,
        depth_search: _,
        steady: _,
        spent_ns,
        dry,
        items_at_wall,
    } = other;
    let end_ns = (mine.started_ns + mine.wall_ns).max(started_ns + wall_ns);
    mine.began_ns = mine.began_ns.min(began_ns);
    mine.started_ns = mine.started_ns.min(started_ns);
    mine.wall_ns = end_ns - mine.started_ns;
    mine.count += count;
    mine.bytes += bytes;
    mine.cpu_user_ns += cpu_user_ns;
    mine.cpu_system_ns += cpu_system_ns;
    mine.sleeps = sum_if_known(mine.sleeps, sleeps);
    mine.preemptions = sum_if_known(mine.preemptions, preemptions);
    mine.run_queue = match (mine.run_queue, run_queue) {
        (Some(mine), Some(other)) => Some(RunQueue {
            waited_ns: mine.waited_ns.saturating_add(other.waited_ns),
            turns: mine.turns.saturating_add(other.turns),
        }),
        _ => None,
    };
    mine.major_faults = sum_if_known(mine.major_faults, major_faults);
    mine.minor_faults = sum_if_known(mine.minor_faults, minor_faults);
    // Each process reports the depth of the plan.
    mine.depth_asked = mine.depth_asked.max(depth_asked);
    mine.in_flight_mean += in_flight_mean;
    mine.fill_ns += fill_ns;
    mine.ended_by = mine.ended_by.take().or(ended_by);
    for (kind, op) in ops {
        add_op(mine.ops.entry(kind).or_default(), op);
    }
    for (place, sample) in samples.into_iter().enumerate() {
        match mine.samples.get_mut(place) {
            Some(Sample { length_ns, ops, .. }) => {
                *length_ns = sample.length_ns.max(*length_ns);
                add_moved(ops, sample.ops);
            }
            None => mine.samples.push(sample),
        }
    }
    match (&mut mine.queue, queue) {
        (Some(mine), Some(other)) => {
            let QueueCounts { depth, submitted, completed } = other;
            add_counts(&mut mine.depth, depth);
            add_counts(&mut mine.submitted, submitted);
            add_counts(&mut mine.completed, completed);
        }
        (mine, other) => *mine = mine.take().or(other),
    }
    mine.items_at_wall = sum(mine.items_at_wall, items_at_wall);
    mine.fault_count += fault_count;
    mine.faults.extend(faults);
    mine.faults.truncate(Fault::KEPT);
    mine.longest_record_ns = mine.longest_record_ns.max(longest_record_ns);
    for (kind, ns) in spent_ns {
        let longest = mine.spent_ns.entry(kind).or_default();
        *longest = ns.max(*longest);
    }
    add_moved(&mut mine.dry, dry);
}

/// Targets that all processes share: their files are the same files, and are counted once.
pub type SharedTargets = std::collections::BTreeSet<String>;

/// Overlap of the files of several processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesOfRanks {
    /// Targets that all processes share.
    pub shared: SharedTargets,
    /// Overlap of the processes' working sets.
    pub working_sets: WorkingSets,
}

impl PhaseObservations {
    /// Adds another process's observations of the same phase on the same machine. Facts about the machine are kept
    /// from `self`, because both processes saw the same; facts about each process and its own files are added.
    pub fn add_process(&mut self, other: PhaseObservations, shared: &SharedTargets) {
        add_own(&mut self.before, &other.before);
        add_own(&mut self.after, &other.after);
        add_files(&mut self.resident_before, other.resident_before, shared);
        add_files(&mut self.dirty_after, other.dirty_after, shared);
        add_files(&mut self.extents_before, other.extents_before, shared);
        if let (Seen::Yes(mine), Seen::Yes(other)) = (&mut self.processors.pauses, other.processors.pauses) {
            mine.extend(other);
        }
    }
}

fn add_own(mine: &mut Counters, other: &Counters) {
    mine.own = match (&mine.own, &other.own) {
        (Seen::Yes(one), Seen::Yes(other)) => Seen::Yes(OwnIo {
            rchar_bytes: one.rchar_bytes + other.rchar_bytes,
            wchar_bytes: one.wchar_bytes + other.wchar_bytes,
            read_bytes: one.read_bytes + other.read_bytes,
            write_bytes: one.write_bytes + other.write_bytes,
        }),
        (Seen::No(reason), _) | (_, Seen::No(reason)) => Seen::No(reason.clone()),
    };
    if let (Seen::Yes(mine), Seen::Yes(other)) = (&mut mine.memory, &other.memory) {
        mine.own_swap_bytes += other.own_swap_bytes;
    }
}

/// Observations of files that can be added.
trait FileObservation {
    fn add(&mut self, other: Self);
}

impl FileObservation for Residency {
    fn add(&mut self, other: Residency) {
        self.total_bytes += other.total_bytes;
        self.resident_bytes += other.resident_bytes;
        self.dirty_bytes += other.dirty_bytes;
        self.writeback_bytes += other.writeback_bytes;
        self.dirty_known &= other.dirty_known;
    }
}

impl FileObservation for Extents {
    fn add(&mut self, other: Extents) {
        self.total_bytes += other.total_bytes;
        self.hole_bytes += other.hole_bytes;
        self.unwritten_bytes += other.unwritten_bytes;
        self.extents += other.extents;
        self.encoded_bytes += other.encoded_bytes;
        self.place = match (self.place, other.place) {
            (Some(one), Some(other)) => Some(one.with(other)),
            (one, other) => one.or(other),
        };
    }
}

fn add_files<T: FileObservation>(
    mine: &mut BTreeMap<String, Seen<T>>,
    other: BTreeMap<String, Seen<T>>,
    shared: &SharedTargets,
) {
    for (target, seen) in other {
        match (mine.get_mut(&target), seen) {
            (None, seen) => {
                mine.insert(target, seen);
            }
            (Some(_), _) if shared.contains(&target) => {}
            (Some(Seen::Yes(mine)), Seen::Yes(other)) => mine.add(other),
            (Some(mine @ Seen::Yes(_)), no @ Seen::No(_)) => *mine = no,
            (Some(Seen::No(_)), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::OpCounts;

    const SECOND: u64 = 1_000_000_000;

    fn share(start_ns: u64, wall_ns: u64, count: u64, latency_ns: u64) -> PhaseShare {
        let mut service = Histogram::new();
        service.record_n(latency_ns, count);
        let mut measured = PhaseMeasurement { name: "write".to_owned(), wall_ns, ..PhaseMeasurement::default() };
        measured.latency_map.push(0, SECOND, [(OpKind::Write, &service)].into_iter());
        let op = OpMeasurement { count, bytes: count * 4_096, service, ..OpMeasurement::default() };
        measured.ops = [(OpKind::Write, op)].into();
        let counts = OpCounts { count, bytes: count * 4_096, max_ns: Some(latency_ns), ..OpCounts::default() };
        measured.intervals = vec![Interval { start_ns: 0, length_ns: SECOND, ops: [(OpKind::Write, counts)].into() }];
        measured.workers = vec![WorkerMeasurement {
            name: "w.0/0".to_owned(),
            count,
            wall_ns,
            sleeps: Some(1),
            depth_asked: 1,
            ops: measured.ops.clone(),
            ..WorkerMeasurement::default()
        }];
        measured.in_flight_mean = 1.0;
        measured.working_set_bytes = Some(7);
        PhaseShare { start_ns, measured }
    }

    // Protects: the aggregate rate is all bytes over the time from the first start to the last end, and not a mean of rates.
    #[test]
    fn the_merged_time_is_from_the_first_start_to_the_last_end() {
        for early_first in [true, false] {
            let (mut one, mut other) =
                (share(100 * SECOND, 2 * SECOND, 10, 100), share(101 * SECOND, 3 * SECOND, 30, 900));
            if !early_first {
                std::mem::swap(&mut one, &mut other);
            }
            one.merge(other, Workers::Together, WorkingSets::Apart);
            let measured = &one.measured;
            assert_eq!((one.start_ns, measured.wall_ns, measured.count()), (100 * SECOND, 4 * SECOND, 40));
            assert_eq!(measured.ops[&OpKind::Write].service.count(), 40);
            assert_eq!(measured.ops[&OpKind::Write].service.max(), Some(900));
            // One op in flight for 2 s and for 3 s, over 4 s.
            assert!((measured.in_flight_mean - 1.25).abs() < 1e-9);
            let worker = &measured.workers[0];
            assert_eq!((measured.workers.len(), worker.started_ns, worker.wall_ns), (1, 0, 4 * SECOND));
            assert_eq!((worker.count, worker.depth_asked, worker.sleeps), (40, 1, Some(2)));
            assert_eq!(measured.working_set_bytes, Some(14));
        }
    }

    // Protects: the order in which processes report does not matter.
    #[test]
    fn merging_is_associative() {
        let shares = || [share(5, 40, 1, 10), share(0, 50, 2, 20), share(9, 12, 4, 80)];
        let [mut a, mut b, c] = shares();
        b.merge(c, Workers::SideBySide, WorkingSets::Apart);
        a.merge(b, Workers::SideBySide, WorkingSets::Apart);
        let [mut left, b, c] = shares();
        left.merge(b, Workers::SideBySide, WorkingSets::Apart);
        left.merge(c, Workers::SideBySide, WorkingSets::Apart);
        assert!((left.measured.in_flight_mean - a.measured.in_flight_mean).abs() < 1e-9);
        left.measured.in_flight_mean = a.measured.in_flight_mean;
        assert_eq!(left, a);
        assert_eq!(left.measured.workers.len(), 3);
    }

    // Protects: files that all processes use are counted once, and a partly shared working set is unknown.
    #[test]
    fn only_separate_working_sets_are_added() {
        for (working_sets, expected) in
            [(WorkingSets::Apart, Some(300)), (WorkingSets::Same, Some(200)), (WorkingSets::Mixed, None)]
        {
            let of = |bytes| {
                let mut share = share(0, 10, 1, 1);
                share.measured.working_set_bytes = Some(bytes);
                share
            };
            let mut all = of(100);
            all.merge(of(200), Workers::Together, working_sets);
            assert_eq!(all.measured.working_set_bytes, expected);
        }
    }

    // Protects: named steps are counted over all processes.
    #[test]
    fn steps_are_added_by_name_and_group() {
        let of = |name: &str, count: u64, min_ns: u64| {
            let step = StepMeasurement {
                name: name.to_owned(),
                count,
                min_ns,
                max_ns: 10 * min_ns,
                total_ns: count * min_ns,
                buckets: vec![count],
                ..StepMeasurement::default()
            };
            let mut share = share(0, 10, 1, 1);
            share.measured.steps = vec![step];
            share
        };
        let mut all = of("open", 0, 0);
        for other in [of("open", 3, 7), of("open", 2, 5), of("close", 1, 1)] {
            all.merge(other, Workers::Together, WorkingSets::Apart);
        }
        let [open, close] = all.measured.steps.as_slice() else { panic!("{:?}", all.measured.steps) };
        assert_eq!((open.count, open.min_ns, open.max_ns, open.total_ns, open.buckets[0]), (5, 5, 70, 31, 5));
        assert_eq!((close.name.as_str(), close.count), ("close", 1));
    }

    #[test]
    fn intervals_are_added_and_percentiles_cover_all_processes() {
        let mut all = share(0, SECOND, 99, 100);
        all.merge(share(0, SECOND, 99, 100_000), Workers::Together, WorkingSets::Apart);
        let counts = &all.measured.intervals[0].ops[&OpKind::Write];
        assert_eq!((counts.count, counts.max_ns), (198, Some(100_000)));
        let (p50, p99) = (counts.p50_ns.unwrap(), counts.p99_ns.unwrap());
        assert!((96..=112).contains(&p50) && (81_920..=100_000).contains(&p99), "{p50} {p99}");
    }

    #[test]
    fn thin_shares_keep_what_checks_count() {
        let thin = share(0, SECOND, 5, 10).thin();
        let op = &thin.measured.workers[0].ops[&OpKind::Write];
        assert!(op.count == 5 && op.service.is_empty());
        assert_eq!(thin.measured.ops[&OpKind::Write].service.count(), 5);
    }

    // Protects: a file that all processes share is counted once; their own files and I/O are added.
    #[test]
    fn shared_observations_count_once_and_own_ones_add_up() {
        let seen = |bytes: u64| {
            let residency =
                Residency { total_bytes: bytes, dirty_bytes: bytes / 2, dirty_known: true, ..Default::default() };
            let own = OwnIo { read_bytes: bytes, ..OwnIo::default() };
            PhaseObservations {
                after: Counters { own: Seen::Yes(own), ..Counters::default() },
                before: Counters { own: Seen::Yes(OwnIo::default()), ..Counters::default() },
                dirty_after: ["own", "shared"].map(|name| (name.to_owned(), Seen::Yes(residency))).into(),
                ..PhaseObservations::default()
            }
        };
        let mut both = seen(100);
        both.add_process(seen(10), &SharedTargets::from(["shared".to_owned()]));
        assert_eq!(both.after.own.value().unwrap().read_bytes, 110);
        assert_eq!(both.dirty_after["own"].value().unwrap().total_bytes, 110);
        assert_eq!(both.dirty_after["shared"].value().unwrap().total_bytes, 100);
    }
}
