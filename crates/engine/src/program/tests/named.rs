//! Tests of the ops that programs over named files yield.

use crate::op::Seek;
use crate::program::compile::Compiled;
use crate::program::op::{Call, CallOp};
use crate::program::rules::Over;
use crate::program::source::ProgramSource;
use crate::rng::StreamId;
use crate::source::Source;
use plumb_workload::program::{
    Detours, Each, FileOrder, ListedRecord, Moves, Pick, RecordOrder, Shuffle, Step, Transfer, Via,
};
use plumb_workload::{Bytes, Nanos, OpKind};
use std::sync::Arc;

const RECORD: u64 = 100;

fn transfer(does: Moves, count: u64, order: RecordOrder, via: Via) -> Transfer {
    Transfer { order, via, ..Transfer::forward(does, Bytes(RECORD), count) }
}

const STREAM: StreamId = StreamId { seed: 42, phase: 0, worker: 0 };

fn compiled(steps: &[Step]) -> Arc<Compiled> {
    Arc::new(Compiled::new(steps, Over::Names, false).unwrap())
}

fn source(program: &Arc<Compiled>, worker: u32) -> ProgramSource {
    ProgramSource::new(program, worker, None, STREAM, Some(1))
}

fn ops_of(steps: &[Step], worker: u32) -> Vec<CallOp> {
    let program = compiled(steps);
    let mut source = source(&program, worker);
    std::iter::from_fn(|| source.next()).collect()
}

fn records(count: u64, order: RecordOrder) -> Vec<CallOp> {
    ops_of(&[Step::Transfer(transfer(Moves::Read, count, order, Via::Plain))], 0)
}

fn offsets(ops: &[CallOp]) -> Vec<u64> {
    ops.iter().map(|op| op.offset / RECORD).collect()
}

/// Protects: ops made without a clock reading are the same ops in the same order, and of one kind and length.
#[test]
fn next_alike_yields_the_next_ops() {
    let plain = |does, order| Step::Transfer(transfer(does, 20, order, Via::Plain));
    let steps = [
        plain(Moves::Write, RecordOrder::Forward),
        plain(Moves::Read, RecordOrder::Backward),
        Step::Fsync { handle: 0 },
        plain(Moves::Rewrite, RecordOrder::Forward),
        plain(Moves::Read, RecordOrder::Strided { records: 3 }),
        Step::Transfer(Transfer { flushes: true, ..transfer(Moves::Write, 5, RecordOrder::Forward, Via::Plain) }),
        plain(Moves::Read, RecordOrder::Shuffled(Shuffle::Iozone)),
    ];
    let program = compiled(&steps);
    let mut source = source(&program, 0);
    assert_eq!(source.next_alike(), None, "there is no previous op");
    let (mut ops, mut alike) = (Vec::new(), 0);
    while let Some(op) = source.next() {
        ops.push(op);
        for _ in 0..7 {
            let Some(next) = source.next_alike() else { break };
            assert_eq!((next.kind, next.length), (op.kind, op.length));
            ops.push(next);
            alike += 1;
        }
    }
    assert_eq!(ops, ops_of(&steps, 0));
    assert_eq!(alike, 4 * (20 - 3), "all but one in eight of the plain transfers");
}

#[test]
fn forward_makes_no_seek() {
    let ops = records(3, RecordOrder::Forward);
    assert_eq!(offsets(&ops), [0, 1, 2]);
    assert!(ops.iter().all(|op| (op.seek_before, op.seek_after) == (Seek::None, Seek::None)));
    assert_eq!(ops.iter().map(|op| op.is_last).collect::<Vec<_>>(), [false, false, true]);
}

/// As strace shows IOzone's: one record back from the end, then two back after every read.
#[test]
fn backward_seeks_from_the_end_and_after_every_record() {
    let ops = records(3, RecordOrder::Backward);
    assert_eq!(offsets(&ops), [2, 1, 0]);
    let before: Vec<Seek> = ops.iter().map(|op| op.seek_before).collect();
    assert_eq!(before, [Seek::FromEnd(-100), Seek::None, Seek::None]);
    assert!(ops.iter().all(|op| op.seek_after == Seek::By(-200)));
}

/// As strace shows IOzone's `-K`: the position is queried, two bytes are read elsewhere, and the position is restored.
#[test]
fn a_detour_returns_to_its_start() {
    let detours = Some(Detours { every: 2, to: vec![Bytes(0), Bytes(50)] });
    let ops = ops_of(
        &[Step::Transfer(Transfer { detours, ..transfer(Moves::Read, 3, RecordOrder::Forward, Via::Plain) })],
        0,
    );
    let seen: Vec<(Call, u64, u64)> = ops.iter().map(|op| (op.call, op.offset, op.length)).collect();
    let detour = [(Call::Tell, 0, 0), (Call::Read, 0, 1), (Call::Read, 50, 1)];
    let record = |number| (Call::Read, number * RECORD, RECORD);
    let expected: Vec<_> =
        [&detour[..], &[record(0), record(1)], &detour, &[record(2)]].into_iter().flatten().copied().collect();
    assert_eq!(seen, expected);
    assert_eq!((ops[1].seek_before, ops[2].seek_before), (Seek::To(0), Seek::To(50)));
    assert_eq!((ops[2].seek_after, ops[7].seek_after), (Seek::To(0), Seek::To(200)));
}

/// The detour from a mapping also reads the file, whose own position stays at its beginning.
#[test]
fn a_detour_from_a_mapping_reads_the_file() {
    let detours = Some(Detours { every: 2, to: vec![Bytes(0), Bytes(50)] });
    let mapped = transfer(Moves::Read, 3, RecordOrder::Forward, Via::Mapped { sync: None });
    let ops = ops_of(&[Step::Transfer(Transfer { detours, ..mapped })], 0);
    let calls: Vec<Call> = ops.iter().map(|op| op.call).collect();
    let detour = [Call::Tell, Call::Read, Call::Read];
    let loads = [Call::Load, Call::Load];
    assert_eq!(calls, [&detour[..], &loads, &detour[..], &loads[..1]].concat());
    assert_eq!((ops[6].seek_before, ops[7].seek_before), (Seek::To(0), Seek::To(50)));
    assert_eq!((ops[2].seek_after, ops[7].seek_after), (Seek::To(0), Seek::To(0)));
}

/// With a fixed spacing, there is also a wait after the last record, because that is part of its rate.
#[test]
fn records_that_keep_a_distance_are_each_followed_by_a_wait() {
    let spacing = Some(Nanos(3_600_000_000_000));
    let ops = ops_of(
        &[Step::Transfer(Transfer { spacing, ..transfer(Moves::Read, 2, RecordOrder::Forward, Via::Plain) })],
        0,
    );
    let kinds: Vec<OpKind> = ops.iter().map(|op| op.kind).collect();
    assert_eq!(kinds, [OpKind::Read, OpKind::Delay, OpKind::Read, OpKind::Delay]);
    assert!(ops.iter().all(|op| op.length <= 3_600_000_000_000));
}

/// As strace shows IOzone's 48 records at a stride of 17: each round starts one record later; some
/// records come twice and some never.
#[test]
fn a_stride_wraps_around_one_record_later() {
    let ops = records(48, RecordOrder::Strided { records: 17 });
    assert_eq!(offsets(&ops)[..9], [0, 17, 34, 1, 18, 35, 2, 19, 36]);
    assert_eq!(ops.len(), 48);
    for pair in ops.windows(2) {
        assert_eq!(pair[0].seek_after, Seek::To(pair[1].offset));
    }
    // A stride as long as the file never leaves its beginning.
    assert_eq!(offsets(&records(3, RecordOrder::Strided { records: 17 })), [0, 0, 0]);
}

#[test]
fn a_shuffled_order_seeks_before_each() {
    let ops = records(16, RecordOrder::Shuffled(Shuffle::Iozone));
    assert_eq!(offsets(&ops), [1, 5, 7, 13, 10, 6, 0, 8, 14, 3, 11, 2, 4, 12, 9, 15]);
    assert!(ops.iter().all(|op| op.seek_before == Seek::To(op.offset)));
}

#[test]
fn a_repeated_record_seeks_back_after_each() {
    let ops = records(2, RecordOrder::Same);
    assert!(ops.iter().all(|op| op.offset == 0 && op.seek_after == Seek::To(0)));
}

#[test]
fn listed_records_pause_after_each() {
    let list = vec![
        ListedRecord { offset: Bytes(500), length: Bytes(7), pause: Nanos(9), does: None },
        ListedRecord { offset: Bytes(1), length: Bytes(3), pause: Nanos(0), does: None },
    ];
    let ops = records(0, RecordOrder::Listed(list));
    let seen: Vec<_> = ops.iter().map(|op| (op.kind, op.offset, op.length)).collect();
    assert_eq!(seen, [(OpKind::Read, 500, 7), (OpKind::Delay, 0, 9), (OpKind::Read, 1, 3)]);
}

#[test]
fn a_rewrite_reads_seeks_back_and_writes() {
    let ops = ops_of(&[Step::Transfer(transfer(Moves::Rewrite, 2, RecordOrder::Forward, Via::Plain))], 0);
    let seen: Vec<_> = ops.iter().map(|op| (op.kind, op.offset, op.seek_before, op.is_last)).collect();
    assert_eq!(
        seen,
        [
            (OpKind::Read, 0, Seek::None, false),
            (OpKind::Write, 0, Seek::By(-100), false),
            (OpKind::Read, 100, Seek::None, false),
            (OpKind::Write, 100, Seek::By(-100), true),
        ]
    );
}

/// Positioned calls need no seek.
#[test]
fn positioned_calls_make_no_seek() {
    let shuffled = RecordOrder::Shuffled(Shuffle::Iozone);
    let ops = ops_of(&[Step::Transfer(transfer(Moves::Write, 4, shuffled, Via::Positioned))], 0);
    assert!(ops.iter().all(|op| op.call == Call::WriteAt && op.seek_before == Seek::None));
}

#[test]
fn nested_each_visits_all_its_files() {
    let stat = || Step::Stat { file: Pick::Own };
    let inner = Each { first: 5, count: 2, order: FileOrder::Backward, steps: vec![stat()] };
    let outer = Each {
        first: 0,
        count: 0,
        order: FileOrder::Listed(vec![3, 1]),
        steps: vec![stat(), Step::Each(inner), Step::Unlink { file: Pick::Own, missing: Default::default() }],
    };
    let ops = ops_of(&[stat(), Step::Each(outer), Step::Stat { file: Pick::Nth(9) }], 4);
    let files: Vec<(Call, u64)> = ops.iter().map(|op| (op.call, op.file)).collect();
    let round = |file| [(Call::Stat, file), (Call::Stat, 6), (Call::Stat, 5), (Call::Unlink, file)];
    let expected: Vec<_> =
        [(Call::Stat, 4)].into_iter().chain(round(3)).chain(round(1)).chain([(Call::Stat, 9)]).collect();
    assert_eq!(files, expected);
}

/// When a worker is stopped, the rest is closed and flushed, without the records.
#[test]
fn transfers_can_be_omitted() {
    let steps = [Step::Transfer(transfer(Moves::Read, 5, RecordOrder::Forward, Via::Plain)), Step::Fsync { handle: 0 }];
    let program = compiled(&steps);
    let mut source = source(&program, 0);
    assert_eq!(source.next().map(|op| op.kind), Some(OpKind::Read));
    source.leave_out_transfers();
    assert_eq!(source.next().map(|op| op.kind), Some(OpKind::Fsync));
    assert_eq!(source.next().map(|op| op.kind), None);
}

/// Loops and draws work as for file sets; passes repeat the whole program, record for record.
#[test]
fn named_files_have_loops_and_passes_too() {
    let steps = [
        Step::Loop { times: 2, steps: vec![Step::Stat { file: Pick::Usual }] },
        Step::Transfer(transfer(Moves::Read, 2, RecordOrder::Forward, Via::Plain)),
    ];
    let program = compiled(&steps);
    let mut source = ProgramSource::new(&program, 3, None, STREAM, Some(2));
    let ops: Vec<(OpKind, u64)> =
        std::iter::from_fn(|| source.next()).map(|op| (op.kind, op.file + op.offset)).collect();
    let pass = [(OpKind::Stat, 3), (OpKind::Stat, 3), (OpKind::Read, 0), (OpKind::Read, RECORD)];
    assert_eq!(ops, [pass, pass].concat());
    assert_eq!(source.next(), None);
}
