//! Pauses, and the parts of a test that its time includes.

use super::{Given, IozoneSettings, Seen};
use crate::iozone::IozoneUsageError;
use crate::iozone::size::{size, whole};
use plumb_workload::Nanos;

/// Pauses between ops and tests.
#[derive(Debug, Clone, PartialEq)]
pub struct PaceOptions {
    /// `-J`: computing time before each op.
    pub compute: Nanos,
    /// Whether `-J` was given.
    pub has_compute: bool,
    /// `-+q`: pause between tests.
    pub rest: Nanos,
    /// `-+b`: bytes of a burst, and the pause after it.
    pub burst: Option<(u64, Nanos)>,
    /// `-+O`: records of each child per second.
    pub records_per_second: Option<u32>,
}

/// Calls and pauses that the time of a test includes.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingOptions {
    /// `-e`: whether the time includes `fsync`.
    pub flush: bool,
    /// `-c`: whether the time includes `close`.
    pub close: bool,
    /// `-+J`: whether the time includes computing time.
    pub compute_counts: bool,
}

/// Handles an option about pauses or timing; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, _seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let (pace, timing, messages) = (&mut settings.pace, &mut settings.timing, &mut settings.messages);
    let number = given.number();
    match given.name {
        "c" => {
            messages.line("Include close in write timing");
            timing.close = true;
        }
        "e" => {
            messages.line("Include fsync in write timing");
            timing.flush = true;
        }
        "J" => {
            pace.compute = Nanos((number.max(0) as u64).saturating_mul(1_000_000));
            pace.has_compute = true;
        }
        "+b" => pace.burst = Some(burst(given.word)?),
        "+J" => {
            messages.line(">>> Think time is included in throughput cal. <<<");
            timing.compute_counts = true;
        }
        "+O" => {
            messages.line(format!("Rate control active {number} Ops/sec ."));
            pace.records_per_second = u32::try_from(number).ok().filter(|rate| *rate > 0);
        }
        "+q" => {
            pace.rest = Nanos((number.max(0) as u64).saturating_mul(1_000_000_000));
            messages.line(format!("Delay {number} seconds between tests enabled."));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Parses bytes and milliseconds, such as `1M,20`.
fn burst(word: &str) -> Result<(u64, Nanos), IozoneUsageError> {
    let Some((burst, pause)) = word.split_once(',') else {
        return Err(IozoneUsageError::say(
            144,
            "-+b operand is of the format #,# (burst size (K/M/G) ,mili-second) !!\n",
        ));
    };
    let (bytes, pause_ms) = (size(burst).meant_bytes, whole(pause));
    if bytes <= 0 || pause_ms <= 0 {
        return Err(IozoneUsageError::say(144, format!("-+b  cannot parse burst size '{word}'!!\n")));
    }
    Ok((bytes as u64, Nanos((pause_ms as u64).saturating_mul(1_000_000))))
}
