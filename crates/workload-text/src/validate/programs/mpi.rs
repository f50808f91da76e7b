//! Rules for files opened with MPI-IO.

use super::handles::MpiHandle;
use crate::validate::Checker;
use plumb_workload::limits::MAX_OFFSET_BYTES;
use plumb_workload::program::{MpiOpen, MpiView, OpenStep, RecordOrder, SegmentOrder, Transfer};

/// Checks the options for opening a file with MPI-IO.
pub(super) fn opened(check: &mut Checker, open: &OpenStep, mpi: &MpiOpen) {
    let plain = OpenStep {
        file: open.file,
        handle: open.handle,
        read: open.read,
        write: open.write,
        create: open.create,
        exclusive: open.exclusive,
        mode: open.mode,
        mpi: open.mpi.clone(),
        ..OpenStep::default()
    };
    if *open != plain {
        let message = "MPI-IO cannot open streams and supports only the flags read, write and create";
        check.problem([], message, "leave the others out, or use hints for the library");
    }
    check.positive(["mpi", "ranks"], "the number of ranks", mpi.ranks.into(), "use at least 1");
    check.inside("mpi", |check| {
        if mpi.preallocate.0 > MAX_OFFSET_BYTES {
            check.length(["preallocate"], mpi.preallocate.0);
        }
        if let Some(MpiView { record, block, stride, first }) = mpi.view {
            let is_whole = record.0 > 0 && block.0 > 0 && block.0.is_multiple_of(record.0);
            if !is_whole || stride < block || first.0.saturating_add(stride.0) > MAX_OFFSET_BYTES {
                let message = "blocks of a view must be whole records and must not overlap";
                check.problem(["view"], message, "use a `block` of whole `record`s, and no smaller `stride`");
            }
        }
    });
}

/// Checks calls that move a record of each segment.
pub(super) fn strided(check: &mut Checker, transfer: &Transfer, mpi: MpiHandle) {
    let within = match &transfer.order {
        RecordOrder::Segments(segments) if !matches!(segments.order, SegmentOrder::Anywhere { .. }) => {
            segments.count > 0
                && segments.stride >= segments.block
                && transfer.count <= segments.block.0 / transfer.record.0.max(1)
        }
        _ => false,
    };
    if !within {
        let message = "strided calls move records of the first block of `segments` and of all later blocks";
        check.problem(["via", "mpi", "strided"], message, "use `segments`, and a `count` of at most a block's records");
    }
    if mpi.view.is_some() {
        let message = "strided calls set a view of their own";
        check.problem(["via", "mpi", "strided"], message, "open the file without `mpi.view`");
    }
}
