//! Written pieces that must still be read back or trimmed.
//!
//! Facts, observed in fio 3.42: if no byte is written twice, writes are read back in the order in which they were made.
//! (fio 3.33 sorts those that were not drawn from a map.) All others are sorted by file and offset, and a write
//! replaces earlier ones that it overlaps. The first case is redrawn here in constant memory, unless part of it is read
//! back or trimmed during the run.

use std::collections::{BTreeMap, VecDeque};

/// A written piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) file: u32,
    pub(super) length: u32,
    pub(super) offset: u64,
    /// Sequence number among the worker's writes.
    pub(super) number: u32,
    /// Whether the piece is trimmed.
    pub(super) trim: Trim,
}

/// Trim state of a written piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trim {
    No,
    Waiting,
    Done,
}

/// Written pieces, in the order in which they are read back.
#[derive(Debug, Clone)]
pub(super) struct History {
    pieces: Pieces,
    /// Pieces to trim, including some that no longer exist.
    trims: VecDeque<Piece>,
    trims_waiting: usize,
}

#[derive(Debug, Clone)]
enum Pieces {
    InOrder(VecDeque<Piece>),
    Sorted(BTreeMap<Place, Piece>),
}

/// Start of a piece, used as its sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: u32,
    offset: u64,
}

impl Piece {
    fn place(&self) -> Place {
        Place { file: self.file, offset: self.offset }
    }

    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Order in which written pieces are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    InOrder,
    Sorted,
}

impl History {
    pub(super) fn new(keeping: Keeping) -> History {
        let pieces = match keeping {
            Keeping::InOrder => Pieces::InOrder(VecDeque::new()),
            Keeping::Sorted => Pieces::Sorted(BTreeMap::new()),
        };
        History { pieces, trims: VecDeque::new(), trims_waiting: 0 }
    }

    pub(super) fn keeping(&self) -> Keeping {
        match self.pieces {
            Pieces::InOrder(_) => Keeping::InOrder,
            Pieces::Sorted(_) => Keeping::Sorted,
        }
    }

    pub(super) fn len(&self) -> u64 {
        match &self.pieces {
            Pieces::InOrder(pieces) => pieces.len() as u64,
            Pieces::Sorted(pieces) => pieces.len() as u64,
        }
    }

    pub(super) fn trims_waiting(&self) -> bool {
        self.trims_waiting > 0
    }

    pub(super) fn clear(&mut self) {
        match &mut self.pieces {
            Pieces::InOrder(pieces) => pieces.clear(),
            Pieces::Sorted(pieces) => pieces.clear(),
        }
        self.trims.clear();
        self.trims_waiting = 0;
    }

    /// Adds a write.
    pub(super) fn add(&mut self, piece: Piece) {
        if piece.trim == Trim::Waiting {
            self.trims.push_back(piece);
            self.trims_waiting += 1;
        }
        let pieces = match &mut self.pieces {
            Pieces::InOrder(pieces) => return pieces.push_back(piece),
            Pieces::Sorted(pieces) => pieces,
        };
        // Pieces do not overlap, so only the previous one can extend into this one.
        let before = pieces.range(..piece.place()).next_back().map(|(_, before)| *before);
        let reaches_in = before.filter(|before| before.file == piece.file && before.end() > piece.offset);
        let end = Place { file: piece.file, offset: piece.end() };
        let inside: Vec<Place> = pieces.range(piece.place()..end).map(|(place, _)| *place).collect();
        for place in reaches_in.map(|before| before.place()).into_iter().chain(inside) {
            if pieces.remove(&place).is_some_and(|gone| gone.trim == Trim::Waiting) {
                self.trims_waiting -= 1;
            }
        }
        pieces.insert(piece.place(), piece);
    }

    /// Takes the next piece to read back.
    pub(super) fn next(&mut self) -> Option<Piece> {
        let piece = match &mut self.pieces {
            Pieces::InOrder(pieces) => pieces.pop_front(),
            Pieces::Sorted(pieces) => pieces.pop_first().map(|(_, piece)| piece),
        }?;
        if piece.trim == Trim::Waiting {
            self.trims_waiting -= 1;
        }
        Some(piece)
    }

    /// Takes the next piece to trim. Afterwards it is either read back as zeros or forgotten.
    pub(super) fn next_trim(&mut self, afterwards: AfterTrim) -> Option<Piece> {
        loop {
            let wanted = self.trims.pop_front()?;
            let Some(kept) = self.find(&wanted) else { continue };
            if kept.trim != Trim::Waiting {
                continue;
            }
            kept.trim = Trim::Done;
            self.trims_waiting -= 1;
            if afterwards == AfterTrim::Forget {
                self.remove(&wanted);
            }
            return Some(wanted);
        }
    }

    /// Forgets a write that was not made.
    pub(super) fn forget(&mut self, piece: &Piece) {
        if self.find(piece).is_some_and(|kept| kept.trim == Trim::Waiting) {
            self.trims_waiting -= 1;
        }
        self.remove(piece);
    }

    fn find(&mut self, wanted: &Piece) -> Option<&mut Piece> {
        match &mut self.pieces {
            Pieces::InOrder(pieces) => {
                let at = position(pieces, wanted)?;
                pieces.get_mut(at)
            }
            Pieces::Sorted(pieces) => pieces.get_mut(&wanted.place()).filter(|kept| kept.number == wanted.number),
        }
    }

    fn remove(&mut self, wanted: &Piece) {
        match &mut self.pieces {
            Pieces::InOrder(pieces) => {
                if let Some(at) = position(pieces, wanted) {
                    pieces.remove(at);
                }
            }
            Pieces::Sorted(pieces) => {
                if pieces.get(&wanted.place()).is_some_and(|kept| kept.number == wanted.number) {
                    pieces.remove(&wanted.place());
                }
            }
        }
    }
}

/// Treatment of a piece after its trim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterTrim {
    /// The piece is not read back.
    Forget,
    /// The piece is read back and must contain zeros.
    ExpectZeros,
}

/// Finds a piece. Numbers ascend from the first piece on, and may wrap around.
fn position(pieces: &VecDeque<Piece>, wanted: &Piece) -> Option<usize> {
    let first = pieces.front()?.number;
    let rank = |piece: &Piece| piece.number.wrapping_sub(first);
    pieces.binary_search_by_key(&rank(wanted), rank).ok()
}
