//! The buffers of the tests.

use super::number::percent;
use super::{Given, IozoneSettings, RECORD_MAX_BYTES, Seen, WrittenContent};
use crate::iozone::IozoneUsageError;

/// The contents of the buffers, and their place in the processor cache.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferOptions {
    /// Bytes of the written records: `-V`, `-+d`, `-+E`, `-+w` and others.
    pub content: WrittenContent,
    /// `-S`: size of the processor cache.
    pub cache_bytes: u64,
    /// `-L`: size of a cache line.
    pub line_bytes: u64,
    /// `-p`: whether the cache is purged before each op.
    pub purge: bool,
    /// `-m`: whether records have buffers of their own.
    pub many_buffers: bool,
}

#[derive(Default)]
pub(super) struct ContentSeen {
    pub(super) duplicate: Option<u8>,
    pub(super) compress: Option<u8>,
    pub(super) diagnostic: bool,
}

/// Handles an option about buffers; returns `false` for any other option.
pub(super) fn take(settings: &mut IozoneSettings, seen: &mut Seen, given: &Given) -> Result<bool, IozoneUsageError> {
    let (buffers, messages) = (&mut settings.buffers, &mut settings.messages);
    match given.name {
        "L" => buffers.line_bytes = if given.number() > 0 { given.number() as u64 } else { 32 },
        "m" => {
            messages.line(format!("Multi_buffer. Work area {RECORD_MAX_BYTES} bytes"));
            buffers.many_buffers = true;
        }
        "p" => {
            messages.line("Purge Mode On");
            buffers.purge = true;
        }
        "S" => {
            let kb = given.number();
            buffers.cache_bytes = if kb > 0 { (kb as u64).saturating_mul(1024) } else { 1 << 20 };
        }
        "V" => {
            let byte = match given.number() as u8 {
                0 => 0xa5,
                byte => byte,
            };
            buffers.content = WrittenContent::Whole(byte);
            messages.line(format!("Verify Mode. Pattern {byte:x}{byte:x}{byte:x}{byte:x}"));
            messages.line("Performance measurements are invalid in this mode.");
        }
        "+a" => {
            seen.content.compress = Some(percent(given.word));
            // The blank belongs to IOzone's line.
            messages.echo.push(format!("\tZero Percent {}\n ", percent(given.word)));
        }
        "+w" => {
            seen.content.duplicate = Some(percent(given.word));
            messages.line(format!("Dedup activated {} percent.", percent(given.word)));
        }
        "+y" => {
            seen.content.duplicate = Some(seen.content.duplicate.unwrap_or(0).max(percent(given.word)));
            messages.line(format!("Dedup within & across {} percent.", percent(given.word)));
        }
        "+C" => {
            seen.content.duplicate = Some(seen.content.duplicate.unwrap_or(0).max(percent(given.word)));
            messages.line(format!("Dedup within {} percent.", percent(given.word)));
        }
        "+d" => {
            messages.line(">>> I/O Diagnostic mode enabled. <<<");
            messages.line("Performance measurements are invalid in this mode.");
            seen.content.diagnostic = true;
            buffers.content = WrittenContent::UniqueWords;
        }
        "+X" => {
            messages.line("Short circuit mode. For");
            messages.line(" filesystem development testing ONLY !");
            buffers.content = WrittenContent::Pages(0xbb);
        }
        "+Z" => {
            messages.line("Using old data sets.");
            messages.line(" Performance measurements may be invalid in this");
            messages.line(" mode due to published hack.");
            buffers.content = WrittenContent::Pages(0xa5);
        }
        _ => return Ok(false),
    }
    Ok(true)
}
