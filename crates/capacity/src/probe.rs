//! A quick probe of a few blocks: seconds instead of hours. It detects fake capacity at likely real sizes. A clean
//! result proves nothing.
//!
//! For each likely real size, one block is written at this distance from a common *base*. If addresses wrap around at
//! that size, the block overwrites the base. More blocks are spread over the space, because data written past the
//! real end may be lost. Then a stretch of other blocks is written, so that a small cache in the device no longer
//! holds the first ones. Finally all blocks are read back.

use crate::blocks::{Buffer, Stamps};
use crate::medium::Medium;
use crate::tally::{Found, Tally, Verdict};
use crate::{BLOCK_BYTES, CapacityError, TRANSFER_BYTES};
use std::time::{Duration, Instant};

/// Offset of the base block, in bytes.
const BASE: u64 = TRANSFER_BYTES;

/// Smallest real size to look for. No real controller has less.
const LEAST_BYTES: u64 = 1 << 22;

/// Range of offsets, in bytes, written to flush the device's cache. Larger than the caches of sticks and cards.
const CACHE_FLUSH: std::ops::Range<u64> = 2 << 20..66 << 20;

/// Number of parts of the space. A block is written at the end of each.
const PARTS: u64 = 64;

#[derive(Debug, Clone, Copy)]
pub struct Probe {
    pub tally: Tally,
    /// The conclusion. For [`Verdict::Ends`] the end is exact to one block.
    pub verdict: Verdict,
    pub took: Duration,
}

/// Writes and reads a few blocks. If some are wrong, tests as many more as it takes to find the real end.
/// `goes_on` returns whether to continue.
///
/// # Errors
/// Returns an error if the probe is interrupted, the space is smaller than one block, or a flush fails.
pub fn probe(medium: &mut dyn Medium, seed: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<Probe, CapacityError> {
    let begun = Instant::now();
    let bytes = medium.bytes() / BLOCK_BYTES * BLOCK_BYTES;
    if bytes == 0 {
        return Err(CapacityError::TooSmall { bytes: medium.bytes() });
    }
    let mut prober = Prober { medium, stamps: Stamps::new(seed), buffer: Buffer::new() };
    let places = places(bytes);
    for place in &places {
        prober.write(*place);
    }
    let between = CACHE_FLUSH.start..CACHE_FLUSH.end.min(bytes / 2).max(CACHE_FLUSH.start);
    for offset in between.step_by(TRANSFER_BYTES as usize) {
        if !goes_on() {
            return Err(CapacityError::Interrupted);
        }
        let length = TRANSFER_BYTES.min(bytes.saturating_sub(offset));
        let data = prober.buffer.first(length);
        prober.stamps.make(offset, data);
        let _ = prober.medium.write(offset, data);
    }
    prober.settle()?;
    let mut tally = Tally::default();
    for place in &places {
        if !goes_on() {
            return Err(CapacityError::Interrupted);
        }
        tally.add(*place, prober.read(*place));
    }
    let verdict = match tally.verdict() {
        Verdict::Ends { holds_bytes } => {
            let beyond = tally.first_wrong.unwrap_or(bytes);
            Verdict::Ends { holds_bytes: prober.end_between(holds_bytes, beyond, goes_on)? }
        }
        // Only a few blocks were tested. A single misdirected write looks the same.
        Verdict::Wraps { holds_bytes } if !prober.wraps_after(holds_bytes)? => {
            Verdict::Damaged { wrong_bytes: tally.wrong_bytes() }
        }
        other => other,
    };
    Ok(Probe { tally, verdict, took: begun.elapsed() })
}

/// Returns the offsets to write, each once, the base first.
fn places(bytes: u64) -> Vec<u64> {
    let last = bytes - BLOCK_BYTES;
    let base = BASE.min(last);
    let past_base = sizes(bytes).into_iter().filter_map(|size| base.checked_add(size));
    let spread = (0..=PARTS).map(|part| (u128::from(last) * u128::from(part) / u128::from(PARTS)) as u64);
    let mut places: Vec<u64> = past_base
        .chain(spread)
        .map(|place| place / BLOCK_BYTES * BLOCK_BYTES)
        .filter(|place| *place <= last && *place != base && !CACHE_FLUSH.contains(place))
        .collect();
    places.sort_unstable();
    places.dedup();
    places.insert(0, base);
    places
}

/// Returns sizes that real flash has: powers of two and the quarters between them, and powers of two of megabytes.
fn sizes(bytes: u64) -> Vec<u64> {
    let binary = (20..63).flat_map(|power| [4, 5, 6, 7].map(|quarters| (quarters << power) / 4));
    let decimal = (0..43).map(|power| 1_000_000 << power);
    binary.chain(decimal).filter(|size| (LEAST_BYTES..bytes).contains(size)).collect()
}

struct Prober<'a> {
    medium: &'a mut dyn Medium,
    stamps: Stamps,
    buffer: Buffer,
}

impl Prober<'_> {
    fn write(&mut self, offset: u64) {
        let block = self.buffer.first(BLOCK_BYTES);
        self.stamps.make(offset, block);
        // A failed write shows up when the block is read.
        let _ = self.medium.write(offset, block);
    }

    fn read(&mut self, offset: u64) -> Found {
        let block = self.buffer.first(BLOCK_BYTES);
        self.medium.read(offset, block).map_or(Found::Failed, |()| self.stamps.judge(offset, block))
    }

    fn settle(&mut self) -> Result<(), CapacityError> {
        self.medium.settle().map_err(CapacityError::Flush)
    }

    /// Returns `true` if a write at this distance from the first block overwrites it.
    fn wraps_after(&mut self, bytes: u64) -> Result<bool, CapacityError> {
        self.write(0);
        self.write(bytes);
        self.settle()?;
        Ok(self.read(0) == Found::Elsewhere { belongs_at: bytes })
    }

    /// Finds the end of the real space by bisection: blocks before `right` exist, the block at `wrong` does not.
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
