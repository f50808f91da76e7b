//! Where the files of a worker lie.

use crate::backend::Errno;
use crate::program::file_set::SetPlace;
use crate::program::files::FileTable;
use crate::program::trees::TreeCalls;
use rustix::fs::{AtFlags, CWD};
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Where the files of a worker lie.
pub(in crate::program) enum Files {
    Names(Arc<FileTable>),
    Set(Box<SetPlace>),
    Trees(Box<TreeCalls>),
}

/// A path, and the directory that it begins at.
type At<'a> = (BorrowedFd<'a>, &'a CStr);

impl Files {
    /// The file of this number; of a set, that of the op at hand.
    #[inline]
    pub(super) fn at(&self, number: u64) -> Result<At<'_>, Errno> {
        match self {
            Files::Names(table) => Ok((CWD, table.path(number as u32).ok_or(Errno(libc::ENOENT))?)),
            Files::Set(set) => Ok((set.root(), set.path())),
            Files::Trees(trees) => Ok((CWD, trees.paths.path())),
        }
    }

    /// The same for the other name of an op.
    pub(super) fn other(&self, number: u64) -> Result<At<'_>, Errno> {
        match self {
            Files::Names(_) => self.at(number),
            Files::Set(set) => Ok((set.root(), set.other())),
            Files::Trees(trees) => Ok((CWD, trees.paths.other())),
        }
    }

    /// What a link to the file says that lies beside it.
    pub(super) fn link_content(&self, number: u64) -> Result<&CStr, Errno> {
        match self {
            Files::Names(table) => table.name(number as u32).ok_or(Errno(libc::ENOENT)),
            Files::Set(set) => Ok(set.path()),
            Files::Trees(trees) => Ok(trees.paths.path()),
        }
    }

    /// Whether calls follow a link that they are given: in a set it is what they are about.
    pub(super) fn follow(&self) -> AtFlags {
        match self {
            Files::Names(_) | Files::Trees(_) => AtFlags::empty(),
            Files::Set(_) => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    pub(super) fn table(&self) -> Result<&FileTable, Errno> {
        match self {
            Files::Names(table) => Ok(table),
            Files::Set(_) | Files::Trees(_) => Err(Errno(libc::EINVAL)),
        }
    }

    pub(super) fn set(&mut self) -> Result<&mut SetPlace, Errno> {
        match self {
            Files::Names(_) | Files::Trees(_) => Err(Errno(libc::EINVAL)),
            Files::Set(set) => Ok(set),
        }
    }
}
