//! A worker's open files, by the handle numbers of its steps.

use super::mpi::OpenedByMpi;
use crate::backend::Errno;
use crate::op::Seek;
use crate::program::aio::Aio;
use crate::program::descriptor::errno;
use crate::program::op::CallOp;
use crate::program::stream::StdioStream;
use crate::syscall::mapping::Mapping;
use rustix::fs::SeekFrom;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Everything that is open under one handle number.
#[derive(Default)]
pub(super) struct Handle {
    pub(super) file: Option<OwnedFd>,
    pub(super) stream: Option<StdioStream>,
    pub(super) mapping: Option<Mapping>,
    pub(super) aio: Option<Aio>,
    pub(super) by_mpi: Option<OpenedByMpi>,
    /// Number of the file.
    pub(super) number: u64,
}

impl Handle {
    #[inline(always)]
    pub(super) fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        match &self.file {
            Some(file) => Ok(file.as_fd()),
            None => self.fd_of_stream(),
        }
    }

    #[inline(never)]
    fn fd_of_stream(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.stream.as_ref().map(StdioStream::fd).ok_or(Errno(libc::EBADF))
    }

    pub(super) fn stream(&mut self) -> Result<&mut StdioStream, Errno> {
        self.stream.as_mut().ok_or(Errno(libc::EBADF))
    }

    pub(super) fn mapping(&self) -> Result<&Mapping, Errno> {
        self.mapping.as_ref().ok_or(Errno(libc::EBADF))
    }

    #[inline(always)]
    pub(super) fn seek(&mut self, seek: Seek) -> Result<(), Errno> {
        if self.stream.is_some() {
            return self.seek_stream(seek);
        }
        let to = match seek {
            Seek::None => return Ok(()),
            Seek::To(offset) => SeekFrom::Start(offset),
            Seek::By(distance) => SeekFrom::Current(distance),
            Seek::FromEnd(distance) => SeekFrom::End(distance),
        };
        rustix::fs::seek(self.fd()?, to).map(drop).map_err(errno)
    }

    #[inline(never)]
    fn seek_stream(&mut self, seek: Seek) -> Result<(), Errno> {
        self.stream()?.seek(seek).map(drop)
    }
}

/// Returns the handle of an op.
#[inline(always)]
pub(super) fn find_handle<'a>(handles: &'a mut [Handle], op: &CallOp) -> Result<&'a mut Handle, Errno> {
    handles.get_mut(usize::from(op.handle)).ok_or(Errno(libc::EBADF))
}
