//! Existing names of a worker's share, and their kinds. Everything here is O(1), or O(log₆₄ n) for "the next".
//!
//! Memory: two numbers and a byte per name, and two bitmaps: a little over 9 bytes per name.

/// Kind of an existing name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A regular file, possibly with additional names.
    File,
    /// A symbolic link.
    Symlink,
}

/// Names that a pick chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Among {
    Files,
    Symlinks,
    All,
}

/// State of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) kind: NameKind,
    /// Whether it was laid out before the first phase, with the size that the tree's shape gives it.
    pub(super) prepared: bool,
    /// Whether its mode is 0600 rather than 0644.
    pub(super) private: bool,
}

const FILE: u8 = 1;
const SYMLINK: u8 = 2;
const PREPARED: u8 = 4;
const PRIVATE: u8 = 8;

impl Name {
    pub(super) const NEW_FILE: Name = Name { kind: NameKind::File, prepared: false, private: false };
    pub(super) const PREPARED_FILE: Name = Name { kind: NameKind::File, prepared: true, private: false };
    pub(super) const SYMLINK: Name = Name { kind: NameKind::Symlink, prepared: false, private: false };

    fn to_bits(self) -> u8 {
        let kind = match self.kind {
            NameKind::File => FILE,
            NameKind::Symlink => SYMLINK,
        };
        kind | (u8::from(self.prepared) * PREPARED) | (u8::from(self.private) * PRIVATE)
    }

    fn from_bits(bits: u8) -> Option<Name> {
        let kind = match bits & (FILE | SYMLINK) {
            0 => return None,
            FILE => NameKind::File,
            _ => NameKind::Symlink,
        };
        Some(Name { kind, prepared: bits & PREPARED != 0, private: bits & PRIVATE != 0 })
    }
}

/// The names `0..len` of a share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShareNames {
    /// Existing files from the front, symbolic links from the back; the values in between are meaningless.
    order: Vec<u32>,
    /// Index in `order` of an existing name; the next free name for a free one.
    place: Vec<u32>,
    bits: Vec<u8>,
    files: u32,
    symlinks: u32,
    /// Queue of free names, so that a name is reused as late as possible. Meaningful while `free > 0`.
    free_first: u32,
    free_last: u32,
    free: u32,
    file_map: Bitmap,
    symlink_map: Bitmap,
}

impl ShareNames {
    /// Creates `len` names, with their existence given by `name`. Free names are queued in order of their number.
    pub(super) fn new(len: u32, mut name: impl FnMut(u32) -> Option<Name>) -> ShareNames {
        let mut names = ShareNames {
            order: vec![0; len as usize],
            place: vec![0; len as usize],
            bits: vec![0; len as usize],
            files: 0,
            symlinks: 0,
            free_first: 0,
            free_last: 0,
            free: 0,
            file_map: Bitmap::new(len),
            symlink_map: Bitmap::new(len),
        };
        for number in 0..len {
            match name(number) {
                Some(name) => names.enter(number, name),
                None => names.queue_free(number),
            }
        }
        names
    }

    pub(super) fn len(&self) -> u32 {
        self.bits.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, number: u32) -> Option<Name> {
        Name::from_bits(self.bits[number as usize])
    }

    #[inline]
    pub(super) fn count(&self, among: Among) -> u32 {
        match among {
            Among::Files => self.files,
            Among::Symlinks => self.symlinks,
            Among::All => self.files + self.symlinks,
        }
    }

    /// Returns the existing name at an index below [`count`](ShareNames::count).
    #[inline]
    pub(super) fn at(&self, among: Among, place: u32) -> u32 {
        let last = self.len() - 1;
        let index = match among {
            Among::Files => place,
            Among::Symlinks => last - place,
            Among::All if place < self.files => place,
            Among::All => last - (place - self.files),
        };
        self.order[index as usize]
    }

    /// Returns the first existing name at or after `from`, wrapping around to 0.
    #[inline]
    pub(super) fn next(&self, among: Among, from: u32) -> Option<u32> {
        self.next_without_wrap(among, from).or_else(|| self.next_without_wrap(among, 0))
    }

    #[inline]
    fn next_without_wrap(&self, among: Among, from: u32) -> Option<u32> {
        match among {
            Among::Files => self.file_map.next(from),
            Among::Symlinks => self.symlink_map.next(from),
            Among::All if self.symlinks == 0 => self.file_map.next(from),
            Among::All => match (self.file_map.next(from), self.symlink_map.next(from)) {
                (Some(file), Some(symlink)) => Some(file.min(symlink)),
                (file, symlink) => file.or(symlink),
            },
        }
    }

    /// Returns the next free name in the queue.
    #[inline]
    pub(super) fn free(&self) -> Option<u32> {
        (self.free > 0).then_some(self.free_first)
    }

    /// Moves the next free name to the end of the queue.
    pub(super) fn rotate_free(&mut self) {
        if let Some(number) = self.free() {
            self.unqueue_free();
            self.queue_free(number);
        }
    }

    /// Marks the next free name in the queue as existing.
    #[inline]
    pub(super) fn make(&mut self, number: u32, name: Name) {
        debug_assert_eq!(self.free(), Some(number), "only the next free name may be created");
        self.unqueue_free();
        self.enter(number, name);
    }

    /// Marks an existing name as free.
    #[inline]
    pub(super) fn remove(&mut self, number: u32) {
        let Some(name) = self.get(number) else {
            debug_assert!(false, "name {number} does not exist");
            return;
        };
        let last = match name.kind {
            NameKind::File => {
                self.file_map.clear(number);
                self.files -= 1;
                self.files
            }
            NameKind::Symlink => {
                self.symlink_map.clear(number);
                self.symlinks -= 1;
                self.len() - 1 - self.symlinks
            }
        };
        let place = self.place[number as usize];
        let moved = self.order[last as usize];
        self.order[place as usize] = moved;
        self.place[moved as usize] = place;
        self.bits[number as usize] = 0;
        self.queue_free(number);
    }

    /// Switches between the two modes.
    #[inline]
    pub(super) fn toggle_private(&mut self, number: u32) {
        self.bits[number as usize] ^= PRIVATE;
    }

    #[inline]
    fn enter(&mut self, number: u32, name: Name) {
        let place = match name.kind {
            NameKind::File => {
                self.file_map.set(number);
                self.files += 1;
                self.files - 1
            }
            NameKind::Symlink => {
                self.symlink_map.set(number);
                self.symlinks += 1;
                self.len() - self.symlinks
            }
        };
        self.order[place as usize] = number;
        self.place[number as usize] = place;
        self.bits[number as usize] = name.to_bits();
    }

    #[inline]
    fn queue_free(&mut self, number: u32) {
        if self.free == 0 {
            self.free_first = number;
        } else {
            self.place[self.free_last as usize] = number;
        }
        self.free_last = number;
        self.free += 1;
    }

    #[inline]
    fn unqueue_free(&mut self) {
        self.free_first = self.place[self.free_first as usize];
        self.free -= 1;
    }
}

/// A bitmap with summaries: a bit of level `k + 1` says whether a word of level `k` has any bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bitmap {
    levels: Vec<Vec<u64>>,
}

impl Bitmap {
    pub(super) fn new(len: u32) -> Bitmap {
        let mut levels = Vec::new();
        let mut bits = len as usize;
        loop {
            let words = bits.div_ceil(64).max(1);
            levels.push(vec![0; words]);
            if words == 1 {
                return Bitmap { levels };
            }
            bits = words;
        }
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.next(number) == Some(number)
    }

    #[inline]
    pub(super) fn set(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            let was_empty = *word == 0;
            *word |= 1 << (index % 64);
            if !was_empty {
                return;
            }
            index /= 64;
        }
    }

    #[inline]
    pub(super) fn clear(&mut self, number: u32) {
        let mut index = number as usize;
        for level in &mut self.levels {
            let word = &mut level[index / 64];
            *word &= !(1 << (index % 64));
            if *word != 0 {
                return;
            }
            index /= 64;
        }
    }

    /// Returns the first set bit at or after `from`.
    #[inline]
    fn next(&self, from: u32) -> Option<u32> {
        let near = self.levels[0].get(from as usize / 64)? & (u64::MAX << (from % 64));
        if near != 0 {
            return Some(from / 64 * 64 + near.trailing_zeros());
        }
        self.next_far(from)
    }

    fn next_far(&self, from: u32) -> Option<u32> {
        let mut index = from as usize;
        for (height, level) in self.levels.iter().enumerate() {
            let bits = level.get(index / 64)? & (u64::MAX << (index % 64));
            if bits != 0 {
                let mut found = index / 64 * 64 + bits.trailing_zeros() as usize;
                for lower in self.levels[..height].iter().rev() {
                    found = found * 64 + lower[found].trailing_zeros() as usize;
                }
                return Some(found as u32);
            }
            index = index / 64 + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::collections::VecDeque;

    /// A simple reference implementation of `Names`.
    struct Model {
        existing: BTreeMap<u32, NameKind>,
        free: VecDeque<u32>,
    }

    fn list_numbers(model: &Model, among: Among) -> Vec<u32> {
        let wanted = |kind: &NameKind| match among {
            Among::Files => *kind == NameKind::File,
            Among::Symlinks => *kind == NameKind::Symlink,
            Among::All => true,
        };
        model.existing.iter().filter(|(_, kind)| wanted(kind)).map(|(number, _)| *number).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn names_behave_like_a_map_and_a_queue(
            len in 1u32..300,
            existing in proptest::collection::vec(any::<bool>(), 300),
            acts in proptest::collection::vec((0u8..5, any::<u32>()), 0..400),
        ) {
            let mut names = ShareNames::new(len, |n| existing[n as usize].then_some(Name::PREPARED_FILE));
            let (yes, no): (Vec<u32>, Vec<u32>) = (0..len).partition(|n| existing[*n as usize]);
            let mut model =
                Model { existing: yes.into_iter().map(|n| (n, NameKind::File)).collect(), free: no.into() };
            for (act, random) in acts {
                prop_assert_eq!(names.free(), model.free.front().copied());
                match (act, names.free()) {
                    (0, Some(free)) => {
                        names.make(free, Name::NEW_FILE);
                        model.free.pop_front();
                        model.existing.insert(free, NameKind::File);
                    }
                    (1, Some(free)) => {
                        names.make(free, Name::SYMLINK);
                        model.free.pop_front();
                        model.existing.insert(free, NameKind::Symlink);
                    }
                    (2, _) => {
                        names.rotate_free();
                        if let Some(first) = model.free.pop_front() {
                            model.free.push_back(first);
                        }
                    }
                    (_, _) if names.count(Among::All) > 0 => {
                        let victim = names.at(Among::All, random % names.count(Among::All));
                        names.remove(victim);
                        prop_assert!(model.existing.remove(&victim).is_some());
                        model.free.push_back(victim);
                    }
                    _ => {}
                }
                for among in [Among::Files, Among::Symlinks, Among::All] {
                    let expected = list_numbers(&model, among);
                    let mut found: Vec<u32> = (0..names.count(among)).map(|i| names.at(among, i)).collect();
                    found.sort_unstable();
                    prop_assert_eq!(&found, &expected);
                    let from = random % len;
                    let next = expected.iter().find(|n| **n >= from).or(expected.first()).copied();
                    prop_assert_eq!(names.next(among, from), next);
                }
            }
            for number in 0..len {
                prop_assert_eq!(names.get(number).map(|name| name.kind), model.existing.get(&number).copied());
            }
        }
    }

    #[test]
    fn the_bitmap_finds_far_neighbours() {
        let mut map = Bitmap::new(1_000_000);
        assert_eq!(map.next(0), None);
        for number in [5, 70_000, 999_999] {
            map.set(number);
        }
        assert_eq!((map.next(0), map.next(6), map.next(70_001)), (Some(5), Some(70_000), Some(999_999)));
        map.clear(70_000);
        assert_eq!(map.next(6), Some(999_999));
        map.clear(999_999);
        assert_eq!(map.next(6), None);
        assert_eq!(Bitmap::new(0).next(0), None);
    }
}
