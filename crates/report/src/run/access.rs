//! How a phase accessed its storage, in fio's terms: direct or buffered, its depth, and whether writes were flushed.

use plumb_workload::phase::{ClockScope, Flush, Phase, WorkerGroup};
use plumb_workload::{OpKind, OwnFlush};

/// Whether writes were durable when the clock stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flushed {
    /// The clock includes a flush of all writes.
    InTime,
    /// Only some writes were flushed in time.
    InPart,
    /// The writes were flushed after the clock stopped, or never.
    No,
}

/// Returns the requested number of ops in flight over all workers; `None` if the work has no queue.
pub(super) fn depth(phase: &Phase) -> Option<u32> {
    let queues = || phase.workers.iter().filter(|group| group.work.has_queue());
    queues().next()?;
    Some(queues().map(|group| group.depth * group.count).sum())
}

/// Returns `true` if several ops are submitted at once, as far as the queue allows. fio's default is one by one.
pub(super) fn submits_in_batches(phase: &Phase) -> bool {
    let queued = |group: &&WorkerGroup| group.work.has_queue() && group.depth > 1;
    phase.workers.iter().filter(queued).any(|group| group.batch.submit != 1)
}

/// Returns whether the phase's writes are durable; `None` if it writes nothing.
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

/// Returns the flush state in words, as a part of a list.
pub(super) fn flushed_words(flushed: Flushed) -> &'static str {
    match flushed {
        Flushed::InTime => "flushed",
        Flushed::InPart => "partly flushed",
        Flushed::No => "not flushed",
    }
}
