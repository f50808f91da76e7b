//! Output during a run: the `--eta` line, `--status-interval` reports, triggers, the total
//! bandwidth log, and the logs of jobs.

use super::act::ActWatch;
use super::complain;
use super::debug_ops::DebugOps;
use super::logs::{Logs, Place};
use super::report::Reporter;
use super::schedulers::Schedulers;
use super::trigger::TriggerWatch;
use plumb_bench::Progress;
use plumb_cli::output;
use plumb_engine::guard::OutputFile;
use plumb_engine::signals::StopFlag;
use plumb_engine::{JobFilesError, LoggedOp, PhaseNow, WorkerNow, WorkerState};
use plumb_result::measurement::Moved;
use plumb_result::{Measurement, PhaseMeasurement};
use plumb_tools_fio::fio::Fio;
use plumb_tools_fio::fio::invocation::Eta as When;
use plumb_tools_fio::fio::lower::{Lowered, LoweredJob};
use plumb_tools_fio::fio::print::{Eta, LogDirection, LogPriority, LogSample, LogValue, Remaining, eta_line, log_line};
use plumb_tools_fio::fio::value::direction::{AccessOrder, Ops};
use plumb_workload::{Companion, Nanos, OpKind, Phase, Target, WorkerGroup, Workload};
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Interval between progress checks.
const TICK_NS: u64 = 250_000_000;
/// An interval may end this much early, because progress is checked only at ticks.
const SLACK: Duration = Duration::from_millis(60);
/// Default interval between updates of the progress line.
const ETA_INTERVAL: Nanos = Nanos(1_000_000_000);
/// Interval of the total bandwidth log.
const AGGREGATE_INTERVAL: Nanos = Nanos(500_000_000);

/// Kinds of op that move data, in fio's order.
const KINDS: [OpKind; 3] = [OpKind::Read, OpKind::Write, OpKind::Trim];

#[derive(Debug)]
struct Interval {
    length: Duration,
    last: Instant,
}

impl Interval {
    fn new(length: Nanos) -> Interval {
        Interval { length: Duration::from_nanos(length.0), last: Instant::now() }
    }

    fn is_due(&mut self) -> bool {
        let due = self.last.elapsed() + SLACK >= self.length;
        if due {
            self.last = Instant::now();
        }
        due
    }
}

/// Destination of the progress line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Nowhere,
    Error,
    /// On standard output, rewriting the line, if results go to a file.
    Output,
}

/// Totals of all workers at a point in time.
#[derive(Debug, Clone, Copy)]
struct Total {
    at: Instant,
    moved: [Moved; 3],
}

impl Total {
    fn nothing() -> Total {
        Total { at: Instant::now(), moved: [Moved::default(); 3] }
    }

    fn from_workers(workers: &[WorkerNow]) -> Total {
        let mut total = Total::nothing();
        for (sum, kind) in total.moved.iter_mut().zip(KINDS) {
            for moved in workers.iter().filter_map(|worker| worker.ops.get(&kind)) {
                sum.count += moved.count;
                sum.bytes += moved.bytes;
            }
        }
        total
    }

    /// Returns the rates per second since another point in time.
    fn rates(&self, before: &Total, pick: fn(&Moved) -> u64) -> [u64; 3] {
        let seconds = self.at.duration_since(before.at).as_secs_f64().max(1e-3);
        std::array::from_fn(|place| {
            (pick(&self.moved[place]).saturating_sub(pick(&before.moved[place])) as f64 / seconds).round() as u64
        })
    }
}

/// Follows the jobs while they run.
pub struct FioProgress<'a> {
    fio: &'a Fio,
    lowered: &'a Lowered,
    stop: StopFlag,
    trigger: TriggerWatch,
    shown: Shown,
    interval: Interval,
    new_line: Option<Interval>,
    status: Option<Interval>,
    /// Width of the current line in characters.
    width: usize,
    last_shown: Total,
    aggregate: Option<Aggregate>,
    /// The test of `--profile=act`.
    pub act: Option<ActWatch>,
    /// Reasons already reported for jobs without files.
    reported_failures: Vec<String>,
    /// Measurements of the finished phases.
    done: Measurement,
    /// Dropping this restores the schedulers.
    _schedulers: Schedulers,
    pub reporter: Reporter<'a>,
    pub logs: Logs<'a>,
}

/// Milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl<'a> FioProgress<'a> {
    /// Starts following a run.
    ///
    /// # Errors
    ///
    /// A log cannot be created.
    pub fn new(
        fio: &'a Fio,
        lowered: &'a Lowered,
        reporter: Reporter<'a>,
        schedulers: Schedulers,
        stop: StopFlag,
    ) -> io::Result<FioProgress<'a>> {
        let invocation = &fio.invocation;
        let shown = match invocation.progress.eta {
            When::Never => Shown::Nowhere,
            When::Always if reporter.output.is_file() => Shown::Output,
            When::Always => Shown::Error,
            When::Auto if reporter.output.is_normal() && io::stderr().is_terminal() => Shown::Error,
            When::Auto => Shown::Nowhere,
        };
        Ok(FioProgress {
            fio,
            lowered,
            stop,
            trigger: TriggerWatch::new(&invocation.trigger),
            shown,
            interval: Interval::new(invocation.progress.eta_interval.unwrap_or(ETA_INTERVAL)),
            new_line: invocation.progress.eta_newline.map(Interval::new),
            status: invocation.progress.status_interval.map(Interval::new),
            width: 0,
            last_shown: Total::nothing(),
            aggregate: invocation.bandwidth_log.as_deref().map(Aggregate::new).transpose()?,
            act: ActWatch::new(fio, lowered),
            reported_failures: Vec::new(),
            done: Measurement::default(),
            _schedulers: schedulers,
            reporter,
            logs: Logs::new(fio, lowered, Place::Disk),
        })
    }

    pub fn clear(&mut self) {
        if self.width > 0 {
            self.write("\r", &format!("{:width$}", "", width = self.width), "\r");
            self.width = 0;
        }
    }

    /// Writes one status line. `before` and `after` move the cursor; `text` holds job names, which need escaping.
    fn write(&self, before: &str, text: &str, after: &str) {
        match self.shown {
            Shown::Nowhere => {}
            Shown::Error => output::redraw(before, text, after),
            Shown::Output => {
                let text = format!("{before}{}{after}", plumb_text::visible::screen_line(text));
                let mut stdout = io::stdout();
                // A closed pipe must not end a measurement.
                let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
            }
        }
    }

    fn show(&mut self, now: &dyn PhaseNow) {
        if self.shown == Shown::Nowhere || !self.interval.is_due() {
            return;
        }
        let workers = now.workers();
        let total = Total::from_workers(&workers);
        let line = eta_line(&self.eta(now, &workers, &total));
        self.last_shown = total;
        let text = format!("{line:width$}", width = self.width);
        self.width = line.chars().count();
        self.write("\r", &text, "");
        if self.new_line.as_mut().is_some_and(Interval::is_due) {
            self.write("", "", "\n");
            self.width = 0;
        }
    }

    fn eta(&self, now: &dyn PhaseNow, workers: &[WorkerNow], total: &Total) -> Eta {
        let at = self.done.phases.len();
        let is_running = |worker: &&WorkerNow| matches!(worker.state, WorkerState::Running | WorkerState::Ramp);
        let running = u32::try_from(workers.iter().filter(is_running).count()).unwrap_or(u32::MAX);
        let phases = &self.lowered.workload.phase;
        // Later phases count as far as their length is known.
        let later: u64 = phases.iter().skip(at + 1).filter_map(longest_ns).sum();
        let left = phases
            .get(at)
            .and_then(|phase| left_ns(&self.lowered.workload, phase, workers, now.elapsed_ns()))
            .map(|ns| ns + later);
        let starts = &self.reporter.phase_starts_unix_ms;
        let elapsed_s = starts.first().map_or(0, |start| unix_ms().saturating_sub(*start) / 1000);
        let left_s = left.map(|ns| ns.div_ceil(1_000_000_000));
        let ramps = running > 0 && workers.iter().filter(is_running).all(|one| one.state == WorkerState::Ramp);
        Eta {
            running,
            files_open: running,
            limit: None,
            states: condensed(&self.states(at, workers)),
            remaining: match left_s {
                Some(left_s) if ramps => Remaining::Ramp { left_s },
                Some(left_s) => Remaining::Known { elapsed_s, left_s },
                None => Remaining::Unknown,
            },
            bytes_per_second: total.rates(&self.last_shown, |moved| moved.bytes),
            iops: total.rates(&self.last_shown, |moved| moved.count),
            ..Eta::default()
        }
    }

    /// Returns fio's status letter for each copy.
    fn states(&self, at: usize, workers: &[WorkerNow]) -> Vec<char> {
        let state_of = |copy: &LoweredJob| {
            let is_of = |one: &&WorkerNow| one.name.rsplit_once('/').is_some_and(|(group, _)| group == copy.group_name);
            workers.iter().find(is_of).map(|one| one.state)
        };
        let letter = |copy: &LoweredJob| match copy.phase.cmp(&at) {
            std::cmp::Ordering::Less => '_',
            std::cmp::Ordering::Greater => 'P',
            std::cmp::Ordering::Equal => match state_of(copy) {
                Some(WorkerState::Waiting) | None => 'P',
                Some(WorkerState::Ramp) => '/',
                Some(WorkerState::Running) => running_letter(self.fio, copy),
                Some(WorkerState::Over) => '_',
            },
        };
        self.lowered.jobs.iter().map(letter).collect()
    }
}

/// Returns the letter of a running copy: upper-case for sequential access, lower-case for random.
fn running_letter(fio: &Fio, copy: &LoweredJob) -> char {
    let rw = fio.jobs[copy.job].direction.rw;
    let letter = match rw.ops {
        Ops::Read => 'r',
        Ops::Write => 'w',
        Ops::Trim => 'd',
        Ops::ReadWrite | Ops::TrimWrite => 'm',
    };
    if matches!(rw.order, AccessOrder::Sequential { .. }) { letter.to_ascii_uppercase() } else { letter }
}

/// Returns the remaining time of a phase: until the last worker with a predictable end finishes.
fn left_ns(workload: &Workload, phase: &Phase, workers: &[WorkerNow], elapsed_ns: u64) -> Option<u64> {
    let left = |worker: &WorkerNow| {
        let (group_name, _) = worker.name.rsplit_once('/')?;
        let group = phase.workers.iter().find(|group| group.name.as_deref() == Some(group_name));
        let companion = || phase.companions.iter().find(|companion| companion.name == group_name);
        let time_ns = group.map_or_else(|| companion().and_then(companion_ns), time_ns);
        let by_time = time_ns.map(|ns| ns.saturating_sub(elapsed_ns));
        let moved = |kind: &OpKind| worker.ops.get(kind).map_or(0, |moved| moved.bytes);
        let done: u64 = KINDS.iter().map(moved).sum();
        let by_bytes = group.and_then(|group| bytes_of(workload, group)).filter(|_| done > 0).map(|bytes| {
            let share = bytes.saturating_sub(done) as f64 / done as f64;
            (worker.measured_ns as f64 * share) as u64
        });
        by_time.into_iter().chain(by_bytes).min()
    };
    workers.iter().filter(|worker| worker.state != WorkerState::Over).filter_map(left).max()
}

/// Returns the total bytes that a job transfers, including verification, or `None` if it ends by another condition.
fn bytes_of(workload: &Workload, group: &WorkerGroup) -> Option<u64> {
    let stream = group.work.fio()?;
    if stream.repeat_until_time || stream.fill_device {
        return None;
    }
    let files = match workload.target.get(&group.target) {
        Some(Target::JobFiles(files)) => files.names.count(),
        _ => stream.ranges.len(),
    };
    let range = |file: usize| stream.ranges.get(file).or(stream.ranges.last()).map_or(0, |range| range.length.0);
    let ranges = || (0..files).fold(0u64, |sum, file| sum.saturating_add(range(file)));
    let loops = if stream.io_bytes.is_some() { 1 } else { stream.loops };
    let loaded = stream.io_bytes.map_or_else(ranges, |bytes| bytes.0).saturating_mul(loops);
    let sizes = [&stream.sizes.read, &stream.sizes.write, &stream.sizes.trim];
    let largest = sizes.iter().map(|size| size.max().0).max().unwrap_or(0);
    let by_ops = stream.max_ops.map_or(u64::MAX, |ops| ops.saturating_mul(stream.loops).saturating_mul(largest));
    let reads_back = stream.moves().write && group.verify.as_ref().is_some_and(|verify| verify.read_back);
    Some(loaded.min(by_ops).saturating_mul(if reads_back { 2 } else { 1 }))
}

/// Returns the time limit of a group's workers, from the start of the phase.
fn time_ns(group: &WorkerGroup) -> Option<u64> {
    group.limit.time.map(|time| time.0 + group.ramp.0 + group.start.delay.0)
}

/// Returns the time limit of a companion.
fn companion_ns(companion: &Companion) -> Option<u64> {
    companion.time.map(|time| time.0 + companion.ramp.0 + companion.start.delay.0)
}

/// Returns the length of a phase if all its workers and companions have a time limit.
fn longest_ns(phase: &Phase) -> Option<u64> {
    let all = phase.workers.iter().map(time_ns).chain(phase.companions.iter().map(companion_ns));
    all.collect::<Option<Vec<u64>>>()?.into_iter().max()
}

/// Joins runs of equal states: `R(2),_(1)`.
fn condensed(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b).map(|run| format!("{}({})", run[0], run.len()));
    runs.collect::<Vec<String>>().join(",")
}

/// `--bandwidth-log`: total rates of all jobs, one file per direction.
struct Aggregate {
    files: [File; 3],
    every: Interval,
    last: Total,
    began: Instant,
}

impl Aggregate {
    fn new(name: &str) -> io::Result<Aggregate> {
        let file = |direction: &str| {
            let path = format!("{name}-{direction}_bw.log");
            OutputFile::made_up("--bandwidth-log", &path).create()
        };
        Ok(Aggregate {
            files: [file("read")?, file("write")?, file("trim")?],
            every: Interval::new(AGGREGATE_INTERVAL),
            last: Total::nothing(),
            began: Instant::now(),
        })
    }

    fn sample(&mut self, workers: &[WorkerNow]) -> io::Result<()> {
        let now = Total::from_workers(workers);
        let time = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let directions = [LogDirection::Read, LogDirection::Write, LogDirection::Trim];
        let rates = now.rates(&self.last, |moved| moved.bytes);
        for ((file, direction), rate) in self.files.iter_mut().zip(directions).zip(rates) {
            let sample = LogSample {
                time,
                value: LogValue::One(rate / 1024),
                direction,
                block_bytes: 0,
                offset: None,
                priority: LogPriority::default(),
                issue_ns: None,
            };
            file.write_all(log_line(&sample).as_bytes())?;
        }
        self.last = now;
        self.every.last = now.at;
        Ok(())
    }
}

impl Progress for FioProgress<'_> {
    fn job_failed(&mut self, why: &JobFilesError) {
        // Jobs that share a file share the reason.
        let why = why.to_string();
        if !self.reported_failures.contains(&why) {
            self.clear();
            complain(&why);
            self.reported_failures.push(why);
        }
    }

    fn clock_starts(&mut self, _phase: &str) {
        self.reporter.phase_starts_unix_ms.push(unix_ms());
        if let Some(idle) = &mut self.reporter.idle {
            idle.begins();
        }
        self.last_shown = Total::nothing();
        if let Some(aggregate) = &mut self.aggregate {
            aggregate.last = Total::nothing();
        }
    }

    fn tick_ns(&self) -> Option<u64> {
        let shows = self.shown != Shown::Nowhere || self.status.is_some() || self.act.is_some();
        (shows || self.aggregate.is_some() || self.trigger.is_set()).then_some(TICK_NS)
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        self.trigger.poll(self.stop);
        self.show(now);
        if let Some(aggregate) =
            self.aggregate.as_mut().filter(|one| one.every.length <= one.every.last.elapsed() + SLACK)
            && let Err(error) = aggregate.sample(&now.workers())
        {
            complain(format!("--bandwidth-log: {error}"));
            self.aggregate = None;
        }
        if let Some(act) = self.act.as_mut().filter(|act| act.is_due(now.elapsed_ns())) {
            act.end_slice(&now.measurement());
        }
        if self.status.as_mut().is_some_and(Interval::is_due) {
            let mut so_far = self.done.clone();
            so_far.phases.push(now.measurement());
            self.clear();
            if self.reporter.so_far(&so_far).is_err() {
                // `write` has reported the error. Do not try again.
                self.status = None;
            }
        }
    }

    fn op_log(&mut self, _phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        let start_unix_ms = self.reporter.phase_starts_unix_ms.last().copied().unwrap_or_else(unix_ms);
        let group = worker.rsplit_once('/').map_or(worker, |(group, _)| group);
        let copy = self.lowered.jobs.iter().find(|copy| copy.group_name == group);
        match copy.filter(|_| self.fio.invocation.debug.io) {
            None => self.logs.write(worker, start_unix_ms, ops),
            Some(copy) => {
                let output = &mut self.reporter.output;
                let mut ops = DebugOps::new(ops, copy, |text| output.debug(text));
                self.logs.write(worker, start_unix_ms, &mut ops);
                // Drain the ops if there are no logs.
                ops.for_each(drop);
            }
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        if let Some(idle) = &mut self.reporter.idle {
            idle.ends();
        }
        if let Some(table) = self.act.as_mut().and_then(|act| act.end(measured)) {
            self.clear();
            self.reporter.output.debug(&table);
        }
        self.done.phases.push(measured.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Protects: a job without a time limit gets a predicted end from the bytes that it has moved so far.
    #[test]
    fn the_end_of_a_job_is_predicted_from_its_bytes() {
        let stream = plumb_workload::blocks::fio::Stream {
            loops: 4,
            ..plumb_document::json::from_value(serde_json::json!({
                "read-percent": 100,
                "order": { "sequential": {} },
                "sizes": { "read": "4KiB", "write": "4KiB", "trim": "4KiB" },
                "align": { "read": 0, "write": 0, "trim": 0 },
                "seed": 1,
                "worker-number": 1,
                "ranges": [{ "start": 0, "length": "1MiB" }],
            }))
            .unwrap()
        };
        let mut group = WorkerGroup::new("data", stream);
        group.name = Some("a".to_owned());
        let workload: Workload =
            plumb_document::json::from_value(serde_json::json!({ "name": "w", "target": {}, "phase": [] })).unwrap();
        assert_eq!(bytes_of(&workload, &group), Some(4 << 20));
        let moved = |bytes| [(OpKind::Read, Moved { count: bytes / 4096, bytes })].into();
        let worker = |state, bytes| WorkerNow { name: "a/0".to_owned(), state, measured_ns: 1_000, ops: moved(bytes) };
        let phase = Phase::new("main", vec![group]);
        assert_eq!(left_ns(&workload, &phase, &[worker(WorkerState::Running, 1 << 20)], 1_000), Some(3_000));
        assert_eq!(left_ns(&workload, &phase, &[worker(WorkerState::Running, 0)], 1_000), None, "nothing is known yet");
        let mut timed = phase.clone();
        timed.workers[0].limit.time = Some(Nanos(2_500));
        assert_eq!(left_ns(&workload, &timed, &[worker(WorkerState::Running, 1 << 20)], 1_000), Some(1_500));
        assert_eq!(left_ns(&workload, &phase, &[worker(WorkerState::Over, 4 << 20)], 4_000), None);
    }

    #[test]
    fn equal_states_are_counted() {
        assert_eq!(condensed(&['R', 'R', '_', 'P']), "R(2),_(1),P(1)");
    }
}
