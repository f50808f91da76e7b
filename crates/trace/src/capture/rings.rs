//! Ops that the kernel works on, and the rings of io_uring with the files that are registered with them.

use crate::calls::Call;
use crate::world::Value;
use std::collections::HashMap;

/// Registered files have descriptors of their own in recordings: from here on, and so many bits of them for the place.
const FIXED_FROM: i64 = 1 << 30;
const PLACE_BITS: u32 = 20;
const RINGS_MAX: usize = 1 << 10;

/// An op that the kernel works on.
pub(super) struct Flying {
    pub(super) call: &'static Call,
    pub(super) values: Vec<Value>,
    /// The ring, by its number, and the place, if the file that is opened is to be a registered one.
    pub(super) opens: Option<(usize, u32)>,
    pub(super) at_ns: u64,
    pub(super) thread: u32,
}

/// The rings of io_uring.
#[derive(Default)]
pub(super) struct Rings {
    /// By where they are in the kernel.
    numbers: HashMap<u64, usize>,
    /// Which of them a thread's next call of io_uring_register(2) is about.
    registering: HashMap<u32, u64>,
}

impl Rings {
    /// A thread registers something with a ring.
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

/// The descriptor that stands for a registered file.
pub(super) fn fixed(ring: usize, place: u32) -> i64 {
    FIXED_FROM + ((ring as i64) << PLACE_BITS) + i64::from(place & ((1 << PLACE_BITS) - 1))
}
