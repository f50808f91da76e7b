//! Lowers the settings to phases: one file, filled once, then each test from its start.

use super::{GetcPutcSettings, GetcPutcTest};
use plumb_workload::files::Names;
use plumb_workload::program::{
    MissingFile, Moves, OpenStep, Pick, Program, ProgramContent, ScratchTarget, StdioBuffer, Step, StreamLocks,
    Transfer, Via,
};
use plumb_workload::{Bytes, ClockScope, End, Flush, Phase, Target, WhenDone, Work, WorkerGroup, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;

const TARGET: &str = "getc-putc";
/// Bytes by which the file grows at a time.
const EXTEND_BYTES: u64 = 1 << 20;
/// Number of single-byte calls reported as one op: the size of the C library's buffer.
const RECORD_BYTES: u64 = 4096;

/// Returns the workload of one run; `pid` is part of the file's name.
pub fn lower(settings: &GetcPutcSettings, pid: u32) -> Workload {
    let names = Names::Made(vec![PathBuf::from(format!("getc_putc.{pid}"))]);
    Workload {
        name: "getc-putc".to_owned(),
        description: "getc_putc of Bonnie++ 2.00a".to_owned(),
        seed: Workload::DEFAULT_SEED,
        target: BTreeMap::from([(
            TARGET.to_owned(),
            Target::Scratch(ScratchTarget { path: PathBuf::new(), names, typed: Vec::new() }),
        )]),
        phase: GetcPutcTest::ALL.iter().copied().map(|test| phase(settings, test)).collect(),
        repeat: None,
    }
}

fn phase(settings: &GetcPutcSettings, test: GetcPutcTest) -> Phase {
    // A worker that fails leaves nothing for the next one.
    let work = Work::Program(Box::new(script(settings, test)));
    let group = WorkerGroup { when_done: WhenDone::RunIfFailed, ..WorkerGroup::new(TARGET, work) };
    Phase { end: End { flush: Flush::None, clock: ClockScope::Inside }, ..Phase::new(test.phase(), vec![group]) }
}

fn script(settings: &GetcPutcSettings, test: GetcPutcTest) -> Program {
    let mut before = vec![open(settings, test)];
    if test == GetcPutcTest::Write {
        before.extend(extension(settings.size_kib as u64 * 1024));
    }
    before.push(Step::Seek { handle: 0, to: Bytes(0) });
    let does = if test.writes() { Moves::Write } else { Moves::Read };
    let bytes = settings.moved_kib(test) as u64 * 1024;
    // Sizes are multiples for which a 64th is whole KiB.
    let record = RECORD_BYTES.min(1 << bytes.trailing_zeros());
    let steps = vec![transfer(does, via(test), record, bytes / record)];
    let mut after = Vec::new();
    if test == GetcPutcTest::Write {
        after.push(Step::Fsync { handle: 0 });
    }
    after.push(Step::Close { handle: 0 });
    if test == GetcPutcTest::GetUnlocked {
        after.push(Step::Unlink { file: Pick::Nth(0), missing: MissingFile::Fails });
    }
    Program { before, after, content: ProgramContent::Ascending, ..Program::new(steps) }
}

fn via(test: GetcPutcTest) -> Via {
    match test {
        GetcPutcTest::Write | GetcPutcTest::Read => Via::Bytes,
        GetcPutcTest::PutUnlocked | GetcPutcTest::GetUnlocked => Via::UnlockedCharacters,
        _ => Via::Characters,
    }
}

fn open(settings: &GetcPutcSettings, test: GetcPutcTest) -> Step {
    let creates = test == GetcPutcTest::Write;
    let locked = matches!(test, GetcPutcTest::Put | GetcPutcTest::Get) && !settings.is_exact;
    let locks = if locked { StreamLocks::Library } else { StreamLocks::None };
    Step::Open(OpenStep {
        file: Pick::Nth(0),
        read: true,
        write: true,
        create: creates,
        truncate: creates,
        mode: 0o600,
        stream: (via(test) != Via::Bytes).then_some(StdioBuffer { bytes: None, locks }),
        ..OpenStep::default()
    })
}

/// Fills the whole file before any test, and flushes it to the device.
fn extension(bytes: u64) -> Vec<Step> {
    let mut steps = Vec::new();
    for (record, count) in [(EXTEND_BYTES, bytes / EXTEND_BYTES), (bytes % EXTEND_BYTES, 1)] {
        if record > 0 && count > 0 {
            steps.push(transfer(Moves::Write, Via::Plain, record, count));
        }
    }
    steps.push(Step::Fsync { handle: 0 });
    steps
}

fn transfer(does: Moves, via: Via, record: u64, count: u64) -> Step {
    Step::Transfer(Transfer { via, ..Transfer::forward(does, Bytes(record), count) })
}
