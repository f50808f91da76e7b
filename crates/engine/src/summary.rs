//! Combines readings and reports into the measurement of a phase.

use crate::clock::Ticks;
use crate::fault::ReportCells;
use crate::phase::{Coordinator, PhaseRun};
use crate::recorder::Reading;
use plumb_result::measurement::Moved;
use plumb_result::{
    DepthSearched, EndMeasurement, Interval, OpCounts, OpMeasurement, PhaseMeasurement, RunQueue, WorkerMeasurement,
};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Merges all workers' readings.
pub(crate) fn merged(readings: &[Reading]) -> Reading {
    let mut all = Reading::default();
    readings.iter().for_each(|reading| all.merge(reading));
    all
}

/// Returns each worker's difference to an earlier reading.
pub(crate) fn since(now: &[Reading], earlier: &[Reading]) -> Vec<Reading> {
    now.iter().zip(earlier).map(|(now, earlier)| now.since(earlier)).collect()
}

/// Builds an entry of the interval series.
pub(crate) fn interval(start_ns: u64, length_ns: u64, reading: &Reading) -> Interval {
    let ops = reading.kinds.iter().map(|(&kind, reading)| {
        let counts = OpCounts {
            count: reading.service.count(),
            bytes: reading.bytes,
            p50_ns: reading.service.quantile(0.5),
            p99_ns: reading.service.quantile(0.99),
            max_ns: reading.service.max(),
        };
        (kind, counts)
    });
    Interval { start_ns, length_ns, ops: BTreeMap::from_iter(ops) }
}

/// The measured time of a phase.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MeasuredSpan {
    /// Start of the phase, including its ramp.
    pub(crate) begins_at: Ticks,
    /// Start of its measured time.
    pub(crate) clock_zero: Ticks,
    /// End for workers that have not reported theirs.
    pub(crate) over_at: Ticks,
    pub(crate) ending: Ending,
}

/// Whether a phase has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It has ended: a worker that has not reported its end hangs or died.
    Over,
    /// Its workers are still running.
    NotYet,
}

impl Coordinator {
    /// Returns the end of a worker, or the phase's end if the worker did not report one.
    fn ended_at(&self, number: usize, span: MeasuredSpan) -> Ticks {
        let ended_at = self.memory.reports.worker(number).ended_at.load(Acquire);
        if ended_at == 0 { span.over_at } else { ended_at }
    }

    /// Returns the start of the phase's load. That is the start of its clock, or if jobs searched for a depth, the
    /// end of the first search.
    fn load_began_at(&self, span: MeasuredSpan) -> Ticks {
        let reports = &self.memory.reports;
        if !(0..self.members.len()).any(|number| reports.worker(number).search.is_over()) {
            return span.clock_zero;
        }
        let began = self.io_workers().filter_map(|number| self.memory.control.measured_at(number)).min();
        began.unwrap_or(span.clock_zero).clamp(span.clock_zero, span.over_at.max(span.clock_zero))
    }

    /// Returns the numbers of the workers that do I/O. Companions have no depth.
    pub(crate) fn io_workers(&self) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|&number| self.members[number].depth > 0)
    }

    /// Builds the measurement of the phase.
    pub(crate) fn measurement(
        &self,
        run: &PhaseRun,
        span: MeasuredSpan,
        readings: &[Reading],
        end: EndMeasurement,
    ) -> PhaseMeasurement {
        let reports = &self.memory.reports;
        let count = self.members.len();
        let began_at = self.load_began_at(span);
        let searched_ns = self.clock.ns_between(span.clock_zero, began_at);
        let span = MeasuredSpan { clock_zero: began_at, ..span };
        let ends_ns: Vec<u64> =
            (0..count).map(|number| self.clock.ns_between(span.clock_zero, self.ended_at(number, span))).collect();
        let load_ns = ends_ns.iter().copied().max().unwrap_or(0);
        let flush_in_clock_ns = if end.inside_clock { end.flush_ns.unwrap_or(0) } else { 0 };

        let mut intervals = self.intervals.clone();
        let mut latency_map = self.latency_map.clone();
        let all_ns = searched_ns + load_ns;
        if all_ns > self.covered_ns {
            let delta = merged(&since(readings, &self.previous));
            intervals.push(interval(self.covered_ns, all_ns - self.covered_ns, &delta));
            latency_map.push(self.covered_ns, all_ns - self.covered_ns, delta.services());
        }
        if searched_ns > 0 {
            // Drop the second in which the search ended: it has ops of search and load.
            intervals.retain(|one| one.start_ns >= searched_ns);
            intervals.iter_mut().for_each(|one| one.start_ns -= searched_ns);
            latency_map = latency_map.since(searched_ns);
        }
        let total = merged(readings);
        let workers: Vec<WorkerMeasurement> =
            readings.iter().enumerate().map(|(number, reading)| self.worker(number, reading, span)).collect();
        let mut fallbacks: Vec<String> = (0..count)
            .flat_map(|number| {
                let text = String::from_utf8_lossy(&reports.worker(number).fallbacks.read()).into_owned();
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        fallbacks.sort();
        fallbacks.dedup();
        let over = self
            .io_workers()
            .filter(|&number| span.ending == Ending::Over || reports.worker(number).ended_at.load(Acquire) != 0);
        PhaseMeasurement {
            network: Vec::new(),
            name: run.name.clone(),
            wall_ns: load_ns + flush_in_clock_ns,
            searched_ns,
            first_done_ns: over.map(|number| ends_ns[number]).min(),
            until_first_done: self.memory.first_finisher.read(),
            ops: total.measured(),
            steps: run.board.as_ref().map(|board| board.measured()).unwrap_or_default(),
            replay: run.replay.as_ref().map(|tally| Box::new(tally.measured())),
            transactions: Some(total.transactions).filter(|&count| count > 0),
            intervals,
            latency_map,
            // Filled in by the caller: the engine does not see devices.
            lanes: Vec::new(),
            in_flight_mean: if load_ns == 0 { 0.0 } else { total.service_sum_ns() as f64 / load_ns as f64 },
            working_set_bytes: run.working_set_bytes,
            faults: reports.faults(),
            fault_count: workers.iter().map(|worker| worker.fault_count).sum(),
            short_count: total.short(),
            start_lag: (!total.start_lag.is_empty()).then_some(total.start_lag),
            fallbacks,
            caches: None,
            clock: self.clock.kind().name().to_owned(),
            clock_cost_ns: self.clock.cost_ns(),
            cpu_user_ns: workers.iter().map(|worker| worker.cpu_user_ns).sum(),
            cpu_system_ns: workers.iter().map(|worker| worker.cpu_system_ns).sum(),
            workers,
            end,
            steady: None,
        }
    }

    fn ops(&self, number: usize, reading: &Reading) -> BTreeMap<OpKind, OpMeasurement> {
        let mut ops = reading.measured();
        for (kind, measured) in &mut ops {
            measured.priorities = self.memory.priorities.read(number, *kind);
        }
        ops
    }

    fn worker(&self, number: usize, reading: &Reading, span: MeasuredSpan) -> WorkerMeasurement {
        let memory = &self.memory;
        let report = memory.reports.worker(number);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let count = |kind: OpKind| reading.kinds.get(&kind).map_or(0, |kind| kind.service.count());
        let fill_cost_ns = report.times.fill_cost_ns.load(Relaxed);
        let fill_ns = match report.times.fill_cost_bytes.load(Relaxed) {
            0 => fill_cost_ns * count(OpKind::Write),
            bytes => {
                let written = reading.kinds.get(&OpKind::Write).map_or(0, |kind| kind.bytes);
                (u128::from(fill_cost_ns) * u128::from(written) / u128::from(bytes)) as u64
            }
        };
        let check_ns = report.times.check_cost_ns.load(Relaxed) * count(OpKind::Read);
        let failure = text(report.failure.read());
        let ended_by = match (failure.is_empty(), report.ended_at.load(Acquire)) {
            (false, _) => Some(failure),
            (true, 0) if span.ending == Ending::Over => {
                Some("it did not stop when asked to: an op hangs in the kernel, or its process died".to_owned())
            }
            (true, _) => None,
        };
        let ended_at = self.ended_at(number, span);
        // A worker that was stopped before its measured time has measured nothing.
        let measured_at = memory.control.measured_at(number).unwrap_or(ended_at);
        let began_at = memory.control.go_at(number).unwrap_or(ended_at);
        let wall_ns = self.clock.ns_between(measured_at, ended_at);
        // Counts per thread exist only on Linux and for real threads.
        let counts = cfg!(target_os = "linux") && !self.clock.is_virtual();
        let counted = |cell: &std::sync::atomic::AtomicU64| counts.then(|| cell.load(Relaxed));
        WorkerMeasurement {
            name: self.members[number].name.clone(),
            backend: text(report.backend.read()),
            count: reading.count(),
            bytes: reading.bytes(),
            wall_ns,
            cpu_user_ns: report.usage.cpu_user_ns.load(Relaxed),
            cpu_system_ns: report.usage.cpu_system_ns.load(Relaxed),
            sleeps: counted(&report.usage.sleeps),
            depth_asked: self.members[number].depth,
            in_flight_mean: if wall_ns == 0 { 0.0 } else { reading.service_sum_ns() as f64 / wall_ns as f64 },
            fill_ns: fill_ns + check_ns,
            ended_by,
            began_ns: self.clock.ns_between(span.begins_at, began_at),
            started_ns: self.clock.ns_between(span.clock_zero, measured_at),
            ops: self.ops(number, reading),
            samples: self.sampler.samples(number),
            queue: memory.queues.read(number),
            // A killed worker cannot count its own death.
            fault_count: reading.errors + u64::from(self.worker_pool.dead().contains(&number)),
            faults: report.faults(),
            longest_record_ns: Some(report.times.longest_record_ns.load(Relaxed)).filter(|&longest_ns| longest_ns > 0),
            preemptions: counted(&report.usage.preemptions),
            run_queue: report
                .usage
                .queue_turns
                .load(Relaxed)
                .checked_sub(1)
                .map(|turns| RunQueue { waited_ns: report.usage.queue_wait_ns.load(Relaxed), turns }),
            major_faults: counted(&report.usage.major_faults),
            minor_faults: counted(&report.usage.minor_faults),
            pid: u32::try_from(report.pid.load(Relaxed)).ok().filter(|&pid| pid != 0),
            depth_search: report.search.depth().map(|depth| DepthSearched { depth, found: report.search.is_over() }),
            steady: self.steady.outcome(number),
            spent_ns: spent_ns(report, wall_ns),
            dry: dry(report),
            items_at_wall: report.at_wall.load(Relaxed).checked_sub(1),
        }
    }
}

/// Returns the ops that count as done although nothing was executed.
fn dry(report: &ReportCells) -> BTreeMap<OpKind, Moved> {
    let each = OpKind::ALL.iter().zip(&report.dry);
    let each =
        each.map(|(kind, dry)| (*kind, Moved { count: dry.count.load(Relaxed), bytes: dry.bytes.load(Relaxed) }));
    BTreeMap::from_iter(each.filter(|(_, moved)| moved.count > 0))
}

/// Splits the time by kind of op, if reading back had its own time, or if a script took longer than its steps.
fn spent_ns(report: &ReportCells, wall_ns: u64) -> BTreeMap<OpKind, u64> {
    let read_back_ns = report.times.read_back_ns.load(Relaxed).min(wall_ns);
    let mut spent_ns = BTreeMap::new();
    let steps_ns = report.times.steps_ns.load(Relaxed).min(wall_ns);
    if steps_ns > 0 {
        spent_ns.extend([OpKind::Read, OpKind::Write].map(|kind| (kind, steps_ns)));
    }
    if read_back_ns > 0 {
        spent_ns.insert(OpKind::Write, wall_ns - read_back_ns);
        if report.load_reads.load(Relaxed) == 0 {
            spent_ns.insert(OpKind::Read, read_back_ns);
        }
    }
    spent_ns
}
