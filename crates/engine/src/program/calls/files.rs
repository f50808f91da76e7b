//! The files that a worker's calls operate on.

use crate::backend::Errno;
use crate::open_dirs::OpenDirs;
use crate::program::file_set::SetPlace;
use crate::program::file_table::FileTable;
use crate::program::trees::TreeCalls;
use rustix::fs::AtFlags;
use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

/// Limit of open directories for a worker whose named files are in subdirectories of those that the user typed.
const DIRECTORIES: u64 = 256;

/// The files of one worker.
pub(in crate::program) enum Files {
    Names(NamedPlaces),
    Set(Box<SetPlace>),
    Trees(Box<TreeCalls>),
}

/// Named files, and their open directories.
pub(in crate::program) struct NamedPlaces {
    pub(super) table: Arc<FileTable>,
    dirs: OpenDirs,
    /// Open directories for the second name of an op.
    others: OpenDirs,
    /// Memory for the path of a numbered file.
    text: Vec<u8>,
}

impl NamedPlaces {
    pub(in crate::program) fn new(table: Arc<FileTable>) -> NamedPlaces {
        let dirs = |most| OpenDirs::below_roots(Arc::clone(table.roots()), most);
        let (dirs, others) = (dirs(if table.has_directories() { DIRECTORIES } else { 1 }), dirs(1));
        NamedPlaces { table, dirs, others, text: Vec::new() }
    }

    /// Runs `call` on the directory and the name of a file.
    #[inline]
    pub(in crate::program) fn call<T>(
        &mut self,
        file: u64,
        call: impl FnMut(BorrowedFd<'_>, &CStr) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.locate(file, &mut self.text).ok_or(Errno(libc::ENOENT))?;
        self.dirs.call(root, path, call)
    }

    /// Runs `does` once on the directory and the name of a listed file.
    pub(in crate::program) fn with<T>(
        &mut self,
        number: u32,
        does: impl FnOnce(BorrowedFd<'_>, &CStr) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        let (root, path) = self.table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let spot = self.dirs.at(root, path)?;
        does(spot.dir, spot.name)
    }

    /// Creates a symbolic link to a file in the same directory.
    pub(in crate::program) fn symlink_beside(&mut self, number: u32, link: u32) -> Result<(), Errno> {
        let NamedPlaces { table, others, .. } = self;
        let (_, path) = table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let path = path.to_bytes_with_nul();
        let last = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let content = CStr::from_bytes_with_nul(&path[last..]).map_err(|_| Errno(libc::EINVAL))?;
        let (root, path) = table.beneath(link).ok_or(Errno(libc::ENOENT))?;
        others.call(root, path, |dir, name| rustix::fs::symlinkat(content, dir, name))
    }

    /// Runs `call` on the directories and the names of two files.
    pub(in crate::program) fn call_two<T>(
        &mut self,
        (number, other): (u32, u32),
        call: impl Fn(Spot<'_>, Spot<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        let NamedPlaces { table, dirs, others, .. } = self;
        let (root, path) = table.beneath(number).ok_or(Errno(libc::ENOENT))?;
        let (other_root, other) = table.beneath(other).ok_or(Errno(libc::ENOENT))?;
        dirs.call(root, path, |dir, name| match others.at(other_root, other) {
            Ok(spot) => call((dir, name), (spot.dir, spot.name)),
            Err(error) => Err(rustix::io::Errno::from_raw_os_error(error.0)),
        })
    }
}

/// A directory, and a name in it.
pub(in crate::program) type Spot<'a> = (BorrowedFd<'a>, &'a CStr);

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

    /// Runs `call` on the directory and the name of file `number`. File sets and trees use the path of the current op instead.
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
                let (root, path) = table.beneath(link as u32).ok_or(Errno(libc::ENOENT))?;
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
        call: impl Fn(Spot<'_>, Spot<'_>) -> rustix::io::Result<T>,
    ) -> Result<T, Errno> {
        match self {
            Files::Names(names) => names.call_two((numbers.0 as u32, numbers.1 as u32), call),
            Files::Set(set) => set.call_two(call),
            Files::Trees(trees) => trees.paths.call_two(call),
        }
    }

    /// Returns the flags for calls such as stat: they follow links, except in file sets, where the link itself is the object.
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
