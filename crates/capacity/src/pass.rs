//! The full check: writes the whole space in one order and reads it back in another.

use crate::blocks::{Buffer, Stamps};
use crate::medium::Medium;
use crate::tally::{Found, Tally};
use crate::{BLOCK_BYTES, CapacityError, TRANSFER_BYTES};
use plumb_engine::rng::{Purpose, StreamId};
use plumb_engine::source::plumb::Permutation;
use std::time::{Duration, Instant};

/// Step of a full check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Writing,
    /// Reading blocks back and comparing them.
    Reading,
}

#[derive(Debug, Clone, Copy)]
pub struct Progress {
    pub step: Step,
    /// Bytes done in this step.
    pub done_bytes: u64,
    /// Bytes of the whole step.
    pub total_bytes: u64,
}

/// Result of a full check.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    pub tally: Tally,
    /// Duration of the writes and the flush after them.
    pub writing: Duration,
    pub reading: Duration,
}

/// Writes the whole space and reads it back. Counts blocks that cannot be written or read and continues. `goes_on`
/// gets the progress and returns whether to continue.
///
/// # Errors
/// Returns an error if the check is interrupted, the space is smaller than one block, or a flush fails.
pub fn check(
    medium: &mut dyn Medium,
    seed: u64,
    goes_on: &mut dyn FnMut(Progress) -> bool,
) -> Result<Pass, CapacityError> {
    let bytes = medium.bytes() / BLOCK_BYTES * BLOCK_BYTES;
    if bytes == 0 {
        return Err(CapacityError::TooSmall { bytes: medium.bytes() });
    }
    let transfers = bytes.div_ceil(TRANSFER_BYTES);
    let mut rng = StreamId { seed, phase: 0, worker: 1 }.rng(Purpose::Offset);
    let mut stamps = Stamps::new(seed);
    let mut buffer = Buffer::new();
    let mut tally = Tally::default();

    let begun = Instant::now();
    let order = Permutation::new(transfers, &mut rng);
    for (done, offset, length) in transfers_of(&order, transfers, bytes) {
        let progress = Progress { step: Step::Writing, done_bytes: done * TRANSFER_BYTES, total_bytes: bytes };
        if !goes_on(progress) {
            return Err(CapacityError::Interrupted);
        }
        let data = buffer.first(length);
        stamps.make(offset, data);
        if medium.write(offset, data).is_err() {
            // Only some blocks of a failed transfer may be bad, so retry block by block. A block that stays unwritten
            // shows up when it is read.
            for (block, at) in data.chunks_exact(BLOCK_BYTES as usize).zip((offset..).step_by(BLOCK_BYTES as usize)) {
                let _ = medium.write(at, block);
            }
        }
    }
    medium.settle().map_err(CapacityError::Flush)?;
    let writing = begun.elapsed();

    let begun = Instant::now();
    let order = Permutation::new(transfers, &mut rng);
    for (done, offset, length) in transfers_of(&order, transfers, bytes) {
        let progress = Progress { step: Step::Reading, done_bytes: done * TRANSFER_BYTES, total_bytes: bytes };
        if !goes_on(progress) {
            return Err(CapacityError::Interrupted);
        }
        let data = buffer.first(length);
        if medium.read(offset, data).is_ok() {
            judge(&stamps, offset, data, &mut tally);
            continue;
        }
        // Retry block by block, as for writes.
        for at in (offset..offset + length).step_by(BLOCK_BYTES as usize) {
            let block = buffer.first(BLOCK_BYTES);
            let found = medium.read(at, block).map_or(Found::Failed, |()| stamps.judge(at, block));
            tally.add(at, found);
        }
    }
    Ok(Pass { tally, writing, reading: begun.elapsed() })
}

/// Returns the number, offset and length of each transfer, in order.
fn transfers_of(order: &Permutation, count: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..count).map(move |index| {
        let offset = order.map_index(index) * TRANSFER_BYTES;
        (index, offset, TRANSFER_BYTES.min(bytes - offset))
    })
}

fn judge(stamps: &Stamps, offset: u64, data: &[u8], tally: &mut Tally) {
    let mut at = offset;
    for block in data.chunks_exact(BLOCK_BYTES as usize) {
        tally.add(at, stamps.judge(at, block));
        at += BLOCK_BYTES;
    }
}
