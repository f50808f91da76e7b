//! Loads and stores through a shared mapping.
//!
//! An I/O error under a mapping is a SIGBUS, not an errno: it ends the worker's process. Run such workers as processes
//! where the medium may fail; the coordinator reports a worker that died.
#![allow(unsafe_code)]

use crate::backend::payload::Payload;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Errno, SyncBackend, completion};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;

struct Mapping {
    start: *mut u8,
    bytes: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `Mmap::new` with exactly this length.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

pub(crate) struct Mmap {
    files: BlockFiles,
    payload: Payload,
    mappings: Vec<Mapping>,
}

/// Whether a mapping must be writable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MapAccess {
    Read,
    ReadWrite,
}

fn map(fd: RawFd, length: u64, access: MapAccess) -> io::Result<Mapping> {
    let protection = match access {
        MapAccess::Read => libc::PROT_READ,
        MapAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
    };
    let bytes = length.max(1) as usize;
    // SAFETY: a new mapping of an open file, no address asked for.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Mapping { start: start.cast(), bytes })
}

impl Mmap {
    pub(crate) fn new(files: BlockFiles, payload: Payload, access: MapAccess) -> io::Result<Mmap> {
        let mappings = files
            .fds
            .iter()
            .zip(&files.lengths)
            .map(|(&fd, &length)| map(fd, length, access))
            .collect::<io::Result<_>>()?;
        Ok(Mmap { files, payload, mappings })
    }
}

impl SyncBackend for Mmap {
    type Op = BlockOp;

    #[inline(always)]
    fn before(&mut self, op: &BlockOp) {
        self.payload.before(op, 0);
    }

    #[inline(always)]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        let mapping = &self.mappings[op.file as usize];
        let (offset, length) = (op.offset as usize, op.length as usize);
        if matches!(op.kind, OpKind::Read | OpKind::Write) && offset + length > mapping.bytes {
            return Err(Errno(libc::EFAULT));
        }
        let memory = self.payload.pointer(0);
        match op.kind {
            OpKind::Read => {
                // SAFETY: both ranges are mapped (checked above; slot 0 holds the largest op) and do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(mapping.start.add(offset), memory, length) };
                std::hint::black_box(memory);
                Ok(length as u64)
            }
            OpKind::Write => {
                // SAFETY: as above; the mapping is writable where the source yields writes.
                unsafe { std::ptr::copy_nonoverlapping(memory, mapping.start.add(offset), length) };
                Ok(length as u64)
            }
            // SAFETY: the whole mapping, as it was made.
            OpKind::Fsync | OpKind::Fdatasync => {
                completion(unsafe { libc::msync(mapping.start.cast(), mapping.bytes, libc::MS_SYNC) } as isize)
            }
            _ => execute_common(self.files.fds[op.file as usize], self.files.kind, op),
        }
    }

    #[inline(always)]
    fn after(&mut self, op: &BlockOp, moved: u64) -> Result<(), String> {
        self.payload.after(op, 0, moved)
    }

    fn works_between_ops(&self) -> bool {
        self.payload.works_each_op()
    }

    fn path_of(&self, op: &BlockOp) -> PathBuf {
        self.files.paths[op.file as usize].clone()
    }
}
