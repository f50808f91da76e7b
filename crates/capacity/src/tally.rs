//! What was found, added up in constant memory, and what follows from it.

use crate::BLOCK_BYTES;
use plumb_engine::math::gcd;

/// What a block turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// What was written there.
    Right,
    /// Zeros.
    Nothing,
    /// A block that belongs at another offset.
    Elsewhere { belongs_at: u64 },
    /// What an earlier check wrote: this one's write is lost.
    Old,
    /// Data that is neither: damaged, or never written by us.
    Other,
    /// It could not be written or read.
    Failed,
}

/// How many blocks were what, and where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Bytes that came back as written.
    pub right_bytes: u64,
    /// Bytes that came back as zeros.
    pub nothing_bytes: u64,
    /// Bytes that belong elsewhere.
    pub elsewhere_bytes: u64,
    /// Bytes that an earlier check wrote: this one's writes are lost.
    pub old_bytes: u64,
    /// Bytes with other content: damaged, or never written by a check.
    pub other_bytes: u64,
    /// Bytes that could not be written or read.
    pub failed_bytes: u64,
    /// Where the first wrong block lies, in bytes.
    pub first_wrong: Option<u64>,
    /// Behind the last right block, in bytes.
    pub right_until: u64,
    /// The greatest common divisor of the distances between where blocks were found and where they belong, in bytes.
    pub distance: Option<u64>,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// All that was asked is right.
    Holds,
    /// Addresses wrap around: an offset leads to the same place as the one `holds_bytes` below it, so that later writes overwrite
    /// earlier ones.
    Wraps {
        /// What it really holds, in bytes; where it is judged by few blocks, at most so much.
        holds_bytes: u64,
    },
    /// What is written behind this is lost.
    Ends {
        /// What it really holds, in bytes.
        holds_bytes: u64,
    },
    /// Wrong blocks lie between right ones: it is damaged, whatever it holds.
    Damaged {
        /// Bytes that are wrong.
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

    /// All blocks that were asked, in bytes.
    pub fn asked_bytes(&self) -> u64 {
        self.right_bytes + self.wrong_bytes()
    }

    /// Those that were not what was written, in bytes.
    pub fn wrong_bytes(&self) -> u64 {
        self.nothing_bytes + self.elsewhere_bytes + self.old_bytes + self.other_bytes + self.failed_bytes
    }

    /// What follows from them.
    pub fn verdict(&self) -> Verdict {
        let damaged = Verdict::Damaged { wrong_bytes: self.wrong_bytes() };
        match (self.first_wrong, self.distance) {
            (None, _) => Verdict::Holds,
            // Where addresses wrap around, no more can be right than is there. A single misdirected write leaves more.
            (Some(_), Some(distance)) if self.right_bytes <= distance => Verdict::Wraps { holds_bytes: distance },
            (Some(first), None) if first >= self.right_until => Verdict::Ends { holds_bytes: self.right_until },
            (Some(_), _) => damaged,
        }
    }
}
