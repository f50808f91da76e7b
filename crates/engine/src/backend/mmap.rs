//! Loads and stores through a shared mapping.
//!
//! An I/O error under a mapping is a SIGBUS, not an errno: it ends the worker's process. Run such workers as processes
//! where the medium may fail; the coordinator reports a worker that died.
#![allow(unsafe_code)]

use crate::backend::blocks::BlockCalls;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Errno, FileAccess, FileKind, completion};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::Path;

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

/// Mappings of all files of a target.
pub(crate) struct Mmap {
    mappings: Vec<Mapping>,
}

/// Refuses to map what is not there: touching a page behind the end of a file is a SIGBUS.
fn refuse_short(fd: RawFd, path: &Path, length: u64) -> io::Result<()> {
    // SAFETY: the target's descriptors outlive the phase.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let found = rustix::fs::fstat(file)?.st_size as u64;
    if found < length {
        return Err(io::Error::other(format!(
            "{} has {found} bytes, and is shorter than the {length} to map; use `prepare` other than \"nothing\", or \
             another backend",
            path.display()
        )));
    }
    Ok(())
}

fn map(fd: RawFd, length: u64, access: FileAccess) -> io::Result<Mapping> {
    let protection = match access {
        FileAccess::Read => libc::PROT_READ,
        FileAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
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
    pub(crate) fn new(files: &BlockFiles, access: FileAccess) -> io::Result<Mmap> {
        let mut mappings = Vec::with_capacity(files.fds.len());
        for ((&fd, &length), path) in files.fds.iter().zip(&files.lengths).zip(&files.paths) {
            if files.kind == FileKind::Regular {
                refuse_short(fd, path, length)?;
            }
            mappings.push(map(fd, length, access)?);
        }
        Ok(Mmap { mappings })
    }
}

impl BlockCalls for Mmap {
    #[inline(always)]
    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        let mapping = &self.mappings[op.file as usize];
        let (offset, length) = (op.offset as usize, op.length as usize);
        if matches!(op.kind, OpKind::Read | OpKind::Write) && offset + length > mapping.bytes {
            return Err(Errno(libc::EFAULT));
        }
        match op.kind {
            OpKind::Read => {
                // SAFETY: the range is mapped (checked above), `memory` holds `length` bytes, and they do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(mapping.start.add(offset), memory, length) };
                std::hint::black_box(memory);
                Ok(length as u64)
            }
            OpKind::Write => {
                // SAFETY: as above; the mapping is writable where the source yields writes.
                unsafe { std::ptr::copy_nonoverlapping(memory, mapping.start.add(offset), length) };
                Ok(length as u64)
            }
            OpKind::Fsync | OpKind::Fdatasync => {
                // SAFETY: the whole mapping, as it was made.
                completion(unsafe { libc::msync(mapping.start.cast(), mapping.bytes, libc::MS_SYNC) } as isize)
            }
            _ => execute_common(files, op),
        }
    }
}
