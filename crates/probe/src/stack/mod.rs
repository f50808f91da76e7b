//! The storage under a path: the file system, and the block devices below it down to those with a medium.

mod btrfs;
mod device;
mod ext;
mod filesystem;
mod serials;
mod unlisted;
mod users;
mod walk;
mod xfs;

pub use serials::Serials;
pub(crate) use users::may_use;

use crate::error::ProbeError;
use crate::platform;
use crate::sysroot::{HAS_PROC, Sysroot, lexical};
use plumb_result::Seen;
use plumb_result::observe::TargetFacts;
use std::path::{Path, PathBuf};

/// Returns the storage under a path of this machine. The path may be a file, a directory, a block device, or a file
/// that does not exist yet: then the nearest existing directory counts.
///
/// `leaves` are the deepest devices with counters. For a loop device, that is the disk under its backing file, or the
/// loop device itself if that file is in memory or on another machine. Features whose names begin with `now.` change
/// constantly. Nothing is opened for writing. Facts that cannot be seen are in `unseen`.
pub fn of_path(path: &Path) -> TargetFacts {
    of_path_in(&Sysroot::real(), path, Serials::Hashed)
}

/// Returns the free bytes for this user on the file system of a path, or of the nearest existing directory above it.
/// Uses only statvfs(3), so it works in chroots too.
///
/// # Errors
/// Returns an error if the file system does not answer.
pub fn free_bytes(path: &Path) -> Result<u64, ProbeError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find(|above| above.exists()).unwrap_or(&absolute);
    platform::sizes(existing).map(|sizes| sizes.free_bytes)
}

/// Like [`of_path`], for the machine described by a tree of files, and with serial numbers as requested.
pub(crate) fn of_path_in(sys: &Sysroot, path: &Path, serials: Serials) -> TargetFacts {
    #[cfg(target_os = "freebsd")]
    if sys.is_real() {
        return crate::freebsd::target_facts(path);
    }
    let mut facts = TargetFacts { path: plumb_result::path_text(path), ..TargetFacts::default() };
    if sys.is_real() && !HAS_PROC {
        facts.filesystem = Err(ProbeError::NotHere).into();
        facts.unseen.push(ProbeError::NotHere.to_string());
        return facts;
    }
    let mut walk = walk::Walk::new(sys, serials);
    match nearest(sys, path) {
        Place::Block { number } => {
            facts.filesystem = Seen::no(format!("{} is a block device", path.display()));
            walk.device(&number);
        }
        Place::Stream { what } => {
            facts.filesystem = Seen::no(format!("{} is {what}", path.display()));
        }
        Place::Tree { path } => facts.filesystem = walk.storage_under(&path).map(|under| under.filesystem).into(),
    }
    let (stack, leaves, unseen) = walk.finish();
    (facts.stack, facts.leaves, facts.unseen) = (stack, leaves, unseen);
    facts
}

/// Kind of a path.
enum Place {
    Block {
        number: String,
    },
    /// A file without storage, such as a pipe.
    Stream {
        what: &'static str,
    },
    Tree {
        path: PathBuf,
    },
}

/// Examines the path, or the nearest existing directory above it.
fn nearest(sys: &Sysroot, path: &Path) -> Place {
    use std::os::unix::fs::FileTypeExt;
    if !sys.is_real() {
        let path = lexical(path);
        return match device::number_of_source(sys, &path) {
            Some(number) => Place::Block { number },
            None => Place::Tree { path },
        };
    }
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find_map(|above| above.canonicalize().ok()).unwrap_or_else(|| PathBuf::from("/"));
    if let Some(number) = platform::block_number(&found) {
        return Place::Block { number };
    }
    let kind = found.metadata().map(|metadata| metadata.file_type());
    match kind {
        Ok(kind) if kind.is_char_device() => Place::Stream { what: "a character device" },
        Ok(kind) if kind.is_fifo() => Place::Stream { what: "a pipe" },
        Ok(kind) if kind.is_socket() => Place::Stream { what: "a socket" },
        _ => Place::Tree { path: found },
    }
}

#[cfg(test)]
mod tests;
#[cfg(all(test, target_os = "linux"))]
mod tests_real;
