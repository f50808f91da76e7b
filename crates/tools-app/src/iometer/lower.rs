//! Lowers a test to a workload.

use super::config::{Config, Line, Spec, Worker};
use super::series::Test;
use plumb_workload::blocks::accesses::Accesses;
use plumb_workload::files::{FileRules, JobFiles, Names, PrepareFiles};
use plumb_workload::pace::ThinkTime;
use plumb_workload::phase::{ClockScope, End, Flush, OnError, Phase, Stop};
use plumb_workload::{
    Backend, BlockStream, BufferContent, Bytes, CachePolicy, Nanos, Pace, Target, WorkerGroup, Workload,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const SECTOR: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// The file or device of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub path: PathBuf,
    /// Current length, bytes; `None` if the file does not exist.
    pub length: Option<u64>,
    /// Whether it is a device, which cannot grow.
    pub is_device: bool,
}

/// Error from lowering a test.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWorkload {
    /// IOMeter would fill the disk.
    #[error(
        "worker `{worker}`: '{path}' does not exist, and a maximum size of 0 would fill the disk; set `Disk maximum size` to a number \
         of sectors of 512 bytes"
    )]
    FillsDisk { worker: String, path: String },
    /// The worker starts beyond the end of the target.
    #[error("worker `{worker}`: '{path}' has {length} bytes, and the worker begins at byte {start} of it")]
    Outside {
        worker: String,
        path: String,
        /// Length of the target, bytes.
        length: u64,
        /// First byte of the worker.
        start: u64,
    },
    /// The lines of a specification have different delays or bursts, which one worker cannot have.
    #[error(
        "`{spec}`: its lines have different delays or bursts, which is not supported; make them equal, or set the delay to 0"
    )]
    Delays { spec: String },
    /// The test would never end.
    #[error("the run time is 0; set hours, minutes and seconds below `'Run Time`")]
    NoTime,
}

/// One worker's work on one target, in the order of a test's groups.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    pub worker: usize,
    pub of: &'a Worker,
    /// The target, as the file names it.
    pub target: &'a str,
    pub spec: &'a Spec,
    pub depth: u64,
}

/// Returns the parts of a test.
pub fn parts<'a>(config: &'a Config, test: &'a Test) -> impl Iterator<Item = Part<'a>> {
    config.workers.iter().enumerate().zip(&test.targets).flat_map(move |((worker, of), &targets)| {
        let spec = of.specs.get(test.spec_number).map(|&number| &config.specs[number]);
        let used =
            spec.into_iter().flat_map(move |spec| of.targets.iter().take(targets).map(move |target| (spec, target)));
        used.map(move |(spec, target)| Part { worker, of, target, spec, depth: test.depth.unwrap_or(of.depth) })
    })
}

/// Lowers a test. `place` returns the file or device of a target.
///
/// # Errors
/// A target has no size, or the worker starts beyond its end.
pub fn lower(
    config: &Config,
    test: &Test,
    place: impl Fn(&str) -> Place,
    time_seed: u64,
) -> Result<Workload, NoWorkload> {
    if config.setup.run_s == 0 {
        return Err(NoWorkload::NoTime);
    }
    let mut target: BTreeMap<String, Target> = BTreeMap::new();
    let mut groups = Vec::new();
    let mut seed = None;
    let mut reached: Vec<(PathBuf, u64)> = Vec::new();
    for (number, part) in parts(config, test).enumerate() {
        let Part { of: worker, spec, depth, .. } = part;
        let Place { path, length, is_device } = place(part.target);
        let start = worker.first_sector * SECTOR;
        let asked = (worker.sectors > 0).then(|| worker.sectors * SECTOR);
        let end = match (asked.map(|bytes| start + bytes), length) {
            (Some(end), Some(length)) if is_device => end.min(length),
            (Some(end), _) => end,
            (None, Some(length)) => length,
            (None, None) => {
                let path = path.display().to_string();
                return Err(NoWorkload::FillsDisk { worker: worker.name.clone(), path });
            }
        };
        if end <= start {
            let (worker, path) = (worker.name.clone(), path.display().to_string());
            return Err(NoWorkload::Outside { worker, path, length: end, start });
        }
        seed = seed.or(worker.seed);
        // A file is as long as the worker that reaches furthest needs.
        let place = reached.iter().position(|(known, _)| *known == path).unwrap_or(reached.len());
        if place == reached.len() {
            reached.push((path, 0));
        }
        let (path, longest) = &mut reached[place];
        *longest = end.max(*longest);
        let lengths = if is_device { Vec::new() } else { vec![Bytes(*longest)] };
        let name = format!("target-{}", place + 1);
        target.insert(
            name.clone(),
            Target::JobFiles(JobFiles {
                names: Names::Given(vec![path.clone()]),
                lengths,
                typed: Vec::new(),
                make_below: None,
            }),
        );
        let accesses = Accesses {
            lines: spec.lines.iter().map(|line| line.access).collect(),
            start: Bytes(start),
            length: Bytes(end - start),
            sector: Bytes(SECTOR),
        };
        groups.push(WorkerGroup {
            name: Some(format!("worker-{}.{}", part.worker + 1, number + 1)),
            depth: depth as u32,
            backend: if depth == 1 { Backend::Psync } else { Backend::Auto },
            pace: pace(spec)?,
            content: Some(content(worker.pattern)),
            files: FileRules {
                prepare: PrepareFiles { write: true, ..PrepareFiles::default() },
                direct: true,
                drop_cached: false,
                ..FileRules::default()
            },
            on_error: OnError::Continue,
            ..WorkerGroup::new(name, BlockStream::from(accesses))
        });
    }
    let phase = Phase {
        cache: CachePolicy::Direct,
        ramp: Nanos(config.setup.ramp_s * SECOND_NS),
        stop: Stop { time: Some(Nanos(config.setup.run_s * SECOND_NS)), ..Stop::default() },
        end: End { flush: Flush::None, clock: ClockScope::Inside },
        ..Phase::new("test", groups)
    };
    let description = "A test of an IOMeter configuration file.".to_owned();
    let seed = seed.unwrap_or(time_seed);
    Ok(Workload { name: "iometer".to_owned(), description, seed, target, phase: vec![phase], repeat: None })
}

/// Returns the contents of writes.
fn content(pattern: u64) -> BufferContent {
    let nothing = BufferContent { scramble: false, ..BufferContent::default() };
    match pattern {
        // IOMeter repeats one byte, a different one in each write.
        0 => BufferContent { refill: true, refill_percent: 0, ..nothing },
        1 => nothing,
        _ => BufferContent { refill: true, ..nothing },
    }
}

/// Returns the pace. A delay before each burst is the same as a delay between bursts.
fn pace(spec: &Spec) -> Result<Pace, NoWorkload> {
    let waits = |line: &Line| {
        let ops = u64::from(line.access.burst) * if line.access.reply.0 > 0 { 2 } else { 1 };
        (line.delay_ms, ops)
    };
    let mut lines = spec.lines.iter().filter(|line| line.access.percent > 0);
    let Some(first) = lines.clone().next().map(waits) else { return Ok(Pace::default()) };
    if spec.lines.iter().all(|line| line.delay_ms == 0) {
        return Ok(Pace::default());
    }
    if lines.any(|line| waits(line) != first) {
        return Err(NoWorkload::Delays { spec: spec.name.clone() });
    }
    let (delay_ms, ops) = first;
    let pause = ThinkTime { at_once: true, ..ThinkTime::every(ops, Nanos(delay_ms * 1_000_000)) };
    Ok(Pace { think: (delay_ms > 0).then_some(pause), ..Pace::default() })
}
