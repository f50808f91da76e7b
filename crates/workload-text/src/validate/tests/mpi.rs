//! Tests of the rules for files opened with MPI-IO.

use super::*;
use plumb_workload::program::{Moves, MpiOpen, MpiView, RecordOrder, Segments, Transfer, Via};

const CLOSE: Step = Step::Close { handle: 0 };
const FSYNC: Step = Step::Fsync { handle: 0 };

/// Adds a target with one name, and runs the steps on it with one worker of phase 1.
fn named(workload: &mut Workload, steps: Vec<Step>) {
    let names = Names::Given(vec!["f".into()]);
    workload.target.insert(
        "named".into(),
        Target::Scratch(plumb_workload::ScratchTarget { path: "".into(), names, typed: Vec::new() }),
    );
    workload.phase[1].workers[0] = WorkerGroup::new("named", Work::Program(Box::new(Program::new(steps))));
}

/// Opens a file with MPI-IO on two ranks, and appends further steps.
fn by_mpi(view: Option<MpiView>, more: Vec<Step>) -> Vec<Step> {
    let mpi = MpiOpen { ranks: 2, hints: Default::default(), preallocate: Bytes(0), view };
    let open = OpenStep { read: true, mpi: Some(Box::new(mpi)), ..OpenStep::default() };
    [vec![Step::Open(open)], more, vec![CLOSE]].concat()
}

fn moves(via: Via) -> Transfer {
    Transfer { via, ..Transfer::forward(Moves::Read, Bytes(4096), 4) }
}

const TOGETHER: Via = Via::Mpi { together: true, strided: false };
const STRIDED: Via = Via::Mpi { together: false, strided: true };

/// Moves records of two blocks of two records each.
fn segmented(count: u64, via: Via) -> Step {
    let blocks =
        Segments { first: VIEW.first, block: VIEW.block, stride: VIEW.stride, count: 2, order: Default::default() };
    Step::Transfer(Transfer { order: RecordOrder::Segments(blocks), count, record: VIEW.record, ..moves(via) })
}

const VIEW: MpiView = MpiView { first: Bytes(0), record: Bytes(4096), block: Bytes(8192), stride: Bytes(16384) };

/// Protects against hangs and stray calls. A rank that repeats by itself would leave the others waiting forever, and
/// a call that MPI-IO lacks would use a descriptor that does not exist.
#[test]
fn files_opened_with_mpi_io() {
    each_fires(&[
        (
            |w| {
                let repeated = Transfer { repeats_for: Some(Nanos(1)), ..moves(TOGETHER) };
                named(w, by_mpi(None, vec![Step::Transfer(repeated)]));
            },
            "phase[1].workers[0].work.program.steps[1].transfer.repeats-for",
            "by the time of each",
            "leave",
        ),
        (
            |w| named(w, by_mpi(None, vec![Step::Transfer(moves(Via::Plain))])),
            "phase[1].workers[0].work.program.steps[1].transfer.via",
            "not opened for these calls",
            "via.mpi",
        ),
        (
            |w| {
                let open = Step::Open(OpenStep { read: true, ..OpenStep::default() });
                named(w, vec![open, Step::Transfer(moves(TOGETHER))]);
            },
            "phase[1].workers[0].work.program.steps[1].transfer.via",
            "not opened for these calls",
            "mpi = {}",
        ),
        (
            |w| named(w, by_mpi(None, vec![Step::Fdatasync { handle: 0 }])),
            "phase[1].workers[0].work.program.steps[1].fdatasync",
            "has no such call",
            "without `mpi`",
        ),
        (
            |w| named(w, by_mpi(Some(VIEW), vec![Step::Transfer(moves(TOGETHER))])),
            "phase[1].workers[0].work.program.steps[1].transfer.order",
            "a view of other blocks",
            "segments",
        ),
        (
            |w| named(w, by_mpi(Some(MpiView { record: Bytes(5000), ..VIEW }), vec![])),
            "phase[1].workers[0].work.program.steps[0].open.mpi.view",
            "whole records",
            "block",
        ),
        (
            |w| named(w, by_mpi(None, vec![segmented(3, STRIDED)])),
            "phase[1].workers[0].work.program.steps[1].transfer.via.mpi.strided",
            "records of the first block",
            "`count`",
        ),
        (
            |w| named(w, by_mpi(None, vec![Step::Transfer(moves(STRIDED))])),
            "phase[1].workers[0].work.program.steps[1].transfer.via.mpi.strided",
            "records of the first block",
            "segments",
        ),
        (
            |w| named(w, by_mpi(Some(VIEW), vec![segmented(2, STRIDED)])),
            "phase[1].workers[0].work.program.steps[1].transfer.via.mpi.strided",
            "a view of their own",
            "without `mpi.view`",
        ),
        (
            |w| {
                let mut step = segmented(2, STRIDED);
                if let Step::Transfer(transfer) = &mut step {
                    transfer.repeats_for = Some(Nanos(1));
                }
                named(w, by_mpi(None, vec![step]));
            },
            "phase[1].workers[0].work.program.steps[1].transfer.repeats-for",
            "by the time of each",
            "`strided`",
        ),
        (
            |w| {
                let open = OpenStep { read: true, direct: true, ..OpenStep::default() };
                let mut steps = by_mpi(None, vec![]);
                let Step::Open(by_mpi) = &mut steps[0] else { return };
                *by_mpi = OpenStep { mpi: by_mpi.mpi.clone(), ..open };
                named(w, steps);
            },
            "phase[1].workers[0].work.program.steps[0].open",
            "only the flags",
            "hints",
        ),
    ]);
    none_fires(&[
        |w| named(w, by_mpi(None, vec![Step::Transfer(moves(TOGETHER)), FSYNC])),
        |w| {
            let walled = Transfer { wall: Some(Wall::Ends(Nanos(1))), ..moves(TOGETHER) };
            named(w, by_mpi(None, vec![Step::Transfer(walled)]));
        },
        |w| named(w, by_mpi(Some(VIEW), vec![segmented(4, TOGETHER)])),
        |w| named(w, by_mpi(None, vec![segmented(2, STRIDED)])),
    ]);
}
