//! The blocks that bring an SSD to the steady state of random writes: fio's `sprandom`.
//!
//! The capacity of the SSD, including its over-provisioning, is written in regions of equal length. A region takes new
//! blocks from the shift register, and rewrites blocks of the previous region, which invalidates their first copies.
//! The model gives their number. In the steady state, the share of valid pages times the space that pages with this
//! share occupy is constant. The emptiest place has `1 - 1/WA` of its pages valid, with a write amplification `WA =
//! 0.5/OP + 0.7` for an over-provisioning `OP`. Source: Desnoyers, "Analytic Models of SSD Write Performance", ACM
//! Transactions on Storage 8 (2012); and fio 3.42, whose order of blocks this is.

use super::parts::Parts;
use super::plan::FioPlanError;
use super::random_map::Register;
use super::script::{Kind, Script};
use plumb_workload::blocks::fio::SteadyState;
use std::collections::VecDeque;

/// Shares are stored as multiples of 1 / 10,000.
const WHOLE: f64 = 10_000.0;
/// Memory per block that will be rewritten, bytes.
const KEPT_BYTES: u64 = 8;

/// Refuses impossible settings before anything starts.
pub(super) fn check(steady: &SteadyState, parts: &Parts, block_bytes: u64, seed: u64) -> Result<(), FioPlanError> {
    let refuse = |problem: String| Err(FioPlanError::SteadyState { problem });
    if parts.count() != 1 {
        return refuse(format!("{} files cannot be one SSD; use one file or device", parts.count()));
    }
    let part = parts.get(0);
    let range = part.length.min(part.file_length);
    if let Some(problem) = steady.problem_in(range, block_bytes) {
        return refuse(problem);
    }
    Register::new(part.mapped, seed).ok_or(FioPlanError::Register { blocks: part.mapped })?;
    // The blocks of at most two regions are kept.
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

/// The blocks of one file.
#[derive(Debug, Clone)]
pub(super) struct SteadyBlocks {
    register: Register,
    /// Number of writes per 10,000 that are rewritten, by region.
    again: Box<[u32]>,
    region: usize,
    region_blocks: u64,
    /// New blocks left in the region.
    left: u64,
    /// Blocks to rewrite in this region.
    due: VecDeque<u64>,
    /// Blocks to rewrite in the next region.
    later: VecDeque<u64>,
    /// Whether a region rewrites the previous region's blocks at its end instead of its beginning, because the SSD's
    /// cache could still hold their first copies.
    waits_for_cache: bool,
    over: bool,
}

impl SteadyBlocks {
    /// Creates the blocks; `None` for settings that [`check`] refuses.
    pub(super) fn new(steady: SteadyState, script: &Script) -> Option<SteadyBlocks> {
        let part = script.parts.get(0);
        let range = part.length.min(part.file_length);
        let region_blocks = region_blocks(&steady, range, script.sizes[Kind::Write as usize].smallest);
        Some(SteadyBlocks {
            register: Register::new(part.mapped, script.seeding.seeds.offset)?,
            again: rewrites_by_region(&steady),
            region: 0,
            region_blocks,
            left: region_blocks,
            due: VecDeque::new(),
            later: VecDeque::new(),
            waits_for_cache: steady.cache.0 > 0,
            over: false,
        })
    }

    /// Rewinds the register after the file was opened. The progress of the steady state does not change.
    pub(super) fn reset(&mut self) {
        self.register.reset();
    }

    /// Returns the next block for an op that does not write.
    pub(super) fn next_unwritten(&mut self) -> Option<u64> {
        self.register.next()
    }

    /// Returns `true` once there was no block left to write. The job is then over, regardless of its limits.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Returns the next block to write; `None` once the steady state is reached.
    pub(super) fn next_write(&mut self, share: impl FnOnce() -> f64) -> Option<u64> {
        let (block, may_come_again) = self.step();
        self.over |= block.is_none();
        if let Some(block) = block
            && may_come_again
        {
            // No region follows the last, cut one, so its blocks are not rewritten.
            let of_region = self.again.get(self.region).copied().unwrap_or_default();
            if ((WHOLE + 1.0) * share()) as u32 <= of_region {
                self.later.push_back(block);
            }
        }
        block
    }

    /// Returns the next block, and whether it may be rewritten.
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
            // A region of a few blocks may have to rewrite more blocks than it has. As in fio, it then continues
            // to the end of all blocks.
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

/// Returns how many of 10,000 writes the next region rewrites, by region. The first regions are the emptiest ones.
fn rewrites_by_region(steady: &SteadyState) -> Box<[u32]> {
    let count = steady.regions as usize;
    let amplification = 0.5 / steady.over_provisioning + 0.7;
    let valid = evenly(1.0, 1.0 - 1.0 / amplification, count);
    // Sum up the space of the places with each share.
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

/// Returns `count` evenly spaced numbers from `from` to `to`.
fn evenly(from: f64, to: f64, count: usize) -> Vec<f64> {
    let step = if count > 1 { (to - from) / (count as f64 - 1.0) } else { 0.0 };
    (0..count).map(|number| from + number as f64 * step).collect()
}
