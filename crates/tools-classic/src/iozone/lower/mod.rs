//! Lowers settings to a workload: each pass of a test is a phase, and each of its processes a program.

mod children;
mod program;

use super::pass::{Pass, Test};
use super::settings::{IozoneSettings, TestMode};
use super::sweep::SizePoint;
use plumb_workload::files::Names;
use plumb_workload::{End, Flush, Phase, RunAs, ScratchTarget, Stop, Target, When, Work, WorkerGroup, Workload};
use program::PassStep;
use std::collections::BTreeMap;
use std::path::PathBuf;

const TARGET: &str = "files";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoweredPhase {
    pub pass: Pass,
    pub point: SizePoint,
    /// Number of processes; 0 for a single-process test.
    pub children: u32,
    pub round: u32,
    /// Whether it runs without being printed, as in IOzone.
    pub is_silent: bool,
    /// Pause of each worker in nanoseconds that IOzone does not count.
    pub uncounted_ns: u64,
}

/// A workload and the meaning of its phases.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    pub workload: Workload,
    /// One entry per phase of the workload.
    pub phases: Vec<LoweredPhase>,
}

/// Turns settings into a workload.
pub fn lower(settings: &IozoneSettings) -> Lowered {
    let mut lowered = Lowered {
        workload: Workload {
            name: "iozone".to_owned(),
            description: String::new(),
            seed: Workload::DEFAULT_SEED,
            target: BTreeMap::from([(TARGET.to_owned(), target(settings))]),
            phase: Vec::new(),
            repeat: None,
        },
        phases: Vec::new(),
    };
    for round in 0..settings.repeat {
        match &settings.mode {
            TestMode::Single(point) => lowered.add_point(settings, *point, round),
            TestMode::Auto(sweep) => sweep.points().for_each(|point| lowered.add_point(settings, point, round)),
            TestMode::Throughput { counts, point, threads } => {
                for &count in counts {
                    let aggregate_kb = (point.file_kb / u64::from(count)).max(1);
                    let file_kb = if settings.files.aggregate { aggregate_kb } else { point.file_kb };
                    let run_as = if *threads { RunAs::Thread } else { RunAs::Process };
                    lowered.add_children(settings, SizePoint { file_kb, ..*point }, count, run_as, round);
                }
            }
        }
    }
    lowered
}

fn target(settings: &IozoneSettings) -> Target {
    let names = match &settings.mode {
        TestMode::Throughput { .. } if !settings.files.files.is_empty() => {
            Names::Given(settings.files.files.iter().map(Into::into).collect())
        }
        TestMode::Throughput { counts, .. } => Names::Numbered {
            path: "iozone.DUMMY.{}".into(),
            count: counts.iter().copied().max().unwrap_or(1),
            per_directory: None,
        },
        // A file with IOzone's default name is test data, even if another program created it.
        TestMode::Single(_) | TestMode::Auto(_) if settings.files.file == "iozone.tmp" => {
            Names::Made(vec![settings.files.file.clone().into()])
        }
        TestMode::Single(_) | TestMode::Auto(_) => Names::Given(vec![settings.files.file.clone().into()]),
    };
    Target::Scratch(ScratchTarget { path: Default::default(), names, typed: Vec::new() })
}

/// Returns the printed passes on each size, in order.
pub fn measured(settings: &IozoneSettings) -> Vec<Pass> {
    match settings.mode {
        TestMode::Throughput { .. } => children::passes(settings),
        TestMode::Single(_) | TestMode::Auto(_) => {
            stream(settings).into_iter().filter(|(_, is_silent)| !is_silent).map(|(pass, _)| pass).collect()
        }
    }
}

/// Returns the passes with a single process, including those that are not printed.
fn stream(settings: &IozoneSettings) -> Vec<(Pass, bool)> {
    let tests = settings.table().iter().filter(|test| settings.includes(**test));
    tests.flat_map(|test| passes(settings, *test)).collect()
}

/// Returns the passes of one test with a single process, including those that are not printed.
fn passes(settings: &IozoneSettings, test: Test) -> Vec<(Pass, bool)> {
    let wanted = |pass: &Pass| {
        let second = pass.repeats() && settings.tests.no_retest;
        let writes = settings.files.existing && pass.writes();
        !second && !writes
    };
    let mut passes: Vec<(Pass, bool)> =
        test.passes().iter().filter(|pass| wanted(pass)).map(|pass| (*pass, false)).collect();
    if test == Test::Backward && !settings.tests.no_retest {
        passes.push((Pass::Backward, true));
    }
    passes
}

/// A row of a table, or the tests with one number of children. If it is skipped, all its passes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Size of each file in KiB.
    pub file_kb: u64,
    /// Number of processes; 0 for a single-process test.
    pub children: u32,
    /// Maximum number of bytes that its tests write to all files.
    pub writes_bytes: u64,
}

impl Lowered {
    /// Returns the rows that write, each once, in order.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for (phase, meaning) in self.workload.phase.iter().zip(&self.phases) {
            let writers = phase.workers.iter().filter(|group| group.work.writes());
            let writes_bytes = writers
                .filter_map(|group| Some(group.work.reach_bytes()?.saturating_mul(group.count.into())))
                .fold(0, u64::saturating_add);
            let (file_kb, children) = (meaning.point.file_kb, meaning.children);
            match rows.iter_mut().find(|row| (row.file_kb, row.children) == (file_kb, children)) {
                Some(row) => row.writes_bytes = row.writes_bytes.max(writes_bytes),
                None => rows.push(Row { file_kb, children, writes_bytes }),
            }
        }
        rows.retain(|row| row.writes_bytes > 0);
        rows
    }

    pub fn leave_out(&mut self, row: &Row) {
        let mut phases =
            self.phases.iter().map(|phase| (phase.point.file_kb, phase.children) != (row.file_kb, row.children));
        self.workload.phase.retain(|_| phases.next().unwrap_or(true));
        self.phases.retain(|phase| (phase.point.file_kb, phase.children) != (row.file_kb, row.children));
    }

    /// Returns the files of all tests.
    pub fn paths(&self) -> Vec<PathBuf> {
        let scratches = self.workload.target.values().filter_map(|target| match target {
            Target::Scratch(scratch) => Some(&scratch.names),
            _ => None,
        });
        scratches.flat_map(|names| (0..names.count()).filter_map(|number| names.path(number))).collect()
    }

    fn push(&mut self, phase: LoweredPhase, workers: Vec<WorkerGroup>, when: When) {
        let LoweredPhase { pass, point, children, round, is_silent, .. } = &phase;
        let records = match point.record_bytes % 1024 {
            0 => format!("{}k", point.record_bytes / 1024),
            _ => format!("{}b", point.record_bytes),
        };
        let mut name = format!("{}-{}k-{records}", pass.slug(), point.file_kb);
        if *children > 0 {
            name.push_str(&format!("-x{children}"));
        }
        if *is_silent {
            name.push_str("-again");
        }
        if *round > 0 {
            name.push_str(&format!("-round{}", round + 1));
        }
        // The same size may be given twice.
        let same = self.workload.phase.iter().filter(|phase| phase.name.split('.').next() == Some(&name)).count();
        if same > 0 {
            name.push_str(&format!(".{}", same + 1));
        }
        self.workload.phase.push(Phase {
            stop: Stop { when, ..Stop::default() },
            end: End { flush: Flush::None, ..End::default() },
            ..Phase::new(name, workers)
        });
        self.phases.push(phase);
    }

    fn add_point(&mut self, settings: &IozoneSettings, point: SizePoint, round: u32) {
        let passes = stream(settings);
        let last = passes.len().saturating_sub(1);
        for (number, (pass, is_silent)) in passes.into_iter().enumerate() {
            let step = PassStep {
                pass,
                point,
                file: None,
                first: number == 0,
                last: number == last,
                in_throughput: false,
                in_mix: false,
            };
            let (program, uncounted_ns) = program::lower_pass(settings, &step);
            let mut group = WorkerGroup::new(TARGET, Work::Program(Box::new(program)));
            if let Some(processor) = settings.children.bind {
                group.cpus = vec![processor];
            }
            let phase = LoweredPhase { pass, point, children: 0, round, is_silent, uncounted_ns };
            self.push(phase, vec![group], When::AllDone);
        }
    }

    fn add_children(&mut self, settings: &IozoneSettings, point: SizePoint, count: u32, run_as: RunAs, round: u32) {
        let passes = children::passes(settings);
        let last = passes.len().saturating_sub(1);
        for (number, pass) in passes.into_iter().enumerate() {
            let place = children::Place { first: number == 0, last: number == last };
            let (groups, uncounted_ns) = children::groups(settings, pass, point, count, run_as, place);
            let phase = LoweredPhase { pass, point, children: count, round, is_silent: false, uncounted_ns };
            let when = if settings.children.stonewall { When::FirstDone } else { When::AllDone };
            self.push(phase, groups, when);
        }
    }
}
