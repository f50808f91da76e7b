//! Records of whole requests, in a circular table. Claiming a slot is one instruction, whereas the
//! kernel's ring takes a lock.

use super::kernel::SharedTables;
use super::records::{SLOT_BYTES, SLOT_NUMBER_AT, SLOTS_AT, SLOTS_MAX, SLOTS_SPARE, TO_READ_AT};
use std::sync::atomic::Ordering;

/// The reader's end of the slots.
#[derive(Default)]
pub(super) struct Slots {
    taken: u64,
}

impl Slots {
    /// Passes on every complete record. Returns their number.
    pub(super) fn drain(&mut self, tables: &SharedTables, take: &mut dyn FnMut(&[u8])) -> u64 {
        let before = self.taken;
        let next_to_read = tables.word(TO_READ_AT);
        loop {
            let slot = SLOTS_AT + self.taken as usize % SLOTS_MAX * SLOT_BYTES;
            if tables.word(slot + SLOT_NUMBER_AT).load(Ordering::Acquire) != self.taken + 1 {
                break;
            }
            let word = |number: usize| tables.word(slot + 8 * number).load(Ordering::Relaxed).to_ne_bytes();
            let record: [[u8; 8]; SLOT_NUMBER_AT / 8] = std::array::from_fn(word);
            take(record.as_flattened());
            self.taken += 1;
            // Not every time: the writing processors poll this word.
            if self.taken.is_multiple_of(SLOTS_SPARE) {
                next_to_read.store(self.taken, Ordering::Release);
            }
        }
        if self.taken > before {
            next_to_read.store(self.taken, Ordering::Release);
        }
        self.taken - before
    }
}
