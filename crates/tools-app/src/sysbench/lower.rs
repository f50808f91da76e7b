//! Lowers settings to workloads.

use super::settings::{Command, IoMode, SysbenchSettings, TestMode};
use plumb_workload::blocks::requests::{RequestFlush, RequestOps, Requests};
use plumb_workload::content::BufferContent;
use plumb_workload::files::{Allocation, AtOpen, FileRules, JobFiles, Names, OpenMode, PrepareFiles};
use plumb_workload::phase::{End, Flush, Stop};
use plumb_workload::program::{
    MissingFile, Moves, OpenPromise, OpenStep, Pick, Program, ProgramContent, RecordOrder, ScratchTarget, SegmentOrder,
    Segments, Step, Transfer,
};
use plumb_workload::verify::{StampLayout, Verify, VerifyMethod};
use plumb_workload::{
    Arrival, Backend, BlockStream, Bytes, CachePolicy, Nanos, Pace, PerSecond, Phase, Target, Work, WorkerGroup,
    Workload,
};
use std::collections::BTreeMap;

/// Pattern of sysbench's file names, with `{}` for the number.
const NAMES: &str = "test_file.{}";

const TARGET: &str = "files";

/// Returns the name of a file.
pub fn file_name(number: u32) -> String {
    NAMES.replace("{}", &number.to_string())
}

fn names(settings: &SysbenchSettings) -> Names {
    Names::Numbered { path: NAMES.into(), count: settings.files.count, per_directory: None }
}

fn workload(phase: Phase, target: Target, seed: u64) -> Workload {
    Workload {
        name: "sysbench".to_owned(),
        description: "sysbench's file test.".to_owned(),
        seed,
        target: BTreeMap::from([(TARGET.to_owned(), target)]),
        phase: vec![phase],
        repeat: None,
    }
}

/// Returns the workload of a command line. `lengths` are those of existing files. `seed` is used
/// unless the user gives one.
pub fn lower(settings: &SysbenchSettings, lengths: &[Option<u64>], seed: u64) -> Workload {
    let seed = if settings.seed == 0 { seed } else { settings.seed };
    match settings.command {
        Command::Prepare => prepare(settings, lengths, seed),
        Command::Cleanup => {
            let remove = |number| Step::Unlink { file: Pick::Nth(number), missing: MissingFile::Passes };
            of_steps(settings, "cleanup", (0..settings.files.count).map(remove).collect(), seed)
        }
        Command::Run(mode) => run(settings, mode, seed),
    }
}

fn of_steps(settings: &SysbenchSettings, name: &str, steps: Vec<Step>, seed: u64) -> Workload {
    let group = WorkerGroup::new(TARGET, Work::Program(Box::new(Program::new(steps))));
    let phase = Phase { end: NO_FLUSH, ..Phase::new(name, vec![group]) };
    let target = Target::Scratch(ScratchTarget { path: Default::default(), names: names(settings), typed: Vec::new() });
    workload(phase, target, seed)
}

const NO_FLUSH: End = End { flush: Flush::None, clock: plumb_workload::phase::ClockScope::Inside };

/// Returns the missing part of a file: its start, and its number of block-sized requests.
fn lacking(settings: &SysbenchSettings, there: Option<u64>) -> (u64, u64) {
    let from = there.unwrap_or(0);
    (from, settings.file_bytes().saturating_sub(from).div_ceil(settings.requests.block))
}

fn prepare(settings: &SysbenchSettings, lengths: &[Option<u64>], seed: u64) -> Workload {
    let promise = match (settings.files.sync, settings.files.dsync) {
        (true, _) => OpenPromise::Sync,
        (_, true) => OpenPromise::Dsync,
        _ => OpenPromise::Plain,
    };
    let mut steps = Vec::new();
    for number in 0..settings.files.count {
        let (from, count) = lacking(settings, lengths.get(number as usize).copied().flatten());
        steps.push(Step::Open(OpenStep {
            file: Pick::Nth(number),
            write: true,
            create: true,
            direct: settings.files.direct,
            promise,
            mode: 0o600,
            ..OpenStep::default()
        }));
        if count > 0 {
            let mut transfer = Transfer::forward(Moves::Write, Bytes(settings.requests.block), count);
            if from > 0 && settings.requests.validates {
                // Trailers contain the offset of a block in its file.
                let block = Bytes(settings.requests.block.saturating_mul(count));
                let order = SegmentOrder::default();
                transfer.order =
                    RecordOrder::Segments(Segments { first: Bytes(from), block, stride: block, count: 1, order });
            } else if from > 0 {
                steps.push(Step::Seek { handle: 0, to: Bytes(from) });
            }
            steps.push(Step::Transfer(transfer));
        }
        steps.extend([Step::Fsync { handle: 0 }, Step::Close { handle: 0 }]);
    }
    let mut workload = of_steps(settings, "prepare", steps, seed);
    if let Some(Work::Program(program)) = workload.phase[0].workers.first_mut().map(|group| &mut group.work) {
        program.content = match settings.requests.validates {
            true => ProgramContent::Sysbench { block: Bytes(settings.requests.block) },
            false => ProgramContent::Zeros,
        };
    }
    workload
}

/// Returns the pace. A rate applies to the events of all threads. If each write is flushed, the flush
/// belongs to the write's event.
fn pace(settings: &SysbenchSettings, mode: TestMode) -> Pace {
    if settings.limits.rate == 0 {
        return Pace::default();
    }
    let writes = match mode {
        TestMode::Read | TestMode::RandomRead => 0.0,
        TestMode::RandomMix => 1.0 / (1.0 + settings.requests.ratio),
        TestMode::Create | TestMode::Rewrite | TestMode::RandomWrite => 1.0,
    };
    let ops_per_event = if settings.flush.each { 1.0 + writes } else { 1.0 };
    Pace::open(PerSecond(f64::from(settings.limits.rate) * ops_per_event), Arrival::Poisson, true)
}

fn run(settings: &SysbenchSettings, mode: TestMode, seed: u64) -> Workload {
    let requests = Requests {
        does: match mode {
            TestMode::Create | TestMode::Rewrite | TestMode::RandomWrite => RequestOps::Write,
            TestMode::Read | TestMode::RandomRead => RequestOps::Read,
            TestMode::RandomMix => RequestOps::Mix { reads_per_write: settings.requests.ratio },
        },
        random: mode.is_random(),
        block: Bytes(if mode.is_random() { settings.requests.block } else { settings.request_bytes() }),
        file_bytes: Bytes(settings.file_bytes()),
        flush: RequestFlush {
            every: settings.flush.every,
            each: settings.flush.each,
            data_only: settings.flush.data_only,
            at_end: settings.flush.at_end,
        },
        most: (settings.limits.events > 0).then_some(settings.limits.events),
    };
    let creates = mode == TestMode::Create;
    let group = WorkerGroup {
        name: Some("threads".to_owned()),
        count: settings.threads,
        backend: match settings.requests.io {
            IoMode::Sync => Backend::Psync,
            IoMode::Mmap => Backend::Mmap,
            IoMode::Async => Backend::Libaio { userspace_reap: false, vectored: false, nowait: false },
        },
        depth: if settings.requests.io == IoMode::Async { settings.requests.backlog } else { 1 },
        pace: pace(settings, mode),
        // Each block of a merged request has its own trailer.
        verify: settings.requests.validates.then(|| Verify {
            layout: StampLayout::Sysbench,
            interval: Some(Bytes(settings.requests.block)),
            ..Verify::new(VerifyMethod::Crc32)
        }),
        content: Some(BufferContent { zero: true, scramble: false, ..BufferContent::default() }),
        files: FileRules {
            prepare: PrepareFiles {
                create: creates,
                allocation: Allocation::None,
                later: creates,
                ..PrepareFiles::default()
            },
            direct: settings.files.direct,
            open_mode: match (settings.files.sync, settings.files.dsync) {
                (true, _) => OpenMode::Sync,
                (_, true) => OpenMode::Dsync,
                _ => OpenMode::Plain,
            },
            drop_cached: false,
            at_open: AtOpen {
                empty: creates,
                // A write through a mapping cannot extend the file.
                to_length: creates && settings.requests.io == IoMode::Mmap,
                ..AtOpen::default()
            },
            ..FileRules::default()
        },
        ..WorkerGroup::new(TARGET, BlockStream::from(requests))
    };
    let phase = Phase {
        cache: if settings.files.direct { CachePolicy::Direct } else { CachePolicy::AsIs },
        stop: Stop {
            time: (settings.limits.time_s > 0).then(|| Nanos(settings.limits.time_s.saturating_mul(1_000_000_000))),
            ..Stop::default()
        },
        end: NO_FLUSH,
        ..Phase::new("run", vec![group])
    };
    let files = JobFiles {
        names: names(settings),
        lengths: vec![Bytes(settings.file_bytes())],
        typed: Vec::new(),
        make_below: None,
    };
    workload(phase, Target::JobFiles(files), seed)
}
