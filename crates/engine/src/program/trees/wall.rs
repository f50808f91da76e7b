//! A stonewall: the place where the workers of a phase wait for each other, and learn how far the furthest came.

use crate::barrier::PhaseMemory;
use crate::clock::Ticks;
use std::sync::Arc;

/// One worker's way to the wall of its phase.
pub(crate) struct WallMeeting {
    memory: Arc<PhaseMemory>,
    /// Number of the worker in its phase.
    worker: usize,
    workers: u64,
}

impl WallMeeting {
    /// Of this worker of a phase.
    pub(crate) fn new(memory: &Arc<PhaseMemory>, worker: usize) -> WallMeeting {
        WallMeeting { memory: Arc::clone(memory), worker, workers: memory.worker_count() }
    }

    /// Whether so much time is over since the worker started.
    #[inline]
    pub(super) fn is_due(&self, after_ns: u64) -> bool {
        let started_at: Option<Ticks> = self.memory.control.worker(self.worker).go_at();
        let clock = &self.memory.clock;
        started_at.is_some_and(|at| clock.now() > at.saturating_add(clock.ticks(after_ns)))
    }

    /// Says how far the worker came, waits for all others, and returns how far the furthest came. A worker that is
    /// stopped meanwhile goes no further.
    pub(super) fn meet(&self, count: u64) -> u64 {
        self.memory.control.worker(self.worker).meet_at_wall(count, self.workers).unwrap_or(count)
    }
}
