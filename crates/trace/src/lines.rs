//! Shared code of the text readers: lines in, records out.

use crate::error::{LineProblem, TraceError};
use crate::format_reader::{FormatReader, Input};
use crate::names::Names;
use crate::pending::Pending;
use crate::record::Record;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// Maximum length of a line, in bytes. A longer one is not a text.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Parses one line after another.
pub(crate) trait LineParser: Send {
    /// Parses a line into `sink`.
    ///
    /// # Errors
    /// Returns the problem with the line.
    fn line(&mut self, line: &str, sink: &mut Sink) -> Result<(), LineProblem>;

    /// Returns the number of waits of fio's version 2 so far.
    fn waits(&self) -> u64 {
        0
    }
}

/// Receives the records of a parser.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    pub(crate) names: Names,
    pub(crate) pending: Pending,
    first_ns: Option<u64>,
}

impl Sink {
    /// Returns a time relative to the first one passed in.
    pub(crate) fn since_first(&mut self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(*self.first_ns.get_or_insert(at_ns))
    }
}

pub(crate) struct Lines {
    input: Input,
    path: PathBuf,
    parser: Box<dyn LineParser>,
    sink: Sink,
    /// Number of the last line read, counted from 1.
    line: u64,
    text: Vec<u8>,
    ended: bool,
    error: Option<TraceError>,
}

impl Lines {
    pub(crate) fn new(input: Input, path: &Path, parser: Box<dyn LineParser>) -> Lines {
        let (sink, text) = (Sink::default(), Vec::new());
        Lines { input, path: path.to_owned(), parser, sink, line: 0, text, ended: false, error: None }
    }

    /// Reads a line. Returns `false` at the end.
    fn line(&mut self) -> Result<bool, TraceError> {
        self.text.clear();
        self.line += 1;
        let read = self.input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut self.text);
        let read = read.map_err(|source| TraceError::Io { path: self.path.clone(), source })?;
        let text = String::from_utf8_lossy(&self.text);
        let text = text.trim_end_matches(['\n', '\r']);
        let problem = if read as u64 == LINE_BYTES_MAX {
            Some(LineProblem::Other { what: "the line is longer than 1 MiB".to_owned() })
        } else if text.trim().is_empty() {
            None
        } else {
            self.parser.line(text, &mut self.sink).err()
        };
        match problem {
            None => Ok(read > 0),
            Some(problem) => {
                let text = text.trim().chars().take(200).collect();
                Err(TraceError::Line { path: self.path.clone(), line: self.line, text, problem })
            }
        }
    }
}

impl FormatReader for Lines {
    fn next(&mut self) -> Option<Result<Record, TraceError>> {
        loop {
            if let Some(record) = self.sink.pending.next() {
                return Some(Ok(record));
            }
            if self.ended {
                return self.error.take().map(Err);
            }
            match self.line() {
                Ok(true) => {}
                other => {
                    self.ended = true;
                    self.sink.pending.close();
                    self.error = other.err();
                }
            }
        }
    }

    fn names(&self) -> &Names {
        &self.sink.names
    }

    fn waits(&self) -> u64 {
        self.parser.waits()
    }
}

/// Parses a number, whole or with decimals, in units of this many ns. Drops decimals below a nanosecond.
pub(crate) fn scaled(word: &str, unit_ns: u64) -> Option<u64> {
    let (whole, decimals) = word.split_once('.').unwrap_or((word, ""));
    let mut value = whole.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    let mut unit = unit_ns;
    for digit in decimals.bytes() {
        unit /= 10;
        value = value.checked_add(u64::from(digit.is_ascii_digit().then(|| digit - b'0')?) * unit)?;
    }
    Some(value)
}

/// One second in ns.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// Parses a number in decimal, or in hexadecimal after `0x`; may be negative.
pub(crate) fn integer(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => word.parse().ok().or_else(|| word.parse::<u64>().ok().map(|number| number as i64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds() {
        assert_eq!(scaled("1795202687.428940", SECOND_NS), Some(1_795_202_687_428_940_000));
        assert_eq!(scaled("0.0032", SECOND_NS), Some(3_200_000));
        assert_eq!(scaled("5", 100), Some(500));
        assert_eq!(scaled("1.23456789012", SECOND_NS), Some(1_234_567_890));
        assert_eq!(scaled("-1", 1), None);
        assert_eq!(scaled("99999999999999999999", 1), None);
        assert_eq!(scaled("1.x", 10), None);
    }
}
