//! Loads and stores through shared mappings.
#![allow(unsafe_code)]

use crate::backend::psync::execute_common;
use crate::backend::{
    BlockContext, BlockFiles, Completion, Errno, FileAccess, FileKind, NOT_OPEN, SyncBackend, has_context,
};
use crate::op::BlockOp;
use crate::syscall::mapping::Mapping;
use plumb_workload::OpKind;
use plumb_workload::files::MappingAdvice;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};

/// Mappings of all files of a target.
pub(crate) struct Mmap {
    context: BlockContext,
    /// By file number; `None` while a file is closed.
    mappings: Vec<Option<Mapping>>,
    rules: MapRules,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MapRules {
    pub(crate) access: FileAccess,
    /// Advice to the kernel, in this order.
    pub(crate) advice: Vec<MappingAdvice>,
    /// Write pages back and drop them right after use.
    pub(crate) drops_pages: bool,
}

/// Rejects a file shorter than its mapping: touching a page past its end raises SIGBUS.
fn refuse_short(file: BorrowedFd<'_>, path: &Path, length: u64) -> io::Result<()> {
    let found = rustix::fs::fstat(file)?.st_size as u64;
    if found < length {
        return Err(io::Error::other(format!(
            "{} has {found} bytes, but {length} bytes are to be mapped; use `prepare` other than \"nothing\", or \
             another backend",
            path.display()
        )));
    }
    Ok(())
}

/// Applies one kind of advice to a mapping.
fn advise(mapping: &Mapping, advice: MappingAdvice) -> io::Result<()> {
    match advice {
        MappingAdvice::DontNeed => mapping.advise_by_posix(libc::POSIX_MADV_DONTNEED),
        MappingAdvice::Sequential => mapping.advise_by_posix(libc::POSIX_MADV_SEQUENTIAL),
        MappingAdvice::Random => mapping.advise_by_posix(libc::POSIX_MADV_RANDOM),
        MappingAdvice::WillNeed => mapping.advise_by_posix(libc::POSIX_MADV_WILLNEED),
        MappingAdvice::HugePage => mapping.advise(crate::os::MADV_HUGEPAGE),
        MappingAdvice::NoHugePage => mapping.advise(crate::os::MADV_NOHUGEPAGE),
    }
}

fn map_file(files: &BlockFiles, number: usize, rules: &MapRules) -> io::Result<Mapping> {
    let (fd, length) = (files.fds[number], files.lengths[number]);
    if files.kind == FileKind::Regular {
        let file = files.file_at(number).map_err(|error| io::Error::from_raw_os_error(error.0))?;
        refuse_short(file, files.paths.get(number).map_or(Path::new(""), PathBuf::as_path), length)?;
    }
    let mapping = Mapping::new(fd, length, rules.access)?;
    rules.advice.iter().try_for_each(|&advice| advise(&mapping, advice))?;
    Ok(mapping)
}

impl Mmap {
    pub(crate) fn new(context: BlockContext, rules: MapRules) -> io::Result<Mmap> {
        let files = &context.files;
        let of_file =
            |(number, &fd): (usize, &RawFd)| (fd != NOT_OPEN).then(|| map_file(files, number, &rules)).transpose();
        let mappings = files.fds.iter().enumerate().map(of_file).collect::<Result<_, _>>()?;
        Ok(Mmap { context, mappings, rules })
    }

    /// Opens and maps a file, or unmaps and closes it.
    #[cold]
    fn change(&mut self, op: &BlockOp) -> Completion {
        let (number, files) = (op.file as usize, &mut self.context.files);
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
}

impl SyncBackend for Mmap {
    type Op = BlockOp;

    has_context!();

    #[inline]
    fn execute(&mut self, op: &BlockOp) -> Completion {
        match op.kind {
            OpKind::Open | OpKind::Close => return self.change(op),
            OpKind::Unlink => return self.context.files.remove(op.file),
            _ => {}
        }
        let Some(mapping) = &self.mappings[op.file as usize] else { return Err(Errno(libc::EBADF)) };
        let (files, memory) = self.context.parts(0);
        let moved = match op.kind {
            OpKind::Read | OpKind::Write => {
                // SAFETY: `memory` holds at least this many bytes, which only this op uses.
                let memory = unsafe { std::slice::from_raw_parts_mut(memory, op.length as usize) };
                match op.kind {
                    OpKind::Read => mapping.load(op.offset, memory)?,
                    _ => mapping.store(op.offset, memory)?,
                }
            }
            OpKind::Fsync | OpKind::EndFsync | OpKind::Fdatasync => return mapping.sync_all(),
            OpKind::Evict => {
                // The kernel does not drop mapped pages.
                mapping.drop_all_pages()?;
                return execute_common(files, op);
            }
            _ => return execute_common(files, op),
        };
        if self.rules.drops_pages {
            mapping.drop_pages(op.offset, moved)?;
        }
        Ok(moved)
    }
}
