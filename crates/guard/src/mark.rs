//! How a file is known again that Plumb made, or that held nothing when Plumb took it: by an extended attribute, or where the
//! file system has none, by an entry of [`MadeFiles`].
//!
//! A file that Plumb made is test data for good. One that somebody else made and that held nothing is theirs: they may fill
//! it later. It is lent to a run, and the mark says how long and how old it was when that run left it; if it has been
//! written since, it must be proved anew that nobody misses its content.

use super::beneath::Identity;
use super::made::MadeFiles;
use crate::os;
use rustix::fs::Stat;
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::OnceLock;

/// The extended attribute. Its value names the inode, so that a copy of the file does not inherit the mark.
pub(super) const MARK: &str = "user.plumb";

/// The longest value.
const VALUE_BYTES: usize = 256;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// Plumb made it.
    Made,
    /// It held nothing, and this run took it.
    Lent,
    /// It held nothing when an earlier run took it, and this is how that run left it.
    Left(LeftAs),
}

/// How a run left a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftAs {
    length_bytes: i64,
    /// When it was last written, seconds and nanoseconds since 1970.
    written_s: i64,
    written_ns: u64,
}

impl LeftAs {
    // The fields' types differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    pub(super) fn of(stat: &Stat) -> LeftAs {
        LeftAs {
            length_bytes: stat.st_size as i64,
            written_s: stat.st_mtime as i64,
            written_ns: stat.st_mtime_nsec as u64,
        }
    }

    fn text(self) -> String {
        let LeftAs { length_bytes, written_s, written_ns } = self;
        format!("left with {length_bytes} bytes, written at {written_s}.{written_ns:09}")
    }

    fn parse(text: &str) -> Option<LeftAs> {
        let (length, written) = text.strip_prefix("left with ")?.split_once(" bytes, written at ")?;
        let (seconds, nanoseconds) = written.split_once('.')?;
        Some(LeftAs {
            length_bytes: length.parse().ok()?,
            written_s: seconds.parse().ok()?,
            written_ns: nanoseconds.parse().ok()?,
        })
    }
}

impl Mark {
    /// What is told of the file, beside which file it is; empty for one that Plumb made.
    pub(super) fn text(self) -> String {
        match self {
            Mark::Made => String::new(),
            Mark::Lent => format!("lent to {}", this_run()),
            Mark::Left(left) => left.text(),
        }
    }

    fn parse(text: &str) -> Option<Mark> {
        if text.is_empty() {
            return Some(Mark::Made);
        }
        if let Some(run) = text.strip_prefix("lent to ") {
            // One that another run never gave back tells nothing.
            return (run == this_run()).then_some(Mark::Lent);
        }
        LeftAs::parse(text).map(Mark::Left)
    }

    fn value(self, identity: Identity) -> String {
        match self {
            Mark::Made => format!("test data, format 1, inode {}", identity.inode),
            mark => format!("held nothing, format 1, inode {}, {}", identity.inode, mark.text()),
        }
    }

    fn of_value(value: &str, identity: Identity) -> Option<Mark> {
        if value == Mark::Made.value(identity) {
            return Some(Mark::Made);
        }
        let rest = value.strip_prefix("held nothing, format 1, inode ")?;
        let (inode, text) = rest.split_once(", ")?;
        Mark::parse(text).filter(|_| inode.parse() == Ok(identity.inode))
    }

    /// The mark of an open file under this path; none where it bears none.
    pub(super) fn read(
        file: BorrowedFd<'_>,
        identity: Identity,
        path: &Path,
        made: Option<&MadeFiles>,
    ) -> Option<Mark> {
        let mut value = [0; VALUE_BYTES];
        let length = os::fgetxattr(file, MARK, &mut value[..]).unwrap_or(0);
        let value = value.get(..length).and_then(|value| std::str::from_utf8(value).ok());
        let by_attribute = value.and_then(|value| Mark::of_value(value, identity));
        by_attribute.or_else(|| Mark::parse(&made?.state(file, path)?))
    }

    /// Puts the mark on an open file. Best effort: a file that is neither marked nor registered is unknown next time, and must
    /// be named then.
    pub(super) fn put(self, file: impl AsFd, identity: Identity, path: &Path, made: Option<&MadeFiles>) {
        let value = self.value(identity);
        let marked = os::fsetxattr(file.as_fd(), MARK, value.as_bytes(), os::XattrFlags::empty());
        if let (Err(_), Some(made)) = (marked, made) {
            let _ = made.add(file.as_fd(), path, &self.text());
        }
    }
}

/// What tells this process and its workers from every other.
fn this_run() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| format!("{:016x}", RandomState::new().hash_one(std::process::id())))
}

/// Settles what this run is called, before processes are forked that must call it the same.
pub(super) fn name_run() {
    this_run();
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: Identity = Identity { device: 1, inode: 77 };
    const LEFT: LeftAs = LeftAs { length_bytes: 4096, written_s: 12, written_ns: 5 };

    #[test]
    fn every_mark_is_read_as_it_was_written_and_belongs_to_one_inode() {
        for mark in [Mark::Made, Mark::Lent, Mark::Left(LEFT)] {
            let value = mark.value(FILE);
            assert!(value.len() <= VALUE_BYTES);
            assert_eq!(Mark::of_value(&value, FILE), Some(mark));
            assert_eq!(Mark::of_value(&value, Identity { inode: 7, ..FILE }), None, "a copy");
            assert_eq!(Mark::parse(&mark.text()), Some(mark), "as the register keeps it");
        }
        let longest = LeftAs { length_bytes: i64::MIN, written_s: i64::MIN, written_ns: u64::MAX };
        assert!(Mark::Left(longest).value(Identity { device: 0, inode: u64::MAX }).len() <= VALUE_BYTES);
    }

    #[test]
    fn the_mark_of_earlier_versions_is_read_and_what_another_run_did_not_give_back_is_not() {
        assert_eq!(Mark::of_value("test data, format 1, inode 77", FILE), Some(Mark::Made));
        let other = "held nothing, format 1, inode 77, lent to 0123456789abcdef";
        assert_eq!(Mark::of_value(other, FILE), None);
        for damaged in ["", "held nothing, format 1, inode 77, ", "held nothing, format 1, inode 77, left with x"] {
            assert_ne!(Mark::of_value(damaged, FILE), Some(Mark::Lent), "{damaged}");
            assert!(!matches!(Mark::of_value(damaged, FILE), Some(Mark::Left(_))), "{damaged}");
        }
    }
}
