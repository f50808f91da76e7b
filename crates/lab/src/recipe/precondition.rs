//! Preconditions a device by writing it from end to end. Source: SNIA, "Solid State Storage Performance Test
//! Specification", which writes twice the capacity sequentially before it measures.

use crate::error::Cause;
use crate::site::{MadePaths, Site};
use crate::step::Precondition;
use crate::system;
use plumb_engine::guard::{self, Allow, IoMode, Permissions};
use plumb_engine::rng::{Rng, splitmix64};
use plumb_engine::write_guard;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

const PASSES: u64 = 2;

/// Interval between progress reports.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// Alignment of direct I/O that any device accepts.
const ALIGN: usize = 4096;

pub(super) fn build(step: &Precondition, site: &mut Site<'_>) -> Result<MadePaths, Cause> {
    let passes = step.passes.map_or(PASSES, |passes| passes.0);
    let block = check(step)?;
    let devices = site.resolve(step.device.as_slice())?;
    site.claim(&devices)?;
    let seed = step.seed.map_or(0, |seed| seed.0);
    for device in &devices {
        for pass in 0..passes {
            overwrite(device, block as usize, Rng::new(splitmix64(seed) ^ pass), pass + 1, site)?;
        }
    }
    Ok(vec![])
}

/// Checks the step without building it. Returns the size of each write in bytes.
pub(super) fn check(step: &Precondition) -> Result<u64, Cause> {
    let block = step.block.map_or(1 << 20, |block| block.0);
    if block == 0 || !block.is_multiple_of(ALIGN as u64) || block > 64 << 20 {
        let block = step.block.unwrap_or_default();
        return Err(Cause::field("block", block, "write a multiple of 4 KiB, 64 MiB at most"));
    }
    Ok(block)
}

fn overwrite(device: &Path, block: usize, mut rng: Rng, pass: u64, site: &mut Site<'_>) -> Result<(), Cause> {
    let serials = guard::serials(device).map_err(Cause::io(format!("read the serial of {}", device.display())))?;
    // Claimed a moment ago.
    let guard =
        write_guard(Permissions { allow: serials.into_iter().map(Allow::Serial).collect(), ..Permissions::default() });
    let opened = guard.open_device(device, None, IoMode::Direct)?;
    let bytes = system::device_bytes(device).map_err(Cause::io(format!("see how large {} is", device.display())))?;
    let mut buffer = vec![0; block + ALIGN];
    let start = buffer.as_ptr().align_offset(ALIGN);
    let buffer = &mut buffer[start..start + block];
    let (mut at, mut reported) = (0, Instant::now());
    while at < bytes {
        site.check_stop()?;
        if reported.elapsed() >= REPORT_INTERVAL {
            reported = Instant::now();
            site.say(&format!("overwriting {}, pass {pass}: {} % done", device.display(), at * 100 / bytes));
        }
        for word in buffer.chunks_exact_mut(8) {
            word.copy_from_slice(&rng.next_u64().to_le_bytes());
        }
        let length = usize::try_from(bytes - at).unwrap_or(block).min(block);
        let written = opened.file().write_all_at(&buffer[..length], at);
        written.map_err(Cause::io(format!("write {length} bytes at {at} of {}", device.display())))?;
        at += length as u64;
    }
    opened.file().sync_all().map_err(Cause::io(format!("flush {}", device.display())))
}
