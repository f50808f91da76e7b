//! How a phase went at its storage, in the words of fio: direct or buffered, its depth, and whether writes were flushed.

use plumb_workload::phase::{ClockScope, Flush, Phase, WorkerGroup};
use plumb_workload::{OpKind, OwnFlush};

/// Whether writes were durable when the clock stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushed {
    /// The clock includes a flush of all of them.
    InTime,
    /// Some of them were flushed.
    InPart,
    /// They were flushed after the clock had stopped, or never.
    No,
}

/// Ops in flight that were asked for, all workers together; absent where the work has no queue.
pub(super) fn depth(phase: &Phase) -> Option<u32> {
    let queues = || phase.workers.iter().filter(|group| group.work.has_queue());
    queues().next()?;
    Some(queues().map(|group| group.depth * group.count).sum())
}

/// Whether several ops are handed to the kernel at once, as far as the queue allows. fio's default is one by one.
pub(super) fn submits_in_batches(phase: &Phase) -> bool {
    let queued = |group: &&WorkerGroup| group.work.has_queue() && group.depth > 1;
    phase.workers.iter().filter(queued).any(|group| group.batch.submit != 1)
}

/// Whether what a phase wrote is durable; `None` where it writes nothing.
pub(super) fn flushed(phase: &Phase) -> Option<Flushed> {
    let by_phase = match (phase.end.flush, phase.end.clock) {
        (Flush::Fsync | Flush::Fdatasync, ClockScope::Inside) => Flushed::InTime,
        _ => Flushed::No,
    };
    let of_group = |group: &WorkerGroup| match group.own_flush() {
        OwnFlush::All => Flushed::InTime,
        OwnFlush::Part => Flushed::InPart,
        OwnFlush::ByPhase => by_phase,
        OwnFlush::Nothing | OwnFlush::Never => Flushed::No,
    };
    let writes = |group: &&WorkerGroup| group.work.writes() || group.work.op_kinds().contains(&OpKind::Write);
    let mut groups = phase.workers.iter().filter(writes).map(of_group);
    let first = groups.next()?;
    Some(if groups.all(|other| other == first) { first } else { Flushed::InPart })
}

/// The same in words, as a part of a list.
pub(super) fn flushed_words(flushed: Flushed) -> &'static str {
    match flushed {
        Flushed::InTime => "flushed",
        Flushed::InPart => "partly flushed",
        Flushed::No => "not flushed",
    }
}
