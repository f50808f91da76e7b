//! A stonewall: the place where the workers of a phase wait for each other, and learn how far the furthest came.

use crate::barrier::PhaseMemory;
use crate::clock::Ticks;
use crate::mpi_io::MpiIo;
use plumb_workload::program::Wall;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What later phases of a target know of earlier ones.
pub(crate) struct WallMark {
    /// Items that every worker completed before the last stonewall; later phases stop there.
    items: AtomicU64,
    /// A worker read what was not written.
    is_wrong: AtomicBool,
    /// How many items of each root each worker's renewals removed, by its number.
    renewed: Mutex<BTreeMap<u32, u64>>,
}

impl Default for WallMark {
    fn default() -> WallMark {
        WallMark { items: AtomicU64::new(u64::MAX), is_wrong: AtomicBool::new(false), renewed: Mutex::default() }
    }
}

impl WallMark {
    /// `u64::MAX` before the first wall.
    pub(in crate::program) fn get(&self) -> u64 {
        self.items.load(Relaxed)
    }

    pub(super) fn set(&self, count: u64) {
        self.items.store(count, Relaxed);
    }

    fn lower(&self, count: u64) {
        self.items.fetch_min(count, Relaxed);
    }

    /// Items of each root that this worker's renewals removed so far.
    pub(super) fn renewed(&self, worker: u32) -> u64 {
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner).get(&worker).copied().unwrap_or(0)
    }

    /// It removed so many more.
    pub(super) fn renew(&self, worker: u32, count: u64) {
        *self.renewed.lock().unwrap_or_else(PoisonError::into_inner).entry(worker).or_default() += count;
    }

    /// Something was read that was not written.
    pub(in crate::program) fn set_wrong(&self) {
        self.is_wrong.store(true, Relaxed);
    }

    /// Whether anything was, in this process.
    pub(in crate::program) fn is_wrong(&self) -> bool {
        self.is_wrong.load(Relaxed)
    }
}

/// One worker's way to the wall of its phase.
pub(crate) struct WallMeeting {
    memory: Arc<PhaseMemory>,
    /// Number of the worker in its phase.
    worker: usize,
    workers: u64,
    /// How often it met the others at a `meet` step.
    meetings: u64,
}

/// What a wall says to a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::program) enum AtWall {
    /// The stonewall is not reached yet.
    GoOn,
    /// The stonewall has passed; stop after this many.
    Until(u64),
    /// This worker reached the stonewall; stop after this many.
    Met(u64),
}

impl WallMeeting {
    /// Of this worker of a phase.
    pub(crate) fn new(memory: &Arc<PhaseMemory>, worker: usize) -> WallMeeting {
        WallMeeting { memory: Arc::clone(memory), worker, workers: memory.io_worker_count(), meetings: 0 }
    }

    /// Whether so much time is over since the worker started.
    #[inline]
    fn is_due(&self, after_ns: u64) -> bool {
        let started_at: Option<Ticks> = self.memory.control.worker(self.worker).go_at();
        let clock = &self.memory.clock;
        started_at.is_some_and(|at| clock.now() > at.saturating_add(clock.ticks(after_ns)))
    }

    /// Says how far the worker came, waits for all others, and returns how far the furthest came. A worker that is
    /// stopped meanwhile goes no further.
    fn meet(&self, count: u64) -> u64 {
        let others = self.memory.others.as_deref();
        self.memory.control.worker(self.worker).meet_at_wall(count, self.workers, others).unwrap_or(count)
    }

    /// Comes to the wall although the worker has ended: those of other processes wait for it. This worker is the only one of its
    /// process.
    pub(in crate::program) fn keep_appointment_at_wall(&self) {
        self.memory.control.worker(self.worker).keep_appointment_at_wall(self.memory.others.as_deref());
    }

    /// The same at a step.
    pub(in crate::program) fn keep_appointment_at_step(&mut self) {
        self.meetings += 1;
        let others = self.memory.others.as_deref();
        self.memory.control.worker(self.worker).keep_appointment_at_step(self.meetings, others);
    }

    /// Waits as [`meet_at_step`](Self::meet_at_step) does, and returns the highest count that anybody came with.
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

/// Ranks that move or flush each record together: they pass or meet a wall together too, as the first of them says.
#[derive(Clone)]
pub(in crate::program) struct InStep {
    pub(in crate::program) mpi_io: Arc<dyn MpiIo>,
    pub(in crate::program) ranks: u32,
}

/// [`look`], for one of such ranks. `has_ended`: it only takes part any more, and wants the others to end.
pub(in crate::program) fn look_in_step(
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
    // At least one is done before it.
    let is_due = has_ended || meeting.is_due(time_ns);
    if done == 0 || (done < all && !in_step.mpi_io.of_first(in_step.ranks, is_due).unwrap_or(true)) {
        return AtWall::GoOn;
    }
    match (meets, has_ended) {
        (true, false) => _ = meeting.meet(done),
        (true, true) => meeting.keep_appointment_at_wall(),
        (false, _) => {}
    }
    mark.set(done);
    AtWall::Met(done)
}

/// Looks at a wall before another item or record, of which `done` of `all` are done. At least one is done before it.
#[inline]
pub(in crate::program) fn look(
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
