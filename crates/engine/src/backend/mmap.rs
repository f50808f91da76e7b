//! Loads and stores through a shared mapping.
//!
//! An I/O error under a mapping is a SIGBUS, not an errno: it ends the worker's process. Run such workers as processes
//! where the medium may fail; the coordinator reports a worker that died.
#![allow(unsafe_code)]

use crate::backend::blocks::BlockCalls;
use crate::backend::psync::execute_common;
use crate::backend::{BlockFiles, Completion, Errno, FileAccess, FileKind, NOT_OPEN, completion};
use crate::op::BlockOp;
use plumb_workload::OpKind;
use plumb_workload::job::MappingAdvice;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

/// A shared mapping of a file, from its beginning.
pub(crate) struct Mapping {
    pub(crate) start: *mut u8,
    pub(crate) bytes: usize,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `Mmap::new` with exactly this length.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Mappings of all files of a target.
pub(crate) struct Mmap {
    /// By number; none of a file that is not open.
    mappings: Vec<Option<Mapping>>,
    rules: MapRules,
}

/// How files are mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MapRules {
    pub(crate) access: FileAccess,
    /// What the kernel is told, in this order.
    pub(crate) advice: Vec<MappingAdvice>,
    /// Pages are written back and dropped as soon as they were used.
    pub(crate) drops_pages: bool,
}

/// Refuses to map what is not there: touching a page behind the end of a file is a SIGBUS.
pub(crate) fn refuse_short(fd: RawFd, path: &Path, length: u64) -> io::Result<()> {
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

/// Maps so much of an open file.
pub(crate) fn map(fd: RawFd, length: u64, rules: &MapRules) -> io::Result<Mapping> {
    let protection = match rules.access {
        FileAccess::Read => libc::PROT_READ,
        FileAccess::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
    };
    let bytes = length.max(1) as usize;
    // SAFETY: a new mapping of an open file, no address asked for.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mapping = Mapping { start: start.cast(), bytes };
    for &advice in &rules.advice {
        advise(&mapping, advice)?;
    }
    Ok(mapping)
}

fn advise(mapping: &Mapping, advice: MappingAdvice) -> io::Result<()> {
    let start = mapping.start.cast();
    let by_posix = match advice {
        MappingAdvice::DontNeed => libc::POSIX_MADV_DONTNEED,
        MappingAdvice::Sequential => libc::POSIX_MADV_SEQUENTIAL,
        MappingAdvice::Random => libc::POSIX_MADV_RANDOM,
        MappingAdvice::WillNeed => libc::POSIX_MADV_WILLNEED,
        MappingAdvice::HugePage | MappingAdvice::NoHugePage => {
            let huge = advice == MappingAdvice::HugePage;
            let advice = if huge { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
            // SAFETY: a whole mapping, as it was made.
            return match unsafe { libc::madvise(start, mapping.bytes, advice) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            };
        }
    };
    // SAFETY: as above.
    match unsafe { libc::posix_madvise(start, mapping.bytes, by_posix) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Maps one file as it is open.
fn map_file(files: &BlockFiles, number: usize, rules: &MapRules) -> io::Result<Mapping> {
    let (fd, length) = (files.fds[number], files.lengths[number]);
    if files.kind == FileKind::Regular {
        refuse_short(fd, files.paths.get(number).map_or(Path::new(""), PathBuf::as_path), length)?;
    }
    map(fd, length, rules)
}

impl Mmap {
    pub(crate) fn new(files: &BlockFiles, rules: MapRules) -> io::Result<Mmap> {
        let of_file =
            |(number, &fd): (usize, &RawFd)| (fd != NOT_OPEN).then(|| map_file(files, number, &rules)).transpose();
        let mappings = files.fds.iter().enumerate().map(of_file).collect::<Result<_, _>>()?;
        Ok(Mmap { mappings, rules })
    }

    /// Opens and maps, or unmaps and closes.
    #[cold]
    fn change(&mut self, files: &mut BlockFiles, op: &BlockOp) -> Completion {
        let number = op.file as usize;
        if op.kind == OpKind::Close {
            self.mappings[number] = None;
            return files.close(op.file);
        }
        files.open(op.file)?;
        if self.mappings[number].is_none() {
            let mapping = map_file(files, number, &self.rules);
            self.mappings[number] = Some(mapping.map_err(|error| Errno(error.raw_os_error().unwrap_or(libc::EINVAL)))?);
        }
        Ok(0)
    }

    /// Writes back and drops the pages of an op.
    fn drop_pages(mapping: &Mapping, offset: usize, length: usize) -> Result<(), Errno> {
        // The calls want whole pages.
        let first = offset / PAGE_BYTES * PAGE_BYTES;
        let bytes = offset + length - first;
        // SAFETY: the range is mapped: the op was checked against the mapping.
        let start = unsafe { mapping.start.add(first) }.cast();
        // SAFETY: as above.
        completion(unsafe { libc::msync(start, bytes, libc::MS_SYNC) } as isize)?;
        // SAFETY: a shared mapping of a file, whose pages come back from the file.
        completion(unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) } as isize)?;
        Ok(())
    }
}

/// Good for every page size up to this one.
const PAGE_BYTES: usize = 64 << 10;

impl BlockCalls for Mmap {
    #[inline]
    fn execute(&mut self, files: &mut BlockFiles, memory: *mut u8, op: &BlockOp) -> Completion {
        match op.kind {
            OpKind::Open | OpKind::Close => return self.change(files, op),
            OpKind::Unlink => return files.remove(op.file),
            _ => {}
        }
        let Some(mapping) = &self.mappings[op.file as usize] else { return Err(Errno(libc::EBADF)) };
        let (offset, length) = (op.offset as usize, op.length as usize);
        if matches!(op.kind, OpKind::Read | OpKind::Write) && offset + length > mapping.bytes {
            return Err(Errno(libc::EFAULT));
        }
        match op.kind {
            OpKind::Read => {
                // SAFETY: the range is mapped (checked above), `memory` holds `length` bytes, and they do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(mapping.start.add(offset), memory, length) };
                std::hint::black_box(memory);
            }
            OpKind::Write => {
                // SAFETY: as above; the mapping is writable where the source yields writes.
                unsafe { std::ptr::copy_nonoverlapping(memory, mapping.start.add(offset), length) };
            }
            OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync => {
                // SAFETY: the whole mapping, as it was made.
                return completion(unsafe { libc::msync(mapping.start.cast(), mapping.bytes, libc::MS_SYNC) } as isize);
            }
            OpKind::Evict => {
                // Pages that are mapped are not dropped.
                Mmap::drop_pages(mapping, 0, mapping.bytes)?;
                return execute_common(files, op);
            }
            _ => return execute_common(files, op),
        }
        if self.rules.drops_pages {
            Mmap::drop_pages(mapping, offset, length)?;
        }
        Ok(length as u64)
    }
}
