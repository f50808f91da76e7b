//! Backends on a simulated device: ops take as long as the device computes, on virtual time.

use super::device::Served;
use super::run::{SimDevice, now_ns, ticks_at};
use crate::backend::{Completion, Done, QueuedBackend, Slot, SyncBackend, Wait};
use crate::op::{BlockOp, Operation};
use crate::virtual_time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::path::PathBuf;

/// Executes one op at a time.
pub(crate) struct SimCalls<Op> {
    device: SimDevice,
    /// Returns the number of an op's file. If the target has files, they are laid out one after another on the device.
    file: Box<dyn FnMut(&Op) -> u64>,
}

impl<Op> SimCalls<Op> {
    pub(crate) fn new(device: SimDevice, file: impl FnMut(&Op) -> u64 + 'static) -> SimCalls<Op> {
        SimCalls { device, file: Box::new(file) }
    }
}

impl<Op: Operation> SyncBackend for SimCalls<Op> {
    type Op = Op;

    fn execute(&mut self, op: &Op) -> Completion {
        self.device.serve(op, (self.file)(op))
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _op: &Op) -> PathBuf {
        self.device.path()
    }
}

/// An op in flight. Ordered by completion time, earliest first, then by submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    done_ns: u64,
    sequence: u64,
    slot: Slot,
}

/// Later than any time of a device.
const NEVER_NS: u64 = u64::MAX;

/// Keeps several ops in flight.
pub(crate) struct SimQueue {
    device: SimDevice,
    pending: BinaryHeap<Reverse<Pending>>,
    sequence: u64,
    /// Ops in flight by slot.
    served: Vec<Option<Served>>,
    done: VecDeque<Done>,
}

impl SimQueue {
    /// Allocates slots for `depth` ops in flight.
    pub(crate) fn new(device: SimDevice, depth: u32) -> SimQueue {
        let slots = depth as usize;
        SimQueue {
            device,
            pending: BinaryHeap::with_capacity(slots),
            sequence: 0,
            served: vec![None; slots],
            done: VecDeque::with_capacity(slots),
        }
    }

    /// Collects the ops that are complete by now.
    fn restore_own_files(&mut self) {
        let now_ns = now_ns();
        while let Some(&Reverse(Pending { done_ns, slot, .. })) = self.pending.peek()
            && done_ns <= now_ns
        {
            self.pending.pop();
            if let Some(served) = self.served[usize::from(slot)].take() {
                self.device.finish(&served);
                self.done.push_back(Done { slot, completion: served.completion });
            }
        }
    }
}

impl QueuedBackend for SimQueue {
    fn submit(&mut self, op: &BlockOp, slot: Slot) {
        let served = self.device.submit(op, u64::from(op.file));
        self.sequence += 1;
        self.pending.push(Reverse(Pending { done_ns: served.done_ns, sequence: self.sequence, slot }));
        self.served[usize::from(slot)] = Some(served);
    }

    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let (wanted, give_up_ns) = match wait {
            Wait::For(wanted) => (wanted as usize, NEVER_NS),
            Wait::Timeout(ns) => (1, now_ns().saturating_add(ns)),
        };
        loop {
            self.restore_own_files();
            let next_ns = self.pending.peek().map_or(give_up_ns, |Reverse(next)| next.done_ns.min(give_up_ns));
            if self.done.len() >= wanted || next_ns == NEVER_NS || now_ns() >= give_up_ns {
                return Ok(());
            }
            virtual_time::sleep_until(ticks_at(next_ns));
        }
    }

    fn completed(&mut self) -> Option<Done> {
        self.done.pop_front()
    }

    fn path_of(&self, _op: &BlockOp) -> PathBuf {
        self.device.path()
    }

    fn name(&self) -> &'static str {
        "sim"
    }
}
