//! Paths without allocation or formatting.

#![allow(unsafe_code)]

use super::{FileId, TreeShape};
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Size of the longest path that a [`TreeShape`](super::TreeShape) writes. It consists of a link's way up (3
/// bytes a level), the way down (`d00000000/` at its longest, with at most [`MAX_DEPTH`](super::MAX_DEPTH)
/// levels of `d00/`), and a name.
const CAPACITY: usize = 320;

/// A path relative to the root of a tree, in a fixed buffer, always NUL-terminated.
#[derive(Debug, Clone)]
pub struct PathBuffer {
    /// The bytes before `length` contain no NUL; the byte at `length` is NUL.
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Default for PathBuffer {
    fn default() -> PathBuffer {
        PathBuffer { bytes: [0; CAPACITY], length: 0 }
    }
}

impl PathBuffer {
    pub fn new() -> PathBuffer {
        PathBuffer::default()
    }

    /// Returns the path for a system call, at no cost.
    #[inline(always)]
    pub fn as_c_str(&self) -> &CStr {
        // SAFETY: every writer below appends bytes other than NUL and ends with `terminate`, so the slice holds exactly
        // one NUL, at its end. `length` stays below CAPACITY, because slicing beyond it would have panicked.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.bytes[..=self.length]) }
    }

    /// Returns the path for messages and tests.
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

    /// Appends `number` in decimal, zero-padded to `digits`.
    #[inline]
    pub(super) fn push_number(&mut self, number: u64, digits: usize) {
        write_number(&mut self.bytes[self.length..self.length + digits], number);
        self.length += digits;
        self.terminate();
    }

    /// Appends the `count` digits of `number` in base `base`, each as `letter` and a
    /// decimal number, separated by slashes: `d12/d06`.
    #[inline]
    pub(super) fn push_numbers(&mut self, letter: u8, count: usize, digits: usize, number: u64, base: u64) {
        let each = digits + 2;
        let field = &mut self.bytes[self.length..self.length + count * each];
        let mut rest = number;
        for part in field.rchunks_exact_mut(each) {
            part[0] = letter;
            write_number(&mut part[1..=digits], rest % base);
            part[digits + 1] = b'/';
            rest /= base;
        }
        // Drop the trailing slash.
        self.length += (count * each).saturating_sub(1);
        self.terminate();
    }

    /// Replaces the number at the end of the path by another of the same width.
    #[inline]
    fn replace_number(&mut self, number: u64, digits: usize) {
        write_number(&mut self.bytes[self.length - digits..self.length], number);
    }

    /// Increments the number at the end of the path, which must not overflow its digits.
    #[inline]
    fn increment_number(&mut self) {
        for digit in self.bytes[..self.length].iter_mut().rev() {
            if *digit != b'9' {
                *digit += 1;
                return;
            }
            *digit = b'0';
        }
    }

    #[inline]
    fn terminate(&mut self) {
        self.bytes[self.length] = 0;
    }
}

/// Pairs of digits: two digits at a time take half the divisions.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Fills `field` with the number in decimal, zero-padded.
#[inline]
pub(crate) fn write_number(field: &mut [u8], number: u64) {
    let mut rest = number;
    let mut pairs = field.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    debug_assert_eq!(rest, 0, "{number} has too many digits");
}

/// Writes the paths of one tree. Most files are in the same directory as the previous file; for those,
/// only the trailing number is rewritten.
#[derive(Debug)]
pub struct PathWriter {
    shape: Arc<TreeShape>,
    buffer: PathBuffer,
    /// Files that share the part of `buffer` before the number; empty if `buffer` holds no file's path.
    siblings: Range<u64>,
    /// File whose path is in `buffer`, if `siblings` is not empty.
    file: u64,
}

impl PathWriter {
    pub fn new(shape: Arc<TreeShape>) -> PathWriter {
        PathWriter { shape, buffer: PathBuffer::new(), siblings: 0..0, file: 0 }
    }

    #[inline]
    pub(crate) fn write_file(&mut self, file: FileId) {
        if !self.siblings.contains(&file.0) {
            self.shape.write_path(file, &mut self.buffer);
            self.siblings = self.shape.files_of(self.shape.leaf_of(file));
        } else if file.0 == self.file + 1 {
            self.buffer.increment_number();
        } else if file.0 != self.file {
            self.buffer.replace_number(file.0, self.shape.file_digits);
        }
        self.file = file.0;
    }

    /// Writes any other path of the tree.
    #[inline]
    pub fn write(&mut self, path: impl FnOnce(&TreeShape, &mut PathBuffer)) {
        self.siblings = 0..0;
        path(&self.shape, &mut self.buffer);
    }

    /// Returns the path for a system call, at no cost.
    #[inline(always)]
    pub fn as_c_str(&self) -> &CStr {
        self.buffer.as_c_str()
    }
}

/// Returns the number of decimal digits; 1 for 0.
pub(super) const fn digits_of(number: u64) -> usize {
    match number.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::{Bytes, Content, Distribution, TreeTarget};

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
    fn a_path_writer_matches_the_shape_in_any_order() {
        let tree = |files, width, depth| TreeTarget {
            path: "tree".into(),
            files,
            width,
            depth,
            size: Distribution::Fixed(Bytes(0)),
            preallocated_percent: 0,
            directories: 0,
            content: Content::Zero,
        };
        for (files, width, depth) in [(1000, 3, 3), (5, 4, 2), (17, 1, 0), (64, 4, 3), (101, 100, 1)] {
            let shape = Arc::new(TreeShape::new(&tree(files, width, depth), 1).unwrap());
            let mut writer = PathWriter::new(shape.clone());
            let mut plain = PathBuffer::new();
            for step in [1, 7, 1] {
                for file in (0..files).map(|number| FileId(number * step % files)) {
                    writer.write_file(file);
                    shape.write_path(file, &mut plain);
                    assert_eq!(writer.as_c_str(), plain.as_c_str());
                }
                writer.write(|shape, buffer| shape.write_leaf(0, buffer));
            }
        }
    }

    #[test]
    fn digits_are_counted() {
        for (number, digits) in [(0, 1), (9, 1), (10, 2), (99, 2), (100, 3), (u64::MAX, 20)] {
            assert_eq!(digits_of(number), digits, "{number}");
        }
    }
}
