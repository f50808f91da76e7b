//! Patterns that walk: upwards, downwards, by strides. Each goes through the pieces of its range one after another, and
//! covers all of them in a pass. The rest at the end of a piece makes a shorter op.

use super::shape::{OpRange, Piece};

/// Direction in which a piece is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// From the first byte to the last.
    Up,
    /// From the last byte to the first. The piece's shorter tail comes first, so that the other
    /// blocks are aligned as with [`Direction::Up`].
    Down,
    /// Up by strides, again from one block further on, until every start below the stride has been used.
    Stride(u64),
}

/// Walks through pieces for a number of passes.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    pieces: Box<[Piece]>,
    direction: Direction,
    block: u64,
    passes_left: u64,
    piece: usize,
    /// Distance from the piece's start to the next op's start (up, stride) or end (down).
    at: u64,
    /// Start of the current lap of strides.
    lap: u64,
}

impl Walk {
    /// Creates a walk. `pieces` holds at least one piece, none of them empty; `block` is the
    /// smallest size. Endless passes are `u64::MAX`.
    pub(crate) fn new(pieces: Box<[Piece]>, direction: Direction, block: u64, passes: u64) -> Walk {
        let mut walk = Walk { pieces, direction, block, passes_left: passes, piece: 0, at: 0, lap: 0 };
        walk.enter();
        walk
    }

    fn enter(&mut self) {
        self.lap = 0;
        self.at = match self.direction {
            Direction::Up | Direction::Stride(_) => 0,
            Direction::Down => self.pieces[self.piece].length,
        };
    }

    fn leave(&mut self) {
        self.piece += 1;
        if self.piece == self.pieces.len() {
            self.piece = 0;
            self.passes_left -= 1;
        }
        self.enter();
    }

    /// Returns the next op's place; `None` after the last pass.
    #[inline]
    pub(crate) fn next(&mut self, length: u32) -> Option<OpRange> {
        if self.passes_left == 0 {
            return None;
        }
        let piece = self.pieces[self.piece];
        let wanted = u64::from(length);
        let (begin, length) = match self.direction {
            Direction::Up => {
                let begin = self.at;
                let length = wanted.min(piece.length - begin);
                self.at += length;
                if self.at == piece.length {
                    self.leave();
                }
                (begin, length)
            }
            Direction::Down => {
                let tail = if self.at == piece.length { self.at % self.block } else { 0 };
                let length = if tail > 0 { tail } else { wanted.min(self.at) };
                let begin = self.at - length;
                self.at = begin;
                if begin == 0 {
                    self.leave();
                }
                (begin, length)
            }
            Direction::Stride(stride) => {
                let begin = self.at;
                let length = wanted.min(piece.length - begin);
                self.at = self.at.saturating_add(stride);
                if self.at >= piece.length {
                    self.lap += self.block;
                    self.at = self.lap;
                    if self.lap >= stride.min(piece.length) {
                        self.leave();
                    }
                }
                (begin, length)
            }
        };
        Some(OpRange { file: piece.file, offset: piece.start + begin, length: length as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(lengths: &[u64]) -> Box<[Piece]> {
        lengths.iter().zip(0..).map(|(&length, file)| Piece { file, start: 100 * u64::from(file), length }).collect()
    }

    fn all(walk: &mut Walk, size: u32) -> Vec<(u32, u64, u32)> {
        std::iter::from_fn(|| walk.next(size)).map(|range| (range.file, range.offset, range.length)).collect()
    }

    #[test]
    fn up_goes_through_each_piece_and_shortens_the_tail() {
        let mut walk = Walk::new(pieces(&[10, 4]), Direction::Up, 4, 1);
        assert_eq!(all(&mut walk, 4), [(0, 0, 4), (0, 4, 4), (0, 8, 2), (1, 100, 4)]);
    }

    #[test]
    fn down_is_up_backwards() {
        let mut walk = Walk::new(pieces(&[10]), Direction::Down, 4, 2);
        assert_eq!(all(&mut walk, 4), [(0, 8, 2), (0, 4, 4), (0, 0, 4), (0, 8, 2), (0, 4, 4), (0, 0, 4)]);
    }

    #[test]
    fn strides_interleave() {
        let mut walk = Walk::new(pieces(&[20]), Direction::Stride(8), 4, 1);
        assert_eq!(all(&mut walk, 4), [(0, 0, 4), (0, 8, 4), (0, 16, 4), (0, 4, 4), (0, 12, 4)]);
    }

    proptest! {
        #[test]
        fn a_pass_covers_every_byte(
            lengths in prop::collection::vec(1u64..200, 1..4),
            sizes in prop::collection::vec(1u32..20, 1..5),
            stride in 1u64..50,
            direction in 0usize..3,
        ) {
            let direction = [Direction::Up, Direction::Down, Direction::Stride(stride)][direction];
            let smallest = u64::from(*sizes.iter().min().unwrap());
            let mut walk = Walk::new(pieces(&lengths), direction, smallest, 1);
            let mut touched: Vec<Vec<u32>> = lengths.iter().map(|&length| vec![0; length as usize]).collect();
            let mut turn = sizes.iter().cycle();
            while let Some(range) = walk.next(*turn.next().unwrap()) {
                prop_assert!(range.length > 0);
                let begin = (range.offset - 100 * u64::from(range.file)) as usize;
                for byte in &mut touched[range.file as usize][begin..begin + range.length as usize] {
                    *byte += 1;
                }
            }
            let once = !matches!(direction, Direction::Stride(_));
            let most = if once { 1 } else { u32::MAX };
            prop_assert!(touched.iter().flatten().all(|count| (1..=most).contains(count)));
        }
    }
}
