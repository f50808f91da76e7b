//! Rules for steps that move records: transfers, and files as one op.

use super::handles::{Handle, Known};
use crate::validate::Checker;
use plumb_workload::limits::{MAX_OFFSET_BYTES, MAX_OP_BYTES, QUEUE_DEPTH_MAX};
use plumb_workload::program::{
    FileStep, FileWork, ItemOrder, ListedRecord, Moves, RecordOrder, Transfer, TreeStep, TreeWork, Via, Wall,
};
use plumb_workload::units::Bytes;

/// Maximum number of records or items in a shuffled order, whose numbers are kept in memory.
const SHUFFLED_MAX: u64 = 1 << 32;

/// Checks a step that works on one file as one op.
pub(super) fn file(check: &mut Checker, step: &FileStep) {
    record(check, step.record, step.longest_bytes());
    if matches!(step.does, FileWork::Link | FileWork::Symlink) && step.to.is_none() {
        check.problem(["to"], "a link needs a file to point to", "give the file's number as `to`");
    }
    if step.listed && !matches!(step.does, FileWork::Stat | FileWork::Remove) {
        check.problem(["listed"], "a directory does not list new files", "leave `listed` out");
    }
}

/// Checks work on trees and their items. Each owner has `items_each` items per root.
pub(super) fn trees(check: &mut Checker, step: &TreeStep, items_each: u64) {
    if step.item_bytes() > MAX_OP_BYTES {
        let message = format!("{} is more than one call can move", Bytes(step.item_bytes()));
        check.problem(["does"], message, "use less than 2 GiB");
    }
    // The count that a wall lets through is known only when the phase begins.
    let is_listed = matches!(step.order, ItemOrder::Shuffled { .. }) && step.wall != Some(Wall::AsFar);
    if is_listed && step.count.unwrap_or(u64::MAX).min(items_each) > SHUFFLED_MAX {
        check.problem(
            ["order"],
            "this many items cannot be shuffled in memory",
            "use another order, or limit them with `count`",
        );
    }
    if step.wall.is_some() && step.all_owners {
        check.problem(["wall"], "a worker on the items of all owners has no others to wait for", "leave `wall` out");
    }
    if let TreeWork::Renew(renewal) = step.does {
        if step.all_owners || step.shift > 0 {
            check.problem(["does"], "a renewal selects owners by its `stride`", "leave `shift` and `all-owners` out");
        }
        let least = step.first.saturating_add(if renewal.reads_only { 0 } else { renewal.items.max(1) });
        if renewal.items == 0 || items_each <= least {
            let message = format!("{items_each} items of each root are too few to renew any of them");
            check.problem(["does", "renew", "items"], message, "use at least 1, and fewer than `per-directory`");
        }
    }
    if matches!(step.does, TreeWork::Rename { aside } if aside == step.items) {
        check.problem(
            ["does", "rename", "aside"],
            "items would be moved aside under their own names",
            "use another kind",
        );
    }
}

/// Checks records of a handle that may be open.
pub(super) fn transfer(check: &mut Checker, transfer: &Transfer, handle: Handle) {
    match &transfer.order {
        RecordOrder::Listed(records) => {
            for (index, ListedRecord { offset, length, .. }) in records.iter().enumerate() {
                check.nested(&["order", "listed"], |check| {
                    check.inside(index, |check| record(check, *length, offset.0.saturating_add(length.0)));
                });
            }
        }
        order => {
            record(check, transfer.record, transfer.end());
            if let RecordOrder::Segments(segments) = order {
                let fits = segments.block.0.is_multiple_of(transfer.record.0.max(1)) && segments.block.0 > 0;
                if !fits {
                    check.problem(
                        ["order", "segments", "block"],
                        "a block is not a whole number of records",
                        "use a multiple of `record`",
                    );
                }
                if segments.block.0 / transfer.record.0.max(1) > SHUFFLED_MAX {
                    check.problem(["record"], "this many records cannot be shuffled in memory", "use larger records");
                }
            }
            check.positive(["count"], "the number of records", transfer.count, "use at least 1");
            if let RecordOrder::Strided { records } = order {
                check.positive(["order", "strided", "records"], "the stride", *records, "use at least 1");
            }
            if matches!(order, RecordOrder::Shuffled(_)) && transfer.count > SHUFFLED_MAX {
                check.problem(["count"], "this many records cannot be shuffled in memory", "use larger records");
            }
        }
    }
    let (fits, help) = match transfer.via {
        Via::Mpi { .. } => (handle.mpi.is_some(), "open it with `mpi = {}`"),
        _ if handle.mpi.is_some() => (false, "use `via.mpi = {}`, or open it without `mpi`"),
        Via::Plain | Via::Positioned | Via::Bytes => (!handle.stream, "open it without `stream`"),
        Via::Stdio | Via::Characters | Via::UnlockedCharacters => (handle.stream, "open it with `stream = {}`"),
        Via::Mapped { .. } => {
            (handle.mapped_bytes >= transfer.end(), "put a `map` of the file's whole length before this step")
        }
        Via::PosixAio { depth, .. } => {
            check.positive(["via", "posix-aio", "depth"], "the depth", depth.into(), "use at least 1");
            if depth > QUEUE_DEPTH_MAX {
                check.problem(["via", "posix-aio", "depth"], format!("{depth} is too deep"), "use less");
            }
            (!handle.stream, "open it without `stream`")
        }
        Via::KernelAio { depth, batch } => {
            kernel_aio(check, transfer, depth, batch);
            (!handle.stream, "open it without `stream`")
        }
    };
    if transfer.repeats_for.is_some() && transfer.wall.is_some() {
        check.problem(["repeats-for"], "a transfer ends at its wall or goes on for its time", "leave one of them out");
    }
    if let (Via::Mpi { strided, .. }, Some(mpi)) = (transfer.via, handle.mpi) {
        if mpi.ranks > 1 && (transfer.via.is_together() || transfer.flushes) && transfer.repeats_for.is_some() {
            let message = "ranks that move or flush each record together cannot repeat by the time of each";
            check.problem(["repeats-for"], message, "leave `repeats-for` out, or `together`, `strided` and `flushes`");
        }
        if transfer.locks {
            check.problem(["locks"], "MPI-IO does its own locking", "leave `locks` out");
        }
        if strided {
            super::mpi::strided(check, transfer, mpi);
        } else if mpi.view.is_some_and(|view| !view.shows(&transfer.order)) {
            let message = "the file was opened with a view of other blocks";
            check.problem(["order"], message, "use `segments` with the same `first`, `block` and `stride`");
        }
    }
    if transfer.pauses.is_some_and(|pauses| pauses.every == 0) {
        check.problem(["pauses", "every"], "the number of records between pauses is 0", "use at least 1");
    }
    if let Some(detours) = &transfer.detours {
        check.positive(["detours", "every"], "the number of records between detours", detours.every, "use at least 1");
        if detours.to.is_empty() {
            check.problem(["detours", "to"], "the detours have no offsets", "give offsets such as `[0, \"4KiB\"]`");
        }
        let fits = matches!(transfer.via, Via::Plain | Via::Mapped { .. });
        if !fits || (transfer.does, &transfer.order) != (Moves::Read, &RecordOrder::Forward) {
            check.problem(
                ["detours"],
                "only sequential reads, plain or of a mapping, can have detours",
                "leave `via` and `order` out, and use `does = \"read\"`",
            );
        }
    }
    if handle.open == Known::Yes && !fits {
        check.problem(["via"], "the handle was not opened for these calls", help);
    }
    let goes_by_bytes = matches!(transfer.via, Via::Characters | Via::UnlockedCharacters | Via::Bytes);
    if goes_by_bytes && transfer.order != RecordOrder::Forward {
        check.problem(
            ["order"],
            "characters can be read or written only in order",
            "use `via = \"stdio\"`, or leave `order` out",
        );
    }
}

/// Checks requests that complete some time after their ops.
fn kernel_aio(check: &mut Checker, transfer: &Transfer, depth: u32, batch: u32) {
    let via = |name| ["via", "kernel-aio", name];
    check.positive(via("depth"), "the depth", depth.into(), "use at least 1");
    check.positive(via("batch"), "the batch", batch.into(), "use at least 1");
    if depth > QUEUE_DEPTH_MAX {
        check.problem(via("depth"), format!("{depth} is too deep"), "use less");
    }
    if batch > depth {
        check.problem(via("batch"), "a batch larger than the depth never fills up", "use `depth` at most");
    }
    if transfer.rewrites() {
        let message = "a read that is not waited for cannot be written back";
        check.problem(["does"], message, "use `via.posix-aio`, or a transfer each for reads and writes");
    }
    if transfer.locks {
        let message = "a lock would be released before its record is moved";
        check.problem(["locks"], message, "leave `locks` out, or use `via.posix-aio`");
    }
}

fn record(check: &mut Checker, length: Bytes, end: u64) {
    check.positive(["record"], "the length of a record", length.0, "use a size such as `4KiB`");
    if length.0 > MAX_OP_BYTES {
        check.problem(["record"], format!("{length} is more than one call can move"), "use less than 2 GiB");
    }
    if end > MAX_OFFSET_BYTES {
        check.problem([], "the transfer reaches beyond the largest file size", "use fewer or smaller records");
    }
}
