//! Ops in flight, and the rings of io_uring with their registered files.

use crate::calls::Call;
use crate::world::Value;
use std::collections::HashMap;

/// Registered files get descriptors of their own in recordings: from here on, with this many bits for the index.
const FIXED_FROM: i64 = 1 << 30;
const PLACE_BITS: u32 = 20;
const RINGS_MAX: usize = 1 << 10;

/// An op in flight in the kernel.
pub(super) struct InFlightOp {
    pub(super) call: &'static Call,
    pub(super) values: Vec<Value>,
    /// Ring number and index, if the op opens a file as a registered one.
    pub(super) opens: Option<(usize, u32)>,
    pub(super) at_ns: u64,
    pub(super) thread: u32,
}

#[derive(Default)]
pub(super) struct Rings {
    /// Number of a ring by its address in the kernel.
    numbers: HashMap<u64, usize>,
    /// Ring that a thread's next io_uring_register(2) concerns.
    registering: HashMap<u32, u64>,
}

impl Rings {
    /// Notes the ring that a thread registers something with.
    pub(super) fn registers(&mut self, thread: u32, ring: u64) {
        self.registering.insert(thread, ring);
    }

    /// Returns the ring that a thread's last call was about, once.
    pub(super) fn registered(&mut self, thread: u32) -> Option<u64> {
        self.registering.remove(&thread)
    }

    pub(super) fn number(&mut self, ring: u64) -> usize {
        let next = self.numbers.len() % RINGS_MAX;
        *self.numbers.entry(ring).or_insert(next)
    }
}

/// Returns the descriptor that represents a registered file.
pub(super) fn fixed(ring: usize, place: u32) -> i64 {
    FIXED_FROM + ((ring as i64) << PLACE_BITS) + i64::from(place & ((1 << PLACE_BITS) - 1))
}
