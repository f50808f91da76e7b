//! The parts of files that a job uses. If all files are alike, one part represents any number of them.

/// The part of one file that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// First byte of the part.
    pub(super) start: u64,
    /// Length of the range from which offsets are taken, bytes.
    pub(super) length: u64,
    /// Length of the whole file, bytes.
    pub(super) file_length: u64,
    /// Number of random blocks in the part, by [`Kind`].
    pub(super) blocks: [u64; 3],
    /// Number of blocks in the random map or the register.
    pub(super) mapped: u64,
}

/// The part of each file that a job uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    /// One part per file, or a single one for all.
    each: Box<[Part]>,
    count: usize,
}

impl Parts {
    /// Uses the same part for `count` files.
    pub(super) fn same(part: Part, count: usize) -> Parts {
        Parts { each: [part].into(), count }
    }

    /// Uses one part per file; there must be at least one.
    pub(super) fn each(each: Box<[Part]>) -> Parts {
        Parts { count: each.len(), each }
    }

    /// Returns the number of files.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the part of a file.
    #[inline]
    pub(super) fn get(&self, file: usize) -> &Part {
        &self.each[if self.each.len() == 1 { 0 } else { file }]
    }

    /// Returns the only part, if there is one file.
    pub(super) fn only(&self) -> Option<&Part> {
        if self.count == 1 { self.each.first() } else { None }
    }

    /// Returns every distinct part at least once.
    pub(super) fn distinct(&self) -> impl Iterator<Item = &Part> {
        self.each.iter()
    }

    /// Sums a number over all files; at most `u64::MAX`.
    pub(super) fn sum(&self, of: impl Fn(&Part) -> u64) -> u64 {
        match &*self.each {
            [part] => of(part).saturating_mul(self.count as u64),
            each => each.iter().fold(0, |sum: u64, part| sum.saturating_add(of(part))),
        }
    }
}
