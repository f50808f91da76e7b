//! Prints the times of blocks like zcav.

use super::{ZcavBlocks, ZcavSettings};
use std::fmt::Write;

/// Minimum time of a block for a rate, in seconds.
const SHORTEST_S: f64 = 1.0;

/// Times of one loop over a device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ZcavLoop {
    /// Time of each whole block in seconds.
    pub blocks_s: Vec<f64>,
    /// Time from the first op's start to the last one's end, in seconds.
    pub elapsed_s: f64,
}

/// Splits the times of a device's ops into loops and blocks.
#[derive(Debug, Clone, Default)]
pub struct ZcavTimes {
    loops: Vec<ZcavLoop>,
    /// Start of the current loop in nanoseconds.
    loop_began_ns: u64,
    /// Start of the current block in nanoseconds.
    block_began_ns: Option<u64>,
    /// Bytes of the current block, and of the loop.
    block_bytes: u64,
    loop_bytes: u64,
    blocks: usize,
}

impl ZcavTimes {
    /// Adds a read, or a write with its flush, with its start and end in nanoseconds from
    /// any origin. Returns whether a loop ended.
    pub fn add(&mut self, settings: &ZcavSettings, plan: &ZcavBlocks, bytes: u64, from_ns: u64, to_ns: u64) -> bool {
        if self.loop_bytes == 0 {
            self.loops.push(ZcavLoop::default());
            self.loop_began_ns = from_ns;
            self.blocks = 0;
        }
        let began_ns = *self.block_began_ns.get_or_insert(from_ns);
        self.block_bytes += bytes;
        self.loop_bytes += bytes;
        let Some(last) = self.loops.last_mut() else { return false };
        if self.block_bytes >= settings.block_bytes() && self.blocks < plan.blocks.len() {
            last.blocks_s.push(to_ns.saturating_sub(began_ns) as f64 / 1e9);
            self.blocks += 1;
            self.block_bytes = 0;
            self.block_began_ns = None;
        }
        last.elapsed_s = to_ns.saturating_sub(self.loop_began_ns) as f64 / 1e9;
        let ends = self.loop_bytes >= plan.bytes(settings);
        if ends {
            (self.loop_bytes, self.block_bytes, self.block_began_ns) = (0, 0, None);
        }
        ends
    }

    pub fn loops(&self) -> &[ZcavLoop] {
        &self.loops
    }
}

const HEAD: &str = "#block offset (GiB), MiB/s, time\n";

/// Formats the lines of a device, for standard output or its log.
pub fn device(settings: &ZcavSettings, plan: &ZcavBlocks, loops: &[ZcavLoop]) -> String {
    let mut text = String::new();
    if settings.loops == 1 {
        text.push_str(HEAD);
        let times = loops.first().map_or(&[][..], |one| &one.blocks_s);
        blocks(settings, plan, times, &mut text);
        loops.iter().for_each(|one| summary(settings, one, &mut text));
        return text;
    }
    loops.iter().for_each(|one| summary(settings, one, &mut text));
    let _ = writeln!(text, "#loops: {}", loops.len());
    text.push_str(HEAD);
    let times: Vec<f64> = (0..plan.blocks.len()).filter_map(|block| middle(loops, block)).collect();
    blocks(settings, plan, &times, &mut text);
    text
}

/// Returns the mean of a block's times, without the shortest and the longest third.
fn middle(loops: &[ZcavLoop], block: usize) -> Option<f64> {
    let mut times: Vec<f64> = loops.iter().filter_map(|one| one.blocks_s.get(block).copied()).collect();
    times.sort_unstable_by(f64::total_cmp);
    let third = times.len() / 3;
    let kept = &times[third..times.len() - third];
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

fn blocks(settings: &ZcavSettings, plan: &ZcavBlocks, times: &[f64], text: &mut String) {
    for (&offset, &time_s) in plan.blocks.iter().zip(times) {
        let gib = offset as f64 / (1u64 << 30) as f64;
        let _ = if time_s < SHORTEST_S {
            writeln!(text, "#{gib:.2} ++++ {time_s:.3}")
        } else {
            writeln!(text, "{gib:.2} {:.2} {time_s:.3}", settings.block_mib as f64 / time_s)
        };
    }
}

fn summary(settings: &ZcavSettings, one: &ZcavLoop, text: &mut String) {
    let moved = one.blocks_s.len() as i64 * settings.block_mib;
    // The tool counts from the start of the device.
    let left_out =
        if settings.is_exact && settings.every == 1 { settings.first_block() as i64 * settings.block_mib } else { 0 };
    let mib = moved + left_out;
    let rate = mib as f64 / one.elapsed_s;
    let _ =
        writeln!(text, "# Read {mib} megs in {} seconds, {} megabytes per second.", one.elapsed_s as i64, rate as i64);
}
