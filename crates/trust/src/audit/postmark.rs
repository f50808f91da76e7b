//! What a PostMark run moves, from its settings alone.
//!
//! PostMark draws everything from one Mersenne Twister that it seeds with 42, so a configuration fixes the sequence of
//! operations and every byte, on any machine. Facts from running PostMark 1.53: the junk that files are filled with is
//! drawn first (two numbers a byte of the largest size); a new file takes the slot after the last new one, or the first
//! hole; victims are drawn until one is in use; a file that is full is not appended to. Reference for the generator:
//! Matsumoto and Nishimura, ACM TOMACS 8(1), 1998, in the version of 1999 with its seeding by 69069.

use std::collections::BTreeSet;

/// What can be set, with PostMark's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Smallest size of a new file, in bytes.
    pub low: u64,
    /// Largest size, in bytes; new files stay below, appended ones reach it.
    pub high: u64,
    /// Files at the start.
    pub number: u64,
    /// Transactions.
    pub transactions: u64,
    /// Seed.
    pub seed: u32,
    /// Subdirectories; 0 and 1 are the same.
    pub subdirectories: u64,
    /// Reads among ten reads and appends; −1 for neither.
    pub bias_read: i64,
    /// Creations among ten creations and deletions; −1 for neither.
    pub bias_create: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            low: 500,
            high: 10_000,
            number: 500,
            transactions: 500,
            seed: 42,
            subdirectories: 0,
            bias_read: 5,
            bias_create: 5,
        }
    }
}

/// What a run does altogether.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Files created.
    pub created: u64,
    /// Whole files read.
    pub read: u64,
    /// Appends that wrote something.
    pub appended: u64,
    /// Files left at the end, which are then deleted.
    pub left: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes of all files as the transactions began.
    pub set_bytes_start: u64,
    /// Bytes of all files, at the most.
    pub set_bytes_max: u64,
    /// The same in whole blocks of 4 KiB, which is what memory and disk hold.
    pub set_blocks_bytes_max: u64,
}

/// Why a run cannot be replayed on paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotReplayable {
    /// PostMark divides by a tenth of the transactions.
    #[error("PostMark itself crashes with fewer than 10 transactions")]
    TooFew,
    /// A file of size 0 counts as none, and a largest size below the smallest draws nothing.
    #[error("the smallest size must be at least 1, and the largest not below it")]
    Sizes,
    /// Settings that nobody runs.
    #[error(
        "the settings are beyond what PostMark can run: at most 2^29 bytes, 4 million files, 20 million transactions"
    )]
    TooLarge,
    /// All files were deleted before the end.
    #[error("the run ends early, out of files")]
    OutOfFiles,
}

const BLOCK: u64 = 4096;

/// Replays a run on paper.
pub fn replay(settings: &Settings) -> Result<Totals, NotReplayable> {
    let Settings { low, high, number, transactions, .. } = *settings;
    if transactions < 10 {
        return Err(NotReplayable::TooFew);
    }
    if low == 0 || high < low || number == 0 {
        return Err(NotReplayable::Sizes);
    }
    if high > 1 << 29 || number > 4_000_000 || transactions > 20_000_000 {
        return Err(NotReplayable::TooLarge);
    }
    let mut run = Run::new(settings);
    for _ in 0..number {
        run.create();
    }
    run.totals.set_bytes_start = run.set_bytes;
    for _ in 0..transactions {
        if run.in_use == 0 {
            return Err(NotReplayable::OutOfFiles);
        }
        if settings.bias_read != -1 {
            if (run.random.below(10) as i64) < settings.bias_read { run.read() } else { run.append() }
        }
        if settings.bias_create != -1 {
            if (run.random.below(10) as i64) < settings.bias_create { run.create() } else { run.delete() }
        }
    }
    run.totals.left = run.in_use;
    Ok(run.totals)
}

struct Run<'a> {
    settings: &'a Settings,
    random: Twister,
    /// Sizes by slot; 0 is free.
    sizes: Vec<u64>,
    free: BTreeSet<usize>,
    next: usize,
    in_use: u64,
    set_bytes: u64,
    set_blocks: u64,
    totals: Totals,
}

impl<'a> Run<'a> {
    fn new(settings: &'a Settings) -> Run<'a> {
        let mut random = Twister::new(settings.seed);
        random.skip(settings.high * 2);
        let slots = settings.number as usize * 2;
        Run {
            settings,
            random,
            sizes: vec![0; slots],
            free: (0..slots).collect(),
            next: 0,
            in_use: 0,
            set_bytes: 0,
            set_blocks: 0,
            totals: Totals {
                created: 0,
                read: 0,
                appended: 0,
                left: 0,
                bytes_read: 0,
                bytes_written: 0,
                set_bytes_start: 0,
                set_bytes_max: 0,
                set_blocks_bytes_max: 0,
            },
        }
    }

    fn create(&mut self) {
        let slot = match self.sizes.get(self.next) {
            Some(0) => self.next,
            _ => match self.free.first() {
                Some(first) => *first,
                None => return,
            },
        };
        self.next = slot + 1;
        self.free.remove(&slot);
        if self.settings.subdirectories > 1 {
            self.random.below(self.settings.subdirectories);
        }
        let size = self.settings.low + self.random.below(self.settings.high - self.settings.low);
        self.in_use += 1;
        self.totals.created += 1;
        self.totals.bytes_written += size;
        self.resize(slot, size);
    }

    fn read(&mut self) {
        let slot = self.victim();
        self.totals.read += 1;
        self.totals.bytes_read += self.sizes[slot];
    }

    fn append(&mut self) {
        let slot = self.victim();
        let size = self.sizes[slot];
        if size < self.settings.high {
            let more = self.random.below(self.settings.high - size) + 1;
            self.totals.appended += 1;
            self.totals.bytes_written += more;
            self.resize(slot, size + more);
        }
    }

    fn delete(&mut self) {
        let slot = self.victim();
        self.resize(slot, 0);
        self.free.insert(slot);
        self.in_use -= 1;
    }

    fn victim(&mut self) -> usize {
        loop {
            let slot = self.random.below(self.sizes.len() as u64) as usize;
            if self.sizes[slot] > 0 {
                return slot;
            }
        }
    }

    fn resize(&mut self, slot: usize, size: u64) {
        let before = self.sizes[slot];
        self.sizes[slot] = size;
        self.set_bytes = self.set_bytes - before + size;
        self.set_blocks = self.set_blocks - before.div_ceil(BLOCK) + size.div_ceil(BLOCK);
        self.totals.set_bytes_max = self.totals.set_bytes_max.max(self.set_bytes);
        self.totals.set_blocks_bytes_max = self.totals.set_blocks_bytes_max.max(self.set_blocks * BLOCK);
    }
}

const STATE: usize = 624;
const MIDDLE: usize = 397;

/// MT19937, seeded as its authors did in 1999.
struct Twister {
    state: [u32; STATE],
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Twister {
        let mut seed = seed;
        let mut step = || {
            let high = seed & 0xffff_0000;
            seed = seed.wrapping_mul(69069).wrapping_add(1);
            high
        };
        let state = std::array::from_fn(|_| step() | step() >> 16);
        Twister { state, next: STATE }
    }

    fn refill(&mut self) {
        for k in 0..STATE {
            let y = (self.state[k] & 0x8000_0000) | (self.state[(k + 1) % STATE] & 0x7fff_ffff);
            let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[k] = self.state[(k + MIDDLE) % STATE] ^ (y >> 1) ^ twist;
        }
        self.next = 0;
    }

    /// Draws so many numbers and forgets them.
    fn skip(&mut self, mut count: u64) {
        while count > 0 {
            if self.next == STATE {
                self.refill();
            }
            let now = count.min((STATE - self.next) as u64);
            self.next += now as usize;
            count -= now;
        }
    }

    /// A number below `bound`, by remainder; nothing is drawn for 0.
    fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        if self.next == STATE {
            self.refill();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^= y >> 18;
        u64::from(y) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(low: u64, high: u64, number: u64, transactions: u64) -> Settings {
        Settings { low, high, number, transactions, ..Settings::default() }
    }

    /// What PostMark 1.53 printed for the same settings: files created, read, appended, left; MiB read and written.
    #[test]
    fn totals_are_those_of_the_real_tool() {
        for (settings, counts, mib_read, mib_written) in [
            (Settings::default(), [764, 243, 257, 528], 1.36, 4.45),
            (of(1000, 100_000, 2000, 50_000), [27_272, 24_986, 24_955, 2544], 1579.51, 1717.98),
            (of(1000, 300_000, 4000, 50_000), [29_002, 25_108, 24_865, 4004], 4668.08, 5420.00),
            (of(1, 1000, 30_000, 50_000), [54_911, 24_921, 24_964, 29_822], 13.61, 31.35),
        ] {
            let totals = replay(&settings).unwrap();
            assert_eq!([totals.created, totals.read, totals.appended, totals.left], counts, "{settings:?}");
            // PostMark adds in single precision, which errs in the second decimal of large totals.
            let close = |bytes: u64, mib: f64| (bytes as f64 / (1 << 20) as f64 - mib).abs() < 0.006 + mib * 1e-4;
            assert!(close(totals.bytes_read, mib_read) && close(totals.bytes_written, mib_written), "{totals:?}");
        }
        assert_eq!(replay(&Settings::default()).unwrap().bytes_read, 1_430_770);
        assert_eq!(replay(&Settings::default()).unwrap().bytes_written, 4_662_068);
    }

    #[test]
    fn settings_that_no_run_survives_are_refused() {
        assert_eq!(replay(&of(500, 1000, 10, 9)), Err(NotReplayable::TooFew));
        assert_eq!(replay(&of(0, 1000, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&of(1000, 10, 10, 100)), Err(NotReplayable::Sizes));
        assert_eq!(replay(&of(1, 1 << 30, 10, 100)), Err(NotReplayable::TooLarge));
        let only_deletions = Settings { bias_create: 0, ..of(500, 1000, 10, 100) };
        assert_eq!(replay(&only_deletions), Err(NotReplayable::OutOfFiles));
    }
}
