//! Paths without allocation or formatting.

#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Room for the longest path that a [`TreeShape`](super::TreeShape) writes: a link's way up (3 bytes a level), the way
/// down (`d00000000/` at its longest, with at most [`MAX_DEPTH`](super::MAX_DEPTH) levels of `d00/`), and a name.
const CAPACITY: usize = 320;

/// A path relative to the root of a tree, in a fixed buffer, always ended by a NUL.
#[derive(Debug, Clone)]
pub struct PathBuffer {
    /// What lies before `length` holds no NUL; the byte at `length` is one.
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Default for PathBuffer {
    fn default() -> PathBuffer {
        PathBuffer { bytes: [0; CAPACITY], length: 0 }
    }
}

impl PathBuffer {
    /// An empty path.
    pub fn new() -> PathBuffer {
        PathBuffer::default()
    }

    /// The path for a system call; costs nothing.
    #[inline(always)]
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: every writer below appends bytes other than NUL and ends with `terminate`, so the slice holds exactly
        // one NUL, at its end; `length` stays below CAPACITY because slicing there would have panicked.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes[..=self.length]) }
    }

    /// The path for people and tests.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.bytes[..self.length]))
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.length = 0;
        self.terminate();
    }

    #[inline]
    pub(super) fn push(&mut self, text: &'static [u8]) {
        debug_assert!(!text.contains(&0));
        self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
        self.length += text.len();
        self.terminate();
    }

    /// Appends `number` in decimal with leading zeros, `digits` wide.
    #[inline]
    pub(super) fn push_number(&mut self, number: u64, digits: usize) {
        let field = &mut self.bytes[self.length..self.length + digits];
        let mut rest = number;
        for byte in field.iter_mut().rev() {
            *byte = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        debug_assert_eq!(rest, 0, "{number} has more than {digits} digits");
        self.length += digits;
        self.terminate();
    }

    #[inline]
    fn terminate(&mut self) {
        self.bytes[self.length] = 0;
    }
}

/// How many decimal digits the number has; 1 for 0.
pub(super) const fn digits_of(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_and_the_end_is_a_nul() {
        let mut path = PathBuffer::new();
        path.push(b"d");
        path.push_number(7, 3);
        path.push(b"/f");
        path.push_number(1234, 8);
        assert_eq!(path.as_c_str().to_bytes(), b"d007/f00001234");
        path.clear();
        assert_eq!(path.as_c_str().to_bytes(), b"");
    }

    #[test]
    fn digits_are_counted() {
        for (number, digits) in [(0, 1), (9, 1), (10, 2), (99, 2), (100, 3), (u64::MAX, 20)] {
            assert_eq!(digits_of(number), digits, "{number}");
        }
    }
}
