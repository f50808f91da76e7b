//! The order of the records.

use super::{Given, IozoneSettings, Seen};
use crate::iozone::IozoneUsageError;

/// The order of the records.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternOptions {
    /// `-j`: distance between the records of the stride test, in records.
    pub stride: u64,
    /// Whether sequential reads include extra reads elsewhere (`-K`).
    pub disturbs: bool,
    /// `-+p`, `-+K`: children of the mix that read; by default every other one.
    pub mix_readers: Option<MixReaders>,
    /// `-+B`: whether the mix is sequential.
    pub mix_sequential: bool,
    /// `-+F`: whether writers of a sequential mix truncate their files first.
    pub truncates_mix: bool,
}

/// The children of the mix that read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixReaders {
    /// A percentage of the children.
    Percent(u32),
    Count(u32),
}

/// Handles an option about the order of records; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let (pattern, messages) = (&mut settings.pattern, &mut settings.messages);
    match given.name {
        "j" => {
            pattern.stride = given.number().max(0) as u64;
            seen.stride = true;
        }
        "K" => {
            messages.line("Disrupted read patterns selected.");
            pattern.disturbs = true;
        }
        "+B" => {
            messages.line(">>> Sequential Mixed workload. <<<");
            pattern.mix_sequential = true;
        }
        "+F" => pattern.truncates_mix = true,
        "+K" => {
            pattern.mix_readers = Some(MixReaders::Count(given.number().max(1) as u32));
            messages.line("Manual control of test 8. >>> Very Experimental. Sony special <<<");
        }
        "+p" => {
            let percent = given.number().clamp(1, 100) as u32;
            messages.line(format!("Percent read in mix test is {percent}"));
            pattern.mix_readers = Some(MixReaders::Percent(percent));
        }
        _ => return Ok(false),
    }
    Ok(true)
}
