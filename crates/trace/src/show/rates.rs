//! Rates of ops over time.

use crate::record::RecordedAct;

/// Maximum number of pieces.
const PIECES_MAX: usize = 128;

/// Initial length of a piece, in bits of ns: a millisecond.
const FIRST_BITS: u32 = 20;

/// Number of reads, writes, flushes and other ops.
pub(crate) type Counts = [u64; 4];

/// Ops by kind, in equal pieces of time from the first op on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rates {
    /// Number of times the length of a piece was doubled.
    doubled: u32,
    pieces: Vec<Counts>,
}

impl Rates {
    /// Counts an op.
    #[inline]
    pub(crate) fn add(&mut self, since_ns: u64, act: RecordedAct) {
        let piece = (since_ns >> (FIRST_BITS + self.doubled)) as usize;
        if piece >= self.pieces.len() {
            self.reach(since_ns);
        }
        let piece = (since_ns >> (FIRST_BITS + self.doubled)) as usize;
        let kind = match act {
            RecordedAct::Read => 0,
            RecordedAct::Write => 1,
            RecordedAct::Sync | RecordedAct::Datasync => 2,
            _ => 3,
        };
        self.pieces[piece][kind] += 1;
    }

    #[cold]
    fn reach(&mut self, since_ns: u64) {
        while since_ns >> (FIRST_BITS + self.doubled) >= PIECES_MAX as u64 {
            self.pieces = self.pieces.chunks(2).map(sum).collect();
            self.doubled += 1;
        }
        let piece = (since_ns >> (FIRST_BITS + self.doubled)) as usize;
        self.pieces.resize(self.pieces.len().max(piece + 1), [0; 4]);
    }

    /// Returns the length of a piece, ns.
    pub fn piece_ns(&self) -> u64 {
        1 << (FIRST_BITS + self.doubled)
    }

    /// Returns the counts of each piece.
    pub fn pieces(&self) -> &[Counts] {
        &self.pieces
    }
}

/// Adds up the counts of several pieces.
pub(crate) fn sum(pieces: &[Counts]) -> Counts {
    pieces.iter().fold([0; 4], |sum, piece| std::array::from_fn(|kind| sum[kind] + piece[kind]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_recording_has_longer_pieces_and_all_its_ops() {
        let mut rates = Rates::default();
        (0..1000).for_each(|n| rates.add(n * 1_000_000, RecordedAct::Read));
        rates.add(u64::MAX, RecordedAct::Write);
        assert_eq!(sum(rates.pieces()), [1000, 1, 0, 0]);
        assert!(rates.pieces().len() <= PIECES_MAX && rates.piece_ns() > 1 << 40);
    }
}
