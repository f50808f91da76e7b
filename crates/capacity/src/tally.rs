//! Counts the outcome of each block in constant memory and draws the conclusion.

use crate::BLOCK_BYTES;
use plumb_engine::math::gcd;

/// Outcome of reading one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The block holds the written data.
    Right,
    /// The block is all zeros.
    Nothing,
    /// The block belongs at another offset.
    Elsewhere { belongs_at: u64 },
    /// The block is from an earlier check: this check's write is lost.
    Old,
    /// Any other data: damaged, or never written by a check.
    Other,
    /// The block could not be written or read.
    Failed,
}

/// Number and position of the blocks by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes that came back as written.
    pub right_bytes: u64,
    /// Bytes that came back as zeros.
    pub nothing_bytes: u64,
    /// Bytes that belong at another offset.
    pub elsewhere_bytes: u64,
    /// Bytes from an earlier check: this check's writes are lost.
    pub old_bytes: u64,
    /// Bytes with any other content: damaged, or never written by a check.
    pub other_bytes: u64,
    /// Bytes that could not be written or read.
    pub failed_bytes: u64,
    /// Offset of the first wrong block, in bytes. `None` if no block is wrong.
    pub first_wrong: Option<u64>,
    /// Offset after the last right block, in bytes.
    pub right_until: u64,
    /// Greatest common divisor of the distances between where blocks were found and where they belong, in bytes.
    pub distance: Option<u64>,
}

/// Conclusion from the outcomes of all blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All tested blocks are right.
    Holds,
    /// Addresses wrap around: an offset maps to the same place as the one `holds_bytes` below it, so
    /// later writes overwrite earlier ones.
    Wraps {
        /// Real size in bytes. An upper bound if only a few blocks were tested.
        holds_bytes: u64,
    },
    /// Data written past this size is lost.
    Ends { holds_bytes: u64 },
    /// Wrong blocks lie between right ones: the storage is damaged. Its real size is unknown.
    Damaged {
        /// Bytes of wrong blocks.
        wrong_bytes: u64,
    },
}

impl Tally {
    pub(crate) fn add(&mut self, offset: u64, found: Found) {
        let bytes = match found {
            Found::Right => &mut self.right_bytes,
            Found::Nothing => &mut self.nothing_bytes,
            Found::Elsewhere { .. } => &mut self.elsewhere_bytes,
            Found::Old => &mut self.old_bytes,
            Found::Other => &mut self.other_bytes,
            Found::Failed => &mut self.failed_bytes,
        };
        *bytes += BLOCK_BYTES;
        if found == Found::Right {
            self.right_until = self.right_until.max(offset + BLOCK_BYTES);
        } else {
            self.first_wrong = Some(self.first_wrong.map_or(offset, |first| first.min(offset)));
        }
        if let Found::Elsewhere { belongs_at } = found {
            let apart = offset.abs_diff(belongs_at);
            self.distance = Some(self.distance.map_or(apart, |known| gcd(known, apart)));
        }
    }

    /// Returns the total size of the tested blocks, in bytes.
    pub fn asked_bytes(&self) -> u64 {
        self.right_bytes + self.wrong_bytes()
    }

    /// Returns the total size of the wrong blocks, in bytes.
    pub fn wrong_bytes(&self) -> u64 {
        self.nothing_bytes + self.elsewhere_bytes + self.old_bytes + self.other_bytes + self.failed_bytes
    }

    /// Draws the conclusion from the counts.
    pub fn verdict(&self) -> Verdict {
        let damaged = Verdict::Damaged { wrong_bytes: self.wrong_bytes() };
        match (self.first_wrong, self.distance) {
            (None, _) => Verdict::Holds,
            // With wrap-around, the right blocks cannot exceed the real size. After a single misdirected write they
            // do.
            (Some(_), Some(distance)) if self.right_bytes <= distance => Verdict::Wraps { holds_bytes: distance },
            (Some(first), None) if first >= self.right_until => Verdict::Ends { holds_bytes: self.right_until },
            (Some(_), _) => damaged,
        }
    }
}
