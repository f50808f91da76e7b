//! Existence of the entries of a shared file set, visible to all workers: two bits per entry, changed without locks.

use super::draw::Drawn;
use super::shape::{Entry, SharedShape};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

const WORD_BITS: u32 = u64::BITS;

/// Number of cells that count open files. In a larger set, several files share a cell, and all of them count as open if
/// one is. This only affects steps that remove files, which skip open ones.
const OPEN_CELLS: u32 = 1 << 16;

/// Maximum number of open files skipped before one is removed anyway.
const PASSED_OVER_MAX: u32 = 64;

/// A set of numbers below a bound.
struct Bits {
    words: Box<[AtomicU64]>,
    len: u32,
}

impl Bits {
    fn new(len: u32, holds: impl Fn(u32) -> bool) -> Bits {
        let word = |number: u32| {
            let first = number * WORD_BITS;
            let bits = (0..WORD_BITS.min(len - first)).filter(|bit| holds(first + bit));
            AtomicU64::new(bits.fold(0, |word, bit| word | 1 << bit))
        };
        Bits { words: (0..len.div_ceil(WORD_BITS)).map(word).collect(), len }
    }

    /// Returns the first number of the set at or after `from`, wrapping around at the end.
    #[inline]
    fn next(&self, from: u32) -> Option<u32> {
        let from = if from < self.len { from } else { 0 };
        let (first, words) = ((from / WORD_BITS) as usize, self.words.len());
        // Visit the first word again at the end, for the numbers before `from`.
        for turn in 0..=words {
            let at = (first + turn) % words.max(1);
            let mut word = self.words.get(at)?.load(Acquire);
            if turn == 0 {
                word &= u64::MAX << (from % WORD_BITS);
            }
            if word != 0 {
                return Some(at as u32 * WORD_BITS + word.trailing_zeros());
            }
        }
        None
    }

    /// Removes a number; returns `false` if it was not in the set.
    #[inline]
    fn take(&self, number: u32) -> bool {
        let bit = 1 << (number % WORD_BITS);
        self.words[(number / WORD_BITS) as usize].fetch_and(!bit, AcqRel) & bit != 0
    }

    #[inline]
    fn put(&self, number: u32) {
        self.words[(number / WORD_BITS) as usize].fetch_or(1 << (number % WORD_BITS), AcqRel);
    }

    #[inline]
    fn holds(&self, number: u32) -> bool {
        self.words[(number / WORD_BITS) as usize].load(Acquire) & 1 << (number % WORD_BITS) != 0
    }
}

/// Files, or empty directories.
pub(super) struct Entries {
    existing: Bits,
    /// Position after the last existing entry that was picked.
    existing_rotor: AtomicU32,
    missing: Bits,
    missing_rotor: AtomicU32,
    open: Box<[AtomicU16]>,
}

/// Where the search for an entry begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From<'a> {
    /// After the last entry that any worker picked.
    Shared,
    /// After the last entry that this worker picked.
    Own(&'a std::cell::Cell<u32>),
    /// At this number.
    At(u32),
}

impl Entries {
    fn new(len: u32, exists: impl Fn(u32) -> bool) -> Entries {
        Entries {
            existing: Bits::new(len, &exists),
            existing_rotor: AtomicU32::new(0),
            missing: Bits::new(len, |number| !exists(number)),
            missing_rotor: AtomicU32::new(0),
            open: (0..len.min(OPEN_CELLS)).map(|_| AtomicU16::new(0)).collect(),
        }
    }

    /// Picks an existing entry.
    #[inline]
    pub(super) fn existing(&self, from: From<'_>) -> Option<u32> {
        next(&self.existing, &self.existing_rotor, from)
    }

    /// Takes an existing entry for removal, so that no other worker can take it. Prefers files that are not open.
    pub(super) fn take_existing(&self, from: From<'_>) -> Option<u32> {
        let mut passed = 0;
        loop {
            let number = self.existing(from)?;
            if passed < PASSED_OVER_MAX && self.is_open(number) && !matches!(from, From::At(_)) {
                passed += 1;
                continue;
            }
            if self.existing.take(number) {
                return Some(number);
            }
        }
    }

    /// Takes a given entry; returns `false` if another worker has taken it.
    pub(super) fn take(&self, number: u32) -> bool {
        self.existing.take(number)
    }

    /// Takes a missing entry for creation, so that no other worker can take it.
    #[inline]
    pub(super) fn take_missing(&self, from: From<'_>) -> Option<u32> {
        loop {
            let number = next(&self.missing, &self.missing_rotor, from)?;
            if self.missing.take(number) {
                return Some(number);
            }
        }
    }

    /// Marks a taken entry as existing.
    #[inline]
    pub(super) fn mark_existing(&self, number: u32) {
        self.existing.put(number);
    }

    /// Marks a taken entry as missing.
    #[inline]
    pub(super) fn mark_missing(&self, number: u32) {
        self.missing.put(number);
    }

    pub(super) fn exists(&self, number: u32) -> bool {
        self.existing.holds(number)
    }

    #[inline]
    pub(super) fn opened(&self, number: u32) {
        if let Some(cell) = self.cell(number) {
            cell.fetch_add(1, Relaxed);
        }
    }

    #[inline]
    pub(super) fn closed(&self, number: u32) {
        if let Some(cell) = self.cell(number) {
            cell.fetch_sub(1, Relaxed);
        }
    }

    fn is_open(&self, number: u32) -> bool {
        self.cell(number).is_some_and(|cell| cell.load(Relaxed) > 0)
    }

    fn cell(&self, number: u32) -> Option<&AtomicU16> {
        self.open.get(number as usize % self.open.len().max(1))
    }
}

#[inline]
fn next(bits: &Bits, rotor: &AtomicU32, from: From<'_>) -> Option<u32> {
    match from {
        From::At(number) => bits.next(number),
        From::Own(own) => {
            let number = bits.next(own.get())?;
            own.set(number + 1);
            Some(number)
        }
        From::Shared => loop {
            let at = rotor.load(Relaxed);
            let number = bits.next(at)?;
            if rotor.compare_exchange_weak(at, number + 1, Relaxed, Relaxed).is_ok() {
                return Some(number);
            }
        },
    }
}

/// Existence of the files and directories of a shared file set.
pub(super) struct SharedState {
    pub(super) files: Entries,
    pub(super) leaves: Entries,
    /// The directory that is read next.
    directory_rotor: AtomicU32,
}

impl SharedState {
    /// Creates the state after layout.
    pub(super) fn new(shape: &SharedShape) -> SharedState {
        SharedState {
            files: Entries::new(shape.files(), |file| shape.is_preallocated(Entry::File(file))),
            leaves: Entries::new(shape.leaves(), |leaf| shape.is_preallocated(Entry::Leaf(leaf))),
            directory_rotor: AtomicU32::new(0),
        }
    }

    /// Returns the next directory to read, out of `directories`. The root only counts if there is no other directory.
    pub(super) fn directory(&self, directories: u32) -> u32 {
        match directories {
            0 | 1 => 0,
            _ => self.directory_rotor.fetch_add(1, Relaxed) % (directories - 1) + 1,
        }
    }
}

/// Draws the number at which a step with an index begins its search.
pub(super) fn indexed(index: &Drawn, len: u32, rng: &mut crate::rng::Rng) -> u32 {
    (index.draw(rng) % u64::from(len.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects: entries are picked in turn, and each once, whichever of them exist.
    #[test]
    fn entries_come_in_turn() {
        let entries = Entries::new(200, |number| number % 3 == 0);
        let first: Vec<u32> = (0..67).filter_map(|_| entries.existing(From::Shared)).collect();
        assert_eq!(first, (0..67).map(|number| number * 3).collect::<Vec<_>>());
        assert_eq!(entries.existing(From::Shared), Some(0), "wraps around to the first");
        assert_eq!(entries.existing(From::At(199)), Some(0));
        let own = std::cell::Cell::new(10);
        assert_eq!((entries.existing(From::Own(&own)), entries.existing(From::Own(&own))), (Some(12), Some(15)));
    }

    /// Protects: no worker gets an entry that another one has taken, until it is returned; an empty set has no entries.
    #[test]
    fn a_taken_entry_is_not_available() {
        let entries = Entries::new(3, |number| number == 1);
        assert_eq!(entries.take_missing(From::Shared), Some(0));
        assert_eq!(entries.take_missing(From::Shared), Some(2));
        assert_eq!(entries.take_missing(From::Shared), None);
        entries.mark_existing(0);
        assert_eq!(entries.take_existing(From::At(2)), Some(0));
        assert!(entries.take(1) && !entries.take(1));
        assert_eq!(entries.take_existing(From::Shared), None);
        entries.mark_missing(1);
        assert_eq!(entries.take_missing(From::Shared), Some(1));
        assert_eq!(Entries::new(0, |_| true).existing(From::Shared), None);
    }

    /// Protects: an open file is skipped while there is another, and taken if there is none.
    #[test]
    fn open_files_are_removed_last() {
        let entries = Entries::new(2, |_| true);
        entries.opened(0);
        assert_eq!(entries.take_existing(From::Shared), Some(1));
        assert_eq!(entries.take_existing(From::Shared), Some(0));
        entries.mark_existing(0);
        entries.closed(0);
        assert_eq!(entries.take_existing(From::Shared), Some(0));
    }

    /// Protects: workers that create and remove concurrently never get the same entry.
    #[test]
    fn workers_share_without_locks() {
        let entries = Entries::new(1000, |_| false);
        let taken = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while let Some(number) = entries.take_missing(From::Shared) {
                        entries.mark_existing(number);
                        taken.fetch_add(1, Relaxed);
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), 1000);
        assert!((0..1000).all(|number| entries.exists(number)));
    }
}
