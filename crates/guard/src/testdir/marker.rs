//! The marker file, which identifies a directory that Plumb may remove.

use super::owner::Owner;
use crate::path_resolution::open_entry;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::BorrowedFd;

/// Name of the marker file in a test directory.
pub const MARKER: &str = ".plumb";

/// First line of the marker, with its format number. Readers that do not know the number leave the directory alone.
const MAGIC: &str = "plumb test directory, format 1";

/// Maximum size of a marker; larger files are not markers.
const SIZE_MAX: u64 = 64 * 1024;

/// Contents of the marker: lines `name = value` after the magic line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Marker {
    /// Random part of the directory's name.
    pub id: String,
    /// Inode number of the directory itself, so that a copy is not a test directory.
    pub inode: u64,
    /// Purpose of the directory, in one line.
    pub label: String,
    /// Process that created it.
    pub owner: Owner,
    /// Creation time, seconds since 1970 UTC.
    pub created_s: u64,
}

impl Marker {
    /// Creates the marker of a directory that this process has just created.
    pub(super) fn new(id: &str, label: &str, inode: u64) -> Marker {
        Marker {
            id: id.to_owned(),
            inode,
            label: label.split_whitespace().collect::<Vec<_>>().join(" "),
            owner: Owner::this(),
            created_s: std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
        }
    }

    /// Opens the marker of a directory.
    pub(super) fn open(dir: BorrowedFd<'_>) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        Ok(File::from(open_entry(dir, OsStr::new(super::MARKER), flags, Mode::empty())?))
    }

    /// Reads the marker of a directory.
    pub(super) fn read(dir: BorrowedFd<'_>) -> io::Result<Marker> {
        Marker::read_from(&Marker::open(dir)?)
    }

    pub(super) fn read_from(file: &File) -> io::Result<Marker> {
        let mut text = String::new();
        file.take(SIZE_MAX).read_to_string(&mut text)?;
        Marker::parse(&text)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this version does not know its marker"))
    }

    /// Returns `true` if a marker was created but never written: it is empty, or holds only zeros after a crash.
    pub(super) fn is_unwritten(file: &File) -> bool {
        use std::os::unix::fs::FileExt as _;
        let Ok(found) = file.metadata() else { return false };
        let mut bytes = vec![1; found.len().min(SIZE_MAX) as usize];
        found.is_file()
            && found.len() <= SIZE_MAX
            && file.read_exact_at(&mut bytes, 0).is_ok()
            && bytes.iter().all(|byte| *byte == 0)
    }

    fn parse(text: &str) -> Option<Marker> {
        let mut lines = text.lines();
        if lines.next()? != MAGIC {
            return None;
        }
        let field = |name: &str| {
            text.lines().filter_map(|line| line.split_once(" = ")).find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        Some(Marker {
            id: field("id").filter(|id| !id.is_empty())?.to_owned(),
            inode: field("inode")?.parse().ok()?,
            label: field("label").unwrap_or_default().to_owned(),
            owner: Owner {
                pid: field("pid")?.parse().ok()?,
                started_ticks: field("pid-started-ticks")?.parse().ok()?,
                pid_namespace: field("pid-namespace").unwrap_or_default().to_owned(),
                boot: field("boot").unwrap_or_default().to_owned(),
                host: field("host").unwrap_or_default().to_owned(),
            },
            created_s: field("created-s")?.parse().ok()?,
        })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Marker { id, inode, label, owner, created_s } = self;
        writeln!(f, "{MAGIC}")?;
        writeln!(f, "Everything in this directory is test data, and is removed by `plumb clean`.")?;
        writeln!(f, "id = {id}\ninode = {inode}\nlabel = {label}")?;
        writeln!(f, "pid = {}\npid-started-ticks = {}", owner.pid, owner.started_ticks)?;
        writeln!(f, "pid-namespace = {}\nboot = {}\nhost = {}", owner.pid_namespace, owner.boot, owner.host)?;
        writeln!(f, "created-s = {created_s}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_reads_back_as_it_was_written() {
        let marker = Marker::new("00ff", "a label\nid = evil", 42);
        let read = Marker::parse(&marker.to_string()).unwrap();
        assert_eq!(read, marker);
        assert_eq!(read.id, "00ff");
    }

    #[test]
    fn other_formats_are_not_markers() {
        let good = Marker::new("00ff", "x", 42).to_string();
        for bad in [
            String::new(),
            good.replace("format 1", "format 2"),
            good.replace("inode = 42\n", ""),
            good.replace("inode = 42", "inode = many"),
            good.replace("id = 00ff", "id = "),
        ] {
            assert_eq!(Marker::parse(&bad), None, "{bad}");
        }
    }
}
