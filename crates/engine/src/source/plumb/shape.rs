//! Properties of an op apart from its position: its kind, its size, and the flush that may follow it.

use crate::op::BlockOp;
use crate::rng::Rng;
use plumb_workload::{Mix, OpKind};

/// A part of a worker's range: contiguous bytes of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Index among the target's files.
    pub(crate) file: u32,
    /// First byte.
    pub(crate) start: u64,
    /// Length in bytes.
    pub(crate) length: u64,
}

/// File, offset and length of one op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpRange {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    pub(crate) length: u32,
}

/// Sizes of ops, in bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sizes {
    /// Always the same; draws nothing.
    Fixed(u32),
    /// `first + i * step` for `i` in `0..count`, uniformly.
    Range { first: u32, step: u32, count: u64 },
    /// The first size whose threshold is not below 64 random bits.
    Weighted(Box<[Threshold]>),
}

/// A size and the cumulative weight up to and including it, as a share of 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold {
    pub(crate) upto: u64,
    pub(crate) size: u32,
}

impl Sizes {
    #[inline]
    pub(crate) fn next(&self, rng: &mut Rng) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Range { first, step, count } => first + step * rng.below(*count) as u32,
            Sizes::Weighted(table) => {
                let bits = rng.next_u64();
                table[table.partition_point(|entry| entry.upto < bits).min(table.len() - 1)].size
            }
        }
    }

    pub(crate) fn smallest(&self) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Range { first, .. } => *first,
            Sizes::Weighted(table) => table.iter().map(|entry| entry.size).min().unwrap_or_default(),
        }
    }

    pub(crate) fn largest(&self) -> u32 {
        match self {
            Sizes::Fixed(size) => *size,
            Sizes::Range { first, step, count } => first + step * (count - 1) as u32,
            Sizes::Weighted(table) => table.iter().map(|entry| entry.size).max().unwrap_or_default(),
        }
    }
}

/// The sizes of each kind of op.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SizesByKind {
    pub(crate) read: Sizes,
    pub(crate) write: Sizes,
    pub(crate) trim: Sizes,
}

impl SizesByKind {
    #[inline]
    pub(crate) fn get(&self, kind: OpKind) -> &Sizes {
        match kind {
            OpKind::Write => &self.write,
            OpKind::Trim => &self.trim,
            _ => &self.read,
        }
    }
}

/// Chooses between reads, writes and trims.
#[derive(Debug, Clone)]
pub(crate) enum Kinds {
    /// Always the same; draws nothing.
    Only(OpKind),
    /// Drawn by weights.
    Mixed { read: u64, read_or_write: u64, all: u64, rng: Rng },
}

impl Kinds {
    pub(crate) fn new(mix: Mix, rng: Rng) -> Kinds {
        if let Some(kind) = only(mix) {
            return Kinds::Only(kind);
        }
        let read = u64::from(mix.read);
        let read_or_write = read + u64::from(mix.write);
        Kinds::Mixed { read, read_or_write, all: read_or_write + u64::from(mix.trim), rng }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> OpKind {
        match self {
            Kinds::Only(kind) => *kind,
            Kinds::Mixed { read, read_or_write, all, rng } => {
                let draw = rng.below(*all);
                if draw < *read {
                    OpKind::Read
                } else if draw < *read_or_write {
                    OpKind::Write
                } else {
                    OpKind::Trim
                }
            }
        }
    }
}

/// Returns the kinds of a mix that have a weight.
pub(crate) fn kinds_of(mix: Mix) -> impl Iterator<Item = OpKind> {
    [(mix.read, OpKind::Read), (mix.write, OpKind::Write), (mix.trim, OpKind::Trim)]
        .into_iter()
        .filter(|(weight, _)| *weight > 0)
        .map(|(_, kind)| kind)
}

/// Returns the kind of every op, if there is only one.
pub(crate) fn only(mix: Mix) -> Option<OpKind> {
    let mut kinds = kinds_of(mix);
    let first = kinds.next();
    if kinds.next().is_none() { first } else { None }
}

/// Inserts an `fsync` or `fdatasync` after every N writes, on the file of the last of them. If both are due together,
/// only the `fsync` is made, which includes the other.
#[derive(Debug, Clone)]
pub(crate) struct Flushes {
    fsync: Every,
    fdatasync: Every,
    due: Option<BlockOp>,
}

#[derive(Debug, Clone)]
struct Every {
    interval: u64,
    left: u64,
}

impl Every {
    /// An interval of 0 means never, since 2^64 writes do not happen.
    fn new(interval: u64) -> Every {
        let interval = if interval == 0 { u64::MAX } else { interval };
        Every { interval, left: interval }
    }

    #[inline]
    fn is_due(&mut self) -> bool {
        self.left -= 1;
        let due = self.left == 0;
        if due {
            self.left = self.interval;
        }
        due
    }
}

impl Flushes {
    /// Takes the intervals in writes; 0 means never.
    pub(crate) fn new(fsync_every: u64, fdatasync_every: u64) -> Flushes {
        Flushes { fsync: Every::new(fsync_every), fdatasync: Every::new(fdatasync_every), due: None }
    }

    /// Takes the flush that comes before the next op, if one is due.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<BlockOp> {
        self.due.take()
    }

    /// Counts a write, after which a flush may be due.
    #[inline]
    pub(crate) fn wrote(&mut self, file: u32) {
        let (fsync, fdatasync) = (self.fsync.is_due(), self.fdatasync.is_due());
        if fsync {
            self.due = Some(BlockOp::load(OpKind::Fsync, file, 0, 0));
        } else if fdatasync {
            self.due = Some(BlockOp::load(OpKind::Fdatasync, file, 0, 0));
        }
    }
}
