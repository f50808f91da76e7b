//! The whole space: written in one order, read back in another.

use crate::blocks::{Buffer, Stamps};
use crate::medium::Medium;
use crate::tally::{Found, Tally};
use crate::{BLOCK_BYTES, CapacityError, TRANSFER_BYTES};
use plumb_engine::rng::{Purpose, StreamId};
use plumb_engine::source::plumb::Permutation;
use std::time::{Duration, Instant};

/// What goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Blocks are written.
    Writing,
    /// Blocks are read and compared.
    Reading,
}

/// How far a step has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Which one.
    pub step: Step,
    /// Bytes done.
    pub done_bytes: u64,
    /// Bytes to do.
    pub total_bytes: u64,
}

/// What a pass over the whole space found.
#[derive(Debug, Clone, Copy)]
pub struct Pass {
    /// The blocks.
    pub tally: Tally,
    /// How long the writes took, with the flush behind them.
    pub writing: Duration,
    /// How long the reads took.
    pub reading: Duration,
}

/// Writes all of the space and reads it back. Blocks that cannot be written or read are counted, and do not end the check. `goes_on`
/// gets the progress and returns whether to continue.
///
/// # Errors
/// It is interrupted, has no room for a block, or cannot be flushed.
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
            // Of a transfer that fails, only some blocks may be bad. What was not written is not there when it is read.
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
        // As with writes.
        for at in (offset..offset + length).step_by(BLOCK_BYTES as usize) {
            let block = buffer.first(BLOCK_BYTES);
            let found = medium.read(at, block).map_or(Found::Failed, |()| stamps.judge(at, block));
            tally.add(at, found);
        }
    }
    Ok(Pass { tally, writing, reading: begun.elapsed() })
}

/// Number, offset and length of each transfer, in order.
fn transfers_of(order: &Permutation, count: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    (0..count).map(move |index| {
        let offset = order.of(index) * TRANSFER_BYTES;
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
