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

/// The storage under a path of the running machine. The path may be a file, a directory, a block device, or a file that is
/// still to be made: then it is the nearest directory that exists.
///
/// `leaves` are the deepest devices that the kernel counts for: for a loop device the disk under its backing file, and the
/// loop device itself where that file lives in memory or on another machine. Features whose names begin with `now.` change
/// from moment to moment. Nothing is opened for writing. What cannot be seen is in `unseen`.
pub fn of_path(path: &Path) -> TargetFacts {
    of_path_in(&Sysroot::real(), path, Serials::Hashed)
}

/// Bytes that are free for this user on the file system that holds a path, or the nearest directory above it that exists. Asks
/// statvfs(3) and nothing else, so that it answers in chroots too.
///
/// # Errors
/// The file system does not answer.
pub fn free_bytes(path: &Path) -> Result<u64, ProbeError> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find(|above| above.exists()).unwrap_or(&absolute);
    platform::sizes(existing).map(|sizes| sizes.free_bytes)
}

/// As [`of_path`], of the machine that a tree of files describes, and with serial numbers as asked.
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

/// What a path is.
enum Place {
    Block {
        number: String,
    },
    /// Something that keeps nothing.
    Stream {
        what: &'static str,
    },
    Tree {
        path: PathBuf,
    },
}

/// Looks at the path, or at the nearest directory above it that exists.
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
