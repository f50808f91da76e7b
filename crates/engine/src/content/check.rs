//! Checks the data of reads against the expected stamps.
//!
//! # Blocks that differ from the expected one
//!
//! A read-back expects one particular write. If the block has the same write number, it is that write. A higher
//! number is a later write of the same worker, if the worker may write one offset twice. A lower number is data that
//! should have been overwritten, so a write was lost. Numbers of different workers are not compared. A block issued
//! before the worker began is always an error. Where writes may overlap off the grid of stamps, only blocks untouched
//! by later writes are verified.

use super::checksum::{ChecksumBytes, sha512_unfinished, sum, sum_bytes};
use super::pattern::FillPattern;
use super::rules::{StampRules, StampedBody, StampedPiece, Writers};
use super::stamp::{self, Header, HeaderLayout, UnreadableHeader, header_bytes};
use crate::op::BlockOp;
use plumb_workload::verify::VerifyMethod;

/// Expected fields of an op's stamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedStamp {
    /// Number of the write; `None` if unknown.
    pub(super) number: Option<ExpectedWrite>,
    /// Seed of the content; `None` if unknown.
    pub(super) seed: Option<u64>,
    /// Earliest valid time of issue, ns since boot.
    pub(super) not_before_ns: Option<u64>,
}

/// An expected write number, and the other numbers that are valid in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpectedWrite {
    pub(super) write: u32,
    /// Number of later writes of the worker so far that may have replaced the block.
    pub(super) later: u32,
    /// Number of earlier writes that may have been in flight together with it, at the same offset.
    pub(super) together: u32,
}

/// A block that differs from the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PieceMismatch {
    /// Position of the block in the op.
    pub(super) piece: StampedPiece,
    pub(super) difference: StampDifference,
    /// Seed of the expected content; `None` if unknown.
    pub(super) seed: Option<u64>,
    /// Number of other wrong blocks in the same op.
    pub(super) more: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum StampDifference {
    #[error("only zeros; a stamp was expected")]
    NeverWritten,
    #[error("no stamp: expected the magic number acca, found {found:04x}")]
    NoStamp { found: u16 },
    #[error("a stamp of version {found:#04x}; expected 0x81: another version of fio wrote it")]
    OtherVersion { found: u8 },
    #[error("a damaged stamp: expected header checksum {expected:08x}, found {found:08x}")]
    DamagedStamp { expected: u32, found: u32 },
    #[error("a block that belongs elsewhere: expected offset {expected}, found {found}")]
    OtherOffset { expected: u64, found: u64 },
    #[error("a block of another length: expected {expected} bytes, found {found}")]
    OtherLength { expected: u32, found: u32 },
    #[error("a block with another checksum: expected {expected}, found {found}")]
    OtherMethod { expected: &'static str, found: &'static str },
    #[error("an older block, a write was lost: expected write {expected}, found {found}")]
    Stale { expected: u32, found: u64 },
    #[error("a block of another write: expected write {expected}, found {found}")]
    OtherWrite { expected: u32, found: u64 },
    #[error("a block of a worker that does not own this file: expected worker {expected}, found {found}")]
    OtherWorker { expected: u16, found: u16 },
    #[error(
        "data from before this run, a write was lost: found write {found} of worker {worker}, issued {seconds} s too early"
    )]
    FromBefore { found: u64, worker: u16, seconds: u64 },
    #[error("a block with other content: expected seed {expected:#x}, found {found:#x}")]
    OtherSeed { expected: u64, found: u64 },
    #[error("damaged: expected {method} {expected}, found {found}")]
    Damaged { method: &'static str, expected: Box<ChecksumBytes>, found: Box<ChecksumBytes> },
    #[error("damaged at byte {at} of the block: expected {expected:02x} of the pattern, found {found:02x}")]
    NotPattern { at: usize, expected: u8, found: u8 },
    #[error("not zeros after a trim: found {found:02x} at byte {at}")]
    NotZero { at: usize, found: u8 },
    #[error("the file ends early: expected {expected} bytes, found {found}")]
    Short { expected: u32, found: usize },
}

/// Scratch buffers, reused between checks.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    block: Vec<u8>,
    pattern: Vec<u8>,
}

/// Moves a stamp to `stamp_at` or back: swaps it with the bytes there.
pub(super) fn swap(block: &mut [u8], stamp_at: usize, stamp_bytes: usize) {
    if stamp_at > 0 {
        let (front, back) = block.split_at_mut(stamp_at);
        front[..stamp_bytes].swap_with_slice(&mut back[..stamp_bytes]);
    }
}

/// Checks that a trimmed range reads as zeros.
pub(super) fn zeros(op: &BlockOp, read: &[u8]) -> Result<(), PieceMismatch> {
    let piece = StampedPiece { start: 0, length: read.len() };
    let mismatch = |difference| Err(PieceMismatch { piece, difference, seed: None, more: 0 });
    if read.len() < op.length as usize {
        return mismatch(StampDifference::Short { expected: op.length, found: read.len() });
    }
    match read.iter().position(|&byte| byte != 0) {
        None => Ok(()),
        Some(at) => mismatch(StampDifference::NotZero { at, found: read[at] }),
    }
}

/// Checks those blocks of an op that `wanted` accepts.
pub(super) fn check(
    rules: &StampRules,
    op: &BlockOp,
    read: &[u8],
    expected: &ExpectedStamp,
    scratch: &mut Scratch,
    wanted: impl Fn(StampedPiece) -> bool,
) -> Result<(), PieceMismatch> {
    if rules.method == VerifyMethod::Null {
        return Ok(());
    }
    let mut first: Option<PieceMismatch> = None;
    for piece in rules.pieces(op.length).filter(|&piece| wanted(piece)) {
        let checked = match read.get(piece.start..piece.start + piece.length) {
            Some(block) => check_piece(rules, op, piece, block, read, expected, scratch),
            None => Err((StampDifference::Short { expected: op.length, found: read.len() }, expected.seed)),
        };
        if let Err((difference, seed)) = checked {
            match &mut first {
                Some(first) => first.more += 1,
                None => first = Some(PieceMismatch { piece, difference, seed, more: 0 }),
            }
        }
    }
    first.map_or(Ok(()), Err)
}

/// The difference of a block, and the seed of its expected content.
type PieceDifference = (StampDifference, Option<u64>);

fn check_piece(
    rules: &StampRules,
    op: &BlockOp,
    piece: StampedPiece,
    block: &[u8],
    read: &[u8],
    expected: &ExpectedStamp,
    scratch: &mut Scratch,
) -> Result<(), PieceDifference> {
    let offset = op.offset + piece.start as u64;
    let pattern = match &rules.body {
        StampedBody::Pattern(pattern) => Some(pattern),
        StampedBody::Random { .. } => None,
    };
    let stamp_bytes = rules.stamp_bytes();
    if stamp_bytes == 0 {
        return check_pattern(rules, pattern, op, piece, block, 0, &mut scratch.pattern)
            .map_err(|difference| (difference, None));
    }
    let Scratch { block: copy, pattern: tile } = scratch;
    let block = if rules.stamp_at > 0 {
        copy.clear();
        copy.extend_from_slice(block);
        // The position of a stamp depends on the rules of the writer, who is also the reader
        // here. Its layout may differ.
        let found = Header::read(&block[rules.stamp_at..]).map_or(rules.layout, |header| header.layout);
        swap(copy, rules.stamp_at, header_bytes(found) + sum_bytes(rules.method));
        copy.as_slice()
    } else {
        block
    };
    let header = Header::read(block).map_err(|unreadable| (unreadable_as(unreadable, block), expected.seed))?;
    let seed = Some(header.seed);
    // A later write may have had a block of another length here. Verify it as far as it was read.
    let length = header.length as usize;
    let explained = check_header(rules, &header, offset, piece, expected).map_err(|difference| (difference, seed))?;
    let block = match explained {
        _ if length == block.len() => block,
        _ if rules.stamp_at > 0 => return Ok(()),
        _ => match read.get(piece.start..piece.start + length) {
            Some(block) => block,
            // The rest is outside this read; the later write's own read-back verifies it.
            None => return Ok(()),
        },
    };
    let stamp = header_bytes(header.layout) + sum_bytes(rules.method);
    if block.len() <= stamp {
        return Ok(());
    }
    check_sum(rules.method, &header, block).map_err(|difference| (difference, seed))?;
    match rules.method {
        VerifyMethod::Meta | VerifyMethod::PatternHeader if pattern.is_some() => {
            check_pattern(rules, pattern, op, piece, block, stamp, tile).map_err(|difference| (difference, seed))
        }
        _ => Ok(()),
    }
}

fn unreadable_as(unreadable: UnreadableHeader, block: &[u8]) -> StampDifference {
    match unreadable {
        UnreadableHeader::NoMagic { .. } if block.iter().all(|&byte| byte == 0) => StampDifference::NeverWritten,
        UnreadableHeader::NoMagic { found } => StampDifference::NoStamp { found },
        UnreadableHeader::Version { found } => StampDifference::OtherVersion { found },
        UnreadableHeader::Damaged { expected, found } => StampDifference::DamagedStamp { expected, found },
    }
}

/// The write that a block belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockOwner {
    /// The expected write, as far as known.
    Expected,
    /// Another write that is valid here.
    Another,
}

fn check_header(
    rules: &StampRules,
    header: &Header,
    offset: u64,
    piece: StampedPiece,
    expected: &ExpectedStamp,
) -> Result<BlockOwner, StampDifference> {
    if header.offset != offset {
        return Err(StampDifference::OtherOffset { expected: offset, found: header.offset });
    }
    if let Some(not_before_ns) = expected.not_before_ns
        && header.issued_ns() < not_before_ns
    {
        let seconds = (not_before_ns - header.issued_ns()).div_ceil(1_000_000_000);
        return Err(StampDifference::FromBefore { found: header.number, worker: header.worker, seconds });
    }
    if !stamp::means(header.method, rules.method) {
        let (expected, found) = (stamp::name(stamp::code(rules.method)), stamp::name(header.method));
        return Err(StampDifference::OtherMethod { expected, found });
    }
    let owner = match expected.number {
        None => BlockOwner::Expected,
        Some(_) if header.worker != rules.worker => match rules.writers {
            Writers::Several => BlockOwner::Another,
            Writers::One => {
                return Err(StampDifference::OtherWorker { expected: rules.worker, found: header.worker });
            }
        },
        Some(number) => match header.writes_after(number.write) {
            0 => BlockOwner::Expected,
            after if after > 0 && after <= i64::from(number.later) => BlockOwner::Another,
            after if after < 0 && -after <= i64::from(number.together) => BlockOwner::Another,
            after if after < 0 => return Err(StampDifference::Stale { expected: number.write, found: header.number }),
            _ => return Err(StampDifference::OtherWrite { expected: number.write, found: header.number }),
        },
    };
    if owner == BlockOwner::Another {
        return Ok(owner);
    }
    if let Some(seed) = expected.seed
        && header.seed != seed
    {
        return Err(StampDifference::OtherSeed { expected: seed, found: header.seed });
    }
    if header.length as usize != piece.length {
        return Err(StampDifference::OtherLength { expected: piece.length as u32, found: header.length });
    }
    Ok(owner)
}

fn check_sum(method: VerifyMethod, header: &Header, block: &[u8]) -> Result<(), StampDifference> {
    let start = header_bytes(header.layout);
    let bytes = sum_bytes(method);
    if bytes == 0 {
        return Ok(());
    }
    let (expected, data) = (&block[start..start + bytes], &block[start + bytes..]);
    let found = sum(method, data);
    if found.bytes() == expected {
        return Ok(());
    }
    // Old versions of fio do not finish SHA-512.
    let old = method == VerifyMethod::Sha512 && header.layout == HeaderLayout::Unversioned;
    if old && sha512_unfinished(data).is_none_or(|unfinished| unfinished.bytes() == expected) {
        return Ok(());
    }
    let (expected, found) = (Box::new(ChecksumBytes::found(expected)), Box::new(found));
    Err(StampDifference::Damaged { method: stamp::name(stamp::code(method)), expected, found })
}

/// Checks the pattern after the first `skip` bytes of a block. The pattern starts where a write started. That is this
/// op, or another write to the same place, which may have started at any earlier block of the grid.
fn check_pattern(
    rules: &StampRules,
    pattern: Option<&FillPattern>,
    op: &BlockOp,
    piece: StampedPiece,
    block: &[u8],
    skip: usize,
    tile: &mut Vec<u8>,
) -> Result<(), StampDifference> {
    let Some(pattern) = pattern else { return Ok(()) };
    let found = &block[skip..];
    let Some(at) = pattern.differs(op.offset, piece.start + skip, found, tile) else { return Ok(()) };
    let offset = op.offset + piece.start as u64;
    let step = u64::from(rules.grid().unwrap_or(rules.smallest)).max(1);
    let others = if rules.smallest == rules.largest { 0 } else { u64::from(rules.largest) / step };
    let explained = (0..others).filter_map(|back| offset.checked_sub(back * step)).any(|start| {
        let from = (offset - start) as usize + skip;
        start != op.offset && pattern.differs(start, from, found, tile).is_none()
    });
    if explained {
        return Ok(());
    }
    let mut right = vec![0; piece.start + block.len()];
    pattern.fill(op.offset, &mut right);
    let at = skip + at;
    Err(StampDifference::NotPattern { at, expected: right[piece.start + at], found: block[at] })
}
