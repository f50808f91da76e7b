//! Follows the tests while they run, and prints each as soon as it is complete.

use plumb_bench::Progress;
use plumb_cli::output;
use plumb_engine::LoggedOp;
use plumb_engine::guard::{OutputFile, Remover};
use plumb_engine::signals::{StopFlag, StopSignal};
use plumb_result::measurement::Fault;
use plumb_result::{PhaseMeasurement, WorkerMeasurement};
use plumb_tools_classic::iozone::lower::{Lowered, LoweredPhase};
use plumb_tools_classic::iozone::print::{Child, MeasuredPass, Round, latency, table, throughput};
use plumb_tools_classic::iozone::{IozoneSettings, Pass, Test, TestMode};
use plumb_tools_run::error::DialectError;
use plumb_workload::{OpKind, Target};
use std::io::Write;
use std::process::Command;
use std::time::Duration;

/// Interval between attempts to unmount, and their maximum number.
const UNMOUNT_EVERY: Duration = Duration::from_secs(1);
const UNMOUNT_TRIES: u32 = 20;

/// Reason why the tests ended early.
#[derive(Debug, Clone, PartialEq)]
pub enum TestFailure {
    /// An op of a pass failed.
    Op(Pass, Box<Fault>),
    Other(String),
}

/// Progress of IOzone's tests.
pub struct IozoneProgress<'a> {
    settings: &'a IozoneSettings,
    pub lowered: &'a Lowered,
    stop: StopFlag,
    number: usize,
    /// Number of printed tests in the current row.
    columns: usize,
    /// All passes so far, each once; its rounds are collected.
    pub measured: Vec<MeasuredPass>,
    pub failure: Option<TestFailure>,
    /// The phase that started last.
    pub begun: Option<&'a LoweredPhase>,
    /// Removes IOzone's files after an interruption.
    pub remover: Remover,
}

impl<'a> IozoneProgress<'a> {
    pub fn new(settings: &'a IozoneSettings, lowered: &'a Lowered, stop: StopFlag) -> IozoneProgress<'a> {
        let scratch = lowered.workload.target.values().filter_map(|target| match target {
            Target::Scratch(scratch) => Some(&scratch.names),
            _ => None,
        });
        let paths = scratch.flat_map(|names| (0..names.count()).filter_map(|number| names.path(number)));
        let remover = Remover::new(&[], paths);
        IozoneProgress {
            settings,
            lowered,
            stop,
            number: 0,
            columns: 0,
            measured: Vec::new(),
            failure: None,
            begun: None,
            remover,
        }
    }

    fn phase(&self) -> Option<&'a LoweredPhase> {
        self.lowered.phases.get(self.number)
    }

    fn fail(&mut self, failure: TestFailure) {
        self.failure.get_or_insert(failure);
        self.stop.request();
    }

    /// Adds a round to its pass.
    fn gather(&mut self, phase: &LoweredPhase, round: Round) {
        let same = |one: &&mut MeasuredPass| {
            one.pass == phase.pass
                && one.point == phase.point
                && one.children == phase.children
                // One round may contain the same size twice.
                && one.rounds.len() == phase.round as usize
        };
        match self.measured.iter_mut().find(same) {
            Some(measured) => measured.rounds.push(round),
            None => self.measured.push(MeasuredPass {
                pass: phase.pass,
                point: phase.point,
                children: phase.children,
                rounds: vec![round],
            }),
        }
    }

    /// Prints complete passes; nothing before the last round.
    fn print_complete(&mut self, phase: &LoweredPhase) -> Result<(), DialectError> {
        if phase.round + 1 < self.settings.repeat {
            return Ok(());
        }
        let text = match self.settings.mode {
            TestMode::Throughput { .. } => self.children_block(phase),
            TestMode::Single(_) | TestMode::Auto(_) => self.columns(phase),
        };
        output::print(&text);
        Ok(())
    }

    fn children_block(&self, phase: &LoweredPhase) -> String {
        let before = self.number.checked_sub(1).and_then(|number| self.lowered.phases.get(number));
        let begins = before.is_none_or(|before| (before.children, before.round) != (phase.children, phase.round));
        let next = self.lowered.phases.get(self.number + 1);
        let ends = next.is_none_or(|next| next.children != phase.children);
        let found = self.measured.iter().rev().find(|one| one.pass == phase.pass && one.children == phase.children);
        let mut text = String::new();
        if begins {
            text.push_str(&throughput::head(self.settings, phase.point));
        }
        if let Some(measured) = found {
            text.push_str(&throughput::block(self.settings, measured));
        }
        if ends {
            text.push_str("\n\n");
        }
        text
    }

    fn columns(&mut self, phase: &LoweredPhase) -> String {
        let of = |phase: &LoweredPhase| Test::ALL.iter().copied().find(|test| test.passes().contains(&phase.pass));
        let next = self.lowered.phases.get(self.number + 1).filter(|next| next.point == phase.point);
        let next = next.filter(|next| next.round == phase.round);
        let restarts = next.is_some_and(|next| of(next) < of(phase));
        if next.is_some_and(|next| of(next) == of(phase)) {
            return String::new();
        }
        let mut text = String::new();
        if self.columns == 0 {
            text.push_str(&table::begin(self.settings, phase.point));
        }
        let table = self.settings.table();
        let until = match next {
            Some(_) if !restarts => table.iter().position(|test| Some(*test) == of(phase)).map_or(0, |at| at + 1),
            _ => table.len(),
        };
        let find = |pass: Pass| {
            let all = self.measured.iter().rev();
            let mut same = all.filter(|one| one.pass == pass && one.point == phase.point);
            same.next().map(|one| one.whole_rate(self.settings.reports.rate))
        };
        for test in table.iter().take(until).skip(self.columns) {
            text.push_str(&table::columns(self.settings, *test, &find));
        }
        self.columns = until;
        if until == table.len() {
            text.push('\n');
            self.columns = 0;
        }
        text
    }

    /// Empties the cache by remounting, as IOzone does.
    fn remount(&mut self, mount: &str) {
        let run = |program: &str| Command::new(program).arg(mount).output();
        for attempt in 1..=UNMOUNT_TRIES {
            match run("umount") {
                Ok(done) if done.status.success() => break,
                Ok(done) if attempt == UNMOUNT_TRIES => {
                    let reason = String::from_utf8_lossy(&done.stderr).into_owned();
                    return self.fail(TestFailure::Other(format!("-U {mount}: {}", reason.trim_end())));
                }
                Ok(_) => {
                    self.stop.sleep(UNMOUNT_EVERY);
                }
                Err(error) => return self.fail(TestFailure::Other(format!("-U {mount}: umount: {error}"))),
            }
        }
        match run("mount") {
            Ok(done) if done.status.success() => {}
            Ok(done) => {
                let reason = String::from_utf8_lossy(&done.stderr).into_owned();
                self.fail(TestFailure::Other(format!("-U {mount}: {}", reason.trim_end())));
            }
            Err(error) => self.fail(TestFailure::Other(format!("-U {mount}: mount: {error}"))),
        }
    }

    /// Appends the histograms of each child to its file.
    fn histograms(&self, phase: &LoweredPhase, measured: &PhaseMeasurement) -> Result<(), DialectError> {
        for (number, worker) in (0..).zip(&measured.workers) {
            let Some(moved) = worker.ops.get(&kind_of(worker, phase.pass)) else { continue };
            // If a bucket lies across a band's end, its ops count in the band where it begins.
            let below = |end_us: u64| {
                let end_ns = end_us.saturating_mul(1000);
                moved.service.buckets().filter(|bucket| bucket.lowest <= end_ns).map(|bucket| bucket.count).sum()
            };
            let name = format!("Iozone_histogram_child_{number}.txt");
            let text = latency::histogram(phase.pass, number, &below);
            OutputFile::made_up("the histogram", &name).append_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the latencies of a worker to its file.
    fn latencies(&self, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) -> Result<(), DialectError> {
        let Some(phase) = self.phase().filter(|phase| !phase.is_silent) else { return Ok(()) };
        let child = (phase.children > 0).then(|| worker_number(worker));
        let Some(name) = latency::file(phase.pass, child) else { return Ok(()) };
        let mut written = || -> std::io::Result<()> {
            let mut file = std::io::BufWriter::new(OutputFile::made_up("the latencies", &name).create()?);
            file.write_all(latency::HEAD.as_bytes())?;
            let mut real_ns = 0;
            for op in ops.filter(|op| op.kind.moves_bytes()) {
                let latency_ns = op.complete_ns.saturating_sub(op.submit_ns);
                real_ns += latency_ns;
                file.write_all(latency::line(op.offset, latency_ns, op.length).as_bytes())?;
            }
            // IOzone reads CPU times around single ops, and gets 0.
            file.write_all(latency::tail(0.0, 0.0, real_ns as f64 / 1e9).as_bytes())?;
            file.flush()
        };
        written().map_err(DialectError::file(name))
    }
}

/// Returns the number at the end of a worker's name: `child/3`, or `child3/0`.
fn worker_number(worker: &str) -> u32 {
    let (group, number) = worker.rsplit_once('/').unwrap_or((worker, "0"));
    let of_group = group.trim_start_matches(|c: char| !c.is_ascii_digit());
    of_group.parse().or_else(|_| number.parse()).unwrap_or(0)
}

/// Returns the kind of op of a worker's pass: children of the mix differ.
fn kind_of(worker: &WorkerMeasurement, pass: Pass) -> OpKind {
    match pass {
        Pass::Mix if worker.ops.contains_key(&OpKind::Write) => OpKind::Write,
        Pass::Mix => OpKind::Read,
        pass if pass.writes() => OpKind::Write,
        _ => OpKind::Read,
    }
}

fn child(worker: &WorkerMeasurement, phase: &LoweredPhase) -> Child {
    let kind = kind_of(worker, phase.pass);
    let moved = worker.ops.get(&kind);
    let elapsed_ns = worker.spent_ns.get(&kind).copied().unwrap_or(worker.wall_ns);
    Child {
        bytes: moved.map_or(0, |moved| moved.bytes),
        ops: moved.map_or(0, |moved| moved.count),
        elapsed_ns: elapsed_ns.saturating_sub(phase.uncounted_ns).max(1),
        cpu_ns: worker.cpu_user_ns + worker.cpu_system_ns,
    }
}

fn round(measured: &PhaseMeasurement, phase: &LoweredPhase) -> Round {
    let children: Vec<Child> = measured.workers.iter().map(|worker| child(worker, phase)).collect();
    let sum = |of: fn(&Child) -> u64| children.iter().map(of).sum();
    Round {
        bytes: sum(|child| child.bytes),
        ops: sum(|child| child.ops),
        elapsed_ns: children.iter().map(|child| child.elapsed_ns).max().unwrap_or(0),
        cpu_ns: sum(|child| child.cpu_ns),
        children,
        parent_ns: measured.wall_ns,
    }
}

impl Progress for IozoneProgress<'_> {
    fn phase_begins(&mut self, _phase: &str) {
        self.begun = self.phase();
        if let Some(mount) = &self.settings.files.remount {
            self.remount(mount);
        }
    }

    fn op_log(&mut self, _phase: &str, worker: &str, ops: &mut dyn Iterator<Item = LoggedOp>) {
        if let Err(error) = self.latencies(worker, ops) {
            self.fail(TestFailure::Other(error.to_string()));
        }
    }

    fn phase_ended(&mut self, measured: &PhaseMeasurement) {
        let Some(phase) = self.phase() else { return };
        if self.stop.signal().is_some_and(|signal| signal != StopSignal::Program) {
            // A test that a signal interrupted has no result.
            return;
        }
        if let Some(fault) = measured.faults.first() {
            self.fail(TestFailure::Op(phase.pass, Box::new(fault.clone())));
        } else if let Some(reason) = measured.workers.iter().find_map(|worker| worker.ended_by.clone()) {
            self.fail(TestFailure::Other(reason));
        } else if measured.short_count > 0 {
            self.fail(TestFailure::Other(format!("{}: a record ended before its end", phase.pass.slug())));
        } else if !phase.is_silent {
            self.gather(phase, round(measured, phase));
        }
        if self.failure.is_none() {
            let stored = match self.settings.reports.histograms && phase.children > 0 {
                true => self.histograms(phase, measured),
                false => Ok(()),
            };
            if let Err(error) = stored.and_then(|()| self.print_complete(phase)) {
                self.fail(TestFailure::Other(error.to_string()));
            }
        }
        self.number += 1;
    }
}
