//! The sequence of actions in a PostMark run.

use super::{Postmark, PostmarkPart, Twister};

/// A file that belongs to one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DrawnFile {
    /// Number of the file in order of creation, from 1. Numbers are never reused.
    pub number: u32,
    /// Index into [`Postmark::file_directories`].
    pub directory: u32,
}

/// One action of a transaction on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Creates the file and writes this many bytes to it.
    Create(DrawnFile, u64),
    /// Reads the whole file, which has this many bytes.
    Read(DrawnFile, u64),
    /// Appends this many bytes to the file.
    Append(DrawnFile, u64),
    Delete(DrawnFile),
}

/// Totals of one thread's run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub created: u64,
    /// Number of files that were read as a whole.
    pub read: u64,
    /// Number of appends that wrote something. A file of maximum size is not appended to.
    pub appended: u64,
    /// Number of files deleted by transactions.
    pub deleted: u64,
    /// Number of files left after the transactions.
    pub left: u64,
    /// Number of transactions begun. Fewer than requested if all files were deleted before.
    pub transactions: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Total bytes of all files before the first transaction.
    pub set_bytes_start: u64,
    /// Maximum total bytes of all files.
    pub set_bytes_max: u64,
    /// The same maximum in whole blocks of 4 KiB, as files occupy memory and disk.
    pub set_blocks_bytes_max: u64,
    /// Bytes read, added up in single precision like PostMark.
    pub single_read: f32,
    /// Bytes written, added up in single precision.
    pub single_written: f32,
}

const BLOCK: u64 = 4096;

/// A slot of the file table. It is free if `bytes` is 0.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    bytes: u64,
    file: DrawnFile,
}

#[derive(Debug, Clone)]
struct Free {
    words: Vec<u64>,
    /// No word before this index has a free slot.
    from: usize,
}

impl Free {
    fn all(slots: u32) -> Free {
        let mut words = vec![u64::MAX; slots.div_ceil(64) as usize];
        if let (Some(last), rest @ 1..) = (words.last_mut(), slots % 64) {
            *last = (1 << rest) - 1;
        }
        Free { words, from: 0 }
    }

    #[inline]
    fn first(&mut self) -> Option<u32> {
        self.from = (self.from..self.words.len()).find(|word| self.words[*word] != 0)?;
        Some(self.from as u32 * 64 + self.words[self.from].trailing_zeros())
    }

    #[inline]
    fn take(&mut self, slot: u32) {
        self.words[slot as usize / 64] &= !(1 << (slot % 64));
    }

    #[inline]
    fn give(&mut self, slot: u32) {
        let word = slot as usize / 64;
        self.words[word] |= 1 << (slot % 64);
        self.from = self.from.min(word);
    }
}

/// Draws the actions of one thread.
#[derive(Debug, Clone)]
pub struct PostmarkDraws {
    run: Postmark,
    random: Twister,
    table: Vec<Slot>,
    free: Free,
    /// Slot after the one that was taken last.
    next: u32,
    in_use: u32,
    /// Number of initial files still to be created.
    to_create: u32,
    /// Whether the second half of the current transaction is still to come.
    is_half: bool,
    /// Next slot to be deleted at the end.
    swept: usize,
    set_bytes: u64,
    set_blocks: u64,
    weights: u32,
    totals: Totals,
}

impl PostmarkDraws {
    /// Returns the state at the start of a thread's run, after drawing its text. A run that
    /// is not [sound](Postmark::is_sound) draws nothing.
    pub fn new(run: &Postmark, thread: u32) -> PostmarkDraws {
        let mut random = Twister::new(run.seed.wrapping_add(thread));
        let is_sound = run.is_sound();
        // Draws one character per byte of text. The text is twice as long as the largest file.
        random.skip(if is_sound { run.high.0 * 2 } else { 0 });
        let slots = if is_sound { run.number * 2 } else { 0 };
        PostmarkDraws {
            run: run.clone(),
            random,
            table: vec![Slot::default(); slots as usize],
            free: Free::all(slots),
            next: 0,
            in_use: 0,
            to_create: slots / 2,
            is_half: false,
            swept: 0,
            set_bytes: 0,
            set_blocks: 0,
            weights: run.locations.iter().map(|location| location.weight).fold(0, u32::saturating_add),
            totals: Totals::default(),
        }
    }

    /// Returns the text of a thread. Every file consists of one or more prefixes of it.
    pub fn text(run: &Postmark, thread: u32) -> Vec<u8> {
        let mut random = Twister::new(run.seed.wrapping_add(thread));
        (0..run.high.0).map(|_| 32 + random.below(95) as u8).collect()
    }

    /// Returns the settings of the run.
    #[inline]
    pub fn run(&self) -> &Postmark {
        &self.run
    }

    /// Advances to the beginning of a part.
    pub fn at(mut self, part: PostmarkPart) -> PostmarkDraws {
        for earlier in [PostmarkPart::Create, PostmarkPart::Transactions] {
            if earlier < part {
                while self.next(earlier).is_some() {}
            }
        }
        self
    }

    /// Draws the rest of the run and returns its totals.
    pub fn to_end(self) -> Totals {
        let draws = self.at(PostmarkPart::Delete);
        Totals { left: draws.in_use.into(), ..draws.totals }
    }

    /// Returns the next action of a part, or `None` at its end. Parts must be drawn in order and to their end.
    #[inline]
    pub fn next(&mut self, part: PostmarkPart) -> Option<Act> {
        match part {
            PostmarkPart::Create => {
                while self.to_create > 0 {
                    self.to_create -= 1;
                    if let Some(act) = self.create() {
                        return Some(act);
                    }
                }
                self.totals.set_bytes_start = self.totals.set_bytes_start.max(self.set_bytes);
                None
            }
            PostmarkPart::Transactions => self.transact(),
            PostmarkPart::Delete => {
                let slot = (self.swept..self.table.len()).find(|slot| self.table[*slot].bytes > 0)?;
                self.swept = slot + 1;
                Some(self.delete(slot))
            }
        }
    }

    #[inline]
    fn transact(&mut self) -> Option<Act> {
        loop {
            if self.is_half {
                self.is_half = false;
                if let Some(bias) = self.run.bias_create {
                    let act = if self.random.below(10) < u32::from(bias) {
                        self.create()
                    } else {
                        let victim = self.victim();
                        self.totals.deleted += 1;
                        Some(self.delete(victim))
                    };
                    if act.is_some() {
                        return act;
                    }
                }
            }
            if self.totals.transactions >= u64::from(self.run.transactions) || self.in_use == 0 {
                return None;
            }
            self.totals.transactions += 1;
            self.is_half = true;
            if let Some(bias) = self.run.bias_read {
                let reads = self.random.below(10) < u32::from(bias);
                let victim = self.victim();
                let act = if reads { Some(self.read(victim)) } else { self.append(victim) };
                if act.is_some() {
                    return act;
                }
            }
        }
    }

    #[inline]
    fn create(&mut self) -> Option<Act> {
        let is_free = self.table.get(self.next as usize).is_some_and(|slot| slot.bytes == 0);
        let slot = if is_free { self.next } else { self.free.first()? };
        self.next = slot + 1;
        self.free.take(slot);
        let base = match self.run.locations.len() {
            0 | 1 => 0,
            _ => self.weighted(),
        };
        let directory = match self.run.subdirectories() {
            0 => base,
            each => base * each + self.random.below(each),
        };
        let (low, high) = (self.run.low.0, self.run.high.0);
        let bytes = low + u64::from(self.random.below(high.saturating_sub(low) as u32));
        self.in_use += 1;
        self.totals.created += 1;
        let file = DrawnFile { number: self.totals.created as u32, directory };
        self.table[slot as usize].file = file;
        self.written(bytes);
        self.resize(slot as usize, bytes);
        Some(Act::Create(file, bytes))
    }

    fn weighted(&mut self) -> u32 {
        let mut drawn = self.random.below(self.weights);
        for (number, location) in (0u32..).zip(&self.run.locations) {
            match drawn.checked_sub(location.weight) {
                Some(rest) => drawn = rest,
                None => return number,
            }
        }
        0
    }

    #[inline]
    fn read(&mut self, slot: usize) -> Act {
        let Slot { bytes, file } = self.table[slot];
        self.totals.read += 1;
        self.totals.bytes_read += bytes;
        self.totals.single_read += bytes as f32;
        Act::Read(file, bytes)
    }

    #[inline]
    fn append(&mut self, slot: usize) -> Option<Act> {
        let Slot { bytes: length, file } = self.table[slot];
        let room = self.run.high.0.checked_sub(length).filter(|room| *room > 0)?;
        let bytes = u64::from(self.random.below(room as u32)) + 1;
        self.totals.appended += 1;
        self.written(bytes);
        self.resize(slot, length + bytes);
        Some(Act::Append(file, bytes))
    }

    #[inline]
    fn delete(&mut self, slot: usize) -> Act {
        self.resize(slot, 0);
        self.free.give(slot as u32);
        self.in_use -= 1;
        Act::Delete(self.table[slot].file)
    }

    /// Draws an existing file. The caller makes sure that live is one.
    #[inline]
    fn victim(&mut self) -> usize {
        loop {
            let slot = self.random.below(self.table.len() as u32) as usize;
            if self.table[slot].bytes > 0 {
                return slot;
            }
        }
    }

    #[inline]
    fn written(&mut self, bytes: u64) {
        self.totals.bytes_written += bytes;
        self.totals.single_written += bytes as f32;
    }

    #[inline]
    fn resize(&mut self, slot: usize, bytes: u64) {
        let before = std::mem::replace(&mut self.table[slot].bytes, bytes);
        self.set_bytes = self.set_bytes - before + bytes;
        self.set_blocks = self.set_blocks - before.div_ceil(BLOCK) + bytes.div_ceil(BLOCK);
        self.totals.set_bytes_max = self.totals.set_bytes_max.max(self.set_bytes);
        self.totals.set_blocks_bytes_max = self.totals.set_blocks_bytes_max.max(self.set_blocks * BLOCK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;
    use std::collections::BTreeMap;
    use std::collections::BTreeSet;

    fn postmark(low: u64, high: u64, number: u32, transactions: u32) -> Postmark {
        Postmark { low: Bytes(low), high: Bytes(high), number, transactions, ..Postmark::default() }
    }

    fn totals(run: &Postmark) -> Totals {
        PostmarkDraws::new(run, 0).to_end()
    }

    /// Protects agreement with the real tool: PostMark 1.53 printed these totals for the same settings.
    #[test]
    fn totals_match_the_real_tool() {
        let default = totals(&Postmark::default());
        assert_eq!([default.created, default.read, default.appended], [764, 243, 257]);
        assert_eq!([default.deleted, default.left], [236, 528]);
        assert_eq!([default.bytes_read, default.bytes_written], [1_430_770, 4_662_068]);
        let mib = |bytes: f32| format!("{:.2}", bytes / 1_048_576.0);
        for (run, counts, read, written) in [
            (postmark(1000, 100_000, 2000, 50_000), [27_272, 24_986, 24_955, 2544], "1579.51", "1717.98"),
            (postmark(1000, 300_000, 4000, 50_000), [29_002, 25_108, 24_865, 4004], "4668.08", "5420.00"),
            (postmark(1, 1000, 30_000, 50_000), [54_911, 24_921, 24_964, 29_822], "13.61", "31.35"),
        ] {
            let totals = totals(&run);
            assert_eq!([totals.created, totals.read, totals.appended, totals.left], counts, "{run:?}");
            assert_eq!([mib(totals.single_read), mib(totals.single_written)], [read, written], "{run:?}");
        }
    }

    #[test]
    fn the_text_matches_postmark() {
        let run = postmark(1000, 2000, 3, 10);
        assert!(PostmarkDraws::text(&run, 0).starts_with(b"LeZebJ6S5~qPv$C$py}hmKd H58nM4~."));
    }

    /// Protects agreement with the real tool: these are its system calls in a run of three
    /// files and ten transactions.
    #[test]
    fn a_small_run_matches_the_real_tool() {
        let run = postmark(1000, 2000, 3, 10);
        let mut draws = PostmarkDraws::new(&run, 0);
        let mut acts = Vec::new();
        for part in [PostmarkPart::Create, PostmarkPart::Transactions, PostmarkPart::Delete] {
            while let Some(act) = draws.next(part) {
                acts.push(match act {
                    Act::Create(DrawnFile { number, .. }, bytes) => format!("+{number}:{bytes}"),
                    Act::Read(DrawnFile { number, .. }, bytes) => format!("r{number}:{bytes}"),
                    Act::Append(DrawnFile { number, .. }, bytes) => format!("a{number}:{bytes}"),
                    Act::Delete(DrawnFile { number, .. }) => format!("-{number}"),
                });
            }
        }
        let expected = "+1:1550 +2:1584 +3:1244 a2:264 +4:1722 a3:518 +5:1134 r4:1722 -4 r2:1848 +6:1279 r6:1279 \
                        +7:1141 a7:578 r2:1848 a5:675 -2 a5:162 +8:1492 r1:1550 -1 -8 -3 -7 -5 -6";
        assert_eq!(acts.join(" "), expected);
    }

    #[test]
    fn a_run_ends_when_no_file_is_left() {
        let run = Postmark { bias_create: Some(0), number: 5, transactions: 100, ..Postmark::default() };
        let totals = totals(&run);
        assert_eq!((totals.transactions, totals.deleted, totals.left), (5, 5, 0));
    }

    /// Protects the life cycle of files under any settings. Each file is created first, keeps the length that it was
    /// given, stays within the limits, and is deleted once.
    #[test]
    fn each_file_is_created_and_deleted_once() {
        for seed in 1..60u32 {
            let number = 1 + seed % 17;
            let low = 1 + u64::from(seed * 37 % 300);
            let run = Postmark {
                low: Bytes(low),
                high: Bytes(low + u64::from(seed * 101 % 400)),
                number,
                transactions: 20 * (seed % 9),
                seed,
                subdirectories: seed % 4,
                bias_read: (seed % 5 > 0).then_some((seed % 11) as u8),
                bias_create: (seed % 7 > 0).then_some((seed * 3 % 11) as u8),
                threads: 1 + seed % 3,
                ..Postmark::default()
            };
            let paths = run.paths();
            let mut names = BTreeSet::new();
            for thread in 0..run.threads {
                let mut live: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
                let mut draws = PostmarkDraws::new(&run, thread);
                for part in [PostmarkPart::Create, PostmarkPart::Transactions, PostmarkPart::Delete] {
                    while let Some(act) = draws.next(part) {
                        match act {
                            Act::Create(file, bytes) => {
                                assert!(bytes >= run.low.0 && bytes <= run.high.0);
                                assert_eq!(live.insert(file.number, (file.directory, bytes)), None);
                                let place = run.place(thread, file.number);
                                let name = &paths[place as usize];
                                assert_eq!(Some(name), run.path(place).as_ref());
                                let directory = &run.file_directories()[file.directory as usize];
                                assert_eq!(name, &directory.join(run.number_of(thread, file.number).to_string()));
                                assert!(names.insert(name.clone()), "{name:?} is made twice");
                            }
                            Act::Read(file, bytes) => {
                                assert_eq!(live.get(&file.number), Some(&(file.directory, bytes)));
                            }
                            Act::Append(file, bytes) => {
                                let (directory, length) = live.get_mut(&file.number).unwrap();
                                *length += bytes;
                                assert!(bytes > 0 && *length <= run.high.0 && *directory == file.directory);
                            }
                            Act::Delete(file) => {
                                let directory = live.remove(&file.number).map(|(directory, _)| directory);
                                assert_eq!(directory, Some(file.directory));
                            }
                        }
                        assert!(live.len() <= 2 * number as usize, "the table has room for twice the initial files");
                    }
                }
                assert!(live.is_empty(), "all files are deleted at the end");
            }
            assert_eq!((run.count(), run.path(paths.len() as u32)), (paths.len(), None));
        }
    }

    /// Protects resuming: each part begins in the state in which the parts before it end.
    #[test]
    fn a_part_can_begin_by_itself() {
        let run = postmark(500, 2000, 40, 200);
        let mut whole = PostmarkDraws::new(&run, 0);
        for part in [PostmarkPart::Create, PostmarkPart::Transactions, PostmarkPart::Delete] {
            let mut alone = PostmarkDraws::new(&run, 0).at(part);
            while let Some(act) = whole.next(part) {
                assert_eq!(alone.next(part), Some(act));
            }
            assert_eq!(alone.next(part), None);
        }
    }

    #[test]
    fn locations_are_drawn_by_their_weights() {
        let location = |path: &str, weight| super::super::PostmarkLocation { path: path.into(), weight };
        let run = Postmark {
            locations: vec![location("A", 2), location("B", 1)],
            subdirectories: 10,
            number: 1000,
            transactions: 1000,
            ..Postmark::default()
        };
        let totals = totals(&run);
        // The real tool printed these totals for the same settings.
        assert_eq!([totals.created, totals.read, totals.appended], [1516, 475, 525]);
        assert_eq!([totals.left, totals.deleted], [1032, 484]);
        let paths = run.paths();
        assert_eq!((run.directory_count(), paths.len()), (20, 1536));
        assert_eq!([&paths[0], &paths[10]], ["A/s0", "B/s0"].map(std::path::Path::new));
        assert!(paths[20].starts_with("A/") || paths[20].starts_with("B/"));
    }
}
