//! The extended attribute that a run sets on a file when it makes or takes it.
//!
//! During the run, the mark shows its workers, and other processes of the same benchmark, that they may write to the file.
//! After the run it proves nothing on this machine; the register ([`MadeFiles`](super::MadeFiles)) does. The attribute cannot
//! hold the file's change time, because setting the attribute moves it. Other hosts of a shared file system and other users
//! have another register. They trust length and modification time for a short time.

use super::maker::{Life, Maker};
use crate::os;
use rustix::fs::Stat;
use std::os::fd::BorrowedFd;
use std::time::{SystemTime, UNIX_EPOCH};

/// Name of the extended attribute. Its value contains the inode, so that a copy of the file does not inherit the mark.
pub(super) const MARK: &str = "user.plumb";

/// Maximum length of the value in all versions.
const VALUE_BYTES: usize = 256;

/// Base of the numbers in the value. It keeps the value within the 64 bytes that a 256-byte ext4 inode has room for.
const BASE: u32 = 36;

/// Time for which a file that a run on another host is making is shared with that run, seconds.
const SHARED_MAKING_S: u64 = 300;

/// Time for which a file left by a run with another register is recognised by length and modification time, seconds.
const SHARED_LEFT_S: u64 = 3600;

/// Maximum difference between the clocks of hosts that share a file system, seconds.
const CLOCKS_DIFFER_S: u64 = 60;

/// Owner of a file: Plumb or a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOwner {
    /// Plumb made it.
    Plumb,
    /// A user made it, and it held nothing when a run took it.
    User,
}

/// Name of a run, shared by all its threads and forked workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RunName(pub(super) u64);

/// The parsed value of the attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A run is using the file, or was killed while using it.
    Taken {
        owner: FileOwner,
        run: RunName,
        maker: Maker,
        /// Time of the mark, seconds since 1970.
        at_s: u64,
    },
    /// A run left the file in this state, and added it to the register with this name.
    Left { owner: FileOwner, register: u32, at_s: u64, as_: LeftAs },
    /// A mark from before the register: it names the maker, but does not show whether the file has changed.
    Old(FileOwner),
}

/// State in which a run left a file, as far as an attribute can record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftAs {
    length_bytes: u64,
    /// Modification time, seconds and nanoseconds since 1970.
    written_s: u64,
    written_ns: u64,
}

impl LeftAs {
    // The types of the fields differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn from_stat(stat: &Stat) -> LeftAs {
        LeftAs {
            length_bytes: stat.st_size as u64,
            written_s: stat.st_mtime as u64,
            written_ns: stat.st_mtime_nsec as u64,
        }
    }
}

impl Mark {
    /// Returns the mark of a file that this process takes for a run.
    pub(super) fn taken(owner: FileOwner, run: RunName) -> Mark {
        Mark::Taken { owner, run, maker: Maker::this(), at_s: now_s() }
    }

    /// Returns the mark of a file that process `pid` has taken.
    #[cfg(test)]
    pub(super) fn taken_by(owner: FileOwner, run: RunName, pid: u32) -> Mark {
        Mark::Taken { owner, run, maker: Maker::for_process(pid), at_s: now_s() }
    }

    /// Returns the mark of a file that a run leaves.
    pub(super) fn left(owner: FileOwner, register: u32, stat: &Stat) -> Mark {
        Mark::Left { owner, register, at_s: now_s(), as_: LeftAs::from_stat(stat) }
    }

    /// Returns the owner of the file.
    pub(super) fn owner(self) -> FileOwner {
        match self {
            Mark::Taken { owner, .. } | Mark::Left { owner, .. } | Mark::Old(owner) => owner,
        }
    }

    /// Returns `true` if the run with this name set the mark.
    pub(super) fn is_of(self, name: RunName) -> bool {
        matches!(self, Mark::Taken { run, .. } if run == name)
    }

    /// Returns `true` if the mark alone allows a run with this register to write to a file in this state.
    pub(super) fn suffices(self, name: RunName, own_register: u32, stat: &Stat) -> bool {
        match self {
            Mark::Taken { run, .. } if run == name => true,
            Mark::Taken { maker, at_s, .. } => match maker.life() {
                Life::Alive => true,
                Life::Over => false,
                Life::Elsewhere => is_within(at_s, SHARED_MAKING_S),
            },
            Mark::Left { register, at_s, as_, .. } => {
                register != own_register && is_within(at_s, SHARED_LEFT_S) && as_ == LeftAs::from_stat(stat)
            }
            Mark::Old(_) => false,
        }
    }

    /// Formats the mark as one word.
    pub(super) fn word(self) -> String {
        let letter = |owner| if owner == FileOwner::Plumb { 'p' } else { 'o' };
        match self {
            Mark::Taken { owner, run, maker, at_s } => {
                let numbers = [run.0, maker.place.into(), maker.pid.into(), maker.started_ticks, at_s];
                word(['t', letter(owner)], &numbers)
            }
            Mark::Left { owner, register, at_s, as_: LeftAs { length_bytes, written_s, written_ns } } => {
                word(['l', letter(owner)], &[register.into(), at_s, length_bytes, written_s, written_ns])
            }
            Mark::Old(owner) => word(['f', letter(owner)], &[]),
        }
    }

    pub(super) fn parse(word: &str) -> Option<Mark> {
        let mut parts = word.split('.');
        let kind = parts.next()?;
        let numbers: Vec<u64> = parts.map(|part| u64::from_str_radix(part, BASE)).collect::<Result<_, _>>().ok()?;
        let owner = match kind.get(1..)? {
            "p" => FileOwner::Plumb,
            "o" => FileOwner::User,
            _ => return None,
        };
        match (kind.get(..1)?, numbers.as_slice()) {
            ("t", &[run, place, pid, started_ticks, at_s]) => {
                let maker = Maker { place: place.try_into().ok()?, pid: pid.try_into().ok()?, started_ticks };
                Some(Mark::Taken { owner, run: RunName(run), maker, at_s })
            }
            ("l", &[register, at_s, length_bytes, written_s, written_ns]) => {
                let as_ = LeftAs { length_bytes, written_s, written_ns };
                Some(Mark::Left { owner, register: register.try_into().ok()?, at_s, as_ })
            }
            _ => None,
        }
    }

    fn value(self, inode: u64) -> String {
        format!("2 {} {}", in_base(inode), self.word())
    }

    fn from_value(value: &str, inode: u64) -> Option<Mark> {
        if let Some(rest) = value.strip_prefix("2 ") {
            let (named, word) = rest.split_once(' ')?;
            return Mark::parse(word).filter(|_| u64::from_str_radix(named, BASE) == Ok(inode));
        }
        let named = |rest: &str| rest.split(',').next().and_then(|text| text.parse().ok()) == Some(inode);
        let old =
            [("test data, format 1, inode ", FileOwner::Plumb), ("held nothing, format 1, inode ", FileOwner::User)];
        old.into_iter()
            .find(|(words, _)| value.strip_prefix(words).is_some_and(named))
            .map(|(_, owner)| Mark::Old(owner))
    }

    /// Reads the mark of an open file; `None` if it has none.
    pub(super) fn read(file: BorrowedFd<'_>, inode: u64) -> Option<Mark> {
        let mut value = [0; VALUE_BYTES];
        let length = os::fgetxattr(file, MARK, &mut value[..]).ok()?;
        Mark::from_value(std::str::from_utf8(value.get(..length)?).ok()?, inode)
    }

    /// Puts the mark on an open file.
    ///
    /// # Errors
    /// The file system has no extended attributes, or no room for one.
    pub(super) fn put(self, file: BorrowedFd<'_>, inode: u64) -> rustix::io::Result<()> {
        os::fsetxattr(file, MARK, self.value(inode).as_bytes(), os::XattrFlags::empty())
    }

    /// Removes the mark from an open file.
    pub(super) fn remove(file: BorrowedFd<'_>) {
        // Usually fails, because most files have no mark.
        let _ = os::fremovexattr(file, MARK);
    }
}

fn is_within(at_s: u64, seconds: u64) -> bool {
    let now_s = now_s();
    at_s <= now_s.saturating_add(CLOCKS_DIFFER_S) && now_s <= at_s.saturating_add(seconds)
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn word(kind: [char; 2], numbers: &[u64]) -> String {
    let mut word = String::from_iter(kind);
    for &number in numbers {
        word.push('.');
        word.push_str(&in_base(number));
    }
    word
}

/// Formats a number in base 36.
pub(super) fn in_base(mut number: u64) -> String {
    let mut digits = Vec::new();
    loop {
        let digit = (number % u64::from(BASE)) as u32;
        digits.push(char::from_digit(digit, BASE).unwrap_or('0'));
        number /= u64::from(BASE);
        if number == 0 {
            break digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INODE: u64 = 77;
    const LEFT: LeftAs = LeftAs { length_bytes: 4096, written_s: 12, written_ns: 5 };

    fn stat() -> Stat {
        rustix::fs::stat("/").unwrap()
    }

    #[test]
    fn every_mark_parses_back_and_belongs_to_one_inode() {
        for owner in [FileOwner::Plumb, FileOwner::User] {
            let left = Mark::Left { owner, register: 9, at_s: 1, as_: LEFT };
            for mark in [Mark::taken(owner, RunName(u64::MAX)), left] {
                let value = mark.value(INODE);
                assert_eq!(Mark::from_value(&value, INODE), Some(mark), "{value}");
                assert_eq!(Mark::from_value(&value, INODE + 1), None, "a copy");
                assert_eq!(Mark::parse(&mark.word()), Some(mark), "as the register keeps it");
            }
        }
        assert_eq!(in_base(0), "0");
        assert_eq!(u64::from_str_radix(&in_base(u64::MAX), BASE), Ok(u64::MAX));
    }

    /// A value that does not fit into the inode costs ext4 a 4 KiB block and about 10 µs per file.
    #[test]
    fn a_mark_fits_into_an_inode_of_ext4() {
        let maker = Maker { place: u32::MAX, pid: 4 << 20, started_ticks: 10_u64.pow(10) };
        let taken = Mark::Taken { owner: FileOwner::Plumb, run: RunName(u64::MAX), maker, at_s: 1 << 31 };
        let as_ = LeftAs { length_bytes: 1 << 44, written_s: 1 << 31, written_ns: 999_999_999 };
        for mark in [taken, Mark::Left { owner: FileOwner::Plumb, register: u32::MAX, at_s: 1 << 31, as_ }] {
            let value = mark.value(u64::from(u32::MAX));
            assert!(value.len() <= 64, "{} bytes: {value}", value.len());
        }
    }

    #[test]
    fn earlier_marks_name_the_maker_and_damaged_ones_are_ignored() {
        let old = |text: &str| Mark::from_value(text, INODE);
        assert_eq!(old("test data, format 1, inode 77"), Some(Mark::Old(FileOwner::Plumb)));
        let left = "held nothing, format 1, inode 77, left with 4096 bytes, written at 12.000000005";
        assert_eq!(old(left), Some(Mark::Old(FileOwner::User)));
        assert_eq!(old("held nothing, format 1, inode 77, lent to 0123456789abcdef"), Some(Mark::Old(FileOwner::User)));
        assert!(!Mark::Old(FileOwner::Plumb).suffices(RunName(1), 9, &stat()), "an old mark never suffices");
        for damaged in ["", "test data, format 1, inode 7", "2 25 tp", "2 25 tp.1.2", "2 25 xp.1.2.3.4.5", "2 é"] {
            assert_eq!(Mark::from_value(damaged, INODE), None, "{damaged}");
        }
    }

    /// A mark suffices for its own run, for other runs on this machine while that run lives, and briefly for other hosts.
    #[test]
    fn only_a_run_that_lasts_or_another_host_is_believed() {
        let (mine, stat, now) = (RunName(1), stat(), now_s());
        assert!(Mark::taken(FileOwner::Plumb, mine).suffices(mine, 9, &stat));
        let other = |maker, at_s| Mark::Taken { owner: FileOwner::Plumb, run: RunName(2), maker, at_s };
        let this = Maker::this();
        assert!(!other(this, now).suffices(mine, 9, &stat), "an earlier run of this process");
        let init = Maker { pid: 4_000_000, ..this };
        assert!(!other(init, now).suffices(mine, 9, &stat), "one that is dead");
        let elsewhere = Maker { place: this.place ^ 1, ..this };
        assert!(other(elsewhere, now).suffices(mine, 9, &stat));
        assert!(!other(elsewhere, now - SHARED_MAKING_S - 2).suffices(mine, 9, &stat));
        assert!(!other(elsewhere, now + CLOCKS_DIFFER_S + 5).suffices(mine, 9, &stat));
        let as_ = LeftAs::from_stat(&stat);
        let left = |register, at_s, as_| Mark::Left { owner: FileOwner::Plumb, register, at_s, as_ };
        assert!(!left(9, now, as_).suffices(mine, 9, &stat), "this run's own register decides");
        assert!(left(8, now, as_).suffices(mine, 9, &stat));
        assert!(!left(8, now, LEFT).suffices(mine, 9, &stat));
        assert!(!left(8, now - SHARED_LEFT_S - 2, as_).suffices(mine, 9, &stat));
    }
}
