//! The calls made for each entry of a tree.

use super::paths::{TreeFiles, TreePaths};
use crate::backend::region::Region;
use crate::backend::{Completion, Errno};
use crate::content::packets::PacketId;
use crate::program::content::RecordMemory;
use crate::program::descriptor::{close, errno, read_up_to, write_whole};
use crate::program::op::CallOp;
use crate::program::rules::StepRules;
use crate::worker_error::WorkerError;
use plumb_workload::OpKind;
use plumb_workload::program::{TreeEntry, TreeStep, TreeWork};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Permissions of new directories and files, before the umask. Source: mdtest under strace.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o775);
const FILE_MODE: Mode = Mode::from_raw_mode(0o664);
const NODE_MODE: Mode = Mode::from_raw_mode(0o400);

/// A worker's trees: the paths of its ops, and the memory for read-back.
pub(in crate::program) struct TreeCalls {
    pub(in crate::program) paths: TreePaths,
    /// Aligned for direct I/O; `None` without read-back.
    read_back: Option<Region>,
}

impl TreeCalls {
    /// Allocates memory to read back items of up to `read_back_bytes`.
    ///
    /// # Errors
    /// There is not enough memory.
    pub(in crate::program) fn new(files: Arc<TreeFiles>, read_back_bytes: u64) -> Result<TreeCalls, WorkerError> {
        let bytes = read_back_bytes as usize;
        let region = || -> Result<Region, WorkerError> {
            let mut region = Region::new(bytes).map_err(|source| WorkerError::Memory { bytes, source })?;
            // Fault the pages in now instead of during the first op.
            region.as_mut_slice().fill(1);
            Ok(region)
        };
        let read_back = (bytes > 0).then(region).transpose()?;
        Ok(TreeCalls { paths: TreePaths::new(files), read_back })
    }

    /// Writes the paths of an entry, and prepares the data for it.
    #[inline]
    pub(in crate::program) fn before(&mut self, op: &CallOp, rules: &[StepRules], memory: &mut RecordMemory) {
        self.paths.write(op.file);
        match op.kind {
            OpKind::Rename => self.paths.write_other(op.other),
            OpKind::Read => memory.forget_packet(),
            OpKind::Create => {
                if let Some(StepRules::Tree(step)) = rules.get(usize::from(op.rules))
                    && step.made_bytes() > 0
                {
                    memory.fill_packet(self.packet_of(op), step.made_bytes());
                }
            }
            _ => {}
        }
    }

    /// Returns the owner and number of the item that an op's packet is for.
    pub(in crate::program) fn packet_of(&self, op: &CallOp) -> PacketId {
        let name = self.paths.name(op.file);
        let item = match name.entry {
            // Counted across an owner's roots.
            TreeEntry::Item(_, item) if self.paths.names().flat => {
                item * u64::from(self.paths.names().roots) + u64::from(name.root)
            }
            TreeEntry::Item(_, item) => item,
            _ => 0,
        };
        PacketId { worker: name.owner, item }
    }

    /// Makes the calls for the entry whose path was written. `memory` holds the data to
    /// write, or receives the data read.
    pub(in crate::program) fn make(&mut self, step: &TreeStep, kind: OpKind, memory: &mut [u8]) -> Completion {
        let paths = &mut self.paths;
        let direct = if step.direct { OFlags::DIRECT } else { OFlags::empty() };
        // If a link was put in place of a file, it is not followed to data that must not change.
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | direct;
        match step.does_in(kind) {
            TreeWork::MakePlaces | TreeWork::MakeRoots => {
                match paths.call(|dir, name| rustix::fs::mkdirat(dir, name, DIRECTORY_MODE)) {
                    Err(Errno(libc::EEXIST)) => Ok(0),
                    made => made.map(|()| 0),
                }
            }
            TreeWork::MakeDirectories | TreeWork::Mkdir => {
                paths.call(|dir, name| rustix::fs::mkdirat(dir, name, DIRECTORY_MODE)).map(|()| 0)
            }
            TreeWork::RemovePlaces | TreeWork::RemoveRoots | TreeWork::RemoveDirectories | TreeWork::Rmdir => {
                paths.call(|dir, name| rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)).map(|()| 0)
            }
            TreeWork::Stat => {
                paths.call(|dir, name| rustix::fs::statat(dir, name, AtFlags::empty()).map(drop)).map(|()| 0)
            }
            TreeWork::Rename { .. } => {
                paths.call_two(|(from, old), (to, new)| rustix::fs::renameat(from, old, to, new)).map(|()| 0)
            }
            TreeWork::Make(item) => {
                // mdtest also opens what it created before.
                let flags = match (item.exists, item.reads_back) {
                    (false, _) => flags | OFlags::CREATE,
                    (true, true) => flags,
                    (true, false) => flags.difference(OFlags::RDWR) | OFlags::WRONLY,
                };
                let file = paths.call(|dir, name| crate::raw_open::openat(dir, name, flags, FILE_MODE))?;
                let written = memory.get_mut(..item.bytes.0 as usize).ok_or(Errno(libc::EINVAL))?;
                write_whole(&file, written, written.len() as u64)?;
                if item.reads_back && !written.is_empty() {
                    self.read_back(&file, written)?;
                }
                if item.flush {
                    rustix::fs::fsync(&file).map_err(errno)?;
                }
                close(file)?;
                Ok(item.bytes.0)
            }
            TreeWork::Mknod => {
                paths.call(|dir, name| rustix::fs::mknodat(dir, name, FileType::RegularFile, NODE_MODE, 0)).map(|()| 0)
            }
            TreeWork::Read { bytes } => {
                let flags =
                    if matches!(step.does, TreeWork::Read { .. }) { flags } else { flags.difference(OFlags::RDWR) };
                let file = paths.call(|dir, name| crate::raw_open::openat(dir, name, flags, Mode::empty()))?;
                let into = memory.get_mut(..bytes.0 as usize).ok_or(Errno(libc::EINVAL))?;
                let read = read_up_to(&file, into)?;
                close(file)?;
                if read < bytes.0 { Err(Errno(libc::EIO)) } else { Ok(read) }
            }
            TreeWork::Unlink => paths.call(|dir, name| rustix::fs::unlinkat(dir, name, AtFlags::empty())).map(|()| 0),
            // Each of its ops is of another kind.
            TreeWork::Renew(_) => Err(Errno(libc::EINVAL)),
        }
    }

    /// Reads the data just written from the beginning of the file, and compares it.
    fn read_back(&mut self, file: &OwnedFd, written: &[u8]) -> Result<(), Errno> {
        let room = self.read_back.as_mut().and_then(|region| region.as_mut_slice().get_mut(..written.len()));
        let into = room.ok_or(Errno(libc::EINVAL))?;
        let read = rustix::io::pread(file, &mut *into, 0).map_err(errno)?;
        if read == written.len() && into == written { Ok(()) } else { Err(Errno(libc::EILSEQ)) }
    }
}
