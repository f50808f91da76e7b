//! A line of the register: a file, the state in which a run left it, and its owner.

use crate::maker::BOOT_ID;
use crate::mark::{FileOwner, Mark};
use crate::path_resolution::Identity;
use rustix::fs::Stat;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The first word of each line, its format version.
const FORMAT: &str = "2";

/// Identifies a file, even after its inode number has been reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileKey {
    pub(super) identity: Identity,
    origin: Origin,
}

/// Distinguishes a file from later ones with the same inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Birth time, seconds and nanoseconds since 1970.
    Born { s: i64, ns: u32 },
    /// Checksum of the boot id, if the file system does not store birth times.
    Boot(u32),
}

/// State that changes whenever a file is written, renamed or linked, or its times are set: programs cannot set the change time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileState {
    length_bytes: u64,
    changed_s: i64,
    changed_ns: u64,
}

/// The register's entry for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// A run left it in this state.
    Left { owner: FileOwner, state: FileState },
    /// A run has taken it, and the file system cannot store the mark.
    Taken(Mark),
}

/// One parsed line of the register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: FileKey,
    pub(crate) known: Known,
    /// Used later to check whether the file still exists.
    pub(crate) path: PathBuf,
}

impl FileKey {
    /// Returns the key of an open file.
    pub(crate) fn from_file(file: BorrowedFd<'_>, stat: &Stat) -> Option<FileKey> {
        let origin = match birth_of(file).ok()? {
            Some((s, ns)) => Origin::Born { s, ns },
            None => Origin::Boot(this_boot()),
        };
        Some(FileKey { identity: Identity::from_stat(stat), origin })
    }
}

impl FileState {
    // The types of the fields differ between architectures.
    #[allow(clippy::unnecessary_cast)]
    pub(crate) fn from_stat(stat: &Stat) -> FileState {
        FileState {
            length_bytes: stat.st_size as u64,
            changed_s: stat.st_ctime as i64,
            changed_ns: stat.st_ctime_nsec as u64,
        }
    }
}

impl Record {
    /// Formats the record as a line, with its checksum and line feed.
    pub(super) fn line(&self) -> String {
        let FileKey { identity, origin } = self.key;
        let mut line = start_of_line(identity);
        // Writing to a string never fails.
        let _ = match origin {
            Origin::Born { s, ns } => write!(line, "b{s}.{ns} "),
            Origin::Boot(boot) => write!(line, "t{boot:x} "),
        };
        let _ = match self.known {
            Known::Left { owner, state: FileState { length_bytes, changed_s, changed_ns } } => {
                let owner = if owner == FileOwner::Plumb { "plumb" } else { "owner" };
                write!(line, "{owner} {length_bytes} {changed_s}.{changed_ns} ")
            }
            Known::Taken(mark) => write!(line, "taken {} - ", mark.word()),
        };
        escape(&self.path, &mut line);
        let sum = crc32c::crc32c(line.as_bytes());
        let _ = writeln!(line, " {sum:08x}");
        line
    }

    /// Parses a line without its line feed; `None` if it is damaged or has another format version.
    pub(super) fn parse(line: &[u8]) -> Option<Record> {
        let line = std::str::from_utf8(line).ok()?;
        let (text, sum) = line.rsplit_once(' ')?;
        if u32::from_str_radix(sum, 16).ok()? != crc32c::crc32c(text.as_bytes()) {
            return None;
        }
        let mut words = text.split(' ');
        let identity = identity_of_words(&mut words)?;
        let origin = words.next()?;
        let origin = match (origin.strip_prefix('b').and_then(|born| born.split_once('.')), origin.strip_prefix('t')) {
            (Some((s, ns)), _) => Origin::Born { s: s.parse().ok()?, ns: ns.parse().ok()? },
            (None, Some(boot)) => Origin::Boot(u32::from_str_radix(boot, 16).ok()?),
            (None, None) => return None,
        };
        let (kind, first, second) = (words.next()?, words.next()?, words.next()?);
        let left = |owner| {
            let (s, ns) = second.split_once('.')?;
            let state = FileState {
                length_bytes: first.parse().ok()?,
                changed_s: s.parse().ok()?,
                changed_ns: ns.parse().ok()?,
            };
            Some(Known::Left { owner, state })
        };
        let known = match kind {
            "plumb" => left(FileOwner::Plumb)?,
            "owner" => left(FileOwner::User)?,
            "taken" => Known::Taken(Mark::parse(first)?),
            _ => return None,
        };
        let path = unescape(words.next()?)?;
        words.next().is_none().then_some(Record { key: FileKey { identity, origin }, known, path })
    }
}

/// Formats the first words of a line: format, device and inode.
pub(super) fn start_of_line(Identity { device, inode }: Identity) -> String {
    format!("{FORMAT} {device:x} {inode:x} ")
}

/// Parses only the device and inode of a line.
pub(super) fn identity_of_line(line: &[u8]) -> Option<Identity> {
    // Maximum length of format, device and inode.
    let start = line.get(..line.len().min(40))?;
    identity_of_words(&mut std::str::from_utf8(start).ok()?.split(' '))
}

fn identity_of_words<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Identity> {
    if words.next()? != FORMAT {
        return None;
    }
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    Some(Identity { device: number()?, inode: number()? })
}

/// Percent-encodes blanks, control characters, `%` and non-ASCII bytes of a path.
fn escape(path: &Path, line: &mut String) {
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => line.push(byte.into()),
            _ => {
                let _ = write!(line, "%{byte:02x}");
            }
        }
    }
}

fn unescape(text: &str) -> Option<PathBuf> {
    let (mut path, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&first, tail)) = rest.split_first() {
        if first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            path.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            path.push(first);
            rest = tail;
        }
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

fn this_boot() -> u32 {
    static BOOT: OnceLock<u32> = OnceLock::new();
    *BOOT.get_or_init(|| crc32c::crc32c(&std::fs::read(BOOT_ID).unwrap_or_default()))
}

/// Returns seconds and nanoseconds of a file's birth time; `None` if the file system does not store it.
#[cfg(target_os = "linux")]
fn birth_of(file: BorrowedFd<'_>) -> rustix::io::Result<Option<(i64, u32)>> {
    use rustix::fs::{AtFlags, StatxFlags};
    let seen = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?;
    let is_kept = StatxFlags::from_bits_retain(seen.stx_mask).contains(StatxFlags::BTIME);
    Ok(is_kept.then_some((seen.stx_btime.tv_sec, seen.stx_btime.tv_nsec)))
}

#[cfg(target_os = "freebsd")]
// The types of the fields differ between architectures.
#[allow(clippy::unnecessary_cast)]
fn birth_of(file: BorrowedFd<'_>) -> rustix::io::Result<Option<(i64, u32)>> {
    let seen = rustix::fs::fstat(file)?;
    Ok(Some((seen.st_birthtime as i64, seen.st_birthtime_nsec as u32)))
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn birth_of(_: BorrowedFd<'_>) -> rustix::io::Result<Option<(i64, u32)>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark::RunName;
    use std::ffi::OsStr;

    fn records() -> Vec<Record> {
        let state = FileState { length_bytes: 4096, changed_s: -3, changed_ns: 999_999_999 };
        let odd = OsStr::from_bytes(b"/a b/100%/new\nline/\xff\xc3\xa9");
        let known = [
            Known::Left { owner: FileOwner::Plumb, state },
            Known::Left { owner: FileOwner::User, state },
            Known::Taken(Mark::taken(FileOwner::Plumb, RunName(7))),
        ];
        let origins = [Origin::Born { s: 1_700_000_000, ns: 5 }, Origin::Boot(u32::MAX)];
        let mut records = Vec::new();
        for (number, known) in known.into_iter().enumerate() {
            for origin in origins {
                let key = FileKey { identity: Identity { device: u64::MAX, inode: number as u64 }, origin };
                records.push(Record { key, known, path: PathBuf::from(odd) });
            }
        }
        records
    }

    #[test]
    fn a_line_reads_back_as_it_was_written() {
        for record in records() {
            let line = record.line();
            let text = line.strip_suffix('\n').unwrap().as_bytes();
            assert_eq!(Record::parse(text), Some(record.clone()), "{line}");
            assert_eq!(identity_of_line(text), Some(record.key.identity));
            assert!(!text.contains(&b'\n'));
        }
    }

    // Protects files from a register that a crash or another program damaged: no changed byte makes a file expendable.
    #[test]
    fn damaged_lines_are_ignored() {
        for record in records() {
            let line = record.line();
            let text = line.trim_end().as_bytes();
            for at in 0..text.len() {
                for flip in [1, 0x10, 0x80] {
                    let mut damaged = text.to_vec();
                    damaged[at] ^= flip;
                    // The checksum's hexadecimal digits are not case-sensitive.
                    if !damaged.eq_ignore_ascii_case(text) {
                        assert_eq!(Record::parse(&damaged), None, "byte {at} of {line}");
                    }
                }
                assert_eq!(Record::parse(&text[..at]), None, "cut at {at}: {line}");
            }
        }
        assert_eq!(Record::parse(b""), None);
    }
}
