//! Reads lines from standard input.

use plumb_engine::signals::StopFlag;
use plumb_text::bounded::{LINE_BYTES_MAX, TooLong};
use std::io;

/// Bytes that were read but not returned yet.
#[derive(Default)]
pub(super) struct Typed {
    bytes: Vec<u8>,
    is_over: bool,
}

impl Typed {
    /// Returns the next line without its end; `None` at the end of the input, and on
    /// Ctrl-C, which the standard library would ignore.
    ///
    /// # Errors
    ///
    /// Standard input cannot be read, or has a line longer than [`LINE_BYTES_MAX`].
    pub(super) fn next(&mut self, stop: Option<StopFlag>) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).take(end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            if self.bytes.len() as u64 > LINE_BYTES_MAX {
                return Err(TooLong { limit_bytes: LINE_BYTES_MAX, what: "a line" }.into());
            }
            if self.is_over {
                let line = std::mem::take(&mut self.bytes);
                return Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()));
            }
            let mut more = [0; 4096];
            match rustix::io::read(io::stdin(), &mut more) {
                Ok(0) => self.is_over = true,
                Ok(count) => self.bytes.extend_from_slice(&more[..count]),
                Err(rustix::io::Errno::INTR) if stop.is_some_and(|stop| stop.signal().is_some()) => return Ok(None),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
