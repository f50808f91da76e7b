//! A few blocks that would show a lie: seconds instead of hours. It finds what is wrong with likely sizes; it proves nothing where it
//! finds nothing.
//!
//! For each likely real size one block is written that many bytes behind a common *base*: if addresses wrap around there, the base is
//! overwritten. Others are spread over the space, as what is written behind the real end is lost. Then a stretch of other blocks is
//! written, so that a small cache of the device no longer holds the first ones, and all are read back.

use crate::blocks::{Buffer, Stamps};
use crate::medium::Medium;
use crate::tally::{Found, Tally, Verdict};
use crate::{BLOCK_BYTES, CapacityError, TRANSFER_BYTES};
use std::time::{Duration, Instant};

/// Where the base lies, in bytes.
const BASE: u64 = TRANSFER_BYTES;

/// The least real size that is looked for: a controller with less is none.
const LEAST_BYTES: u64 = 1 << 22;

/// So much is written between, from here, in bytes: more than the caches of sticks and cards hold.
const BETWEEN: std::ops::Range<u64> = 2 << 20..66 << 20;

/// Parts of the space whose ends get a block.
const PARTS: u64 = 64;

/// What a probe found.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    /// The blocks.
    pub tally: Tally,
    /// What follows, with the end of the space that is there found to a block.
    pub verdict: Verdict,
    /// How long it took.
    pub took: Duration,
}

/// Asks the few blocks, and where some are wrong, as many more as finding the real end takes. `goes_on` returns
/// whether to continue.
///
/// # Errors
/// It is interrupted, the space has no room for a block, or it cannot be flushed.
pub fn probe(medium: &mut dyn Medium, seed: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<Probe, CapacityError> {
    let begun = Instant::now();
    let bytes = medium.bytes() / BLOCK_BYTES * BLOCK_BYTES;
    if bytes == 0 {
        return Err(CapacityError::TooSmall { bytes: medium.bytes() });
    }
    let mut asked = Asked { medium, stamps: Stamps::new(seed), buffer: Buffer::new() };
    let places = places(bytes);
    for place in &places {
        asked.write(*place);
    }
    let between = BETWEEN.start..BETWEEN.end.min(bytes / 2).max(BETWEEN.start);
    for offset in between.step_by(TRANSFER_BYTES as usize) {
        if !goes_on() {
            return Err(CapacityError::Interrupted);
        }
        let length = TRANSFER_BYTES.min(bytes.saturating_sub(offset));
        let data = asked.buffer.first(length);
        asked.stamps.make(offset, data);
        let _ = asked.medium.write(offset, data);
    }
    asked.settle()?;
    let mut tally = Tally::default();
    for place in &places {
        if !goes_on() {
            return Err(CapacityError::Interrupted);
        }
        tally.add(*place, asked.read(*place));
    }
    let verdict = match tally.verdict() {
        Verdict::Ends { holds_bytes } => {
            let beyond = tally.first_wrong.unwrap_or(bytes);
            Verdict::Ends { holds_bytes: asked.end_between(holds_bytes, beyond, goes_on)? }
        }
        // Seen in a few blocks, a wrong one may have been misdirected once.
        Verdict::Wraps { holds_bytes } if !asked.wraps_after(holds_bytes)? => {
            Verdict::Damaged { wrong_bytes: tally.wrong_bytes() }
        }
        other => other,
    };
    Ok(Probe { tally, verdict, took: begun.elapsed() })
}

/// Where blocks are written, each once, the base first.
fn places(bytes: u64) -> Vec<u64> {
    let last = bytes - BLOCK_BYTES;
    let base = BASE.min(last);
    let behind_base = sizes(bytes).into_iter().filter_map(|size| base.checked_add(size));
    let spread = (0..=PARTS).map(|part| (u128::from(last) * u128::from(part) / u128::from(PARTS)) as u64);
    let mut places: Vec<u64> = behind_base
        .chain(spread)
        .map(|place| place / BLOCK_BYTES * BLOCK_BYTES)
        .filter(|place| *place <= last && *place != base && !BETWEEN.contains(place))
        .collect();
    places.sort_unstable();
    places.dedup();
    places.insert(0, base);
    places
}

/// Sizes that flash really has: powers of two, and what lies between them in quarters; and powers of two of megabytes.
fn sizes(bytes: u64) -> Vec<u64> {
    let binary = (20..63).flat_map(|power| [4, 5, 6, 7].map(|quarters| (quarters << power) / 4));
    let decimal = (0..43).map(|power| 1_000_000 << power);
    binary.chain(decimal).filter(|size| (LEAST_BYTES..bytes).contains(size)).collect()
}

struct Asked<'a> {
    medium: &'a mut dyn Medium,
    stamps: Stamps,
    buffer: Buffer,
}

impl Asked<'_> {
    fn write(&mut self, offset: u64) {
        let block = self.buffer.first(BLOCK_BYTES);
        self.stamps.make(offset, block);
        // What was not written is not there when it is read.
        let _ = self.medium.write(offset, block);
    }

    fn read(&mut self, offset: u64) -> Found {
        let block = self.buffer.first(BLOCK_BYTES);
        self.medium.read(offset, block).map_or(Found::Failed, |()| self.stamps.judge(offset, block))
    }

    fn settle(&mut self) -> Result<(), CapacityError> {
        self.medium.settle().map_err(CapacityError::Flush)
    }

    /// Whether a write that many bytes behind the first block overwrites it.
    fn wraps_after(&mut self, bytes: u64) -> Result<bool, CapacityError> {
        self.write(0);
        self.write(bytes);
        self.settle()?;
        Ok(self.read(0) == Found::Elsewhere { belongs_at: bytes })
    }

    /// Where the space that is there ends, by halves: up to `right` it is, at `wrong` it is not.
    fn end_between(&mut self, right: u64, wrong: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<u64, CapacityError> {
        let (mut right, mut wrong) = (right / BLOCK_BYTES, wrong / BLOCK_BYTES);
        while right < wrong {
            if !goes_on() {
                return Err(CapacityError::Interrupted);
            }
            let middle = right + (wrong - right) / 2;
            self.write(middle * BLOCK_BYTES);
            self.settle()?;
            match self.read(middle * BLOCK_BYTES) {
                Found::Right => right = middle + 1,
                _ => wrong = middle,
            }
        }
        Ok(right * BLOCK_BYTES)
    }
}
