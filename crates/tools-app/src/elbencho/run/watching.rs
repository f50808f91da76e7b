//! Follows the phases: reports each one as it ends, and does elbencho's actions between phases.

use super::between;
use super::complain;
use super::led::ServiceReports;
use super::outputs::{MachineTicks, Outputs, ResultFile, date, uuid};
use super::phase_watch::{LOOK_NS, PhaseWatch, faults, rank};
use jiff::{SignedDuration, Timestamp};
use plumb_bench::{HostReport, Progress};
use plumb_cli::output::{self, error_line, error_text};
use plumb_engine::signals::StopFlag;
use plumb_engine::{LoggedOp, PhaseNow, WorkerNow, WorkerState};
use plumb_result::PhaseMeasurement;
use plumb_tools_app::elbencho::lower::{Lowered, LoweredPhase, PhaseKind};
use plumb_tools_app::elbencho::print::live::{self, LiveMoment, LiveSide, LiveThread};
use plumb_tools_app::elbencho::print::ops::{self, LoggedCall, Moment as OpMoment};
use plumb_tools_app::elbencho::print::{Both, PhaseContext, PhaseReport, WorkDone, of_services, table};
use plumb_tools_app::elbencho::{ElbenchoSettings, Live};
use plumb_tools_run::error::DialectError;
use plumb_workload::{OpKind, Target as WorkloadTarget, WorkerGroup};
use std::io::IsTerminal;

/// Follows the phases while they run.
pub struct ElbenchoProgress<'a> {
    settings: &'a ElbenchoSettings,
    lowered: &'a Lowered,
    command: &'a [String],
    outputs: Outputs,
    ops_log: Option<ResultFile>,
    live_csv: Option<LiveRows>,
    shown: Live,
    stop: StopFlag,
    /// Index of the current phase.
    number: usize,
    watch: PhaseWatch,
    /// The services that run the phases; empty if this process does.
    services: &'a [String],
    /// The services' reports on the finished phase.
    host_reports: Vec<HostReport>,
    /// State at the last progress update.
    last: Last,
    /// Width of the current status line, in characters.
    width: usize,
    failed: bool,
    time_is_over: bool,
}

struct LiveRows {
    file: Option<ResultFile>,
    each_thread: bool,
}

#[derive(Default)]
struct Last {
    at_ns: u64,
    done: WorkDone,
    mixed: WorkDone,
    cpu: MachineTicks,
}

impl<'a> ElbenchoProgress<'a> {
    /// Starts to follow the phases.
    ///
    /// # Errors
    /// A file cannot be created.
    pub fn new(
        settings: &'a ElbenchoSettings,
        lowered: &'a Lowered,
        (command, services): (&'a [String], &'a [String]),
        outputs: Outputs,
        stop: StopFlag,
    ) -> Result<ElbenchoProgress<'a>, DialectError> {
        let output = &settings.output;
        let ops_log = output.ops_log.as_deref().map(|path| ResultFile::open("opslog", path)).transpose()?;
        let live_csv = match &output.live_csv {
            None => None,
            Some(live_csv) => {
                let file = live_csv.path.as_deref().map(|path| ResultFile::open("livecsv", path)).transpose()?;
                let mut rows = LiveRows { file, each_thread: live_csv.each_thread };
                if rows.file.as_ref().is_none_or(ResultFile::is_empty) {
                    rows.add(live::LABELS)?;
                }
                Some(rows)
            }
        };
        let shown = match output.live {
            Live::Auto if std::io::stderr().is_terminal() => Live::OneLine,
            Live::Auto => Live::Off,
            live_csv => live_csv,
        };
        Ok(ElbenchoProgress {
            settings,
            lowered,
            command,
            outputs,
            ops_log,
            live_csv,
            shown,
            stop,
            number: 0,
            watch: PhaseWatch::start(MachineTicks::default()),
            services,
            host_reports: Vec::new(),
            last: Last::default(),
            width: 0,
            failed: false,
            time_is_over: false,
        })
    }

    /// Does the actions before the first phase.
    ///
    /// # Errors
    /// An action failed.
    pub fn begin(&mut self) -> Result<(), DialectError> {
        self.open_iteration(0)?;
        if self.lowered.phases.is_empty() {
            for iteration in 1..self.settings.schedule.iterations {
                self.open_iteration(iteration)?;
            }
        }
        Ok(())
    }

    fn open_iteration(&mut self, iteration: u32) -> Result<(), DialectError> {
        if self.settings.schedule.iterations > 1 {
            let line = format!("[Starting iteration {} of {}...]\n", iteration + 1, self.settings.schedule.iterations);
            self.say(&line)?;
        }
        self.outputs.head(self.settings, self.command)?;
        self.say(&table::head())?;
        self.between()
    }

    /// Returns `true` if the time limit ended a phase.
    pub(crate) fn time_is_over(&self) -> bool {
        self.time_is_over
    }

    pub fn has_failed(&self) -> bool {
        self.failed
    }

    pub fn fail(&mut self) {
        self.failed = true;
    }

    pub fn clear(&mut self) {
        if self.width > 0 {
            output::redraw("\r", &format!("{:width$}", "", width = self.width), "\r");
            self.width = 0;
        }
    }

    /// Prints results; to standard error if progress rows go to standard output.
    ///
    /// # Errors
    /// Standard output cannot be written.
    pub fn say(&mut self, text: &str) -> Result<(), DialectError> {
        self.clear();
        if self.live_csv.as_ref().is_some_and(|rows| rows.file.is_none()) {
            error_text!("{text}");
            return Ok(());
        }
        output::print(text);
        Ok(())
    }

    fn tell(&mut self, report: &PhaseReport) -> Result<(), DialectError> {
        self.say(&table::phase(report, self.settings, &self.lowered.geometry))?;
        self.outputs.phase(report, self.settings, &self.lowered.geometry, self.command)
    }

    /// Does elbencho's actions between phases.
    fn between(&mut self) -> Result<(), DialectError> {
        // Services do these actions and report them.
        if !self.services.is_empty() {
            return Ok(());
        }
        let began = Timestamp::now();
        for step in between::steps(self.lowered.between, &self.settings.paths)? {
            let seen = PhaseContext { date: date(began), id: uuid(), ..PhaseContext::default() };
            self.tell(&PhaseReport::timed(step.kind, seen, step.us))?;
        }
        Ok(())
    }

    /// Returns the current CPU ticks; zero if the paths are simulated.
    fn cpu_times(&self) -> MachineTicks {
        if between::are_simulated(&self.settings.paths) { MachineTicks::default() } else { MachineTicks::now() }
    }

    fn phase(&self) -> Option<&'a LoweredPhase> {
        self.lowered.phases.get(self.number)
    }

    /// Prints the services' errors and the sync before the phase. Returns their merged report and the sync after it.
    fn of_services(&mut self, phase: &LoweredPhase) -> Result<Option<Reported>, DialectError> {
        let mut all = ServiceReports::default();
        for HostReport { number, text } in std::mem::take(&mut self.host_reports) {
            let Some(name) = self.services.get(number as usize) else { continue };
            all.add(name, phase, &text);
        }
        for error in &all.errors {
            self.clear();
            complain(error);
        }
        // Missing services are named at the end.
        self.failed |= !all.errors.is_empty() || all.reports.len() < self.services.len();
        self.print_sync(all.before)?;
        let did_nothing = |report: &PhaseReport| {
            [report.done.last, report.mixed.last].iter().all(|done| *done == WorkDone::default())
        };
        // No row if a service failed before anything was done.
        let report =
            of_services(&all.reports, self.watch.seen()).filter(|report| !(self.failed && did_nothing(report)));
        Ok(report.map(|report| Reported { report, after: all.after }))
    }

    fn print_sync(&mut self, us: Option<Both<u64>>) -> Result<(), DialectError> {
        let Some(us) = us else { return Ok(()) };
        let seen = PhaseContext { date: date(Timestamp::now()), id: uuid(), ..PhaseContext::default() };
        let report = PhaseReport { elapsed_us: us, ..PhaseReport::timed(PhaseKind::Sync, seen, us.last) };
        self.tell(&report)
    }

    fn after_phase(&mut self, measured: &PhaseMeasurement) -> Result<(), DialectError> {
        let Some(phase) = self.phase() else { return Ok(()) };
        let ticks = self.cpu_times();
        let reported = match self.services {
            [] => Some(Reported { report: self.watch.report(phase, measured, ticks), after: None }),
            _ => self.of_services(phase)?,
        };
        if measured.fault_count > 0 {
            self.failed = true;
            self.clear();
            if self.services.is_empty() {
                faults(measured).for_each(complain);
            } else {
                self.stop.request();
            }
            return Ok(());
        }
        if measured.short_count > 0 {
            self.failed = true;
            let what = if phase.kind == PhaseKind::Read { "read" } else { "write" };
            let geometry = &self.lowered.geometry;
            let length = match geometry.tree {
                None => format!("{} bytes", geometry.file_bytes),
                Some(_) => "their list says".to_owned(),
            };
            return Err(DialectError::Short { count: measured.short_count, what, length });
        }
        if let Some(Reported { report, after }) = reported {
            self.tell(&report)?;
            self.print_sync(after)?;
        }
        self.between()?;
        self.number += 1;
        if self.failed {
            self.stop.request();
            return Ok(());
        }
        let limit_ns = self.settings.schedule.time_limit_s.saturating_mul(1_000_000_000);
        if limit_ns > 0 && measured.wall_ns >= limit_ns {
            self.time_is_over = true;
            if self.number < self.lowered.phases.len() {
                self.stop.request();
            }
            return Ok(());
        }
        if let Some(next) = self.phase() {
            if next.opens_iteration {
                self.open_iteration(next.iteration)?;
            } else {
                between::rest(self.lowered.between, &self.settings.paths, self.stop);
            }
        }
        Ok(())
    }

    fn live(&mut self, now: &dyn PhaseNow) -> Option<LiveMoment> {
        let phase = self.phase()?;
        let workers = now.workers();
        let elapsed_ns = now.elapsed_ns();
        let writes = phase.kind == PhaseKind::Write;
        let own = if writes { OpKind::Write } else { OpKind::Read };
        let mixes = phase.mixes;
        let amount = |worker: &WorkerNow, kind: OpKind, entries: bool| {
            let moved = worker.ops.get(&kind).copied().unwrap_or_default();
            let ended_by = if entries { entries_of(phase.kind, worker) } else { 0 };
            WorkDone { entries: ended_by, ios: moved.count, bytes: moved.bytes }
        };
        let add = |a: WorkDone, b: WorkDone| WorkDone {
            entries: a.entries + b.entries,
            ios: a.ios + b.ios,
            bytes: a.bytes + b.bytes,
        };
        let less = |a: WorkDone, b: WorkDone| WorkDone {
            entries: a.entries.saturating_sub(b.entries),
            ios: a.ios.saturating_sub(b.ios),
            bytes: a.bytes.saturating_sub(b.bytes),
        };
        let done = workers.iter().map(|worker| amount(worker, own, true)).fold(WorkDone::default(), add);
        let mixed = workers.iter().map(|worker| amount(worker, OpKind::Read, false)).fold(WorkDone::default(), add);
        let us = elapsed_ns.saturating_sub(self.last.at_ns) / 1000;
        let percent = |done: WorkDone, threads: u64| {
            let (so_far, all) = match phase.bytes_per_thread {
                0 => (done.entries, phase.entries_per_thread),
                bytes => (done.bytes, bytes),
            };
            so_far.saturating_mul(100).checked_div(all.saturating_mul(threads)).unwrap_or(0).min(100)
        };
        let cpu = self.cpu_times();
        let threads = u64::from(self.settings.threads);
        let each_thread = self.live_csv.as_ref().is_some_and(|rows| rows.each_thread);
        let of_thread = |worker: &WorkerNow| {
            let (own, read) = (amount(worker, own, true), amount(worker, OpKind::Read, false));
            LiveThread { done: own, mixed: mixes.then_some(read), percent: percent(own, 1) }
        };
        let side = |done: WorkDone, before: WorkDone| LiveSide {
            done,
            rates: less(done, before).per_second(us),
            percent: percent(done, threads),
            ..LiveSide::default()
        };
        let moment = LiveMoment {
            date: date(Timestamp::now()),
            label: self.settings.output.label.clone().unwrap_or_default(),
            phase: phase.name.clone(),
            runtime_ms: elapsed_ns / 1_000_000,
            total: side(done, self.last.done),
            mixed: mixes.then(|| side(mixed, self.last.mixed)),
            active: workers.iter().filter(|worker| worker.state != WorkerState::Over).count(),
            cpu: cpu.percent_since(self.last.cpu),
            threads: if each_thread { workers.iter().map(of_thread).collect() } else { Vec::new() },
        };
        self.last = Last { at_ns: elapsed_ns, done, mixed, cpu };
        Some(moment)
    }

    fn show(&mut self, moment: &LiveMoment) {
        let line = live::line(moment);
        match self.shown {
            Live::Lines => error_line!("{line}"),
            Live::OneLine => {
                output::redraw("\r", &format!("{line:width$}", width = self.width), "");
                self.width = line.chars().count();
            }
            Live::Auto | Live::Off => {}
        }
    }
}

/// Returns the number of entries that a worker has done.
fn entries_of(kind: PhaseKind, worker: &WorkerNow) -> u64 {
    let op = match kind {
        PhaseKind::MkDirs => OpKind::Mkdir,
        PhaseKind::RmDirs => OpKind::Rmdir,
        PhaseKind::Stat => OpKind::Stat,
        PhaseKind::RmFiles => OpKind::Unlink,
        _ => OpKind::Close,
    };
    worker.ops.get(&op).map_or(0, |moved| moved.count)
}

impl LiveRows {
    fn add(&mut self, text: &str) -> Result<(), DialectError> {
        match &mut self.file {
            Some(file) => file.add(text),
            None => {
                output::print(text);
                Ok(())
            }
        }
    }
}

struct Reported {
    report: PhaseReport,
    /// The services' `sync` after the phase, µs.
    after: Option<Both<u64>>,
}

/// Returns the system call of an op.
fn call_name(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "pread",
        OpKind::Write => "pwrite",
        OpKind::Open => "openat",
        OpKind::Stat => "fstatat",
        OpKind::Mkdir => "mkdirat",
        OpKind::Unlink | OpKind::Rmdir => "unlinkat",
        other => other.name(),
    }
}

impl Progress for ElbenchoProgress<'_> {
    fn clock_starts(&mut self, _phase: &str) {
        let start = self.cpu_times();
        self.watch = PhaseWatch::start(start);
        self.last = Last { cpu: start, ..Last::default() };
    }

    fn tick_ns(&self) -> Option<u64> {
        Some(LOOK_NS.min(self.settings.output.live_interval_ms.saturating_mul(1_000_000)))
    }

    fn tick(&mut self, now: &dyn PhaseNow) {
        let at_ns = now.elapsed_ns();
        let times = self.cpu_times();
        self.watch.sample(at_ns, times);
        let every_ns = self.settings.output.live_interval_ms.saturating_mul(1_000_000);
        // A tick may come slightly early.
        if at_ns.saturating_sub(self.last.at_ns) + LOOK_NS / 10 < every_ns {
            return;
        }
        if self.live_csv.is_none() && matches!(self.shown, Live::Off | Live::Auto) {
            return;
        }
        let Some(moment) = self.live(now) else { return };
        if let Some(rows) = &mut self.live_csv
            && let Err(error) = rows.add(&live::rows(&moment))
        {
            complain(error);
            self.live_csv = None;
        }
        self.show(&moment);
    }

    fn op_log(&mut self, _phase: &str, worker: &str, logged: &mut dyn Iterator<Item = LoggedOp>) {
        let Some(phase) = self.phase() else { return };
        let lowered = &self.lowered.workload;
        // Threads without work have no worker.
        let is_it = |group: &&WorkerGroup| group.name.as_deref() == Some(worker);
        let group = lowered.phase.get(self.number).and_then(|phase| phase.workers.iter().find(is_it));
        let names = group.and_then(|group| match (lowered.target.get(&group.target), group.work.stream()) {
            (Some(WorkloadTarget::JobFiles(files)), Some(_)) => Some(&files.names),
            _ => None,
        });
        let rank = rank(worker);
        let began = self.watch.began;
        let mut failure = None;
        let log = &mut self.ops_log;
        let entries = logged.inspect(|op| {
            let Some(log) = log.as_mut() else { return };
            let path = names.and_then(|names| names.path(op.file as usize)).unwrap_or_default();
            let entry = path.to_string_lossy();
            let call =
                LoggedCall { rank, name: call_name(op.kind), entry: &entry, offset: op.offset, length: op.length };
            let at = |ns: u64| {
                let ns = i64::try_from(ns).unwrap_or(i64::MAX);
                date(began.checked_add(SignedDuration::from_nanos(ns)).unwrap_or(began))
            };
            let end = if op.result.is_ok() { OpMoment::Done } else { OpMoment::Failed };
            let both =
                ops::line(&at(op.submit_ns), &call, OpMoment::Begin) + &ops::line(&at(op.complete_ns), &call, end);
            if let Err(error) = log.add(&both) {
                failure = Some(error);
            }
        });
        self.watch.take(phase, worker, entries);
        if let Some(error) = failure {
            complain(error);
            self.ops_log = None;
        }
    }

    fn receive_reports(&mut self, hosts: Vec<HostReport>) {
        self.host_reports = hosts;
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        if let Err(error) = self.after_phase(measured) {
            self.clear();
            complain(error);
            self.failed = true;
            self.stop.request();
        }
    }
}
