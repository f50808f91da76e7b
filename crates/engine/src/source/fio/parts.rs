//! The parts of files that a job uses: one rule where all are alike, however many files there are.

/// The part of one file that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    /// First byte.
    pub(super) start: u64,
    /// Bytes from there from which offsets are taken.
    pub(super) length: u64,
    /// Length of the whole file.
    pub(super) file_length: u64,
    /// Random blocks there, by [`Kind`].
    pub(super) blocks: [u64; 3],
    /// Blocks that the map or the register has.
    pub(super) mapped: u64,
}

/// The part of each file that a job uses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parts {
    /// Of each file, or one for all.
    each: Box<[Part]>,
    count: usize,
}

impl Parts {
    /// The same part of this many files.
    pub(super) fn same(part: Part, count: usize) -> Parts {
        Parts { each: [part].into(), count }
    }

    /// One for each file; there is one at least.
    pub(super) fn each(each: Box<[Part]>) -> Parts {
        Parts { count: each.len(), each }
    }

    /// How many files.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The part of this file.
    #[inline]
    pub(super) fn of(&self, file: usize) -> &Part {
        &self.each[if self.each.len() == 1 { 0 } else { file }]
    }

    /// The only part, where there is one file.
    pub(super) fn only(&self) -> Option<&Part> {
        if self.count == 1 { self.each.first() } else { None }
    }

    /// All that differ, and perhaps some that do not.
    pub(super) fn distinct(&self) -> impl Iterator<Item = &Part> {
        self.each.iter()
    }

    /// A number of each, added up; at most `u64::MAX`.
    pub(super) fn sum(&self, of: impl Fn(&Part) -> u64) -> u64 {
        match &*self.each {
            [part] => of(part).saturating_mul(self.count as u64),
            each => each.iter().fold(0, |sum: u64, part| sum.saturating_add(of(part))),
        }
    }
}
