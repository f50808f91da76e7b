//! Readers with a size limit, for job files, configurations, key files and standard input.
//!
//! These inputs are held in memory as a whole, and a device or pipe may be endless. Recordings and results have their own
//! readers. Files below `/proc` and `/sys` come from the kernel and are read without a limit.

use std::fs::File;
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;

/// Longest input, in bytes: 64 MiB. The longest known job file has 2 MiB.
pub const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Longest line when reading by lines, in bytes: 1 MiB.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

/// An input is longer than its limit. Source of the [`io::Error`] that the readers of this module return; callers print it after
/// the name of the input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("longer than {} MiB, the limit for {what}; use a shorter one", .limit_bytes >> 20)]
pub struct TooLong {
    /// The exceeded limit, in bytes.
    pub limit_bytes: u64,
    /// The limited unit: `an input` or `a line`.
    pub what: &'static str,
}

impl From<TooLong> for io::Error {
    fn from(error: TooLong) -> io::Error {
        io::Error::new(ErrorKind::FileTooLarge, error)
    }
}

/// Reads a file of at most [`INPUT_BYTES_MAX`].
///
/// # Errors
/// The system's; [`TooLong`].
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    read_at_most(path, INPUT_BYTES_MAX)
}

/// Reads a file of at most `limit_bytes`.
///
/// # Errors
/// The system's; [`TooLong`].
pub fn read_at_most(path: impl AsRef<Path>, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    // Refuse a long regular file before reading it. Other files report a length of 0.
    let known_bytes = file.metadata().map_or(0, |facts| facts.len());
    if known_bytes > limit_bytes {
        return Err(too_long(limit_bytes));
    }
    bytes_of(file, limit_bytes)
}

/// Reads a file of at most [`INPUT_BYTES_MAX`] as text.
///
/// # Errors
/// The system's; [`TooLong`]; bytes that are not UTF-8.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    text(read(path)?)
}

/// Reads a stream of at most `limit_bytes` to its end.
///
/// # Errors
/// The stream's; [`TooLong`].
pub fn bytes_of(stream: impl Read, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(too_long(limit_bytes));
    }
    Ok(bytes)
}

/// Reads a stream of at most [`INPUT_BYTES_MAX`] to its end as text.
///
/// # Errors
/// The stream's; [`TooLong`]; bytes that are not UTF-8.
pub fn text_of(stream: impl Read) -> io::Result<String> {
    text(bytes_of(stream, INPUT_BYTES_MAX)?)
}

/// Reads one line of at most [`LINE_BYTES_MAX`], without its line feed. Returns `None` at the end of the input.
///
/// # Errors
/// The stream's; [`TooLong`].
pub fn line_of(stream: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    line_at_most(stream, LINE_BYTES_MAX)
}

/// Like [`line_of`], but for lines of at most `limit_bytes`.
///
/// # Errors
/// Returns the same errors as [`line_of`].
pub fn line_at_most(stream: &mut impl BufRead, limit_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = stream.take(limit_bytes.saturating_add(1)).read_until(b'\n', &mut line)?;
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if read as u64 > limit_bytes {
        return Err(TooLong { limit_bytes, what: "a line" }.into());
    }
    Ok((read > 0).then_some(line))
}

fn too_long(limit_bytes: u64) -> io::Error {
    TooLong { limit_bytes, what: "an input" }.into()
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    // The same message as `std::fs::read_to_string`.
    String::from_utf8(bytes).map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Fails with `std::fs::read`, which allocates until the kernel kills it.
    #[test]
    fn a_file_without_an_end_is_an_error() {
        let error = read("/dev/zero").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().starts_with("longer than 64 MiB"), "{error}");
        assert_eq!(read_to_string("/dev/zero").unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(text_of(io::repeat(b'a')).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(line_of(&mut io::BufReader::new(io::repeat(b'a'))).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }

    #[test]
    fn input_within_the_limit_is_read_unchanged() {
        assert_eq!(bytes_of(&b"abc"[..], 3).unwrap(), b"abc");
        assert!(bytes_of(&b"abcd"[..], 3).is_err());
        assert_eq!(text_of(&b"\xff"[..]).unwrap_err().kind(), ErrorKind::InvalidData);
        assert_eq!(read("/dev/null").unwrap(), b"");
        assert_eq!(read("/nonexistent/file").unwrap_err().kind(), ErrorKind::NotFound);
    }

    proptest! {
        // Protects: inputs up to the limit pass unchanged, and longer ones fail.
        #[test]
        fn a_limit_is_exact(bytes in prop::collection::vec(any::<u8>(), 0..64), limit in 0u64..64) {
            match bytes_of(&bytes[..], limit) {
                Ok(read) => prop_assert!(bytes.len() as u64 <= limit && read == bytes),
                Err(_) => prop_assert!(bytes.len() as u64 > limit),
            }
        }

        // Protects: reading by lines gives the same lines as splitting the whole text.
        #[test]
        fn lines_match_those_of_the_text(text in "[ab\n]{0,40}") {
            let mut input = text.as_bytes();
            let mut lines = Vec::new();
            while let Some(line) = line_of(&mut input).unwrap() {
                lines.push(String::from_utf8(line).unwrap());
            }
            let expected: Vec<String> = text.split_terminator('\n').map(str::to_owned).collect();
            prop_assert_eq!(lines, expected);
        }
    }
}
