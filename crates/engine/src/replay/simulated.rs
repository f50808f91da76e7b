//! Recorded calls on a simulated device: the files are laid out one after another, and
//! every call returns its recorded result.

use super::call::{CallAct, DealtCall};
use crate::backend::{Completion, SyncBackend};
use crate::op::Operation;
use crate::sim::run::SimDevice;
use plumb_workload::OpKind;
use std::path::PathBuf;
use std::sync::Arc;

/// Positions of a recording's files on a device.
#[derive(Debug)]
pub(super) struct Layout {
    starts: Vec<u64>,
    bytes: u64,
}

impl Layout {
    /// Lays out files with these sizes. Files beyond the end of the device wrap around to its start.
    pub(super) fn new(reaches: &[u64], bytes: u64) -> Layout {
        let mut at = 0_u64;
        let starts = reaches.iter().map(|reach| {
            let start = at;
            at = at.saturating_add(reach.next_multiple_of(4096));
            start
        });
        Layout { starts: starts.collect(), bytes: bytes.max(1) }
    }

    fn place(&self, file: u32, offset: u64, length: u64) -> u64 {
        let start = self.starts.get(file as usize).copied().unwrap_or(0);
        start.saturating_add(offset) % self.bytes.saturating_sub(length).max(1)
    }
}

/// A call at its position on the device.
#[derive(Debug, Clone, Copy)]
struct Placed {
    kind: OpKind,
    offset: u64,
    length: u64,
}

impl Operation for Placed {
    fn kind(&self) -> OpKind {
        self.kind
    }
    fn offset(&self) -> u64 {
        self.offset
    }
    fn length(&self) -> u64 {
        self.length
    }
}

/// Makes the calls of one lane.
pub(super) struct SimulatedCalls {
    device: SimDevice,
    layout: Arc<Layout>,
}

impl SimulatedCalls {
    pub(super) fn new(device: SimDevice, layout: &Arc<Layout>) -> SimulatedCalls {
        SimulatedCalls { device, layout: Arc::clone(layout) }
    }
}

impl SyncBackend for SimulatedCalls {
    type Op = DealtCall;

    fn execute(&mut self, dealt: &DealtCall) -> Completion {
        let kind = dealt.kind();
        let length = match dealt.call.act {
            CallAct::Read | CallAct::Write | CallAct::Trim => dealt.length().min(self.layout.bytes),
            _ => 0,
        };
        if kind.moves_bytes() && length == 0 {
            return Ok(0);
        }
        let offset = self.layout.place(dealt.call.file, dealt.call.offset, length);
        self.device.serve(&Placed { kind, offset, length }, 0)
    }

    fn works_between_ops(&self) -> bool {
        false
    }

    fn path_of(&self, _dealt: &DealtCall) -> PathBuf {
        self.device.path()
    }
}
