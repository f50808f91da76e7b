//! Sizes of ops, drawn as fio draws them.
//!
//! Facts, observed in fio: one size draws nothing. A range draws from its low end up to low plus high, rounds down
//! to a multiple of the low end and clamps to the high end, which therefore comes up far more often than the
//! others. A list, from the rarest size to the most common, takes the first entry whose cumulative share reaches
//! the draw *and* that fits into the rest of the file. A size that does not fit is drawn again; if not even the
//! smallest fits, there is no op.

use crate::rng::fio::Taus;
use plumb_workload::blocks::fio::{JobSize, SizeShare};

/// The sizes of one kind of op, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) smallest: u64,
    pub(super) largest: u64,
    /// Empty for a range.
    shares: Box<[SizeShare]>,
    unaligned: bool,
}

impl Sizes {
    pub(super) fn new(size: &JobSize, unaligned: bool) -> Sizes {
        let mut shares = match size {
            JobSize::Split(shares) => shares.iter().copied().filter(|share| share.percent > 0).collect(),
            JobSize::Fixed(_) | JobSize::Range { .. } => Vec::new(),
        };
        shares.sort_by_key(|share| share.percent);
        Sizes { smallest: size.min().0, largest: size.max().0, shares: shares.into(), unaligned }
    }

    /// Returns `true` if all sizes are the same.
    pub(super) fn is_fixed(&self) -> bool {
        self.smallest == self.largest
    }

    /// Returns `true` if a size can be any number of bytes.
    pub(super) fn is_unaligned(&self) -> bool {
        self.unaligned && !self.is_fixed()
    }

    /// Draws the next size with `room` bytes left; `None` if no size fits. A single size ignores the room.
    #[inline]
    pub(super) fn next(&self, taus: &mut Taus, room: u64) -> Option<u64> {
        if self.is_fixed() {
            return Some(self.smallest);
        }
        if self.smallest > room {
            return None;
        }
        loop {
            let drawn = if self.shares.is_empty() {
                self.smallest + (self.largest as f64 * taus.share()) as u64
            } else {
                self.listed(taus, room)
            };
            let rounded = if self.unaligned { drawn } else { drawn - drawn % self.smallest };
            let size = rounded.min(self.largest);
            if size <= room {
                return Some(size);
            }
        }
    }

    fn listed(&self, taus: &mut Taus, room: u64) -> u64 {
        let draw = taus.next();
        let hundredth = taus.largest() / 100;
        let mut upto = 0;
        let mut size = 0;
        for share in &self.shares {
            size = share.size.0;
            upto += u64::from(share.percent);
            if draw / upto <= hundredth && size <= room {
                break;
            }
        }
        size
    }
}
