//! A stonewall: the point at which the workers of a phase wait for each other and learn how far the furthest got.

use crate::barrier::PhaseMemory;
use crate::clock::Ticks;
use crate::mpi_io::MpiIo;
use plumb_workload::program::Wall;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Results of earlier phases of a target that later ones use.
pub(crate) struct WallMark {
    /// Items that every worker completed before the last stonewall; later phases stop there.
    items: AtomicU64,
    /// Whether a worker read data that was not written.
    has_mismatch: AtomicBool,
    /// Number of items per root that each worker's renewals removed, by worker number.
    renewed: Mutex<BTreeMap<u32, u64>>,
}

impl Default for WallMark {
    fn default() -> WallMark {
        WallMark { items: AtomicU64::new(u64::MAX), has_mismatch: AtomicBool::new(false), renewed: Mutex::default() }
    }
}

impl WallMark {
    /// Returns the items at the last wall; `u64::MAX` before the first wall.
    pub(in crate::program) fn get(&self) -> u64 {
        self.items.load(Relaxed)
    }

    pub(super) fn set(&self, count: u64) {
        self.items.store(count, Relaxed);
    }

    fn lower(&self, count: u64) {
        self.items.fetch_min(count, Relaxed);
    }

    /// Returns the items per root that this worker's renewals removed so far.
    pub(super) fn renewed(&self, worker: u32) -> u64 {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).get(&worker).copied().unwrap_or(0)
    }

    /// Adds to the items that this worker's renewals removed.
    pub(super) fn renew(&self, worker: u32, count: u64) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner).entry(worker).or_default() += count;
    }

    /// Notes that data was read that was not written.
    pub(in crate::program) fn set_mismatch(&self) {
        self.has_mismatch.store(true, Relaxed);
    }

    /// Returns `true` if this process read data that was not written.
    pub(in crate::program) fn has_mismatch(&self) -> bool {
        self.has_mismatch.load(Relaxed)
    }
}

/// One worker's access to the wall of its phase.
pub(crate) struct WallMeeting {
    memory: Arc<PhaseMemory>,
    /// Number of the worker in its phase.
    worker: usize,
    workers: u64,
    /// Number of `meet` steps at which it met the others.
    meetings: u64,
}

/// Result of a check at a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::program) enum AtWall {
    /// The stonewall is not reached yet.
    GoOn,
    /// The stonewall has passed; stop after this many items.
    Until(u64),
    /// This worker reached the stonewall; stop after this many items.
    Met(u64),
}

impl WallMeeting {
    /// Creates the access for a worker of a phase.
    pub(crate) fn new(memory: &Arc<PhaseMemory>, worker: usize) -> WallMeeting {
        WallMeeting { memory: Arc::clone(memory), worker, workers: memory.io_worker_count(), meetings: 0 }
    }

    /// Returns `true` if the worker has run for more than this time.
    #[inline]
    fn is_due(&self, after_ns: u64) -> bool {
        let started_at: Option<Ticks> = self.memory.control.worker(self.worker).go_at();
        let clock = &self.memory.clock;
        started_at.is_some_and(|at| clock.now() > at.saturating_add(clock.ticks(after_ns)))
    }

    /// Announces how far the worker got, waits for all others, and returns how far the furthest got. A worker that is
    /// stopped while it waits returns its own count.
    fn meet(&self, count: u64) -> u64 {
        let others = self.memory.others.as_deref();
        self.memory.control.worker(self.worker).meet_at_wall(count, self.workers, others).unwrap_or(count)
    }

    /// Comes to the wall although the worker has ended, because workers of other processes wait for it. This worker is
    /// the only one in its process.
    pub(in crate::program) fn join_others_at_wall(&self) {
        self.memory.control.worker(self.worker).join_others_at_wall(self.memory.others.as_deref());
    }

    /// Like [`join_others_at_wall`](Self::join_others_at_wall), for a `meet` step.
    pub(in crate::program) fn join_others_at_step(&mut self) {
        self.meetings += 1;
        let others = self.memory.others.as_deref();
        self.memory.control.worker(self.worker).join_others_at_step(self.meetings, others);
    }

    /// Waits like [`meet_at_step`](Self::meet_at_step), and returns the highest count of all workers.
    pub(in crate::program) fn meet_with(&mut self, count: u64) -> u64 {
        let control = self.memory.control.worker(self.worker);
        control.bring(count);
        self.meet_at_step();
        self.memory.control.worker(self.worker).furthest()
    }

    /// Waits until all workers of the phase are at the same step.
    pub(in crate::program) fn meet_at_step(&mut self) {
        self.meetings += 1;
        let others = self.memory.others.as_deref();
        self.memory.control.worker(self.worker).meet_at_step(self.meetings, self.workers, others);
    }
}

/// Ranks that move or flush each record together. They also pass or meet a wall together, as the first rank decides.
#[derive(Clone)]
pub(in crate::program) struct InStep {
    pub(in crate::program) mpi_io: Arc<dyn MpiIo>,
    pub(in crate::program) ranks: u32,
}

/// Like [`check_wall`], for a rank that works in step with others. A rank that `has_ended` only participates in the
/// decision, and votes for the end.
pub(in crate::program) fn check_wall_in_step(
    in_step: &InStep,
    wall: Wall,
    (meeting, mark): (Option<&WallMeeting>, &WallMark),
    (done, all): (u64, u64),
    has_ended: bool,
) -> AtWall {
    let (time_ns, meets) = match wall {
        Wall::AsFar => return AtWall::Until(all.min(mark.get())),
        Wall::After(time) => (time.0, true),
        Wall::Ends(time) => (time.0, false),
    };
    let Some(meeting) = meeting else { return AtWall::Until(all) };
    // At least one item is done before the wall.
    let is_due = has_ended || meeting.is_due(time_ns);
    if done == 0 || (done < all && !in_step.mpi_io.broadcast_first(in_step.ranks, is_due).unwrap_or(true)) {
        return AtWall::GoOn;
    }
    match (meets, has_ended) {
        (true, false) => _ = meeting.meet(done),
        (true, true) => meeting.join_others_at_wall(),
        (false, _) => {}
    }
    mark.set(done);
    AtWall::Met(done)
}

/// Checks a wall before the next item or record, with `done` of `all` done. At least one is done before the wall.
#[inline]
pub(in crate::program) fn check_wall(
    wall: Wall,
    meeting: Option<&WallMeeting>,
    mark: &WallMark,
    done: u64,
    all: u64,
) -> AtWall {
    let (time_ns, goes_on) = match wall {
        Wall::AsFar => return AtWall::Until(all.min(mark.get())),
        Wall::After(time) => (time.0, true),
        Wall::Ends(time) => (time.0, false),
    };
    let Some(meeting) = meeting else { return AtWall::Until(all) };
    if done < all && (done == 0 || !meeting.is_due(time_ns)) {
        return AtWall::GoOn;
    }
    if goes_on {
        let furthest = meeting.meet(done).min(all);
        mark.set(furthest);
        return AtWall::Met(furthest);
    }
    mark.lower(done);
    AtWall::Met(done)
}
