//! The files that a worker's calls operate on.

use crate::backend::Errno;
use crate::open_dirs::DirAndName;
use crate::program::file_set::SetPlace;
use crate::program::named_places::NamedPlaces;
use crate::program::trees::TreeCalls;
use rustix::fs::AtFlags;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;

/// The files of one worker.
pub(in crate::program) enum Files {
    Names(NamedPlaces),
    Set(Box<SetPlace>),
    Trees(Box<TreeCalls>),
}

impl Files {
    /// Opens the directory of the first file, so that the first op's time does not include it.
    pub(in crate::program) fn prepare(&mut self) {
        if let Files::Names(NamedPlaces { table, dirs, .. }) = self
            && let Some(root) = table.first_root()
        {
            // The first op reports an error.
            let _ = dirs.base(root);
        }
    }

    /// Runs `call` on the directory and the name of file `number`. File sets and trees use the
    /// path of the current op instead.
    #[inline]
    pub(super) fn call<T>(
        &mut self,
        number: u64,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        match self {
            Files::Names(names) => names.call(number, call),
            Files::Set(set) => set.call(call),
            Files::Trees(trees) => trees.paths.call(call),
        }
    }

    /// Creates the symbolic link `link` to file `number`.
    pub(super) fn symlink(&mut self, number: u64, link: u64) -> Result<(), Errno> {
        match self {
            Files::Names(NamedPlaces { table, others, .. }) => {
                let content = table.name(number as u32).ok_or(Errno(libc::ENOENT))?;
                let (root, path) = table.directory_and_path(link as u32).ok_or(Errno(libc::ENOENT))?;
                others.call(root, path, |dir, name| rustix::fs::symlinkat(content, dir, name))
            }
            Files::Set(set) => set.symlink(),
            Files::Trees(_) => Err(Errno(libc::EINVAL)),
        }
    }

    /// Runs `call` on both names of an op.
    pub(super) fn call_two<T>(
        &mut self,
        numbers: (u64, u64),
        call: impl Fn(DirAndName<'_>, DirAndName<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        match self {
            Files::Names(names) => names.call_two((numbers.0 as u32, numbers.1 as u32), call),
            Files::Set(set) => set.call_two(call),
            Files::Trees(trees) => trees.paths.call_two(call),
        }
    }

    /// Returns the flags for calls such as stat: they follow links, except in file sets, where
    /// the link itself is the object.
    pub(super) fn follow(&self) -> AtFlags {
        match self {
            Files::Names(_) | Files::Trees(_) => AtFlags::empty(),
            Files::Set(_) => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    pub(super) fn named(&mut self) -> Result<&mut NamedPlaces, Errno> {
        match self {
            Files::Names(names) => Ok(names),
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
