//! The blocks that bring an SSD to the steady state of random writes: fio's `sprandom`.
//!
//! The capacity of the SSD, with what it hides, is written in regions of one length. A region takes new blocks from the
//! shift register, and blocks of the region before it again, which makes their first copies invalid. How many that are
//! follows from the model: in the steady state the share of valid pages times the space that pages of this share take is
//! constant, and the emptiest place has `1 - 1/WA` of its pages valid, with a write amplification `WA = 0.5/OP + 0.7` for
//! an over-provisioning `OP`. Source: Desnoyers, "Analytic Models of SSD Write Performance", ACM Transactions on Storage 8
//! (2012); what fio 3.42 does, whose order of blocks this is.

use super::parts::Parts;
use super::plan::FioPlanError;
use super::random_map::Register;
use super::script::{Kind, Script};
use plumb_workload::blocks::fio::SteadyState;
use std::collections::VecDeque;

/// Shares are kept as parts of this many.
const WHOLE: f64 = 10_000.0;
/// Bytes that a block takes that is to be written again.
const KEPT_BYTES: u64 = 8;

/// Refuses what cannot be done, before anything starts.
pub(super) fn check(steady: &SteadyState, parts: &Parts, block_bytes: u64, seed: u64) -> Result<(), FioPlanError> {
    let refuse = |problem: String| Err(FioPlanError::SteadyState { problem });
    if parts.count() != 1 {
        return refuse(format!("{} files cannot be one SSD; use one file or device", parts.count()));
    }
    let part = parts.of(0);
    let range = part.length.min(part.file_length);
    if let Some(problem) = steady.problem_in(range, block_bytes) {
        return refuse(problem);
    }
    Register::new(part.mapped, seed).ok_or(FioPlanError::Register { blocks: part.mapped })?;
    // Two regions' blocks are kept at most.
    let kept = region_blocks(steady, range, block_bytes).saturating_mul(2 * KEPT_BYTES);
    if kept > crate::os::ram_bytes() {
        return refuse(format!(
            "remembering the blocks of a region needs {kept} bytes of memory, more than the machine has; use more regions"
        ));
    }
    Ok(())
}

fn region_blocks(steady: &SteadyState, range_bytes: u64, block_bytes: u64) -> u64 {
    steady.physical_bytes(range_bytes, block_bytes) / u64::from(steady.regions.max(1)) / block_bytes.max(1)
}

/// Blocks of one file.
#[derive(Debug, Clone)]
pub(super) struct SteadyBlocks {
    register: Register,
    /// Of 10,000 writes of each region, those that are written again.
    again: Box<[u32]>,
    region: usize,
    region_blocks: u64,
    /// New blocks until the region ends.
    left: u64,
    /// To be written again now.
    due: VecDeque<u64>,
    /// To be written again in the next region.
    later: VecDeque<u64>,
    /// Those of the region before are written at the end of a region, as the SSD's cache could still hold their first
    /// copies, and not at its beginning.
    waits_for_cache: bool,
    over: bool,
}

impl SteadyBlocks {
    /// `None` where [`check`] has refused it.
    pub(super) fn new(steady: SteadyState, script: &Script) -> Option<SteadyBlocks> {
        let part = script.parts.of(0);
        let range = part.length.min(part.file_length);
        let region_blocks = region_blocks(&steady, range, script.sizes[Kind::Write as usize].smallest);
        Some(SteadyBlocks {
            register: Register::new(part.mapped, script.seeding.seeds.offset)?,
            again: written_again(&steady),
            region: 0,
            region_blocks,
            left: region_blocks,
            due: VecDeque::new(),
            later: VecDeque::new(),
            waits_for_cache: steady.cache.0 > 0,
            over: false,
        })
    }

    /// The file was opened; how far the SSD is stays as it is.
    pub(super) fn reset(&mut self) {
        self.register.reset();
    }

    /// The next block for another kind of op.
    pub(super) fn next_unwritten(&mut self) -> Option<u64> {
        self.register.next()
    }

    /// Whether there was no block to write any more: the job is over, whatever its limits say.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The next block to write; `None` when the state is reached.
    pub(super) fn next_write(&mut self, share: impl FnOnce() -> f64) -> Option<u64> {
        let (block, may_come_again) = self.step();
        self.over |= block.is_none();
        if let Some(block) = block
            && may_come_again
        {
            // The last, cut region is followed by none that could write its blocks again.
            let of_region = self.again.get(self.region).copied().unwrap_or_default();
            if ((WHOLE + 1.0) * share()) as u32 <= of_region {
                self.later.push_back(block);
            }
        }
        block
    }

    /// The next block, and whether it may be written once more.
    fn step(&mut self) -> (Option<u64>, bool) {
        let region_ends = self.left == 0;
        if (region_ends || !self.waits_for_cache)
            && let Some(block) = self.due.pop_front()
        {
            return (Some(block), true);
        }
        if region_ends {
            if self.region >= self.again.len() {
                return (None, false);
            }
            self.region += 1;
            // A region of a few blocks can be left more than it has. As in fio, it then goes on to the end of all blocks.
            self.left = self.region_blocks.wrapping_sub(self.later.len() as u64);
            self.due.append(&mut self.later);
        }
        match self.register.next() {
            Some(block) => {
                self.left = self.left.saturating_sub(1);
                (Some(block), true)
            }
            None if self.waits_for_cache => (self.due.pop_front(), false),
            None => (None, false),
        }
    }
}

/// Of 10,000 writes of each region, those that the next region writes again. The first regions are the emptiest ones.
fn written_again(steady: &SteadyState) -> Box<[u32]> {
    let count = steady.regions as usize;
    let amplification = 0.5 / steady.over_provisioning + 0.7;
    let valid = evenly(1.0, 1.0 - 1.0 / amplification, count);
    // The space that places of each share take, one behind another.
    let mut end = 0.0;
    let space: Vec<f64> = valid
        .iter()
        .map(|valid| {
            end += 1.0 / valid;
            end
        })
        .collect();
    let (Some(&first), Some(&last)) = (space.first(), space.last()) else { return Box::default() };
    let mut below = 0;
    let mut again: Vec<u32> = evenly(first, last, count)
        .into_iter()
        .map(|place| {
            while below + 2 < count && place > space[below + 1] {
                below += 1;
            }
            let valid = match (place <= first, place >= last) {
                (true, _) => valid[0],
                (_, true) => valid[count - 1],
                _ => {
                    let share = (place - space[below]) / (space[below + 1] - space[below]);
                    valid[below] + (valid[below + 1] - valid[below]) * share
                }
            };
            ((1.0 - valid) * WHOLE).round() as u32
        })
        .collect();
    again.reverse();
    again.into()
}

/// `count` numbers from one to another.
fn evenly(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = if count > 1 { (to - from) / (count as f64 - 1.0) } else { 0.0 };
    (0..count).map(|number| from + number as f64 * step).collect()
}
