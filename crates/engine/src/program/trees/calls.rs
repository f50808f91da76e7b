//! The calls that are made of each entry of a tree.

use super::paths::TreePaths;
use crate::backend::{Completion, Errno};
use crate::program::descriptor::{close, errno, nothing, read_up_to, write_whole};
use plumb_workload::program::{TreeStep, TreeWork};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

/// Permissions of new directories and files, before the umask. Source: mdtest, as strace shows.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o775);
const FILE_MODE: Mode = Mode::from_raw_mode(0o664);
const NODE_MODE: Mode = Mode::from_raw_mode(0o400);

/// Makes the calls of the entry whose path was written. `memory` holds what is written, and what was read.
pub(in crate::program) fn make(paths: &TreePaths, step: &TreeStep, memory: &mut [u8]) -> Completion {
    let path = paths.path();
    let direct = if step.direct { OFlags::DIRECT } else { OFlags::empty() };
    // A link that somebody put in a file's place is not followed to what may be changed.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | direct;
    match step.does {
        TreeWork::MakePlaces | TreeWork::MakeRoots => match rustix::fs::mkdirat(CWD, path, DIRECTORY_MODE) {
            Err(rustix::io::Errno::EXIST) => Ok(0),
            made => nothing(made),
        },
        TreeWork::MakeDirectories | TreeWork::Mkdir => nothing(rustix::fs::mkdirat(CWD, path, DIRECTORY_MODE)),
        TreeWork::RemovePlaces | TreeWork::RemoveRoots | TreeWork::RemoveDirectories | TreeWork::Rmdir => {
            nothing(rustix::fs::unlinkat(CWD, path, AtFlags::REMOVEDIR))
        }
        TreeWork::Stat => nothing(rustix::fs::statat(CWD, path, AtFlags::empty()).map(drop)),
        TreeWork::Rename { .. } => nothing(rustix::fs::renameat(CWD, path, CWD, paths.other())),
        TreeWork::Make(item) => {
            // As mdtest opens again what it made before.
            let flags = match (item.exists, item.reads_back) {
                (false, _) => flags | OFlags::CREATE,
                (true, true) => flags,
                (true, false) => flags.difference(OFlags::RDWR) | OFlags::WRONLY,
            };
            let file = rustix::fs::openat(CWD, path, flags, FILE_MODE).map_err(errno)?;
            let written = memory.get_mut(..item.bytes.0 as usize).ok_or(Errno(libc::EINVAL))?;
            write_whole(&file, written, written.len() as u64)?;
            if item.reads_back {
                read_back(&file, written)?;
            }
            if item.flush {
                rustix::fs::fsync(&file).map_err(errno)?;
            }
            close(file)?;
            Ok(item.bytes.0)
        }
        TreeWork::Mknod => nothing(rustix::fs::mknodat(CWD, path, FileType::RegularFile, NODE_MODE, 0)),
        TreeWork::Read { bytes } => {
            let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(errno)?;
            let into = memory.get_mut(..bytes.0 as usize).ok_or(Errno(libc::EINVAL))?;
            let read = read_up_to(&file, into)?;
            close(file)?;
            if read < bytes.0 { Err(Errno(libc::EIO)) } else { Ok(read) }
        }
        TreeWork::Unlink => nothing(rustix::fs::unlinkat(CWD, path, AtFlags::empty())),
    }
}

/// Reads what was just written, from the file's beginning, and compares.
fn read_back(file: &std::os::fd::OwnedFd, written: &[u8]) -> Result<(), Errno> {
    let mut piece = vec![0; written.len()];
    let read = rustix::io::pread(file, &mut piece, 0).map_err(errno)?;
    if read == written.len() && piece == written { Ok(()) } else { Err(Errno(libc::EILSEQ)) }
}
