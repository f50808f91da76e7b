//! Numbers on the command line.

use super::{IozoneSettings, RECORD_MAX_BYTES};
use crate::iozone::IozoneUsageError;
use crate::iozone::size::{size, whole};

pub(super) fn bytes_of(settings: &mut IozoneSettings, name: &str, text: &str) -> i64 {
    let size_read = size(text);
    if settings.strict || size_read.taken_bytes == size_read.meant_bytes {
        return size_read.taken_bytes;
    }
    settings.messages.notes.push(format!(
        "-{name} {text} is read as {} kB; IOzone reads it as {} kB",
        size_read.meant_bytes / 1024,
        size_read.taken_bytes / 1024
    ));
    size_read.meant_bytes
}

pub(super) fn record_max(bytes: u64) -> Result<(), IozoneUsageError> {
    match bytes > RECORD_MAX_BYTES {
        true => Err(IozoneUsageError::say(
            23,
            format!(
                "Error: maximum record size {} kB is greater than maximum buffer size {} kB\n ",
                bytes / 1024,
                RECORD_MAX_BYTES / 1024
            ),
        )),
        false => Ok(()),
    }
}

pub(super) fn percent(text: &str) -> u8 {
    whole(text).clamp(0, 100) as u8
}
