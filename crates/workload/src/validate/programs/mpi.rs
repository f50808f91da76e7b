//! Rules of files that MPI-IO opens.

use crate::program::{MpiOpen, MpiView, OpenStep};
use crate::validate::{Checker, MAX_OFFSET_BYTES};

/// A file that MPI-IO opens.
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
        let message = "MPI-IO opens no file as a stream, and with no flag but to read, write and create";
        check.problem([], message, "leave the others out; hints may say what the library is to do");
    }
    check.positive(["mpi", "ranks"], "the number of ranks", mpi.ranks.into(), "use at least 1");
    check.inside("mpi", |check| {
        if mpi.preallocate.0 > MAX_OFFSET_BYTES {
            check.length(["preallocate"], mpi.preallocate.0);
        }
        if let Some(MpiView { record, block, stride, first }) = mpi.view {
            let is_whole = record.0 > 0 && block.0 > 0 && block.0.is_multiple_of(record.0);
            if !is_whole || stride < block || first.0.saturating_add(stride.0) > MAX_OFFSET_BYTES {
                let message = "blocks of a view are whole records, and lie one behind the other in the file";
                check.problem(["view"], message, "use a `block` of whole `record`s, and no smaller `stride`");
            }
        }
    });
}
