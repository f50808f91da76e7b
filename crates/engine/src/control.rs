//! What the coordinator and the workers of a phase tell each other, across threads and processes.
#![allow(unsafe_code)]

use crate::clock::Ticks;
use crate::shared::{Shareable, SharedSlice};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The shared words of a phase. Zeroed is "not begun".
#[repr(C)]
pub(crate) struct Control {
    /// Not 0 when workers shall end after the op at hand.
    stop: AtomicU64,
    /// When the clock starts; 0 while workers are still being made ready.
    go_at: AtomicU64,
    /// When the phase's time is over.
    deadline: AtomicU64,
    ready: AtomicU64,
    done: AtomicU64,
    /// Those of them that did no I/O.
    beside_done: AtomicU64,
    /// Ops left of the phase's common limit.
    ops_left: AtomicU64,
    /// Bytes left of the phase's common limit.
    bytes_left: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
unsafe impl Shareable for Control {}

/// What the workers of a phase may use up together.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CommonLimit {
    pub(crate) ops: Option<u64>,
    pub(crate) bytes: Option<u64>,
}

impl Control {
    /// True when workers shall end: asked to, or past the deadline.
    #[inline(always)]
    pub(crate) fn stops_at(&self, now: Ticks) -> bool {
        now >= self.deadline.load(Relaxed) || self.stop.load(Relaxed) != 0
    }

    /// Asks all workers to end after the op at hand.
    pub(crate) fn request_stop(&self) {
        self.stop.store(1, Release);
    }

    /// True when workers were asked to end.
    pub(crate) fn stop_requested(&self) -> bool {
        self.stop.load(Acquire) != 0
    }

    /// Starts the clock at `at`; the deadline is when the phase's time is over.
    pub(crate) fn release(&self, at: Ticks, deadline: Option<Ticks>) {
        self.deadline.store(deadline.unwrap_or(Ticks::MAX), Relaxed);
        self.go_at.store(at.max(1), Release);
    }

    /// When the clock starts, once that is known.
    pub(crate) fn started_at(&self) -> Option<Ticks> {
        Some(self.go_at.load(Acquire)).filter(|&at| at != 0)
    }

    /// A worker is ready for the barrier.
    pub(crate) fn worker_ready(&self) {
        self.ready.fetch_add(1, Release);
    }

    /// How many workers are ready.
    pub(crate) fn ready(&self) -> u64 {
        self.ready.load(Acquire)
    }

    /// A worker is done.
    pub(crate) fn worker_done(&self) {
        self.done.fetch_add(1, Release);
    }

    /// How many workers are done.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Acquire)
    }

    /// A worker that does no I/O is about to be done.
    pub(crate) fn beside_done(&self) {
        self.beside_done.fetch_add(1, Release);
    }

    /// How many workers that do I/O are done; never more than there are, but for a moment perhaps fewer.
    pub(crate) fn io_done(&self) -> u64 {
        // In this order: what is among the first is among the second.
        let done = self.done();
        done.saturating_sub(self.beside_done.load(Acquire))
    }

    /// Sets the common limit, before the workers start.
    pub(crate) fn set_limit(&self, limit: CommonLimit) {
        self.ops_left.store(limit.ops.unwrap_or(u64::MAX), Relaxed);
        self.bytes_left.store(limit.bytes.unwrap_or(u64::MAX), Relaxed);
    }

    /// Takes one op of `bytes` from the common limit; false when it is used up.
    pub(crate) fn claim(&self, bytes: u64) -> bool {
        let take = |left: &AtomicU64, amount: u64| {
            left.fetch_update(Relaxed, Relaxed, |left| match left {
                0 => None,
                u64::MAX => Some(u64::MAX),
                left => Some(left.saturating_sub(amount)),
            })
            .is_ok()
        };
        take(&self.ops_left, 1) && take(&self.bytes_left, bytes)
    }
}

/// What the jobs of a flow share. Zeroed is "nobody is there".
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct FlowWords {
    /// Ops that those who are there have started.
    pub(crate) started: AtomicU64,
    /// Sum of their weights.
    pub(crate) weight: AtomicU64,
}

// SAFETY: repr(C), nothing but AtomicU64.
unsafe impl Shareable for FlowWords {}

/// The control words of one phase, the numbers of its shared schedules and the words of its flows, each one a worker
/// group.
pub(crate) struct ControlBlock {
    control: SharedSlice<Control>,
    schedules: SharedSlice<AtomicU64>,
    flows: SharedSlice<FlowWords>,
}

impl ControlBlock {
    /// Zeroed words for a phase with so many groups.
    pub(crate) fn new(groups: usize) -> io::Result<ControlBlock> {
        Ok(ControlBlock {
            control: SharedSlice::new(1)?,
            schedules: SharedSlice::new(groups)?,
            flows: SharedSlice::new(groups)?,
        })
    }

    /// The phase's words.
    pub(crate) fn control(&self) -> &Control {
        &self.control[0]
    }

    /// The number of the next start of a group's shared schedule.
    pub(crate) fn schedule(&self, group: usize) -> &AtomicU64 {
        &self.schedules[group]
    }

    /// What the jobs of a flow share; the flow is named by the first group that belongs to it.
    pub(crate) fn flow(&self, first_group: usize) -> &FlowWords {
        &self.flows[first_group]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_limit_is_used_up_exactly() {
        let block = ControlBlock::new(0).unwrap();
        block.control().set_limit(CommonLimit { ops: Some(3), bytes: None });
        let claims: Vec<bool> = (0..5).map(|_| block.control().claim(4096)).collect();
        assert_eq!(claims, [true, true, true, false, false]);
        block.control().set_limit(CommonLimit { ops: None, bytes: Some(8192) });
        let claims: Vec<bool> = (0..3).map(|_| block.control().claim(4096)).collect();
        assert_eq!(claims, [true, true, false]);
    }
}
