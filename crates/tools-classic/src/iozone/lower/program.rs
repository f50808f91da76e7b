//! The calls of one pass, as strace shows IOzone's.

use crate::iozone::pass::Pass;
use crate::iozone::settings::{IozoneSettings, Telemetry, WrittenContent};
use crate::iozone::sweep::SizePoint;
use plumb_workload::program::{
    Detours, LockKind, MapStep, MissingFile, Moves, OpenPromise, OpenStep, Pauses, Pick, ProgramContent, ProgramMemory,
    RecordOrder, Rest, Shuffle, StdioBuffer, Step, Transfer, Via,
};
use plumb_workload::{Bytes, Distribution, Nanos, Program};

/// Size of a page, which has a word at its start that is written and checked.
const PAGE_BYTES: u64 = 4096;

/// Memory of `-m` in bytes.
const MANY_BUFFERS_BYTES: u64 = 16 << 20;

/// Records between the extra reads of `-K`.
const DETOUR_RECORDS: u64 = 100;

/// One pass of one process.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassStep {
    pub(super) pass: Pass,
    pub(super) point: SizePoint,
    /// `None` for the process's own file.
    pub(super) file: Option<Pick>,
    /// Whether this is the first pass on its file.
    pub(super) first: bool,
    /// Whether this is the last pass on its file.
    pub(super) last: bool,
    pub(super) in_throughput: bool,
    pub(super) in_mix: bool,
}

impl PassStep {
    fn file(&self) -> Pick {
        self.file.unwrap_or(Pick::Own)
    }

    fn count(&self) -> u64 {
        self.point.file_kb.saturating_mul(1024) / self.point.record_bytes
    }

    fn bytes(&self) -> u64 {
        self.count() * self.point.record_bytes
    }
}

/// Returns the program of a pass, and its uncounted pause in nanoseconds.
pub(super) fn lower_pass(settings: &IozoneSettings, step: &PassStep) -> (Program, u64) {
    let transfer = transfer(settings, step);
    let paused_ns = transfer.paused().0;
    let uncounted_ns = if settings.timing.compute_counts { 0 } else { paused_ns };
    let mapped = settings.calls.mapped.is_some();
    let mut steps = vec![Step::Transfer(transfer)];
    let mut after = Vec::new();
    // `fread` ends without a flush, even if one was requested.
    let reads_stream = matches!(step.pass, Pass::Fread | Pass::Refread);
    let flush = || match mapped {
        true => Step::Msync { handle: 0 },
        false => Step::Fsync { handle: 0 },
    };
    let mut ending = Vec::new();
    if settings.timing.flush && !reads_stream {
        ending.push(flush());
    }
    if locks(settings, step) {
        // Writes of one process are flushed under the lock; reads, and writes of several processes, are not.
        let place = if step.pass.writes() && !step.in_throughput { ending.len() } else { 0 };
        ending.insert(place, Step::Lock { handle: 0, kind: LockKind::None });
    }
    steps.append(&mut ending);
    if settings.timing.close {
        if mapped {
            steps.push(Step::Unmap { handle: 0 });
        }
        steps.push(Step::Close { handle: 0 });
    } else {
        if !reads_stream {
            after.push(flush());
        }
        if mapped {
            after.push(Step::Unmap { handle: 0 });
        }
        after.push(Step::Close { handle: 0 });
    }
    if step.in_throughput {
        after.push(Step::Sync {});
    }
    if step.last && !settings.files.keep {
        after.push(Step::Unlink { file: step.file(), missing: MissingFile::Passes });
    }
    let program = Program {
        before: before(settings, step),
        steps,
        after,
        content: content(settings),
        memory: memory(settings),
        // Data that this run did not write, or that varies, cannot be verified.
        checks: !matches!(settings.buffers.content, WrittenContent::Theirs | WrittenContent::Reducible { .. })
            && settings.telemetry.writes.is_none()
            && settings.telemetry.reads.is_none(),
        rest: if step.pass.writes() { Rest::All } else { Rest::Calls },
        log_ops: settings.reports.latencies,
        count_transactions: false,
        together: None,
    };
    (program, uncounted_ns)
}

/// IOzone locks files in its first two tests only.
fn locks(settings: &IozoneSettings, step: &PassStep) -> bool {
    settings.calls.locks && matches!(step.pass, Pass::Write | Pass::Rewrite | Pass::Read | Pass::Reread)
}

fn content(settings: &IozoneSettings) -> ProgramContent {
    match settings.buffers.content {
        WrittenContent::Pages(byte) => ProgramContent::Words { byte, every: Bytes(PAGE_BYTES) },
        WrittenContent::Whole(byte) => ProgramContent::Words { byte, every: Bytes(8) },
        WrittenContent::UniqueWords => ProgramContent::UniqueWords { seed: 0 },
        WrittenContent::Reducible { compress, duplicate } => {
            ProgramContent::Reducible { compress_percent: compress, duplicate_percent: duplicate }
        }
        WrittenContent::Theirs => ProgramContent::Zeros,
    }
}

fn memory(settings: &IozoneSettings) -> ProgramMemory {
    ProgramMemory {
        align: Bytes(settings.buffers.cache_bytes.next_power_of_two().clamp(PAGE_BYTES, 1 << 30)),
        spread: settings.buffers.many_buffers.then_some(Bytes(MANY_BUFFERS_BYTES)),
        purge_line: settings.buffers.purge.then_some(Bytes(settings.buffers.line_bytes)),
    }
}

/// Returns the steps before the clock starts.
fn before(settings: &IozoneSettings, step: &PassStep) -> Vec<Step> {
    let mut before = Vec::new();
    if !settings.pace.rest.is_zero() && !step.first {
        before.push(Step::Delay { time: settings.pace.rest });
    }
    if step.first && !step.in_throughput {
        before.extend([Step::Sync {}, Step::Sync {}]);
    }
    before.extend(opening(settings, step));
    before
}

fn open(settings: &IozoneSettings, step: &PassStep) -> OpenStep {
    let reads_only = matches!(
        step.pass,
        Pass::Read
            | Pass::Reread
            | Pass::Backward
            | Pass::Stride
            | Pass::Fread
            | Pass::Refread
            | Pass::Pread
            | Pass::Repread
    ) || (step.pass == Pass::RandomRead && (step.in_throughput || settings.files.existing));
    let creates = match step.pass {
        Pass::RandomRead => !reads_only,
        Pass::RandomWrite | Pass::RecordRewrite | Pass::Pwrite | Pass::Repwrite => true,
        Pass::Write => step.in_throughput,
        Pass::Rewrite => step.in_mix,
        _ => false,
    };
    let promise = if !reads_only || settings.calls.read_promise { settings.calls.promise } else { OpenPromise::Plain };
    OpenStep {
        file: step.file(),
        read: true,
        write: !reads_only,
        create: creates,
        truncate: settings.pattern.truncates_mix && step.in_mix && step.pass == Pass::Rewrite,
        direct: settings.calls.direct,
        promise,
        mode: 0o640,
        ..OpenStep::default()
    }
}

fn opening(settings: &IozoneSettings, step: &PassStep) -> Vec<Step> {
    let file = step.file();
    let fsync = || Step::Fsync { handle: 0 };
    let close = || Step::Close { handle: 0 };
    let made = |mode| OpenStep { file, write: true, create: true, mode, ..OpenStep::default() };
    let open = open(settings, step);
    match step.pass {
        Pass::Fwrite | Pass::Refwrite => {
            let stream = Some(StdioBuffer { bytes: Some(Bytes(step.point.record_bytes)), ..StdioBuffer::default() });
            // Streams use the page cache, even with `-I`, and no synchronous writes.
            let open = OpenStep { stream, direct: false, promise: OpenPromise::Plain, ..open };
            return vec![Step::Open(open), fsync()];
        }
        Pass::Fread | Pass::Refread => {
            let stream = Some(StdioBuffer { bytes: Some(Bytes(step.point.record_bytes)), ..StdioBuffer::default() });
            let open = OpenStep { stream, direct: false, promise: OpenPromise::Plain, ..open };
            let beside = OpenStep { file, handle: 1, read: true, ..OpenStep::default() };
            return vec![Step::Open(open), Step::Open(beside), Step::Fsync { handle: 1 }, Step::Close { handle: 1 }];
        }
        _ => {}
    }
    let mut steps = Vec::new();
    if step.pass == Pass::Write && !step.in_throughput && !settings.files.no_truncate {
        // IOzone first checks whether the file can be created.
        steps.extend([
            Step::Open(made(0o000)),
            Step::Truncate { handle: 0, size: Distribution::Fixed(Bytes(0)) },
            close(),
            Step::Unlink { file, missing: MissingFile::Fails },
            Step::Open(OpenStep { truncate: true, ..made(0o640) }),
            close(),
        ]);
    }
    if step.pass == Pass::Write && !step.in_throughput && settings.files.no_truncate {
        steps.extend([Step::Open(made(0o640)), close()]);
    }
    if step.pass == Pass::Pwrite && step.in_throughput {
        steps.extend([Step::Open(OpenStep { truncate: true, ..made(0o640) }), close()]);
    }
    steps.push(Step::Open(open));
    if locks(settings, step) {
        let kind = if step.pass.writes() { LockKind::Write } else { LockKind::Read };
        steps.push(Step::Lock { handle: 0, kind });
    }
    if settings.calls.mapped.is_some() {
        steps.extend(mapping(settings, step));
    }
    if settings.calls.mixes_io && !step.in_throughput && matches!(step.pass, Pass::Write | Pass::Rewrite) {
        let page = Transfer::forward(Moves::Write, Bytes(PAGE_BYTES), 1);
        steps.extend([Step::Transfer(page), Step::Seek { handle: 0, to: Bytes(0) }]);
    }
    let flushes_first =
        !step.in_throughput && !matches!(step.pass, Pass::RandomRead | Pass::RandomWrite | Pass::Pread | Pass::Repread);
    if flushes_first {
        steps.push(fsync());
    }
    if matches!(step.pass, Pass::Read | Pass::Reread) && !step.in_throughput {
        let record = Transfer::forward(Moves::Read, Bytes(step.point.record_bytes), 1);
        steps.extend([Step::Transfer(record), Step::Seek { handle: 0, to: Bytes(0) }]);
    }
    steps
}

/// Extends a file that is written through a mapping, by writing its last record.
fn mapping(settings: &IozoneSettings, step: &PassStep) -> Vec<Step> {
    let length = Bytes(step.bytes());
    let writes = open(settings, step).write;
    let mut steps = Vec::new();
    let extends = matches!(step.pass, Pass::Write | Pass::Rewrite | Pass::RecordRewrite)
        || (step.pass == Pass::RandomWrite && step.in_throughput);
    if extends {
        let last = step.bytes() - step.point.record_bytes;
        steps.extend([
            Step::Seek { handle: 0, to: Bytes(last) },
            Step::Transfer(Transfer::forward(Moves::Write, Bytes(step.point.record_bytes), 1)),
            Step::Seek { handle: 0, to: Bytes(0) },
        ]);
    }
    steps.push(Step::Map(MapStep { handle: 0, length, write: writes, advice: settings.calls.advice }));
    steps
}

fn transfer(settings: &IozoneSettings, step: &PassStep) -> Transfer {
    let does = if step.pass.writes() { Moves::Write } else { Moves::Read };
    let listed = |telemetry: &Option<Telemetry>| {
        telemetry.as_ref().map(|telemetry| RecordOrder::Listed(telemetry.records.clone()))
    };
    let order = match step.pass {
        Pass::Write | Pass::Rewrite => listed(&settings.telemetry.writes).unwrap_or_default(),
        Pass::Read | Pass::Reread => listed(&settings.telemetry.reads).unwrap_or_default(),
        Pass::RandomRead | Pass::RandomWrite => RecordOrder::Shuffled(Shuffle::Iozone),
        Pass::Backward => RecordOrder::Backward,
        // With async I/O, IOzone reads the file here too.
        Pass::RecordRewrite if settings.calls.aio.is_some() => RecordOrder::Forward,
        Pass::RecordRewrite => RecordOrder::Same,
        Pass::Stride => RecordOrder::Strided { records: settings.pattern.stride.max(1) },
        _ => RecordOrder::Forward,
    };
    let via = match step.pass {
        Pass::Fwrite | Pass::Refwrite | Pass::Fread | Pass::Refread => Via::Stdio,
        Pass::Pwrite | Pass::Repwrite | Pass::Pread | Pass::Repread => Via::Positioned,
        _ => match (settings.calls.mapped, settings.calls.aio) {
            (Some(sync), _) => Via::Mapped { sync },
            (None, Some((depth, copies))) => Via::PosixAio { depth, copies },
            (None, None) => Via::Plain,
        },
    };
    let burst =
        settings.pace.burst.map(|(bytes, time)| Pauses { time, every: (bytes / step.point.record_bytes).max(1) });
    let compute =
        (!settings.pace.compute.is_zero()).then_some(Pauses { time: Nanos(settings.pace.compute.0), every: 1 });
    let in_sequence =
        matches!(via, Via::Plain | Via::Mapped { .. }) && order == RecordOrder::Forward && does == Moves::Read;
    let disturbed = settings.pattern.disturbs && in_sequence && matches!(step.pass, Pass::Read | Pass::Reread);
    let rate = settings.pace.records_per_second.filter(|_| step.in_throughput);
    Transfer {
        spacing: rate.map(|rate| Nanos(1_000_000_000 / u64::from(rate))),
        detours: disturbed.then(|| Detours { every: DETOUR_RECORDS, to: vec![Bytes(0), Bytes(PAGE_BYTES)] }),
        order,
        via,
        locks: settings.calls.record_locks && matches!(via, Via::Plain | Via::Positioned),
        flushes: false,
        pauses: compute.or(burst),
        ..Transfer::forward(does, Bytes(step.point.record_bytes), step.count())
    }
}
